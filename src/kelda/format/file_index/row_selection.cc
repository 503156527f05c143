#include "kelda/format/file_index/row_selection.h"

#include <algorithm>
#include <optional>

namespace kelda {

namespace {

constexpr uint64_t kStepRows = 1 << 16;

/// Ranges with gaps below `gap` rows joined; nothing when there are more than `ranges_max`.
std::optional<RowRanges> Joined(const Roaring& rows, int64_t row_count, int64_t gap,
                                size_t ranges_max) {
  RowRanges ranges;
  int64_t begin = -1;
  int64_t end = -1;
  for (uint64_t step = 0; step < static_cast<uint64_t>(row_count); step += kStepRows) {
    for (uint32_t row : rows.Values(step, step + kStepRows)) {
      if (begin >= 0 && row - end < gap) {
        end = int64_t{row} + 1;
        continue;
      }
      if (begin >= 0) ranges.Add(begin, end);
      begin = row;
      end = int64_t{row} + 1;
    }
    if (ranges.ranges().size() > ranges_max) return std::nullopt;
  }
  if (begin >= 0) ranges.Add(begin, end);
  return ranges;
}

}  // namespace

RowSelection RowSelection::Of(Roaring rows, int64_t row_count) {
  RowSelection selection(row_count);
  if (static_cast<int64_t>(rows.Cardinality()) < row_count)
    selection.some_ = std::make_unique<Roaring>(std::move(rows));
  return selection;
}

void RowSelection::And(RowSelection other) {
  if (other.all()) return;
  if (all()) {
    some_ = std::move(other.some_);
  } else {
    some_->And(*other.some_);
  }
}

void RowSelection::Or(RowSelection other) {
  if (all()) return;
  if (other.all()) {
    some_ = nullptr;
  } else {
    some_->Or(*other.some_);
    if (static_cast<int64_t>(some_->Cardinality()) >= row_count_) some_ = nullptr;
  }
}

RowRanges RowSelection::ToRanges(size_t ranges_max) const {
  if (all()) return RowRanges::All(row_count_);
  if (none()) return RowRanges();
  for (int64_t gap = 1;; gap *= 16) {
    if (auto ranges = Joined(*some_, row_count_, gap, ranges_max)) return *std::move(ranges);
    if (gap >= row_count_) return RowRanges::All(row_count_);
  }
}

}  // namespace kelda
