#include "kelda/index/deletion_vector_rewrite.h"

#include <algorithm>

namespace kelda {

arrow::Result<DeletionVectorRewrite> RewriteDeletionVectors(
    const TableContext& table, std::string_view partition, int32_t bucket,
    const std::vector<IndexManifestEntry>& current,
    const std::map<std::string, DeletionVectorPtr>& changes) {
  DeletionVectorRewrite rewrite;
  if (changes.empty()) return rewrite;
  ARROW_ASSIGN_OR_RAISE(int32_t buckets, table.options.Get(OptionKeys::kBucket));
  const bool whole_bucket = buckets > 0;
  std::vector<std::pair<std::string, DeletionVectorPtr>> vectors;
  for (const IndexManifestEntry& entry : current) {
    if (!entry.file.deletion_vectors) continue;
    const bool touched = std::any_of(
        entry.file.deletion_vectors->begin(), entry.file.deletion_vectors->end(),
        [&](const DeletionVectorRange& range) { return changes.contains(range.data_file); });
    if (!touched && !whole_bucket) continue;
    ARROW_ASSIGN_OR_RAISE(std::string path, IndexFilePath(table, partition, bucket, entry.file));
    ARROW_ASSIGN_OR_RAISE(auto held, ReadDeletionVectors(*table.env.io, path, entry.file));
    for (auto& vector : held) {
      if (!changes.contains(vector.first)) vectors.push_back(std::move(vector));
    }
    rewrite.deleted.push_back(entry.file);
  }
  bool adds = false;
  for (const auto& [data_file, vector] : changes) {
    if (vector == nullptr || vector->empty()) continue;
    vectors.emplace_back(data_file, vector);
    adds = true;
  }
  // Dropping vectors that never were changes nothing.
  if (!adds && rewrite.deleted.empty()) return rewrite;
  ARROW_ASSIGN_OR_RAISE(rewrite.added,
                        WriteDeletionVectors(table, partition, bucket, vectors, whole_bucket));
  return rewrite;
}

arrow::Result<std::map<BucketKey, std::vector<IndexManifestEntry>>> DeletionVectorEntries(
    const TableContext& table, const Snapshot& snapshot) {
  std::map<BucketKey, std::vector<IndexManifestEntry>> by_bucket;
  if (!snapshot.index_manifest) return by_bucket;
  ARROW_ASSIGN_OR_RAISE(auto entries,
                        table.manifests().ReadIndexManifest(*snapshot.index_manifest));
  for (IndexManifestEntry& entry : entries) {
    if (entry.file.index_type != kDeletionVectorsIndex) continue;
    BucketKey key{entry.partition, entry.bucket};
    by_bucket[std::move(key)].push_back(std::move(entry));
  }
  return by_bucket;
}

}  // namespace kelda
