#include "kelda/format/parquet/parquet_schema.h"

#include <set>

#include <parquet/types.h>

namespace kelda {
namespace {

using parquet::LogicalType;
using parquet::Repetition;
using parquet::schema::GroupNode;
using parquet::schema::NodePtr;
using parquet::schema::NodeVector;
using parquet::schema::PrimitiveNode;
using LogicalTypePtr = std::shared_ptr<const LogicalType>;

struct Primitive {
  LogicalTypePtr logical = LogicalType::None();
  parquet::Type::type physical = parquet::Type::INT32;
  int length = -1;
};

Primitive DecimalPrimitive(const DataType& type) {
  Primitive p{LogicalType::Decimal(type.precision(), type.scale())};
  if (type.precision() <= 9) {
    p.physical = parquet::Type::INT32;
  } else if (type.precision() <= 18) {
    p.physical = parquet::Type::INT64;
  } else {
    p.physical = parquet::Type::FIXED_LEN_BYTE_ARRAY;
    p.length = DecimalFixedLength(type.precision());
  }
  return p;
}

Primitive TimestampPrimitive(const DataType& type) {
  if (type.precision() > 6) return {LogicalType::None(), parquet::Type::INT96};
  auto unit = type.precision() <= 3 ? LogicalType::TimeUnit::MILLIS : LogicalType::TimeUnit::MICROS;
  // Java's library writes the legacy ConvertedType for both kinds, so does the forced flag.
  return {LogicalType::Timestamp(type.root() == TypeRoot::kTimestampLtz, unit,
                                 /*is_from_converted_type=*/false,
                                 /*force_set_converted_type=*/true),
          parquet::Type::INT64};
}

Primitive PrimitiveOf(const DataType& type) {
  switch (type.root()) {
    case TypeRoot::kBoolean:
      return {LogicalType::None(), parquet::Type::BOOLEAN};
    case TypeRoot::kTinyInt:
      return {LogicalType::Int(8, true), parquet::Type::INT32};
    case TypeRoot::kSmallInt:
      return {LogicalType::Int(16, true), parquet::Type::INT32};
    case TypeRoot::kBigInt:
      return {LogicalType::None(), parquet::Type::INT64};
    case TypeRoot::kFloat:
      return {LogicalType::None(), parquet::Type::FLOAT};
    case TypeRoot::kDouble:
      return {LogicalType::None(), parquet::Type::DOUBLE};
    case TypeRoot::kDecimal:
      return DecimalPrimitive(type);
    case TypeRoot::kChar:
    case TypeRoot::kVarChar:
      return {LogicalType::String(), parquet::Type::BYTE_ARRAY};
    case TypeRoot::kBinary:
    case TypeRoot::kVarBinary:
    case TypeRoot::kBlob:
      return {LogicalType::None(), parquet::Type::BYTE_ARRAY};
    case TypeRoot::kDate:
      return {LogicalType::Date(), parquet::Type::INT32};
    case TypeRoot::kTime:
      return {LogicalType::Time(true, LogicalType::TimeUnit::MILLIS), parquet::Type::INT32};
    case TypeRoot::kTimestamp:
    case TypeRoot::kTimestampLtz:
      return TimestampPrimitive(type);
    default:
      return {LogicalType::None(), parquet::Type::INT32};
  }
}

/// Where a node stands: `column_id` and `depth` give the ids of unnamed children.
struct Place {
  int32_t column_id;
  int depth;
};

NodePtr BuildNode(const std::string& name, const DataType& type, int32_t id, Place place,
                  bool nullable);

NodePtr BuildMap(const std::string& name, const DataType& key, const DataType& value, int32_t id,
                 Place place, Repetition::type repetition) {
  Place child{place.column_id, place.depth + 1};
  // A key is required even if its type is nullable (spec 01 §6.2).
  NodeVector members = {
      BuildNode("key", key, MapKeyFieldId(place.column_id, child.depth), child, false),
      BuildNode("value", value, ElementFieldId(place.column_id, child.depth), child,
                value.nullable())};
  auto entries = GroupNode::Make("key_value", Repetition::REPEATED, members);
  return GroupNode::Make(name, repetition, {entries}, LogicalType::Map(), id);
}

NodePtr BuildNode(const std::string& name, const DataType& type, int32_t id, Place place,
                  bool nullable) {
  auto repetition = nullable ? Repetition::OPTIONAL : Repetition::REQUIRED;
  switch (type.root()) {
    case TypeRoot::kArray: {
      Place child{place.column_id, place.depth + 1};
      auto element =
          BuildNode("element", type.element(), ElementFieldId(place.column_id, child.depth), child,
                    type.element().nullable());
      auto list = GroupNode::Make("list", Repetition::REPEATED, {element});
      return GroupNode::Make(name, repetition, {list}, LogicalType::List(), id);
    }
    case TypeRoot::kMap:
      return BuildMap(name, type.key(), type.value(), id, place, repetition);
    case TypeRoot::kMultiset:
      return BuildMap(name, type.element(), DataType(TypeRoot::kInt, false), id, place, repetition);
    case TypeRoot::kRow: {
      NodeVector members;
      for (const auto& field : type.fields()) {
        members.push_back(
            BuildNode(field.name, field.type, field.id, {field.id, 0}, field.type.nullable()));
      }
      return GroupNode::Make(name, repetition, members, LogicalTypePtr(), id);
    }
    case TypeRoot::kVariant: {
      NodeVector members;
      members.push_back(PrimitiveNode::Make("value", Repetition::REQUIRED, LogicalType::None(),
                                            parquet::Type::BYTE_ARRAY, -1, 0));
      members.push_back(PrimitiveNode::Make("metadata", Repetition::REQUIRED, LogicalType::None(),
                                            parquet::Type::BYTE_ARRAY, -1, 1));
      return GroupNode::Make(name, repetition, members, LogicalTypePtr(), id);
    }
    default: {
      Primitive p = PrimitiveOf(type);
      return PrimitiveNode::Make(name, repetition, p.logical, p.physical, p.length, id);
    }
  }
}

arrow::Status CheckType(const DataType& type, const std::string& column, int depth) {
  if (depth > kParquetDepthMax) {
    return Unsupported("column '{}' is nested more than {} levels deep", column, kParquetDepthMax);
  }
  switch (type.root()) {
    case TypeRoot::kVector:
      return Unsupported("column '{}' of type {} in Parquet files", column, type.ToString());
    case TypeRoot::kArray:
    case TypeRoot::kMultiset:
      return CheckType(type.element(), column, depth + 1);
    case TypeRoot::kMap:
      ARROW_RETURN_NOT_OK(CheckType(type.key(), column, depth + 1));
      return CheckType(type.value(), column, depth + 1);
    case TypeRoot::kRow: {
      if (type.fields().empty()) {
        return Unsupported("column '{}': a ROW without fields in Parquet files", column);
      }
      std::set<std::string_view> names;
      for (const auto& field : type.fields()) {
        if (!names.insert(field.name).second) {
          return Invalid("column '{}': two members are named '{}'", column, field.name);
        }
        ARROW_RETURN_NOT_OK(CheckType(field.type, column + "." + field.name, depth + 1));
      }
      return arrow::Status::OK();
    }
    default:
      return arrow::Status::OK();
  }
}

}  // namespace

int DecimalFixedLength(int precision) {
  // Smallest L with 2^(8L-1) - 1 >= 10^precision - 1.
  static constexpr int kDigits[] = {0, 2, 4, 6, 9, 11, 14, 16, 18, 21, 23, 26, 28, 31, 33, 35, 38};
  int length = 1;
  while (length < 16 && kDigits[length] < precision) ++length;
  return length;
}

std::shared_ptr<GroupNode> BuildParquetSchema(const std::vector<DataField>& fields) {
  NodeVector nodes;
  for (const auto& field : fields) {
    nodes.push_back(
        BuildNode(field.name, field.type, field.id, {field.id, 0}, field.type.nullable()));
  }
  // Java leaves the repetition of the message out; Arrow writes one, which readers ignore.
  auto root = GroupNode::Make("paimon_schema", Repetition::REQUIRED, nodes);
  return std::static_pointer_cast<GroupNode>(root);
}

arrow::Status CheckParquetTypes(const std::vector<DataField>& fields) {
  if (fields.empty()) return Unsupported("Parquet files without columns");
  std::set<std::string_view> names;
  for (const auto& field : fields) {
    if (!names.insert(field.name).second) {
      return Invalid("two columns are named '{}'", field.name);
    }
    ARROW_RETURN_NOT_OK(CheckType(field.type, field.name, 1));
  }
  return arrow::Status::OK();
}

}  // namespace kelda
