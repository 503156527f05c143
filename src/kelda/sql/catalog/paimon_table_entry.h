#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "duckdb/catalog/catalog_entry/table_catalog_entry.hpp"
#include "duckdb/parser/parsed_data/create_table_info.hpp"

#include "kelda/catalog/catalog.h"
#include "kelda/sql/parser/table_name_suffix.h"

namespace kelda::sql {

/// One schema version of a Paimon table, perhaps at a chosen snapshot, perhaps as target of a
/// special INSERT.
class PaimonTableEntry : public duckdb::TableCatalogEntry {
 public:
  struct Source {
    Identifier id;
    TableContextPtr table;
    bool travels = false;  ///< options choose the snapshot; else the transaction's pin does
    std::optional<Snapshot> snapshot;  ///< when travels
    std::optional<InsertTarget> insert;
  };
  /// The entry's columns come in the order of `source.insert` if it says so.
  static duckdb::unique_ptr<PaimonTableEntry> Make(duckdb::Catalog& catalog,
                                                   duckdb::SchemaCatalogEntry& schema,
                                                   const std::string& entry_name, Source source);

  const Source& source() const { return source_; }
  const TableContextPtr& table() const { return source_.table; }
  /// For each field of the table, its column in this entry.
  std::vector<int> ColumnOfField() const;

  duckdb::unique_ptr<duckdb::BaseStatistics> GetStatistics(duckdb::ClientContext& context,
                                                           duckdb::column_t column) override;
  duckdb::TableFunction GetScanFunction(
      duckdb::ClientContext& context, duckdb::unique_ptr<duckdb::FunctionData>& bind_data) override;
  duckdb::TableStorageInfo GetStorageInfo(duckdb::ClientContext& context) override;
  void BindUpdateConstraints(duckdb::Binder& binder, duckdb::LogicalGet& get,
                             duckdb::LogicalProjection& projection, duckdb::LogicalUpdate& update,
                             duckdb::ClientContext& context) override;
  duckdb::virtual_column_map_t GetVirtualColumns() const override;
  duckdb::vector<duckdb::column_t> GetRowIdColumns() const override { return {}; }
  /// The statement that makes the table again, in Kelda's spelling.
  std::string ToSQL() const override;

 private:
  PaimonTableEntry(duckdb::Catalog& catalog, duckdb::SchemaCatalogEntry& schema,
                   duckdb::CreateTableInfo& info, Source source)
      : TableCatalogEntry(catalog, schema, info), source_(std::move(source)) {}
  Source source_;
};

/// A system table such as `t$files`, or a table of the database sys; read-only.
class PaimonSystemTableEntry : public duckdb::TableCatalogEntry {
 public:
  /// `travels`: options choose the snapshot; else the transaction's pin does.
  static duckdb::unique_ptr<PaimonSystemTableEntry> Make(duckdb::Catalog& catalog,
                                                         duckdb::SchemaCatalogEntry& schema,
                                                         const std::string& entry_name,
                                                         Identifier id, TableContextPtr table,
                                                         bool travels);
  /// sys.`entry_name`; null if there is no such table.
  static duckdb::unique_ptr<PaimonSystemTableEntry> MakeGlobal(duckdb::Catalog& catalog,
                                                               duckdb::SchemaCatalogEntry& schema,
                                                               const std::string& entry_name);

  duckdb::unique_ptr<duckdb::BaseStatistics> GetStatistics(duckdb::ClientContext& context,
                                                           duckdb::column_t column) override;
  duckdb::TableFunction GetScanFunction(
      duckdb::ClientContext& context, duckdb::unique_ptr<duckdb::FunctionData>& bind_data) override;
  duckdb::TableStorageInfo GetStorageInfo(duckdb::ClientContext& context) override;
  duckdb::virtual_column_map_t GetVirtualColumns() const override;
  duckdb::vector<duckdb::column_t> GetRowIdColumns() const override { return {}; }

 private:
  PaimonSystemTableEntry(duckdb::Catalog& catalog, duckdb::SchemaCatalogEntry& schema,
                         duckdb::CreateTableInfo& info)
      : TableCatalogEntry(catalog, schema, info) {}
  Identifier id_;
  TableContextPtr table_;  ///< null: a table of sys
  bool travels_ = false;
};

/// The view that a row table such as `t$audit_log` is: the rows of `base`, another entry of
/// `schema`, in the form of spec 04 §5.4.
duckdb::unique_ptr<duckdb::CatalogEntry> MakeRowTableView(
    duckdb::Catalog& catalog, duckdb::SchemaCatalogEntry& schema, const std::string& entry_name,
    const std::string& system_table, const std::string& base, const TableContext& table);

/// `name` quoted as an SQL identifier, `text` as an SQL string.
std::string QuoteName(const std::string& name);
std::string QuoteText(const std::string& text);

}  // namespace kelda::sql
