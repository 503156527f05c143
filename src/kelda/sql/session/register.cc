#include "kelda/sql/register.h"

namespace kelda::sql {

void RegisterPaimon(duckdb::DatabaseInstance&) {}

}  // namespace kelda::sql
