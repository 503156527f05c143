#pragma once

#include <memory>
#include <vector>

#include <arrow/record_batch.h>

#include "kelda/base/cancellation.h"
#include "kelda/format/file_format.h"
#include "kelda/scan/plan.h"

namespace kelda {

struct TableReadOptions {
  /// Columns wanted, fields of the context's schema (ROW members may be a subset), in output order.
  std::vector<DataField> columns;
  /// Superset filter for row groups and pages; rows that do not match may come back unless
  /// `exact_filter`.
  PredicatePtr predicate;
  bool exact_filter = false;
  int64_t batch_rows = 32768;
  CancellationToken token;
  std::function<void(const ReadStatistics&)> on_open;
};

/// Rows of one data file under the table's schema: columns matched by field id, missing ones null,
/// partition columns from the split (spec 01 §2.7). One thread at a time.
arrow::Result<std::unique_ptr<FormatReader>> OpenDataFile(const TableContext& table,
                                                          const Split& split,
                                                          const DataFileMeta& file,
                                                          const TableReadOptions& options);

/// All files of a plan in parallel on the executor, at most `executor.parallelism()` batches ahead;
/// batches of one file keep their order, files interleave. `sink` is called from several threads at
/// once.
arrow::Status ReadPlan(
    const TableContext& table, const ScanPlan& plan, const TableReadOptions& options,
    const std::function<arrow::Status(std::shared_ptr<arrow::RecordBatch>)>& sink);

}  // namespace kelda
