#pragma once

#include <memory>
#include <string_view>

#include <arrow/result.h>
#include <arrow/scalar.h>

#include "duckdb/common/types/value.hpp"

#include "kelda/types/data_type.h"

namespace kelda::sql {

/// `value` as a scalar of ToArrowType(type), exactly: a value that the type cannot hold is Invalid,
/// named by `column`. `value` has the logical type of ToLogicalType(type). NULL gives a null
/// scalar. Nested types are Unsupported.
arrow::Result<std::shared_ptr<arrow::Scalar>> ToScalar(const duckdb::Value& value,
                                                       const DataType& type,
                                                       std::string_view column);

/// The reverse. A value that SQL cannot hold exactly (TIMESTAMP_LTZ finer than microseconds, times
/// beyond the range) is Invalid, named by `column`. Nested types are Unsupported.
arrow::Result<duckdb::Value> ToValue(const arrow::Scalar& scalar, const DataType& type,
                                     std::string_view column);

}  // namespace kelda::sql
