#include "kelda/avro/schema.h"

#include <algorithm>
#include <limits>
#include <unordered_map>
#include <unordered_set>
#include <utility>

#include <nlohmann/json.hpp>

namespace kelda::avro {

using Json = nlohmann::ordered_json;

namespace {

constexpr int kJsonDepthMax = 256;
// nlohmann's ordered objects look keys up one by one; this keeps a hostile schema from costing
// quadratic time.
constexpr int kObjectMembersMax = 256;
constexpr int64_t kFixedSizeMaxBytes = int64_t{1} << 20;

constexpr std::string_view kTypeNames[] = {"null",   "boolean", "int",    "long",   "float",
                                           "double", "bytes",   "string", "record", "enum",
                                           "array",  "map",     "union",  "fixed"};

struct LogicalTypeRule {
  std::string_view name;
  Type type;
  LogicalType logical_type;
};

constexpr LogicalTypeRule kLogicalTypes[] = {
    {"date", Type::kInt, LogicalType::kDate},
    {"time-millis", Type::kInt, LogicalType::kTimeMillis},
    {"time-micros", Type::kLong, LogicalType::kTimeMicros},
    {"timestamp-millis", Type::kLong, LogicalType::kTimestampMillis},
    {"timestamp-micros", Type::kLong, LogicalType::kTimestampMicros},
    {"local-timestamp-millis", Type::kLong, LogicalType::kLocalTimestampMillis},
    {"local-timestamp-micros", Type::kLong, LogicalType::kLocalTimestampMicros},
    {"map", Type::kArray, LogicalType::kMap},
};

int64_t SaturatingAdd(int64_t a, int64_t b) {
  int64_t sum;
  return __builtin_add_overflow(a, b, &sum) ? std::numeric_limits<int64_t>::max() : sum;
}

/// Refuse texts that the JSON library would spend too much stack or time on, before it sees them.
arrow::Status CheckJsonShape(std::string_view text) {
  if (text.size() > kSchemaTextSizeMax) {
    return Invalid("Avro schema of {} bytes is larger than {} bytes", text.size(),
                   kSchemaTextSizeMax);
  }
  int depth = 0;
  int members[kJsonDepthMax + 1] = {};
  bool is_object[kJsonDepthMax + 1] = {};
  bool in_string = false;
  for (size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    if (in_string) {
      if (c == '\\') {
        ++i;
      } else if (c == '"') {
        in_string = false;
      }
    } else if (c == '"') {
      in_string = true;
    } else if (c == '{' || c == '[') {
      if (++depth > kJsonDepthMax)
        return Invalid("Avro schema nests deeper than {} levels", kJsonDepthMax);
      members[depth] = 0;
      is_object[depth] = c == '{';
    } else if (c == '}' || c == ']') {
      depth = std::max(depth - 1, 0);
    } else if (c == ',' && is_object[depth] && ++members[depth] > kObjectMembersMax) {
      return Invalid("Avro schema has an object with more than {} members", kObjectMembersMax);
    }
  }
  return arrow::Status::OK();
}

bool IsPrimitiveName(std::string_view name) {
  for (int i = 0; i <= static_cast<int>(Type::kString); ++i) {
    if (kTypeNames[i] == name) return true;
  }
  return false;
}

Type TypeOf(std::string_view name) {
  for (size_t i = 0; i < std::size(kTypeNames); ++i) {
    if (kTypeNames[i] == name) return static_cast<Type>(i);
  }
  return Type::kNull;
}

int64_t MinimumSize(const Schema& schema) {
  switch (schema.type) {
    case Type::kNull:
      return 0;
    case Type::kFloat:
      return 4;
    case Type::kDouble:
      return 8;
    case Type::kFixed:
      return schema.fixed_size_bytes;
    case Type::kRecord: {
      int64_t sum = 0;
      for (const Field& field : schema.fields) {
        sum = SaturatingAdd(sum, field.type->encoded_size_min_bytes);
      }
      return sum;
    }
    case Type::kUnion: {
      int64_t least = std::numeric_limits<int64_t>::max() - 1;
      for (const SchemaPtr& branch : schema.children) {
        least = std::min(least, branch->encoded_size_min_bytes);
      }
      return least + 1;
    }
    default:
      return 1;
  }
}

class Parser {
 public:
  arrow::Result<SchemaPtr> Parse(const Json& json, const std::string& name_space) {
    if (json.is_string()) return ParseName(json.get_ref<const std::string&>(), name_space);
    if (json.is_array()) return ParseUnion(json, name_space);
    if (!json.is_object()) return Invalid("Avro schema: a type is neither name, object nor union");
    const auto type = json.find("type");
    if (type == json.end()) return Invalid("Avro schema: an object without \"type\"");
    if (!type->is_string()) return Parse(*type, name_space);
    const std::string& name = type->get_ref<const std::string&>();
    if (name == "record" || name == "error") return ParseRecord(json, name_space);
    if (name == "enum") return ParseEnum(json, name_space);
    if (name == "fixed") return ParseFixed(json, name_space);
    if (name == "array" || name == "map") return ParseContainer(json, TypeOf(name), name_space);
    if (!IsPrimitiveName(name)) return ParseName(name, name_space);
    auto schema = std::make_shared<Schema>();
    schema->type = TypeOf(name);
    AddProperties(json, {"type"}, schema.get());
    return Complete(std::move(schema));
  }

 private:
  arrow::Result<SchemaPtr> ParseName(const std::string& name, const std::string& name_space) {
    if (IsPrimitiveName(name)) {
      SchemaPtr& shared = primitives_[name];
      if (shared == nullptr) {
        auto schema = std::make_shared<Schema>();
        schema->type = TypeOf(name);
        ARROW_ASSIGN_OR_RAISE(shared, Complete(std::move(schema)));
      }
      return shared;
    }
    auto found = named_.end();
    if (name.find('.') == std::string::npos && !name_space.empty()) {
      found = named_.find(name_space + "." + name);
    }
    if (found == named_.end()) found = named_.find(name);
    if (found == named_.end()) return Invalid("Avro schema: unknown type '{}'", name);
    if (found->second == nullptr) return Unsupported("recursive Avro type '{}'", name);
    return found->second;
  }

  arrow::Result<SchemaPtr> ParseUnion(const Json& json, const std::string& name_space) {
    auto schema = std::make_shared<Schema>();
    schema->type = Type::kUnion;
    if (json.empty()) return Invalid("Avro schema: empty union");
    std::unordered_set<std::string> seen;
    for (const Json& branch : json) {
      ARROW_ASSIGN_OR_RAISE(SchemaPtr child, Parse(branch, name_space));
      if (child->type == Type::kUnion)
        return Invalid("Avro schema: a union directly inside a union");
      std::string key =
          child->name.empty() ? std::string(ToString(child->type)) : child->full_name();
      if (!seen.insert(std::move(key)).second) {
        return Invalid("Avro schema: a union with two branches of type {}", ToString(child->type));
      }
      schema->children.push_back(std::move(child));
    }
    return Complete(std::move(schema));
  }

  arrow::Result<SchemaPtr> ParseRecord(const Json& json, const std::string& name_space) {
    auto schema = std::make_shared<Schema>();
    schema->type = Type::kRecord;
    ARROW_RETURN_NOT_OK(DeclareName(json, name_space, schema.get()));
    const auto fields = json.find("fields");
    if (fields == json.end() || !fields->is_array()) {
      return Invalid("Avro schema: record '{}' without fields", schema->name);
    }
    std::unordered_set<std::string_view> names;
    schema->fields.reserve(fields->size());
    for (const Json& entry : *fields) {
      const auto name = entry.is_object() ? entry.find("name") : entry.end();
      if (!entry.is_object() || name == entry.end() || !name->is_string() ||
          !entry.contains("type")) {
        return Invalid("Avro schema: a field of record '{}' without name or type", schema->name);
      }
      Field& field = schema->fields.emplace_back();
      field.name = name->get<std::string>();
      if (!names.insert(name->get_ref<const std::string&>()).second) {
        return Invalid("Avro schema: record '{}' has two fields '{}'", schema->name, field.name);
      }
      ARROW_ASSIGN_OR_RAISE(field.type, Parse(entry["type"], schema->name_space));
      for (const auto& [key, value] : entry.items()) {
        if (key != "name" && key != "type") field.properties.push_back({key, value.dump()});
      }
    }
    AddProperties(json, {"type", "name", "namespace", "fields"}, schema.get());
    return CompleteNamed(std::move(schema));
  }

  arrow::Result<SchemaPtr> ParseEnum(const Json& json, const std::string& name_space) {
    auto schema = std::make_shared<Schema>();
    schema->type = Type::kEnum;
    ARROW_RETURN_NOT_OK(DeclareName(json, name_space, schema.get()));
    const auto symbols = json.find("symbols");
    if (symbols == json.end() || !symbols->is_array()) {
      return Invalid("Avro schema: enum '{}' without symbols", schema->name);
    }
    for (const Json& symbol : *symbols) {
      if (!symbol.is_string())
        return Invalid("Avro schema: a symbol of enum '{}' is no string", schema->name);
      schema->symbols.push_back(symbol.get<std::string>());
    }
    AddProperties(json, {"type", "name", "namespace", "symbols"}, schema.get());
    return CompleteNamed(std::move(schema));
  }

  arrow::Result<SchemaPtr> ParseFixed(const Json& json, const std::string& name_space) {
    auto schema = std::make_shared<Schema>();
    schema->type = Type::kFixed;
    ARROW_RETURN_NOT_OK(DeclareName(json, name_space, schema.get()));
    const auto size = json.find("size");
    if (size == json.end() || !size->is_number_integer() || size->get<int64_t>() < 0 ||
        size->get<int64_t>() > kFixedSizeMaxBytes) {
      return Invalid("Avro schema: fixed '{}' needs a size of 0 to {} bytes", schema->name,
                     kFixedSizeMaxBytes);
    }
    schema->fixed_size_bytes = size->get<int64_t>();
    AddProperties(json, {"type", "name", "namespace", "size"}, schema.get());
    return CompleteNamed(std::move(schema));
  }

  arrow::Result<SchemaPtr> ParseContainer(const Json& json, Type type,
                                          const std::string& name_space) {
    auto schema = std::make_shared<Schema>();
    schema->type = type;
    const char* key = type == Type::kArray ? "items" : "values";
    const auto child = json.find(key);
    if (child == json.end()) return Invalid("Avro schema: {} without \"{}\"", ToString(type), key);
    ARROW_ASSIGN_OR_RAISE(SchemaPtr parsed, Parse(*child, name_space));
    schema->children.push_back(std::move(parsed));
    AddProperties(json, {"type", key}, schema.get());
    return Complete(std::move(schema));
  }

  /// Take name and namespace and put the name into the table as "being defined".
  arrow::Status DeclareName(const Json& json, const std::string& enclosing, Schema* schema) {
    const auto name = json.find("name");
    if (name == json.end() || !name->is_string() || name->get_ref<const std::string&>().empty()) {
      return Invalid("Avro schema: {} without name", ToString(schema->type));
    }
    const std::string& given = name->get_ref<const std::string&>();
    const auto space = json.find("namespace");
    const size_t dot = given.rfind('.');
    if (dot != std::string::npos) {
      schema->name_space = given.substr(0, dot);
      schema->name = given.substr(dot + 1);
    } else {
      schema->name = given;
      schema->name_space =
          space != json.end() && space->is_string() ? space->get<std::string>() : enclosing;
    }
    if (!named_.emplace(schema->full_name(), nullptr).second) {
      return Invalid("Avro schema: type '{}' is defined twice", schema->full_name());
    }
    return arrow::Status::OK();
  }

  static void AddProperties(const Json& json, std::initializer_list<std::string_view> core,
                            Schema* schema) {
    for (const auto& [key, value] : json.items()) {
      if (std::find(core.begin(), core.end(), key) == core.end()) {
        schema->properties.push_back({key, value.dump()});
      }
    }
    const auto logical = json.find("logicalType");
    if (logical == json.end() || !logical->is_string()) return;
    const std::string& name = logical->get_ref<const std::string&>();
    if (name == "decimal") return SetDecimal(json, schema);
    for (const LogicalTypeRule& rule : kLogicalTypes) {
      if (rule.name == name && rule.type == schema->type) schema->logical_type = rule.logical_type;
    }
    if (schema->logical_type == LogicalType::kMap) {
      const Schema& item = *schema->children[0];
      if (item.type != Type::kRecord || item.fields.size() != 2)
        schema->logical_type = LogicalType::kNone;
    }
  }

  static void SetDecimal(const Json& json, Schema* schema) {
    if (schema->type != Type::kBytes && schema->type != Type::kFixed) return;
    const auto precision = json.find("precision");
    const auto scale = json.find("scale");
    if (precision == json.end() || !precision->is_number_integer()) return;
    if (scale != json.end() && !scale->is_number_integer()) return;
    const int64_t p = precision->get<int64_t>();
    const int64_t s = scale == json.end() ? 0 : scale->get<int64_t>();
    if (p < 1 || p > std::numeric_limits<int32_t>::max() || s < 0 || s > p) return;
    schema->logical_type = LogicalType::kDecimal;
    schema->precision = static_cast<int32_t>(p);
    schema->scale = static_cast<int32_t>(s);
  }

  static arrow::Result<SchemaPtr> Complete(std::shared_ptr<Schema> schema) {
    schema->encoded_size_min_bytes = MinimumSize(*schema);
    auto include = [&](const Schema& child) {
      schema->node_count = SaturatingAdd(schema->node_count, child.node_count);
      schema->depth = std::max(schema->depth, child.depth + 1);
    };
    for (const Field& field : schema->fields) include(*field.type);
    for (const SchemaPtr& child : schema->children) include(*child);
    if (schema->depth > kSchemaDepthMax) {
      return Invalid("Avro schema nests deeper than {} types", kSchemaDepthMax);
    }
    if (schema->node_count > kSchemaNodesMax) {
      return Invalid("Avro schema has more than {} types", kSchemaNodesMax);
    }
    return schema;
  }

  arrow::Result<SchemaPtr> CompleteNamed(std::shared_ptr<Schema> schema) {
    const std::string name = schema->full_name();
    ARROW_ASSIGN_OR_RAISE(SchemaPtr complete, Complete(std::move(schema)));
    named_[name] = complete;
    return complete;
  }

  std::unordered_map<std::string, SchemaPtr> named_;  // null while the type is being defined
  std::unordered_map<std::string, SchemaPtr> primitives_;
};

/// Writes a schema tree; each named type in full where it is first met, by name afterwards.
class Printer {
 public:
  void Print(const Schema& schema, const std::string& name_space) {
    switch (schema.type) {
      case Type::kUnion:
        return PrintUnion(schema, name_space);
      case Type::kRecord:
      case Type::kEnum:
      case Type::kFixed:
        return PrintNamed(schema, name_space);
      default:
        break;
    }
    const bool is_container = schema.type == Type::kArray || schema.type == Type::kMap;
    if (!is_container && schema.properties.empty()) return Quote(ToString(schema.type));
    text_ += "{\"type\":";
    Quote(ToString(schema.type));
    if (is_container) {
      text_ += schema.type == Type::kArray ? ",\"items\":" : ",\"values\":";
      Print(*schema.children[0], name_space);
    }
    PrintProperties(schema.properties);
    text_ += '}';
  }

  std::string Take() { return std::move(text_); }

 private:
  void Quote(std::string_view text) { text_ += Json(std::string(text)).dump(); }

  void PrintUnion(const Schema& schema, const std::string& name_space) {
    text_ += '[';
    for (size_t i = 0; i < schema.children.size(); ++i) {
      if (i > 0) text_ += ',';
      Print(*schema.children[i], name_space);
    }
    text_ += ']';
  }

  void PrintNamed(const Schema& schema, const std::string& name_space) {
    if (!printed_.insert(schema.full_name()).second) {
      return Quote(schema.name_space == name_space ? schema.name : schema.full_name());
    }
    text_ += "{\"type\":";
    Quote(ToString(schema.type));
    text_ += ",\"name\":";
    Quote(schema.name);
    if (schema.name_space != name_space) {
      text_ += ",\"namespace\":";
      Quote(schema.name_space);
    }
    if (schema.type == Type::kRecord) {
      PrintFields(schema);
    } else if (schema.type == Type::kFixed) {
      text_ += fmt::format(",\"size\":{}", schema.fixed_size_bytes);
    } else {
      text_ += ",\"symbols\":";
      text_ += Json(schema.symbols).dump();
    }
    PrintProperties(schema.properties);
    text_ += '}';
  }

  void PrintFields(const Schema& schema) {
    text_ += ",\"fields\":[";
    for (size_t i = 0; i < schema.fields.size(); ++i) {
      const Field& field = schema.fields[i];
      text_ += i > 0 ? ",{\"name\":" : "{\"name\":";
      Quote(field.name);
      text_ += ",\"type\":";
      Print(*field.type, schema.name_space);
      PrintProperties(field.properties);
      text_ += '}';
    }
    text_ += ']';
  }

  void PrintProperties(const std::vector<Property>& properties) {
    for (const Property& property : properties) {
      text_ += ',';
      Quote(property.key);
      text_ += ':';
      text_ += property.json;
    }
  }

  std::string text_;
  std::unordered_set<std::string> printed_;
};

}  // namespace

std::string_view ToString(Type type) { return kTypeNames[static_cast<size_t>(type)]; }

int Schema::FieldIndex(std::string_view field_name) const {
  for (size_t i = 0; i < fields.size(); ++i) {
    if (fields[i].name == field_name) return static_cast<int>(i);
  }
  return -1;
}

arrow::Result<SchemaPtr> ParseSchema(std::string_view json) {
  ARROW_RETURN_NOT_OK(CheckJsonShape(json));
  const Json parsed = Json::parse(json, nullptr, /*allow_exceptions=*/false);
  if (parsed.is_discarded()) return Invalid("Avro schema: not valid JSON");
  return Parser().Parse(parsed, "");
}

std::string ToJson(const Schema& schema) {
  Printer printer;
  printer.Print(schema, "");
  return printer.Take();
}

arrow::Result<NullableView> AsNullable(const Schema& schema, std::string_view path) {
  NullableView view;
  if (schema.type != Type::kUnion) {
    view.value = &schema;
    return view;
  }
  view.is_union = true;
  const auto& branches = schema.children;
  if (branches.size() == 1) {
    view.value = branches[0].get();
    view.value_branch = 0;
    return view;
  }
  const int null_branch = branches[0]->type == Type::kNull ? 0 : 1;
  if (branches.size() > 2 || branches[null_branch]->type != Type::kNull) {
    return Unsupported("Avro union of {} types in '{}' (only null and one type)", branches.size(),
                       path);
  }
  view.null_branch = null_branch;
  view.value_branch = 1 - null_branch;
  view.value = branches[view.value_branch].get();
  return view;
}

}  // namespace kelda::avro
