#include <cstdint>
#include <cstdlib>
#include <string_view>
#include <vector>

#include <arrow/array.h>
#include <arrow/scalar.h>

#include "kelda/row/binary_row.h"

// Binary rows: the first byte picks the types, the rest is a serialized row. The result is an error
// or valid values, and values that can be encoded decode to the same again.

namespace kelda {

namespace {

const std::vector<std::vector<DataType>>& TypeLists() {
  static const auto lists = [] {
    std::vector<std::vector<DataType>> result;
    for (const char* row :
         {"ROW<a INT, b STRING, c INT>",
          "ROW<a BOOLEAN, b TINYINT, c SMALLINT, d BIGINT, e FLOAT, f DOUBLE>",
          "ROW<a DECIMAL(10, 2), b DECIMAL(38, 10), c TIMESTAMP(3), d TIMESTAMP(6), e "
          "TIMESTAMP(9), f TIMESTAMP(0)>",
          "ROW<a BYTES, b BINARY(3), c DATE, d TIME(3), e TIMESTAMP_LTZ(6)>",
          "ROW<a ARRAY<BIGINT>, b ARRAY<STRING>, c ARRAY<ARRAY<STRING>>, d ARRAY<BOOLEAN>>",
          "ROW<a MAP<STRING, INT>, b MULTISET<STRING>, c MAP<INT, ARRAY<MAP<INT, STRING>>>>",
          "ROW<a ROW<x INT, y ROW<z STRING>>, b ARRAY<ROW<x DECIMAL(20, 2)>>>",
          "ROW<a VARIANT, b VECTOR<FLOAT, 3>, c BLOB, d ARRAY<VECTOR<TINYINT, 9>>>", "ROW<>"}) {
      std::vector<DataType> types;
      const DataType type = DataType::Parse(row).ValueOrDie();
      for (const DataField& field : type.fields()) types.push_back(field.type);
      result.push_back(std::move(types));
    }
    return result;
  }();
  return lists;
}

void Check(const std::vector<DataType>& types, std::string_view bytes) {
  const auto serialized = ParseSerializedRow(bytes, "fuzz");
  if (!serialized.ok()) return;
  const auto values = DecodeBinaryRow(types, serialized->row, "fuzz");
  if (!values.ok()) return;
  for (const auto& value : *values) {
    if (!value->Validate().ok()) std::abort();
  }
  const auto row = EncodeBinaryRow(types, *values);
  if (!row.ok()) return;
  const auto again = DecodeBinaryRow(types, *row, "fuzz");
  if (!again.ok()) std::abort();
  const auto options = arrow::EqualOptions::Defaults().nans_equal(true);
  for (size_t i = 0; i < types.size(); ++i) {
    if (!(*again)[i]->Equals(*(*values)[i], options)) std::abort();
  }
}

}  // namespace

}  // namespace kelda

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  if (size == 0) return 0;
  const auto& lists = kelda::TypeLists();
  kelda::Check(lists[data[0] % lists.size()], {reinterpret_cast<const char*>(data) + 1, size - 1});
  return 0;
}
