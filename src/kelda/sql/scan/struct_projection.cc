#include "kelda/sql/scan/struct_projection.h"

#include <algorithm>

#include <arrow/array.h>

#include "kelda/base/status.h"
#include "kelda/types/arrow_mapping.h"

namespace kelda::sql {

namespace {

bool SameMembers(const DataType& narrow, const DataType& full) {
  if (full.root() != TypeRoot::kRow) return true;
  if (narrow.fields().size() != full.fields().size()) return false;
  for (size_t i = 0; i < full.fields().size(); ++i) {
    if (!SameMembers(narrow.fields()[i].type, full.fields()[i].type)) return false;
  }
  return true;
}

arrow::Result<std::shared_ptr<arrow::Array>> Widen(const std::shared_ptr<arrow::Array>& array,
                                                   const DataType& narrow, const DataType& full) {
  if (SameMembers(narrow, full)) return array;
  const auto& row = static_cast<const arrow::StructArray&>(*array);
  ARROW_ASSIGN_OR_RAISE(auto type, ToArrowType(full));
  arrow::ArrayVector members;
  for (const DataField& member : full.fields()) {
    const auto& kept = narrow.fields();
    const auto it = std::find_if(kept.begin(), kept.end(),
                                 [&](const DataField& field) { return field.id == member.id; });
    if (it == kept.end()) {
      ARROW_ASSIGN_OR_RAISE(auto member_type, ToArrowType(member.type));
      ARROW_ASSIGN_OR_RAISE(members.emplace_back(),
                            arrow::MakeArrayOfNull(member_type, row.length()));
      continue;
    }
    // StructArray::field applies the offset of the row.
    ARROW_ASSIGN_OR_RAISE(
        members.emplace_back(),
        Widen(row.field(static_cast<int>(it - kept.begin())), it->type, member.type));
  }
  std::shared_ptr<arrow::Buffer> validity;
  if (row.null_count() > 0 && row.offset() == 0) {
    validity = row.null_bitmap();
  } else if (row.null_count() > 0) {
    ARROW_ASSIGN_OR_RAISE(validity, arrow::AllocateBitmap(row.length()));
    for (int64_t i = 0; i < row.length(); ++i)
      arrow::bit_util::SetBitTo(validity->mutable_data(), i, row.IsValid(i));
  }
  return std::make_shared<arrow::StructArray>(std::move(type), row.length(), std::move(members),
                                              std::move(validity), row.null_count());
}

}  // namespace

DataField NarrowField(const DataField& field, const duckdb::vector<duckdb::ColumnIndex>& wanted) {
  if (wanted.empty() || field.type.root() != TypeRoot::kRow) return field;
  std::vector<DataField> members;
  for (size_t i = 0; i < field.type.fields().size(); ++i) {
    for (const duckdb::ColumnIndex& child : wanted) {
      // A member that is named by its name stands for something else than a ROW.
      if (!child.HasPrimaryIndex()) return field;
      if (child.GetPrimaryIndex() != i) continue;
      members.push_back(NarrowField(field.type.fields()[i], child.GetChildIndexes()));
      break;
    }
  }
  if (members.empty()) return field;
  DataField narrow = field;
  narrow.type = DataType::Row(std::move(members), field.type.nullable());
  return narrow;
}

arrow::Result<std::shared_ptr<arrow::RecordBatch>> WidenBatch(
    const std::shared_ptr<arrow::RecordBatch>& batch, const std::vector<DataField>& narrow,
    const std::vector<DataField>& full) {
  arrow::ArrayVector columns = batch->columns();
  bool changed = false;
  for (size_t i = 0; i < full.size(); ++i) {
    ARROW_ASSIGN_OR_RAISE(auto column, Widen(columns[i], narrow[i].type, full[i].type));
    changed = changed || column != columns[i];
    columns[i] = std::move(column);
  }
  if (!changed) return batch;
  ARROW_ASSIGN_OR_RAISE(auto schema, ToArrowSchema(full));
  return arrow::RecordBatch::Make(std::move(schema), batch->num_rows(), std::move(columns));
}

}  // namespace kelda::sql
