#include "kelda/sql/functions/options_function.h"

#include "duckdb/function/table_function.hpp"
#include "duckdb/main/database.hpp"
#include "duckdb/main/extension/extension_loader.hpp"

#include "kelda/options/option_table.h"

namespace kelda::sql {

namespace {

using duckdb::LogicalType;
using duckdb::Value;

struct State : public duckdb::GlobalTableFunctionState {
  size_t position = 0;
};

duckdb::unique_ptr<duckdb::FunctionData> Bind(duckdb::ClientContext&,
                                              duckdb::TableFunctionBindInput&,
                                              duckdb::vector<LogicalType>& types,
                                              duckdb::vector<std::string>& names) {
  for (const char* name : {"key", "fallback_keys", "group", "type", "accepted_values",
                           "default_value", "scope", "mutability", "state", "why", "description"}) {
    names.emplace_back(name);
    types.push_back(LogicalType::VARCHAR);
  }
  return duckdb::make_uniq<duckdb::TableFunctionData>();
}

duckdb::unique_ptr<duckdb::GlobalTableFunctionState> Init(duckdb::ClientContext&,
                                                          duckdb::TableFunctionInitInput&) {
  return duckdb::make_uniq<State>();
}

Value Text(std::string_view text) {
  return text.empty() ? Value(LogicalType::VARCHAR) : Value(std::string(text));
}

void Scan(duckdb::ClientContext&, duckdb::TableFunctionInput& input, duckdb::DataChunk& output) {
  auto& state = input.global_state->Cast<State>();
  const auto options = AllOptions();
  duckdb::idx_t count = 0;
  for (; state.position < options.size() && count < STANDARD_VECTOR_SIZE;
       ++state.position, ++count) {
    const OptionSpec& option = options[state.position];
    output.SetValue(0, count, Text(option.key));
    output.SetValue(1, count, Text(option.fallback_keys));
    output.SetValue(2, count, Text(ToString(option.group)));
    output.SetValue(3, count, Text(ToString(option.type)));
    output.SetValue(4, count, Text(option.values));
    output.SetValue(5, count,
                    option.default_value ? Value(std::string(*option.default_value)) : Text(""));
    output.SetValue(6, count, Text(ScopeText(option.scope)));
    output.SetValue(7, count, Text(ToString(option.mutability)));
    output.SetValue(8, count, Text(ToString(option.state)));
    output.SetValue(9, count, Text(option.why));
    output.SetValue(10, count, Text(option.text));
  }
  output.SetCardinality(count);
}

}  // namespace

void RegisterOptionsFunction(duckdb::DatabaseInstance& database) {
  duckdb::ExtensionLoader loader(database, "kelda");
  loader.RegisterFunction(duckdb::TableFunction("kelda_options", {}, Scan, Bind, Init));
}

}  // namespace kelda::sql
