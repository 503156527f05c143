#pragma once

#include <condition_variable>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <string>

#include "kelda/base/status.h"

namespace kelda {

class MemoryBudget;

/// Bytes taken from a MemoryBudget, given back on destruction. Movable. One owner; not thread-safe
/// itself.
class MemoryReservation {
 public:
  MemoryReservation() = default;
  MemoryReservation(MemoryReservation&& other) noexcept;
  MemoryReservation& operator=(MemoryReservation&& other) noexcept;
  ~MemoryReservation() { Release(); }

  int64_t bytes() const { return bytes_; }
  /// Change the size of this reservation. Growing beyond the budget fails with kOutOfBudget and
  /// changes nothing.
  arrow::Status Resize(int64_t bytes);
  void Release();

 private:
  friend class MemoryBudget;
  std::shared_ptr<MemoryBudget> budget_;
  std::string purpose_;
  int64_t bytes_ = 0;
};

/// One limit for all memory that Kelda holds beyond a call: write buffers, read-ahead, caches
/// (architecture.md, "Memory"): reserve first, spill or flush second, fail last. Thread-safe.
class MemoryBudget : public std::enable_shared_from_this<MemoryBudget> {
 public:
  static std::shared_ptr<MemoryBudget> Make(int64_t limit_bytes);
  /// The budget of the process; limit is 70 % of the memory of the machine (or container) until
  /// SetLimit.
  static const std::shared_ptr<MemoryBudget>& Process();

  int64_t limit() const;
  int64_t used() const;
  int64_t peak() const;
  void SetLimit(int64_t limit_bytes);

  /// Take `bytes`, or fail at once with kOutOfBudget naming `purpose`, the size, used and limit.
  arrow::Result<MemoryReservation> TryReserve(int64_t bytes, std::string purpose);

 private:
  friend class MemoryReservation;
  explicit MemoryBudget(int64_t limit) : limit_(limit) {}
  arrow::Status Take(int64_t bytes, const std::string& purpose);
  void Give(int64_t bytes);

  mutable std::mutex mutex_;
  int64_t limit_;
  int64_t used_ = 0;
  int64_t peak_ = 0;
};

}  // namespace kelda
