#include "kelda/format/blob/blob_layout.h"

#include "kelda/base/bytes.h"

namespace kelda {

std::string EncodeBlobIndex(const std::vector<int64_t>& lengths) {
  std::string bytes;
  int64_t before = 0;
  for (const int64_t length : lengths) {
    const int64_t delta = length - before;
    before = length;
    uint64_t raw = (static_cast<uint64_t>(delta) << 1) ^ static_cast<uint64_t>(delta >> 63);
    while (raw >= 0x80) {
      bytes += static_cast<char>(raw | 0x80);
      raw >>= 7;
    }
    bytes += static_cast<char>(raw);
  }
  char footer[kBlobFooterBytes];
  StoreLE(footer, static_cast<int32_t>(bytes.size()));
  footer[4] = kBlobVersion;
  return bytes.append(footer, sizeof(footer));
}

arrow::Result<std::vector<int64_t>> DecodeBlobIndex(std::string_view index, int64_t values_bytes,
                                                    int64_t offset, const std::string& path) {
  std::vector<int64_t> lengths;
  int64_t length = 0;
  int64_t total = 0;
  const auto broken = [&](size_t at, std::string_view what) {
    return Corruption("corrupt blob file '{}' at offset {}: {}", path,
                      offset + static_cast<int64_t>(at), what);
  };
  for (size_t at = 0; at < index.size();) {
    const size_t begin = at;
    uint64_t raw = 0;
    int shift = 0;
    bool more = true;
    for (; more; shift += 7) {
      if (at == index.size()) return broken(begin, "the index ends inside a number");
      const auto byte = static_cast<uint8_t>(index[at++]);
      if (shift > 63 || (shift == 63 && byte > 1)) {
        return broken(begin, "a number of more than 64 bits in the index");
      }
      raw |= static_cast<uint64_t>(byte & 0x7f) << shift;
      more = byte >= 0x80;
    }
    const int64_t delta = static_cast<int64_t>(raw >> 1) ^ -static_cast<int64_t>(raw & 1);
    if (__builtin_add_overflow(length, delta, &length)) {
      return broken(begin, "a length out of range");
    }
    if (length == -2)
      return Unsupported("blob file '{}' with values that lie in other files (Paimon 2.0)", path);
    if (length != kBlobNullLength && length < kBlobOverheadBytes) {
      return broken(begin, fmt::format("a value of {} bytes", length));
    }
    if (length > values_bytes - total) return broken(begin, "more bytes than the file has");
    if (length != kBlobNullLength) total += length;
    lengths.push_back(length);
  }
  if (total != values_bytes) {
    return broken(0,
                  fmt::format("the index tells of {} bytes, the file has {}", total, values_bytes));
  }
  return lengths;
}

arrow::Result<std::string> PathOfBlobUri(const std::string& uri) {
  const size_t colon = uri.find(':');
  if (colon == std::string::npos || uri.find('/') < colon) return uri;
  if (uri.substr(0, colon) != "file") {
    return Unsupported("BLOB values at '{}:' URIs", uri.substr(0, colon));
  }
  std::string path = uri.substr(colon + 1);
  // file:///a has an empty authority.
  if (path.starts_with("///")) path.erase(0, 2);
  return path;
}

}  // namespace kelda
