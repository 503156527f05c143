#pragma once

#include <vector>

#include "duckdb/parser/parsed_data/alter_table_info.hpp"

#include "kelda/catalog/catalog.h"

namespace kelda::sql {

/// What ALTER TABLE and COMMENT ON say, in Paimon's terms; empty when IF [NOT] EXISTS makes it
/// nothing. RENAME TABLE is not among them. `schema` is the table's newest.
arrow::Result<std::vector<SchemaChange>> ToSchemaChanges(const duckdb::AlterInfo& info,
                                                         const TableSchema& schema);

}  // namespace kelda::sql
