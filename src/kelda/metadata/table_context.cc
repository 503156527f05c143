#include "kelda/metadata/table_context.h"

#include "kelda/options/validate.h"
#include "kelda/row/binary_row.h"
#include "kelda/types/arrow_mapping.h"

namespace kelda {

arrow::Result<std::shared_ptr<const TableContext>> TableContext::Load(
    const Environment& env, std::string name, std::string root, const std::string& branch,
    const std::map<std::string, std::string>& dynamic_options, TableSchemaPtr schema) {
  auto context = std::make_shared<TableContext>();
  context->name = std::move(name);
  context->env = env;
  // Only the schema tells the data directory, and only the paths tell the schema: two steps.
  context->paths = TablePaths(root, branch);
  context->schemas = std::make_shared<SchemaFiles>(env.io, context->paths);
  if (schema == nullptr) {
    ARROW_ASSIGN_OR_RAISE(schema, context->schemas->Latest());
    if (schema == nullptr)
      return NotFound("table {} does not exist: there is no schema in '{}'", context->name, root);
  }
  context->schema = std::move(schema);
  context->options = Options(context->schema->options).With(dynamic_options);
  ARROW_ASSIGN_OR_RAISE(auto data_dir, context->options.Find(OptionKeys::kDataFilePathDirectory));
  context->paths = TablePaths(std::move(root), branch, data_dir.value_or(""));
  context->snapshots = std::make_shared<SnapshotFiles>(env.io, context->paths, env.clock);
  ARROW_ASSIGN_OR_RAISE(context->partition_path_options.default_name,
                        context->options.Get(OptionKeys::kPartitionDefaultName));
  ARROW_ASSIGN_OR_RAISE(context->partition_path_options.legacy_name,
                        context->options.Get(OptionKeys::kPartitionLegacyName));
  return context;
}

arrow::Result<std::shared_ptr<const TableContext>> TableContext::WithSchema(
    int64_t schema_id) const {
  ARROW_ASSIGN_OR_RAISE(auto other, schemas->Read(schema_id));
  auto context = std::make_shared<TableContext>(*this);
  context->schema = std::move(other);
  return context;
}

std::vector<DataType> TableContext::PartitionTypes() const {
  std::vector<DataType> types;
  for (const DataField& field : PartitionFields()) types.push_back(field.type);
  return types;
}

namespace {

/// What stops any use of the table, beyond single options.
arrow::Status CheckKind(const TableContext& table, OptionUse use) {
  const bool primary_key = !table.schema->primary_keys.empty();
  if (primary_key && use == OptionUse::kWrite) {
    return Unsupported("table {} has a primary key ({}); writing primary-key tables", table.name,
                       fmt::join(table.schema->primary_keys, ", "));
  }
  ARROW_ASSIGN_OR_RAISE(int32_t buckets, table.options.Get(OptionKeys::kBucket));
  if (buckets < -1 && !primary_key) {
    return Invalid("table {}: 'bucket' = '{}' needs a primary key", table.name, buckets);
  }
  ARROW_ASSIGN_OR_RAISE(bool as_descriptor, table.options.Get(OptionKeys::kBlobAsDescriptor));
  for (const DataField& field : table.fields()) {
    if (field.type.root() == TypeRoot::kBlob) {
      // Values of BLOB columns belong in files of their own (spec 01 §6.7).
      if (use == OptionUse::kWrite) {
        return Unsupported("table {}, column '{}': writing BLOB columns", table.name, field.name);
      }
      if (as_descriptor) {
        return Unsupported("table {}, column '{}': option 'blob-as-descriptor' = 'true'",
                           table.name, field.name);
      }
    }
    auto mapped = ToArrowType(field.type);
    if (!mapped.ok())
      return WithContext(mapped.status(),
                         fmt::format("table {}, column '{}'", table.name, field.name));
  }
  return arrow::Status::OK();
}

arrow::Status CheckUse(const TableContext& table, OptionUse use,
                       std::vector<std::string>* warnings) {
  // The kind first: "primary key" tells more than the first option that only makes sense with one.
  ARROW_RETURN_NOT_OK(CheckKind(table, use));
  return WithContext(CheckTableOptions(table.options.values(), use, warnings),
                     fmt::format("table {}", table.name));
}

}  // namespace

arrow::Status TableContext::CheckReadable(std::vector<std::string>* warnings) const {
  return CheckUse(*this, OptionUse::kRead, warnings);
}

arrow::Status TableContext::CheckWritable(std::vector<std::string>* warnings) const {
  ARROW_RETURN_NOT_OK(CheckKind(*this, OptionUse::kWrite));
  ARROW_RETURN_NOT_OK(CheckUse(*this, OptionUse::kRead, nullptr));
  return CheckUse(*this, OptionUse::kWrite, warnings);
}

arrow::Result<std::vector<std::shared_ptr<arrow::Scalar>>> DecodePartition(
    const std::vector<DataType>& types, std::string_view serialized, std::string_view source) {
  ARROW_ASSIGN_OR_RAISE(SerializedRow row, ParseSerializedRow(serialized, source));
  if (row.arity != static_cast<int32_t>(types.size())) {
    return Corruption("{}: partition has {} values, the table has {} partition keys", source,
                      row.arity, types.size());
  }
  return DecodeBinaryRow(types, row.row, source);
}

}  // namespace kelda
