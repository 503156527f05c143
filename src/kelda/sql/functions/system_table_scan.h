#pragma once

#include <string>

#include "duckdb/function/table_function.hpp"

#include "kelda/metadata/table_context.h"

namespace kelda::sql {

/// Scan of a system table (catalog/system_tables.h): read at the start of the scan, only the
/// columns wanted.
duckdb::TableFunction MakeSystemTableScan();
duckdb::unique_ptr<duckdb::FunctionData> BindSystemTableScan(TableContextPtr table,
                                                             std::string system_table);

}  // namespace kelda::sql
