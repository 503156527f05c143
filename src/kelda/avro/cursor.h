#pragma once

#include <cstdint>
#include <cstring>

namespace kelda::avro::internal {

/// Cursor over Avro binary data that may be hostile. Reads return false at the first broken byte;
/// `error` and `position` then say what and where. Plain flags instead of Status keep the per-value
/// cost at a few instructions.
struct Cursor {
  const uint8_t* position = nullptr;
  const uint8_t* end = nullptr;
  const char* error = nullptr;

  int64_t remaining() const { return end - position; }

  bool Fail(const char* text) {
    if (error == nullptr) error = text;
    return false;
  }

  /// Zigzag varint of up to 64 bits.
  bool ReadLong(int64_t* out) {
    if (position != end && *position < 0x80) {
      const uint64_t raw = *position++;
      *out = static_cast<int64_t>(raw >> 1) ^ -static_cast<int64_t>(raw & 1);
      return true;
    }
    return ReadLongSlow(out);
  }

  bool ReadLongSlow(int64_t* out) {
    uint64_t raw = 0;
    const uint8_t* p = position;
    for (int shift = 0; shift < 70; shift += 7) {
      if (p == end) return Fail("data ends inside a number");
      const uint8_t byte = *p++;
      raw |= static_cast<uint64_t>(byte & 0x7f) << (shift & 63);
      if (byte < 0x80) {
        if (shift == 63 && byte > 1) break;
        position = p;
        *out = static_cast<int64_t>(raw >> 1) ^ -static_cast<int64_t>(raw & 1);
        return true;
      }
    }
    return Fail("number of more than 64 bits");
  }

  bool SkipLongs(int64_t count) {
    for (; count > 0; --count) {
      const uint8_t* p = position;
      const uint8_t* const limit = remaining() > 10 ? p + 10 : end;
      while (p != limit && *p >= 0x80) ++p;
      if (p == limit)
        return Fail(limit == end ? "data ends inside a number" : "number of more than 64 bits");
      position = p + 1;
    }
    return true;
  }

  /// Length prefix of bytes that must be there.
  bool ReadLength(int64_t* out) {
    if (!ReadLong(out)) return false;
    if (*out < 0) return Fail("negative length");
    if (*out > remaining()) return Fail("length beyond the end of the data");
    return true;
  }

  bool Skip(int64_t count) {
    if (count > remaining()) return Fail("data ends inside a value");
    position += count;
    return true;
  }

  bool SkipBytes() {
    int64_t length;
    if (!ReadLength(&length)) return false;
    position += length;
    return true;
  }

  template <typename T>
  bool ReadFixed(T* out) {
    if (remaining() < static_cast<int64_t>(sizeof(T))) return Fail("data ends inside a value");
    std::memcpy(out, position, sizeof(T));
    position += sizeof(T);
    return true;
  }

  /// Head of one block of an array or map: item count (0: no more blocks) and, when the writer gave
  /// it, the bytes of the block, else -1.
  bool ReadBlockHead(int64_t* count, int64_t* size_bytes) {
    *size_bytes = -1;
    if (!ReadLong(count)) return false;
    if (*count >= 0) return true;
    if (*count == INT64_MIN) return Fail("item count out of range");
    *count = -*count;
    return ReadLength(size_bytes);
  }
};

}  // namespace kelda::avro::internal
