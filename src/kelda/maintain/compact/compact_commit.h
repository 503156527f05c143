#pragma once

#include <vector>

#include "kelda/commit/committer.h"

namespace kelda {

struct CompactCommitResult {
  std::vector<int64_t> snapshot_ids;
  int64_t given_up = 0;      ///< messages dropped because others changed their inputs meanwhile
  int64_t files_before = 0;  ///< of the committed messages
  int64_t files_after = 0;
};

/// Commit compactions, one message per task, as one COMPACT snapshot. Tasks whose inputs others
/// compacted, deleted from or replaced meanwhile are given up, their new files removed, and the
/// rest is committed; kConflict if none is left. On any failure but kCommitUnknown all new files of
/// the messages are removed.
arrow::Result<CompactCommitResult> CommitCompactions(const TableContextPtr& table,
                                                     std::vector<CommitMessage> messages,
                                                     const CommitterOptions& options);

}  // namespace kelda
