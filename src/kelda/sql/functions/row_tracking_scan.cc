#include "kelda/sql/functions/row_tracking_scan.h"

#include <algorithm>
#include <atomic>

#include "duckdb/planner/operator/logical_get.hpp"

#include "kelda/read/file_read.h"
#include "kelda/scan/plan.h"
#include "kelda/sql/scan/interrupt_watcher.h"
#include "kelda/sql/scan/predicate_conversion.h"
#include "kelda/sql/types/arrow_to_chunk.h"
#include "kelda/sql/types/status_exception.h"
#include "kelda/types/special_fields.h"

namespace kelda::sql {

namespace {

struct BindData : public duckdb::TableFunctionData {
  TableContextPtr table;
  std::optional<Snapshot> snapshot;
  std::vector<DataField> fields;
  PredicatePtr predicate;  ///< prunes; null: everything

  duckdb::unique_ptr<duckdb::FunctionData> Copy() const override {
    return duckdb::make_uniq<BindData>(*this);
  }
  bool Equals(const duckdb::FunctionData& other) const override { return this == &other; }
  /// The snapshot is pinned: another execution must bind again.
  bool SupportStatementCache() const override { return false; }
};

/// What one thread reads at a time.
struct Unit {
  const Split* split;
  ReadUnit unit;
};

struct GlobalState : public duckdb::GlobalTableFunctionState {
  ScanPlan plan;
  std::vector<Unit> units;
  std::atomic<size_t> next{0};
  std::vector<DataField> columns;
  /// For each column of the output its place in `columns`; -1: a virtual one.
  std::vector<int> output;
  CancellationToken token;

  duckdb::idx_t MaxThreads() const override { return std::max<size_t>(units.size(), 1); }
};

struct LocalState : public duckdb::LocalTableFunctionState {
  std::unique_ptr<FormatReader> reader;
  std::shared_ptr<arrow::RecordBatch> batch;
  int64_t position = 0;
};

void PushdownFilters(duckdb::ClientContext&, duckdb::LogicalGet& get,
                     duckdb::FunctionData* bind_data,
                     duckdb::vector<duckdb::unique_ptr<duckdb::Expression>>& filters) {
  auto& data = bind_data->Cast<BindData>();
  std::vector<std::string> names;
  for (const DataField& field : data.table->fields()) names.push_back(field.name);
  std::vector<PredicatePtr> all;
  if (data.predicate != nullptr) all.push_back(data.predicate);
  for (const auto& filter : filters) {
    // The filters stay: what is pruned here is a superset.
    const auto converted = ConvertExpression(*filter, get, data.fields);
    const auto split = SplitByColumns(converted.predicate, names);
    if (split.inside != nullptr) all.push_back(split.inside);
  }
  data.predicate = And(std::move(all));
}

duckdb::unique_ptr<duckdb::GlobalTableFunctionState> InitGlobal(
    duckdb::ClientContext& context, duckdb::TableFunctionInitInput& input) {
  const auto& data = input.bind_data->Cast<BindData>();
  auto state = duckdb::make_uniq<GlobalState>();
  for (const duckdb::column_t column : input.column_ids) {
    const bool is_virtual = column >= data.fields.size();
    state->output.push_back(is_virtual ? -1 : static_cast<int>(state->columns.size()));
    if (!is_virtual) state->columns.push_back(data.fields[column]);
  }
  // A count needs rows, so at least one column.
  if (state->columns.empty()) state->columns.push_back(RowIdField());
  ScanRequest request;
  request.snapshot = data.snapshot;
  request.predicate = data.predicate;
  const InterruptWatcher watcher(context);
  request.token = watcher.token();
  state->plan = ValueOrThrow(PlanScan(*data.table, request));
  for (const Split& split : state->plan.splits) {
    for (ReadUnit& unit : ReadUnits(split)) state->units.push_back({&split, std::move(unit)});
  }
  return state;
}

duckdb::unique_ptr<duckdb::LocalTableFunctionState> InitLocal(duckdb::ExecutionContext&,
                                                              duckdb::TableFunctionInitInput&,
                                                              duckdb::GlobalTableFunctionState*) {
  return duckdb::make_uniq<LocalState>();
}

/// Move `local` to rows that are not out yet; false: there are none.
bool FindRows(const BindData& data, GlobalState& global, LocalState* local) {
  while (local->batch == nullptr || local->position == local->batch->num_rows()) {
    if (local->reader == nullptr) {
      const size_t next = global.next++;
      if (next >= global.units.size()) return false;
      TableReadOptions options;
      options.columns = global.columns;
      options.predicate = data.predicate;
      options.token = global.token;
      const Unit& unit = global.units[next];
      local->reader = ValueOrThrow(OpenReadUnit(*data.table, *unit.split, unit.unit, options));
    }
    local->batch = ValueOrThrow(local->reader->Next());
    local->position = 0;
    if (local->batch == nullptr) local->reader.reset();
  }
  return true;
}

void Scan(duckdb::ClientContext& context, duckdb::TableFunctionInput& input,
          duckdb::DataChunk& output) {
  auto& global = input.global_state->Cast<GlobalState>();
  auto& local = input.local_state->Cast<LocalState>();
  if (context.interrupted) {
    global.token.Cancel();
    throw duckdb::InterruptException();
  }
  if (!FindRows(input.bind_data->Cast<BindData>(), global, &local)) return;
  const int64_t count =
      std::min<int64_t>(STANDARD_VECTOR_SIZE, local.batch->num_rows() - local.position);
  for (size_t i = 0; i < global.output.size(); ++i) {
    const int column = global.output[i];
    if (column < 0) {
      output.data[i].SetVectorType(duckdb::VectorType::CONSTANT_VECTOR);
      duckdb::ConstantVector::SetNull(output.data[i], true);
      continue;
    }
    ThrowIfError(ToVector(*local.batch->column(column), local.batch, global.columns[column],
                          local.position, count, &output.data[i]));
  }
  local.position += count;
  output.SetCardinality(static_cast<duckdb::idx_t>(count));
}

}  // namespace

duckdb::TableFunction MakeRowTrackingScan() {
  duckdb::TableFunction function("paimon_row_tracking_scan", {}, Scan, nullptr, InitGlobal,
                                 InitLocal);
  function.projection_pushdown = true;
  function.pushdown_complex_filter = PushdownFilters;
  return function;
}

duckdb::unique_ptr<duckdb::FunctionData> BindRowTrackingScan(TableContextPtr table,
                                                             std::optional<Snapshot> snapshot,
                                                             std::vector<DataField> fields) {
  auto data = duckdb::make_uniq<BindData>();
  data->table = std::move(table);
  data->snapshot = std::move(snapshot);
  data->fields = std::move(fields);
  return data;
}

}  // namespace kelda::sql
