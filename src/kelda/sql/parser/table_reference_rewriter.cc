#include "kelda/sql/parser/rewriters.h"
#include "kelda/sql/parser/table_name_suffix.h"

namespace kelda::sql {
namespace {

/// `AT (VERSION => 3) x`, `VERSION AS OF 3 x`, `FOR SYSTEM_TIME AS OF '...' AS x` behind a table
/// name.
struct TimeTravel {
  std::string_view unit;  ///< VERSION, TIMESTAMP, TAG or WATERMARK
  bool at = false;        ///< DuckDB's AT (...)
  size_t expression_begin = 0;
  size_t expression_end = 0;
  size_t end = 0;        ///< behind the clause
  size_t alias_end = 0;  ///< equals `end` if no alias follows
};

class TableReferenceRewriter {
 public:
  TableReferenceRewriter(StatementRewriter* rewriter, const LexedSql& sql)
      : rewriter_(*rewriter), tokens_(rewriter->tokens), sql_(sql) {}

  void Run();

 private:
  bool ParseHints();
  std::optional<TimeTravel> MatchTimeTravel(size_t begin) const;
  std::optional<TimeTravel> MatchAsOf(size_t begin) const;
  std::optional<TimeTravel> MatchAt(size_t begin) const;
  size_t EndOfAlias(size_t begin) const;
  size_t EndOfExpression(size_t begin) const;
  size_t EndOfOperand(size_t begin) const;
  size_t EndOfInterval(size_t begin) const;
  void RewriteTable(size_t name, OptionList options, const std::optional<TimeTravel>& travel);
  void RewriteTimeTravel(size_t name, const TimeTravel& travel, OptionList* options);
  bool TakesAlias(size_t name) const;

  StatementRewriter& rewriter_;
  const StatementTokens& tokens_;
  const LexedSql& sql_;
  std::vector<std::pair<size_t, OptionList>> hints_;  ///< by token of the table name
};

void TableReferenceRewriter::Run() {
  if (!ParseHints()) return;
  TokenEdits& edits = rewriter_.edits;
  auto hint = hints_.begin();
  for (size_t i = tokens_.first(); i < tokens_.last(); ++i) {
    if (!tokens_.IsIdentifier(i) || edits.Taken(i)) continue;
    OptionList options;
    while (hint != hints_.end() && hint->first <= i) {
      if (hint->first == i) options.insert(options.end(), hint->second.begin(), hint->second.end());
      ++hint;
    }
    std::optional<TimeTravel> travel = MatchTimeTravel(i + 1);
    if (travel && !tokens_.IsName(i)) travel.reset();
    if (travel || !options.empty()) {
      RewriteTable(i, std::move(options), travel);
      if (edits.Taken(i)) continue;
    }
    if (tokens_.Kind(i) == TokenKind::kBackticked) {
      edits.Replace(i, i + 1, QuoteIdentifier(tokens_.Identifier(i)));
    } else if (tokens_.Is(i, "default") && tokens_.IsSymbol(i + 1, '.') &&
               tokens_.IsIdentifier(i + 2)) {
      // Paimon's first database has the name of a keyword.
      edits.Replace(i, i + 1, "\"default\"");
    }
  }
}

bool TableReferenceRewriter::ParseHints() {
  for (const HintComment& hint : sql_.HintsOf(tokens_.first(), tokens_.last())) {
    size_t name = hint.before - 1;
    if (rewriter_.insert_target == name) continue;
    auto parsed = ParseHint(sql_.text(), hint);
    if (auto* error = std::get_if<RewriteError>(&parsed)) {
      rewriter_.FailAt(error->position, std::move(error->message));
      return false;
    }
    OptionList& options = std::get<OptionList>(parsed);
    if (options.empty()) continue;
    if (!tokens_.IsName(name) || rewriter_.edits.Taken(name)) {
      rewriter_.FailAt(hint.begin, "the hint OPTIONS must follow a table name");
      return false;
    }
    hints_.emplace_back(name, std::move(options));
  }
  return true;
}

std::optional<TimeTravel> TableReferenceRewriter::MatchTimeTravel(size_t begin) const {
  if (!tokens_.IsWord(begin)) return std::nullopt;
  switch (tokens_.Text(begin)[0] | 0x20) {
    case 'a':
      return MatchAt(begin);
    case 'f':
    case 's':
    case 't':
    case 'v':
      return MatchAsOf(begin);
    default:
      return std::nullopt;
  }
}

std::optional<TimeTravel> TableReferenceRewriter::MatchAsOf(size_t begin) const {
  size_t unit = tokens_.Is(begin, "for") ? begin + 1 : begin;
  if (!tokens_.Are(unit + 1, "as", "of")) return std::nullopt;
  TimeTravel travel;
  if (tokens_.IsAny(unit, "version", "system_version")) {
    travel.unit = "VERSION";
  } else if (tokens_.IsAny(unit, "timestamp", "system_time")) {
    travel.unit = "TIMESTAMP";
  } else {
    return std::nullopt;
  }
  travel.expression_begin = unit + 3;
  travel.expression_end = EndOfExpression(travel.expression_begin);
  if (travel.expression_end == travel.expression_begin) return std::nullopt;
  travel.end = travel.expression_end;
  travel.alias_end = EndOfAlias(travel.end);
  return travel;
}

std::optional<TimeTravel> TableReferenceRewriter::MatchAt(size_t begin) const {
  if (!tokens_.Is(begin, "at") || !tokens_.IsSymbol(begin + 1, '(') ||
      !tokens_.IsKind(begin + 3, TokenKind::kArrow)) {
    return std::nullopt;
  }
  TimeTravel travel;
  travel.at = true;
  for (std::string_view unit : {"version", "timestamp", "tag", "watermark"}) {
    if (tokens_.Is(begin + 2, unit)) travel.unit = unit;
  }
  size_t close = tokens_.Closing(begin + 1);
  if (travel.unit.empty() || !tokens_.Has(close) || close == begin + 4) return std::nullopt;
  travel.expression_begin = begin + 4;
  travel.expression_end = close;
  travel.end = close + 1;
  travel.alias_end = EndOfAlias(travel.end);
  return travel;
}

/// Index behind `[AS] x [(a, b)]`; `begin` if no alias starts there.
size_t TableReferenceRewriter::EndOfAlias(size_t begin) const {
  size_t end = begin;
  if (tokens_.Is(begin, "as") && tokens_.IsIdentifier(begin + 1)) {
    end = begin + 2;
  } else if (tokens_.IsName(begin)) {
    end = begin + 1;
  } else {
    return begin;
  }
  if (tokens_.IsSymbol(end, '(')) {
    size_t close = tokens_.Closing(end);
    if (tokens_.Has(close)) return close + 1;
  }
  return end;
}

/// Index behind operands that are joined by operators; `begin` if it is no expression.
size_t TableReferenceRewriter::EndOfExpression(size_t begin) const {
  size_t end = EndOfOperand(begin);
  while (end != begin) {
    size_t next = end;
    if (tokens_.IsSymbol(end, '+') || tokens_.IsSymbol(end, '-') || tokens_.IsSymbol(end, '*') ||
        tokens_.IsSymbol(end, '/')) {
      next = end + 1;
    } else if (tokens_.IsSymbol(end, '|') && tokens_.IsSymbol(end + 1, '|')) {
      next = end + 2;
    }
    if (next == end) return end;
    size_t operand_end = EndOfOperand(next);
    if (operand_end == next) return begin;
    end = operand_end;
  }
  return end;
}

size_t TableReferenceRewriter::EndOfOperand(size_t begin) const {
  size_t i = begin;
  while (tokens_.IsSymbol(i, '-') || tokens_.IsSymbol(i, '+')) ++i;
  size_t end = i;
  if (tokens_.IsKind(i, TokenKind::kString) || tokens_.IsKind(i, TokenKind::kNumber) ||
      tokens_.IsKind(i, TokenKind::kParameter)) {
    end = i + 1;
  } else if (tokens_.IsSymbol(i, '(')) {
    end = tokens_.Closing(i) + 1;
  } else if (tokens_.Is(i, "interval")) {
    end = EndOfInterval(i);
  } else if (tokens_.IsWord(i) && tokens_.IsKind(i + 1, TokenKind::kString)) {
    end = i + 2;  // TIMESTAMP '...'
  } else if (tokens_.IsName(i)) {
    end = tokens_.EndOfQualifiedName(i);
    if (tokens_.IsSymbol(end, '(')) end = tokens_.Closing(end) + 1;
  }
  if (end == i || end > tokens_.last()) return begin;
  while (tokens_.IsSymbol(end, ':') && tokens_.IsSymbol(end + 1, ':') &&
         tokens_.IsIdentifier(end + 2)) {
    end = tokens_.EndOfQualifiedName(end + 2);
  }
  return end;
}

size_t TableReferenceRewriter::EndOfInterval(size_t begin) const {
  size_t end = begin + 1;
  if (tokens_.IsSymbol(end, '(')) {
    end = tokens_.Closing(end) + 1;
  } else if (tokens_.IsKind(end, TokenKind::kString) || tokens_.IsKind(end, TokenKind::kNumber)) {
    ++end;
  } else {
    return begin;
  }
  for (std::string_view unit :
       {"second", "seconds", "minute", "minutes", "hour", "hours", "day", "days", "week", "weeks",
        "month", "months", "year", "years", "millisecond", "milliseconds"}) {
    if (tokens_.Is(end, unit)) return end + 1;
  }
  return end;
}

/// DuckDB wants the alias before AT, the other dialects behind the clause.
void TableReferenceRewriter::RewriteTimeTravel(size_t name, const TimeTravel& travel,
                                               OptionList* options) {
  TokenEdits& edits = rewriter_.edits;
  bool has_alias = travel.alias_end > travel.end;
  std::string alias;
  if (has_alias) {
    size_t begin = travel.end + (tokens_.Is(travel.end, "as") ? 1 : 0);
    alias = "AS " + tokens_.Render(begin, travel.alias_end) + " ";
  }
  if (travel.unit == "tag" || travel.unit == "watermark") {
    bool string = tokens_.IsKind(travel.expression_begin, TokenKind::kString);
    bool number = tokens_.IsKind(travel.expression_begin, TokenKind::kNumber);
    std::optional<std::string> value;
    if (string) value = StringValue(tokens_.Text(travel.expression_begin));
    if (number) value = std::string(tokens_.Text(travel.expression_begin));
    if (!value || travel.expression_end != travel.expression_begin + 1) {
      rewriter_.Fail(travel.expression_begin,
                     "the value of " + std::string(travel.unit) + " must be a literal");
      return;
    }
    options->emplace_back(travel.unit == "tag" ? "scan.tag-name" : "scan.watermark",
                          std::move(*value));
    edits.Replace(name + 1, travel.alias_end, alias);
    return;
  }
  if (travel.at) {
    if (!has_alias) return;
    edits.InsertBefore(name + 1, alias);
  } else {
    edits.Replace(name + 1, travel.expression_begin,
                  alias + "AT (" + std::string(travel.unit) + " =>");
    edits.InsertAfter(travel.expression_end - 1, ")");
  }
  if (has_alias) edits.Remove(travel.end, travel.alias_end);
}

void TableReferenceRewriter::RewriteTable(size_t name, OptionList options,
                                          const std::optional<TimeTravel>& travel) {
  size_t alias_end = travel ? travel->alias_end : EndOfAlias(name + 1);
  bool has_alias = alias_end > (travel ? travel->end : name + 1);
  if (travel) RewriteTimeTravel(name, *travel, &options);
  if (options.empty()) return;
  DecoratedTableName decorated;
  decorated.name = tokens_.Identifier(name);
  decorated.options = std::move(options);
  std::string text = QuoteIdentifier(EncodeTableName(decorated));
  // Columns qualified by the table's own name must stay valid.
  if (!has_alias && TakesAlias(name)) text += " AS " + QuoteIdentifier(decorated.name);
  rewriter_.edits.Replace(name, name + 1, std::move(text));
}

bool TableReferenceRewriter::TakesAlias(size_t name) const {
  size_t begin = name;
  while (tokens_.IsSymbol(begin - 1, '.') && tokens_.IsIdentifier(begin - 2)) begin -= 2;
  return tokens_.IsAny(begin - 1, "from", "join", "update", "using", "into", "only") ||
         tokens_.IsSymbol(begin - 1, ',') || tokens_.IsSymbol(begin - 1, '(');
}

}  // namespace

void RewriteTableReferences(StatementRewriter* rewriter, const LexedSql& sql) {
  TableReferenceRewriter(rewriter, sql).Run();
}

}  // namespace kelda::sql
