#pragma once

#include <map>
#include <memory>
#include <mutex>
#include <string>

#include "duckdb/catalog/catalog.hpp"

#include "kelda/catalog/catalog.h"
#include "kelda/sql/catalog/paimon_transaction.h"

namespace kelda::sql {

class PaimonSchemaEntry;

/// A Paimon warehouse as an attached DuckDB database: schemas are Paimon's databases. Entries that
/// plans may refer to (schemas, one per schema version of a table) live until detach.
class PaimonCatalog : public duckdb::Catalog {
 public:
  PaimonCatalog(duckdb::AttachedDatabase& db, std::shared_ptr<kelda::Catalog> catalog);
  ~PaimonCatalog() override;

  kelda::Catalog& core() { return *catalog_; }
  const std::shared_ptr<kelda::Catalog>& shared_core() const { return catalog_; }
  PaimonTransaction& TransactionOf(duckdb::ClientContext& context);
  /// DDL is applied at once and cannot be rolled back: refused inside BEGIN.
  static void RequireAutocommit(duckdb::ClientContext& context, std::string_view what);

  void Initialize(bool load_builtin) override;
  std::string GetCatalogType() override { return "paimon"; }
  duckdb::optional_ptr<duckdb::CatalogEntry> CreateSchema(duckdb::CatalogTransaction transaction,
                                                          duckdb::CreateSchemaInfo& info) override;
  duckdb::optional_ptr<duckdb::SchemaCatalogEntry> LookupSchema(
      duckdb::CatalogTransaction transaction, const duckdb::EntryLookupInfo& lookup,
      duckdb::OnEntryNotFound if_not_found) override;
  void ScanSchemas(duckdb::ClientContext& context,
                   std::function<void(duckdb::SchemaCatalogEntry&)> callback) override;

  duckdb::PhysicalOperator& PlanCreateTableAs(duckdb::ClientContext& context,
                                              duckdb::PhysicalPlanGenerator& planner,
                                              duckdb::LogicalCreateTable& op,
                                              duckdb::PhysicalOperator& plan) override;
  duckdb::PhysicalOperator& PlanInsert(
      duckdb::ClientContext& context, duckdb::PhysicalPlanGenerator& planner,
      duckdb::LogicalInsert& op, duckdb::optional_ptr<duckdb::PhysicalOperator> plan) override;
  duckdb::PhysicalOperator& PlanDelete(duckdb::ClientContext& context,
                                       duckdb::PhysicalPlanGenerator& planner,
                                       duckdb::LogicalDelete& op) override;
  duckdb::PhysicalOperator& PlanDelete(duckdb::ClientContext& context,
                                       duckdb::PhysicalPlanGenerator& planner,
                                       duckdb::LogicalDelete& op,
                                       duckdb::PhysicalOperator& plan) override;
  duckdb::PhysicalOperator& PlanUpdate(duckdb::ClientContext& context,
                                       duckdb::PhysicalPlanGenerator& planner,
                                       duckdb::LogicalUpdate& op,
                                       duckdb::PhysicalOperator& plan) override;
  duckdb::PhysicalOperator& PlanMergeInto(duckdb::ClientContext& context,
                                          duckdb::PhysicalPlanGenerator& planner,
                                          duckdb::LogicalMergeInto& op,
                                          duckdb::PhysicalOperator& plan) override;
  duckdb::unique_ptr<duckdb::LogicalOperator> BindCreateIndex(
      duckdb::Binder& binder, duckdb::CreateStatement& stmt, duckdb::TableCatalogEntry& table,
      duckdb::unique_ptr<duckdb::LogicalOperator> plan) override;

  duckdb::DatabaseSize GetDatabaseSize(duckdb::ClientContext& context) override;
  bool InMemory() override { return false; }
  std::string GetDBPath() override { return catalog_->warehouse(); }
  bool SupportsTimeTravel() const override { return true; }
  duckdb::ErrorData SupportsCreateTable(duckdb::BoundCreateTableInfo& info) override;
  std::string GetDefaultSchema() const override { return "default"; }

 private:
  void DropSchema(duckdb::ClientContext& context, duckdb::DropInfo& info) override;
  PaimonSchemaEntry& SchemaEntry(const std::string& name);

  std::shared_ptr<kelda::Catalog> catalog_;
  std::mutex mutex_;
  std::map<std::string, duckdb::unique_ptr<PaimonSchemaEntry>> schemas_;
};

}  // namespace kelda::sql
