#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include <arrow/record_batch.h>
#include <arrow/result.h>

#include "duckdb/common/types/data_chunk.hpp"

#include "kelda/types/data_type.h"

namespace kelda::sql {

/// Rows of a batch in the core's Arrow form (arrow_mapping.h) as DuckDB vectors of the types of
/// ToLogicalType. Numbers, dates, wide decimals and the bytes of strings are not copied: `output`
/// keeps the batch alive. Text that is not UTF-8 and values that SQL cannot hold are errors that
/// name the column.
///
/// REQUIRES: batch columns are `fields` in order; output has room for `count` rows in its first
/// fields.size() columns. Does not set the cardinality of `output`.
arrow::Status ToDataChunk(const std::shared_ptr<arrow::RecordBatch>& batch,
                          const std::vector<DataField>& fields, int64_t offset, int64_t count,
                          duckdb::DataChunk* output);

/// One column of it. `owner` keeps `array` alive.
arrow::Status ToVector(const arrow::Array& array, const std::shared_ptr<const void>& owner,
                       const DataField& field, int64_t offset, int64_t count,
                       duckdb::Vector* output);

}  // namespace kelda::sql
