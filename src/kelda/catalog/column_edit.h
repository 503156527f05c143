#pragma once

#include <functional>
#include <string>
#include <vector>

#include "kelda/catalog/schema_change.h"

namespace kelda {

/// What is done at the end of a path: to the field list that has (or gets) the last step, or, where
/// that is `element` or `value`, to a type without a field.
struct ColumnEdit {
  std::function<arrow::Status(std::vector<DataField>* fields, const std::string& name)> on_fields;
  /// Null: the path must end at a column or a member.
  std::function<arrow::Status(DataType* type)> on_type;
};

/// Change `fields` at `path` by `edit`; types on the way are rebuilt, ids stay. NotFound with the
/// path if a step is not there.
arrow::Status EditColumn(const ColumnPath& path, const ColumnEdit& edit,
                         std::vector<DataField>* fields);

/// `edit_type` as an edit of members too.
ColumnEdit TypeEdit(std::function<arrow::Status(DataType* type)> edit_type);

/// The field `name`, which must be there.
arrow::Result<DataField*> FindField(std::vector<DataField>* fields, const std::string& name);

}  // namespace kelda
