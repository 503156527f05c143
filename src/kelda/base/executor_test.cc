#include "kelda/base/executor.h"

#include <atomic>
#include <chrono>
#include <set>
#include <stdexcept>
#include <thread>
#include <vector>

#include "kelda/base/test_matchers.h"

namespace kelda {
namespace {

class ExecutorTest : public testing::TestWithParam<int> {  // threads; 0 = inline
 protected:
  std::shared_ptr<Executor> Make() const {
    return GetParam() == 0 ? Executor::MakeInline() : Executor::MakePool(GetParam());
  }
};

TEST_P(ExecutorTest, EachIndexRunsOnce) {
  auto executor = Make();
  std::vector<std::atomic<int>> seen(1000);
  ASSERT_OK(ParallelFor(*executor, 1000, {}, [&](int64_t i) {
    seen[i].fetch_add(1);
    return arrow::Status::OK();
  }));
  for (const auto& count : seen) EXPECT_EQ(count.load(), 1);
  EXPECT_OK(ParallelFor(*executor, 0, {}, [](int64_t) { return Invalid("never"); }));
}

TEST_P(ExecutorTest, NestedLoopsCannotStarve) {
  auto executor = Make();
  std::atomic<int64_t> sum{0};
  ASSERT_OK(ParallelFor(*executor, 8, {}, [&](int64_t i) {
    return ParallelFor(*executor, 8, {}, [&, i](int64_t j) {
      return ParallelFor(*executor, 8, {}, [&, i, j](int64_t k) {
        sum += i * 64 + j * 8 + k;
        return arrow::Status::OK();
      });
    });
  }));
  EXPECT_EQ(sum.load(), 511 * 512 / 2);
}

TEST_P(ExecutorTest, LowestErrorWinsAndStops) {
  auto executor = Make();
  std::atomic<int> after{0};
  const auto status = ParallelFor(*executor, 100000, {}, [&](int64_t i) -> arrow::Status {
    if (i >= 10) ++after;
    // Every index from 3 on fails, so the lowest failing one must be told, whoever comes first.
    return i >= 3 ? Invalid("index {}", i) : arrow::Status::OK();
  });
  EXPECT_EQ(status.message(), "index 3");
  EXPECT_LT(after.load(), 100);
}

TEST_P(ExecutorTest, Cancellation) {
  auto executor = Make();
  CancellationToken token;
  std::atomic<int> ran{0};
  // So many indexes that only the cancellation can end the loop.
  constexpr int64_t kEndless = int64_t{1} << 50;
  const auto status = ParallelFor(*executor, kEndless, token, [&](int64_t) {
    if (++ran == 5) token.Cancel();
    return arrow::Status::OK();
  });
  EXPECT_THAT(status, HasError(ErrorCode::kCancelled, "cancelled"));
  EXPECT_GE(ran.load(), 5);
  EXPECT_THAT(ParallelFor(*executor, 1, token, [](int64_t) { return arrow::Status::OK(); }),
              HasError(ErrorCode::kCancelled, ""));
}

TEST_P(ExecutorTest, ExceptionsBecomeErrors) {
  auto executor = Make();
  const auto status = ParallelFor(*executor, 4, {}, [](int64_t i) -> arrow::Status {
    if (i == 2) throw std::runtime_error("third party");
    return arrow::Status::OK();
  });
  EXPECT_THAT(status.message(), testing::HasSubstr("third party"));
}

INSTANTIATE_TEST_SUITE_P(Threads, ExecutorTest, testing::Values(0, 1, 2, 8));

TEST(PoolTest, FinishesWhatWasSubmitted) {
  std::atomic<int> done{0};
  {
    auto pool = Executor::MakePool(3);
    for (int i = 0; i < 500; ++i) pool->Submit([&] { ++done; });
  }
  EXPECT_EQ(done.load(), 500);
}

TEST(PoolTest, LastReferenceDroppedByATask) {
  std::atomic<bool> ours_dropped{false};
  std::atomic<bool> done{false};
  auto pool = Executor::MakePool(2);
  pool->Submit([&, held = pool]() mutable {
    while (!ours_dropped) std::this_thread::yield();
    held.reset();
    done = true;
  });
  pool.reset();
  ours_dropped = true;
  while (!done) std::this_thread::yield();
}

TEST(PoolTest, UsesSeveralThreads) {
  auto pool = Executor::MakePool(2);
  std::atomic<int> inside{0};
  std::atomic<int> together{0};
  ASSERT_OK(ParallelFor(*pool, 3, {}, [&](int64_t) {
    ++inside;
    for (int i = 0; i < 2000 && inside.load() < 3; ++i) {
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }
    together = std::max(together.load(), inside.load());
    return arrow::Status::OK();
  }));
  EXPECT_EQ(together.load(), 3);  // two threads and the caller
}

TEST(PoolTest, ProcessPoolResizes) {
  const int before = Executor::Process()->parallelism();
  EXPECT_GE(before, 1);
  Executor::SetProcessThreads(3);
  EXPECT_EQ(Executor::Process()->parallelism(), 3);
  Executor::SetProcessThreads(1);
  std::atomic<int> ran{0};
  for (int round = 0; round < 50; ++round) {
    Executor::SetProcessThreads(1 + round % 4);
    ASSERT_OK(ParallelFor(*Executor::Process(), 20, {}, [&](int64_t) {
      ++ran;
      return arrow::Status::OK();
    }));
  }
  EXPECT_EQ(ran.load(), 1000);
  Executor::SetProcessThreads(0);
  EXPECT_EQ(Executor::Process()->parallelism(), 1);
  Executor::SetProcessThreads(before);
}

}  // namespace
}  // namespace kelda
