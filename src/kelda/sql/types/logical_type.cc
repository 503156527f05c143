#include "kelda/sql/types/logical_type.h"

#include <string>

#include "kelda/base/status.h"

namespace kelda::sql {

namespace {

using duckdb::LogicalType;
using duckdb::LogicalTypeId;

LogicalType TimestampOf(int precision) {
  if (precision == 0) return LogicalType::TIMESTAMP_S;
  if (precision <= 3) return LogicalType::TIMESTAMP_MS;
  if (precision <= 6) return LogicalType::TIMESTAMP;
  return LogicalType::TIMESTAMP_NS;
}

arrow::Result<LogicalType> StructOf(const DataType& type, std::string_view column) {
  if (type.fields().empty()) {
    return Unsupported("column '{}' of type {} (a ROW without members)", column, type.ToString());
  }
  duckdb::child_list_t<LogicalType> children;
  for (const DataField& member : type.fields()) {
    ARROW_ASSIGN_OR_RAISE(auto child, ToLogicalType(member.type, column));
    children.emplace_back(member.name, std::move(child));
  }
  return LogicalType::STRUCT(std::move(children));
}

arrow::Result<DataType> FromNested(const LogicalType& type, std::string_view column) {
  switch (type.id()) {
    case LogicalTypeId::LIST: {
      ARROW_ASSIGN_OR_RAISE(auto element,
                            FromLogicalType(duckdb::ListType::GetChildType(type), column));
      return DataType::Array(std::move(element));
    }
    case LogicalTypeId::ARRAY: {
      ARROW_ASSIGN_OR_RAISE(auto element,
                            FromLogicalType(duckdb::ArrayType::GetChildType(type), column));
      return DataType::Array(std::move(element));
    }
    case LogicalTypeId::MAP: {
      ARROW_ASSIGN_OR_RAISE(auto key, FromLogicalType(duckdb::MapType::KeyType(type), column));
      ARROW_ASSIGN_OR_RAISE(auto value, FromLogicalType(duckdb::MapType::ValueType(type), column));
      return DataType::Map(key.WithNullable(false), std::move(value));
    }
    default: {
      std::vector<DataField> members;
      for (const auto& [name, child] : duckdb::StructType::GetChildTypes(type)) {
        ARROW_ASSIGN_OR_RAISE(auto member, FromLogicalType(child, column));
        members.push_back(DataField{-1, name, std::move(member), {}, {}});
      }
      return DataType::Row(std::move(members));
    }
  }
}

}  // namespace

arrow::Result<LogicalType> ToLogicalType(const DataType& type, std::string_view column) {
  switch (type.root()) {
    case TypeRoot::kBoolean:
      return LogicalType::BOOLEAN;
    case TypeRoot::kTinyInt:
      return LogicalType::TINYINT;
    case TypeRoot::kSmallInt:
      return LogicalType::SMALLINT;
    case TypeRoot::kInt:
      return LogicalType::INTEGER;
    case TypeRoot::kBigInt:
      return LogicalType::BIGINT;
    case TypeRoot::kFloat:
      return LogicalType::FLOAT;
    case TypeRoot::kDouble:
      return LogicalType::DOUBLE;
    case TypeRoot::kDecimal:
      return LogicalType::DECIMAL(static_cast<uint8_t>(type.precision()),
                                  static_cast<uint8_t>(type.scale()));
    case TypeRoot::kChar:
    case TypeRoot::kVarChar:
      return LogicalType::VARCHAR;
    case TypeRoot::kBinary:
    case TypeRoot::kVarBinary:
    case TypeRoot::kBlob:
      return LogicalType::BLOB;
    case TypeRoot::kDate:
      return LogicalType::DATE;
    case TypeRoot::kTime:
      return LogicalType::TIME;
    case TypeRoot::kTimestamp:
      return TimestampOf(type.precision());
    case TypeRoot::kTimestampLtz:
      return LogicalType::TIMESTAMP_TZ;
    case TypeRoot::kArray:
    case TypeRoot::kVector: {
      ARROW_ASSIGN_OR_RAISE(auto element, ToLogicalType(type.element(), column));
      return LogicalType::LIST(element);
    }
    case TypeRoot::kMap: {
      ARROW_ASSIGN_OR_RAISE(auto key, ToLogicalType(type.key(), column));
      ARROW_ASSIGN_OR_RAISE(auto value, ToLogicalType(type.value(), column));
      return LogicalType::MAP(std::move(key), std::move(value));
    }
    case TypeRoot::kMultiset: {
      ARROW_ASSIGN_OR_RAISE(auto element, ToLogicalType(type.element(), column));
      return LogicalType::MAP(std::move(element), LogicalType::INTEGER);
    }
    case TypeRoot::kRow:
      return StructOf(type, column);
    case TypeRoot::kVariant:
      return LogicalType::JSON();
  }
  return Unsupported("column '{}' of type {}", column, type.ToString());
}

arrow::Result<DataType> FromLogicalType(const LogicalType& type, std::string_view column) {
  switch (type.id()) {
    case LogicalTypeId::BOOLEAN:
      return DataType(TypeRoot::kBoolean);
    case LogicalTypeId::TINYINT:
      return DataType(TypeRoot::kTinyInt);
    case LogicalTypeId::UTINYINT:
    case LogicalTypeId::SMALLINT:
      return DataType(TypeRoot::kSmallInt);
    case LogicalTypeId::USMALLINT:
    case LogicalTypeId::INTEGER:
    case LogicalTypeId::INTEGER_LITERAL:
    case LogicalTypeId::SQLNULL:
      return DataType(TypeRoot::kInt);
    case LogicalTypeId::UINTEGER:
    case LogicalTypeId::BIGINT:
      return DataType(TypeRoot::kBigInt);
    case LogicalTypeId::UBIGINT:
      return DataType::Decimal(20, 0);
    case LogicalTypeId::HUGEINT:
      return DataType::Decimal(38, 0);
    case LogicalTypeId::FLOAT:
      return DataType(TypeRoot::kFloat);
    case LogicalTypeId::DOUBLE:
      return DataType(TypeRoot::kDouble);
    case LogicalTypeId::DECIMAL:
      return DataType::Decimal(duckdb::DecimalType::GetWidth(type),
                               duckdb::DecimalType::GetScale(type));
    case LogicalTypeId::VARCHAR:
    case LogicalTypeId::STRING_LITERAL:
    case LogicalTypeId::CHAR:
    case LogicalTypeId::ENUM:
    case LogicalTypeId::UUID:
      return DataType::String();
    case LogicalTypeId::BLOB:
      return DataType::Bytes();
    case LogicalTypeId::DATE:
      return DataType(TypeRoot::kDate);
    case LogicalTypeId::TIME:
      return DataType::Temporal(TypeRoot::kTime, 3);
    case LogicalTypeId::TIMESTAMP_SEC:
      return DataType::Temporal(TypeRoot::kTimestamp, 0);
    case LogicalTypeId::TIMESTAMP_MS:
      return DataType::Temporal(TypeRoot::kTimestamp, 3);
    case LogicalTypeId::TIMESTAMP:
      return DataType::Temporal(TypeRoot::kTimestamp, 6);
    case LogicalTypeId::TIMESTAMP_NS:
      return DataType::Temporal(TypeRoot::kTimestamp, 9);
    case LogicalTypeId::TIMESTAMP_TZ:
      return DataType::Temporal(TypeRoot::kTimestampLtz, 6);
    case LogicalTypeId::LIST:
    case LogicalTypeId::ARRAY:
    case LogicalTypeId::MAP:
    case LogicalTypeId::STRUCT:
      return FromNested(type, column);
    default:
      return Unsupported("column '{}' of type {}: Paimon has no such type; cast it to another",
                         column, type.ToString());
  }
}

}  // namespace kelda::sql
