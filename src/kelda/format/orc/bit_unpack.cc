#include "kelda/format/orc/bit_unpack.h"

#include <array>
#include <utility>

#include "kelda/base/bytes.h"

namespace kelda {
namespace {

/// Any 57 bits lie within the 8 bytes from the one with the first bit.
template <int kWidth>
void Unpack(const uint8_t* in, int64_t n, uint64_t* out) {
  if constexpr (kWidth == 64) {
    for (int64_t i = 0; i < n; ++i) out[i] = LoadBE64(in + i * 8);
  } else if constexpr (kWidth == 8) {
    for (int64_t i = 0; i < n; ++i) out[i] = in[i];
  } else if constexpr (kWidth <= 56) {
    int64_t i = 0;
    // Eight numbers fill whole bytes, so that shifts are constants.
    for (; i + 8 <= n; i += 8, in += kWidth, out += 8) {
      for (int k = 0; k < 8; ++k) {
        out[k] = LoadBE64(in + k * kWidth / 8) << (k * kWidth % 8) >> (64 - kWidth);
      }
    }
    for (int k = 0; i < n; ++i, ++k) {
      out[k] = LoadBE64(in + k * kWidth / 8) << (k * kWidth % 8) >> (64 - kWidth);
    }
  } else {
    // No width of the format; patches may have it.
    for (int64_t i = 0; i < n; ++i) {
      uint64_t value = 0;
      for (int64_t bit = i * kWidth; bit < (i + 1) * kWidth; ++bit) {
        value = value << 1 | (in[bit >> 3] >> (7 - (bit & 7)) & 1);
      }
      out[i] = value;
    }
  }
}

template <int kWidth>
void Pack(const uint64_t* in, int64_t n, uint8_t* out) {
  if constexpr (kWidth == 64) {
    for (int64_t i = 0; i < n; ++i) StoreBE64(out + i * 8, in[i]);
  } else if constexpr (kWidth == 8) {
    for (int64_t i = 0; i < n; ++i) out[i] = static_cast<uint8_t>(in[i]);
  } else {
    uint64_t pending = 0;  // the lowest `bits` bits are not written yet
    int bits = 0;
    for (int64_t i = 0; i < n; ++i) {
      int left = kWidth;
      if constexpr (kWidth > 32) {
        left -= 32;
        pending = pending << (kWidth - 32) | in[i] >> 32;
        for (bits += kWidth - 32; bits >= 8; bits -= 8) {
          *out++ = static_cast<uint8_t>(pending >> (bits - 8));
        }
        left = 32;
        pending = pending << 32 | (in[i] & 0xffffffffu);
      } else {
        pending = pending << kWidth | in[i];
      }
      bits += left;
      if (bits >= 32) {
        StoreBE32(out, static_cast<uint32_t>(pending >> (bits - 32)));
        out += 4;
        bits -= 32;
      }
    }
    for (; bits >= 8; bits -= 8) *out++ = static_cast<uint8_t>(pending >> (bits - 8));
    if (bits > 0) *out = static_cast<uint8_t>(pending << (8 - bits));
  }
}

using UnpackFunction = void (*)(const uint8_t*, int64_t, uint64_t*);
using PackFunction = void (*)(const uint64_t*, int64_t, uint8_t*);

template <size_t... kWidths>
constexpr std::array<UnpackFunction, 64> UnpackFunctions(std::index_sequence<kWidths...>) {
  return {Unpack<static_cast<int>(kWidths) + 1>...};
}
template <size_t... kWidths>
constexpr std::array<PackFunction, 64> PackFunctions(std::index_sequence<kWidths...>) {
  return {Pack<static_cast<int>(kWidths) + 1>...};
}

constexpr auto kUnpack = UnpackFunctions(std::make_index_sequence<64>());
constexpr auto kPack = PackFunctions(std::make_index_sequence<64>());

}  // namespace

void UnpackBits(const uint8_t* in, int width, int64_t n, uint64_t* out) {
  kUnpack[static_cast<size_t>(width - 1)](in, n, out);
}

void PackBits(const uint64_t* in, int width, int64_t n, uint8_t* out) {
  kPack[static_cast<size_t>(width - 1)](in, n, out);
}

}  // namespace kelda
