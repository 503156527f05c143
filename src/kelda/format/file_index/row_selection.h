#pragma once

#include <memory>

#include "kelda/base/roaring.h"
#include "kelda/base/row_ranges.h"

namespace kelda {

/// Rows of one data file that may satisfy a predicate: none, some, or nothing is known (all).
class RowSelection {
 public:
  explicit RowSelection(int64_t row_count) : row_count_(row_count) {}
  static RowSelection All(int64_t row_count) { return RowSelection(row_count); }
  static RowSelection None(int64_t row_count) {
    RowSelection none(row_count);
    none.some_ = std::make_unique<Roaring>();
    return none;
  }
  /// REQUIRES: no member of `rows` at or above `row_count`.
  static RowSelection Of(Roaring rows, int64_t row_count);

  bool all() const { return some_ == nullptr; }
  bool none() const { return some_ != nullptr && some_->empty(); }
  int64_t row_count() const { return row_count_; }
  int64_t selected() const {
    return some_ == nullptr ? row_count_ : static_cast<int64_t>(some_->Cardinality());
  }
  bool Contains(uint32_t row) const { return some_ == nullptr || some_->Contains(row); }

  void And(RowSelection other);
  void Or(RowSelection other);

  /// Ascending ranges that cover the rows. Near ones are joined when there are more than
  /// `ranges_max`.
  RowRanges ToRanges(size_t ranges_max = 65536) const;

 private:
  int64_t row_count_;
  std::unique_ptr<Roaring> some_;  ///< null: all
};

}  // namespace kelda
