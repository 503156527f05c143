#pragma once

#include <string_view>

namespace kelda::sql {

/// Tag of ALTER TABLE, as often as there are changes of columns, in their order; each a JSON object
/// with `op`, `path` (steps of ColumnPath in any case) and
///   add: `type`, perhaps `nullable`, `comment`, `after` ("" = first), `if`
///   drop: perhaps `if`; rename: `to`; type: `type`, perhaps `nullable`
///   nullable: `nullable`; comment: `comment`; move: `after`; default: `text`, missing for NULL
/// `type` is Paimon's text, or JSON of a nested type.
inline constexpr std::string_view kColumnChangeTag = "kelda.column-change";

}  // namespace kelda::sql
