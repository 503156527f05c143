#include "kelda/sql/session/show_tables.h"

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include <duckdb/catalog/catalog.hpp>
#include <duckdb/catalog/catalog_entry/schema_catalog_entry.hpp>
#include <duckdb/catalog/catalog_search_path.hpp>
#include <duckdb/common/types/data_chunk.hpp>
#include <duckdb/function/table_function.hpp>
#include <duckdb/main/client_data.hpp>
#include <duckdb/main/database_manager.hpp>
#include <duckdb/main/extension/extension_loader.hpp>
#include <duckdb/parser/qualified_name.hpp>
#include <duckdb/planner/binder.hpp>

#include "kelda/sql/catalog/paimon_schema_entry.h"

namespace kelda::sql {
namespace {

struct State : public duckdb::GlobalTableFunctionState {
  std::vector<std::string> names;
  size_t position = 0;
};

struct BindData : public duckdb::TableFunctionData {
  duckdb::vector<duckdb::CatalogSearchEntry> schemas;
};

/// `catalog.schema`, `schema` or `catalog`, as SHOW TABLES FROM names it.
duckdb::CatalogSearchEntry SchemaOf(duckdb::ClientContext& context, const std::string& text) {
  auto name = duckdb::QualifiedName::Parse(text);
  std::string catalog = name.schema;
  std::string schema = name.name;
  duckdb::Binder::BindSchemaOrCatalog(context, catalog, schema);
  if (schema.empty()) schema = duckdb::Catalog::GetCatalog(context, catalog).GetDefaultSchema();
  return {catalog, schema};
}

duckdb::unique_ptr<duckdb::FunctionData> Bind(duckdb::ClientContext& context,
                                              duckdb::TableFunctionBindInput& input,
                                              duckdb::vector<duckdb::LogicalType>& types,
                                              duckdb::vector<std::string>& names) {
  names.emplace_back("name");
  types.emplace_back(duckdb::LogicalType::VARCHAR);
  auto data = duckdb::make_uniq<BindData>();
  if (!input.inputs.empty()) {
    data->schemas.push_back(SchemaOf(context, input.inputs[0].ToString()));
    return data;
  }
  const auto& path = *duckdb::ClientData::Get(context).catalog_search_path;
  data->schemas.emplace_back(TEMP_CATALOG, DEFAULT_SCHEMA);
  auto current = path.GetDefault();
  if (current.catalog.empty())
    current.catalog = duckdb::DatabaseManager::GetDefaultDatabase(context);
  data->schemas.push_back(std::move(current));
  for (const auto& entry : path.GetSetPaths()) {
    const bool known = std::any_of(
        data->schemas.begin(), data->schemas.end(), [&](const duckdb::CatalogSearchEntry& other) {
          return other.catalog == entry.catalog && other.schema == entry.schema;
        });
    if (!known) data->schemas.push_back(entry);
  }
  return data;
}

void AddNames(duckdb::ClientContext& context, const duckdb::CatalogSearchEntry& place,
              std::vector<std::string>* names) {
  auto& schema = duckdb::Catalog::GetSchema(context, place.catalog, place.schema);
  if (auto* paimon = dynamic_cast<PaimonSchemaEntry*>(&schema)) {
    for (std::string& name : paimon->TableNames()) names->push_back(std::move(name));
    return;
  }
  schema.Scan(context, duckdb::CatalogType::TABLE_ENTRY, [&](duckdb::CatalogEntry& entry) {
    if (!entry.internal) names->push_back(entry.name);
  });
}

duckdb::unique_ptr<duckdb::GlobalTableFunctionState> Init(duckdb::ClientContext& context,
                                                          duckdb::TableFunctionInitInput& input) {
  auto state = duckdb::make_uniq<State>();
  for (const auto& place : input.bind_data->Cast<BindData>().schemas)
    AddNames(context, place, &state->names);
  std::sort(state->names.begin(), state->names.end());
  return state;
}

void Execute(duckdb::ClientContext&, duckdb::TableFunctionInput& input, duckdb::DataChunk& output) {
  auto& state = input.global_state->Cast<State>();
  duckdb::idx_t count = 0;
  for (; state.position < state.names.size() && count < STANDARD_VECTOR_SIZE; ++count)
    output.SetValue(0, count, duckdb::Value(state.names[state.position++]));
  output.SetCardinality(count);
}

}  // namespace

void RegisterShowTables(duckdb::DatabaseInstance& database) {
  duckdb::ExtensionLoader loader(database, "kelda");
  duckdb::TableFunctionSet set("kelda_show_tables");
  set.AddFunction(duckdb::TableFunction({}, Execute, Bind, Init));
  set.AddFunction(duckdb::TableFunction({duckdb::LogicalType::VARCHAR}, Execute, Bind, Init));
  loader.RegisterFunction(std::move(set));
}

}  // namespace kelda::sql
