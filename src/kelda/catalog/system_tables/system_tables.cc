#include "kelda/catalog/system_tables.h"

#include <algorithm>

#include "kelda/catalog/system_tables/tables.h"
#include "kelda/scan/plan.h"

namespace kelda {

namespace system_tables {

arrow::Result<std::optional<Snapshot>> SnapshotOf(const Request& request) {
  if (request.pinned != nullptr) return request.pinned->snapshot;
  return ResolveSnapshot(request.table);
}

}  // namespace system_tables

namespace {

using system_tables::SystemTable;

const std::vector<const SystemTable*>& Tables() {
  static const std::vector<const SystemTable*> tables = {
      &system_tables::kAggregationFieldsTable,
      &system_tables::kAuditLogTable,
      &system_tables::kBinlogTable,
      &system_tables::kBranchesTable,
      &system_tables::kBucketsTable,
      &system_tables::kConsumersTable,
      &system_tables::kFileKeyRangesTable,
      &system_tables::kFilesTable,
      &system_tables::kManifestsTable,
      &system_tables::kOptionsTable,
      &system_tables::kPartitionsTable,
      &system_tables::kReadOptimizedTable,
      &system_tables::kRowTrackingTable,
      &system_tables::kSchemasTable,
      &system_tables::kSnapshotsTable,
      &system_tables::kStatisticsTable,
      &system_tables::kTableIndexesTable,
      &system_tables::kTagsTable,
  };
  return tables;
}

arrow::Result<const SystemTable*> FindTable(const std::string& name) {
  for (const SystemTable* table : Tables()) {
    if (table->name == name) return table;
  }
  return NotFound("there is no system table '{}'; known are {}", name,
                  fmt::join(SystemTableNames(), ", "));
}

}  // namespace

arrow::Result<std::vector<DataField>> SystemTableFields(const TableContext& table,
                                                        const std::string& name) {
  ARROW_ASSIGN_OR_RAISE(const SystemTable* system_table, FindTable(name));
  auto fields = system_table->fields(&table);
  if (!fields.ok()) return WithContext(fields.status(), fmt::format("{}${}", table.name, name));
  return fields;
}

arrow::Result<std::shared_ptr<arrow::RecordBatch>> ReadSystemTable(const TableContext& table,
                                                                   const std::string& name,
                                                                   const std::vector<int>& columns,
                                                                   CancellationToken token,
                                                                   const PinnedSnapshot* pinned) {
  ARROW_ASSIGN_OR_RAISE(const SystemTable* system_table, FindTable(name));
  ARROW_ASSIGN_OR_RAISE(auto fields, SystemTableFields(table, name));
  for (int column : columns) {
    if (column < 0 || column >= static_cast<int>(fields.size())) {
      return Invalid("system table '{}' has {} columns; there is no column {}", name, fields.size(),
                     column);
    }
  }
  ARROW_RETURN_NOT_OK(token.Check());
  auto rows = system_table->read({table, columns, token, pinned});
  if (!rows.ok()) return WithContext(rows.status(), fmt::format("{}${}", table.name, name));
  return rows;
}

bool IsRowTable(const std::string& name) {
  return name == system_tables::kReadOptimizedTable.name ||
         name == system_tables::kAuditLogTable.name || name == system_tables::kBinlogTable.name ||
         name == system_tables::kRowTrackingTable.name;
}

std::vector<std::string> SystemTableNames() {
  std::vector<std::string> names;
  for (const SystemTable* table : Tables()) names.emplace_back(table->name);
  return names;
}

}  // namespace kelda
