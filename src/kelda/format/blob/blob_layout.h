#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include <arrow/io/interfaces.h>

#include "kelda/base/status.h"

namespace kelda {

// The bytes of a `.blob` file (spec 01 §6.7):
//   each value that is not null: int32 magic | bytes | int64 length of all this | int32 CRC-32
//   index: lengths in row order, -1 for null; the first, then differences; zigzag varints
//   int32 length of the index | byte version

constexpr uint32_t kBlobMagic = 1481511375;
constexpr int64_t kBlobHeadBytes = 4;
constexpr int64_t kBlobTailBytes = 12;
constexpr int64_t kBlobOverheadBytes = kBlobHeadBytes + kBlobTailBytes;
constexpr int64_t kBlobFooterBytes = 5;
constexpr char kBlobVersion = 1;
constexpr int64_t kBlobNullLength = -1;

/// The index of `lengths`, and the footer.
std::string EncodeBlobIndex(const std::vector<int64_t>& lengths);

/// Lengths out of an index of a file whose values have `values_bytes` together; `offset` is where
/// the index lies, for errors, which name `path`.
arrow::Result<std::vector<int64_t>> DecodeBlobIndex(std::string_view index, int64_t values_bytes,
                                                    int64_t offset, const std::string& path);

/// `file:/a`, `file:///a` and `/a` as path of a file system; other schemes are refused by name.
arrow::Result<std::string> PathOfBlobUri(const std::string& uri);

}  // namespace kelda
