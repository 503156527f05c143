#pragma once

#include <memory>
#include <string>
#include <vector>

#include <arrow/record_batch.h>

#include "kelda/base/cancellation.h"
#include "kelda/metadata/table_context.h"

namespace kelda {

/// Columns of system table `name` ("snapshots", "schemas", "options", "files", "manifests",
/// "partitions", "buckets", "tags", "branches": spec 04 §5.1-5.2) in Paimon's types; Unsupported
/// for those that are not built, kNotFound for unknown names.
arrow::Result<std::vector<DataField>> SystemTableFields(const std::string& name);
/// All rows, as a snapshot of now, in Arrow form of arrow_mapping.h. `columns` = indexes into
/// SystemTableFields, so that expensive columns are not computed.
arrow::Result<std::shared_ptr<arrow::RecordBatch>> ReadSystemTable(const TableContext& table,
                                                                   const std::string& name,
                                                                   const std::vector<int>& columns,
                                                                   CancellationToken token = {});
/// Names served, for listing.
std::vector<std::string> SystemTableNames();

}  // namespace kelda
