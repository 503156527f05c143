#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "kelda/metadata/manifest_codec.h"

namespace kelda {

/// The entries of one manifest as the manifest cache keeps them: columns, and which rows are of
/// which partition. Immutable once built.
class DecodedManifest {
 public:
  /// How much of the entries is there; each holds what those before it do.
  enum class Depth { kPartitions, kWithoutValueStats, kAll };

  Depth depth() const { return depth_; }
  /// Bytes of the manifest file, to be compared with what its list says.
  int64_t file_size() const { return file_size_; }
  int64_t memory_bytes() const;

  /// Distinct serialized partitions.
  const std::vector<std::string>& partitions() const { return partitions_; }
  /// Per entry, in file order: index into `partitions`.
  const std::vector<uint32_t>& partition_of_entry() const { return partition_of_entry_; }
  /// All entries in file order; none at kPartitions.
  const std::vector<ManifestEntryBatch>& batches() const { return batches_; }

  class Builder;

 private:
  Depth depth_ = Depth::kPartitions;
  int64_t file_size_ = 0;
  int64_t batch_bytes_ = 0;
  std::vector<std::string> partitions_;
  std::vector<uint32_t> partition_of_entry_;
  std::vector<ManifestEntryBatch> batches_;
};

/// Collects a manifest while it is decoded.
class DecodedManifest::Builder {
 public:
  Builder(Depth depth, int64_t file_size);
  void AddPartition(std::string_view serialized);
  /// The entries of one batch, with their partitions.
  void AddBatch(const ManifestEntryBatch& batch);
  int64_t memory_bytes() const { return manifest_->memory_bytes(); }
  std::shared_ptr<const DecodedManifest> Finish();

 private:
  std::shared_ptr<DecodedManifest> manifest_;
  std::unordered_map<std::string, uint32_t> index_;
  uint32_t last_ = 0;
};

}  // namespace kelda
