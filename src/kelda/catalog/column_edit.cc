#include "kelda/catalog/column_edit.h"

#include <fmt/ranges.h>

#include <span>

namespace kelda {

namespace {

using Steps = std::span<const std::string>;

arrow::Status EditFields(Steps steps, const ColumnEdit& edit, std::vector<DataField>* fields);

/// The child of an ARRAY or MAP that `step` names.
arrow::Result<DataType> ChildAt(const DataType& type, const std::string& step) {
  if (type.root() == TypeRoot::kArray && step == "element") return type.element();
  if (type.root() == TypeRoot::kMap && step == "value") return type.value();
  if (type.root() == TypeRoot::kMap && step == "key")
    return Invalid("the keys of a MAP cannot change");
  if (type.root() == TypeRoot::kArray || type.root() == TypeRoot::kMap) {
    return NotFound("'{}' is no part of {}, the step into it is '{}'", step, type.ToString(),
                    type.root() == TypeRoot::kArray ? "element" : "value");
  }
  return NotFound("there is no '{}' in {}", step, type.ToString());
}

arrow::Status EditInside(Steps steps, const ColumnEdit& edit, DataType* type) {
  if (type->root() == TypeRoot::kRow) {
    std::vector<DataField> members = type->fields();
    ARROW_RETURN_NOT_OK(EditFields(steps, edit, &members));
    *type = DataType::Row(std::move(members), type->nullable());
    return arrow::Status::OK();
  }
  ARROW_ASSIGN_OR_RAISE(DataType child, ChildAt(*type, steps.front()));
  if (steps.size() > 1) {
    ARROW_RETURN_NOT_OK(EditInside(steps.subspan(1), edit, &child));
  } else if (edit.on_type != nullptr) {
    ARROW_RETURN_NOT_OK(edit.on_type(&child));
  } else {
    return Invalid("'{}' of {} is no column", steps.front(), type->ToString());
  }
  *type = type->root() == TypeRoot::kArray
              ? DataType::Array(std::move(child), type->nullable())
              : DataType::Map(type->key(), std::move(child), type->nullable());
  return arrow::Status::OK();
}

arrow::Status EditFields(Steps steps, const ColumnEdit& edit, std::vector<DataField>* fields) {
  if (steps.size() == 1) return edit.on_fields(fields, steps.front());
  ARROW_ASSIGN_OR_RAISE(DataField * field, FindField(fields, steps.front()));
  return EditInside(steps.subspan(1), edit, &field->type);
}

}  // namespace

std::string ColumnPath::ToString() const { return fmt::format("{}", fmt::join(steps_, ".")); }

arrow::Result<DataField*> FindField(std::vector<DataField>* fields, const std::string& name) {
  for (DataField& field : *fields) {
    if (field.name == name) return &field;
  }
  return NotFound("there is no column '{}'", name);
}

arrow::Status EditColumn(const ColumnPath& path, const ColumnEdit& edit,
                         std::vector<DataField>* fields) {
  if (path.steps().empty()) return Invalid("a change names no column");
  const arrow::Status status = EditFields(path.steps(), edit, fields);
  return path.IsColumn() ? status
                         : WithContext(status, fmt::format("column '{}'", path.ToString()));
}

ColumnEdit TypeEdit(std::function<arrow::Status(DataType* type)> edit_type) {
  ColumnEdit edit;
  edit.on_fields = [edit_type](std::vector<DataField>* fields, const std::string& name) {
    ARROW_ASSIGN_OR_RAISE(DataField * field, FindField(fields, name));
    return edit_type(&field->type);
  };
  edit.on_type = edit_type;
  return edit;
}

}  // namespace kelda
