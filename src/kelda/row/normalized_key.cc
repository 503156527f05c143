#include "kelda/row/normalized_key.h"

#include <bit>
#include <cmath>
#include <limits>

#include <arrow/array.h>
#include <arrow/util/decimal.h>

#include "kelda/base/bytes.h"
#include "kelda/base/status.h"

namespace kelda {

namespace {

constexpr char kNull = 0;
constexpr char kValue = 1;

void PutBigEndian(uint64_t value, int bytes, char* out) {
  for (int i = bytes - 1; i >= 0; --i) {
    out[i] = static_cast<char>(value & 0xff);
    value >>= 8;
  }
}

/// Encodes the values of one column, row after row.
class ColumnEncoder {
 public:
  virtual ~ColumnEncoder() = default;
  /// Bytes of a value that is not NULL.
  virtual size_t Size(int64_t row) const = 0;
  virtual void Write(int64_t row, char* out) const = 0;
};

template <typename ArrayType>
class IntegerEncoder : public ColumnEncoder {
 public:
  explicit IntegerEncoder(const arrow::Array& array)
      : values_(static_cast<const ArrayType&>(array)) {}
  size_t Size(int64_t) const override { return kBytes; }
  void Write(int64_t row, char* out) const override {
    const auto value = static_cast<int64_t>(values_.Value(row));
    // The sign bit turned around makes the unsigned order that of the values.
    const uint64_t bits = static_cast<uint64_t>(value) ^ (uint64_t{1} << (kBytes * 8 - 1));
    PutBigEndian(bits, kBytes, out);
  }

 private:
  static constexpr int kBytes = sizeof(typename ArrayType::value_type);
  const ArrayType& values_;
};

class BooleanEncoder : public ColumnEncoder {
 public:
  explicit BooleanEncoder(const arrow::Array& array)
      : values_(static_cast<const arrow::BooleanArray&>(array)) {}
  size_t Size(int64_t) const override { return 1; }
  void Write(int64_t row, char* out) const override { *out = values_.Value(row) ? 1 : 0; }

 private:
  const arrow::BooleanArray& values_;
};

template <typename ArrayType, typename Bits>
class FloatEncoder : public ColumnEncoder {
 public:
  explicit FloatEncoder(const arrow::Array& array)
      : values_(static_cast<const ArrayType&>(array)) {}
  size_t Size(int64_t) const override { return sizeof(Bits); }
  void Write(int64_t row, char* out) const override {
    auto value = values_.Value(row);
    if (std::isnan(value)) value = std::numeric_limits<decltype(value)>::quiet_NaN();
    Bits bits = std::bit_cast<Bits>(value);
    constexpr Bits kSign = Bits{1} << (sizeof(Bits) * 8 - 1);
    bits = (bits & kSign) != 0 ? ~bits : bits | kSign;
    PutBigEndian(bits, sizeof(Bits), out);
  }

 private:
  const ArrayType& values_;
};

class DecimalEncoder : public ColumnEncoder {
 public:
  explicit DecimalEncoder(const arrow::Array& array)
      : values_(static_cast<const arrow::Decimal128Array&>(array)) {}
  size_t Size(int64_t) const override { return 16; }
  void Write(int64_t row, char* out) const override {
    const arrow::Decimal128 value(values_.Value(row));
    PutBigEndian(static_cast<uint64_t>(value.high_bits()) ^ (uint64_t{1} << 63), 8, out);
    PutBigEndian(value.low_bits(), 8, out + 8);
  }

 private:
  const arrow::Decimal128Array& values_;
};

/// 0 becomes 0 255 and 0 1 ends the value, so that a prefix is smaller.
class BytesEncoder : public ColumnEncoder {
 public:
  explicit BytesEncoder(const arrow::Array& array)
      : values_(static_cast<const arrow::BinaryArray&>(array)) {}
  size_t Size(int64_t row) const override {
    const std::string_view value = values_.GetView(row);
    return value.size() + static_cast<size_t>(std::count(value.begin(), value.end(), '\0')) + 2;
  }
  void Write(int64_t row, char* out) const override {
    for (char c : values_.GetView(row)) {
      *out++ = c;
      if (c == '\0') *out++ = '\xff';
    }
    *out++ = '\0';
    *out = '\x01';
  }

 private:
  const arrow::BinaryArray& values_;
};

arrow::Result<std::unique_ptr<ColumnEncoder>> MakeEncoder(const SortColumn& column,
                                                          const arrow::Array& array) {
  switch (array.type_id()) {
    case arrow::Type::BOOL:
      return std::make_unique<BooleanEncoder>(array);
    case arrow::Type::INT8:
      return std::make_unique<IntegerEncoder<arrow::Int8Array>>(array);
    case arrow::Type::INT16:
      return std::make_unique<IntegerEncoder<arrow::Int16Array>>(array);
    case arrow::Type::INT32:
      return std::make_unique<IntegerEncoder<arrow::Int32Array>>(array);
    case arrow::Type::INT64:
      return std::make_unique<IntegerEncoder<arrow::Int64Array>>(array);
    case arrow::Type::DATE32:
      return std::make_unique<IntegerEncoder<arrow::Date32Array>>(array);
    case arrow::Type::TIME32:
      return std::make_unique<IntegerEncoder<arrow::Time32Array>>(array);
    case arrow::Type::TIMESTAMP:
      return std::make_unique<IntegerEncoder<arrow::TimestampArray>>(array);
    case arrow::Type::FLOAT:
      return std::make_unique<FloatEncoder<arrow::FloatArray, uint32_t>>(array);
    case arrow::Type::DOUBLE:
      return std::make_unique<FloatEncoder<arrow::DoubleArray, uint64_t>>(array);
    case arrow::Type::DECIMAL128:
      return std::make_unique<DecimalEncoder>(array);
    case arrow::Type::STRING:
    case arrow::Type::BINARY:
      return std::make_unique<BytesEncoder>(array);
    default:
      return Unsupported("sorting by a column of type {}", column.type.ToString());
  }
}

}  // namespace

arrow::Result<NormalizedKeys> NormalizedKeys::Encode(const arrow::RecordBatch& batch,
                                                     const std::vector<SortColumn>& columns,
                                                     size_t key_columns) {
  std::vector<std::unique_ptr<ColumnEncoder>> encoders;
  for (const SortColumn& column : columns) {
    ARROW_ASSIGN_OR_RAISE(auto encoder, MakeEncoder(column, *batch.column(column.index)));
    encoders.push_back(std::move(encoder));
  }
  const int64_t rows = batch.num_rows();
  NormalizedKeys keys;
  keys.starts_.resize(static_cast<size_t>(rows) + 1);
  keys.key_ends_.resize(static_cast<size_t>(rows));
  size_t total = 0;
  for (int64_t row = 0; row < rows; ++row) {
    keys.starts_[row] = total;
    for (size_t c = 0; c < columns.size(); ++c) {
      if (c == key_columns) keys.key_ends_[row] = total;
      total += 1;
      if (batch.column(columns[c].index)->IsValid(row)) total += encoders[c]->Size(row);
    }
    if (key_columns == columns.size()) keys.key_ends_[row] = total;
  }
  keys.starts_[rows] = total;
  keys.bytes_.resize(total);
  char* out = keys.bytes_.data();
  for (int64_t row = 0; row < rows; ++row) {
    for (size_t c = 0; c < columns.size(); ++c) {
      if (batch.column(columns[c].index)->IsNull(row)) {
        *out++ = kNull;
        continue;
      }
      *out++ = kValue;
      const size_t size = encoders[c]->Size(row);
      encoders[c]->Write(row, out);
      if (columns[c].descending) {
        for (size_t i = 0; i < size; ++i) out[i] = static_cast<char>(~out[i]);
      }
      out += size;
    }
  }
  return keys;
}

}  // namespace kelda
