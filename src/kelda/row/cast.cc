#include "kelda/row/cast.h"

#include <limits>

#include <arrow/array/util.h>
#include <arrow/scalar.h>

#include "kelda/row/cast_kernels.h"
#include "kelda/types/arrow_mapping.h"

namespace kelda {

namespace cast_kernels {

arrow::Result<std::shared_ptr<arrow::Buffer>> OwnValidityOf(const arrow::ArrayData& in) {
  if (in.buffers[0] != nullptr && in.GetNullCount() != 0) {
    return arrow::internal::CopyBitmap(arrow::default_memory_pool(), in.buffers[0]->data(),
                                       in.offset, in.length);
  }
  ARROW_ASSIGN_OR_RAISE(auto bitmap, arrow::AllocateEmptyBitmap(in.length));
  arrow::bit_util::SetBitsTo(bitmap->mutable_data(), 0, in.length, true);
  return bitmap;
}

arrow::Result<std::shared_ptr<arrow::Buffer>> ValidityOf(const arrow::ArrayData& in) {
  if (in.buffers[0] == nullptr || in.GetNullCount() == 0) return nullptr;
  if (in.offset == 0) return in.buffers[0];
  return OwnValidityOf(in);
}

}  // namespace cast_kernels

namespace {

using cast_kernels::IsFloating;
using cast_kernels::IsInteger;
using cast_kernels::IsNumeric;
using cast_kernels::IsTimestamp;

/// Digits that any value of an integer type needs.
int DigitsOf(const DataType& type) {
  switch (type.root()) {
    case TypeRoot::kTinyInt:
      return 3;
    case TypeRoot::kSmallInt:
      return 5;
    case TypeRoot::kInt:
      return 10;
    default:
      return 19;
  }
}

bool IsImplicit(const DataType& from, const DataType& to) {
  switch (to.root()) {
    case TypeRoot::kVarChar:
      return from.IsString();
    case TypeRoot::kVarBinary:
      return from.IsBytes();
    case TypeRoot::kDecimal:
    case TypeRoot::kDouble:
      return IsNumeric(from);
    case TypeRoot::kFloat:
      return IsNumeric(from) && from.root() != TypeRoot::kDouble;
    case TypeRoot::kTinyInt:
    case TypeRoot::kSmallInt:
    case TypeRoot::kInt:
    case TypeRoot::kBigInt:
      return IsInteger(from) && from.root() <= to.root();
    case TypeRoot::kDate:
    case TypeRoot::kTime:
      return from.root() == to.root() || from.root() == TypeRoot::kTimestamp;
    case TypeRoot::kTimestamp:
    case TypeRoot::kTimestampLtz:
      return IsTimestamp(from);
    default:
      return from.root() == to.root();
  }
}

bool IsExplicit(const DataType& from, const DataType& to) {
  switch (to.root()) {
    case TypeRoot::kChar:
    case TypeRoot::kVarChar:
      return true;
    case TypeRoot::kBoolean:
      return from.IsString() || IsInteger(from);
    case TypeRoot::kBinary:
      return from.IsString() || from.IsBytes();
    case TypeRoot::kVarBinary:
      return from.IsString();
    case TypeRoot::kDecimal:
    case TypeRoot::kTinyInt:
    case TypeRoot::kSmallInt:
    case TypeRoot::kInt:
    case TypeRoot::kBigInt:
    case TypeRoot::kFloat:
    case TypeRoot::kDouble:
      return IsNumeric(from) || from.IsString() || from.root() == TypeRoot::kBoolean ||
             IsTimestamp(from);
    case TypeRoot::kDate:
    case TypeRoot::kTime:
      return IsTimestamp(from) || from.IsString();
    case TypeRoot::kTimestamp:
    case TypeRoot::kTimestampLtz:
      return from.root() == TypeRoot::kDate || from.root() == TypeRoot::kTime || from.IsString() ||
             IsNumeric(from);
    default:
      return false;
  }
}

arrow::Result<Cast::Function> FindFunction(const DataType& from, const DataType& to) {
  if (Cast::Function function = cast_kernels::NumericCast(from, to)) return function;
  if (Cast::Function function = cast_kernels::TemporalCast(from, to)) return function;
  return cast_kernels::TextCast(from, to);
}

std::shared_ptr<arrow::Scalar> CastOrNull(const DataType& from, const DataType& to,
                                          const std::shared_ptr<arrow::Scalar>& value) {
  if (value == nullptr) return nullptr;
  auto cast = ResolveCast(from, to);
  if (!cast.ok()) return nullptr;
  auto result = (*cast)->Apply(*value);
  return result.ok() && (*result)->is_valid ? *result : nullptr;
}

/// Whether the cast of `value` to `to` loses nothing of its whole part: back in a type that holds
/// every whole number of `from`, it is the same.
bool KeepsWholePart(const DataType& from, const DataType& to,
                    const std::shared_ptr<arrow::Scalar>& value) {
  const DataType wide = DataType::Decimal(38, 0);
  // The whole part of a DECIMAL, cut and not rounded: without its fraction.
  std::shared_ptr<arrow::Scalar> whole;
  if (from.root() == TypeRoot::kDecimal) {
    const auto& decimal = static_cast<const arrow::Decimal128Scalar&>(*value);
    const arrow::Decimal128 cut(decimal.value.ReduceScaleBy(from.scale(), /*round=*/false));
    whole = std::make_shared<arrow::Decimal128Scalar>(cut, arrow::decimal128(38, 0));
  } else {
    whole = CastOrNull(from, wide, value);
  }
  const auto there = CastOrNull(from, to, value);
  const auto back = CastOrNull(to, wide, there);
  return whole != nullptr && back != nullptr && back->Equals(*whole);
}

/// Timestamps whose day and second counts fit every type they are cast to.
bool IsModerateTimestamp(const DataType& type, const std::shared_ptr<arrow::Scalar>& value) {
  const auto seconds = CastOrNull(type, DataType(TypeRoot::kBigInt), value);
  if (seconds == nullptr) return false;
  const int64_t count = static_cast<const arrow::Int64Scalar&>(*seconds).value;
  constexpr int64_t kLimit = int64_t{1} << 47;
  return count > -kLimit && count < kLimit;
}

enum class Order { kNone, kKept, kKeptIfFitting };

Order OrderOf(const DataType& from, const DataType& to) {
  if (IsInteger(to)) {
    if (IsInteger(from) || from.root() == TypeRoot::kBoolean || from.root() == TypeRoot::kDecimal)
      return Order::kKeptIfFitting;
    return IsTimestamp(from) ? Order::kKeptIfFitting : Order::kNone;
  }
  switch (to.root()) {
    case TypeRoot::kFloat:
    case TypeRoot::kDouble:
      return IsNumeric(from) || from.root() == TypeRoot::kBoolean ? Order::kKept : Order::kNone;
    case TypeRoot::kDecimal:
      // NaN of FLOAT and DOUBLE is an error, and may be outside of their bounds.
      return (IsNumeric(from) && !IsFloating(from)) || from.root() == TypeRoot::kBoolean
                 ? Order::kKept
                 : Order::kNone;
    case TypeRoot::kTimestamp:
    case TypeRoot::kTimestampLtz:
      if (from.root() == TypeRoot::kBigInt) return Order::kKeptIfFitting;
      return from.IsString() ? Order::kNone : Order::kKept;
    case TypeRoot::kDate:
      return IsTimestamp(from) ? Order::kKeptIfFitting : Order::kNone;
    case TypeRoot::kVarChar:
      return from.IsString() ? Order::kKept : Order::kNone;
    case TypeRoot::kBinary:
    case TypeRoot::kVarBinary:
      return from.IsBytes() ? Order::kKept : Order::kNone;
    default:
      return Order::kNone;
  }
}

bool Fits(const DataType& from, const DataType& to, const std::shared_ptr<arrow::Scalar>& value) {
  if (IsTimestamp(to)) {
    const int64_t seconds = static_cast<const arrow::Int64Scalar&>(*value).value;
    constexpr int64_t kLimit = std::numeric_limits<int64_t>::max() / 1000;
    return seconds >= -kLimit && seconds <= kLimit;
  }
  if (IsTimestamp(from)) {
    if (!IsModerateTimestamp(from, value)) return false;
    return to.root() == TypeRoot::kDate || to.root() == TypeRoot::kBigInt ||
           KeepsWholePart(DataType(TypeRoot::kBigInt), to,
                          CastOrNull(from, DataType(TypeRoot::kBigInt), value));
  }
  return KeepsWholePart(from, to, value);
}

}  // namespace

arrow::Result<std::shared_ptr<arrow::Array>> Cast::Apply(
    const std::shared_ptr<arrow::Array>& array) const {
  ARROW_ASSIGN_OR_RAISE(auto expected, ToArrowType(from_));
  if (array->type_id() != expected->id()) {
    return Invalid("column of Arrow type {} is no {}", array->type()->ToString(), from_.ToString());
  }
  if (IsIdentity()) return array;
  ARROW_ASSIGN_OR_RAISE(auto data, function_(*array->data()));
  return arrow::MakeArray(data);
}

arrow::Result<std::shared_ptr<arrow::Scalar>> Cast::Apply(const arrow::Scalar& value) const {
  ARROW_ASSIGN_OR_RAISE(auto array, arrow::MakeArrayFromScalar(value, 1));
  ARROW_ASSIGN_OR_RAISE(auto result, Apply(array));
  return result->GetScalar(0);
}

arrow::Result<std::shared_ptr<const Cast>> ResolveCast(const DataType& from, const DataType& to) {
  if (from.EqualsIgnoringNullability(to)) return std::make_shared<const Cast>(from, to, nullptr);
  ARROW_ASSIGN_OR_RAISE(Cast::Function function, FindFunction(from, to));
  if (function == nullptr) {
    return Invalid("values of {} cannot be cast to {}", from.ToString(), to.ToString());
  }
  return std::make_shared<const Cast>(from, to, std::move(function));
}

bool IsCastAllowed(const DataType& from, const DataType& to, bool explicit_casts) {
  if (from.nullable() && !to.nullable() && !explicit_casts) return false;
  return IsImplicit(from, to) || (explicit_casts && IsExplicit(from, to));
}

CastBounds BoundsAfterCast(const DataType& from, const DataType& to,
                           const std::shared_ptr<arrow::Scalar>& min,
                           const std::shared_ptr<arrow::Scalar>& max) {
  CastBounds bounds;
  if (from.EqualsIgnoringNullability(to)) return {min, max, true};
  // A ROW of which no member is left is NULL as a whole.
  if (to.IsNested()) return bounds;
  bounds.same_nulls = to.root() != TypeRoot::kDecimal || IsLosslessCast(from, to);
  const Order order = OrderOf(from, to);
  if (order == Order::kNone || min == nullptr || max == nullptr) return bounds;
  if (order == Order::kKeptIfFitting && !(Fits(from, to, min) && Fits(from, to, max)))
    return bounds;
  bounds.min = CastOrNull(from, to, min);
  bounds.max = CastOrNull(from, to, max);
  // What lies between two values that fit a DECIMAL fits it too.
  if (bounds.min != nullptr && bounds.max != nullptr) {
    bounds.same_nulls = true;
  } else {
    bounds.min = bounds.max = nullptr;
  }
  return bounds;
}

bool IsLosslessCast(const DataType& from, const DataType& to) {
  if (from.EqualsIgnoringNullability(to)) return true;
  switch (to.root()) {
    case TypeRoot::kSmallInt:
    case TypeRoot::kInt:
    case TypeRoot::kBigInt:
      return IsInteger(from) && from.root() < to.root();
    case TypeRoot::kFloat:
      return from.root() == TypeRoot::kTinyInt || from.root() == TypeRoot::kSmallInt;
    case TypeRoot::kDouble:
      return from.root() == TypeRoot::kFloat ||
             (IsInteger(from) && from.root() != TypeRoot::kBigInt);
    case TypeRoot::kDecimal:
      if (IsInteger(from)) return to.precision() - to.scale() >= DigitsOf(from);
      return from.root() == TypeRoot::kDecimal && to.scale() >= from.scale() &&
             to.precision() - to.scale() >= from.precision() - from.scale();
    case TypeRoot::kTimestamp:
    case TypeRoot::kTimestampLtz:
      // Columns of other precisions may hold more digits than they say.
      return IsTimestamp(from) && from.precision() % 3 == 0 && to.precision() >= from.precision();
    case TypeRoot::kVarChar:
      return from.IsString() && to.length() == DataType::kLengthMax;
    case TypeRoot::kVarBinary:
      return from.IsBytes() && to.length() == DataType::kLengthMax;
    default:
      return false;
  }
}

std::shared_ptr<arrow::Scalar> ValueBeforeCast(const DataType& from, const DataType& to,
                                               const std::shared_ptr<arrow::Scalar>& value) {
  if (!value->is_valid || !IsLosslessCast(from, to)) return nullptr;
  // Texts and bytes stay as they are, also those that are longer than their column allows.
  if (from.IsString() || from.IsBytes() || from.EqualsIgnoringNullability(to)) return value;
  const auto before = CastOrNull(to, from, value);
  const auto there = CastOrNull(from, to, before);
  return there != nullptr && there->Equals(*value) ? before : nullptr;
}

}  // namespace kelda
