#include "kelda/sql/parser/token_edits.h"

#include <algorithm>
#include <utility>

namespace kelda::sql {
namespace {

/// Words that end a table reference or an expression, so that they are no alias. Reserved in
/// DuckDB, or the start of a clause in one of the dialects.
bool IsClauseWord(std::string_view word) {
  static constexpr std::string_view kWords[] = {
      "all",        "and",         "any",       "anti",   "as",       "asof",      "between",
      "by",         "case",        "collate",   "cross",  "default",  "distinct",  "do",
      "else",       "end",         "except",    "false",  "fetch",    "for",       "from",
      "full",       "glob",        "group",     "having", "ilike",    "in",        "inner",
      "intersect",  "into",        "is",        "isnull", "join",     "lateral",   "left",
      "like",       "limit",       "natural",   "not",    "notnull",  "null",      "offset",
      "on",         "or",          "order",     "outer",  "overlaps", "partition", "pivot",
      "positional", "qualify",     "returning", "right",  "select",   "semi",      "set",
      "similar",    "tablesample", "then",      "true",   "union",    "unpivot",   "using",
      "values",     "when",        "where",     "window", "with"};
  return std::any_of(std::begin(kWords), std::end(kWords),
                     [&](std::string_view each) { return EqualsIgnoreCase(word, each); });
}

}  // namespace

bool StatementTokens::IsName(size_t i) const {
  return IsIdentifier(i) && !(Kind(i) == TokenKind::kWord && IsClauseWord(Text(i)));
}

size_t StatementTokens::Closing(size_t open) const {
  size_t depth = 0;
  for (size_t i = open; i < last_; ++i) {
    if (Kind(i) != TokenKind::kSymbol) continue;
    char c = Text(i)[0];
    if (c == '(' || c == '[' || c == '{') ++depth;
    if ((c == ')' || c == ']' || c == '}') && --depth == 0) return i;
  }
  return last_;
}

size_t StatementTokens::EndOfQualifiedName(size_t i) const {
  if (!IsIdentifier(i)) return i;
  ++i;
  while (IsSymbol(i, '.') && IsIdentifier(i + 1)) i += 2;
  return i;
}

std::string StatementTokens::Render(size_t begin, size_t end) const {
  std::string out;
  for (size_t i = begin; i < end; ++i) {
    if (i > begin && End(i - 1) < Begin(i)) out += ' ';
    out +=
        Kind(i) == TokenKind::kBackticked ? QuoteIdentifier(Identifier(i)) : std::string(Text(i));
  }
  return out;
}

void TokenEdits::Replace(size_t begin, size_t end, std::string text) {
  if (taken_.empty()) taken_.resize(tokens_->last() - tokens_->first());
  for (size_t i = begin; i < end; ++i) taken_[i - tokens_->first()] = true;
  edits_.push_back({tokens_->Begin(begin), tokens_->End(end - 1), std::move(text)});
}

void TokenEdits::InsertBefore(size_t token, std::string text) {
  edits_.push_back({tokens_->Begin(token), tokens_->Begin(token), std::move(text)});
}

void TokenEdits::InsertAfter(size_t token, std::string text) {
  edits_.push_back({tokens_->End(token), tokens_->End(token), std::move(text)});
}

Rewritten TokenEdits::Apply(std::string_view script) {
  std::stable_sort(edits_.begin(), edits_.end(), [](const Edit& a, const Edit& b) {
    return std::pair(a.begin, a.end) < std::pair(b.begin, b.end);
  });
  const size_t start = tokens_->Begin(tokens_->first());
  const size_t stop = tokens_->End(tokens_->last() - 1);
  Rewritten out;
  size_t pos = start;
  auto copy_until = [&](size_t end) {
    if (end <= pos) return;
    out.segments.push_back({out.text.size(), pos - start, end - pos});
    out.text.append(script.substr(pos, end - pos));
    pos = end;
  };
  for (const Edit& edit : edits_) {
    copy_until(edit.begin);
    // A zero-length segment says where replaced text comes from.
    out.segments.push_back({out.text.size(), edit.begin - start, 0});
    out.text += edit.text;
    pos = std::max(pos, edit.end);
  }
  copy_until(stop);
  return out;
}

size_t Rewritten::OriginalPosition(size_t position) const {
  auto next = std::upper_bound(
      segments.begin(), segments.end(), position,
      [](size_t value, const Segment& segment) { return value < segment.rewritten; });
  if (next == segments.begin()) return 0;
  const Segment& segment = *std::prev(next);
  return segment.original + std::min(position - segment.rewritten, segment.length);
}

}  // namespace kelda::sql
