#include "kelda/sql/parser/rewriters.h"
#include "kelda/sql/parser/table_name_suffix.h"

namespace kelda::sql {
namespace {

class InsertRewriter {
 public:
  InsertRewriter(StatementRewriter* rewriter, const LexedSql& sql)
      : rewriter_(*rewriter), tokens_(rewriter->tokens), edits_(rewriter->tokens), sql_(sql) {}

  bool Run(size_t head);

 private:
  bool ParseTarget();
  bool ParsePartition();
  bool ParsePartitionColumn(size_t* pos);
  void ParseColumns();
  bool RewriteQuery();
  bool AppendToValues(size_t end, const std::string& constants);
  bool StartsQuery(size_t i) const {
    return tokens_.IsAny(i, "select", "with", "values", "from", "table", "pivot", "unpivot",
                         "describe", "show") ||
           tokens_.IsSymbol(i, '(');
  }
  size_t EndOfQuery() const;
  std::string Constants(bool named) const;

  StatementRewriter& rewriter_;
  const StatementTokens& tokens_;
  TokenEdits edits_;
  const LexedSql& sql_;
  size_t pos_ = 0;
  DecoratedTableName name_;
  InsertTarget target_;
  std::vector<std::string> literals_;  ///< of target_.static_partition, as SQL
  std::optional<size_t> close_;        ///< of the column list
  bool by_name_ = false;
};

bool InsertRewriter::Run(size_t head) {
  pos_ = head + 1;
  if (tokens_.Is(pos_, "or") && tokens_.IsWord(pos_ + 1)) pos_ += 2;
  if (tokens_.Is(pos_, "overwrite")) {
    target_.overwrite = true;
    edits_.Replace(pos_, pos_ + 1, "INTO");
  } else if (!tokens_.Is(pos_, "into")) {
    return false;
  }
  ++pos_;
  if (tokens_.Is(pos_, "table") && tokens_.IsIdentifier(pos_ + 1)) {
    edits_.Remove(pos_, pos_ + 1);
    ++pos_;
  }
  if (!ParseTarget()) return false;
  size_t name_token = pos_ - 1;
  if (tokens_.Is(pos_, "as") && tokens_.IsIdentifier(pos_ + 1)) pos_ += 2;
  if (tokens_.Is(pos_, "partition") && tokens_.IsSymbol(pos_ + 1, '(') && !ParsePartition())
    return false;
  ParseColumns();
  if (tokens_.Are(pos_, "by", "name")) {
    by_name_ = true;
    pos_ += 2;
  } else if (tokens_.Are(pos_, "by", "position")) {
    pos_ += 2;
  }
  if (!target_.static_partition.empty() && !RewriteQuery()) return false;
  target_.static_columns_last = !target_.static_partition.empty() && !close_ && !by_name_;
  if (target_.overwrite || !target_.dynamic_partition.empty() || target_.static_columns_last) {
    name_.insert = std::move(target_);
  }
  if (name_.insert || !name_.options.empty()) {
    edits_.Replace(name_token, name_token + 1, QuoteIdentifier(EncodeTableName(name_)));
  }
  rewriter_.insert_target = name_token;
  rewriter_.edits = std::move(edits_);
  return true;
}

bool InsertRewriter::ParseTarget() {
  size_t end = tokens_.EndOfQualifiedName(pos_);
  if (end == pos_) return false;
  pos_ = end;
  name_.name = tokens_.Identifier(pos_ - 1);
  for (const HintComment& hint : sql_.HintsOf(pos_ - 1, pos_)) {
    auto options = ParseHint(sql_.text(), hint);
    if (auto* error = std::get_if<RewriteError>(&options)) {
      rewriter_.FailAt(error->position, std::move(error->message));
      return false;
    }
    for (auto& option : std::get<OptionList>(options)) name_.options.push_back(std::move(option));
  }
  return true;
}

bool InsertRewriter::ParsePartition() {
  size_t begin = pos_;
  size_t pos = pos_ + 2;
  while (true) {
    if (!ParsePartitionColumn(&pos)) return false;
    if (tokens_.IsSymbol(pos, ')')) break;
    if (!tokens_.IsSymbol(pos, ',')) {
      rewriter_.Fail(pos, "expected , or ) in PARTITION (...); its values must be literals");
      return false;
    }
    ++pos;
  }
  pos_ = pos + 1;
  if (tokens_.Are(pos_, "if", "not", "exists")) {
    rewriter_.Fail(pos_, "INSERT ... PARTITION (...) IF NOT EXISTS is not implemented");
    return false;
  }
  edits_.Remove(begin, pos_);
  return true;
}

bool InsertRewriter::ParsePartitionColumn(size_t* pos) {
  size_t i = *pos;
  if (!tokens_.IsIdentifier(i)) {
    rewriter_.Fail(i, "expected a partition column in PARTITION (...)");
    return false;
  }
  std::string column = tokens_.Identifier(i);
  for (const auto& [other, value] : target_.static_partition) {
    if (other != column) continue;
    rewriter_.Fail(i, "partition column " + QuoteIdentifier(column) + " is given twice");
    return false;
  }
  if (!tokens_.IsSymbol(i + 1, '=')) {
    target_.dynamic_partition.push_back(std::move(column));
    *pos = i + 1;
    return true;
  }
  size_t begin = i + 2;
  size_t end = begin + 1;
  std::optional<std::string> value;
  if (tokens_.IsKind(begin, TokenKind::kString)) {
    value = StringValue(tokens_.Text(begin));
  } else if (tokens_.IsKind(begin, TokenKind::kNumber)) {
    value = std::string(tokens_.Text(begin));
  } else if (tokens_.IsSymbol(begin, '-') && tokens_.IsKind(end, TokenKind::kNumber)) {
    value = "-" + std::string(tokens_.Text(end++));
  } else if (tokens_.IsAny(begin, "date", "time", "timestamp") &&
             tokens_.IsKind(end, TokenKind::kString)) {
    value = StringValue(tokens_.Text(end++));
  } else if (tokens_.IsAny(begin, "true", "false")) {
    value = tokens_.Is(begin, "true") ? "true" : "false";
  }
  if (!value && !tokens_.Is(begin, "null")) {
    rewriter_.Fail(
        begin, "the value of " + QuoteIdentifier(column) + " in PARTITION (...) must be a literal");
    return false;
  }
  target_.static_partition.emplace_back(std::move(column), std::move(value));
  literals_.push_back(tokens_.Render(begin, end));
  *pos = end;
  return true;
}

void InsertRewriter::ParseColumns() {
  if (!tokens_.IsSymbol(pos_, '(') || StartsQuery(pos_ + 1)) return;
  size_t close = tokens_.Closing(pos_);
  if (!tokens_.Has(close)) return;
  close_ = close;
  for (const auto& [column, value] : target_.static_partition) {
    edits_.InsertBefore(close, ", " + QuoteIdentifier(column));
  }
  pos_ = close + 1;
}

/// ON CONFLICT and RETURNING follow the query.
size_t InsertRewriter::EndOfQuery() const {
  for (size_t i = pos_; i < tokens_.last(); ++i) {
    if (tokens_.IsSymbol(i, '(') || tokens_.IsSymbol(i, '[') || tokens_.IsSymbol(i, '{')) {
      i = tokens_.Closing(i);
    } else if (tokens_.Is(i, "returning") || tokens_.Are(i, "on", "conflict")) {
      return i;
    }
  }
  return tokens_.last();
}

std::string InsertRewriter::Constants(bool named) const {
  std::string out;
  for (size_t i = 0; i < literals_.size(); ++i) {
    out += ", " + literals_[i];
    if (named) out += " AS " + QuoteIdentifier(target_.static_partition[i].first);
  }
  return out;
}

/// Adds the constants to what is inserted.
bool InsertRewriter::RewriteQuery() {
  size_t end = EndOfQuery();
  if (tokens_.Are(pos_, "default", "values")) {
    rewriter_.Fail(pos_, "INSERT ... PARTITION (...) DEFAULT VALUES is not implemented");
    return false;
  }
  if (pos_ >= end || !StartsQuery(pos_)) return false;
  if (tokens_.Is(pos_, "values") && AppendToValues(end, Constants(false))) return true;
  edits_.InsertBefore(pos_, "SELECT *" + Constants(by_name_) + " FROM (");
  edits_.InsertAfter(end - 1, ")");
  return true;
}

/// VALUES (...), (...): the constants go into each row, so that DEFAULT stays allowed. False if
/// more than rows follows.
bool InsertRewriter::AppendToValues(size_t end, const std::string& constants) {
  std::vector<size_t> closing;
  size_t i = pos_ + 1;
  while (true) {
    if (!tokens_.IsSymbol(i, '(')) return false;
    closing.push_back(tokens_.Closing(i));
    i = closing.back() + 1;
    if (i >= end) break;
    if (!tokens_.IsSymbol(i, ',')) return false;
    ++i;
  }
  if (i > end) return false;
  for (size_t close : closing) edits_.InsertBefore(close, constants);
  return true;
}

}  // namespace

void RewriteInsert(StatementRewriter* rewriter, size_t head, const LexedSql& sql) {
  InsertRewriter(rewriter, sql).Run(head);
}

}  // namespace kelda::sql
