#include <algorithm>

#include <arrow/array/util.h>
#include <fmt/format.h>

#include "kelda/row/binary_row.h"
#include "tests/tools/golden_json.h"

namespace kelda {

namespace {

arrow::Result<std::string> SerializedRowText(const std::vector<DataField>& fields,
                                             const std::string& bytes,
                                             const std::string& source_name) {
  ARROW_ASSIGN_OR_RAISE(const SerializedRow row, ParseSerializedRow(bytes, source_name));
  if (row.arity != static_cast<int32_t>(fields.size())) {
    return Corruption("{}: a row of {} columns, expected {}", source_name, row.arity,
                      fields.size());
  }
  std::vector<DataType> types;
  for (const DataField& field : fields) types.push_back(field.type);
  ARROW_ASSIGN_OR_RAISE(const auto scalars, DecodeBinaryRow(types, row.row, source_name));
  arrow::ArrayVector columns;
  for (const auto& scalar : scalars) {
    ARROW_ASSIGN_OR_RAISE(auto column, arrow::MakeArrayFromScalar(*scalar, 1));
    columns.push_back(std::move(column));
  }
  return GoldenRow(fields, columns, 0);
}

std::string NamesText(const std::optional<std::vector<std::string>>& names) {
  if (!names) return "null";
  std::vector<std::string> quoted;
  for (const std::string& name : *names) quoted.push_back(GoldenQuote(name));
  return fmt::format("[{}]", fmt::join(quoted, ","));
}

template <typename T>
std::string NumberText(const std::optional<T>& value) {
  return value ? std::to_string(*value) : "null";
}

std::string SourceText(const std::optional<int32_t>& source) {
  if (!source) return "null";
  return *source == kFileSourceAppend ? "\"APPEND\"" : "\"COMPACT\"";
}

std::string HexOrNull(const std::optional<std::string>& bytes) {
  if (!bytes) return "null";
  std::string out = "\"";
  for (const char c : *bytes) out += fmt::format("{:02x}", static_cast<unsigned char>(c));
  return out + "\"";
}

arrow::Result<std::string> StatsText(const std::vector<DataField>& fields, const SimpleStats& stats,
                                     const std::string& source_name) {
  ARROW_ASSIGN_OR_RAISE(std::string min, SerializedRowText(fields, stats.min_values, source_name));
  ARROW_ASSIGN_OR_RAISE(std::string max, SerializedRowText(fields, stats.max_values, source_name));
  std::vector<std::string> counts;
  for (const auto& count : stats.null_counts) counts.push_back(NumberText(count));
  return fmt::format(R"({{"min":{},"max":{},"nullCounts":[{}]}})", min, max,
                     fmt::join(counts, ","));
}

/// The columns that the statistics of `file` describe.
std::vector<DataField> StatsFields(const TableSchema& schema, const DataFileMeta& file) {
  const auto& only = file.value_stats_cols ? file.value_stats_cols : file.write_cols;
  std::vector<DataField> fields;
  for (const DataField& field : schema.fields) {
    if (!only || std::find(only->begin(), only->end(), field.name) != only->end()) {
      fields.push_back(field);
    }
  }
  return fields;
}

std::vector<DataField> KeyFields(const TableSchema& schema) {
  std::vector<DataField> fields;
  for (const std::string& key : schema.primary_keys) {
    const auto& partition = schema.partition_keys;
    if (std::find(partition.begin(), partition.end(), key) == partition.end()) {
      fields.push_back(schema.fields[static_cast<size_t>(schema.FieldIndex(key))]);
    }
  }
  return fields;
}

}  // namespace

arrow::Result<std::string> GoldenFileEntry(const TableSchema& schema, const ManifestEntry& entry) {
  const DataFileMeta& file = entry.file;
  const std::string& name = file.file_name;
  ARROW_ASSIGN_OR_RAISE(const std::string partition,
                        SerializedRowText(schema.PartitionFields(), entry.partition, name));
  std::string out = fmt::format(
      R"({{"partition":{},"bucket":{},"totalBuckets":{},"level":{},"fileName":{},"fileSize":{},"rowCount":{})",
      partition, entry.bucket, entry.total_buckets, file.level, GoldenQuote(name), file.file_size,
      file.row_count);
  out += fmt::format(
      R"(,"deleteRowCount":{},"schemaId":{},"minSequenceNumber":{},"maxSequenceNumber":{},"fileSource":{})",
      NumberText(file.delete_row_count), file.schema_id, file.min_sequence_number,
      file.max_sequence_number, SourceText(file.file_source));
  if (!schema.primary_keys.empty()) {
    const std::vector<DataField> keys = KeyFields(schema);
    ARROW_ASSIGN_OR_RAISE(const std::string min, SerializedRowText(keys, file.min_key, name));
    ARROW_ASSIGN_OR_RAISE(const std::string max, SerializedRowText(keys, file.max_key, name));
    ARROW_ASSIGN_OR_RAISE(const std::string stats, StatsText(keys, file.key_stats, name));
    out += fmt::format(R"(,"minKey":{},"maxKey":{},"keyStats":{})", min, max, stats);
  }
  const std::vector<DataField> fields = StatsFields(schema, file);
  ARROW_ASSIGN_OR_RAISE(const SerializedRow min,
                        ParseSerializedRow(file.value_stats.min_values, name));
  if (min.arity == static_cast<int32_t>(fields.size())) {
    ARROW_ASSIGN_OR_RAISE(const std::string stats, StatsText(fields, file.value_stats, name));
    out += fmt::format(R"(,"valueStats":{})", stats);
  }
  out += fmt::format(R"(,"valueStatsCols":{},"extraFiles":{},"embeddedIndex":{})",
                     NamesText(file.value_stats_cols), NamesText(file.extra_files),
                     HexOrNull(file.embedded_file_index));
  out += fmt::format(R"(,"firstRowId":{},"writeCols":{}}})", NumberText(file.first_row_id),
                     NamesText(file.write_cols));
  return out;
}

arrow::Result<std::string> GoldenIndexEntry(const TableSchema& schema,
                                            const IndexManifestEntry& entry) {
  const IndexFileMeta& file = entry.file;
  ARROW_ASSIGN_OR_RAISE(
      const std::string partition,
      SerializedRowText(schema.PartitionFields(), entry.partition, file.file_name));
  std::string out = fmt::format(
      R"({{"partition":{},"bucket":{},"indexType":{},"fileName":{},"fileSize":{},"rowCount":{})",
      partition, entry.bucket, GoldenQuote(file.index_type), GoldenQuote(file.file_name),
      file.file_size, file.row_count);
  if (file.deletion_vectors) {
    std::vector<std::string> vectors;
    for (const DeletionVectorRange& range : *file.deletion_vectors) {
      vectors.push_back(fmt::format(R"({{"dataFile":{},"offset":{},"length":{},"cardinality":{}}})",
                                    GoldenQuote(range.data_file), range.offset, range.length,
                                    NumberText(range.cardinality)));
    }
    out += fmt::format(R"(,"deletionVectors":[{}])", fmt::join(vectors, ","));
  }
  return out + "}";
}

}  // namespace kelda
