// Casts among DATE, TIME, TIMESTAMP and TIMESTAMP_LTZ, and of timestamps from and to integers. The
// zone of TIMESTAMP_LTZ is UTC, so that both timestamps have the same numbers.
#include "kelda/row/cast_kernels.h"
#include "kelda/row/row_layout.h"
#include "kelda/types/arrow_mapping.h"

namespace kelda::cast_kernels {

namespace {

using row_layout::FloorDiv;
using row_layout::FloorMod;

constexpr int64_t kMillisPerDay = 86400000;

/// What Java holds of a timestamp.
struct JavaTimestamp {
  int64_t millis = 0;
  int64_t nanos = 0;  ///< of the millisecond, 0 to 999999
};

int64_t TicksPerSecond(const DataType& type) {
  if (type.precision() == 0) return 1;
  if (type.precision() <= 3) return 1000;
  return type.precision() <= 6 ? 1000000 : 1000000000;
}

arrow::Status OutOfRange(const DataType& type) {
  return Invalid("a value is out of the range of {}", type.ToString());
}

/// Reads the ticks of a timestamp column.
class TimestampSource {
 public:
  explicit TimestampSource(const DataType& type) : type_(type), per_second_(TicksPerSecond(type)) {}

  arrow::Status Read(int64_t ticks, JavaTimestamp* out) const {
    if (per_second_ == 1) {
      if (__builtin_mul_overflow(ticks, int64_t{1000}, &out->millis)) return OutOfRange(type_);
      return arrow::Status::OK();
    }
    const int64_t per_milli = per_second_ / 1000;
    out->millis = FloorDiv(ticks, per_milli);
    out->nanos = FloorMod(ticks, per_milli) * (1000000 / per_milli);
    return arrow::Status::OK();
  }

 private:
  DataType type_;
  int64_t per_second_;
};

/// Cuts digits behind the precision, below milliseconds towards the past and from milliseconds on
/// towards 1970, and gives the ticks of a timestamp column.
class TimestampTarget {
 public:
  explicit TimestampTarget(const DataType& type) : type_(type), per_second_(TicksPerSecond(type)) {
    for (int i = type.precision(); i < 3; ++i) millis_cut_ *= 10;
    for (int i = std::max(type.precision(), 3); i < 9; ++i) nanos_cut_ *= 10;
  }

  arrow::Status Write(JavaTimestamp value, int64_t* ticks) const {
    value.millis = value.millis / millis_cut_ * millis_cut_;
    value.nanos = value.nanos / nanos_cut_ * nanos_cut_;
    if (per_second_ == 1) {
      *ticks = value.millis / 1000;
      return arrow::Status::OK();
    }
    const int64_t per_milli = per_second_ / 1000;
    if (__builtin_mul_overflow(value.millis, per_milli, ticks) ||
        __builtin_add_overflow(*ticks, value.nanos / (1000000 / per_milli), ticks)) {
      return OutOfRange(type_);
    }
    return arrow::Status::OK();
  }

 private:
  DataType type_;
  int64_t per_second_;
  int64_t millis_cut_ = 1;
  int64_t nanos_cut_ = 1;
};

/// `millis(In) -> int64_t` of a DATE, TIME or number of seconds.
template <typename In, typename Millis>
Cast::Function MillisToTimestamp(const DataType& to, std::shared_ptr<arrow::DataType> type,
                                 Millis millis) {
  return [type, millis, target = TimestampTarget(to)](const arrow::ArrayData& in) {
    return MapChecked<ValueReader<In>, int64_t>(
        in, type, [&](In value, int64_t* out) { return target.Write({millis(value), 0}, out); });
  };
}

template <typename Out, typename Convert>
Cast::Function TimestampToValue(const DataType& from, std::shared_ptr<arrow::DataType> type,
                                Convert convert) {
  return [type, convert, source = TimestampSource(from)](const arrow::ArrayData& in) {
    return MapChecked<ValueReader<int64_t>, Out>(in, type,
                                                 [&](int64_t ticks, Out* out) -> arrow::Status {
                                                   JavaTimestamp value;
                                                   ARROW_RETURN_NOT_OK(source.Read(ticks, &value));
                                                   *out = convert(value.millis);
                                                   return arrow::Status::OK();
                                                 });
  };
}

Cast::Function TimestampToTimestamp(const DataType& from, const DataType& to,
                                    std::shared_ptr<arrow::DataType> type) {
  return [type, source = TimestampSource(from),
          target = TimestampTarget(to)](const arrow::ArrayData& in) {
    return MapChecked<ValueReader<int64_t>, int64_t>(
        in, type, [&](int64_t ticks, int64_t* out) -> arrow::Status {
          JavaTimestamp value;
          ARROW_RETURN_NOT_OK(source.Read(ticks, &value));
          return target.Write(value, out);
        });
  };
}

/// Java multiplies seconds without a check.
int64_t SecondsToMillis(int64_t seconds) {
  return static_cast<int64_t>(static_cast<uint64_t>(seconds) * 1000);
}

Cast::Function ToTimestamp(const DataType& from, const DataType& to,
                           const std::shared_ptr<arrow::DataType>& type) {
  switch (from.root()) {
    case TypeRoot::kInt:
      return MillisToTimestamp<int32_t>(to, type, SecondsToMillis);
    case TypeRoot::kBigInt:
      return MillisToTimestamp<int64_t>(to, type, SecondsToMillis);
    case TypeRoot::kDate:
      return MillisToTimestamp<int32_t>(to, type,
                                        [](int32_t days) { return days * kMillisPerDay; });
    case TypeRoot::kTime:
      return MillisToTimestamp<int32_t>(to, type, [](int32_t millis) { return int64_t{millis}; });
    case TypeRoot::kTimestamp:
    case TypeRoot::kTimestampLtz:
      return TimestampToTimestamp(from, to, type);
    default:
      return nullptr;
  }
}

/// Days and times of day of a TIMESTAMP are divided towards zero, those of a TIMESTAMP_LTZ are of
/// the calendar.
Cast::Function TimestampToDate(const DataType& from, std::shared_ptr<arrow::DataType> type) {
  const bool is_local = from.root() == TypeRoot::kTimestampLtz;
  return TimestampToValue<int32_t>(from, std::move(type), [is_local](int64_t millis) {
    return static_cast<int32_t>(is_local ? FloorDiv(millis, kMillisPerDay)
                                         : millis / kMillisPerDay);
  });
}

Cast::Function TimestampToTime(const DataType& from, std::shared_ptr<arrow::DataType> type) {
  const bool is_local = from.root() == TypeRoot::kTimestampLtz;
  return TimestampToValue<int32_t>(from, std::move(type), [is_local](int64_t millis) {
    return static_cast<int32_t>(is_local ? FloorMod(millis, kMillisPerDay)
                                         : millis % kMillisPerDay);
  });
}

}  // namespace

Cast::Function TemporalCast(const DataType& from, const DataType& to) {
  auto type = ToArrowType(to);
  if (!type.ok()) return nullptr;
  if (IsTimestamp(to)) return ToTimestamp(from, to, *type);
  if (!IsTimestamp(from)) return nullptr;
  switch (to.root()) {
    case TypeRoot::kInt:
      return TimestampToValue<int32_t>(
          from, *type, [](int64_t millis) { return static_cast<int32_t>(millis / 1000); });
    case TypeRoot::kBigInt:
      return TimestampToValue<int64_t>(from, *type, [](int64_t millis) { return millis / 1000; });
    case TypeRoot::kDate:
      return TimestampToDate(from, *type);
    case TypeRoot::kTime:
      return TimestampToTime(from, *type);
    default:
      return nullptr;
  }
}

}  // namespace kelda::cast_kernels
