#pragma once

#include <map>
#include <memory>
#include <string>
#include <string_view>

#include <arrow/type_fwd.h>

#include "kelda/base/status.h"
#include "kelda/types/data_type.h"

namespace kelda {

// Shredded VARIANT (spec 01 §6.6): values of the shape that was declared are kept in typed columns,
// others as they are, in `value`. The form in a file is
//   ROW<metadata BYTES NOT NULL, value BYTES, typed_value T>
// where T is a scalar, ARRAY<ROW<value, typed_value>>, or a ROW whose members are
// ROW<value, typed_value> NOT NULL.

/// The value of `parquet.variant.shreddingSchema`: JSON of a ROW type whose members are named after
/// VARIANT columns; gives the form in a file of each. A type that VARIANT cannot be shredded into
/// is Invalid. VARIANT itself means: not shredded, and is left out.
arrow::Result<std::map<std::string, DataType>> ParseShreddingSchema(std::string_view json);

/// The form in a file of a VARIANT of declared type `type`.
arrow::Result<DataType> ShreddedType(const DataType& type);

/// A column of VARIANT in the form `shredded` (of ShreddedType).
arrow::Result<std::shared_ptr<arrow::Array>> ShredVariants(const arrow::Array& variants,
                                                           const DataType& shredded);

/// The reverse, for any form of the above as it comes out of a file: `value` or `typed_value` may
/// be missing, typed scalars may also be dates and timestamps. The keys are numbered anew.
arrow::Result<std::shared_ptr<arrow::Array>> RebuildVariants(const arrow::Array& shredded);

}  // namespace kelda
