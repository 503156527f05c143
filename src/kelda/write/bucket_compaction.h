#pragma once

#include <functional>
#include <vector>

#include "kelda/metadata/table_context.h"

namespace kelda {

/// Which files of one bucket of an append table a compaction takes (spec 02 §3.2). Pure; files are
/// given and returned by sequence number.
struct BucketCompactionRule {
  static arrow::Result<BucketCompactionRule> Make(const TableContext& table);

  int64_t target_file_size = 0;  ///< `target-file-size`
  int32_t min_file_num = 5;      ///< `compaction.min.file-num`
  bool rewrite_all = false;      ///< `compaction.force-rewrite-all-files`

  /// Files below this size are small.
  int64_t small_file_size() const { return target_file_size / 10 * 7; }

  /// What is done after each write: the first run of enough small neighbours. Taken files leave
  /// `queue`, and so do those that were passed over because enough follows them.
  std::vector<DataFileMeta> PickAuto(std::vector<DataFileMeta>* queue) const;

  /// A full compaction; empty: nothing to gain. `has_deletions` null: the table has no deletion
  /// vectors.
  std::vector<DataFileMeta> PickFull(
      std::vector<DataFileMeta> files,
      const std::function<bool(const DataFileMeta&)>& has_deletions) const;
};

}  // namespace kelda
