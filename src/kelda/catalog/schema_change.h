#pragma once

#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "kelda/types/data_type.h"

namespace kelda {

/// A column, or a part of one: names of ROW members, `element` for the elements of an ARRAY and
/// `value` for the values of a MAP (spec 01 §2.4). One step is the column itself.
class ColumnPath {
 public:
  // NOLINTBEGIN(google-explicit-constructor): a name is a path.
  ColumnPath(const char* name) : steps_{name} {}
  ColumnPath(std::string name) : steps_{std::move(name)} {}
  ColumnPath(std::vector<std::string> steps) : steps_(std::move(steps)) {}
  // NOLINTEND(google-explicit-constructor)

  const std::vector<std::string>& steps() const { return steps_; }
  /// The column that the path starts at, and whether it is all.
  const std::string& column() const { return steps_.front(); }
  bool IsColumn() const { return steps_.size() == 1; }
  const std::string& last() const { return steps_.back(); }
  std::string ToString() const;  ///< `a.element.b`

 private:
  std::vector<std::string> steps_;
};

// Schema changes (spec 04 §3.4).
struct SetOption {
  std::string key, value;
};
struct RemoveOption {
  std::string key;
};
struct UpdateComment {
  std::optional<std::string> comment;
};
struct AddColumn {
  DataField field;
  /// Put after this column (member) next to it; "" = first; nullopt = last.
  std::optional<std::string> after = std::nullopt;
  /// Path to the ROW that gets a member; empty: the table gets a column.
  std::vector<std::string> parent = {};
};
struct DropColumn {
  ColumnPath name;
};
struct RenameColumn {
  ColumnPath name;
  std::string new_name;
};
struct UpdateColumnComment {
  ColumnPath name;
  std::optional<std::string> comment;
};
struct UpdateColumnDefault {
  ColumnPath name;
  std::optional<std::string> default_value;
};
struct UpdateColumnNullability {
  ColumnPath name;
  bool nullable;
};
/// A ROW (also inside of ARRAY and MAP) that becomes another ROW gets, keeps and loses members by
/// their names. `keep_nullability`: of what is there; else that of `type` holds, under the rules
/// for nullability.
struct UpdateColumnType {
  ColumnPath name;
  DataType type;
  bool keep_nullability = true;
};
struct UpdateColumnPosition {
  std::string name;
  /// "" = first; nullopt = last.
  std::optional<std::string> after;
  /// Put before this column instead.
  std::optional<std::string> before = std::nullopt;
};
using SchemaChange = std::variant<SetOption, RemoveOption, UpdateComment, AddColumn, DropColumn,
                                  RenameColumn, UpdateColumnComment, UpdateColumnDefault,
                                  UpdateColumnNullability, UpdateColumnType, UpdateColumnPosition>;

}  // namespace kelda
