#pragma once

#include <cstdint>

namespace kelda {

/// Bits that follow behind the packed ones may be read, up to this many bytes.
inline constexpr int64_t kUnpackSlack = 8;

/// Unpack `n` big-endian numbers of `width` bits, 1 … 64. REQUIRES: (n * width + 7) / 8 +
/// kUnpackSlack readable bytes.
void UnpackBits(const uint8_t* in, int width, int64_t n, uint64_t* out);

/// Pack `n` numbers of `width` bits, 1 … 64, big-endian, into (n * width + 7) / 8 bytes. REQUIRES:
/// all numbers fit; kUnpackSlack writable bytes behind them.
void PackBits(const uint64_t* in, int width, int64_t n, uint8_t* out);

}  // namespace kelda
