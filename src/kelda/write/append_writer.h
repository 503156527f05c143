#pragma once

#include <memory>
#include <vector>

#include <arrow/record_batch.h>

#include "kelda/base/cancellation.h"
#include "kelda/metadata/commit_message.h"
#include "kelda/metadata/table_context.h"

namespace kelda {

struct AppendWriterOptions {
  /// Files that may be open for one partition at once; 0 = the executor's parallelism.
  int parallelism = 0;
  /// The rows replace what is there (INSERT OVERWRITE): files of fixed buckets are not looked at,
  /// their number of buckets may differ, and nothing is compacted (spec 02 §8.1).
  bool overwrite = false;
  CancellationToken token;
};

/// Writes rows of an append table (spec 02 §3.1): checks NOT NULL, fills defaults, routes by
/// partition and bucket, rolls files at `target-file-size`, stays inside the memory budget by
/// flushing the largest partition first.
///
/// Invariant: a file belongs to one lane of one partition, a lane to at most one thread at a time.
/// A second lane of a partition is opened only after the first one has been fed enough for the
/// extra file to pay. A fixed bucket has one lane for good: its rows keep the order in which they
/// were given, its sequence numbers continue those of the files that are there (§2.4), and unless
/// the table is write-only, small files of it are merged when the writer is finished (§3.2).
///
/// Write may be called by many threads at once. Destroyed without PrepareCommit, or after Abort:
/// all files are removed.
class AppendWriter {
 public:
  static arrow::Result<std::unique_ptr<AppendWriter>> Make(TableContextPtr table,
                                                           AppendWriterOptions options = {});
  virtual ~AppendWriter() = default;

  /// `batch`: all columns of the table in schema order, Arrow types of arrow_mapping.h (nullability
  /// is checked here, not taken from the batch's schema).
  virtual arrow::Status Write(std::shared_ptr<arrow::RecordBatch> batch) = 0;
  /// Finish all files. REQUIRES: no Write running. The files are the caller's from here on: commit
  /// or DeleteFiles.
  virtual arrow::Result<std::vector<CommitMessage>> PrepareCommit() = 0;
  virtual int64_t rows_written() const = 0;
  virtual int64_t bytes_written() const = 0;
};

/// Delete the new files that `messages` name (spec 03 §3.15), extra files included. Quiet: a file
/// that cannot be deleted is logged and left to orphan cleaning.
void DeleteFiles(const TableContext& table, const std::vector<CommitMessage>& messages);

}  // namespace kelda
