#pragma once

#include <functional>
#include <memory>
#include <vector>

#include <arrow/record_batch.h>

#include "duckdb/function/table_function.hpp"

#include "kelda/base/cancellation.h"
#include "kelda/types/data_type.h"

namespace kelda::sql {

/// What a scan of a system table reads: all rows at its start, only the columns wanted.
struct SystemTableSource {
  std::vector<DataField> fields;
  std::function<arrow::Result<std::shared_ptr<arrow::RecordBatch>>(const std::vector<int>& columns,
                                                                   const CancellationToken& token)>
      read;
};

duckdb::TableFunction MakeSystemTableScan();
duckdb::unique_ptr<duckdb::FunctionData> BindSystemTableScan(
    std::shared_ptr<const SystemTableSource> source);

}  // namespace kelda::sql
