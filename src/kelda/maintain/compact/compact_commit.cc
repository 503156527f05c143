#include "kelda/maintain/compact/compact_commit.h"

#include <unordered_map>
#include <unordered_set>

#include "kelda/base/log.h"
#include "kelda/index/deletion_vector_rewrite.h"
#include "kelda/scan/plan.h"
#include "kelda/write/append_writer.h"

namespace kelda {

namespace {

/// A conflict is looked into this often.
constexpr int kConflictsMax = 5;

/// What the newest snapshot holds of the partitions of some messages.
struct LiveFiles {
  std::unordered_set<std::string> identities;
  /// Data file -> index file with its vector, both with the bucket in front.
  std::unordered_map<std::string, std::string> vectors;

  static std::string Key(const std::string& partition, int32_t bucket, std::string_view name) {
    return fmt::format("{}{}/{}", partition, bucket, name);
  }

  static arrow::Result<LiveFiles> Read(const TableContext& table,
                                       const std::vector<CommitMessage>& messages,
                                       const CancellationToken& token) {
    LiveFiles live;
    ARROW_ASSIGN_OR_RAISE(auto latest, table.snapshots->Latest());
    if (!latest) return live;
    std::unordered_set<std::string> partitions;
    for (const CommitMessage& message : messages) partitions.insert(message.partition);
    ARROW_ASSIGN_OR_RAISE(auto entries, ReadLiveEntries(
                                            table, *latest,
                                            [&](std::string_view partition) {
                                              return partitions.contains(std::string(partition));
                                            },
                                            token, /*value_stats=*/false));
    for (const ManifestEntry& entry : entries) live.identities.insert(entry.Identity());
    ARROW_ASSIGN_OR_RAISE(auto vectors, DeletionVectorEntries(table, *latest));
    for (const auto& [key, of_bucket] : vectors) {
      for (const IndexManifestEntry& entry : of_bucket) {
        if (!entry.file.deletion_vectors) continue;
        for (const DeletionVectorRange& range : *entry.file.deletion_vectors)
          live.vectors[Key(key.first, key.second, range.data_file)] = entry.file.file_name;
      }
    }
    return live;
  }

  /// Whether the message could still be committed: its inputs are there, and their deleted rows are
  /// those that it knows of.
  bool Allows(const CommitMessage& message) const {
    std::unordered_set<std::string_view> known;
    for (const IndexFileMeta& file : message.compact_deleted_index_files)
      known.insert(file.file_name);
    std::unordered_set<std::string_view> found;
    for (const DataFileMeta& file : message.compact_before) {
      ManifestEntry entry;
      entry.partition = message.partition;
      entry.bucket = message.bucket;
      entry.file = file;
      if (!identities.contains(entry.Identity())) return false;
      auto vector = vectors.find(Key(message.partition, message.bucket, file.file_name));
      if (vector == vectors.end()) continue;
      if (!known.contains(vector->second)) return false;
      found.insert(vector->second);
    }
    return found.size() == known.size();
  }
};

}  // namespace

arrow::Result<CompactCommitResult> CommitCompactions(const TableContextPtr& table,
                                                     std::vector<CommitMessage> messages,
                                                     const CommitterOptions& options) {
  CompactCommitResult result;
  for (int conflicts = 0; !messages.empty(); ++conflicts) {
    auto attempt = [&]() -> arrow::Result<CommitResult> {
      ARROW_ASSIGN_OR_RAISE(auto committer, Committer::Make(table, options));
      Committable committable;
      committable.messages = messages;
      return committer->Commit(committable);
    };
    auto committed = attempt();
    if (committed.ok()) {
      result.snapshot_ids = std::move(committed->snapshot_ids);
      for (const CommitMessage& message : messages) {
        result.files_before += static_cast<int64_t>(message.compact_before.size());
        result.files_after += static_cast<int64_t>(message.compact_after.size());
      }
      return result;
    }
    if (CodeOf(committed.status()) == ErrorCode::kCommitUnknown) return committed.status();
    std::vector<CommitMessage> stale;
    if (CodeOf(committed.status()) == ErrorCode::kConflict && conflicts < kConflictsMax) {
      auto live = LiveFiles::Read(*table, messages, options.token);
      if (live.ok()) {
        auto first_stale =
            std::stable_partition(messages.begin(), messages.end(),
                                  [&](const CommitMessage& m) { return live->Allows(m); });
        stale.assign(std::make_move_iterator(first_stale), std::make_move_iterator(messages.end()));
        messages.erase(first_stale, messages.end());
      }
    }
    if (stale.empty() || messages.empty()) {
      DeleteFiles(*table, messages);
      DeleteFiles(*table, stale);
      return committed.status();
    }
    DeleteFiles(*table, stale);
    result.given_up += static_cast<int64_t>(stale.size());
    KELDA_LOG(Warn, "table {}: {} compactions are given up, others changed their files meanwhile",
              table->name, stale.size());
  }
  return result;
}

}  // namespace kelda
