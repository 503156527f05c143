#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "kelda/base/status.h"

namespace kelda::avro {

enum class Type : uint8_t {
  kNull,
  kBoolean,
  kInt,
  kLong,
  kFloat,
  kDouble,
  kBytes,
  kString,
  kRecord,
  kEnum,
  kArray,
  kMap,
  kUnion,
  kFixed,
};

/// Logical types that change the decoded value. Others, and broken ones, are read as their plain
/// type, as the Avro specification asks.
enum class LogicalType : uint8_t {
  kNone,
  kDecimal,
  kDate,
  kTimeMillis,
  kTimeMicros,
  kTimestampMillis,
  kTimestampMicros,
  kLocalTimestampMillis,
  kLocalTimestampMicros,
  kMap,  ///< array of {key, value} records (spec 01 §4.3)
};

std::string_view ToString(Type type);

struct Schema;
using SchemaPtr = std::shared_ptr<const Schema>;

/// An attribute that the tree does not interpret (or keeps besides its meaning): key and compact
/// JSON value.
struct Property {
  std::string key;
  std::string json;
};

struct Field {
  std::string name;
  SchemaPtr type;
  std::vector<Property> properties;  ///< default, doc, field-id, ... in the order given
};

/// One node of a parsed Avro schema; immutable once shared. Named references point to the same node
/// as the definition, so the tree is a DAG without cycles.
struct Schema {
  Type type = Type::kNull;
  LogicalType logical_type = LogicalType::kNone;
  int32_t precision = 0;             ///< decimal
  int32_t scale = 0;                 ///< decimal
  int64_t fixed_size_bytes = 0;      ///< fixed
  std::string name;                  ///< record, enum, fixed: without namespace
  std::string name_space;            ///< of the full name; may be empty
  std::vector<Field> fields;         ///< record
  std::vector<SchemaPtr> children;   ///< union branches; the items of an array; the values of a map
  std::vector<std::string> symbols;  ///< enum
  std::vector<Property>
      properties;  ///< logicalType, precision, doc, element-id, ... in the order given
  int64_t encoded_size_min_bytes =
      0;                   ///< no value is shorter; 0 only if every value has no bytes at all
  int64_t node_count = 1;  ///< nodes with named references expanded
  int32_t depth = 1;

  std::string full_name() const { return name_space.empty() ? name : name_space + "." + name; }
  /// Index of a record field, -1 if there is none.
  int FieldIndex(std::string_view field_name) const;
};

constexpr size_t kSchemaTextSizeMax = size_t{16} << 20;
constexpr int32_t kSchemaDepthMax = 192;
constexpr int64_t kSchemaNodesMax = 100'000;

/// Parse schema JSON from an untrusted source: size, depth, expanded nodes and members per object
/// are limited, definitions are unique, references resolve. A record that contains itself is
/// NotImplemented.
arrow::Result<SchemaPtr> ParseSchema(std::string_view json);

/// Compact JSON: core attributes in the order Java's Avro prints them (type, name, namespace where
/// it changes, fields
/// ...), then the other attributes as given. The text of schemas that Java wrote comes back byte
/// for byte.
std::string ToJson(const Schema& schema);

/// What a union means to a columnar reader: a value that may be null.
struct NullableView {
  const Schema* value = nullptr;
  bool is_union = false;
  int null_branch = -1;  ///< -1: never null
  int value_branch = -1;
};

/// View of [null, T], [T, null], [T] or T; NotImplemented naming `path` for other unions.
arrow::Result<NullableView> AsNullable(const Schema& schema, std::string_view path);

}  // namespace kelda::avro
