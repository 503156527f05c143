// Bucket functions (spec 02 §2.2).
#include <cmath>
#include <cstdlib>

#include <arrow/api.h>

#include "kelda/base/bytes.h"
#include "kelda/base/murmur3.h"
#include "kelda/row/binary_row.h"

namespace kelda {

namespace {

uint32_t FoldLong(uint64_t bits) { return static_cast<uint32_t>(bits ^ (bits >> 32)); }

/// Java's BigDecimal.hashCode of the value without trailing zeros and with a scale of at least 0.
uint32_t HiveDecimalHash(const arrow::Decimal128& decimal, int32_t scale) {
  const bool negative = decimal.IsNegative();
  const arrow::Decimal128 magnitude = arrow::Decimal128::Abs(decimal);
  auto value = static_cast<unsigned __int128>(static_cast<uint64_t>(magnitude.high_bits())) << 64 |
               magnitude.low_bits();
  if (value == 0) return 0;
  while (scale > 0 && value % 10 == 0) {
    value /= 10;
    --scale;
  }
  uint32_t hash = 0;
  for (int shift = 96; shift >= 0; shift -= 32)
    hash = 31 * hash + static_cast<uint32_t>(value >> shift);
  return 31 * (negative ? 0 - hash : hash) + static_cast<uint32_t>(scale);
}

uint32_t HiveBytesHash(std::string_view bytes) {
  uint32_t hash = 0;
  for (const char c : bytes)
    hash = 31 * hash + static_cast<uint32_t>(static_cast<int32_t>(static_cast<int8_t>(c)));
  return hash;
}

template <typename ScalarType>
auto ValueOf(const arrow::Scalar& scalar) {
  return static_cast<const ScalarType&>(scalar).value;
}

arrow::Result<uint32_t> HiveFieldHash(const DataType& type, const arrow::Scalar& value) {
  switch (type.root()) {
    case TypeRoot::kBoolean:
      return ValueOf<arrow::BooleanScalar>(value) ? 1u : 0u;
    case TypeRoot::kTinyInt:
      return static_cast<uint32_t>(ValueOf<arrow::Int8Scalar>(value));
    case TypeRoot::kSmallInt:
      return static_cast<uint32_t>(ValueOf<arrow::Int16Scalar>(value));
    case TypeRoot::kInt:
      return static_cast<uint32_t>(ValueOf<arrow::Int32Scalar>(value));
    case TypeRoot::kDate:
      return static_cast<uint32_t>(ValueOf<arrow::Date32Scalar>(value));
    case TypeRoot::kTime:
      return static_cast<uint32_t>(ValueOf<arrow::Time32Scalar>(value));
    case TypeRoot::kBigInt:
      return FoldLong(static_cast<uint64_t>(ValueOf<arrow::Int64Scalar>(value)));
    case TypeRoot::kFloat: {
      const float number = ValueOf<arrow::FloatScalar>(value);
      // floatToIntBits has one NaN.
      if (std::isnan(number)) return 0x7fc00000u;
      return number == 0 ? 0u : std::bit_cast<uint32_t>(number);
    }
    case TypeRoot::kDouble: {
      const double number = ValueOf<arrow::DoubleScalar>(value);
      if (std::isnan(number)) return FoldLong(0x7ff8000000000000u);
      return number == 0 ? 0u : FoldLong(std::bit_cast<uint64_t>(number));
    }
    case TypeRoot::kChar:
    case TypeRoot::kVarChar:
    case TypeRoot::kBinary:
    case TypeRoot::kVarBinary:
      return HiveBytesHash(static_cast<const arrow::BaseBinaryScalar&>(value).view());
    case TypeRoot::kDecimal:
      return HiveDecimalHash(ValueOf<arrow::Decimal128Scalar>(value), type.scale());
    default:
      return Invalid("bucket function 'hive' cannot hash {}", type.ToString());
  }
}

}  // namespace

int32_t DefaultBucket(std::string_view row, int32_t bucket_count) {
  return std::abs(MurmurHash(row) % bucket_count);
}

arrow::Result<int32_t> ModBucket(const DataType& type, const arrow::Scalar& value,
                                 int32_t bucket_count) {
  if (type.root() != TypeRoot::kInt && type.root() != TypeRoot::kBigInt) {
    return Invalid("bucket function 'mod' needs an INT or BIGINT key, found {}", type.ToString());
  }
  if (!value.is_valid) return 0;
  const int64_t key = type.root() == TypeRoot::kInt ? ValueOf<arrow::Int32Scalar>(value)
                                                    : ValueOf<arrow::Int64Scalar>(value);
  const int64_t remainder = key % bucket_count;
  return static_cast<int32_t>(remainder < 0 ? remainder + bucket_count : remainder);
}

arrow::Result<int32_t> HiveBucket(const std::vector<DataType>& types,
                                  const std::vector<std::shared_ptr<arrow::Scalar>>& values,
                                  int32_t bucket_count) {
  if (types.size() != values.size())
    return Invalid("{} values for {} bucket keys", values.size(), types.size());
  uint32_t hash = 0;
  for (size_t k = 0; k < types.size(); ++k) {
    uint32_t field_hash = 0;
    if (values[k] != nullptr && values[k]->is_valid) {
      ARROW_ASSIGN_OR_RAISE(field_hash, HiveFieldHash(types[k], *values[k]));
    }
    hash = 31 * hash + field_hash;
  }
  return static_cast<int32_t>(hash & 0x7fffffffu) % bucket_count;
}

}  // namespace kelda
