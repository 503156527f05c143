// Casts to STRING and texts of partition values.
#include <arrow/api.h>

#include "kelda/row/civil_date.h"
#include "kelda/row/partition_path.h"
#include "kelda/row/row_layout.h"
#include "kelda/row/text_cast.h"
#include "kelda/row/text_values.h"

namespace kelda {

namespace {

constexpr int64_t kMillisPerDay = 86400000;
constexpr int64_t kSecondsPerDay = 86400;

template <typename ScalarType>
auto ValueOf(const arrow::Scalar& scalar) {
  return static_cast<const ScalarType&>(scalar).value;
}

/// Java writes each digit as '0' + (digit % 10), also for years that have more or fewer than four:
/// the same here, since partition directories depend on it.
std::string Digits(int64_t value, int count) {
  std::string text(static_cast<size_t>(count), '0');
  for (int i = count - 1; i >= 0; --i) {
    text[static_cast<size_t>(i)] = static_cast<char>('0' + value % 10);
    value /= 10;
  }
  return text;
}

std::string CivilText(const CivilDate& date) {
  return Digits(date.year, 4) + "-" + Digits(date.month, 2) + "-" + Digits(date.day, 2);
}

std::string ClockText(int64_t seconds) {
  return Digits(seconds / 3600, 2) + ":" + Digits(seconds / 60 % 60, 2) + ":" +
         Digits(seconds % 60, 2);
}

}  // namespace

std::string DateText(int32_t days) { return CivilText(CivilFromDays(days)); }

std::string TimeText(int32_t millis_of_day, int precision) {
  int64_t millis = millis_of_day;
  if (millis < 0) millis = row_layout::FloorMod(millis, kMillisPerDay);
  std::string text = ClockText(millis / 1000);
  if (precision == 0) return text;
  text += '.';
  int64_t rest = millis % 1000;
  do {
    text += static_cast<char>('0' + rest / 100);
    rest = rest % 100 * 10;
  } while (--precision > 0 && rest > 0);
  return text;
}

namespace {

struct WallClock {
  CivilDate date;
  int64_t second_of_day;
  int64_t nanos;
};

WallClock WallClockOf(int64_t ticks, arrow::TimeUnit::type unit) {
  int64_t per_second = 1;
  switch (unit) {
    case arrow::TimeUnit::SECOND:
      break;
    case arrow::TimeUnit::MILLI:
      per_second = 1000;
      break;
    case arrow::TimeUnit::MICRO:
      per_second = 1000000;
      break;
    default:
      per_second = 1000000000;
  }
  const int64_t seconds = row_layout::FloorDiv(ticks, per_second);
  const int64_t days = row_layout::FloorDiv(seconds, kSecondsPerDay);
  return {CivilFromDays(days), row_layout::FloorMod(seconds, kSecondsPerDay),
          row_layout::FloorMod(ticks, per_second) * (1000000000 / per_second)};
}

}  // namespace

std::string TimestampText(int64_t ticks, arrow::TimeUnit::type unit, int precision) {
  const WallClock clock = WallClockOf(ticks, unit);
  std::string text = CivilText(clock.date) + " " + ClockText(clock.second_of_day);
  std::string fraction = Digits(clock.nanos, 9);
  while (static_cast<int>(fraction.size()) > precision && !fraction.empty() &&
         fraction.back() == '0') {
    fraction.pop_back();
  }
  return fraction.empty() ? text : text + "." + fraction;
}

namespace {

/// java.time.LocalDateTime.toString.
std::string IsoText(const WallClock& clock) {
  const int64_t year = clock.date.year;
  std::string text;
  if (year > 9999) {
    text = fmt::format("+{}", year);
  } else {
    text = fmt::format("{}{:04}", year < 0 ? "-" : "", year < 0 ? -year : year);
  }
  text += fmt::format("-{:02}-{:02}T", clock.date.month, clock.date.day);
  const std::string time = ClockText(clock.second_of_day);
  if (clock.nanos == 0) return text + (clock.second_of_day % 60 == 0 ? time.substr(0, 5) : time);
  std::string fraction = Digits(clock.nanos, 9);
  while (fraction.ends_with("000")) fraction.erase(fraction.size() - 3);
  return text + time + "." + fraction;
}

}  // namespace

std::string PlainDecimalText(const arrow::Decimal128& value, int scale) {
  std::string digits = arrow::Decimal128(arrow::Decimal128::Abs(value)).ToIntegerString();
  if (scale > 0) {
    const auto width = static_cast<size_t>(scale) + 1;
    if (digits.size() < width) digits.insert(0, width - digits.size(), '0');
    digits.insert(digits.size() - static_cast<size_t>(scale), ".");
  }
  return value.IsNegative() ? "-" + digits : digits;
}

namespace {

arrow::TimeUnit::type UnitOf(const arrow::Scalar& value) {
  return static_cast<const arrow::TimestampType&>(*value.type).unit();
}

bool IsContinuation(unsigned char c) { return (c & 0xc0) == 0x80; }

/// Length of the character at `text[i]`, and whether it is valid; an invalid sequence takes as many
/// bytes as Java's decoder replaces by one U+FFFD.
std::pair<size_t, bool> DecodeStep(std::string_view text, size_t i) {
  const auto at = [&](size_t k) { return static_cast<unsigned char>(text[i + k]); };
  const size_t left = text.size() - i;
  const unsigned char lead = at(0);
  if (lead < 0x80) return {1, true};
  if (lead < 0xc2 || lead > 0xf4 || left < 2 || !IsContinuation(at(1))) return {1, false};
  if (lead < 0xe0) return {2, true};
  if (lead < 0xf0) {
    if (lead == 0xe0 && at(1) < 0xa0) return {1, false};
    if (left < 3 || !IsContinuation(at(2))) return {2, false};
    return {3, !(lead == 0xed && at(1) >= 0xa0)};
  }
  if ((lead == 0xf0 && at(1) < 0x90) || (lead == 0xf4 && at(1) > 0x8f)) return {1, false};
  if (left < 3 || !IsContinuation(at(2))) return {2, false};
  if (left < 4 || !IsContinuation(at(3))) return {3, false};
  return {4, true};
}

arrow::Result<std::string> AtomicText(const DataType& type, const arrow::Scalar& value) {
  switch (type.root()) {
    case TypeRoot::kBoolean:
      return ValueOf<arrow::BooleanScalar>(value) ? "true" : "false";
    case TypeRoot::kTinyInt:
      return std::to_string(ValueOf<arrow::Int8Scalar>(value));
    case TypeRoot::kSmallInt:
      return std::to_string(ValueOf<arrow::Int16Scalar>(value));
    case TypeRoot::kInt:
      return std::to_string(ValueOf<arrow::Int32Scalar>(value));
    case TypeRoot::kBigInt:
      return std::to_string(ValueOf<arrow::Int64Scalar>(value));
    case TypeRoot::kFloat:
      return JavaFloatText(ValueOf<arrow::FloatScalar>(value));
    case TypeRoot::kDouble:
      return JavaDoubleText(ValueOf<arrow::DoubleScalar>(value));
    case TypeRoot::kDecimal:
      return PlainDecimalText(ValueOf<arrow::Decimal128Scalar>(value), type.scale());
    case TypeRoot::kChar:
    case TypeRoot::kVarChar:
      return std::string(static_cast<const arrow::BaseBinaryScalar&>(value).view());
    case TypeRoot::kBinary:
    case TypeRoot::kVarBinary:
      return ReplaceInvalidUtf8(static_cast<const arrow::BaseBinaryScalar&>(value).view());
    case TypeRoot::kDate:
      return DateText(ValueOf<arrow::Date32Scalar>(value));
    case TypeRoot::kTime:
      return TimeText(ValueOf<arrow::Time32Scalar>(value), type.precision());
    case TypeRoot::kTimestamp:
    case TypeRoot::kTimestampLtz:
      return TimestampText(ValueOf<arrow::TimestampScalar>(value), UnitOf(value), type.precision());
    default:
      return Unsupported("text of a value of type {}", type.ToString());
  }
}

arrow::Result<std::string> ElementText(const DataType& type, const arrow::Array& array, int64_t i) {
  ARROW_ASSIGN_OR_RAISE(auto value, array.GetScalar(i));
  return CastToText(type, *value);
}

arrow::Result<std::string> MapText(const DataType& type, const arrow::Scalar& value) {
  const auto& entries = static_cast<const arrow::StructArray&>(
      *static_cast<const arrow::BaseListScalar&>(value).value);
  std::string text = "{";
  for (int64_t i = 0; i < entries.length(); ++i) {
    ARROW_ASSIGN_OR_RAISE(auto key, ElementText(type.key(), *entries.field(0), i));
    ARROW_ASSIGN_OR_RAISE(auto item, ElementText(type.value(), *entries.field(1), i));
    text += (i == 0 ? "" : ", ") + key + " -> " + item;
  }
  return text + "}";
}

/// The Arrow form of arrow_mapping.h is what the text functions read.
arrow::Status CheckScalar(const DataType& type, const arrow::Scalar& value) {
  ARROW_ASSIGN_OR_RAISE(auto expected, ToArrowType(type));
  if (expected->id() != value.type->id()) {
    return Invalid("value of Arrow type {} is no {}", value.type->ToString(), type.ToString());
  }
  return arrow::Status::OK();
}

/// java.lang.Character.isWhitespace.
bool IsJavaWhitespace(uint32_t c) {
  return (c >= 0x09 && c <= 0x0d) || (c >= 0x1c && c <= 0x20) || c == 0x1680 ||
         (c >= 0x2000 && c <= 0x200a && c != 0x2007) || c == 0x2028 || c == 0x2029 || c == 0x205f ||
         c == 0x3000;
}

bool IsBlank(std::string_view text) {
  for (size_t i = 0; i < text.size();) {
    const auto [length, valid] = DecodeStep(text, i);
    uint32_t code = static_cast<unsigned char>(text[i]);
    if (length == 3) {
      code = (code & 0x0f) << 12 | (static_cast<unsigned char>(text[i + 1]) & 0x3fu) << 6 |
             (static_cast<unsigned char>(text[i + 2]) & 0x3fu);
    }
    if (!valid || length == 2 || length == 4 || !IsJavaWhitespace(code)) return false;
    i += length;
  }
  return true;
}

/// Java's toString of the internal value (`partition.legacy-name` = true).
arrow::Result<std::string> LegacyText(const DataType& type, const arrow::Scalar& value) {
  switch (type.root()) {
    case TypeRoot::kDate:
      return std::to_string(ValueOf<arrow::Date32Scalar>(value));
    case TypeRoot::kTime:
      return std::to_string(ValueOf<arrow::Time32Scalar>(value));
    case TypeRoot::kTimestamp:
    case TypeRoot::kTimestampLtz:
      return IsoText(WallClockOf(ValueOf<arrow::TimestampScalar>(value), UnitOf(value)));
    case TypeRoot::kBinary:
    case TypeRoot::kVarBinary:
      // Java prints the identity of the array object: no two runs agree on the directory.
      return Invalid("a partition key of type {} needs the option partition.legacy-name=false",
                     type.ToString());
    default:
      return AtomicText(type, value);
  }
}

bool MustEscape(unsigned char c) {
  return c < 0x20 || c == 0x7f ||
         std::string_view("\"#%'*/:=?\\{}[]^").find(static_cast<char>(c)) != std::string_view::npos;
}

int HexValue(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  if (c >= 'A' && c <= 'F') return c - 'A' + 10;
  return -1;
}

}  // namespace

std::string ReplaceInvalidUtf8(std::string_view bytes) {
  std::string text;
  text.reserve(bytes.size());
  for (size_t i = 0; i < bytes.size();) {
    const auto [length, valid] = DecodeStep(bytes, i);
    if (valid) {
      text.append(bytes.substr(i, length));
    } else {
      text += "\xef\xbf\xbd";
    }
    i += length;
  }
  return text;
}

arrow::Result<std::string> CastToText(const DataType& type, const arrow::Scalar& value) {
  if (!value.is_valid) return "null";
  ARROW_RETURN_NOT_OK(CheckScalar(type, value));
  switch (type.root()) {
    case TypeRoot::kArray: {
      const arrow::Array& elements = *static_cast<const arrow::BaseListScalar&>(value).value;
      std::string text = "[";
      for (int64_t i = 0; i < elements.length(); ++i) {
        ARROW_ASSIGN_OR_RAISE(auto element, ElementText(type.element(), elements, i));
        text += (i == 0 ? "" : ", ") + element;
      }
      return text + "]";
    }
    case TypeRoot::kMap:
      return MapText(type, value);
    case TypeRoot::kRow: {
      const auto& members = static_cast<const arrow::StructScalar&>(value).value;
      if (members.size() != type.fields().size()) {
        return Invalid("value of Arrow type {} is no {}", value.type->ToString(), type.ToString());
      }
      std::string text = "{";
      for (size_t i = 0; i < members.size(); ++i) {
        ARROW_ASSIGN_OR_RAISE(auto member, CastToText(type.fields()[i].type, *members[i]));
        text += (i == 0 ? "" : ", ") + member;
      }
      return text + "}";
    }
    default:
      return AtomicText(type, value);
  }
}

arrow::Result<std::string> PartitionValueText(const DataType& type, const arrow::Scalar& value,
                                              const PartitionPathOptions& options) {
  if (!value.is_valid) return options.default_name;
  ARROW_RETURN_NOT_OK(CheckScalar(type, value));
  ARROW_ASSIGN_OR_RAISE(auto text,
                        options.legacy_name ? LegacyText(type, value) : AtomicText(type, value));
  return IsBlank(text) ? options.default_name : text;
}

std::string EscapePathName(std::string_view text) {
  std::string escaped;
  escaped.reserve(text.size());
  for (const char c : text) {
    if (MustEscape(static_cast<unsigned char>(c))) {
      escaped += fmt::format("%{:02X}", static_cast<unsigned>(c));
    } else {
      escaped += c;
    }
  }
  return escaped;
}

std::string UnescapePathName(std::string_view text) {
  std::string plain;
  plain.reserve(text.size());
  for (size_t i = 0; i < text.size(); ++i) {
    const int high = text[i] == '%' && i + 2 < text.size() ? HexValue(text[i + 1]) : -1;
    const int low = high >= 0 ? HexValue(text[i + 2]) : -1;
    if (low >= 0) {
      plain += static_cast<char>(high * 16 + low);
      i += 2;
    } else {
      plain += text[i];
    }
  }
  return plain;
}

arrow::Result<std::string> PartitionPath(const std::vector<DataField>& keys,
                                         const std::vector<std::shared_ptr<arrow::Scalar>>& values,
                                         const PartitionPathOptions& options) {
  if (keys.size() != values.size())
    return Invalid("{} values for {} partition keys", values.size(), keys.size());
  std::string path;
  for (size_t i = 0; i < keys.size(); ++i) {
    std::string text = options.default_name;
    if (values[i] != nullptr) {
      ARROW_ASSIGN_OR_RAISE(text, PartitionValueText(keys[i].type, *values[i], options));
    }
    path += EscapePathName(keys[i].name) + "=" + EscapePathName(text) + "/";
  }
  return path;
}

}  // namespace kelda
