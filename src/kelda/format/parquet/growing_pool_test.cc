#include "kelda/format/parquet/growing_pool.h"

#include <gtest/gtest.h>

namespace kelda {
namespace {

TEST(GrowingPool, GrowsAcrossTheMappedSize) {
  GrowingPool pool;
  uint8_t* block = nullptr;
  int64_t size = 1000;
  ASSERT_TRUE(pool.Allocate(size, &block).ok());
  for (int64_t i = 0; i < size; ++i) block[i] = static_cast<uint8_t>(i * 7);
  for (int64_t next : {100000, 1 << 20, 5000000, 40000000, 3000000, 2000}) {
    ASSERT_TRUE(pool.Reallocate(size, next, &block).ok());
    size = next;
    EXPECT_EQ(reinterpret_cast<uintptr_t>(block) % 64, 0u);
    EXPECT_EQ(pool.bytes_allocated(), size);
    block[size - 1] = 1;  // the whole block is there
    for (int64_t i = 0; i < 1000; ++i) ASSERT_EQ(block[i], static_cast<uint8_t>(i * 7)) << i;
  }
  pool.Free(block, size);
  EXPECT_EQ(pool.bytes_allocated(), 0);
}

TEST(GrowingPool, TooMuchIsAnError) {
  GrowingPool pool;
  uint8_t* block = nullptr;
  EXPECT_TRUE(pool.Allocate(int64_t{1} << 60, &block).IsOutOfMemory());
  ASSERT_TRUE(pool.Allocate(2 << 20, &block).ok());
  EXPECT_TRUE(pool.Reallocate(2 << 20, int64_t{1} << 60, &block).IsOutOfMemory());
  EXPECT_EQ(pool.bytes_allocated(), 2 << 20);
  pool.Free(block, 2 << 20);
}

}  // namespace
}  // namespace kelda
