#include "kelda/sql/functions/procedure.h"

#include <algorithm>

#include "duckdb/catalog/catalog_search_path.hpp"
#include "duckdb/main/attached_database.hpp"
#include "duckdb/main/client_data.hpp"
#include "duckdb/main/connection.hpp"
#include "duckdb/main/materialized_query_result.hpp"
#include "duckdb/parser/parser.hpp"

#include "kelda/row/text_cast.h"
#include "kelda/sql/catalog/name_lookup.h"
#include "kelda/sql/catalog/paimon_table_entry.h"
#include "kelda/sql/types/status_exception.h"
#include "kelda/sql/types/value.h"

namespace kelda::sql {

namespace {

std::string Trim(const std::string& text) {
  const size_t begin = text.find_first_not_of(" \t\r\n");
  if (begin == std::string::npos) return "";
  return text.substr(begin, text.find_last_not_of(" \t\r\n") - begin + 1);
}

std::vector<std::string> Split(const std::string& text, char separator) {
  std::vector<std::string> parts;
  size_t begin = 0;
  while (true) {
    const size_t end = text.find(separator, begin);
    parts.push_back(Trim(text.substr(begin, end - begin)));
    if (end == std::string::npos) return parts;
    begin = end + 1;
  }
}

std::pair<std::string, std::string> SplitPair(const std::string& text, std::string_view what) {
  const size_t equals = text.find('=');
  if (equals == std::string::npos || equals == 0)
    ThrowError(Invalid("{} are KEY=VALUE, found '{}'", what, text));
  return {Trim(text.substr(0, equals)), Trim(text.substr(equals + 1))};
}

PredicatePtr IsValue(const std::string& column, std::shared_ptr<arrow::Scalar> value) {
  if (value == nullptr || !value->is_valid) return Leaf(PredicateOp::kIsNull, {column}, {});
  return Leaf(PredicateOp::kEq, {column}, {std::move(value)});
}

const DataField& PartitionField(const TableContext& table, const std::vector<DataField>& fields,
                                const std::string& name) {
  const auto& keys = table.schema->partition_keys;
  const auto found = ValueOrThrow(FindName(keys, name, "column"));
  if (!found) {
    ThrowError(Invalid("table {}: '{}' is not a partition column; they are: {}", table.name, name,
                       keys.empty() ? "none" : fmt::format("{}", fmt::join(keys, ", "))));
  }
  return *std::find_if(fields.begin(), fields.end(),
                       [&](const DataField& field) { return field.name == *found; });
}

/// `where` as one expression, however it is written.
std::string OneExpression(const std::string& where) {
  auto expressions = duckdb::Parser::ParseExpressionList(where);
  if (expressions.size() != 1)
    ThrowError(Invalid("'where' is one condition, found {} in '{}'", expressions.size(), where));
  return expressions[0]->ToString();
}

}  // namespace

std::optional<std::string> ProcedureCall::Text(const std::string& name) const {
  auto it = arguments_.find(name);
  if (it == arguments_.end() || it->second.IsNull()) return std::nullopt;
  std::string text = Trim(it->second.ToString());
  if (text.empty()) return std::nullopt;
  return text;
}

Identifier ProcedureCall::TableOf(const std::string& name) const {
  std::string text = Text(name).value_or("");
  const std::string own = catalog_.GetName() + ".";
  if (std::count(text.begin(), text.end(), '.') > 1 && text.starts_with(own))
    text = text.substr(own.size());
  std::string database = "default";
  const size_t dot = text.find('.');
  if (dot != std::string::npos) {
    database = text.substr(0, dot);
    text = text.substr(dot + 1);
  } else {
    const auto& current = duckdb::ClientData::Get(context_).catalog_search_path->GetDefault();
    if (current.catalog == catalog_.GetName()) database = current.schema;
  }
  auto& core = catalog_.core();
  const auto known =
      ValueOrThrow(FindName(ValueOrThrow(core.ListDatabases()), database, "database"));
  if (!known) ThrowError(NotFound("database '{}' does not exist", database));
  Identifier id = ValueOrThrow(Identifier::Parse(*known, text));
  if (!id.system_table.empty()) ThrowError(Invalid("{} is a system table", id.FullName()));
  if (ValueOrThrow(core.TableExists(id))) return id;
  const auto table =
      ValueOrThrow(FindName(ValueOrThrow(core.ListTables(*known)), id.table, "table"));
  if (table) id.table = *table;
  if (!table || !ValueOrThrow(core.TableExists(id)))
    ThrowError(NotFound("table {} does not exist", id.FullName()));
  return id;
}

std::map<std::string, std::string> ParseOptionsArgument(const std::string& text) {
  std::map<std::string, std::string> options;
  for (const std::string& part : Split(text, ',')) {
    if (!part.empty()) options.insert(SplitPair(part, "options"));
  }
  return options;
}

PredicatePtr ParsePartitionsArgument(const TableContext& table, const std::string& text) {
  const auto fields = table.PartitionFields();
  std::vector<PredicatePtr> any;
  for (const std::string& partition : Split(text, ';')) {
    if (partition.empty()) continue;
    std::vector<PredicatePtr> all;
    for (const std::string& part : Split(partition, ',')) {
      const auto [name, value] = SplitPair(part, "partitions");
      const DataField& field = PartitionField(table, fields, name);
      std::shared_ptr<arrow::Scalar> scalar;
      if (value != table.partition_path_options.default_name)
        scalar = ValueOrThrow(CastFromText(field.type, value));
      all.push_back(IsValue(field.name, std::move(scalar)));
    }
    any.push_back(And(std::move(all)));
  }
  if (any.empty()) ThrowError(Invalid("'partitions' names no partition: '{}'", text));
  return Or(std::move(any));
}

PredicatePtr PartitionsWhere(const ProcedureCall& call, const Identifier& id,
                             const TableContext& table, const std::string& where) {
  const auto fields = table.PartitionFields();
  if (fields.empty())
    ThrowError(Invalid("table {} has no partitions that 'where' could choose", table.name));
  std::string columns;
  for (const DataField& field : fields) {
    if (!columns.empty()) columns += ", ";
    columns += QuoteName(field.name);
  }
  const std::string object = id.branch == "main" ? id.table : id.table + "$branch_" + id.branch;
  // Only partition columns are visible to the condition, and no file is opened for them.
  duckdb::Connection connection(*call.context().db);
  auto result = connection.Query(
      fmt::format("SELECT DISTINCT {0} FROM (SELECT {0} FROM {1}.{2}.{3}) WHERE ({4})", columns,
                  QuoteName(call.catalog().GetName()), QuoteName(id.database), QuoteName(object),
                  OneExpression(where)));
  if (result->HasError()) result->ThrowError("'where' takes partition columns only: ");
  std::vector<PredicatePtr> any;
  for (duckdb::idx_t row = 0; row < result->RowCount(); ++row) {
    std::vector<PredicatePtr> all;
    for (size_t i = 0; i < fields.size(); ++i) {
      all.push_back(IsValue(
          fields[i].name,
          ValueOrThrow(ToScalar(result->GetValue(i, row), fields[i].type, fields[i].name))));
    }
    any.push_back(And(std::move(all)));
  }
  return Or(std::move(any));
}

}  // namespace kelda::sql
