#pragma once

#include <cstdint>
#include <list>
#include <memory>
#include <mutex>
#include <string>
#include <unordered_map>

#include <arrow/buffer.h>

#include "kelda/base/memory_budget.h"

namespace kelda {

/// Bytes of recently read manifests and manifest lists, least recently used ones dropped first.
/// Sound because these files are never changed and their names are never used twice (spec 03 §1).
/// Thread-safe.
class ManifestCache {
 public:
  ManifestCache(int64_t capacity_bytes, std::shared_ptr<MemoryBudget> budget)
      : capacity_bytes_(capacity_bytes), budget_(std::move(budget)) {}

  /// Null when absent.
  std::shared_ptr<arrow::Buffer> Get(const std::string& path);
  /// Keeps `bytes` if they are at most an eighth of the capacity and the budget allows it.
  void Put(const std::string& path, std::shared_ptr<arrow::Buffer> bytes);
  int64_t used_bytes() const;

 private:
  struct Entry {
    std::string path;
    std::shared_ptr<arrow::Buffer> bytes;
    MemoryReservation reservation;
  };
  void DropOldest();

  const int64_t capacity_bytes_;
  const std::shared_ptr<MemoryBudget> budget_;
  mutable std::mutex mutex_;
  std::list<Entry> entries_;  ///< most recently used first
  std::unordered_map<std::string, std::list<Entry>::iterator> index_;
  int64_t used_bytes_ = 0;
};

}  // namespace kelda
