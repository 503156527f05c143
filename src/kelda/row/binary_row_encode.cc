// Encoder of BinaryRow: two passes over the columns, first the sizes, then the bytes.
#include <algorithm>
#include <limits>
#include <span>
#include <utility>

#include <arrow/api.h>

#include "kelda/base/bytes.h"
#include "kelda/row/binary_row.h"
#include "kelda/row/row_layout.h"
#include "kelda/types/arrow_mapping.h"

namespace kelda {

namespace {

using namespace row_layout;  // NOLINT: names of one format

// --- input check
// -----------------------------------------------------------------------------------------

arrow::Status WrongForm(const DataType& type, const arrow::DataType& arrow_type) {
  return Invalid("cannot encode Arrow {} as {}", arrow_type.ToString(), type.ToString());
}

/// Nested names and nullability do not matter here, kinds, units and scales do.
arrow::Status CheckForm(const DataType& type, const arrow::DataType& arrow_type) {
  ARROW_ASSIGN_OR_RAISE(auto expected, ToArrowType(type));
  if (expected->id() != arrow_type.id()) return WrongForm(type, arrow_type);
  switch (type.root()) {
    case TypeRoot::kArray:
      return CheckForm(type.element(), *arrow_type.field(0)->type());
    case TypeRoot::kMap:
    case TypeRoot::kMultiset: {
      const auto& map = static_cast<const arrow::MapType&>(arrow_type);
      const bool is_map = type.root() == TypeRoot::kMap;
      ARROW_RETURN_NOT_OK(CheckForm(is_map ? type.key() : type.element(), *map.key_type()));
      return CheckForm(is_map ? type.value() : DataType(TypeRoot::kInt), *map.item_type());
    }
    case TypeRoot::kVector:
      if (static_cast<const arrow::FixedSizeListType&>(arrow_type).list_size() != type.length())
        break;
      return CheckForm(type.element(), *arrow_type.field(0)->type());
    case TypeRoot::kVariant:
      if (arrow_type.num_fields() != 2 ||
          arrow_type.field(0)->type()->id() != arrow::Type::BINARY ||
          arrow_type.field(1)->type()->id() != arrow::Type::BINARY) {
        break;
      }
      return arrow::Status::OK();
    case TypeRoot::kRow: {
      if (static_cast<size_t>(arrow_type.num_fields()) != type.fields().size()) break;
      for (size_t i = 0; i < type.fields().size(); ++i) {
        ARROW_RETURN_NOT_OK(
            CheckForm(type.fields()[i].type, *arrow_type.field(static_cast<int>(i))->type()));
      }
      return arrow::Status::OK();
    }
    case TypeRoot::kTimestamp:
    case TypeRoot::kTimestampLtz:
      if (static_cast<const arrow::TimestampType&>(*expected).unit() !=
          static_cast<const arrow::TimestampType&>(arrow_type).unit()) {
        break;
      }
      return arrow::Status::OK();
    case TypeRoot::kDecimal:
      if (static_cast<const arrow::DecimalType&>(arrow_type).scale() != type.scale()) break;
      return arrow::Status::OK();
    default:
      return arrow::Status::OK();
  }
  return WrongForm(type, arrow_type);
}

// --- single values
// ---------------------------------------------------------------------------------------

struct MillisNanos {
  int64_t millis;
  int32_t nanos_of_milli;
};

/// Paimon's timestamp of an Arrow value. Seconds beyond the range of millis wrap; CheckSeconds
/// refuses them before.
MillisNanos SplitTimestamp(int64_t value, arrow::TimeUnit::type unit) {
  switch (unit) {
    case arrow::TimeUnit::SECOND:
      return {static_cast<int64_t>(static_cast<uint64_t>(value) * 1000), 0};
    case arrow::TimeUnit::MILLI:
      return {value, 0};
    case arrow::TimeUnit::MICRO:
      return {FloorDiv(value, 1000), static_cast<int32_t>(FloorMod(value, 1000) * 1000)};
    default:
      return {FloorDiv(value, 1000000), static_cast<int32_t>(FloorMod(value, 1000000))};
  }
}

arrow::TimeUnit::type UnitOf(const arrow::Array& array) {
  return static_cast<const arrow::TimestampType&>(*array.type()).unit();
}

constexpr int64_t kSecondsMax = std::numeric_limits<int64_t>::max() / 1000;

bool SecondsFit(int64_t value) { return value <= kSecondsMax && value >= -kSecondsMax; }

arrow::Status SecondsOutOfRange(int64_t value) {
  return Invalid("timestamp of {} seconds is out of the range of milliseconds", value);
}

arrow::Decimal128 DecimalAt(const arrow::Array& array, int64_t i) {
  return arrow::Decimal128(static_cast<const arrow::Decimal128Array&>(array).GetValue(i));
}

/// Big-endian two's complement without redundant leading bytes, as Java's BigInteger.toByteArray;
/// returns the length.
size_t MinimalBigEndian(const arrow::Decimal128& value, uint8_t* out) {
  uint8_t bytes[16];
  StoreBE64(bytes, static_cast<uint64_t>(value.high_bits()));
  StoreBE64(bytes + 8, value.low_bits());
  size_t skip = 0;
  while (skip < 15 && ((bytes[skip] == 0 && bytes[skip + 1] < 0x80) ||
                       (bytes[skip] == 0xff && bytes[skip + 1] >= 0x80))) {
    ++skip;
  }
  std::memcpy(out, bytes + skip, 16 - skip);
  return 16 - skip;
}

std::string_view BytesAt(const arrow::Array& array, int64_t i) {
  return static_cast<const arrow::BinaryArray&>(array).GetView(i);
}

uint64_t InlineSlot(std::string_view bytes) {
  uint64_t slot = 0;
  std::memcpy(&slot, bytes.data(), bytes.size());
  return slot | kInlineMark | (static_cast<uint64_t>(bytes.size()) << 56);
}

uint64_t OffsetSlot(size_t offset, size_t length) {
  return static_cast<uint64_t>(offset) << 32 | length;
}

/// Slot of a value that has no variable part.
uint64_t FixedSlot(const DataType& type, const arrow::Array& array, int64_t i) {
  switch (type.root()) {
    case TypeRoot::kBoolean:
      return static_cast<const arrow::BooleanArray&>(array).Value(i) ? 1 : 0;
    case TypeRoot::kTinyInt:
      return static_cast<uint8_t>(static_cast<const arrow::Int8Array&>(array).Value(i));
    case TypeRoot::kSmallInt:
      return static_cast<uint16_t>(static_cast<const arrow::Int16Array&>(array).Value(i));
    case TypeRoot::kInt:
      return static_cast<uint32_t>(static_cast<const arrow::Int32Array&>(array).Value(i));
    case TypeRoot::kDate:
      return static_cast<uint32_t>(static_cast<const arrow::Date32Array&>(array).Value(i));
    case TypeRoot::kTime:
      return static_cast<uint32_t>(static_cast<const arrow::Time32Array&>(array).Value(i));
    case TypeRoot::kBigInt:
      return static_cast<uint64_t>(static_cast<const arrow::Int64Array&>(array).Value(i));
    case TypeRoot::kFloat:
      return std::bit_cast<uint32_t>(static_cast<const arrow::FloatArray&>(array).Value(i));
    case TypeRoot::kDouble:
      return std::bit_cast<uint64_t>(static_cast<const arrow::DoubleArray&>(array).Value(i));
    case TypeRoot::kDecimal:
      return DecimalAt(array, i).low_bits();
    default:  // TIMESTAMP(_LTZ) of at most 3 digits
      return static_cast<uint64_t>(
          SplitTimestamp(static_cast<const arrow::TimestampArray&>(array).Value(i), UnitOf(array))
              .millis);
  }
}

arrow::Status CheckValue(const DataType& type, const arrow::Array& array, int64_t i) {
  if (type.root() == TypeRoot::kDecimal && !DecimalAt(array, i).FitsInPrecision(type.precision())) {
    return Invalid("value {} does not fit {}", DecimalAt(array, i).ToString(type.scale()),
                   type.ToString());
  }
  if (IsTimestamp(type) && UnitOf(array) == arrow::TimeUnit::SECOND) {
    const int64_t seconds = static_cast<const arrow::TimestampArray&>(array).Value(i);
    if (!SecondsFit(seconds)) return SecondsOutOfRange(seconds);
  }
  return arrow::Status::OK();
}

// --- nested values
// ---------------------------------------------------------------------------------------

/// Appends the structures of nested values to one string. Offsets count from the start of the
/// structure (`base`).
class NestedEncoder {
 public:
  explicit NestedEncoder(std::string* out) : out_(out) {}

  /// Variable part of a structured value.
  arrow::Status Append(const DataType& type, const arrow::Array& array, int64_t i) {
    switch (type.root()) {
      case TypeRoot::kBlob:
        out_->append(BytesAt(array, i));
        return arrow::Status::OK();
      case TypeRoot::kVariant:
        return AppendVariant(static_cast<const arrow::StructArray&>(array), i);
      case TypeRoot::kVector:
        return AppendVector(type, static_cast<const arrow::FixedSizeListArray&>(array), i);
      case TypeRoot::kRow:
        return AppendRow(type, static_cast<const arrow::StructArray&>(array), i);
      case TypeRoot::kArray: {
        const auto& list = static_cast<const arrow::ListArray&>(array);
        return AppendArray(type.element(), *list.values(), list.value_offset(i),
                           list.value_length(i));
      }
      default:
        return AppendMap(type, static_cast<const arrow::MapArray&>(array), i);
    }
  }

 private:
  size_t Grow(size_t size) {
    const size_t position = out_->size();
    out_->resize(position + size);
    return position;
  }
  uint8_t* At(size_t position) { return reinterpret_cast<uint8_t*>(out_->data()) + position; }

  arrow::Status CheckSize() const {
    if (out_->size() > static_cast<size_t>(std::numeric_limits<int32_t>::max())) {
      return arrow::Status::CapacityError("nested values of more than 2 GiB in one column");
    }
    return arrow::Status::OK();
  }

  arrow::Status AppendVariant(const arrow::StructArray& array, int64_t i) {
    const std::string_view value = BytesAt(*array.field(0), i);
    const size_t position = Grow(4);
    StoreLE<int32_t>(At(position), static_cast<int32_t>(value.size()));
    out_->append(value);
    out_->append(BytesAt(*array.field(1), i));
    return CheckSize();
  }

  arrow::Status AppendVector(const DataType& type, const arrow::FixedSizeListArray& array,
                             int64_t i) {
    const arrow::Array& values = *array.values();
    const size_t width = ElementWidth(type.element());
    const auto count = static_cast<size_t>(type.length());
    const size_t position = Grow(4 + count * width);
    StoreLE<int32_t>(At(position), type.length());
    for (size_t k = 0; k < count; ++k) {
      const int64_t index = array.value_offset(i) + static_cast<int64_t>(k);
      if (values.IsNull(index)) return Invalid("a VECTOR cannot hold NULL");
      const uint64_t slot = FixedSlot(type.element(), values, index);
      std::memcpy(At(position + 4 + k * width), &slot, width);
    }
    return CheckSize();
  }

  arrow::Status AppendRow(const DataType& type, const arrow::StructArray& array, int64_t i) {
    const auto& fields = type.fields();
    const size_t base = Grow(RowFixedBytes(fields.size()));
    for (size_t k = 0; k < fields.size(); ++k) {
      const DataType& field_type = fields[k].type;
      const auto child = array.field(static_cast<int>(k));
      const size_t slot = base + HeaderBytes(fields.size()) + 8 * k;
      if (child->IsNull(i)) {
        *At(base + (k + 8) / 8) |= static_cast<uint8_t>(1u << (k % 8));
        // NULL keeps its place in the variable part of a row (spec 01 §5.1).
        const size_t reserved = IsLargeDecimal(field_type)     ? kLargeDecimalBytes
                                : IsLargeTimestamp(field_type) ? 8
                                                               : 0;
        if (reserved > 0) {
          const size_t position = Grow(reserved);
          StoreLE<uint64_t>(At(slot), OffsetSlot(position - base, 0));
        }
        continue;
      }
      ARROW_RETURN_NOT_OK(WriteSlot(field_type, *child, i, base, slot, 8));
    }
    return CheckSize();
  }

  arrow::Status AppendArray(const DataType& element, const arrow::Array& values, int64_t start,
                            int64_t count) {
    const size_t width = ElementWidth(element);
    const auto size = static_cast<size_t>(count);
    const size_t header = ArrayHeaderBytes(size);
    const size_t base = Grow(RoundUp8(header + size * width));
    StoreLE<int32_t>(At(base), static_cast<int32_t>(count));
    for (size_t k = 0; k < size; ++k) {
      const int64_t index = start + static_cast<int64_t>(k);
      if (values.IsNull(index)) {
        *At(base + 4 + k / 8) |= static_cast<uint8_t>(1u << (k % 8));
        continue;
      }
      ARROW_RETURN_NOT_OK(
          WriteSlot(element, values, index, base, base + header + k * width, width));
    }
    return CheckSize();
  }

  arrow::Status AppendMap(const DataType& type, const arrow::MapArray& array, int64_t i) {
    const bool is_map = type.root() == TypeRoot::kMap;
    const int64_t start = array.value_offset(i);
    const int64_t count = array.value_length(i);
    const size_t position = Grow(4);
    ARROW_RETURN_NOT_OK(
        AppendArray(is_map ? type.key() : type.element(), *array.keys(), start, count));
    StoreLE<int32_t>(At(position), static_cast<int32_t>(out_->size() - position - 4));
    return AppendArray(is_map ? type.value() : DataType(TypeRoot::kInt), *array.items(), start,
                       count);
  }

  arrow::Status WriteSlot(const DataType& type, const arrow::Array& array, int64_t i, size_t base,
                          size_t slot, size_t width) {
    ARROW_RETURN_NOT_OK(CheckValue(type, array, i));
    uint64_t content = 0;
    if (IsInlineable(type)) {
      const std::string_view bytes = BytesAt(array, i);
      if (bytes.size() <= kInlineMax) {
        content = InlineSlot(bytes);
      } else {
        content = OffsetSlot(out_->size() - base, bytes.size());
        out_->append(bytes);
        out_->append(RoundUp8(bytes.size()) - bytes.size(), '\0');
      }
    } else if (IsStructured(type)) {
      const size_t position = out_->size();
      ARROW_RETURN_NOT_OK(Append(type, array, i));
      const size_t length = out_->size() - position;
      out_->append(RoundUp8(length) - length, '\0');
      content = OffsetSlot(position - base, length);
    } else if (IsLargeDecimal(type)) {
      const size_t position = Grow(kLargeDecimalBytes);
      content = OffsetSlot(position - base, MinimalBigEndian(DecimalAt(array, i), At(position)));
    } else if (IsLargeTimestamp(type)) {
      const auto split =
          SplitTimestamp(static_cast<const arrow::TimestampArray&>(array).Value(i), UnitOf(array));
      const size_t position = Grow(8);
      StoreLE<int64_t>(At(position), split.millis);
      content = OffsetSlot(position - base, static_cast<size_t>(split.nanos_of_milli));
    } else {
      content = FixedSlot(type, array, i);
    }
    std::memcpy(At(slot), &content, width);
    return arrow::Status::OK();
  }

  std::string* out_;
};

/// Variable parts of one structured column, encoded before the sizes are known.
struct NestedColumn {
  std::string bytes;
  std::vector<size_t> ends;

  std::string_view At(int64_t row) const {
    const auto r = static_cast<size_t>(row);
    const size_t begin = r == 0 ? 0 : ends[r - 1];
    return std::string_view(bytes).substr(begin, ends[r] - begin);
  }
};

arrow::Result<NestedColumn> EncodeNested(const DataType& type, const arrow::Array& array) {
  NestedColumn column;
  column.ends.reserve(static_cast<size_t>(array.length()));
  NestedEncoder encoder(&column.bytes);
  for (int64_t i = 0; i < array.length(); ++i) {
    if (array.IsValid(i)) ARROW_RETURN_NOT_OK(encoder.Append(type, array, i));
    column.ends.push_back(column.bytes.size());
  }
  return column;
}

// --- columns
// ---------------------------------------------------------------------------------------------

/// Rows under construction: `starts` are offsets of rows in `data`, `cursors` the next free byte of
/// each row's variable part, counted from the row's start.
struct Rows {
  uint8_t* data = nullptr;
  std::span<const int32_t> starts;
  std::vector<size_t> cursors;
  size_t arity = 0;

  uint8_t* Row(int64_t i) const { return data + starts[static_cast<size_t>(i)]; }
  uint8_t* Slot(int64_t i, size_t field) const { return Row(i) + HeaderBytes(arity) + 8 * field; }
  void SetNull(int64_t i, size_t field) const {
    Row(i)[(field + 8) / 8] |= static_cast<uint8_t>(1u << (field % 8));
  }
  size_t Take(int64_t i, size_t size) {
    size_t& cursor = cursors[static_cast<size_t>(i)];
    return std::exchange(cursor, cursor + size);
  }
};

template <typename ArrayType, typename ToSlot>
void WriteFixed(const arrow::Array& array, size_t field, const Rows& rows, ToSlot to_slot) {
  const auto& typed = static_cast<const ArrayType&>(array);
  for (int64_t i = 0; i < array.length(); ++i) {
    if (array.IsNull(i)) {
      rows.SetNull(i, field);
    } else {
      StoreLE<uint64_t>(rows.Slot(i, field), to_slot(typed.Value(i)));
    }
  }
}

arrow::Status WriteLargeDecimals(const arrow::Array& array, size_t field, Rows* rows) {
  for (int64_t i = 0; i < array.length(); ++i) {
    const size_t offset = rows->Take(i, kLargeDecimalBytes);
    size_t length = 0;
    if (array.IsNull(i)) {
      rows->SetNull(i, field);
    } else {
      length = MinimalBigEndian(DecimalAt(array, i), rows->Row(i) + offset);
    }
    StoreLE<uint64_t>(rows->Slot(i, field), OffsetSlot(offset, length));
  }
  return arrow::Status::OK();
}

void WriteTimestamps(const DataType& type, const arrow::Array& array, size_t field, Rows* rows) {
  const auto unit = UnitOf(array);
  const auto& values = static_cast<const arrow::TimestampArray&>(array);
  if (!IsLargeTimestamp(type)) {
    WriteFixed<arrow::TimestampArray>(array, field, *rows, [&](int64_t v) {
      return static_cast<uint64_t>(SplitTimestamp(v, unit).millis);
    });
    return;
  }
  for (int64_t i = 0; i < array.length(); ++i) {
    const size_t offset = rows->Take(i, 8);
    MillisNanos split{0, 0};
    if (array.IsNull(i)) {
      rows->SetNull(i, field);
    } else {
      split = SplitTimestamp(values.Value(i), unit);
    }
    StoreLE<int64_t>(rows->Row(i) + offset, split.millis);
    StoreLE<uint64_t>(rows->Slot(i, field),
                      OffsetSlot(offset, static_cast<size_t>(split.nanos_of_milli)));
  }
}

void WriteBytes(const arrow::Array& array, size_t field, Rows* rows) {
  const auto& values = static_cast<const arrow::BinaryArray&>(array);
  for (int64_t i = 0; i < array.length(); ++i) {
    if (array.IsNull(i)) {
      rows->SetNull(i, field);
      continue;
    }
    const std::string_view bytes = values.GetView(i);
    if (bytes.size() <= kInlineMax) {
      StoreLE<uint64_t>(rows->Slot(i, field), InlineSlot(bytes));
      continue;
    }
    const size_t offset = rows->Take(i, RoundUp8(bytes.size()));
    std::memcpy(rows->Row(i) + offset, bytes.data(), bytes.size());
    StoreLE<uint64_t>(rows->Slot(i, field), OffsetSlot(offset, bytes.size()));
  }
}

void WriteNested(const arrow::Array& array, const NestedColumn& column, size_t field, Rows* rows) {
  for (int64_t i = 0; i < array.length(); ++i) {
    if (array.IsNull(i)) {
      rows->SetNull(i, field);
      continue;
    }
    const std::string_view bytes = column.At(i);
    const size_t offset = rows->Take(i, RoundUp8(bytes.size()));
    std::memcpy(rows->Row(i) + offset, bytes.data(), bytes.size());
    StoreLE<uint64_t>(rows->Slot(i, field), OffsetSlot(offset, bytes.size()));
  }
}

void WriteSmallDecimals(const arrow::Array& array, size_t field, const Rows& rows) {
  for (int64_t i = 0; i < array.length(); ++i) {
    if (array.IsNull(i)) {
      rows.SetNull(i, field);
    } else {
      StoreLE<uint64_t>(rows.Slot(i, field), DecimalAt(array, i).low_bits());
    }
  }
}

arrow::Status WriteColumn(const DataType& type, const arrow::Array& array,
                          const NestedColumn& nested, size_t field, Rows* rows) {
  switch (type.root()) {
    case TypeRoot::kBoolean:
      WriteFixed<arrow::BooleanArray>(array, field, *rows,
                                      [](bool v) -> uint64_t { return v ? 1 : 0; });
      break;
    case TypeRoot::kTinyInt:
      WriteFixed<arrow::Int8Array>(array, field, *rows,
                                   [](int8_t v) { return static_cast<uint8_t>(v); });
      break;
    case TypeRoot::kSmallInt:
      WriteFixed<arrow::Int16Array>(array, field, *rows,
                                    [](int16_t v) { return static_cast<uint16_t>(v); });
      break;
    case TypeRoot::kInt:
      WriteFixed<arrow::Int32Array>(array, field, *rows,
                                    [](int32_t v) { return static_cast<uint32_t>(v); });
      break;
    case TypeRoot::kDate:
      WriteFixed<arrow::Date32Array>(array, field, *rows,
                                     [](int32_t v) { return static_cast<uint32_t>(v); });
      break;
    case TypeRoot::kTime:
      WriteFixed<arrow::Time32Array>(array, field, *rows,
                                     [](int32_t v) { return static_cast<uint32_t>(v); });
      break;
    case TypeRoot::kBigInt:
      WriteFixed<arrow::Int64Array>(array, field, *rows,
                                    [](int64_t v) { return static_cast<uint64_t>(v); });
      break;
    case TypeRoot::kFloat:
      WriteFixed<arrow::FloatArray>(array, field, *rows,
                                    [](float v) { return std::bit_cast<uint32_t>(v); });
      break;
    case TypeRoot::kDouble:
      WriteFixed<arrow::DoubleArray>(array, field, *rows,
                                     [](double v) { return std::bit_cast<uint64_t>(v); });
      break;
    case TypeRoot::kDecimal:
      if (IsLargeDecimal(type)) return WriteLargeDecimals(array, field, rows);
      WriteSmallDecimals(array, field, *rows);
      break;
    case TypeRoot::kTimestamp:
    case TypeRoot::kTimestampLtz:
      WriteTimestamps(type, array, field, rows);
      break;
    case TypeRoot::kChar:
    case TypeRoot::kVarChar:
    case TypeRoot::kBinary:
    case TypeRoot::kVarBinary:
      WriteBytes(array, field, rows);
      break;
    default:
      WriteNested(array, nested, field, rows);
  }
  return arrow::Status::OK();
}

/// Adds the column's variable bytes to the size of each row; values that cannot be encoded are
/// refused here.
arrow::Status AddSizes(const DataType& type, const arrow::Array& array, const NestedColumn& nested,
                       std::vector<size_t>* sizes) {
  if (type.root() == TypeRoot::kDecimal ||
      (IsTimestamp(type) && UnitOf(array) == arrow::TimeUnit::SECOND)) {
    for (int64_t i = 0; i < array.length(); ++i) {
      if (array.IsValid(i)) ARROW_RETURN_NOT_OK(CheckValue(type, array, i));
    }
  }
  if (IsLargeDecimal(type) || IsLargeTimestamp(type)) {
    const size_t size = IsLargeDecimal(type) ? kLargeDecimalBytes : 8;
    for (size_t& row : *sizes) row += size;
  } else if (IsInlineable(type)) {
    const auto& values = static_cast<const arrow::BinaryArray&>(array);
    for (int64_t i = 0; i < array.length(); ++i) {
      const auto length = static_cast<size_t>(values.value_length(i));
      if (length > kInlineMax && array.IsValid(i))
        (*sizes)[static_cast<size_t>(i)] += RoundUp8(length);
    }
  } else if (IsStructured(type)) {
    for (int64_t i = 0; i < array.length(); ++i)
      (*sizes)[static_cast<size_t>(i)] += RoundUp8(nested.At(i).size());
  }
  return arrow::Status::OK();
}

}  // namespace

arrow::Result<std::shared_ptr<arrow::BinaryArray>> EncodeBinaryRows(
    const std::vector<DataType>& types, const arrow::ArrayVector& columns) {
  if (types.size() != columns.size() || columns.empty()) {
    return Invalid("cannot encode {} columns as rows of {} fields", columns.size(), types.size());
  }
  const int64_t row_count = columns[0]->length();
  for (size_t k = 0; k < types.size(); ++k) {
    if (columns[k]->length() != row_count) {
      return Invalid("columns of {} and {} values cannot form rows", row_count,
                     columns[k]->length());
    }
    ARROW_RETURN_NOT_OK(CheckForm(types[k], *columns[k]->type()));
  }
  Rows rows;
  rows.arity = types.size();
  rows.cursors.assign(static_cast<size_t>(row_count), RowFixedBytes(types.size()));
  std::vector<NestedColumn> nested(types.size());
  for (size_t k = 0; k < types.size(); ++k) {
    if (IsStructured(types[k])) {
      ARROW_ASSIGN_OR_RAISE(nested[k], EncodeNested(types[k], *columns[k]));
    }
    ARROW_RETURN_NOT_OK(AddSizes(types[k], *columns[k], nested[k], &rows.cursors));
  }
  ARROW_ASSIGN_OR_RAISE(
      auto offsets, arrow::AllocateBuffer((row_count + 1) * static_cast<int64_t>(sizeof(int32_t))));
  auto* starts = reinterpret_cast<int32_t*>(offsets->mutable_data());
  size_t total = 0;
  for (int64_t i = 0; i < row_count; ++i) {
    starts[i] = static_cast<int32_t>(total);
    total += rows.cursors[static_cast<size_t>(i)];
    if (total > static_cast<size_t>(std::numeric_limits<int32_t>::max())) {
      return arrow::Status::CapacityError(
          "rows of more than 2 GiB in one batch: encode fewer rows at once");
    }
  }
  starts[row_count] = static_cast<int32_t>(total);
  ARROW_ASSIGN_OR_RAISE(auto data, arrow::AllocateBuffer(static_cast<int64_t>(total)));
  std::memset(data->mutable_data(), 0, total);
  rows.data = data->mutable_data();
  rows.starts = std::span<const int32_t>(starts, static_cast<size_t>(row_count));
  std::fill(rows.cursors.begin(), rows.cursors.end(), RowFixedBytes(types.size()));
  for (size_t k = 0; k < types.size(); ++k) {
    ARROW_RETURN_NOT_OK(WriteColumn(types[k], *columns[k], nested[k], k, &rows));
  }
  return std::make_shared<arrow::BinaryArray>(row_count,
                                              std::shared_ptr<arrow::Buffer>(std::move(offsets)),
                                              std::shared_ptr<arrow::Buffer>(std::move(data)));
}

arrow::Result<std::string> EncodeBinaryRow(
    const std::vector<DataType>& types, const std::vector<std::shared_ptr<arrow::Scalar>>& values) {
  if (types.size() != values.size()) {
    return Invalid("cannot encode {} values as a row of {} fields", values.size(), types.size());
  }
  if (types.empty()) return std::string(RowFixedBytes(0), '\0');
  arrow::ArrayVector columns;
  columns.reserve(values.size());
  for (size_t k = 0; k < values.size(); ++k) {
    if (values[k] != nullptr && values[k]->is_valid) {
      ARROW_ASSIGN_OR_RAISE(auto column, arrow::MakeArrayFromScalar(*values[k], 1));
      columns.push_back(std::move(column));
    } else {
      ARROW_ASSIGN_OR_RAISE(auto type, ToArrowType(types[k]));
      ARROW_ASSIGN_OR_RAISE(auto column, arrow::MakeArrayOfNull(type, 1));
      columns.push_back(std::move(column));
    }
  }
  ARROW_ASSIGN_OR_RAISE(auto rows, EncodeBinaryRows(types, columns));
  return rows->GetString(0);
}

}  // namespace kelda
