#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <arrow/record_batch.h>

#include "kelda/base/cancellation.h"
#include "kelda/row/normalized_key.h"

namespace kelda {

/// What the rows that are merged look like: the columns read, then sequence number and value kind.
struct MergeLayout {
  std::vector<DataField> fields;     ///< of the table, in batch order
  std::vector<int> key_columns;      ///< places of the trimmed primary key
  std::vector<SortColumn> sequence;  ///< `sequence.field` columns with their direction
  int sequence_number_column() const { return static_cast<int>(fields.size()); }
  int kind_column() const { return static_cast<int>(fields.size()) + 1; }
  /// Key, then sequence fields, then sequence number (spec 02 §4.6).
  std::vector<SortColumn> Order() const;
};

/// A piece of a sorted run.
struct RunBatch {
  std::shared_ptr<arrow::RecordBatch> rows;  ///< of the MergeLayout
  int32_t level = 0;                         ///< of the file it comes from
  std::string source;                        ///< for errors: the file
};

/// Rows in key order, every key once.
class SortedRun {
 public:
  virtual ~SortedRun() = default;
  /// Next batch, never empty; nullopt at the end.
  virtual arrow::Result<std::optional<RunBatch>> Next() = 0;
};

/// Rows of several runs, key after key. Groups are never split between windows.
struct MergeWindow {
  std::shared_ptr<arrow::RecordBatch> rows;  ///< in no order
  std::vector<int32_t> levels;               ///< of each row
  std::vector<int64_t> order;                ///< rows in merge order
  std::vector<size_t> group_begin;           ///< into `order`, one more than groups
  size_t groups() const { return group_begin.size() - 1; }
};

/// Merges runs into windows (a k-way merge over normalized keys). Rows that are equal in key,
/// sequence fields and sequence number come in the order of the runs, which is Kelda's own rule:
/// Java has none. Not thread-safe.
class GroupMerger {
 public:
  GroupMerger(MergeLayout layout, std::vector<std::unique_ptr<SortedRun>> runs, int64_t window_rows,
              CancellationToken token);
  ~GroupMerger();

  /// False at the end.
  arrow::Result<bool> Next(MergeWindow* window);

 private:
  struct Cursor;
  arrow::Status Advance(Cursor* cursor);
  arrow::Status Load(Cursor* cursor);
  bool Less(size_t a, size_t b) const;
  void SiftDown(size_t place);
  arrow::Status Build(MergeWindow* window);

  MergeLayout layout_;
  std::vector<SortColumn> order_;
  std::vector<std::unique_ptr<Cursor>> cursors_;
  std::vector<size_t> heap_;  ///< indexes of cursors that have rows, the least first
  int64_t window_rows_;
  CancellationToken token_;
  bool started_ = false;
  std::string group_key_;  ///< of the group being collected

  /// Rows of a batch that the window under way uses, and where they came from.
  struct Slice {
    std::shared_ptr<arrow::RecordBatch> rows;
    int32_t level;
    int64_t begin;
    int64_t end;
  };
  std::vector<Slice> slices_;
  std::vector<std::pair<uint32_t, int64_t>> picked_;  ///< (slice, row of its batch)
};

}  // namespace kelda
