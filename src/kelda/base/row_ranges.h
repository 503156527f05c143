#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

namespace kelda {

/// Positions of rows in one data file as ascending, disjoint, non-empty half-open ranges.
class RowRanges {
 public:
  struct Range {
    int64_t begin = 0;
    int64_t end = 0;
    bool operator==(const Range&) const = default;
  };

  RowRanges() = default;
  static RowRanges All(int64_t row_count) {
    RowRanges all;
    all.Add(0, row_count);
    return all;
  }

  /// REQUIRES: begin is not below the end of the last range. Touching ranges are joined.
  void Add(int64_t begin, int64_t end) {
    if (begin >= end) return;
    if (!ranges_.empty() && ranges_.back().end == begin) {
      ranges_.back().end = end;
    } else {
      ranges_.push_back({begin, end});
    }
  }

  const std::vector<Range>& ranges() const { return ranges_; }
  bool empty() const { return ranges_.empty(); }
  int64_t RowCount() const {
    int64_t rows = 0;
    for (const Range& range : ranges_) rows += range.end - range.begin;
    return rows;
  }
  /// True when some position of [begin, end) is wanted.
  bool Overlaps(int64_t begin, int64_t end) const {
    const auto first = std::partition_point(ranges_.begin(), ranges_.end(),
                                            [&](const Range& range) { return range.end <= begin; });
    return first != ranges_.end() && first->begin < end;
  }
  RowRanges Intersect(const RowRanges& other) const {
    RowRanges both;
    size_t i = 0;
    size_t j = 0;
    while (i < ranges_.size() && j < other.ranges_.size()) {
      const Range& a = ranges_[i];
      const Range& b = other.ranges_[j];
      both.Add(std::max(a.begin, b.begin), std::min(a.end, b.end));
      (a.end < b.end ? i : j) += 1;
    }
    return both;
  }
  bool operator==(const RowRanges&) const = default;

 private:
  std::vector<Range> ranges_;
};

}  // namespace kelda
