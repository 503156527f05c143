#include "kelda/sql/catalog/alter_table.h"

#include "duckdb/common/string_util.hpp"
#include "duckdb/parser/parsed_data/comment_on_column_info.hpp"

#include "kelda/sql/catalog/create_table.h"
#include "kelda/sql/catalog/name_lookup.h"
#include "kelda/sql/parser/alter_table_contract.h"
#include "kelda/sql/parser/create_table_contract.h"
#include "kelda/sql/types/logical_type.h"

namespace kelda::sql {

namespace {

/// The column as Paimon spells it.
arrow::Result<std::string> ColumnName(const TableSchema& schema, const std::string& wanted) {
  std::vector<std::string> names;
  for (const DataField& field : schema.fields) names.push_back(field.name);
  ARROW_ASSIGN_OR_RAISE(auto found, FindName(names, wanted, "column"));
  return found.value_or(wanted);
}

/// SQL could not tell a column from another whose name differs in case only.
arrow::Status CheckNewName(const TableSchema& schema, const std::string& name,
                           const std::string& replaced = "") {
  for (const DataField& field : schema.fields) {
    if (field.name == replaced || field.name == name ||
        !duckdb::StringUtil::CIEquals(field.name, name)) {
      continue;
    }
    return AlreadyExists("column '{}' exists, whose name differs from '{}' in case only",
                         field.name, name);
  }
  return arrow::Status::OK();
}

std::string_view TextOf(duckdb::AlterTableType type) {
  switch (type) {
    case duckdb::AlterTableType::SET_PARTITIONED_BY:
      return "changing the partition columns";
    case duckdb::AlterTableType::SET_SORTED_BY:
      return "SORTED BY";
    case duckdb::AlterTableType::ADD_FIELD:
      return "adding a field to a ROW column";
    case duckdb::AlterTableType::REMOVE_FIELD:
      return "dropping a field of a ROW column";
    case duckdb::AlterTableType::RENAME_FIELD:
      return "renaming a field of a ROW column";
    case duckdb::AlterTableType::FOREIGN_KEY_CONSTRAINT:
    case duckdb::AlterTableType::ADD_CONSTRAINT:
      return "ALTER TABLE ... ADD CONSTRAINT";
    default:
      return "this form of ALTER TABLE";
  }
}

bool HasColumn(const TableSchema& schema, const std::string& wanted) {
  auto name = ColumnName(schema, wanted);
  return name.ok() && schema.FieldIndex(*name) >= 0;
}

arrow::Result<std::vector<SchemaChange>> TableChanges(const duckdb::AlterTableInfo& info,
                                                      const TableSchema& schema) {
  std::vector<SchemaChange> changes;
  switch (info.alter_table_type) {
    case duckdb::AlterTableType::ADD_COLUMN: {
      const auto& add = info.Cast<duckdb::AddColumnInfo>();
      if (add.if_column_not_exists && HasColumn(schema, add.new_column.Name())) return changes;
      AddColumn change;
      const auto* tagged = dynamic_cast<const TaggedAddColumnInfo*>(&add);
      const auto tag = [&](std::string_view prefix) {
        return tagged != nullptr ? tagged->Find(prefix) : nullptr;
      };
      change.field.name = add.new_column.Name();
      ARROW_RETURN_NOT_OK(CheckNewName(schema, change.field.name));
      if (const std::string* type = tag(kColumnTypeTag)) {
        ARROW_ASSIGN_OR_RAISE(change.field.type, TypeOfTag(*type));
      } else {
        ARROW_ASSIGN_OR_RAISE(change.field.type,
                              FromLogicalType(add.new_column.Type(), change.field.name));
      }
      if (const std::string* comment = tag(kColumnCommentTag)) change.field.description = *comment;
      if (const std::string* after = tag(kColumnAfterTag)) {
        ARROW_ASSIGN_OR_RAISE(change.after, ColumnName(schema, *after));
      }
      if (add.new_column.HasDefaultValue()) {
        ARROW_ASSIGN_OR_RAISE(change.field.default_value,
                              DefaultText(add.new_column.DefaultValue(), change.field.name));
      }
      changes.emplace_back(std::move(change));
      return changes;
    }
    case duckdb::AlterTableType::REMOVE_COLUMN: {
      const auto& remove = info.Cast<duckdb::RemoveColumnInfo>();
      if (remove.if_column_exists && !HasColumn(schema, remove.removed_column)) return changes;
      ARROW_ASSIGN_OR_RAISE(auto name, ColumnName(schema, remove.removed_column));
      changes.emplace_back(DropColumn{name});
      return changes;
    }
    case duckdb::AlterTableType::RENAME_COLUMN: {
      const auto& rename = info.Cast<duckdb::RenameColumnInfo>();
      ARROW_ASSIGN_OR_RAISE(auto name, ColumnName(schema, rename.old_name));
      ARROW_RETURN_NOT_OK(CheckNewName(schema, rename.new_name, name));
      changes.emplace_back(RenameColumn{name, rename.new_name});
      return changes;
    }
    case duckdb::AlterTableType::ALTER_COLUMN_TYPE: {
      const auto& change = info.Cast<duckdb::ChangeColumnTypeInfo>();
      ARROW_ASSIGN_OR_RAISE(auto name, ColumnName(schema, change.column_name));
      ARROW_ASSIGN_OR_RAISE(auto type, FromLogicalType(change.target_type, name));
      changes.emplace_back(UpdateColumnType{name, type});
      return changes;
    }
    case duckdb::AlterTableType::SET_DEFAULT: {
      const auto& set = info.Cast<duckdb::SetDefaultInfo>();
      UpdateColumnDefault change;
      ARROW_ASSIGN_OR_RAISE(change.name, ColumnName(schema, set.column_name));
      if (set.expression) {
        ARROW_ASSIGN_OR_RAISE(change.default_value, DefaultText(*set.expression, change.name));
      }
      changes.emplace_back(std::move(change));
      return changes;
    }
    case duckdb::AlterTableType::SET_NOT_NULL: {
      ARROW_ASSIGN_OR_RAISE(auto name,
                            ColumnName(schema, info.Cast<duckdb::SetNotNullInfo>().column_name));
      changes.emplace_back(UpdateColumnNullability{name, false});
      return changes;
    }
    case duckdb::AlterTableType::DROP_NOT_NULL: {
      ARROW_ASSIGN_OR_RAISE(auto name,
                            ColumnName(schema, info.Cast<duckdb::DropNotNullInfo>().column_name));
      changes.emplace_back(UpdateColumnNullability{name, true});
      return changes;
    }
    case duckdb::AlterTableType::SET_TABLE_OPTIONS: {
      for (const auto& [key, expression] : info.Cast<duckdb::SetTableOptionsInfo>().table_options) {
        ARROW_ASSIGN_OR_RAISE(auto text, DefaultText(*expression, key));
        if (!text) return Invalid("option '{}' is NULL; use RESET to remove it", key);
        changes.emplace_back(SetOption{key, *text});
      }
      return changes;
    }
    case duckdb::AlterTableType::RESET_TABLE_OPTIONS: {
      for (const auto& key : info.Cast<duckdb::ResetTableOptionsInfo>().table_options) {
        changes.emplace_back(RemoveOption{key});
      }
      return changes;
    }
    default:
      return Unsupported("{}", TextOf(info.alter_table_type));
  }
}

}  // namespace

arrow::Result<std::vector<SchemaChange>> ToSchemaChanges(const duckdb::AlterInfo& info,
                                                         const TableSchema& schema) {
  auto comment_of = [](const duckdb::Value& value) -> std::optional<std::string> {
    if (value.IsNull()) return std::nullopt;
    return value.ToString();
  };
  std::vector<SchemaChange> changes;
  switch (info.type) {
    case duckdb::AlterType::ALTER_TABLE:
      return TableChanges(info.Cast<duckdb::AlterTableInfo>(), schema);
    case duckdb::AlterType::SET_COMMENT:
      changes.emplace_back(
          UpdateComment{comment_of(info.Cast<duckdb::SetCommentInfo>().comment_value)});
      return changes;
    case duckdb::AlterType::SET_COLUMN_COMMENT: {
      const auto& comment = info.Cast<duckdb::SetColumnCommentInfo>();
      ARROW_ASSIGN_OR_RAISE(auto name, ColumnName(schema, comment.column_name));
      changes.emplace_back(UpdateColumnComment{name, comment_of(comment.comment_value)});
      return changes;
    }
    default:
      return Unsupported("ALTER of anything but tables");
  }
}

}  // namespace kelda::sql
