#pragma once

#include <bit>
#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>

#include "kelda/base/status.h"

namespace kelda {

// Unaligned loads and stores. x86-64 and AArch64 are little-endian; others are not supported.
static_assert(std::endian::native == std::endian::little);

template <typename T>
T LoadLE(const void* p) {
  T v;
  std::memcpy(&v, p, sizeof(T));
  return v;
}
template <typename T>
void StoreLE(void* p, T v) {
  std::memcpy(p, &v, sizeof(T));
}
inline uint32_t LoadBE32(const void* p) { return __builtin_bswap32(LoadLE<uint32_t>(p)); }
inline uint64_t LoadBE64(const void* p) { return __builtin_bswap64(LoadLE<uint64_t>(p)); }
inline void StoreBE32(void* p, uint32_t v) { StoreLE<uint32_t>(p, __builtin_bswap32(v)); }
inline void StoreBE64(void* p, uint64_t v) { StoreLE<uint64_t>(p, __builtin_bswap64(v)); }

/// Cursor over bytes that may be hostile: every read is checked, and an error names the source and
/// the offset. Borrows the bytes and the name. Not thread-safe.
class ByteReader {
 public:
  ByteReader(std::string_view bytes, std::string_view source_name)
      : bytes_(bytes), source_(source_name) {}

  size_t offset() const { return offset_; }
  size_t remaining() const { return bytes_.size() - offset_; }
  bool at_end() const { return offset_ == bytes_.size(); }

  arrow::Result<std::string_view> Bytes(size_t n);
  arrow::Status Skip(size_t n);
  template <typename T>
  arrow::Result<T> LE() {
    ARROW_ASSIGN_OR_RAISE(auto b, Bytes(sizeof(T)));
    return LoadLE<T>(b.data());
  }
  arrow::Result<uint8_t> Byte() { return LE<uint8_t>(); }
  arrow::Result<int32_t> BE32();
  arrow::Result<int64_t> BE64();
  arrow::Result<uint16_t> BE16();
  arrow::Status Error(std::string_view what) const;

 private:
  std::string_view bytes_;
  std::string_view source_;
  size_t offset_ = 0;
};

std::string ToHex(std::string_view bytes);
arrow::Result<std::string> FromHex(std::string_view hex);

}  // namespace kelda
