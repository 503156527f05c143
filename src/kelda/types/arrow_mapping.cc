#include "kelda/types/arrow_mapping.h"

#include <utility>

#include <arrow/util/key_value_metadata.h>

namespace kelda {

namespace {

constexpr const char* kFieldIdKey = "PARQUET:field_id";

/// Place of an unnamed child: the named field above it and the levels below that field.
struct IdPath {
  int32_t field_id = -1;
  int depth = 0;
  bool with_ids = false;

  IdPath Below() const { return {field_id, depth + 1, with_ids}; }
};

std::shared_ptr<arrow::Field> MakeField(std::string name, std::shared_ptr<arrow::DataType> type,
                                        bool nullable, bool with_id, int32_t id) {
  std::shared_ptr<const arrow::KeyValueMetadata> metadata;
  if (with_id) metadata = arrow::key_value_metadata({kFieldIdKey}, {std::to_string(id)});
  return arrow::field(std::move(name), std::move(type), nullable, std::move(metadata));
}

arrow::TimeUnit::type UnitOf(int precision) {
  if (precision == 0) return arrow::TimeUnit::SECOND;
  if (precision <= 3) return arrow::TimeUnit::MILLI;
  return precision <= 6 ? arrow::TimeUnit::MICRO : arrow::TimeUnit::NANO;
}

arrow::Result<std::shared_ptr<arrow::DataType>> Convert(const DataType& type, const IdPath& path);

arrow::Result<std::shared_ptr<arrow::Field>> ConvertChild(const char* name, const DataType& type,
                                                          const IdPath& below, bool is_key) {
  ARROW_ASSIGN_OR_RAISE(auto arrow_type, Convert(type, below));
  const bool with_id = below.with_ids && below.field_id >= 0;
  const int32_t id = is_key ? MapKeyFieldId(below.field_id, below.depth)
                            : ElementFieldId(below.field_id, below.depth);
  return MakeField(name, std::move(arrow_type), type.nullable(), with_id, id);
}

arrow::Result<std::shared_ptr<arrow::Field>> ConvertField(const DataField& field, bool with_ids) {
  ARROW_ASSIGN_OR_RAISE(auto type, Convert(field.type, IdPath{field.id, 0, with_ids}));
  return MakeField(field.name, std::move(type), field.type.nullable(), with_ids && field.id >= 0,
                   field.id);
}

arrow::Result<std::shared_ptr<arrow::DataType>> ConvertMap(const DataType& key,
                                                           const DataType& value,
                                                           const IdPath& path) {
  const IdPath below = path.Below();
  ARROW_ASSIGN_OR_RAISE(auto key_field, ConvertChild("key", key.WithNullable(false), below, true));
  ARROW_ASSIGN_OR_RAISE(auto value_field, ConvertChild("value", value, below, false));
  return std::make_shared<arrow::MapType>(std::move(key_field), std::move(value_field));
}

arrow::Result<std::shared_ptr<arrow::DataType>> Convert(const DataType& type, const IdPath& path) {
  switch (type.root()) {
    case TypeRoot::kBoolean:
      return arrow::boolean();
    case TypeRoot::kTinyInt:
      return arrow::int8();
    case TypeRoot::kSmallInt:
      return arrow::int16();
    case TypeRoot::kInt:
      return arrow::int32();
    case TypeRoot::kBigInt:
      return arrow::int64();
    case TypeRoot::kFloat:
      return arrow::float32();
    case TypeRoot::kDouble:
      return arrow::float64();
    case TypeRoot::kDecimal: {
      ARROW_ASSIGN_OR_RAISE(auto decimal,
                            arrow::Decimal128Type::Make(type.precision(), type.scale()));
      return decimal;
    }
    case TypeRoot::kChar:
    case TypeRoot::kVarChar:
      return arrow::utf8();
    case TypeRoot::kBinary:
    case TypeRoot::kVarBinary:
    case TypeRoot::kBlob:
      return arrow::binary();
    case TypeRoot::kDate:
      return arrow::date32();
    case TypeRoot::kTime:
      return arrow::time32(arrow::TimeUnit::MILLI);
    case TypeRoot::kTimestamp:
      return arrow::timestamp(UnitOf(type.precision()));
    case TypeRoot::kTimestampLtz:
      return arrow::timestamp(UnitOf(type.precision()), "UTC");
    case TypeRoot::kArray: {
      ARROW_ASSIGN_OR_RAISE(auto element,
                            ConvertChild("element", type.element(), path.Below(), false));
      return arrow::list(std::move(element));
    }
    case TypeRoot::kMap:
      return ConvertMap(type.key(), type.value(), path);
    case TypeRoot::kMultiset:
      return ConvertMap(type.element(), DataType(TypeRoot::kInt, false), path);
    case TypeRoot::kVector: {
      ARROW_ASSIGN_OR_RAISE(auto element,
                            ConvertChild("element", type.element(), path.Below(), false));
      return arrow::fixed_size_list(std::move(element), type.length());
    }
    case TypeRoot::kRow: {
      arrow::FieldVector children;
      children.reserve(type.fields().size());
      for (const DataField& field : type.fields()) {
        ARROW_ASSIGN_OR_RAISE(auto child, ConvertField(field, path.with_ids));
        children.push_back(std::move(child));
      }
      return arrow::struct_(std::move(children));
    }
    case TypeRoot::kVariant:
      return arrow::struct_({arrow::field("value", arrow::binary(), false),
                             arrow::field("metadata", arrow::binary(), false)});
  }
  return Invalid("type {} has no Arrow form", type.ToString());
}

/// VARIANT has no Arrow type of its own; exactly the struct that ToArrowType makes is read back as
/// one.
bool IsVariantStruct(const arrow::DataType& type) {
  if (type.num_fields() != 2) return false;
  const auto& value = *type.field(0);
  const auto& metadata = *type.field(1);
  return value.name() == "value" && metadata.name() == "metadata" && !value.nullable() &&
         !metadata.nullable() && value.type()->id() == arrow::Type::BINARY &&
         metadata.type()->id() == arrow::Type::BINARY;
}

arrow::Result<DataType> FromArrow(const arrow::DataType& type, bool nullable, int depth);

arrow::Result<DataType> FromArrowNested(const arrow::DataType& type, bool nullable, int depth) {
  const auto child = [&](int i) {
    return FromArrow(*type.field(i)->type(), type.field(i)->nullable(), depth + 1);
  };
  switch (type.id()) {
    case arrow::Type::FIXED_SIZE_LIST: {
      ARROW_ASSIGN_OR_RAISE(DataType element, child(0));
      const int32_t length = static_cast<const arrow::FixedSizeListType&>(type).list_size();
      if (IsVectorElement(element) && length >= 1)
        return DataType::Vector(std::move(element), length, nullable);
      return DataType::Array(std::move(element), nullable);
    }
    case arrow::Type::MAP: {
      const auto& map = static_cast<const arrow::MapType&>(type);
      ARROW_ASSIGN_OR_RAISE(DataType key, FromArrow(*map.key_type(), false, depth + 1));
      ARROW_ASSIGN_OR_RAISE(DataType value,
                            FromArrow(*map.item_type(), map.item_field()->nullable(), depth + 1));
      return DataType::Map(std::move(key), std::move(value), nullable);
    }
    case arrow::Type::STRUCT: {
      if (IsVariantStruct(type)) return DataType(TypeRoot::kVariant, nullable);
      std::vector<DataField> fields;
      fields.reserve(static_cast<size_t>(type.num_fields()));
      for (int i = 0; i < type.num_fields(); ++i) {
        DataField field;
        field.name = type.field(i)->name();
        ARROW_ASSIGN_OR_RAISE(field.type, child(i));
        fields.push_back(std::move(field));
      }
      return DataType::Row(std::move(fields), nullable);
    }
    default: {  // LIST, LARGE_LIST, LIST_VIEW, LARGE_LIST_VIEW
      ARROW_ASSIGN_OR_RAISE(DataType element, child(0));
      return DataType::Array(std::move(element), nullable);
    }
  }
}

arrow::Result<DataType> FromArrowDecimal(const arrow::DataType& type, bool nullable) {
  const auto& decimal = static_cast<const arrow::DecimalType&>(type);
  if (decimal.precision() > 38 || decimal.scale() < 0 || decimal.scale() > decimal.precision()) {
    return Unsupported(
        "Arrow type {}: Paimon's DECIMAL has at most 38 digits and a scale of 0 to the precision",
        type.ToString());
  }
  return DataType::Decimal(decimal.precision(), decimal.scale(), nullable);
}

DataType FromArrowTimestamp(const arrow::DataType& type, bool nullable) {
  const auto& timestamp = static_cast<const arrow::TimestampType&>(type);
  const TypeRoot root =
      timestamp.timezone().empty() ? TypeRoot::kTimestamp : TypeRoot::kTimestampLtz;
  switch (timestamp.unit()) {
    case arrow::TimeUnit::SECOND:
      return DataType::Temporal(root, 0, nullable);
    case arrow::TimeUnit::MILLI:
      return DataType::Temporal(root, 3, nullable);
    case arrow::TimeUnit::MICRO:
      return DataType::Temporal(root, 6, nullable);
    default:
      return DataType::Temporal(root, 9, nullable);
  }
}

arrow::Result<DataType> FromArrow(const arrow::DataType& type, bool nullable, int depth) {
  if (depth > DataType::kDepthMax)
    return Invalid("Arrow type is nested deeper than {}", DataType::kDepthMax);
  using arrow::Type;
  switch (type.id()) {
    case Type::BOOL:
      return DataType(TypeRoot::kBoolean, nullable);
    case Type::INT8:
      return DataType(TypeRoot::kTinyInt, nullable);
    case Type::UINT8:
    case Type::INT16:
      return DataType(TypeRoot::kSmallInt, nullable);
    case Type::UINT16:
    case Type::INT32:
      return DataType(TypeRoot::kInt, nullable);
    case Type::UINT32:
    case Type::INT64:
      return DataType(TypeRoot::kBigInt, nullable);
    case Type::UINT64:
      return DataType::Decimal(20, 0, nullable);
    case Type::HALF_FLOAT:
    case Type::FLOAT:
      return DataType(TypeRoot::kFloat, nullable);
    case Type::DOUBLE:
      return DataType(TypeRoot::kDouble, nullable);
    case Type::DECIMAL32:
    case Type::DECIMAL64:
    case Type::DECIMAL128:
    case Type::DECIMAL256:
      return FromArrowDecimal(type, nullable);
    case Type::STRING:
    case Type::LARGE_STRING:
    case Type::STRING_VIEW:
      return DataType::String(nullable);
    case Type::BINARY:
    case Type::LARGE_BINARY:
    case Type::BINARY_VIEW:
      return DataType::Bytes(nullable);
    case Type::FIXED_SIZE_BINARY: {
      const int32_t width = static_cast<const arrow::FixedSizeBinaryType&>(type).byte_width();
      if (width < 1) return DataType::Bytes(nullable);
      return DataType::Sized(TypeRoot::kBinary, width, nullable);
    }
    case Type::DATE32:
    case Type::DATE64:
      return DataType(TypeRoot::kDate, nullable);
    case Type::TIME32:
    case Type::TIME64: {
      // TIME holds millis, whatever its declared precision (spec 04 §4.2).
      const bool seconds =
          static_cast<const arrow::TimeType&>(type).unit() == arrow::TimeUnit::SECOND;
      return DataType::Temporal(TypeRoot::kTime, seconds ? 0 : 3, nullable);
    }
    case Type::TIMESTAMP:
      return FromArrowTimestamp(type, nullable);
    case Type::LIST:
    case Type::LARGE_LIST:
    case Type::LIST_VIEW:
    case Type::LARGE_LIST_VIEW:
    case Type::FIXED_SIZE_LIST:
    case Type::MAP:
    case Type::STRUCT:
      return FromArrowNested(type, nullable, depth);
    case Type::DICTIONARY:
      return FromArrow(*static_cast<const arrow::DictionaryType&>(type).value_type(), nullable,
                       depth + 1);
    case Type::RUN_END_ENCODED:
      return FromArrow(*static_cast<const arrow::RunEndEncodedType&>(type).value_type(), nullable,
                       depth + 1);
    default:
      return Unsupported("Arrow type {} has no Paimon type", type.ToString());
  }
}

}  // namespace

arrow::Result<std::shared_ptr<arrow::DataType>> ToArrowType(const DataType& type) {
  return Convert(type, IdPath{});
}

arrow::Result<std::shared_ptr<arrow::Field>> ToArrowField(const DataField& field) {
  return ConvertField(field, true);
}

arrow::Result<std::shared_ptr<arrow::Schema>> ToArrowSchema(const std::vector<DataField>& fields) {
  arrow::FieldVector arrow_fields;
  arrow_fields.reserve(fields.size());
  for (const DataField& field : fields) {
    ARROW_ASSIGN_OR_RAISE(auto arrow_field, ToArrowField(field));
    arrow_fields.push_back(std::move(arrow_field));
  }
  return arrow::schema(std::move(arrow_fields));
}

arrow::Result<DataType> FromArrowType(const arrow::DataType& type, bool nullable) {
  return FromArrow(type, nullable, 1);
}

}  // namespace kelda
