#include "kelda/base/memory_budget.h"

#include <limits>
#include <thread>
#include <vector>

#include "kelda/base/test_matchers.h"

namespace kelda {
namespace {

TEST(MemoryBudgetTest, ReserveAndGiveBack) {
  auto budget = MemoryBudget::Make(100);
  {
    ASSERT_OK_AND_ASSIGN(auto first, budget->TryReserve(60, "sort buffer"));
    EXPECT_EQ(first.bytes(), 60);
    ASSERT_OK_AND_ASSIGN(auto second, budget->TryReserve(40, "cache"));
    EXPECT_EQ(budget->used(), 100);
    EXPECT_THAT(budget->TryReserve(1, "read-ahead"),
                HasError(ErrorCode::kOutOfBudget,
                         "1 bytes wanted for read-ahead, 100 of 100 bytes in use"));
    EXPECT_EQ(budget->used(), 100);
    second.Release();
    EXPECT_EQ(budget->used(), 60);
    second.Release();
    EXPECT_EQ(budget->used(), 60);
  }
  EXPECT_EQ(budget->used(), 0);
  EXPECT_EQ(budget->peak(), 100);
}

TEST(MemoryBudgetTest, Resize) {
  auto budget = MemoryBudget::Make(100);
  ASSERT_OK_AND_ASSIGN(auto reservation, budget->TryReserve(0, "buffer"));
  ASSERT_OK(reservation.Resize(100));
  EXPECT_THAT(reservation.Resize(101), HasError(ErrorCode::kOutOfBudget, "buffer"));
  EXPECT_EQ(reservation.bytes(), 100);
  EXPECT_EQ(budget->used(), 100);
  ASSERT_OK(reservation.Resize(10));
  EXPECT_EQ(budget->used(), 10);
  EXPECT_FALSE(reservation.Resize(-1).ok());
  EXPECT_EQ(budget->used(), 10);
}

TEST(MemoryBudgetTest, HostileSizes) {
  auto budget = MemoryBudget::Make(100);
  ASSERT_OK_AND_ASSIGN(auto held, budget->TryReserve(50, "x"));
  EXPECT_THAT(budget->TryReserve(std::numeric_limits<int64_t>::max(), "x"),
              HasError(ErrorCode::kOutOfBudget, "x"));
  EXPECT_FALSE(budget->TryReserve(-1, "x").ok());
  EXPECT_EQ(budget->used(), 50);
}

TEST(MemoryBudgetTest, MovesKeepOneOwner) {
  auto budget = MemoryBudget::Make(100);
  ASSERT_OK_AND_ASSIGN(auto a, budget->TryReserve(30, "a"));
  ASSERT_OK_AND_ASSIGN(auto b, budget->TryReserve(20, "b"));
  b = std::move(a);
  EXPECT_EQ(budget->used(), 30);
  MemoryReservation c(std::move(b));
  EXPECT_EQ(budget->used(), 30);
  c = MemoryReservation();
  EXPECT_EQ(budget->used(), 0);
  MemoryReservation none;
  EXPECT_OK(none.Resize(0));
  EXPECT_FALSE(none.Resize(1).ok());
}

TEST(MemoryBudgetTest, LimitMayShrinkBelowUse) {
  auto budget = MemoryBudget::Make(100);
  ASSERT_OK_AND_ASSIGN(auto held, budget->TryReserve(80, "x"));
  budget->SetLimit(50);
  EXPECT_FALSE(budget->TryReserve(1, "y").ok());
  ASSERT_OK(held.Resize(40));
  EXPECT_OK(budget->TryReserve(10, "y"));
}

TEST(MemoryBudgetTest, ReservationOutlivesTheHandle) {
  auto budget = MemoryBudget::Make(100);
  ASSERT_OK_AND_ASSIGN(auto held, budget->TryReserve(10, "x"));
  budget.reset();
  EXPECT_OK(held.Resize(100));
}

TEST(MemoryBudgetTest, ThreadsNeverPassTheLimit) {
  auto budget = MemoryBudget::Make(1000);
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&] {
      for (int i = 0; i < 2000; ++i) {
        auto reservation = budget->TryReserve(300, "t");
        if (reservation.ok()) {
          IgnoreError(reservation->Resize(i % 700), "may be out of budget");
        }
      }
    });
  }
  for (auto& thread : threads) thread.join();
  EXPECT_EQ(budget->used(), 0);
  EXPECT_LE(budget->peak(), 1000);
  EXPECT_GE(budget->peak(), 300);
}

TEST(MemoryBudgetTest, ProcessBudgetHasALimit) {
  EXPECT_GT(MemoryBudget::Process()->limit(), 1 << 20);
}

}  // namespace
}  // namespace kelda
