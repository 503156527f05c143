#include "kelda/format/avro/avro_schema.h"

#include <algorithm>
#include <iterator>
#include <set>
#include <string_view>
#include <utility>

#include "kelda/avro/schema.h"

namespace kelda {
namespace {

using avro::Schema;
using avro::SchemaPtr;

constexpr std::string_view kRootName = "org.apache.paimon.avro.generated.record";

struct CodePoints {
  char32_t first;
  char32_t last;
};

/// Letters beyond ASCII that names may have: the blocks in wide use. Java asks Character.isLetter
/// of all of Unicode; a letter that is not here is refused although Java would take it.
constexpr CodePoints kLetters[] = {
    {0x00C0, 0x00D6}, {0x00D8, 0x00F6},   {0x00F8, 0x02C1}, {0x0370, 0x0373}, {0x0376, 0x0377},
    {0x037B, 0x037D}, {0x0388, 0x038A},   {0x038E, 0x03A1}, {0x03A3, 0x03F5}, {0x0400, 0x0481},
    {0x048A, 0x052F}, {0x0531, 0x0556},   {0x0561, 0x0586}, {0x05D0, 0x05EA}, {0x0620, 0x064A},
    {0x0671, 0x06D3}, {0x0904, 0x0939},   {0x0E01, 0x0E30}, {0x10D0, 0x10FA}, {0x1E00, 0x1EFF},
    {0x3041, 0x3096}, {0x30A1, 0x30FA},   {0x3105, 0x312F}, {0x3400, 0x4DBF}, {0x4E00, 0x9FFC},
    {0xAC00, 0xD7A3}, {0x20000, 0x2A6DD},
};

/// The next code point of valid UTF-8; 0 where the text is broken.
char32_t TakeCodePoint(std::string_view* text) {
  const auto lead = static_cast<unsigned char>((*text)[0]);
  const size_t length = lead < 0x80    ? 1
                        : lead >= 0xF0 ? 4
                        : lead >= 0xE0 ? 3
                        : lead >= 0xC0 ? 2
                                       : 0;
  if (length == 0 || length > text->size()) {
    text->remove_prefix(1);
    return 0;
  }
  char32_t point = length == 1 ? lead : lead & (0x7F >> length);
  for (size_t i = 1; i < length; ++i) {
    point = point << 6 | (static_cast<unsigned char>((*text)[i]) & 0x3F);
  }
  text->remove_prefix(length);
  return point;
}

bool IsLetter(char32_t point) {
  if ((point >= 'a' && point <= 'z') || (point >= 'A' && point <= 'Z')) return true;
  return std::any_of(std::begin(kLetters), std::end(kLetters), [&](const CodePoints& range) {
    return point >= range.first && point <= range.last;
  });
}

arrow::Status CheckName(std::string_view name, const std::string& column) {
  bool good = !name.empty();
  for (std::string_view rest = name; good && !rest.empty();) {
    const bool first = rest.size() == name.size();
    const char32_t point = TakeCodePoint(&rest);
    good = point == '_' || IsLetter(point) || (!first && point >= '0' && point <= '9');
  }
  if (good) return arrow::Status::OK();
  return Unsupported(
      "column '{}' in Avro files: names there have letters, digits and '_' only and do not begin "
      "with a digit",
      column);
}

SchemaPtr Plain(avro::Type type, std::string_view logical_type = {}) {
  auto schema = std::make_shared<Schema>();
  schema->type = type;
  if (!logical_type.empty()) {
    schema->properties.push_back({"logicalType", fmt::format("\"{}\"", logical_type)});
  }
  return schema;
}

SchemaPtr Container(avro::Type type, SchemaPtr child) {
  auto schema = std::make_shared<Schema>();
  schema->type = type;
  schema->children.push_back(std::move(child));
  return schema;
}

SchemaPtr NullOr(SchemaPtr value) {
  auto schema = std::make_shared<Schema>();
  schema->type = avro::Type::kUnion;
  schema->children = {Plain(avro::Type::kNull), std::move(value)};
  return schema;
}

/// Makes schemas out of types. `prefix` is the name that a record gets which stands directly there.
class Builder {
 public:
  explicit Builder(const std::map<std::string, std::string>& row_names) : row_names_(row_names) {}

  arrow::Result<SchemaPtr> Record(const std::vector<DataField>& fields, const std::string& prefix,
                                  const std::string& column) {
    const auto renamed = row_names_.find(prefix);
    const std::string& name = renamed == row_names_.end() ? prefix : renamed->second;
    auto record = NewRecord(name);
    std::set<std::string_view> names;
    for (const DataField& field : fields) {
      const std::string path = column.empty() ? field.name : column + "." + field.name;
      if (!names.insert(field.name).second) return Invalid("two columns are named '{}'", path);
      ARROW_RETURN_NOT_OK(CheckName(field.name, path));
      ARROW_ASSIGN_OR_RAISE(auto type, Value(field.type, name + "_" + field.name, path));
      record->fields.push_back(MakeField(field.name, std::move(type), /*with_default=*/true));
    }
    return Define(std::move(record), column);
  }

 private:
  static std::shared_ptr<Schema> NewRecord(const std::string& full_name) {
    auto record = std::make_shared<Schema>();
    record->type = avro::Type::kRecord;
    const size_t dot = full_name.rfind('.');
    if (dot != std::string::npos) record->name_space = full_name.substr(0, dot);
    record->name = dot == std::string::npos ? full_name : full_name.substr(dot + 1);
    return record;
  }

  static avro::Field MakeField(std::string name, SchemaPtr type, bool with_default) {
    avro::Field field;
    field.name = std::move(name);
    if (with_default && type->type == avro::Type::kUnion) {
      field.properties.push_back({"default", "null"});
    }
    field.type = std::move(type);
    return field;
  }

  /// A record may be met twice if both are the same (spec 01 §4.3).
  arrow::Result<SchemaPtr> Define(std::shared_ptr<Schema> record, const std::string& column) {
    const auto [found, is_new] = records_.try_emplace(record->full_name(), avro::ToJson(*record));
    if (!is_new && found->second != avro::ToJson(*record)) {
      return Unsupported("column '{}' in Avro files: another column's record is named {}, too",
                         column, record->full_name());
    }
    return record;
  }

  arrow::Result<SchemaPtr> Value(const DataType& type, const std::string& prefix,
                                 const std::string& column) {
    ARROW_ASSIGN_OR_RAISE(auto value, NotNull(type, prefix, column));
    return type.nullable() ? NullOr(std::move(value)) : value;
  }

  arrow::Result<SchemaPtr> NotNull(const DataType& type, const std::string& prefix,
                                   const std::string& column) {
    switch (type.root()) {
      case TypeRoot::kRow:
        return Record(type.fields(), prefix, column);
      case TypeRoot::kArray:
      case TypeRoot::kVector: {
        ARROW_ASSIGN_OR_RAISE(auto element, Value(type.element(), prefix, column));
        return Container(avro::Type::kArray, std::move(element));
      }
      case TypeRoot::kMap:
        return Map(type.key(), type.value(), prefix, column);
      case TypeRoot::kMultiset:
        // Java's own writer fails on other elements (spec 01 §4.3).
        if (!type.element().IsString()) {
          return Unsupported("column '{}' of type {} in Avro files: elements must be text", column,
                             type.ToString());
        }
        return Container(avro::Type::kMap, NullOr(Plain(avro::Type::kInt)));
      default:
        return Scalar(type, column);
    }
  }

  arrow::Result<SchemaPtr> Map(const DataType& key, const DataType& value,
                               const std::string& prefix, const std::string& column) {
    if (key.IsString()) {
      ARROW_ASSIGN_OR_RAISE(auto values, Value(value, prefix, column));
      return Container(avro::Type::kMap, std::move(values));
    }
    auto entry = NewRecord(prefix);
    ARROW_ASSIGN_OR_RAISE(auto key_type, Value(key, prefix + "_key", column));
    ARROW_ASSIGN_OR_RAISE(auto value_type, Value(value, prefix + "_value", column));
    entry->fields.push_back(MakeField("key", std::move(key_type), /*with_default=*/false));
    entry->fields.push_back(MakeField("value", std::move(value_type), /*with_default=*/true));
    ARROW_ASSIGN_OR_RAISE(auto defined, Define(std::move(entry), column));
    auto entries = std::make_shared<Schema>(*Container(avro::Type::kArray, std::move(defined)));
    entries->properties.push_back({"logicalType", "\"map\""});
    return entries;
  }

  static arrow::Result<SchemaPtr> Scalar(const DataType& type, const std::string& column) {
    switch (type.root()) {
      case TypeRoot::kBoolean:
        return Plain(avro::Type::kBoolean);
      case TypeRoot::kTinyInt:
      case TypeRoot::kSmallInt:
      case TypeRoot::kInt:
        return Plain(avro::Type::kInt);
      case TypeRoot::kBigInt:
        return Plain(avro::Type::kLong);
      case TypeRoot::kFloat:
        return Plain(avro::Type::kFloat);
      case TypeRoot::kDouble:
        return Plain(avro::Type::kDouble);
      case TypeRoot::kChar:
      case TypeRoot::kVarChar:
        return Plain(avro::Type::kString);
      case TypeRoot::kBinary:
      case TypeRoot::kVarBinary:
      case TypeRoot::kBlob:
        return Plain(avro::Type::kBytes);
      case TypeRoot::kDecimal: {
        auto decimal = std::make_shared<Schema>(*Plain(avro::Type::kBytes, "decimal"));
        decimal->properties.push_back({"precision", std::to_string(type.precision())});
        decimal->properties.push_back({"scale", std::to_string(type.scale())});
        return decimal;
      }
      case TypeRoot::kDate:
        return Plain(avro::Type::kInt, "date");
      case TypeRoot::kTime:
        if (type.precision() > 3) return TooFine(type, column, 3);
        return Plain(avro::Type::kInt, "time-millis");
      // The names are the reverse of what the Avro specification means (spec 01 §4.3).
      case TypeRoot::kTimestamp:
        if (type.precision() > 6) return TooFine(type, column, 6);
        return Plain(avro::Type::kLong,
                     type.precision() <= 3 ? "timestamp-millis" : "timestamp-micros");
      case TypeRoot::kTimestampLtz:
        if (type.precision() > 6) return TooFine(type, column, 6);
        return Plain(avro::Type::kLong,
                     type.precision() <= 3 ? "local-timestamp-millis" : "local-timestamp-micros");
      default:
        return Unsupported("column '{}' of type {} in Avro files: the format has no such type",
                           column, type.ToString());
    }
  }

  static arrow::Status TooFine(const DataType& type, const std::string& column, int digits) {
    return Unsupported("column '{}' of type {} in Avro files: the format has at most {} digits",
                       column, type.ToString(), digits);
  }

  const std::map<std::string, std::string>& row_names_;
  std::map<std::string, std::string> records_;  ///< full name -> definition
};

}  // namespace

arrow::Result<std::string> AvroSchemaOf(const std::vector<DataField>& fields,
                                        const std::map<std::string, std::string>& row_names) {
  if (fields.empty()) return Unsupported("Avro files without columns");
  ARROW_ASSIGN_OR_RAISE(auto record, Builder(row_names).Record(fields, std::string(kRootName), ""));
  std::string json = avro::ToJson(*record);
  // The limits of readers hold for what is written, too.
  ARROW_RETURN_NOT_OK(avro::ParseSchema(json).status());
  return json;
}

arrow::Status CheckAvroTypes(const std::vector<DataField>& fields) {
  return AvroSchemaOf(fields).status();
}

}  // namespace kelda
