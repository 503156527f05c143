#include "kelda/types/map_values.h"

#include <arrow/array/builder_primitive.h>
#include <arrow/compute/api.h>

#include "kelda/types/predicate.h"

namespace kelda {

arrow::Result<std::shared_ptr<arrow::Array>> MapValues(const arrow::MapArray& maps,
                                                       std::string_view key) {
  if (!arrow::is_base_binary_like(maps.keys()->type_id())) {
    return Invalid("a text key of a map with keys of Arrow type {}",
                   maps.keys()->type()->ToString());
  }
  const auto& keys = static_cast<const arrow::BinaryArray&>(*maps.keys());
  arrow::Int64Builder places;
  ARROW_RETURN_NOT_OK(places.Reserve(maps.length()));
  for (int64_t row = 0; row < maps.length(); ++row) {
    int64_t place = -1;
    if (maps.IsValid(row)) {
      for (int64_t i = maps.value_offset(row); i < maps.value_offset(row + 1); ++i) {
        if (keys.GetView(i) == key) place = i;
      }
    }
    if (place < 0) {
      places.UnsafeAppendNull();
    } else {
      places.UnsafeAppend(place);
    }
  }
  ARROW_ASSIGN_OR_RAISE(auto indices, places.Finish());
  ARROW_RETURN_NOT_OK(InitializeComputeKernels());
  ARROW_ASSIGN_OR_RAISE(auto taken, arrow::compute::Take(maps.items(), indices));
  return taken.make_array();
}

}  // namespace kelda
