#include "kelda/types/data_type.h"

#include <algorithm>
#include <utility>

namespace kelda {

namespace {

bool IsPlainIdentifier(std::string_view name) {
  if (name.empty() || (name[0] >= '0' && name[0] <= '9')) return false;
  return std::all_of(name.begin(), name.end(), [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_';
  });
}

std::string QuotedName(const std::string& name) {
  if (IsPlainIdentifier(name)) return name;
  std::string quoted = "`";
  for (char c : name) {
    if (c == '`') quoted += '`';
    quoted += c;
  }
  return quoted + "`";
}

std::string BaseText(const DataType& type) {
  switch (type.root()) {
    case TypeRoot::kBoolean:
      return "BOOLEAN";
    case TypeRoot::kTinyInt:
      return "TINYINT";
    case TypeRoot::kSmallInt:
      return "SMALLINT";
    case TypeRoot::kInt:
      return "INT";
    case TypeRoot::kBigInt:
      return "BIGINT";
    case TypeRoot::kFloat:
      return "FLOAT";
    case TypeRoot::kDouble:
      return "DOUBLE";
    case TypeRoot::kDecimal:
      return fmt::format("DECIMAL({}, {})", type.precision(), type.scale());
    case TypeRoot::kChar:
      return fmt::format("CHAR({})", type.length());
    case TypeRoot::kVarChar:
      if (type.length() == DataType::kLengthMax) return "STRING";
      return fmt::format("VARCHAR({})", type.length());
    case TypeRoot::kBinary:
      return fmt::format("BINARY({})", type.length());
    case TypeRoot::kVarBinary:
      if (type.length() == DataType::kLengthMax) return "BYTES";
      return fmt::format("VARBINARY({})", type.length());
    case TypeRoot::kDate:
      return "DATE";
    case TypeRoot::kTime:
      return fmt::format("TIME({})", type.precision());
    case TypeRoot::kTimestamp:
      return fmt::format("TIMESTAMP({})", type.precision());
    case TypeRoot::kTimestampLtz:
      return fmt::format("TIMESTAMP({}) WITH LOCAL TIME ZONE", type.precision());
    case TypeRoot::kArray:
      return "ARRAY<" + type.element().ToString() + ">";
    case TypeRoot::kMultiset:
      return "MULTISET<" + type.element().ToString() + ">";
    case TypeRoot::kMap:
      return "MAP<" + type.key().ToString() + ", " + type.value().ToString() + ">";
    case TypeRoot::kVector:
      return fmt::format("VECTOR<{}, {}>", type.element().ToString(), type.length());
    case TypeRoot::kRow: {
      std::string text = "ROW<";
      for (const DataField& field : type.fields()) {
        if (text.size() > 4) text += ", ";
        text += QuotedName(field.name) + " " + field.type.ToString();
      }
      return text + ">";
    }
    case TypeRoot::kVariant:
      return "VARIANT";
    case TypeRoot::kBlob:
      return "BLOB";
  }
  return "UNKNOWN";
}

/// `type` with the fields of its ROWs numbered from `*next` in post-order (spec 01 §2.3).
DataType Renumber(const DataType& type, int32_t* next) {
  switch (type.root()) {
    case TypeRoot::kArray:
      return DataType::Array(Renumber(type.element(), next), type.nullable());
    case TypeRoot::kMultiset:
      return DataType::Multiset(Renumber(type.element(), next), type.nullable());
    case TypeRoot::kMap: {
      DataType key = Renumber(type.key(), next);
      return DataType::Map(std::move(key), Renumber(type.value(), next), type.nullable());
    }
    case TypeRoot::kRow: {
      std::vector<DataField> fields = type.fields();
      for (DataField& field : fields) {
        field.type = Renumber(field.type, next);
        field.id = (*next)++;
      }
      return DataType::Row(std::move(fields), type.nullable());
    }
    default:
      return type;
  }
}

int32_t HighestIn(const DataType& type) {
  switch (type.root()) {
    case TypeRoot::kArray:
    case TypeRoot::kMultiset:
      return HighestIn(type.element());
    case TypeRoot::kMap:
      return std::max(HighestIn(type.key()), HighestIn(type.value()));
    case TypeRoot::kRow:
      return HighestFieldId(type.fields());
    default:
      return -1;
  }
}

}  // namespace

DataType DataType::Decimal(int precision, int scale, bool nullable) {
  DataType type(TypeRoot::kDecimal, nullable);
  type.a_ = precision;
  type.b_ = scale;
  return type;
}

DataType DataType::Sized(TypeRoot root, int32_t length, bool nullable) {
  DataType type(root, nullable);
  type.a_ = length;
  return type;
}

DataType DataType::Temporal(TypeRoot root, int precision, bool nullable) {
  DataType type(root, nullable);
  type.a_ = precision;
  return type;
}

DataType DataType::Array(DataType element, bool nullable) {
  DataType type(TypeRoot::kArray, nullable);
  type.children_ = std::make_shared<const std::vector<DataType>>(1, std::move(element));
  return type;
}

DataType DataType::Multiset(DataType element, bool nullable) {
  DataType type = Array(std::move(element), nullable);
  type.root_ = TypeRoot::kMultiset;
  return type;
}

DataType DataType::Map(DataType key, DataType value, bool nullable) {
  DataType type(TypeRoot::kMap, nullable);
  std::vector<DataType> children;
  children.reserve(2);
  children.push_back(std::move(key));
  children.push_back(std::move(value));
  type.children_ = std::make_shared<const std::vector<DataType>>(std::move(children));
  return type;
}

DataType DataType::Row(std::vector<DataField> fields, bool nullable) {
  DataType type(TypeRoot::kRow, nullable);
  type.fields_ = std::make_shared<const std::vector<DataField>>(std::move(fields));
  return type;
}

DataType DataType::Vector(DataType element, int32_t length, bool nullable) {
  DataType type = Array(std::move(element), nullable);
  type.root_ = TypeRoot::kVector;
  type.a_ = length;
  return type;
}

DataType DataType::WithNullable(bool nullable) const {
  DataType type = *this;
  type.nullable_ = nullable;
  return type;
}

bool DataType::IsNested() const {
  switch (root_) {
    case TypeRoot::kArray:
    case TypeRoot::kMap:
    case TypeRoot::kMultiset:
    case TypeRoot::kRow:
    case TypeRoot::kVector:
      return true;
    default:
      return false;
  }
}

std::string DataType::ToString() const { return BaseText(*this) + (nullable_ ? "" : " NOT NULL"); }

bool DataType::operator==(const DataType& other) const {
  return nullable_ == other.nullable_ && EqualsIgnoringNullability(other);
}

bool DataType::EqualsIgnoringNullability(const DataType& other) const {
  if (root_ != other.root_ || a_ != other.a_ || b_ != other.b_) return false;
  if (children_ != other.children_) {
    if (children_ == nullptr || other.children_ == nullptr) return false;
    if (*children_ != *other.children_) return false;
  }
  if (fields_ != other.fields_) {
    if (fields_ == nullptr || other.fields_ == nullptr) return false;
    if (*fields_ != *other.fields_) return false;
  }
  return true;
}

int32_t AssignFieldIds(std::vector<DataField>* fields, int32_t first_id) {
  int32_t next = first_id;
  for (DataField& field : *fields) {
    field.id = next++;
    field.type = Renumber(field.type, &next);
  }
  return next - 1;
}

int32_t HighestFieldId(const std::vector<DataField>& fields) {
  int32_t highest = -1;
  for (const DataField& field : fields) {
    if (field.id < kKeyFieldIdBase) highest = std::max(highest, field.id);
    highest = std::max(highest, HighestIn(field.type));
  }
  return highest;
}

bool IsReservedFieldName(std::string_view name) {
  return name.starts_with("_KEY_") || name == "_SEQUENCE_NUMBER" || name == "_VALUE_KIND" ||
         name == "_LEVEL" || name == "rowkind" || name == "_ROW_ID";
}

}  // namespace kelda
