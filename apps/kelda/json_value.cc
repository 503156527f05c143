#include "apps/kelda/json_value.h"

#include <charconv>
#include <cmath>

#include <duckdb/common/types/bit.hpp>
#include <duckdb/common/types/date.hpp>
#include <duckdb/common/types/decimal.hpp>
#include <duckdb/common/types/hugeint.hpp>
#include <duckdb/common/types/interval.hpp>
#include <duckdb/common/types/time.hpp>
#include <duckdb/common/types/timestamp.hpp>
#include <duckdb/common/types/uhugeint.hpp>
#include <duckdb/common/types/uuid.hpp>

namespace kelda::cli {
namespace {

using duckdb::idx_t;
using duckdb::LogicalTypeId;
using Column = duckdb::RecursiveUnifiedVectorFormat;

template <typename T>
const T& At(const Column& column, idx_t index) {
  return duckdb::UnifiedVectorFormat::GetData<T>(column.unified)[index];
}

template <typename T>
void AppendNumber(T value, std::string* out) {
  char text[64];
  auto [end, code] = std::to_chars(text, text + sizeof(text), value);
  out->append(text, end);
}

template <typename T>
void AppendFloat(T value, std::string* out) {
  if (std::isnan(value)) {
    *out += "\"NaN\"";
  } else if (std::isinf(value)) {
    *out += value < 0 ? "\"-Infinity\"" : "\"Infinity\"";
  } else if (value == 0 && std::signbit(value)) {
    // "-0" would be read as an integer, which has no sign of zero.
    *out += "-0.0";
  } else {
    AppendNumber(value, out);
  }
}

void AppendPadded(uint32_t value, size_t width, std::string* out) {
  char text[16];
  auto [end, code] = std::to_chars(text, text + sizeof(text), value);
  size_t length = static_cast<size_t>(end - text);
  if (length < width) out->append(width - length, '0');
  out->append(text, length);
}

void AppendDate(duckdb::date_t date, std::string* out) {
  int32_t year, month, day;
  duckdb::Date::Convert(date, year, month, day);
  if (year < 0) *out += '-';
  AppendPadded(static_cast<uint32_t>(std::abs(year)), 4, out);
  *out += '-';
  AppendPadded(static_cast<uint32_t>(month), 2, out);
  *out += '-';
  AppendPadded(static_cast<uint32_t>(day), 2, out);
}

/// `nanos` of the day, with as many digits as needed.
void AppendTime(int64_t nanos, std::string* out) {
  constexpr int64_t kSecond = 1000000000;
  uint32_t seconds = static_cast<uint32_t>(nanos / kSecond);
  AppendPadded(seconds / 3600, 2, out);
  *out += ':';
  AppendPadded(seconds / 60 % 60, 2, out);
  *out += ':';
  AppendPadded(seconds % 60, 2, out);
  uint32_t fraction = static_cast<uint32_t>(nanos % kSecond);
  if (fraction == 0) return;
  *out += '.';
  AppendPadded(fraction, 9, out);
  out->erase(out->find_last_not_of('0') + 1);
}

/// `value` counts units of which `per_second` make a second; `nanos` fill the rest to 10^9.
void AppendTimestamp(int64_t value, int64_t per_second, bool instant, std::string* out) {
  if (value == duckdb::NumericLimits<int64_t>::Maximum() ||
      value == -duckdb::NumericLimits<int64_t>::Maximum()) {
    *out += value > 0 ? "\"infinity\"" : "\"-infinity\"";
    return;
  }
  const int64_t per_day = 86400 * per_second;
  int64_t days = value / per_day;
  int64_t rest = value % per_day;
  if (rest < 0) {
    --days;
    rest += per_day;
  }
  *out += '"';
  AppendDate(duckdb::date_t(static_cast<int32_t>(days)), out);
  *out += 'T';
  AppendTime(rest * (1000000000 / per_second), out);
  *out += instant ? "Z\"" : "\"";
}

void AppendHex(std::string_view bytes, std::string* out) {
  static constexpr char kHex[] = "0123456789abcdef";
  *out += '"';
  for (unsigned char c : bytes) {
    *out += kHex[c >> 4];
    *out += kHex[c & 15];
  }
  *out += '"';
}

std::string_view TextAt(const Column& column, idx_t index) {
  const auto& text = At<duckdb::string_t>(column, index);
  return {text.GetData(), text.GetSize()};
}

void AppendDecimal(const Column& column, idx_t index, std::string* out) {
  uint8_t width, scale;
  column.logical_type.GetDecimalProperties(width, scale);
  *out += '"';
  const size_t begin = out->size();
  switch (column.logical_type.InternalType()) {
    case duckdb::PhysicalType::INT16:
      *out += duckdb::Decimal::ToString(At<int16_t>(column, index), width, scale);
      break;
    case duckdb::PhysicalType::INT32:
      *out += duckdb::Decimal::ToString(At<int32_t>(column, index), width, scale);
      break;
    case duckdb::PhysicalType::INT64:
      *out += duckdb::Decimal::ToString(At<int64_t>(column, index), width, scale);
      break;
    default:
      *out += duckdb::Decimal::ToString(At<duckdb::hugeint_t>(column, index), width, scale);
      break;
  }
  // DuckDB leaves the zero before the point out where the type has no digits there.
  const size_t digits = begin + ((*out)[begin] == '-' ? 1 : 0);
  if ((*out)[digits] == '.') out->insert(digits, 1, '0');
  *out += '"';
}

std::string EnumText(const Column& column, idx_t index) {
  idx_t position;
  switch (column.logical_type.InternalType()) {
    case duckdb::PhysicalType::UINT8:
      position = At<uint8_t>(column, index);
      break;
    case duckdb::PhysicalType::UINT16:
      position = At<uint16_t>(column, index);
      break;
    default:
      position = At<uint32_t>(column, index);
      break;
  }
  return duckdb::EnumType::GetString(column.logical_type, position).GetString();
}

/// LIST, ARRAY and MAP: elements [begin, begin + length) of the child.
void AppendElements(const Column& column, idx_t begin, idx_t length, std::string* out) {
  *out += '[';
  for (idx_t i = 0; i < length; ++i) {
    if (i > 0) *out += ',';
    AppendJson(column.children[0], begin + i, out);
  }
  *out += ']';
}

void AppendStruct(const Column& column, idx_t index, std::string* out) {
  const auto& fields = duckdb::StructType::GetChildTypes(column.logical_type);
  *out += '{';
  for (idx_t i = 0; i < fields.size(); ++i) {
    if (i > 0) *out += ',';
    AppendJsonString(fields[i].first, out);
    *out += ':';
    AppendJson(column.children[i], index, out);
  }
  *out += '}';
}

/// Types whose JSON form is their SQL text.
void AppendTextual(const Column& column, idx_t index, std::string* out) {
  switch (column.logical_type.id()) {
    case LogicalTypeId::ENUM:
      return AppendJsonString(EnumText(column, index), out);
    case LogicalTypeId::UUID:
      return AppendJsonString(duckdb::UUID::ToString(At<duckdb::hugeint_t>(column, index)), out);
    case LogicalTypeId::INTERVAL:
      return AppendJsonString(duckdb::Interval::ToString(At<duckdb::interval_t>(column, index)),
                              out);
    case LogicalTypeId::BIT:
      return AppendJsonString(duckdb::Bit::ToString(At<duckdb::string_t>(column, index)), out);
    default:
      return AppendJsonString(TextAt(column, index), out);
  }
}

}  // namespace

void AppendJsonString(std::string_view text, std::string* out) {
  static constexpr char kHex[] = "0123456789abcdef";
  *out += '"';
  size_t done = 0;
  for (size_t i = 0; i < text.size(); ++i) {
    unsigned char c = static_cast<unsigned char>(text[i]);
    if (c >= 0x20 && c != '"' && c != '\\') continue;
    out->append(text, done, i - done);
    done = i + 1;
    switch (c) {
      case '"':
        *out += "\\\"";
        break;
      case '\\':
        *out += "\\\\";
        break;
      case '\n':
        *out += "\\n";
        break;
      case '\r':
        *out += "\\r";
        break;
      case '\t':
        *out += "\\t";
        break;
      default:
        *out += "\\u00";
        *out += kHex[c >> 4];
        *out += kHex[c & 15];
        break;
    }
  }
  out->append(text, done, text.size() - done);
  *out += '"';
}

bool HasJsonForm(const duckdb::LogicalType& type) {
  switch (type.id()) {
    case LogicalTypeId::SQLNULL:
    case LogicalTypeId::BOOLEAN:
    case LogicalTypeId::TINYINT:
    case LogicalTypeId::SMALLINT:
    case LogicalTypeId::INTEGER:
    case LogicalTypeId::BIGINT:
    case LogicalTypeId::UTINYINT:
    case LogicalTypeId::USMALLINT:
    case LogicalTypeId::UINTEGER:
    case LogicalTypeId::UBIGINT:
    case LogicalTypeId::HUGEINT:
    case LogicalTypeId::UHUGEINT:
    case LogicalTypeId::FLOAT:
    case LogicalTypeId::DOUBLE:
    case LogicalTypeId::DECIMAL:
    case LogicalTypeId::DATE:
    case LogicalTypeId::TIME:
    case LogicalTypeId::TIMESTAMP:
    case LogicalTypeId::TIMESTAMP_SEC:
    case LogicalTypeId::TIMESTAMP_MS:
    case LogicalTypeId::TIMESTAMP_NS:
    case LogicalTypeId::TIMESTAMP_TZ:
    case LogicalTypeId::VARCHAR:
    case LogicalTypeId::BLOB:
    case LogicalTypeId::ENUM:
    case LogicalTypeId::UUID:
    case LogicalTypeId::INTERVAL:
    case LogicalTypeId::BIT:
      return true;
    case LogicalTypeId::LIST:
      return HasJsonForm(duckdb::ListType::GetChildType(type));
    case LogicalTypeId::ARRAY:
      return HasJsonForm(duckdb::ArrayType::GetChildType(type));
    case LogicalTypeId::MAP:
      return HasJsonForm(duckdb::MapType::KeyType(type)) &&
             HasJsonForm(duckdb::MapType::ValueType(type));
    case LogicalTypeId::STRUCT:
      for (const auto& field : duckdb::StructType::GetChildTypes(type)) {
        if (!HasJsonForm(field.second)) return false;
      }
      return true;
    default:
      return false;
  }
}

void AppendJson(const Column& column, idx_t row, std::string* out) {
  const idx_t index = column.unified.sel->get_index(row);
  if (!column.unified.validity.RowIsValid(index)) {
    *out += "null";
    return;
  }
  switch (column.logical_type.id()) {
    case LogicalTypeId::SQLNULL:
      *out += "null";
      return;
    case LogicalTypeId::BOOLEAN:
      *out += At<bool>(column, index) ? "true" : "false";
      return;
    case LogicalTypeId::TINYINT:
      return AppendNumber<int>(At<int8_t>(column, index), out);
    case LogicalTypeId::SMALLINT:
      return AppendNumber(At<int16_t>(column, index), out);
    case LogicalTypeId::INTEGER:
      return AppendNumber(At<int32_t>(column, index), out);
    case LogicalTypeId::BIGINT:
      return AppendNumber(At<int64_t>(column, index), out);
    case LogicalTypeId::UTINYINT:
      return AppendNumber<unsigned>(At<uint8_t>(column, index), out);
    case LogicalTypeId::USMALLINT:
      return AppendNumber(At<uint16_t>(column, index), out);
    case LogicalTypeId::UINTEGER:
      return AppendNumber(At<uint32_t>(column, index), out);
    case LogicalTypeId::UBIGINT:
      return AppendNumber(At<uint64_t>(column, index), out);
    case LogicalTypeId::HUGEINT:
      *out += duckdb::Hugeint::ToString(At<duckdb::hugeint_t>(column, index));
      return;
    case LogicalTypeId::UHUGEINT:
      *out += duckdb::Uhugeint::ToString(At<duckdb::uhugeint_t>(column, index));
      return;
    case LogicalTypeId::FLOAT:
      return AppendFloat(At<float>(column, index), out);
    case LogicalTypeId::DOUBLE:
      return AppendFloat(At<double>(column, index), out);
    case LogicalTypeId::DECIMAL:
      return AppendDecimal(column, index, out);
    case LogicalTypeId::DATE: {
      auto date = At<duckdb::date_t>(column, index);
      if (!duckdb::Date::IsFinite(date))
        return AppendJsonString(date.days > 0 ? "infinity" : "-infinity", out);
      *out += '"';
      AppendDate(date, out);
      *out += '"';
      return;
    }
    case LogicalTypeId::TIME:
      *out += '"';
      AppendTime(At<duckdb::dtime_t>(column, index).micros * 1000, out);
      *out += '"';
      return;
    case LogicalTypeId::TIMESTAMP:
      return AppendTimestamp(At<int64_t>(column, index), 1000000, false, out);
    case LogicalTypeId::TIMESTAMP_TZ:
      return AppendTimestamp(At<int64_t>(column, index), 1000000, true, out);
    case LogicalTypeId::TIMESTAMP_SEC:
      return AppendTimestamp(At<int64_t>(column, index), 1, false, out);
    case LogicalTypeId::TIMESTAMP_MS:
      return AppendTimestamp(At<int64_t>(column, index), 1000, false, out);
    case LogicalTypeId::TIMESTAMP_NS:
      return AppendTimestamp(At<int64_t>(column, index), 1000000000, false, out);
    case LogicalTypeId::BLOB:
      return AppendHex(TextAt(column, index), out);
    case LogicalTypeId::LIST:
    case LogicalTypeId::MAP: {
      const auto& entry = At<duckdb::list_entry_t>(column, index);
      return AppendElements(column, entry.offset, entry.length, out);
    }
    case LogicalTypeId::ARRAY: {
      idx_t length = duckdb::ArrayType::GetSize(column.logical_type);
      return AppendElements(column, index * length, length, out);
    }
    case LogicalTypeId::STRUCT:
      return AppendStruct(column, index, out);
    default:
      return AppendTextual(column, index, out);
  }
}

}  // namespace kelda::cli
