#pragma once

#include <memory>
#include <optional>
#include <vector>

#include <arrow/array.h>

#include "kelda/row/cast.h"
#include "kelda/types/data_type.h"
#include "kelda/types/predicate.h"

namespace kelda {

/// How one wanted field is made from a file that was written under another schema version (spec 01
/// §2.7): matched by field id at every depth, missing parts are null, changed types are cast.
/// DEFAULTs have no part in it: they are of the time of writing.
struct FieldMapping {
  DataField wanted;
  /// The part of the file's field that is read (file's names, ROW members limited to the mapped
  /// ones); nullopt: the file does not have the field. As in Java, a ROW none of whose wanted
  /// members is in the file is not there either, and so is what consists of such a ROW.
  std::optional<DataField> file;
  /// ROW: one per wanted member, `child_index` = its place in file->type.fields(), -1 if missing.
  /// ARRAY, MULTISET: the element. MAP: key, value.
  std::vector<FieldMapping> children;
  std::vector<int> child_index;
  /// True when file and wanted agree in everything but ids, so that arrays pass through untouched.
  bool identical = false;
  /// From file->type to wanted.type, where the values change.
  std::shared_ptr<const Cast> cast;
  /// Names table, file and column in the errors of `cast`.
  std::string context;
};

/// `context` names table and file in errors. Types that Java cannot read as the wanted ones are
/// Invalid.
arrow::Result<FieldMapping> MapField(const DataField& wanted,
                                     const std::vector<DataField>& file_fields,
                                     std::string_view context);

/// `array` in the file's form (of mapping.file) to the wanted form; `length` rows of nulls when the
/// file lacks the field.
arrow::Result<std::shared_ptr<arrow::Array>> ApplyMapping(
    const FieldMapping& mapping, const std::shared_ptr<arrow::Array>& array, int64_t length);

/// `predicate` over the table's columns as a superset predicate over the file's columns. Leaves on
/// columns that are missing there become "unknown", and those on columns of another type too,
/// unless the cast keeps order and distinctness and the literals have exact counterparts. Null =
/// nothing can be said.
PredicatePtr MapPredicate(const PredicatePtr& predicate, const std::vector<DataField>& table_fields,
                          const std::vector<DataField>& file_fields);

}  // namespace kelda
