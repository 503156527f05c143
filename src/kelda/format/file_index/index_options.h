#pragma once

#include <cstdint>

#include "kelda/format/file_index/column_index.h"

namespace kelda {

// Values of index options; Invalid names the option, without its prefix, and its value.

arrow::Result<int64_t> IntegerOption(const IndexOptions& options, const std::string& name,
                                     int64_t default_value, int64_t min, int64_t max);
arrow::Result<double> DoubleOption(const IndexOptions& options, const std::string& name,
                                   double default_value);
/// A size with unit.
arrow::Result<int64_t> SizeOption(const IndexOptions& options, const std::string& name,
                                  int64_t default_value);

}  // namespace kelda
