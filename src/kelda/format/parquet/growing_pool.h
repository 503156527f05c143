#pragma once

#include <arrow/memory_pool.h>

namespace kelda {

/// Memory of one writer. The compressed pages of an open row group lie in one buffer per column
/// that doubles until it is many megabytes; blocks of that size are mapped, so that growing moves
/// pages instead of copying bytes into fresh ones. Counts exactly what is held. One thread at a
/// time.
class GrowingPool : public arrow::MemoryPool {
 public:
  using arrow::MemoryPool::Allocate;
  using arrow::MemoryPool::Free;
  using arrow::MemoryPool::Reallocate;

  arrow::Status Allocate(int64_t size, int64_t alignment, uint8_t** out) override;
  arrow::Status Reallocate(int64_t old_size, int64_t new_size, int64_t alignment,
                           uint8_t** ptr) override;
  void Free(uint8_t* buffer, int64_t size, int64_t alignment) override;

  int64_t bytes_allocated() const override { return allocated_; }
  int64_t total_bytes_allocated() const override { return total_; }
  int64_t num_allocations() const override { return allocations_; }
  std::string backend_name() const override { return "growing"; }

 private:
  void Count(int64_t change);

  arrow::MemoryPool* small_ = arrow::default_memory_pool();
  int64_t allocated_ = 0;
  int64_t total_ = 0;
  int64_t allocations_ = 0;
};

}  // namespace kelda
