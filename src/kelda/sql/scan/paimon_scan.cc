#include "kelda/sql/scan/paimon_scan.h"

#include "duckdb/catalog/catalog.hpp"
#include "duckdb/catalog/catalog_entry/table_function_catalog_entry.hpp"
#include "duckdb/common/error_data.hpp"
#include "duckdb/common/multi_file/multi_file_states.hpp"
#include "duckdb/parser/tableref/table_function_ref.hpp"
#include "duckdb/planner/operator/logical_get.hpp"
#include "duckdb/storage/statistics/base_statistics.hpp"
#include "duckdb/storage/statistics/numeric_stats.hpp"

#include "kelda/sql/scan/file_reader.h"
#include "kelda/sql/scan/predicate_conversion.h"
#include "kelda/sql/scan/scan_data.h"
#include "kelda/sql/session/statement_progress.h"
#include "kelda/sql/types/status_exception.h"
#include "kelda/sql/types/value.h"

namespace kelda::sql {

namespace {

using duckdb::ClientContext;
using duckdb::FunctionData;
using duckdb::idx_t;

/// A thread is worth it for this much of a file.
constexpr int64_t kBytesPerThread = 4 << 20;

/// DuckDB's `parquet_scan`, with the readers of a plan's files in it, and its states.
struct GlobalState : public duckdb::GlobalTableFunctionState {
  duckdb::TableFunction function;
  PlannedScanPtr plan;
  duckdb::shared_ptr<FileScanInfo> scan;
  /// Of files that DuckDB's reader opened, as far as threads are done.
  std::atomic<int64_t> row_groups_read{0};
  std::atomic<int64_t> row_groups_total{0};
  duckdb::unique_ptr<FunctionData> bind_data;
  duckdb::unique_ptr<duckdb::GlobalTableFunctionState> state;  // refers to bind_data

  idx_t MaxThreads() const override {
    const auto& statistics = plan->plan().statistics;
    const int64_t useful =
        std::max<int64_t>(1, statistics.files_planned + statistics.bytes_planned / kBytesPerThread);
    return std::min<idx_t>(state->MaxThreads(), static_cast<idx_t>(useful));
  }
};

struct LocalState : public duckdb::LocalTableFunctionState {
  duckdb::unique_ptr<duckdb::LocalTableFunctionState> state;  // null: nothing left to read
};

duckdb::TableFunction ParquetScan(ClientContext& context) {
  auto& catalog = duckdb::Catalog::GetSystemCatalog(context);
  auto& entry =
      catalog.GetEntry<duckdb::TableFunctionCatalogEntry>(context, DEFAULT_SCHEMA, "parquet_scan");
  return entry.functions.GetFunctionByArguments(context, {duckdb::LogicalType::VARCHAR});
}

/// The file that the thread was reading when `exception` came out of DuckDB's reader goes into the
/// text. Damaged bytes may look like a defect of DuckDB: never that, or it would close the
/// database.
[[noreturn]] void RethrowNamingFile(const std::exception& exception,
                                    duckdb::LocalTableFunctionState* state) {
  const duckdb::ErrorData error(exception);
  switch (error.Type()) {
    case duckdb::ExceptionType::INTERRUPT:
      throw duckdb::InterruptException();
    case duckdb::ExceptionType::OUT_OF_MEMORY:
      throw duckdb::OutOfMemoryException(error.RawMessage());
    default:
      break;
  }
  std::string path;
  if (state != nullptr) {
    const auto& reader = state->Cast<duckdb::MultiFileLocalState>().reader;
    if (reader) path = reader->GetFileName();
  }
  const std::string& text = error.RawMessage();
  if (path.empty() || text.find(path) != std::string::npos) {
    if (error.Type() == duckdb::ExceptionType::INTERNAL) throw duckdb::IOException(text);
    throw duckdb::Exception(error.Type(), text);
  }
  throw duckdb::IOException(fmt::format("data file '{}': {}", path, text));
}

duckdb::unique_ptr<duckdb::GlobalTableFunctionState> InitGlobal(
    ClientContext& context, duckdb::TableFunctionInitInput& input) {
  const auto& data = input.bind_data->Cast<ScanData>();
  auto global = duckdb::make_uniq<GlobalState>();
  const bool prune = !PruningDisabled(context);
  PredicatePtr extra;
  if (prune && input.filters)
    extra = ConvertTableFilters(*input.filters, input.column_ids, data.table()->fields());
  global->plan = data.PlanWith(context, extra);

  auto progress = StatementProgress::Of(context);
  progress->Enter(StatementProgress::Phase::kReading);
  progress->files_planned += static_cast<int64_t>(global->plan->files().size());
  progress->bytes_planned += global->plan->plan().statistics.bytes_planned;

  global->scan = duckdb::make_shared_ptr<FileScanInfo>();
  global->scan->progress = std::move(progress);
  auto& scan = global->scan;
  scan->table = data.table();
  scan->plan = global->plan;
  scan->types = data.types();
  scan->names = data.names();
  for (const duckdb::column_t column : input.column_ids) {
    if (column < scan->types.size()) {
      scan->columns.push_back(column);
    } else if (column == duckdb::COLUMN_IDENTIFIER_ROW_ID) {
      throw duckdb::NotImplementedException("rowid of a Paimon table");
    }
  }
  scan->prune = prune;
  scan->duckdb_parquet = prune && DuckdbParquetEnabled(context);

  global->function = ParquetScan(context);
  global->function.get_multi_file_reader = MakeFileReader;
  global->function.function_info = scan;
  duckdb::vector<duckdb::Value> inputs{duckdb::Value(data.table()->paths.root())};
  duckdb::named_parameter_map_t parameters;
  duckdb::vector<duckdb::LogicalType> no_types;
  duckdb::vector<std::string> no_names;
  const duckdb::TableFunctionRef ref;
  duckdb::TableFunctionBindInput bind(inputs, parameters, no_types, no_names, nullptr, nullptr,
                                      global->function, ref);
  duckdb::vector<duckdb::LogicalType> types;
  duckdb::vector<std::string> names;
  global->bind_data = global->function.bind(context, bind, types, names);
  // Also tells the bind data about virtual columns, such as the empty one of count(*).
  global->function.get_virtual_columns(context, global->bind_data.get());
  duckdb::TableFunctionInitInput init(global->bind_data.get(), input.column_indexes,
                                      input.projection_ids, input.filters, input.sample_options,
                                      input.op);
  global->state = global->function.init_global(context, init);
  return global;
}

duckdb::unique_ptr<duckdb::LocalTableFunctionState> InitLocal(
    duckdb::ExecutionContext& context, duckdb::TableFunctionInitInput& input,
    duckdb::GlobalTableFunctionState* state) {
  auto& global = state->Cast<GlobalState>();
  auto local = duckdb::make_uniq<LocalState>();
  duckdb::TableFunctionInitInput init(global.bind_data.get(), input.column_indexes,
                                      input.projection_ids, input.filters, input.sample_options,
                                      input.op);
  try {
    local->state = global.function.init_local(context, init, global.state.get());
  } catch (const std::exception& exception) {
    RethrowNamingFile(exception, nullptr);
  }
  return local;
}

/// Add what the thread of `local`, which is done, read with DuckDB's Parquet reader.
void CountRowGroups(ClientContext& context, GlobalState& global, const LocalState& local) {
  using duckdb::MetricType;
  duckdb::profiler_metrics_t metrics;
  global.function.get_metrics(
      context, global.bind_data.get(), *global.state, *local.state,
      {MetricType::OPERATOR_ROW_GROUPS_SCANNED, MetricType::OPERATOR_TOTAL_ROW_GROUPS_TO_SCAN},
      metrics);
  const auto value = [&](MetricType type) {
    auto it = metrics.find(type);
    return it == metrics.end() ? 0 : it->second.GetValue<int64_t>();
  };
  global.row_groups_read += value(MetricType::OPERATOR_ROW_GROUPS_SCANNED);
  // One count for all threads.
  global.row_groups_total = value(MetricType::OPERATOR_TOTAL_ROW_GROUPS_TO_SCAN);
}

void Scan(ClientContext& context, duckdb::TableFunctionInput& input, duckdb::DataChunk& output) {
  auto& global = input.global_state->Cast<GlobalState>();
  auto& local = input.local_state->Cast<LocalState>();
  duckdb::TableFunctionInput inner(global.bind_data.get(), local.state.get(), global.state.get());
  inner.results_execution_mode = input.results_execution_mode;
  try {
    global.function.function(context, inner, output);
  } catch (const std::exception& exception) {
    // Other threads stop when DuckDB has this error: stopped by the token, one of them could report
    // its end first.
    RethrowNamingFile(exception, local.state.get());
  }
  input.async_result = std::move(inner.async_result);
  if (input.async_result.GetResultType() == duckdb::AsyncResultType::FINISHED && local.state) {
    CountRowGroups(context, global, local);
  }
}

double Progress(ClientContext& context, const FunctionData*,
                const duckdb::GlobalTableFunctionState* state) {
  const auto& global = state->Cast<GlobalState>();
  return global.function.table_scan_progress(context, global.bind_data.get(), global.state.get());
}

duckdb::OperatorPartitionData PartitionData(ClientContext& context,
                                            duckdb::TableFunctionGetPartitionInput& input) {
  auto& global = input.global_state->Cast<GlobalState>();
  auto& local = input.local_state->Cast<LocalState>();
  duckdb::TableFunctionGetPartitionInput inner(global.bind_data.get(), local.state.get(),
                                               global.state.get(), input.partition_info);
  return global.function.get_partition_data(context, inner);
}

duckdb::unique_ptr<duckdb::NodeStatistics> Cardinality(ClientContext& context,
                                                       const FunctionData* bind_data) {
  const auto plan = bind_data->Cast<ScanData>().Plan(context);
  const auto rows = static_cast<idx_t>(plan->plan().statistics.rows_planned);
  return duckdb::make_uniq<duckdb::NodeStatistics>(rows, rows);
}

/// Types whose bounds in manifests are exact minima and maxima, and ordered as SQL orders them.
bool HasExactBounds(const DataType& type) {
  switch (type.root()) {
    case TypeRoot::kBoolean:
    case TypeRoot::kTinyInt:
    case TypeRoot::kSmallInt:
    case TypeRoot::kInt:
    case TypeRoot::kBigInt:
    case TypeRoot::kDate:
      return true;
    default:
      return false;
  }
}

bool HasBounds(const DataType& type) {
  return HasExactBounds(type) || type.root() == TypeRoot::kDecimal ||
         type.root() == TypeRoot::kTime || type.root() == TypeRoot::kTimestamp ||
         type.root() == TypeRoot::kTimestampLtz;
}

/// What the plan knows of a column in `file`, or in all files; null: nothing.
duckdb::unique_ptr<duckdb::BaseStatistics> ColumnStatistics(const ScanData& data,
                                                            const PlannedScan& plan, idx_t column,
                                                            std::optional<size_t> file) {
  if (column >= data.types().size()) return nullptr;
  const DataField& field = data.table()->fields()[column];
  if (field.type.IsNested() || field.type.root() == TypeRoot::kVariant) return nullptr;
  const auto bounds = plan.BoundsOf(column, file);
  const auto distinct = file ? std::nullopt : data.DistinctCount(column);
  if (!bounds && !distinct) return nullptr;
  auto statistics = duckdb::BaseStatistics::CreateUnknown(data.types()[column]);
  if (distinct) statistics.SetDistinctCount(static_cast<idx_t>(std::max<int64_t>(*distinct, 1)));
  if (!bounds) return statistics.ToUnique();
  if (bounds->null_count == 0) statistics.Set(duckdb::StatsInfo::CANNOT_HAVE_NULL_VALUES);
  if (HasBounds(field.type) && bounds->min != nullptr && bounds->max != nullptr) {
    auto min = ToValue(*bounds->min, field.type, field.name);
    auto max = ToValue(*bounds->max, field.type, field.name);
    if (min.ok() && max.ok() && *min <= *max) {
      duckdb::NumericStats::SetMin(statistics, *min);
      duckdb::NumericStats::SetMax(statistics, *max);
    }
  }
  return statistics.ToUnique();
}

duckdb::unique_ptr<duckdb::BaseStatistics> Statistics(ClientContext& context,
                                                      const FunctionData* bind_data,
                                                      duckdb::column_t column) {
  const auto& data = bind_data->Cast<ScanData>();
  if (PruningDisabled(context)) return nullptr;
  return ColumnStatistics(data, *data.Plan(context), column, std::nullopt);
}

/// One data file, for count(*), min and max without reading it (spec 04 §6.6).
class FileStatistics : public duckdb::PartitionRowGroup {
 public:
  FileStatistics(duckdb::shared_ptr<ScanData> data, PlannedScanPtr plan, size_t file)
      : data_(std::move(data)), plan_(std::move(plan)), file_(file) {}

  duckdb::unique_ptr<duckdb::BaseStatistics> GetColumnStatistics(
      const duckdb::StorageIndex& index) override {
    if (!index.HasPrimaryIndex() || index.HasChildren()) return nullptr;
    return ColumnStatistics(*data_, *plan_, index.GetPrimaryIndex(), file_);
  }
  bool MinMaxIsExact(const duckdb::BaseStatistics&, const duckdb::StorageIndex& index) override {
    const DataField& field = data_->table()->fields()[index.GetPrimaryIndex()];
    if (!HasExactBounds(field.type)) return false;
    // Bounds of a column of another type are those of its values then, cast.
    const int64_t schema_id = plan_->files()[file_].file->schema_id;
    if (schema_id == data_->table()->schema->id) return true;
    auto written = data_->table()->schemas->Read(schema_id);
    if (!written.ok()) return false;
    for (const DataField& candidate : (*written)->fields) {
      if (candidate.id == field.id) return HasExactBounds(candidate.type);
    }
    return true;
  }

 private:
  duckdb::shared_ptr<ScanData> data_;
  PlannedScanPtr plan_;
  size_t file_;
};

duckdb::vector<duckdb::PartitionStatistics> PartitionStats(ClientContext& context,
                                                           duckdb::GetPartitionStatsInput& input) {
  duckdb::vector<duckdb::PartitionStatistics> result;
  if (PruningDisabled(context)) return result;
  const auto& data = input.bind_data->Cast<ScanData>();
  const auto plan = data.Plan(context);
  const bool has_bounds = !plan->Bounds().empty();
  auto shared =
      has_bounds ? duckdb::make_shared_ptr<ScanData>(data.table(), data.snapshot()) : nullptr;
  for (size_t i = 0; i < plan->files().size(); ++i) {
    duckdb::PartitionStatistics statistics;
    const auto rows = plan->files()[i].LiveRowCount();
    statistics.count = static_cast<idx_t>(rows.value_or(plan->files()[i].unit.row_count));
    statistics.count_type =
        rows ? duckdb::CountType::COUNT_EXACT : duckdb::CountType::COUNT_APPROXIMATE;
    // The row that holds a bound may be a deleted one.
    if (has_bounds && plan->files()[i].deletion == nullptr) {
      statistics.partition_row_group = duckdb::make_shared_ptr<FileStatistics>(shared, plan, i);
    }
    result.push_back(std::move(statistics));
  }
  return result;
}

bool OnlyPartitionColumns(const PredicatePtr& predicate, const TableContext& table) {
  return SplitByColumns(predicate, table.schema->partition_keys).outside == nullptr;
}

/// Filters on partition columns are the plan's alone; others prune and stay.
void PushdownFilters(ClientContext& context, duckdb::LogicalGet& get, FunctionData* bind_data,
                     duckdb::vector<duckdb::unique_ptr<duckdb::Expression>>& filters) {
  auto& data = bind_data->Cast<ScanData>();
  if (!filters.empty()) data.SetFiltered();
  if (PruningDisabled(context)) return;
  duckdb::vector<duckdb::unique_ptr<duckdb::Expression>> remaining;
  for (auto& filter : filters) {
    ConvertedFilter converted = ConvertExpression(*filter, get, data.table()->fields());
    if (converted.predicate != nullptr) data.AddPredicate(converted.predicate);
    const bool done = converted.predicate != nullptr && converted.exact &&
                      OnlyPartitionColumns(converted.predicate, *data.table());
    if (!done) remaining.push_back(std::move(filter));
  }
  filters = std::move(remaining);
}

bool PushdownExpression(ClientContext&, const duckdb::LogicalGet&, duckdb::Expression&) {
  return true;
}

void DescribePlan(const PlannedScan& planned,
                  duckdb::InsertionOrderPreservingMap<std::string>* text) {
  const ScanStatistics& s = planned.plan().statistics;
  if (planned.predicate() != nullptr) (*text)["Pruned by"] = planned.predicate()->ToString();
  (*text)["Manifests"] = fmt::format("{}/{}", s.manifests_read, s.manifests_total);
  (*text)["Partitions"] = fmt::format("{}", s.partitions_planned);
  (*text)["Files"] = fmt::format("{}/{}", s.files_planned, s.files_total);
  if (s.files_skipped_by_index > 0)
    (*text)["Skipped by file index"] = fmt::format("{}", s.files_skipped_by_index);
  (*text)["Rows in files"] = fmt::format("{}", s.rows_planned);
  (*text)["Bytes"] = fmt::format("{}/{}", s.bytes_planned, s.bytes_after_partition);
}

duckdb::InsertionOrderPreservingMap<std::string> ToText(duckdb::TableFunctionToStringInput& input) {
  duckdb::InsertionOrderPreservingMap<std::string> text;
  const auto& data = input.bind_data->Cast<ScanData>();
  text["Table"] = data.table()->name;
  text["Snapshot"] = data.snapshot() ? std::to_string(data.snapshot()->id) : "none";
  if (const auto planned = data.planned()) DescribePlan(*planned, &text);
  return text;
}

/// Row groups read and looked at by DuckDB's reader, of one thread and of all.
void Metrics(ClientContext& context, const FunctionData*,
             duckdb::GlobalTableFunctionState& global_state,
             duckdb::LocalTableFunctionState& local_state,
             const duckdb::profiler_settings_t& requested, duckdb::profiler_metrics_t& metrics) {
  auto& global = global_state.Cast<GlobalState>();
  auto& local = local_state.Cast<LocalState>();
  if (local.state == nullptr) return;
  global.function.get_metrics(context, global.bind_data.get(), *global.state, *local.state,
                              requested, metrics);
}

duckdb::InsertionOrderPreservingMap<std::string> ToTextAfterwards(
    duckdb::TableFunctionDynamicToStringInput& input) {
  duckdb::InsertionOrderPreservingMap<std::string> text;
  const auto& data = input.bind_data->Cast<ScanData>();
  const auto& global = input.global_state->Cast<GlobalState>();
  text["Table"] = data.table()->name;
  text["Snapshot"] = data.snapshot() ? std::to_string(data.snapshot()->id) : "none";
  DescribePlan(*global.plan, &text);
  text["Row groups"] = fmt::format("{}/{}", global.row_groups_read + global.scan->row_groups_read,
                                   global.row_groups_total + global.scan->row_groups_total);
  return text;
}

duckdb::BindInfo GetBindInfo(const duckdb::optional_ptr<FunctionData> bind_data) {
  const auto& data = bind_data->Cast<ScanData>();
  if (data.entry) return duckdb::BindInfo(*data.entry.get_mutable());
  return duckdb::BindInfo(duckdb::ScanType::EXTERNAL);
}

duckdb::virtual_column_map_t VirtualColumns(ClientContext&, duckdb::optional_ptr<FunctionData>) {
  return PaimonVirtualColumns();
}

}  // namespace

duckdb::virtual_column_map_t PaimonVirtualColumns() {
  duckdb::virtual_column_map_t columns;
  columns.insert(
      {duckdb::COLUMN_IDENTIFIER_EMPTY, duckdb::TableColumn("", duckdb::LogicalType::BOOLEAN)});
  return columns;
}

duckdb::TableFunction MakePaimonScan() {
  duckdb::TableFunction function("paimon_scan", {}, Scan, nullptr, InitGlobal, InitLocal);
  function.statistics = Statistics;
  function.cardinality = Cardinality;
  function.pushdown_complex_filter = PushdownFilters;
  function.pushdown_expression = PushdownExpression;
  function.to_string = ToText;
  function.dynamic_to_string = ToTextAfterwards;
  function.get_metrics = Metrics;
  function.table_scan_progress = Progress;
  function.get_partition_data = PartitionData;
  function.get_partition_stats = PartitionStats;
  function.get_bind_info = GetBindInfo;
  function.get_virtual_columns = VirtualColumns;
  function.projection_pushdown = true;
  function.filter_pushdown = true;
  function.filter_prune = true;
  return function;
}

duckdb::unique_ptr<FunctionData> BindPaimonScan(TableContextPtr table,
                                                std::optional<Snapshot> pinned) {
  return duckdb::make_uniq<ScanData>(std::move(table), std::move(pinned));
}

void SetTableEntry(FunctionData& bind_data, duckdb::TableCatalogEntry& entry) {
  bind_data.Cast<ScanData>().entry = entry;
}

}  // namespace kelda::sql
