#pragma once

#include <memory>
#include <vector>

#include <arrow/record_batch.h>

#include "kelda/base/cancellation.h"
#include "kelda/format/file_format.h"
#include "kelda/index/deletion_vector_file.h"
#include "kelda/scan/plan.h"

namespace kelda {

struct TableReadOptions {
  /// Columns wanted, fields of the context's schema (ROW members may be a subset) or of
  /// special_fields.h (row id, sequence number, position in the file), in output order.
  std::vector<DataField> columns;
  /// Superset filter for row groups and pages; rows that do not match may come back unless
  /// `exact_filter`.
  PredicatePtr predicate;
  bool exact_filter = false;
  /// Primary-key tables: rows that were deleted come out too, for readers of `_VALUE_KIND`.
  bool keep_deletes = false;
  /// Positions in the file that may be wanted; null = all. Only for single files.
  std::shared_ptr<const RowRanges> rows;
  int64_t batch_rows = 32768;
  CancellationToken token;
  std::function<void(const ReadStatistics&)> on_open;
};

/// Rows of one data file under the table's schema: columns matched by field id, missing ones null,
/// partition columns from the split (spec 01 §2.7), rows that the split's deletion vector names
/// left out. Batches hold consecutive rows, less the deleted and filtered ones. One thread at a
/// time.
arrow::Result<std::unique_ptr<FormatReader>> OpenDataFile(const TableContext& table,
                                                          const Split& split,
                                                          const DataFileMeta& file,
                                                          const TableReadOptions& options);

/// The deletion vector of `file`, one of the split's, checked against the file's row count; null:
/// none.
arrow::Result<DeletionVectorPtr> LoadDeletionVector(const TableContext& table, const Split& split,
                                                    const DataFileMeta& file);

/// The same for a unit of ReadUnits(split): each column comes from the newest file of the group
/// that stores it (spec 02 §7.6).
arrow::Result<std::unique_ptr<FormatReader>> OpenReadUnit(const TableContext& table,
                                                          const Split& split, const ReadUnit& unit,
                                                          const TableReadOptions& options);

/// All units of a plan in parallel on the executor, at most `executor.parallelism()` batches ahead;
/// batches of one unit keep their order, units interleave. `sink` is called from several threads at
/// once.
arrow::Status ReadPlan(
    const TableContext& table, const ScanPlan& plan, const TableReadOptions& options,
    const std::function<arrow::Status(std::shared_ptr<arrow::RecordBatch>)>& sink);

}  // namespace kelda
