#include "kelda/scan/plan.h"

#include <algorithm>
#include <unordered_map>
#include <unordered_set>

#include "kelda/row/binary_row.h"
#include "kelda/scan/partition_filter.h"

namespace kelda {

namespace {

using IdentitySet = std::unordered_set<std::string>;

arrow::Result<std::vector<ManifestFileMeta>> ReadDataManifests(const ManifestReader& reader,
                                                               const Snapshot& snapshot) {
  ARROW_ASSIGN_OR_RAISE(auto manifests, reader.ReadList(snapshot.base_manifest_list,
                                                        snapshot.base_manifest_list_size));
  ARROW_ASSIGN_OR_RAISE(
      auto delta, reader.ReadList(snapshot.delta_manifest_list, snapshot.delta_manifest_list_size));
  manifests.insert(manifests.end(), std::make_move_iterator(delta.begin()),
                   std::make_move_iterator(delta.end()));
  return manifests;
}

/// Identities of all DELETE entries. A separate pass over the few manifests that have any, so that
/// ADD entries can be judged, and dropped, as they stream by.
arrow::Result<IdentitySet> CollectDeletes(const TableContext& table, const ManifestReader& reader,
                                          const std::vector<ManifestFileMeta>& manifests,
                                          const ManifestReader::EntryOptions& options,
                                          const CancellationToken& token) {
  std::vector<const ManifestFileMeta*> with_deletes;
  for (const auto& manifest : manifests) {
    if (manifest.num_deleted_files > 0) with_deletes.push_back(&manifest);
  }
  std::vector<IdentitySet> parts(with_deletes.size());
  ManifestReader::EntryOptions only_deletes = options;
  only_deletes.value_stats = false;
  only_deletes.only_deletes = true;
  ARROW_RETURN_NOT_OK(ParallelFor(
      *table.env.executor, static_cast<int64_t>(with_deletes.size()), token, [&](int64_t i) {
        return reader.ReadEntries(*with_deletes[i], only_deletes, [&, i](ManifestEntry&& entry) {
          parts[i].insert(entry.Identity());
          return token.Check();
        });
      }));
  IdentitySet all;
  for (auto& part : parts) all.merge(part);
  return all;
}

/// Streams the live ADD entries of `manifests` (ADD minus DELETE) to `sink(manifest index, entry)`,
/// which runs on several threads but only once at a time per manifest.
arrow::Status ForEachLiveEntry(const TableContext& table,
                               const std::vector<ManifestFileMeta>& manifests,
                               const ManifestReader::EntryOptions& options,
                               const CancellationToken& token,
                               const std::function<arrow::Status(int64_t, ManifestEntry&&)>& sink) {
  ManifestReader reader = table.manifests();
  ARROW_ASSIGN_OR_RAISE(IdentitySet deletes,
                        CollectDeletes(table, reader, manifests, options, token));
  return ParallelFor(*table.env.executor, static_cast<int64_t>(manifests.size()), token,
                     [&](int64_t i) {
                       return reader.ReadEntries(
                           manifests[i], options, [&, i](ManifestEntry&& entry) -> arrow::Status {
                             ARROW_RETURN_NOT_OK(token.Check());
                             if (entry.kind != EntryKind::kAdd) return arrow::Status::OK();
                             if (!deletes.empty() && deletes.contains(entry.Identity()))
                               return arrow::Status::OK();
                             return sink(i, std::move(entry));
                           });
                     });
}

arrow::Status RefuseUnreadableFile(const TableContext& table, const DataFileMeta& file) {
  if (file.write_cols) {
    return Unsupported("table {}: data file '{}' holds only some columns (data evolution)",
                       table.name, file.file_name);
  }
  return arrow::Status::OK();
}

/// Close the bin before it grows past the target (spec 02 §10.3, packForOrdered).
std::vector<std::vector<DataFileMeta>> PackFiles(std::vector<DataFileMeta> files,
                                                 int64_t target_bytes, int64_t open_cost_bytes) {
  std::vector<std::vector<DataFileMeta>> bins;
  int64_t weight = 0;
  for (DataFileMeta& file : files) {
    const int64_t w = std::max(file.file_size, open_cost_bytes);
    if (bins.empty() || weight + w > target_bytes) {
      bins.emplace_back();
      weight = 0;
    }
    weight += w;
    bins.back().push_back(std::move(file));
  }
  return bins;
}

/// Entries grouped by (partition, bucket) in the order of their first file.
class SplitBuilder {
 public:
  explicit SplitBuilder(const TableContext& table) : table_(table) {}

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
    for (Group& group : groups_) {
      partitions.insert(group.partition);
      ARROW_ASSIGN_OR_RAISE(auto values,
                            DecodePartition(partition_types, group.partition, table_.name));
      ARROW_ASSIGN_OR_RAISE(std::string partition_path,
                            PartitionPath(partition_fields, values, table_.partition_path_options));
      std::stable_sort(group.files.begin(), group.files.end(),
                       [](const DataFileMeta& a, const DataFileMeta& b) {
                         return a.min_sequence_number < b.min_sequence_number;
                       });
      for (auto& files : PackFiles(std::move(group.files), target, open_cost)) {
        Split split;
        split.partition = group.partition;
        split.partition_values = values;
        split.bucket = group.bucket;
        split.total_buckets = group.total_buckets;
        split.bucket_dir = table_.paths.BucketDir(partition_path, group.bucket);
        split.files = std::move(files);
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
  const TableContext& table_;
  std::vector<Group> groups_;
  std::unordered_map<std::string, size_t> index_;
};

void ApplyLimit(int64_t limit, std::vector<Split>* splits) {
  int64_t rows = 0;
  for (size_t i = 0; i < splits->size(); ++i) {
    rows += (*splits)[i].RowCount();
    if (rows >= limit) {
      splits->resize(i + 1);
      return;
    }
  }
}

}  // namespace

int64_t Split::RowCount() const {
  int64_t rows = 0;
  for (const DataFileMeta& file : files) rows += file.row_count;
  return rows;
}

std::string Split::FilePath(const DataFileMeta& file) const {
  return file.external_path ? *file.external_path : JoinPath(bucket_dir, file.file_name);
}

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
  ManifestReader::EntryOptions options;
  options.value_stats = use_stats || request.keep_value_stats;
  if (!partition_filter.trivial()) {
    options.partition_filter = [&](std::string_view partition) {
      return partition_filter.Accepts(partition);
    };
  }
  struct PerManifest {
    std::vector<ManifestEntry> entries;
    int64_t files = 0;
    int64_t bytes = 0;
  };
  std::vector<PerManifest> parts(manifests.size());
  ARROW_RETURN_NOT_OK(
      ForEachLiveEntry(table, manifests, options, request.token,
                       [&](int64_t i, ManifestEntry&& entry) -> arrow::Status {
                         ARROW_RETURN_NOT_OK(RefuseUnreadableFile(table, entry.file));
                         PerManifest& part = parts[i];
                         ++part.files;
                         part.bytes += entry.file.file_size;
                         if (use_stats) {
                           ARROW_ASSIGN_OR_RAISE(auto bounds, FileBounds(table, entry.file));
                           if (!MayMatch(*split_predicate.outside, *bounds))
                             return arrow::Status::OK();
                           if (!request.keep_value_stats) entry.file.value_stats = SimpleStats();
                         }
                         part.entries.push_back(std::move(entry));
                         return arrow::Status::OK();
                       }));

  SplitBuilder builder(table);
  for (PerManifest& part : parts) {
    plan.statistics.files_after_partition += part.files;
    plan.statistics.bytes_after_partition += part.bytes;
    for (ManifestEntry& entry : part.entries) builder.Add(std::move(entry));
    part.entries = {};
  }
  ARROW_ASSIGN_OR_RAISE(plan.splits, builder.Finish(&plan.statistics));
  if (request.limit && plan.exact) ApplyLimit(*request.limit, &plan.splits);
  for (const Split& split : plan.splits) {
    plan.statistics.files_planned += static_cast<int64_t>(split.files.size());
    plan.statistics.rows_planned += split.RowCount();
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
  ARROW_RETURN_NOT_OK(
      ForEachLiveEntry(table, manifests, options, token, [&](int64_t i, ManifestEntry&& entry) {
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
