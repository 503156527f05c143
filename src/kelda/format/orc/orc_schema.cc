#include "kelda/format/orc/orc_schema.h"

#include <set>

namespace kelda {
namespace {

OrcKind KindOf(const DataType& type) {
  switch (type.root()) {
    case TypeRoot::kBoolean:
      return OrcKind::kBoolean;
    case TypeRoot::kTinyInt:
      return OrcKind::kByte;
    case TypeRoot::kSmallInt:
      return OrcKind::kShort;
    case TypeRoot::kInt:
    case TypeRoot::kTime:
      return OrcKind::kInt;
    case TypeRoot::kBigInt:
      return OrcKind::kLong;
    case TypeRoot::kFloat:
      return OrcKind::kFloat;
    case TypeRoot::kDouble:
      return OrcKind::kDouble;
    case TypeRoot::kDecimal:
      return OrcKind::kDecimal;
    case TypeRoot::kChar:
      return OrcKind::kChar;
    case TypeRoot::kVarChar:
      return type.length() == DataType::kLengthMax ? OrcKind::kString : OrcKind::kVarchar;
    case TypeRoot::kDate:
      return OrcKind::kDate;
    case TypeRoot::kTimestamp:
      return OrcKind::kTimestamp;
    case TypeRoot::kTimestampLtz:
      return OrcKind::kTimestampInstant;
    case TypeRoot::kArray:
      return OrcKind::kList;
    case TypeRoot::kMap:
    case TypeRoot::kMultiset:
      return OrcKind::kMap;
    case TypeRoot::kRow:
      return OrcKind::kStruct;
    default:
      return OrcKind::kBinary;
  }
}

/// Appends a column and those below it. `column_id` and `depth` give the ids of unnamed children
/// (spec 01 §2.6).
void Append(const DataType& type, int32_t id, int32_t column_id, int depth,
            std::vector<OrcType>* out) {
  const size_t self = out->size();
  OrcType column;
  column.kind = KindOf(type);
  column.attributes[kOrcFieldIdAttribute] = std::to_string(id);
  if (type.IsString()) column.maximum_length = static_cast<uint32_t>(type.length());
  if (type.root() == TypeRoot::kDecimal) {
    column.precision = static_cast<uint32_t>(type.precision());
    column.scale = static_cast<uint32_t>(type.scale());
  }
  out->push_back(std::move(column));
  const auto child = [&](const DataType& child_type, int32_t child_id, int32_t owner, int level) {
    (*out)[self].children.push_back(static_cast<uint32_t>(out->size()));
    Append(child_type, child_id, owner, level, out);
  };
  const int below = depth + 1;
  switch (type.root()) {
    case TypeRoot::kArray:
      child(type.element(), ElementFieldId(column_id, below), column_id, below);
      return;
    case TypeRoot::kMap:
      child(type.key(), MapKeyFieldId(column_id, below), column_id, below);
      child(type.value(), ElementFieldId(column_id, below), column_id, below);
      return;
    case TypeRoot::kMultiset:
      child(type.element(), MapKeyFieldId(column_id, below), column_id, below);
      child(DataType(TypeRoot::kInt, false), ElementFieldId(column_id, below), column_id, below);
      return;
    case TypeRoot::kRow:
      for (const DataField& field : type.fields()) {
        (*out)[self].names.push_back(field.name);
        child(field.type, field.id, field.id, 0);
      }
      return;
    default:
      return;
  }
}

arrow::Status CheckType(const DataType& type, const std::string& column, int depth) {
  if (depth > DataType::kDepthMax) {
    return Unsupported("column '{}' is nested more than {} levels deep", column,
                       DataType::kDepthMax);
  }
  switch (type.root()) {
    case TypeRoot::kVariant:
    case TypeRoot::kVector:
      return Unsupported("column '{}': ORC files cannot hold type {}", column, type.ToString());
    case TypeRoot::kArray:
    case TypeRoot::kMultiset:
      return CheckType(type.element(), column, depth + 1);
    case TypeRoot::kMap:
      ARROW_RETURN_NOT_OK(CheckType(type.key(), column, depth + 1));
      return CheckType(type.value(), column, depth + 1);
    case TypeRoot::kRow: {
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

std::vector<OrcType> BuildOrcSchema(const std::vector<DataField>& fields) {
  std::vector<OrcType> types(1);
  for (const DataField& field : fields) {
    types[0].names.push_back(field.name);
    types[0].children.push_back(static_cast<uint32_t>(types.size()));
    Append(field.type, field.id, field.id, 0, &types);
  }
  return types;
}

arrow::Status CheckOrcTypes(const std::vector<DataField>& fields) {
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
