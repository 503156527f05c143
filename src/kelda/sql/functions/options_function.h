#pragma once

namespace duckdb {
class DatabaseInstance;
}

namespace kelda::sql {

/// Register kelda_options(): one row per option of the options table.
void RegisterOptionsFunction(duckdb::DatabaseInstance& database);

}  // namespace kelda::sql
