// The tables of database sys (spec 04 §5.3): what the catalog knows of all its tables.

#include <algorithm>
#include <array>
#include <optional>
#include <unordered_map>

#include "kelda/base/log.h"
#include "kelda/catalog/catalog.h"
#include "kelda/catalog/system_tables.h"
#include "kelda/catalog/system_tables/column_table.h"
#include "kelda/catalog/system_tables/texts.h"
#include "kelda/row/partition_path.h"
#include "kelda/scan/plan.h"

namespace kelda {

namespace system_tables {

namespace {

struct GlobalRequest {
  Catalog& catalog;
  const std::vector<int>& columns;
  const CancellationToken& token;

  Executor& executor() const { return *catalog.environment().executor; }
};

struct GlobalTable {
  std::string_view name;
  arrow::Result<std::vector<DataField>> (*fields)(const TableContext*);
  arrow::Result<std::shared_ptr<arrow::RecordBatch>> (*read)(const GlobalRequest& request);
};

/// A table and what it is called.
struct NamedTable {
  Identifier id;
  TableContextPtr table;
};

/// A table whose metadata cannot be read must not hide the others. Cancellation is no such case.
arrow::Status SkipDamaged(const Identifier& id, const arrow::Status& status) {
  if (status.ok() || CodeOf(status) == ErrorCode::kCancelled) return status;
  // Dropped meanwhile: it is not there.
  if (!IsNotFound(status))
    KELDA_LOG(Warn, "table {} is left out: {}", id.FullName(), status.message());
  return arrow::Status::OK();
}

/// All tables that can be loaded, by database and name.
arrow::Result<std::vector<NamedTable>> AllTables(const GlobalRequest& request) {
  std::vector<Identifier> ids;
  ARROW_ASSIGN_OR_RAISE(auto databases, request.catalog.ListDatabases());
  for (const std::string& database : databases) {
    auto names = request.catalog.ListTables(database);
    if (!names.ok() && IsNotFound(names.status())) continue;
    ARROW_RETURN_NOT_OK(names.status());
    for (const std::string& name : *names) {
      auto id = Identifier::Parse(database, name);
      if (id.ok()) ids.push_back(std::move(*id));
    }
  }
  std::sort(ids.begin(), ids.end(), [](const Identifier& a, const Identifier& b) {
    return std::tie(a.database, a.table) < std::tie(b.database, b.table);
  });
  std::vector<TableContextPtr> loaded(ids.size());
  ARROW_RETURN_NOT_OK(ParallelFor(request.executor(), static_cast<int64_t>(ids.size()),
                                  request.token, [&](int64_t i) -> arrow::Status {
                                    auto table = request.catalog.LoadTable(ids[i]);
                                    if (!table.ok()) return SkipDamaged(ids[i], table.status());
                                    loaded[i] = std::move(*table);
                                    return arrow::Status::OK();
                                  }));
  std::vector<NamedTable> tables;
  for (size_t i = 0; i < ids.size(); ++i) {
    if (loaded[i] != nullptr) tables.push_back({std::move(ids[i]), std::move(loaded[i])});
  }
  return tables;
}

// --------------------------------------------------------------------------------------- tables

using T = const NamedTable&;

/// Only catalogs that keep versions themselves tell who made a table and how large it is.
arrow::Result<Cell> OnlyCatalogServersKnow(T) { return Cell(); }

const std::vector<Column<NamedTable>>& TablesColumns() {
  static const std::vector<Column<NamedTable>> columns = {
      {"database_name", TextType(true), [](T t) { return Cell(t.id.database); }},
      {"table_name", TextType(true), [](T t) { return Cell(t.id.table); }},
      {"table_type", TextType(true),
       [](T t) { return Cell(t.table->schema->Option("type", "table")); }},
      {"partitioned", BooleanType(true), [](T t) { return Cell(int64_t{t.table->partitioned()}); }},
      {"primary_key", BooleanType(true),
       [](T t) { return Cell(int64_t{!t.table->schema->primary_keys.empty()}); }},
      {"owner", TextType(true), OnlyCatalogServersKnow},
      {"created_at", BigIntType(true), OnlyCatalogServersKnow},
      {"created_by", TextType(true), OnlyCatalogServersKnow},
      {"updated_at", BigIntType(true), OnlyCatalogServersKnow},
      {"updated_by", TextType(true), OnlyCatalogServersKnow},
      {"record_count", BigIntType(true), OnlyCatalogServersKnow},
      {"file_size_in_bytes", BigIntType(true), OnlyCatalogServersKnow},
      {"file_count", BigIntType(true), OnlyCatalogServersKnow},
      {"last_file_creation_time", BigIntType(true), OnlyCatalogServersKnow},
  };
  return columns;
}

arrow::Result<std::shared_ptr<arrow::RecordBatch>> ReadTables(const GlobalRequest& request) {
  ARROW_ASSIGN_OR_RAISE(auto tables, AllTables(request));
  return BuildTable(TablesColumns(), request.columns, tables, request.executor(), request.token);
}

// ---------------------------------------------------------------------------- all_table_options

struct TableOption {
  const Identifier* id;
  std::string key;
  std::string value;
};

const std::vector<Column<TableOption>>& TableOptionColumns() {
  using O = const TableOption&;
  static const std::vector<Column<TableOption>> columns = {
      {"database_name", TextType(true), [](O o) { return Cell(o.id->database); }},
      {"table_name", TextType(true), [](O o) { return Cell(o.id->table); }},
      {"key", TextType(true), [](O o) { return Cell(o.key); }},
      {"value", TextType(true), [](O o) { return Cell(o.value); }},
  };
  return columns;
}

arrow::Result<std::shared_ptr<arrow::RecordBatch>> ReadTableOptions(const GlobalRequest& request) {
  ARROW_ASSIGN_OR_RAISE(auto tables, AllTables(request));
  std::vector<TableOption> options;
  for (const NamedTable& table : tables) {
    // A loaded table has its real place as an option, whatever is stored (spec 04 §1.4).
    std::map<std::string, std::string> all = table.table->schema->options;
    all["path"] = table.table->paths.root();
    for (auto& [key, value] : all) options.push_back({&table.id, key, value});
  }
  return BuildTable(TableOptionColumns(), request.columns, options, request.executor(),
                    request.token);
}

// ------------------------------------------------------------------------------ catalog_options

using CatalogOption = std::pair<std::string, std::string>;

const std::vector<Column<CatalogOption>>& CatalogOptionColumns() {
  static const std::vector<Column<CatalogOption>> columns = {
      {"key", TextType(false), [](const CatalogOption& o) { return Cell(o.first); }},
      {"value", TextType(false), [](const CatalogOption& o) { return Cell(o.second); }},
  };
  return columns;
}

arrow::Result<std::shared_ptr<arrow::RecordBatch>> ReadCatalogOptions(
    const GlobalRequest& request) {
  const auto& options = request.catalog.options();
  return BuildTable(CatalogOptionColumns(), request.columns,
                    std::vector<CatalogOption>(options.begin(), options.end()), request.executor(),
                    request.token);
}

// ----------------------------------------------------------------------------------- partitions

struct PartitionItem {
  const Identifier* id;
  std::string name;
  int64_t rows = 0;
  int64_t bytes = 0;
  int64_t files = 0;
  std::optional<int64_t> newest_wall_millis;
};

/// The instant of a wall clock of the session zone; where clocks are set back, one of the two.
int64_t InstantOfWallClock(int64_t wall_millis) {
  const int64_t guess = wall_millis - LocalZoneOffsetMillis(wall_millis);
  return wall_millis - LocalZoneOffsetMillis(guess);
}

arrow::Result<std::string> PartitionName(const TableContext& table, const std::string& serialized) {
  const auto fields = table.PartitionFields();
  const auto types = table.PartitionTypes();
  ARROW_ASSIGN_OR_RAISE(auto values, DecodePartition(types, serialized, table.name));
  std::string name;
  for (size_t i = 0; i < fields.size(); ++i) {
    ARROW_ASSIGN_OR_RAISE(std::string value,
                          PartitionValueText(types[i], *values[i], table.partition_path_options));
    name += fmt::format("{}{}={}", i == 0 ? "" : "/", fields[i].name, value);
  }
  return name;
}

arrow::Result<std::vector<PartitionItem>> PartitionsOf(const NamedTable& table,
                                                       const CancellationToken& token) {
  std::vector<PartitionItem> items;
  ARROW_ASSIGN_OR_RAISE(auto snapshot, table.table->snapshots->Latest());
  if (!snapshot) return items;
  ARROW_ASSIGN_OR_RAISE(auto entries, ReadLiveEntries(*table.table, *snapshot, nullptr, token,
                                                      /*value_stats=*/false));
  std::unordered_map<std::string, size_t> places;
  for (const ManifestEntry& entry : entries) {
    // Rows that wait for their bucket cannot be read yet.
    if (entry.bucket < 0) continue;
    auto [it, is_new] = places.emplace(entry.partition, items.size());
    if (is_new) {
      PartitionItem item;
      item.id = &table.id;
      ARROW_ASSIGN_OR_RAISE(item.name, PartitionName(*table.table, entry.partition));
      items.push_back(std::move(item));
    }
    PartitionItem& item = items[it->second];
    if (__builtin_add_overflow(item.rows, entry.file.row_count, &item.rows) ||
        __builtin_add_overflow(item.bytes, entry.file.file_size, &item.bytes)) {
      return Corruption("rows or bytes of data file '{}' add up to more than 64 bits hold",
                        entry.file.file_name);
    }
    ++item.files;
    if (const auto& created = entry.file.creation_time_millis; created)
      item.newest_wall_millis = std::max(*created, item.newest_wall_millis.value_or(*created));
  }
  std::sort(items.begin(), items.end(),
            [](const PartitionItem& a, const PartitionItem& b) { return a.name < b.name; });
  return items;
}

const std::vector<Column<PartitionItem>>& PartitionItemColumns() {
  using P = const PartitionItem&;
  static const std::vector<Column<PartitionItem>> columns = {
      {"database_name", TextType(true), [](P p) { return Cell(p.id->database); }},
      {"table_name", TextType(true), [](P p) { return Cell(p.id->table); }},
      {"partition_name", TextType(true), [](P p) { return Cell(p.name); }},
      {"record_count", BigIntType(true), [](P p) { return Cell(p.rows); }},
      {"file_size_in_bytes", BigIntType(true), [](P p) { return Cell(p.bytes); }},
      {"file_count", BigIntType(true), [](P p) { return Cell(p.files); }},
      {"last_file_creation_time", BigIntType(true),
       [](P p) {
         return p.newest_wall_millis ? Cell(InstantOfWallClock(*p.newest_wall_millis)) : Cell();
       }},
      // A file system keeps no mark that the catalog could show.
      {"done", BooleanType(true), [](P) { return Cell(int64_t{0}); }},
  };
  return columns;
}

arrow::Result<std::shared_ptr<arrow::RecordBatch>> ReadPartitions(const GlobalRequest& request) {
  ARROW_ASSIGN_OR_RAISE(auto tables, AllTables(request));
  std::vector<PartitionItem> all;
  for (const NamedTable& table : tables) {
    if (!table.table->partitioned()) continue;
    auto items = PartitionsOf(table, request.token);
    if (!items.ok()) {
      ARROW_RETURN_NOT_OK(SkipDamaged(table.id, items.status()));
      continue;
    }
    all.insert(all.end(), std::make_move_iterator(items->begin()),
               std::make_move_iterator(items->end()));
  }
  return BuildTable(PartitionItemColumns(), request.columns, all, request.executor(),
                    request.token);
}

constexpr std::array<GlobalTable, 4> kGlobalTables = {{
    {"all_table_options", FieldsOfTable<TableOption, TableOptionColumns>, ReadTableOptions},
    {"catalog_options", FieldsOfTable<CatalogOption, CatalogOptionColumns>, ReadCatalogOptions},
    {"partitions", FieldsOfTable<PartitionItem, PartitionItemColumns>, ReadPartitions},
    {"tables", FieldsOfTable<NamedTable, TablesColumns>, ReadTables},
}};

arrow::Result<const GlobalTable*> FindGlobalTable(const std::string& name) {
  for (const GlobalTable& table : kGlobalTables) {
    if (table.name == name) return &table;
  }
  return NotFound("there is no table sys.{}; known are {}", name,
                  fmt::join(GlobalTableNames(), ", "));
}

}  // namespace

}  // namespace system_tables

arrow::Result<std::vector<DataField>> GlobalTableFields(const std::string& name) {
  ARROW_ASSIGN_OR_RAISE(auto* table, system_tables::FindGlobalTable(name));
  return table->fields(nullptr);
}

arrow::Result<std::shared_ptr<arrow::RecordBatch>> ReadGlobalTable(Catalog& catalog,
                                                                   const std::string& name,
                                                                   const std::vector<int>& columns,
                                                                   CancellationToken token) {
  ARROW_ASSIGN_OR_RAISE(auto* table, system_tables::FindGlobalTable(name));
  ARROW_ASSIGN_OR_RAISE(auto fields, table->fields(nullptr));
  for (int column : columns) {
    if (column < 0 || column >= static_cast<int>(fields.size()))
      return Invalid("sys.{} has {} columns; there is no column {}", name, fields.size(), column);
  }
  ARROW_RETURN_NOT_OK(token.Check());
  return table->read({catalog, columns, token});
}

std::vector<std::string> GlobalTableNames() {
  std::vector<std::string> names;
  for (const auto& table : system_tables::kGlobalTables) names.emplace_back(table.name);
  return names;
}

}  // namespace kelda
