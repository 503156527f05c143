#pragma once

namespace duckdb {
class DatabaseInstance;
}  // namespace duckdb

namespace kelda::sql {

/// Make `ATTACH ... (TYPE paimon)` and Kelda's functions known to a database. Call once, before the
/// first connection uses them.
void RegisterPaimon(duckdb::DatabaseInstance& database);

}  // namespace kelda::sql
