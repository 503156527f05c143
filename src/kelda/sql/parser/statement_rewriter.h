#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

namespace kelda::sql {

/// DuckDB takes the statement as it is.
struct Unchanged {};

/// The statement in DuckDB's grammar, and what that grammar cannot say.
struct Rewritten {
  /// `length` bytes at `rewritten` of the new text are those at `original` of the statement.
  struct Segment {
    size_t rewritten;
    size_t original;
    size_t length;
  };

  std::string text;
  std::vector<Segment> segments;  ///< ascending
  /// Goes to CreateInfo::tags of a CREATE statement (create_table_contract.h).
  std::vector<std::pair<std::string, std::string>> tags;

  /// The position in the statement that belongs to a position of `text`; inside replaced text, its
  /// start.
  size_t OriginalPosition(size_t position) const;
};

struct RewriteError {
  size_t position;  ///< counts from the statement's first token; behind the last one for a wrong
                    ///< hint there
  std::string message;
};

using StatementRewrite = std::variant<Unchanged, Rewritten, RewriteError>;

/// Turn one statement in Paimon's, Spark's or Flink's spelling into DuckDB's. Pure text: knows no
/// table. A statement that it does not understand is Unchanged, so that DuckDB reports what is
/// wrong with it.
StatementRewrite RewriteStatement(std::string_view statement);

struct ScriptStatement {
  size_t begin;  ///< bytes [begin, end) of the script, without the semicolon
  size_t end;
  StatementRewrite rewrite;  ///< positions count from `begin`
};

/// All statements of a script, or none if every one is Unchanged.
std::vector<ScriptStatement> RewriteScript(std::string_view script);

}  // namespace kelda::sql
