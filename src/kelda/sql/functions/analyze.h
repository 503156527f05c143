#pragma once

namespace duckdb {
class DatabaseInstance;
}  // namespace duckdb

namespace kelda::sql {

/// Register kelda_analyze('catalog.schema.table' [, ['column', ...]]), which ANALYZE becomes: one
/// row with the number of rows looked at. Without a list all columns are analyzed, with an empty
/// one none. The statistics become a snapshot of kind ANALYZE when the transaction commits. A table
/// of DuckDB gets DuckDB's own ANALYZE.
void RegisterAnalyze(duckdb::DatabaseInstance& database);

}  // namespace kelda::sql
