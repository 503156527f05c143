#include "kelda/types/predicate.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include <arrow/type.h>
#include <arrow/util/decimal.h>

namespace kelda {

namespace {

const char* OpText(PredicateOp op) {
  switch (op) {
    case PredicateOp::kEq:
      return "=";
    case PredicateOp::kNe:
      return "<>";
    case PredicateOp::kLt:
      return "<";
    case PredicateOp::kLe:
      return "<=";
    case PredicateOp::kGt:
      return ">";
    case PredicateOp::kGe:
      return ">=";
    default:
      return "?";
  }
}

std::string ScalarText(const std::shared_ptr<arrow::Scalar>& scalar) {
  if (scalar == nullptr || !scalar->is_valid) return "NULL";
  if (arrow::is_base_binary_like(scalar->type->id())) return "'" + scalar->ToString() + "'";
  return scalar->ToString();
}

template <typename T>
int Compare3(const T& a, const T& b) {
  return a < b ? -1 : (b < a ? 1 : 0);
}

template <typename T>
int CompareFloating(T a, T b) {
  if (std::isnan(a) || std::isnan(b))
    return static_cast<int>(std::isnan(a)) - static_cast<int>(std::isnan(b));
  return Compare3(a, b);
}

template <typename ScalarType>
int ComparePrimitive(const arrow::Scalar& a, const arrow::Scalar& b) {
  return Compare3(static_cast<const ScalarType&>(a).value, static_cast<const ScalarType&>(b).value);
}

template <typename ScalarType>
int CompareFloatScalars(const arrow::Scalar& a, const arrow::Scalar& b) {
  return CompareFloating(static_cast<const ScalarType&>(a).value,
                         static_cast<const ScalarType&>(b).value);
}

/// Outcomes that rows of a file may have, over-estimated.
struct Outcomes {
  bool can_true = true;
  bool can_false = true;
  bool can_null = true;
};

Outcomes Either(const Outcomes& a, const Outcomes& b, bool conjunction) {
  // The decisive value (false for AND, true for OR) of one side is enough; the other value needs
  // both sides.
  const bool a_decisive = conjunction ? a.can_false : a.can_true;
  const bool b_decisive = conjunction ? b.can_false : b.can_true;
  const bool a_other = conjunction ? a.can_true : a.can_false;
  const bool b_other = conjunction ? b.can_true : b.can_false;
  const bool decisive = a_decisive || b_decisive;
  const bool other = a_other && b_other;
  const bool null = (a.can_null && (b.can_null || b_other)) || (b.can_null && a_other);
  return conjunction ? Outcomes{other, decisive, null} : Outcomes{decisive, other, null};
}

bool IsNan(const arrow::Scalar& scalar) {
  switch (scalar.type->id()) {
    case arrow::Type::FLOAT:
      return std::isnan(static_cast<const arrow::FloatScalar&>(scalar).value);
    case arrow::Type::DOUBLE:
      return std::isnan(static_cast<const arrow::DoubleScalar&>(scalar).value);
    default:
      return false;
  }
}

bool IsComparable(const arrow::DataType& type) {
  switch (type.id()) {
    case arrow::Type::BOOL:
    case arrow::Type::INT8:
    case arrow::Type::INT16:
    case arrow::Type::INT32:
    case arrow::Type::INT64:
    case arrow::Type::FLOAT:
    case arrow::Type::DOUBLE:
    case arrow::Type::DECIMAL128:
    case arrow::Type::STRING:
    case arrow::Type::BINARY:
    case arrow::Type::DATE32:
    case arrow::Type::TIME32:
    case arrow::Type::TIMESTAMP:
      return true;
    default:
      return false;
  }
}

std::string_view BytesOf(const arrow::Scalar& scalar) {
  return static_cast<const arrow::BaseBinaryScalar&>(scalar).view();
}

/// Bounds of the non-null, non-NaN values of a column against literals of `type`.
class Range {
 public:
  Range(const ColumnBounds& bounds, const arrow::DataType& type)
      : floating_(arrow::is_floating(type.id())) {
    if (!IsComparable(type)) return;
    const auto usable = [&](const std::shared_ptr<arrow::Scalar>& bound) {
      return bound != nullptr && bound->is_valid && bound->type->Equals(type) && !IsNan(*bound);
    };
    if (usable(bounds.min)) min_ = bounds.min.get();
    if (usable(bounds.max)) max_ = bounds.max.get();
    // Contradicting bounds say nothing (a writer's defect, such as a badly increased last code
    // point).
    if (min_ != nullptr && max_ != nullptr && CompareScalars(*min_, *max_) > 0)
      min_ = max_ = nullptr;
    // One NaN bound means that NaN took part in the order, and some writers then lose the other
    // values.
    if (floating_ && ((bounds.min != nullptr && bounds.min->is_valid && IsNan(*bounds.min))))
      min_ = max_ = nullptr;
  }

  /// Whether some value may give true; an over-estimate. FLOAT and DOUBLE columns may hold NaN
  /// outside the bounds.
  bool MayHold(PredicateOp op, const arrow::Scalar& x) const {
    if (!x.is_valid || !IsComparable(*x.type) || IsNan(x)) return true;
    switch (op) {
      case PredicateOp::kEq:
        return !(min_ != nullptr && CompareScalars(x, *min_) < 0) &&
               !(max_ != nullptr && CompareScalars(x, *max_) > 0);
      case PredicateOp::kNe:
        return floating_ || !(AllEqual() && CompareScalars(*min_, x) == 0);
      case PredicateOp::kLt:
        return !(min_ != nullptr && CompareScalars(*min_, x) >= 0);
      case PredicateOp::kLe:
        return !(min_ != nullptr && CompareScalars(*min_, x) > 0);
      case PredicateOp::kGt:
        return floating_ || !(max_ != nullptr && CompareScalars(*max_, x) <= 0);
      case PredicateOp::kGe:
        return floating_ || !(max_ != nullptr && CompareScalars(*max_, x) < 0);
      default:
        return true;
    }
  }

  bool AllEqual() const {
    return min_ != nullptr && max_ != nullptr && CompareScalars(*min_, *max_) == 0;
  }
  bool floating() const { return floating_; }
  const arrow::Scalar* min() const { return min_; }
  const arrow::Scalar* max() const { return max_; }

 private:
  bool floating_;
  const arrow::Scalar* min_ = nullptr;
  const arrow::Scalar* max_ = nullptr;
};

PredicateOp Opposite(PredicateOp op) {
  switch (op) {
    case PredicateOp::kEq:
      return PredicateOp::kNe;
    case PredicateOp::kNe:
      return PredicateOp::kEq;
    case PredicateOp::kLt:
      return PredicateOp::kGe;
    case PredicateOp::kLe:
      return PredicateOp::kGt;
    case PredicateOp::kGt:
      return PredicateOp::kLe;
    default:
      return PredicateOp::kLt;
  }
}

constexpr Outcomes kOnlyNull{false, false, true};

Outcomes InOutcomes(const Predicate& leaf, const ColumnBounds& bounds, bool has_null_values) {
  Outcomes outcomes{false, true, has_null_values};
  for (const auto& literal : leaf.literals) {
    if (literal == nullptr || !literal->is_valid) {
      // x IN (..., NULL) is never false.
      outcomes.can_false = false;
      outcomes.can_null = true;
      continue;
    }
    const Range range(bounds, *literal->type);
    if (range.MayHold(PredicateOp::kEq, *literal)) outcomes.can_true = true;
    if (!range.floating() && !range.MayHold(PredicateOp::kNe, *literal)) outcomes.can_false = false;
  }
  return outcomes;
}

Outcomes StartsWithOutcomes(const arrow::Scalar& prefix_scalar, const ColumnBounds& bounds,
                            bool has_null_values) {
  Outcomes outcomes{true, true, has_null_values};
  const auto id = prefix_scalar.type->id();
  if (id != arrow::Type::STRING && id != arrow::Type::BINARY) return outcomes;
  const Range range(bounds, *prefix_scalar.type);
  const std::string_view prefix = BytesOf(prefix_scalar);
  // Strings with the prefix are one interval of the order; cut to its length, a bound tells on
  // which side it is.
  const auto side = [&](const arrow::Scalar* bound) {
    return BytesOf(*bound).substr(0, prefix.size()).compare(prefix);
  };
  if (range.min() != nullptr && side(range.min()) > 0) outcomes.can_true = false;
  if (range.max() != nullptr && side(range.max()) < 0) outcomes.can_true = false;
  if (range.min() != nullptr && range.max() != nullptr && side(range.min()) == 0 &&
      side(range.max()) == 0) {
    outcomes.can_false = false;
  }
  return outcomes;
}

Outcomes LeafOutcomes(const Predicate& leaf, const BoundsSource& source) {
  const ColumnBounds bounds = source.Bounds(leaf.column).value_or(ColumnBounds{});
  const bool all_null =
      bounds.null_count && source.row_count() > 0 && *bounds.null_count == source.row_count();
  const bool has_null = !bounds.null_count || *bounds.null_count != 0;
  if (leaf.op == PredicateOp::kIsNull) return {has_null, !all_null, false};
  if (leaf.op == PredicateOp::kIsNotNull) return {!all_null, has_null, false};
  if (all_null) return kOnlyNull;
  if (leaf.op == PredicateOp::kIn) return InOutcomes(leaf, bounds, has_null);
  if (leaf.literals.size() != 1) return {};
  const auto& literal = leaf.literals[0];
  if (literal == nullptr || !literal->is_valid) return kOnlyNull;
  if (leaf.op == PredicateOp::kStartsWith) return StartsWithOutcomes(*literal, bounds, has_null);
  const Range range(bounds, *literal->type);
  return {range.MayHold(leaf.op, *literal), range.MayHold(Opposite(leaf.op), *literal), has_null};
}

Outcomes PossibleOutcomes(const Predicate& predicate, const BoundsSource& source) {
  switch (predicate.op) {
    case PredicateOp::kAnd:
    case PredicateOp::kOr: {
      const bool conjunction = predicate.op == PredicateOp::kAnd;
      Outcomes outcomes{conjunction, !conjunction, false};
      for (const auto& child : predicate.children) {
        outcomes = Either(outcomes, PossibleOutcomes(*child, source), conjunction);
      }
      return outcomes;
    }
    case PredicateOp::kNot: {
      if (predicate.children.size() != 1) return {};
      const Outcomes child = PossibleOutcomes(*predicate.children[0], source);
      return {child.can_false, child.can_true, child.can_null};
    }
    default:
      return LeafOutcomes(predicate, source);
  }
}

bool UsesOnly(const Predicate& predicate, const std::vector<std::string>& names) {
  if (!predicate.column.empty() &&
      std::find(names.begin(), names.end(), predicate.column[0]) == names.end()) {
    return false;
  }
  return std::all_of(predicate.children.begin(), predicate.children.end(),
                     [&](const auto& child) { return UsesOnly(*child, names); });
}

PredicatePtr Combine(PredicateOp op, std::vector<PredicatePtr> children) {
  auto combined = std::make_shared<Predicate>();
  combined->op = op;
  for (PredicatePtr& child : children) {
    if (child->op == op) {
      combined->children.insert(combined->children.end(), child->children.begin(),
                                child->children.end());
    } else {
      combined->children.push_back(std::move(child));
    }
  }
  if (combined->children.size() == 1) return combined->children[0];
  return combined;
}

}  // namespace

std::string Predicate::ToString() const {
  const auto name = [&] {
    std::string text;
    for (const std::string& part : column) text += (text.empty() ? "" : ".") + part;
    return text;
  };
  const auto literal = [&](size_t i) {
    return i < literals.size() ? ScalarText(literals[i]) : std::string("?");
  };
  switch (op) {
    case PredicateOp::kAnd:
    case PredicateOp::kOr: {
      const bool conjunction = op == PredicateOp::kAnd;
      if (children.empty()) return conjunction ? "TRUE" : "FALSE";
      std::string text = "(";
      for (const auto& child : children) {
        if (text.size() > 1) text += conjunction ? " AND " : " OR ";
        text += child->ToString();
      }
      return text + ")";
    }
    case PredicateOp::kNot:
      return "NOT " + (children.empty() ? std::string("?") : children[0]->ToString());
    case PredicateOp::kIn: {
      std::string text = name() + " IN (";
      for (size_t i = 0; i < literals.size(); ++i) text += (i == 0 ? "" : ", ") + literal(i);
      return text + ")";
    }
    case PredicateOp::kIsNull:
      return name() + " IS NULL";
    case PredicateOp::kIsNotNull:
      return name() + " IS NOT NULL";
    case PredicateOp::kStartsWith:
      return "starts_with(" + name() + ", " + literal(0) + ")";
    default:
      return name() + " " + OpText(op) + " " + literal(0);
  }
}

PredicatePtr And(std::vector<PredicatePtr> children) {
  std::erase(children, nullptr);
  return Combine(PredicateOp::kAnd, std::move(children));
}

PredicatePtr Or(std::vector<PredicatePtr> children) {
  if (std::find(children.begin(), children.end(), nullptr) != children.end()) return And({});
  return Combine(PredicateOp::kOr, std::move(children));
}

PredicatePtr Not(PredicatePtr child) {
  auto negation = std::make_shared<Predicate>();
  negation->op = PredicateOp::kNot;
  negation->children.push_back(child == nullptr ? And({}) : std::move(child));
  return negation;
}

PredicatePtr Leaf(PredicateOp op, std::vector<std::string> column,
                  std::vector<std::shared_ptr<arrow::Scalar>> literals) {
  auto leaf = std::make_shared<Predicate>();
  leaf->op = op;
  leaf->column = std::move(column);
  leaf->literals = std::move(literals);
  return leaf;
}

bool MayMatch(const Predicate& predicate, const BoundsSource& bounds) {
  return PossibleOutcomes(predicate, bounds).can_true;
}

int CompareScalars(const arrow::Scalar& a, const arrow::Scalar& b) {
  switch (a.type->id()) {
    case arrow::Type::BOOL:
      return ComparePrimitive<arrow::BooleanScalar>(a, b);
    case arrow::Type::INT8:
      return ComparePrimitive<arrow::Int8Scalar>(a, b);
    case arrow::Type::INT16:
      return ComparePrimitive<arrow::Int16Scalar>(a, b);
    case arrow::Type::INT32:
      return ComparePrimitive<arrow::Int32Scalar>(a, b);
    case arrow::Type::INT64:
      return ComparePrimitive<arrow::Int64Scalar>(a, b);
    case arrow::Type::FLOAT:
      return CompareFloatScalars<arrow::FloatScalar>(a, b);
    case arrow::Type::DOUBLE:
      return CompareFloatScalars<arrow::DoubleScalar>(a, b);
    case arrow::Type::DECIMAL128:
      return ComparePrimitive<arrow::Decimal128Scalar>(a, b);
    case arrow::Type::DATE32:
      return ComparePrimitive<arrow::Date32Scalar>(a, b);
    case arrow::Type::TIME32:
      return ComparePrimitive<arrow::Time32Scalar>(a, b);
    case arrow::Type::TIMESTAMP:
      return ComparePrimitive<arrow::TimestampScalar>(a, b);
    default: {
      // char_traits<char> compares as unsigned bytes.
      const int result = BytesOf(a).compare(BytesOf(b));
      return result < 0 ? -1 : (result > 0 ? 1 : 0);
    }
  }
}

SplitPredicate SplitByColumns(const PredicatePtr& predicate,
                              const std::vector<std::string>& names) {
  if (predicate == nullptr) return {};
  std::vector<PredicatePtr> inside;
  std::vector<PredicatePtr> outside;
  const auto place = [&](const PredicatePtr& conjunct) {
    (UsesOnly(*conjunct, names) ? inside : outside).push_back(conjunct);
  };
  if (predicate->op == PredicateOp::kAnd) {
    for (const auto& child : predicate->children) place(child);
  } else {
    place(predicate);
  }
  SplitPredicate split;
  if (!inside.empty()) split.inside = And(std::move(inside));
  if (!outside.empty()) split.outside = And(std::move(outside));
  return split;
}

}  // namespace kelda
