#pragma once

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "kelda/metadata/commit_message.h"
#include "kelda/metadata/snapshot.h"
#include "kelda/metadata/table_context.h"
#include "kelda/metadata/table_statistics.h"

namespace kelda {

/// Publishes a snapshot file exactly once (spec 03 §3.11). Catalogs that keep versions themselves
/// implement their own.
class SnapshotPublisher {
 public:
  virtual ~SnapshotPublisher() = default;
  virtual PublishResult Publish(const Snapshot& snapshot) = 0;
};

struct CommitResult {
  std::vector<int64_t>
      snapshot_ids;  ///< published by this call, ascending; empty for an empty commit
  int attempts = 0;
};

struct CommitterOptions {
  /// Empty: random UUID, prefixed by `commit.user-prefix` (spec 03 §3.1).
  std::string commit_user;
  /// nullopt: `snapshot.ignore-empty-commit`, true for batch (spec 03 §3.18).
  std::optional<bool> ignore_empty_commit;
  std::shared_ptr<SnapshotPublisher>
      publisher;  ///< null: exclusive create on the table's file system
  /// Test hook: called with the name of each step just reached ("base-list", "delta-manifests",
  /// "delta-list", "index-manifest", "snapshot", "published"); an error fails the attempt there.
  std::function<arrow::Status(std::string_view step)> sync_point;
  CancellationToken token;
};

/// Turns commit messages into snapshots (spec 03 §3). One committer per (table, user); not
/// thread-safe. Many committers in many processes may run at once.
///
/// Outcomes: OK; kConflict (nothing published, files of the messages may be deleted);
/// kCommitUnknown (the caller must keep all files: the snapshot may exist); any other error
/// (nothing published).
class Committer {
 public:
  static arrow::Result<std::unique_ptr<Committer>> Make(TableContextPtr table,
                                                        CommitterOptions options = {});
  virtual ~Committer() = default;

  virtual const std::string& commit_user() const = 0;
  virtual arrow::Result<CommitResult> Commit(const Committable& committable) = 0;
  /// Commit only what this user has not committed yet: recovery after kCommitUnknown (spec 03
  /// §3.17).
  virtual arrow::Result<CommitResult> FilterAndCommit(std::vector<Committable> committables) = 0;

  struct OverwriteSpec {
    /// Partition column -> value text; partial or empty. NULL is nullopt.
    std::map<std::string, std::optional<std::string>> static_partition;
    /// Replace exactly the partitions of the new files (`dynamic-partition-overwrite`, partitioned
    /// tables).
    bool dynamic = true;
  };
  /// Replace data (spec 02 §8): one OVERWRITE snapshot.
  virtual arrow::Result<CommitResult> Overwrite(const OverwriteSpec& spec,
                                                const Committable& committable) = 0;
  /// Publish table statistics (spec 03 §6): a new file and one ANALYZE snapshot without changes.
  /// The file is removed again unless the snapshot was published or may have been.
  virtual arrow::Result<CommitResult> CommitStatistics(const TableStatistics& statistics) = 0;
};

}  // namespace kelda
