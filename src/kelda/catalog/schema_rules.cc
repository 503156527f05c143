#include <algorithm>
#include <set>

#include "kelda/catalog/catalog.h"
#include "kelda/catalog/schema_changes.h"
#include "kelda/format/file_format.h"
#include "kelda/format/file_index/file_index.h"
#include "kelda/options/validate.h"
#include "kelda/row/partition_path.h"

namespace kelda {

std::vector<std::string> SplitColumnList(std::string_view list) {
  std::vector<std::string> columns;
  for (std::string_view part : OptionSpec::Split(list)) {
    const size_t begin = part.find_first_not_of(' ');
    if (begin == std::string_view::npos) continue;
    columns.emplace_back(part.substr(begin, part.find_last_not_of(' ') - begin + 1));
  }
  return columns;
}

namespace {

arrow::Status CheckKeyColumns(const TableSchema& schema, const std::vector<std::string>& keys,
                              std::string_view what) {
  std::set<std::string> seen;
  for (const std::string& key : keys) {
    const int index = schema.FieldIndex(key);
    if (index < 0) return Invalid("{} column '{}' is not a column of the table", what, key);
    if (!seen.insert(key).second) return Invalid("{} column '{}' is named twice", what, key);
    const DataType& type = schema.fields[index].type;
    if (type.IsNested())
      return Invalid("{} column '{}' cannot be of type {}", what, key, type.ToString());
  }
  return arrow::Status::OK();
}

arrow::Status CheckNamesInside(const DataType& type, const std::string& path);

arrow::Status CheckNames(const std::vector<DataField>& fields, const std::string& path) {
  std::set<std::string> seen;
  for (const DataField& field : fields) {
    if (field.name.empty())
      return Invalid("a column of {} has no name", path.empty() ? "the table" : path);
    if (!seen.insert(field.name).second)
      return Invalid("column '{}{}' is there twice", path, field.name);
    if (path.empty() && IsReservedFieldName(field.name)) {
      return Invalid("column name '{}' is reserved by Paimon", field.name);
    }
    ARROW_RETURN_NOT_OK(CheckNamesInside(field.type, path + field.name + "."));
  }
  return arrow::Status::OK();
}

arrow::Status CheckNamesInside(const DataType& type, const std::string& path) {
  switch (type.root()) {
    case TypeRoot::kRow:
      return CheckNames(type.fields(), path);
    case TypeRoot::kArray:
    case TypeRoot::kMultiset:
      return CheckNamesInside(type.element(), path);
    case TypeRoot::kMap:
      ARROW_RETURN_NOT_OK(CheckNamesInside(type.key(), path));
      return CheckNamesInside(type.value(), path);
    default:
      return arrow::Status::OK();
  }
}

arrow::Status CheckDefaults(const std::vector<DataField>& fields, const std::string& path) {
  for (const DataField& field : fields) {
    const std::string name = path + field.name;
    if (field.type.root() == TypeRoot::kRow)
      ARROW_RETURN_NOT_OK(CheckDefaults(field.type.fields(), name + "."));
    if (!field.default_value) continue;
    std::string_view text = *field.default_value;
    if (text.size() >= 2 && text.front() == '\'' && text.back() == '\'')
      text = text.substr(1, text.size() - 2);
    auto value = CastFromText(field.type, text);
    if (!value.ok()) {
      return WithContext(value.status(),
                         fmt::format("default {} of column '{}'", *field.default_value, name));
    }
  }
  return arrow::Status::OK();
}

arrow::Status CheckBuckets(const TableSchema& schema, const Options& options) {
  ARROW_ASSIGN_OR_RAISE(int32_t bucket, options.Get(OptionKeys::kBucket));
  ARROW_ASSIGN_OR_RAISE(auto bucket_key, options.Find(OptionKeys::kBucketKey));
  const bool has_pk = !schema.primary_keys.empty();
  if (bucket == -1 && bucket_key)
    return Invalid("option 'bucket-key' needs a 'bucket' greater than 0");
  if (bucket < 1 && bucket != -1 && !(bucket == -2 && has_pk)) {
    return Invalid(
        "option 'bucket' = '{}'; it can be -1, a number from 1 on, or -2 for tables with a primary "
        "key",
        bucket);
  }
  if (bucket >= 1 && !has_pk && !bucket_key) {
    return Invalid("a table without primary key and with 'bucket' = '{}' needs option 'bucket-key'",
                   bucket);
  }
  if (!bucket_key) return arrow::Status::OK();
  const auto keys = SplitColumnList(*bucket_key);
  ARROW_RETURN_NOT_OK(CheckKeyColumns(schema, keys, "bucket key"));
  for (const std::string& key : keys) {
    const auto& partition = schema.partition_keys;
    if (std::find(partition.begin(), partition.end(), key) != partition.end()) {
      return Invalid("column '{}' cannot be a bucket key and a partition key", key);
    }
    const auto& primary = schema.primary_keys;
    if (has_pk && std::find(primary.begin(), primary.end(), key) == primary.end()) {
      return Invalid("bucket key column '{}' is not part of the primary key", key);
    }
  }
  return arrow::Status::OK();
}

arrow::Status CheckColumnOptions(const TableSchema& schema) {
  for (const auto& [key, value] : schema.options) {
    for (const std::string& column : ColumnsNamedBy(key)) {
      if (schema.FieldIndex(column) < 0) {
        return Invalid("option '{}' names column '{}', which the table does not have", key, column);
      }
    }
  }
  return ParseFileIndexSpecs(schema.options, schema.fields).status();
}

/// Options that do nothing in an append table but have rules all the same: where they are broken,
/// Java does not open the table.
arrow::Status CheckIdleOptions(const TableSchema& schema, const Options& options) {
  ARROW_ASSIGN_OR_RAISE(auto sequence, options.Find(OptionKeys::kSequenceField));
  if (sequence) {
    ARROW_ASSIGN_OR_RAISE(auto engine, options.Get(OptionKeys::kMergeEngine));
    if (engine == "first-row")
      return Invalid("option 'sequence.field' does not go with 'merge-engine' = 'first-row'");
    std::set<std::string> seen;
    for (const std::string& column : SplitColumnList(*sequence)) {
      if (schema.FieldIndex(column) < 0) {
        return Invalid("option 'sequence.field' names column '{}', which the table does not have",
                       column);
      }
      if (!seen.insert(column).second)
        return Invalid("option 'sequence.field' names column '{}' twice", column);
      const std::string function = "fields." + column + ".aggregate-function";
      if (schema.options.contains(function))
        return Invalid("option '{}': column '{}' is the 'sequence.field'", function, column);
    }
  }
  ARROW_ASSIGN_OR_RAISE(bool overwrites, options.Get(OptionKeys::kStreamingReadOverwrite));
  ARROW_ASSIGN_OR_RAISE(bool sequences, options.Get(OptionKeys::kTableReadSequenceNumberEnabled));
  ARROW_ASSIGN_OR_RAISE(bool clusters, options.Get(OptionKeys::kPkClusteringOverride));
  const std::pair<bool, const char*> key_only[] = {
      {overwrites, "streaming-read-overwrite"},
      {sequences, "table-read.sequence-number.enabled"},
      {clusters, "pk-clustering-override"}};
  for (const auto& [set, name] : key_only) {
    if (set && schema.primary_keys.empty())
      return Invalid("option '{}' = 'true' needs a table with a primary key", name);
  }
  if (options.IsSet(OptionKeys::kVectorFileFormat)) {
    ARROW_ASSIGN_OR_RAISE(bool evolves, options.Get(OptionKeys::kDataEvolutionEnabled));
    if (!evolves)
      return Invalid("option 'vector.file.format' needs option 'data-evolution.enabled' = 'true'");
  }
  ARROW_ASSIGN_OR_RAISE(auto time_field, options.Find(OptionKeys::kRecordLevelTimeField));
  if (time_field && options.IsSet(OptionKeys::kRecordLevelExpireTime) &&
      schema.FieldIndex(*time_field) < 0) {
    return Invalid(
        "option 'record-level.time-field' names column '{}', which the table does not have",
        *time_field);
  }
  return arrow::Status::OK();
}

/// Deletion vectors, row tracking, data evolution, incremental clustering (spec 04 §3.2).
arrow::Status CheckRowOptions(const Options& options) {
  ARROW_ASSIGN_OR_RAISE(bool vectors, options.Get(OptionKeys::kDeletionVectorsEnabled));
  ARROW_ASSIGN_OR_RAISE(bool tracks, options.Get(OptionKeys::kRowTrackingEnabled));
  ARROW_ASSIGN_OR_RAISE(bool evolves, options.Get(OptionKeys::kDataEvolutionEnabled));
  ARROW_ASSIGN_OR_RAISE(bool clusters, options.Get(OptionKeys::kClusteringIncremental));
  ARROW_ASSIGN_OR_RAISE(bool ordered, options.Get(OptionKeys::kBucketAppendOrdered));
  ARROW_ASSIGN_OR_RAISE(auto engine, options.Get(OptionKeys::kMergeEngine));
  ARROW_ASSIGN_OR_RAISE(int32_t buckets, options.Get(OptionKeys::kBucket));
  if (vectors && engine == "first-row") {
    return Invalid(
        "option 'deletion-vectors.enabled' does not go with 'merge-engine' = 'first-row'");
  }
  if (tracks && buckets != -1) {
    return Invalid("option 'row-tracking.enabled' needs 'bucket' = '-1', not '{}'", buckets);
  }
  if (evolves && !tracks) {
    return Invalid("option 'data-evolution.enabled' needs 'row-tracking.enabled' = 'true'");
  }
  if (evolves && vectors) {
    return Invalid("option 'data-evolution.enabled' does not go with 'deletion-vectors.enabled'");
  }
  if (evolves && clusters) {
    return Invalid("option 'data-evolution.enabled' does not go with 'clustering.incremental'");
  }
  if (clusters && buckets > 0 && (ordered || vectors)) {
    return Invalid(
        "option 'clustering.incremental' of a table with buckets needs 'bucket-append-ordered' = "
        "'false' and no deletion vectors");
  }
  return arrow::Status::OK();
}

}  // namespace

arrow::Status ValidateSchema(const TableSchema& schema, std::vector<std::string>* warnings) {
  if (schema.fields.empty()) return Invalid("a table needs at least one column");
  ARROW_RETURN_NOT_OK(CheckNames(schema.fields, ""));
  ARROW_RETURN_NOT_OK(CheckKeyColumns(schema, schema.partition_keys, "partition"));
  ARROW_RETURN_NOT_OK(CheckKeyColumns(schema, schema.primary_keys, "primary key"));
  if (!schema.primary_keys.empty()) {
    const auto& partition = schema.partition_keys;
    const bool trimmed_empty = std::all_of(
        schema.primary_keys.begin(), schema.primary_keys.end(), [&](const std::string& key) {
          return std::find(partition.begin(), partition.end(), key) != partition.end();
        });
    if (trimmed_empty)
      return Invalid("the primary key needs a column that is not a partition column");
    return Unsupported("primary-key tables (PRIMARY KEY ({}))",
                       fmt::join(schema.primary_keys, ", "));
  }
  for (const std::string& key : schema.partition_keys) {
    const DataType& type = schema.fields[schema.FieldIndex(key)].type;
    if (type.IsBytes()) {
      return Unsupported("partition column '{}' of type {}: its directory name has no fixed text",
                         key, type.ToString());
    }
  }
  const Options options(schema.options);
  ARROW_RETURN_NOT_OK(CheckBuckets(schema, options));
  ARROW_RETURN_NOT_OK(CheckColumnOptions(schema));
  ARROW_RETURN_NOT_OK(CheckIdleOptions(schema, options));
  ARROW_RETURN_NOT_OK(CheckRowOptions(options));
  ARROW_RETURN_NOT_OK(CheckTableOptions(schema.options, OptionUse::kCreate, warnings));
  ARROW_RETURN_NOT_OK(CheckDefaults(schema.fields, ""));
  ARROW_ASSIGN_OR_RAISE(auto format_name, options.Get(OptionKeys::kFileFormat));
  ARROW_ASSIGN_OR_RAISE(const FileFormat* format, FindFormat(format_name));
  return format->CheckTypes(schema.fields);
}

namespace {

/// `primary-key` and `partition` given as options move to the lists (spec 04 §3.1).
arrow::Status TakeKeysFromOption(const char* option, const char* clause, TableSchema* schema,
                                 std::vector<std::string>* keys) {
  auto it = schema->options.find(option);
  if (it == schema->options.end()) return arrow::Status::OK();
  if (!keys->empty()) return Invalid("give {} or option '{}', not both", clause, option);
  *keys = SplitColumnList(it->second);
  schema->options.erase(it);
  return arrow::Status::OK();
}

}  // namespace

arrow::Result<TableSchema> MakeSchema(const TableDefinition& definition, int64_t now_millis) {
  TableSchema schema;
  schema.fields = definition.fields;
  schema.partition_keys = definition.partition_keys;
  schema.primary_keys = definition.primary_keys;
  schema.options = definition.options;
  schema.comment = definition.comment;
  schema.time_millis = now_millis;
  ARROW_RETURN_NOT_OK(
      TakeKeysFromOption("primary-key", "PRIMARY KEY", &schema, &schema.primary_keys));
  ARROW_RETURN_NOT_OK(
      TakeKeysFromOption("partition", "PARTITIONED BY", &schema, &schema.partition_keys));
  for (const std::string& key : schema.primary_keys) {
    const int index = schema.FieldIndex(key);
    if (index >= 0) schema.fields[index].type = schema.fields[index].type.WithNullable(false);
  }
  schema.highest_field_id = AssignFieldIds(&schema.fields, 0);
  return schema;
}

}  // namespace kelda
