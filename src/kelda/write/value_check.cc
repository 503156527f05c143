#include "kelda/write/value_check.h"

#include <algorithm>

#include <arrow/array.h>

namespace kelda {

namespace {

constexpr int32_t kMillisPerDay = 86'400'000;

arrow::Status RefuseNull(const std::string& column) {
  return Invalid("Cannot write null to non-null column({})", column);
}

/// Code points of valid UTF-8: all bytes but continuation bytes.
int64_t CodePoints(std::string_view text) {
  return std::count_if(text.begin(), text.end(),
                       [](char c) { return (static_cast<uint8_t>(c) & 0xC0) != 0x80; });
}

arrow::Status CheckTexts(const DataType& type, const std::string& column,
                         const arrow::StringArray& array) {
  if (type.length() == DataType::kLengthMax) return arrow::Status::OK();
  for (int64_t i = 0; i < array.length(); ++i) {
    // A text of no more bytes than characters allowed cannot be too long.
    if (array.IsNull(i) || array.value_length(i) <= type.length()) continue;
    const int64_t characters = CodePoints(array.GetView(i));
    if (characters > type.length()) {
      return Invalid("value of {} characters is too long for column {} of type {}", characters,
                     column, type.WithNullable(true).ToString());
    }
  }
  return arrow::Status::OK();
}

arrow::Status CheckByteStrings(const DataType& type, const std::string& column,
                               const arrow::BinaryArray& array) {
  if (type.length() == DataType::kLengthMax) return arrow::Status::OK();
  for (int64_t i = 0; i < array.length(); ++i) {
    if (array.IsValid(i) && array.value_length(i) > type.length()) {
      return Invalid("value of {} bytes is too long for column {} of type {}",
                     array.value_length(i), column, type.WithNullable(true).ToString());
    }
  }
  return arrow::Status::OK();
}

arrow::Status CheckTimes(const std::string& column, const arrow::Time32Array& array) {
  for (int64_t i = 0; i < array.length(); ++i) {
    if (array.IsValid(i) && (array.Value(i) < 0 || array.Value(i) >= kMillisPerDay)) {
      return Invalid("value of {} ms is no time of day (column {})", array.Value(i), column);
    }
  }
  return arrow::Status::OK();
}

arrow::Status Check(const DataType& type, const std::string& column, const arrow::Array& array) {
  if (!type.nullable() && array.null_count() > 0) return RefuseNull(column);
  switch (type.root()) {
    case TypeRoot::kChar:
    case TypeRoot::kVarChar:
      return CheckTexts(type, column, static_cast<const arrow::StringArray&>(array));
    case TypeRoot::kBinary:
    case TypeRoot::kVarBinary:
      return CheckByteStrings(type, column, static_cast<const arrow::BinaryArray&>(array));
    case TypeRoot::kTime:
      return CheckTimes(column, static_cast<const arrow::Time32Array&>(array));
    case TypeRoot::kRow: {
      const auto& row = static_cast<const arrow::StructArray&>(array);
      for (size_t i = 0; i < type.fields().size(); ++i) {
        const DataField& member = type.fields()[i];
        // A member below a null row is no value: it must not be counted as a null of its own.
        auto child = row.field(static_cast<int>(i));
        if (row.null_count() > 0 && child->null_count() > 0) {
          const std::string name = column + "." + member.name;
          if (!member.type.nullable()) {
            for (int64_t r = 0; r < row.length(); ++r) {
              if (row.IsValid(r) && child->IsNull(r)) return RefuseNull(name);
            }
          }
          ARROW_RETURN_NOT_OK(Check(member.type.WithNullable(true), name, *child));
          continue;
        }
        ARROW_RETURN_NOT_OK(Check(member.type, column + "." + member.name, *child));
      }
      return arrow::Status::OK();
    }
    case TypeRoot::kArray: {
      const auto& list = static_cast<const arrow::ListArray&>(array);
      const int64_t begin = list.value_offset(0);
      return Check(type.element(), column + ".element",
                   *list.values()->Slice(begin, list.value_offset(list.length()) - begin));
    }
    case TypeRoot::kMap:
    case TypeRoot::kMultiset: {
      const auto& map = static_cast<const arrow::MapArray&>(array);
      const int64_t begin = map.value_offset(0);
      const int64_t length = map.value_offset(map.length()) - begin;
      const bool is_map = type.root() == TypeRoot::kMap;
      const DataType& key = is_map ? type.key() : type.element();
      // Parquet cannot hold a null key (spec 01 §6.2).
      ARROW_RETURN_NOT_OK(
          Check(key.WithNullable(false), column + ".key", *map.keys()->Slice(begin, length)));
      return Check(is_map ? type.value() : DataType(TypeRoot::kInt, false), column + ".value",
                   *map.items()->Slice(begin, length));
    }
    default:
      return arrow::Status::OK();
  }
}

}  // namespace

arrow::Status CheckValues(const DataField& field, const arrow::Array& array) {
  return Check(field.type, field.name, array);
}

}  // namespace kelda
