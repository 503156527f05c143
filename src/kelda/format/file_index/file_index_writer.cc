// Building the indexes of a data file (spec 01 §7.3).
#include <algorithm>
#include <limits>

#include <arrow/array/array_nested.h>

#include "kelda/format/file_index/file_index.h"
#include "kelda/options/option_table.h"
#include "kelda/types/map_values.h"

namespace kelda {

namespace {

constexpr std::string_view kPrefix = "file-index.";
constexpr std::string_view kColumns = ".columns";

int FieldIndex(const std::vector<DataField>& fields, std::string_view name) {
  for (size_t i = 0; i < fields.size(); ++i) {
    if (fields[i].name == name) return static_cast<int>(i);
  }
  return -1;
}

/// `options` that start with `prefix`, without it.
IndexOptions OptionsBelow(const std::map<std::string, std::string>& options,
                          const std::string& prefix, const ColumnIndexType& type) {
  IndexOptions found;
  for (std::string_view name : type.option_names()) {
    auto it = options.find(prefix + std::string(name));
    if (it != options.end()) found.emplace(name, it->second);
  }
  return found;
}

/// The column that `name` means: a field, or `field[key]` of a MAP with string keys.
arrow::Status ResolveColumn(const std::vector<DataField>& fields, const std::string& option,
                            const std::string& name, FileIndexSpec* spec, DataType* type) {
  spec->name = name;
  spec->column = FieldIndex(fields, name);
  const size_t bracket = name.find('[');
  if (spec->column < 0 && bracket != std::string::npos && name.ends_with(']')) {
    spec->column = FieldIndex(fields, std::string_view(name).substr(0, bracket));
    spec->map_key = name.substr(bracket + 1, name.size() - bracket - 2);
  }
  if (spec->column < 0) return Invalid("option '{}' names the unknown column '{}'", option, name);
  const DataType& column = fields[static_cast<size_t>(spec->column)].type;
  if (!spec->map_key) {
    *type = column;
    return arrow::Status::OK();
  }
  if (column.root() != TypeRoot::kMap || !column.key().IsString()) {
    return Invalid("option '{}' names a key of column '{}', which is {}, no MAP with string keys",
                   option, fields[static_cast<size_t>(spec->column)].name, column.ToString());
  }
  *type = column.value();
  return arrow::Status::OK();
}

arrow::Result<FileIndexSpec> MakeSpec(const std::map<std::string, std::string>& options,
                                      const std::vector<DataField>& fields,
                                      const std::string& option, const ColumnIndexType& type,
                                      const std::string& name) {
  FileIndexSpec spec;
  DataType value_type;
  ARROW_RETURN_NOT_OK(ResolveColumn(fields, option, name, &spec, &value_type));
  if (!type.Supports(value_type)) {
    return Unsupported("{} index of column '{}' of type {} (option '{}')", type.name(), name,
                       value_type.ToString(), option);
  }
  ARROW_ASSIGN_OR_RAISE(spec.form, KeyForm::Make(value_type));
  spec.type = &type;
  const std::string prefix = std::string(kPrefix) + std::string(type.name()) + ".";
  if (spec.map_key) {
    // Options of the whole map hold for each key that has none of its own.
    spec.options =
        OptionsBelow(options, prefix + fields[static_cast<size_t>(spec.column)].name + ".", type);
  }
  for (auto& [key, value] : OptionsBelow(options, prefix + name + ".", type))
    spec.options[key] = value;
  auto writer = type.CreateWriter(spec.form, spec.options);
  if (!writer.ok()) {
    return WithContext(writer.status(), fmt::format("{} index of column '{}'", type.name(), name));
  }
  return spec;
}

}  // namespace

arrow::Result<std::vector<FileIndexSpec>> ParseFileIndexSpecs(
    const std::map<std::string, std::string>& table_options, const std::vector<DataField>& fields) {
  std::vector<FileIndexSpec> specs;
  for (const auto& [option, value] : table_options) {
    if (!option.starts_with(kPrefix) || !option.ends_with(kColumns) ||
        option.size() <= kPrefix.size() + kColumns.size()) {
      continue;
    }
    const std::string type_name =
        option.substr(kPrefix.size(), option.size() - kPrefix.size() - kColumns.size());
    const ColumnIndexType* type = FindColumnIndexType(type_name);
    if (type == nullptr)
      return Unsupported("file index type '{}' (option '{}')", type_name, option);
    for (std::string_view part : OptionSpec::Split(value)) {
      while (part.starts_with(' ')) part.remove_prefix(1);
      while (part.ends_with(' ')) part.remove_suffix(1);
      ARROW_ASSIGN_OR_RAISE(FileIndexSpec spec,
                            MakeSpec(table_options, fields, option, *type, std::string(part)));
      const bool twice = std::any_of(specs.begin(), specs.end(), [&](const FileIndexSpec& other) {
        return other.name == spec.name && other.type == spec.type;
      });
      if (!twice) specs.push_back(std::move(spec));
    }
  }
  std::stable_sort(specs.begin(), specs.end(), [](const FileIndexSpec& a, const FileIndexSpec& b) {
    return a.column != b.column ? a.column < b.column : a.name < b.name;
  });
  return specs;
}

arrow::Result<std::unique_ptr<FileIndexWriter>> FileIndexWriter::Make(
    const std::vector<FileIndexSpec>* specs) {
  std::unique_ptr<FileIndexWriter> writer(new FileIndexWriter(specs));
  for (const FileIndexSpec& spec : *specs) {
    ARROW_ASSIGN_OR_RAISE(auto column, spec.type->CreateWriter(spec.form, spec.options));
    writer->writers_.push_back(std::move(column));
  }
  return writer;
}

arrow::Status FileIndexWriter::Write(const arrow::RecordBatch& batch) {
  rows_ += batch.num_rows();
  if (rows_ > std::numeric_limits<int32_t>::max())
    return Invalid("file indexes hold files of up to 2147483647 rows");
  for (size_t i = 0; i < writers_.size(); ++i) {
    const FileIndexSpec& spec = (*specs_)[i];
    std::shared_ptr<arrow::Array> column = batch.column(spec.column);
    if (spec.map_key) {
      ARROW_ASSIGN_OR_RAISE(column,
                            MapValues(static_cast<const arrow::MapArray&>(*column), *spec.map_key));
    }
    auto status = writers_[i]->Write(*column);
    if (!status.ok()) {
      return WithContext(status,
                         fmt::format("{} index of column '{}'", spec.type->name(), spec.name));
    }
  }
  return arrow::Status::OK();
}

int64_t FileIndexWriter::BufferedBytes() const {
  int64_t bytes = 0;
  for (const auto& writer : writers_) bytes += writer->BufferedBytes();
  return bytes;
}

arrow::Result<std::string> FileIndexWriter::Finish() {
  std::vector<ContainedIndex> indexes;
  for (size_t i = 0; i < writers_.size(); ++i) {
    const FileIndexSpec& spec = (*specs_)[i];
    auto bytes = writers_[i]->Finish();
    if (!bytes.ok()) {
      return WithContext(bytes.status(),
                         fmt::format("{} index of column '{}'", spec.type->name(), spec.name));
    }
    indexes.push_back({spec.name, std::string(spec.type->name()), *std::move(bytes)});
    writers_[i].reset();
  }
  return EncodeIndexContainer(indexes);
}

}  // namespace kelda
