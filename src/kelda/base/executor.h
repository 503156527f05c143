#pragma once

#include <functional>
#include <memory>

#include "kelda/base/cancellation.h"
#include "kelda/base/status.h"

namespace kelda {

/// Runs tasks on a bounded set of threads. Thread-safe.
class Executor {
 public:
  virtual ~Executor() = default;
  virtual int parallelism() const = 0;
  virtual void Submit(std::function<void()> task) = 0;

  /// Pool of `threads` threads, joined on destruction after finishing what was submitted.
  static std::shared_ptr<Executor> MakePool(int threads);
  /// Runs each task inside Submit, in order: deterministic tests.
  static std::shared_ptr<Executor> MakeInline();
  /// Pool of the process, one thread per core (KELDA_THREADS or SetProcessThreads overrides).
  static const std::shared_ptr<Executor>& Process();
  /// Resize the pool of the process; at least one thread. May be called while it works.
  static void SetProcessThreads(int threads);
};

/// Run body(0) … body(n-1) on `executor` and the calling thread, at most parallelism()+1 at once;
/// wait for all; return the error of the lowest index that failed. After the first error or
/// cancellation no further index starts. Safe to call from inside a task of the same executor (the
/// caller works too, so it cannot starve).
arrow::Status ParallelFor(Executor& executor, int64_t n, const CancellationToken& token,
                          const std::function<arrow::Status(int64_t)>& body);

}  // namespace kelda
