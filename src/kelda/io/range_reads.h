#pragma once

#include <cstdint>
#include <memory>
#include <string_view>
#include <vector>

#include "kelda/base/executor.h"
#include "kelda/io/file_io.h"

namespace kelda {

struct RangeReadOptions {
  int64_t gap_bytes_max = 64 << 10;    ///< ranges this near are read by one call
  int64_t merged_bytes_max = 8 << 20;  ///< a call is not made longer than this by merging
  Executor* executor = nullptr;        ///< calls run in parallel on it if given
  CancellationToken token;
};

/// One call of a coalesced read and the indexes of the ranges that it serves.
struct MergedRange {
  ByteRange range;
  std::vector<size_t> members;
};

/// Merge near and overlapping ranges, in order of offset. REQUIRES: offsets and lengths >= 0, no
/// overflow of their sum. Empty ranges are in no call.
std::vector<MergedRange> MergeRanges(const std::vector<ByteRange>& ranges, int64_t gap_bytes_max,
                                     int64_t merged_bytes_max);

/// Read several ranges of `file`; result i belongs to ranges[i] and may share memory with its
/// neighbours. A range outside the file is Corruption: ranges come from metadata.
arrow::Result<std::vector<std::shared_ptr<arrow::Buffer>>> ReadFileRanges(
    arrow::io::RandomAccessFile& file, std::string_view name, const std::vector<ByteRange>& ranges,
    const RangeReadOptions& options = {});

}  // namespace kelda
