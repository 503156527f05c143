#include "kelda/sql/catalog/paimon_table_entry.h"

#include <algorithm>

#include "duckdb/catalog/catalog_entry/view_catalog_entry.hpp"
#include "duckdb/parser/constraints/not_null_constraint.hpp"
#include "duckdb/parser/expression/constant_expression.hpp"
#include "duckdb/parser/parsed_data/create_view_info.hpp"
#include "duckdb/parser/parser.hpp"
#include "duckdb/parser/statement/select_statement.hpp"
#include "duckdb/storage/statistics/base_statistics.hpp"
#include "duckdb/storage/table_storage_info.hpp"

#include "kelda/catalog/system_tables.h"
#include "kelda/row/partition_path.h"
#include "kelda/scan/plan.h"
#include "kelda/sql/catalog/paimon_catalog.h"
#include "kelda/sql/functions/row_tracking_scan.h"
#include "kelda/sql/functions/system_table_scan.h"
#include "kelda/sql/scan/paimon_scan.h"
#include "kelda/sql/types/logical_type.h"
#include "kelda/sql/types/status_exception.h"
#include "kelda/sql/types/value.h"

namespace kelda::sql {

namespace {

/// Names that SQL, which does not tell cases apart, would confuse.
void RefuseNamesDifferingInCase(const std::vector<DataField>& fields, const std::string& table) {
  for (size_t i = 0; i < fields.size(); ++i) {
    for (size_t j = i + 1; j < fields.size(); ++j) {
      if (!duckdb::StringUtil::CIEquals(fields[i].name, fields[j].name)) continue;
      ThrowError(Unsupported(
          "table {}: columns '{}' and '{}' differ in case only, which SQL cannot tell apart", table,
          fields[i].name, fields[j].name));
    }
  }
}

/// The default as DuckDB fills it in for a column that a statement omits. What does not convert is
/// left to the writer, which fills nulls and reports it.
void SetDefault(const DataField& field, duckdb::ColumnDefinition* column) {
  if (!field.default_value) return;
  std::string_view text = *field.default_value;
  if (text.size() >= 2 && text.front() == '\'' && text.back() == '\'')
    text = text.substr(1, text.size() - 2);
  auto scalar = CastFromText(field.type, text);
  if (!scalar.ok()) return;
  auto value = ToValue(**scalar, field.type, field.name);
  if (!value.ok()) return;
  column->SetDefaultValue(duckdb::make_uniq<duckdb::ConstantExpression>(*value));
}

void AddColumns(const std::vector<DataField>& fields, duckdb::CreateTableInfo* info) {
  for (size_t i = 0; i < fields.size(); ++i) {
    const DataField& field = fields[i];
    duckdb::ColumnDefinition column(field.name,
                                    ValueOrThrow(ToLogicalType(field.type, field.name)));
    if (field.description) column.SetComment(duckdb::Value(*field.description));
    SetDefault(field, &column);
    info->columns.AddColumn(std::move(column));
    if (!field.type.nullable()) {
      info->constraints.push_back(
          duckdb::make_uniq<duckdb::NotNullConstraint>(duckdb::LogicalIndex(i)));
    }
  }
}

/// Fields in the order in which a special INSERT gives its values (parser/insert_contract.h).
std::vector<DataField> FieldsOf(const PaimonTableEntry::Source& source) {
  std::vector<DataField> fields = source.table->fields();
  if (!source.insert) return fields;
  if (!source.insert->static_columns_last) return fields;
  std::vector<DataField> last;
  for (const auto& [column, value] : source.insert->static_partition) {
    auto it = std::find_if(fields.begin(), fields.end(),
                           [&](const DataField& f) { return f.name == column; });
    last.push_back(*it);
    fields.erase(it);
  }
  fields.insert(fields.end(), last.begin(), last.end());
  return fields;
}

/// Whether the system table shows what depends on the newest snapshot.
bool ShowsSnapshots(const std::string& system_table) {
  for (const char* name :
       {"schemas", "options", "tags", "branches", "consumers", "aggregation_fields"}) {
    if (system_table == name) return false;
  }
  return true;
}

}  // namespace

std::string QuoteName(const std::string& name) {
  std::string quoted = "\"";
  for (char c : name) {
    if (c == '"') quoted += '"';
    quoted += c;
  }
  return quoted + "\"";
}

std::string QuoteText(const std::string& text) {
  std::string quoted = "'";
  for (char c : text) {
    if (c == '\'') quoted += '\'';
    quoted += c;
  }
  return quoted + "'";
}

duckdb::unique_ptr<PaimonTableEntry> PaimonTableEntry::Make(duckdb::Catalog& catalog,
                                                            duckdb::SchemaCatalogEntry& schema,
                                                            const std::string& entry_name,
                                                            Source source) {
  duckdb::CreateTableInfo info(schema, entry_name);
  RefuseNamesDifferingInCase(source.table->fields(), source.table->name);
  AddColumns(FieldsOf(source), &info);
  if (source.table->schema->comment) info.comment = duckdb::Value(*source.table->schema->comment);
  return duckdb::unique_ptr<PaimonTableEntry>(
      new PaimonTableEntry(catalog, schema, info, std::move(source)));
}

std::vector<int> PaimonTableEntry::ColumnOfField() const {
  std::vector<int> columns_of_fields;
  for (const DataField& field : source_.table->fields()) {
    columns_of_fields.push_back(static_cast<int>(GetColumn(field.name).Logical().index));
  }
  return columns_of_fields;
}

duckdb::unique_ptr<duckdb::BaseStatistics> PaimonTableEntry::GetStatistics(duckdb::ClientContext&,
                                                                           duckdb::column_t) {
  return nullptr;
}

duckdb::TableFunction PaimonTableEntry::GetScanFunction(
    duckdb::ClientContext& context, duckdb::unique_ptr<duckdb::FunctionData>& bind_data) {
  ThrowIfError(source_.table->CheckReadable());
  auto& transaction = catalog.Cast<PaimonCatalog>().TransactionOf(context);
  auto snapshot =
      source_.travels ? source_.snapshot : ValueOrThrow(transaction.SnapshotToRead(source_.id));
  bind_data = BindPaimonScan(source_.table, std::move(snapshot));
  SetTableEntry(*bind_data, *this);
  return MakePaimonScan();
}

duckdb::TableStorageInfo PaimonTableEntry::GetStorageInfo(duckdb::ClientContext&) {
  return duckdb::TableStorageInfo();
}

void PaimonTableEntry::BindUpdateConstraints(duckdb::Binder&, duckdb::LogicalGet&,
                                             duckdb::LogicalProjection&, duckdb::LogicalUpdate&,
                                             duckdb::ClientContext&) {
  ThrowError(Unsupported("UPDATE of table {}", source_.table->name));
}

duckdb::virtual_column_map_t PaimonTableEntry::GetVirtualColumns() const {
  return PaimonVirtualColumns();
}

std::string PaimonTableEntry::ToSQL() const {
  const TableSchema& schema_version = *source_.table->schema;
  std::string sql = fmt::format("CREATE TABLE {}.{}.{} (\n", QuoteName(catalog.GetName()),
                                QuoteName(schema.name), QuoteName(source_.id.table));
  std::string separator;
  for (const DataField& field : schema_version.fields) {
    sql += separator + "  " + QuoteName(field.name) + " " + field.type.ToString();
    if (field.default_value) sql += " DEFAULT " + QuoteText(*field.default_value);
    if (field.description) sql += " COMMENT " + QuoteText(*field.description);
    separator = ",\n";
  }
  auto names = [](const std::vector<std::string>& list) {
    std::string text;
    for (const std::string& name : list) text += (text.empty() ? "" : ", ") + QuoteName(name);
    return text;
  };
  if (!schema_version.primary_keys.empty())
    sql += separator + "  PRIMARY KEY (" + names(schema_version.primary_keys) + ") NOT ENFORCED";
  sql += "\n)";
  if (!schema_version.partition_keys.empty())
    sql += "\nPARTITIONED BY (" + names(schema_version.partition_keys) + ")";
  if (schema_version.comment && !schema_version.comment->empty()) {
    sql += "\nCOMMENT " + QuoteText(*schema_version.comment);
  }
  if (!schema_version.options.empty()) {
    sql += "\nWITH (";
    separator.clear();
    for (const auto& [key, value] : schema_version.options) {
      sql += separator + "\n  " + QuoteText(key) + " = " + QuoteText(value);
      separator = ",";
    }
    sql += "\n)";
  }
  return sql + ";";
}

duckdb::unique_ptr<PaimonSystemTableEntry> PaimonSystemTableEntry::Make(
    duckdb::Catalog& catalog, duckdb::SchemaCatalogEntry& schema, const std::string& entry_name,
    Identifier id, TableContextPtr table, bool travels) {
  duckdb::CreateTableInfo info(schema, entry_name);
  AddColumns(ValueOrThrow(SystemTableFields(*table, id.system_table)), &info);
  auto entry =
      duckdb::unique_ptr<PaimonSystemTableEntry>(new PaimonSystemTableEntry(catalog, schema, info));
  entry->id_ = std::move(id);
  entry->table_ = std::move(table);
  entry->travels_ = travels;
  return entry;
}

duckdb::unique_ptr<PaimonSystemTableEntry> PaimonSystemTableEntry::MakeGlobal(
    duckdb::Catalog& catalog, duckdb::SchemaCatalogEntry& schema, const std::string& entry_name) {
  const std::string table = duckdb::StringUtil::Lower(entry_name);
  auto fields = GlobalTableFields(table);
  if (!fields.ok() && IsNotFound(fields.status())) return nullptr;
  duckdb::CreateTableInfo info(schema, entry_name);
  AddColumns(ValueOrThrow(std::move(fields)), &info);
  auto entry =
      duckdb::unique_ptr<PaimonSystemTableEntry>(new PaimonSystemTableEntry(catalog, schema, info));
  entry->id_.database = "sys";
  entry->id_.table = table;
  return entry;
}

duckdb::unique_ptr<duckdb::BaseStatistics> PaimonSystemTableEntry::GetStatistics(
    duckdb::ClientContext&, duckdb::column_t) {
  return nullptr;
}

duckdb::TableFunction PaimonSystemTableEntry::GetScanFunction(
    duckdb::ClientContext& context, duckdb::unique_ptr<duckdb::FunctionData>& bind_data) {
  auto& warehouse = catalog.Cast<PaimonCatalog>();
  auto source = std::make_shared<SystemTableSource>();
  if (table_ == nullptr) {
    source->fields = ValueOrThrow(GlobalTableFields(id_.table));
    source->read = [core = warehouse.shared_core(), name = id_.table](
                       const std::vector<int>& columns, const CancellationToken& token) {
      return ReadGlobalTable(*core, name, columns, token);
    };
  } else if (id_.system_table == "row_tracking") {
    auto snapshot = travels_ ? ValueOrThrow(ResolveSnapshot(*table_))
                             : ValueOrThrow(warehouse.TransactionOf(context).SnapshotToRead(id_));
    bind_data = BindRowTrackingScan(table_, std::move(snapshot),
                                    ValueOrThrow(SystemTableFields(*table_, id_.system_table)));
    return MakeRowTrackingScan();
  } else {
    source->fields = ValueOrThrow(SystemTableFields(*table_, id_.system_table));
    std::optional<PinnedSnapshot> pinned;
    if (!travels_) {
      pinned.emplace();
      // A damaged snapshot must not hide what is not about snapshots.
      if (ShowsSnapshots(id_.system_table))
        pinned->snapshot = ValueOrThrow(warehouse.TransactionOf(context).PinnedSnapshotOf(id_));
    }
    source->read = [table = table_, name = id_.system_table, pinned](
                       const std::vector<int>& columns, const CancellationToken& token) {
      return ReadSystemTable(*table, name, columns, token, pinned ? &*pinned : nullptr);
    };
  }
  bind_data = BindSystemTableScan(std::move(source));
  return MakeSystemTableScan();
}

duckdb::virtual_column_map_t PaimonSystemTableEntry::GetVirtualColumns() const {
  return PaimonVirtualColumns();
}

duckdb::TableStorageInfo PaimonSystemTableEntry::GetStorageInfo(duckdb::ClientContext&) {
  return duckdb::TableStorageInfo();
}

duckdb::unique_ptr<duckdb::CatalogEntry> MakeRowTableView(
    duckdb::Catalog& catalog, duckdb::SchemaCatalogEntry& schema, const std::string& entry_name,
    const std::string& system_table, const std::string& base, const TableContext& table) {
  // The columns are refused with their reason, if they are.
  const auto fields = ValueOrThrow(SystemTableFields(table, system_table));
  std::string columns;
  for (const DataField& field : fields) {
    const std::string name = QuoteName(field.name);
    if (!columns.empty()) columns += ", ";
    if (&field == &fields[0] && (system_table == "audit_log" || system_table == "binlog")) {
      columns += "'+I' AS " + name;
    } else if (system_table == "binlog") {
      columns += "[" + name + "] AS " + name;
    } else {
      columns += name;
    }
  }
  duckdb::CreateViewInfo info(schema, entry_name);
  info.sql = fmt::format("SELECT {} FROM {}.{}.{}", columns, QuoteName(catalog.GetName()),
                         QuoteName(schema.name), QuoteName(base));
  duckdb::Parser parser;
  parser.ParseQuery(info.sql);
  info.query = duckdb::unique_ptr_cast<duckdb::SQLStatement, duckdb::SelectStatement>(
      std::move(parser.statements[0]));
  return duckdb::make_uniq<duckdb::ViewCatalogEntry>(catalog, schema, info);
}

}  // namespace kelda::sql
