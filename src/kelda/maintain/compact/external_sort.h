#pragma once

#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include <arrow/record_batch.h>

#include "kelda/base/cancellation.h"
#include "kelda/base/status.h"

namespace kelda {

/// A folder for temporary files of this process's local disk, removed with all that is in it.
class TemporaryFolder {
 public:
  /// Below `parent`; empty: the system's folder for temporary files. `name` must be new there.
  static arrow::Result<std::unique_ptr<TemporaryFolder>> Make(const std::string& parent,
                                                              const std::string& name);
  ~TemporaryFolder();
  TemporaryFolder(const TemporaryFolder&) = delete;
  TemporaryFolder& operator=(const TemporaryFolder&) = delete;

  const std::string& path() const { return path_; }

 private:
  explicit TemporaryFolder(std::string path) : path_(std::move(path)) {}
  std::string path_;
};

struct ExternalSortOptions {
  /// Rows are sorted in runs of about this size; what makes more than one goes to temporary files.
  /// A thread that adds rows holds up to twice as much, and so does Finish.
  int64_t run_bytes = 64 << 20;
  int fan_in_max = 128;  ///< runs that are merged at once
  /// Where temporary files go; made by the first one. REQUIRES: set.
  std::function<arrow::Result<std::string>()> temporary_path;
  CancellationToken token;
};

/// Sorts record batches of one schema by a byte string per row, within bounded memory: sorted runs
/// in temporary files, merged in as few passes as fan-in allows. Rows of equal keys come in any
/// order.
class ExternalSorter {
 public:
  explicit ExternalSorter(ExternalSortOptions options) : options_(std::move(options)) {}
  ~ExternalSorter();

  /// Thread-safe. REQUIRES: keys->length() == rows->num_rows().
  arrow::Status Add(std::shared_ptr<arrow::RecordBatch> rows,
                    std::shared_ptr<arrow::BinaryArray> keys);
  /// All rows in order. REQUIRES: no Add running; called once.
  arrow::Status Finish(
      const std::function<arrow::Status(std::shared_ptr<arrow::RecordBatch>)>& sink);

  int64_t spilled_runs() const { return spilled_runs_; }

 private:
  class Cursor;
  using Sink = std::function<arrow::Status(const std::shared_ptr<arrow::RecordBatch>&)>;

  arrow::Result<std::string> SpillRun(std::vector<std::shared_ptr<arrow::RecordBatch>> batches);
  arrow::Result<std::string> WriteRun(const std::shared_ptr<arrow::Schema>& schema,
                                      const std::function<arrow::Status(const Sink&)>& produce);
  arrow::Status Merge(const std::vector<std::string>& runs, const Sink& sink);
  int64_t BatchRows(int64_t rows, int64_t bytes) const;

  ExternalSortOptions options_;
  std::mutex mutex_;  ///< guards the rest
  /// Keys are the last column of all batches in here.
  std::vector<std::shared_ptr<arrow::RecordBatch>> pending_;
  int64_t pending_bytes_ = 0;
  std::vector<std::string> runs_;  ///< paths
  int64_t spilled_runs_ = 0;
};

}  // namespace kelda
