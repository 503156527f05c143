#include "kelda/io/range_reads.h"

#include <algorithm>
#include <numeric>

namespace kelda {

namespace {

arrow::Status CheckRange(const ByteRange& range, int64_t size_bytes, std::string_view name) {
  if (range.offset < 0 || range.length < 0 || range.length > size_bytes ||
      range.offset > size_bytes - range.length) {
    return Corruption("{}: {} bytes wanted at byte offset {}, the file has {}", name, range.length,
                      range.offset, size_bytes);
  }
  return arrow::Status::OK();
}

}  // namespace

std::vector<MergedRange> MergeRanges(const std::vector<ByteRange>& ranges, int64_t gap_bytes_max,
                                     int64_t merged_bytes_max) {
  std::vector<size_t> order(ranges.size());
  std::iota(order.begin(), order.end(), size_t{0});
  std::stable_sort(order.begin(), order.end(),
                   [&](size_t a, size_t b) { return ranges[a].offset < ranges[b].offset; });
  std::vector<MergedRange> merged;
  for (size_t index : order) {
    const ByteRange& range = ranges[index];
    if (range.length == 0) continue;
    const int64_t end = range.offset + range.length;
    if (!merged.empty()) {
      ByteRange& last = merged.back().range;
      const int64_t last_end = last.offset + last.length;
      const int64_t new_end = std::max(last_end, end);
      const bool near = range.offset - last_end <= gap_bytes_max;
      if (new_end == last_end || (near && new_end - last.offset <= merged_bytes_max)) {
        last.length = new_end - last.offset;
        merged.back().members.push_back(index);
        continue;
      }
    }
    merged.push_back({range, {index}});
  }
  return merged;
}

arrow::Result<std::vector<std::shared_ptr<arrow::Buffer>>> ReadFileRanges(
    arrow::io::RandomAccessFile& file, std::string_view name, const std::vector<ByteRange>& ranges,
    const RangeReadOptions& options) {
  ARROW_ASSIGN_OR_RAISE(const int64_t size_bytes, file.GetSize());
  for (const auto& range : ranges) ARROW_RETURN_NOT_OK(CheckRange(range, size_bytes, name));

  std::vector<std::shared_ptr<arrow::Buffer>> buffers(ranges.size(),
                                                      std::make_shared<arrow::Buffer>(nullptr, 0));
  const auto calls = MergeRanges(ranges, options.gap_bytes_max, options.merged_bytes_max);
  auto read = [&](int64_t i) -> arrow::Status {
    const auto& [range, members] = calls[static_cast<size_t>(i)];
    ARROW_ASSIGN_OR_RAISE(auto bytes, file.ReadAt(range.offset, range.length));
    if (bytes->size() != range.length) {
      return Corruption("{}: {} bytes wanted at byte offset {}, the file ends after {} of them",
                        name, range.length, range.offset, bytes->size());
    }
    for (size_t member : members) {
      buffers[member] =
          arrow::SliceBuffer(bytes, ranges[member].offset - range.offset, ranges[member].length);
    }
    return arrow::Status::OK();
  };
  const auto n = static_cast<int64_t>(calls.size());
  if (options.executor != nullptr) {
    ARROW_RETURN_NOT_OK(ParallelFor(*options.executor, n, options.token, read));
  } else {
    for (int64_t i = 0; i < n; ++i) {
      ARROW_RETURN_NOT_OK(options.token.Check());
      ARROW_RETURN_NOT_OK(read(i));
    }
  }
  return buffers;
}

}  // namespace kelda
