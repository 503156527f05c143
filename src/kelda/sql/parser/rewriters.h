#pragma once

#include <optional>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "kelda/sql/parser/token_edits.h"

namespace kelda::sql {

/// A statement while it is rewritten. The rewriters below work on tokens [head, tokens.last());
/// what comes before head is EXPLAIN or PREPARE. Each leaves the statement alone if it does not
/// understand it, and sets `error` only for what can have no other meaning.
struct StatementRewriter {
  explicit StatementRewriter(const StatementTokens& statement) : tokens(statement), edits(tokens) {}
  StatementRewriter(const StatementRewriter&) = delete;

  void Fail(size_t token, std::string message) { FailAt(tokens.Begin(token), std::move(message)); }
  /// `position` counts in the text of the whole script. The first error stays.
  void FailAt(size_t position, std::string message) {
    if (!error) error = RewriteError{position - tokens.Begin(tokens.first()), std::move(message)};
  }

  const StatementTokens& tokens;
  TokenEdits edits;
  std::vector<std::pair<std::string, std::string>> tags;
  std::optional<RewriteError> error;
  /// Last token of the name of the table that an INSERT writes to: its hint is dealt with.
  std::optional<size_t> insert_target;
};

/// CREATE TABLE (create_table_contract.h).
void RewriteCreateTable(StatementRewriter* rewriter, size_t head);
/// INSERT (insert_contract.h), also behind WITH.
void RewriteInsert(StatementRewriter* rewriter, size_t head, const LexedSql& sql);
/// CREATE and DROP DATABASE, ALTER TABLE properties, SHOW, USE, DESCRIBE, CALL.
void RewriteCommand(StatementRewriter* rewriter, size_t head);
/// Changes of columns in ALTER TABLE; `pos` is the token behind the table's name. False if it is
/// none, or one that DuckDB understands.
bool RewriteAlterColumns(StatementRewriter* rewriter, size_t pos);
/// In every statement: OPTIONS hints, time travel, backticks, the database named default.
void RewriteTableReferences(StatementRewriter* rewriter, const LexedSql& sql);

/// Options `('k' = 'v', ...)` in any of the spellings; `open` is the opening parenthesis. Gives the
/// index behind the closing one, or an error whose position counts in the text that `tokens` stand
/// in.
using OptionList = std::vector<std::pair<std::string, std::string>>;
std::variant<size_t, RewriteError> ParseOptionList(const StatementTokens& tokens, size_t open,
                                                   OptionList* out);
/// The same of keys alone.
std::variant<size_t, RewriteError> ParseKeyList(const StatementTokens& tokens, size_t open,
                                                std::vector<std::string>* out);
/// `('k' = 'v', ...)` in DuckDB's spelling.
std::string RenderOptionList(const OptionList& options);

/// The options of a comment `/*+ OPTIONS(...) */`; empty if it is another hint. Positions count in
/// `script`.
std::variant<OptionList, RewriteError> ParseHint(std::string_view script, const HintComment& hint);

}  // namespace kelda::sql
