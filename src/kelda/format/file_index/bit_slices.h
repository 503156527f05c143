#pragma once

#include <functional>
#include <vector>

#include "kelda/base/roaring.h"
#include "kelda/base/status.h"

namespace kelda {

/// Unsigned numbers of rows, one bitmap per bit: what `bsi` and `range-bitmap` store. Questions are
/// answered by the bitmaps alone, from the highest bit down.
class BitSlices {
 public:
  /// Slice `i` holds the rows whose number has bit i. Asked for when needed, each once per
  /// question.
  using Fetch = std::function<arrow::Result<const Roaring*>(int)>;

  /// `existence`: rows that have a number. Borrowed.
  BitSlices(const Roaring* existence, int count, Fetch fetch)
      : existence_(existence), count_(count), fetch_(std::move(fetch)) {}

  arrow::Result<Roaring> Equal(uint64_t number) const;
  arrow::Result<Roaring> Less(uint64_t number) const;

 private:
  /// Whether the slices can hold `number`.
  bool Fits(uint64_t number) const { return count_ >= 64 || (number >> count_) == 0; }

  const Roaring* existence_;
  int count_;
  Fetch fetch_;
};

/// Collects rows by the bits of their numbers.
class BitSliceBuilder {
 public:
  /// REQUIRES: `row` above all rows before.
  void Add(uint32_t row, uint64_t number) {
    existence_pending_.push_back(row);
    for (uint64_t rest = number; rest != 0; rest &= rest - 1) {
      const auto bit = static_cast<size_t>(__builtin_ctzll(rest));
      if (bit >= pending_.size()) {
        pending_.resize(bit + 1);
        slices_.resize(bit + 1);
      }
      pending_[bit].push_back(row);
    }
    if (existence_pending_.size() >= kPendingMax) Flush();
  }
  void Flush();
  int64_t BufferedBytes() const;

  /// After Flush.
  Roaring& existence() { return existence_; }
  /// As many as the largest number has bits.
  std::vector<Roaring>& slices() { return slices_; }

 private:
  static constexpr size_t kPendingMax = 8192;

  Roaring existence_;
  std::vector<Roaring> slices_;
  std::vector<uint32_t> existence_pending_;
  std::vector<std::vector<uint32_t>> pending_;
  int64_t rows_ = 0;
};

}  // namespace kelda
