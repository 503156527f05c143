#include "kelda/read/field_mapping.h"

#include <arrow/array/util.h>

#include "kelda/types/arrow_mapping.h"

namespace kelda {

namespace {

const DataField* FindById(const std::vector<DataField>& fields, int32_t id) {
  for (const DataField& field : fields) {
    if (field.id == id) return &field;
  }
  return nullptr;
}

/// Types whose stored values need no change: equal, or text and bytes that only became wider.
bool SameValues(const DataType& file, const DataType& wanted) {
  if (file.EqualsIgnoringNullability(wanted)) return true;
  if (file.root() == TypeRoot::kVarChar && wanted.root() == TypeRoot::kVarChar) {
    return wanted.length() >= file.length();
  }
  if (file.root() == TypeRoot::kVarBinary && wanted.root() == TypeRoot::kVarBinary) {
    return wanted.length() >= file.length();
  }
  return false;
}

arrow::Result<FieldMapping> MapType(const DataField& wanted, const DataField& file,
                                    std::string_view context);

arrow::Result<FieldMapping> MapChild(const DataType& wanted, const DataType& file,
                                     std::string_view name, std::string_view context) {
  DataField wanted_field{-1, std::string(name), wanted, {}, {}};
  DataField file_field{-1, std::string(name), file, {}, {}};
  return MapType(wanted_field, file_field, context);
}

arrow::Status RefuseCast(const DataField& wanted, const DataField& file, std::string_view context) {
  return Unsupported(
      "{}: column '{}' was written as {} and is {} now (reading through a type change)", context,
      wanted.name, file.type.ToString(), wanted.type.ToString());
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
    if (file_member == nullptr) {
      FieldMapping missing;
      missing.wanted = member;
      mapping.children.push_back(std::move(missing));
      mapping.child_index.push_back(-1);
      mapping.identical = false;
      continue;
    }
    ARROW_ASSIGN_OR_RAISE(FieldMapping child, MapType(member, *file_member, context));
    mapping.identical = mapping.identical && child.identical && member.name == file_member->name &&
                        file.type.fields()[i].id == member.id;
    mapping.child_index.push_back(static_cast<int>(members.size()));
    members.push_back(*child.file);
    mapping.children.push_back(std::move(child));
  }
  // The validity of a struct is only known through some member of it.
  if (members.empty() && !file.type.fields().empty()) members.push_back(file.type.fields()[0]);
  DataField pruned = file;
  pruned.type = DataType::Row(std::move(members), file.type.nullable());
  mapping.file = std::move(pruned);
  return mapping;
}

arrow::Result<FieldMapping> MapType(const DataField& wanted, const DataField& file,
                                    std::string_view context) {
  if (wanted.type.root() != file.type.root()) return RefuseCast(wanted, file, context);
  FieldMapping mapping;
  mapping.wanted = wanted;
  switch (wanted.type.root()) {
    case TypeRoot::kRow:
      return MapRow(wanted, file, context);
    case TypeRoot::kArray:
    case TypeRoot::kMultiset: {
      ARROW_ASSIGN_OR_RAISE(
          auto element, MapChild(wanted.type.element(), file.type.element(), wanted.name, context));
      // A MULTISET whose element changed is an error in Java too (spec 01 §2.7).
      if (wanted.type.root() == TypeRoot::kMultiset && !element.identical)
        return RefuseCast(wanted, file, context);
      DataField pruned = file;
      pruned.type = wanted.type.root() == TypeRoot::kArray
                        ? DataType::Array(element.file->type, file.type.nullable())
                        : DataType::Multiset(element.file->type, file.type.nullable());
      mapping.file = std::move(pruned);
      mapping.identical = element.identical;
      mapping.children.push_back(std::move(element));
      return mapping;
    }
    case TypeRoot::kMap: {
      ARROW_ASSIGN_OR_RAISE(auto key,
                            MapChild(wanted.type.key(), file.type.key(), wanted.name, context));
      ARROW_ASSIGN_OR_RAISE(auto value,
                            MapChild(wanted.type.value(), file.type.value(), wanted.name, context));
      DataField pruned = file;
      pruned.type = DataType::Map(key.file->type, value.file->type, file.type.nullable());
      mapping.file = std::move(pruned);
      mapping.identical = key.identical && value.identical;
      mapping.children.push_back(std::move(key));
      mapping.children.push_back(std::move(value));
      return mapping;
    }
    default:
      if (!SameValues(file.type, wanted.type)) return RefuseCast(wanted, file, context);
      mapping.file = file;
      mapping.identical = true;
      return mapping;
  }
}

/// The rewritten predicate, and whether it is equivalent to the original (not only implied by it).
struct Rewritten {
  PredicatePtr predicate;  // null = true
  bool exact = true;
};

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
    if (depth + 1 < leaf->column.size()) {
      if (table_field->type.root() != TypeRoot::kRow || file_field->type.root() != TypeRoot::kRow)
        return unknown;
      tables = &table_field->type.fields();
      files = &file_field->type.fields();
    } else if (!SameValues(file_field->type, table_field->type)) {
      return unknown;
    }
  }
  return {Leaf(leaf->op, std::move(path), leaf->literals), true};
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
    const FieldMapping& mapping, const std::shared_ptr<arrow::ArrayData>& data) {
  ARROW_ASSIGN_OR_RAISE(auto type, ToArrowType(mapping.wanted.type));
  if (mapping.identical) return Retyped(*data, type);
  auto out = Retyped(*data, type);
  switch (mapping.wanted.type.root()) {
    case TypeRoot::kRow: {
      out->child_data.clear();
      for (size_t i = 0; i < mapping.children.size(); ++i) {
        if (mapping.child_index[i] >= 0) {
          ARROW_ASSIGN_OR_RAISE(
              auto child, Apply(mapping.children[i], data->child_data[mapping.child_index[i]]));
          out->child_data.push_back(std::move(child));
        } else {
          // A struct array with an offset expects children that cover offset + length.
          ARROW_ASSIGN_OR_RAISE(auto nulls,
                                arrow::MakeArrayOfNull(type->field(static_cast<int>(i))->type(),
                                                       data->offset + data->length));
          out->child_data.push_back(nulls->data());
        }
      }
      return out;
    }
    case TypeRoot::kArray: {
      ARROW_ASSIGN_OR_RAISE(out->child_data[0], Apply(mapping.children[0], data->child_data[0]));
      return out;
    }
    case TypeRoot::kMap: {
      auto entries = Retyped(*data->child_data[0], type->field(0)->type());
      ARROW_ASSIGN_OR_RAISE(entries->child_data[0],
                            Apply(mapping.children[0], data->child_data[0]->child_data[0]));
      ARROW_ASSIGN_OR_RAISE(entries->child_data[1],
                            Apply(mapping.children[1], data->child_data[0]->child_data[1]));
      out->child_data[0] = std::move(entries);
      return out;
    }
    default:
      return out;
  }
}

}  // namespace

arrow::Result<FieldMapping> MapField(const DataField& wanted,
                                     const std::vector<DataField>& file_fields,
                                     std::string_view context) {
  const DataField* file = FindById(file_fields, wanted.id);
  if (file == nullptr) {
    FieldMapping missing;
    missing.wanted = wanted;
    return missing;
  }
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
