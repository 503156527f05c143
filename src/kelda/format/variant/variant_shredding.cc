#include "kelda/format/variant/variant_shredding.h"

#include <algorithm>
#include <optional>
#include <set>

#include <arrow/array.h>
#include <arrow/builder.h>
#include <arrow/util/bitmap_ops.h>
#include <arrow/util/decimal.h>
#include <nlohmann/json.hpp>

#include "kelda/base/bytes.h"
#include "kelda/format/variant/variant_builder.h"
#include "kelda/types/arrow_mapping.h"

namespace kelda {
namespace {

constexpr std::string_view kMetadata = "metadata";
constexpr std::string_view kValue = "value";
constexpr std::string_view kTypedValue = "typed_value";

DataField Member(int32_t id, std::string_view name, DataType type) {
  DataField field;
  field.id = id;
  field.name = name;
  field.type = std::move(type);
  return field;
}

arrow::Result<DataType> TypedValue(const DataType& type);

/// ROW<value, typed_value>, or ROW<value> for a part that is declared as VARIANT.
arrow::Result<DataType> Part(const DataType& type, bool nullable) {
  std::vector<DataField> members = {Member(0, kValue, DataType::Bytes())};
  if (type.root() != TypeRoot::kVariant) {
    ARROW_ASSIGN_OR_RAISE(DataType typed, TypedValue(type));
    members.push_back(Member(1, kTypedValue, std::move(typed)));
  }
  return DataType::Row(std::move(members), nullable);
}

arrow::Result<DataType> TypedValue(const DataType& type) {
  switch (type.root()) {
    case TypeRoot::kBoolean:
    case TypeRoot::kTinyInt:
    case TypeRoot::kSmallInt:
    case TypeRoot::kInt:
    case TypeRoot::kBigInt:
    case TypeRoot::kFloat:
    case TypeRoot::kDouble:
    case TypeRoot::kDecimal:
    case TypeRoot::kVarChar:
    case TypeRoot::kBinary:
      return type.WithNullable(true);
    case TypeRoot::kArray: {
      ARROW_ASSIGN_OR_RAISE(DataType element, Part(type.element(), /*nullable=*/true));
      return DataType::Array(std::move(element));
    }
    case TypeRoot::kRow: {
      std::vector<DataField> members;
      std::set<std::string_view> names;
      for (const DataField& field : type.fields()) {
        if (!names.insert(field.name).second) {
          return Invalid("VARIANT is shredded by '{}' twice", field.name);
        }
        ARROW_ASSIGN_OR_RAISE(DataType part, Part(field.type, /*nullable=*/false));
        members.push_back(Member(field.id, field.name, std::move(part)));
      }
      if (members.empty()) return Invalid("VARIANT cannot be shredded into a ROW without members");
      return DataType::Row(std::move(members));
    }
    default:
      return Invalid("VARIANT cannot be shredded into {}", type.ToString());
  }
}

/// unscaled * 10^by, if that has at most 38 digits.
std::optional<__int128> Scaled(__int128 unscaled, int by) {
  for (; by > 0; --by) {
    if (DecimalDigits(unscaled) >= 38)
      return unscaled == 0 ? std::optional<__int128>(0) : std::nullopt;
    unscaled *= 10;
  }
  for (; by < 0; ++by) {
    if (unscaled % 10 != 0) return std::nullopt;
    unscaled /= 10;
  }
  return unscaled;
}

/// Takes values apart into the builders of one part.
class Shredder {
 public:
  explicit Shredder(arrow::StructBuilder* part) : part_(part) {
    const auto part_type = part->type();
    const auto& type = static_cast<const arrow::StructType&>(*part_type);
    value_ = static_cast<arrow::BinaryBuilder*>(part->field_builder(type.GetFieldIndex("value")));
    const int typed = type.GetFieldIndex(std::string(kTypedValue));
    if (typed < 0) return;
    typed_ = part->field_builder(typed);
    const auto typed_type = typed_->type();
    if (typed_type->id() == arrow::Type::LIST) {
      auto* list = static_cast<arrow::ListBuilder*>(typed_);
      children_.emplace_back(static_cast<arrow::StructBuilder*>(list->value_builder()));
    } else if (typed_type->id() == arrow::Type::STRUCT) {
      auto* row = static_cast<arrow::StructBuilder*>(typed_);
      for (int i = 0; i < typed_type->num_fields(); ++i) {
        names_.push_back(typed_type->field(i)->name());
        children_.emplace_back(static_cast<arrow::StructBuilder*>(row->field_builder(i)));
      }
    }
  }

  arrow::Status Append(const VariantValue& value, const VariantKeys& keys) {
    ARROW_RETURN_NOT_OK(part_->Append());
    if (typed_ != nullptr) {
      ARROW_ASSIGN_OR_RAISE(const bool taken, AppendTyped(value, keys));
      if (taken) return arrow::Status::OK();
      ARROW_RETURN_NOT_OK(typed_->AppendNull());
    }
    return value_->Append(value.bytes());
  }

  /// A field that the object does not have.
  arrow::Status AppendMissing() {
    ARROW_RETURN_NOT_OK(part_->Append());
    if (typed_ != nullptr) ARROW_RETURN_NOT_OK(typed_->AppendNull());
    return value_->AppendNull();
  }

 private:
  /// False when the value is not of the declared type; nothing is appended then.
  arrow::Result<bool> AppendTyped(const VariantValue& value, const VariantKeys& keys) {
    switch (typed_->type()->id()) {
      case arrow::Type::LIST:
        if (value.kind() != VariantKind::kArray) return false;
        ARROW_RETURN_NOT_OK(static_cast<arrow::ListBuilder*>(typed_)->Append());
        for (VariantElements elements(value); elements.HasNext();) {
          ARROW_ASSIGN_OR_RAISE(const VariantValue element, elements.Next());
          ARROW_RETURN_NOT_OK(children_[0].Append(element, keys));
        }
        ARROW_RETURN_NOT_OK(value_->AppendNull());
        return true;
      case arrow::Type::STRUCT:
        if (value.kind() != VariantKind::kObject) return false;
        ARROW_RETURN_NOT_OK(AppendObject(value, keys));
        return true;
      default: {
        ARROW_ASSIGN_OR_RAISE(const bool taken, AppendScalar(value));
        if (taken) ARROW_RETURN_NOT_OK(value_->AppendNull());
        return taken;
      }
    }
  }

  arrow::Status AppendObject(const VariantValue& value, const VariantKeys& keys) {
    ARROW_RETURN_NOT_OK(static_cast<arrow::StructBuilder*>(typed_)->Append());
    std::vector<bool> seen(names_.size(), false);
    std::vector<VariantBuilder::Field> others;
    VariantBuilder rest;
    for (VariantElements elements(value); elements.HasNext();) {
      const int64_t i = elements.index();
      ARROW_ASSIGN_OR_RAISE(const std::string_view key, value.FieldKey(i, keys));
      ARROW_ASSIGN_OR_RAISE(const VariantValue element, elements.Next());
      const auto found = std::find(names_.begin(), names_.end(), key);
      const auto index = static_cast<size_t>(found - names_.begin());
      if (found == names_.end()) {
        others.push_back({key, value.FieldId(i), rest.position()});
        rest.AppendBytes(element.bytes());
      } else if (seen[index]) {
        return MalformedVariant("an object has a key twice");
      } else {
        seen[index] = true;
        ARROW_RETURN_NOT_OK(children_[index].Append(element, keys));
      }
    }
    for (size_t i = 0; i < seen.size(); ++i) {
      if (!seen[i]) ARROW_RETURN_NOT_OK(children_[i].AppendMissing());
    }
    if (others.empty()) return value_->AppendNull();
    ARROW_RETURN_NOT_OK(rest.FinishObject(0, &others));
    ARROW_ASSIGN_OR_RAISE(const std::string_view bytes, rest.value());
    return value_->Append(bytes);
  }

  template <typename Builder, typename Value>
  arrow::Result<bool> Put(const Value& value) {
    ARROW_RETURN_NOT_OK(static_cast<Builder*>(typed_)->Append(value));
    return true;
  }

  template <typename Builder>
  arrow::Result<bool> PutInteger(const VariantValue& value) {
    using T = typename Builder::value_type;
    std::optional<__int128> number;
    if (value.kind() == VariantKind::kLong) number = value.integer();
    if (value.kind() == VariantKind::kDecimal) number = Scaled(value.unscaled(), -value.scale());
    if (!number || *number != static_cast<T>(*number)) return false;
    return Put<Builder>(static_cast<T>(*number));
  }

  arrow::Result<bool> PutDecimal(const VariantValue& value) {
    const auto typed_type = typed_->type();
    const auto& type = static_cast<const arrow::Decimal128Type&>(*typed_type);
    std::optional<__int128> number;
    if (value.kind() == VariantKind::kLong) number = Scaled(value.integer(), type.scale());
    if (value.kind() == VariantKind::kDecimal) {
      number = Scaled(value.unscaled(), type.scale() - value.scale());
    }
    if (!number || DecimalDigits(*number) > type.precision()) return false;
    return Put<arrow::Decimal128Builder>(
        arrow::Decimal128(static_cast<int64_t>(*number >> 64), static_cast<uint64_t>(*number)));
  }

  arrow::Result<bool> AppendScalar(const VariantValue& value) {
    const VariantKind kind = value.kind();
    switch (typed_->type()->id()) {
      case arrow::Type::BOOL:
        if (kind != VariantKind::kBoolean) return false;
        return Put<arrow::BooleanBuilder>(value.boolean());
      case arrow::Type::INT8:
        return PutInteger<arrow::Int8Builder>(value);
      case arrow::Type::INT16:
        return PutInteger<arrow::Int16Builder>(value);
      case arrow::Type::INT32:
        return PutInteger<arrow::Int32Builder>(value);
      case arrow::Type::INT64:
        return PutInteger<arrow::Int64Builder>(value);
      case arrow::Type::FLOAT:
        if (kind != VariantKind::kFloat) return false;
        return Put<arrow::FloatBuilder>(static_cast<float>(value.number()));
      case arrow::Type::DOUBLE:
        if (kind != VariantKind::kDouble) return false;
        return Put<arrow::DoubleBuilder>(value.number());
      case arrow::Type::DECIMAL128:
        return PutDecimal(value);
      case arrow::Type::STRING:
        if (kind != VariantKind::kString) return false;
        return Put<arrow::StringBuilder>(value.text());
      case arrow::Type::BINARY:
        if (kind != VariantKind::kBinary) return false;
        return Put<arrow::BinaryBuilder>(value.text());
      default:
        return false;
    }
  }

  arrow::StructBuilder* part_;
  arrow::BinaryBuilder* value_;
  arrow::ArrayBuilder* typed_ = nullptr;  ///< null: the part is not shredded
  std::vector<std::string> names_;        ///< of the members of an object
  std::vector<Shredder> children_;        ///< of an object; of an array, one
};

int64_t MicrosPer(arrow::TimeUnit::type unit) {
  return unit == arrow::TimeUnit::SECOND ? 1'000'000 : unit == arrow::TimeUnit::MILLI ? 1'000 : 1;
}

/// Puts values together out of the columns of one part.
class Rebuilder {
 public:
  static arrow::Result<Rebuilder> Make(const arrow::Array& part) {
    Rebuilder out;
    if (part.type_id() != arrow::Type::STRUCT)
      return MalformedVariant("a shredded part is no group");
    const auto& group = static_cast<const arrow::StructArray&>(part);
    out.value_ = group.GetFieldByName(std::string(kValue));
    out.typed_ = group.GetFieldByName(std::string(kTypedValue));
    if (out.value_ != nullptr && out.value_->type_id() != arrow::Type::BINARY) {
      return MalformedVariant("a shredded part has a value that is no binary");
    }
    if (out.typed_ == nullptr) return out;
    if (out.typed_->type_id() == arrow::Type::LIST) {
      ARROW_ASSIGN_OR_RAISE(auto element,
                            Make(*static_cast<const arrow::ListArray&>(*out.typed_).values()));
      out.children_.push_back(std::move(element));
    } else if (out.typed_->type_id() == arrow::Type::STRUCT) {
      const auto& row = static_cast<const arrow::StructArray&>(*out.typed_);
      for (int i = 0; i < row.num_fields(); ++i) {
        ARROW_ASSIGN_OR_RAISE(auto member, Make(*row.field(i)));
        out.children_.push_back(std::move(member));
      }
    }
    return out;
  }

  bool IsMissing(int64_t i) const { return !HasValue(i) && !HasTyped(i); }

  arrow::Status Append(int64_t i, const VariantKeys& keys, VariantBuilder* out) const {
    if (!HasTyped(i)) {
      // Nothing at all is a null, except for the field of an object.
      if (!HasValue(i)) {
        out->AppendNull();
        return arrow::Status::OK();
      }
      ARROW_ASSIGN_OR_RAISE(const VariantValue value, Value(i));
      return out->AppendVariant(value, keys);
    }
    if (typed_->type_id() == arrow::Type::STRUCT) return AppendObject(i, keys, out);
    if (HasValue(i)) return MalformedVariant("a value is typed and untyped at once");
    if (typed_->type_id() == arrow::Type::LIST) return AppendArray(i, keys, out);
    return AppendScalar(i, out);
  }

 private:
  bool HasValue(int64_t i) const { return value_ != nullptr && value_->IsValid(i); }
  bool HasTyped(int64_t i) const { return typed_ != nullptr && typed_->IsValid(i); }
  arrow::Result<VariantValue> Value(int64_t i) const {
    return VariantValue::Parse(static_cast<const arrow::BinaryArray&>(*value_).GetView(i));
  }

  arrow::Status AppendArray(int64_t i, const VariantKeys& keys, VariantBuilder* out) const {
    const auto& list = static_cast<const arrow::ListArray&>(*typed_);
    const int64_t begin = out->position();
    std::vector<int64_t> offsets;
    for (int64_t k = list.value_offset(i); k < list.value_offset(i + 1); ++k) {
      offsets.push_back(out->position() - begin);
      ARROW_RETURN_NOT_OK(children_[0].Append(k, keys, out));
    }
    out->FinishArray(begin, offsets);
    return arrow::Status::OK();
  }

  arrow::Status AppendObject(int64_t i, const VariantKeys& keys, VariantBuilder* out) const {
    const arrow::DataType& type = *typed_->type();
    const int64_t begin = out->position();
    std::vector<VariantBuilder::Field> fields;
    const auto add = [&](std::string_view key) {
      const uint32_t id = out->AddKey(key);
      fields.push_back({out->key(id), id, out->position() - begin});
    };
    for (size_t k = 0; k < children_.size(); ++k) {
      if (children_[k].IsMissing(i)) continue;
      add(type.field(static_cast<int>(k))->name());
      ARROW_RETURN_NOT_OK(children_[k].Append(i, keys, out));
    }
    if (HasValue(i)) {
      ARROW_ASSIGN_OR_RAISE(const VariantValue others, Value(i));
      if (others.kind() != VariantKind::kObject) {
        return MalformedVariant("a value is an object and something else at once");
      }
      for (VariantElements elements(others); elements.HasNext();) {
        ARROW_ASSIGN_OR_RAISE(const std::string_view key, others.FieldKey(elements.index(), keys));
        ARROW_ASSIGN_OR_RAISE(const VariantValue element, elements.Next());
        add(key);
        ARROW_RETURN_NOT_OK(out->AppendVariant(element, keys));
      }
    }
    const arrow::Status finished = out->FinishObject(begin, &fields);
    return finished.ok() ? finished : MalformedVariant(finished.message());
  }

  template <typename Array>
  auto Typed(int64_t i) const {
    return static_cast<const Array&>(*typed_).Value(i);
  }

  arrow::Status AppendScalar(int64_t i, VariantBuilder* out) const {
    switch (typed_->type_id()) {
      case arrow::Type::BOOL:
        out->AppendBoolean(Typed<arrow::BooleanArray>(i));
        break;
      case arrow::Type::INT8:
        out->AppendLong(Typed<arrow::Int8Array>(i));
        break;
      case arrow::Type::INT16:
        out->AppendLong(Typed<arrow::Int16Array>(i));
        break;
      case arrow::Type::INT32:
        out->AppendLong(Typed<arrow::Int32Array>(i));
        break;
      case arrow::Type::INT64:
        out->AppendLong(Typed<arrow::Int64Array>(i));
        break;
      case arrow::Type::FLOAT:
        out->AppendFloat(Typed<arrow::FloatArray>(i));
        break;
      case arrow::Type::DOUBLE:
        out->AppendDouble(Typed<arrow::DoubleArray>(i));
        break;
      case arrow::Type::STRING:
        out->AppendString(static_cast<const arrow::StringArray&>(*typed_).GetView(i));
        break;
      case arrow::Type::BINARY:
        out->AppendBinary(static_cast<const arrow::BinaryArray&>(*typed_).GetView(i));
        break;
      case arrow::Type::DATE32:
        out->AppendDate(Typed<arrow::Date32Array>(i));
        break;
      case arrow::Type::DECIMAL128: {
        const uint8_t* bytes = static_cast<const arrow::Decimal128Array&>(*typed_).GetValue(i);
        const auto& type = static_cast<const arrow::Decimal128Type&>(*typed_->type());
        out->AppendDecimal(LoadLE<__int128>(bytes), type.scale());
        break;
      }
      case arrow::Type::TIMESTAMP: {
        const auto& type = static_cast<const arrow::TimestampType&>(*typed_->type());
        int64_t micros = Typed<arrow::TimestampArray>(i);
        if (type.unit() == arrow::TimeUnit::NANO ||
            __builtin_mul_overflow(micros, MicrosPer(type.unit()), &micros)) {
          return MalformedVariant("a timestamp is out of range");
        }
        out->AppendTimestamp(micros, !type.timezone().empty());
        break;
      }
      default:
        return Unsupported("VARIANT shredded into {}", typed_->type()->ToString());
    }
    return arrow::Status::OK();
  }

  std::shared_ptr<arrow::Array> value_;
  std::shared_ptr<arrow::Array> typed_;
  std::vector<Rebuilder> children_;
};

arrow::Result<std::shared_ptr<arrow::Buffer>> CopyValidity(const arrow::Array& array) {
  if (array.null_count() == 0) return nullptr;
  return arrow::internal::CopyBitmap(arrow::default_memory_pool(), array.null_bitmap_data(),
                                     array.offset(), array.length());
}

}  // namespace

arrow::Result<DataType> ShreddedType(const DataType& type) {
  ARROW_ASSIGN_OR_RAISE(DataType typed, TypedValue(type));
  return DataType::Row({Member(0, kMetadata, DataType::Bytes(false)),
                        Member(1, kValue, DataType::Bytes()),
                        Member(2, kTypedValue, std::move(typed))});
}

arrow::Result<std::map<std::string, DataType>> ParseShreddingSchema(std::string_view json) {
  const auto parsed = nlohmann::ordered_json::parse(json, nullptr, /*allow_exceptions=*/false);
  if (parsed.is_discarded()) return Invalid("'{}' is no JSON", json);
  ARROW_ASSIGN_OR_RAISE(const DataType row, DataType::FromJson(parsed));
  if (row.root() != TypeRoot::kRow) return Invalid("{} is no ROW type", row.ToString());
  std::map<std::string, DataType> columns;
  for (const DataField& field : row.fields()) {
    if (field.type.root() == TypeRoot::kVariant) continue;
    ARROW_ASSIGN_OR_RAISE(DataType shredded, ShreddedType(field.type));
    columns.insert_or_assign(field.name, std::move(shredded));
  }
  return columns;
}

arrow::Result<std::shared_ptr<arrow::Array>> ShredVariants(const arrow::Array& variants,
                                                           const DataType& shredded) {
  ARROW_ASSIGN_OR_RAISE(const auto type, ToArrowType(shredded));
  ARROW_ASSIGN_OR_RAISE(auto builder, arrow::MakeBuilder(type));
  auto* group = static_cast<arrow::StructBuilder*>(builder.get());
  auto* metadata = static_cast<arrow::BinaryBuilder*>(group->field_builder(0));
  Shredder shredder(group);
  const auto& rows = static_cast<const arrow::StructArray&>(variants);
  const auto& values = static_cast<const arrow::BinaryArray&>(*rows.field(0));
  const auto& keys_of = static_cast<const arrow::BinaryArray&>(*rows.field(1));
  for (int64_t i = 0; i < rows.length(); ++i) {
    if (rows.IsNull(i)) {
      ARROW_RETURN_NOT_OK(group->AppendNull());
      continue;
    }
    ARROW_ASSIGN_OR_RAISE(const VariantKeys keys, VariantKeys::Make(keys_of.GetView(i)));
    ARROW_ASSIGN_OR_RAISE(const VariantValue value, VariantValue::Parse(values.GetView(i)));
    ARROW_RETURN_NOT_OK(shredder.Append(value, keys));
    ARROW_RETURN_NOT_OK(metadata->Append(keys_of.GetView(i)));
  }
  return builder->Finish();
}

arrow::Result<std::shared_ptr<arrow::Array>> RebuildVariants(const arrow::Array& shredded) {
  ARROW_ASSIGN_OR_RAISE(const Rebuilder rebuilder, Rebuilder::Make(shredded));
  const auto& rows = static_cast<const arrow::StructArray&>(shredded);
  const auto keys_of = rows.GetFieldByName(std::string(kMetadata));
  if (keys_of == nullptr || keys_of->type_id() != arrow::Type::BINARY) {
    return MalformedVariant("a shredded column without metadata");
  }
  arrow::BinaryBuilder values;
  arrow::BinaryBuilder metadata;
  VariantBuilder builder;
  for (int64_t i = 0; i < rows.length(); ++i) {
    if (rows.IsNull(i)) {
      ARROW_RETURN_NOT_OK(values.Append(""));
      ARROW_RETURN_NOT_OK(metadata.Append(""));
      continue;
    }
    builder.Clear();
    ARROW_ASSIGN_OR_RAISE(
        const VariantKeys keys,
        VariantKeys::Make(static_cast<const arrow::BinaryArray&>(*keys_of).GetView(i)));
    ARROW_RETURN_NOT_OK(rebuilder.Append(i, keys, &builder));
    ARROW_ASSIGN_OR_RAISE(const std::string_view value, builder.value());
    ARROW_RETURN_NOT_OK(values.Append(value));
    ARROW_RETURN_NOT_OK(metadata.Append(builder.metadata()));
  }
  ARROW_ASSIGN_OR_RAISE(const auto type, ToArrowType(DataType(TypeRoot::kVariant)));
  arrow::ArrayVector columns(2);
  ARROW_RETURN_NOT_OK(values.Finish(&columns[0]));
  ARROW_RETURN_NOT_OK(metadata.Finish(&columns[1]));
  ARROW_ASSIGN_OR_RAISE(auto validity, CopyValidity(rows));
  return std::make_shared<arrow::StructArray>(type, rows.length(), std::move(columns),
                                              std::move(validity), rows.null_count());
}

}  // namespace kelda
