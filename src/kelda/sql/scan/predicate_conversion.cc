#include "kelda/sql/scan/predicate_conversion.h"

#include <optional>
#include <string>

#include "duckdb/common/string_util.hpp"
#include "duckdb/planner/expression/list.hpp"
#include "duckdb/planner/filter/expression_filter.hpp"
#include "duckdb/planner/filter/list.hpp"

#include "kelda/sql/types/value.h"

namespace kelda::sql {

namespace {

using duckdb::Expression;
using duckdb::ExpressionClass;
using duckdb::ExpressionType;
using duckdb::Value;

constexpr int kDepthMax = 100;

/// A column, a member of a ROW column, or the value of a MAP column for a key.
struct ColumnRef {
  std::vector<std::string> path;
  const DataType* type = nullptr;
};

std::optional<PredicateOp> ComparisonOp(ExpressionType type) {
  switch (type) {
    case ExpressionType::COMPARE_EQUAL:
      return PredicateOp::kEq;
    case ExpressionType::COMPARE_NOTEQUAL:
      return PredicateOp::kNe;
    case ExpressionType::COMPARE_LESSTHAN:
      return PredicateOp::kLt;
    case ExpressionType::COMPARE_LESSTHANOREQUALTO:
      return PredicateOp::kLe;
    case ExpressionType::COMPARE_GREATERTHAN:
      return PredicateOp::kGt;
    case ExpressionType::COMPARE_GREATERTHANOREQUALTO:
      return PredicateOp::kGe;
    default:
      return std::nullopt;
  }
}

PredicateOp Mirrored(PredicateOp op) {
  switch (op) {
    case PredicateOp::kLt:
      return PredicateOp::kGt;
    case PredicateOp::kLe:
      return PredicateOp::kGe;
    case PredicateOp::kGt:
      return PredicateOp::kLt;
    case PredicateOp::kGe:
      return PredicateOp::kLe;
    default:
      return op;
  }
}

/// Types whose order and equality are the same in both engines. Floats differ in NaN and -0.0: what
/// Kelda says about them is a superset only.
bool OrdersAlike(const DataType& type) {
  return type.root() != TypeRoot::kFloat && type.root() != TypeRoot::kDouble;
}

ConvertedFilter Comparison(const ColumnRef& column, PredicateOp op, const Value& value) {
  if (value.IsNull()) return {};
  auto literal = ToScalar(value, *column.type, column.path[0]);
  if (!literal.ok()) return {};
  return {Leaf(op, column.path, {*literal}), OrdersAlike(*column.type)};
}

ConvertedFilter In(const ColumnRef& column, const duckdb::vector<Value>& values) {
  std::vector<std::shared_ptr<arrow::Scalar>> literals;
  bool exact = OrdersAlike(*column.type);
  for (const Value& value : values) {
    if (value.IsNull()) {
      exact = false;
      continue;
    }
    auto literal = ToScalar(value, *column.type, column.path[0]);
    if (!literal.ok()) return {};
    literals.push_back(*literal);
  }
  return {Leaf(PredicateOp::kIn, column.path, std::move(literals)), exact};
}

ConvertedFilter StartsWith(const ColumnRef& column, const Value& prefix) {
  if (!column.type->IsString()) return {};
  return Comparison(column, PredicateOp::kStartsWith, prefix);
}

ConvertedFilter Combine(bool conjunction, std::vector<ConvertedFilter> parts) {
  std::vector<PredicatePtr> children;
  bool exact = true;
  for (ConvertedFilter& part : parts) {
    exact = exact && part.exact && part.predicate != nullptr;
    if (part.predicate != nullptr) {
      children.push_back(std::move(part.predicate));
    } else if (!conjunction) {
      return {};
    }
  }
  if (children.empty()) return {};
  return {conjunction ? And(std::move(children)) : Or(std::move(children)), exact};
}

ConvertedFilter Negate(ConvertedFilter filter) {
  // The negation of a superset would lose rows.
  if (filter.predicate == nullptr || !filter.exact) return {};
  return {Not(std::move(filter.predicate)), true};
}

/// Member `index` (from 0) of the ROW that `column` is.
std::optional<ColumnRef> Member(const ColumnRef& column, size_t index) {
  if (column.type->root() != TypeRoot::kRow || index >= column.type->fields().size())
    return std::nullopt;
  const DataField& member = column.type->fields()[index];
  ColumnRef ref = column;
  ref.path.push_back(member.name);
  ref.type = &member.type;
  return ref;
}

std::optional<size_t> MemberIndex(const DataType& type, const std::string& name) {
  if (type.root() != TypeRoot::kRow) return std::nullopt;
  std::optional<size_t> found;
  for (size_t i = 0; i < type.fields().size(); ++i) {
    if (!duckdb::StringUtil::CIEquals(type.fields()[i].name, name)) continue;
    if (found) return std::nullopt;
    found = i;
  }
  return found;
}

class ExpressionConverter {
 public:
  /// `get` null: BOUND_REF and column references of any binding mean `column`.
  ExpressionConverter(const duckdb::LogicalGet* get, const std::vector<DataField>* fields,
                      const ColumnRef* column)
      : get_(get), fields_(fields), column_(column) {}

  ConvertedFilter Convert(const Expression& expression, int depth) const {
    if (depth > kDepthMax) return {};
    switch (expression.GetExpressionClass()) {
      case ExpressionClass::BOUND_COMPARISON:
        return ConvertComparison(expression.Cast<duckdb::BoundComparisonExpression>());
      case ExpressionClass::BOUND_CONJUNCTION:
        return ConvertConjunction(expression.Cast<duckdb::BoundConjunctionExpression>(), depth);
      case ExpressionClass::BOUND_OPERATOR:
        return ConvertOperator(expression.Cast<duckdb::BoundOperatorExpression>(), depth);
      case ExpressionClass::BOUND_BETWEEN:
        return ConvertBetween(expression.Cast<duckdb::BoundBetweenExpression>());
      case ExpressionClass::BOUND_FUNCTION:
        return ConvertFunction(expression.Cast<duckdb::BoundFunctionExpression>());
      default:
        return ConvertBooleanColumn(expression);
    }
  }

 private:
  std::optional<ColumnRef> Column(const Expression& expression) const {
    switch (expression.GetExpressionClass()) {
      case ExpressionClass::BOUND_REF:
        if (column_ != nullptr) return *column_;
        return std::nullopt;
      case ExpressionClass::BOUND_COLUMN_REF: {
        if (column_ != nullptr) return *column_;
        const auto& ref = expression.Cast<duckdb::BoundColumnRefExpression>();
        const auto& ids = get_->GetColumnIds();
        if (ref.depth != 0 || ref.binding.table_index != get_->table_index ||
            ref.binding.column_index >= ids.size()) {
          return std::nullopt;
        }
        const auto index = ids[ref.binding.column_index].GetPrimaryIndex();
        if (index >= fields_->size()) return std::nullopt;
        const DataField& field = (*fields_)[index];
        return ColumnRef{{field.name}, &field.type};
      }
      case ExpressionClass::BOUND_FUNCTION: {
        const auto& call = expression.Cast<duckdb::BoundFunctionExpression>();
        auto member = StructMember(call);
        return member ? member : MapValue(call);
      }
      default:
        return std::nullopt;
    }
  }

  std::optional<ColumnRef> StructMember(const duckdb::BoundFunctionExpression& call) const {
    const bool by_name = call.function.name == "struct_extract";
    if (!by_name && call.function.name != "struct_extract_at") return std::nullopt;
    if (call.children.size() != 2) return std::nullopt;
    auto parent = Column(*call.children[0]);
    auto key = Constant(*call.children[1]);
    if (!parent || !key || key->IsNull()) return std::nullopt;
    if (by_name && key->type().id() == duckdb::LogicalTypeId::VARCHAR) {
      auto index = MemberIndex(*parent->type, duckdb::StringValue::Get(*key));
      if (!index) return std::nullopt;
      return Member(*parent, *index);
    }
    if (by_name || key->type().id() != duckdb::LogicalTypeId::BIGINT) return std::nullopt;
    const int64_t position = duckdb::BigIntValue::Get(*key);
    if (position < 1) return std::nullopt;
    return Member(*parent, static_cast<size_t>(position - 1));
  }

  /// `map['key']` of a column with string keys.
  std::optional<ColumnRef> MapValue(const duckdb::BoundFunctionExpression& call) const {
    if (call.function.name != "map_extract_value" && call.function.name != "array_extract")
      return std::nullopt;
    if (call.children.size() != 2) return std::nullopt;
    auto map = Column(*call.children[0]);
    auto key = Constant(*call.children[1]);
    if (!map || map->path.size() != 1 || map->type->root() != TypeRoot::kMap) return std::nullopt;
    if (!key || key->IsNull() || key->type().id() != duckdb::LogicalTypeId::VARCHAR ||
        !map->type->key().IsString()) {
      return std::nullopt;
    }
    // Of nested values only NULL could be asked.
    if (map->type->value().IsNested()) return std::nullopt;
    return ColumnRef{{map->path[0], duckdb::StringValue::Get(*key)}, &map->type->value()};
  }

  static std::optional<Value> Constant(const Expression& expression) {
    if (expression.GetExpressionClass() != ExpressionClass::BOUND_CONSTANT) return std::nullopt;
    return expression.Cast<duckdb::BoundConstantExpression>().value;
  }

  ConvertedFilter ConvertComparison(const duckdb::BoundComparisonExpression& comparison) const {
    auto op = ComparisonOp(comparison.GetExpressionType());
    if (!op) return {};
    auto column = Column(*comparison.left);
    auto value = Constant(*comparison.right);
    if (!column || !value) {
      column = Column(*comparison.right);
      value = Constant(*comparison.left);
      op = Mirrored(*op);
    }
    if (!column || !value) return {};
    return Comparison(*column, *op, *value);
  }

  ConvertedFilter ConvertConjunction(const duckdb::BoundConjunctionExpression& conjunction,
                                     int depth) const {
    std::vector<ConvertedFilter> parts;
    for (const auto& child : conjunction.children) parts.push_back(Convert(*child, depth + 1));
    return Combine(conjunction.GetExpressionType() == ExpressionType::CONJUNCTION_AND,
                   std::move(parts));
  }

  ConvertedFilter ConvertOperator(const duckdb::BoundOperatorExpression& call, int depth) const {
    switch (call.GetExpressionType()) {
      case ExpressionType::OPERATOR_NOT:
        return Negate(Convert(*call.children[0], depth + 1));
      case ExpressionType::OPERATOR_IS_NULL:
      case ExpressionType::OPERATOR_IS_NOT_NULL: {
        auto column = Column(*call.children[0]);
        if (!column) return {};
        const bool is_null = call.GetExpressionType() == ExpressionType::OPERATOR_IS_NULL;
        return {Leaf(is_null ? PredicateOp::kIsNull : PredicateOp::kIsNotNull, column->path, {}),
                true};
      }
      case ExpressionType::COMPARE_IN:
      case ExpressionType::COMPARE_NOT_IN: {
        auto column = Column(*call.children[0]);
        if (!column) return {};
        duckdb::vector<Value> values;
        for (size_t i = 1; i < call.children.size(); ++i) {
          auto value = Constant(*call.children[i]);
          if (!value) return {};
          values.push_back(std::move(*value));
        }
        ConvertedFilter in = In(*column, values);
        return call.GetExpressionType() == ExpressionType::COMPARE_IN ? in : Negate(std::move(in));
      }
      default:
        return {};
    }
  }

  ConvertedFilter ConvertBetween(const duckdb::BoundBetweenExpression& between) const {
    auto column = Column(*between.input);
    if (!column) return {};
    std::vector<ConvertedFilter> parts(2);
    if (auto lower = Constant(*between.lower)) {
      parts[0] = Comparison(*column, between.lower_inclusive ? PredicateOp::kGe : PredicateOp::kGt,
                            *lower);
    }
    if (auto upper = Constant(*between.upper)) {
      parts[1] = Comparison(*column, between.upper_inclusive ? PredicateOp::kLe : PredicateOp::kLt,
                            *upper);
    }
    return Combine(true, std::move(parts));
  }

  ConvertedFilter ConvertFunction(const duckdb::BoundFunctionExpression& call) const {
    const std::string& name = call.function.name;
    if (name == "prefix" || name == "starts_with" || name == "^@") {
      if (call.children.size() != 2) return {};
      auto column = Column(*call.children[0]);
      auto value = Constant(*call.children[1]);
      if (!column || !value) return {};
      return StartsWith(*column, *value);
    }
    return ConvertBooleanColumn(call);
  }

  /// `WHERE flag`.
  ConvertedFilter ConvertBooleanColumn(const Expression& expression) const {
    auto column = Column(expression);
    if (!column || column->type->root() != TypeRoot::kBoolean) return {};
    return Comparison(*column, PredicateOp::kEq, Value::BOOLEAN(true));
  }

  const duckdb::LogicalGet* get_;
  const std::vector<DataField>* fields_;
  const ColumnRef* column_;
};

ConvertedFilter ConvertFilter(const duckdb::TableFilter& filter, const ColumnRef& column,
                              int depth);

ConvertedFilter ConvertDynamic(const duckdb::DynamicFilter& dynamic, const ColumnRef& column,
                               int depth) {
  if (!dynamic.filter_data || !dynamic.filter_data->initialized) return {};
  std::lock_guard lock(dynamic.filter_data->lock);
  if (!dynamic.filter_data->filter) return {};
  return ConvertFilter(*dynamic.filter_data->filter, column, depth + 1);
}

template <typename Children>
ConvertedFilter ConvertChildren(bool conjunction, const Children& children, const ColumnRef& column,
                                int depth) {
  std::vector<ConvertedFilter> parts;
  for (const auto& child : children) parts.push_back(ConvertFilter(*child, column, depth + 1));
  return Combine(conjunction, std::move(parts));
}

ConvertedFilter ConvertFilter(const duckdb::TableFilter& filter, const ColumnRef& column,
                              int depth) {
  using duckdb::TableFilterType;
  if (depth > kDepthMax) return {};
  switch (filter.filter_type) {
    case TableFilterType::CONSTANT_COMPARISON: {
      const auto& constant = filter.Cast<duckdb::ConstantFilter>();
      auto op = ComparisonOp(constant.comparison_type);
      return op ? Comparison(column, *op, constant.constant) : ConvertedFilter{};
    }
    case TableFilterType::IS_NULL:
      return {Leaf(PredicateOp::kIsNull, column.path, {}), true};
    case TableFilterType::IS_NOT_NULL:
      return {Leaf(PredicateOp::kIsNotNull, column.path, {}), true};
    case TableFilterType::CONJUNCTION_OR:
      return ConvertChildren(false, filter.Cast<duckdb::ConjunctionOrFilter>().child_filters,
                             column, depth);
    case TableFilterType::CONJUNCTION_AND:
      return ConvertChildren(true, filter.Cast<duckdb::ConjunctionAndFilter>().child_filters,
                             column, depth);
    case TableFilterType::STRUCT_EXTRACT: {
      const auto& member_filter = filter.Cast<duckdb::StructFilter>();
      auto member = Member(column, member_filter.child_idx);
      if (!member) return {};
      return ConvertFilter(*member_filter.child_filter, *member, depth + 1);
    }
    case TableFilterType::OPTIONAL_FILTER: {
      // It need not be applied, but a row that it refuses is not wanted.
      const auto& optional = filter.Cast<duckdb::OptionalFilter>();
      if (!optional.child_filter) return {};
      ConvertedFilter child = ConvertFilter(*optional.child_filter, column, depth + 1);
      child.exact = false;
      return child;
    }
    case TableFilterType::IN_FILTER:
      return In(column, filter.Cast<duckdb::InFilter>().values);
    case TableFilterType::DYNAMIC_FILTER: {
      ConvertedFilter child = ConvertDynamic(filter.Cast<duckdb::DynamicFilter>(), column, depth);
      child.exact = false;
      return child;
    }
    case TableFilterType::EXPRESSION_FILTER: {
      const auto& expression = *filter.Cast<duckdb::ExpressionFilter>().expr;
      return ExpressionConverter(nullptr, nullptr, &column).Convert(expression, depth + 1);
    }
    default:
      return {};
  }
}

}  // namespace

ConvertedFilter ConvertExpression(const Expression& expression, const duckdb::LogicalGet& get,
                                  const std::vector<DataField>& fields) {
  return ExpressionConverter(&get, &fields, nullptr).Convert(expression, 0);
}

PredicatePtr ConvertTableFilters(const duckdb::TableFilterSet& filters,
                                 const duckdb::vector<duckdb::column_t>& column_ids,
                                 const std::vector<DataField>& fields) {
  std::vector<PredicatePtr> conjuncts;
  for (const auto& [place, filter] : filters.filters) {
    if (place >= column_ids.size() || column_ids[place] >= fields.size()) continue;
    const DataField& field = fields[column_ids[place]];
    auto converted = ConvertFilter(*filter, ColumnRef{{field.name}, &field.type}, 0);
    if (converted.predicate != nullptr) conjuncts.push_back(std::move(converted.predicate));
  }
  if (conjuncts.empty()) return nullptr;
  return And(std::move(conjuncts));
}

std::vector<PredicatePtr> Conjuncts(const PredicatePtr& predicate) {
  if (predicate == nullptr) return {};
  if (predicate->op == PredicateOp::kAnd) return predicate->children;
  return {predicate};
}

}  // namespace kelda::sql
