#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "kelda/base/status.h"

namespace kelda {

/// Timestamps are stored as seconds from here, 2015-01-01 00:00:00, in the zone of the writer.
inline constexpr int64_t kOrcEpochSeconds = 1420070400;

/// First second of the Gregorian calendar, 1582-10-15. Java stores earlier wall clocks by the
/// Julian calendar (java.sql.Timestamp), so their seconds differ from the proleptic ones.
inline constexpr int64_t kGregorianStart = -12219292800;

/// Seconds of the same wall clock, stored form to proleptic.
int64_t ProlepticFromHybrid(int64_t seconds);
/// And back; nothing for the ten days, 1582-10-05 … 14, that the stored form does not have.
std::optional<int64_t> HybridFromProleptic(int64_t seconds);

/// Time zone of a writer, by the system's time zone database.
class OrcZone {
 public:
  /// "UTC", "Asia/Shanghai", "GMT+08:00". Unsupported when the system does not know it.
  static arrow::Result<std::shared_ptr<const OrcZone>> Make(const std::string& name);

  bool utc() const { return transitions_.empty() && before_ == 0; }
  /// Seconds east of UTC, at an instant, as java.util.TimeZone tells it: its rules begin in 1900.
  int64_t OffsetAt(int64_t instant) const;
  /// The instant of wall clock 2015-01-01 00:00:00.
  int64_t EpochInstant() const {
    return kOrcEpochSeconds - OffsetAt(kOrcEpochSeconds - OffsetAt(kOrcEpochSeconds));
  }

 private:
  struct Transition {
    int64_t instant;
    int64_t offset;
  };
  arrow::Status ParseFile(const std::string& bytes);

  std::vector<Transition> transitions_;
  int64_t before_ = 0;  ///< offset before the first transition
};

}  // namespace kelda
