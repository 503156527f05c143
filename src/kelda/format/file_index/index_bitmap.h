#pragma once

#include "kelda/base/roaring.h"
#include "kelda/format/file_index/index_input.h"

namespace kelda {

/// The roaring bitmap in `length` bytes at `offset`. Corruption if it is none, does not fill them,
/// or has a row at or above `row_count`.
arrow::Result<Roaring> ReadIndexBitmap(const IndexBlob& blob, int64_t offset, int64_t length,
                                       int64_t row_count);

/// Parse a bitmap at the start of `bytes`, which lie at `offset` of the blob.
arrow::Result<Roaring> ParseIndexBitmap(const IndexBlob& blob, std::string_view bytes,
                                        int64_t offset, int64_t row_count, size_t* consumed);

}  // namespace kelda
