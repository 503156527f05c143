#pragma once

#include <memory>
#include <vector>

#include <parquet/schema.h>

#include "kelda/types/data_type.h"

namespace kelda {

/// The Parquet schema of a data file with `fields` (spec 01 §6.2): message `paimon_schema`, field
/// ids on every named node and on the unnamed children of lists and maps. REQUIRES:
/// CheckParquetTypes(fields).
std::shared_ptr<parquet::schema::GroupNode> BuildParquetSchema(
    const std::vector<DataField>& fields);

/// Unsupported for a type that Parquet files of Paimon 1.4.2 cannot hold; names the column.
arrow::Status CheckParquetTypes(const std::vector<DataField>& fields);

/// Bytes of a FIXED_LEN_BYTE_ARRAY that holds a DECIMAL of `precision` > 18 digits.
int DecimalFixedLength(int precision);

/// Deepest nesting that is written or read.
inline constexpr int kParquetDepthMax = 100;

}  // namespace kelda
