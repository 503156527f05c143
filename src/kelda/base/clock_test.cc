#include "kelda/base/clock.h"

#include <cstdlib>
#include <ctime>
#include <set>
#include <string>

#include "kelda/base/test_matchers.h"

namespace kelda {
namespace {

TEST(RandomTest, UuidsAreVersion4AndDistinct) {
  const std::string form("[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}");
  std::set<std::string> seen;
  for (int i = 0; i < 1000; ++i) {
    const auto uuid = Random::System()->Uuid();
    EXPECT_THAT(uuid, testing::MatchesRegex(form));
    seen.insert(uuid);
  }
  EXPECT_EQ(seen.size(), 1000u);
}

TEST(RandomTest, SeedsRepeat) {
  auto a = Random::Seeded(7);
  auto b = Random::Seeded(7);
  auto c = Random::Seeded(8);
  const auto first = a->Uuid();
  EXPECT_EQ(first, b->Uuid());
  EXPECT_NE(first, c->Uuid());
  EXPECT_NE(first, a->Uuid());
}

TEST(ClockTest, SystemClockMovesOn) {
  const auto before = Clock::System()->NowMillis();
  EXPECT_GT(before, 1600000000000);
  Clock::System()->Sleep(std::chrono::milliseconds(3));
  EXPECT_GE(Clock::System()->NowMillis(), before + 2);
}

class ZoneTest : public testing::Test {
 protected:
  void SetUp() override {
    const char* zone = std::getenv("TZ");
    if (zone != nullptr) before_ = zone;
    had_zone_ = zone != nullptr;
  }
  void TearDown() override {
    had_zone_ ? setenv("TZ", before_.c_str(), 1) : unsetenv("TZ");
    tzset();
  }
  static void Use(const char* zone) {
    setenv("TZ", zone, 1);
    tzset();
  }

 private:
  std::string before_;
  bool had_zone_ = false;
};

TEST_F(ZoneTest, OffsetFollowsTheRuleOfTheInstant) {
  Use("UTC0");
  EXPECT_EQ(LocalZoneOffsetMillis(0), 0);
  // Central European rules, spelled out so that no zone files are needed; change at
  // 2024-03-31T01:00Z.
  Use("CET-1CEST,M3.5.0,M10.5.0/3");
  EXPECT_EQ(LocalZoneOffsetMillis(1711846799999), 3600000);
  EXPECT_EQ(LocalZoneOffsetMillis(1711846800000), 7200000);
  EXPECT_EQ(LocalZoneOffsetMillis(-1), 3600000);
  Use("NST3:30");
  EXPECT_EQ(LocalZoneOffsetMillis(1711846800000), -12600000);
}

}  // namespace
}  // namespace kelda
