#pragma once

#include <memory>
#include <optional>
#include <string_view>
#include <vector>

#include <arrow/record_batch.h>

#include "kelda/base/cancellation.h"
#include "kelda/catalog/system_tables.h"
#include "kelda/metadata/table_context.h"

namespace kelda::system_tables {

/// What is read of a system table. Borrows all.
struct Request {
  const TableContext& table;
  /// Indexes of the wanted columns.
  const std::vector<int>& columns;
  const CancellationToken& token;
  /// Null: the newest snapshot, or the one that the table's options choose.
  const PinnedSnapshot* pinned = nullptr;
};

/// One system table: its columns, and how the wanted ones are read.
struct SystemTable {
  std::string_view name;
  /// `table` is looked at by row tables only.
  arrow::Result<std::vector<DataField>> (*fields)(const TableContext* table);
  arrow::Result<std::shared_ptr<arrow::RecordBatch>> (*read)(const Request& request);
};

/// The pinned snapshot, else the one that the table's options choose, else the newest.
arrow::Result<std::optional<Snapshot>> SnapshotOf(const Request& request);

/// What the metadata directories say (spec 04 §5.1).
extern const SystemTable kSnapshotsTable;
extern const SystemTable kSchemasTable;
extern const SystemTable kOptionsTable;
extern const SystemTable kTagsTable;
extern const SystemTable kBranchesTable;
extern const SystemTable kConsumersTable;
extern const SystemTable kAggregationFieldsTable;
extern const SystemTable kStatisticsTable;
/// What the manifests of one snapshot say (spec 04 §5.1, §5.2).
extern const SystemTable kManifestsTable;
extern const SystemTable kFilesTable;
extern const SystemTable kFileKeyRangesTable;
extern const SystemTable kPartitionsTable;
extern const SystemTable kBucketsTable;
extern const SystemTable kTableIndexesTable;
/// The table's rows in another form (spec 04 §5.4).
extern const SystemTable kReadOptimizedTable;
extern const SystemTable kAuditLogTable;
extern const SystemTable kBinlogTable;
extern const SystemTable kRowTrackingTable;

}  // namespace kelda::system_tables
