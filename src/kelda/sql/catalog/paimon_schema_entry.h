#pragma once

#include <map>
#include <mutex>
#include <string>

#include "duckdb/catalog/catalog_entry/schema_catalog_entry.hpp"

#include "kelda/catalog/catalog.h"

namespace kelda::sql {

class PaimonCatalog;
class PaimonTableEntry;

/// A Paimon database. Table entries are made when they are asked for.
class PaimonSchemaEntry : public duckdb::SchemaCatalogEntry {
 public:
  PaimonSchemaEntry(duckdb::Catalog& catalog, duckdb::CreateSchemaInfo& info);
  ~PaimonSchemaEntry() override;

  PaimonCatalog& paimon_catalog() const;

  void Scan(duckdb::ClientContext& context, duckdb::CatalogType type,
            const std::function<void(duckdb::CatalogEntry&)>& callback) override;
  void Scan(duckdb::CatalogType type,
            const std::function<void(duckdb::CatalogEntry&)>& callback) override;
  duckdb::optional_ptr<duckdb::CatalogEntry> LookupEntry(
      duckdb::CatalogTransaction transaction, const duckdb::EntryLookupInfo& lookup) override;
  duckdb::optional_ptr<duckdb::CatalogEntry> CreateTable(
      duckdb::CatalogTransaction transaction, duckdb::BoundCreateTableInfo& info) override;
  void DropEntry(duckdb::ClientContext& context, duckdb::DropInfo& info) override;
  void Alter(duckdb::CatalogTransaction transaction, duckdb::AlterInfo& info) override;

  /// A table that CREATE TABLE made.
  struct CreatedTable {
    Identifier id;
    /// CREATE OR REPLACE: the table whose place `id`, made under another name, is to take.
    std::optional<Identifier> replaces;
  };
  /// Make the table of a CREATE TABLE; nullopt if IF NOT EXISTS finds one of that name. Names that
  /// differ in case only count as the same.
  std::optional<CreatedTable> CreateNewTable(duckdb::ClientContext& context,
                                             const duckdb::CreateTableInfo& info);
  /// Names of the tables, which are not looked at.
  std::vector<std::string> TableNames() const;
  /// Entry of a table as it is now.
  duckdb::TableCatalogEntry& TableEntry(duckdb::ClientContext& context, const std::string& name);

  duckdb::optional_ptr<duckdb::CatalogEntry> CreateIndex(duckdb::CatalogTransaction,
                                                         duckdb::CreateIndexInfo&,
                                                         duckdb::TableCatalogEntry&) override;
  duckdb::optional_ptr<duckdb::CatalogEntry> CreateFunction(duckdb::CatalogTransaction,
                                                            duckdb::CreateFunctionInfo&) override;
  duckdb::optional_ptr<duckdb::CatalogEntry> CreateView(duckdb::CatalogTransaction,
                                                        duckdb::CreateViewInfo&) override;
  duckdb::optional_ptr<duckdb::CatalogEntry> CreateSequence(duckdb::CatalogTransaction,
                                                            duckdb::CreateSequenceInfo&) override;
  duckdb::optional_ptr<duckdb::CatalogEntry> CreateTableFunction(
      duckdb::CatalogTransaction, duckdb::CreateTableFunctionInfo&) override;
  duckdb::optional_ptr<duckdb::CatalogEntry> CreateCopyFunction(
      duckdb::CatalogTransaction, duckdb::CreateCopyFunctionInfo&) override;
  duckdb::optional_ptr<duckdb::CatalogEntry> CreatePragmaFunction(
      duckdb::CatalogTransaction, duckdb::CreatePragmaFunctionInfo&) override;
  duckdb::optional_ptr<duckdb::CatalogEntry> CreateCollation(duckdb::CatalogTransaction,
                                                             duckdb::CreateCollationInfo&) override;
  duckdb::optional_ptr<duckdb::CatalogEntry> CreateType(duckdb::CatalogTransaction,
                                                        duckdb::CreateTypeInfo&) override;

 private:
  duckdb::optional_ptr<duckdb::CatalogEntry> LookupTable(duckdb::ClientContext& context,
                                                         const duckdb::EntryLookupInfo& lookup);
  /// A table of the database sys; null: there is none of that name.
  duckdb::optional_ptr<duckdb::CatalogEntry> LookupGlobalTable(const std::string& table);
  /// The table that SQL means by `object_name`, which may name a branch or a system table.
  std::optional<Identifier> FindTable(const std::string& object_name);
  /// Newest schema of a table with dynamic options; the schema that the transaction has pinned
  /// already, if it has.
  TableContextPtr LoadTable(duckdb::ClientContext& context, const Identifier& id,
                            const std::map<std::string, std::string>& options, bool travels);
  duckdb::optional_ptr<duckdb::CatalogEntry> Remember(
      std::string key, duckdb::unique_ptr<duckdb::CatalogEntry> entry);

  std::mutex mutex_;
  /// By everything that an entry shows; never removed before detach, because plans refer to
  /// entries.
  std::map<std::string, duckdb::unique_ptr<duckdb::CatalogEntry>> entries_;
};

}  // namespace kelda::sql
