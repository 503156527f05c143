#include "kelda/metadata/table_statistics.h"

#include "kelda/metadata/json_members.h"
#include "kelda/row/partition_path.h"
#include "kelda/types/arrow_mapping.h"
#include "kelda/types/table_schema.h"

namespace kelda {

namespace {

using Json = nlohmann::ordered_json;

constexpr int64_t kStatisticsFileMaxBytes = 64 << 20;

template <typename T>
void Put(const char* key, const std::optional<T>& value, Json* json) {
  if (value) (*json)[key] = *value;
}

Json ToJson(const AnalyzedColumn& column) {
  Json json = Json::object();
  json["colId"] = column.column_id;
  Put("distinctCount", column.distinct_count, &json);
  Put("min", column.min, &json);
  Put("max", column.max, &json);
  Put("nullCount", column.null_count, &json);
  Put("avgLen", column.average_length, &json);
  Put("maxLen", column.max_length, &json);
  for (const auto& [key, value] : column.unknown.items()) json[key] = value;
  return json;
}

Json ColumnsJson(const TableStatistics& statistics) {
  Json json = Json::object();
  for (const auto& [name, column] : statistics.columns) json[name] = ToJson(column);
  return json;
}

arrow::Result<AnalyzedColumn> ParseColumn(const Json& json, std::string_view source) {
  JsonMembers members(json, "statistics", source);
  AnalyzedColumn column;
  ARROW_ASSIGN_OR_RAISE(int64_t id, members.Int("colId"));
  if (id < INT32_MIN || id > INT32_MAX) return members.Bad("colId");
  column.column_id = static_cast<int32_t>(id);
  ARROW_ASSIGN_OR_RAISE(column.distinct_count, members.OptionalInt("distinctCount"));
  ARROW_ASSIGN_OR_RAISE(column.min, members.OptionalText("min"));
  ARROW_ASSIGN_OR_RAISE(column.max, members.OptionalText("max"));
  ARROW_ASSIGN_OR_RAISE(column.null_count, members.OptionalInt("nullCount"));
  ARROW_ASSIGN_OR_RAISE(column.average_length, members.OptionalInt("avgLen"));
  ARROW_ASSIGN_OR_RAISE(column.max_length, members.OptionalInt("maxLen"));
  column.unknown = members.Unknown();
  return column;
}

/// Type whose text CastToText and CastFromText give as the statistics want it: the number of a DATE
/// or TIME, the UTC wall clock of an LTZ.
std::optional<DataType> TextType(const DataType& type) {
  switch (type.root()) {
    case TypeRoot::kBoolean:
    case TypeRoot::kTinyInt:
    case TypeRoot::kSmallInt:
    case TypeRoot::kInt:
    case TypeRoot::kBigInt:
    case TypeRoot::kFloat:
    case TypeRoot::kDouble:
    case TypeRoot::kDecimal:
    case TypeRoot::kChar:
    case TypeRoot::kVarChar:
    case TypeRoot::kTimestamp:
      return type;
    case TypeRoot::kDate:
    case TypeRoot::kTime:
      return DataType(TypeRoot::kInt);
    case TypeRoot::kTimestampLtz:
      return DataType::Temporal(TypeRoot::kTimestamp, type.precision());
    default:
      return std::nullopt;
  }
}

/// The same number under the Arrow type of another Paimon type.
arrow::Result<std::shared_ptr<arrow::Scalar>> Relabel(const arrow::Scalar& value,
                                                      const DataType& type) {
  ARROW_ASSIGN_OR_RAISE(auto arrow_type, ToArrowType(type));
  switch (value.type->id()) {
    case arrow::Type::DATE32:
      return arrow::MakeScalar(arrow_type, static_cast<const arrow::Date32Scalar&>(value).value);
    case arrow::Type::TIME32:
      return arrow::MakeScalar(arrow_type, static_cast<const arrow::Time32Scalar&>(value).value);
    case arrow::Type::INT32:
      return arrow::MakeScalar(arrow_type, static_cast<const arrow::Int32Scalar&>(value).value);
    case arrow::Type::TIMESTAMP:
      return arrow::MakeScalar(arrow_type, static_cast<const arrow::TimestampScalar&>(value).value);
    default:
      return Invalid("value of Arrow type {} is no {}", value.type->ToString(), type.ToString());
  }
}

bool IsRelabelled(const DataType& type) {
  return type.root() == TypeRoot::kDate || type.root() == TypeRoot::kTime ||
         type.root() == TypeRoot::kTimestampLtz;
}

}  // namespace

std::string TableStatistics::ToJsonText() const {
  Json json = Json::object();
  json["snapshotId"] = snapshot_id;
  json["schemaId"] = schema_id;
  Put("mergedRecordCount", merged_record_count, &json);
  Put("mergedRecordSize", merged_record_size, &json);
  json["colStats"] = ColumnsJson(*this);
  for (const auto& [key, value] : unknown.items()) json[key] = value;
  return PrettyJson(json);
}

std::string TableStatistics::ColumnsJsonText() const { return PrettyJson(ColumnsJson(*this)); }

arrow::Result<TableStatistics> TableStatistics::FromJsonText(std::string_view text,
                                                             std::string_view source) {
  ARROW_ASSIGN_OR_RAISE(Json json, ParseBoundedJson(text, source));
  if (!json.is_object()) return Corruption("corrupt statistics file '{}': no JSON object", source);
  JsonMembers members(json, "statistics", source);
  TableStatistics statistics;
  ARROW_ASSIGN_OR_RAISE(statistics.snapshot_id, members.Int("snapshotId"));
  ARROW_ASSIGN_OR_RAISE(statistics.schema_id, members.Int("schemaId"));
  ARROW_ASSIGN_OR_RAISE(statistics.merged_record_count, members.OptionalInt("mergedRecordCount"));
  ARROW_ASSIGN_OR_RAISE(statistics.merged_record_size, members.OptionalInt("mergedRecordSize"));
  if (const Json* columns = members.Find("colStats")) {
    if (!columns->is_object()) return members.Bad("colStats");
    for (const auto& [name, column] : columns->items()) {
      if (!column.is_object()) return members.Bad("colStats");
      ARROW_ASSIGN_OR_RAISE(auto parsed, ParseColumn(column, source));
      statistics.columns.emplace_back(name, std::move(parsed));
    }
  }
  statistics.unknown = members.Unknown();
  return statistics;
}

arrow::Result<std::optional<std::string>> StatisticsText(const DataType& type,
                                                         const arrow::Scalar& value) {
  const auto text_type = TextType(type);
  if (!text_type || !value.is_valid) return std::nullopt;
  if (!IsRelabelled(type)) return CastToText(*text_type, value);
  ARROW_ASSIGN_OR_RAISE(auto number, Relabel(value, *text_type));
  return CastToText(*text_type, *number);
}

arrow::Result<std::shared_ptr<arrow::Scalar>> ParseStatisticsText(const DataType& type,
                                                                  std::string_view text) {
  const auto text_type = TextType(type);
  if (!text_type) return Invalid("statistics have no bounds of type {}", type.ToString());
  ARROW_ASSIGN_OR_RAISE(auto value, CastFromText(*text_type, text));
  return IsRelabelled(type) ? Relabel(*value, type) : value;
}

arrow::Result<TableStatistics> StatisticsFiles::Read(const std::string& name) const {
  if (name.empty() || name.find('/') != std::string::npos)
    return Corruption("'{}' is no name of a statistics file", name);
  const std::string path = PathOf(name);
  ARROW_ASSIGN_OR_RAISE(std::string text, io_->ReadAll(path, kStatisticsFileMaxBytes));
  return TableStatistics::FromJsonText(text, path);
}

arrow::Result<std::string> StatisticsFiles::Write(const TableStatistics& statistics,
                                                  Random& random) const {
  const std::string name = fmt::format("stat-{}-0", random.Uuid());
  ARROW_RETURN_NOT_OK(io_->WriteReplacing(PathOf(name), statistics.ToJsonText()));
  return name;
}

}  // namespace kelda
