#pragma once

#include <arrow/array.h>

#include "kelda/types/data_type.h"

namespace kelda {

/// Refuse what a column cannot hold: NULL where the type, or a type inside it, is NOT NULL (spec 02
/// §1.2), texts and byte strings longer than CHAR(n), VARCHAR(n), BINARY(n), VARBINARY(n), times of
/// day outside one day. Errors name the column.
arrow::Status CheckValues(const DataField& field, const arrow::Array& array);

}  // namespace kelda
