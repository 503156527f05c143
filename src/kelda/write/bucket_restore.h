#pragma once

#include <map>
#include <mutex>
#include <optional>
#include <string>
#include <unordered_set>
#include <vector>

#include "kelda/base/cancellation.h"
#include "kelda/metadata/table_context.h"

namespace kelda {

/// What a new writer of a bucket finds there (spec 02 §3.1).
struct RestoredBucket {
  int64_t max_sequence = -1;
  std::vector<DataFileMeta> files;                   ///< by sequence number; empty unless asked for
  std::vector<IndexManifestEntry> deletion_vectors;  ///< with `files`
};

/// The files that fixed buckets of the latest snapshot hold, read when the first row of their
/// partition comes. Thread-safe.
class BucketRestore {
 public:
  /// `keep_files`: the files themselves are wanted (compaction), not only their numbers.
  BucketRestore(TableContextPtr table, int32_t bucket_count, bool keep_files,
                CancellationToken token)
      : table_(std::move(table)),
        bucket_count_(bucket_count),
        keep_files_(keep_files),
        token_(std::move(token)) {}

  /// Read what is not known yet of `partitions`, all in one pass over the manifests. Invalid when a
  /// partition was written with another number of buckets (spec 02 §2.4).
  arrow::Status Load(const std::vector<std::string>& partitions);
  /// Hand over what a bucket of a loaded partition holds.
  RestoredBucket Take(const std::string& partition, int32_t bucket);

 private:
  TableContextPtr table_;
  int32_t bucket_count_;
  bool keep_files_;
  CancellationToken token_;
  std::mutex mutex_;  ///< guards the rest; held while manifests are read
  std::unordered_set<std::string> loaded_;
  std::map<std::pair<std::string, int32_t>, RestoredBucket> buckets_;
};

}  // namespace kelda
