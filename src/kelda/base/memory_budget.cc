#include "kelda/base/memory_budget.h"

#include <unistd.h>

#include <algorithm>
#include <fstream>
#include <utility>

namespace kelda {

namespace {

// The smaller of the machine's memory and the limit of the control group (containers).
int64_t MachineMemoryBytes() {
  const int64_t pages = sysconf(_SC_PHYS_PAGES);
  const int64_t page_bytes = sysconf(_SC_PAGE_SIZE);
  int64_t bytes = pages > 0 && page_bytes > 0 ? pages * page_bytes : int64_t{1} << 32;
  for (const char* path :
       {"/sys/fs/cgroup/memory.max", "/sys/fs/cgroup/memory/memory.limit_in_bytes"}) {
    std::ifstream file(path);
    int64_t group_bytes = 0;
    // "max" (no limit) does not parse and is skipped.
    if (file >> group_bytes && group_bytes > 0) bytes = std::min(bytes, group_bytes);
  }
  return bytes;
}

}  // namespace

MemoryReservation::MemoryReservation(MemoryReservation&& other) noexcept
    : budget_(std::move(other.budget_)),
      purpose_(std::move(other.purpose_)),
      bytes_(std::exchange(other.bytes_, 0)) {}

MemoryReservation& MemoryReservation::operator=(MemoryReservation&& other) noexcept {
  if (this != &other) {
    Release();
    budget_ = std::move(other.budget_);
    purpose_ = std::move(other.purpose_);
    bytes_ = std::exchange(other.bytes_, 0);
  }
  return *this;
}

arrow::Status MemoryReservation::Resize(int64_t bytes) {
  if (bytes < 0) return Invalid("memory reservation of {} bytes", bytes);
  if (bytes == bytes_) return arrow::Status::OK();
  if (!budget_) return Invalid("resize to {} bytes of a reservation without a budget", bytes);
  if (bytes > bytes_) {
    ARROW_RETURN_NOT_OK(budget_->Take(bytes - bytes_, purpose_));
  } else {
    budget_->Give(bytes_ - bytes);
  }
  bytes_ = bytes;
  return arrow::Status::OK();
}

void MemoryReservation::Release() {
  if (budget_ && bytes_ > 0) budget_->Give(bytes_);
  bytes_ = 0;
  budget_.reset();
}

std::shared_ptr<MemoryBudget> MemoryBudget::Make(int64_t limit_bytes) {
  return std::shared_ptr<MemoryBudget>(new MemoryBudget(limit_bytes));
}

const std::shared_ptr<MemoryBudget>& MemoryBudget::Process() {
  static const std::shared_ptr<MemoryBudget> budget = Make(MachineMemoryBytes() / 10 * 7);
  return budget;
}

int64_t MemoryBudget::limit() const {
  std::lock_guard<std::mutex> lock(mutex_);
  return limit_;
}

int64_t MemoryBudget::used() const {
  std::lock_guard<std::mutex> lock(mutex_);
  return used_;
}

int64_t MemoryBudget::peak() const {
  std::lock_guard<std::mutex> lock(mutex_);
  return peak_;
}

void MemoryBudget::SetLimit(int64_t limit_bytes) {
  std::lock_guard<std::mutex> lock(mutex_);
  limit_ = limit_bytes;
}

arrow::Result<MemoryReservation> MemoryBudget::TryReserve(int64_t bytes, std::string purpose) {
  if (bytes < 0) return Invalid("memory reservation of {} bytes for {}", bytes, purpose);
  ARROW_RETURN_NOT_OK(Take(bytes, purpose));
  MemoryReservation reservation;
  reservation.budget_ = shared_from_this();
  reservation.purpose_ = std::move(purpose);
  reservation.bytes_ = bytes;
  return reservation;
}

arrow::Status MemoryBudget::Take(int64_t bytes, const std::string& purpose) {
  std::lock_guard<std::mutex> lock(mutex_);
  if (bytes > limit_ - used_) {
    return OutOfBudget("memory budget exhausted: {} bytes wanted for {}, {} of {} bytes in use",
                       bytes, purpose, used_, limit_);
  }
  used_ += bytes;
  peak_ = std::max(peak_, used_);
  return arrow::Status::OK();
}

void MemoryBudget::Give(int64_t bytes) {
  std::lock_guard<std::mutex> lock(mutex_);
  used_ -= bytes;
}

}  // namespace kelda
