#include <charconv>
#include <chrono>
#include <cmath>
#include <filesystem>
#include <fstream>
#include <set>
#include <sstream>

#include <arrow/api.h>
#include <arrow/util/decimal.h>
#include <gtest/gtest.h>

#include "kelda/base/bytes.h"
#include "kelda/format/parquet/parquet_test_util.h"
#include "kelda/format/stats_mode.h"
#include "kelda/types/table_schema.h"

namespace kelda {
namespace {

using parquet_test::ReadFile;
using parquet_test::Unwrap;
using parquet_test::WriteFile;

std::string Quoted(std::string_view text) {
  std::string out = "\"";
  for (char c : text) {
    static constexpr std::string_view kEscaped = "\"\\\b\f\n\r\t";
    static constexpr std::string_view kLetters = "\"\\bfnrt";
    if (size_t at = kEscaped.find(c); at != std::string_view::npos) {
      out += '\\';
      out += kLetters[at];
    } else if (static_cast<uint8_t>(c) < 0x20) {
      out += fmt::format("\\u{:04x}", static_cast<int>(c));
    } else {
      out += c;
    }
  }
  return out + "\"";
}

/// Shortest digits as Python's repr prints them.
template <typename T>
std::string FloatText(T value) {
  if (std::isnan(value)) return "\"NaN\"";
  if (std::isinf(value)) return value < 0 ? "\"-Infinity\"" : "\"Infinity\"";
  char buffer[64];
  auto end =
      std::to_chars(buffer, buffer + sizeof(buffer), value, std::chars_format::scientific).ptr;
  std::string text(buffer, end);
  const size_t e = text.find('e');
  const int exponent = std::stoi(text.substr(e + 1));
  std::string mantissa = text.substr(0, e);
  if (exponent < -4 || exponent >= 16) {
    return fmt::format("{}e{}{:02}", mantissa, exponent < 0 ? '-' : '+', std::abs(exponent));
  }
  std::string sign = mantissa[0] == '-' ? "-" : "";
  std::string digits;
  for (char c : mantissa) {
    if (c != '-' && c != '.') digits += c;
  }
  if (exponent < 0) return sign + "0." + std::string(-exponent - 1, '0') + digits;
  while (static_cast<int>(digits.size()) < exponent + 2) digits += '0';
  return sign + digits.substr(0, exponent + 1) + "." + digits.substr(exponent + 1);
}

/// Plain digits with the full scale.
std::string DecimalText(const uint8_t* bytes, int scale) {
  std::string digits = arrow::Decimal128(bytes).ToIntegerString();
  const std::string sign = digits[0] == '-' ? "-" : "";
  digits.erase(0, sign.size());
  if (scale == 0) return sign + digits;
  const auto places = static_cast<size_t>(scale);
  if (digits.size() <= places) digits.insert(0, places + 1 - digits.size(), '0');
  return sign + digits.substr(0, digits.size() - places) + "." +
         digits.substr(digits.size() - places);
}

std::string DateText(int64_t days) {
  const std::chrono::year_month_day date{std::chrono::sys_days{std::chrono::days{days}}};
  return fmt::format("{:04}-{:02}-{:02}", static_cast<int>(date.year()),
                     static_cast<unsigned>(date.month()), static_cast<unsigned>(date.day()));
}

std::string TimestampText(const DataType& type, arrow::TimeUnit::type unit, int64_t value) {
  const int digits = unit == arrow::TimeUnit::SECOND  ? 0
                     : unit == arrow::TimeUnit::MILLI ? 3
                     : unit == arrow::TimeUnit::MICRO ? 6
                                                      : 9;
  const auto per_second = static_cast<int64_t>(std::pow(10, digits));
  int64_t seconds = value / per_second;
  int64_t fraction = value % per_second;
  if (fraction < 0) {
    fraction += per_second;
    --seconds;
  }
  int64_t day = seconds / 86400;
  int64_t second = seconds % 86400;
  if (second < 0) {
    second += 86400;
    --day;
  }
  std::string text = fmt::format("{}T{:02}:{:02}:{:02}", DateText(day), second / 3600,
                                 second / 60 % 60, second % 60);
  std::string fraction_text = digits == 0 ? "" : fmt::format("{:0{}}", fraction, digits);
  fraction_text.resize(static_cast<size_t>(type.precision()), '0');
  if (!fraction_text.empty()) text += "." + fraction_text;
  return "\"" + text + (type.root() == TypeRoot::kTimestampLtz ? "Z\"" : "\"");
}

/// The JSON form of the golden tables.
std::string JsonText(const DataType& type, const arrow::Array& array, int64_t row);

std::string MapText(const DataType& key, const DataType& value, const arrow::MapArray& map,
                    int64_t row) {
  std::multiset<std::string> pairs;
  for (int64_t i = map.value_offset(row); i < map.value_offset(row + 1); ++i) {
    pairs.insert("[" + JsonText(key, *map.keys(), i) + "," + JsonText(value, *map.items(), i) +
                 "]");
  }
  return fmt::format("[{}]", fmt::join(pairs, ","));
}

std::string JsonText(const DataType& type, const arrow::Array& array, int64_t row) {
  if (array.IsNull(row)) return "null";
  switch (type.root()) {
    case TypeRoot::kBoolean:
      return static_cast<const arrow::BooleanArray&>(array).Value(row) ? "true" : "false";
    case TypeRoot::kTinyInt:
      return std::to_string(static_cast<const arrow::Int8Array&>(array).Value(row));
    case TypeRoot::kSmallInt:
      return std::to_string(static_cast<const arrow::Int16Array&>(array).Value(row));
    case TypeRoot::kInt:
      return std::to_string(static_cast<const arrow::Int32Array&>(array).Value(row));
    case TypeRoot::kBigInt:
      return std::to_string(static_cast<const arrow::Int64Array&>(array).Value(row));
    case TypeRoot::kFloat:
      return FloatText(static_cast<const arrow::FloatArray&>(array).Value(row));
    case TypeRoot::kDouble:
      return FloatText(static_cast<const arrow::DoubleArray&>(array).Value(row));
    case TypeRoot::kDecimal:
      return "\"" +
             DecimalText(static_cast<const arrow::Decimal128Array&>(array).GetValue(row),
                         type.scale()) +
             "\"";
    case TypeRoot::kChar:
    case TypeRoot::kVarChar:
      return Quoted(static_cast<const arrow::StringArray&>(array).GetView(row));
    case TypeRoot::kBinary:
    case TypeRoot::kVarBinary:
      return "\"" + ToHex(static_cast<const arrow::BinaryArray&>(array).GetView(row)) + "\"";
    case TypeRoot::kDate:
      return "\"" + DateText(static_cast<const arrow::Date32Array&>(array).Value(row)) + "\"";
    case TypeRoot::kTime: {
      const int32_t ms = static_cast<const arrow::Time32Array&>(array).Value(row);
      return fmt::format("\"{:02}:{:02}:{:02}.{:03}\"", ms / 3600000, ms / 60000 % 60,
                         ms / 1000 % 60, ms % 1000);
    }
    case TypeRoot::kTimestamp:
    case TypeRoot::kTimestampLtz:
      return TimestampText(type, static_cast<const arrow::TimestampType&>(*array.type()).unit(),
                           static_cast<const arrow::TimestampArray&>(array).Value(row));
    case TypeRoot::kArray: {
      const auto& list = static_cast<const arrow::ListArray&>(array);
      std::vector<std::string> elements;
      for (int64_t i = list.value_offset(row); i < list.value_offset(row + 1); ++i) {
        elements.push_back(JsonText(type.element(), *list.values(), i));
      }
      return fmt::format("[{}]", fmt::join(elements, ","));
    }
    case TypeRoot::kMap:
      return MapText(type.key(), type.value(), static_cast<const arrow::MapArray&>(array), row);
    case TypeRoot::kMultiset:
      return MapText(type.element(), DataType(TypeRoot::kInt, false),
                     static_cast<const arrow::MapArray&>(array), row);
    case TypeRoot::kRow: {
      std::vector<std::string> members;
      const auto& rows = static_cast<const arrow::StructArray&>(array);
      for (size_t i = 0; i < type.fields().size(); ++i) {
        members.push_back(Quoted(type.fields()[i].name) + ":" +
                          JsonText(type.fields()[i].type, *rows.field(static_cast<int>(i)), row));
      }
      return fmt::format("{{{}}}", fmt::join(members, ","));
    }
    default:
      return "?";
  }
}

std::vector<std::string> JsonLines(const std::vector<DataField>& fields,
                                   const arrow::Table& table) {
  const DataType row_type = DataType::Row(fields);
  arrow::ArrayVector columns;
  for (int i = 0; i < table.num_columns(); ++i) columns.push_back(parquet_test::Whole(table, i));
  arrow::StructArray rows(Unwrap(ToArrowType(row_type)), table.num_rows(), columns);
  std::vector<std::string> lines;
  for (int64_t i = 0; i < table.num_rows(); ++i) lines.push_back(JsonText(row_type, rows, i));
  std::sort(lines.begin(), lines.end());
  return lines;
}

std::vector<std::string> FileLines(const std::filesystem::path& path) {
  std::ifstream file(path, std::ios::binary);
  std::vector<std::string> lines;
  for (std::string line; std::getline(file, line);) lines.push_back(line);
  return lines;
}

struct GoldenTable {
  std::vector<DataField> fields;
  std::vector<std::string> data_files;
  std::vector<std::string> expected;
  std::vector<std::string> expected_files;
};

GoldenTable OpenGolden(const std::string& database, const std::string& name) {
  const std::filesystem::path root = std::filesystem::path(KELDA_TEST_DATA) / "golden";
  const auto table = root / "warehouse" / (database + ".db") / name;
  GoldenTable golden;
  std::ifstream schema_file(table / "schema/schema-0");
  std::stringstream text;
  text << schema_file.rdbuf();
  golden.fields = Unwrap(TableSchema::FromJsonText(text.str(), "schema-0")).fields;
  for (const auto& entry : std::filesystem::recursive_directory_iterator(table)) {
    if (entry.path().extension() == ".parquet") golden.data_files.push_back(entry.path().string());
  }
  golden.expected = FileLines(root / "expected" / (database + "." + name + ".jsonl"));
  golden.expected_files = FileLines(root / "expected" / (database + "." + name + ".files.jsonl"));
  return golden;
}

class GoldenData : public testing::TestWithParam<std::pair<const char*, const char*>> {};

void ExpectLines(const std::vector<std::string>& actual, const std::vector<std::string>& expected) {
  ASSERT_EQ(actual.size(), expected.size());
  for (size_t i = 0; i < actual.size(); ++i) ASSERT_EQ(actual[i], expected[i]) << "line " << i;
}

TEST_P(GoldenData, ReadsAsExpectedAndSurvivesOurWriter) {
  auto golden = OpenGolden(GetParam().first, GetParam().second);
  ASSERT_FALSE(golden.data_files.empty());
  auto io = MakeLocalFileIO();
  auto memory = MakeMemoryFileIO();
  ReadOptions options;
  options.columns = golden.fields;
  options.batch_rows = 17;
  std::vector<std::shared_ptr<arrow::RecordBatch>> java;
  for (const auto& file : golden.data_files) {
    arrow::TableBatchReader batches(ReadFile(*io, file, options).table);
    for (auto& batch : Unwrap(batches.ToRecordBatches())) java.push_back(batch);
  }
  ExpectLines(JsonLines(golden.fields, *parquet_test::TableOf(golden.fields, java)),
              golden.expected);
  WriteFile(*memory, "/f.parquet", golden.fields, java);
  auto ours = ReadFile(*memory, "/f.parquet", options).table;
  ExpectLines(JsonLines(golden.fields, *ours), golden.expected);
}

/// What a `files` line says of a file whose columns have `stats`:
/// `"min":{…},"max":{…},"nullCounts":[…]`.
std::string ManifestText(const std::vector<DataField>& fields,
                         const std::vector<FileColumnStats>& exact) {
  std::vector<std::string> min;
  std::vector<std::string> max;
  std::vector<std::string> counts;
  for (size_t i = 0; i < fields.size(); ++i) {
    auto stats = ApplyStatsMode(StatsMode::Truncate(16), exact.at(i));
    if (!stats.min && !stats.null_count) continue;  // dropped by the dense store
    auto text = [&](const std::shared_ptr<arrow::Scalar>& scalar) {
      if (!scalar) return std::string("null");
      return JsonText(fields[i].type, *Unwrap(arrow::MakeArrayFromScalar(*scalar, 1)), 0);
    };
    min.push_back(Quoted(fields[i].name) + ":" + text(stats.min));
    max.push_back(Quoted(fields[i].name) + ":" + text(stats.max));
    counts.push_back(std::to_string(*stats.null_count));
  }
  return fmt::format("\"min\":{{{}}},\"max\":{{{}}},\"nullCounts\":[{}]", fmt::join(min, ","),
                     fmt::join(max, ","), fmt::join(counts, ","));
}

TEST_P(GoldenData, StatisticsAreThoseOfJava) {
  auto golden = OpenGolden(GetParam().first, GetParam().second);
  ASSERT_FALSE(golden.data_files.empty());
  auto io = MakeLocalFileIO();
  auto memory = MakeMemoryFileIO();
  ReadOptions options;
  options.columns = golden.fields;
  for (const auto& file : golden.data_files) {
    arrow::TableBatchReader batches(ReadFile(*io, file, options).table);
    auto written = WriteFile(*memory, file, golden.fields, Unwrap(batches.ToRecordBatches()));
    const std::string name = std::filesystem::path(file).filename().string();
    auto line = std::find_if(golden.expected_files.begin(), golden.expected_files.end(),
                             [&](const auto& l) { return l.find(name) != std::string::npos; });
    ASSERT_NE(line, golden.expected_files.end()) << name;
    const std::string expected = ManifestText(golden.fields, written.stats);
    EXPECT_NE(line->find(expected), std::string::npos) << expected << "\n" << *line;
  }
}

INSTANTIATE_TEST_SUITE_P(
    Types, GoldenData,
    testing::Values(std::pair{"types", "all_parquet"}, std::pair{"types", "decimals_parquet"},
                    std::pair{"types", "timestamps_parquet"}, std::pair{"types", "floats_parquet"},
                    std::pair{"types", "nested_nulls_parquet"},
                    std::pair{"types", "strings_parquet"}, std::pair{"types", "old_times_parquet"},
                    std::pair{"append", "comp_parquet_zstd"},
                    std::pair{"append", "comp_parquet_lz4"},
                    std::pair{"append", "comp_parquet_snappy"},
                    std::pair{"append", "comp_parquet_none"}));

TEST(GoldenVariant, ValueAndMetadata) {
  auto golden = OpenGolden("types", "variant");
  auto io = MakeLocalFileIO();
  ReadOptions options;
  options.columns = golden.fields;
  auto table = ReadFile(*io, golden.data_files.at(0), options).table;
  ASSERT_EQ(table->num_rows(), 10);
  const auto column = parquet_test::Whole(*table, 1);
  const auto& variants = static_cast<const arrow::StructArray&>(*column);
  EXPECT_EQ(variants.null_count(), 1);
  const auto member = variants.field(1);
  const auto& metadata = static_cast<const arrow::BinaryArray&>(*member);
  for (int64_t i = 0; i < variants.length(); ++i) {
    // Version 1 of the encoding (spec 01 §6.5).
    if (variants.IsNull(i)) continue;
    EXPECT_EQ(metadata.GetView(i)[0] & 0x0f, 1);
  }
}

}  // namespace
}  // namespace kelda
