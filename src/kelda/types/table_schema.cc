#include "kelda/types/table_schema.h"

#include <algorithm>
#include <functional>
#include <limits>
#include <set>
#include <utility>

namespace kelda {

namespace {

using Json = nlohmann::ordered_json;

constexpr int32_t kVersionMax = 3;
constexpr int kJsonDepthMax = 256;
constexpr int64_t kObjectMembersMax = 65536;

/// One pass over the text before the parser sees it: the parser's objects are searched linearly and
/// its values are walked recursively, so depth and members per object are limited first.
arrow::Status CheckJsonBounds(std::string_view text, std::string_view source_name) {
  std::vector<int64_t> commas;
  bool in_string = false;
  for (size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    if (in_string) {
      if (c == '\\') {
        ++i;
      } else if (c == '"') {
        in_string = false;
      }
      continue;
    }
    switch (c) {
      case '"':
        in_string = true;
        break;
      case '{':
      case '[':
        // An array's commas count downward from far below, so that only objects are limited.
        commas.push_back(c == '{' ? 0 : std::numeric_limits<int64_t>::min());
        if (commas.size() > kJsonDepthMax) {
          return Corruption("{}: JSON nested deeper than {} at offset {}", source_name,
                            kJsonDepthMax, i);
        }
        break;
      case '}':
      case ']':
        if (!commas.empty()) commas.pop_back();
        break;
      case ',':
        if (!commas.empty() && ++commas.back() >= kObjectMembersMax) {
          return Corruption("{}: JSON object with more than {} members at offset {}", source_name,
                            kObjectMembersMax, i);
        }
        break;
      default:
        break;
    }
  }
  return arrow::Status::OK();
}

void AppendJsonString(std::string_view text, std::string* out) {
  out->push_back('"');
  for (const char c : text) {
    switch (c) {
      case '"':
        *out += "\\\"";
        break;
      case '\\':
        *out += "\\\\";
        break;
      case '\b':
        *out += "\\b";
        break;
      case '\f':
        *out += "\\f";
        break;
      case '\n':
        *out += "\\n";
        break;
      case '\r':
        *out += "\\r";
        break;
      case '\t':
        *out += "\\t";
        break;
      default:
        if (static_cast<unsigned char>(c) < 0x20) {
          *out += fmt::format("\\u{:04X}", static_cast<unsigned>(c));
        } else {
          out->push_back(c);
        }
    }
  }
  out->push_back('"');
}

void AppendPretty(const Json& json, int indent, std::string* out) {
  if (json.is_object()) {
    if (json.empty()) {
      *out += "{ }";
      return;
    }
    const std::string margin(static_cast<size_t>(indent + 1) * 2, ' ');
    *out += "{\n";
    bool first = true;
    for (auto it = json.begin(); it != json.end(); ++it) {
      if (!first) *out += ",\n";
      first = false;
      *out += margin;
      AppendJsonString(it.key(), out);
      *out += " : ";
      AppendPretty(it.value(), indent + 1, out);
    }
    *out += "\n" + margin.substr(2) + "}";
  } else if (json.is_array()) {
    *out += "[ ";
    bool first = true;
    for (const Json& item : json) {
      if (!first) *out += ", ";
      first = false;
      AppendPretty(item, indent, out);
    }
    *out += first ? "]" : " ]";
  } else if (json.is_string()) {
    AppendJsonString(json.get_ref<const std::string&>(), out);
  } else {
    *out += json.dump();
  }
}

/// Reads members of the schema object; the first failure is kept by the caller.
class SchemaReader {
 public:
  SchemaReader(const Json& json, std::string_view source_name)
      : json_(json), source_(source_name) {}

  arrow::Result<int64_t> Integer(const char* key, std::optional<int64_t> default_value, int64_t min,
                                 int64_t max) const {
    const auto it = json_.find(key);
    if (it == json_.end() && default_value) return *default_value;
    if (it == json_.end() || !it->is_number_integer()) return Bad(key, "must be an integer");
    const bool too_large =
        it->is_number_unsigned() && it->get<uint64_t>() > static_cast<uint64_t>(max);
    if (too_large || it->get<int64_t>() < min) return Bad(key, "is out of range");
    return it->get<int64_t>();
  }

  arrow::Result<std::vector<std::string>> Strings(const char* key) const {
    const auto it = json_.find(key);
    if (it == json_.end() || !it->is_array()) return Bad(key, "must be an array of strings");
    std::vector<std::string> strings;
    for (const Json& item : *it) {
      if (!item.is_string()) return Bad(key, "must be an array of strings");
      strings.push_back(item.get<std::string>());
    }
    return strings;
  }

  arrow::Status Options(TableSchema* schema) const {
    const auto it = json_.find("options");
    if (it == json_.end() || !it->is_object())
      return Bad("options", "must be an object of strings");
    for (auto option = it->begin(); option != it->end(); ++option) {
      const Json& value = option.value();
      if (value.is_structured() || value.is_null())
        return Bad("options", "must be an object of strings");
      schema->options[option.key()] = value.is_string() ? value.get<std::string>() : value.dump();
      schema->option_order.push_back(option.key());
    }
    return arrow::Status::OK();
  }

  arrow::Result<std::optional<std::string>> Comment() const {
    const auto it = json_.find("comment");
    if (it == json_.end() || it->is_null()) return std::nullopt;
    if (!it->is_string()) return Bad("comment", "must be a string");
    return it->get<std::string>();
  }

  arrow::Result<std::vector<DataField>> Fields() const {
    const auto it = json_.find("fields");
    if (it == json_.end()) return Bad("fields", "is missing");
    auto fields = FieldsFromJson(*it);
    if (!fields.ok()) return Corruption("{}: {}", source_, fields.status().message());
    return fields;
  }

  arrow::Status Bad(const char* key, const char* what) const {
    return Corruption("{}: schema member '{}' {}", source_, key, what);
  }

 private:
  const Json& json_;
  std::string_view source_;
};

arrow::Status CheckNames(const TableSchema& schema, std::string_view source_name) {
  std::set<std::string_view> names;
  std::set<int32_t> ids;
  for (const DataField& field : schema.fields) {
    if (!names.insert(field.name).second) {
      return Corruption("{}: schema has two fields named '{}'", source_name, field.name);
    }
    if (!ids.insert(field.id).second)
      return Corruption("{}: schema has two fields of id {}", source_name, field.id);
  }
  for (const auto* keys : {&schema.partition_keys, &schema.primary_keys}) {
    for (const std::string& key : *keys) {
      if (!names.contains(key))
        return Corruption("{}: key '{}' is no field of the schema", source_name, key);
    }
  }
  return arrow::Status::OK();
}

bool IsKnownKey(std::string_view key) {
  for (const char* known : {"version", "id", "fields", "highestFieldId", "partitionKeys",
                            "primaryKeys", "options", "comment", "timeMillis"}) {
    if (key == known) return true;
  }
  return false;
}

bool IsKnownFieldKey(std::string_view key) {
  for (const char* known : {"id", "name", "type", "description", "defaultValue"}) {
    if (key == known) return true;
  }
  return false;
}

/// Calls `visit` with every field object of `json`, an array of fields or a type. A field without
/// id has none of its own yet and is left out.
void VisitFields(const Json& json, const std::function<void(const Json& field)>& visit) {
  if (json.is_array()) {
    for (const Json& field : json) {
      if (!field.is_object()) continue;
      if (field.contains("id")) visit(field);
      if (field.contains("type")) VisitFields(field["type"], visit);
    }
  } else if (json.is_object()) {
    for (const char* child : {"element", "key", "value", "fields"}) {
      if (json.contains(child)) VisitFields(json[child], visit);
    }
  }
}

/// Members that this version does not know go into each field object of `json`.
void RestoreUnknown(const std::map<int32_t, Json>& unknown, Json* json) {
  if (json->is_array()) {
    for (Json& field : *json) {
      const auto it = unknown.find(field["id"].get<int32_t>());
      RestoreUnknown(unknown, &field["type"]);
      if (it == unknown.end()) continue;
      for (auto member = it->second.begin(); member != it->second.end(); ++member)
        field[member.key()] = member.value();
    }
  } else if (json->is_object()) {
    for (const char* child : {"element", "key", "value", "fields"}) {
      if (json->contains(child)) RestoreUnknown(unknown, &(*json)[child]);
    }
  }
}

}  // namespace

arrow::Result<nlohmann::ordered_json> ParseBoundedJson(std::string_view text,
                                                       std::string_view source_name) {
  ARROW_RETURN_NOT_OK(CheckJsonBounds(text, source_name));
  Json json = Json::parse(text, nullptr, /*allow_exceptions=*/false);
  if (json.is_discarded())
    return Corruption("{}: not valid JSON ({} bytes)", source_name, text.size());
  return json;
}

std::string PrettyJson(const nlohmann::ordered_json& json) {
  std::string text;
  AppendPretty(json, 0, &text);
  return text;
}

int TableSchema::FieldIndex(std::string_view name) const {
  for (size_t i = 0; i < fields.size(); ++i) {
    if (fields[i].name == name) return static_cast<int>(i);
  }
  return -1;
}

std::vector<DataField> TableSchema::PartitionFields() const {
  std::vector<DataField> partition_fields;
  for (const std::string& key : partition_keys) {
    const int index = FieldIndex(key);
    if (index >= 0) partition_fields.push_back(fields[static_cast<size_t>(index)]);
  }
  return partition_fields;
}

std::string TableSchema::Option(const std::string& key, std::string_view default_value) const {
  const auto it = options.find(key);
  return it == options.end() ? std::string(default_value) : it->second;
}

std::string TableSchema::ToJsonText() const {
  Json json = Json::object();
  json["version"] = version;
  json["id"] = id;
  Json field_array = Json::array();
  for (const DataField& field : fields) field_array.push_back(field.ToJson());
  if (!unknown_of_fields.empty()) RestoreUnknown(unknown_of_fields, &field_array);
  json["fields"] = std::move(field_array);
  json["highestFieldId"] = highest_field_id;
  json["partitionKeys"] = partition_keys;
  json["primaryKeys"] = primary_keys;
  Json option_object = Json::object();
  for (const std::string& key : option_order) {
    const auto it = options.find(key);
    if (it != options.end()) option_object[key] = it->second;
  }
  for (const auto& [key, value] : options) option_object[key] = value;
  json["options"] = std::move(option_object);
  if (comment) json["comment"] = *comment;
  json["timeMillis"] = time_millis;
  for (auto it = unknown.begin(); it != unknown.end(); ++it) json[it.key()] = it.value();
  return PrettyJson(json);
}

arrow::Result<TableSchema> TableSchema::FromJsonText(std::string_view text,
                                                     std::string_view source_name) {
  ARROW_ASSIGN_OR_RAISE(Json json, ParseBoundedJson(text, source_name));
  if (!json.is_object()) return Corruption("{}: a schema must be a JSON object", source_name);
  constexpr int64_t kInt32Max = std::numeric_limits<int32_t>::max();
  constexpr int64_t kInt64Max = std::numeric_limits<int64_t>::max();
  const SchemaReader reader(json, source_name);
  TableSchema schema;
  ARROW_ASSIGN_OR_RAISE(int64_t version, reader.Integer("version", 1, 1, kInt32Max));
  if (version > kVersionMax) {
    return Unsupported("{}: schema version {}, this program knows versions up to {}", source_name,
                       version, kVersionMax);
  }
  schema.version = static_cast<int32_t>(version);
  ARROW_ASSIGN_OR_RAISE(schema.id, reader.Integer("id", std::nullopt, 0, kInt64Max));
  ARROW_ASSIGN_OR_RAISE(schema.fields, reader.Fields());
  ARROW_ASSIGN_OR_RAISE(int64_t highest,
                        reader.Integer("highestFieldId", std::nullopt, -1, kInt32Max));
  schema.highest_field_id = static_cast<int32_t>(highest);
  ARROW_ASSIGN_OR_RAISE(schema.partition_keys, reader.Strings("partitionKeys"));
  ARROW_ASSIGN_OR_RAISE(schema.primary_keys, reader.Strings("primaryKeys"));
  ARROW_RETURN_NOT_OK(reader.Options(&schema));
  ARROW_ASSIGN_OR_RAISE(schema.comment, reader.Comment());
  ARROW_ASSIGN_OR_RAISE(
      schema.time_millis,
      reader.Integer("timeMillis", 0, std::numeric_limits<int64_t>::min(), kInt64Max));
  ARROW_RETURN_NOT_OK(CheckNames(schema, source_name));
  if (schema.version <= 1) schema.options.try_emplace("bucket", "1");
  if (schema.version <= 2) schema.options.try_emplace("file.format", "orc");
  for (auto it = json.begin(); it != json.end(); ++it) {
    if (!IsKnownKey(it.key())) schema.unknown[it.key()] = it.value();
  }
  VisitFields(json["fields"], [&](const Json& field) {
    for (auto it = field.begin(); it != field.end(); ++it) {
      if (!IsKnownFieldKey(it.key()))
        schema.unknown_of_fields[field["id"].get<int32_t>()][it.key()] = it.value();
    }
  });
  return schema;
}

}  // namespace kelda
