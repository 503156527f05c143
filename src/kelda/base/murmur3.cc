#include "kelda/base/murmur3.h"

#include <bit>

#include "kelda/base/bytes.h"

namespace kelda {

namespace {

uint32_t MixWord(uint32_t h, uint32_t k) {
  k *= 0xcc9e2d51u;
  k = std::rotl(k, 15);
  k *= 0x1b873593u;
  h ^= k;
  h = std::rotl(h, 13);
  return h * 5 + 0xe6546b64u;
}

}  // namespace

int32_t MurmurHash(std::string_view bytes, uint32_t seed) {
  uint32_t h = seed;
  const size_t aligned_bytes = bytes.size() & ~size_t{3};
  for (size_t i = 0; i < aligned_bytes; i += 4) {
    h = MixWord(h, LoadLE<uint32_t>(bytes.data() + i));
  }
  for (size_t i = aligned_bytes; i < bytes.size(); ++i) {
    h = MixWord(h, static_cast<uint32_t>(static_cast<int32_t>(static_cast<int8_t>(bytes[i]))));
  }
  h ^= static_cast<uint32_t>(bytes.size());
  h ^= h >> 16;
  h *= 0x85ebca6bu;
  h ^= h >> 13;
  h *= 0xc2b2ae35u;
  h ^= h >> 16;
  return static_cast<int32_t>(h);
}

}  // namespace kelda
