// Casts from STRING (spec 01 §2.8): what Java accepts, refuses and makes of a text, type by type.
#include <algorithm>
#include <charconv>
#include <cmath>
#include <limits>
#include <optional>

#include <arrow/api.h>

#include "kelda/row/civil_date.h"
#include "kelda/row/partition_path.h"
#include "kelda/row/row_layout.h"
#include "kelda/row/text_cast.h"
#include "kelda/row/text_values.h"
#include "kelda/types/arrow_mapping.h"

namespace kelda {

namespace {

constexpr int64_t kSecondsPerDay = 86400;

using ScalarResult = arrow::Result<std::shared_ptr<arrow::Scalar>>;

arrow::Status Bad(const DataType& type, std::string_view text) { return BadText(type, text); }

bool IsDigit(char c) { return c >= '0' && c <= '9'; }
bool AllDigits(std::string_view text) {
  return !text.empty() && std::all_of(text.begin(), text.end(), IsDigit);
}
/// `-?[0-9]+`: the internal integer of a date, time or timestamp.
bool IsInternalInteger(std::string_view text) {
  return AllDigits(text.starts_with('-') ? text.substr(1) : text);
}

/// Java's String.trim.
std::string_view Trim(std::string_view text) {
  while (!text.empty() && static_cast<unsigned char>(text.front()) <= ' ') text.remove_prefix(1);
  while (!text.empty() && static_cast<unsigned char>(text.back()) <= ' ') text.remove_suffix(1);
  return text;
}

template <typename T>
std::optional<T> WholeNumber(std::string_view text) {
  T value = 0;
  const auto result = std::from_chars(text.data(), text.data() + text.size(), value);
  if (result.ec != std::errc() || result.ptr != text.data() + text.size()) return std::nullopt;
  return value;
}

/// Digits without a sign, blanks around them trimmed.
std::optional<int32_t> TrimmedNumber(std::string_view text) {
  text = Trim(text);
  if (!AllDigits(text)) return std::nullopt;
  return WholeNumber<int32_t>(text);
}

// --- numbers
// ---------------------------------------------------------------------------------------------

}  // namespace

arrow::Status BadText(const DataType& type, std::string_view text) {
  return Invalid("cannot cast '{}' to {}", ReplaceInvalidUtf8(text.substr(0, 100)),
                 type.ToString());
}

template <typename T>
std::optional<T> IntegerOf(std::string_view text) {
  if (const auto plain = WholeNumber<T>(text)) return plain;
  std::string number;
  size_t i = 0;
  if (text.starts_with('+') || text.starts_with('-')) {
    if (text[0] == '-') number = "-";
    i = 1;
  }
  if (i == text.size()) return std::nullopt;
  const size_t dot = std::min(text.find('.', i), text.size());
  const std::string_view whole = text.substr(i, dot - i);
  if (!whole.empty() && !AllDigits(whole)) return std::nullopt;
  if (dot < text.size() && dot + 1 < text.size() && !AllDigits(text.substr(dot + 1)))
    return std::nullopt;
  if (whole.empty()) return T{0};
  number += whole;
  return WholeNumber<T>(number);
}

template std::optional<int8_t> IntegerOf<int8_t>(std::string_view text);
template std::optional<int16_t> IntegerOf<int16_t>(std::string_view text);
template std::optional<int32_t> IntegerOf<int32_t>(std::string_view text);
template std::optional<int64_t> IntegerOf<int64_t>(std::string_view text);

namespace {

template <typename ScalarType, typename T>
ScalarResult ParseInteger(const DataType& type, std::string_view text) {
  const auto value = IntegerOf<T>(text);
  if (!value) return Bad(type, text);
  return std::make_shared<ScalarType>(*value);
}

/// Decimal exponent of the first digit that is not 0, for numbers that from_chars finds out of
/// range.
bool IsHuge(std::string_view number) {
  const size_t mark = number.find_first_of("eE");
  const std::string_view digits = number.substr(0, mark);
  double exponent = 0;
  if (mark != std::string_view::npos) {
    std::string_view text = number.substr(mark + 1);
    if (text.starts_with('+')) text.remove_prefix(1);
    const bool negative = text.starts_with('-');
    // More digits than a double can count: only the sign matters.
    exponent = text.size() > 15
                   ? 1e15
                   : static_cast<double>(
                         WholeNumber<int64_t>(negative ? text.substr(1) : text).value_or(0));
    if (negative) exponent = -exponent;
  }
  const size_t dot = std::min(digits.find('.'), digits.size());
  const size_t first = digits.find_first_of("123456789");
  if (first == std::string_view::npos) return false;
  const double place =
      first < dot ? static_cast<double>(dot - first) : -static_cast<double>(first - dot - 1);
  return exponent + place > 0;
}

template <typename T>
std::optional<T> Magnitude(std::string_view text, std::chars_format format) {
  T value = 0;
  const auto result = std::from_chars(text.data(), text.data() + text.size(), value, format);
  if (result.ptr != text.data() + text.size()) return std::nullopt;
  if (result.ec == std::errc::result_out_of_range) {
    if (format == std::chars_format::hex) return std::nullopt;
    return IsHuge(text) ? std::numeric_limits<T>::infinity() : T{0};
  }
  if (result.ec != std::errc()) return std::nullopt;
  return value;
}

}  // namespace

template <typename T>
std::optional<T> FloatingOf(std::string_view text) {
  text = Trim(text);
  bool negative = false;
  if (text.starts_with('+') || text.starts_with('-')) {
    negative = text[0] == '-';
    text.remove_prefix(1);
  }
  if (text == "NaN") return std::numeric_limits<T>::quiet_NaN();
  if (text == "Infinity")
    return negative ? -std::numeric_limits<T>::infinity() : std::numeric_limits<T>::infinity();
  if (!text.empty() && std::string_view("fFdD").find(text.back()) != std::string_view::npos)
    text.remove_suffix(1);
  std::optional<T> value;
  if (text.starts_with("0x") || text.starts_with("0X")) {
    // The binary exponent is not optional in Java.
    if (text.find_first_of("pP") == std::string_view::npos) return std::nullopt;
    value = Magnitude<T>(text.substr(2), std::chars_format::hex);
  } else {
    // from_chars also knows "inf" and "nan", and a second sign.
    if (text.empty() || !(IsDigit(text[0]) || text[0] == '.')) return std::nullopt;
    value = Magnitude<T>(text, std::chars_format::general);
  }
  if (!value) return std::nullopt;
  return negative ? -*value : *value;
}

template std::optional<float> FloatingOf<float>(std::string_view text);
template std::optional<double> FloatingOf<double>(std::string_view text);

namespace {

template <typename ScalarType, typename T>
ScalarResult ParseFloating(const DataType& type, std::string_view text) {
  const auto value = FloatingOf<T>(text);
  if (!value) return Bad(type, text);
  return std::make_shared<ScalarType>(*value);
}

/// Unscaled digits and scale of a BigDecimal text.
struct DecimalParts {
  bool negative = false;
  std::string digits;  ///< without leading zeros
  int64_t scale = 0;
};

std::optional<DecimalParts> DecimalPartsOf(std::string_view text) {
  DecimalParts parts;
  if (text.starts_with('+') || text.starts_with('-')) {
    parts.negative = text[0] == '-';
    text.remove_prefix(1);
  }
  int64_t exponent = 0;
  const size_t mark = text.find_first_of("eE");
  if (mark != std::string_view::npos) {
    std::string_view exponent_text = text.substr(mark + 1);
    if (exponent_text.starts_with('+')) exponent_text.remove_prefix(1);
    if (!IsInternalInteger(exponent_text) || text.substr(mark + 1).starts_with("+-"))
      return std::nullopt;
    const auto value = WholeNumber<int32_t>(exponent_text);
    if (!value) return std::nullopt;
    exponent = *value;
    text = text.substr(0, mark);
  }
  const size_t dot = text.find('.');
  std::string digits(text.substr(0, dot));
  if (dot != std::string_view::npos) {
    digits += text.substr(dot + 1);
    parts.scale = static_cast<int64_t>(text.size() - dot - 1);
  }
  if (!AllDigits(digits)) return std::nullopt;
  parts.scale -= exponent;
  if (parts.scale > std::numeric_limits<int32_t>::max() ||
      parts.scale < std::numeric_limits<int32_t>::min()) {
    return std::nullopt;
  }
  parts.digits = digits.substr(std::min(digits.find_first_not_of('0'), digits.size()));
  return parts;
}

/// Beyond this many powers of ten Java's BigDecimal gives up with an error.
constexpr int64_t kRescaleMax = 600000000;

}  // namespace

DecimalOutcome DecimalOf(const DataType& type, std::string_view text, arrow::Decimal128* out) {
  auto parts = DecimalPartsOf(text);
  if (!parts) return DecimalOutcome::kBad;
  std::string& digits = parts->digits;
  const int64_t shift = digits.empty() ? 0 : type.scale() - parts->scale;
  if (std::abs(shift) > kRescaleMax) return DecimalOutcome::kBad;
  bool round_up = false;
  if (shift < 0) {
    const auto dropped = static_cast<size_t>(-shift);
    round_up = dropped <= digits.size() && digits[digits.size() - dropped] >= '5';
    digits.resize(digits.size() - std::min(dropped, digits.size()));
  } else if (static_cast<int64_t>(digits.size()) + shift <= type.precision()) {
    digits.append(static_cast<size_t>(shift), '0');
  } else {
    return DecimalOutcome::kTooLarge;
  }
  if (static_cast<int64_t>(digits.size()) > type.precision()) return DecimalOutcome::kTooLarge;
  arrow::Decimal128 value(0);
  if (!digits.empty() && !arrow::Decimal128::FromString(digits).Value(&value).ok())
    return DecimalOutcome::kBad;
  if (round_up) value += arrow::Decimal128(1);
  if (!value.FitsInPrecision(type.precision())) return DecimalOutcome::kTooLarge;
  if (parts->negative) value.Negate();
  *out = value;
  return DecimalOutcome::kValue;
}

namespace {

ScalarResult ParseDecimal(const DataType& type, std::string_view text) {
  ARROW_ASSIGN_OR_RAISE(auto arrow_type, ToArrowType(type));
  arrow::Decimal128 value;
  switch (DecimalOf(type, text, &value)) {
    case DecimalOutcome::kValue:
      return std::make_shared<arrow::Decimal128Scalar>(value, arrow_type);
    case DecimalOutcome::kTooLarge:
      return arrow::MakeNullScalar(arrow_type);
    case DecimalOutcome::kBad:
      break;
  }
  return Bad(type, text);
}

// --- texts and bytes
// -------------------------------------------------------------------------------------

}  // namespace

size_t PrefixBytes(std::string_view text, int32_t count, int32_t* found) {
  *found = 0;
  size_t i = 0;
  while (i < text.size() && *found < count) {
    ++i;
    while (i < text.size() && (static_cast<unsigned char>(text[i]) & 0xc0) == 0x80) ++i;
    ++*found;
  }
  return i;
}

namespace {

ScalarResult ParseText(const DataType& type, std::string_view text) {
  int32_t characters = 0;
  std::string value(text.substr(0, PrefixBytes(text, type.length(), &characters)));
  if (type.root() == TypeRoot::kChar && characters < type.length()) {
    if (type.length() > kTextPaddingMax)
      return Unsupported("padding a text to {}", type.ToString());
    value.append(static_cast<size_t>(type.length() - characters), ' ');
  }
  return std::make_shared<arrow::StringScalar>(std::move(value));
}

ScalarResult ParseBytes(const DataType& type, std::string_view text) {
  const auto length = static_cast<size_t>(type.length());
  std::string value(text.substr(0, length));
  if (type.root() == TypeRoot::kBinary && value.size() < length) {
    if (type.length() > kTextPaddingMax) return Unsupported("padding bytes to {}", type.ToString());
    value.resize(length, '\0');
  }
  return std::make_shared<arrow::BinaryScalar>(std::move(value));
}

}  // namespace

std::optional<bool> BooleanOf(std::string_view text) {
  if (text.size() > 5) return std::nullopt;
  std::string lower(text);
  for (char& c : lower) {
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
  }
  for (const char* yes : {"t", "true", "y", "yes", "1"}) {
    if (lower == yes) return true;
  }
  for (const char* no : {"f", "false", "n", "no", "0"}) {
    if (lower == no) return false;
  }
  return std::nullopt;
}

// --- dates and times
// -------------------------------------------------------------------------------------

std::optional<int32_t> DateOf(std::string_view text) {
  if (IsInternalInteger(text)) return WholeNumber<int32_t>(text);
  const size_t blank = text.find(' ');
  if (blank != std::string_view::npos && blank > 0) text = text.substr(0, blank);
  const size_t first = text.find('-');
  const auto year = TrimmedNumber(text.substr(0, first));
  std::optional<int32_t> month = 1;
  std::optional<int32_t> day = 1;
  if (first != std::string_view::npos) {
    const size_t second = text.find('-', first + 1);
    const size_t month_end = std::min(second, text.size());
    month = TrimmedNumber(text.substr(first + 1, month_end - first - 1));
    if (second != std::string_view::npos) day = TrimmedNumber(text.substr(second + 1));
  }
  if (!year || !month || !day) return std::nullopt;
  if (*year > 9999 || *month < 1 || *month > 12 || *day < 1 || *day > DaysInMonth(*year, *month))
    return std::nullopt;
  return static_cast<int32_t>(DaysFromCivil({*year, *month, *day}));
}

namespace {

/// Three digits, the third rounded by the character behind it; what is no digit counts as 0.
uint32_t MillisOf(std::string_view fraction) {
  uint32_t millis = 0;
  uint32_t weight = 100;
  for (size_t i = 0; i < fraction.size() && i < 3; ++i, weight /= 10) {
    if (IsDigit(fraction[i])) millis += weight * static_cast<uint32_t>(fraction[i] - '0');
    if (weight == 1 && i + 1 < fraction.size() &&
        static_cast<unsigned char>(fraction[i + 1]) >= '5')
      ++millis;
  }
  return millis;
}

}  // namespace

std::optional<int32_t> TimeOf(std::string_view text) {
  if (IsInternalInteger(text)) return WholeNumber<int32_t>(text);
  size_t zone = text.find('-');
  const bool minus = zone != std::string_view::npos;
  if (!minus) zone = text.find('+');
  const size_t end = std::min(zone, text.size());
  const auto part = [&](size_t begin, size_t part_end) -> std::optional<int32_t> {
    if (begin > part_end) return std::nullopt;
    return TrimmedNumber(text.substr(begin, part_end - begin));
  };
  std::optional<int32_t> zone_hour = 0;
  std::optional<int32_t> zone_minute = 0;
  if (zone != std::string_view::npos) {
    const size_t colon = text.find(':', zone);
    zone_hour = part(zone + 1, std::min(colon, text.size()));
    if (colon != std::string_view::npos) zone_minute = part(colon + 1, text.size());
  }
  const size_t colon1 = text.find(':');
  std::optional<int32_t> hour;
  std::optional<int32_t> minute = 0;
  std::optional<int32_t> second = 0;
  uint32_t millis = 0;
  if (colon1 == std::string_view::npos) {
    hour = part(0, end);
  } else {
    hour = part(0, colon1);
    const size_t colon2 = text.find(':', colon1 + 1);
    minute = part(colon1 + 1, colon2 == std::string_view::npos ? end : colon2);
    if (colon2 != std::string_view::npos) {
      const size_t dot = text.find('.', colon2);
      second = part(colon2 + 1, dot == std::string_view::npos ? end : dot);
      if (dot != std::string_view::npos && dot + 1 <= end) {
        millis = MillisOf(Trim(text.substr(dot + 1, end - dot - 1)));
      }
    }
  }
  if (!hour || !minute || !second || !zone_hour || !zone_minute) return std::nullopt;
  const uint32_t sign = minus ? ~0u : 1u;
  const uint32_t hours = static_cast<uint32_t>(*hour) + sign * static_cast<uint32_t>(*zone_hour);
  const uint32_t minutes =
      static_cast<uint32_t>(*minute) + sign * static_cast<uint32_t>(*zone_minute);
  return static_cast<int32_t>(hours * 3600000 + minutes * 60000 +
                              static_cast<uint32_t>(*second) * 1000 + millis);
}

namespace {

/// Reads the strict form of timestamps from left to right.
class TimestampScanner {
 public:
  explicit TimestampScanner(std::string_view text) : text_(text) {}

  bool at_end() const { return position_ == text_.size(); }
  bool Accept(char c) {
    if (at_end() || text_[position_] != c) return false;
    ++position_;
    return true;
  }
  /// `min` to `max` digits, all that are there.
  std::optional<int64_t> Number(size_t min, size_t max) {
    const size_t start = position_;
    while (!at_end() && IsDigit(text_[position_])) ++position_;
    const size_t count = position_ - start;
    if (count < min || count > max) return std::nullopt;
    return WholeNumber<int64_t>(text_.substr(start, count));
  }
  std::string_view Digits() {
    const size_t start = position_;
    while (!at_end() && IsDigit(text_[position_])) ++position_;
    return text_.substr(start, position_ - start);
  }

 private:
  std::string_view text_;
  size_t position_ = 0;
};

struct ClockTime {
  int64_t seconds = 0;
  int64_t nanos = 0;
};

/// `H:m:s[.f]`; 24:00:00 is the end of the day.
std::optional<ClockTime> ClockTimeOf(TimestampScanner* scanner) {
  const auto hour = scanner->Number(1, 2);
  if (!hour || !scanner->Accept(':')) return std::nullopt;
  const auto minute = scanner->Number(1, 2);
  if (!minute || !scanner->Accept(':')) return std::nullopt;
  const auto second = scanner->Number(1, 2);
  if (!second) return std::nullopt;
  ClockTime time;
  if (scanner->Accept('.')) {
    std::string fraction(scanner->Digits());
    if (fraction.size() > 9) return std::nullopt;
    fraction.append(9 - fraction.size(), '0');
    time.nanos = *WholeNumber<int64_t>(fraction);
  }
  time.seconds = *hour * 3600 + *minute * 60 + *second;
  if (*minute > 59 || *second > 59) return std::nullopt;
  if (*hour > 23 && (time.seconds != kSecondsPerDay || time.nanos != 0)) return std::nullopt;
  return time;
}

/// Four digits of a year that is not 0, or a plus sign and more of them; month and day of one or
/// two digits, a day beyond the month's end is moved to it; then perhaps one blank and a clock
/// time.
std::optional<ClockTime> TimestampOf(std::string_view text) {
  TimestampScanner scanner(text);
  const bool plus = scanner.Accept('+');
  const auto year = plus ? scanner.Number(5, 10) : scanner.Number(4, 4);
  if (!year || *year == 0 || *year > 999999999 || !scanner.Accept('-')) return std::nullopt;
  const auto month = scanner.Number(1, 2);
  if (!month || *month < 1 || *month > 12 || !scanner.Accept('-')) return std::nullopt;
  const auto day = scanner.Number(1, 2);
  if (!day || *day < 1 || *day > 31) return std::nullopt;
  ClockTime time;
  if (!scanner.at_end()) {
    if (!scanner.Accept(' ')) return std::nullopt;
    const auto clock = ClockTimeOf(&scanner);
    if (!clock || !scanner.at_end()) return std::nullopt;
    time = *clock;
  }
  const int month_number = static_cast<int>(*month);
  const int day_number = std::min(static_cast<int>(*day), DaysInMonth(*year, month_number));
  time.seconds += DaysFromCivil({*year, month_number, day_number}) * kSecondsPerDay;
  return time;
}

}  // namespace

arrow::Result<int64_t> TimestampTicksOf(const DataType& type, std::string_view text) {
  const int precision = type.precision();
  if (type.root() == TypeRoot::kTimestamp && IsInternalInteger(text)) {
    const auto ticks = WholeNumber<int64_t>(text);
    // The text is in the unit of the precision, and that is also Arrow's unit.
    if (!ticks || precision % 3 != 0) return Bad(type, text);
    if (precision == 0 && std::abs(static_cast<double>(*ticks)) > 9.2e15) return Bad(type, text);
    return *ticks;
  }
  const auto time = TimestampOf(text);
  if (!time) return Bad(type, text);
  int64_t dropped = 1;
  for (int i = precision; i < 9; ++i) dropped *= 10;
  const int64_t nanos = time->nanos / dropped * dropped;
  int64_t per_second = 1;
  if (precision > 0) per_second = precision <= 3 ? 1000 : (precision <= 6 ? 1000000 : 1000000000);
  int64_t ticks = 0;
  if (__builtin_mul_overflow(time->seconds, per_second, &ticks) ||
      __builtin_add_overflow(ticks, nanos / (1000000000 / per_second), &ticks)) {
    return Invalid("'{}' is out of the range of {}", text.substr(0, 100), type.ToString());
  }
  return ticks;
}

arrow::Result<std::shared_ptr<arrow::Scalar>> CastFromText(const DataType& type,
                                                           std::string_view text) {
  switch (type.root()) {
    case TypeRoot::kBoolean: {
      const auto value = BooleanOf(text);
      if (!value) return Bad(type, text);
      return std::make_shared<arrow::BooleanScalar>(*value);
    }
    case TypeRoot::kTinyInt:
      return ParseInteger<arrow::Int8Scalar, int8_t>(type, text);
    case TypeRoot::kSmallInt:
      return ParseInteger<arrow::Int16Scalar, int16_t>(type, text);
    case TypeRoot::kInt:
      return ParseInteger<arrow::Int32Scalar, int32_t>(type, text);
    case TypeRoot::kBigInt:
      return ParseInteger<arrow::Int64Scalar, int64_t>(type, text);
    case TypeRoot::kFloat:
      return ParseFloating<arrow::FloatScalar, float>(type, text);
    case TypeRoot::kDouble:
      return ParseFloating<arrow::DoubleScalar, double>(type, text);
    case TypeRoot::kDecimal:
      return ParseDecimal(type, text);
    case TypeRoot::kChar:
    case TypeRoot::kVarChar:
      return ParseText(type, text);
    case TypeRoot::kBinary:
    case TypeRoot::kVarBinary:
      return ParseBytes(type, text);
    case TypeRoot::kDate: {
      const auto days = DateOf(text);
      if (!days) return Bad(type, text);
      return std::make_shared<arrow::Date32Scalar>(*days);
    }
    case TypeRoot::kTime: {
      const auto millis = TimeOf(text);
      if (!millis) return Bad(type, text);
      return std::make_shared<arrow::Time32Scalar>(*millis, arrow::time32(arrow::TimeUnit::MILLI));
    }
    case TypeRoot::kTimestamp:
    case TypeRoot::kTimestampLtz: {
      ARROW_ASSIGN_OR_RAISE(auto arrow_type, ToArrowType(type));
      ARROW_ASSIGN_OR_RAISE(const int64_t ticks, TimestampTicksOf(type, text));
      return std::make_shared<arrow::TimestampScalar>(ticks, arrow_type);
    }
    default:
      return NestedOf(type, text);
  }
}

}  // namespace kelda
