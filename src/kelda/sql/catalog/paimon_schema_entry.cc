#include "kelda/sql/catalog/paimon_schema_entry.h"

#include <set>

#include "duckdb/catalog/catalog_search_path.hpp"
#include "duckdb/catalog/entry_lookup_info.hpp"
#include "duckdb/common/exception/catalog_exception.hpp"
#include "duckdb/main/client_context.hpp"
#include "duckdb/main/client_data.hpp"
#include "duckdb/parser/parsed_data/alter_table_info.hpp"
#include "duckdb/parser/parsed_data/create_schema_info.hpp"
#include "duckdb/parser/parsed_data/create_view_info.hpp"
#include "duckdb/parser/parsed_data/drop_info.hpp"
#include "duckdb/planner/parsed_data/bound_create_table_info.hpp"
#include "duckdb/planner/tableref/bound_at_clause.hpp"

#include "kelda/base/log.h"
#include "kelda/catalog/system_tables.h"
#include "kelda/scan/plan.h"
#include "kelda/sql/catalog/alter_table.h"
#include "kelda/sql/catalog/create_table.h"
#include "kelda/sql/catalog/name_lookup.h"
#include "kelda/sql/catalog/paimon_catalog.h"
#include "kelda/sql/catalog/paimon_table_entry.h"
#include "kelda/sql/functions/procedures.h"
#include "kelda/sql/parser/create_table_contract.h"
#include "kelda/sql/types/status_exception.h"

namespace kelda::sql {

namespace {

/// AT (unit => value) as the scan option that means the same (spec 04 §6.1).
std::pair<std::string, std::string> OptionOfAtClause(const duckdb::BoundAtClause& at) {
  const std::string unit = duckdb::StringUtil::Lower(at.Unit());
  const duckdb::Value& value = at.GetValue();
  if (value.IsNull()) ThrowError(Invalid("AT ({} => NULL) names no version of a table", at.Unit()));
  if (unit == "version") return {"scan.version", value.ToString()};
  if (unit == "tag") return {"scan.tag-name", value.ToString()};
  if (unit == "timestamp") {
    switch (value.type().id()) {
      case duckdb::LogicalTypeId::TIMESTAMP_TZ:
        return {"scan.timestamp-millis", std::to_string(value.GetValueUnsafe<int64_t>() / 1000)};
      case duckdb::LogicalTypeId::TINYINT:
      case duckdb::LogicalTypeId::SMALLINT:
      case duckdb::LogicalTypeId::INTEGER:
      case duckdb::LogicalTypeId::BIGINT:
        return {"scan.timestamp-millis", value.ToString()};
      default:
        return {"scan.timestamp", value.ToString()};
    }
  }
  ThrowError(Unsupported("AT ({} => ...); use VERSION, TAG or TIMESTAMP", at.Unit()));
}

bool ChoosesSnapshot(const std::map<std::string, std::string>& options) {
  for (const auto& [key, value] : options) {
    if (key.starts_with("scan.") && key != "scan.mode" && key != "scan.manifest.parallelism")
      return true;
  }
  return false;
}

/// Spell the columns of PARTITION (...) as the table does; they must be its partition columns.
void NamePartitionColumns(const TableContext& table, InsertTarget* insert) {
  const auto& keys = table.schema->partition_keys;
  std::set<std::string> seen;
  auto resolve = [&](std::string* column) {
    auto found = ValueOrThrow(FindName(keys, *column, "column"));
    if (!found) {
      ThrowError(Invalid("table {}: '{}' is not a partition column; they are: {}", table.name,
                         *column,
                         keys.empty() ? "none" : fmt::format("{}", fmt::join(keys, ", "))));
    }
    if (!seen.insert(*found).second)
      ThrowError(Invalid("table {}: PARTITION names column '{}' twice", table.name, *found));
    *column = *found;
  };
  for (auto& [column, value] : insert->static_partition) resolve(&column);
  for (std::string& column : insert->dynamic_partition) resolve(&column);
}

[[noreturn]] void Refuse(std::string_view what) {
  ThrowError(Unsupported("{} in a Paimon warehouse", what));
}

}  // namespace

PaimonSchemaEntry::PaimonSchemaEntry(duckdb::Catalog& catalog, duckdb::CreateSchemaInfo& info)
    : SchemaCatalogEntry(catalog, info) {}

PaimonSchemaEntry::~PaimonSchemaEntry() = default;

PaimonCatalog& PaimonSchemaEntry::paimon_catalog() const {
  return const_cast<duckdb::Catalog&>(static_cast<const duckdb::Catalog&>(catalog))
      .Cast<PaimonCatalog>();
}

duckdb::optional_ptr<duckdb::CatalogEntry> PaimonSchemaEntry::Remember(
    std::string key, duckdb::unique_ptr<duckdb::CatalogEntry> entry) {
  std::lock_guard lock(mutex_);
  return entries_.emplace(std::move(key), std::move(entry)).first->second.get();
}

std::optional<Identifier> PaimonSchemaEntry::FindTable(const std::string& object_name) {
  auto& core = paimon_catalog().core();
  auto parsed = Identifier::Parse(name, object_name);
  if (!parsed.ok()) return std::nullopt;
  Identifier id = *parsed;
  if (ValueOrThrow(core.TableExists(id))) return id;
  auto tables = core.ListTables(name);
  if (!tables.ok()) return std::nullopt;
  auto found = ValueOrThrow(FindName(*tables, id.table, "table"));
  if (!found) return std::nullopt;
  id.table = *found;
  if (!ValueOrThrow(core.TableExists(id))) return std::nullopt;
  return id;
}

duckdb::optional_ptr<duckdb::CatalogEntry> PaimonSchemaEntry::LookupEntry(
    duckdb::CatalogTransaction transaction, const duckdb::EntryLookupInfo& lookup) {
  switch (lookup.GetCatalogType()) {
    case duckdb::CatalogType::TABLE_ENTRY:
    case duckdb::CatalogType::VIEW_ENTRY:
      return LookupTable(transaction.GetContext(), lookup);
    case duckdb::CatalogType::TABLE_FUNCTION_ENTRY:
      if (name != "sys") return nullptr;
      return LookupProcedure(*this, lookup.GetEntryName(), [this](std::string key, auto entry) {
        return Remember("procedure " + key, std::move(entry));
      });
    default:
      return nullptr;
  }
}

duckdb::optional_ptr<duckdb::CatalogEntry> PaimonSchemaEntry::LookupTable(
    duckdb::ClientContext& context, const duckdb::EntryLookupInfo& lookup) {
  auto decoded = DecodeTableName(lookup.GetEntryName());
  if (!decoded) return nullptr;
  if (name == "sys") return LookupGlobalTable(decoded->name);
  auto id = FindTable(decoded->name);
  if (!id && IsDecoratedTableName(lookup.GetEntryName()) &&
      duckdb::ClientData::Get(context).catalog_search_path->GetSetPaths().size() <= 1) {
    // DuckDB's text would show the name with all that the front parser put behind it.
    throw duckdb::CatalogException(lookup.GetErrorContext(),
                                   fmt::format("table {}.{} does not exist", name, decoded->name));
  }
  if (!id) return nullptr;
  std::map<std::string, std::string> options(decoded->options.begin(), decoded->options.end());
  if (auto at = lookup.GetAtClause()) options.insert(OptionOfAtClause(*at));

  PaimonCatalog& catalog = paimon_catalog();
  PaimonTableEntry::Source source;
  source.id = *id;
  source.travels = ChoosesSnapshot(options);
  TableContextPtr table = LoadTable(context, *id, options, source.travels);
  if (decoded->insert) {
    source.insert = std::move(decoded->insert);
    NamePartitionColumns(*table, &*source.insert);
  }
  std::string key =
      lookup.GetEntryName() + "\n" + id->FullName() + "\n" + table->schema->ToJsonText();
  for (const auto& [option, value] : options) key += "\n" + option + "=" + value;
  if (source.travels) {
    source.snapshot = ValueOrThrow(ResolveSnapshot(*table));
    if (id->system_table.empty() || IsRowTable(id->system_table))
      table = ValueOrThrow(ContextForSnapshot(table, source.snapshot));
    key += "\n" + std::to_string(source.snapshot ? source.snapshot->id : 0);
  }
  {
    std::lock_guard lock(mutex_);
    auto it = entries_.find(key);
    if (it != entries_.end()) return it->second.get();
  }
  source.table = table;
  if (!id->system_table.empty()) {
    if (source.insert) {
      ThrowError(Invalid("{} is a system table: INSERT is not possible", id->FullName()));
    }
    if (IsRowTable(id->system_table) && id->system_table != "row_tracking" &&
        table->schema->primary_keys.empty()) {
      DecoratedTableName base;
      base.name = id->branch == "main" ? id->table : id->table + "$branch_" + id->branch;
      base.options.assign(options.begin(), options.end());
      return Remember(std::move(key),
                      MakeRowTableView(catalog, *this, lookup.GetEntryName(), id->system_table,
                                       EncodeTableName(base), *table));
    }
    return Remember(std::move(key),
                    PaimonSystemTableEntry::Make(catalog, *this, lookup.GetEntryName(), *id, table,
                                                 source.travels));
  }
  std::vector<std::string> warnings;
  IgnoreError(table->CheckReadable(&warnings),
              "refused when the table is read or written, not when it is named");
  for (const std::string& warning : warnings) KELDA_LOG(Warn, "table {}: {}", table->name, warning);
  return Remember(std::move(key),
                  PaimonTableEntry::Make(catalog, *this, lookup.GetEntryName(), std::move(source)));
}

duckdb::optional_ptr<duckdb::CatalogEntry> PaimonSchemaEntry::LookupGlobalTable(
    const std::string& table) {
  {
    std::lock_guard lock(mutex_);
    auto it = entries_.find(table);
    if (it != entries_.end()) return it->second.get();
  }
  auto entry = PaimonSystemTableEntry::MakeGlobal(catalog, *this, table);
  if (entry == nullptr) return nullptr;
  return Remember(table, std::move(entry));
}

TableContextPtr PaimonSchemaEntry::LoadTable(duckdb::ClientContext& context, const Identifier& id,
                                             const std::map<std::string, std::string>& options,
                                             bool travels) {
  auto& transaction = paimon_catalog().TransactionOf(context);
  if (options.empty()) return ValueOrThrow(transaction.Table(id));
  auto table = ValueOrThrow(paimon_catalog().core().LoadTable(id, options));
  if (travels) return table;
  auto pinned = ValueOrThrow(transaction.Table(id));
  if (pinned->schema->id == table->schema->id) return table;
  return ValueOrThrow(table->WithSchema(pinned->schema->id));
}

duckdb::TableCatalogEntry& PaimonSchemaEntry::TableEntry(duckdb::ClientContext& context,
                                                         const std::string& table_name) {
  duckdb::EntryLookupInfo lookup(duckdb::CatalogType::TABLE_ENTRY, table_name);
  auto entry = LookupTable(context, lookup);
  if (!entry) ThrowError(NotFound("table {}.{} does not exist", name, table_name));
  return entry->Cast<duckdb::TableCatalogEntry>();
}

std::vector<std::string> PaimonSchemaEntry::TableNames() const {
  if (name == "sys") return GlobalTableNames();
  return ValueOrThrow(paimon_catalog().core().ListTables(name));
}

void PaimonSchemaEntry::Scan(duckdb::ClientContext& context, duckdb::CatalogType type,
                             const std::function<void(duckdb::CatalogEntry&)>& callback) {
  if (type != duckdb::CatalogType::TABLE_ENTRY || name == "sys") return;
  for (const std::string& table : TableNames()) {
    duckdb::optional_ptr<duckdb::CatalogEntry> entry;
    try {
      duckdb::EntryLookupInfo lookup(type, table);
      entry = LookupTable(context, lookup);
    } catch (const std::exception& e) {
      // One damaged table must not hide the others.
      KELDA_LOG(Warn, "table {}.{} is left out: {}", name, table,
                duckdb::ErrorData(e).RawMessage());
      continue;
    }
    if (entry) callback(*entry);
  }
}

void PaimonSchemaEntry::Scan(duckdb::CatalogType,
                             const std::function<void(duckdb::CatalogEntry&)>&) {
  ThrowError(Unsupported("listing tables without a connection"));
}

std::optional<PaimonSchemaEntry::CreatedTable> PaimonSchemaEntry::CreateNewTable(
    duckdb::ClientContext& context, const duckdb::CreateTableInfo& info) {
  PaimonCatalog::RequireAutocommit(context, "CREATE TABLE");
  const bool ignore = info.on_conflict == duckdb::OnCreateConflict::IGNORE_ON_CONFLICT;
  const bool replace = info.on_conflict == duckdb::OnCreateConflict::REPLACE_ON_CONFLICT;
  CreatedTable created;
  created.id = ValueOrThrow(Identifier::Parse(name, info.table));
  const bool plain = created.id.branch == "main" && created.id.system_table.empty();
  auto existing = plain ? FindTable(info.table) : std::nullopt;
  if (existing) {
    if (ignore) return std::nullopt;
    if (!replace) {
      throw duckdb::CatalogException(
          existing->table == created.id.table
              ? fmt::format("table {} exists", created.id.FullName())
              : fmt::format("table {} exists, whose name differs from '{}' in case only",
                            existing->FullName(), created.id.table));
    }
    // The old table stays until the new one is complete.
    auto& random = *paimon_catalog().core().environment().random;
    created.id.table = existing->table + "_replacing_" + random.Uuid().substr(0, 8);
    created.replaces = existing;
  }
  auto definition = info.tags.contains(std::string(kLikeTag)) ? DefinitionLike(context, info)
                                                              : ToTableDefinition(info);
  if (!definition.ok())
    ThrowError(WithContext(definition.status(), "table " + name + "." + info.table));
  auto status =
      paimon_catalog().core().CreateTable(created.id, *definition, /*ignore_if_exists=*/false);
  // Somebody else was faster.
  if (ignore && CodeOf(status) == ErrorCode::kAlreadyExists) return std::nullopt;
  ThrowIfNameError(status);
  return created;
}

duckdb::optional_ptr<duckdb::CatalogEntry> PaimonSchemaEntry::CreateTable(
    duckdb::CatalogTransaction transaction, duckdb::BoundCreateTableInfo& info) {
  auto& context = transaction.GetContext();
  const auto created = CreateNewTable(context, info.Base());
  if (created && created->replaces) {
    ThrowIfNameError(ReplaceTable(paimon_catalog().core(), created->id, *created->replaces));
    paimon_catalog().TransactionOf(context).Unpin(*created->replaces);
  }
  return &TableEntry(context, info.Base().table);
}

void PaimonSchemaEntry::DropEntry(duckdb::ClientContext& context, duckdb::DropInfo& info) {
  if (info.type != duckdb::CatalogType::TABLE_ENTRY) {
    ThrowError(Invalid("{}.{} is a table: use DROP TABLE", name, info.name));
  }
  PaimonCatalog::RequireAutocommit(context, "DROP TABLE");
  auto id = FindTable(info.name);
  if (!id) {
    if (info.if_not_found == duckdb::OnEntryNotFound::RETURN_NULL) return;
    throw duckdb::CatalogException(fmt::format("table {}.{} does not exist", name, info.name));
  }
  ThrowIfNameError(paimon_catalog().core().DropTable(
      *id, info.if_not_found == duckdb::OnEntryNotFound::RETURN_NULL));
  paimon_catalog().TransactionOf(context).Unpin(*id);
}

void PaimonSchemaEntry::Alter(duckdb::CatalogTransaction transaction, duckdb::AlterInfo& info) {
  auto& context = transaction.GetContext();
  PaimonCatalog::RequireAutocommit(context, "ALTER TABLE");
  auto id = FindTable(info.name);
  if (!id) {
    if (info.if_not_found == duckdb::OnEntryNotFound::RETURN_NULL) return;
    throw duckdb::CatalogException(fmt::format("table {}.{} does not exist", name, info.name));
  }
  auto& core = paimon_catalog().core();
  if (info.type == duckdb::AlterType::ALTER_TABLE &&
      info.Cast<duckdb::AlterTableInfo>().alter_table_type ==
          duckdb::AlterTableType::RENAME_TABLE) {
    const std::string& new_name = info.Cast<duckdb::RenameTableInfo>().new_table_name;
    const auto to = ValueOrThrow(Identifier::Parse(name, new_name));
    auto existing = FindTable(new_name);
    if (existing && existing->table != to.table && existing->table != id->table) {
      throw duckdb::CatalogException(
          fmt::format("table {} exists, whose name differs from '{}' in case only",
                      existing->FullName(), new_name));
    }
    ThrowIfNameError(core.RenameTable(*id, to));
  } else {
    auto table = ValueOrThrow(core.LoadTable(*id));
    auto changes = ToSchemaChanges(info, *table->schema);
    ThrowIfNameError(WithContext(changes.status(), "table " + id->FullName()));
    if (!changes->empty()) ThrowIfNameError(core.AlterTable(*id, *changes));
  }
  paimon_catalog().TransactionOf(context).Unpin(*id);
}

duckdb::optional_ptr<duckdb::CatalogEntry> PaimonSchemaEntry::CreateIndex(
    duckdb::CatalogTransaction, duckdb::CreateIndexInfo&, duckdb::TableCatalogEntry&) {
  Refuse("CREATE INDEX");
}
duckdb::optional_ptr<duckdb::CatalogEntry> PaimonSchemaEntry::CreateFunction(
    duckdb::CatalogTransaction, duckdb::CreateFunctionInfo&) {
  Refuse("CREATE FUNCTION");
}
duckdb::optional_ptr<duckdb::CatalogEntry> PaimonSchemaEntry::CreateView(duckdb::CatalogTransaction,
                                                                         duckdb::CreateViewInfo&) {
  Refuse("CREATE VIEW");
}
duckdb::optional_ptr<duckdb::CatalogEntry> PaimonSchemaEntry::CreateSequence(
    duckdb::CatalogTransaction, duckdb::CreateSequenceInfo&) {
  Refuse("CREATE SEQUENCE");
}
duckdb::optional_ptr<duckdb::CatalogEntry> PaimonSchemaEntry::CreateTableFunction(
    duckdb::CatalogTransaction, duckdb::CreateTableFunctionInfo&) {
  Refuse("CREATE FUNCTION");
}
duckdb::optional_ptr<duckdb::CatalogEntry> PaimonSchemaEntry::CreateCopyFunction(
    duckdb::CatalogTransaction, duckdb::CreateCopyFunctionInfo&) {
  Refuse("CREATE FUNCTION");
}
duckdb::optional_ptr<duckdb::CatalogEntry> PaimonSchemaEntry::CreatePragmaFunction(
    duckdb::CatalogTransaction, duckdb::CreatePragmaFunctionInfo&) {
  Refuse("CREATE FUNCTION");
}
duckdb::optional_ptr<duckdb::CatalogEntry> PaimonSchemaEntry::CreateCollation(
    duckdb::CatalogTransaction, duckdb::CreateCollationInfo&) {
  Refuse("CREATE COLLATION");
}
duckdb::optional_ptr<duckdb::CatalogEntry> PaimonSchemaEntry::CreateType(duckdb::CatalogTransaction,
                                                                         duckdb::CreateTypeInfo&) {
  Refuse("CREATE TYPE");
}

}  // namespace kelda::sql
