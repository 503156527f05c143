#include "kelda/format/blob/blob_descriptor.h"

#include "kelda/base/bytes.h"

namespace kelda {
namespace {

constexpr uint64_t kMagic = 0x424C4F4244455343;
constexpr char kVersion = 2;
constexpr size_t kMagicEnd = 9;

}  // namespace

std::string BlobDescriptor::Serialize() const {
  std::string bytes(kMagicEnd + 4, '\0');
  bytes[0] = kVersion;
  StoreLE(bytes.data() + 1, kMagic);
  StoreLE(bytes.data() + kMagicEnd, static_cast<int32_t>(uri.size()));
  bytes += uri;
  char place[16];
  StoreLE(place, offset);
  StoreLE(place + 8, length);
  return bytes.append(place, sizeof(place));
}

arrow::Result<BlobDescriptor> BlobDescriptor::Parse(std::string_view bytes) {
  const auto broken = [](std::string_view what) {
    return Corruption("broken BLOB descriptor: {}", what);
  };
  if (bytes.empty()) return broken("no bytes");
  if (bytes[0] != 1 && bytes[0] != kVersion) return broken("unknown version");
  size_t at = 1;
  if (bytes[0] == kVersion) {
    if (!IsBlobDescriptor(bytes)) return broken("wrong magic number");
    at = kMagicEnd;
  }
  if (bytes.size() < at + 4) return broken("it ends early");
  const auto uri_size = LoadLE<uint32_t>(bytes.data() + at);
  at += 4;
  if (bytes.size() - at < 16 || uri_size != bytes.size() - at - 16) {
    return broken("its size does not fit the length of its URI");
  }
  BlobDescriptor descriptor;
  descriptor.uri = bytes.substr(at, uri_size);
  at += uri_size;
  descriptor.offset = LoadLE<int64_t>(bytes.data() + at);
  descriptor.length = LoadLE<int64_t>(bytes.data() + at + 8);
  if (descriptor.offset < 0 || descriptor.length < -1) return broken("negative place");
  return descriptor;
}

bool IsBlobDescriptor(std::string_view bytes) {
  return bytes.size() >= kMagicEnd && bytes[0] == kVersion &&
         LoadLE<uint64_t>(bytes.data() + 1) == kMagic;
}

}  // namespace kelda
