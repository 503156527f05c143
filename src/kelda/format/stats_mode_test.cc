#include "kelda/format/stats_mode.h"

#include <arrow/scalar.h>
#include <gtest/gtest.h>

namespace kelda {
namespace {

std::shared_ptr<arrow::Scalar> Text(std::string text) {
  return std::make_shared<arrow::StringScalar>(std::move(text));
}

std::string TextOf(const std::shared_ptr<arrow::Scalar>& scalar) {
  return std::string(std::string_view(*static_cast<const arrow::StringScalar&>(*scalar).value));
}

TEST(StatsMode, Parse) {
  EXPECT_EQ(ParseStatsMode("none").ValueOrDie(), StatsMode::None());
  EXPECT_EQ(ParseStatsMode("Counts").ValueOrDie(), StatsMode::Counts());
  EXPECT_EQ(ParseStatsMode("FULL").ValueOrDie(), StatsMode::Full());
  EXPECT_EQ(ParseStatsMode("truncate(16)").ValueOrDie(), StatsMode::Truncate(16));
  EXPECT_EQ(ParseStatsMode("TRUNCATE(1)").ValueOrDie(), StatsMode::Truncate(1));
  for (const char* bad : {"", "truncate", "truncate()", "truncate(0)", "truncate(-1)", "truncate(1",
                          "truncate(1x)", "truncate(99999999999)", "all"}) {
    auto result = ParseStatsMode(bad);
    ASSERT_FALSE(result.ok()) << bad;
    EXPECT_NE(result.status().message().find(bad), std::string::npos);
  }
}

// The examples of spec 01 §5.7, which Java printed, and the one that a native writer must do
// otherwise.
TEST(StatsMode, TruncateExamples) {
  EXPECT_EQ(TruncateStringMin("abcd", 3), "abc");
  EXPECT_EQ(TruncateStringMax("abcd", 3), "abd");
  EXPECT_EQ(TruncateStringMax("ab\u00ffz", 3), "ab\u0100");
  EXPECT_EQ(TruncateStringMax("ab\U0010ffffz", 3), "ac");
  EXPECT_EQ(TruncateStringMax("ab\ud7ffz", 3), "ab\ue000");
}

TEST(StatsMode, TruncateBorders) {
  EXPECT_EQ(TruncateStringMax("abc", 3), "abc");
  EXPECT_EQ(TruncateStringMax("", 3), "");
  EXPECT_EQ(TruncateStringMin("", 3), "");
  EXPECT_EQ(TruncateStringMin("😀😀😀", 2), "😀😀");
  EXPECT_EQ(TruncateStringMax("\u007fx", 1), "\u0080");
  EXPECT_EQ(TruncateStringMax("\u07ffx", 1), "\u0800");
  EXPECT_EQ(TruncateStringMax("\uffffx", 1), "\U00010000");
  EXPECT_EQ(TruncateStringMax("\U0010ffff\U0010ffffx", 2), std::nullopt);
  EXPECT_EQ(TruncateStringMax("\xff\xff\xff\xff", 2), std::nullopt);
  EXPECT_EQ(TruncateStringMin("\xff\xff\xff", 2), "\xff\xff");
}

TEST(StatsMode, TruncatedBoundsStayBounds) {
  uint64_t state = 7;
  auto next = [&](uint64_t n) {
    state = state * 6364136223846793005u + 1442695040888963407u;
    return (state >> 33) % n;
  };
  const std::vector<std::string> pieces = {"a",      "z",          "\u007f",    "\u0080",
                                           "\u07ff", "\u0800",     "\ud7ff",    "\ue000",
                                           "\uffff", "\U00010000", "\U0010ffff"};
  for (int round = 0; round < 5000; ++round) {
    std::string text;
    for (uint64_t n = next(8); n > 0; --n) text += pieces[next(pieces.size())];
    const auto length = static_cast<int32_t>(1 + next(5));
    EXPECT_LE(TruncateStringMin(text, length), text);
    auto max = TruncateStringMax(text, length);
    if (max) {
      EXPECT_GE(*max, text);
    }
  }
}

TEST(StatsMode, Apply) {
  FileColumnStats stats{Text("aaaaa"), Text("bbbbb"), 3};
  auto none = ApplyStatsMode(StatsMode::None(), stats);
  EXPECT_FALSE(none.min || none.max || none.null_count);
  auto counts = ApplyStatsMode(StatsMode::Counts(), stats);
  EXPECT_FALSE(counts.min || counts.max);
  EXPECT_EQ(counts.null_count, 3);
  auto full = ApplyStatsMode(StatsMode::Full(), stats);
  EXPECT_EQ(TextOf(full.max), "bbbbb");
  auto cut = ApplyStatsMode(StatsMode::Truncate(2), stats);
  EXPECT_EQ(TextOf(cut.min), "aa");
  EXPECT_EQ(TextOf(cut.max), "bc");
  EXPECT_EQ(cut.null_count, 3);
  // A maximum without an upper bound of that length takes the minimum with it.
  auto top = ApplyStatsMode(StatsMode::Truncate(1), {Text("aa"), Text("\U0010ffffz"), 0});
  EXPECT_FALSE(top.min || top.max);
  EXPECT_EQ(top.null_count, 0);
  auto number = std::make_shared<arrow::Int64Scalar>(1234567);
  auto kept = ApplyStatsMode(StatsMode::Truncate(1), {number, number, 0});
  EXPECT_TRUE(kept.min->Equals(*number));
  auto bytes = std::make_shared<arrow::BinaryScalar>(std::string("abcdef"));
  EXPECT_TRUE(ApplyStatsMode(StatsMode::Truncate(1), {bytes, bytes, 0}).max->Equals(*bytes));
}

}  // namespace
}  // namespace kelda
