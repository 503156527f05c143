#include "kelda/metadata/manifest_cache.h"

namespace kelda {

std::shared_ptr<arrow::Buffer> ManifestCache::Get(const std::string& path) {
  std::lock_guard lock(mutex_);
  auto it = index_.find(path);
  if (it == index_.end()) return nullptr;
  entries_.splice(entries_.begin(), entries_, it->second);
  return it->second->bytes;
}

void ManifestCache::Put(const std::string& path, std::shared_ptr<arrow::Buffer> bytes) {
  const int64_t size = bytes->size();
  if (size > capacity_bytes_ / 8) return;
  std::lock_guard lock(mutex_);
  if (index_.contains(path)) return;
  while (used_bytes_ + size > capacity_bytes_ && !entries_.empty()) DropOldest();
  auto reservation = budget_->TryReserve(size, "manifest cache");
  if (!reservation.ok()) return;
  entries_.push_front(Entry{path, std::move(bytes), std::move(*reservation)});
  index_[path] = entries_.begin();
  used_bytes_ += size;
}

void ManifestCache::DropOldest() {
  used_bytes_ -= entries_.back().bytes->size();
  index_.erase(entries_.back().path);
  entries_.pop_back();
}

int64_t ManifestCache::used_bytes() const {
  std::lock_guard lock(mutex_);
  return used_bytes_;
}

}  // namespace kelda
