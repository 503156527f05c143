#include "kelda/base/clock.h"

#include <sys/random.h>

#include <atomic>
#include <cerrno>
#include <cstdlib>
#include <ctime>
#include <thread>

#include <fmt/format.h>

namespace kelda {

namespace {

class SystemClock : public Clock {
 public:
  int64_t NowMillis() override {
    const auto now = std::chrono::system_clock::now().time_since_epoch();
    return std::chrono::duration_cast<std::chrono::milliseconds>(now).count();
  }
  void Sleep(std::chrono::milliseconds duration) override { std::this_thread::sleep_for(duration); }
};

// Asks the kernel each time, so that a forked child never repeats what its parent drew: file names
// of concurrent processes rest on this.
class SystemRandom : public Random {
 public:
  uint64_t Next() override {
    uint64_t value = 0;
    while (getrandom(&value, sizeof(value), 0) != static_cast<ssize_t>(sizeof(value))) {
      if (errno != EINTR) std::abort();  // names without randomness could overwrite others' files
    }
    return value;
  }
};

// SplitMix64: a counter that is mixed, so one atomic addition makes it thread-safe.
class SeededRandom : public Random {
 public:
  explicit SeededRandom(uint64_t seed) : state_(seed) {}
  uint64_t Next() override {
    uint64_t z = state_.fetch_add(kStep, std::memory_order_relaxed) + kStep;
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    return z ^ (z >> 31);
  }

 private:
  static constexpr uint64_t kStep = 0x9e3779b97f4a7c15u;
  std::atomic<uint64_t> state_;
};

}  // namespace

const std::shared_ptr<Clock>& Clock::System() {
  static const std::shared_ptr<Clock> clock = std::make_shared<SystemClock>();
  return clock;
}

std::string Random::Uuid() {
  uint64_t high = Next();
  uint64_t low = Next();
  high = (high & ~uint64_t{0xf000}) | 0x4000;              // version 4
  low = (low & ~(uint64_t{3} << 62)) | uint64_t{1} << 63;  // variant of RFC 4122
  return fmt::format("{:08x}-{:04x}-{:04x}-{:04x}-{:012x}", high >> 32, high >> 16 & 0xffff,
                     high & 0xffff, low >> 48, low & 0xffffffffffffu);
}

const std::shared_ptr<Random>& Random::System() {
  static const std::shared_ptr<Random> random = std::make_shared<SystemRandom>();
  return random;
}

std::shared_ptr<Random> Random::Seeded(uint64_t seed) {
  return std::make_shared<SeededRandom>(seed);
}

int64_t LocalZoneOffsetMillis(int64_t utc_millis) {
  // Rounded down: the offset in force at -1 ms is that of second -1.
  const int64_t seconds = utc_millis / 1000 - (utc_millis % 1000 < 0 ? 1 : 0);
  const auto time = static_cast<time_t>(seconds);
  struct tm local = {};
  if (localtime_r(&time, &local) == nullptr) return 0;  // a year beyond int: no zone rule there
  return static_cast<int64_t>(local.tm_gmtoff) * 1000;
}

}  // namespace kelda
