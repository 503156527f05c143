#pragma once

namespace duckdb {
class DatabaseInstance;
}  // namespace duckdb

namespace kelda::sql {

/// Register kelda_show_tables(['catalog.schema']), which SHOW TABLES becomes: the names of the
/// tables of a schema, or of those in the search path. DuckDB's own would load every table for its
/// name.
void RegisterShowTables(duckdb::DatabaseInstance& database);

}  // namespace kelda::sql
