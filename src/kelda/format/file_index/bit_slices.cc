#include "kelda/format/file_index/bit_slices.h"

namespace kelda {

arrow::Result<Roaring> BitSlices::Equal(uint64_t number) const {
  if (!Fits(number)) return Roaring();
  Roaring rows = existence_->Clone();
  for (int i = count_ - 1; i >= 0 && !rows.empty(); --i) {
    ARROW_ASSIGN_OR_RAISE(const Roaring* slice, fetch_(i));
    if (((number >> i) & 1) != 0) {
      rows.And(*slice);
    } else {
      rows.AndNot(*slice);
    }
  }
  return rows;
}

arrow::Result<Roaring> BitSlices::Less(uint64_t number) const {
  if (!Fits(number)) return existence_->Clone();
  Roaring less;
  Roaring equal = existence_->Clone();
  for (int i = count_ - 1; i >= 0 && !equal.empty(); --i) {
    ARROW_ASSIGN_OR_RAISE(const Roaring* slice, fetch_(i));
    if (((number >> i) & 1) != 0) {
      Roaring below = equal.Clone();
      below.AndNot(*slice);
      less.Or(below);
      equal.And(*slice);
    } else {
      equal.AndNot(*slice);
    }
  }
  return less;
}

void BitSliceBuilder::Flush() {
  rows_ += static_cast<int64_t>(existence_pending_.size());
  existence_.AddAll(existence_pending_);
  existence_pending_.clear();
  for (size_t bit = 0; bit < pending_.size(); ++bit) {
    slices_[bit].AddAll(pending_[bit]);
    pending_[bit].clear();
  }
}

int64_t BitSliceBuilder::BufferedBytes() const {
  // A bitset takes a bit per row, an array less.
  const auto bitmaps = static_cast<int64_t>(slices_.size()) + 1;
  return bitmaps * (rows_ / 8 + static_cast<int64_t>(kPendingMax * sizeof(uint32_t)));
}

}  // namespace kelda
