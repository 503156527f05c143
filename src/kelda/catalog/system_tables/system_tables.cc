#include "kelda/catalog/system_tables.h"

#include <algorithm>

#include "kelda/catalog/system_tables/tables.h"

namespace kelda {

namespace {

using system_tables::SystemTable;

const std::vector<const SystemTable*>& Tables() {
  static const std::vector<const SystemTable*> tables = {
      &system_tables::kBranchesTable,  &system_tables::kBucketsTable,
      &system_tables::kConsumersTable, &system_tables::kFileKeyRangesTable,
      &system_tables::kFilesTable,     &system_tables::kManifestsTable,
      &system_tables::kOptionsTable,   &system_tables::kPartitionsTable,
      &system_tables::kSchemasTable,   &system_tables::kSnapshotsTable,
      &system_tables::kTagsTable,
  };
  return tables;
}

/// Names of spec 04 §5 that are not served.
constexpr std::array<std::string_view, 7> kNotBuilt = {
    "aggregation_fields", "audit_log",  "binlog",       "ro",
    "row_tracking",       "statistics", "table_indexes"};

arrow::Result<const SystemTable*> FindTable(const std::string& name) {
  for (const SystemTable* table : Tables()) {
    if (table->name == name) return table;
  }
  if (std::find(kNotBuilt.begin(), kNotBuilt.end(), name) != kNotBuilt.end())
    return Unsupported("system table '{}'", name);
  return NotFound("there is no system table '{}'; known are {}", name,
                  fmt::join(SystemTableNames(), ", "));
}

}  // namespace

arrow::Result<std::vector<DataField>> SystemTableFields(const std::string& name) {
  ARROW_ASSIGN_OR_RAISE(const SystemTable* table, FindTable(name));
  return table->fields();
}

arrow::Result<std::shared_ptr<arrow::RecordBatch>> ReadSystemTable(const TableContext& table,
                                                                   const std::string& name,
                                                                   const std::vector<int>& columns,
                                                                   CancellationToken token) {
  ARROW_ASSIGN_OR_RAISE(const SystemTable* system_table, FindTable(name));
  const auto count = static_cast<int>(system_table->fields().size());
  for (int column : columns) {
    if (column < 0 || column >= count)
      return Invalid("system table '{}' has {} columns; there is no column {}", name, count,
                     column);
  }
  ARROW_RETURN_NOT_OK(token.Check());
  auto rows = system_table->read(table, columns, token);
  if (!rows.ok()) return WithContext(rows.status(), fmt::format("{}${}", table.name, name));
  return rows;
}

std::vector<std::string> SystemTableNames() {
  std::vector<std::string> names;
  for (const SystemTable* table : Tables()) names.emplace_back(table->name);
  return names;
}

}  // namespace kelda
