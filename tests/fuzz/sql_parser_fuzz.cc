#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>
#include <variant>

#include "kelda/sql/parser/lexer.h"
#include "kelda/sql/parser/statement_rewriter.h"
#include "kelda/sql/parser/table_name_suffix.h"

// The front parser: whatever the text, statements are found where the splitter finds them, what is
// rewritten is still a sequence of tokens and leads back to where it came from, and a decorated
// table name survives decoding.

namespace kelda::sql {
namespace {

void Check(bool holds) {
  if (!holds) std::abort();
}

void CheckRewritten(std::string_view statement, const Rewritten& rewritten) {
  Check(LexedSql::Make(rewritten.text).has_value());
  size_t end = 0;
  for (const Rewritten::Segment& segment : rewritten.segments) {
    Check(segment.rewritten >= end);
    end = segment.rewritten + segment.length;
    Check(end <= rewritten.text.size() && segment.original + segment.length <= statement.size());
    Check(rewritten.text.compare(segment.rewritten, segment.length, statement, segment.original,
                                 segment.length) == 0);
  }
  for (size_t i = 0; i <= rewritten.text.size(); ++i)
    Check(rewritten.OriginalPosition(i) <= statement.size());
}

void CheckScript(std::string_view script) {
  SplitScript split = SplitStatements(script);
  for (const ScriptStatement& statement : RewriteScript(script)) {
    Check(statement.begin < statement.end && statement.end <= script.size());
    std::string_view text = script.substr(statement.begin, statement.end - statement.begin);
    if (const auto* rewritten = std::get_if<Rewritten>(&statement.rewrite))
      CheckRewritten(text, *rewritten);
    if (const auto* error = std::get_if<RewriteError>(&statement.rewrite)) {
      // A hint behind the last token is no part of the statement's text.
      Check(error->position <= script.size() - statement.begin && !error->message.empty());
    }
    bool found = split.open && split.rest == statement.begin;
    for (const StatementRange& range : split.statements) {
      found = found || (range.begin == statement.begin && range.end == statement.end);
    }
    Check(found);
  }
}

void CheckName(std::string_view name) {
  std::optional<DecoratedTableName> decoded = DecodeTableName(name);
  if (!decoded) return;
  std::optional<DecoratedTableName> again = DecodeTableName(EncodeTableName(*decoded));
  Check(again.has_value() && again->name == decoded->name && again->options == decoded->options);
  Check(again->insert.has_value() == decoded->insert.has_value());
  if (!decoded->insert) return;
  Check(again->insert->static_partition == decoded->insert->static_partition);
  Check(again->insert->dynamic_partition == decoded->insert->dynamic_partition);
}

}  // namespace
}  // namespace kelda::sql

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  std::string_view text(reinterpret_cast<const char*>(data), size);
  kelda::sql::CheckScript(text);
  kelda::sql::CheckName(text);
  return 0;
}
