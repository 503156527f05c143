#include "kelda/base/executor.h"

#include <algorithm>
#include <atomic>
#include <condition_variable>
#include <cstdlib>
#include <deque>
#include <exception>
#include <mutex>
#include <new>
#include <optional>
#include <thread>
#include <utility>
#include <vector>

namespace kelda {

namespace {

constexpr int kThreadsMax = 1024;

class ThreadPool : public Executor {
 public:
  explicit ThreadPool(int threads) : state_(std::make_shared<State>()) { SetThreads(threads); }

  ~ThreadPool() override {
    std::vector<std::thread> threads;
    {
      std::lock_guard<std::mutex> lock(state_->mutex);
      state_->closing = true;
      threads.swap(state_->threads);
    }
    state_->wake.notify_all();
    for (auto& thread : threads) {
      // The last reference may be dropped by one of our own tasks; a thread cannot join itself.
      if (thread.get_id() == std::this_thread::get_id()) {
        thread.detach();
      } else {
        thread.join();
      }
    }
  }

  int parallelism() const override {
    std::lock_guard<std::mutex> lock(state_->mutex);
    return state_->wanted;
  }

  void Submit(std::function<void()> task) override {
    {
      std::lock_guard<std::mutex> lock(state_->mutex);
      state_->queue.push_back(std::move(task));
    }
    state_->wake.notify_one();
  }

  // Threads beyond the new number end when they next look for work.
  void SetThreads(int threads) {
    std::lock_guard<std::mutex> lock(state_->mutex);
    state_->wanted = std::clamp(threads, 1, kThreadsMax);
    while (state_->running < state_->wanted) {
      state_->threads.emplace_back([state = state_] { Work(*state); });
      ++state_->running;
    }
    state_->wake.notify_all();
  }

 private:
  struct State {
    std::mutex mutex;
    std::condition_variable wake;
    std::deque<std::function<void()>> queue;
    std::vector<std::thread> threads;
    int wanted = 0;
    int running = 0;
    bool closing = false;
  };

  static void Work(State& state) {
    std::unique_lock<std::mutex> lock(state.mutex);
    while (true) {
      state.wake.wait(lock, [&] {
        return state.closing || !state.queue.empty() || state.running > state.wanted;
      });
      if (state.running > state.wanted) {
        Retire(state);
        // A wake-up for a task may have come to this thread: hand it on.
        state.wake.notify_one();
        return;
      }
      if (state.queue.empty()) return;  // closing
      auto task = std::move(state.queue.front());
      state.queue.pop_front();
      lock.unlock();
      task();
      task = nullptr;  // captured objects go before the lock is taken
      lock.lock();
    }
  }

  // REQUIRES the mutex. Nobody joins a thread that left a living pool; in a closing one the handle
  // is gone already.
  static void Retire(State& state) {
    --state.running;
    auto own = std::find_if(state.threads.begin(), state.threads.end(), [](const auto& thread) {
      return thread.get_id() == std::this_thread::get_id();
    });
    if (own == state.threads.end()) return;
    own->detach();
    state.threads.erase(own);
  }

  const std::shared_ptr<State> state_;
};

class InlineExecutor : public Executor {
 public:
  int parallelism() const override { return 1; }
  void Submit(std::function<void()> task) override { task(); }
};

int DefaultThreads() {
  if (const char* text = std::getenv("KELDA_THREADS")) {
    const int threads = std::atoi(text);
    if (threads > 0) return threads;
  }
  return std::max(1, static_cast<int>(std::thread::hardware_concurrency()));
}

const std::shared_ptr<ThreadPool>& ProcessPool() {
  // Never destroyed: tasks may still run while other statics of the process go away.
  static const auto& pool =
      *new std::shared_ptr<ThreadPool>(std::make_shared<ThreadPool>(DefaultThreads()));
  return pool;
}

// Shared by the caller and its helpers. A helper that starts after the caller closed the loop must
// not touch the caller's stack, so it looks at `closed` first.
struct LoopState {
  std::mutex mutex;
  std::condition_variable idle;
  int active = 0;
  bool closed = false;
  int64_t error_index = 0;
  arrow::Status error;
  std::atomic<int64_t> next{0};
  std::atomic<bool> stop{false};
  std::atomic<bool> cancelled{false};
};

arrow::Status RunBody(const std::function<arrow::Status(int64_t)>& body, int64_t index) {
  try {
    return body(index);
  } catch (const std::bad_alloc&) {
    return arrow::Status::OutOfMemory("out of memory in a parallel task");
  } catch (const std::exception& e) {
    return arrow::Status::UnknownError("exception in a parallel task: ", e.what());
  }
}

void RunLoop(LoopState& state, int64_t n, const CancellationToken& token,
             const std::function<arrow::Status(int64_t)>& body) {
  while (!state.stop.load(std::memory_order_acquire)) {
    const int64_t index = state.next.fetch_add(1, std::memory_order_relaxed);
    if (index >= n) return;
    if (token.cancelled()) {
      state.cancelled.store(true, std::memory_order_relaxed);
      state.stop.store(true, std::memory_order_release);
      return;
    }
    auto status = RunBody(body, index);
    if (status.ok()) continue;
    state.stop.store(true, std::memory_order_release);
    std::lock_guard<std::mutex> lock(state.mutex);
    if (state.error.ok() || index < state.error_index) {
      state.error = std::move(status);
      state.error_index = index;
    }
  }
}

}  // namespace

std::shared_ptr<Executor> Executor::MakePool(int threads) {
  return std::make_shared<ThreadPool>(threads);
}

std::shared_ptr<Executor> Executor::MakeInline() { return std::make_shared<InlineExecutor>(); }

const std::shared_ptr<Executor>& Executor::Process() {
  static const auto& executor = *new std::shared_ptr<Executor>(ProcessPool());
  return executor;
}

void Executor::SetProcessThreads(int threads) { ProcessPool()->SetThreads(threads); }

arrow::Status ParallelFor(Executor& executor, int64_t n, const CancellationToken& token,
                          const std::function<arrow::Status(int64_t)>& body) {
  if (n <= 0) return arrow::Status::OK();
  auto state = std::make_shared<LoopState>();
  const int64_t helpers = std::min<int64_t>(executor.parallelism(), n - 1);
  for (int64_t i = 0; i < helpers; ++i) {
    executor.Submit([state, n, &token, &body] {
      {
        std::lock_guard<std::mutex> lock(state->mutex);
        if (state->closed) return;
        ++state->active;
      }
      RunLoop(*state, n, token, body);
      std::lock_guard<std::mutex> lock(state->mutex);
      if (--state->active == 0) state->idle.notify_all();
    });
  }
  RunLoop(*state, n, token, body);
  std::unique_lock<std::mutex> lock(state->mutex);
  state->closed = true;
  state->idle.wait(lock, [&] { return state->active == 0; });
  if (!state->error.ok()) return state->error;
  return state->cancelled.load() ? MakeError(ErrorCode::kCancelled, "cancelled")
                                 : arrow::Status::OK();
}

}  // namespace kelda
