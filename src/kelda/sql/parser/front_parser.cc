#include "kelda/sql/parser/front_parser.h"

#include <string>
#include <utility>

#include <duckdb/common/error_data.hpp>
#include <duckdb/main/config.hpp>
#include <duckdb/parser/expression/subquery_expression.hpp>
#include <duckdb/parser/parsed_data/create_info.hpp>
#include <duckdb/parser/parsed_data/create_table_info.hpp>
#include <duckdb/parser/parsed_data/create_view_info.hpp>
#include <duckdb/parser/parsed_expression_iterator.hpp>
#include <duckdb/parser/parser.hpp>
#include <duckdb/parser/parser_extension.hpp>
#include <duckdb/parser/statement/alter_statement.hpp>
#include <duckdb/parser/statement/create_statement.hpp>
#include <duckdb/parser/statement/delete_statement.hpp>
#include <duckdb/parser/statement/explain_statement.hpp>
#include <duckdb/parser/statement/insert_statement.hpp>
#include <duckdb/parser/statement/prepare_statement.hpp>
#include <duckdb/parser/statement/select_statement.hpp>
#include <duckdb/parser/statement/update_statement.hpp>

#include "kelda/sql/parser/alter_table_contract.h"
#include "kelda/sql/parser/create_table_contract.h"
#include "kelda/sql/parser/statement_rewriter.h"

namespace kelda::sql {
namespace {

using Statements = duckdb::vector<duckdb::unique_ptr<duckdb::SQLStatement>>;

/// Moves the positions that errors of binding show from the rewritten text to what the user wrote.
class LocationMapper {
 public:
  explicit LocationMapper(const Rewritten& rewritten) : rewritten_(rewritten) {}

  void Map(duckdb::SQLStatement& statement);

 private:
  void Map(duckdb::optional_idx& location) {
    if (location.IsValid()) location = rewritten_.OriginalPosition(location.GetIndex());
  }
  void Map(duckdb::QueryNode& node) {
    duckdb::ParsedExpressionIterator::EnumerateQueryNodeChildren(
        node, [this](duckdb::unique_ptr<duckdb::ParsedExpression>& child) { Map(*child); },
        [this](duckdb::TableRef& ref) { Map(ref.query_location); });
  }
  void Map(duckdb::ParsedExpression& expression) {
    duckdb::optional_idx location = expression.GetQueryLocation();
    Map(location);
    expression.SetQueryLocation(location);
    if (expression.GetExpressionClass() == duckdb::ExpressionClass::SUBQUERY) {
      Map(*expression.Cast<duckdb::SubqueryExpression>().subquery->node);
    }
    duckdb::ParsedExpressionIterator::EnumerateChildren(
        expression, [this](duckdb::ParsedExpression& child) { Map(child); });
  }
  void Map(duckdb::TableRef& ref) {
    duckdb::ParsedExpressionIterator::EnumerateTableRefChildren(
        ref, [this](duckdb::unique_ptr<duckdb::ParsedExpression>& child) { Map(*child); },
        [this](duckdb::TableRef& child) { Map(child.query_location); });
  }
  void MapCreate(duckdb::CreateInfo& info);

  const Rewritten& rewritten_;
};

void LocationMapper::MapCreate(duckdb::CreateInfo& info) {
  if (info.type == duckdb::CatalogType::TABLE_ENTRY) {
    auto& table = info.Cast<duckdb::CreateTableInfo>();
    if (table.query) Map(*table.query->node);
  } else if (info.type == duckdb::CatalogType::VIEW_ENTRY) {
    auto& view = info.Cast<duckdb::CreateViewInfo>();
    if (view.query) Map(*view.query->node);
  }
}

void LocationMapper::Map(duckdb::SQLStatement& statement) {
  switch (statement.type) {
    case duckdb::StatementType::SELECT_STATEMENT:
      return Map(*statement.Cast<duckdb::SelectStatement>().node);
    case duckdb::StatementType::INSERT_STATEMENT: {
      auto& insert = statement.Cast<duckdb::InsertStatement>();
      if (insert.table_ref) Map(*insert.table_ref);
      if (insert.select_statement) Map(*insert.select_statement->node);
      for (auto& expression : insert.returning_list) Map(*expression);
      return;
    }
    case duckdb::StatementType::UPDATE_STATEMENT: {
      auto& update = statement.Cast<duckdb::UpdateStatement>();
      Map(*update.table);
      if (update.from_table) Map(*update.from_table);
      if (!update.set_info) return;
      for (auto& expression : update.set_info->expressions) Map(*expression);
      if (update.set_info->condition) Map(*update.set_info->condition);
      return;
    }
    case duckdb::StatementType::DELETE_STATEMENT: {
      auto& remove = statement.Cast<duckdb::DeleteStatement>();
      Map(*remove.table);
      for (auto& ref : remove.using_clauses) Map(*ref);
      if (remove.condition) Map(*remove.condition);
      return;
    }
    case duckdb::StatementType::CREATE_STATEMENT:
      return MapCreate(*statement.Cast<duckdb::CreateStatement>().info);
    case duckdb::StatementType::EXPLAIN_STATEMENT:
      return Map(*statement.Cast<duckdb::ExplainStatement>().stmt);
    case duckdb::StatementType::PREPARE_STATEMENT:
      return Map(*statement.Cast<duckdb::PrepareStatement>().statement);
    default:
      return;
  }
}

duckdb::CreateInfo* FindCreateInfo(duckdb::SQLStatement& statement) {
  switch (statement.type) {
    case duckdb::StatementType::CREATE_STATEMENT:
      return statement.Cast<duckdb::CreateStatement>().info.get();
    case duckdb::StatementType::EXPLAIN_STATEMENT:
      return FindCreateInfo(*statement.Cast<duckdb::ExplainStatement>().stmt);
    case duckdb::StatementType::PREPARE_STATEMENT:
      return FindCreateInfo(*statement.Cast<duckdb::PrepareStatement>().statement);
    default:
      return nullptr;
  }
}

void SetColumnComment(duckdb::CreateTableInfo& info, const std::string& column,
                      const std::string& comment) {
  if (!info.columns.ColumnExists(column)) return;
  info.columns.GetColumnMutable(column).SetComment(duckdb::Value(comment));
}

/// create_table_contract.h.
void ApplyTags(const Rewritten& rewritten, duckdb::CreateInfo& info) {
  for (const auto& [key, value] : rewritten.tags) {
    info.tags[key] = value;
    if (key == kCommentTag) info.comment = duckdb::Value(value);
    if (info.type == duckdb::CatalogType::TABLE_ENTRY && key.starts_with(kColumnCommentTag)) {
      SetColumnComment(info.Cast<duckdb::CreateTableInfo>(), key.substr(kColumnCommentTag.size()),
                       value);
    }
  }
}

/// alter_table_contract.h.
void ApplyTags(const Rewritten& rewritten, duckdb::AlterStatement& statement) {
  if (rewritten.tags.empty() || statement.info->type != duckdb::AlterType::ALTER_TABLE) return;
  auto& info = statement.info->Cast<duckdb::AlterTableInfo>();
  if (rewritten.tags.front().first == kColumnChangeTag) {
    std::vector<std::string> changes;
    for (const auto& [key, value] : rewritten.tags) changes.push_back(value);
    if (info.alter_table_type == duckdb::AlterTableType::ALTER_COLUMN_TYPE) {
      statement.info = duckdb::make_uniq<TaggedColumnTypeInfo>(
          info.Cast<duckdb::ChangeColumnTypeInfo>(), std::move(changes));
    } else if (info.alter_table_type == duckdb::AlterTableType::ADD_FIELD) {
      statement.info = duckdb::make_uniq<TaggedAddFieldInfo>(info.Cast<duckdb::AddFieldInfo>(),
                                                             std::move(changes));
    } else {
      statement.info = duckdb::make_uniq<TaggedAlterInfo>(info, std::move(changes));
    }
    return;
  }
  if (info.alter_table_type != duckdb::AlterTableType::ADD_COLUMN) return;
  auto& add = info.Cast<duckdb::AddColumnInfo>();
  auto tagged = duckdb::make_uniq<TaggedAddColumnInfo>(add, rewritten.tags);
  if (const std::string* comment = tagged->Find(kColumnCommentTag))
    tagged->new_column.SetComment(duckdb::Value(*comment));
  statement.info = std::move(tagged);
}

/// DuckDB's parser on `text`; `to_query` maps positions of errors to the query that the user gave.
template <typename ToQuery>
Statements ParseText(const std::string& text, const duckdb::ParserOptions& options,
                     ToQuery to_query) {
  try {
    duckdb::Parser parser(options);
    parser.ParseQuery(text);
    return std::move(parser.statements);
  } catch (const std::exception& exception) {
    duckdb::ErrorData error(exception);
    auto position = error.ExtraInfo().find("position");
    if (position != error.ExtraInfo().end()) {
      error.AddQueryLocation(duckdb::optional_idx(to_query(std::stoull(position->second))));
    }
    error.Throw();
  }
}

void ParseRewritten(const Rewritten& rewritten, const ScriptStatement& place,
                    const std::string& query, const duckdb::ParserOptions& options,
                    Statements* out) {
  Statements statements = ParseText(rewritten.text, options, [&](size_t position) {
    return place.begin + rewritten.OriginalPosition(position);
  });
  for (auto& statement : statements) {
    if (duckdb::CreateInfo* info = FindCreateInfo(*statement)) ApplyTags(rewritten, *info);
    if (statement->type == duckdb::StatementType::ALTER_STATEMENT)
      ApplyTags(rewritten, statement->Cast<duckdb::AlterStatement>());
    try {
      LocationMapper(rewritten).Map(*statement);
    } catch (const std::exception&) {
      // A node that DuckDB cannot walk: its errors may point a little off.
    }
    statement->query = query.substr(place.begin, place.end - place.begin);
    statement->stmt_location = 0;
    statement->stmt_length = statement->query.size();
    out->push_back(std::move(statement));
  }
}

Statements ParseScript(const std::string& query, duckdb::ParserOptions options) {
  options.parser_override_setting = duckdb::AllowParserOverride::DEFAULT_OVERRIDE;
  options.extensions = nullptr;
  Statements out;
  std::vector<ScriptStatement> script = RewriteScript(query);
  if (script.empty()) {
    duckdb::Parser parser(options);
    parser.ParseQuery(query);
    return std::move(parser.statements);
  }
  for (const ScriptStatement& place : script) {
    if (const auto* rewritten = std::get_if<Rewritten>(&place.rewrite)) {
      ParseRewritten(*rewritten, place, query, options, &out);
    } else if (const auto* error = std::get_if<RewriteError>(&place.rewrite)) {
      throw duckdb::ParserException(duckdb::optional_idx(place.begin + error->position), "%s",
                                    error->message);
    } else {
      Statements statements = ParseText(query.substr(place.begin, place.end - place.begin), options,
                                        [&](size_t position) { return place.begin + position; });
      for (auto& statement : statements) out.push_back(std::move(statement));
    }
  }
  return out;
}

/// Throws what is wrong instead of returning it: DuckDB would ask its other parsers whether they
/// like the statement better, and show their error.
duckdb::ParserOverrideResult Override(duckdb::ParserExtensionInfo*, const std::string& query,
                                      duckdb::ParserOptions& options) {
  return duckdb::ParserOverrideResult(ParseScript(query, options));
}

}  // namespace

void RegisterFrontParser(duckdb::DBConfig& config) {
  duckdb::ParserExtension extension;
  extension.parser_override = Override;
  duckdb::ParserExtension::Register(config, extension);
  // With the default the hook is not called.
  config.SetOptionByName("allow_parser_override_extension", duckdb::Value("strict"));
}

}  // namespace kelda::sql
