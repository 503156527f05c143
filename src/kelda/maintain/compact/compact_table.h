#pragma once

#include <functional>
#include <optional>
#include <vector>

#include "kelda/base/cancellation.h"
#include "kelda/commit/committer.h"
#include "kelda/metadata/table_context.h"
#include "kelda/types/predicate.h"

namespace kelda {

/// How far a compaction is.
struct CompactProgress {
  int64_t tasks_planned = 0;  ///< so far
  int64_t tasks_done = 0;
  int64_t rows = 0;  ///< read so far
};

struct CompactRequest {
  /// Which partitions: over partition columns only; null = all.
  PredicatePtr partitions;
  /// Tables with fixed buckets: all of a bucket's files, or only what a writer would pick.
  enum class Strategy { kFull, kMinor };
  Strategy strategy = Strategy::kFull;
  /// Only partitions whose newest file is at least this old.
  std::optional<int64_t> partition_idle_ms;
  CancellationToken token;
  /// Called by many threads, one at a time.
  std::function<void(const CompactProgress&)> on_progress;
  CommitterOptions commit;
};

struct CompactResult {
  std::vector<int64_t> snapshot_ids;  ///< ascending; empty when there was nothing to do
  int64_t tasks = 0;                  ///< committed
  int64_t tasks_given_up = 0;         ///< others changed their files meanwhile
  int64_t files_before = 0;
  int64_t files_after = 0;
};

/// Merge small files of an append table, and take deleted rows out (spec 02 §3.2, 3.3; 03 §7.11).
/// Rows stay what they were: one COMPACT snapshot per `compaction.file-num-limit` files looked at
/// (one for nearly every table). Running it again goes on where it was interrupted. Others may read
/// and write meanwhile; no row of theirs is lost. On failure no file of the snapshot under way is
/// left behind.
arrow::Result<CompactResult> CompactTable(const TableContextPtr& table,
                                          const CompactRequest& request);

}  // namespace kelda
