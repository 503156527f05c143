#pragma once

#include <optional>

#include "duckdb/function/table_function.hpp"

#include "kelda/metadata/snapshot.h"
#include "kelda/metadata/table_context.h"

namespace kelda::sql {

/// Scan of `t$row_tracking` (spec 04 §5.4): the rows of `snapshot` with their row ids and sequence
/// numbers, files in parallel, a batch of each at a time. `fields` are those of SystemTableFields.
duckdb::TableFunction MakeRowTrackingScan();
duckdb::unique_ptr<duckdb::FunctionData> BindRowTrackingScan(TableContextPtr table,
                                                             std::optional<Snapshot> snapshot,
                                                             std::vector<DataField> fields);

}  // namespace kelda::sql
