#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace kelda::sql {

enum class TokenKind : uint8_t {
  kWord,        ///< identifier or keyword without quotes; may hold `$` (t$snapshots)
  kQuoted,      ///< "identifier"
  kBackticked,  ///< `identifier`, as Spark and Flink write it
  kString,      ///< 'text', also with the prefixes e, b, x, n, u&, and $tag$text$tag$
  kNumber,
  kParameter,  ///< ? or $1 or $name
  kArrow,      ///< =>
  kSymbol,     ///< any other single character
};

/// One token of SQL text: bytes [begin, end). Comments and blanks are no tokens.
struct Token {
  uint32_t begin;
  uint32_t end;
  TokenKind kind;
};

/// A comment `/*+ ... */`. `before` is the number of tokens that precede it.
struct HintComment {
  uint32_t begin;
  uint32_t end;
  uint32_t before;
};

/// The tokens of `text`, which must outlive this object. Follows the rules of DuckDB's scanner, so
/// that both agree where strings, comments and statements end; backticks are the one addition.
class LexedSql {
 public:
  /// Nothing if the text is no sequence of tokens: an open string, identifier or comment, or more
  /// than 4 GB.
  static std::optional<LexedSql> Make(std::string_view text);

  std::string_view text() const { return text_; }
  const std::vector<Token>& tokens() const { return tokens_; }
  /// The hints that follow one of the tokens [first, last) directly.
  std::span<const HintComment> HintsOf(size_t first, size_t last) const;

  std::string_view TextOf(size_t token) const {
    return text_.substr(tokens_[token].begin, tokens_[token].end - tokens_[token].begin);
  }

 private:
  std::string_view text_;
  std::vector<Token> tokens_;
  std::vector<HintComment> hints_;
};

/// ASCII comparison without case; `lower` must be lower-case.
bool EqualsIgnoreCase(std::string_view text, std::string_view lower);

/// `name` in double quotes.
std::string QuoteIdentifier(std::string_view name);
/// `value` as a string literal.
std::string QuoteLiteral(std::string_view value);
/// `text` as a JSON string.
std::string QuoteJson(std::string_view text);
/// Value of a kWord, kQuoted or kBackticked token.
std::string IdentifierValue(std::string_view token, TokenKind kind);
/// Value of a plain '...' or e'...' or $tag$...$tag$ literal; nothing for other prefixes.
std::optional<std::string> StringValue(std::string_view token);

/// One statement of a script, without its semicolon: [begin, end) starts and ends at a token.
struct StatementRange {
  size_t begin;
  size_t end;
};

/// The statements of a script that are complete, and whether the rest is one that still misses its
/// semicolon
/// (`open`; its text starts at `rest`). Empty statements are left out.
struct SplitScript {
  std::vector<StatementRange> statements;
  bool open = false;
  size_t rest = 0;
};
SplitScript SplitStatements(std::string_view script);

}  // namespace kelda::sql
