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

class DecodedManifest;

/// Recently read manifests, in columns, and manifest lists, as bytes; least recently used ones
/// dropped first. Sound because these files are never changed and their names are never used twice
/// (spec 03 §1). Thread-safe.
class ManifestCache {
 public:
  ManifestCache(int64_t capacity_bytes, std::shared_ptr<MemoryBudget> budget)
      : capacity_bytes_(capacity_bytes), budget_(std::move(budget)) {}

  /// Null when absent.
  std::shared_ptr<arrow::Buffer> Get(const std::string& path);
  std::shared_ptr<const DecodedManifest> GetDecoded(const std::string& path);
  /// Each keeps what it is given if that is at most item_bytes_max() and the budget allows it. A
  /// decoded manifest takes the place of a shallower one of the same path.
  void Put(const std::string& path, std::shared_ptr<arrow::Buffer> bytes);
  void PutDecoded(const std::string& path, std::shared_ptr<const DecodedManifest> manifest);
  int64_t item_bytes_max() const { return capacity_bytes_ / 8; }
  int64_t used_bytes() const;

 private:
  struct Entry {
    std::string path;
    std::shared_ptr<arrow::Buffer> bytes;
    std::shared_ptr<const DecodedManifest> decoded;
    MemoryReservation reservation;
  };
  using Entries = std::list<Entry>;
  /// Null when absent; else it is now the most recently used one. With `mutex_` held, as all below.
  Entry* Find(const std::string& path);
  void Insert(Entry entry, int64_t size);
  void Drop(Entries::iterator entry);

  const int64_t capacity_bytes_;
  const std::shared_ptr<MemoryBudget> budget_;
  mutable std::mutex mutex_;
  Entries entries_;  ///< most recently used first
  std::unordered_map<std::string, Entries::iterator> index_;
  int64_t used_bytes_ = 0;
};

}  // namespace kelda
