#include "kelda/sql/parser/create_table_contract.h"
#include "kelda/sql/parser/paimon_type.h"
#include "kelda/sql/parser/rewriters.h"

namespace kelda::sql {
namespace {

class CommandRewriter {
 public:
  explicit CommandRewriter(StatementRewriter* rewriter)
      : rewriter_(*rewriter), tokens_(rewriter->tokens), edits_(rewriter->edits) {}

  void CreateDatabase(size_t head);
  void DropDatabase(size_t head);
  void AlterTable(size_t head);
  void Show(size_t head);
  void Use(size_t head);
  void Describe(size_t head);
  void Call(size_t head);
  void Analyze(size_t head);

 private:
  void QuoteDefault(size_t i) {
    if (tokens_.Is(i, "default")) edits_.Replace(i, i + 1, "\"default\"");
  }
  /// The whole statement becomes `text`.
  void Become(size_t head, std::string text) {
    edits_.Replace(head, tokens_.last(), std::move(text));
  }
  std::string RenderName(size_t begin, size_t end) const;
  void AddColumn(size_t pos);
  void ShowTables(size_t head);
  void ShowDatabases(size_t head);
  void ShowOfTable(size_t head, size_t name, std::string_view columns,
                   std::string_view system_table);
  /// `[LIKE] 'pattern'` at the end of the statement as a condition on `column`.
  std::optional<std::string> ParsePattern(size_t i, std::string_view column) const;

  StatementRewriter& rewriter_;
  const StatementTokens& tokens_;
  TokenEdits& edits_;
};

/// A qualified name with every part in quotes that is not safe without.
std::string CommandRewriter::RenderName(size_t begin, size_t end) const {
  std::string out;
  for (size_t i = begin; i < end; i += 2) {
    if (i > begin) out += '.';
    out += QuoteIdentifier(tokens_.Identifier(i));
  }
  return out;
}

void CommandRewriter::CreateDatabase(size_t head) {
  size_t pos = head + 2;
  if (tokens_.Are(pos, "if", "not", "exists")) pos += 3;
  size_t end = tokens_.EndOfQualifiedName(pos);
  if (end == pos) return;
  size_t clauses = end;
  OptionList properties;
  std::vector<std::pair<std::string, std::string>> tags;
  while (tokens_.Has(end)) {
    if (tokens_.Is(end, "comment") && tokens_.IsKind(end + 1, TokenKind::kString)) {
      std::optional<std::string> comment = StringValue(tokens_.Text(end + 1));
      if (!comment) return;
      tags.emplace_back(std::string(kCommentTag), std::move(*comment));
      end += 2;
      continue;
    }
    size_t list = end + 1;
    if (tokens_.IsAny(list, "dbproperties", "properties")) ++list;
    if (!tokens_.Is(end, "with") || !tokens_.IsSymbol(list, '(')) return;
    auto parsed = ParseOptionList(tokens_, list, &properties);
    if (auto* error = std::get_if<RewriteError>(&parsed)) {
      rewriter_.FailAt(error->position, std::move(error->message));
      return;
    }
    end = std::get<size_t>(parsed);
  }
  for (auto& [key, value] : properties)
    tags.emplace_back(std::string(kSchemaPropertyTag) + key, std::move(value));
  if (!tokens_.Is(head + 1, "schema")) edits_.Replace(head + 1, head + 2, "SCHEMA");
  QuoteDefault(clauses - 1);
  if (end > clauses) edits_.Remove(clauses, end);
  rewriter_.tags = std::move(tags);
}

void CommandRewriter::DropDatabase(size_t head) {
  size_t name = head + (tokens_.Are(head + 2, "if", "exists") ? 4 : 2);
  size_t end = tokens_.EndOfQualifiedName(name);
  if (end == name) return;
  if (!tokens_.Is(head + 1, "schema")) edits_.Replace(head + 1, head + 2, "SCHEMA");
  QuoteDefault(end - 1);
}

std::string Lowercase(std::string text) {
  for (char& c : text) {
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c | 0x20);
  }
  return text;
}

/// ADD [COLUMN] name type [COMMENT 'x'] [FIRST | AFTER other]: types keep what DuckDB would forget,
/// such as the length of VARCHAR(10) (alter_table_contract.h).
void CommandRewriter::AddColumn(size_t pos) {
  if (tokens_.Is(pos, "column")) ++pos;
  if (tokens_.Are(pos, "if", "not", "exists")) pos += 3;
  if (!tokens_.IsIdentifier(pos)) return;
  const std::string column = tokens_.Identifier(pos);
  const size_t begin = pos + 1;
  auto parsed = ParseType(tokens_, begin);
  if (auto* error = std::get_if<RewriteError>(&parsed)) {
    rewriter_.error = std::move(*error);
    return;
  }
  auto* type = std::get_if<ParsedType>(&parsed);
  if (type == nullptr) return;
  const bool same = !type->duckdb && type->paimon && type->end == begin + 1 &&
                    tokens_.Is(begin, Lowercase(*type->paimon));
  if (type->paimon && !same)
    rewriter_.tags.emplace_back(std::string(kColumnTypeTag) + column, std::move(*type->paimon));
  if (type->duckdb) edits_.Replace(begin, type->end, std::move(*type->duckdb));
  size_t end = type->end;
  while (tokens_.Has(end)) {
    const size_t clause = end;
    if (tokens_.Is(end, "comment") && tokens_.IsKind(end + 1, TokenKind::kString)) {
      auto comment = StringValue(tokens_.Text(end + 1));
      if (!comment) return;
      rewriter_.tags.emplace_back(std::string(kColumnCommentTag) + column, std::move(*comment));
      end += 2;
    } else if (tokens_.Is(end, "first")) {
      rewriter_.tags.emplace_back(std::string(kColumnAfterTag) + column, "");
      end += 1;
    } else if (tokens_.Is(end, "after") && tokens_.IsIdentifier(end + 1)) {
      rewriter_.tags.emplace_back(std::string(kColumnAfterTag) + column,
                                  tokens_.Identifier(end + 1));
      end += 2;
    } else {
      return;
    }
    edits_.Remove(clause, end);
  }
}

/// SET and RESET of table options, ADD COLUMN.
void CommandRewriter::AlterTable(size_t head) {
  size_t pos = head + (tokens_.Are(head + 2, "if", "exists") ? 4 : 2);
  pos = tokens_.EndOfQualifiedName(pos);
  if (RewriteAlterColumns(&rewriter_, pos)) return;
  if (tokens_.Is(pos, "add")) return AddColumn(pos + 1);
  bool set = tokens_.Is(pos, "set");
  if (!set && !tokens_.IsAny(pos, "unset", "reset")) return;
  size_t list = pos + 1;
  if (tokens_.IsAny(list, "tblproperties", "options", "properties")) ++list;
  if (!set && tokens_.Are(list, "if", "exists")) list += 2;
  if (!tokens_.IsSymbol(list, '(')) return;
  OptionList options;
  std::vector<std::string> keys;
  auto parsed = set ? ParseOptionList(tokens_, list, &options) : ParseKeyList(tokens_, list, &keys);
  if (auto* error = std::get_if<RewriteError>(&parsed)) {
    rewriter_.FailAt(error->position, std::move(error->message));
    return;
  }
  std::string text = set ? "SET " + RenderOptionList(options) : "RESET (";
  if (!set) {
    for (const std::string& key : keys)
      text += (text.back() == '(' ? "" : ", ") + QuoteLiteral(key);
    text += ')';
  }
  edits_.Replace(pos, std::get<size_t>(parsed), std::move(text));
}

void CommandRewriter::Show(size_t head) {
  size_t what = head + 1;
  if (tokens_.Are(what, "create", "table")) {
    size_t end = tokens_.EndOfQualifiedName(what + 2);
    if (end == what + 2 || end != tokens_.last()) return;
    Become(head, "SELECT * FROM kelda_show_create_table(" +
                     QuoteLiteral(RenderName(what + 2, end)) + ")");
  } else if (tokens_.Is(what, "tables")) {
    ShowTables(head);
  } else if (tokens_.IsAny(what, "databases", "schemas")) {
    ShowDatabases(head);
  } else if (tokens_.Is(what, "catalogs") && what + 1 == tokens_.last()) {
    Become(head,
           "SELECT database_name AS catalog_name FROM duckdb_databases() WHERE NOT internal ORDER "
           "BY 1");
  } else if (tokens_.Are(what, "current", "database") && what + 2 == tokens_.last()) {
    Become(head, "SELECT current_schema() AS database_name");
  } else if (tokens_.Are(what, "current", "catalog") && what + 2 == tokens_.last()) {
    Become(head, "SELECT current_database() AS catalog_name");
  } else if (tokens_.Is(what, "tblproperties")) {
    ShowOfTable(head, what + 1, "key, value", "$options");
  } else if (tokens_.Is(what, "partitions")) {
    ShowOfTable(head, what + 1, "partition", "$partitions");
  } else if (tokens_.Is(what, "columns") && tokens_.IsAny(what + 1, "in", "from")) {
    size_t end = tokens_.EndOfQualifiedName(what + 2);
    if (end == what + 2 || end != tokens_.last()) return;
    Become(head, "DESCRIBE " + RenderName(what + 2, end));
  }
}

void CommandRewriter::ShowOfTable(size_t head, size_t name, std::string_view columns,
                                  std::string_view system_table) {
  size_t end = tokens_.EndOfQualifiedName(name);
  if (end == name || end != tokens_.last()) return;
  std::string last = QuoteIdentifier(tokens_.Identifier(end - 1) + std::string(system_table));
  std::string qualifier = end - 1 > name ? RenderName(name, end - 2) + "." : "";
  Become(head, "SELECT " + std::string(columns) + " FROM " + qualifier + last);
}

std::optional<std::string> CommandRewriter::ParsePattern(size_t i, std::string_view column) const {
  if (tokens_.Is(i, "like")) ++i;
  if (!tokens_.IsKind(i, TokenKind::kString) || i + 1 != tokens_.last()) return std::nullopt;
  std::optional<std::string> pattern = StringValue(tokens_.Text(i));
  if (!pattern) return std::nullopt;
  // Spark writes * where Flink and standard SQL write %.
  bool glob = pattern->find('*') != std::string::npos;
  return std::string(column) + (glob ? " GLOB " : " LIKE ") + QuoteLiteral(*pattern);
}

void CommandRewriter::ShowTables(size_t head) {
  size_t pos = head + 2;
  std::string schema;
  if (tokens_.IsAny(pos, "in", "from")) {
    size_t end = tokens_.EndOfQualifiedName(pos + 1);
    if (end == pos + 1) return;
    schema = QuoteLiteral(RenderName(pos + 1, end));
    pos = end;
  }
  std::string condition;
  if (pos != tokens_.last()) {
    std::optional<std::string> pattern = ParsePattern(pos, "name");
    if (!pattern) return;
    condition = " WHERE " + *pattern;
  }
  Become(head, "SELECT name FROM kelda_show_tables(" + schema + ")" + condition);
}

/// ANALYZE TABLE t COMPUTE STATISTICS [FOR COLUMNS a, b | FOR ALL COLUMNS], and DuckDB's ANALYZE t
/// [(a, b)], which means all columns.
void CommandRewriter::Analyze(size_t head) {
  const bool spark = tokens_.Is(head + 1, "table");
  const size_t name = head + (spark ? 2 : 1);
  size_t pos = tokens_.EndOfQualifiedName(name);
  if (pos == name) return;
  const size_t end_of_name = pos;
  std::vector<std::string> columns;
  bool all = !spark;
  const auto parse_names = [&](size_t end) {
    for (; pos < end; pos += 2) {
      if (!tokens_.IsIdentifier(pos) || (pos + 1 < end && !tokens_.IsSymbol(pos + 1, ',')))
        return false;
      columns.push_back(tokens_.Identifier(pos));
    }
    return true;
  };
  if (spark) {
    if (tokens_.Is(pos, "partition")) {
      return rewriter_.Fail(pos,
                            "ANALYZE TABLE ... PARTITION is not implemented; statistics are "
                            "of whole tables");
    }
    if (!tokens_.Are(pos, "compute", "statistics")) return;
    pos += 2;
    if (tokens_.Is(pos, "noscan")) ++pos;
    if (tokens_.Are(pos, "for", "all", "columns")) {
      all = true;
      pos += 3;
    } else if (tokens_.Are(pos, "for", "columns")) {
      pos += 2;
      if (pos == tokens_.last() || !parse_names(tokens_.last())) return;
      pos = tokens_.last();
    }
  } else if (tokens_.IsSymbol(pos, '(')) {
    const size_t close = tokens_.Closing(pos);
    if (!tokens_.Has(close) || close == ++pos || !parse_names(close)) return;
    all = false;
    pos = close + 1;
  }
  if (pos != tokens_.last()) return;
  std::string text = "SELECT * FROM kelda_analyze(" + QuoteLiteral(RenderName(name, end_of_name));
  if (!all) {
    text += ", CAST([";
    for (const std::string& column : columns)
      text += (text.back() == '[' ? "" : ", ") + QuoteLiteral(column);
    text += "] AS VARCHAR[])";
  }
  Become(head, text + ")");
}

/// Databases of the current catalog, as in Spark and Flink; DuckDB's own meaning is SHOW CATALOGS.
void CommandRewriter::ShowDatabases(size_t head) {
  std::string text =
      "SELECT schema_name AS database_name FROM duckdb_schemas() WHERE database_name = "
      "current_database() AND "
      "schema_name NOT IN ('information_schema', 'pg_catalog')";
  if (head + 2 != tokens_.last()) {
    std::optional<std::string> condition = ParsePattern(head + 2, "schema_name");
    if (!condition) return;
    text += " AND " + *condition;
  }
  Become(head, text + " ORDER BY 1");
}

void CommandRewriter::Use(size_t head) {
  size_t name = head + 1;
  if (tokens_.IsAny(name, "catalog", "database", "schema") && tokens_.IsIdentifier(name + 1)) {
    edits_.Remove(name, name + 1);
    ++name;
  }
  size_t end = tokens_.EndOfQualifiedName(name);
  for (size_t i = name; i < end; i += 2) QuoteDefault(i);
}

void CommandRewriter::Describe(size_t head) {
  size_t pos = head + 1;
  if (tokens_.Is(pos, "table") && tokens_.IsIdentifier(pos + 1)) {
    edits_.Remove(pos, pos + 1);
    ++pos;
  }
  if (tokens_.IsAny(pos, "extended", "formatted") && tokens_.IsIdentifier(pos + 1))
    edits_.Remove(pos, pos + 1);
}

/// Names of arguments may be keywords: CALL sys.compact(table => 'db.t').
void CommandRewriter::Call(size_t head) {
  size_t open = tokens_.EndOfQualifiedName(head + 1);
  if (!tokens_.IsSymbol(open, '(')) return;
  size_t close = tokens_.Closing(open);
  for (size_t i = open + 1; i < close; ++i) {
    if (tokens_.IsSymbol(i, '(') || tokens_.IsSymbol(i, '[') || tokens_.IsSymbol(i, '{')) {
      i = tokens_.Closing(i);
    } else if (tokens_.IsWord(i) && tokens_.IsKind(i + 1, TokenKind::kArrow)) {
      edits_.Replace(i, i + 1, QuoteIdentifier(tokens_.Text(i)));
    }
  }
}

}  // namespace

void RewriteCommand(StatementRewriter* rewriter, size_t head) {
  const StatementTokens& tokens = rewriter->tokens;
  CommandRewriter command(rewriter);
  if (tokens.Is(head, "create") && tokens.IsAny(head + 1, "database", "schema")) {
    command.CreateDatabase(head);
  } else if (tokens.Is(head, "drop") && tokens.IsAny(head + 1, "database", "schema")) {
    command.DropDatabase(head);
  } else if (tokens.Are(head, "alter", "table")) {
    command.AlterTable(head);
  } else if (tokens.Is(head, "show")) {
    command.Show(head);
  } else if (tokens.Is(head, "use")) {
    command.Use(head);
  } else if (tokens.IsAny(head, "describe", "desc")) {
    command.Describe(head);
  } else if (tokens.Is(head, "call")) {
    command.Call(head);
  } else if (tokens.Is(head, "analyze")) {
    command.Analyze(head);
  }
}

}  // namespace kelda::sql
