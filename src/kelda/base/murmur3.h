#pragma once

#include <cstdint>
#include <string_view>

namespace kelda {

/// Paimon's Murmur3-32 variant with seed 42 (spec 01 §5.5): little-endian words, then each
/// remaining byte sign-extended and mixed as a word of its own.
int32_t MurmurHash(std::string_view bytes, uint32_t seed = 42);

}  // namespace kelda
