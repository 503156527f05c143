#include "kelda/format/file_index/index_key.h"

#include <bit>
#include <cmath>
#include <limits>

#include <arrow/array/array_decimal.h>
#include <arrow/array/array_primitive.h>
#include <arrow/array/util.h>

namespace kelda {

namespace {

/// Floats as integers of the same order; applied twice it gives the bits back.
int32_t FlipOrder(int32_t bits) { return bits ^ ((bits >> 31) & 0x7fffffff); }
int64_t FlipOrder(int64_t bits) { return bits ^ ((bits >> 63) & 0x7fffffffffffffff); }

int64_t OrderedNumber(float value) {
  // Java's canonical NaN, whatever its bits are here.
  const float canonical = std::isnan(value) ? std::bit_cast<float>(0x7fc00000) : value;
  return FlipOrder(std::bit_cast<int32_t>(canonical));
}
int64_t OrderedNumber(double value) {
  const double canonical = std::isnan(value) ? std::bit_cast<double>(0x7ff8000000000000) : value;
  return FlipOrder(std::bit_cast<int64_t>(canonical));
}

template <typename ArrayType>
void CopyNumbers(const arrow::Array& array, std::vector<int64_t>* out) {
  const auto& typed = static_cast<const ArrayType&>(array);
  for (int64_t i = 0; i < array.length(); ++i) {
    if constexpr (std::is_floating_point_v<decltype(typed.Value(i))>) {
      (*out)[static_cast<size_t>(i)] = OrderedNumber(typed.Value(i));
    } else {
      (*out)[static_cast<size_t>(i)] = typed.Value(i);
    }
  }
}

int64_t FloorDiv(int64_t value, int64_t divisor) {
  return value / divisor - (value % divisor < 0 ? 1 : 0);
}

arrow::Status CopyDecimals(const arrow::Array& array, std::vector<int64_t>* out) {
  const auto& decimals = static_cast<const arrow::Decimal128Array&>(array);
  for (int64_t i = 0; i < array.length(); ++i) {
    if (array.IsNull(i)) continue;
    const arrow::Decimal128 value(decimals.GetValue(i));
    const auto low = static_cast<int64_t>(value.low_bits());
    if (value.high_bits() != (low < 0 ? -1 : 0))
      return Invalid("decimal {} has no unscaled 64-bit value", value.ToIntegerString());
    (*out)[static_cast<size_t>(i)] = low;
  }
  return arrow::Status::OK();
}

/// Milliseconds up to 3 digits, microseconds else.
void CopyTimestamps(const arrow::Array& array, int precision, std::vector<int64_t>* out) {
  CopyNumbers<arrow::TimestampArray>(array, out);
  for (int64_t& value : *out) {
    if (precision == 0) {
      value = static_cast<int64_t>(static_cast<uint64_t>(value) * 1000);
    } else if (precision > 6) {
      value = FloorDiv(value, 1000);
    }
  }
}

}  // namespace

arrow::Result<KeyForm> KeyForm::Make(const DataType& type) {
  KeyForm form;
  form.type_ = type;
  const auto set = [&](Kind kind, int width) {
    form.kind_ = kind;
    form.width_ = width;
    return form;
  };
  switch (type.root()) {
    case TypeRoot::kBoolean:
      return set(Kind::kBoolean, 1);
    case TypeRoot::kTinyInt:
      return set(Kind::kInteger, 1);
    case TypeRoot::kSmallInt:
      return set(Kind::kInteger, 2);
    case TypeRoot::kInt:
    case TypeRoot::kDate:
    case TypeRoot::kTime:
      return set(Kind::kInteger, 4);
    case TypeRoot::kBigInt:
      return set(Kind::kInteger, 8);
    case TypeRoot::kFloat:
      return set(Kind::kFloat, 4);
    case TypeRoot::kDouble:
      return set(Kind::kDouble, 8);
    case TypeRoot::kDecimal:
      return set(Kind::kDecimal, 8);
    case TypeRoot::kTimestamp:
    case TypeRoot::kTimestampLtz:
      form.lossy_ = type.precision() > 6;
      return set(Kind::kTimestamp, 8);
    case TypeRoot::kChar:
    case TypeRoot::kVarChar:
    case TypeRoot::kBinary:
    case TypeRoot::kVarBinary:
      return set(Kind::kText, 0);
    default:
      return Unsupported("file index on a column of type {}", type.ToString());
  }
}

arrow::Status KeyForm::Numbers(const arrow::Array& array, std::vector<int64_t>* out) const {
  out->assign(static_cast<size_t>(array.length()), 0);
  switch (array.type_id()) {
    case arrow::Type::BOOL:
      CopyNumbers<arrow::BooleanArray>(array, out);
      return arrow::Status::OK();
    case arrow::Type::INT8:
      CopyNumbers<arrow::Int8Array>(array, out);
      return arrow::Status::OK();
    case arrow::Type::INT16:
      CopyNumbers<arrow::Int16Array>(array, out);
      return arrow::Status::OK();
    case arrow::Type::INT32:
      CopyNumbers<arrow::Int32Array>(array, out);
      return arrow::Status::OK();
    case arrow::Type::DATE32:
      CopyNumbers<arrow::Date32Array>(array, out);
      return arrow::Status::OK();
    case arrow::Type::TIME32:
      CopyNumbers<arrow::Time32Array>(array, out);
      return arrow::Status::OK();
    case arrow::Type::INT64:
      CopyNumbers<arrow::Int64Array>(array, out);
      return arrow::Status::OK();
    case arrow::Type::FLOAT:
      CopyNumbers<arrow::FloatArray>(array, out);
      return arrow::Status::OK();
    case arrow::Type::DOUBLE:
      CopyNumbers<arrow::DoubleArray>(array, out);
      return arrow::Status::OK();
    case arrow::Type::DECIMAL128:
      return CopyDecimals(array, out);
    case arrow::Type::TIMESTAMP:
      CopyTimestamps(array, type_.precision(), out);
      return arrow::Status::OK();
    default:
      return Invalid("file index: values of Arrow type {} for a column of type {}",
                     array.type()->ToString(), type_.ToString());
  }
}

void KeyForm::Append(const IndexKey& key, std::string* out) const {
  char bytes[8];
  if (is_text()) {
    StoreBE32(bytes, static_cast<uint32_t>(key.text.size()));
    out->append(bytes, 4);
    out->append(key.text);
    return;
  }
  StoreBE64(bytes, static_cast<uint64_t>(HashedBits(key)));
  out->append(bytes + 8 - width_, static_cast<size_t>(width_));
}

int64_t KeyForm::HashedBits(const IndexKey& key) const {
  if (kind_ == Kind::kFloat) return FlipOrder(static_cast<int32_t>(key.number));
  if (kind_ == Kind::kDouble) return FlipOrder(key.number);
  return key.number;
}

arrow::Result<IndexKey> KeyForm::Read(IndexCursor* in, std::string* text) const {
  IndexKey key;
  if (is_text()) {
    ARROW_ASSIGN_OR_RAISE(int32_t length, in->BE32());
    if (length < 0) return in->Error("value of negative length");
    ARROW_RETURN_NOT_OK(in->Bytes(length, text));
    key.text = *text;
    return key;
  }
  ARROW_ASSIGN_OR_RAISE(int64_t bits, in->Signed(width_));
  if (kind_ == Kind::kFloat) {
    key.number = FlipOrder(static_cast<int32_t>(bits));
  } else if (kind_ == Kind::kDouble) {
    key.number = FlipOrder(bits);
  } else {
    key.number = bits;
  }
  return key;
}

arrow::Result<IndexKey> KeyForm::KeyOf(const std::shared_ptr<arrow::Scalar>& literal) const {
  const bool literal_is_text = arrow::is_base_binary_like(literal->type->id());
  if (is_text() != literal_is_text) {
    return Invalid("file index: literal of Arrow type {} for a column of type {}",
                   literal->type->ToString(), type_.ToString());
  }
  if (is_text()) return IndexKey{0, static_cast<const arrow::BaseBinaryScalar&>(*literal).view()};
  ARROW_ASSIGN_OR_RAISE(auto array, arrow::MakeArrayFromScalar(*literal, 1));
  std::vector<int64_t> numbers;
  ARROW_RETURN_NOT_OK(Numbers(*array, &numbers));
  return IndexKey{numbers[0], {}};
}

}  // namespace kelda
