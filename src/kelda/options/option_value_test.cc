#include "kelda/options/option_value.h"

#include <limits>
#include <optional>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace kelda {
namespace {

using ::testing::HasSubstr;

constexpr int64_t kMax = std::numeric_limits<int64_t>::max();
// What a hostile schema file may hold.
const std::vector<std::string> kHostile = {"",       " ",
                                           "-1",     "- 1",
                                           "1.5",    "1,000",
                                           "0x10",   "1e3",
                                           "kb",     "one",
                                           "1 zb",   "1 kbb",
                                           "1 k b",  "\xff\xfe",
                                           "1\x01z", std::string("1\0b", 3) + "x",
                                           "1-",     "+",
                                           "++1",    "1 1",
                                           "NaN",    "inf",
                                           "--1",    "99999999999999999999",
                                           "1 µ",    std::string(100000, '9')};

TEST(OptionSize, Accepted) {
  const std::vector<std::pair<std::string, int64_t>> table = {
      {"0", 0},
      {"7", 7},
      {"7b", 7},
      {"7 bytes", 7},
      {"1k", 1024},
      {"1kb", 1024},
      {"1 KiBiBytes", 1024},
      {"64m", 64LL << 20},
      {"64 MB", 64LL << 20},
      {"64   mebibytes", 64LL << 20},
      {" 3 g ", 3LL << 30},
      {"3gb", 3LL << 30},
      {"3gibibytes", 3LL << 30},
      {"2t", 2LL << 40},
      {"2 Tb", 2LL << 40},
      {"2 tebibytes", 2LL << 40},
      {"007", 7},
      {"9223372036854775807", kMax},
      {"9223372036854775807 b", kMax},
      {"8388607 t", 8388607LL << 40},
  };
  for (const auto& [text, bytes] : table) {
    auto size = ParseOptionSize(text);
    ASSERT_TRUE(size.ok()) << text << ": " << size.status();
    EXPECT_EQ(*size, bytes) << text;
  }
}

TEST(OptionSize, Refused) {
  for (const std::string& text : kHostile) EXPECT_FALSE(ParseOptionSize(text).ok()) << text;
  for (const char* text : {"8388608 t", "9223372036854775808", "9223372036854775807 k", "1 ms"}) {
    EXPECT_FALSE(ParseOptionSize(text).ok()) << text;
  }
  EXPECT_THAT(ParseOptionSize("8388608 t").status().message(), HasSubstr("too large"));
  EXPECT_THAT(ParseOptionSize("12 parsecs").status().message(), HasSubstr("kb, mb"));
}

TEST(OptionDuration, Accepted) {
  const std::vector<std::pair<std::string, int64_t>> table = {
      {"0", 0},
      {"5", 5},
      {"5ms", 5},
      {"5 milli", 5},
      {"5 millis", 5},
      {"5 millisecond", 5},
      {"5 MilliSeconds", 5},
      {"2s", 2000},
      {"2 sec", 2000},
      {"2 secs", 2000},
      {"2 second", 2000},
      {"2 seconds", 2000},
      {"3m", 180000},
      {"3min", 180000},
      {"3 minute", 180000},
      {"3 minutes", 180000},
      {"1h", 3600000},
      {"1 hour", 3600000},
      {"1 hours", 3600000},
      {"1d", 86400000},
      {"1 day", 86400000},
      {" 1  days ", 86400000},
      {"1500 µs", 1},
      {"1500 micro", 1},
      {"1500 micros", 1},
      {"999 microsecond", 0},
      {"1000 microseconds", 1},
      {"2000000 ns", 2},
      {"2000000 nano", 2},
      {"2000000 nanos", 2},
      {"2000000 nanosecond", 2},
      {"1999999 nanoseconds", 1},
      {"9223372036854775807 ms", kMax},
      {"106751991167 d", 106751991167LL * 86400000},
  };
  for (const auto& [text, millis] : table) {
    auto duration = ParseOptionDuration(text);
    ASSERT_TRUE(duration.ok()) << text << ": " << duration.status();
    EXPECT_EQ(duration->count(), millis) << text;
  }
}

TEST(OptionDuration, Refused) {
  for (const std::string& text : kHostile) EXPECT_FALSE(ParseOptionDuration(text).ok()) << text;
  for (const char* text : {"106751991168 d", "9223372036854775808 ns", "1 us", "1 week", "PT1H"}) {
    EXPECT_FALSE(ParseOptionDuration(text).ok()) << text;
  }
}

TEST(OptionBool, AcceptedAndRefused) {
  EXPECT_TRUE(*ParseOptionBool("true"));
  EXPECT_TRUE(*ParseOptionBool("TRUE"));
  EXPECT_FALSE(*ParseOptionBool("False"));
  for (const char* text : {"", "1", "yes", "tru", " true", "true ", "truee"}) {
    EXPECT_FALSE(ParseOptionBool(text).ok()) << text;
  }
}

TEST(OptionInteger, AcceptedAndRefused) {
  EXPECT_EQ(*ParseOptionInteger("12", 0, 100), 12);
  EXPECT_EQ(*ParseOptionInteger("+12", 0, 100), 12);
  EXPECT_EQ(*ParseOptionInteger("-9223372036854775808", -kMax - 1, kMax), -kMax - 1);
  for (const char* text : {"", "+", "+-1", "1 ", " 1", "1.0", "0x1", "a", "101", "-1"}) {
    EXPECT_FALSE(ParseOptionInteger(text, 0, 100).ok()) << text;
  }
  EXPECT_FALSE(ParseOptionInteger("9223372036854775808", -kMax - 1, kMax).ok());
}

TEST(OptionDouble, AcceptedAndRefused) {
  EXPECT_EQ(*ParseOptionDouble("0.75"), 0.75);
  EXPECT_EQ(*ParseOptionDouble("1e-3"), 0.001);
  EXPECT_EQ(*ParseOptionDouble("-2"), -2);
  for (const char* text : {"", ".", "NaN", "inf", "-Infinity", "1e999", "1,5", "0x1p3", "1 2"}) {
    EXPECT_FALSE(ParseOptionDouble(text).ok()) << text;
  }
}

TEST(OptionEnum, WordsInAnyCase) {
  EXPECT_EQ(*ParseOptionEnum("Deduplicate", "deduplicate,first-row"), "deduplicate");
  EXPECT_EQ(*ParseOptionEnum("gentle", "RADICAL,GENTLE"), "GENTLE");
  auto wrong = ParseOptionEnum("last-row", "deduplicate,first-row");
  EXPECT_THAT(wrong.status().message(), HasSubstr("deduplicate, first-row"));
  EXPECT_FALSE(ParseOptionEnum("", "deduplicate,first-row").ok());
}

TEST(OptionEnum, WordWithNumber) {
  constexpr std::string_view kModes = "none,counts,truncate(<n>),full";
  EXPECT_EQ(*ParseOptionEnum("TRUNCATE(16)", kModes), "truncate(16)");
  for (const char* text :
       {"truncate", "truncate()", "truncate(-1)", "truncate(+1)", "truncate(a)", "truncate(16",
        "truncate(99999999999)", "xtruncate(1)", "truncate(1)x"}) {
    EXPECT_FALSE(ParseOptionEnum(text, kModes).ok()) << text;
  }
}

TEST(OptionMap, AcceptedAndRefused) {
  using Map = std::map<std::string, std::string>;
  EXPECT_EQ(*ParseOptionMap(""), Map{});
  EXPECT_EQ(*ParseOptionMap("0:avro"), (Map{{"0", "avro"}}));
  EXPECT_EQ(*ParseOptionMap(" 0 : avro , 5:orc "), (Map{{"0", "avro"}, {"5", "orc"}}));
  EXPECT_EQ(*ParseOptionMap("'a,b':\"c:d\",e:f"), (Map{{"a,b", "c:d"}, {"e", "f"}}));
  EXPECT_EQ(*ParseOptionMap("'it''s':x"), (Map{{"it's", "x"}}));
  EXPECT_EQ(*ParseOptionMap("k:"), (Map{{"k", ""}}));
  EXPECT_EQ(*ParseOptionMap("k:http://x"), (Map{{"k", "http://x"}}));
  for (const char* text : {"a", "a:b,", "a:b,c", "'a:b", "'a'b:c", "a:b,a:c", ",", "\"\"\"", "'"}) {
    EXPECT_FALSE(ParseOptionMap(text).ok()) << text;
  }
}

TEST(CheckOptionValue, Ranges) {
  const std::vector<std::tuple<std::string_view, std::string_view, bool>> table = {
      {"bucket", "-2", true},
      {"bucket", "-1", true},
      {"bucket", "1", true},
      {"bucket", "2147483647", true},
      {"bucket", "0", false},
      {"bucket", "-3", false},
      {"bucket", "2147483648", false},
      {"bucket", "many", false},
      {"file.compression.zstd-level", "22", true},
      {"file.compression.zstd-level", "23", false},
      {"target-file-size", "0 b", false},
      {"target-file-size", "1 b", true},
      {"snapshot.num-retained.min", "0", false},
      {"lookup.hash-load-factor", "0.75", true},
      {"lookup.hash-load-factor", "1.01", false},
      {"compaction.offpeak.start.hour", "-1", true},
      {"compaction.offpeak.start.hour", "24", false},
      {"scan.snapshot-id", "9223372036854775807", true},
      {"scan.snapshot-id", "0", false},
      {"metadata.stats-mode", "truncate(8)", true},
      {"metadata.stats-mode", "truncate", false},
      {"fields.<col>.stats-mode", "full", true},
  };
  for (const auto& [key, value, fine] : table) {
    EXPECT_EQ(CheckOptionValue(*FindOption(key), value).ok(), fine) << key << " = " << value;
  }
}

TEST(CanonicalOptionValue, EqualValuesAreEqual) {
  auto form = [](std::string_view key, std::string_view value) {
    return CanonicalOptionValue(*FindOption(key), value).ValueOr("(wrong)");
  };
  EXPECT_EQ(form("target-file-size", "64 MB"), form("target-file-size", "65536k"));
  EXPECT_NE(form("target-file-size", "64 MB"), form("target-file-size", "64 kb"));
  EXPECT_EQ(form("commit.timeout", "60 s"), form("commit.timeout", "1min"));
  EXPECT_EQ(form("write-only", "TRUE"), form("write-only", "true"));
  EXPECT_EQ(form("bucket", "+4"), form("bucket", "4"));
  EXPECT_EQ(form("file.format", "ORC"), form("file.format", "orc"));
  EXPECT_EQ(form("lookup.hash-load-factor", "0.50"), form("lookup.hash-load-factor", "0.5"));
  EXPECT_EQ(form("file.format.per.level", "1:orc,0:avro"),
            form("file.format.per.level", "0:avro, 1:orc"));
  EXPECT_NE(form("file.format.per.level", "0:a,1:b"), form("file.format.per.level", "'0:a,1':b"));
  EXPECT_NE(form("branch", "Main"), form("branch", "main"));
}

TEST(OptionValueError, NamesOptionValueAndForm) {
  arrow::Status status = OptionValueError("bucket", "x", arrow::Status::Invalid("expected y"));
  EXPECT_TRUE(status.IsInvalid());
  EXPECT_EQ(status.message(), "option 'bucket': value 'x' is wrong: expected y");
}

TEST(PrintableOptionText, EscapesAndCuts) {
  EXPECT_EQ(PrintableOptionText("a\x1b[2Jb\n"), "a\\x1b[2Jb\\x0a");
  EXPECT_EQ(PrintableOptionText(std::string(100, 'x')), std::string(100, 'x'));
  EXPECT_EQ(PrintableOptionText(std::string(1000, 'x')), std::string(100, 'x') + "...");
  EXPECT_EQ(PrintableOptionText(std::string(99, 'x') + "é and more"), std::string(99, 'x') + "...");
  EXPECT_EQ(PrintableOptionText(std::string(1000, '\x80')), "...");
}

}  // namespace
}  // namespace kelda
