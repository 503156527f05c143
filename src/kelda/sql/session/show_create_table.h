#pragma once

namespace duckdb {
class DatabaseInstance;
}  // namespace duckdb

namespace kelda::sql {

/// Register kelda_show_create_table('catalog.schema.table'), which SHOW CREATE TABLE becomes: one
/// row with the statement that makes the table (CatalogEntry::ToSQL).
void RegisterShowCreateTable(duckdb::DatabaseInstance& database);

}  // namespace kelda::sql
