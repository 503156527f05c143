#pragma once

#include <memory>
#include <string_view>
#include <vector>

#include <arrow/record_batch.h>

#include "kelda/base/cancellation.h"
#include "kelda/metadata/table_context.h"

namespace kelda::system_tables {

/// One system table: its columns, and how the wanted ones are read.
struct SystemTable {
  std::string_view name;
  std::vector<DataField> (*fields)();
  arrow::Result<std::shared_ptr<arrow::RecordBatch>> (*read)(const TableContext& table,
                                                             const std::vector<int>& columns,
                                                             const CancellationToken& token);
};

/// What the metadata directories say (spec 04 §5.1).
extern const SystemTable kSnapshotsTable;
extern const SystemTable kSchemasTable;
extern const SystemTable kOptionsTable;
extern const SystemTable kTagsTable;
extern const SystemTable kBranchesTable;
extern const SystemTable kConsumersTable;
/// What the manifests of one snapshot say (spec 04 §5.1, §5.2).
extern const SystemTable kManifestsTable;
extern const SystemTable kFilesTable;
extern const SystemTable kFileKeyRangesTable;
extern const SystemTable kPartitionsTable;
extern const SystemTable kBucketsTable;

}  // namespace kelda::system_tables
