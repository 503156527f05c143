#include <unordered_map>

#include "kelda/row/binary_row.h"
#include "kelda/row/cast.h"
#include "kelda/scan/plan.h"

namespace kelda {

namespace {

class DataFileBounds : public BoundsSource {
 public:
  DataFileBounds(std::unordered_map<std::string, ColumnBounds> columns, int64_t rows)
      : columns_(std::move(columns)), rows_(rows) {}

  std::optional<ColumnBounds> Bounds(const std::vector<std::string>& column) const override {
    if (column.size() != 1) return std::nullopt;
    auto it = columns_.find(column[0]);
    if (it == columns_.end()) return std::nullopt;
    return it->second;
  }
  int64_t row_count() const override { return rows_; }

 private:
  std::unordered_map<std::string, ColumnBounds> columns_;
  int64_t rows_;
};

const DataField* FieldById(const std::vector<DataField>& fields, int32_t id) {
  for (const DataField& field : fields) {
    if (field.id == id) return &field;
  }
  return nullptr;
}

/// Java's statistics of CHAR in ORC files count the blanks that fill a value up, its values come
/// without them: the shorter text is below both.
std::shared_ptr<arrow::Scalar> LowerBound(const DataField& field,
                                          const std::shared_ptr<arrow::Scalar>& min) {
  if (field.type.root() != TypeRoot::kChar) return min;
  const std::string_view text = static_cast<const arrow::BaseBinaryScalar&>(*min).view();
  return std::make_shared<arrow::StringScalar>(
      std::string(text.substr(0, text.find_last_not_of(' ') + 1)));
}

/// Bounds of a column as its values are read: cast to the type it has now, where the cast keeps
/// their order. A column that is all NULL stays that.
ColumnBounds EvolvedBounds(const DataField& written, const DataField& current, ColumnBounds bounds,
                           int64_t row_count) {
  if (current.type.EqualsIgnoringNullability(written.type)) return bounds;
  CastBounds cast = BoundsAfterCast(written.type, current.type, bounds.min, bounds.max);
  const bool all_null = bounds.null_count && *bounds.null_count == row_count;
  ColumnBounds evolved{std::move(cast.min), std::move(cast.max), std::nullopt};
  if (cast.same_nulls || all_null) evolved.null_count = bounds.null_count;
  return evolved;
}

}  // namespace

arrow::Result<std::shared_ptr<BoundsSource>> FileBounds(const TableContext& table,
                                                        const DataFileMeta& file) {
  TableSchemaPtr file_schema = table.schema;
  if (file.schema_id != table.schema->id) {
    ARROW_ASSIGN_OR_RAISE(file_schema, table.schemas->Read(file.schema_id));
  }
  ARROW_ASSIGN_OR_RAISE(const auto stored, StoredFields(*file_schema, file));
  // Columns that the statistics cover, in order (spec 01 §5.7: dense store).
  std::vector<const DataField*> covered;
  if (file.value_stats_cols) {
    for (const std::string& name : *file.value_stats_cols) {
      int index = file_schema->FieldIndex(name);
      if (index < 0) {
        return Corruption(
            "data file '{}': statistics of column '{}', which schema {} does not have",
            file.file_name, name, file.schema_id);
      }
      covered.push_back(&file_schema->fields[index]);
    }
  } else {
    for (const DataField& field : stored) covered.push_back(&field);
  }

  std::unordered_map<std::string, ColumnBounds> columns;
  // A column that the file lacks is null in every row.
  for (const DataField& field : table.fields()) {
    if (FieldById(stored, field.id) == nullptr) {
      columns[field.name] = ColumnBounds{nullptr, nullptr, file.row_count};
    }
  }

  std::vector<DataType> types;
  for (const DataField* field : covered) types.push_back(field->type.WithNullable(true));
  ARROW_ASSIGN_OR_RAISE(SerializedRow min_row,
                        ParseSerializedRow(file.value_stats.min_values, file.file_name));
  ARROW_ASSIGN_OR_RAISE(SerializedRow max_row,
                        ParseSerializedRow(file.value_stats.max_values, file.file_name));
  const auto arity = static_cast<int32_t>(types.size());
  // Empty statistics (feature off, or dropped for DELETE entries) know nothing.
  if (min_row.arity == arity && max_row.arity == arity && arity > 0) {
    ARROW_ASSIGN_OR_RAISE(auto min, DecodeBinaryRow(types, min_row.row, file.file_name));
    ARROW_ASSIGN_OR_RAISE(auto max, DecodeBinaryRow(types, max_row.row, file.file_name));
    for (size_t i = 0; i < covered.size(); ++i) {
      const DataField* current = FieldById(table.fields(), covered[i]->id);
      if (current == nullptr) continue;
      ColumnBounds written;
      if (i < file.value_stats.null_counts.size())
        written.null_count = file.value_stats.null_counts[i];
      if (min[i]->is_valid) written.min = LowerBound(*covered[i], min[i]);
      if (max[i]->is_valid) written.max = max[i];
      ColumnBounds bounds =
          EvolvedBounds(*covered[i], *current, std::move(written), file.row_count);
      columns[current->name] = std::move(bounds);
    }
  }
  return std::make_shared<DataFileBounds>(std::move(columns), file.row_count);
}

}  // namespace kelda
