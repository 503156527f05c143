#include "kelda/sql/functions/analyze.h"

#include <cmath>

#include "duckdb/catalog/catalog.hpp"
#include "duckdb/execution/expression_executor_state.hpp"
#include "duckdb/function/scalar_function.hpp"
#include "duckdb/function/table_function.hpp"
#include "duckdb/main/attached_database.hpp"
#include "duckdb/main/connection.hpp"
#include "duckdb/main/extension/extension_loader.hpp"
#include "duckdb/parser/parser.hpp"
#include "duckdb/parser/qualified_name.hpp"
#include "duckdb/parser/statement/select_statement.hpp"
#include "duckdb/parser/tableref/subqueryref.hpp"
#include "duckdb/planner/binder.hpp"
#include "duckdb/planner/expression/bound_function_expression.hpp"

#include "kelda/metadata/table_statistics.h"
#include "kelda/scan/plan.h"
#include "kelda/sql/catalog/paimon_catalog.h"
#include "kelda/sql/catalog/paimon_table_entry.h"
#include "kelda/sql/scan/interrupt_watcher.h"
#include "kelda/sql/types/status_exception.h"
#include "kelda/sql/types/value.h"

namespace kelda::sql {

namespace {

using duckdb::ClientContext;
using duckdb::LogicalType;
using duckdb::Value;

/// Arguments of kelda_set_statistics before those of the columns: catalog, schema, table, rows.
constexpr size_t kTableArguments = 4;
/// Of each column: name, distinct values, values, minimum, maximum, average and maximal length.
constexpr size_t kColumnArguments = 7;

duckdb::unique_ptr<duckdb::TableRef> Subquery(const std::string& sql) {
  duckdb::Parser parser;
  parser.ParseQuery(sql);
  return duckdb::make_uniq<duckdb::SubqueryRef>(
      duckdb::unique_ptr_cast<duckdb::SQLStatement, duckdb::SelectStatement>(
          std::move(parser.statements[0])));
}

/// Bytes of a value that always takes as many, as Spark counts them; nullopt for other types.
std::optional<int> FixedLength(const DataType& type) {
  switch (type.root()) {
    case TypeRoot::kBoolean:
    case TypeRoot::kTinyInt:
      return 1;
    case TypeRoot::kSmallInt:
      return 2;
    case TypeRoot::kInt:
    case TypeRoot::kFloat:
    case TypeRoot::kDate:
    case TypeRoot::kTime:
      return 4;
    case TypeRoot::kBigInt:
    case TypeRoot::kDouble:
    case TypeRoot::kTimestamp:
    case TypeRoot::kTimestampLtz:
      return 8;
    case TypeRoot::kDecimal:
      return type.precision() <= 18 ? 8 : 16;
    default:
      return std::nullopt;
  }
}

/// Up to this many rows distinct values are counted exactly: DuckDB's estimate is off by an eighth
/// or more.
constexpr int64_t kExactRowsMax = 1'000'000;

/// The arguments of one column, as SQL over the table; `distinct` is the start of the function that
/// counts distinct values. Texts and bytes get no bounds, which may be long; nested values are only
/// counted.
std::string ColumnArguments(const DataField& field, const std::string& distinct) {
  const std::string name = QuoteName(field.name);
  const std::string head = QuoteText(field.name) + ", ";
  if (const auto length = FixedLength(field.type)) {
    return head + fmt::format("{1}{0}), count({0}), min({0}), max({0}), {2}, {2}", name, distinct,
                              *length);
  }
  if (field.type.IsString() || field.type.IsBytes()) {
    const char* measure = field.type.IsString() ? "length" : "octet_length";
    return head + fmt::format(
                      "{1}{0}), count({0}), NULL, NULL, "
                      "ceil(coalesce(avg({2}({0})), 0))::BIGINT, coalesce(max({2}({0})), 0)",
                      name, distinct, measure);
  }
  return head + fmt::format("NULL, count({0}), NULL, NULL, NULL, NULL", name);
}

/// The field that SQL means by `name`.
const DataField& FieldOf(const PaimonTableEntry& entry, const std::string& name) {
  const auto& fields = entry.table()->fields();
  for (const DataField& field : fields) {
    if (duckdb::StringUtil::CIEquals(field.name, name)) return field;
  }
  ThrowError(Invalid("table {}: there is no column '{}' to analyze", entry.table()->name, name));
}

std::vector<const DataField*> WantedFields(const PaimonTableEntry& entry,
                                           const duckdb::vector<Value>& inputs) {
  std::vector<const DataField*> fields;
  if (inputs.size() < 2 || inputs[1].IsNull()) {
    for (const DataField& field : entry.table()->fields()) fields.push_back(&field);
    return fields;
  }
  for (const Value& name : duckdb::ListValue::GetChildren(inputs[1])) {
    const DataField* field = &FieldOf(entry, name.ToString());
    if (std::find(fields.begin(), fields.end(), field) == fields.end()) fields.push_back(field);
  }
  return fields;
}

duckdb::unique_ptr<duckdb::TableRef> BindAnalyze(ClientContext& context,
                                                 duckdb::TableFunctionBindInput& input) {
  if (input.inputs[0].IsNull()) throw duckdb::BinderException("kelda_analyze: the table is NULL");
  const std::string text = input.inputs[0].ToString();
  auto name = duckdb::QualifiedName::Parse(text);
  duckdb::Binder::BindSchemaOrCatalog(context, name.catalog, name.schema);
  auto& found = duckdb::Catalog::GetEntry(context, duckdb::CatalogType::TABLE_ENTRY, name.catalog,
                                          name.schema, name.name);
  if (found.ParentCatalog().GetCatalogType() != "paimon") {
    return Subquery(
        fmt::format("SELECT kelda_analyze_duckdb({}) AS analyzed_rows", QuoteText(text)));
  }
  const auto* entry = dynamic_cast<const PaimonTableEntry*>(&found);
  if (entry == nullptr)
    ThrowError(Invalid("{} is a system table and has no statistics", found.name));
  if (found.ParentCatalog().GetAttached().IsReadOnly()) {
    ThrowError(Invalid("ANALYZE {}: the warehouse is attached read-only", entry->table()->name));
  }
  std::string arguments =
      fmt::format("{}, {}, {}, count(*)", QuoteText(found.ParentCatalog().GetName()),
                  QuoteText(found.ParentSchema().name), QuoteText(found.name));
  auto& transaction = found.ParentCatalog().Cast<PaimonCatalog>().TransactionOf(context);
  const auto snapshot = ValueOrThrow(transaction.SnapshotToRead(entry->source().id));
  const bool exact = !snapshot || snapshot->total_record_count <= kExactRowsMax;
  for (const DataField* field : WantedFields(*entry, input.inputs))
    arguments +=
        ", " + ColumnArguments(*field, exact ? "count(DISTINCT " : "approx_count_distinct(");
  return Subquery(fmt::format("SELECT kelda_set_statistics({}) AS analyzed_rows FROM {}.{}.{}",
                              arguments, QuoteName(found.ParentCatalog().GetName()),
                              QuoteName(found.ParentSchema().name), QuoteName(found.name)));
}

std::optional<int64_t> OptionalCount(const Value& value) {
  if (value.IsNull()) return std::nullopt;
  return value.GetValue<int64_t>();
}

std::optional<std::string> BoundText(const Value& value, const DataField& field) {
  if (value.IsNull()) return std::nullopt;
  auto scalar = ValueOrThrow(ToScalar(value, field.type, field.name));
  return ValueOrThrow(StatisticsText(field.type, *scalar));
}

AnalyzedColumn StatisticsOfColumn(const DataField& field, int64_t rows,
                                  const std::vector<Value>& values, size_t at) {
  AnalyzedColumn column;
  column.column_id = field.id;
  const int64_t count = values[at + 2].GetValue<int64_t>();
  column.null_count = rows - count;
  column.distinct_count = OptionalCount(values[at + 1]);
  // The count is an estimate; there cannot be more distinct values than values.
  if (column.distinct_count) column.distinct_count = std::min(*column.distinct_count, count);
  column.min = BoundText(values[at + 3], field);
  column.max = BoundText(values[at + 4], field);
  column.average_length = OptionalCount(values[at + 5]);
  column.max_length = OptionalCount(values[at + 6]);
  return column;
}

/// Bytes of the files, less what is deleted of their rows.
int64_t MergedSize(ClientContext& context, const TableContext& table, const Snapshot& snapshot,
                   int64_t merged_rows) {
  const InterruptWatcher watcher(context);
  const auto entries = ValueOrThrow(
      ReadLiveEntries(table, snapshot, nullptr, watcher.token(), /*value_stats=*/false));
  double bytes = 0;
  double rows = 0;
  for (const ManifestEntry& entry : entries) {
    bytes += static_cast<double>(entry.file.file_size);
    rows += static_cast<double>(entry.file.row_count);
  }
  if (rows == 0) return 0;
  return std::llround(bytes * std::min(1.0, static_cast<double>(merged_rows) / rows));
}

/// One row; the transaction takes the statistics.
void SetStatistics(duckdb::DataChunk& arguments, duckdb::ExpressionState& state,
                   duckdb::Vector& result) {
  if (arguments.size() != 1)
    throw duckdb::InvalidInputException("kelda_set_statistics is what ANALYZE calls");
  std::vector<Value> values;
  for (duckdb::idx_t i = 0; i < arguments.ColumnCount(); ++i)
    values.push_back(arguments.data[i].GetValue(0));
  auto& context = state.GetContext();
  auto& catalog = duckdb::Catalog::GetCatalog(context, values[0].ToString());
  if (catalog.GetCatalogType() != "paimon")
    throw duckdb::InvalidInputException("kelda_set_statistics is what ANALYZE calls");
  auto& transaction = catalog.Cast<PaimonCatalog>().TransactionOf(context);
  const auto id = ValueOrThrow(Identifier::Parse(values[1].ToString(), values[2].ToString()));
  const auto table = ValueOrThrow(transaction.Table(id));
  const auto snapshot = ValueOrThrow(transaction.SnapshotToRead(id));
  const int64_t rows = values[3].GetValue<int64_t>();
  // Without a snapshot there is nothing that statistics could be about.
  if (snapshot) {
    TableStatistics statistics;
    statistics.snapshot_id = snapshot->id;
    statistics.schema_id = table->schema->id;
    statistics.merged_record_count = rows;
    statistics.merged_record_size = MergedSize(context, *table, *snapshot, rows);
    for (size_t at = kTableArguments; at + kColumnArguments <= values.size();
         at += kColumnArguments) {
      const int index = table->schema->FieldIndex(values[at].ToString());
      if (index < 0) ThrowError(Invalid("table {} changed during ANALYZE", table->name));
      const DataField& field = table->fields()[static_cast<size_t>(index)];
      statistics.columns.emplace_back(field.name, StatisticsOfColumn(field, rows, values, at));
    }
    ThrowIfError(transaction.SetStatistics(table, std::move(statistics)));
  }
  result.SetVectorType(duckdb::VectorType::CONSTANT_VECTOR);
  duckdb::ConstantVector::GetData<int64_t>(result)[0] = rows;
}

/// DuckDB's ANALYZE of a table of its own; on another connection, since this one is busy.
void AnalyzeDuckdb(duckdb::DataChunk& arguments, duckdb::ExpressionState& state,
                   duckdb::Vector& result) {
  if (arguments.size() != 1)
    throw duckdb::InvalidInputException("kelda_analyze_duckdb is what ANALYZE calls");
  duckdb::Connection connection(*state.GetContext().db);
  auto done = connection.Query("VACUUM ANALYZE " + arguments.data[0].GetValue(0).ToString());
  if (done->HasError()) done->ThrowError();
  result.SetVectorType(duckdb::VectorType::CONSTANT_VECTOR);
  duckdb::ConstantVector::SetNull(result, true);
}

}  // namespace

void RegisterAnalyze(duckdb::DatabaseInstance& database) {
  duckdb::ExtensionLoader loader(database, "kelda");
  duckdb::TableFunctionSet set("kelda_analyze");
  for (duckdb::vector<LogicalType> arguments :
       {duckdb::vector<LogicalType>{LogicalType::VARCHAR},
        duckdb::vector<LogicalType>{LogicalType::VARCHAR,
                                    LogicalType::LIST(LogicalType::VARCHAR)}}) {
    duckdb::TableFunction function(std::move(arguments), nullptr, nullptr, nullptr);
    function.bind_replace = BindAnalyze;
    set.AddFunction(std::move(function));
  }
  loader.RegisterFunction(std::move(set));
  duckdb::ScalarFunction set_statistics(
      "kelda_set_statistics",
      {LogicalType::VARCHAR, LogicalType::VARCHAR, LogicalType::VARCHAR, LogicalType::BIGINT},
      LogicalType::BIGINT, SetStatistics);
  set_statistics.SetVarArgs(LogicalType::ANY);
  set_statistics.SetNullHandling(duckdb::FunctionNullHandling::SPECIAL_HANDLING);
  set_statistics.SetVolatile();
  loader.RegisterFunction(std::move(set_statistics));
  duckdb::ScalarFunction analyze_duckdb("kelda_analyze_duckdb", {LogicalType::VARCHAR},
                                        LogicalType::BIGINT, AnalyzeDuckdb);
  analyze_duckdb.SetVolatile();
  loader.RegisterFunction(std::move(analyze_duckdb));
}

}  // namespace kelda::sql
