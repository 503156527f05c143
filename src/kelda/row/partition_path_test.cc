#include "kelda/row/partition_path.h"

#include <bit>
#include <cmath>
#include <limits>

#include <arrow/api.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "kelda/row/civil_date.h"
#include "kelda/row/row_test_values.h"
#include "kelda/row/text_cast.h"

namespace kelda {
namespace {

using Json = nlohmann::ordered_json;

DataType Type(const char* text) { return DataType::Parse(text).ValueOrDie(); }

TEST(PartitionPath, VectorsOfJava) {
  int count = 0;
  for (const Json& line : ReadJsonLines(KELDA_TEST_DATA "/vectors/partition_paths.jsonl")) {
    SCOPED_TRACE(line.dump());
    const DataType type = DataType::FromJson(line["type"]).ValueOrDie();
    const auto value = ScalarFromJson(type, line["value"]);
    PartitionPathOptions options;
    options.legacy_name = line["legacy"].get<bool>();
    auto text = PartitionValueText(type, *value, options);
    ASSERT_TRUE(text.ok()) << text.status();
    EXPECT_EQ(*text, line["text"].get<std::string>());
    auto path = PartitionPath({{0, "p", type, {}, {}}}, {value}, options);
    ASSERT_TRUE(path.ok());
    EXPECT_EQ(*path, line["path"].get<std::string>());
    EXPECT_EQ(UnescapePathName(EscapePathName(*text)), *text);
    ++count;
  }
  EXPECT_GT(count, 100);
}

TEST(PartitionPath, SeveralKeysAndErrors) {
  const std::vector<DataField> keys = {{0, "a=b", Type("INT"), {}, {}},
                                       {1, "dt", Type("STRING"), {}, {}}};
  const auto one = std::make_shared<arrow::Int32Scalar>(1);
  const auto text = std::make_shared<arrow::StringScalar>("x/y");
  EXPECT_EQ(*PartitionPath(keys, {one, text}, {}), "a%3Db=1/dt=x%2Fy/");
  EXPECT_EQ(*PartitionPath(keys, {one, nullptr}, {"none", true}), "a%3Db=1/dt=none/");
  EXPECT_EQ(*PartitionPath({}, {}, {}), "");
  EXPECT_FALSE(PartitionPath(keys, {one}, {}).ok());
  EXPECT_FALSE(PartitionPath(keys, {text, text}, {}).ok());
  const auto bytes = std::make_shared<arrow::BinaryScalar>("x");
  auto refused = PartitionPath({{0, "b", Type("BYTES"), {}, {}}}, {bytes}, {});
  ASSERT_FALSE(refused.ok());
  EXPECT_THAT(refused.status().message(), testing::HasSubstr("partition.legacy-name"));
}

TEST(PartitionPath, BlankTextsAreTheDefault) {
  const auto text = [](const std::string& value) {
    return *PartitionValueText(Type("STRING"), arrow::StringScalar(value), {"D", true});
  };
  for (const char* blank :
       {"", " ", "\t\n\v\f\r", "\x1c\x1f", "\xe3\x80\x80", "\xe2\x80\xa8 ", "\xe1\x9a\x80"}) {
    EXPECT_EQ(text(blank), "D");
  }
  // No-break spaces and controls are no white space for Java.
  for (const char* other : {"\xc2\xa0", "\xe2\x80\x87", "\xe2\x80\xaf", "\x01", "a ", "\xff"})
    EXPECT_EQ(text(other), other);
}

TEST(PathName, Escaping) {
  EXPECT_EQ(EscapePathName("\"#%'*/:=?\\{}[]^\x7f\x1f"),
            "%22%23%25%27%2A%2F%3A%3D%3F%5C%7B%7D%5B%5D%5E%7F%1F");
  EXPECT_EQ(EscapePathName(" <>|.~&\xc3\xa9"), " <>|.~&\xc3\xa9");
  EXPECT_EQ(UnescapePathName("a%2Fb%2fc"), "a/b/c");
  EXPECT_EQ(UnescapePathName("100%"), "100%");
  EXPECT_EQ(UnescapePathName("%4"), "%4");
  EXPECT_EQ(UnescapePathName("%zz%41"), "%zzA");
}

TEST(PartitionPath, YearsBeyondFourDigits) {
  const auto date = [](int32_t days) {
    return *PartitionValueText(Type("DATE"), arrow::Date32Scalar(days), {"D", false});
  };
  EXPECT_EQ(date(2932897), "0000-01-01");
  EXPECT_EQ(date(-719163), "0000-12-31");
  EXPECT_EQ(date(-719529), "000/-12-31");
  EXPECT_EQ(date(-800000), "0../-09-04");
  const auto iso = [](int64_t millis) {
    return *PartitionValueText(
        Type("TIMESTAMP(3)"),
        arrow::TimestampScalar(millis, arrow::timestamp(arrow::TimeUnit::MILLI)), {"D", true});
  };
  EXPECT_EQ(iso(253402300800000), "+10000-01-01T00:00");
  EXPECT_EQ(iso(-62198755200000), "-0001-01-01T00:00");
  EXPECT_EQ(iso(1700000040001), "2023-11-14T22:14:00.001");
  EXPECT_EQ(iso(std::numeric_limits<int64_t>::min()), "-292275055-05-16T16:47:04.192");
  EXPECT_EQ(iso(std::numeric_limits<int64_t>::max()), "+292278994-08-17T07:12:55.807");
}

TEST(CastToText, TimesOfAllPrecisions) {
  const auto time = [](int32_t millis, int precision) {
    return *CastToText(DataType::Temporal(TypeRoot::kTime, precision),
                       arrow::Time32Scalar(millis, arrow::time32(arrow::TimeUnit::MILLI)));
  };
  EXPECT_EQ(time(86399999, 0), "23:59:59");
  EXPECT_EQ(time(90000000, 0), "25:00:00");
  EXPECT_EQ(time(-12, 0), "23:59:59");
  EXPECT_EQ(time(-1, 3), "23:59:59.999");
  EXPECT_EQ(time(1234, 1), "00:00:01.2");
  EXPECT_EQ(time(1234, 2), "00:00:01.23");
  EXPECT_EQ(time(1200, 2), "00:00:01.2");
  EXPECT_EQ(time(10, 3), "00:00:00.01");
  EXPECT_EQ(time(1234, 6), "00:00:01.234");
  EXPECT_EQ(time(0, 9), "00:00:00.0");
  const auto stamp = [](int64_t micros, int precision) {
    return *CastToText(DataType::Temporal(TypeRoot::kTimestamp, precision),
                       arrow::TimestampScalar(micros, arrow::timestamp(arrow::TimeUnit::MICRO)));
  };
  EXPECT_EQ(stamp(1700000000120000, 4), "2023-11-14 22:13:20.1200");
  EXPECT_EQ(stamp(1700000000000001, 4), "2023-11-14 22:13:20.000001");
  EXPECT_EQ(stamp(-1, 6), "1969-12-31 23:59:59.999999");
}

/// Numbers whose text depends on JDK 17's algorithm, with that text.
TEST(JavaText, Doubles) {
  const std::pair<double, const char*> cases[] = {
      {0.0, "0.0"},
      {-0.0, "-0.0"},
      {1.0, "1.0"},
      {-2.75, "-2.75"},
      {1e7, "1.0E7"},
      {9999999.0, "9999999.0"},
      {0.001, "0.001"},
      {0.00099, "9.9E-4"},
      {2.0e-3, "0.002"},
      {1e23, "9.999999999999999E22"},
      {2.0e23, "1.9999999999999998E23"},
      {2e-323, "2.0E-323"},
      {4.9e-324, "4.9E-324"},
      {2.2250738585072014e-308, "2.2250738585072014E-308"},
      {1.7976931348623157e308, "1.7976931348623157E308"},
      {123456789.125, "1.23456789125E8"},
      {3e10, "3.0E10"},
      {std::numeric_limits<double>::quiet_NaN(), "NaN"},
      {-std::numeric_limits<double>::infinity(), "-Infinity"}};
  for (const auto& [value, text] : cases) EXPECT_EQ(JavaDoubleText(value), text);
}

TEST(JavaText, LongerThanTheShortest) {
  const std::pair<uint64_t, const char*> doubles[] = {
      {0xc3d2ad39bedb930d, "-5.3831814221762529E18"},
      {0x43a4316129f951d7, "7.2752549376091226E17"},
      {0x43d3464833bab587, "5.5555076884134697E18"},
      {0xc3b8a7d5b7386ea8, "-1.77662356092345754E18"},
      {0x43b0f4e663ce642b, "1.22185471526306893E18"},
      {0xc3a69063b22d3fe2, "-8.1295454119761946E17"}};
  for (const auto& [bits, text] : doubles)
    EXPECT_EQ(JavaDoubleText(std::bit_cast<double>(bits)), text);
  const std::pair<uint32_t, const char*> floats[] = {
      {0xde80e078, "-4.6432772E18"}, {0xddb93b86, "-1.66842616E18"},
      {0x58635fa9, "9.9999999E14"},  {0xd3ee5afe, "-2.04745762E12"},
      {0x51ba43b7, "9.9999998E10"},  {0x5e391ac2, "3.33454664E18"}};
  for (const auto& [bits, text] : floats)
    EXPECT_EQ(JavaFloatText(std::bit_cast<float>(bits)), text);
  EXPECT_EQ(JavaFloatText(3e10f), "3.0000001E10");
  EXPECT_EQ(JavaFloatText(0.1f), "0.1");
  EXPECT_EQ(JavaFloatText(-16777216.0f), "-1.6777216E7");
}

template <typename ScalarType>
std::string Shown(const arrow::Result<std::shared_ptr<arrow::Scalar>>& result) {
  if (!result.ok()) return "error";
  if (!(*result)->is_valid) return "null";
  if constexpr (std::is_same_v<ScalarType, arrow::Decimal128Scalar>) {
    const auto& type = static_cast<const arrow::DecimalType&>(*(*result)->type);
    return static_cast<const arrow::Decimal128Scalar&>(**result).value.ToString(type.scale());
  } else {
    return std::to_string(static_cast<const ScalarType&>(**result).value);
  }
}

template <typename ScalarType>
void ExpectCasts(const char* type, const std::vector<std::pair<const char*, const char*>>& cases) {
  for (const auto& [text, expected] : cases) {
    EXPECT_EQ(Shown<ScalarType>(CastFromText(Type(type), text)), expected)
        << type << " of '" << text << "'";
  }
}

TEST(CastFromText, Dates) {
  ExpectCasts<arrow::Date32Scalar>("DATE", {{"9999-12-31", "2932896"},
                                            {"10000-01-01", "error"},
                                            {"-5-01-01", "error"},
                                            {"2024-1", "19723"},
                                            {"2024- 1- 2", "error"},
                                            {" 2024-01-02", "19724"},
                                            {"2024-02-29", "19782"},
                                            {"2023-02-29", "error"},
                                            {"1900-02-29", "error"},
                                            {"2024-04-31", "error"},
                                            {"2024-00-01", "error"},
                                            {"2024-13-01", "error"},
                                            {"-", "error"},
                                            {"-5", "-5"},
                                            {"--5", "error"},
                                            {"0000-01-01", "-719528"},
                                            {"2024-01-02x", "error"},
                                            {"2024-01-", "error"},
                                            {"2024-01-02\t", "19724"},
                                            {"2024-01-+2", "error"},
                                            {"2147483648", "error"},
                                            {"-2147483648", "-2147483648"},
                                            {"00012", "12"},
                                            {" -12", "error"},
                                            {"2024-01-02 ", "19724"},
                                            {"5-1-1", "-717701"},
                                            {"00005-1-1", "-717701"},
                                            {"2024-1-1-1", "error"},
                                            {"2024-01-01T", "error"},
                                            {"1-1-1 x", "-719162"},
                                            {"2024 -1-1", "19723"},
                                            {"999-9", "-354407"},
                                            {"", "error"},
                                            {" ", "error"}});
}

TEST(CastFromText, Times) {
  ExpectCasts<arrow::Time32Scalar>("TIME(3)", {{"01:02:03.12345", "3723123"},
                                               {"01:02:03.0005", "3723001"},
                                               {"01:02:03.1995", "3723200"},
                                               {"01:02:03.9996", "3724000"},
                                               {"01:02:03.", "3723000"},
                                               {"01:02:03.x5", "3723050"},
                                               {"01:02:03.1x3", "3723103"},
                                               {"1:2:3+1:2", "7443000"},
                                               {"01:02:03-05", "-14277000"},
                                               {"+12", "error"},
                                               {"1:-2", "error"},
                                               {"::", "error"},
                                               {"1:2:", "error"},
                                               {"24:00:00", "86400000"},
                                               {"99:99:99", "362439000"},
                                               {"1: 2 : 3 .5", "3723500"},
                                               {"2147483648", "error"},
                                               {" 1:2:3 ", "3723000"},
                                               {"+1:2", "error"},
                                               {"1:+2", "error"},
                                               {"1:2:3.-5", "-14277000"},
                                               {"1:2:3.12-1", "123120"},
                                               {"1:2:3-1:-5", "error"},
                                               {"1-+2:3", "error"},
                                               {"1:2:3+ 1", "7323000"},
                                               {"2562047788:0:0", "error"},
                                               {"596524:0:0", "2752000"},
                                               {"1:2:3:4", "error"},
                                               {"1.5:2", "error"},
                                               {"1:2.5", "error"},
                                               {"1:2:3. 5", "3723500"},
                                               {"", "error"},
                                               {":", "error"},
                                               {"1+2:3:4.5", "error"}});
}

TEST(CastFromText, Timestamps) {
  ExpectCasts<arrow::TimestampScalar>("TIMESTAMP(6)",
                                      {{"-1", "-1"},
                                       {"1970-01-01 00:00:01.123456789", "1123456"},
                                       {"1970-1-2 1:2:3", "90123000000"},
                                       {"1969-12-31 23:59:59.9999999", "-1"},
                                       {"1970-01-01 00:00:01.1234567891", "error"},
                                       {"1970-01-01 00:00:01.", "1000000"},
                                       {"1970-01-01  00:00:01", "error"},
                                       {"1970-01-01 24:00:00", "86400000000"},
                                       {"1970-01-01 24:0:0.0", "86400000000"},
                                       {"1970-01-01 24:00:01", "error"},
                                       {"1970-01-01 24:00:00.5", "error"},
                                       {"1970-01-01 23:59:60", "error"},
                                       {"1970-01-32", "error"},
                                       {"1970-02-31", "5011200000000"},
                                       {"1970-13-01", "error"},
                                       {"0000-01-01", "error"},
                                       {"-5-01-01", "error"},
                                       {"12024-01-01", "error"},
                                       {"+2024-01-01", "error"},
                                       {"002024-01-01", "error"},
                                       {"1970-001-01", "error"},
                                       {"1970-01-01 00:00:01 ", "error"},
                                       {"1970-01-01\t00:00:01", "error"},
                                       {"1970-01-01 00:00:01.5Z", "error"},
                                       {"+12024-01-01", "317273587200000000"},
                                       {"5-01-01", "error"},
                                       {"524-01-01", "error"},
                                       {"+0524-01-01", "error"},
                                       {"+1000000000-01-01", "error"},
                                       {"-2024-01-01", "error"},
                                       {"1970-01-01 ", "error"},
                                       {"1970-01-01 1", "error"},
                                       {"1970-01-01 001:02:03", "error"},
                                       {"9223372036854775807", "9223372036854775807"},
                                       {"9223372036854775808", "error"},
                                       {"", "error"},
                                       {"+999999999-12-31", "error"}});
  ExpectCasts<arrow::TimestampScalar>("TIMESTAMP(2)",
                                      {{"1970-01-01 00:00:01.129", "1120"}, {"5", "error"}});
  ExpectCasts<arrow::TimestampScalar>(
      "TIMESTAMP(9)", {{"2300-01-01", "error"}, {"1970-01-01 00:00:00.000000001", "1"}});
  ExpectCasts<arrow::TimestampScalar>("TIMESTAMP_LTZ(3)",
                                      {{"1970-01-01 00:00:01.5", "1500"}, {"5", "error"}});
}

TEST(CastFromText, Numbers) {
  ExpectCasts<arrow::Int32Scalar>("INT", {{"+", "error"},
                                          {"-", "error"},
                                          {"--1", "error"},
                                          {"-.5", "0"},
                                          {".", "0"},
                                          {"+.", "0"},
                                          {"1.x", "error"},
                                          {"1..2", "error"},
                                          {"1.2.3", "error"},
                                          {"-2147483648", "-2147483648"},
                                          {"-2147483649", "error"},
                                          {"2147483647.9", "2147483647"},
                                          {"00000000000000000012", "12"},
                                          {"- 1", "error"},
                                          {"-0", "0"},
                                          {"", "error"}});
  ExpectCasts<arrow::Int64Scalar>("BIGINT", {{"-9223372036854775808", "-9223372036854775808"},
                                             {"9223372036854775808", "error"}});
  ExpectCasts<arrow::Decimal128Scalar>(
      "DECIMAL(10, 2)", {{"1e7", "10000000.00"},
                         {"1e8", "null"},
                         {"1e-3", "0.00"},
                         {"5e-3", "0.01"},
                         {"4.9999e-3", "0.00"},
                         {"-0.005", "-0.01"},
                         {"-0.0049", "0.00"},
                         {"1e2147483647", "error"},
                         {"1e2147483648", "error"},
                         {"1e-999999999", "error"},
                         {"0e2147483647", "0.00"},
                         {"0e-2147483648", "error"},
                         {"1E+2", "100.00"},
                         {"1e", "error"},
                         {"1e+", "error"},
                         {"1e+-2", "error"},
                         {"+", "error"},
                         {".", "error"},
                         {"..", "error"},
                         {"1.2.3", "error"},
                         {"99999999.99", "99999999.99"},
                         {"99999999.994", "99999999.99"},
                         {"99999999.995", "null"},
                         {" 1", "error"},
                         {"1L", "error"},
                         {"1e400", "null"},
                         {"1e-400", "0.00"},
                         {"0.000e3", "0.00"},
                         {"00000000000000000000000000000000000000000000000000001", "1.00"}});
}

TEST(CastFromText, FloatingPoint) {
  const auto number = [](const char* text) {
    auto value = CastFromText(Type("DOUBLE"), text);
    return value.ok() ? JavaDoubleText(static_cast<const arrow::DoubleScalar&>(**value).value)
                      : std::string("error");
  };
  const std::pair<const char*, const char*> cases[] = {{"1e400", "Infinity"},
                                                       {"-1e400", "-Infinity"},
                                                       {"1e-400", "0.0"},
                                                       {"-1e-400", "-0.0"},
                                                       {"4.9e-324", "4.9E-324"},
                                                       {"2.4e-324", "0.0"},
                                                       {"2.5e-324", "4.9E-324"},
                                                       {"0x1p3", "8.0"},
                                                       {"0x1.8p-1", "0.75"},
                                                       {"-0x.8P1", "-1.0"},
                                                       {"0x1", "error"},
                                                       {"1e", "error"},
                                                       {"1e+", "error"},
                                                       {"1f", "1.0"},
                                                       {"1D", "1.0"},
                                                       {"1.e5", "100000.0"},
                                                       {".e5", "error"},
                                                       {".", "error"},
                                                       {"+NaN", "NaN"},
                                                       {"infinity", "error"},
                                                       {"nan", "error"},
                                                       {"inf", "error"},
                                                       {"1_000", "error"},
                                                       {"1e5d", "100000.0"},
                                                       {"1 2", "error"},
                                                       {"0x1p3f", "8.0"},
                                                       {"1e99999999999999999999", "Infinity"},
                                                       {"0e99999999999", "0.0"},
                                                       {"-0", "-0.0"},
                                                       {"1.7976931348623159e308", "Infinity"},
                                                       {"--1", "error"},
                                                       {"+-1", "error"},
                                                       {"\t1\n", "1.0"},
                                                       {"", "error"},
                                                       {"f", "error"}};
  for (const auto& [text, expected] : cases) EXPECT_EQ(number(text), expected) << text;
  const auto single = [](const char* text) {
    return JavaFloatText(
        static_cast<const arrow::FloatScalar&>(**CastFromText(Type("FLOAT"), text)).value);
  };
  EXPECT_EQ(single("3.4028235e38"), "3.4028235E38");
  EXPECT_EQ(single("3.4028236e38"), "Infinity");
  EXPECT_EQ(single("1e-46"), "0.0");
  EXPECT_EQ(single("16777217"), "1.6777216E7");
  EXPECT_EQ(single("1.4e-45"), "1.4E-45");
}

/// Checked against Java 1.4.2.
TEST(CastFromText, ArraysMapsAndRows) {
  const auto parsed = [](const DataType& type, const char* text) -> std::string {
    auto value = CastFromText(type, text);
    if (!value.ok()) return "error";
    return *CastToText(type, **value);
  };
  const std::pair<const char*, std::vector<std::pair<const char*, const char*>>> cases[] = {
      {"ARRAY<INT>",
       {{"[1, 2]", "[1, 2]"},
        {"[1,2", "error"},
        {"1,2", "error"},
        {"[ ]", "[]"},
        {"[1,,2]", "[1, 2]"},
        {"[1,]", "[1]"},
        {"[null]", "[null]"},
        {"[NULL]", "error"},
        {" [1] ", "[1]"},
        {"", "error"},
        {"array( 1 , 2 )", "[1, 2]"},
        {"Array ( )", "[]"},
        {"ARRAY[1]", "error"},
        {"[[1]]", "error"},
        {"null", "error"}}},
      {"ARRAY<STRING>",
       {{"[ a b , c ]", "[a b, c]"},
        {"[\"a, b\", c]", "[\"a, b\", c]"},
        {"['']", "['']"},
        {"[(a, b), {c, d}]", "[(a, b), {c, d}]"}}},
      {"ARRAY<ARRAY<INT>>",
       {{"[[1,2],[3]]", "[[1, 2], [3]]"}, {"[ARRAY(1,2), null]", "[[1, 2], null]"}}},
      {"MAP<STRING, INT>",
       {{"{a->1, b ->2}", "{a -> 1, b -> 2}"},
        {"MAP('a', 1, \"b\", 2)", "{'a' -> 1, b -> 2}"},
        {"{ }", "{}"},
        {"MAP(a)", "error"},
        {"{a}", "error"},
        {"{a -> null}", "{a -> null}"},
        {"{a -> 1, a -> 2}", "{a -> 2}"},
        {"{ -> 1}", "error"},
        {"{a -> }", "error"}}},
      {"MAP<STRING, ARRAY<INT>>", {{"MAP(a, ARRAY(1,2), b, [])", "{a -> [1, 2], b -> []}"}}},
      {"ROW<x INT, r ROW<x INT, y STRING>>",
       {{"{1, {2, z}}", "{1, {2, z}}"},
        {"struct( 1 , STRUCT(2, 'y z') )", "{1, {2, 'y z'}}"},
        {"{1}", "error"},
        {"{1, }", "error"},
        {"{1, null}", "{1, null}"},
        {"{ }", "{null, null}"}}},
  };
  for (const auto& [type, texts] : cases) {
    for (const auto& [text, expected] : texts)
      EXPECT_EQ(parsed(Type(type), text), expected) << type << " " << text;
  }
  auto refused = CastFromText(Type("VARIANT"), "{}");
  ASSERT_FALSE(refused.ok());
  EXPECT_TRUE(IsUnsupported(refused.status()));
}

TEST(Casts, VectorsOfJava) {
  int to_text = 0;
  int from_text = 0;
  for (const Json& line : ReadJsonLines(KELDA_TEST_DATA "/vectors/casts.jsonl")) {
    if (!line.contains("in")) continue;
    SCOPED_TRACE(line.dump());
    const DataType from = DataType::FromJson(line["from"]).ValueOrDie();
    const DataType to = DataType::FromJson(line["to"]).ValueOrDie();
    if (from.IsString() && !to.IsNested()) {
      auto result = CastFromText(to, line["in"].get<std::string>());
      ++from_text;
      if (line.contains("error")) {
        EXPECT_FALSE(result.ok()) << (*result)->ToString();
        continue;
      }
      ASSERT_TRUE(result.ok()) << result.status();
      const auto expected = ScalarFromJson(to, line["out"]);
      EXPECT_TRUE((*result)->Equals(*expected, arrow::EqualOptions::Defaults().nans_equal(true)))
          << (*result)->ToString() << " instead of " << expected->ToString();
    } else if (to == DataType::String()) {
      auto result = CastToText(from, *ScalarFromJson(from, line["in"]));
      ++to_text;
      ASSERT_TRUE(result.ok()) << result.status();
      EXPECT_EQ(*result, line["out"].get<std::string>());
    }
  }
  EXPECT_GE(to_text, 80);
  EXPECT_GT(from_text, 800);
}

TEST(ReplaceInvalidUtf8, AsJavaDecodes) {
  const std::string r = "\xef\xbf\xbd";
  const std::pair<std::string, std::string> cases[] = {
      {"\xc3", r},
      {"\xe6\x97", r},
      {"\xe6\x97"
       "a",
       r + "a"},
      {"\xed\xa0\x80", r},
      {"\xf0\x9f\x98", r},
      {"\xf0\x9f"
       "a",
       r + "a"},
      {"\xf8\x80\x80", r + r + r},
      {"\xc0\x80", r + r},
      {"\xe0\x80\x80", r + r + r},
      {"\xf4\x90\x80\x80", r + r + r + r},
      {"\x80", r},
      {"\xed\xa0", r},
      {"\xf0\x80\x80\x80", r + r + r + r},
      {"\xe0\x80", r + r},
      {"\xf5\x80\x80\x80", r + r + r + r},
      {"\xe6\x97\xa5\xf0\x9f\x98\x80", "\xe6\x97\xa5\xf0\x9f\x98\x80"}};
  for (const auto& [bytes, text] : cases) EXPECT_EQ(ReplaceInvalidUtf8(bytes), text);
}

TEST(CivilDate, RoundTrip) {
  for (int64_t days = -1000000; days < 4000000; days += 97)
    EXPECT_EQ(DaysFromCivil(CivilFromDays(days)), days);
  EXPECT_EQ(DaysFromCivil({1970, 1, 1}), 0);
  EXPECT_EQ(DaysFromCivil({2024, 5, 14}), 19857);
  EXPECT_EQ(DaysFromCivil({0, 1, 1}), -719528);
}

}  // namespace
}  // namespace kelda
