#include "kelda/sql/functions/system_table_scan.h"

#include <algorithm>

#include "kelda/catalog/system_tables.h"
#include "kelda/sql/types/arrow_to_chunk.h"
#include "kelda/sql/types/status_exception.h"

namespace kelda::sql {

namespace {

struct BindData : public duckdb::TableFunctionData {
  TableContextPtr table;
  std::string system_table;

  duckdb::unique_ptr<duckdb::FunctionData> Copy() const override {
    auto copy = duckdb::make_uniq<BindData>();
    copy->table = table;
    copy->system_table = system_table;
    return copy;
  }
  bool Equals(const duckdb::FunctionData& other) const override {
    const auto& data = other.Cast<BindData>();
    return data.table == table && data.system_table == system_table;
  }
};

struct GlobalState : public duckdb::GlobalTableFunctionState {
  std::shared_ptr<arrow::RecordBatch> rows;
  std::vector<DataField> fields;
  std::vector<int>
      output_columns;  ///< for each column of the output, its column in `rows`; -1: a virtual one
  int64_t position = 0;
};

duckdb::unique_ptr<duckdb::GlobalTableFunctionState> Init(duckdb::ClientContext&,
                                                          duckdb::TableFunctionInitInput& input) {
  const auto& bind = input.bind_data->Cast<BindData>();
  auto state = duckdb::make_uniq<GlobalState>();
  auto all = ValueOrThrow(SystemTableFields(bind.system_table));
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
  state->rows = ValueOrThrow(ReadSystemTable(*bind.table, bind.system_table, wanted));
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

duckdb::unique_ptr<duckdb::FunctionData> BindSystemTableScan(TableContextPtr table,
                                                             std::string system_table) {
  auto data = duckdb::make_uniq<BindData>();
  data->table = std::move(table);
  data->system_table = std::move(system_table);
  return data;
}

}  // namespace kelda::sql
