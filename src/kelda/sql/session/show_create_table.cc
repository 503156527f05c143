#include "kelda/sql/session/show_create_table.h"

#include <string>
#include <utility>

#include <duckdb/catalog/catalog.hpp>
#include <duckdb/catalog/catalog_entry.hpp>
#include <duckdb/common/types/data_chunk.hpp>
#include <duckdb/function/table_function.hpp>
#include <duckdb/main/extension/extension_loader.hpp>
#include <duckdb/parser/qualified_name.hpp>
#include <duckdb/planner/binder.hpp>

namespace kelda::sql {
namespace {

struct BindData : public duckdb::TableFunctionData {
  std::string sql;
};

struct State : public duckdb::GlobalTableFunctionState {
  bool done = false;
};

duckdb::unique_ptr<duckdb::FunctionData> Bind(duckdb::ClientContext& context,
                                              duckdb::TableFunctionBindInput& input,
                                              duckdb::vector<duckdb::LogicalType>& types,
                                              duckdb::vector<std::string>& names) {
  names.emplace_back("create_statement");
  types.emplace_back(duckdb::LogicalType::VARCHAR);
  duckdb::QualifiedName name = duckdb::QualifiedName::Parse(input.inputs[0].ToString());
  duckdb::Binder::BindSchemaOrCatalog(context, name.catalog, name.schema);
  duckdb::CatalogEntry& entry = duckdb::Catalog::GetEntry(context, duckdb::CatalogType::TABLE_ENTRY,
                                                          name.catalog, name.schema, name.name);
  auto data = duckdb::make_uniq<BindData>();
  data->sql = entry.ToSQL();
  while (!data->sql.empty() && (data->sql.back() == '\n' || data->sql.back() == ' '))
    data->sql.pop_back();
  return data;
}

duckdb::unique_ptr<duckdb::GlobalTableFunctionState> Init(duckdb::ClientContext&,
                                                          duckdb::TableFunctionInitInput&) {
  return duckdb::make_uniq<State>();
}

void Execute(duckdb::ClientContext&, duckdb::TableFunctionInput& input, duckdb::DataChunk& output) {
  auto& state = input.global_state->Cast<State>();
  if (state.done) return;
  state.done = true;
  output.SetValue(0, 0, duckdb::Value(input.bind_data->Cast<BindData>().sql));
  output.SetCardinality(1);
}

}  // namespace

void RegisterShowCreateTable(duckdb::DatabaseInstance& database) {
  duckdb::ExtensionLoader loader(database, "kelda");
  loader.RegisterFunction(duckdb::TableFunction(
      "kelda_show_create_table", {duckdb::LogicalType::VARCHAR}, Execute, Bind, Init));
}

}  // namespace kelda::sql
