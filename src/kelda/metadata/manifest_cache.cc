#include "kelda/metadata/manifest_cache.h"

#include "kelda/metadata/decoded_manifest.h"

namespace kelda {

std::shared_ptr<arrow::Buffer> ManifestCache::Get(const std::string& path) {
  std::lock_guard lock(mutex_);
  Entry* entry = Find(path);
  return entry == nullptr ? nullptr : entry->bytes;
}

std::shared_ptr<const DecodedManifest> ManifestCache::GetDecoded(const std::string& path) {
  std::lock_guard lock(mutex_);
  Entry* entry = Find(path);
  return entry == nullptr ? nullptr : entry->decoded;
}

void ManifestCache::Put(const std::string& path, std::shared_ptr<arrow::Buffer> bytes) {
  const int64_t size = bytes->size();
  std::lock_guard lock(mutex_);
  if (Find(path) != nullptr) return;
  Insert(Entry{path, std::move(bytes), nullptr, {}}, size);
}

void ManifestCache::PutDecoded(const std::string& path,
                               std::shared_ptr<const DecodedManifest> manifest) {
  const int64_t size = manifest->memory_bytes();
  std::lock_guard lock(mutex_);
  if (Entry* entry = Find(path)) {
    // Another reader may have been faster.
    if (entry->decoded != nullptr && entry->decoded->depth() >= manifest->depth()) return;
    if (size > item_bytes_max()) return;
    Drop(entries_.begin());
  }
  Insert(Entry{path, nullptr, std::move(manifest), {}}, size);
}

ManifestCache::Entry* ManifestCache::Find(const std::string& path) {
  auto it = index_.find(path);
  if (it == index_.end()) return nullptr;
  entries_.splice(entries_.begin(), entries_, it->second);
  return &entries_.front();
}

void ManifestCache::Insert(Entry entry, int64_t size) {
  if (size > item_bytes_max()) return;
  while (used_bytes_ + size > capacity_bytes_ && !entries_.empty()) Drop(std::prev(entries_.end()));
  auto reservation = budget_->TryReserve(size, "manifest cache");
  if (!reservation.ok()) return;
  entry.reservation = std::move(*reservation);
  entries_.push_front(std::move(entry));
  index_[entries_.front().path] = entries_.begin();
  used_bytes_ += size;
}

void ManifestCache::Drop(Entries::iterator entry) {
  used_bytes_ -= entry->reservation.bytes();
  index_.erase(entry->path);
  entries_.erase(entry);
}

int64_t ManifestCache::used_bytes() const {
  std::lock_guard lock(mutex_);
  return used_bytes_;
}

}  // namespace kelda
