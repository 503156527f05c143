#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <arrow/record_batch.h>

#include "kelda/base/cancellation.h"
#include "kelda/metadata/snapshot.h"
#include "kelda/metadata/table_context.h"

namespace kelda {

class Catalog;

/// The newest snapshot at the moment that a reader wants to see; nullopt: the table had none.
struct PinnedSnapshot {
  std::optional<Snapshot> snapshot;
};

/// Columns of system table `name` of `table` (spec 04 §5.1, §5.2, §5.4) in Paimon's types;
/// kNotFound for unknown names.
arrow::Result<std::vector<DataField>> SystemTableFields(const TableContext& table,
                                                        const std::string& name);
/// All rows in Arrow form of arrow_mapping.h. `columns` = indexes into SystemTableFields, so that
/// expensive columns are not computed. What is seen: `pinned` if given, else the snapshot that the
/// table's options choose, else the newest; `snapshots` shows those up to the pinned one.
arrow::Result<std::shared_ptr<arrow::RecordBatch>> ReadSystemTable(
    const TableContext& table, const std::string& name, const std::vector<int>& columns,
    CancellationToken token = {}, const PinnedSnapshot* pinned = nullptr);
/// Names served, for listing.
std::vector<std::string> SystemTableNames();

/// Whether the system table shows the table's own rows (ro, audit_log, binlog, row_tracking), as
/// many as there are: ReadSystemTable holds them all, a streaming reader makes them from a scan.
bool IsRowTable(const std::string& name);

/// Columns of the table `name` of database sys (spec 04 §5.3); kNotFound for unknown names.
arrow::Result<std::vector<DataField>> GlobalTableFields(const std::string& name);
/// All rows of it, of the moment. Tables whose metadata cannot be read are left out and logged.
arrow::Result<std::shared_ptr<arrow::RecordBatch>> ReadGlobalTable(Catalog& catalog,
                                                                   const std::string& name,
                                                                   const std::vector<int>& columns,
                                                                   CancellationToken token = {});
std::vector<std::string> GlobalTableNames();

}  // namespace kelda
