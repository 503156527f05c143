#include "tests/tools/golden_json.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <cstdlib>

#include <arrow/array/util.h>
#include <arrow/util/checked_cast.h>
#include <arrow/util/decimal.h>
#include <fmt/format.h>

#include "kelda/format/variant/variant_json.h"
#include "kelda/row/binary_row.h"

namespace kelda {

namespace {

using arrow::internal::checked_cast;

/// Digits of `value` rounded to more and more places until `reads_back` accepts them.
template <typename ReadsBack>
std::string ShortestNumber(double value, const ReadsBack& reads_back) {
  if (std::isnan(value)) return "\"NaN\"";
  if (std::isinf(value)) return value < 0 ? "\"-Infinity\"" : "\"Infinity\"";
  if (value == 0) return std::signbit(value) ? "-0.0" : "0.0";
  constexpr int kPlacesMax = 17;
  char text[40];
  for (int places = 1; places <= kPlacesMax; ++places) {
    std::snprintf(text, sizeof(text), "%.*e", places - 1, value);
    if (reads_back(text)) break;
  }
  const std::string_view printed(text);
  const size_t e = printed.find('e');
  const int exponent = std::atoi(text + e + 1);
  std::string sign;
  std::string digits;
  for (const char c : printed.substr(0, e)) {
    if (c == '-') sign = "-";
    if (c >= '0' && c <= '9') digits += c;
  }
  while (digits.size() > 1 && digits.back() == '0') digits.pop_back();

  constexpr int kPlainMin = -4;
  constexpr int kPlainEnd = 16;
  if (exponent < kPlainMin || exponent >= kPlainEnd) {
    const std::string fraction = digits.size() > 1 ? "." + digits.substr(1) : "";
    return fmt::format("{}{}{}e{}{:02}", sign, digits[0], fraction, exponent < 0 ? '-' : '+',
                       std::abs(exponent));
  }
  if (exponent < 0) {
    return sign + "0." + std::string(static_cast<size_t>(-exponent - 1), '0') + digits;
  }
  const size_t whole = static_cast<size_t>(exponent) + 1;
  if (digits.size() <= whole) {
    return sign + digits + std::string(whole - digits.size(), '0') + ".0";
  }
  return sign + digits.substr(0, whole) + "." + digits.substr(whole);
}

std::string DateText(int64_t days) {
  const std::chrono::year_month_day date{std::chrono::sys_days{std::chrono::days{days}}};
  const int year = static_cast<int>(date.year());
  const std::string year_text = year > 9999 ? fmt::format("+{}", year)
                                : year < 0  ? fmt::format("-{:04}", -year)
                                            : fmt::format("{:04}", year);
  return fmt::format("{}-{:02}-{:02}", year_text, static_cast<unsigned>(date.month()),
                     static_cast<unsigned>(date.day()));
}

std::string ClockText(int64_t seconds) {
  return fmt::format("{:02}:{:02}:{:02}", seconds / 3600, seconds / 60 % 60, seconds % 60);
}

int64_t UnitsPerSecond(arrow::TimeUnit::type unit) {
  switch (unit) {
    case arrow::TimeUnit::SECOND:
      return 1;
    case arrow::TimeUnit::MILLI:
      return 1000;
    case arrow::TimeUnit::MICRO:
      return 1000000;
    default:
      return 1000000000;
  }
}

std::string TimestampText(int64_t value, arrow::TimeUnit::type unit, int precision) {
  const int64_t units = UnitsPerSecond(unit);
  constexpr int64_t kDaySeconds = 86400;
  int64_t second = value / units;
  int64_t rest = value % units;
  if (rest < 0) {
    rest += units;
    --second;
  }
  int64_t day = second / kDaySeconds;
  second %= kDaySeconds;
  if (second < 0) {
    second += kDaySeconds;
    --day;
  }
  std::string fraction = fmt::format("{:09}", rest * (1000000000 / units));
  while (static_cast<int>(fraction.size()) > precision && fraction.back() == '0')
    fraction.pop_back();
  const std::string text = DateText(day) + "T" + ClockText(second);
  return fraction.empty() ? text : text + "." + fraction;
}

std::string DecimalText(const arrow::Decimal128& value, int scale) {
  std::string digits = arrow::Decimal128(arrow::Decimal128::Abs(value)).ToIntegerString();
  if (scale > 0) {
    const size_t places = static_cast<size_t>(scale);
    if (digits.size() <= places) digits.insert(0, places + 1 - digits.size(), '0');
    digits.insert(digits.size() - places, ".");
  }
  return value < arrow::Decimal128(0) ? "-" + digits : digits;
}

std::string HexText(std::string_view bytes) {
  std::string out;
  out.reserve(bytes.size() * 2);
  for (const char c : bytes) out += fmt::format("{:02x}", static_cast<unsigned char>(c));
  return out;
}

arrow::Result<std::string_view> BytesOf(const arrow::Array& array, int64_t row) {
  switch (array.type_id()) {
    case arrow::Type::STRING:
    case arrow::Type::BINARY:
      return checked_cast<const arrow::BinaryArray&>(array).GetView(row);
    case arrow::Type::LARGE_STRING:
    case arrow::Type::LARGE_BINARY:
      return checked_cast<const arrow::LargeBinaryArray&>(array).GetView(row);
    case arrow::Type::STRING_VIEW:
    case arrow::Type::BINARY_VIEW:
      return checked_cast<const arrow::BinaryViewArray&>(array).GetView(row);
    case arrow::Type::FIXED_SIZE_BINARY:
      return checked_cast<const arrow::FixedSizeBinaryArray&>(array).GetView(row);
    default:
      return arrow::Status::TypeError("expected text or bytes, got ", array.type()->ToString());
  }
}

arrow::Status AppendArray(const DataType& element, const arrow::Array& values, int64_t begin,
                          int64_t length, bool sorted, std::string* out) {
  std::vector<std::string> parts(static_cast<size_t>(length));
  for (int64_t i = 0; i < length; ++i) {
    ARROW_RETURN_NOT_OK(
        AppendGoldenValue(element, values, begin + i, false, &parts[static_cast<size_t>(i)]));
  }
  if (sorted) SortGoldenLines(&parts);
  *out += fmt::format("[{}]", fmt::join(parts, ","));
  return arrow::Status::OK();
}

arrow::Status AppendMap(const DataType& key, const DataType& value, const arrow::MapArray& map,
                        int64_t row, std::string* out) {
  std::vector<std::string> parts;
  for (int64_t i = map.value_offset(row); i < map.value_offset(row + 1); ++i) {
    std::string pair = "[";
    ARROW_RETURN_NOT_OK(AppendGoldenValue(key, *map.keys(), i, false, &pair));
    pair += ",";
    ARROW_RETURN_NOT_OK(AppendGoldenValue(value, *map.items(), i, false, &pair));
    parts.push_back(pair + "]");
  }
  SortGoldenLines(&parts);
  *out += fmt::format("[{}]", fmt::join(parts, ","));
  return arrow::Status::OK();
}

arrow::Status AppendNested(const DataType& type, const arrow::Array& array, int64_t row,
                           bool sort_elements, std::string* out) {
  switch (type.root()) {
    case TypeRoot::kArray: {
      if (array.type_id() != arrow::Type::LIST) break;
      const auto& list = checked_cast<const arrow::ListArray&>(array);
      return AppendArray(type.element(), *list.values(), list.value_offset(row),
                         list.value_length(row), sort_elements, out);
    }
    case TypeRoot::kMap:
      if (array.type_id() != arrow::Type::MAP) break;
      return AppendMap(type.key(), type.value(), checked_cast<const arrow::MapArray&>(array), row,
                       out);
    case TypeRoot::kMultiset:
      if (array.type_id() != arrow::Type::MAP) break;
      return AppendMap(type.element(), DataType(TypeRoot::kInt),
                       checked_cast<const arrow::MapArray&>(array), row, out);
    case TypeRoot::kRow: {
      if (array.type_id() != arrow::Type::STRUCT) break;
      ARROW_ASSIGN_OR_RAISE(
          std::string text,
          GoldenRow(type.fields(), checked_cast<const arrow::StructArray&>(array).fields(), row));
      *out += text;
      return arrow::Status::OK();
    }
    case TypeRoot::kVariant: {
      if (array.type_id() != arrow::Type::STRUCT) break;
      const auto& variant = checked_cast<const arrow::StructArray&>(array);
      ARROW_ASSIGN_OR_RAISE(const std::string_view value, BytesOf(*variant.field(0), row));
      ARROW_ASSIGN_OR_RAISE(const std::string_view metadata, BytesOf(*variant.field(1), row));
      ARROW_ASSIGN_OR_RAISE(const std::string json, VariantToJson({value, metadata}));
      *out += GoldenQuote(json);
      return arrow::Status::OK();
    }
    default:
      return Unsupported("{} values as JSON text", type.ToString());
  }
  return arrow::Status::TypeError(type.ToString(), " came as ", array.type()->ToString());
}

arrow::Status ExpectArrow(const DataType& type, const arrow::Array& array, arrow::Type::type id) {
  if (array.type_id() == id) return arrow::Status::OK();
  return arrow::Status::TypeError(type.ToString(), " came as ", array.type()->ToString());
}

template <typename ArrayType>
arrow::Status AppendInteger(const DataType& type, const arrow::Array& array, int64_t row,
                            std::string* out) {
  ARROW_RETURN_NOT_OK(ExpectArrow(type, array, ArrayType::TypeClass::type_id));
  *out += std::to_string(checked_cast<const ArrayType&>(array).Value(row));
  return arrow::Status::OK();
}

arrow::Status AppendTemporal(const DataType& type, const arrow::Array& array, int64_t row,
                             std::string* out) {
  switch (type.root()) {
    case TypeRoot::kDate:
      ARROW_RETURN_NOT_OK(ExpectArrow(type, array, arrow::Type::DATE32));
      *out += GoldenQuote(DateText(checked_cast<const arrow::Date32Array&>(array).Value(row)));
      return arrow::Status::OK();
    case TypeRoot::kTime: {
      ARROW_RETURN_NOT_OK(ExpectArrow(type, array, arrow::Type::TIME32));
      const int32_t millis = checked_cast<const arrow::Time32Array&>(array).Value(row);
      *out += fmt::format("\"{}.{:03}\"", ClockText(millis / 1000), millis % 1000);
      return arrow::Status::OK();
    }
    default: {
      ARROW_RETURN_NOT_OK(ExpectArrow(type, array, arrow::Type::TIMESTAMP));
      const auto& arrow_type = checked_cast<const arrow::TimestampType&>(*array.type());
      const bool local = type.root() == TypeRoot::kTimestampLtz;
      if (local == arrow_type.timezone().empty()) {
        return arrow::Status::TypeError(type.ToString(), " came as ", arrow_type.ToString());
      }
      const int64_t value = checked_cast<const arrow::TimestampArray&>(array).Value(row);
      *out += fmt::format("\"{}{}\"", TimestampText(value, arrow_type.unit(), type.precision()),
                          local ? "Z" : "");
      return arrow::Status::OK();
    }
  }
}

}  // namespace

std::string GoldenQuote(std::string_view text) {
  std::string out = "\"";
  for (const char c : text) {
    constexpr std::string_view kNamed = "\b\t\n\f\r\"\\";
    constexpr std::string_view kLetters = "btnfr\"\\";
    const size_t named = kNamed.find(c);
    if (named != std::string_view::npos) {
      out += '\\';
      out += kLetters[named];
    } else if (static_cast<unsigned char>(c) < 0x20) {
      out += fmt::format("\\u{:04x}", static_cast<unsigned char>(c));
    } else {
      out += c;
    }
  }
  return out + '"';
}

std::string GoldenNumber(double value) {
  return ShortestNumber(value,
                        [&](const char* text) { return std::strtod(text, nullptr) == value; });
}

std::string GoldenNumber(float value) {
  return ShortestNumber(value,
                        [&](const char* text) { return std::strtof(text, nullptr) == value; });
}

arrow::Status AppendGoldenValue(const DataType& type, const arrow::Array& array, int64_t row,
                                bool sort_elements, std::string* out) {
  if (array.type_id() == arrow::Type::DICTIONARY && !array.IsNull(row)) {
    const auto& encoded = checked_cast<const arrow::DictionaryArray&>(array);
    return AppendGoldenValue(type, *encoded.dictionary(), encoded.GetValueIndex(row), sort_elements,
                             out);
  }
  if (array.IsNull(row)) {
    *out += "null";
    return arrow::Status::OK();
  }
  switch (type.root()) {
    case TypeRoot::kBoolean:
      ARROW_RETURN_NOT_OK(ExpectArrow(type, array, arrow::Type::BOOL));
      *out += checked_cast<const arrow::BooleanArray&>(array).Value(row) ? "true" : "false";
      return arrow::Status::OK();
    case TypeRoot::kTinyInt:
      return AppendInteger<arrow::Int8Array>(type, array, row, out);
    case TypeRoot::kSmallInt:
      return AppendInteger<arrow::Int16Array>(type, array, row, out);
    case TypeRoot::kInt:
      return AppendInteger<arrow::Int32Array>(type, array, row, out);
    case TypeRoot::kBigInt:
      return AppendInteger<arrow::Int64Array>(type, array, row, out);
    case TypeRoot::kFloat:
      ARROW_RETURN_NOT_OK(ExpectArrow(type, array, arrow::Type::FLOAT));
      *out += GoldenNumber(checked_cast<const arrow::FloatArray&>(array).Value(row));
      return arrow::Status::OK();
    case TypeRoot::kDouble:
      ARROW_RETURN_NOT_OK(ExpectArrow(type, array, arrow::Type::DOUBLE));
      *out += GoldenNumber(checked_cast<const arrow::DoubleArray&>(array).Value(row));
      return arrow::Status::OK();
    case TypeRoot::kDecimal: {
      ARROW_RETURN_NOT_OK(ExpectArrow(type, array, arrow::Type::DECIMAL128));
      const arrow::Decimal128 value(
          checked_cast<const arrow::Decimal128Array&>(array).GetValue(row));
      *out += GoldenQuote(DecimalText(value, type.scale()));
      return arrow::Status::OK();
    }
    case TypeRoot::kChar:
    case TypeRoot::kVarChar: {
      ARROW_ASSIGN_OR_RAISE(const std::string_view text, BytesOf(array, row));
      *out += GoldenQuote(text);
      return arrow::Status::OK();
    }
    case TypeRoot::kBinary:
    case TypeRoot::kVarBinary:
    case TypeRoot::kBlob: {
      ARROW_ASSIGN_OR_RAISE(const std::string_view bytes, BytesOf(array, row));
      *out += GoldenQuote(HexText(bytes));
      return arrow::Status::OK();
    }
    case TypeRoot::kDate:
    case TypeRoot::kTime:
    case TypeRoot::kTimestamp:
    case TypeRoot::kTimestampLtz:
      return AppendTemporal(type, array, row, out);
    default:
      return AppendNested(type, array, row, sort_elements, out);
  }
}

arrow::Result<std::string> GoldenRow(const std::vector<DataField>& fields,
                                     const arrow::ArrayVector& columns, int64_t row,
                                     const UnorderedColumns& unordered) {
  if (fields.size() != columns.size()) {
    return arrow::Status::Invalid("expected ", fields.size(), " columns, got ", columns.size());
  }
  std::string out = "{";
  for (size_t i = 0; i < fields.size(); ++i) {
    if (i > 0) out += ",";
    out += GoldenQuote(fields[i].name) + ":";
    ARROW_RETURN_NOT_OK(AppendGoldenValue(fields[i].type, *columns[i], row,
                                          unordered.contains(fields[i].name), &out));
  }
  return out + "}";
}

arrow::Status AppendGoldenLines(const std::vector<DataField>& fields,
                                const arrow::RecordBatch& batch, const UnorderedColumns& unordered,
                                std::vector<std::string>* lines) {
  for (int64_t row = 0; row < batch.num_rows(); ++row) {
    ARROW_ASSIGN_OR_RAISE(std::string line, GoldenRow(fields, batch.columns(), row, unordered));
    lines->push_back(std::move(line));
  }
  return arrow::Status::OK();
}

void SortGoldenLines(std::vector<std::string>* lines) {
  // char_traits<char> compares as unsigned char.
  std::sort(lines->begin(), lines->end());
}

std::string FirstDifference(const std::vector<std::string>& got,
                            const std::vector<std::string>& want) {
  size_t line = 0;
  while (line < got.size() && line < want.size() && got[line] == want[line]) ++line;
  if (line == got.size() && line == want.size()) return "";
  const std::string counts =
      fmt::format("{} lines, want {}; line {}", got.size(), want.size(), line + 1);
  if (line == got.size()) return fmt::format("{}: missing {}", counts, want[line].substr(0, 300));
  if (line == want.size()) return fmt::format("{}: extra {}", counts, got[line].substr(0, 300));
  const std::string& a = got[line];
  const std::string& b = want[line];
  size_t at = 0;
  while (at < a.size() && at < b.size() && a[at] == b[at]) ++at;
  const size_t from = at < 60 ? 0 : at - 60;
  return fmt::format("{} at byte {}: got ...{}, want ...{}", counts, at, a.substr(from, 160),
                     b.substr(from, 160));
}

}  // namespace kelda
