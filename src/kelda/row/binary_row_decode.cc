// Decoder of BinaryRow for bytes that may be hostile: every offset, length and count is checked
// before use.
#include <array>
#include <limits>
#include <utility>

#include <arrow/api.h>

#include "kelda/base/bytes.h"
#include "kelda/row/binary_row.h"
#include "kelda/row/row_layout.h"
#include "kelda/types/arrow_mapping.h"

namespace kelda {

namespace {

using namespace row_layout;  // NOLINT: names of one format

/// Elements of one VECTOR: a NULL vector needs that many places in Arrow too.
constexpr int32_t kVectorLengthMax = 1 << 24;

class RowDecoder {
 public:
  RowDecoder(std::string_view source_name, int64_t row_number)
      : source_(source_name), row_number_(row_number) {}

  /// Start with the bytes of a row: checks that the fixed part of `arity` fields is there.
  arrow::Status Open(std::string_view row, size_t arity) {
    root_ = row;
    header_ = HeaderBytes(arity);
    // A writer never lets items overlap, so what is read at one depth of nesting is no longer than
    // the row.
    budgets_.fill(row.size());
    if (row.size() < RowFixedBytes(arity))
      return Bad(row, row.size(), "row shorter than its fixed part");
    return arrow::Status::OK();
  }

  arrow::Status AppendField(const DataType& type, size_t field, arrow::ArrayBuilder* builder) {
    return AppendFieldOf(root_, header_, type, field, builder, 0);
  }

 private:
  arrow::Status Bad(std::string_view region, size_t offset, std::string_view what) const {
    const size_t position = static_cast<size_t>(region.data() - root_.data()) + offset;
    return Corruption("{}: binary row {}: {} at offset {}", source_, row_number_, what, position);
  }

  arrow::Status AppendFieldOf(std::string_view row, size_t header, const DataType& type,
                              size_t field, arrow::ArrayBuilder* builder, size_t depth) {
    if ((static_cast<uint8_t>(row[(field + 8) / 8]) >> (field % 8) & 1) != 0)
      return builder->AppendNull();
    return AppendValue(row, header + 8 * field, type, builder, depth);
  }

  /// The variable part that `slot` points to; `length` bytes inside of `region`.
  arrow::Result<std::string_view> Variable(std::string_view region, size_t slot_offset,
                                           size_t offset, size_t length, size_t depth) {
    if (offset > region.size() || length > region.size() - offset) {
      return Bad(region, slot_offset, "variable part outside of the row");
    }
    if (length > budgets_[depth]) return Bad(region, slot_offset, "overlapping variable parts");
    budgets_[depth] -= length;
    return region.substr(offset, length);
  }

  arrow::Result<std::string_view> VariableOfSlot(std::string_view region, size_t slot_offset,
                                                 size_t depth) {
    const auto slot = LoadLE<uint64_t>(region.data() + slot_offset);
    return Variable(region, slot_offset, slot >> 32, slot & 0xffffffffu, depth);
  }

  arrow::Result<std::string_view> Bytes(std::string_view region, size_t slot_offset, size_t depth) {
    const auto slot = LoadLE<uint64_t>(region.data() + slot_offset);
    if ((slot & kInlineMark) == 0) return VariableOfSlot(region, slot_offset, depth);
    const size_t length = slot >> 56 & 0x7f;
    if (length > kInlineMax) return Bad(region, slot_offset, "inline value longer than 7 bytes");
    return region.substr(slot_offset, length);
  }

  template <typename Builder, typename T>
  arrow::Status AppendFixed(std::string_view region, size_t slot, arrow::ArrayBuilder* builder) {
    return static_cast<Builder*>(builder)->Append(LoadLE<T>(region.data() + slot));
  }

  arrow::Status AppendValue(std::string_view region, size_t slot, const DataType& type,
                            arrow::ArrayBuilder* builder, size_t depth) {
    switch (type.root()) {
      case TypeRoot::kBoolean:
        return static_cast<arrow::BooleanBuilder*>(builder)->Append(region[slot] != 0);
      case TypeRoot::kTinyInt:
        return AppendFixed<arrow::Int8Builder, int8_t>(region, slot, builder);
      case TypeRoot::kSmallInt:
        return AppendFixed<arrow::Int16Builder, int16_t>(region, slot, builder);
      case TypeRoot::kInt:
        return AppendFixed<arrow::Int32Builder, int32_t>(region, slot, builder);
      case TypeRoot::kDate:
        return AppendFixed<arrow::Date32Builder, int32_t>(region, slot, builder);
      case TypeRoot::kTime:
        return AppendFixed<arrow::Time32Builder, int32_t>(region, slot, builder);
      case TypeRoot::kBigInt:
        return AppendFixed<arrow::Int64Builder, int64_t>(region, slot, builder);
      case TypeRoot::kFloat:
        return AppendFixed<arrow::FloatBuilder, float>(region, slot, builder);
      case TypeRoot::kDouble:
        return AppendFixed<arrow::DoubleBuilder, double>(region, slot, builder);
      case TypeRoot::kDecimal:
        return AppendDecimal(region, slot, type, builder, depth);
      case TypeRoot::kTimestamp:
      case TypeRoot::kTimestampLtz:
        return AppendTimestamp(region, slot, type, builder, depth);
      case TypeRoot::kChar:
      case TypeRoot::kVarChar:
      case TypeRoot::kBinary:
      case TypeRoot::kVarBinary: {
        ARROW_ASSIGN_OR_RAISE(auto bytes, Bytes(region, slot, depth));
        return static_cast<arrow::BinaryBuilder*>(builder)->Append(bytes);
      }
      default:
        return AppendStructured(region, slot, type, builder, depth);
    }
  }

  arrow::Status AppendDecimal(std::string_view region, size_t slot, const DataType& type,
                              arrow::ArrayBuilder* builder, size_t depth) {
    arrow::Decimal128 value;
    if (IsLargeDecimal(type)) {
      ARROW_ASSIGN_OR_RAISE(auto bytes, VariableOfSlot(region, slot, depth));
      if (bytes.empty() || bytes.size() > kLargeDecimalBytes)
        return Bad(region, slot, "wrong length of a decimal");
      ARROW_ASSIGN_OR_RAISE(
          value, arrow::Decimal128::FromBigEndian(reinterpret_cast<const uint8_t*>(bytes.data()),
                                                  static_cast<int32_t>(bytes.size())));
    } else {
      value = arrow::Decimal128(LoadLE<int64_t>(region.data() + slot));
    }
    if (!value.FitsInPrecision(type.precision()))
      return Bad(region, slot, "decimal beyond its precision");
    return static_cast<arrow::Decimal128Builder*>(builder)->Append(value);
  }

  arrow::Status AppendTimestamp(std::string_view region, size_t slot, const DataType& type,
                                arrow::ArrayBuilder* builder, size_t depth) {
    int64_t value = 0;
    if (!IsLargeTimestamp(type)) {
      value = LoadLE<int64_t>(region.data() + slot);
      if (type.precision() == 0) value = FloorDiv(value, 1000);
    } else {
      const auto content = LoadLE<uint64_t>(region.data() + slot);
      ARROW_ASSIGN_OR_RAISE(auto bytes, Variable(region, slot, content >> 32, 8, depth));
      const auto millis = LoadLE<int64_t>(bytes.data());
      const auto nanos = static_cast<int64_t>(content & 0xffffffffu);
      if (nanos > 999999) return Bad(region, slot, "nanoseconds of a millisecond out of range");
      const bool micro = type.precision() <= 6;
      // Wide: the millis alone may be outside although the sum is not.
      const auto wide =
          static_cast<__int128>(millis) * (micro ? 1000 : 1000000) + (micro ? nanos / 1000 : nanos);
      value = static_cast<int64_t>(wide);
      if (value != wide) {
        return Invalid("{}: binary row {}: timestamp of {} ms is out of the range of {}", source_,
                       row_number_, millis, type.ToString());
      }
    }
    return static_cast<arrow::TimestampBuilder*>(builder)->Append(value);
  }

  arrow::Status AppendStructured(std::string_view region, size_t slot, const DataType& type,
                                 arrow::ArrayBuilder* builder, size_t depth) {
    if (depth + 1 >= budgets_.size()) return Bad(region, slot, "value nested too deeply");
    ARROW_ASSIGN_OR_RAISE(auto bytes, VariableOfSlot(region, slot, depth));
    switch (type.root()) {
      case TypeRoot::kBlob:
        return static_cast<arrow::BinaryBuilder*>(builder)->Append(bytes);
      case TypeRoot::kVariant:
        return AppendVariant(bytes, builder);
      case TypeRoot::kVector:
        return AppendVector(bytes, type, builder);
      case TypeRoot::kRow:
        return AppendRow(bytes, type, builder, depth + 1);
      case TypeRoot::kArray: {
        auto* list = static_cast<arrow::ListBuilder*>(builder);
        ARROW_RETURN_NOT_OK(list->Append());
        return AppendArray(bytes, type.element(), list->value_builder(), true, depth + 1).status();
      }
      default:
        return AppendMap(bytes, type, builder, depth + 1);
    }
  }

  arrow::Status AppendVariant(std::string_view bytes, arrow::ArrayBuilder* builder) {
    if (bytes.size() < 4) return Bad(bytes, 0, "variant shorter than its length");
    const auto length = LoadLE<uint32_t>(bytes.data());
    if (length > bytes.size() - 4) return Bad(bytes, 0, "variant value longer than its bytes");
    auto* fields = static_cast<arrow::StructBuilder*>(builder);
    ARROW_RETURN_NOT_OK(fields->Append());
    ARROW_RETURN_NOT_OK(static_cast<arrow::BinaryBuilder*>(fields->field_builder(0))
                            ->Append(bytes.substr(4, length)));
    return static_cast<arrow::BinaryBuilder*>(fields->field_builder(1))
        ->Append(bytes.substr(4 + length));
  }

  arrow::Status AppendVector(std::string_view bytes, const DataType& type,
                             arrow::ArrayBuilder* builder) {
    const size_t width = ElementWidth(type.element());
    const auto count = static_cast<size_t>(type.length());
    if (bytes.size() < 4 || LoadLE<int32_t>(bytes.data()) != type.length() ||
        (bytes.size() - 4) / width < count) {
      return Bad(bytes, 0, "vector of a wrong length");
    }
    auto* list = static_cast<arrow::FixedSizeListBuilder*>(builder);
    ARROW_RETURN_NOT_OK(list->Append());
    for (size_t k = 0; k < count; ++k) {
      ARROW_RETURN_NOT_OK(
          AppendValue(bytes, 4 + k * width, type.element(), list->value_builder(), 0));
    }
    return arrow::Status::OK();
  }

  arrow::Status AppendRow(std::string_view row, const DataType& type, arrow::ArrayBuilder* builder,
                          size_t depth) {
    const auto& fields = type.fields();
    if (row.size() < RowFixedBytes(fields.size()))
      return Bad(row, 0, "nested row shorter than its fixed part");
    auto* members = static_cast<arrow::StructBuilder*>(builder);
    ARROW_RETURN_NOT_OK(members->Append());
    for (size_t k = 0; k < fields.size(); ++k) {
      ARROW_RETURN_NOT_OK(AppendFieldOf(row, HeaderBytes(fields.size()), fields[k].type, k,
                                        members->field_builder(static_cast<int>(k)), depth));
    }
    return arrow::Status::OK();
  }

  /// Appends the elements and returns their number.
  arrow::Result<size_t> AppendArray(std::string_view bytes, const DataType& element,
                                    arrow::ArrayBuilder* builder, bool nulls_allowed,
                                    size_t depth) {
    if (bytes.size() < 4) return Bad(bytes, 0, "array shorter than its count");
    const size_t count = LoadLE<uint32_t>(bytes.data());
    const size_t width = ElementWidth(element);
    const size_t header = ArrayHeaderBytes(count);
    if (header > bytes.size() || (bytes.size() - header) / width < count) {
      return Bad(bytes, 0, "array shorter than its elements");
    }
    for (size_t k = 0; k < count; ++k) {
      const bool null = (static_cast<uint8_t>(bytes[4 + k / 8]) >> (k % 8) & 1) != 0;
      if (null && !nulls_allowed) return Bad(bytes, 4 + k / 8, "NULL as map key or multiset count");
      ARROW_RETURN_NOT_OK(null ? builder->AppendNull()
                               : AppendValue(bytes, header + k * width, element, builder, depth));
    }
    return count;
  }

  arrow::Status AppendMap(std::string_view bytes, const DataType& type,
                          arrow::ArrayBuilder* builder, size_t depth) {
    if (bytes.size() < 4) return Bad(bytes, 0, "map shorter than its key length");
    const auto key_length = LoadLE<uint32_t>(bytes.data());
    if (key_length > bytes.size() - 4) return Bad(bytes, 0, "map keys longer than the map");
    const bool is_map = type.root() == TypeRoot::kMap;
    auto* map = static_cast<arrow::MapBuilder*>(builder);
    ARROW_RETURN_NOT_OK(map->Append());
    ARROW_ASSIGN_OR_RAISE(
        size_t keys, AppendArray(bytes.substr(4, key_length), is_map ? type.key() : type.element(),
                                 map->key_builder(), false, depth));
    ARROW_ASSIGN_OR_RAISE(
        size_t values,
        AppendArray(bytes.substr(4 + key_length), is_map ? type.value() : DataType(TypeRoot::kInt),
                    map->item_builder(), is_map, depth));
    if (keys != values) return Bad(bytes, 0, "map with different numbers of keys and values");
    return arrow::Status::OK();
  }

  std::string_view source_;
  int64_t row_number_;
  std::string_view root_;
  size_t header_ = 0;
  std::array<size_t, DataType::kDepthMax + 1> budgets_;
};

arrow::Status CheckVectorLengths(const DataType& type) {
  switch (type.root()) {
    case TypeRoot::kVector:
      if (type.length() > kVectorLengthMax) {
        return Unsupported("reading {} from a binary row: at most {} elements", type.ToString(),
                           kVectorLengthMax);
      }
      return arrow::Status::OK();
    case TypeRoot::kArray:
    case TypeRoot::kMultiset:
      return CheckVectorLengths(type.element());
    case TypeRoot::kMap:
      ARROW_RETURN_NOT_OK(CheckVectorLengths(type.key()));
      return CheckVectorLengths(type.value());
    case TypeRoot::kRow:
      for (const DataField& field : type.fields())
        ARROW_RETURN_NOT_OK(CheckVectorLengths(field.type));
      return arrow::Status::OK();
    default:
      return arrow::Status::OK();
  }
}

arrow::Result<std::unique_ptr<arrow::ArrayBuilder>> BuilderFor(const DataType& type) {
  ARROW_RETURN_NOT_OK(CheckVectorLengths(type));
  ARROW_ASSIGN_OR_RAISE(auto arrow_type, ToArrowType(type));
  return arrow::MakeBuilder(arrow_type);
}

arrow::Result<std::string_view> RowBytes(std::string_view bytes, size_t arity, bool serialized,
                                         std::string_view source_name) {
  if (!serialized) return bytes;
  ARROW_ASSIGN_OR_RAISE(SerializedRow row, ParseSerializedRow(bytes, source_name));
  if (static_cast<size_t>(row.arity) != arity) {
    return Corruption("{}: binary row of {} fields where {} are expected", source_name, row.arity,
                      arity);
  }
  return row.row;
}

}  // namespace

arrow::Result<arrow::ArrayVector> DecodeBinaryRows(const std::vector<DataType>& types,
                                                   const arrow::BinaryArray& rows, bool serialized,
                                                   std::string_view source_name) {
  std::vector<std::unique_ptr<arrow::ArrayBuilder>> builders;
  for (const DataType& type : types) {
    ARROW_ASSIGN_OR_RAISE(auto builder, BuilderFor(type));
    ARROW_RETURN_NOT_OK(builder->Reserve(rows.length()));
    builders.push_back(std::move(builder));
  }
  for (int64_t i = 0; i < rows.length(); ++i) {
    if (rows.IsNull(i)) {
      for (const auto& builder : builders) ARROW_RETURN_NOT_OK(builder->AppendNull());
      continue;
    }
    ARROW_ASSIGN_OR_RAISE(auto row,
                          RowBytes(rows.GetView(i), types.size(), serialized, source_name));
    RowDecoder decoder(source_name, i);
    ARROW_RETURN_NOT_OK(decoder.Open(row, types.size()));
    for (size_t k = 0; k < types.size(); ++k) {
      ARROW_RETURN_NOT_OK(decoder.AppendField(types[k], k, builders[k].get()));
    }
  }
  arrow::ArrayVector columns;
  for (const auto& builder : builders) {
    ARROW_ASSIGN_OR_RAISE(auto column, builder->Finish());
    columns.push_back(std::move(column));
  }
  return columns;
}

arrow::Result<std::vector<std::shared_ptr<arrow::Scalar>>> DecodeBinaryRow(
    const std::vector<DataType>& types, std::string_view row, std::string_view source_name) {
  RowDecoder decoder(source_name, 0);
  ARROW_RETURN_NOT_OK(decoder.Open(row, types.size()));
  std::vector<std::shared_ptr<arrow::Scalar>> values;
  for (size_t k = 0; k < types.size(); ++k) {
    ARROW_ASSIGN_OR_RAISE(auto builder, BuilderFor(types[k]));
    ARROW_RETURN_NOT_OK(decoder.AppendField(types[k], k, builder.get()));
    ARROW_ASSIGN_OR_RAISE(auto column, builder->Finish());
    ARROW_ASSIGN_OR_RAISE(auto value, column->GetScalar(0));
    values.push_back(std::move(value));
  }
  return values;
}

std::string SerializeRow(int32_t arity, std::string_view row) {
  std::string bytes(4, '\0');
  StoreBE32(bytes.data(), static_cast<uint32_t>(arity));
  bytes.append(row);
  return bytes;
}

arrow::Result<SerializedRow> ParseSerializedRow(std::string_view bytes,
                                                std::string_view source_name) {
  if (bytes.size() < 4)
    return Corruption("{}: serialized row of {} bytes has no field count", source_name,
                      bytes.size());
  const auto arity = static_cast<int32_t>(LoadBE32(bytes.data()));
  const std::string_view row = bytes.substr(4);
  if (arity < 0 || row.size() < RowFixedBytes(static_cast<size_t>(arity))) {
    return Corruption("{}: serialized row of {} bytes cannot hold {} fields", source_name,
                      bytes.size(), arity);
  }
  return SerializedRow{arity, row};
}

const std::string& EmptySerializedRow() {
  static const std::string bytes = SerializeRow(0, std::string(RowFixedBytes(0), '\0'));
  return bytes;
}

}  // namespace kelda
