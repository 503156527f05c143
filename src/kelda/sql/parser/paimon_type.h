#pragma once

#include <optional>
#include <string>
#include <variant>

#include "kelda/sql/parser/token_edits.h"

namespace kelda::sql {

/// A column type as a user writes it in any of the dialects.
struct ParsedType {
  size_t end = 0;  ///< index of the token behind the type
  /// Paimon's text without NOT NULL at the top: `DECIMAL(10, 2)`, or a JSON object for nested types
  /// (spec 01 §2.2). Nothing for types that Paimon has not (HUGEINT, ENUM, ...).
  std::optional<std::string> paimon;
  /// DuckDB's text; nothing if DuckDB reads the user's text with the same meaning.
  std::optional<std::string> duckdb;
};

/// Parse the type at token `begin`; std::monostate if none starts there or it is no type that we
/// know how to delimit.
///
/// Where the dialects disagree about a bare name, DuckDB's reading holds, because Kelda's dialect
/// is DuckDB's: VARCHAR is STRING, BINARY and VARBINARY and BLOB are BYTES, DECIMAL is DECIMAL(18,
/// 3), TIMESTAMP has six digits and no zone. CHAR is CHAR(1) as in standard SQL. TIME has three
/// digits, which is what Paimon stores.
std::variant<std::monostate, ParsedType, RewriteError> ParseType(const StatementTokens& tokens,
                                                                 size_t begin);

}  // namespace kelda::sql
