#pragma once

#include <atomic>
#include <memory>
#include <vector>

#include "duckdb/common/multi_file/multi_file_reader.hpp"

#include "kelda/sql/scan/scan_data.h"
#include "kelda/sql/session/statement_progress.h"

namespace kelda::sql {

/// What a scan hands to DuckDB's multi-file machinery through TableFunction::function_info.
struct FileScanInfo : public duckdb::TableFunctionInfo {
  TableContextPtr table;
  PlannedScanPtr plan;
  duckdb::vector<duckdb::LogicalType> types;
  duckdb::vector<std::string> names;
  /// Columns that the scan reads, as indexes into the table's fields.
  std::vector<size_t> columns;
  /// False: every file through Kelda's own readers, with all row groups if pruning is off.
  bool duckdb_parquet = true;
  bool prune = true;
  CancellationToken token;
  duckdb::shared_ptr<StatementProgress> progress;
  /// Row groups of the files that Kelda's readers opened, and those of them that they read.
  std::atomic<int64_t> row_groups_total{0};
  std::atomic<int64_t> row_groups_read{0};
};

/// Reads the files of a plan inside DuckDB's `parquet_scan`: Parquet files whose columns DuckDB
/// returns exactly as Paimon means them with DuckDB's reader, all others with Kelda's. Columns are
/// matched by field id: a file's column is the field of that name in the schema version the file
/// was written with. Partition columns are constants from the manifest. One per scan; CreateReader
/// and InitializeReader may run on several threads at once.
duckdb::unique_ptr<duckdb::MultiFileReader> MakeFileReader(
    const duckdb::TableFunction& table_function);

}  // namespace kelda::sql
