#include "kelda/sql/catalog/paimon_catalog.h"

#include "duckdb/common/exception/catalog_exception.hpp"
#include "duckdb/main/attached_database.hpp"
#include "duckdb/main/client_context.hpp"
#include "duckdb/parser/parsed_data/create_schema_info.hpp"
#include "duckdb/parser/parsed_data/drop_info.hpp"
#include "duckdb/planner/parsed_data/bound_create_table_info.hpp"
#include "duckdb/storage/database_size.hpp"
#include "duckdb/transaction/transaction_context.hpp"

#include "kelda/base/log.h"
#include "kelda/sql/catalog/name_lookup.h"
#include "kelda/sql/catalog/paimon_schema_entry.h"
#include "kelda/sql/parser/create_table_contract.h"
#include "kelda/sql/types/status_exception.h"

namespace kelda::sql {

PaimonCatalog::PaimonCatalog(duckdb::AttachedDatabase& db, std::shared_ptr<kelda::Catalog> catalog)
    : duckdb::Catalog(db), catalog_(std::move(catalog)) {}

PaimonCatalog::~PaimonCatalog() = default;

PaimonTransaction& PaimonCatalog::TransactionOf(duckdb::ClientContext& context) {
  return duckdb::Transaction::Get(context, *this).Cast<PaimonTransaction>();
}

void PaimonCatalog::RequireAutocommit(duckdb::ClientContext& context, std::string_view what) {
  if (context.transaction.IsAutoCommit()) return;
  ThrowError(Invalid(
      "{} is applied at once and cannot be rolled back; run it outside BEGIN ... COMMIT", what));
}

void PaimonCatalog::Initialize(bool) {}

PaimonSchemaEntry& PaimonCatalog::SchemaEntry(const std::string& name) {
  std::lock_guard lock(mutex_);
  auto it = schemas_.find(name);
  if (it == schemas_.end()) {
    duckdb::CreateSchemaInfo info;
    info.schema = name;
    it = schemas_.emplace(name, duckdb::make_uniq<PaimonSchemaEntry>(*this, info)).first;
  }
  return *it->second;
}

duckdb::optional_ptr<duckdb::CatalogEntry> PaimonCatalog::CreateSchema(
    duckdb::CatalogTransaction transaction, duckdb::CreateSchemaInfo& info) {
  RequireAutocommit(transaction.GetContext(), "CREATE DATABASE");
  const bool ignore = info.on_conflict == duckdb::OnCreateConflict::IGNORE_ON_CONFLICT;
  if (info.on_conflict == duckdb::OnCreateConflict::REPLACE_ON_CONFLICT) {
    ThrowError(Unsupported("CREATE OR REPLACE DATABASE"));
  }
  if (info.tags.contains(std::string(kSchemaPropertyTag) + "location")) {
    ThrowError(Unsupported(
        "CREATE DATABASE {} with a location: a file system warehouse decides where databases lie",
        info.schema));
  }
  // SQL does not tell cases apart, so a second spelling of a name would only cause trouble.
  auto existing =
      ValueOrThrow(FindName(ValueOrThrow(catalog_->ListDatabases()), info.schema, "database"));
  if (existing && *existing != info.schema) {
    if (ignore) return &SchemaEntry(*existing);
    throw duckdb::CatalogException(fmt::format(
        "database '{}' exists, whose name differs from '{}' in case only", *existing, info.schema));
  }
  ThrowIfNameError(catalog_->CreateDatabase(info.schema, ignore));
  if (!existing && !info.tags.empty()) {
    KELDA_LOG(Warn,
              "database '{}': a file system warehouse keeps no comment and no properties of "
              "databases; they are dropped",
              info.schema);
  }
  return &SchemaEntry(info.schema);
}

void PaimonCatalog::DropSchema(duckdb::ClientContext& context, duckdb::DropInfo& info) {
  RequireAutocommit(context, "DROP DATABASE");
  const bool ignore = info.if_not_found == duckdb::OnEntryNotFound::RETURN_NULL;
  auto names = ValueOrThrow(catalog_->ListDatabases());
  auto found = ValueOrThrow(FindName(names, info.name, "database"));
  ThrowIfNameError(catalog_->DropDatabase(found.value_or(info.name), ignore, info.cascade));
}

duckdb::optional_ptr<duckdb::SchemaCatalogEntry> PaimonCatalog::LookupSchema(
    duckdb::CatalogTransaction, const duckdb::EntryLookupInfo& lookup,
    duckdb::OnEntryNotFound if_not_found) {
  const std::string& name = lookup.GetEntryName();
  if (ValueOrThrow(catalog_->DatabaseExists(name))) return &SchemaEntry(name);
  if (name == "sys") return &SchemaEntry(name);
  auto names = ValueOrThrow(catalog_->ListDatabases());
  auto found = ValueOrThrow(FindName(names, name, "database"));
  if (found) return &SchemaEntry(*found);
  if (if_not_found == duckdb::OnEntryNotFound::RETURN_NULL) return nullptr;
  throw duckdb::CatalogException(lookup.GetErrorContext(),
                                 "database '%s' does not exist in warehouse '%s'", name,
                                 catalog_->warehouse());
}

void PaimonCatalog::ScanSchemas(duckdb::ClientContext&,
                                std::function<void(duckdb::SchemaCatalogEntry&)> callback) {
  for (const std::string& name : ValueOrThrow(catalog_->ListDatabases()))
    callback(SchemaEntry(name));
}

duckdb::DatabaseSize PaimonCatalog::GetDatabaseSize(duckdb::ClientContext&) {
  return duckdb::DatabaseSize();
}

duckdb::ErrorData PaimonCatalog::SupportsCreateTable(duckdb::BoundCreateTableInfo& info) {
  if (!info.Base().sort_keys.empty()) {
    return duckdb::ErrorData(duckdb::ExceptionType::NOT_IMPLEMENTED, "SORTED BY of a Paimon table");
  }
  // Partition keys and options are what CREATE TABLE of Paimon is about.
  return duckdb::ErrorData();
}

duckdb::unique_ptr<duckdb::LogicalOperator> PaimonCatalog::BindCreateIndex(
    duckdb::Binder&, duckdb::CreateStatement&, duckdb::TableCatalogEntry& table,
    duckdb::unique_ptr<duckdb::LogicalOperator>) {
  ThrowError(Unsupported("CREATE INDEX on table {}", table.name));
}

}  // namespace kelda::sql
