#include "kelda/row/cast.h"

#include <map>

#include <arrow/api.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "kelda/row/row_test_values.h"
#include "kelda/types/arrow_mapping.h"

namespace kelda {
namespace {

using Json = nlohmann::ordered_json;
using ScalarPtr = std::shared_ptr<arrow::Scalar>;

DataType Type(const char* text) { return DataType::Parse(text).ValueOrDie(); }

/// A column of `values`, behind `before` other rows that a slice hides.
std::shared_ptr<arrow::Array> Column(const DataType& type, const std::vector<ScalarPtr>& values,
                                     int before) {
  auto builder = arrow::MakeBuilder(ToArrowType(type).ValueOrDie()).ValueOrDie();
  for (int i = 0; i < before; ++i) EXPECT_TRUE(builder->AppendNull().ok());
  for (const ScalarPtr& value : values) EXPECT_TRUE(builder->AppendScalar(*value).ok());
  return builder->Finish().ValueOrDie()->Slice(before);
}

ScalarPtr Value(const char* type, const char* json) {
  return ScalarFromJson(Type(type), Json::parse(json));
}

/// The cast of one value as the test vectors would show it: text of the Arrow scalar, or "error".
std::string CastText(const char* from, const char* to, const char* json) {
  auto cast = ResolveCast(Type(from), Type(to));
  if (!cast.ok()) return "no cast";
  auto result = (*cast)->Apply(*Value(from, json));
  return result.ok() ? (*result)->ToString() : "error";
}

bool SameValue(const arrow::Scalar& a, const arrow::Scalar& b) {
  return a.Equals(b, arrow::EqualOptions::Defaults().nans_equal(true).signed_zeros_equal(false));
}

struct PairFacts {
  DataType from;
  DataType to;
  bool is_implicit = false;
  bool is_explicit = false;
  bool executor = false;
  std::vector<ScalarPtr> in;
  std::vector<ScalarPtr> out;
  std::vector<ScalarPtr> failing;
};

std::vector<PairFacts> ReadFacts() {
  std::vector<PairFacts> pairs;
  std::map<std::string, size_t> index;
  for (const Json& line : ReadJsonLines(KELDA_TEST_DATA "/vectors/casts.jsonl")) {
    auto [it, is_new] = index.emplace(line["from"].dump() + line["to"].dump(), pairs.size());
    if (is_new) {
      PairFacts facts;
      facts.from = DataType::FromJson(line["from"]).ValueOrDie();
      facts.to = DataType::FromJson(line["to"]).ValueOrDie();
      facts.is_implicit = line["implicit"].get<bool>();
      facts.is_explicit = line["explicit"].get<bool>();
      facts.executor = line["executor"].get<bool>();
      pairs.push_back(std::move(facts));
    }
    PairFacts& facts = pairs[it->second];
    if (!line.contains("in")) continue;
    const auto in = ScalarFromJson(facts.from, line["in"]);
    // timestamp[ns] is from 1677 to 2262: an error here.
    const bool beyond = facts.to.root() == TypeRoot::kTimestamp && facts.to.precision() > 6 &&
                        line.contains("out") &&
                        (line["out"].get<std::string>() >= "2262-04-12" ||
                         line["out"].get<std::string>() < "1677-09-22");
    if (line.contains("error") || beyond) {
      facts.failing.push_back(in);
      continue;
    }
    facts.in.push_back(in);
    // An Arrow column cuts the milliseconds of a TIME that Java keeps in TIMESTAMP(0).
    facts.out.push_back(ScalarFromJson(facts.to, line["out"]));
  }
  return pairs;
}

TEST(Cast, VectorsOfJava) {
  int values = 0;
  int errors = 0;
  for (const PairFacts& facts : ReadFacts()) {
    SCOPED_TRACE(facts.from.ToString() + " -> " + facts.to.ToString());
    EXPECT_EQ(IsCastAllowed(facts.from, facts.to, false), facts.is_implicit);
    EXPECT_EQ(IsCastAllowed(facts.from, facts.to, true), facts.is_implicit || facts.is_explicit);
    auto cast = ResolveCast(facts.from, facts.to);
    // Reading never asks for a cast of a type to itself: Java has none for some, and for others one
    // that pads or cuts.
    if (facts.from.EqualsIgnoringNullability(facts.to)) {
      ASSERT_TRUE(cast.ok() && (*cast)->IsIdentity());
      continue;
    }
    ASSERT_EQ(cast.ok(), facts.executor) << cast.status();
    if (!cast.ok()) {
      EXPECT_THAT(cast.status().message(), testing::HasSubstr("cannot be cast to"));
      continue;
    }
    for (const int before : {0, 3}) {
      std::vector<ScalarPtr> in = facts.in;
      in.insert(in.begin(), arrow::MakeNullScalar(ToArrowType(facts.from).ValueOrDie()));
      auto result = (*cast)->Apply(Column(facts.from, in, before));
      ASSERT_TRUE(result.ok()) << result.status();
      // TIME may be negative or beyond a day, which Arrow's full validation refuses.
      const auto valid =
          facts.to.root() == TypeRoot::kTime ? (*result)->Validate() : (*result)->ValidateFull();
      ASSERT_TRUE(valid.ok()) << valid;
      ASSERT_TRUE((*result)->type()->Equals(*ToArrowType(facts.to).ValueOrDie()));
      ASSERT_EQ((*result)->length(), static_cast<int64_t>(in.size()));
      EXPECT_TRUE((*result)->IsNull(0));
      for (size_t i = 0; i < facts.in.size(); ++i) {
        const auto got = (*result)->GetScalar(static_cast<int64_t>(i) + 1).ValueOrDie();
        EXPECT_TRUE(SameValue(*got, *facts.out[i]))
            << facts.in[i]->ToString() << " gives " << got->ToString() << ", not "
            << facts.out[i]->ToString();
        ++values;
      }
    }
    for (const ScalarPtr& value : facts.failing) {
      auto result = (*cast)->Apply(*value);
      EXPECT_FALSE(result.ok()) << value->ToString() << " gives " << (*result)->ToString();
      ++errors;
    }
  }
  EXPECT_GT(values, 2000);
  EXPECT_GT(errors, 200);
}

/// Not among the vectors; checked against Java 1.4.2.
TEST(Cast, TimesBefore1970) {
  EXPECT_EQ(CastText("TIMESTAMP(3)", "DATE", R"("1900-01-01T12:00:00.000")"), "1900-01-02");
  EXPECT_EQ(CastText("TIMESTAMP_LTZ(6)", "DATE", R"("1900-01-01T12:00:00.500000Z")"), "1900-01-01");
  EXPECT_EQ(CastText("TIMESTAMP_LTZ(6)", "TIME(3)", R"("1900-01-01T12:00:00.500000Z")"),
            "12:00:00.500");
  EXPECT_EQ(CastText("TIMESTAMP(6)", "TIMESTAMP(0)", R"("1969-12-31T23:59:59.999999")"),
            "1970-01-01 00:00:00");
  EXPECT_EQ(CastText("TIMESTAMP(6)", "TIMESTAMP(2)", R"("1900-01-01T12:00:00.000007")"),
            "1900-01-01 12:00:00.000");
  EXPECT_EQ(CastText("TIMESTAMP(3)", "TIMESTAMP(1)", R"("2024-01-01T01:02:03.456")"),
            "2024-01-01 01:02:03.400");
  EXPECT_EQ(CastText("TIMESTAMP_LTZ(3)", "BIGINT", R"("1900-01-01T12:00:00.123Z")"), "-2208945599");
  // Seconds times 1000 wrap.
  EXPECT_EQ(CastText("BIGINT", "TIMESTAMP(3)", "9223372036854775807"), "1969-12-31 23:59:59.000");
  EXPECT_EQ(CastText("BIGINT", "TIMESTAMP_LTZ(6)", "-100"), "1969-12-31 23:58:20.000000Z");
}

TEST(Cast, OutOfTheRangeOfAnArrowUnitIsAnError) {
  auto cast = ResolveCast(Type("DATE"), Type("TIMESTAMP(9)")).ValueOrDie();
  EXPECT_TRUE(cast->Apply(*Value("DATE", R"("2262-04-11")")).ok());
  auto late = cast->Apply(*Value("DATE", R"("2262-04-12")"));
  ASSERT_FALSE(late.ok());
  EXPECT_THAT(late.status().message(), testing::HasSubstr("TIMESTAMP(9)"));
}

TEST(Cast, DecimalsRoundHalfUpAndOverflowToNull) {
  EXPECT_EQ(CastText("DECIMAL(5, 3)", "DECIMAL(3, 1)", R"("99.949")"), "99.9");
  EXPECT_EQ(CastText("DECIMAL(5, 3)", "DECIMAL(3, 1)", R"("99.950")"), "null");
  EXPECT_EQ(CastText("DECIMAL(5, 3)", "DECIMAL(3, 1)", R"("-0.050")"), "-0.1");
  EXPECT_EQ(CastText("DECIMAL(38, 0)", "DECIMAL(38, 38)", R"("1")"), "null");
  EXPECT_EQ(CastText("DECIMAL(38, 38)", "DECIMAL(38, 0)",
                     R"("0.99999999999999999999999999999999999999")"),
            "1");
  EXPECT_EQ(CastText("DECIMAL(38, 0)", "BIGINT", R"("99999999999999999999999999999999999999")"),
            std::to_string(static_cast<int64_t>(0x098a223fffffffff)));
  EXPECT_EQ(CastText("DECIMAL(38, 0)", "DOUBLE", R"("99999999999999999999999999999999999999")"),
            "1e+38");
  EXPECT_EQ(CastText("DECIMAL(10, 2)", "FLOAT", R"("16777217.00")"), "16777216");
}

TEST(Cast, TextsAndBytes) {
  EXPECT_EQ(CastText("STRING", "CHAR(3)", R"("é")"), "é  ");
  EXPECT_EQ(CastText("STRING", "VARCHAR(2)", R"("日本語")"), "日本");
  EXPECT_EQ(CastText("STRING", "BOOLEAN", R"("Yes")"), "true");
  EXPECT_EQ(CastText("STRING", "BOOLEAN", R"("yes ")"), "error");
  EXPECT_EQ(CastText("STRING", "INT", R"("12.9")"), "12");
  EXPECT_EQ(CastText("ARRAY<INT>", "VARCHAR(2)", "[1, null, 3]"), "[1, null, 3]");
  EXPECT_EQ(CastText("ROW<a TIMESTAMP(3), b MAP<STRING, DATE>>", "STRING",
                     R"({"a": "2024-01-01T01:02:03.004", "b": [["k", "2024-05-06"]]})"),
            "{2024-01-01 01:02:03.004, {k -> 2024-05-06}}");
  EXPECT_EQ(CastText("MULTISET<INT>", "STRING", "[]"), "no cast");
  EXPECT_EQ(CastText("ARRAY<MULTISET<INT>>", "STRING", "[]"), "no cast");
  EXPECT_EQ(CastText("ARRAY<INT>", "ARRAY<BIGINT>", "[]"), "no cast");
  auto error = ResolveCast(Type("STRING"), Type("INT"))
                   .ValueOrDie()
                   ->Apply(*Value("STRING", R"("no number")"));
  EXPECT_EQ(error.status().message(), "cannot cast 'no number' to INT");
}

TEST(Cast, NullabilityNeedsExplicitCasts) {
  EXPECT_FALSE(IsCastAllowed(Type("INT"), Type("BIGINT NOT NULL"), false));
  EXPECT_TRUE(IsCastAllowed(Type("INT NOT NULL"), Type("BIGINT"), false));
  EXPECT_TRUE(IsCastAllowed(Type("INT"), Type("BIGINT NOT NULL"), true));
}

struct BoundsCase {
  const char* from;
  const char* to;
  const char* min;
  const char* max;
  std::string expected;  ///< "min max" or "unknown"
  bool same_nulls;
};

TEST(CastBounds, OnlyWhereOrderIsKept) {
  const BoundsCase cases[] = {
      {"INT", "BIGINT", "-5", "7", "-5 7", true},
      {"INT", "TINYINT", "-5", "7", "-5 7", true},
      {"INT", "TINYINT", "-5", "128", "unknown", true},
      {"INT", "DOUBLE", "-5", "7", "-5 7", true},
      {"INT", "STRING", "-5", "7", "unknown", true},
      {"INT", "BOOLEAN", "-1", "1", "unknown", true},
      {"BOOLEAN", "INT", "false", "true", "0 1", true},
      {"DOUBLE", "INT", "1.5", "2.5", "unknown", true},
      {"DOUBLE", "FLOAT", "1.5", "2.5", "1.5 2.5", true},
      {"DOUBLE", "DECIMAL(10, 2)", "1.5", "2.5", "unknown", false},
      {"INT", "DECIMAL(4, 2)", "-99", "99", "-99.00 99.00", true},
      {"INT", "DECIMAL(4, 2)", "-99", "100", "unknown", false},
      {"INT", "DECIMAL(12, 2)", "-99", "100", "-99.00 100.00", true},
      {"DECIMAL(5, 2)", "TINYINT", R"("-128.99")", R"("127.99")", "-128 127", true},
      {"DECIMAL(5, 2)", "TINYINT", R"("-129.00")", R"("127.99")", "unknown", true},
      {"DECIMAL(5, 2)", "DECIMAL(3, 1)", R"("1.25")", R"("99.94")", "1.3 99.9", true},
      {"DECIMAL(5, 2)", "DECIMAL(3, 1)", R"("1.25")", R"("99.95")", "unknown", false},
      {"DATE", "TIMESTAMP(3)", R"("1969-12-31")", R"("2024-01-01")",
       "1969-12-31 00:00:00.000 2024-01-01 00:00:00.000", true},
      {"TIMESTAMP(3)", "DATE", R"("1969-12-31T01:00:00.000")", R"("2024-01-01T01:00:00.000")",
       "1970-01-01 2024-01-01", true},
      {"TIMESTAMP(3)", "TIME(3)", R"("2024-01-01T01:00:00.000")", R"("2024-01-01T02:00:00.000")",
       "unknown", true},
      {"TIMESTAMP(3)", "INT", R"("1970-01-01T00:00:01.500")", R"("2024-01-01T00:00:00.000")",
       "1 1704067200", true},
      {"TIMESTAMP(3)", "INT", R"("1970-01-01T00:00:01.500")", R"("2099-01-01T00:00:00.000")",
       "unknown", true},
      {"BIGINT", "TIMESTAMP(3)", "0", "9223372036854775807", "unknown", true},
      {"VARCHAR(9)", "VARCHAR(2)", R"("abc")", R"("abd")", "ab ab", true},
      {"VARCHAR(9)", "CHAR(2)", R"("abc")", R"("abd")", "unknown", true},
      {"STRING", "INT", R"("1")", R"("2")", "unknown", true},
      {"STRING", "DECIMAL(3, 1)", R"("1")", R"("2")", "unknown", false},
      {"BYTES", "BINARY(3)", R"("61")", R"("61626364")", std::string("a\0\0 abc", 7), true},
  };
  for (const BoundsCase& c : cases) {
    SCOPED_TRACE(std::string(c.from) + " -> " + c.to);
    const CastBounds bounds =
        BoundsAfterCast(Type(c.from), Type(c.to), Value(c.from, c.min), Value(c.from, c.max));
    std::string text = "unknown";
    if (bounds.min != nullptr) text = bounds.min->ToString() + " " + bounds.max->ToString();
    EXPECT_EQ(text, c.expected);
    EXPECT_EQ(bounds.same_nulls, c.same_nulls);
  }
  const CastBounds half = BoundsAfterCast(Type("INT"), Type("BIGINT"), Value("INT", "1"), nullptr);
  EXPECT_EQ(half.min, nullptr);
  EXPECT_TRUE(half.same_nulls);
}

TEST(ValueBeforeCast, OnlyExactOnes) {
  const std::array<const char*, 4> cases[] = {
      {"INT", "BIGINT", "5", "5"},
      {"INT", "BIGINT", "5000000000", "none"},
      {"BIGINT", "INT", "5", "none"},
      {"INT", "DOUBLE", "5.0", "5"},
      {"INT", "DOUBLE", "5.5", "none"},
      {"BIGINT", "DOUBLE", "5.0", "none"},
      {"FLOAT", "DOUBLE", "0.5", "0.5"},
      {"FLOAT", "DOUBLE", "0.1", "none"},
      {"INT", "DECIMAL(12, 2)", R"("5.00")", "5"},
      {"INT", "DECIMAL(12, 2)", R"("5.01")", "none"},
      {"INT", "DECIMAL(9, 2)", R"("5.00")", "none"},
      {"DECIMAL(5, 2)", "DECIMAL(7, 3)", R"("1.230")", "1.23"},
      {"DECIMAL(5, 2)", "DECIMAL(7, 3)", R"("1.234")", "none"},
      {"TIMESTAMP(3)", "TIMESTAMP(6)", R"("2024-01-01T00:00:00.001000")",
       "2024-01-01 00:00:00.001"},
      {"TIMESTAMP(3)", "TIMESTAMP(6)", R"("2024-01-01T00:00:00.000001")", "none"},
      {"DATE", "TIMESTAMP(3)", R"("2024-01-01T00:00:00.000")", "none"},
      {"VARCHAR(2)", "STRING", R"("abc")", "abc"},
      {"INT", "STRING", R"("5")", "none"},
  };
  for (const auto& [from, to, value, expected] : cases) {
    SCOPED_TRACE(std::string(from) + " -> " + to + " " + value);
    const auto before = ValueBeforeCast(Type(from), Type(to), Value(to, value));
    EXPECT_EQ(before == nullptr ? "none" : before->ToString(), expected);
  }
}

}  // namespace
}  // namespace kelda
