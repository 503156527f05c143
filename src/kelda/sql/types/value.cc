#include "kelda/sql/types/value.h"

#include <arrow/util/decimal.h>

#include "duckdb/common/types/hugeint.hpp"
#include "duckdb/common/types/time.hpp"
#include "duckdb/common/types/timestamp.hpp"

#include "kelda/base/status.h"
#include "kelda/sql/types/logical_type.h"
#include "kelda/sql/types/time_units.h"
#include "kelda/types/arrow_mapping.h"

namespace kelda::sql {

namespace {

using ScalarPtr = std::shared_ptr<arrow::Scalar>;

arrow::Status DoesNotFit(std::string_view text, const DataType& type, std::string_view column) {
  return Invalid("column '{}': the value {} does not fit {}", column, text, type.ToString());
}

arrow::Result<ScalarPtr> DecimalScalar(const duckdb::Value& value, const DataType& type,
                                       std::shared_ptr<arrow::DataType> arrow_type,
                                       std::string_view column) {
  duckdb::hugeint_t wide;
  switch (value.type().InternalType()) {
    case duckdb::PhysicalType::INT16:
      wide = duckdb::hugeint_t(value.GetValueUnsafe<int16_t>());
      break;
    case duckdb::PhysicalType::INT32:
      wide = duckdb::hugeint_t(value.GetValueUnsafe<int32_t>());
      break;
    case duckdb::PhysicalType::INT64:
      wide = duckdb::hugeint_t(value.GetValueUnsafe<int64_t>());
      break;
    default:
      wide = value.GetValueUnsafe<duckdb::hugeint_t>();
  }
  arrow::Decimal128 decimal(wide.upper, wide.lower);
  if (!decimal.FitsInPrecision(type.precision())) return DoesNotFit(value.ToString(), type, column);
  return std::make_shared<arrow::Decimal128Scalar>(decimal, std::move(arrow_type));
}

arrow::Result<ScalarPtr> TimestampScalarOf(const duckdb::Value& value, const DataType& type,
                                           std::shared_ptr<arrow::DataType> arrow_type,
                                           std::string_view column) {
  const int64_t raw = value.GetValueUnsafe<int64_t>();
  if (!duckdb::Timestamp::IsFinite(duckdb::timestamp_t(raw)))
    return DoesNotFit(value.ToString(), type, column);
  int64_t stored = raw;
  bool fits = true;
  if (type.root() == TypeRoot::kTimestampLtz) {
    const int digits = UnitDigits(type.precision());
    if (digits <= 6) {
      fits = raw % kPowersOfTen[6 - type.precision()] == 0;
      stored = raw / kPowersOfTen[6 - digits];
    } else {
      fits = !__builtin_mul_overflow(raw, int64_t{1000}, &stored);
    }
  } else {
    fits = raw % TimestampStep(type.precision()) == 0;
  }
  if (!fits) return DoesNotFit(value.ToString(), type, column);
  return std::make_shared<arrow::TimestampScalar>(stored, std::move(arrow_type));
}

std::shared_ptr<arrow::Buffer> BytesOf(const duckdb::Value& value) {
  return arrow::Buffer::FromString(duckdb::StringValue::Get(value));
}

duckdb::Value DecimalValue(const arrow::Decimal128& decimal, const DataType& type) {
  const auto width = static_cast<uint8_t>(type.precision());
  const auto scale = static_cast<uint8_t>(type.scale());
  duckdb::hugeint_t wide;
  wide.upper = decimal.high_bits();
  wide.lower = decimal.low_bits();
  if (width > 18) return duckdb::Value::DECIMAL(wide, width, scale);
  const auto narrow = static_cast<int64_t>(decimal.low_bits());
  if (width > 9) return duckdb::Value::DECIMAL(narrow, width, scale);
  if (width > 4) return duckdb::Value::DECIMAL(static_cast<int32_t>(narrow), width, scale);
  return duckdb::Value::DECIMAL(static_cast<int16_t>(narrow), width, scale);
}

arrow::Result<duckdb::Value> TimestampValue(int64_t stored, const DataType& type,
                                            std::string_view column) {
  const int digits = UnitDigits(type.precision());
  if (type.root() == TypeRoot::kTimestampLtz) {
    int64_t micros = 0;
    const bool fits = digits > 6
                          ? stored % 1000 == 0 && ((micros = stored / 1000), true)
                          : !__builtin_mul_overflow(stored, kPowersOfTen[6 - digits], &micros);
    if (!fits) return DoesNotFit(std::to_string(stored), type, column);
    return duckdb::Value::TIMESTAMPTZ(duckdb::timestamp_tz_t(micros));
  }
  switch (digits) {
    case 0:
      return duckdb::Value::TIMESTAMPSEC(duckdb::timestamp_sec_t(stored));
    case 3:
      return duckdb::Value::TIMESTAMPMS(duckdb::timestamp_ms_t(stored));
    case 6:
      return duckdb::Value::TIMESTAMP(duckdb::timestamp_t(stored));
    default:
      return duckdb::Value::TIMESTAMPNS(duckdb::timestamp_ns_t(stored));
  }
}

}  // namespace

arrow::Result<ScalarPtr> ToScalar(const duckdb::Value& value, const DataType& type,
                                  std::string_view column) {
  ARROW_ASSIGN_OR_RAISE(auto arrow_type, ToArrowType(type));
  if (value.IsNull()) return arrow::MakeNullScalar(arrow_type);
  ARROW_ASSIGN_OR_RAISE(auto expected, ToLogicalType(type, column));
  if (value.type() != expected) {
    return Invalid("column '{}': a value of type {} was given for {}", column,
                   value.type().ToString(), type.ToString());
  }
  switch (type.root()) {
    case TypeRoot::kBoolean:
      return std::make_shared<arrow::BooleanScalar>(value.GetValueUnsafe<bool>());
    case TypeRoot::kTinyInt:
      return std::make_shared<arrow::Int8Scalar>(value.GetValueUnsafe<int8_t>());
    case TypeRoot::kSmallInt:
      return std::make_shared<arrow::Int16Scalar>(value.GetValueUnsafe<int16_t>());
    case TypeRoot::kInt:
      return std::make_shared<arrow::Int32Scalar>(value.GetValueUnsafe<int32_t>());
    case TypeRoot::kBigInt:
      return std::make_shared<arrow::Int64Scalar>(value.GetValueUnsafe<int64_t>());
    case TypeRoot::kFloat:
      return std::make_shared<arrow::FloatScalar>(value.GetValueUnsafe<float>());
    case TypeRoot::kDouble:
      return std::make_shared<arrow::DoubleScalar>(value.GetValueUnsafe<double>());
    case TypeRoot::kDecimal:
      return DecimalScalar(value, type, std::move(arrow_type), column);
    case TypeRoot::kChar:
    case TypeRoot::kVarChar:
      return std::make_shared<arrow::StringScalar>(BytesOf(value));
    case TypeRoot::kBinary:
    case TypeRoot::kVarBinary:
    case TypeRoot::kBlob:
      return std::make_shared<arrow::BinaryScalar>(BytesOf(value));
    case TypeRoot::kDate: {
      const auto date = value.GetValueUnsafe<duckdb::date_t>();
      if (!duckdb::Date::IsFinite(date)) return DoesNotFit(value.ToString(), type, column);
      return std::make_shared<arrow::Date32Scalar>(date.days);
    }
    case TypeRoot::kTime: {
      const int64_t micros = value.GetValueUnsafe<duckdb::dtime_t>().micros;
      if (micros < 0 || micros >= kMicrosOfDay || micros % TimeStepMicros(type.precision()) != 0)
        return DoesNotFit(value.ToString(), type, column);
      return std::make_shared<arrow::Time32Scalar>(static_cast<int32_t>(micros / 1000),
                                                   arrow::TimeUnit::MILLI);
    }
    case TypeRoot::kTimestamp:
    case TypeRoot::kTimestampLtz:
      return TimestampScalarOf(value, type, std::move(arrow_type), column);
    default:
      return Unsupported("column '{}': a literal of type {}", column, type.ToString());
  }
}

arrow::Result<duckdb::Value> ToValue(const arrow::Scalar& scalar, const DataType& type,
                                     std::string_view column) {
  ARROW_ASSIGN_OR_RAISE(auto logical, ToLogicalType(type, column));
  if (!scalar.is_valid) return duckdb::Value(logical);
  switch (type.root()) {
    case TypeRoot::kBoolean:
      return duckdb::Value::BOOLEAN(static_cast<const arrow::BooleanScalar&>(scalar).value);
    case TypeRoot::kTinyInt:
      return duckdb::Value::TINYINT(static_cast<const arrow::Int8Scalar&>(scalar).value);
    case TypeRoot::kSmallInt:
      return duckdb::Value::SMALLINT(static_cast<const arrow::Int16Scalar&>(scalar).value);
    case TypeRoot::kInt:
      return duckdb::Value::INTEGER(static_cast<const arrow::Int32Scalar&>(scalar).value);
    case TypeRoot::kBigInt:
      return duckdb::Value::BIGINT(static_cast<const arrow::Int64Scalar&>(scalar).value);
    case TypeRoot::kFloat:
      return duckdb::Value::FLOAT(static_cast<const arrow::FloatScalar&>(scalar).value);
    case TypeRoot::kDouble:
      return duckdb::Value::DOUBLE(static_cast<const arrow::DoubleScalar&>(scalar).value);
    case TypeRoot::kDecimal: {
      const auto& decimal = static_cast<const arrow::Decimal128Scalar&>(scalar).value;
      if (!decimal.FitsInPrecision(type.precision()))
        return DoesNotFit(scalar.ToString(), type, column);
      return DecimalValue(decimal, type);
    }
    case TypeRoot::kChar:
    case TypeRoot::kVarChar: {
      const auto bytes = static_cast<const arrow::BaseBinaryScalar&>(scalar).view();
      if (!duckdb::Value::StringIsValid(bytes.data(), bytes.size()))
        return Invalid("column '{}': text that is not valid UTF-8", column);
      return duckdb::Value(std::string(bytes));
    }
    case TypeRoot::kBinary:
    case TypeRoot::kVarBinary:
    case TypeRoot::kBlob: {
      const auto bytes = static_cast<const arrow::BaseBinaryScalar&>(scalar).view();
      return duckdb::Value::BLOB_RAW(std::string(bytes));
    }
    case TypeRoot::kDate:
      return duckdb::Value::DATE(
          duckdb::date_t(static_cast<const arrow::Date32Scalar&>(scalar).value));
    case TypeRoot::kTime: {
      const int64_t millis = static_cast<const arrow::Time32Scalar&>(scalar).value;
      if (millis < 0 || millis >= kMillisOfDay)
        return DoesNotFit(std::to_string(millis), type, column);
      return duckdb::Value::TIME(duckdb::dtime_t(millis * 1000));
    }
    case TypeRoot::kTimestamp:
    case TypeRoot::kTimestampLtz:
      return TimestampValue(static_cast<const arrow::TimestampScalar&>(scalar).value, type, column);
    default:
      return Unsupported("column '{}': a value of type {}", column, type.ToString());
  }
}

}  // namespace kelda::sql
