// Bucket functions (spec 02 §2.2).
#include <cmath>
#include <cstdlib>

#include <arrow/api.h>
#include <arrow/array/util.h>

#include "kelda/base/bytes.h"
#include "kelda/base/murmur3.h"
#include "kelda/row/binary_row.h"
#include "kelda/row/bucket_function.h"
#include "kelda/types/arrow_mapping.h"

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

/// floatToIntBits and doubleToLongBits have one NaN.
uint32_t HiveFloatHash(float number) {
  if (std::isnan(number)) return 0x7fc00000u;
  return number == 0 ? 0u : std::bit_cast<uint32_t>(number);
}
uint32_t HiveDoubleHash(double number) {
  if (std::isnan(number)) return FoldLong(0x7ff8000000000000u);
  return number == 0 ? 0u : FoldLong(std::bit_cast<uint64_t>(number));
}

template <typename ArrayType, typename Hash>
arrow::Status MixIn(const arrow::Array& column, std::vector<uint32_t>* hashes, Hash hash) {
  const auto& values = static_cast<const ArrayType&>(column);
  for (int64_t i = 0; i < values.length(); ++i) {
    const uint32_t field = values.IsNull(i) ? 0 : hash(values.GetView(i));
    (*hashes)[i] = 31 * (*hashes)[i] + field;
  }
  return arrow::Status::OK();
}

/// `hashes = 31 * hashes + field hash`, row by row.
arrow::Status MixInColumn(const DataType& type, const arrow::Array& column,
                          std::vector<uint32_t>* hashes) {
  auto value = [](auto v) { return static_cast<uint32_t>(v); };
  switch (type.root()) {
    case TypeRoot::kBoolean:
      return MixIn<arrow::BooleanArray>(column, hashes, value);
    case TypeRoot::kTinyInt:
      return MixIn<arrow::Int8Array>(column, hashes, value);
    case TypeRoot::kSmallInt:
      return MixIn<arrow::Int16Array>(column, hashes, value);
    case TypeRoot::kInt:
      return MixIn<arrow::Int32Array>(column, hashes, value);
    case TypeRoot::kDate:
      return MixIn<arrow::Date32Array>(column, hashes, value);
    case TypeRoot::kTime:
      return MixIn<arrow::Time32Array>(column, hashes, value);
    case TypeRoot::kBigInt:
      return MixIn<arrow::Int64Array>(column, hashes,
                                      [](int64_t v) { return FoldLong(static_cast<uint64_t>(v)); });
    case TypeRoot::kFloat:
      return MixIn<arrow::FloatArray>(column, hashes, HiveFloatHash);
    case TypeRoot::kDouble:
      return MixIn<arrow::DoubleArray>(column, hashes, HiveDoubleHash);
    case TypeRoot::kChar:
    case TypeRoot::kVarChar:
    case TypeRoot::kBinary:
    case TypeRoot::kVarBinary:
      return MixIn<arrow::BinaryArray>(column, hashes, HiveBytesHash);
    case TypeRoot::kDecimal:
      return MixIn<arrow::Decimal128Array>(column, hashes, [&](std::string_view bytes) {
        return HiveDecimalHash(arrow::Decimal128(reinterpret_cast<const uint8_t*>(bytes.data())),
                               type.scale());
      });
    default:
      // NULL is 0 for every type; a value of this one has no hash.
      if (column.null_count() != column.length())
        return Invalid("bucket function 'hive' cannot hash {}", type.ToString());
      for (uint32_t& hash : *hashes) hash *= 31;
      return arrow::Status::OK();
  }
}

template <typename ArrayType>
std::vector<int32_t> ModBuckets(const arrow::Array& column, int32_t bucket_count) {
  const auto& keys = static_cast<const ArrayType&>(column);
  std::vector<int32_t> buckets(static_cast<size_t>(keys.length()));
  for (int64_t i = 0; i < keys.length(); ++i) {
    // The slot of a NULL is zero.
    const int64_t key = keys.IsNull(i) ? 0 : keys.Value(i);
    const int64_t remainder = key % bucket_count;
    buckets[i] = static_cast<int32_t>(remainder < 0 ? remainder + bucket_count : remainder);
  }
  return buckets;
}

/// Columns of one row.
arrow::Result<arrow::ArrayVector> OneRow(
    const std::vector<DataType>& types, const std::vector<std::shared_ptr<arrow::Scalar>>& values) {
  if (types.size() != values.size())
    return Invalid("{} values for {} bucket keys", values.size(), types.size());
  arrow::ArrayVector columns;
  for (size_t i = 0; i < types.size(); ++i) {
    if (values[i] != nullptr && values[i]->is_valid) {
      ARROW_ASSIGN_OR_RAISE(auto column, arrow::MakeArrayFromScalar(*values[i], 1));
      columns.push_back(std::move(column));
    } else {
      ARROW_ASSIGN_OR_RAISE(auto type, ToArrowType(types[i]));
      ARROW_ASSIGN_OR_RAISE(auto column, arrow::MakeArrayOfNull(type, 1));
      columns.push_back(std::move(column));
    }
  }
  return columns;
}

}  // namespace

arrow::Result<BucketFunction> BucketFunction::Make(std::string_view type,
                                                   std::vector<DataType> key_types) {
  BucketFunction function;
  if (key_types.empty()) return Invalid("buckets need a bucket key");
  if (type == "mod") {
    function.kind_ = Kind::kMod;
    const TypeRoot root = key_types[0].root();
    if (key_types.size() != 1 || (root != TypeRoot::kInt && root != TypeRoot::kBigInt)) {
      return Invalid("bucket function 'mod' needs one key of type INT or BIGINT, found {}{}",
                     key_types[0].ToString(), key_types.size() > 1 ? " and more" : "");
    }
  } else if (type == "hive") {
    function.kind_ = Kind::kHive;
  } else if (type != "default") {
    return Unsupported("option 'bucket-function.type' = '{}'", type);
  }
  function.types_ = std::move(key_types);
  return function;
}

arrow::Result<std::vector<int32_t>> BucketFunction::Buckets(const arrow::ArrayVector& keys,
                                                            int64_t rows,
                                                            int32_t bucket_count) const {
  if (keys.size() != types_.size())
    return Invalid("{} columns for {} bucket keys", keys.size(), types_.size());
  switch (kind_) {
    case Kind::kMod:
      return types_[0].root() == TypeRoot::kInt
                 ? ModBuckets<arrow::Int32Array>(*keys[0], bucket_count)
                 : ModBuckets<arrow::Int64Array>(*keys[0], bucket_count);
    case Kind::kHive: {
      std::vector<uint32_t> hashes(static_cast<size_t>(rows), 0);
      for (size_t k = 0; k < keys.size(); ++k)
        ARROW_RETURN_NOT_OK(MixInColumn(types_[k], *keys[k], &hashes));
      std::vector<int32_t> buckets;
      buckets.reserve(hashes.size());
      for (uint32_t hash : hashes)
        buckets.push_back(static_cast<int32_t>(hash & 0x7fffffffu) % bucket_count);
      return buckets;
    }
    case Kind::kDefault:
      break;
  }
  ARROW_ASSIGN_OR_RAISE(auto encoded, EncodeBinaryRows(types_, keys));
  std::vector<int32_t> buckets(static_cast<size_t>(rows));
  for (int64_t i = 0; i < rows; ++i) buckets[i] = DefaultBucket(encoded->GetView(i), bucket_count);
  return buckets;
}

int32_t DefaultBucket(std::string_view row, int32_t bucket_count) {
  return std::abs(MurmurHash(row) % bucket_count);
}

arrow::Result<int32_t> ModBucket(const DataType& type, const arrow::Scalar& value,
                                 int32_t bucket_count) {
  ARROW_ASSIGN_OR_RAISE(auto function, BucketFunction::Make("mod", {type}));
  if (!value.is_valid) return 0;
  ARROW_ASSIGN_OR_RAISE(auto column, arrow::MakeArrayFromScalar(value, 1));
  ARROW_ASSIGN_OR_RAISE(auto buckets, function.Buckets({column}, 1, bucket_count));
  return buckets[0];
}

arrow::Result<int32_t> HiveBucket(const std::vector<DataType>& types,
                                  const std::vector<std::shared_ptr<arrow::Scalar>>& values,
                                  int32_t bucket_count) {
  ARROW_ASSIGN_OR_RAISE(auto function, BucketFunction::Make("hive", types));
  ARROW_ASSIGN_OR_RAISE(auto row, OneRow(types, values));
  ARROW_ASSIGN_OR_RAISE(auto buckets, function.Buckets(row, 1, bucket_count));
  return buckets[0];
}

}  // namespace kelda
