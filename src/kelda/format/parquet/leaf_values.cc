#include "kelda/format/parquet/leaf_values.h"

#include <cmath>
#include <limits>

#include <arrow/array/builder_binary.h>
#include <arrow/array/util.h>
#include <arrow/util/decimal.h>
#include <arrow/util/utf8.h>

#include "kelda/base/bytes.h"

namespace kelda {
namespace {

constexpr int64_t kNanosPerDay = int64_t{86400} * 1000000000;
constexpr int64_t kJulianEpochDay = 2440588;

int64_t UnitsPerSecond(arrow::TimeUnit::type unit) {
  switch (unit) {
    case arrow::TimeUnit::SECOND:
      return 1;
    case arrow::TimeUnit::MILLI:
      return 1000;
    case arrow::TimeUnit::MICRO:
      return 1000000;
    default:
      return 1000000000;
  }
}

int64_t UnitsPerSecond(parquet::LogicalType::TimeUnit::unit unit) {
  switch (unit) {
    case parquet::LogicalType::TimeUnit::MILLIS:
      return 1000;
    case parquet::LogicalType::TimeUnit::MICROS:
      return 1000000;
    default:
      return 1000000000;
  }
}

int64_t FloorDivide(int64_t a, int64_t b) {
  int64_t q = a / b;
  return a % b < 0 ? q - 1 : q;
}

__int128 PowerOfTen(int n) {
  __int128 value = 1;
  for (int i = 0; i < n; ++i) value *= 10;
  return value;
}

std::shared_ptr<arrow::Array> MakeFixed(const std::shared_ptr<arrow::DataType>& type,
                                        int64_t length, std::shared_ptr<arrow::Buffer> bitmap,
                                        std::shared_ptr<arrow::Buffer> values, int64_t null_count) {
  if (null_count == 0) bitmap = nullptr;
  return arrow::MakeArray(
      arrow::ArrayData::Make(type, length, {std::move(bitmap), std::move(values)}, null_count));
}

}  // namespace

arrow::Result<LeafConversion> LeafConversion::Make(const parquet::ColumnDescriptor& leaf,
                                                   std::shared_ptr<arrow::DataType> type,
                                                   std::string name) {
  using parquet::Type;
  LeafConversion c;
  c.type_ = std::move(type);
  c.name_ = std::move(name);
  c.physical_ = leaf.physical_type();
  const Type::type physical = c.physical_;
  const parquet::LogicalType& logical = *leaf.logical_type();
  auto mismatch = [&] {
    return Corruption("column '{}' is stored as {} {}, which is no form of {}", c.name_,
                      parquet::TypeToString(physical), logical.ToString(), c.type_->ToString());
  };
  auto rule_if = [&](bool fits, Rule rule) -> arrow::Result<LeafConversion> {
    if (!fits) return mismatch();
    c.rule_ = rule;
    return std::move(c);
  };
  switch (c.type_->id()) {
    case arrow::Type::BOOL:
      return rule_if(physical == Type::BOOLEAN, Rule::kBoolean);
    case arrow::Type::INT8:
    case arrow::Type::INT16:
      return rule_if(physical == Type::INT32, Rule::kNarrow);
    case arrow::Type::INT32:
    case arrow::Type::DATE32:
      return rule_if(physical == Type::INT32, Rule::kCopy);
    case arrow::Type::INT64:
      if (physical == Type::INT32) return rule_if(true, Rule::kWiden);
      return rule_if(physical == Type::INT64, Rule::kCopy);
    case arrow::Type::FLOAT:
      return rule_if(physical == Type::FLOAT, Rule::kCopy);
    case arrow::Type::DOUBLE:
      return rule_if(physical == Type::DOUBLE, Rule::kCopy);
    case arrow::Type::STRING:
      return rule_if(physical == Type::BYTE_ARRAY, Rule::kText);
    case arrow::Type::BINARY:
      return rule_if(physical == Type::BYTE_ARRAY || physical == Type::FIXED_LEN_BYTE_ARRAY,
                     Rule::kBytes);
    case arrow::Type::TIME32: {
      if (physical == Type::INT32) return rule_if(true, Rule::kCopy);
      if (physical != Type::INT64 || !logical.is_time()) return mismatch();
      auto unit = static_cast<const parquet::TimeLogicalType&>(logical).time_unit();
      c.divide_ = UnitsPerSecond(unit) / 1000;
      return rule_if(true, Rule::kScale);
    }
    case arrow::Type::TIMESTAMP: {
      auto unit = static_cast<const arrow::TimestampType&>(*c.type_).unit();
      const int64_t wanted = UnitsPerSecond(unit);
      int64_t stored = wanted <= 1000 ? 1000 : 1000000;  // without annotation: by the precision
      if (physical == Type::INT96) {
        stored = 1000000000;
      } else if (logical.is_timestamp()) {
        stored =
            UnitsPerSecond(static_cast<const parquet::TimestampLogicalType&>(logical).time_unit());
      }
      c.multiply_ = std::max<int64_t>(wanted / stored, 1);
      c.divide_ = std::max<int64_t>(stored / wanted, 1);
      if (physical == Type::INT96) return rule_if(true, Rule::kInt96);
      return rule_if(physical == Type::INT64, wanted == stored ? Rule::kCopy : Rule::kScale);
    }
    case arrow::Type::DECIMAL128: {
      const auto& decimal = static_cast<const arrow::Decimal128Type&>(*c.type_);
      c.decimal_limit_ = PowerOfTen(decimal.precision());
      if (logical.is_decimal() &&
          static_cast<const parquet::DecimalLogicalType&>(logical).scale() != decimal.scale()) {
        return mismatch();
      }
      if (physical == Type::INT32) return rule_if(true, Rule::kDecimal32);
      if (physical == Type::INT64) return rule_if(true, Rule::kDecimal64);
      return rule_if(physical == Type::BYTE_ARRAY || physical == Type::FIXED_LEN_BYTE_ARRAY,
                     Rule::kDecimalBytes);
    }
    default:
      return mismatch();
  }
}

arrow::Status LeafConversion::OutOfRange() const {
  if (type_->id() == arrow::Type::TIMESTAMP) {
    return Unsupported("column '{}': a timestamp that {} cannot hold", name_, type_->ToString());
  }
  return Corruption("column '{}': a value is out of range of {}", name_, type_->ToString());
}

bool LeafConversion::FitsDecimal(__int128 value) const {
  return value < decimal_limit_ && value > -decimal_limit_;
}

bool LeafConversion::ToDecimal(std::string_view big_endian, __int128* out) const {
  if (big_endian.empty()) return false;
  const char fill = big_endian[0] & 0x80 ? '\xff' : '\0';
  while (big_endian.size() > 16) {
    if (big_endian[0] != fill || ((big_endian[1] ^ fill) & 0x80) != 0) return false;
    big_endian.remove_prefix(1);
  }
  unsigned __int128 value = fill ? ~static_cast<unsigned __int128>(0) : 0;
  for (char byte : big_endian) value = value << 8 | static_cast<uint8_t>(byte);
  *out = static_cast<__int128>(value);
  return FitsDecimal(*out);
}

bool LeafConversion::ScaleTime(int64_t value, int64_t* out) const {
  if (multiply_ > 1) return !__builtin_mul_overflow(value, multiply_, out);
  *out = FloorDivide(value, divide_);
  return true;
}

/// Nanoseconds of the day may be negative (spec 01 §6.2).
bool LeafConversion::ScaleInt96(const uint8_t* bytes, int64_t* out) const {
  const auto nanos = LoadLE<int64_t>(bytes);
  const int64_t days = int64_t{LoadLE<int32_t>(bytes + 8)} - kJulianEpochDay;
  const __int128 value =
      static_cast<__int128>(days) * (kNanosPerDay / divide_) + FloorDivide(nanos, divide_);
  *out = static_cast<int64_t>(value);
  return *out == value;
}

arrow::Result<std::shared_ptr<arrow::Array>> LeafConversion::TakeFixed(
    parquet::internal::RecordReader* reader) const {
  const int64_t length = reader->values_written();
  const int64_t null_count = reader->nullable_values() ? reader->null_count() : 0;
  std::shared_ptr<arrow::Buffer> bitmap;
  if (reader->nullable_values()) bitmap = reader->ReleaseIsValid();
  if (rule_ == Rule::kCopy) {
    return MakeFixed(type_, length, bitmap, reader->ReleaseValues(), null_count);
  }
  const uint8_t* in = reader->values();
  const uint8_t* valid = null_count > 0 ? bitmap->data() : nullptr;
  bool good = true;
  // Converts value by value; a slot without a value may hold anything.
  auto convert = [&](auto zero, auto&& body) -> arrow::Result<std::shared_ptr<arrow::Array>> {
    using Out = decltype(zero);
    ARROW_ASSIGN_OR_RAISE(auto buffer,
                          arrow::AllocateBuffer(length * static_cast<int64_t>(sizeof(Out))));
    auto* out = reinterpret_cast<Out*>(buffer->mutable_data());
    for (int64_t i = 0; i < length; ++i) {
      Out value = zero;
      bool fits = body(i, &value);
      if (!fits) {
        value = zero;
        good &= valid != nullptr && !arrow::bit_util::GetBit(valid, i);
      }
      out[i] = value;
    }
    if (!good) return OutOfRange();
    return MakeFixed(type_, length, bitmap, std::move(buffer), null_count);
  };
  const auto* in32 = reinterpret_cast<const int32_t*>(in);
  const auto* in64 = reinterpret_cast<const int64_t*>(in);
  switch (rule_) {
    case Rule::kNarrow:
      if (type_->id() == arrow::Type::INT8) {
        return convert(int8_t{0}, [&](int64_t i, int8_t* out) {
          *out = static_cast<int8_t>(in32[i]);
          return *out == in32[i];
        });
      }
      return convert(int16_t{0}, [&](int64_t i, int16_t* out) {
        *out = static_cast<int16_t>(in32[i]);
        return *out == in32[i];
      });
    case Rule::kWiden:
      return convert(int64_t{0}, [&](int64_t i, int64_t* out) {
        *out = in32[i];
        return true;
      });
    case Rule::kScale:
      if (type_->id() == arrow::Type::TIME32) {
        return convert(int32_t{0}, [&](int64_t i, int32_t* out) {
          int64_t value = FloorDivide(in64[i], divide_);
          *out = static_cast<int32_t>(value);
          return *out == value;
        });
      }
      return convert(int64_t{0}, [&](int64_t i, int64_t* out) { return ScaleTime(in64[i], out); });
    case Rule::kInt96:
      return convert(int64_t{0},
                     [&](int64_t i, int64_t* out) { return ScaleInt96(in + 12 * i, out); });
    case Rule::kDecimal32:
      return convert(__int128{0}, [&](int64_t i, __int128* out) {
        *out = in32[i];
        return FitsDecimal(*out);
      });
    case Rule::kDecimal64:
      return convert(__int128{0}, [&](int64_t i, __int128* out) {
        *out = in64[i];
        return FitsDecimal(*out);
      });
    case Rule::kBoolean: {
      ARROW_ASSIGN_OR_RAISE(auto buffer, arrow::AllocateEmptyBitmap(length));
      uint8_t* out = buffer->mutable_data();
      for (int64_t i = 0; i < length; ++i) arrow::bit_util::SetBitTo(out, i, in[i] != 0);
      return MakeFixed(type_, length, bitmap, std::move(buffer), null_count);
    }
    default:
      return OutOfRange();
  }
}

arrow::Status LeafConversion::CheckText(const arrow::Array& text) const {
  const auto& array = static_cast<const arrow::StringArray&>(text);
  if (array.length() == 0) return arrow::Status::OK();
  const int64_t first = array.value_offset(0);
  const uint8_t* data = array.raw_data();
  const int64_t size = array.total_values_length();
  // A valid whole whose pieces start at code point boundaries has valid pieces.
  bool good = arrow::util::ValidateUTF8(data + first, size);
  const int64_t end = first + size;
  for (int64_t i = 0; good && i < array.length(); ++i) {
    const int64_t at = array.value_offset(i);
    good = at == end || (data[at] & 0xC0) != 0x80;
  }
  if (good) return arrow::Status::OK();
  return Corruption("column '{}': a text is not valid UTF-8", name_);
}

arrow::Result<std::shared_ptr<arrow::Array>> LeafConversion::ConvertBytes(
    const std::shared_ptr<arrow::Array>& raw) const {
  const bool fixed = raw->type_id() == arrow::Type::FIXED_SIZE_BINARY;
  auto view = [&](int64_t i) {
    return fixed ? static_cast<const arrow::FixedSizeBinaryArray&>(*raw).GetView(i)
                 : static_cast<const arrow::BinaryArray&>(*raw).GetView(i);
  };
  if (rule_ == Rule::kDecimalBytes) {
    ARROW_ASSIGN_OR_RAISE(auto buffer, arrow::AllocateBuffer(raw->length() * 16));
    uint8_t* out = buffer->mutable_data();
    for (int64_t i = 0; i < raw->length(); ++i) {
      __int128 value = 0;
      if (raw->IsValid(i) && !ToDecimal(view(i), &value)) return OutOfRange();
      StoreLE(out + 16 * i, value);
    }
    return MakeFixed(type_, raw->length(), raw->null_bitmap(), std::move(buffer),
                     raw->null_count());
  }
  if (fixed) {
    arrow::BinaryBuilder builder;
    for (int64_t i = 0; i < raw->length(); ++i) {
      ARROW_RETURN_NOT_OK(raw->IsValid(i) ? builder.Append(view(i)) : builder.AppendNull());
    }
    return builder.Finish();
  }
  auto data = raw->data()->Copy();
  data->type = type_;
  auto array = arrow::MakeArray(data);
  if (rule_ == Rule::kText) ARROW_RETURN_NOT_OK(CheckText(*array));
  return array;
}

arrow::Result<arrow::ArrayVector> LeafConversion::Take(
    parquet::internal::RecordReader* reader) const {
  auto* binary = dynamic_cast<parquet::internal::BinaryRecordReader*>(reader);
  if (type_ == nullptr) {
    if (binary != nullptr) binary->GetBuilderChunks();
    return arrow::ArrayVector{};
  }
  if (binary == nullptr) {
    ARROW_ASSIGN_OR_RAISE(auto array, TakeFixed(reader));
    return arrow::ArrayVector{array};
  }
  arrow::ArrayVector out;
  for (const auto& chunk : binary->GetBuilderChunks()) {
    ARROW_ASSIGN_OR_RAISE(auto array, ConvertBytes(chunk));
    out.push_back(std::move(array));
  }
  if (out.empty()) {
    ARROW_ASSIGN_OR_RAISE(auto array, arrow::MakeEmptyArray(type_));
    out.push_back(std::move(array));
  }
  return out;
}

std::shared_ptr<arrow::Scalar> LeafConversion::Bound(std::string_view plain, bool is_max) const {
  using parquet::Type;
  int64_t number = 0;
  if (physical_ == Type::INT32) {
    if (plain.size() != 4) return nullptr;
    number = LoadLE<int32_t>(plain.data());
  } else if (physical_ == Type::INT64) {
    if (plain.size() != 8) return nullptr;
    number = LoadLE<int64_t>(plain.data());
  } else if (physical_ == Type::BOOLEAN) {
    if (plain.size() != 1) return nullptr;
    return std::make_shared<arrow::BooleanScalar>(plain[0] != 0);
  }
  __int128 decimal = number;
  switch (rule_) {
    case Rule::kText:
      return std::make_shared<arrow::StringScalar>(std::string(plain));
    case Rule::kBytes:
      return std::make_shared<arrow::BinaryScalar>(std::string(plain));
    case Rule::kDecimalBytes:
      if (!ToDecimal(plain, &decimal)) return nullptr;
      [[fallthrough]];
    case Rule::kDecimal32:
    case Rule::kDecimal64:
      return std::make_shared<arrow::Decimal128Scalar>(
          arrow::Decimal128(static_cast<int64_t>(decimal >> 64), static_cast<uint64_t>(decimal)),
          type_);
    case Rule::kInt96:
      return nullptr;
    case Rule::kScale:
      if (!ScaleTime(number, &number)) return nullptr;
      break;
    default:
      break;
  }
  auto integer = [&](auto zero) -> std::shared_ptr<arrow::Scalar> {
    auto value = static_cast<decltype(zero)>(number);
    if (value != number) return nullptr;
    auto made = arrow::MakeScalar(type_, value);
    return made.ok() ? *made : nullptr;
  };
  switch (type_->id()) {
    case arrow::Type::INT8:
      return integer(int8_t{0});
    case arrow::Type::INT16:
      return integer(int16_t{0});
    case arrow::Type::INT32:
    case arrow::Type::DATE32:
    case arrow::Type::TIME32:
      return integer(int32_t{0});
    case arrow::Type::INT64:
    case arrow::Type::TIMESTAMP:
      return integer(int64_t{0});
    case arrow::Type::FLOAT: {
      if (is_max || plain.size() != 4) return nullptr;
      return std::make_shared<arrow::FloatScalar>(LoadLE<float>(plain.data()));
    }
    case arrow::Type::DOUBLE: {
      if (is_max || plain.size() != 8) return nullptr;
      return std::make_shared<arrow::DoubleScalar>(LoadLE<double>(plain.data()));
    }
    default:
      return nullptr;
  }
}

}  // namespace kelda
