#include "tests/tools/golden_json.h"

#include <chrono>
#include <cstdio>
#include <fstream>
#include <limits>

#include <arrow/builder.h>
#include <arrow/util/decimal.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "kelda/types/arrow_mapping.h"

namespace kelda {
namespace {

using Json = nlohmann::json;

int64_t UnitFactor(arrow::TimeUnit::type unit) {
  constexpr int64_t kFactors[] = {1, 1000, 1000000, 1000000000};
  return kFactors[static_cast<int>(unit)];
}

/// Days since 1970 of a text that starts with a date.
int64_t ParseDays(const std::string& text) {
  int year = 0;
  unsigned month = 0;
  unsigned day = 0;
  EXPECT_EQ(std::sscanf(text.c_str(), "%d-%u-%u", &year, &month, &day), 3) << text;
  const std::chrono::sys_days days{std::chrono::year{year} / std::chrono::month{month} /
                                   std::chrono::day{day}};
  return days.time_since_epoch().count();
}

/// "HH:MM:SS.fff" in units of 1 / factor seconds.
int64_t ParseClock(const std::string& text, int64_t factor) {
  int64_t units = (std::stoll(text.substr(0, 2)) * 3600 + std::stoll(text.substr(3, 2)) * 60 +
                   std::stoll(text.substr(6, 2))) *
                  factor;
  for (size_t i = 9; i < text.size() && text[i] != 'Z'; ++i) {
    factor /= 10;
    units += (text[i] - '0') * factor;
  }
  return units;
}

std::string ParseHex(const std::string& text) {
  std::string bytes;
  for (size_t i = 0; i < text.size(); i += 2) {
    bytes += static_cast<char>(std::stoi(text.substr(i, 2), nullptr, 16));
  }
  return bytes;
}

template <typename T>
T ParseFloating(const Json& json) {
  if (json == "NaN") return std::numeric_limits<T>::quiet_NaN();
  if (json == "Infinity") return std::numeric_limits<T>::infinity();
  if (json == "-Infinity") return -std::numeric_limits<T>::infinity();
  return static_cast<T>(json.get<double>());
}

arrow::Status AppendJson(const DataType& type, const Json& json, arrow::ArrayBuilder* builder);

arrow::Status AppendPairs(const DataType& key, const DataType& value, const Json& json,
                          arrow::MapBuilder* map) {
  ARROW_RETURN_NOT_OK(map->Append());
  for (const Json& pair : json) {
    ARROW_RETURN_NOT_OK(AppendJson(key, pair[0], map->key_builder()));
    ARROW_RETURN_NOT_OK(AppendJson(value, pair[1], map->item_builder()));
  }
  return arrow::Status::OK();
}

arrow::Status AppendTime(const DataType& type, const Json& json, arrow::ArrayBuilder* builder) {
  const std::string text = json.get<std::string>();
  if (type.root() == TypeRoot::kDate) {
    return static_cast<arrow::Date32Builder&>(*builder).Append(
        static_cast<int32_t>(ParseDays(text)));
  }
  if (type.root() == TypeRoot::kTime) {
    return static_cast<arrow::Time32Builder&>(*builder).Append(
        static_cast<int32_t>(ParseClock(text, 1000)));
  }
  const auto unit = static_cast<const arrow::TimestampType&>(*builder->type()).unit();
  const size_t clock = text.find('T') + 1;
  return static_cast<arrow::TimestampBuilder&>(*builder).Append(
      ParseDays(text) * 86400 * UnitFactor(unit) +
      ParseClock(text.substr(clock), UnitFactor(unit)));
}

/// The reverse of AppendGoldenValue, by other means.
arrow::Status AppendJson(const DataType& type, const Json& json, arrow::ArrayBuilder* builder) {
  if (json.is_null()) return builder->AppendNull();
  switch (type.root()) {
    case TypeRoot::kBoolean:
      return static_cast<arrow::BooleanBuilder&>(*builder).Append(json.get<bool>());
    case TypeRoot::kTinyInt:
      return static_cast<arrow::Int8Builder&>(*builder).Append(json.get<int8_t>());
    case TypeRoot::kSmallInt:
      return static_cast<arrow::Int16Builder&>(*builder).Append(json.get<int16_t>());
    case TypeRoot::kInt:
      return static_cast<arrow::Int32Builder&>(*builder).Append(json.get<int32_t>());
    case TypeRoot::kBigInt:
      return static_cast<arrow::Int64Builder&>(*builder).Append(json.get<int64_t>());
    case TypeRoot::kFloat:
      return static_cast<arrow::FloatBuilder&>(*builder).Append(ParseFloating<float>(json));
    case TypeRoot::kDouble:
      return static_cast<arrow::DoubleBuilder&>(*builder).Append(ParseFloating<double>(json));
    case TypeRoot::kDecimal: {
      std::string digits = json.get<std::string>();
      std::erase(digits, '.');
      return static_cast<arrow::Decimal128Builder&>(*builder).Append(arrow::Decimal128(digits));
    }
    case TypeRoot::kChar:
    case TypeRoot::kVarChar:
      return static_cast<arrow::StringBuilder&>(*builder).Append(json.get<std::string>());
    case TypeRoot::kBinary:
    case TypeRoot::kVarBinary:
      return static_cast<arrow::BinaryBuilder&>(*builder).Append(ParseHex(json.get<std::string>()));
    case TypeRoot::kDate:
    case TypeRoot::kTime:
    case TypeRoot::kTimestamp:
    case TypeRoot::kTimestampLtz:
      return AppendTime(type, json, builder);
    case TypeRoot::kArray: {
      auto& list = static_cast<arrow::ListBuilder&>(*builder);
      ARROW_RETURN_NOT_OK(list.Append());
      for (const Json& element : json) {
        ARROW_RETURN_NOT_OK(AppendJson(type.element(), element, list.value_builder()));
      }
      return arrow::Status::OK();
    }
    case TypeRoot::kMap:
      return AppendPairs(type.key(), type.value(), json, static_cast<arrow::MapBuilder*>(builder));
    case TypeRoot::kMultiset:
      return AppendPairs(type.element(), DataType(TypeRoot::kInt), json,
                         static_cast<arrow::MapBuilder*>(builder));
    case TypeRoot::kRow: {
      auto& row = static_cast<arrow::StructBuilder&>(*builder);
      ARROW_RETURN_NOT_OK(row.Append());
      for (size_t i = 0; i < type.fields().size(); ++i) {
        ARROW_RETURN_NOT_OK(AppendJson(type.fields()[i].type, json[type.fields()[i].name],
                                       row.field_builder(static_cast<int>(i))));
      }
      return arrow::Status::OK();
    }
    default:
      return arrow::Status::NotImplemented(type.ToString());
  }
}

std::vector<std::string> ReadLines(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  EXPECT_TRUE(in) << path;
  std::vector<std::string> lines;
  for (std::string line; std::getline(in, line);) lines.push_back(line);
  return lines;
}

arrow::Result<std::shared_ptr<arrow::RecordBatch>> BatchOf(const std::vector<DataField>& fields,
                                                           const std::vector<std::string>& lines) {
  arrow::ArrayVector columns;
  for (const DataField& field : fields) {
    ARROW_ASSIGN_OR_RAISE(auto type, ToArrowType(field.type));
    ARROW_ASSIGN_OR_RAISE(auto builder, arrow::MakeBuilder(type));
    for (const std::string& line : lines) {
      ARROW_RETURN_NOT_OK(AppendJson(field.type, Json::parse(line).at(field.name), builder.get()));
    }
    ARROW_ASSIGN_OR_RAISE(auto column, builder->Finish());
    columns.push_back(column);
  }
  ARROW_ASSIGN_OR_RAISE(auto schema, ToArrowSchema(fields));
  return arrow::RecordBatch::Make(schema, static_cast<int64_t>(lines.size()), columns);
}

class GoldenJsonOfTable : public ::testing::TestWithParam<std::string> {};

TEST_P(GoldenJsonOfTable, PrintsWhatJavaPrinted) {
  const std::string dir = "tests/data/golden/";
  const std::vector<std::string> want = ReadLines(dir + "expected/types." + GetParam() + ".jsonl");
  ASSERT_FALSE(want.empty());
  std::ifstream in(dir + "warehouse/types.db/" + GetParam() + "/schema/schema-0");
  const std::string text((std::istreambuf_iterator<char>(in)), std::istreambuf_iterator<char>());
  auto schema = TableSchema::FromJsonText(text, "schema-0");
  ASSERT_TRUE(schema.ok()) << schema.status().ToString();
  auto batch = BatchOf(schema->fields, want);
  ASSERT_TRUE(batch.ok()) << batch.status().ToString();
  std::vector<std::string> got;
  const arrow::Status status = AppendGoldenLines(schema->fields, **batch, {}, &got);
  ASSERT_TRUE(status.ok()) << status.ToString();
  SortGoldenLines(&got);
  EXPECT_EQ(FirstDifference(got, want), "");
}

INSTANTIATE_TEST_SUITE_P(Types, GoldenJsonOfTable,
                         ::testing::Values("all_parquet", "decimals_parquet", "timestamps_parquet",
                                           "old_times_parquet", "floats_parquet", "strings_parquet",
                                           "not_null_defaults", "nested_nulls_parquet"));

TEST(GoldenJson, NumbersReadLikePythonsRepr) {
  EXPECT_EQ(GoldenNumber(0.1), "0.1");
  EXPECT_EQ(GoldenNumber(0.1F), "0.1");
  EXPECT_EQ(GoldenNumber(1.0), "1.0");
  EXPECT_EQ(GoldenNumber(-0.0), "-0.0");
  EXPECT_EQ(GoldenNumber(1e-4), "0.0001");
  EXPECT_EQ(GoldenNumber(1e-5), "1e-05");
  EXPECT_EQ(GoldenNumber(1e15), "1000000000000000.0");
  EXPECT_EQ(GoldenNumber(1e16), "1e+16");
  EXPECT_EQ(GoldenNumber(-1.25e-300), "-1.25e-300");
  EXPECT_EQ(GoldenNumber(123456.75), "123456.75");
  EXPECT_EQ(GoldenNumber(5e-324), "5e-324");
  EXPECT_EQ(GoldenNumber(std::numeric_limits<double>::max()), "1.7976931348623157e+308");
  EXPECT_EQ(GoldenNumber(std::numeric_limits<float>::max()), "3.4028235e+38");
  EXPECT_EQ(GoldenNumber(std::numeric_limits<double>::quiet_NaN()), "\"NaN\"");
  EXPECT_EQ(GoldenNumber(-std::numeric_limits<float>::infinity()), "\"-Infinity\"");
}

TEST(GoldenJson, EscapesOnlyWhatTheFormNames) {
  EXPECT_EQ(GoldenQuote(std::string_view("a\"\\/\b\f\n\r\t\0\x1f\x7fé", 14)),
            "\"a\\\"\\\\/\\b\\f\\n\\r\\t\\u0000\\u001f\x7fé\"");
}

TEST(GoldenJson, SortsElementsOfUnorderedColumnsOnly) {
  const std::vector<DataField> fields = {{.id = 0,
                                          .name = "a",
                                          .type = DataType::Array(DataType::String()),
                                          .description = {},
                                          .default_value = {}}};
  auto batch = BatchOf(fields, {R"({"a":["b","a",null]})"});
  ASSERT_TRUE(batch.ok()) << batch.status().ToString();
  std::vector<std::string> lines;
  ASSERT_TRUE(AppendGoldenLines(fields, **batch, {"a"}, &lines).ok());
  ASSERT_TRUE(AppendGoldenLines(fields, **batch, {}, &lines).ok());
  EXPECT_EQ(lines[0], R"({"a":["a","b",null]})");
  EXPECT_EQ(lines[1], R"({"a":["b","a",null]})");
}

TEST(GoldenJson, SaysWhereLinesDiffer) {
  EXPECT_EQ(FirstDifference({"a", "b"}, {"a", "b"}), "");
  EXPECT_EQ(FirstDifference({"a"}, {"a", "b"}), "1 lines, want 2; line 2: missing b");
  EXPECT_EQ(FirstDifference({"a", "b"}, {"a"}), "2 lines, want 1; line 2: extra b");
  EXPECT_EQ(FirstDifference({"ax"}, {"ay"}),
            "1 lines, want 1; line 1 at byte 1: got ...ax, want ...ay");
}

TEST(GoldenJson, RefusesAnArrowTypeThatIsNotTheColumnsType) {
  const std::vector<DataField> fields = {{.id = 0,
                                          .name = "a",
                                          .type = DataType(TypeRoot::kInt),
                                          .description = {},
                                          .default_value = {}}};
  auto batch = BatchOf(fields, {R"({"a":1})"});
  ASSERT_TRUE(batch.ok()) << batch.status().ToString();
  std::string out;
  EXPECT_TRUE(AppendGoldenValue(DataType(TypeRoot::kBigInt), *(*batch)->column(0), 0, false, &out)
                  .IsTypeError());
  EXPECT_TRUE(
      AppendGoldenValue(DataType::String(), *(*batch)->column(0), 0, false, &out).IsTypeError());
}

}  // namespace
}  // namespace kelda
