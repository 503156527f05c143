#include "kelda/format/parquet/growing_pool.h"

#include <sys/mman.h>

#include <algorithm>
#include <cstring>

namespace kelda {
namespace {

constexpr int64_t kMappedMin = int64_t{1} << 20;

bool IsMapped(int64_t size) { return size >= kMappedMin; }

arrow::Status OutOfMemory(int64_t size) {
  return arrow::Status::OutOfMemory("cannot map ", size, " bytes");
}

}  // namespace

void GrowingPool::Count(int64_t change) {
  allocated_ += change;
  total_ += std::max<int64_t>(change, 0);
}

arrow::Status GrowingPool::Allocate(int64_t size, int64_t alignment, uint8_t** out) {
  if (IsMapped(size)) {
    void* block = mmap(nullptr, static_cast<size_t>(size), PROT_READ | PROT_WRITE,
                       MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (block == MAP_FAILED) return OutOfMemory(size);
    *out = static_cast<uint8_t*>(block);
  } else {
    ARROW_RETURN_NOT_OK(small_->Allocate(size, alignment, out));
  }
  ++allocations_;
  Count(size);
  return arrow::Status::OK();
}

arrow::Status GrowingPool::Reallocate(int64_t old_size, int64_t new_size, int64_t alignment,
                                      uint8_t** ptr) {
  if (IsMapped(old_size) != IsMapped(new_size)) {
    uint8_t* moved = nullptr;
    ARROW_RETURN_NOT_OK(Allocate(new_size, alignment, &moved));
    std::memcpy(moved, *ptr, static_cast<size_t>(std::min(old_size, new_size)));
    Free(*ptr, old_size, alignment);
    *ptr = moved;
    return arrow::Status::OK();
  }
  if (IsMapped(new_size)) {
    void* block =
        mremap(*ptr, static_cast<size_t>(old_size), static_cast<size_t>(new_size), MREMAP_MAYMOVE);
    if (block == MAP_FAILED) return OutOfMemory(new_size);
    *ptr = static_cast<uint8_t*>(block);
  } else {
    ARROW_RETURN_NOT_OK(small_->Reallocate(old_size, new_size, alignment, ptr));
  }
  ++allocations_;
  Count(new_size - old_size);
  return arrow::Status::OK();
}

void GrowingPool::Free(uint8_t* buffer, int64_t size, int64_t alignment) {
  if (IsMapped(size)) {
    munmap(buffer, static_cast<size_t>(size));
  } else {
    small_->Free(buffer, size, alignment);
  }
  Count(-size);
}

}  // namespace kelda
