#pragma once

#include <map>
#include <string>
#include <vector>

#include "kelda/index/deletion_vector_file.h"

namespace kelda {

/// Index files that a change of deletion vectors in one (partition, bucket) removes and adds.
struct DeletionVectorRewrite {
  std::vector<IndexFileMeta> deleted;
  std::vector<IndexFileMeta> added;
};

/// New vectors for data files of one (partition, bucket) of an append table (spec 02 §7.4,
/// AppendDeleteFileMaintainer and BucketedDvMaintainer). `current`: its DELETION_VECTORS entries in
/// the snapshot that the caller read. `changes`: data file -> its complete new vector, or null to
/// drop the vector (the file was rewritten).
///
/// Without buckets only the index files that hold a changed vector are rewritten; with buckets the
/// one file of the bucket is.
arrow::Result<DeletionVectorRewrite> RewriteDeletionVectors(
    const TableContext& table, std::string_view partition, int32_t bucket,
    const std::vector<IndexManifestEntry>& current,
    const std::map<std::string, DeletionVectorPtr>& changes);

/// Entries of DELETION_VECTORS files of the snapshot, by (partition, bucket); empty when it has no
/// index manifest.
using BucketKey = std::pair<std::string, int32_t>;
arrow::Result<std::map<BucketKey, std::vector<IndexManifestEntry>>> DeletionVectorEntries(
    const TableContext& table, const Snapshot& snapshot);

}  // namespace kelda
