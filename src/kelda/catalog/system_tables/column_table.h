#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include <arrow/record_batch.h>
#include <arrow/scalar.h>

#include "kelda/base/cancellation.h"
#include "kelda/base/executor.h"
#include "kelda/metadata/table_context.h"
#include "kelda/types/data_type.h"

namespace kelda::system_tables {

/// One value: NULL, a number (a timestamp is its milliseconds, a boolean 0 or 1), text, a list of
/// texts, or a scalar of the column's type.
using Cell = std::variant<std::monostate, int64_t, std::string, std::vector<std::string>,
                          std::shared_ptr<arrow::Scalar>>;

template <typename T>
Cell OrNull(const std::optional<T>& value) {
  if (!value) return std::monostate();
  return Cell(*value);
}

/// A column of a system table and how its value is made from one item (a snapshot, a file, ...).
template <typename Item>
struct Column {
  const char* name;
  DataType type;
  std::function<arrow::Result<Cell>(const Item&)> value;
};

/// Fields with the ids of their places.
template <typename Item>
std::vector<DataField> FieldsOf(const std::vector<Column<Item>>& columns) {
  std::vector<DataField> fields;
  for (const Column<Item>& column : columns) {
    DataField field;
    field.id = static_cast<int32_t>(fields.size());
    field.name = column.name;
    field.type = column.type;
    fields.push_back(std::move(field));
  }
  return fields;
}

/// The same of a function that returns the columns, as SystemTable::fields wants it.
template <typename Item, const std::vector<Column<Item>>& (*kColumns)()>
arrow::Result<std::vector<DataField>> FieldsOfTable(const TableContext*) {
  return FieldsOf(kColumns());
}

inline DataType TextType(bool nullable) { return DataType::String(nullable); }
inline DataType BigIntType(bool nullable) { return DataType(TypeRoot::kBigInt, nullable); }
inline DataType BooleanType(bool nullable) { return DataType(TypeRoot::kBoolean, nullable); }
inline DataType IntType(bool nullable) { return DataType(TypeRoot::kInt, nullable); }
inline DataType TimeType(bool nullable) {
  return DataType::Temporal(TypeRoot::kTimestamp, 3, nullable);
}

/// A batch of `rows` rows whose column i has the type of `fields[i]` and the values `cell(i, row)`,
/// made in chunks of rows on `executor`. Text that is not UTF-8 is made so, since it comes from
/// files.
arrow::Result<std::shared_ptr<arrow::RecordBatch>> BuildBatch(
    const std::vector<DataField>& fields, int64_t rows,
    const std::function<arrow::Result<Cell>(int column, int64_t row)>& cell, Executor& executor,
    const CancellationToken& token);

/// The columns at `wanted` for `items`; others are not computed.
template <typename Item>
arrow::Result<std::shared_ptr<arrow::RecordBatch>> BuildTable(
    const std::vector<Column<Item>>& columns, const std::vector<int>& wanted,
    const std::vector<Item>& items, Executor& executor, const CancellationToken& token) {
  const std::vector<DataField> all = FieldsOf(columns);
  std::vector<DataField> fields;
  for (int index : wanted) fields.push_back(all[index]);
  return BuildBatch(
      fields, static_cast<int64_t>(items.size()),
      [&](int column, int64_t row) { return columns[wanted[column]].value(items[row]); }, executor,
      token);
}

}  // namespace kelda::system_tables
