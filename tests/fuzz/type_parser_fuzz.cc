#include <cstdint>
#include <cstdlib>
#include <string_view>

#include <nlohmann/json.hpp>

#include "kelda/types/arrow_mapping.h"
#include "kelda/types/data_type.h"

// Text form of types: an error, or a type whose canonical text gives the same type again.

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const auto type = kelda::DataType::Parse({reinterpret_cast<const char*>(data), size});
  if (!type.ok()) return 0;
  const auto again = kelda::DataType::Parse(type->ToString());
  if (!again.ok() || !(again->ToString() == type->ToString())) std::abort();
  if (!kelda::ToArrowType(*type).ok()) std::abort();
  std::vector<kelda::DataField> fields = {{-1, "c", *type, {}, {}}};
  kelda::AssignFieldIds(&fields);
  const auto from_json = kelda::DataType::FromJson(fields[0].type.ToJson());
  if (!from_json.ok()) std::abort();
  return 0;
}
