#include "kelda/read/field_mapping.h"

#include <algorithm>

#include <arrow/array/util.h>
#include <arrow/util/bitmap_ops.h>

#include "kelda/types/arrow_mapping.h"

namespace kelda {

namespace {

const DataField* FindById(const std::vector<DataField>& fields, int32_t id) {
  for (const DataField& field : fields) {
    if (field.id == id) return &field;
  }
  return nullptr;
}

/// Types whose stored values need no change, however long they are.
bool SameValues(const DataType& file, const DataType& wanted) {
  if (file.EqualsIgnoringNullability(wanted)) return true;
  if (wanted.root() == TypeRoot::kVarChar && wanted.length() == DataType::kLengthMax)
    return file.IsString();
  return wanted.root() == TypeRoot::kVarBinary && wanted.length() == DataType::kLengthMax &&
         file.IsBytes();
}

arrow::Result<FieldMapping> MapType(const DataField& wanted, const DataField& file,
                                    std::string_view context);

arrow::Result<FieldMapping> MapChild(const DataType& wanted, const DataType& file,
                                     std::string_view name, std::string_view context) {
  DataField wanted_field{-1, std::string(name), wanted, {}, {}};
  DataField file_field{-1, std::string(name), file, {}, {}};
  return MapType(wanted_field, file_field, context);
}

std::string ColumnContext(const DataField& wanted, const DataField& file,
                          std::string_view context) {
  return fmt::format("{}: column '{}', written as {} and {} now", context, wanted.name,
                     file.type.ToString(), wanted.type.ToString());
}

FieldMapping Missing(const DataField& wanted) {
  FieldMapping missing;
  missing.wanted = wanted;
  return missing;
}

arrow::Result<FieldMapping> MapRow(const DataField& wanted, const DataField& file,
                                   std::string_view context) {
  FieldMapping mapping;
  mapping.wanted = wanted;
  mapping.identical = wanted.type.fields().size() == file.type.fields().size();
  std::vector<DataField> members;
  for (size_t i = 0; i < wanted.type.fields().size(); ++i) {
    const DataField& member = wanted.type.fields()[i];
    const DataField* file_member = FindById(file.type.fields(), member.id);
    FieldMapping child = Missing(member);
    if (file_member != nullptr) {
      ARROW_ASSIGN_OR_RAISE(child, MapType(member, *file_member, context));
    }
    if (!child.file) {
      mapping.children.push_back(std::move(child));
      mapping.child_index.push_back(-1);
      mapping.identical = false;
      continue;
    }
    mapping.identical = mapping.identical && child.identical && member.name == file_member->name &&
                        file.type.fields()[i].id == member.id;
    mapping.child_index.push_back(static_cast<int>(members.size()));
    members.push_back(*child.file);
    mapping.children.push_back(std::move(child));
  }
  if (members.empty()) return Missing(wanted);
  DataField pruned = file;
  pruned.type = DataType::Row(std::move(members), file.type.nullable());
  mapping.file = std::move(pruned);
  return mapping;
}

arrow::Result<FieldMapping> MapLeaf(const DataField& wanted, const DataField& file,
                                    std::string_view context) {
  FieldMapping mapping;
  mapping.wanted = wanted;
  mapping.file = file;
  mapping.identical = SameValues(file.type, wanted.type);
  if (mapping.identical) return mapping;
  mapping.context = ColumnContext(wanted, file, context);
  auto cast = ResolveCast(file.type, wanted.type);
  if (!cast.ok()) return WithContext(cast.status(), mapping.context);
  mapping.cast = *std::move(cast);
  return mapping;
}

arrow::Result<FieldMapping> MapArray(const DataField& wanted, const DataField& file,
                                     std::string_view context) {
  ARROW_ASSIGN_OR_RAISE(auto element,
                        MapChild(wanted.type.element(), file.type.element(), wanted.name, context));
  if (!element.file) return Missing(wanted);
  FieldMapping mapping;
  mapping.wanted = wanted;
  DataField pruned = file;
  pruned.type = DataType::Array(element.file->type, file.type.nullable());
  mapping.file = std::move(pruned);
  mapping.identical = element.identical;
  mapping.children.push_back(std::move(element));
  return mapping;
}

arrow::Result<FieldMapping> MapMap(const DataField& wanted, const DataField& file,
                                   std::string_view context) {
  ARROW_ASSIGN_OR_RAISE(auto key,
                        MapChild(wanted.type.key(), file.type.key(), wanted.name, context));
  if (!key.identical) {
    return Invalid("{}: keys of a MAP cannot change their type",
                   ColumnContext(wanted, file, context));
  }
  ARROW_ASSIGN_OR_RAISE(auto value,
                        MapChild(wanted.type.value(), file.type.value(), wanted.name, context));
  if (!value.file) return Missing(wanted);
  FieldMapping mapping;
  mapping.wanted = wanted;
  DataField pruned = file;
  pruned.type = DataType::Map(key.file->type, value.file->type, file.type.nullable());
  mapping.file = std::move(pruned);
  mapping.identical = value.identical;
  mapping.children.push_back(std::move(key));
  mapping.children.push_back(std::move(value));
  return mapping;
}

arrow::Result<FieldMapping> MapType(const DataField& wanted, const DataField& file,
                                    std::string_view context) {
  if (wanted.type.root() != file.type.root()) return MapLeaf(wanted, file, context);
  switch (wanted.type.root()) {
    case TypeRoot::kRow:
      return MapRow(wanted, file, context);
    case TypeRoot::kArray:
      return MapArray(wanted, file, context);
    case TypeRoot::kMap:
      return MapMap(wanted, file, context);
    default:
      return MapLeaf(wanted, file, context);
  }
}

/// The rewritten predicate, and whether it is equivalent to the original (not only implied by it).
struct Rewritten {
  PredicatePtr predicate;  // null = true
  bool exact = true;
};

/// What `leaf`, on a column of `wanted` that the file has as `file`, says of the file's column at
/// `path`.
Rewritten RewriteTypes(const Predicate& leaf, std::vector<std::string> path, const DataType& file,
                       const DataType& wanted) {
  const Rewritten unknown{nullptr, false};
  if (SameValues(file, wanted)) return {Leaf(leaf.op, std::move(path), leaf.literals), true};
  // A nested value has no order, and NULL inside of it is not the same in both.
  if (file.IsNested() || wanted.IsNested()) return unknown;
  if (leaf.op == PredicateOp::kIsNull || leaf.op == PredicateOp::kIsNotNull) {
    if (!BoundsAfterCast(file, wanted, nullptr, nullptr).same_nulls) return unknown;
    return {Leaf(leaf.op, std::move(path), {}), true};
  }
  if (!IsLosslessCast(file, wanted)) return unknown;
  std::vector<std::shared_ptr<arrow::Scalar>> literals;
  for (const auto& literal : leaf.literals) {
    if (auto before = ValueBeforeCast(file, wanted, literal)) literals.push_back(std::move(before));
  }
  if (literals.size() == leaf.literals.size())
    return {Leaf(leaf.op, std::move(path), std::move(literals)), true};
  // No value of the file is equal to the others; where it is NULL the leaf is unknown, not false.
  if (leaf.op == PredicateOp::kIn && !literals.empty())
    return {Leaf(leaf.op, std::move(path), std::move(literals)), false};
  const bool is_equality = leaf.op == PredicateOp::kEq || leaf.op == PredicateOp::kIn;
  const bool has_null = std::any_of(leaf.literals.begin(), leaf.literals.end(),
                                    [](const auto& literal) { return !literal->is_valid; });
  if (is_equality && !has_null) return {Or({}), false};
  return unknown;
}

Rewritten RewriteLeaf(const PredicatePtr& leaf, const std::vector<DataField>& table_fields,
                      const std::vector<DataField>& file_fields) {
  const Rewritten unknown{nullptr, false};
  const std::vector<DataField>* tables = &table_fields;
  const std::vector<DataField>* files = &file_fields;
  std::vector<std::string> path;
  for (size_t depth = 0; depth < leaf->column.size(); ++depth) {
    const DataField* table_field = nullptr;
    for (const DataField& field : *tables) {
      if (field.name == leaf->column[depth]) table_field = &field;
    }
    if (table_field == nullptr) return unknown;
    const DataField* file_field = FindById(*files, table_field->id);
    if (file_field == nullptr) return unknown;
    path.push_back(file_field->name);
    if (depth + 1 == leaf->column.size())
      return RewriteTypes(*leaf, std::move(path), file_field->type, table_field->type);
    if (table_field->type.root() != TypeRoot::kRow || file_field->type.root() != TypeRoot::kRow)
      return unknown;
    tables = &table_field->type.fields();
    files = &file_field->type.fields();
  }
  return unknown;
}

Rewritten Rewrite(const PredicatePtr& predicate, const std::vector<DataField>& table_fields,
                  const std::vector<DataField>& file_fields) {
  switch (predicate->op) {
    case PredicateOp::kAnd:
    case PredicateOp::kOr: {
      const bool is_and = predicate->op == PredicateOp::kAnd;
      std::vector<PredicatePtr> children;
      bool exact = true;
      for (const PredicatePtr& child : predicate->children) {
        Rewritten r = Rewrite(child, table_fields, file_fields);
        exact = exact && r.exact;
        if (r.predicate != nullptr) {
          children.push_back(std::move(r.predicate));
        } else if (!is_and) {
          return {nullptr, false};
        }
      }
      if (is_and && children.empty()) return {nullptr, exact};
      return {is_and ? And(std::move(children)) : Or(std::move(children)), exact};
    }
    case PredicateOp::kNot: {
      // The negation of a superset is a subset: only an equivalent child may be negated.
      Rewritten r = Rewrite(predicate->children[0], table_fields, file_fields);
      if (!r.exact || r.predicate == nullptr) return {nullptr, false};
      auto negated = std::make_shared<Predicate>();
      negated->op = PredicateOp::kNot;
      negated->children = {r.predicate};
      return {negated, true};
    }
    default:
      return RewriteLeaf(predicate, table_fields, file_fields);
  }
}

/// `data` with other type (same layout): used where only names differ.
std::shared_ptr<arrow::ArrayData> Retyped(const arrow::ArrayData& data,
                                          std::shared_ptr<arrow::DataType> type) {
  auto copy = data.Copy();
  copy->type = std::move(type);
  return copy;
}

arrow::Result<std::shared_ptr<arrow::ArrayData>> Apply(
    const FieldMapping& mapping, const std::shared_ptr<arrow::ArrayData>& data);

/// Validity of `data` from its first row on; null when nothing is NULL.
arrow::Result<std::shared_ptr<arrow::Buffer>> Validity(const arrow::ArrayData& data) {
  if (data.GetNullCount() == 0 || data.buffers[0] == nullptr) return nullptr;
  if (data.offset == 0) return data.buffers[0];
  return arrow::internal::CopyBitmap(arrow::default_memory_pool(), data.buffers[0]->data(),
                                     data.offset, data.length);
}

/// `child` with NULL wherever the ROW around it is NULL: what stands there is nobody's value, and
/// must not fail a cast.
arrow::Result<std::shared_ptr<arrow::ArrayData>> HideUnderNulls(
    const std::shared_ptr<arrow::ArrayData>& child, const arrow::Buffer* row_validity) {
  if (row_validity == nullptr) return child;
  auto hidden = child->Copy();
  hidden->null_count = arrow::kUnknownNullCount;
  if (child->buffers[0] == nullptr || child->GetNullCount() == 0) {
    // The child's rows may start behind its buffers' beginning.
    ARROW_ASSIGN_OR_RAISE(auto bitmap, arrow::AllocateEmptyBitmap(child->offset + child->length));
    arrow::internal::CopyBitmap(row_validity->data(), 0, child->length, bitmap->mutable_data(),
                                child->offset);
    hidden->buffers[0] = std::move(bitmap);
    return hidden;
  }
  ARROW_ASSIGN_OR_RAISE(hidden->buffers[0],
                        arrow::internal::BitmapAnd(
                            arrow::default_memory_pool(), child->buffers[0]->data(), child->offset,
                            row_validity->data(), 0, child->length, child->offset));
  return hidden;
}

arrow::Result<std::shared_ptr<arrow::ArrayData>> ApplyRow(
    const FieldMapping& mapping, const arrow::ArrayData& data,
    const std::shared_ptr<arrow::DataType>& type) {
  ARROW_ASSIGN_OR_RAISE(auto validity, Validity(data));
  auto out = arrow::ArrayData::Make(type, data.length, {validity}, data.GetNullCount());
  for (size_t i = 0; i < mapping.children.size(); ++i) {
    if (mapping.child_index[i] < 0) {
      ARROW_ASSIGN_OR_RAISE(auto nulls, arrow::MakeArrayOfNull(
                                            type->field(static_cast<int>(i))->type(), data.length));
      out->child_data.push_back(nulls->data());
      continue;
    }
    auto child = data.child_data[static_cast<size_t>(mapping.child_index[i])]->Slice(data.offset,
                                                                                     data.length);
    if (mapping.children[i].cast != nullptr) {
      ARROW_ASSIGN_OR_RAISE(child, HideUnderNulls(child, validity.get()));
    }
    ARROW_ASSIGN_OR_RAISE(child, Apply(mapping.children[i], child));
    out->child_data.push_back(std::move(child));
  }
  return out;
}

/// An ARRAY or MAP without its child: rows from the first on, and offsets that start at 0, so that
/// only the part of the child that is in use is changed. `first` and `count` tell that part.
arrow::Result<std::shared_ptr<arrow::ArrayData>> ListFrame(const arrow::ArrayData& data,
                                                           std::shared_ptr<arrow::DataType> type,
                                                           int64_t* first, int64_t* count) {
  *first = *count = 0;
  ARROW_ASSIGN_OR_RAISE(auto validity, Validity(data));
  ARROW_ASSIGN_OR_RAISE(auto offsets, arrow::AllocateBuffer((data.length + 1) *
                                                            static_cast<int64_t>(sizeof(int32_t))));
  auto* out = reinterpret_cast<int32_t*>(offsets->mutable_data());
  out[0] = 0;
  if (data.length > 0) {
    const auto* in = data.GetValues<int32_t>(1);
    *first = in[0];
    *count = in[data.length] - in[0];
    for (int64_t i = 0; i <= data.length; ++i) out[i] = in[i] - in[0];
  }
  return arrow::ArrayData::Make(std::move(type), data.length,
                                {std::move(validity), std::move(offsets)}, data.GetNullCount());
}

arrow::Result<std::shared_ptr<arrow::ArrayData>> ApplyArray(
    const FieldMapping& mapping, const arrow::ArrayData& data,
    const std::shared_ptr<arrow::DataType>& type) {
  int64_t first = 0;
  int64_t count = 0;
  ARROW_ASSIGN_OR_RAISE(auto out, ListFrame(data, type, &first, &count));
  ARROW_ASSIGN_OR_RAISE(auto element,
                        Apply(mapping.children[0], data.child_data[0]->Slice(first, count)));
  out->child_data.push_back(std::move(element));
  return out;
}

arrow::Result<std::shared_ptr<arrow::ArrayData>> ApplyMap(
    const FieldMapping& mapping, const arrow::ArrayData& data,
    const std::shared_ptr<arrow::DataType>& type) {
  int64_t first = 0;
  int64_t count = 0;
  ARROW_ASSIGN_OR_RAISE(auto out, ListFrame(data, type, &first, &count));
  const arrow::ArrayData& entries = *data.child_data[0];
  auto pairs = arrow::ArrayData::Make(type->field(0)->type(), count, {nullptr}, 0);
  for (size_t i = 0; i < 2; ++i) {
    ARROW_ASSIGN_OR_RAISE(
        auto child,
        Apply(mapping.children[i], entries.child_data[i]->Slice(entries.offset + first, count)));
    pairs->child_data.push_back(std::move(child));
  }
  out->child_data.push_back(std::move(pairs));
  return out;
}

arrow::Result<std::shared_ptr<arrow::ArrayData>> Apply(
    const FieldMapping& mapping, const std::shared_ptr<arrow::ArrayData>& data) {
  if (mapping.cast != nullptr) {
    auto result = mapping.cast->Apply(arrow::MakeArray(data));
    if (!result.ok()) return WithContext(result.status(), mapping.context);
    return (*result)->data();
  }
  ARROW_ASSIGN_OR_RAISE(auto type, ToArrowType(mapping.wanted.type));
  if (mapping.identical) return Retyped(*data, type);
  switch (mapping.wanted.type.root()) {
    case TypeRoot::kRow:
      return ApplyRow(mapping, *data, type);
    case TypeRoot::kArray:
      return ApplyArray(mapping, *data, type);
    case TypeRoot::kMap:
      return ApplyMap(mapping, *data, type);
    default:
      return Retyped(*data, type);
  }
}

}  // namespace

arrow::Result<FieldMapping> MapField(const DataField& wanted,
                                     const std::vector<DataField>& file_fields,
                                     std::string_view context) {
  const DataField* file = FindById(file_fields, wanted.id);
  if (file == nullptr) return Missing(wanted);
  return MapType(wanted, *file, context);
}

arrow::Result<std::shared_ptr<arrow::Array>> ApplyMapping(
    const FieldMapping& mapping, const std::shared_ptr<arrow::Array>& array, int64_t length) {
  if (!mapping.file) {
    ARROW_ASSIGN_OR_RAISE(auto type, ToArrowType(mapping.wanted.type));
    return arrow::MakeArrayOfNull(type, length);
  }
  if (mapping.identical && !mapping.wanted.type.IsNested()) return array;
  ARROW_ASSIGN_OR_RAISE(auto data, Apply(mapping, array->data()));
  return arrow::MakeArray(data);
}

PredicatePtr MapPredicate(const PredicatePtr& predicate, const std::vector<DataField>& table_fields,
                          const std::vector<DataField>& file_fields) {
  if (predicate == nullptr) return nullptr;
  return Rewrite(predicate, table_fields, file_fields).predicate;
}

}  // namespace kelda
