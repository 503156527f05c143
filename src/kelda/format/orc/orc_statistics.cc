#include "kelda/format/orc/orc_statistics.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>

#include <arrow/scalar.h>
#include <arrow/util/decimal.h>

#include "kelda/format/orc/orc_wire.h"

namespace kelda {
namespace {

/// Longer texts have no bounds, as in Java.
constexpr size_t kTextBoundMax = 1024;

/// An integer whose order is that of the numbers, -0.0 below 0.0.
int64_t OrderOf(double value) {
  const auto bits = std::bit_cast<int64_t>(value);
  return bits ^ ((bits >> 63) & std::numeric_limits<int64_t>::max());
}

double DoubleOf(int64_t order) {
  return std::bit_cast<double>(order ^ ((order >> 63) & std::numeric_limits<int64_t>::max()));
}

arrow::Decimal128 DecimalOf(__int128 value) {
  return arrow::Decimal128(static_cast<int64_t>(value >> 64), static_cast<uint64_t>(value));
}

/// A timestamp in the units of an Arrow type as seconds and nanoseconds.
struct Instant {
  int64_t seconds;
  int64_t nanos;
};

Instant InstantOf(int64_t value, arrow::TimeUnit::type unit) {
  int64_t per_second = 1;
  if (unit == arrow::TimeUnit::MILLI) per_second = 1000;
  if (unit == arrow::TimeUnit::MICRO) per_second = 1000000;
  if (unit == arrow::TimeUnit::NANO) per_second = 1000000000;
  int64_t seconds = value / per_second;
  int64_t rest = value % per_second;
  if (rest < 0) {
    rest += per_second;
    --seconds;
  }
  return {seconds, rest * (1000000000 / per_second)};
}

}  // namespace

std::string PadText(std::string_view text, int32_t length) {
  const auto points = std::count_if(
      text.begin(), text.end(), [](char c) { return (static_cast<uint8_t>(c) & 0xC0) != 0x80; });
  std::string padded(text);
  if (points < length) padded.append(static_cast<size_t>(length - points), ' ');
  return padded;
}

std::string_view TrimText(std::string_view text) {
  return text.substr(0, text.find_last_not_of(' ') + 1);
}

void OrcStatistics::AddInts(const int64_t* values, int64_t n) {
  if (n == 0) return;
  int64_t min = values[0];
  int64_t max = values[0];
  uint64_t sum = 0;
  uint64_t large = 0;
  for (int64_t i = 0; i < n; ++i) {
    min = std::min(min, values[i]);
    max = std::max(max, values[i]);
    sum += static_cast<uint64_t>(values[i]);
    large |= static_cast<uint64_t>(values[i] ^ (values[i] >> 63));
  }
  // The sum of up to 2^15 numbers below 2^48 cannot overflow.
  if (large >> 48 != 0 || n > (1 << 15)) {
    __int128 exact = 0;
    for (int64_t i = 0; i < n; ++i) exact += values[i];
    sum = static_cast<uint64_t>(exact);
    if (exact != static_cast<int64_t>(exact)) sum_fits_ = false;
  }
  if (__builtin_add_overflow(sum_, static_cast<int64_t>(sum), &sum_)) sum_fits_ = false;
  min_ = bounded_ ? std::min(min_, min) : min;
  max_ = bounded_ ? std::max(max_, max) : max;
  bounded_ = true;
  values_ += n;
}

void OrcStatistics::AddDoubles(const double* values, int64_t n) {
  int64_t min = std::numeric_limits<int64_t>::max();
  int64_t max = std::numeric_limits<int64_t>::min();
  bool nan = false;
  for (int64_t i = 0; i < n; ++i) {
    const bool is_nan = values[i] != values[i];
    nan |= is_nan;
    const int64_t order = OrderOf(values[i]);
    min = std::min(min, is_nan ? min : order);
    max = std::max(max, is_nan ? max : order);
    double_sum_ += values[i];
  }
  nan_ |= nan;
  values_ += n;
  if (min > max) return;
  min_ = bounded_ ? std::min(min_, min) : min;
  max_ = bounded_ ? std::max(max_, max) : max;
  bounded_ = true;
}

void OrcStatistics::AddDecimals(const __int128* values, int64_t n) {
  if (n == 0) return;
  const auto [min, max] = std::minmax_element(values, values + n);
  decimal_min_ = bounded_ ? std::min(decimal_min_, *min) : *min;
  decimal_max_ = bounded_ ? std::max(decimal_max_, *max) : *max;
  bounded_ = true;
  values_ += n;
}

void OrcStatistics::WidenText(std::string_view text) {
  if (!bounded_) {
    text_min_ = text_max_ = text;
    bounded_ = true;
  } else if (text < text_min_) {
    text_min_ = text;
  } else if (text > text_max_) {
    text_max_ = text;
  }
}

void OrcStatistics::AddText(std::string_view text, int64_t times) {
  values_ += times;
  sum_ += static_cast<int64_t>(text.size()) * times;
  WidenText(text);
}

void OrcStatistics::Merge(const OrcStatistics& other) {
  values_ += other.values_;
  nulls_ += other.nulls_;
  nan_ |= other.nan_;
  sum_fits_ = sum_fits_ && other.sum_fits_ && !__builtin_add_overflow(sum_, other.sum_, &sum_);
  double_sum_ += other.double_sum_;
  if (!other.bounded_) return;
  if (form_ == Form::kText) {
    WidenText(other.text_min_);
    WidenText(other.text_max_);
    return;
  }
  min_ = bounded_ ? std::min(min_, other.min_) : other.min_;
  max_ = bounded_ ? std::max(max_, other.max_) : other.max_;
  decimal_min_ = bounded_ ? std::min(decimal_min_, other.decimal_min_) : other.decimal_min_;
  decimal_max_ = bounded_ ? std::max(decimal_max_, other.decimal_max_) : other.decimal_max_;
  bounded_ = true;
}

std::string OrcStatistics::Serialize(int32_t pad) const {
  WireWriter out;
  out.Number(1, static_cast<uint64_t>(values_));
  WireWriter part;
  switch (form_) {
    case Form::kCount:
      break;
    case Form::kBoolean: {
      WireWriter counts;
      counts.Varint(static_cast<uint64_t>(sum_));
      part.Message(1, counts);
      out.Message(5, part);
      break;
    }
    case Form::kInt:
      if (bounded_) part.Signed(1, min_);
      if (bounded_) part.Signed(2, max_);
      if (sum_fits_) part.Signed(3, sum_);
      out.Message(2, part);
      break;
    case Form::kDouble:
      if (bounded_ || nan_) {
        const double nan = std::numeric_limits<double>::quiet_NaN();
        part.Double(1, bounded_ ? DoubleOf(min_) : nan);
        part.Double(2, bounded_ ? DoubleOf(max_) : nan);
      }
      // A sum that is no number tells readers not to trust the bounds.
      part.Double(3, double_sum_);
      out.Message(3, part);
      break;
    case Form::kText:
      // Bounds of CHAR hold for values with and without their blanks.
      if (bounded_ && text_min_.size() <= kTextBoundMax && text_max_.size() <= kTextBoundMax) {
        part.Bytes(1, text_min_);
        part.Bytes(2, PadText(text_max_, pad));
      }
      part.Signed(3, sum_);
      out.Message(4, part);
      break;
    case Form::kBinary:
      part.Signed(1, sum_);
      out.Message(8, part);
      break;
    case Form::kDecimal:
      if (bounded_) {
        const int32_t scale = static_cast<const arrow::Decimal128Type&>(*type_).scale();
        part.Bytes(1, DecimalOf(decimal_min_).ToString(scale));
        part.Bytes(2, DecimalOf(decimal_max_).ToString(scale));
      }
      out.Message(6, part);
      break;
    case Form::kDate:
      if (bounded_) part.Signed(1, min_);
      if (bounded_) part.Signed(2, max_);
      out.Message(7, part);
      break;
    case Form::kTimestamp: {
      if (!bounded_) break;
      const auto unit = static_cast<const arrow::TimestampType&>(*type_).unit();
      const Instant bounds[] = {InstantOf(min_, unit), InstantOf(max_, unit)};
      const auto millis = [](const Instant& bound) {
        return bound.seconds * 1000 + bound.nanos / 1000000;
      };
      for (uint32_t first : {1u, 3u}) {
        part.Signed(first, millis(bounds[0]));
        part.Signed(first + 1, millis(bounds[1]));
      }
      // The nanoseconds within the millisecond, plus one.
      part.Number(5, static_cast<uint64_t>(bounds[0].nanos % 1000000 + 1));
      part.Number(6, static_cast<uint64_t>(bounds[1].nanos % 1000000 + 1));
      out.Message(9, part);
      break;
    }
  }
  out.Number(10, nulls_ > 0 ? 1 : 0);
  return out.Take();
}

std::shared_ptr<arrow::Scalar> OrcStatistics::Bound(bool max) const {
  const int64_t value = max ? max_ : min_;
  switch (type_->id()) {
    case arrow::Type::INT8:
      return std::make_shared<arrow::Int8Scalar>(static_cast<int8_t>(value));
    case arrow::Type::INT16:
      return std::make_shared<arrow::Int16Scalar>(static_cast<int16_t>(value));
    case arrow::Type::INT32:
      return std::make_shared<arrow::Int32Scalar>(static_cast<int32_t>(value));
    case arrow::Type::INT64:
      return std::make_shared<arrow::Int64Scalar>(value);
    case arrow::Type::DATE32:
      return std::make_shared<arrow::Date32Scalar>(static_cast<int32_t>(value));
    case arrow::Type::TIME32:
      return std::make_shared<arrow::Time32Scalar>(static_cast<int32_t>(value), type_);
    case arrow::Type::TIMESTAMP:
      return std::make_shared<arrow::TimestampScalar>(value, type_);
    case arrow::Type::FLOAT:
    case arrow::Type::DOUBLE: {
      const bool is_nan = max ? nan_ : !bounded_;
      const double number = is_nan ? std::numeric_limits<double>::quiet_NaN() : DoubleOf(value);
      if (type_->id() == arrow::Type::DOUBLE) return std::make_shared<arrow::DoubleScalar>(number);
      return std::make_shared<arrow::FloatScalar>(static_cast<float>(number));
    }
    case arrow::Type::DECIMAL128:
      return std::make_shared<arrow::Decimal128Scalar>(DecimalOf(max ? decimal_max_ : decimal_min_),
                                                       type_);
    case arrow::Type::STRING:
      return std::make_shared<arrow::StringScalar>(max ? text_max_ : text_min_);
    default:
      return nullptr;
  }
}

FileColumnStats OrcStatistics::ToColumnStats() const {
  FileColumnStats stats;
  stats.null_count = nulls_;
  if (form_ == Form::kBoolean && values_ > 0) {
    stats.min = std::make_shared<arrow::BooleanScalar>(sum_ == values_);
    stats.max = std::make_shared<arrow::BooleanScalar>(sum_ > 0);
  }
  if (!bounded_ && !nan_) return stats;
  // The library of Java gives no bounds of long texts.
  if (form_ == Form::kText) {
    if (text_min_.size() <= kTextBoundMax) stats.min = Bound(false);
    if (text_max_.size() <= kTextBoundMax) stats.max = Bound(true);
    return stats;
  }
  stats.min = Bound(false);
  stats.max = Bound(true);
  return stats;
}

}  // namespace kelda
