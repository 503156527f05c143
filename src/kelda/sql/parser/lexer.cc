#include "kelda/sql/parser/lexer.h"

#include <algorithm>
#include <array>
#include <limits>

namespace kelda::sql {
namespace {

enum CharClass : uint8_t { kOther = 0, kSpace = 1, kWordStart = 2, kDigit = 4 };

constexpr std::array<uint8_t, 256> MakeClasses() {
  std::array<uint8_t, 256> classes{};
  for (unsigned char c : {' ', '\t', '\n', '\r', '\f', '\v'}) classes[c] = kSpace;
  for (int c = 'a'; c <= 'z'; ++c) classes[c] = kWordStart;
  for (int c = 'A'; c <= 'Z'; ++c) classes[c] = kWordStart;
  for (int c = 0x80; c <= 0xff; ++c) classes[c] = kWordStart;
  classes['_'] = kWordStart;
  for (int c = '0'; c <= '9'; ++c) classes[c] = kDigit;
  return classes;
}
constexpr std::array<uint8_t, 256> kClasses = MakeClasses();

uint8_t ClassOf(char c) { return kClasses[static_cast<unsigned char>(c)]; }
bool IsWordPart(char c) { return (ClassOf(c) & (kWordStart | kDigit)) != 0 || c == '$'; }
bool IsDigit(char c) { return ClassOf(c) == kDigit; }
char Lower(char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c + 32) : c; }

constexpr size_t kOpen = std::numeric_limits<size_t>::max();

/// Finds the end of each lexical form; every function takes the position of its first byte and
/// gives the position behind its last one, or kOpen.
class Scanner {
 public:
  explicit Scanner(std::string_view text) : text_(text) {}

  bool At(size_t pos, char c) const { return pos < text_.size() && text_[pos] == c; }

  size_t Quoted(size_t pos, char quote) const {
    for (++pos; pos < text_.size(); ++pos) {
      pos = text_.find(quote, pos);
      if (pos == std::string_view::npos) return kOpen;
      if (!At(pos + 1, quote)) return pos + 1;
      ++pos;
    }
    return kOpen;
  }

  size_t EscapedString(size_t pos) const {
    for (++pos; pos < text_.size(); ++pos) {
      if (text_[pos] == '\\') {
        ++pos;
      } else if (text_[pos] == '\'') {
        if (!At(pos + 1, '\'')) return pos + 1;
        ++pos;
      }
    }
    return kOpen;
  }

  size_t LineComment(size_t pos) const {
    size_t end = text_.find_first_of("\n\r", pos);
    return end == std::string_view::npos ? text_.size() : end;
  }

  size_t BlockComment(size_t pos) const {
    size_t depth = 1;
    for (pos += 2; pos < text_.size(); ++pos) {
      if (text_[pos] == '/' && At(pos + 1, '*')) {
        ++depth;
        ++pos;
      } else if (text_[pos] == '*' && At(pos + 1, '/')) {
        ++pos;
        if (--depth == 0) return pos + 1;
      }
    }
    return kOpen;
  }

  size_t Word(size_t pos) const {
    while (pos < text_.size() && IsWordPart(text_[pos])) ++pos;
    return pos;
  }

  size_t Number(size_t pos) const {
    if (text_[pos] == '0' && pos + 1 < text_.size() &&
        (Lower(text_[pos + 1]) == 'x' || Lower(text_[pos + 1]) == 'b')) {
      size_t end = pos + 2;
      while (end < text_.size() && IsWordPart(text_[end])) ++end;
      return end;
    }
    pos = Digits(pos);
    if (At(pos, '.') && !At(pos + 1, '.')) pos = Digits(pos + 1);
    if (pos < text_.size() && Lower(text_[pos]) == 'e') {
      size_t exponent = pos + 1;
      if (At(exponent, '+') || At(exponent, '-')) ++exponent;
      if (exponent < text_.size() && IsDigit(text_[exponent])) pos = Digits(exponent);
    }
    return pos;
  }

  /// Position behind the opening `$tag$`, or 0 if there is none at `pos`.
  size_t DollarTag(size_t pos) const {
    size_t end = pos + 1;
    if (end < text_.size() && ClassOf(text_[end]) == kWordStart) {
      while (end < text_.size() && (ClassOf(text_[end]) & (kWordStart | kDigit)) != 0) ++end;
    }
    return At(end, '$') ? end + 1 : 0;
  }

  size_t DollarString(size_t pos, size_t body) const {
    size_t end = text_.find(text_.substr(pos, body - pos), body);
    return end == std::string_view::npos ? kOpen : end + (body - pos);
  }

 private:
  size_t Digits(size_t pos) const {
    while (pos < text_.size() && (IsDigit(text_[pos]) || text_[pos] == '_')) ++pos;
    return pos;
  }

  std::string_view text_;
};

/// A word that is a prefix of the literal that starts right behind it.
bool IsLiteralPrefix(std::string_view word) {
  if (word.size() != 1) return false;
  char c = Lower(word[0]);
  return c == 'e' || c == 'b' || c == 'x' || c == 'n';
}

struct Found {
  size_t end;
  TokenKind kind;
};

Found ScanWord(const Scanner& scanner, std::string_view text, size_t pos) {
  size_t end = scanner.Word(pos);
  std::string_view word = text.substr(pos, end - pos);
  if (scanner.At(end, '\'') && IsLiteralPrefix(word)) {
    bool escapes = Lower(word[0]) == 'e';
    return {escapes ? scanner.EscapedString(end) : scanner.Quoted(end, '\''), TokenKind::kString};
  }
  if (word.size() == 1 && Lower(word[0]) == 'u' && scanner.At(end, '&')) {
    if (scanner.At(end + 1, '\'')) return {scanner.Quoted(end + 1, '\''), TokenKind::kString};
    // U&"..." stays two tokens: its value is not the text between the quotes.
  }
  return {end, TokenKind::kWord};
}

Found ScanToken(const Scanner& scanner, std::string_view text, size_t pos) {
  char c = text[pos];
  switch (ClassOf(c)) {
    case kWordStart:
      return ScanWord(scanner, text, pos);
    case kDigit:
      return {scanner.Number(pos), TokenKind::kNumber};
    default:
      break;
  }
  switch (c) {
    case '\'':
      return {scanner.Quoted(pos, '\''), TokenKind::kString};
    case '"':
      return {scanner.Quoted(pos, '"'), TokenKind::kQuoted};
    case '`':
      return {scanner.Quoted(pos, '`'), TokenKind::kBackticked};
    case '?':
      return {pos + 1, TokenKind::kParameter};
    case '$':
      if (size_t body = scanner.DollarTag(pos); body != 0) {
        return {scanner.DollarString(pos, body), TokenKind::kString};
      }
      if (pos + 1 < text.size() && IsWordPart(text[pos + 1])) {
        return {scanner.Word(pos + 1), TokenKind::kParameter};
      }
      return {pos + 1, TokenKind::kSymbol};
    case '.':
      if (pos + 1 < text.size() && IsDigit(text[pos + 1])) {
        return {scanner.Number(pos), TokenKind::kNumber};
      }
      return {pos + 1, TokenKind::kSymbol};
    case '=':
      if (scanner.At(pos + 1, '>')) return {pos + 2, TokenKind::kArrow};
      return {pos + 1, TokenKind::kSymbol};
    default:
      return {pos + 1, TokenKind::kSymbol};
  }
}

/// Calls `on_token(begin, end, kind)` and `on_hint(begin, end)` in order; gives the position of the
/// first lexical form that does not end, or kOpen if all do.
template <typename OnToken, typename OnHint>
size_t Scan(std::string_view text, OnToken on_token, OnHint on_hint) {
  Scanner scanner(text);
  size_t pos = 0;
  while (pos < text.size()) {
    char c = text[pos];
    if (ClassOf(c) == kSpace) {
      ++pos;
      continue;
    }
    if (c == '-' && scanner.At(pos + 1, '-')) {
      pos = scanner.LineComment(pos);
      continue;
    }
    if (c == '/' && scanner.At(pos + 1, '*')) {
      size_t end = scanner.BlockComment(pos);
      if (end == kOpen) return pos;
      if (scanner.At(pos + 2, '+')) on_hint(pos, end);
      pos = end;
      continue;
    }
    Found found = ScanToken(scanner, text, pos);
    if (found.end == kOpen) return pos;
    on_token(pos, found.end, found.kind);
    pos = found.end;
  }
  return kOpen;
}

}  // namespace

std::optional<LexedSql> LexedSql::Make(std::string_view text) {
  if (text.size() > std::numeric_limits<uint32_t>::max()) return std::nullopt;
  LexedSql lexed;
  lexed.text_ = text;
  lexed.tokens_.reserve(std::min<size_t>(text.size() / 4 + 8, 1 << 12));
  size_t open = Scan(
      text,
      [&](size_t begin, size_t end, TokenKind kind) {
        lexed.tokens_.push_back({static_cast<uint32_t>(begin), static_cast<uint32_t>(end), kind});
      },
      [&](size_t begin, size_t end) {
        lexed.hints_.push_back({static_cast<uint32_t>(begin), static_cast<uint32_t>(end),
                                static_cast<uint32_t>(lexed.tokens_.size())});
      });
  if (open != kOpen) return std::nullopt;
  return lexed;
}

std::span<const HintComment> LexedSql::HintsOf(size_t first, size_t last) const {
  auto precedes = [](const HintComment& hint, size_t token) { return hint.before <= token; };
  auto begin = std::lower_bound(hints_.begin(), hints_.end(), first, precedes);
  auto end = std::lower_bound(begin, hints_.end(), last, precedes);
  return {begin, end};
}

bool EqualsIgnoreCase(std::string_view text, std::string_view lower) {
  if (text.size() != lower.size()) return false;
  for (size_t i = 0; i < text.size(); ++i) {
    if (Lower(text[i]) != lower[i]) return false;
  }
  return true;
}

namespace {

std::string Quote(std::string_view value, char quote) {
  std::string out(1, quote);
  for (char c : value) {
    out += c;
    if (c == quote) out += c;
  }
  return out += quote;
}

std::string Unquote(std::string_view quoted) {
  char quote = quoted.front();
  std::string out;
  for (size_t i = 1; i + 1 < quoted.size(); ++i) {
    out += quoted[i];
    if (quoted[i] == quote) ++i;
  }
  return out;
}

std::optional<std::string> UnescapeString(std::string_view body) {
  std::string out;
  for (size_t i = 1; i + 1 < body.size(); ++i) {
    char c = body[i];
    if (c == '\'') ++i;
    if (c != '\\') {
      out += c;
      continue;
    }
    switch (char escaped = body[++i]) {
      case 'n':
        out += '\n';
        break;
      case 't':
        out += '\t';
        break;
      case 'r':
        out += '\r';
        break;
      case 'b':
        out += '\b';
        break;
      case 'f':
        out += '\f';
        break;
      case '\\':
      case '\'':
      case '"':
        out += escaped;
        break;
      default:
        return std::nullopt;  // numeric escapes have no use in names and options
    }
  }
  return out;
}

}  // namespace

std::string QuoteIdentifier(std::string_view name) { return Quote(name, '"'); }
std::string QuoteLiteral(std::string_view value) { return Quote(value, '\''); }

std::string QuoteJson(std::string_view text) {
  static constexpr char kHex[] = "0123456789abcdef";
  std::string out = "\"";
  for (char c : text) {
    if (c == '"' || c == '\\') {
      out += '\\';
      out += c;
    } else if (static_cast<unsigned char>(c) < 0x20) {
      out += "\\u00";
      out += kHex[c >> 4];
      out += kHex[c & 15];
    } else {
      out += c;
    }
  }
  return out += '"';
}

std::string IdentifierValue(std::string_view token, TokenKind kind) {
  return kind == TokenKind::kWord ? std::string(token) : Unquote(token);
}

std::optional<std::string> StringValue(std::string_view token) {
  switch (Lower(token.front())) {
    case '\'':
      return Unquote(token);
    case 'e':
      return UnescapeString(token.substr(1));
    case '$': {
      size_t body = token.find('$', 1) + 1;
      return std::string(token.substr(body, token.size() - 2 * body));
    }
    default:
      return std::nullopt;
  }
}

SplitScript SplitStatements(std::string_view script) {
  SplitScript split;
  size_t begin = kOpen;
  size_t end = 0;
  size_t unfinished = Scan(
      script,
      [&](size_t token_begin, size_t token_end, TokenKind kind) {
        if (kind == TokenKind::kSymbol && script[token_begin] == ';') {
          if (begin != kOpen) split.statements.push_back({begin, end});
          begin = kOpen;
          split.rest = token_end;
          return;
        }
        if (begin == kOpen) begin = token_begin;
        end = token_end;
      },
      [](size_t, size_t) {});
  split.open = begin != kOpen || unfinished != kOpen;
  if (split.open) split.rest = std::min(begin, unfinished);
  return split;
}

}  // namespace kelda::sql
