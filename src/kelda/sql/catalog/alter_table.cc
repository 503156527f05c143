#include "kelda/sql/catalog/alter_table.h"

#include <nlohmann/json.hpp>

#include "duckdb/common/string_util.hpp"
#include "duckdb/parser/expression/cast_expression.hpp"
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
arrow::Status CheckNewName(const std::vector<DataField>& fields, const std::string& name,
                           const std::string& replaced = "") {
  for (const DataField& field : fields) {
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
    case duckdb::AlterTableType::FOREIGN_KEY_CONSTRAINT:
    case duckdb::AlterTableType::ADD_CONSTRAINT:
      return "ALTER TABLE ... ADD CONSTRAINT";
    default:
      return "this form of ALTER TABLE";
  }
}

/// One name among those of `fields`, as Paimon spells it; `wanted` if there is none.
arrow::Result<const DataField*> FindMember(const std::vector<DataField>& fields,
                                           const std::string& wanted) {
  std::vector<std::string> names;
  for (const DataField& field : fields) names.push_back(field.name);
  ARROW_ASSIGN_OR_RAISE(auto found, FindName(names, wanted, "column"));
  if (!found) return nullptr;
  for (const DataField& field : fields) {
    if (field.name == *found) return &field;
  }
  return nullptr;
}

/// The steps to a part of a column, as Paimon spells them, and what is there. The rest of a path
/// that leads nowhere stays as it was written.
struct FoundPath {
  std::vector<std::string> steps;
  const DataField* field = nullptr;  ///< the last step, if it is a column or member
  std::vector<DataField> siblings;   ///< members next to it
  bool exists = false;
};

arrow::Result<FoundPath> FindPath(const TableSchema& schema,
                                  const std::vector<std::string>& wanted) {
  FoundPath path;
  path.steps = wanted;
  const std::vector<DataField>* fields = &schema.fields;
  const DataType* type = nullptr;
  for (size_t i = 0; i < wanted.size(); ++i) {
    path.field = nullptr;
    path.siblings.clear();
    if (type != nullptr && type->root() == TypeRoot::kRow) fields = &type->fields();
    if (type == nullptr || type->root() == TypeRoot::kRow) {
      path.siblings = *fields;
      ARROW_ASSIGN_OR_RAISE(path.field, FindMember(*fields, wanted[i]));
      if (path.field == nullptr) return path;
      path.steps[i] = path.field->name;
      type = &path.field->type;
      continue;
    }
    const std::string step = duckdb::StringUtil::Lower(wanted[i]);
    if (type->root() == TypeRoot::kArray && step == "element") {
      type = &type->element();
    } else if (type->root() == TypeRoot::kMap && (step == "value" || step == "key")) {
      type = step == "value" ? &type->value() : &type->key();
    } else {
      return path;
    }
    path.steps[i] = step;
  }
  path.exists = true;
  return path;
}

arrow::Result<AddColumn> AddedColumn(const nlohmann::ordered_json& json, FoundPath path) {
  AddColumn change;
  change.field.name = path.steps.back();
  path.steps.pop_back();
  change.parent = std::move(path.steps);
  ARROW_ASSIGN_OR_RAISE(change.field.type, TypeOfTag(json.at("type").get<std::string>()));
  if (json.contains("nullable"))
    change.field.type = change.field.type.WithNullable(json["nullable"].get<bool>());
  if (json.contains("comment")) change.field.description = json["comment"].get<std::string>();
  if (json.contains("after")) {
    change.after = json["after"].get<std::string>();
    if (!change.after->empty()) {
      ARROW_ASSIGN_OR_RAISE(const DataField* reference, FindMember(path.siblings, *change.after));
      if (reference != nullptr) change.after = reference->name;
    }
  }
  return change;
}

std::optional<std::string> OptionalText(const nlohmann::ordered_json& json, const char* key) {
  if (!json.contains(key)) return std::nullopt;
  return json[key].get<std::string>();
}

arrow::Status AppendTagged(const nlohmann::ordered_json& json, const TableSchema& schema,
                           std::vector<SchemaChange>* changes) {
  const auto op = json.at("op").get<std::string>();
  ARROW_ASSIGN_OR_RAISE(FoundPath path,
                        FindPath(schema, json.at("path").get<std::vector<std::string>>()));
  if (op == "add") {
    if (path.exists && json.contains("if")) return arrow::Status::OK();
    ARROW_RETURN_NOT_OK(CheckNewName(path.siblings, path.steps.back()));
    ARROW_ASSIGN_OR_RAISE(auto change, AddedColumn(json, std::move(path)));
    changes->emplace_back(std::move(change));
  } else if (op == "drop") {
    if (path.exists || !json.contains("if")) changes->emplace_back(DropColumn{path.steps});
  } else if (op == "rename") {
    const auto new_name = json.at("to").get<std::string>();
    ARROW_RETURN_NOT_OK(CheckNewName(path.siblings, new_name, path.steps.back()));
    changes->emplace_back(RenameColumn{path.steps, new_name});
  } else if (op == "type") {
    ARROW_ASSIGN_OR_RAISE(DataType type, TypeOfTag(json.at("type").get<std::string>()));
    const bool keep = !json.contains("nullable");
    if (!keep) type = type.WithNullable(json["nullable"].get<bool>());
    changes->emplace_back(UpdateColumnType{path.steps, type, keep});
  } else if (op == "nullable") {
    changes->emplace_back(UpdateColumnNullability{path.steps, json.at("nullable").get<bool>()});
  } else if (op == "comment") {
    changes->emplace_back(UpdateColumnComment{path.steps, OptionalText(json, "comment")});
  } else if (op == "default") {
    changes->emplace_back(UpdateColumnDefault{path.steps, OptionalText(json, "text")});
  } else if (op == "move") {
    if (path.steps.size() > 1) return Unsupported("moving a member of a ROW");
    auto after = json.at("after").get<std::string>();
    if (!after.empty()) {
      ARROW_ASSIGN_OR_RAISE(after, ColumnName(schema, after));
    }
    changes->emplace_back(UpdateColumnPosition{path.steps.front(), after});
  } else {
    return Unsupported("ALTER TABLE: {}", op);
  }
  return arrow::Status::OK();
}

/// alter_table_contract_keys.h. The front parser made the JSON: its members are of their types.
arrow::Result<std::vector<SchemaChange>> TaggedChanges(const ColumnChanges& info,
                                                       const TableSchema& schema) {
  std::vector<SchemaChange> changes;
  for (const std::string& text : info.changes) {
    const auto json = nlohmann::ordered_json::parse(text, nullptr, /*allow_exceptions=*/false);
    if (!json.is_object()) return Invalid("change '{}' is no JSON object", text);
    ARROW_RETURN_NOT_OK(AppendTagged(json, schema, &changes));
  }
  return changes;
}

bool HasColumn(const TableSchema& schema, const std::string& wanted) {
  auto name = ColumnName(schema, wanted);
  return name.ok() && schema.FieldIndex(*name) >= 0;
}

/// What DuckDB's parser makes of ALTER COLUMN ... TYPE without USING.
bool IsPlainCast(const duckdb::ParsedExpression& expression) {
  return expression.GetExpressionClass() == duckdb::ExpressionClass::CAST &&
         expression.Cast<duckdb::CastExpression>().child->GetExpressionClass() ==
             duckdb::ExpressionClass::COLUMN_REF;
}

arrow::Result<std::vector<SchemaChange>> TableChanges(const duckdb::AlterTableInfo& info,
                                                      const TableSchema& schema) {
  if (const auto* tagged = dynamic_cast<const ColumnChanges*>(&info))
    return TaggedChanges(*tagged, schema);
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
      ARROW_RETURN_NOT_OK(CheckNewName(schema.fields, change.field.name));
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
      ARROW_RETURN_NOT_OK(CheckNewName(schema.fields, rename.new_name, name));
      changes.emplace_back(RenameColumn{name, rename.new_name});
      return changes;
    }
    case duckdb::AlterTableType::ALTER_COLUMN_TYPE: {
      const auto& change = info.Cast<duckdb::ChangeColumnTypeInfo>();
      if (!IsPlainCast(*change.expression)) {
        return Unsupported(
            "ALTER COLUMN ... TYPE ... USING: rows that are there are not rewritten, they are cast "
            "when they are read");
      }
      ARROW_ASSIGN_OR_RAISE(auto name, ColumnName(schema, change.column_name));
      ARROW_ASSIGN_OR_RAISE(auto type, FromLogicalType(change.target_type, name));
      changes.emplace_back(UpdateColumnType{name, type});
      return changes;
    }
    case duckdb::AlterTableType::ADD_FIELD: {
      const auto& add = info.Cast<duckdb::AddFieldInfo>();
      std::vector<std::string> steps = add.column_path;
      steps.push_back(add.new_field.Name());
      ARROW_ASSIGN_OR_RAISE(FoundPath path, FindPath(schema, steps));
      if (path.exists && add.if_field_not_exists) return changes;
      ARROW_RETURN_NOT_OK(CheckNewName(path.siblings, path.steps.back()));
      AddColumn change;
      change.field.name = path.steps.back();
      ARROW_ASSIGN_OR_RAISE(change.field.type,
                            FromLogicalType(add.new_field.Type(), change.field.name));
      path.steps.pop_back();
      change.parent = path.steps;
      changes.emplace_back(std::move(change));
      return changes;
    }
    case duckdb::AlterTableType::REMOVE_FIELD: {
      const auto& remove = info.Cast<duckdb::RemoveFieldInfo>();
      ARROW_ASSIGN_OR_RAISE(FoundPath path, FindPath(schema, remove.column_path));
      if (path.exists || !remove.if_column_exists) changes.emplace_back(DropColumn{path.steps});
      return changes;
    }
    case duckdb::AlterTableType::RENAME_FIELD: {
      const auto& rename = info.Cast<duckdb::RenameFieldInfo>();
      ARROW_ASSIGN_OR_RAISE(FoundPath path, FindPath(schema, rename.column_path));
      ARROW_RETURN_NOT_OK(CheckNewName(path.siblings, rename.new_name, path.steps.back()));
      changes.emplace_back(RenameColumn{path.steps, rename.new_name});
      return changes;
    }
    case duckdb::AlterTableType::SET_DEFAULT: {
      const auto& set = info.Cast<duckdb::SetDefaultInfo>();
      ARROW_ASSIGN_OR_RAISE(auto name, ColumnName(schema, set.column_name));
      std::optional<std::string> text;
      if (set.expression) {
        ARROW_ASSIGN_OR_RAISE(text, DefaultText(*set.expression, name));
      }
      changes.emplace_back(UpdateColumnDefault{name, std::move(text)});
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
