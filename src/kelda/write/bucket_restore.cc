#include "kelda/write/bucket_restore.h"

#include <algorithm>

#include "kelda/index/deletion_vector_rewrite.h"
#include "kelda/scan/plan.h"

namespace kelda {

namespace {

std::string Describe(const TableContext& table, std::string_view partition) {
  auto values = DecodePartition(table.PartitionTypes(), partition, table.name);
  if (!values.ok() || values->empty()) return "table " + table.name;
  auto path = PartitionPath(table.PartitionFields(), *values, table.partition_path_options);
  if (!path.ok()) return "table " + table.name;
  return fmt::format("table {}, partition {}", table.name,
                     std::string_view(*path).substr(0, path->size() - 1));
}

}  // namespace

arrow::Status BucketRestore::Load(const std::vector<std::string>& partitions) {
  std::lock_guard lock(mutex_);
  std::unordered_set<std::string> wanted;
  for (const std::string& partition : partitions) {
    if (!loaded_.contains(partition)) wanted.insert(partition);
  }
  if (wanted.empty()) return arrow::Status::OK();
  ARROW_ASSIGN_OR_RAISE(auto latest, table_->snapshots->Latest());
  if (latest) {
    ARROW_ASSIGN_OR_RAISE(bool drop_stats,
                          table_->options.Get(OptionKeys::kManifestDeleteFileDropStats));
    ARROW_ASSIGN_OR_RAISE(auto entries, ReadLiveEntries(
                                            *table_, *latest,
                                            [&](std::string_view partition) {
                                              return wanted.contains(std::string(partition));
                                            },
                                            token_, /*value_stats=*/keep_files_ && !drop_stats));
    for (ManifestEntry& entry : entries) {
      if (entry.total_buckets > 0 && entry.total_buckets != bucket_count_) {
        return Invalid(
            "{} has files of {} buckets, the table has {} now. Bring it to the new number with "
            "INSERT OVERWRITE of its rows before writing more",
            Describe(*table_, entry.partition), entry.total_buckets, bucket_count_);
      }
      RestoredBucket& bucket = buckets_[{entry.partition, entry.bucket}];
      bucket.max_sequence = std::max(bucket.max_sequence, entry.file.max_sequence_number);
      if (keep_files_) bucket.files.push_back(std::move(entry.file));
    }
  }
  if (latest && keep_files_) {
    ARROW_ASSIGN_OR_RAISE(auto vectors, DeletionVectorEntries(*table_, *latest));
    for (auto& [key, of_bucket] : vectors) {
      if (wanted.contains(key.first)) buckets_[key].deletion_vectors = std::move(of_bucket);
    }
  }
  loaded_.merge(wanted);
  return arrow::Status::OK();
}

RestoredBucket BucketRestore::Take(const std::string& partition, int32_t bucket) {
  std::lock_guard lock(mutex_);
  auto node = buckets_.extract({partition, bucket});
  if (node.empty()) return {};
  RestoredBucket restored = std::move(node.mapped());
  std::stable_sort(restored.files.begin(), restored.files.end(),
                   [](const DataFileMeta& a, const DataFileMeta& b) {
                     return a.min_sequence_number < b.min_sequence_number;
                   });
  return restored;
}

}  // namespace kelda
