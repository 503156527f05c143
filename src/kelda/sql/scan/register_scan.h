#pragma once

namespace duckdb {
class DatabaseInstance;
}  // namespace duckdb

namespace kelda::sql {

/// Register `kelda_scan('path of a table' [, snapshot_id := n])`, which reads a table without a
/// catalog, and the setting `kelda_disable_pruning`, which makes every scan read all files and row
/// groups. Called once by RegisterPaimon.
void RegisterScanFunctions(duckdb::DatabaseInstance& database);

}  // namespace kelda::sql
