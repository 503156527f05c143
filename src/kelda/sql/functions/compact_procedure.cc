#include "kelda/sql/functions/compact_procedure.h"

#include "duckdb/common/string_util.hpp"
#include "duckdb/main/config.hpp"

#include "kelda/base/log.h"
#include "kelda/maintain/compact/compact_table.h"
#include "kelda/maintain/compact/sort_table.h"
#include "kelda/options/option_value.h"
#include "kelda/sql/catalog/name_lookup.h"
#include "kelda/sql/types/status_exception.h"

namespace kelda::sql {

namespace {

std::string Word(const ProcedureCall& call, const std::string& argument,
                 const std::string& otherwise) {
  return duckdb::StringUtil::Lower(call.Text(argument).value_or(otherwise));
}

/// `a, b` as the table spells its columns.
std::vector<std::string> SortColumns(const TableContext& table, const std::string& text) {
  std::vector<std::string> names;
  for (const DataField& field : table.fields()) names.push_back(field.name);
  std::vector<std::string> columns;
  for (std::string part : duckdb::StringUtil::Split(text, ',')) {
    duckdb::StringUtil::Trim(part);
    const auto found = ValueOrThrow(FindName(names, part, "column"));
    if (!found) ThrowError(Invalid("table {}: there is no column '{}'", table.name, part));
    columns.push_back(*found);
  }
  return columns;
}

/// What both kinds of compaction are told of their surroundings.
template <typename Request>
void FillIn(const ProcedureCall& call, const TableContext& table, const Identifier& id,
            Request* request) {
  if (const auto partitions = call.Text("partitions")) {
    request->partitions = ParsePartitionsArgument(table, *partitions);
  } else if (const auto where = call.Text("where")) {
    request->partitions = PartitionsWhere(call, id, table, *where);
  }
  request->token = call.token();
  StatementProgress& progress = call.progress();
  progress.Enter(StatementProgress::Phase::kWriting);
  request->on_progress = [&progress](const CompactProgress& now) {
    progress.rows_written = now.rows;
  };
}

CompactResult Sort(const ProcedureCall& call, const TableContextPtr& table, const Identifier& id,
                   const std::string& order) {
  const auto order_by = call.Text("order_by");
  if (!order_by) ThrowError(Invalid("'order_strategy' = '{}' needs 'order_by'", order));
  if (Word(call, "compact_strategy", "full") != "full")
    ThrowError(
        Invalid("with 'order_strategy' all files are rewritten: 'compact_strategy' is full"));
  if (call.Text("partition_idle_time"))
    ThrowError(Invalid("'partition_idle_time' does not go with 'order_strategy'"));
  SortRequest request;
  request.order = ValueOrThrow(ParseSortOrder(order));
  request.columns = SortColumns(*table, *order_by);
  request.temporary_folder =
      duckdb::DBConfig::GetConfig(call.context()).options.temporary_directory;
  FillIn(call, *table, id, &request);
  return ValueOrThrow(SortTable(table, request));
}

CompactResult Merge(const ProcedureCall& call, const TableContextPtr& table, const Identifier& id) {
  if (call.Text("order_by"))
    ThrowError(Invalid("'order_by' needs 'order_strategy': order, zorder or hilbert"));
  CompactRequest request;
  const std::string strategy = Word(call, "compact_strategy", "full");
  if (strategy == "minor") {
    request.strategy = CompactRequest::Strategy::kMinor;
  } else if (strategy != "full") {
    ThrowError(Invalid("'compact_strategy' is full or minor, found '{}'", strategy));
  }
  if (const auto idle = call.Text("partition_idle_time"))
    request.partition_idle_ms = ValueOrThrow(ParseOptionDuration(*idle)).count();
  FillIn(call, *table, id, &request);
  return ValueOrThrow(CompactTable(table, request));
}

std::vector<ProcedureRow> RunCompact(const ProcedureCall& call) {
  if (call.Text("partitions") && call.Text("where"))
    ThrowError(Invalid("'partitions' and 'where' cannot be given together"));
  const Identifier id = call.TableOf("table");
  std::map<std::string, std::string> options;
  if (const auto text = call.Text("options")) options = ParseOptionsArgument(*text);
  const TableContextPtr table = ValueOrThrow(call.catalog().core().LoadTable(id, options));
  const std::string order = Word(call, "order_strategy", "none");
  const CompactResult done =
      order == "none" ? Merge(call, table, id) : Sort(call, table, id, order);
  KELDA_LOG(Info, "table {}: compaction made {} files of {} in {} tasks, {} given up", table->name,
            done.files_after, done.files_before, done.tasks, done.tasks_given_up);
  return {{duckdb::Value::BOOLEAN(true)}};
}

}  // namespace

Procedure MakeCompactProcedure() {
  const auto text = duckdb::LogicalType::VARCHAR;
  Procedure procedure;
  procedure.name = "compact";
  procedure.arguments = {{"table", text, true},      {"partitions", text},
                         {"compact_strategy", text}, {"order_strategy", text},
                         {"order_by", text},         {"where", text},
                         {"options", text},          {"partition_idle_time", text}};
  procedure.result = {{"result", duckdb::LogicalType::BOOLEAN}};
  procedure.run = RunCompact;
  return procedure;
}

}  // namespace kelda::sql
