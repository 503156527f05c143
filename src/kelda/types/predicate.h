#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <arrow/array/array_primitive.h>
#include <arrow/record_batch.h>
#include <arrow/scalar.h>

#include "kelda/base/status.h"

namespace kelda {

enum class PredicateOp {
  kAnd,
  kOr,
  kNot,
  kEq,
  kNe,
  kLt,
  kLe,
  kGt,
  kGe,
  kIn,
  kIsNull,
  kIsNotNull,
  kStartsWith,
};

/// A filter over columns of a table. Leaves name a column by PATH (top-level name, then struct
/// member names) and carry literals whose Arrow type equals the column's Arrow type
/// (arrow_mapping.h). Immutable; share freely. Semantics are SQL's three-valued logic; a row passes
/// when the predicate is true.
struct Predicate {
  PredicateOp op = PredicateOp::kAnd;
  std::vector<std::shared_ptr<const Predicate>>
      children;                     ///< kAnd (empty = true), kOr (empty = false), kNot
  std::vector<std::string> column;  ///< leaves
  std::vector<std::shared_ptr<arrow::Scalar>>
      literals;  ///< 1 for comparisons, n for kIn, 0 for null tests

  std::string ToString() const;
};
using PredicatePtr = std::shared_ptr<const Predicate>;

PredicatePtr And(std::vector<PredicatePtr> children);
PredicatePtr Or(std::vector<PredicatePtr> children);
PredicatePtr Not(PredicatePtr child);
PredicatePtr Leaf(PredicateOp op, std::vector<std::string> column,
                  std::vector<std::shared_ptr<arrow::Scalar>> literals);

/// Bounds of one column in a file, row group or page. Null min/max = unknown. Bounds of strings may
/// be truncated (min shortened, max increased), never exact.
struct ColumnBounds {
  std::shared_ptr<arrow::Scalar> min;
  std::shared_ptr<arrow::Scalar> max;
  std::optional<int64_t> null_count;
};

/// Looks up bounds of a column path; nullopt = nothing known.
class BoundsSource {
 public:
  virtual ~BoundsSource() = default;
  virtual std::optional<ColumnBounds> Bounds(const std::vector<std::string>& column) const = 0;
  virtual int64_t row_count() const = 0;
};

/// False only if no row can satisfy `predicate` (spec 01 §5.7: unknown bounds never prune; a NaN
/// bound is unknown; -0.0 and 0.0 are equal).
bool MayMatch(const Predicate& predicate, const BoundsSource& bounds);

/// Register Arrow's compute kernels beyond the few that are always there; once per process, 4 ms.
/// Call before using them.
arrow::Status InitializeComputeKernels();

/// Row-wise evaluation with Arrow kernels: a boolean array (nulls where unknown) of
/// batch.num_rows().
arrow::Result<std::shared_ptr<arrow::BooleanArray>> Evaluate(const Predicate& predicate,
                                                             const arrow::RecordBatch& batch);

/// Total order of two non-null scalars of one type as Paimon orders keys (spec 01 §5.8): strings
/// and binary by unsigned bytes. REQUIRES: equal types, non-nested.
int CompareScalars(const arrow::Scalar& a, const arrow::Scalar& b);

/// Top-level conjuncts of `predicate` whose columns are all in `names` / the rest; either may be
/// null.
struct SplitPredicate {
  PredicatePtr inside;
  PredicatePtr outside;
};
SplitPredicate SplitByColumns(const PredicatePtr& predicate, const std::vector<std::string>& names);

}  // namespace kelda
