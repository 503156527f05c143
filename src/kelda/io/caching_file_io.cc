#include "kelda/io/caching_file_io.h"

#include <algorithm>
#include <cstring>
#include <list>
#include <map>
#include <mutex>

#include "kelda/io/positional_input.h"

namespace kelda {

namespace {

bool IsUuid(std::string_view text) {
  for (size_t i = 0; i < text.size(); ++i) {
    const bool dash = i == 8 || i == 13 || i == 18 || i == 23;
    const bool hex = (text[i] >= '0' && text[i] <= '9') || (text[i] >= 'a' && text[i] <= 'f');
    if (dash ? text[i] != '-' : !hex) return false;
  }
  return text.size() == 36;
}

using Block = std::shared_ptr<arrow::Buffer>;

}  // namespace

bool HasImmutableName(std::string_view path) {
  const auto name = BaseName(path);
  if (name.starts_with('.')) return false;
  for (size_t i = 0; i + 36 <= name.size(); ++i) {
    if (IsUuid(name.substr(i, 36))) return true;
  }
  return false;
}

// Blocks by (path, number), ordered so that those of one file or directory lie together. Shared
// with open inputs.
class CachingFileIO::Cache {
 public:
  Cache(std::shared_ptr<MemoryBudget> budget, CacheOptions options)
      : options_(std::move(options)), budget_(std::move(budget)) {}

  const CacheOptions& options() const { return options_; }

  // Null unless the block is here in this size; another size is that of a file still being written.
  Block Get(const std::string& path, int64_t number, int64_t size_bytes) {
    std::lock_guard<std::mutex> lock(mutex_);
    auto it = blocks_.find({path, number});
    if (it == blocks_.end() || it->second.block->size() != size_bytes) {
      ++misses_;
      return nullptr;
    }
    ++hits_;
    recent_.splice(recent_.begin(), recent_, it->second.position);
    return it->second.block;
  }

  // Does nothing where neither capacity nor budget has room, or if the path was dropped since
  // `generation`.
  void Put(const std::string& path, int64_t number, Block block, uint64_t generation) {
    std::lock_guard<std::mutex> lock(mutex_);
    const int64_t size_bytes = block->size();
    if (generation != generation_ || size_bytes > options_.capacity_bytes) return;
    if (auto it = blocks_.find({path, number}); it != blocks_.end()) Erase(it);
    while (!recent_.empty() && cached_bytes_ + size_bytes > options_.capacity_bytes) EvictOldest();
    auto reservation = budget_->TryReserve(size_bytes, "file cache");
    while (!reservation.ok() && !recent_.empty()) {
      EvictOldest();
      reservation = budget_->TryReserve(size_bytes, "file cache");
    }
    if (!reservation.ok()) return;
    auto [it, inserted] = blocks_.try_emplace(Key{path, number});
    recent_.push_front(it);
    it->second = {std::move(block), std::move(reservation).ValueUnsafe(), recent_.begin()};
    cached_bytes_ += size_bytes;
  }

  void Drop(const std::string& path) {
    std::lock_guard<std::mutex> lock(mutex_);
    ++generation_;
    auto it = blocks_.lower_bound({path, 0});
    while (it != blocks_.end() && it->first.first == path) it = Erase(it);
  }

  void DropBelow(const std::string& dir) {
    const std::string prefix = JoinPath(dir, "");
    std::lock_guard<std::mutex> lock(mutex_);
    ++generation_;
    auto it = blocks_.lower_bound({prefix, 0});
    while (it != blocks_.end() && it->first.first.starts_with(prefix)) it = Erase(it);
  }

  void Clear() {
    std::lock_guard<std::mutex> lock(mutex_);
    ++generation_;
    while (!recent_.empty()) EvictOldest();
  }

  // Taken before a read; a Put with it is refused when anything was dropped meanwhile.
  uint64_t generation() const {
    std::lock_guard<std::mutex> lock(mutex_);
    return generation_;
  }
  int64_t cached_bytes() const {
    std::lock_guard<std::mutex> lock(mutex_);
    return cached_bytes_;
  }
  int64_t hits() const {
    std::lock_guard<std::mutex> lock(mutex_);
    return hits_;
  }
  int64_t misses() const {
    std::lock_guard<std::mutex> lock(mutex_);
    return misses_;
  }

 private:
  struct Slot;
  using Key = std::pair<std::string, int64_t>;
  using Blocks = std::map<Key, Slot>;
  struct Slot {
    Block block;
    MemoryReservation reservation;
    std::list<Blocks::iterator>::iterator position;
  };

  void EvictOldest() { Erase(recent_.back()); }

  Blocks::iterator Erase(Blocks::iterator it) {
    cached_bytes_ -= it->second.block->size();
    recent_.erase(it->second.position);
    return blocks_.erase(it);
  }

  const CacheOptions options_;
  const std::shared_ptr<MemoryBudget> budget_;
  mutable std::mutex mutex_;
  Blocks blocks_;
  std::list<Blocks::iterator> recent_;  // front = used last
  int64_t cached_bytes_ = 0;
  int64_t hits_ = 0;
  int64_t misses_ = 0;
  uint64_t generation_ = 0;
};

namespace {

class CachingInput : public ForwardingInput {
 public:
  CachingInput(const std::string& path, int64_t size_bytes,
               std::shared_ptr<arrow::io::RandomAccessFile> inner,
               std::shared_ptr<CachingFileIO::Cache> cache)
      : ForwardingInput(path, size_bytes, std::move(inner)), cache_(std::move(cache)) {}

 protected:
  arrow::Result<int64_t> ReadInto(int64_t position, int64_t length, void* out) override {
    if (length > cache_->options().read_bytes_max) {
      return ForwardingInput::ReadInto(position, length, out);
    }
    ARROW_ASSIGN_OR_RAISE(auto blocks, Blocks(position, length));
    const int64_t block_bytes = cache_->options().block_bytes;
    int64_t done = 0;
    int64_t in_block = position % block_bytes;
    for (const auto& block : blocks) {
      const int64_t n = std::min(length - done, block->size() - in_block);
      if (n <= 0) break;
      std::memcpy(static_cast<char*>(out) + done, block->data() + in_block, static_cast<size_t>(n));
      done += n;
      if (block->size() < block_bytes) break;  // the last one, or the file has shrunk
      in_block = 0;
    }
    return done;
  }

  arrow::Result<std::shared_ptr<arrow::Buffer>> ReadBuffer(int64_t position,
                                                           int64_t length) override {
    if (length > cache_->options().read_bytes_max) {
      return ForwardingInput::ReadBuffer(position, length);
    }
    return PositionalInput::ReadBuffer(position, length);
  }

 private:
  // The blocks that hold [position, position + length). Missing neighbours are fetched by one call.
  arrow::Result<std::vector<Block>> Blocks(int64_t position, int64_t length) {
    const int64_t block_bytes = cache_->options().block_bytes;
    const int64_t first = position / block_bytes;
    const int64_t last = (position + length - 1) / block_bytes;
    const uint64_t generation = cache_->generation();
    std::vector<Block> blocks;
    for (int64_t number = first; number <= last; ++number) {
      const int64_t expected = std::min(block_bytes, size_bytes() - number * block_bytes);
      blocks.push_back(cache_->Get(name(), number, expected));
    }
    for (size_t begin = 0; begin < blocks.size(); ++begin) {
      if (blocks[begin]) continue;
      size_t end = begin;
      while (end < blocks.size() && !blocks[end]) ++end;
      ARROW_RETURN_NOT_OK(Fetch(first, begin, end, generation, blocks));
      begin = end;
    }
    return blocks;
  }

  arrow::Status Fetch(int64_t first, size_t begin, size_t end, uint64_t generation,
                      std::vector<Block>& blocks) {
    const int64_t block_bytes = cache_->options().block_bytes;
    const int64_t offset = (first + static_cast<int64_t>(begin)) * block_bytes;
    const int64_t wanted =
        std::min(static_cast<int64_t>(end - begin) * block_bytes, size_bytes() - offset);
    ARROW_ASSIGN_OR_RAISE(auto bytes, inner().ReadAt(offset, wanted));
    for (size_t i = begin; i < end; ++i) {
      const int64_t start = std::min(static_cast<int64_t>(i - begin) * block_bytes, bytes->size());
      const int64_t n = std::min(block_bytes, bytes->size() - start);
      // A copy, so that a block kept does not keep its neighbours' memory.
      ARROW_ASSIGN_OR_RAISE(blocks[i], bytes->CopySlice(start, n));
      // A shrunk file is somebody's accident: serve what is there, keep nothing.
      if (bytes->size() < wanted) continue;
      cache_->Put(name(), first + static_cast<int64_t>(i), blocks[i], generation);
    }
    return arrow::Status::OK();
  }

  const std::shared_ptr<CachingFileIO::Cache> cache_;
};

}  // namespace

CachingFileIO::CachingFileIO(std::shared_ptr<FileIO> inner, std::shared_ptr<MemoryBudget> budget,
                             CacheOptions options)
    : ForwardingFileIO(std::move(inner)),
      cache_(std::make_shared<Cache>(std::move(budget), std::move(options))) {}

arrow::Result<std::shared_ptr<arrow::io::RandomAccessFile>> CachingFileIO::OpenInput(
    const std::string& path) {
  ARROW_ASSIGN_OR_RAISE(auto file, inner().OpenInput(path));
  if (!cache_->options().cacheable(path)) return file;
  ARROW_ASSIGN_OR_RAISE(const int64_t size_bytes, file->GetSize());
  return std::make_shared<CachingInput>(path, size_bytes, std::move(file), cache_);
}

// Blocks are dropped after each change: a read that overlapped it carries an older generation and
// is not kept.
arrow::Status CachingFileIO::DeleteFile(const std::string& path) {
  auto status = inner().DeleteFile(path);
  cache_->Drop(path);
  return status;
}

arrow::Status CachingFileIO::DeleteDir(const std::string& dir) {
  auto status = inner().DeleteDir(dir);
  cache_->DropBelow(dir);
  return status;
}

arrow::Status CachingFileIO::Rename(const std::string& from, const std::string& to) {
  auto status = inner().Rename(from, to);
  for (const auto& path : {from, to}) {
    cache_->Drop(path);
    cache_->DropBelow(path);
  }
  return status;
}

PublishResult CachingFileIO::PublishNew(const std::string& path, std::string_view bytes) {
  auto result = inner().PublishNew(path, bytes);
  cache_->Drop(path);
  return result;
}

arrow::Status CachingFileIO::WriteReplacing(const std::string& path, std::string_view bytes) {
  auto status = inner().WriteReplacing(path, bytes);
  cache_->Drop(path);
  return status;
}

arrow::Result<std::string> CachingFileIO::ReadAll(const std::string& path, int64_t size_max_bytes) {
  return FileIO::ReadAll(path, size_max_bytes);
}

arrow::Result<std::vector<std::shared_ptr<arrow::Buffer>>> CachingFileIO::ReadRanges(
    const std::string& path, const std::vector<ByteRange>& ranges) {
  return FileIO::ReadRanges(path, ranges);
}

int64_t CachingFileIO::cached_bytes() const { return cache_->cached_bytes(); }
int64_t CachingFileIO::hits() const { return cache_->hits(); }
int64_t CachingFileIO::misses() const { return cache_->misses(); }
void CachingFileIO::Clear() { cache_->Clear(); }

}  // namespace kelda
