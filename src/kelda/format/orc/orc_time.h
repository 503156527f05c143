#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "kelda/base/status.h"

namespace kelda {

/// Timestamps are stored as seconds from here, 2015-01-01 00:00:00, in the zone of the writer.
inline constexpr int64_t kOrcEpochSeconds = 1420070400;

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
