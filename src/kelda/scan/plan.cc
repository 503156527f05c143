#include "kelda/scan/plan.h"

#include <algorithm>
#include <unordered_map>
#include <unordered_set>

#include "kelda/index/deletion_vector_rewrite.h"
#include "kelda/row/binary_row.h"
#include "kelda/scan/bucket_filter.h"
#include "kelda/scan/file_index_filter.h"
#include "kelda/scan/live_entries.h"
#include "kelda/scan/merge_tree_scan.h"
#include "kelda/scan/partition_filter.h"

namespace kelda {

namespace {

using FileGroup = std::vector<DataFileMeta>;

/// Files that are read together: each alone, or under data evolution those of overlapping row ids,
/// side by side.
std::vector<FileGroup> GroupFiles(FileGroup files, bool data_evolution) {
  std::vector<FileGroup> groups;
  if (!data_evolution) {
    std::stable_sort(files.begin(), files.end(), [](const DataFileMeta& a, const DataFileMeta& b) {
      return a.min_sequence_number < b.min_sequence_number;
    });
    for (DataFileMeta& file : files) {
      groups.emplace_back();
      groups.back().push_back(std::move(file));
    }
    return groups;
  }
  std::stable_sort(files.begin(), files.end(), [](const DataFileMeta& a, const DataFileMeta& b) {
    return a.first_row_id.value_or(-1) < b.first_row_id.value_or(-1);
  });
  int64_t group_end = -1;
  for (DataFileMeta& file : files) {
    if (!file.first_row_id || *file.first_row_id >= group_end || groups.empty()) {
      groups.emplace_back();
      group_end = -1;
    }
    if (file.first_row_id) group_end = std::max(group_end, *file.first_row_id + file.row_count);
    groups.back().push_back(std::move(file));
  }
  return groups;
}

/// Close the bin before it grows past the target (spec 02 §10.3, packForOrdered).
std::vector<FileGroup> PackGroups(std::vector<FileGroup> groups, int64_t target_bytes,
                                  int64_t open_cost_bytes, bool count_blobs) {
  std::vector<FileGroup> bins;
  int64_t weight = 0;
  for (FileGroup& group : groups) {
    int64_t w = 0;
    for (const DataFileMeta& file : group) {
      if (count_blobs || !IsBlobFile(file)) w += std::max(file.file_size, open_cost_bytes);
    }
    if (bins.empty() || weight + w > target_bytes) {
      bins.emplace_back();
      weight = 0;
    }
    weight += w;
    for (DataFileMeta& file : group) bins.back().push_back(std::move(file));
  }
  return bins;
}

/// Entries grouped by (partition, bucket) in the order of their first file.
class SplitBuilder {
 public:
  /// `may_match` (may be null): files of one row sequence are dropped unless it says true.
  SplitBuilder(const TableContext& table, bool data_evolution, const MergeTreeScan* merge_tree,
               std::function<arrow::Result<bool>(const FileGroup&)> may_match)
      : table_(table),
        data_evolution_(data_evolution),
        merge_tree_(merge_tree),
        may_match_(std::move(may_match)) {}

  void Add(ManifestEntry entry) {
    std::string key = entry.partition;
    key.append(reinterpret_cast<const char*>(&entry.bucket), sizeof(entry.bucket));
    auto [it, is_new] = index_.emplace(std::move(key), groups_.size());
    if (is_new) {
      groups_.push_back(Group{std::move(entry.partition), entry.bucket, entry.total_buckets, {}});
    }
    groups_[it->second].files.push_back(std::move(entry.file));
  }

  arrow::Result<std::vector<Split>> Finish(ScanStatistics* statistics) {
    ARROW_ASSIGN_OR_RAISE(int64_t target, table_.options.Get(OptionKeys::kSourceSplitTargetSize));
    ARROW_ASSIGN_OR_RAISE(int64_t open_cost,
                          table_.options.Get(OptionKeys::kSourceSplitOpenFileCost));
    const auto partition_fields = table_.PartitionFields();
    const auto partition_types = table_.PartitionTypes();
    std::unordered_set<std::string_view> partitions;
    std::vector<Split> splits;
    ARROW_ASSIGN_OR_RAISE(bool as_descriptor, table_.options.Get(OptionKeys::kBlobAsDescriptor));
    ARROW_ASSIGN_OR_RAISE(auto by_size, table_.options.Find(OptionKeys::kBlobSplitByFileSize));
    const bool count_blobs = by_size.value_or(!as_descriptor);
    for (Group& group : groups_) {
      ARROW_ASSIGN_OR_RAISE(auto values,
                            DecodePartition(partition_types, group.partition, table_.name));
      ARROW_ASSIGN_OR_RAISE(std::string partition_path,
                            PartitionPath(partition_fields, values, table_.partition_path_options));
      Split proto;
      proto.partition = group.partition;
      proto.partition_values = values;
      proto.bucket = group.bucket;
      proto.total_buckets = group.total_buckets;
      proto.bucket_dir = table_.paths.BucketDir(partition_path, group.bucket);
      if (merge_tree_ != nullptr) {
        ARROW_RETURN_NOT_OK(
            merge_tree_->MakeSplits(std::move(group.files), proto, target, open_cost, &splits));
        if (!splits.empty() && splits.back().partition == group.partition)
          partitions.insert(group.partition);
        continue;
      }
      std::vector<FileGroup> file_groups = GroupFiles(std::move(group.files), data_evolution_);
      if (may_match_) ARROW_RETURN_NOT_OK(DropUnmatched(&file_groups));
      if (file_groups.empty()) continue;
      partitions.insert(group.partition);
      for (auto& files : PackGroups(std::move(file_groups), target, open_cost, count_blobs)) {
        Split split = proto;
        split.files = std::move(files);
        split.data_evolution = data_evolution_;
        splits.push_back(std::move(split));
      }
    }
    statistics->partitions_planned = static_cast<int64_t>(partitions.size());
    return splits;
  }

 private:
  struct Group {
    std::string partition;
    int32_t bucket;
    int32_t total_buckets;
    std::vector<DataFileMeta> files;
  };
  arrow::Status DropUnmatched(std::vector<FileGroup>* groups) const {
    std::vector<FileGroup> kept;
    for (FileGroup& group : *groups) {
      ARROW_ASSIGN_OR_RAISE(bool may, may_match_(group));
      if (may) kept.push_back(std::move(group));
    }
    *groups = std::move(kept);
    return arrow::Status::OK();
  }

  const TableContext& table_;
  const bool data_evolution_;
  const MergeTreeScan* merge_tree_;  ///< null: the table has no primary key
  const std::function<arrow::Result<bool>(const FileGroup&)> may_match_;
  std::vector<Group> groups_;
  std::unordered_map<std::string, size_t> index_;
};

void ApplyLimit(int64_t limit, std::vector<Split>* splits) {
  int64_t rows = 0;
  for (size_t i = 0; i < splits->size(); ++i) {
    rows += (*splits)[i].LiveRowCount().value_or(0);
    if (rows >= limit) {
      splits->resize(i + 1);
      return;
    }
  }
}

arrow::Result<bool> StoresAny(const TableContext& table, const DataFileMeta& file,
                              const std::vector<DataField>& projection) {
  TableSchemaPtr schema = table.schema;
  if (file.schema_id != schema->id) {
    ARROW_ASSIGN_OR_RAISE(schema, table.schemas->Read(file.schema_id));
  }
  ARROW_ASSIGN_OR_RAISE(const auto stored, StoredFields(*schema, file));
  for (const DataField& wanted : projection) {
    for (const DataField& field : stored) {
      if (field.id == wanted.id) return true;
    }
  }
  return false;
}

/// Attach the deletion vectors that the snapshot's index manifest lists (spec 02 §10.3).
arrow::Status AttachDeletionVectors(const TableContext& table, const Snapshot& snapshot,
                                    std::vector<Split>* splits) {
  ARROW_ASSIGN_OR_RAISE(bool enabled, table.options.Get(OptionKeys::kDeletionVectorsEnabled));
  if (!enabled || !snapshot.index_manifest || splits->empty()) return arrow::Status::OK();
  ARROW_ASSIGN_OR_RAISE(const auto by_bucket, DeletionVectorEntries(table, snapshot));
  std::map<BucketKey, std::unordered_map<std::string, DeletionFile>> vectors;
  for (Split& split : *splits) {
    const BucketKey key{split.partition, split.bucket};
    const auto entries = by_bucket.find(key);
    if (entries == by_bucket.end()) continue;
    auto [it, is_new] = vectors.try_emplace(key);
    if (is_new) {
      for (const IndexManifestEntry& entry : entries->second) {
        if (!entry.file.deletion_vectors) continue;
        ARROW_ASSIGN_OR_RAISE(std::string path,
                              IndexFilePath(table, entry.partition, entry.bucket, entry.file));
        for (const DeletionVectorRange& range : *entry.file.deletion_vectors) {
          it->second[range.data_file] =
              DeletionFile{path, range.offset, range.length, range.cardinality};
        }
      }
    }
    for (size_t i = 0; i < split.files.size(); ++i) {
      const auto found = it->second.find(split.files[i].file_name);
      if (found == it->second.end()) continue;
      split.deletion_files.resize(split.files.size());
      split.deletion_files[i] = found->second;
    }
  }
  return arrow::Status::OK();
}

}  // namespace

arrow::Result<ScanPlan> PlanScan(const TableContext& table, const ScanRequest& request) {
  ScanPlan plan;
  plan.snapshot = request.snapshot;
  if (!request.snapshot) return plan;

  SplitPredicate split_predicate;
  if (request.predicate != nullptr) {
    split_predicate = SplitByColumns(request.predicate, table.schema->partition_keys);
  }
  plan.exact = split_predicate.outside == nullptr;
  PartitionFilter partition_filter(table, split_predicate.inside);
  auto bucket_filter = BucketFilter::Make(table, split_predicate.outside);

  ManifestReader reader = table.manifests();
  ARROW_ASSIGN_OR_RAISE(auto all_manifests, ReadDataManifests(reader, *request.snapshot));
  std::vector<ManifestFileMeta> manifests;
  plan.statistics.manifests_total = static_cast<int64_t>(all_manifests.size());
  for (auto& manifest : all_manifests) {
    plan.statistics.files_total += manifest.num_added_files - manifest.num_deleted_files;
    ARROW_ASSIGN_OR_RAISE(bool may, partition_filter.MayContain(manifest));
    if (may) manifests.push_back(std::move(manifest));
  }
  plan.statistics.manifests_read = static_cast<int64_t>(manifests.size());

  const bool use_stats = split_predicate.outside != nullptr;
  ARROW_ASSIGN_OR_RAISE(const auto merge_tree, MergeTreeScan::Make(table, split_predicate.outside,
                                                                   request.read_optimized));
  ARROW_ASSIGN_OR_RAISE(bool data_evolution, table.options.Get(OptionKeys::kDataEvolutionEnabled));
  ManifestReader::EntryOptions options;
  options.value_stats = use_stats || request.keep_value_stats;
  if (!partition_filter.trivial()) {
    options.partition_filter = [&](std::string_view partition) {
      return partition_filter.Accepts(partition);
    };
  }
  // The indexes of a file that holds some columns only say nothing of newer values.
  ARROW_ASSIGN_OR_RAISE(
      const auto index_filter,
      FileIndexFilter::Make(table, data_evolution ? nullptr : split_predicate.outside));
  struct PerManifest {
    std::vector<ManifestEntry> entries;
    int64_t files = 0;
    int64_t bytes = 0;
    int64_t skipped_by_index = 0;
  };
  std::vector<PerManifest> parts(manifests.size());
  ARROW_ASSIGN_OR_RAISE(
      auto live, LiveEntries::Open(table, std::move(manifests), std::move(options), request.token));
  ARROW_RETURN_NOT_OK(live.ForEach([&](int64_t i, ManifestEntry&& entry) -> arrow::Status {
    PerManifest& part = parts[i];
    ++part.files;
    part.bytes += entry.file.file_size;
    if (bucket_filter != nullptr) {
      ARROW_ASSIGN_OR_RAISE(bool wanted, bucket_filter->Accepts(entry));
      if (!wanted) return arrow::Status::OK();
    }
    if (data_evolution && request.projection != nullptr) {
      ARROW_ASSIGN_OR_RAISE(bool stores, StoresAny(table, entry.file, *request.projection));
      if (!stores) return arrow::Status::OK();
    }
    // A file with some columns says nothing of rows whose values newer
    // files hold.
    if (merge_tree != nullptr) {
      ARROW_ASSIGN_OR_RAISE(bool wanted, merge_tree->Accepts(entry));
      if (!wanted) return arrow::Status::OK();
    } else if (use_stats && !data_evolution) {
      ARROW_ASSIGN_OR_RAISE(auto bounds, FileBounds(table, entry.file));
      if (!MayMatch(*split_predicate.outside, *bounds)) return arrow::Status::OK();
      if (!request.keep_value_stats) entry.file.value_stats = SimpleStats();
    }
    const bool file_by_file = merge_tree == nullptr || merge_tree->EachKeyOnce();
    if (file_by_file && index_filter != nullptr && FileIndexFilter::HasEmbedded(entry.file)) {
      ARROW_ASSIGN_OR_RAISE(const auto rows, index_filter->SelectEmbedded(entry.file));
      if (rows.none()) {
        ++part.skipped_by_index;
        return arrow::Status::OK();
      }
    }
    part.entries.push_back(std::move(entry));
    return arrow::Status::OK();
  }));

  std::function<arrow::Result<bool>(const FileGroup&)> may_match;
  if (use_stats && data_evolution) {
    may_match = [&](const FileGroup& group) -> arrow::Result<bool> {
      if (group.size() > 1) return true;
      ARROW_ASSIGN_OR_RAISE(auto bounds, FileBounds(table, group[0]));
      return MayMatch(*split_predicate.outside, *bounds);
    };
  }
  SplitBuilder builder(table, data_evolution, merge_tree.get(), std::move(may_match));
  for (PerManifest& part : parts) {
    plan.statistics.files_after_partition += part.files;
    plan.statistics.bytes_after_partition += part.bytes;
    plan.statistics.files_skipped_by_index += part.skipped_by_index;
    for (ManifestEntry& entry : part.entries) builder.Add(std::move(entry));
    part.entries = {};
  }
  ARROW_ASSIGN_OR_RAISE(plan.splits, builder.Finish(&plan.statistics));
  ARROW_RETURN_NOT_OK(AttachDeletionVectors(table, *request.snapshot, &plan.splits));
  if (index_filter != nullptr && (merge_tree == nullptr || merge_tree->EachKeyOnce())) {
    ARROW_RETURN_NOT_OK(
        ApplyFileIndexes(table, *index_filter, request.token, &plan.splits, &plan.statistics));
  }
  if (request.limit && plan.exact) ApplyLimit(*request.limit, &plan.splits);
  for (const Split& split : plan.splits) {
    plan.statistics.files_planned += static_cast<int64_t>(split.files.size());
    plan.statistics.rows_planned += split.LiveRowCount().value_or(split.RowCount());
    for (const DataFileMeta& file : split.files) plan.statistics.bytes_planned += file.file_size;
  }
  return plan;
}

arrow::Result<std::vector<ManifestEntry>> ReadLiveEntries(
    const TableContext& table, const Snapshot& snapshot,
    const std::function<arrow::Result<bool>(std::string_view)>& partition_filter,
    CancellationToken token, bool value_stats) {
  ManifestReader reader = table.manifests();
  ARROW_ASSIGN_OR_RAISE(auto manifests, ReadDataManifests(reader, snapshot));
  ManifestReader::EntryOptions options;
  options.value_stats = value_stats;
  options.partition_filter = partition_filter;
  std::vector<std::vector<ManifestEntry>> parts(manifests.size());
  ARROW_ASSIGN_OR_RAISE(auto live, LiveEntries::Open(table, std::move(manifests),
                                                     std::move(options), std::move(token)));
  ARROW_RETURN_NOT_OK(live.ForEach([&](int64_t i, ManifestEntry&& entry) {
    parts[i].push_back(std::move(entry));
    return arrow::Status::OK();
  }));
  std::vector<ManifestEntry> entries;
  for (auto& part : parts) {
    entries.insert(entries.end(), std::make_move_iterator(part.begin()),
                   std::make_move_iterator(part.end()));
  }
  return entries;
}

}  // namespace kelda
