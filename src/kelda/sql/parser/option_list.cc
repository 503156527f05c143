#include "kelda/sql/parser/rewriters.h"

namespace kelda::sql {
namespace {

using Failed = std::optional<RewriteError>;

RewriteError ErrorAt(const StatementTokens& tokens, size_t token, std::string message) {
  return RewriteError{tokens.Begin(token), std::move(message)};
}

bool EndsEntry(const StatementTokens& tokens, size_t i) {
  return tokens.IsSymbol(i, ',') || tokens.IsSymbol(i, ')');
}

/// The key at `*pos`, which moves behind it.
Failed ParseKey(const StatementTokens& tokens, size_t* pos, std::string* key) {
  size_t i = *pos;
  if (tokens.IsKind(i, TokenKind::kString)) {
    std::optional<std::string> value = StringValue(tokens.Text(i));
    if (!value) return ErrorAt(tokens, i, "an option key must be a plain string");
    *key = std::move(*value);
    *pos = i + 1;
    return std::nullopt;
  }
  if (!tokens.IsIdentifier(i)) return ErrorAt(tokens, i, "expected an option key in quotes");
  if (tokens.IsSymbol(i + 1, '.') || tokens.IsSymbol(i + 1, '-')) {
    size_t end = i;
    while (tokens.Has(end) && !EndsEntry(tokens, end) && !tokens.IsSymbol(end, '=') &&
           !tokens.IsKind(end, TokenKind::kString)) {
      ++end;
    }
    return ErrorAt(tokens, i,
                   "option key " + tokens.Render(i, end) +
                       " must be in quotes: " + QuoteLiteral(tokens.Render(i, end)));
  }
  *key = tokens.Identifier(i);
  *pos = i + 1;
  return std::nullopt;
}

Failed ParseValue(const StatementTokens& tokens, const std::string& key, size_t* pos,
                  std::string* value) {
  size_t i = *pos;
  if (!tokens.Has(i) || EndsEntry(tokens, i)) {
    return ErrorAt(tokens, i, "option " + QuoteLiteral(key) + " has no value");
  }
  size_t end = i + 1;
  if (tokens.IsKind(i, TokenKind::kString)) {
    std::optional<std::string> text = StringValue(tokens.Text(i));
    if (!text)
      return ErrorAt(tokens, i,
                     "the value of option " + QuoteLiteral(key) + " must be a plain string");
    *value = std::move(*text);
  } else if (tokens.IsSymbol(i, '-') && tokens.IsKind(i + 1, TokenKind::kNumber)) {
    *value = "-" + std::string(tokens.Text(i + 1));
    ++end;
  } else if (tokens.IsKind(i, TokenKind::kNumber)) {
    *value = tokens.Text(i);
  } else if (tokens.IsIdentifier(i)) {
    *value = tokens.Identifier(i);
  } else {
    end = i;
  }
  if (!EndsEntry(tokens, end)) {
    return ErrorAt(
        tokens, i,
        "the value of option " + QuoteLiteral(key) + " must be one literal; put it in quotes");
  }
  *pos = end;
  return std::nullopt;
}

/// `on_entry(&pos)` parses one entry.
template <typename OnEntry>
std::variant<size_t, RewriteError> ParseList(const StatementTokens& tokens, size_t open,
                                             OnEntry on_entry) {
  if (!tokens.IsSymbol(open, '(')) return ErrorAt(tokens, open, "expected ( and a list of options");
  size_t pos = open + 1;
  if (tokens.IsSymbol(pos, ')')) return pos + 1;
  while (true) {
    if (Failed failed = on_entry(&pos)) return std::move(*failed);
    if (tokens.IsSymbol(pos, ')')) return pos + 1;
    if (!tokens.IsSymbol(pos, ','))
      return ErrorAt(tokens, pos, "expected , or ) in the list of options");
    ++pos;
  }
}

}  // namespace

std::variant<size_t, RewriteError> ParseOptionList(const StatementTokens& tokens, size_t open,
                                                   OptionList* out) {
  return ParseList(tokens, open, [&](size_t* pos) -> Failed {
    std::string key, value;
    if (Failed failed = ParseKey(tokens, pos, &key)) return failed;
    if (tokens.IsSymbol(*pos, '=')) ++*pos;
    if (Failed failed = ParseValue(tokens, key, pos, &value)) return failed;
    out->emplace_back(std::move(key), std::move(value));
    return std::nullopt;
  });
}

std::variant<size_t, RewriteError> ParseKeyList(const StatementTokens& tokens, size_t open,
                                                std::vector<std::string>* out) {
  return ParseList(tokens, open, [&](size_t* pos) -> Failed {
    return ParseKey(tokens, pos, &out->emplace_back());
  });
}

std::string RenderOptionList(const OptionList& options) {
  std::string out = "(";
  for (const auto& [key, value] : options) {
    if (out.size() > 1) out += ", ";
    out += QuoteLiteral(key) + " = " + QuoteLiteral(value);
  }
  return out + ")";
}

std::variant<OptionList, RewriteError> ParseHint(std::string_view script, const HintComment& hint) {
  OptionList options;
  const size_t start = hint.begin + 3;
  std::optional<LexedSql> sql = LexedSql::Make(script.substr(start, hint.end - 2 - start));
  if (!sql || sql->tokens().empty()) return options;
  StatementTokens tokens(*sql, 0, sql->tokens().size());
  for (size_t i = 0; i < tokens.last();) {
    if (tokens.Is(i, "options") && tokens.IsSymbol(i + 1, '(')) {
      auto parsed = ParseOptionList(tokens, i + 1, &options);
      if (auto* error = std::get_if<RewriteError>(&parsed)) {
        error->position += start;
        return std::move(*error);
      }
      i = std::get<size_t>(parsed);
    } else {
      i = tokens.IsSymbol(i, '(') ? tokens.Closing(i) : i + 1;
    }
  }
  return options;
}

}  // namespace kelda::sql
