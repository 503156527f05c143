#pragma once

#include <atomic>
#include <memory>

#include "kelda/base/status.h"

namespace kelda {

/// Shared flag that asks running work to stop. Copyable; all copies share the flag. Thread-safe;
/// Cancel may be called from a signal handler.
class CancellationToken {
 public:
  CancellationToken() : flag_(std::make_shared<std::atomic<bool>>(false)) {}
  void Cancel() const { flag_->store(true, std::memory_order_relaxed); }
  bool cancelled() const { return flag_->load(std::memory_order_relaxed); }
  /// OK, or an error with ErrorCode::kCancelled.
  arrow::Status Check() const {
    return cancelled() ? MakeError(ErrorCode::kCancelled, "cancelled") : arrow::Status::OK();
  }

 private:
  std::shared_ptr<std::atomic<bool>> flag_;
};

}  // namespace kelda
