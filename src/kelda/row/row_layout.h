#pragma once

#include <cstddef>
#include <cstdint>

#include "kelda/types/data_type.h"

namespace kelda::row_layout {

// Sizes and slot kinds of BinaryRow, BinaryArray and BinaryMap (spec 01 §5.1-5.3), shared by
// encoder and decoder.

/// Header byte and null bits of a row of `arity` fields.
inline size_t HeaderBytes(size_t arity) { return (arity + 63 + 8) / 64 * 8; }
inline size_t RowFixedBytes(size_t arity) { return HeaderBytes(arity) + 8 * arity; }
inline size_t RoundUp8(size_t size) { return (size + 7) & ~size_t{7}; }
inline size_t ArrayHeaderBytes(size_t count) { return 4 + (count + 31) / 32 * 4; }

constexpr uint64_t kInlineMark = uint64_t{0x80} << 56;
constexpr size_t kInlineMax = 7;
constexpr size_t kLargeDecimalBytes = 16;

inline bool IsLargeDecimal(const DataType& type) {
  return type.root() == TypeRoot::kDecimal && type.precision() > 18;
}
inline bool IsTimestamp(const DataType& type) {
  return type.root() == TypeRoot::kTimestamp || type.root() == TypeRoot::kTimestampLtz;
}
inline bool IsLargeTimestamp(const DataType& type) {
  return IsTimestamp(type) && type.precision() > 3;
}
/// CHAR, VARCHAR, BINARY, VARBINARY: inline up to 7 bytes.
inline bool IsInlineable(const DataType& type) { return type.IsString() || type.IsBytes(); }
/// Types whose variable part is a structure or plain bytes that are never inline.
inline bool IsStructured(const DataType& type) {
  return type.IsNested() || type.root() == TypeRoot::kVariant || type.root() == TypeRoot::kBlob;
}

/// Width of an array element (spec 01 §5.2).
inline size_t ElementWidth(const DataType& type) {
  switch (type.root()) {
    case TypeRoot::kBoolean:
    case TypeRoot::kTinyInt:
      return 1;
    case TypeRoot::kSmallInt:
      return 2;
    case TypeRoot::kInt:
    case TypeRoot::kDate:
    case TypeRoot::kTime:
    case TypeRoot::kFloat:
      return 4;
    default:
      return 8;
  }
}

inline int64_t FloorDiv(int64_t value, int64_t divisor) {
  const int64_t quotient = value / divisor;
  return value % divisor < 0 ? quotient - 1 : quotient;
}

inline int64_t FloorMod(int64_t value, int64_t divisor) {
  const int64_t remainder = value % divisor;
  return remainder < 0 ? remainder + divisor : remainder;
}

}  // namespace kelda::row_layout
