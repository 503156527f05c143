#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "kelda/sql/parser/lexer.h"
#include "kelda/sql/parser/statement_rewriter.h"

namespace kelda::sql {

/// The tokens [first, last) of one statement, for recursive descent: every question about a token
/// outside of them is answered with "no".
class StatementTokens {
 public:
  StatementTokens(const LexedSql& sql, size_t first, size_t last)
      : sql_(sql), first_(first), last_(last) {}

  size_t first() const { return first_; }
  size_t last() const { return last_; }
  bool Has(size_t i) const { return i >= first_ && i < last_; }
  TokenKind Kind(size_t i) const { return sql_.tokens()[i].kind; }
  std::string_view Text(size_t i) const { return sql_.TextOf(i); }
  /// Positions in the text of the whole script; `i` may be last(), the end of the statement.
  size_t Begin(size_t i) const { return i < last_ ? sql_.tokens()[i].begin : End(last_ - 1); }
  size_t End(size_t i) const { return sql_.tokens()[i].end; }

  /// The unquoted word `lower`.
  bool Is(size_t i, std::string_view lower) const {
    return Has(i) && Kind(i) == TokenKind::kWord && EqualsIgnoreCase(Text(i), lower);
  }
  template <typename... Words>
  bool IsAny(size_t i, Words... lower) const {
    return (Is(i, lower) || ...);
  }
  /// The words one after the other, from `i` on.
  template <typename... Words>
  bool Are(size_t i, Words... lower) const {
    return (Is(i++, lower) && ...);
  }
  bool IsSymbol(size_t i, char c) const {
    return Has(i) && Kind(i) == TokenKind::kSymbol && Text(i)[0] == c;
  }
  bool IsKind(size_t i, TokenKind kind) const { return Has(i) && Kind(i) == kind; }
  bool IsWord(size_t i) const { return IsKind(i, TokenKind::kWord); }
  /// A word or quoted identifier, keywords included.
  bool IsIdentifier(size_t i) const {
    return Has(i) && (Kind(i) == TokenKind::kWord || Kind(i) == TokenKind::kQuoted ||
                      Kind(i) == TokenKind::kBackticked);
  }
  /// An identifier that cannot be one of the keywords that follow a table name or an expression.
  bool IsName(size_t i) const;
  std::string Identifier(size_t i) const { return IdentifierValue(Text(i), Kind(i)); }

  /// Index of the parenthesis (or bracket) that closes the one at `open`; last() if there is none.
  size_t Closing(size_t open) const;
  /// Index behind the dotted name that starts at `i`; `i` if none does.
  size_t EndOfQualifiedName(size_t i) const;
  /// The text of tokens [begin, end) with backticked identifiers in double quotes.
  std::string Render(size_t begin, size_t end) const;

 private:
  const LexedSql& sql_;
  size_t first_;
  size_t last_;
};

/// Edits of one statement, by token. Later edits may not touch tokens that an earlier Replace took.
class TokenEdits {
 public:
  explicit TokenEdits(const StatementTokens& tokens) : tokens_(&tokens) {}

  /// Put `text` in the place of tokens [begin, end), begin < end.
  void Replace(size_t begin, size_t end, std::string text);
  void Remove(size_t begin, size_t end) { Replace(begin, end, ""); }
  void InsertBefore(size_t token, std::string text);
  void InsertAfter(size_t token, std::string text);
  /// Whether a Replace took the token.
  bool Taken(size_t token) const { return !taken_.empty() && taken_[token - tokens_->first()]; }
  bool empty() const { return edits_.empty(); }

  /// The statement with all edits made; positions count from its first token.
  Rewritten Apply(std::string_view script);

 private:
  struct Edit {
    size_t begin;
    size_t end;
    std::string text;
  };

  const StatementTokens* tokens_;
  std::vector<Edit> edits_;
  std::vector<bool> taken_;
};

}  // namespace kelda::sql
