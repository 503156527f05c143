#include "kelda/sql/functions/system_table_scan.h"

#include <algorithm>

#include "kelda/sql/scan/interrupt_watcher.h"
#include "kelda/sql/types/arrow_to_chunk.h"
#include "kelda/sql/types/status_exception.h"

namespace kelda::sql {

namespace {

struct BindData : public duckdb::TableFunctionData {
  std::shared_ptr<const SystemTableSource> source;

  duckdb::unique_ptr<duckdb::FunctionData> Copy() const override {
    auto copy = duckdb::make_uniq<BindData>();
    copy->source = source;
    return copy;
  }
  bool Equals(const duckdb::FunctionData& other) const override {
    return other.Cast<BindData>().source == source;
  }
  /// What is read may be pinned to a snapshot: another execution must bind again.
  bool SupportStatementCache() const override { return false; }
};

struct GlobalState : public duckdb::GlobalTableFunctionState {
  std::shared_ptr<arrow::RecordBatch> rows;
  std::vector<DataField> fields;
  std::vector<int>
      output_columns;  ///< for each column of the output, its column in `rows`; -1: a virtual one
  int64_t position = 0;
};

duckdb::unique_ptr<duckdb::GlobalTableFunctionState> Init(duckdb::ClientContext& context,
                                                          duckdb::TableFunctionInitInput& input) {
  const auto& bind = input.bind_data->Cast<BindData>();
  auto state = duckdb::make_uniq<GlobalState>();
  const auto& all = bind.source->fields;
  std::vector<int> wanted;
  for (duckdb::column_t column : input.column_ids) {
    if (column >= all.size()) {
      state->output_columns.push_back(-1);
      continue;
    }
    state->output_columns.push_back(static_cast<int>(wanted.size()));
    wanted.push_back(static_cast<int>(column));
    state->fields.push_back(all[column]);
  }
  // A count needs rows, so at least one column.
  if (wanted.empty()) wanted.push_back(0);
  const InterruptWatcher watcher(context);
  state->rows = ValueOrThrow(bind.source->read(wanted, watcher.token()));
  return state;
}

void Scan(duckdb::ClientContext&, duckdb::TableFunctionInput& input, duckdb::DataChunk& output) {
  auto& state = input.global_state->Cast<GlobalState>();
  const int64_t count =
      std::min<int64_t>(STANDARD_VECTOR_SIZE, state.rows->num_rows() - state.position);
  if (count <= 0) return;
  for (size_t i = 0; i < state.output_columns.size(); ++i) {
    const int column = state.output_columns[i];
    if (column < 0) {
      output.data[i].SetVectorType(duckdb::VectorType::CONSTANT_VECTOR);
      duckdb::ConstantVector::SetNull(output.data[i], true);
      continue;
    }
    ThrowIfError(ToVector(*state.rows->column(column), state.rows, state.fields[column],
                          state.position, count, &output.data[i]));
  }
  state.position += count;
  output.SetCardinality(static_cast<duckdb::idx_t>(count));
}

}  // namespace

duckdb::TableFunction MakeSystemTableScan() {
  duckdb::TableFunction function("paimon_system_table_scan", {}, Scan, nullptr, Init);
  function.projection_pushdown = true;
  return function;
}

duckdb::unique_ptr<duckdb::FunctionData> BindSystemTableScan(
    std::shared_ptr<const SystemTableSource> source) {
  auto data = duckdb::make_uniq<BindData>();
  data->source = std::move(source);
  return data;
}

}  // namespace kelda::sql
