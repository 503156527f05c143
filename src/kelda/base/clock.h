#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <string>

namespace kelda {

/// Wall clock and sleeping, replaceable in tests and simulations. Implementations are thread-safe.
class Clock {
 public:
  virtual ~Clock() = default;
  /// Milliseconds since 1970-01-01 UTC.
  virtual int64_t NowMillis() = 0;
  virtual void Sleep(std::chrono::milliseconds duration) = 0;
  static const std::shared_ptr<Clock>& System();
};

/// Source of randomness, replaceable in tests. Implementations are thread-safe.
class Random {
 public:
  virtual ~Random() = default;
  virtual uint64_t Next() = 0;
  /// Lower-case 36-character version-4 UUID text.
  std::string Uuid();
  static const std::shared_ptr<Random>& System();
  static std::shared_ptr<Random> Seeded(uint64_t seed);
};

/// Offset of the session time zone from UTC at `utc_millis`, in milliseconds (the "JVM zone" of the
/// specs: TZ of the process).
int64_t LocalZoneOffsetMillis(int64_t utc_millis);

}  // namespace kelda
