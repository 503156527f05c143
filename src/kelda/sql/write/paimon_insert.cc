#include "kelda/sql/write/paimon_insert.h"

#include "duckdb/main/client_context.hpp"

#include "kelda/catalog/catalog.h"
#include "kelda/sql/catalog/create_table.h"
#include "kelda/sql/catalog/paimon_catalog.h"
#include "kelda/sql/session/statement_progress.h"
#include "kelda/sql/types/chunk_to_arrow.h"
#include "kelda/sql/types/status_exception.h"
#include "kelda/write/append_writer.h"

namespace kelda::sql {

namespace {

/// Wide rows are handed over before they number kBatchRows.
constexpr int64_t kBatchBytesMax = 64 << 20;

struct InsertGlobalState : public duckdb::GlobalSinkState {
  TableContextPtr table;
  std::vector<int> column_of_field;
  AppendWriter* writer = nullptr;  ///< the transaction's; null: nothing is to be written
  CancellationToken token;
  PaimonTransaction* transaction = nullptr;
  int64_t rows = 0;
  duckdb::shared_ptr<StatementProgress> progress;
};

struct InsertLocalState : public duckdb::LocalSinkState {
  std::unique_ptr<ChunkToArrow> collected;
};

void HandOver(InsertLocalState& local, InsertGlobalState& global) {
  auto batch = ValueOrThrow(local.collected->Finish());
  if (batch == nullptr) return;
  ThrowIfError(global.writer->Write(std::move(batch)));
  global.progress->rows_written = global.writer->rows_written();
  global.progress->bytes_written = global.writer->bytes_written();
}

/// What INSERT OVERWRITE replaces (spec 02 §8.2): with static partition values those partitions,
/// else those that rows come for or all, as `dynamic-partition-overwrite` says.
std::optional<Committer::OverwriteSpec> OverwriteOf(const PaimonTableEntry& entry) {
  const auto& insert = entry.source().insert;
  if (!insert || !insert->overwrite) return std::nullopt;
  Committer::OverwriteSpec spec;
  spec.dynamic = ValueOrThrow(entry.table()->options.Get(OptionKeys::kDynamicPartitionOverwrite)) &&
                 entry.table()->partitioned() && insert->static_partition.empty();
  for (const auto& [column, value] : insert->static_partition)
    spec.static_partition[column] = value;
  return spec;
}

}  // namespace

PaimonInsert::PaimonInsert(duckdb::PhysicalPlan& plan, duckdb::vector<duckdb::LogicalType> types,
                           PaimonTableEntry& table, duckdb::idx_t cardinality, bool keep_order)
    : PhysicalOperator(plan, duckdb::PhysicalOperatorType::EXTENSION, std::move(types),
                       cardinality),
      table_(&table),
      keep_order_(keep_order) {}

PaimonInsert::PaimonInsert(duckdb::PhysicalPlan& plan, duckdb::vector<duckdb::LogicalType> types,
                           PaimonSchemaEntry& schema,
                           duckdb::unique_ptr<duckdb::BoundCreateTableInfo> info,
                           duckdb::idx_t cardinality, bool keep_order)
    : PhysicalOperator(plan, duckdb::PhysicalOperatorType::EXTENSION, std::move(types),
                       cardinality),
      schema_(&schema),
      info_(std::move(info)),
      keep_order_(keep_order) {}

std::string PaimonInsert::GetName() const {
  if (table_ == nullptr) return "PAIMON_CREATE_TABLE_AS";
  return OverwriteOf(*table_) ? "PAIMON_INSERT_OVERWRITE" : "PAIMON_INSERT";
}

duckdb::InsertionOrderPreservingMap<std::string> PaimonInsert::ParamsToString() const {
  duckdb::InsertionOrderPreservingMap<std::string> params;
  params["Table"] = table_ != nullptr ? table_->table()->name : info_->Base().table;
  return params;
}

duckdb::unique_ptr<duckdb::GlobalSinkState> PaimonInsert::GetGlobalSinkState(
    duckdb::ClientContext& context) const {
  auto state = duckdb::make_uniq<InsertGlobalState>();
  PaimonTableEntry* entry = table_;
  if (entry == nullptr) {
    const auto created = schema_->CreateNewTable(context, info_->Base());
    if (!created) return state;
    schema_->paimon_catalog().TransactionOf(context).OwnCreatedTable(created->id,
                                                                     created->replaces);
    entry = &schema_->TableEntry(context, created->id.table).Cast<PaimonTableEntry>();
  }
  state->table = entry->table();
  state->column_of_field = entry->ColumnOfField();
  state->transaction = &entry->catalog.Cast<PaimonCatalog>().TransactionOf(context);
  ThrowIfError(state->transaction->StartWrite(state->table, OverwriteOf(*entry)));
  AppendWriterOptions options;
  options.token = state->token;
  options.overwrite = OverwriteOf(*entry).has_value();
  // One lane keeps the order of rows.
  if (keep_order_) options.parallelism = 1;
  state->progress = StatementProgress::Of(context);
  state->progress->Enter(StatementProgress::Phase::kWriting);
  state->writer =
      &state->transaction->AddWriter(ValueOrThrow(AppendWriter::Make(state->table, options)));
  return state;
}

duckdb::unique_ptr<duckdb::LocalSinkState> PaimonInsert::GetLocalSinkState(
    duckdb::ExecutionContext&) const {
  return duckdb::make_uniq<InsertLocalState>();
}

duckdb::SinkResultType PaimonInsert::Sink(duckdb::ExecutionContext& context,
                                          duckdb::DataChunk& chunk,
                                          duckdb::OperatorSinkInput& input) const {
  auto& global = input.global_state.Cast<InsertGlobalState>();
  auto& local = input.local_state.Cast<InsertLocalState>();
  if (context.client.interrupted) {
    global.token.Cancel();
    throw duckdb::InterruptException();
  }
  if (global.writer == nullptr) return duckdb::SinkResultType::FINISHED;
  if (local.collected == nullptr)
    local.collected = ValueOrThrow(ChunkToArrow::Make(global.table->fields()));
  ThrowIfError(local.collected->Append(chunk, global.column_of_field));
  if (local.collected->rows() >= kBatchRows || local.collected->bytes() >= kBatchBytesMax)
    HandOver(local, global);
  return duckdb::SinkResultType::NEED_MORE_INPUT;
}

duckdb::SinkCombineResultType PaimonInsert::Combine(duckdb::ExecutionContext&,
                                                    duckdb::OperatorSinkCombineInput& input) const {
  auto& local = input.local_state.Cast<InsertLocalState>();
  if (local.collected != nullptr) HandOver(local, input.global_state.Cast<InsertGlobalState>());
  return duckdb::SinkCombineResultType::FINISHED;
}

duckdb::SinkFinalizeType PaimonInsert::Finalize(duckdb::Pipeline&, duckdb::Event&,
                                                duckdb::ClientContext&,
                                                duckdb::OperatorSinkFinalizeInput& input) const {
  auto& global = input.global_state.Cast<InsertGlobalState>();
  if (global.writer == nullptr) return duckdb::SinkFinalizeType::READY;
  global.rows = global.writer->rows_written();
  ThrowIfError(global.transaction->FinishWriter(*global.writer));
  global.writer = nullptr;
  return duckdb::SinkFinalizeType::READY;
}

duckdb::SourceResultType PaimonInsert::GetDataInternal(duckdb::ExecutionContext&,
                                                       duckdb::DataChunk& chunk,
                                                       duckdb::OperatorSourceInput&) const {
  chunk.SetCardinality(1);
  chunk.SetValue(0, 0, duckdb::Value::BIGINT(sink_state->Cast<InsertGlobalState>().rows));
  return duckdb::SourceResultType::FINISHED;
}

PaimonTruncate::PaimonTruncate(duckdb::PhysicalPlan& plan,
                               duckdb::vector<duckdb::LogicalType> types, PaimonTableEntry& table)
    : PhysicalOperator(plan, duckdb::PhysicalOperatorType::EXTENSION, std::move(types), 1),
      table_(table) {}

duckdb::unique_ptr<duckdb::GlobalSourceState> PaimonTruncate::GetGlobalSourceState(
    duckdb::ClientContext&) const {
  return duckdb::make_uniq<duckdb::GlobalSourceState>();
}

duckdb::SourceResultType PaimonTruncate::GetDataInternal(duckdb::ExecutionContext& context,
                                                         duckdb::DataChunk& chunk,
                                                         duckdb::OperatorSourceInput&) const {
  auto& transaction = table_.catalog.Cast<PaimonCatalog>().TransactionOf(context.client);
  auto snapshot = ValueOrThrow(transaction.SnapshotToRead(table_.source().id));
  Committer::OverwriteSpec everything;
  everything.dynamic = false;
  ThrowIfError(transaction.StartWrite(table_.table(), everything));
  chunk.SetCardinality(1);
  chunk.SetValue(0, 0, duckdb::Value::BIGINT(snapshot ? snapshot->total_record_count : 0));
  return duckdb::SourceResultType::FINISHED;
}

}  // namespace kelda::sql
