#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace kelda::sql {

/// What a statement says about one use of a table beyond its name. DuckDB's grammar has no place
/// for it, so the front parser appends it to the name and the catalog's table lookup takes it off
/// again:
///
///   t /*+ OPTIONS('a'='b') */            "t$options{"a":"b"}"
///   INSERT OVERWRITE t ...               "t$overwrite{...}"       see insert_contract.h
///   INSERT INTO t PARTITION (...) ...    "t$insert{...}"          see insert_contract.h
///
/// Both may be there, the options first. The text in braces is a JSON object. The suffixes come
/// behind names of system tables and branches, which are left in the base name:
/// `t$snapshots$options{...}`.
struct InsertTarget {
  bool overwrite = false;
  /// Columns that the statement binds to one value, in its order; the value as text that casts to
  /// the column's type (spec 04 §4.4), nothing for NULL.
  std::vector<std::pair<std::string, std::optional<std::string>>> static_partition;
  /// Columns that PARTITION names without a value.
  std::vector<std::string> dynamic_partition;
  /// The statement gives values by position: first those of all other columns in the table's order,
  /// then those of `static_partition`. The table entry must show its columns in this order.
  bool static_columns_last = false;
};

struct DecoratedTableName {
  std::string name;
  std::vector<std::pair<std::string, std::string>>
      options;  ///< dynamic options, in the statement's order
  std::optional<InsertTarget> insert;
};

std::string EncodeTableName(const DecoratedTableName& name);

/// Whether the name carries a suffix; cheap.
bool IsDecoratedTableName(std::string_view name);
/// The inverse of EncodeTableName; a name without suffix is its own base name. Nothing if a suffix
/// is malformed.
std::optional<DecoratedTableName> DecodeTableName(std::string_view name);

}  // namespace kelda::sql
