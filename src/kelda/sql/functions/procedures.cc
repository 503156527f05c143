#include "kelda/sql/functions/procedures.h"

#include <algorithm>
#include <array>

#include "duckdb/catalog/catalog_entry/table_function_catalog_entry.hpp"
#include "duckdb/common/string_util.hpp"
#include "duckdb/function/table_function.hpp"
#include "duckdb/main/attached_database.hpp"
#include "duckdb/parser/parsed_data/create_table_function_info.hpp"

#include "kelda/base/status.h"
#include "kelda/sql/functions/compact_procedure.h"
#include "kelda/sql/functions/procedure.h"
#include "kelda/sql/scan/interrupt_watcher.h"
#include "kelda/sql/types/status_exception.h"

namespace kelda::sql {

namespace {

/// Procedures of Paimon 1.4.2 in Spark and Flink (spec 03 §8.1, §8.2).
constexpr std::array kKnownProcedures = {"alter_column_default_value",
                                         "alter_function",
                                         "alter_view_dialect",
                                         "clear_consumers",
                                         "compact",
                                         "compact_database",
                                         "compact_manifest",
                                         "copy",
                                         "create_branch",
                                         "create_function",
                                         "create_global_index",
                                         "create_tag",
                                         "create_tag_from_timestamp",
                                         "create_tag_from_watermark",
                                         "delete_branch",
                                         "delete_tag",
                                         "drop_function",
                                         "drop_global_index",
                                         "drop_partition",
                                         "expire_changelogs",
                                         "expire_partitions",
                                         "expire_snapshots",
                                         "expire_tags",
                                         "fast_forward",
                                         "mark_partition_done",
                                         "merge_into",
                                         "migrate_database",
                                         "migrate_file",
                                         "migrate_iceberg_table",
                                         "migrate_table",
                                         "purge_files",
                                         "query_service",
                                         "refresh_object_table",
                                         "remove_orphan_files",
                                         "remove_unexisting_files",
                                         "remove_unexisting_manifests",
                                         "rename_branch",
                                         "rename_tag",
                                         "repair",
                                         "replace_tag",
                                         "rescale",
                                         "reset_consumer",
                                         "rewrite_file_index",
                                         "rollback",
                                         "rollback_to",
                                         "rollback_to_timestamp",
                                         "rollback_to_watermark",
                                         "trigger_tag_automatic_creation"};

const std::vector<Procedure>& BuiltProcedures() {
  static const std::vector<Procedure> procedures = {MakeCompactProcedure()};
  return procedures;
}

struct FunctionInfo : public duckdb::TableFunctionInfo {
  const Procedure* procedure = nullptr;
  PaimonCatalog* catalog = nullptr;
};

struct BindData : public duckdb::TableFunctionData {
  const Procedure* procedure = nullptr;
  PaimonCatalog* catalog = nullptr;
  std::map<std::string, duckdb::Value> arguments;

  /// A CALL has effects: it is run each time.
  bool SupportStatementCache() const override { return false; }
};

struct RunState : public duckdb::GlobalTableFunctionState {
  bool ran = false;
  std::vector<ProcedureRow> rows;
  size_t position = 0;
};

std::map<std::string, duckdb::Value> CollectArguments(const Procedure& procedure,
                                                      duckdb::TableFunctionBindInput& input) {
  if (input.inputs.size() > procedure.arguments.size()) {
    ThrowError(Invalid("sys.{} takes {} arguments, found {}", procedure.name,
                       procedure.arguments.size(), input.inputs.size()));
  }
  std::map<std::string, duckdb::Value> arguments;
  for (size_t i = 0; i < input.inputs.size(); ++i)
    arguments.emplace(procedure.arguments[i].name, input.inputs[i]);
  for (const auto& [name, value] : input.named_parameters) {
    if (!arguments.emplace(duckdb::StringUtil::Lower(name), value).second)
      ThrowError(Invalid("sys.{} got argument '{}' twice", procedure.name, name));
  }
  for (const Procedure::Argument& argument : procedure.arguments) {
    auto it = arguments.find(argument.name);
    if (argument.required && (it == arguments.end() || it->second.IsNull()))
      ThrowError(Invalid("sys.{} needs argument '{}'", procedure.name, argument.name));
    if (it != arguments.end() && it->second.type() != argument.type)
      it->second = it->second.DefaultCastAs(argument.type);
  }
  return arguments;
}

duckdb::unique_ptr<duckdb::FunctionData> BindProcedure(duckdb::ClientContext&,
                                                       duckdb::TableFunctionBindInput& input,
                                                       duckdb::vector<duckdb::LogicalType>& types,
                                                       duckdb::vector<std::string>& names) {
  const auto& info = input.info->Cast<FunctionInfo>();
  auto data = duckdb::make_uniq<BindData>();
  data->procedure = info.procedure;
  data->catalog = info.catalog;
  data->arguments = CollectArguments(*info.procedure, input);
  for (const Procedure::Column& column : info.procedure->result) {
    names.push_back(column.name);
    types.push_back(column.type);
  }
  return data;
}

duckdb::unique_ptr<duckdb::GlobalTableFunctionState> InitProcedure(
    duckdb::ClientContext&, duckdb::TableFunctionInitInput&) {
  return duckdb::make_uniq<RunState>();
}

void RunProcedure(duckdb::ClientContext& context, duckdb::TableFunctionInput& input,
                  duckdb::DataChunk& output) {
  auto& state = input.global_state->Cast<RunState>();
  const auto& bind = input.bind_data->Cast<BindData>();
  if (!state.ran) {
    state.ran = true;
    PaimonCatalog::RequireAutocommit(context, "CALL sys." + bind.procedure->name);
    if (bind.catalog->GetAttached().IsReadOnly()) {
      ThrowError(Invalid("CALL sys.{}: the warehouse is attached read-only", bind.procedure->name));
    }
    const InterruptWatcher watcher(context);
    state.rows =
        bind.procedure->run(ProcedureCall(context, *bind.catalog, bind.arguments, watcher.token()));
  }
  duckdb::idx_t count = 0;
  for (; state.position < state.rows.size() && count < STANDARD_VECTOR_SIZE;
       ++state.position, ++count) {
    const ProcedureRow& row = state.rows[state.position];
    for (size_t column = 0; column < row.size(); ++column)
      output.SetValue(column, count, row[column]);
  }
  output.SetCardinality(count);
}

duckdb::unique_ptr<duckdb::CatalogEntry> MakeEntry(duckdb::SchemaCatalogEntry& schema,
                                                   const Procedure& procedure) {
  duckdb::TableFunction function(procedure.name, {}, RunProcedure, BindProcedure, InitProcedure);
  function.varargs = duckdb::LogicalType::ANY;
  for (const Procedure::Argument& argument : procedure.arguments)
    function.named_parameters[argument.name] = argument.type;
  auto info = duckdb::make_shared_ptr<FunctionInfo>();
  info->procedure = &procedure;
  info->catalog = &schema.ParentCatalog().Cast<PaimonCatalog>();
  function.function_info = std::move(info);
  duckdb::CreateTableFunctionInfo create{duckdb::TableFunctionSet(std::move(function))};
  create.schema = schema.name;
  return duckdb::make_uniq<duckdb::TableFunctionCatalogEntry>(schema.ParentCatalog(), schema,
                                                              create);
}

}  // namespace

duckdb::optional_ptr<duckdb::CatalogEntry> LookupProcedure(
    duckdb::SchemaCatalogEntry& schema, const std::string& name,
    const std::function<duckdb::optional_ptr<duckdb::CatalogEntry>(
        std::string, duckdb::unique_ptr<duckdb::CatalogEntry>)>& remember) {
  const std::string lower = duckdb::StringUtil::Lower(name);
  for (const Procedure& procedure : BuiltProcedures()) {
    if (procedure.name == lower) return remember(lower, MakeEntry(schema, procedure));
  }
  const bool known = std::any_of(kKnownProcedures.begin(), kKnownProcedures.end(),
                                 [&](const char* procedure) { return lower == procedure; });
  if (known) ThrowError(Unsupported("procedure sys.{}", lower));
  return nullptr;
}

}  // namespace kelda::sql
