#include <algorithm>

#include "kelda/scan/plan.h"
#include "kelda/types/special_fields.h"

namespace kelda {

bool IsBlobFile(const DataFileMeta& file) { return file.file_name.ends_with(".blob"); }

std::vector<ReadUnit> ReadUnits(const Split& split) {
  std::vector<ReadUnit> units;
  if (!split.section_ends.empty()) {
    size_t next = 0;
    for (size_t end : split.section_ends) {
      ReadUnit& unit = units.emplace_back();
      unit.merge = true;
      for (; next < end; ++next) {
        unit.files.push_back(next);
        unit.row_count += split.files[next].row_count;
      }
    }
    return units;
  }
  int64_t group_end = -1;
  for (size_t i = 0; i < split.files.size(); ++i) {
    const DataFileMeta& file = split.files[i];
    const bool grouped = split.data_evolution && file.first_row_id;
    // The planner put files of overlapping row ids next to each other, in the order of their ids.
    if (!grouped || *file.first_row_id >= group_end || units.empty()) {
      units.emplace_back();
      group_end = grouped ? *file.first_row_id + file.row_count : -1;
    } else {
      group_end = std::max(group_end, *file.first_row_id + file.row_count);
    }
    units.back().files.push_back(i);
    if (!IsBlobFile(file))
      units.back().row_count = std::max(units.back().row_count, file.row_count);
  }
  return units;
}

int64_t Split::RowCount() const {
  int64_t rows = 0;
  for (const ReadUnit& unit : ReadUnits(*this)) rows += unit.row_count;
  return rows;
}

std::optional<int64_t> Split::LiveRowCount() const {
  if (!section_ends.empty()) return std::nullopt;
  int64_t rows = RowCount();
  for (const auto& deletion : deletion_files) {
    if (!deletion) continue;
    if (!deletion->cardinality) return std::nullopt;
    rows -= *deletion->cardinality;
  }
  return rows;
}

std::string Split::FilePath(const DataFileMeta& file) const {
  return file.external_path ? *file.external_path : JoinPath(bucket_dir, file.file_name);
}

arrow::Result<std::vector<DataField>> StoredFields(const TableSchema& file_schema,
                                                   const DataFileMeta& file) {
  if (!file.write_cols) return file_schema.fields;
  std::vector<DataField> fields;
  for (const std::string& name : *file.write_cols) {
    if (name == kRowIdName) {
      fields.push_back(RowIdField());
    } else if (name == kSequenceNumberName) {
      fields.push_back(SequenceNumberField());
    } else {
      const int index = file_schema.FieldIndex(name);
      if (index < 0) {
        return Corruption(
            "data file '{}' is said to hold column '{}', which schema {} does not have",
            file.file_name, name, file.schema_id);
      }
      fields.push_back(file_schema.fields[static_cast<size_t>(index)]);
    }
  }
  return fields;
}

}  // namespace kelda
