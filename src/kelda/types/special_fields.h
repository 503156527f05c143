#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "kelda/types/data_type.h"

namespace kelda {

// Columns that Paimon keeps beside those of the table (spec 01 §2.6, SpecialFields); their ids
// are in data_type.h.

inline constexpr std::string_view kRowIdName = "_ROW_ID";
inline constexpr std::string_view kSequenceNumberName = "_SEQUENCE_NUMBER";
inline constexpr std::string_view kValueKindName = "_VALUE_KIND";

/// Position of a row in its data file: asked for by writers of deletion vectors, never stored. The
/// id is no id of Paimon's.
inline constexpr std::string_view kRowPositionName = "_ROW_POSITION";
inline constexpr int32_t kRowPositionFieldId = -2;

/// As row tracking reads and stores it: nullable.
inline DataField RowIdField() {
  return DataField{kRowIdFieldId, std::string(kRowIdName), DataType(TypeRoot::kBigInt), {}, {}};
}
inline DataField SequenceNumberField() {
  return DataField{kSequenceNumberFieldId,
                   std::string(kSequenceNumberName),
                   DataType(TypeRoot::kBigInt),
                   {},
                   {}};
}
inline DataField ValueKindField() {
  return DataField{
      kValueKindFieldId, std::string(kValueKindName), DataType(TypeRoot::kTinyInt), {}, {}};
}
inline DataField RowPositionField() {
  return DataField{
      kRowPositionFieldId, std::string(kRowPositionName), DataType(TypeRoot::kBigInt), {}, {}};
}

}  // namespace kelda
