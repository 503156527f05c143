#include "kelda/commit/manifest_merge.h"

#include <optional>
#include <unordered_set>

#include "kelda/commit/changes.h"
#include "kelda/scan/partition_filter.h"

namespace kelda {

namespace {

using Metas = std::vector<ManifestFileMeta>;

/// More distinct partitions than this are not worth a predicate: every manifest is read.
constexpr size_t kDeletedPartitionsMax = 256;

bool MustChange(const ManifestFileMeta& manifest, const ManifestMergeOptions& options) {
  return manifest.num_deleted_files > 0 || manifest.file_size < options.target_file_size;
}

/// A predicate that is true exactly for the partitions in `serialized`.
arrow::Result<PredicatePtr> PartitionsPredicate(const TableContext& table,
                                                const std::unordered_set<std::string>& serialized) {
  const auto types = table.PartitionTypes();
  std::vector<PredicatePtr> any;
  for (const std::string& partition : serialized) {
    ARROW_ASSIGN_OR_RAISE(auto values, DecodePartition(types, partition, table.name));
    std::vector<PredicatePtr> all;
    for (size_t i = 0; i < values.size(); ++i) {
      const std::vector<std::string> column = {table.schema->partition_keys[i]};
      all.push_back(values[i]->is_valid ? Leaf(PredicateOp::kEq, column, {values[i]})
                                        : Leaf(PredicateOp::kIsNull, column, {}));
    }
    any.push_back(And(std::move(all)));
  }
  return Or(std::move(any));
}

struct Deletes {
  std::unordered_set<std::string> identities;
  std::unordered_set<std::string> partitions;
};

arrow::Result<Deletes> CollectDeletes(const ManifestReader& reader, const Metas& manifests,
                                      const CancellationToken& token) {
  Deletes deletes;
  ManifestReader::EntryOptions only_deletes;
  only_deletes.value_stats = false;
  only_deletes.only_deletes = true;
  for (const ManifestFileMeta& manifest : manifests) {
    if (manifest.num_deleted_files == 0) continue;
    ARROW_RETURN_NOT_OK(token.Check());
    ARROW_RETURN_NOT_OK(reader.ReadEntries(manifest, only_deletes, [&](ManifestEntry&& entry) {
      deletes.identities.insert(entry.Identity());
      deletes.partitions.insert(entry.partition);
      return arrow::Status::OK();
    }));
  }
  return deletes;
}

/// nullopt: full compaction does not pay.
arrow::Result<std::optional<Metas>> TryFullCompaction(const TableContext& table,
                                                      const Metas& manifests,
                                                      const ManifestMergeOptions& options,
                                                      ManifestWriter* writer,
                                                      const CancellationToken& token) {
  int64_t bytes_to_change = 0;
  for (const auto& manifest : manifests) {
    if (MustChange(manifest, options)) bytes_to_change += manifest.file_size;
  }
  if (bytes_to_change < options.full_compaction_threshold) return std::nullopt;

  ManifestReader reader = table.manifests();
  ARROW_ASSIGN_OR_RAISE(Deletes deletes, CollectDeletes(reader, manifests, token));
  PredicatePtr touched;
  if (table.partitioned() && deletes.partitions.size() <= kDeletedPartitionsMax) {
    ARROW_ASSIGN_OR_RAISE(touched, PartitionsPredicate(table, deletes.partitions));
  }
  PartitionFilter touched_partitions(table, touched);

  Metas kept, to_process;
  for (const auto& manifest : manifests) {
    bool process = MustChange(manifest, options);
    if (!process && !deletes.identities.empty()) {
      ARROW_ASSIGN_OR_RAISE(process, touched_partitions.MayContain(manifest));
    }
    (process ? to_process : kept).push_back(manifest);
  }
  if (to_process.size() <= 1) return std::nullopt;

  for (const auto& manifest : to_process) {
    ARROW_RETURN_NOT_OK(token.Check());
    ARROW_ASSIGN_OR_RAISE(auto entries, reader.ReadEntries(manifest));
    std::vector<ManifestEntry> survivors;
    for (ManifestEntry& entry : entries) {
      if (entry.kind == EntryKind::kAdd && !deletes.identities.contains(entry.Identity())) {
        survivors.push_back(std::move(entry));
      }
    }
    if (!MustChange(manifest, options) && survivors.size() == entries.size()) {
      kept.push_back(manifest);
      continue;
    }
    for (ManifestEntry& entry : survivors) ARROW_RETURN_NOT_OK(writer->Add(std::move(entry)));
  }
  ARROW_ASSIGN_OR_RAISE(Metas written, writer->FinishEntries());
  kept.insert(kept.end(), std::make_move_iterator(written.begin()),
              std::make_move_iterator(written.end()));
  return kept;
}

arrow::Status MergeGroup(const ManifestReader& reader, Metas group, ManifestWriter* writer,
                         Metas* result) {
  if (group.size() == 1) {
    result->push_back(std::move(group[0]));
    return arrow::Status::OK();
  }
  EntryMerger merger;
  for (const auto& manifest : group) {
    ARROW_RETURN_NOT_OK(WithContext(
        reader.ReadEntries(manifest, {},
                           [&](ManifestEntry&& entry) { return merger.Add(std::move(entry)); }),
        "merging manifests"));
  }
  for (ManifestEntry& entry : merger.Finish()) ARROW_RETURN_NOT_OK(writer->Add(std::move(entry)));
  ARROW_ASSIGN_OR_RAISE(Metas written, writer->FinishEntries());
  result->insert(result->end(), std::make_move_iterator(written.begin()),
                 std::make_move_iterator(written.end()));
  return arrow::Status::OK();
}

arrow::Result<Metas> MinorMerge(const TableContext& table, const Metas& manifests,
                                const ManifestMergeOptions& options, ManifestWriter* writer,
                                const CancellationToken& token) {
  ManifestReader reader = table.manifests();
  Metas result, group;
  int64_t group_bytes = 0;
  for (const auto& manifest : manifests) {
    ARROW_RETURN_NOT_OK(token.Check());
    group_bytes += manifest.file_size;
    group.push_back(manifest);
    if (group_bytes >= options.target_file_size) {
      ARROW_RETURN_NOT_OK(MergeGroup(reader, std::move(group), writer, &result));
      group = {};
      group_bytes = 0;
    }
  }
  if (static_cast<int64_t>(group.size()) >= options.merge_min_count && !group.empty()) {
    ARROW_RETURN_NOT_OK(MergeGroup(reader, std::move(group), writer, &result));
  } else {
    result.insert(result.end(), std::make_move_iterator(group.begin()),
                  std::make_move_iterator(group.end()));
  }
  return result;
}

}  // namespace

arrow::Result<Metas> MergeManifests(const TableContext& table, Metas manifests,
                                    const ManifestMergeOptions& options, ManifestWriter* writer,
                                    const CancellationToken& token) {
  ARROW_ASSIGN_OR_RAISE(auto full, TryFullCompaction(table, manifests, options, writer, token));
  if (full) return std::move(*full);
  return MinorMerge(table, manifests, options, writer, token);
}

}  // namespace kelda
