#pragma once

#include <functional>
#include <memory>

#include "kelda/base/memory_budget.h"
#include "kelda/io/forwarding_file_io.h"

namespace kelda {

/// True if the name holds a UUID and is not that of a temporary file: Paimon never writes such a
/// file twice (spec 03 §1).
bool HasImmutableName(std::string_view path);

struct CacheOptions {
  int64_t capacity_bytes = 256 << 20;
  int64_t block_bytes = 64 << 10;
  int64_t read_bytes_max = 1 << 20;  ///< longer reads go past the cache
  /// Files whose content never changes under their name.
  std::function<bool(std::string_view path)> cacheable = HasImmutableName;
};

/// Keeps blocks of small reads (footers, indexes, manifests) in memory, least recently used out
/// first. Memory comes out of a MemoryBudget; without budget left, old blocks go, then reads pass
/// uncached. Changes made through this object drop the blocks concerned. Thread-safe.
class CachingFileIO : public ForwardingFileIO {
 public:
  CachingFileIO(std::shared_ptr<FileIO> inner, std::shared_ptr<MemoryBudget> budget,
                CacheOptions options = {});

  arrow::Result<std::shared_ptr<arrow::io::RandomAccessFile>> OpenInput(
      const std::string& path) override;
  arrow::Status DeleteFile(const std::string& path) override;
  arrow::Status DeleteDir(const std::string& dir) override;
  arrow::Status Rename(const std::string& from, const std::string& to) override;
  PublishResult PublishNew(const std::string& path, std::string_view bytes) override;
  arrow::Status WriteReplacing(const std::string& path, std::string_view bytes) override;
  arrow::Result<std::string> ReadAll(const std::string& path, int64_t size_max_bytes) override;
  arrow::Result<std::vector<std::shared_ptr<arrow::Buffer>>> ReadRanges(
      const std::string& path, const std::vector<ByteRange>& ranges) override;

  int64_t cached_bytes() const;
  int64_t hits() const;    ///< blocks served from memory
  int64_t misses() const;  ///< blocks fetched
  /// Give all memory back to the budget.
  void Clear();

  class Cache;

 private:
  const std::shared_ptr<Cache> cache_;
};

}  // namespace kelda
