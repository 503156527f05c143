#include "kelda/scan/merge_tree_files.h"

#include <algorithm>
#include <map>

#include <arrow/array/util.h>

#include "kelda/row/binary_row.h"
#include "kelda/row/normalized_key.h"
#include "kelda/types/arrow_mapping.h"

namespace kelda {

namespace {

std::vector<DataField> KeyFields(const TableSchema& schema) {
  std::vector<DataField> fields;
  for (const std::string& key : TrimmedPrimaryKey(schema))
    fields.push_back(schema.fields[static_cast<size_t>(schema.FieldIndex(key))]);
  return fields;
}

std::vector<DataType> TypesOf(const std::vector<DataField>& fields) {
  std::vector<DataType> types;
  for (const DataField& field : fields) types.push_back(field.type);
  return types;
}

arrow::Result<TableSchemaPtr> SchemaOf(const TableContext& table, const DataFileMeta& file) {
  if (file.schema_id == table.schema->id) return table.schema;
  return table.schemas->Read(file.schema_id);
}

/// Key rows of files as byte strings in key order.
class KeyTexts {
 public:
  explicit KeyTexts(const TableContext& table) : table_(table), fields_(KeyFields(*table.schema)) {}

  arrow::Result<std::string> Normalized(const DataFileMeta& file, const std::string& key) const {
    const std::string source = fmt::format("key range of data file '{}'", file.file_name);
    ARROW_ASSIGN_OR_RAISE(const TableSchemaPtr schema, SchemaOf(table_, file));
    const auto types = TypesOf(KeyFields(*schema));
    ARROW_ASSIGN_OR_RAISE(const SerializedRow row, ParseSerializedRow(key, source));
    if (row.arity != static_cast<int32_t>(types.size()) || types.size() != fields_.size()) {
      return Corruption("{}: {} values, the primary key has {} columns", source, row.arity,
                        fields_.size());
    }
    ARROW_ASSIGN_OR_RAISE(const auto values, DecodeBinaryRow(types, row.row, source));
    arrow::ArrayVector columns;
    arrow::FieldVector names;
    std::vector<SortColumn> order;
    for (size_t i = 0; i < values.size(); ++i) {
      ARROW_ASSIGN_OR_RAISE(auto column, arrow::MakeArrayFromScalar(*values[i], 1));
      names.push_back(arrow::field(fields_[i].name, column->type()));
      columns.push_back(std::move(column));
      order.push_back({static_cast<int>(i), types[i], false});
    }
    const auto batch = arrow::RecordBatch::Make(arrow::schema(names), 1, std::move(columns));
    ARROW_ASSIGN_OR_RAISE(const auto keys, NormalizedKeys::Encode(*batch, order, order.size()));
    return std::string(keys.Key(0));
  }

 private:
  const TableContext& table_;
  const std::vector<DataField> fields_;
};

class FixedBounds : public BoundsSource {
 public:
  FixedBounds(std::map<std::string, ColumnBounds> columns, int64_t rows)
      : columns_(std::move(columns)), rows_(rows) {}
  std::optional<ColumnBounds> Bounds(const std::vector<std::string>& column) const override {
    if (column.size() != 1) return std::nullopt;
    const auto it = columns_.find(column[0]);
    if (it == columns_.end()) return std::nullopt;
    return it->second;
  }
  int64_t row_count() const override { return rows_; }

 private:
  std::map<std::string, ColumnBounds> columns_;
  int64_t rows_;
};

struct KeyedFile {
  DataFileMeta file;
  std::string min;
  std::string max;
};

/// Assign the files of one section, in (min, max) order, to as few runs as possible.
MergeSection MakeRuns(std::vector<KeyedFile> files) {
  struct Run {
    std::vector<DataFileMeta> files;
    std::string last_max;
  };
  std::vector<Run> runs;
  for (KeyedFile& keyed : files) {
    Run* target = nullptr;
    for (Run& run : runs) {
      if (run.last_max < keyed.min && (target == nullptr || run.last_max < target->last_max))
        target = &run;
    }
    if (target == nullptr) {
      runs.emplace_back();
      target = &runs.back();
    }
    target->files.push_back(std::move(keyed.file));
    target->last_max = std::move(keyed.max);
  }
  MergeSection section;
  for (Run& run : runs) section.runs.push_back(std::move(run.files));
  // Rows that tie in everything are decided by the order of runs: the older files first.
  std::stable_sort(section.runs.begin(), section.runs.end(), [](const auto& a, const auto& b) {
    return a[0].max_sequence_number < b[0].max_sequence_number;
  });
  return section;
}

}  // namespace

Options MergeOptionsOf(const TableContext& table) {
  if (MergeRules::Make(*table.schema, table.options).ok()) return table.options;
  return Options(table.schema->options);
}

arrow::Result<MergeRules> MergeRulesOf(const TableContext& table) {
  auto rules = MergeRules::Make(*table.schema, table.options);
  if (rules.ok()) return rules;
  auto of_schema = MergeRules::Make(*table.schema, Options(table.schema->options));
  if (of_schema.ok()) return of_schema;
  return WithContext(rules.status(), fmt::format("table {}", table.name));
}

arrow::Result<std::vector<MergeSection>> PartitionIntervals(const TableContext& table,
                                                            std::vector<DataFileMeta> files) {
  const KeyTexts texts(table);
  std::vector<KeyedFile> keyed;
  for (DataFileMeta& file : files) {
    KeyedFile entry;
    ARROW_ASSIGN_OR_RAISE(entry.min, texts.Normalized(file, file.min_key));
    ARROW_ASSIGN_OR_RAISE(entry.max, texts.Normalized(file, file.max_key));
    if (entry.max < entry.min) {
      return Corruption("table {}: data file '{}' has a key range that ends before it begins",
                        table.name, file.file_name);
    }
    entry.file = std::move(file);
    keyed.push_back(std::move(entry));
  }
  std::stable_sort(keyed.begin(), keyed.end(), [](const KeyedFile& a, const KeyedFile& b) {
    return a.min != b.min ? a.min < b.min : a.max < b.max;
  });
  std::vector<MergeSection> sections;
  std::vector<KeyedFile> open;
  std::string open_max;
  for (KeyedFile& entry : keyed) {
    if (!open.empty() && entry.min > open_max) {
      sections.push_back(MakeRuns(std::exchange(open, {})));
      open_max.clear();
    }
    open_max = std::max(open_max, entry.max);
    open.push_back(std::move(entry));
  }
  if (!open.empty()) sections.push_back(MakeRuns(std::move(open)));
  return sections;
}

arrow::Result<std::shared_ptr<BoundsSource>> KeyBounds(const TableContext& table,
                                                       const DataFileMeta& file) {
  std::map<std::string, ColumnBounds> columns;
  ARROW_ASSIGN_OR_RAISE(const TableSchemaPtr schema, SchemaOf(table, file));
  const auto fields = KeyFields(*schema);
  const auto types = TypesOf(fields);
  ARROW_ASSIGN_OR_RAISE(const SerializedRow min,
                        ParseSerializedRow(file.key_stats.min_values, file.file_name));
  ARROW_ASSIGN_OR_RAISE(const SerializedRow max,
                        ParseSerializedRow(file.key_stats.max_values, file.file_name));
  const auto arity = static_cast<int32_t>(types.size());
  if (min.arity == arity && max.arity == arity) {
    std::vector<DataType> nullable;
    for (const DataType& type : types) nullable.push_back(type.WithNullable(true));
    ARROW_ASSIGN_OR_RAISE(const auto mins, DecodeBinaryRow(nullable, min.row, file.file_name));
    ARROW_ASSIGN_OR_RAISE(const auto maxs, DecodeBinaryRow(nullable, max.row, file.file_name));
    for (size_t i = 0; i < fields.size(); ++i) {
      for (const DataField& current : table.fields()) {
        if (current.id != fields[i].id || !current.type.EqualsIgnoringNullability(fields[i].type))
          continue;
        ColumnBounds bounds;
        if (mins[i]->is_valid) bounds.min = mins[i];
        if (maxs[i]->is_valid) bounds.max = maxs[i];
        if (i < file.key_stats.null_counts.size())
          bounds.null_count = file.key_stats.null_counts[i];
        columns[current.name] = std::move(bounds);
      }
    }
  }
  return std::make_shared<FixedBounds>(std::move(columns), file.row_count);
}

}  // namespace kelda
