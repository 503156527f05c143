#pragma once

#include <optional>

#include "duckdb/execution/physical_operator.hpp"
#include "duckdb/planner/parsed_data/bound_create_table_info.hpp"

#include "kelda/sql/catalog/paimon_schema_entry.h"
#include "kelda/sql/catalog/paimon_table_entry.h"

namespace kelda::sql {

/// Sink of INSERT, INSERT OVERWRITE and CREATE TABLE AS: chunks become large Arrow batches that go
/// to the core's writer; the files are handed to the transaction, which commits them. Emits the
/// number of rows.
class PaimonInsert : public duckdb::PhysicalOperator {
 public:
  /// INSERT. `keep_order`: one thread writes rows in the order of the query.
  PaimonInsert(duckdb::PhysicalPlan& plan, duckdb::vector<duckdb::LogicalType> types,
               PaimonTableEntry& table, duckdb::idx_t cardinality, bool keep_order);
  /// CREATE TABLE AS.
  PaimonInsert(duckdb::PhysicalPlan& plan, duckdb::vector<duckdb::LogicalType> types,
               PaimonSchemaEntry& schema, duckdb::unique_ptr<duckdb::BoundCreateTableInfo> info,
               duckdb::idx_t cardinality, bool keep_order);

  duckdb::unique_ptr<duckdb::GlobalSinkState> GetGlobalSinkState(
      duckdb::ClientContext& context) const override;
  duckdb::unique_ptr<duckdb::LocalSinkState> GetLocalSinkState(
      duckdb::ExecutionContext& context) const override;
  duckdb::SinkResultType Sink(duckdb::ExecutionContext& context, duckdb::DataChunk& chunk,
                              duckdb::OperatorSinkInput& input) const override;
  duckdb::SinkCombineResultType Combine(duckdb::ExecutionContext& context,
                                        duckdb::OperatorSinkCombineInput& input) const override;
  duckdb::SinkFinalizeType Finalize(duckdb::Pipeline& pipeline, duckdb::Event& event,
                                    duckdb::ClientContext& context,
                                    duckdb::OperatorSinkFinalizeInput& input) const override;
  bool IsSink() const override { return true; }
  bool ParallelSink() const override { return !keep_order_; }
  bool SinkOrderDependent() const override { return keep_order_; }

  bool IsSource() const override { return true; }
  std::string GetName() const override;
  duckdb::InsertionOrderPreservingMap<std::string> ParamsToString() const override;

 protected:
  duckdb::SourceResultType GetDataInternal(duckdb::ExecutionContext& context,
                                           duckdb::DataChunk& chunk,
                                           duckdb::OperatorSourceInput& input) const override;

 private:
  PaimonTableEntry* table_ = nullptr;    ///< INSERT
  PaimonSchemaEntry* schema_ = nullptr;  ///< CREATE TABLE AS
  duckdb::unique_ptr<duckdb::BoundCreateTableInfo> info_;
  bool keep_order_;
};

/// DELETE without a condition, TRUNCATE: an overwrite with nothing. Emits the number of rows that
/// were there.
class PaimonTruncate : public duckdb::PhysicalOperator {
 public:
  PaimonTruncate(duckdb::PhysicalPlan& plan, duckdb::vector<duckdb::LogicalType> types,
                 PaimonTableEntry& table);
  bool IsSource() const override { return true; }
  std::string GetName() const override { return "PAIMON_TRUNCATE"; }
  duckdb::unique_ptr<duckdb::GlobalSourceState> GetGlobalSourceState(
      duckdb::ClientContext& context) const override;

 protected:
  duckdb::SourceResultType GetDataInternal(duckdb::ExecutionContext& context,
                                           duckdb::DataChunk& chunk,
                                           duckdb::OperatorSourceInput& input) const override;

 private:
  PaimonTableEntry& table_;
};

}  // namespace kelda::sql
