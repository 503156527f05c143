#include "kelda/base/bytes.h"

namespace kelda {

namespace {

int HexDigit(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  if (c >= 'A' && c <= 'F') return c - 'A' + 10;
  return -1;
}

}  // namespace

arrow::Result<std::string_view> ByteReader::Bytes(size_t n) {
  if (n > remaining()) {
    return Corruption("{}: {} bytes wanted at byte offset {}, {} left", source_, n, offset_,
                      remaining());
  }
  auto taken = bytes_.substr(offset_, n);
  offset_ += n;
  return taken;
}

arrow::Status ByteReader::Skip(size_t n) { return Bytes(n).status(); }

arrow::Result<int32_t> ByteReader::BE32() {
  ARROW_ASSIGN_OR_RAISE(auto b, Bytes(4));
  return static_cast<int32_t>(LoadBE32(b.data()));
}

arrow::Result<int64_t> ByteReader::BE64() {
  ARROW_ASSIGN_OR_RAISE(auto b, Bytes(8));
  return static_cast<int64_t>(LoadBE64(b.data()));
}

arrow::Result<uint16_t> ByteReader::BE16() {
  ARROW_ASSIGN_OR_RAISE(auto b, Bytes(2));
  return __builtin_bswap16(LoadLE<uint16_t>(b.data()));
}

arrow::Status ByteReader::Error(std::string_view what) const {
  return Corruption("{}: {} at byte offset {}", source_, what, offset_);
}

std::string ToHex(std::string_view bytes) {
  static constexpr char kDigits[] = "0123456789abcdef";
  std::string hex;
  hex.reserve(bytes.size() * 2);
  for (char c : bytes) {
    const auto byte = static_cast<uint8_t>(c);
    hex.push_back(kDigits[byte >> 4]);
    hex.push_back(kDigits[byte & 15]);
  }
  return hex;
}

arrow::Result<std::string> FromHex(std::string_view hex) {
  if (hex.size() % 2 != 0) return Invalid("hex text has an odd length: {}", hex.size());
  std::string bytes(hex.size() / 2, '\0');
  for (size_t i = 0; i < bytes.size(); ++i) {
    const int high = HexDigit(hex[2 * i]);
    const int low = HexDigit(hex[2 * i + 1]);
    if (high < 0 || low < 0) return Invalid("not a hex digit at position {}", 2 * i);
    bytes[i] = static_cast<char>(high << 4 | low);
  }
  return bytes;
}

}  // namespace kelda
