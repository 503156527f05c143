// JSON form of types and fields (spec 01 §2.1, §2.2).
#include <limits>
#include <utility>

#include <nlohmann/json.hpp>

#include "kelda/types/data_type.h"

namespace kelda {

namespace {

using Json = nlohmann::ordered_json;

/// Ids of one traversal: all fields have one, or none has and they are numbered in order.
struct IdSource {
  bool seen_with = false;
  int32_t given = 0;
};

arrow::Result<DataType> TypeFromJson(const Json& json, int depth, IdSource* ids);

/// For error texts: short, valid whatever the value holds.
std::string Excerpt(const Json& json) {
  std::string text = json.dump(-1, ' ', false, Json::error_handler_t::replace);
  if (text.size() > 200) text = text.substr(0, 200) + "...";
  return text;
}

arrow::Result<std::string> StringMember(const Json& json, const char* key) {
  const auto it = json.find(key);
  if (it == json.end() || !it->is_string())
    return Invalid("'{}' must be a string in {}", key, Excerpt(json));
  return it->get<std::string>();
}

arrow::Result<int32_t> IntMember(const Json& json, const char* key, int32_t min) {
  const auto it = json.find(key);
  if (it == json.end() || !it->is_number_integer()) {
    return Invalid("'{}' must be an integer in {}", key, Excerpt(json));
  }
  const bool too_large =
      it->is_number_unsigned() && it->get<uint64_t>() > std::numeric_limits<int32_t>::max();
  if (too_large || it->get<int64_t>() < min)
    return Invalid("'{}' is out of range in {}", key, Excerpt(json));
  return static_cast<int32_t>(it->get<int64_t>());
}

arrow::Result<std::optional<std::string>> OptionalString(const Json& json, const char* key) {
  const auto it = json.find(key);
  if (it == json.end() || it->is_null()) return std::nullopt;
  if (!it->is_string()) return Invalid("'{}' must be a string in {}", key, Excerpt(json));
  return it->get<std::string>();
}

arrow::Result<DataField> FieldFromJson(const Json& json, int depth, IdSource* ids) {
  if (!json.is_object()) return Invalid("a field must be an object, found {}", Excerpt(json));
  DataField field;
  if (json.contains("id")) {
    if (ids->given > 0)
      return Invalid("some fields have an id and some have none: {}", Excerpt(json));
    ARROW_ASSIGN_OR_RAISE(field.id, IntMember(json, "id", 0));
    ids->seen_with = true;
  } else {
    if (ids->seen_with)
      return Invalid("some fields have an id and some have none: {}", Excerpt(json));
    field.id = ids->given++;
  }
  ARROW_ASSIGN_OR_RAISE(field.name, StringMember(json, "name"));
  const auto type = json.find("type");
  if (type == json.end()) return Invalid("field '{}' has no type", field.name);
  ARROW_ASSIGN_OR_RAISE(field.type, TypeFromJson(*type, depth, ids));
  ARROW_ASSIGN_OR_RAISE(field.description, OptionalString(json, "description"));
  ARROW_ASSIGN_OR_RAISE(field.default_value, OptionalString(json, "defaultValue"));
  return field;
}

arrow::Result<std::vector<DataField>> FieldArrayFromJson(const Json& json, int depth,
                                                         IdSource* ids) {
  if (!json.is_array()) return Invalid("'fields' must be an array, found {}", Excerpt(json));
  std::vector<DataField> fields;
  fields.reserve(json.size());
  for (const Json& item : json) {
    ARROW_ASSIGN_OR_RAISE(DataField field, FieldFromJson(item, depth, ids));
    fields.push_back(std::move(field));
  }
  return fields;
}

bool HasRow(const DataType& type) {
  switch (type.root()) {
    case TypeRoot::kRow:
      return true;
    case TypeRoot::kArray:
    case TypeRoot::kMultiset:
      return HasRow(type.element());
    case TypeRoot::kMap:
      return HasRow(type.key()) || HasRow(type.value());
    default:
      return false;
  }
}

/// Split `ARRAY NOT NULL` into the word and nullability.
arrow::Result<std::pair<std::string, bool>> ObjectRoot(const std::string& text) {
  std::vector<std::string> words;
  std::string word;
  for (const char c : text + " ") {
    if (c != ' ' && c != '\t' && c != '\n' && c != '\r') {
      word += c >= 'a' && c <= 'z' ? static_cast<char>(c - 'a' + 'A') : c;
    } else if (!word.empty()) {
      words.push_back(std::exchange(word, {}));
    }
  }
  if (words.size() == 1) return std::pair(words[0], true);
  if (words.size() == 3 && words[1] == "NOT" && words[2] == "NULL")
    return std::pair(words[0], false);
  return Invalid("'{}' is no nested type", text.substr(0, 200));
}

arrow::Result<DataType> ChildFromJson(const Json& json, const char* key, int depth, IdSource* ids) {
  const auto it = json.find(key);
  if (it == json.end()) return Invalid("'{}' is missing in {}", key, Excerpt(json));
  return TypeFromJson(*it, depth + 1, ids);
}

arrow::Result<DataType> ObjectFromJson(const Json& json, int depth, IdSource* ids) {
  ARROW_ASSIGN_OR_RAISE(std::string text, StringMember(json, "type"));
  ARROW_ASSIGN_OR_RAISE(auto root, ObjectRoot(text));
  const auto& [word, nullable] = root;
  if (word == "ARRAY" || word == "MULTISET") {
    ARROW_ASSIGN_OR_RAISE(DataType element, ChildFromJson(json, "element", depth, ids));
    if (word == "ARRAY") return DataType::Array(std::move(element), nullable);
    return DataType::Multiset(std::move(element), nullable);
  }
  if (word == "MAP") {
    ARROW_ASSIGN_OR_RAISE(DataType key, ChildFromJson(json, "key", depth, ids));
    ARROW_ASSIGN_OR_RAISE(DataType value, ChildFromJson(json, "value", depth, ids));
    return DataType::Map(std::move(key), std::move(value), nullable);
  }
  if (word == "VECTOR") {
    ARROW_ASSIGN_OR_RAISE(DataType element, ChildFromJson(json, "element", depth, ids));
    ARROW_ASSIGN_OR_RAISE(int32_t length, IntMember(json, "length", 1));
    if (!IsVectorElement(element)) return Invalid("VECTOR cannot hold {}", element.ToString());
    return DataType::Vector(std::move(element), length, nullable);
  }
  if (word == "ROW") {
    const auto it = json.find("fields");
    if (it == json.end()) return Invalid("'fields' is missing in {}", Excerpt(json));
    ARROW_ASSIGN_OR_RAISE(auto fields, FieldArrayFromJson(*it, depth + 1, ids));
    return DataType::Row(std::move(fields), nullable);
  }
  return Invalid("'{}' is no nested type", text.substr(0, 200));
}

arrow::Result<DataType> TypeFromJson(const Json& json, int depth, IdSource* ids) {
  if (depth > DataType::kDepthMax)
    return Invalid("type is nested deeper than {}", DataType::kDepthMax);
  if (json.is_object()) return ObjectFromJson(json, depth, ids);
  if (!json.is_string())
    return Invalid("a type must be a string or an object, found {}", Excerpt(json));
  ARROW_ASSIGN_OR_RAISE(DataType type, DataType::Parse(json.get_ref<const std::string&>()));
  // Field ids have no place in the text form, and no writer uses it.
  if (HasRow(type)) return Invalid("ROW must be an object, found {}", Excerpt(json));
  return type;
}

}  // namespace

nlohmann::ordered_json DataType::ToJson() const {
  Json json = Json::object();
  const std::string suffix = nullable_ ? "" : " NOT NULL";
  switch (root_) {
    case TypeRoot::kArray:
      json["type"] = "ARRAY" + suffix;
      json["element"] = element().ToJson();
      return json;
    case TypeRoot::kMultiset:
      json["type"] = "MULTISET" + suffix;
      json["element"] = element().ToJson();
      return json;
    case TypeRoot::kMap:
      json["type"] = "MAP" + suffix;
      json["key"] = key().ToJson();
      json["value"] = value().ToJson();
      return json;
    case TypeRoot::kVector:
      json["type"] = "VECTOR" + suffix;
      json["element"] = element().ToJson();
      json["length"] = length();
      return json;
    case TypeRoot::kRow: {
      json["type"] = "ROW" + suffix;
      Json fields = Json::array();
      for (const DataField& field : *fields_) fields.push_back(field.ToJson());
      json["fields"] = std::move(fields);
      return json;
    }
    default:
      return ToString();
  }
}

arrow::Result<DataType> DataType::FromJson(const nlohmann::ordered_json& json) {
  IdSource ids;
  return TypeFromJson(json, 1, &ids);
}

nlohmann::ordered_json DataField::ToJson() const {
  Json json = Json::object();
  json["id"] = id;
  json["name"] = name;
  json["type"] = type.ToJson();
  if (description) json["description"] = *description;
  if (default_value) json["defaultValue"] = *default_value;
  return json;
}

arrow::Result<DataField> DataField::FromJson(const nlohmann::ordered_json& json) {
  IdSource ids;
  return FieldFromJson(json, 1, &ids);
}

arrow::Result<std::vector<DataField>> FieldsFromJson(const nlohmann::ordered_json& json) {
  IdSource ids;
  return FieldArrayFromJson(json, 1, &ids);
}

}  // namespace kelda
