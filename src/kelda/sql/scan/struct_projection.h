#pragma once

#include <memory>
#include <vector>

#include <arrow/record_batch.h>

#include "duckdb/common/column_index.hpp"

#include "kelda/types/data_type.h"

namespace kelda::sql {

/// `field` with only those members of its ROW, at every depth, that `wanted` names by their places;
/// the whole field if it names none.
DataField NarrowField(const DataField& field, const duckdb::vector<duckdb::ColumnIndex>& wanted);

/// A batch with the columns `narrow`, made by NarrowField of `full`, in the form of `full`: members
/// that were left out are null.
arrow::Result<std::shared_ptr<arrow::RecordBatch>> WidenBatch(
    const std::shared_ptr<arrow::RecordBatch>& batch, const std::vector<DataField>& narrow,
    const std::vector<DataField>& full);

}  // namespace kelda::sql
