#include <set>

#include "kelda/sql/parser/create_table_contract.h"
#include "kelda/sql/parser/paimon_type.h"
#include "kelda/sql/parser/rewriters.h"

namespace kelda::sql {
namespace {

bool StartsConstraint(const StatementTokens& tokens, size_t i) {
  return tokens.IsAny(i, "not", "null", "default", "comment", "primary", "unique", "check",
                      "collate", "references", "generated", "constraint", "using", "as");
}

/// CREATE TABLE name (columns) clauses AS query. Steps from left to right; where it meets what it
/// does not know, it gives up, and DuckDB gets the statement as it was.
class CreateTableRewriter {
 public:
  explicit CreateTableRewriter(StatementRewriter* rewriter)
      : rewriter_(*rewriter), tokens_(rewriter->tokens), edits_(rewriter->tokens) {}

  /// Gives false if the statement is to stay as it was.
  bool Run(size_t head);

 private:
  bool ParseColumns();
  bool ParseElement(size_t begin, size_t end);
  bool ParseColumn(size_t begin, size_t end);
  bool ParseConstraints(const std::string& column, size_t pos, size_t end);
  size_t ParseDefault(const std::string& column, size_t pos, size_t end);
  void DropNotEnforced(size_t begin, size_t end);
  bool ParseClauses();
  bool ParseClause();
  bool ParseLike();
  bool ParseOptions(size_t open);
  bool ParsePartitionedBy();
  bool ParsePartition(size_t begin, size_t end);
  bool ParseString(size_t i, std::string* out);
  void AddTag(std::string_view prefix, std::string_view name, std::string value) {
    tags_.emplace_back(std::string(prefix) + std::string(name), std::move(value));
  }
  /// Calls `on_element(begin, end)` for what stands between commas in the parentheses at `open`,
  /// ended by `close`.
  template <typename OnElement>
  bool ForEachElement(size_t open, size_t close, OnElement on_element);

  StatementRewriter& rewriter_;
  const StatementTokens& tokens_;
  TokenEdits edits_;
  std::vector<std::pair<std::string, std::string>> tags_;
  size_t pos_ = 0;
  std::optional<size_t> close_;  ///< of the column list
  std::string partitions_;       ///< text between the parentheses of PARTITIONED BY
  std::string sort_;             ///< the same of SORTED BY
  std::string like_;             ///< name of the table behind LIKE
  std::string more_columns_;     ///< columns that PARTITIONED BY declares
  OptionList options_;
};

bool CreateTableRewriter::Run(size_t head) {
  pos_ = head + 1;
  if (tokens_.Are(pos_, "or", "replace")) pos_ += 2;
  if (tokens_.IsAny(pos_, "temporary", "temp")) ++pos_;
  if (!tokens_.Is(pos_, "table")) return false;
  ++pos_;
  if (tokens_.Are(pos_, "if", "not", "exists")) pos_ += 3;
  size_t end_of_name = tokens_.EndOfQualifiedName(pos_);
  if (end_of_name == pos_) return false;
  pos_ = end_of_name;
  if (tokens_.IsSymbol(pos_, '(')) {
    if (!ParseColumns()) return false;
    pos_ = *close_ + 1;
  }
  if (!ParseClauses()) return false;
  if (!more_columns_.empty()) {
    if (!close_) return false;
    edits_.InsertBefore(*close_, ", " + more_columns_);
  }
  rewriter_.edits = std::move(edits_);
  rewriter_.tags = std::move(tags_);
  return true;
}

template <typename OnElement>
bool CreateTableRewriter::ForEachElement(size_t open, size_t close, OnElement on_element) {
  int depth = 0;
  size_t begin = open + 1;
  for (size_t i = begin; i <= close; ++i) {
    bool last = i == close;
    if (!last && tokens_.Kind(i) != TokenKind::kSymbol) continue;
    char c = tokens_.Text(i)[0];
    if (last || (c == ',' && depth == 0)) {
      if (begin == i || !on_element(begin, i)) return false;
      begin = i + 1;
      continue;
    }
    // Angle brackets nest here: a comma in MAP<K, V> does not end the column. In expressions (CHECK
    // (a < b)) they stand in parentheses, where they do not count.
    if (c == '(' || c == '[' || c == '{') {
      i = tokens_.Closing(i);
      if (i >= close) return false;
    } else if (c == '<') {
      ++depth;
    } else if (c == '>') {
      if (--depth < 0) return false;
    }
  }
  return depth == 0;
}

bool CreateTableRewriter::ParseColumns() {
  size_t close = tokens_.Closing(pos_);
  if (!tokens_.Has(close)) return false;
  close_ = close;
  return ForEachElement(pos_, close,
                        [&](size_t begin, size_t end) { return ParseElement(begin, end); });
}

bool CreateTableRewriter::ParseElement(size_t begin, size_t end) {
  if (tokens_.Is(begin, "constraint") || tokens_.Are(begin, "primary", "key") ||
      tokens_.Are(begin, "foreign", "key") ||
      ((tokens_.Is(begin, "unique") || tokens_.Is(begin, "check")) &&
       tokens_.IsSymbol(begin + 1, '('))) {
    DropNotEnforced(begin, end);
    return true;
  }
  if (tokens_.Are(begin, "watermark", "for")) {
    rewriter_.Fail(begin, "WATERMARK is not implemented");
    return false;
  }
  return ParseColumn(begin, end);
}

void CreateTableRewriter::DropNotEnforced(size_t begin, size_t end) {
  for (size_t i = begin; i + 1 < end; ++i) {
    if (tokens_.Are(i, "not", "enforced")) {
      edits_.Remove(i, i + 2);
      ++i;
    }
  }
}

bool CreateTableRewriter::ParseColumn(size_t begin, size_t end) {
  if (!tokens_.IsIdentifier(begin)) return false;
  std::string name = tokens_.Identifier(begin);
  size_t pos = begin + 1;
  if (pos < end && !StartsConstraint(tokens_, pos)) {
    auto parsed = ParseType(tokens_, pos);
    if (auto* error = std::get_if<RewriteError>(&parsed)) {
      rewriter_.error = std::move(*error);
      return false;
    }
    auto* type = std::get_if<ParsedType>(&parsed);
    if (type == nullptr || type->end > end) return false;
    if (type->paimon) AddTag(kColumnTypeTag, name, std::move(*type->paimon));
    if (type->duckdb) edits_.Replace(pos, type->end, std::move(*type->duckdb));
    pos = type->end;
  }
  return ParseConstraints(name, pos, end);
}

bool CreateTableRewriter::ParseConstraints(const std::string& column, size_t pos, size_t end) {
  while (pos < end) {
    if (tokens_.Is(pos, "comment")) {
      std::string comment;
      if (!ParseString(pos + 1, &comment)) return false;
      AddTag(kColumnCommentTag, column, std::move(comment));
      edits_.Remove(pos, pos + 2);
      pos += 2;
    } else if (tokens_.Is(pos, "default")) {
      pos = ParseDefault(column, pos, end);
    } else if (tokens_.Are(pos, "not", "enforced")) {
      edits_.Remove(pos, pos + 2);
      pos += 2;
    } else if (tokens_.IsSymbol(pos, '(')) {
      pos = tokens_.Closing(pos) + 1;
    } else {
      ++pos;  // NOT NULL, PRIMARY KEY, CHECK, ...: DuckDB's
    }
  }
  return true;
}

/// Gives the index behind the expression. The token behind DEFAULT always belongs to it: DEFAULT
/// NULL.
size_t CreateTableRewriter::ParseDefault(const std::string& column, size_t pos, size_t end) {
  size_t begin = pos + 1;
  size_t stop = begin;
  while (stop < end && (stop == begin || !StartsConstraint(tokens_, stop))) {
    bool opens =
        tokens_.IsSymbol(stop, '(') || tokens_.IsSymbol(stop, '[') || tokens_.IsSymbol(stop, '{');
    stop = opens ? tokens_.Closing(stop) + 1 : stop + 1;
  }
  size_t length = stop - begin;
  bool negative = length == 2 && tokens_.IsSymbol(begin, '-');
  if (length == 1 && tokens_.IsKind(begin, TokenKind::kString)) {
    if (auto text = StringValue(tokens_.Text(begin)))
      AddTag(kColumnDefaultTag, column, std::move(*text));
  } else if ((length == 1 || negative) && tokens_.IsKind(stop - 1, TokenKind::kNumber)) {
    AddTag(kColumnDefaultTag, column, (negative ? "-" : "") + std::string(tokens_.Text(stop - 1)));
  } else if (length == 1 && tokens_.IsAny(begin, "true", "false")) {
    AddTag(kColumnDefaultTag, column, tokens_.Is(begin, "true") ? "true" : "false");
  } else if (length == 2 && tokens_.IsAny(begin, "date", "time", "timestamp") &&
             tokens_.IsKind(begin + 1, TokenKind::kString)) {
    if (auto text = StringValue(tokens_.Text(begin + 1)))
      AddTag(kColumnDefaultTag, column, std::move(*text));
  }
  return stop;
}

bool CreateTableRewriter::ParseString(size_t i, std::string* out) {
  if (!tokens_.IsKind(i, TokenKind::kString)) return false;
  std::optional<std::string> value = StringValue(tokens_.Text(i));
  if (!value) return false;
  *out = std::move(*value);
  return true;
}

/// All clauses between the columns and the query. DuckDB has them in one order, so they are written
/// anew.
bool CreateTableRewriter::ParseClauses() {
  size_t begin = pos_;
  while (tokens_.Has(pos_) && !tokens_.Is(pos_, "as")) {
    if (!ParseClause()) return false;
  }
  if (pos_ == begin) return true;
  std::set<std::string_view> keys;
  for (const auto& option : options_) {
    if (!keys.insert(option.first).second) {
      rewriter_.Fail(begin, "option " + QuoteLiteral(option.first) + " is given twice");
      return false;
    }
  }
  std::string text;
  if (!partitions_.empty()) text += " PARTITIONED BY (" + partitions_ + ")";
  if (!sort_.empty()) text += " SORTED BY (" + sort_ + ")";
  if (!options_.empty()) text += " WITH " + RenderOptionList(options_);
  if (!like_.empty()) {
    if (close_ || !partitions_.empty() || !sort_.empty() || tokens_.Has(pos_)) {
      rewriter_.Fail(begin,
                     "beside LIKE only options can be given: the columns, partitions and comments "
                     "are those of the other table");
      return false;
    }
    text += " AS FROM " + like_ + " LIMIT 0";
    tags_.emplace_back(std::string(kLikeTag), like_);
  }
  edits_.Replace(begin, pos_, text.empty() ? text : text.substr(1));
  return true;
}

bool CreateTableRewriter::ParseClause() {
  if (tokens_.Is(pos_, "comment")) {
    size_t value = pos_ + (tokens_.IsSymbol(pos_ + 1, '=') ? 2 : 1);
    std::string comment;
    if (!ParseString(value, &comment)) return false;
    tags_.emplace_back(std::string(kCommentTag), std::move(comment));
    pos_ = value + 1;
    return true;
  }
  if (tokens_.IsAny(pos_, "with", "tblproperties", "options")) return ParseOptions(pos_ + 1);
  if (tokens_.Is(pos_, "like") && like_.empty()) return ParseLike();
  if (tokens_.Is(pos_, "using") && tokens_.IsIdentifier(pos_ + 1)) {
    if (!EqualsIgnoreCase(tokens_.Identifier(pos_ + 1), "paimon")) {
      rewriter_.Fail(pos_ + 1, "USING " + tokens_.Identifier(pos_ + 1) +
                                   " is not implemented; only USING paimon is");
      return false;
    }
    pos_ += 2;
    return true;
  }
  if (tokens_.Is(pos_, "location")) {
    std::string path;
    if (!ParseString(pos_ + 1, &path)) return false;
    options_.emplace_back("path", std::move(path));
    pos_ += 2;
    return true;
  }
  if (tokens_.Are(pos_, "partitioned", "by") && partitions_.empty()) return ParsePartitionedBy();
  if (tokens_.Are(pos_, "sorted", "by") && tokens_.IsSymbol(pos_ + 2, '(') && sort_.empty()) {
    size_t close = tokens_.Closing(pos_ + 2);
    if (!tokens_.Has(close)) return false;
    sort_ = tokens_.Render(pos_ + 3, close);
    pos_ = close + 1;
    return true;
  }
  return false;
}

bool CreateTableRewriter::ParseLike() {
  const size_t end = tokens_.EndOfQualifiedName(pos_ + 1);
  if (end == pos_ + 1) return false;
  for (size_t i = pos_ + 1; i < end; i += 2)
    like_ += (like_.empty() ? "" : ".") + QuoteIdentifier(tokens_.Identifier(i));
  pos_ = end;
  if (!tokens_.IsSymbol(pos_, '(')) return true;
  rewriter_.Fail(pos_, "choosing what LIKE copies is not implemented; it copies all");
  return false;
}

bool CreateTableRewriter::ParseOptions(size_t open) {
  if (!tokens_.IsSymbol(open, '(')) return false;
  auto parsed = ParseOptionList(tokens_, open, &options_);
  if (auto* error = std::get_if<RewriteError>(&parsed)) {
    rewriter_.FailAt(error->position, std::move(error->message));
    return false;
  }
  pos_ = std::get<size_t>(parsed);
  return true;
}

bool CreateTableRewriter::ParsePartitionedBy() {
  size_t open = pos_ + 2;
  if (!tokens_.IsSymbol(open, '(')) return false;
  size_t close = tokens_.Closing(open);
  if (!tokens_.Has(close)) return false;
  pos_ = close + 1;
  return ForEachElement(open, close,
                        [&](size_t begin, size_t end) { return ParsePartition(begin, end); });
}

/// `dt`, or Spark's `dt STRING COMMENT 'x'`, which also declares the column, or an expression that
/// is DuckDB's matter.
bool CreateTableRewriter::ParsePartition(size_t begin, size_t end) {
  if (!partitions_.empty()) partitions_ += ", ";
  if (!tokens_.IsIdentifier(begin) || end == begin + 1 || !tokens_.IsIdentifier(begin + 1)) {
    partitions_ += tokens_.Render(begin, end);
    return true;
  }
  std::string name = tokens_.Identifier(begin);
  auto parsed = ParseType(tokens_, begin + 1);
  if (auto* error = std::get_if<RewriteError>(&parsed)) {
    rewriter_.error = std::move(*error);
    return false;
  }
  auto* type = std::get_if<ParsedType>(&parsed);
  if (type == nullptr || type->end > end) return false;
  partitions_ += QuoteIdentifier(name);
  if (!more_columns_.empty()) more_columns_ += ", ";
  more_columns_ += QuoteIdentifier(name) + " ";
  more_columns_ += type->duckdb ? *type->duckdb : tokens_.Render(begin + 1, type->end);
  if (type->paimon) AddTag(kColumnTypeTag, name, std::move(*type->paimon));
  size_t pos = type->end;
  if (tokens_.Are(pos, "not", "null")) {
    more_columns_ += " NOT NULL";
    pos += 2;
  }
  if (tokens_.Is(pos, "comment")) {
    std::string comment;
    if (!ParseString(pos + 1, &comment)) return false;
    AddTag(kColumnCommentTag, name, std::move(comment));
    pos += 2;
  }
  return pos == end;
}

}  // namespace

void RewriteCreateTable(StatementRewriter* rewriter, size_t head) {
  CreateTableRewriter(rewriter).Run(head);
}

}  // namespace kelda::sql
