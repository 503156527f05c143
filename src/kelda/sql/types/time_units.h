#pragma once

#include <cstdint>

#include "kelda/types/data_type.h"

namespace kelda::sql {

inline constexpr int64_t kPowersOfTen[] = {
    1,        10,        100,        1000,        10000,        100000,       1000000,
    10000000, 100000000, 1000000000, 10000000000, 100000000000, 1000000000000};

/// Digits of a second that the Arrow and the DuckDB form of TIMESTAMP(precision) hold: 0, 3, 6
/// or 9.
constexpr int UnitDigits(int precision) { return (precision + 2) / 3 * 3; }

/// A stored value of TIMESTAMP(precision) is a multiple of this, in its unit.
constexpr int64_t TimestampStep(int precision) {
  return kPowersOfTen[UnitDigits(precision) - precision];
}

inline constexpr int64_t kMicrosOfDay = 86400000000;
inline constexpr int64_t kMillisOfDay = 86400000;

/// TIME holds milliseconds at most, whatever its precision (spec 04 §4.2); a step in microseconds.
constexpr int64_t TimeStepMicros(int precision) {
  return precision >= 3 ? 1000 : kPowersOfTen[6 - precision];
}

}  // namespace kelda::sql
