#pragma once

#include <chrono>
#include <condition_variable>
#include <mutex>
#include <thread>

#include "duckdb/main/client_context.hpp"

#include "kelda/base/cancellation.h"

namespace kelda::sql {

/// Turns DuckDB's interrupt flag into a CancellationToken as long as it lives.
class InterruptWatcher {
 public:
  explicit InterruptWatcher(duckdb::ClientContext& context)
      : thread_([this, &context] { Watch(context); }) {}
  ~InterruptWatcher() {
    {
      std::lock_guard lock(mutex_);
      done_ = true;
    }
    changed_.notify_all();
    thread_.join();
  }
  const CancellationToken& token() const { return token_; }

 private:
  void Watch(duckdb::ClientContext& context) {
    std::unique_lock lock(mutex_);
    while (!changed_.wait_for(lock, std::chrono::milliseconds(10), [this] { return done_; })) {
      if (context.interrupted) token_.Cancel();
    }
  }

  CancellationToken token_;
  std::mutex mutex_;
  std::condition_variable changed_;
  bool done_ = false;
  std::thread thread_;
};

}  // namespace kelda::sql
