// Casts among numbers and BOOLEAN.
#include <charconv>
#include <cmath>
#include <limits>

#include "kelda/row/cast_kernels.h"
#include "kelda/row/partition_path.h"
#include "kelda/row/text_values.h"
#include "kelda/types/arrow_mapping.h"

namespace kelda::cast_kernels {

namespace {

using Int128 = __int128;

Int128 PowerOfTen(int exponent) {
  Int128 power = 1;
  for (int i = 0; i < exponent; ++i) power *= 10;
  return power;
}

Int128 ToInt128(const DecimalBytes& decimal) {
  Int128 value;
  static_assert(sizeof(value) == sizeof(decimal));
  std::memcpy(&value, decimal.bytes, sizeof(value));
  return value;
}

DecimalBytes FromInt128(Int128 value) {
  DecimalBytes decimal;
  std::memcpy(decimal.bytes, &value, sizeof(value));
  return decimal;
}

/// Java's (int) and (long) of a floating point value: towards zero, saturated, NaN is 0.
template <typename Int>
Int JavaToInteger(double value) {
  if (std::isnan(value)) return 0;
  // 2^31 and 2^63 are doubles, the maxima of the types are not all.
  const double limit = std::ldexp(1.0, std::numeric_limits<Int>::digits);
  if (value >= limit) return std::numeric_limits<Int>::max();
  if (value < -limit) return std::numeric_limits<Int>::min();
  return static_cast<Int>(value);
}

/// One number to another; DECIMAL goes its own ways. Integers keep their low bits.
template <typename In, typename Out>
Out ConvertNumber(In value) {
  if constexpr (std::is_same_v<Out, bool>) {
    return value != In{0};
  } else if constexpr (std::is_floating_point_v<In> && std::is_integral_v<Out>) {
    if constexpr (sizeof(Out) == 8) {
      return JavaToInteger<int64_t>(value);
    } else {
      return static_cast<Out>(JavaToInteger<int32_t>(value));
    }
  } else {
    return static_cast<Out>(value);
  }
}

template <typename In, typename Out>
Cast::Function PlainCast(const std::shared_ptr<arrow::DataType>& type) {
  return [type](const arrow::ArrayData& in) {
    return MapValues<In, Out>(in, type, ConvertNumber<In, Out>);
  };
}

/// Rescales by powers of ten, rounding half up (away from zero), within a precision.
class Rescaler {
 public:
  Rescaler(int from_scale, const DataType& to) {
    const int shift = to.scale() - from_scale;
    if (shift >= 0) {
      factor_ = PowerOfTen(shift);
      // Values that stay within the precision when multiplied.
      limit_ = to.precision() >= shift ? PowerOfTen(to.precision() - shift) : 1;
    } else {
      divisor_ = PowerOfTen(-shift);
      limit_ = PowerOfTen(to.precision());
    }
  }

  bool operator()(Int128 value, DecimalBytes* out) const {
    if (divisor_ != 0) {
      Int128 quotient = value / divisor_;
      const Int128 rest = value % divisor_;
      const Int128 magnitude = rest < 0 ? -rest : rest;
      if (magnitude >= divisor_ - magnitude) quotient += value < 0 ? -1 : 1;
      value = quotient;
    }
    if (value >= limit_ || value <= -limit_) return false;
    *out = FromInt128(divisor_ != 0 ? value : value * factor_);
    return true;
  }

 private:
  Int128 factor_ = 1;
  Int128 divisor_ = 0;
  Int128 limit_ = 1;
};

template <typename In>
Cast::Function IntegerToDecimal(const DataType& to, const std::shared_ptr<arrow::DataType>& type) {
  return [type, rescale = Rescaler(0, to)](const arrow::ArrayData& in) {
    return MapToNullable<ValueReader<In>, DecimalBytes>(
        in, type, [&](In value, DecimalBytes* out) { return rescale(Int128{value}, out); });
  };
}

/// By the decimal text of the value as a DOUBLE.
template <typename In>
Cast::Function FloatingToDecimal(const DataType& from, const DataType& to,
                                 const std::shared_ptr<arrow::DataType>& type) {
  return [from, to, type](const arrow::ArrayData& in) -> ArrayDataResult {
    arrow::Status failed;
    auto result =
        MapToNullable<ValueReader<In>, DecimalBytes>(in, type, [&](In value, DecimalBytes* out) {
          if (!std::isfinite(value)) {
            if (failed.ok()) failed = BadText(to, JavaDoubleText(value));
            return false;
          }
          arrow::Decimal128 decimal;
          if (DecimalOf(to, JavaDoubleText(value), &decimal) != DecimalOutcome::kValue)
            return false;
          *out = DecimalBytes::Of(decimal);
          return true;
        });
    ARROW_RETURN_NOT_OK(failed);
    return result;
  };
}

/// The nearest floating point value of a decimal.
template <typename Out>
Out NearestFloating(Int128 value, int scale) {
  const Int128 magnitude = value < 0 ? -value : value;
  // Both exact, so that the division rounds once.
  if (std::is_same_v<Out, double> && magnitude < (Int128{1} << 53) && scale <= 22) {
    static constexpr double kPowers[] = {1e0,  1e1,  1e2,  1e3,  1e4,  1e5,  1e6,  1e7,
                                         1e8,  1e9,  1e10, 1e11, 1e12, 1e13, 1e14, 1e15,
                                         1e16, 1e17, 1e18, 1e19, 1e20, 1e21, 1e22};
    return static_cast<Out>(static_cast<double>(value) / kPowers[scale]);
  }
  const std::string text = PlainDecimalText(FromInt128(value).value(), scale);
  Out result = 0;
  std::from_chars(text.data(), text.data() + text.size(), result);
  return result;
}

template <typename Out>
Cast::Function FromDecimal(const DataType& from, const std::shared_ptr<arrow::DataType>& type) {
  const int scale = from.scale();
  return [type, scale](const arrow::ArrayData& in) {
    if constexpr (std::is_floating_point_v<Out>) {
      return MapValues<DecimalBytes, Out>(in, type, [scale](const DecimalBytes& decimal) {
        return NearestFloating<Out>(ToInt128(decimal), scale);
      });
    } else {
      return MapValues<DecimalBytes, Out>(
          in, type, [divisor = PowerOfTen(scale)](const DecimalBytes& decimal) {
            return static_cast<Out>(ToInt128(decimal) / divisor);
          });
    }
  };
}

template <typename Out>
Cast::Function CastTo(const DataType& from, const std::shared_ptr<arrow::DataType>& type) {
  switch (from.root()) {
    case TypeRoot::kBoolean:
      return PlainCast<bool, Out>(type);
    case TypeRoot::kTinyInt:
      return PlainCast<int8_t, Out>(type);
    case TypeRoot::kSmallInt:
      return PlainCast<int16_t, Out>(type);
    case TypeRoot::kInt:
      return PlainCast<int32_t, Out>(type);
    case TypeRoot::kBigInt:
      return PlainCast<int64_t, Out>(type);
    case TypeRoot::kFloat:
      return PlainCast<float, Out>(type);
    case TypeRoot::kDouble:
      return PlainCast<double, Out>(type);
    default:
      return FromDecimal<Out>(from, type);
  }
}

Cast::Function CastToBoolean(const DataType& from, const std::shared_ptr<arrow::DataType>& type) {
  switch (from.root()) {
    case TypeRoot::kTinyInt:
      return PlainCast<int8_t, bool>(type);
    case TypeRoot::kSmallInt:
      return PlainCast<int16_t, bool>(type);
    case TypeRoot::kInt:
      return PlainCast<int32_t, bool>(type);
    case TypeRoot::kBigInt:
      return PlainCast<int64_t, bool>(type);
    default:
      return nullptr;
  }
}

Cast::Function CastToDecimal(const DataType& from, const DataType& to,
                             const std::shared_ptr<arrow::DataType>& type) {
  switch (from.root()) {
    case TypeRoot::kBoolean:
      return IntegerToDecimal<bool>(to, type);
    case TypeRoot::kTinyInt:
      return IntegerToDecimal<int8_t>(to, type);
    case TypeRoot::kSmallInt:
      return IntegerToDecimal<int16_t>(to, type);
    case TypeRoot::kInt:
      return IntegerToDecimal<int32_t>(to, type);
    case TypeRoot::kBigInt:
      return IntegerToDecimal<int64_t>(to, type);
    case TypeRoot::kFloat:
      return FloatingToDecimal<float>(from, to, type);
    case TypeRoot::kDouble:
      return FloatingToDecimal<double>(from, to, type);
    default:
      return [type, rescale = Rescaler(from.scale(), to)](const arrow::ArrayData& in) {
        return MapToNullable<ValueReader<DecimalBytes>, DecimalBytes>(
            in, type, [&](const DecimalBytes& value, DecimalBytes* out) {
              return rescale(ToInt128(value), out);
            });
      };
  }
}

}  // namespace

Cast::Function NumericCast(const DataType& from, const DataType& to) {
  if (!IsNumeric(from) && from.root() != TypeRoot::kBoolean) return nullptr;
  auto type = ToArrowType(to);
  if (!type.ok()) return nullptr;
  switch (to.root()) {
    case TypeRoot::kBoolean:
      return CastToBoolean(from, *type);
    case TypeRoot::kTinyInt:
      return CastTo<int8_t>(from, *type);
    case TypeRoot::kSmallInt:
      return CastTo<int16_t>(from, *type);
    case TypeRoot::kInt:
      return CastTo<int32_t>(from, *type);
    case TypeRoot::kBigInt:
      return CastTo<int64_t>(from, *type);
    case TypeRoot::kFloat:
      return CastTo<float>(from, *type);
    case TypeRoot::kDouble:
      return CastTo<double>(from, *type);
    case TypeRoot::kDecimal:
      return CastToDecimal(from, to, *type);
    default:
      return nullptr;
  }
}

}  // namespace kelda::cast_kernels
