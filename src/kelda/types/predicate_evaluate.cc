// Row-wise evaluation of predicates with Arrow's kernels.
#include <utility>

#include <arrow/compute/api.h>
#include <arrow/compute/initialize.h>

#include "kelda/types/map_values.h"
#include "kelda/types/predicate.h"

namespace kelda {

namespace {

namespace cp = arrow::compute;

/// The kernels live in a library of their own and must be registered once per process.
std::string PathText(const std::vector<std::string>& path) {
  std::string text;
  for (const std::string& part : path) text += (text.empty() ? "" : ".") + part;
  return text;
}

/// Column at `path`; a null struct makes its members null, a key that a map lacks is null.
arrow::Result<std::shared_ptr<arrow::Array>> ColumnAt(const std::vector<std::string>& path,
                                                      const arrow::RecordBatch& batch) {
  if (path.empty()) return Invalid("predicate leaf without a column");
  std::shared_ptr<arrow::Array> column = batch.GetColumnByName(path[0]);
  for (size_t i = 1; column != nullptr && i < path.size(); ++i) {
    if (column->type_id() == arrow::Type::MAP) {
      ARROW_ASSIGN_OR_RAISE(column,
                            MapValues(static_cast<const arrow::MapArray&>(*column), path[i]));
      continue;
    }
    if (column->type_id() != arrow::Type::STRUCT) {
      column = nullptr;
      break;
    }
    const int index = static_cast<const arrow::StructType&>(*column->type()).GetFieldIndex(path[i]);
    if (index < 0) {
      column = nullptr;
      break;
    }
    ARROW_ASSIGN_OR_RAISE(column,
                          static_cast<const arrow::StructArray&>(*column).GetFlattenedField(index));
  }
  if (column == nullptr) {
    return Invalid("predicate column '{}' is not in the batch of columns {}", PathText(path),
                   batch.schema()->ToString());
  }
  return column;
}

arrow::Status CheckLiteral(const arrow::Array& column, const std::vector<std::string>& path,
                           const std::shared_ptr<arrow::Scalar>& literal) {
  if (literal != nullptr && literal->is_valid && !literal->type->Equals(*column.type())) {
    return Invalid("predicate literal of type {} for column '{}' of type {}",
                   literal->type->ToString(), PathText(path), column.type()->ToString());
  }
  return arrow::Status::OK();
}

arrow::Result<arrow::Datum> NullResult(int64_t length) {
  ARROW_ASSIGN_OR_RAISE(auto array, arrow::MakeArrayOfNull(arrow::boolean(), length));
  return arrow::Datum(std::move(array));
}

const char* KernelOf(PredicateOp op) {
  switch (op) {
    case PredicateOp::kEq:
      return "equal";
    case PredicateOp::kNe:
      return "not_equal";
    case PredicateOp::kLt:
      return "less";
    case PredicateOp::kLe:
      return "less_equal";
    case PredicateOp::kGt:
      return "greater";
    default:
      return "greater_equal";
  }
}

arrow::Result<arrow::Datum> Call(const char* kernel, std::vector<arrow::Datum> arguments) {
  return cp::CallFunction(kernel, std::move(arguments));
}

/// FLOAT and DOUBLE: the kernels' comparisons with NaN are all false (`<>` true); here NaN is the
/// greatest value.
arrow::Result<arrow::Datum> CompareFloating(PredicateOp op,
                                            const std::shared_ptr<arrow::Array>& column,
                                            const std::shared_ptr<arrow::Scalar>& literal) {
  ARROW_ASSIGN_OR_RAISE(arrow::Datum is_nan, Call("is_nan", {column}));
  ARROW_ASSIGN_OR_RAISE(arrow::Datum literal_nan, Call("is_nan", {literal}));
  if (literal_nan.scalar_as<arrow::BooleanScalar>().value) {
    switch (op) {
      case PredicateOp::kEq:
      case PredicateOp::kGe:
        return is_nan;
      case PredicateOp::kNe:
      case PredicateOp::kLt:
        return Call("invert", {is_nan});
      case PredicateOp::kLe:
        return Call("or", {is_nan, arrow::Datum(true)});
      default:
        return Call("and", {is_nan, arrow::Datum(false)});
    }
  }
  ARROW_ASSIGN_OR_RAISE(arrow::Datum result, Call(KernelOf(op), {column, literal}));
  if (op == PredicateOp::kGt || op == PredicateOp::kGe) return Call("or", {result, is_nan});
  return result;
}

arrow::Result<arrow::Datum> EvaluateComparison(const Predicate& leaf,
                                               const std::shared_ptr<arrow::Array>& column) {
  if (leaf.literals.size() != 1)
    return Invalid("comparison '{}' needs one literal", leaf.ToString());
  const auto& literal = leaf.literals[0];
  ARROW_RETURN_NOT_OK(CheckLiteral(*column, leaf.column, literal));
  if (literal == nullptr || !literal->is_valid) return NullResult(column->length());
  if (leaf.op == PredicateOp::kStartsWith) {
    if (!arrow::is_base_binary_like(column->type_id())) {
      return Invalid("starts_with needs a string column, '{}' is {}", PathText(leaf.column),
                     column->type()->ToString());
    }
    const cp::MatchSubstringOptions options(
        std::string(static_cast<const arrow::BaseBinaryScalar&>(*literal).view()));
    return cp::CallFunction("starts_with", {column}, &options);
  }
  if (arrow::is_floating(column->type_id())) return CompareFloating(leaf.op, column, literal);
  return Call(KernelOf(leaf.op), {column, literal});
}

arrow::Result<arrow::Datum> EvaluateIn(const Predicate& leaf,
                                       const std::shared_ptr<arrow::Array>& column) {
  for (const auto& literal : leaf.literals)
    ARROW_RETURN_NOT_OK(CheckLiteral(*column, leaf.column, literal));
  if (arrow::is_floating(column->type_id())) {
    // The kernel is_in tells -0.0 from 0.0.
    ARROW_ASSIGN_OR_RAISE(arrow::Datum result, Call("is_null", {column}));
    ARROW_ASSIGN_OR_RAISE(auto nulls, arrow::MakeArrayOfNull(arrow::boolean(), column->length()));
    ARROW_ASSIGN_OR_RAISE(result, Call("if_else", {result, nulls, arrow::Datum(false)}));
    for (const auto& literal : leaf.literals) {
      ARROW_ASSIGN_OR_RAISE(
          arrow::Datum equal,
          EvaluateComparison(*Leaf(PredicateOp::kEq, leaf.column, {literal}), column));
      ARROW_ASSIGN_OR_RAISE(result, Call("or_kleene", {result, equal}));
    }
    return result;
  }
  ARROW_ASSIGN_OR_RAISE(auto builder, arrow::MakeBuilder(column->type()));
  for (const auto& literal : leaf.literals) {
    if (literal == nullptr || !literal->is_valid) {
      ARROW_RETURN_NOT_OK(builder->AppendNull());
    } else {
      ARROW_RETURN_NOT_OK(builder->AppendScalar(*literal));
    }
  }
  ARROW_ASSIGN_OR_RAISE(auto values, builder->Finish());
  const cp::SetLookupOptions options(values,
                                     cp::SetLookupOptions::NullMatchingBehavior::INCONCLUSIVE);
  return cp::CallFunction("is_in", {column}, &options);
}

arrow::Result<arrow::Datum> EvaluateNode(const Predicate& predicate,
                                         const arrow::RecordBatch& batch) {
  switch (predicate.op) {
    case PredicateOp::kAnd:
    case PredicateOp::kOr: {
      const bool conjunction = predicate.op == PredicateOp::kAnd;
      ARROW_ASSIGN_OR_RAISE(auto start, arrow::MakeArrayFromScalar(
                                            arrow::BooleanScalar(conjunction), batch.num_rows()));
      arrow::Datum result(std::move(start));
      for (const auto& child : predicate.children) {
        ARROW_ASSIGN_OR_RAISE(arrow::Datum value, EvaluateNode(*child, batch));
        ARROW_ASSIGN_OR_RAISE(result,
                              Call(conjunction ? "and_kleene" : "or_kleene", {result, value}));
      }
      return result;
    }
    case PredicateOp::kNot: {
      if (predicate.children.size() != 1) return Invalid("NOT needs one operand");
      ARROW_ASSIGN_OR_RAISE(arrow::Datum value, EvaluateNode(*predicate.children[0], batch));
      return Call("invert", {value});
    }
    default:
      break;
  }
  ARROW_ASSIGN_OR_RAISE(auto column, ColumnAt(predicate.column, batch));
  switch (predicate.op) {
    case PredicateOp::kIsNull:
      return Call("is_null", {column});
    case PredicateOp::kIsNotNull:
      return Call("is_valid", {column});
    case PredicateOp::kIn:
      return EvaluateIn(predicate, column);
    default:
      return EvaluateComparison(predicate, column);
  }
}

}  // namespace

arrow::Result<std::shared_ptr<arrow::BooleanArray>> Evaluate(const Predicate& predicate,
                                                             const arrow::RecordBatch& batch) {
  ARROW_RETURN_NOT_OK(InitializeComputeKernels());
  ARROW_ASSIGN_OR_RAISE(arrow::Datum result, EvaluateNode(predicate, batch));
  return std::static_pointer_cast<arrow::BooleanArray>(result.make_array());
}

arrow::Status InitializeComputeKernels() {
  static const arrow::Status status = cp::Initialize();
  return status;
}

}  // namespace kelda
