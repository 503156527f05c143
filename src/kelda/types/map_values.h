#pragma once

#include <memory>
#include <string_view>

#include <arrow/array/array_nested.h>

#include "kelda/base/status.h"

namespace kelda {

/// Values of `key` in each row of a MAP with string keys: null where the map is null or has no such
/// key. The last of equal keys counts.
arrow::Result<std::shared_ptr<arrow::Array>> MapValues(const arrow::MapArray& maps,
                                                       std::string_view key);

}  // namespace kelda
