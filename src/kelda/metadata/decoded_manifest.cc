#include "kelda/metadata/decoded_manifest.h"

namespace kelda {

namespace {

/// A partition's text, its string and its share of the vector.
constexpr int64_t kPartitionOverheadBytes = 64;

}  // namespace

int64_t DecodedManifest::memory_bytes() const {
  int64_t bytes = batch_bytes_ + static_cast<int64_t>(partition_of_entry_.capacity() * 4);
  for (const std::string& partition : partitions_)
    bytes += static_cast<int64_t>(partition.size()) + kPartitionOverheadBytes;
  return bytes;
}

DecodedManifest::Builder::Builder(Depth depth, int64_t file_size)
    : manifest_(std::make_shared<DecodedManifest>()) {
  manifest_->depth_ = depth;
  manifest_->file_size_ = file_size;
}

void DecodedManifest::Builder::AddPartition(std::string_view serialized) {
  auto& partitions = manifest_->partitions_;
  // Entries of one partition mostly lie together.
  if (partitions.empty() || partitions[last_] != serialized) {
    auto [it, is_new] =
        index_.emplace(std::string(serialized), static_cast<uint32_t>(partitions.size()));
    if (is_new) partitions.emplace_back(serialized);
    last_ = it->second;
  }
  manifest_->partition_of_entry_.push_back(last_);
}

void DecodedManifest::Builder::AddBatch(const ManifestEntryBatch& batch) {
  for (int64_t row = 0; row < batch.num_rows(); ++row) AddPartition(batch.partition(row));
  manifest_->batch_bytes_ += batch.memory_bytes();
  manifest_->batches_.push_back(batch);
}

std::shared_ptr<const DecodedManifest> DecodedManifest::Builder::Finish() {
  manifest_->partition_of_entry_.shrink_to_fit();
  return std::move(manifest_);
}

}  // namespace kelda
