#include "kelda/sql/parser/statement_rewriter.h"

#include <utility>

#include "kelda/sql/parser/rewriters.h"

namespace kelda::sql {
namespace {

/// Index of the statement's own first word behind EXPLAIN [ANALYZE] [(...)] and PREPARE name
/// [(...)] AS.
size_t SkipPrefix(const StatementTokens& tokens) {
  size_t i = tokens.first();
  if (tokens.Is(i, "explain")) {
    ++i;
    if (tokens.Is(i, "analyze")) ++i;
    if (tokens.IsSymbol(i, '(') && tokens.IsWord(i + 1) &&
        !tokens.IsAny(i + 1, "select", "with", "from", "values")) {
      i = tokens.Closing(i) + 1;
    }
  } else if (tokens.Is(i, "prepare") && tokens.IsIdentifier(i + 1)) {
    size_t as = i + 2;
    if (tokens.IsSymbol(as, '(')) as = tokens.Closing(as) + 1;
    if (tokens.Is(as, "as")) i = as + 1;
  }
  return i;
}

/// Index of INSERT behind the common table expressions at `head`, or `head`.
size_t SkipWith(const StatementTokens& tokens, size_t head) {
  if (!tokens.Is(head, "with")) return head;
  for (size_t i = head + 1; i < tokens.last(); ++i) {
    if (tokens.IsSymbol(i, '(')) i = tokens.Closing(i);
    if (tokens.IsAny(i, "select", "values", "update", "delete", "merge")) return head;
    if (tokens.Is(i, "insert") && tokens.IsAny(i + 1, "into", "overwrite", "or")) return i;
  }
  return head;
}

/// Tells the statements that need no look at every token from the others, by their first word.
void RewriteByHead(StatementRewriter* rewriter, size_t head, const LexedSql& sql) {
  const StatementTokens& tokens = rewriter->tokens;
  if (!tokens.IsWord(head)) return;
  switch (tokens.Text(head)[0] | 0x20) {
    case 'w':
    case 'i':
      head = SkipWith(tokens, head);
      if (tokens.Is(head, "insert")) RewriteInsert(rewriter, head, sql);
      break;
    case 'c':
      if (tokens.Is(head, "create")) RewriteCreateTable(rewriter, head);
      RewriteCommand(rewriter, head);
      break;
    case 'a':
    case 'd':
    case 's':
    case 'u':
      RewriteCommand(rewriter, head);
      break;
    default:
      break;
  }
}

StatementRewrite RewriteTokens(const LexedSql& sql, size_t first, size_t last) {
  StatementTokens tokens(sql, first, last);
  StatementRewriter rewriter(tokens);
  RewriteByHead(&rewriter, SkipPrefix(tokens), sql);
  if (!rewriter.error) RewriteTableReferences(&rewriter, sql);
  if (rewriter.error) return std::move(*rewriter.error);
  if (rewriter.edits.empty() && rewriter.tags.empty()) return Unchanged();
  Rewritten rewritten = rewriter.edits.Apply(sql.text());
  rewritten.tags = std::move(rewriter.tags);
  return rewritten;
}

}  // namespace

StatementRewrite RewriteStatement(std::string_view statement) {
  std::vector<ScriptStatement> statements = RewriteScript(statement);
  if (statements.size() != 1) return Unchanged();
  StatementRewrite rewrite = std::move(statements[0].rewrite);
  const size_t offset = statements[0].begin;
  if (auto* error = std::get_if<RewriteError>(&rewrite)) error->position += offset;
  if (auto* rewritten = std::get_if<Rewritten>(&rewrite)) {
    for (Rewritten::Segment& segment : rewritten->segments) segment.original += offset;
  }
  return rewrite;
}

std::vector<ScriptStatement> RewriteScript(std::string_view script) {
  std::optional<LexedSql> sql = LexedSql::Make(script);
  if (!sql) return {};
  const std::vector<Token>& tokens = sql->tokens();
  std::vector<ScriptStatement> statements;
  bool changed = false;
  for (size_t first = 0; first < tokens.size();) {
    size_t last = first;
    while (last < tokens.size() &&
           !(tokens[last].kind == TokenKind::kSymbol && script[tokens[last].begin] == ';')) {
      ++last;
    }
    if (last > first) {
      StatementRewrite rewrite = RewriteTokens(*sql, first, last);
      changed = changed || !std::holds_alternative<Unchanged>(rewrite);
      statements.push_back({tokens[first].begin, tokens[last - 1].end, std::move(rewrite)});
    }
    first = last + 1;
  }
  if (!changed) statements.clear();
  return statements;
}

}  // namespace kelda::sql
