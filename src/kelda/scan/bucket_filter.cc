#include "kelda/scan/bucket_filter.h"

#include <algorithm>
#include <cmath>

#include <arrow/array/util.h>
#include <arrow/builder.h>

#include "kelda/types/arrow_mapping.h"

namespace kelda {

namespace {

constexpr size_t kCombinationsMax = 1000;

using Scalars = std::vector<std::shared_ptr<arrow::Scalar>>;

/// Values of one bucket key; null scalar = NULL.
struct KeyValues {
  Scalars values;

  void Add(const std::shared_ptr<arrow::Scalar>& value) {
    // The two zeros have different bytes.
    const auto exactly = arrow::EqualOptions::Defaults().signed_zeros_equal(false);
    const bool known = std::any_of(values.begin(), values.end(), [&](const auto& v) {
      return v == nullptr || value == nullptr ? v == value : v->Equals(*value, exactly);
    });
    if (!known) values.push_back(value);
  }
};

/// What = `value` finds, by the bytes that are hashed. nullopt: too many forms to tell.
std::optional<Scalars> StoredForms(const std::shared_ptr<arrow::Scalar>& value) {
  auto of_floating = [&](auto number, auto make) -> std::optional<Scalars> {
    if (std::isnan(number)) return std::nullopt;
    if (number == 0) return Scalars{make(decltype(number){0}), make(-decltype(number){0})};
    return Scalars{value};
  };
  if (value->type->id() == arrow::Type::DOUBLE) {
    return of_floating(static_cast<const arrow::DoubleScalar&>(*value).value,
                       [](double v) { return std::make_shared<arrow::DoubleScalar>(v); });
  }
  if (value->type->id() == arrow::Type::FLOAT) {
    return of_floating(static_cast<const arrow::FloatScalar&>(*value).value,
                       [](float v) { return std::make_shared<arrow::FloatScalar>(v); });
  }
  return Scalars{value};
}

/// The values of column `name` that `predicate` lets pass, if it binds them.
std::optional<KeyValues> ValuesOf(const Predicate& predicate, const std::string& name) {
  KeyValues out;
  switch (predicate.op) {
    case PredicateOp::kOr: {
      if (predicate.children.empty()) return std::nullopt;
      for (const auto& child : predicate.children) {
        auto values = ValuesOf(*child, name);
        if (!values) return std::nullopt;
        for (const auto& value : values->values) out.Add(value);
        if (out.values.size() > kCombinationsMax) return std::nullopt;
      }
      return out;
    }
    case PredicateOp::kAnd:
      // The rest of the conjunction only takes rows away.
      for (const auto& child : predicate.children) {
        auto values = ValuesOf(*child, name);
        if (values) return values;
      }
      return std::nullopt;
    case PredicateOp::kIsNull:
      if (predicate.column.size() != 1 || predicate.column[0] != name) return std::nullopt;
      out.Add(nullptr);
      return out;
    case PredicateOp::kEq:
    case PredicateOp::kIn:
      if (predicate.column.size() != 1 || predicate.column[0] != name) return std::nullopt;
      if (predicate.literals.size() > kCombinationsMax) return std::nullopt;
      for (const auto& literal : predicate.literals) {
        // = NULL finds nothing.
        if (literal == nullptr || !literal->is_valid) continue;
        auto forms = StoredForms(literal);
        if (!forms) return std::nullopt;
        for (const auto& form : *forms) out.Add(form);
      }
      return out;
    default:
      return std::nullopt;
  }
}

void CollectConjuncts(const PredicatePtr& predicate, std::vector<PredicatePtr>* conjuncts) {
  if (predicate->op != PredicateOp::kAnd) {
    conjuncts->push_back(predicate);
    return;
  }
  for (const auto& child : predicate->children) CollectConjuncts(child, conjuncts);
}

bool Names(const Predicate& predicate, const std::vector<std::string>& columns) {
  if (!predicate.column.empty() &&
      std::find(columns.begin(), columns.end(), predicate.column[0]) != columns.end())
    return true;
  return std::any_of(predicate.children.begin(), predicate.children.end(),
                     [&](const auto& child) { return Names(*child, columns); });
}

/// `predicate` for rows of one partition: what partition columns decide is decided. NULL counts as
/// false, which is right under AND and OR; below NOT nothing is replaced.
arrow::Result<PredicatePtr> WithPartition(const PredicatePtr& predicate,
                                          const std::vector<std::string>& keys,
                                          const arrow::RecordBatch& partition) {
  const bool junction = predicate->op == PredicateOp::kAnd || predicate->op == PredicateOp::kOr;
  if (!junction) {
    if (predicate->column.size() != 1 ||
        std::find(keys.begin(), keys.end(), predicate->column[0]) == keys.end())
      return predicate;
    ARROW_ASSIGN_OR_RAISE(auto passes, Evaluate(*predicate, partition));
    return passes->IsValid(0) && passes->Value(0) ? And({}) : Or({});
  }
  std::vector<PredicatePtr> children;
  for (const auto& child : predicate->children) {
    ARROW_ASSIGN_OR_RAISE(auto simple, WithPartition(child, keys, partition));
    const bool constant = simple->children.empty() &&
                          (simple->op == PredicateOp::kAnd || simple->op == PredicateOp::kOr);
    if (!constant) {
      children.push_back(std::move(simple));
    } else if (simple->op != predicate->op) {
      return simple;  // false decides an AND, true an OR
    }
  }
  if (children.size() == 1) return children[0];
  return predicate->op == PredicateOp::kAnd ? And(std::move(children)) : Or(std::move(children));
}

arrow::Result<std::shared_ptr<arrow::RecordBatch>> PartitionBatch(const TableContext& table,
                                                                  const std::string& partition) {
  ARROW_ASSIGN_OR_RAISE(auto schema, ToArrowSchema(table.PartitionFields()));
  ARROW_ASSIGN_OR_RAISE(auto values,
                        DecodePartition(table.PartitionTypes(), partition, "manifest entry"));
  arrow::ArrayVector columns;
  for (size_t i = 0; i < values.size(); ++i) {
    if (values[i]->is_valid) {
      ARROW_ASSIGN_OR_RAISE(auto column, arrow::MakeArrayFromScalar(*values[i], 1));
      columns.push_back(std::move(column));
    } else {
      ARROW_ASSIGN_OR_RAISE(auto column,
                            arrow::MakeArrayOfNull(schema->field(static_cast<int>(i))->type(), 1));
      columns.push_back(std::move(column));
    }
  }
  return arrow::RecordBatch::Make(std::move(schema), 1, std::move(columns));
}

/// All combinations of `keys`, as columns; nothing if a value does not fit its column.
std::optional<arrow::ArrayVector> Combine(const std::vector<DataField>& fields,
                                          const std::vector<KeyValues>& keys,
                                          int64_t combinations) {
  arrow::ArrayVector columns;
  int64_t repeat = combinations;
  for (size_t k = 0; k < keys.size(); ++k) {
    auto type = ToArrowType(fields[k].type);
    if (!type.ok()) return std::nullopt;
    const auto& values = keys[k].values;
    const auto count = static_cast<int64_t>(values.size());
    repeat /= count;
    std::unique_ptr<arrow::ArrayBuilder> builder;
    if (!arrow::MakeBuilder(arrow::default_memory_pool(), *type, &builder).ok())
      return std::nullopt;
    for (int64_t i = 0; i < combinations; ++i) {
      const auto& value = values[static_cast<size_t>(i / repeat % count)];
      if (value != nullptr && !value->type->Equals(**type)) return std::nullopt;
      auto appended = value == nullptr ? builder->AppendNull() : builder->AppendScalar(*value);
      if (!appended.ok()) return std::nullopt;
    }
    auto column = builder->Finish();
    if (!column.ok()) return std::nullopt;
    columns.push_back(std::move(*column));
  }
  return columns;
}

}  // namespace

std::unique_ptr<BucketFilter> BucketFilter::Make(const TableContext& table,
                                                 const PredicatePtr& predicate) {
  if (predicate == nullptr) return nullptr;
  auto rule = BucketRule::Of(table);
  // A table whose buckets cannot be computed is read in full.
  if (!rule.ok() || !*rule) return nullptr;
  std::unique_ptr<BucketFilter> filter(new BucketFilter(table, std::move(**rule), predicate));
  if (!filter->by_partition_ && filter->selections_[""].everything) return nullptr;
  return filter;
}

BucketFilter::BucketFilter(const TableContext& table, BucketRule rule, PredicatePtr predicate)
    : table_(table), rule_(std::move(rule)), predicate_(std::move(predicate)) {
  by_partition_ = Names(*predicate_, table_.schema->partition_keys);
  if (!by_partition_) selections_.emplace("", Select(predicate_));
}

BucketFilter::Selection BucketFilter::Select(const PredicatePtr& predicate) const {
  Selection selection;
  std::vector<PredicatePtr> conjuncts;
  CollectConjuncts(predicate, &conjuncts);
  std::vector<KeyValues> keys;
  size_t combinations = 1;
  for (const DataField& field : rule_.key_fields) {
    // Any conjunct that binds the key will do; of several, the one with the fewest values.
    std::optional<KeyValues> best;
    for (const auto& conjunct : conjuncts) {
      auto values = ValuesOf(*conjunct, field.name);
      if (values && (!best || values->values.size() < best->values.size()))
        best = std::move(values);
    }
    if (!best || best->values.empty()) return selection;
    combinations *= best->values.size();
    if (combinations > kCombinationsMax) return selection;
    keys.push_back(std::move(*best));
  }
  auto columns = Combine(rule_.key_fields, keys, static_cast<int64_t>(combinations));
  if (!columns) return selection;
  selection.everything = false;
  selection.keys = std::move(*columns);
  selection.combinations = static_cast<int64_t>(combinations);
  return selection;
}

arrow::Result<BucketFilter::Selection*> BucketFilter::SelectionOf(const std::string& partition) {
  const std::string key = by_partition_ ? partition : "";
  auto it = selections_.find(key);
  if (it != selections_.end()) return &it->second;
  ARROW_ASSIGN_OR_RAISE(auto values, PartitionBatch(table_, partition));
  ARROW_ASSIGN_OR_RAISE(auto simple,
                        WithPartition(predicate_, table_.schema->partition_keys, *values));
  return &selections_.emplace(key, Select(simple)).first->second;
}

/// Hashes depend on the type: files from before a change of a key's type are not judged.
bool BucketFilter::SameKeyTypes(int64_t schema_id) {
  if (schema_id == table_.schema->id) return true;
  auto it = same_key_types_.find(schema_id);
  if (it != same_key_types_.end()) return it->second;
  auto schema = table_.schemas->Read(schema_id);
  bool same = schema.ok();
  for (const DataField& key : rule_.key_fields) {
    if (!same) break;
    const auto& fields = (*schema)->fields;
    same = std::any_of(fields.begin(), fields.end(), [&](const DataField& field) {
      return field.id == key.id && field.type.EqualsIgnoringNullability(key.type);
    });
  }
  same_key_types_.emplace(schema_id, same);
  return same;
}

arrow::Result<bool> BucketFilter::Accepts(const ManifestEntry& entry) {
  if (entry.total_buckets <= 0 || entry.bucket < 0) return true;
  std::lock_guard lock(mutex_);
  ARROW_ASSIGN_OR_RAISE(Selection * selection, SelectionOf(entry.partition));
  if (selection->everything || !SameKeyTypes(entry.file.schema_id)) return true;
  auto [it, is_new] = selection->buckets.try_emplace(entry.total_buckets);
  if (is_new) {
    ARROW_ASSIGN_OR_RAISE(
        auto buckets,
        rule_.function->Buckets(selection->keys, selection->combinations, entry.total_buckets));
    it->second.insert(buckets.begin(), buckets.end());
  }
  return it->second.contains(entry.bucket);
}

}  // namespace kelda
