#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <nlohmann/json_fwd.hpp>

#include "kelda/base/status.h"

namespace kelda {

enum class TypeRoot : uint8_t {
  kBoolean,
  kTinyInt,
  kSmallInt,
  kInt,
  kBigInt,
  kFloat,
  kDouble,
  kDecimal,
  kChar,
  kVarChar,
  kBinary,
  kVarBinary,
  kDate,
  kTime,
  kTimestamp,
  kTimestampLtz,
  kArray,
  kMap,
  kMultiset,
  kRow,
  kVariant,
  kBlob,
  kVector,
};

struct DataField;

/// A Paimon data type (spec 01 §2.2). Immutable value with shared children; cheap to copy;
/// thread-safe.
class DataType {
 public:
  DataType() : DataType(TypeRoot::kInt) {}
  explicit DataType(TypeRoot root, bool nullable = true) : root_(root), nullable_(nullable) {}
  static DataType Decimal(int precision, int scale, bool nullable = true);
  /// CHAR, VARCHAR, BINARY, VARBINARY; length kLengthMax is STRING / BYTES.
  static DataType Sized(TypeRoot root, int32_t length, bool nullable = true);
  static DataType String(bool nullable = true) {
    return Sized(TypeRoot::kVarChar, kLengthMax, nullable);
  }
  static DataType Bytes(bool nullable = true) {
    return Sized(TypeRoot::kVarBinary, kLengthMax, nullable);
  }
  /// TIME, TIMESTAMP, TIMESTAMP_LTZ with 0 … 9 digits.
  static DataType Temporal(TypeRoot root, int precision, bool nullable = true);
  static DataType Array(DataType element, bool nullable = true);
  static DataType Multiset(DataType element, bool nullable = true);
  static DataType Map(DataType key, DataType value, bool nullable = true);
  static DataType Row(std::vector<DataField> fields, bool nullable = true);
  static DataType Vector(DataType element, int32_t length, bool nullable = true);

  static constexpr int32_t kLengthMax = 2147483647;
  /// Types from outside (text, JSON, Arrow) nested deeper than this are refused.
  static constexpr int kDepthMax = 64;

  TypeRoot root() const { return root_; }
  bool nullable() const { return nullable_; }
  int precision() const { return a_; }   ///< DECIMAL, TIME, TIMESTAMP(_LTZ)
  int scale() const { return b_; }       ///< DECIMAL
  int32_t length() const { return a_; }  ///< CHAR, VARCHAR, BINARY, VARBINARY, VECTOR
  const DataType& element() const { return (*children_)[0]; }        ///< ARRAY, MULTISET, VECTOR
  const DataType& key() const { return (*children_)[0]; }            ///< MAP
  const DataType& value() const { return (*children_)[1]; }          ///< MAP
  const std::vector<DataField>& fields() const { return *fields_; }  ///< ROW
  DataType WithNullable(bool nullable) const;

  bool IsNested() const;  ///< ARRAY, MAP, MULTISET, ROW (spec 01: not allowed as keys), VECTOR
  bool IsString() const { return root_ == TypeRoot::kChar || root_ == TypeRoot::kVarChar; }
  bool IsBytes() const { return root_ == TypeRoot::kBinary || root_ == TypeRoot::kVarBinary; }

  /// Canonical SQL text with ` NOT NULL` if not nullable; nested types as `ARRAY<...>`, `ROW<a INT,
  /// ...>`.
  std::string ToString() const;
  bool operator==(const DataType& other) const;  ///< includes nullability and field ids/names
  bool EqualsIgnoringNullability(const DataType& other) const;

  /// JSON of spec 01 §2.2: a string for atomic types, an object for nested ones.
  nlohmann::ordered_json ToJson() const;
  /// Parse either form, limits of spec 01 §2.2 and kDepthMax checked; a ROW field without id gets
  /// the next of `next_field_id` (mixing is an error).
  static arrow::Result<DataType> FromJson(const nlohmann::ordered_json& json);
  /// Parse atomic or SQL-like text: `DECIMAL(10, 2) NOT NULL`, `ARRAY<INT>`, `MAP<STRING, INT>`,
  /// `ROW<a INT>`, `INT ARRAY`. Field ids of ROW text are -1 until AssignFieldIds.
  static arrow::Result<DataType> Parse(std::string_view text);

 private:
  TypeRoot root_;
  bool nullable_;
  int32_t a_ = 0;
  int32_t b_ = 0;
  std::shared_ptr<const std::vector<DataType>> children_;
  std::shared_ptr<const std::vector<DataField>> fields_;
};

struct DataField {
  int32_t id = -1;
  std::string name;
  DataType type;
  std::optional<std::string> description;
  std::optional<std::string> default_value;

  bool operator==(const DataField&) const = default;
  nlohmann::ordered_json ToJson() const;
  static arrow::Result<DataField> FromJson(const nlohmann::ordered_json& json);
};

/// The `fields` array of a schema: ids are given to the whole array in one traversal (field, then
/// its nested fields) if no field has one; some with and some without is an error (spec 01 §2.1).
arrow::Result<std::vector<DataField>> FieldsFromJson(const nlohmann::ordered_json& json);

/// Number all fields, nested ones included, from `first_id` in the order of spec 01 §2.3 (top-level
/// field first, then its nested fields; inside a ROW post-order); ids present are replaced. Returns
/// the highest id given (first_id - 1 if there are no fields).
int32_t AssignFieldIds(std::vector<DataField>* fields, int32_t first_id = 0);
/// Highest id in `fields`, nested ones included, system ids (>= 2^30 - 1) excluded; -1 if none.
int32_t HighestFieldId(const std::vector<DataField>& fields);

/// BOOLEAN, integers, FLOAT, DOUBLE: what a VECTOR may hold (spec 01 §2.2).
bool IsVectorElement(const DataType& type);

/// Ids and names of system columns (spec 01 §2.6).
inline constexpr int32_t kKeyFieldIdBase = 1073741823;
inline constexpr int32_t kSequenceNumberFieldId = 2147483646;
inline constexpr int32_t kValueKindFieldId = 2147483645;
inline constexpr int32_t kRowIdFieldId = 2147483642;
bool IsReservedFieldName(std::string_view name);
/// Ids of the unnamed children in Parquet/ORC (spec 01 §2.6); `depth` starts at 1 below a named
/// field.
inline constexpr int32_t kStructuredIdBase = 536870911;
inline int32_t ElementFieldId(int32_t field_id, int depth) {
  return kStructuredIdBase + 1024 * field_id + depth;
}
inline int32_t MapKeyFieldId(int32_t field_id, int depth) {
  return kStructuredIdBase - 1024 * field_id - depth;
}

}  // namespace kelda
