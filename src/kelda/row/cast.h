#pragma once

#include <functional>
#include <memory>

#include <arrow/array.h>

#include "kelda/types/data_type.h"

namespace kelda {

/// A cast of columns from one Paimon type to another with the results of Java's CastExecutors (spec
/// 01 §2.8). Conversions that depend on a time zone use UTC. NULL stays NULL. What a target's Arrow
/// form cannot hold (fractions behind its unit, which Java keeps in some casts) is cut. Immutable,
/// thread-safe.
class Cast {
 public:
  using Function =
      std::function<arrow::Result<std::shared_ptr<arrow::ArrayData>>(const arrow::ArrayData&)>;

  Cast(DataType from, DataType to, Function function)
      : from_(std::move(from)), to_(std::move(to)), function_(std::move(function)) {}

  const DataType& from() const { return from_; }
  const DataType& to() const { return to_; }
  /// True when the values stay as they are, whatever they are.
  bool IsIdentity() const { return function_ == nullptr; }
  /// `array` has the Arrow form of from(), the result that of to(). A value that Java fails on is
  /// an error that shows the value.
  arrow::Result<std::shared_ptr<arrow::Array>> Apply(
      const std::shared_ptr<arrow::Array>& array) const;
  arrow::Result<std::shared_ptr<arrow::Scalar>> Apply(const arrow::Scalar& value) const;

 private:
  DataType from_;
  DataType to_;
  Function function_;
};

/// The cast that Java has an executor for; equal types give the identity. Otherwise Invalid with
/// both types.
arrow::Result<std::shared_ptr<const Cast>> ResolveCast(const DataType& from, const DataType& to);

/// Java's DataTypeCasts: whether ALTER may turn a column of `from` into `to`, if there is a cast.
bool IsCastAllowed(const DataType& from, const DataType& to, bool explicit_casts);

/// The least and the greatest value of a column after a cast of it: nullopt where the cast keeps no
/// order, or maps values between `min` and `max` to NULL or around the range of `to`. `nulls` of
/// the result tells whether the number of NULLs stays. `min`, `max` may be null (unknown).
struct CastBounds {
  std::shared_ptr<arrow::Scalar> min;
  std::shared_ptr<arrow::Scalar> max;
  bool same_nulls = false;
};
CastBounds BoundsAfterCast(const DataType& from, const DataType& to,
                           const std::shared_ptr<arrow::Scalar>& min,
                           const std::shared_ptr<arrow::Scalar>& max);

/// The value of `from` whose cast to `to` is `value`, where the cast from `from` keeps order and
/// distinctness and never fails; null if there is none (also when the cast is not of that kind).
/// Comparing columns of `from` with it equals comparing cast columns with `value`.
std::shared_ptr<arrow::Scalar> ValueBeforeCast(const DataType& from, const DataType& to,
                                               const std::shared_ptr<arrow::Scalar>& value);
/// Whether the cast is of that kind: NULL exactly where it was NULL, in the same order.
bool IsLosslessCast(const DataType& from, const DataType& to);

}  // namespace kelda
