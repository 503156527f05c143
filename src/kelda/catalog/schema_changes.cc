#include "kelda/catalog/schema_changes.h"

#include <algorithm>

#include "kelda/options/validate.h"

namespace kelda {

namespace {

template <typename... Handlers>
struct Overloaded : Handlers... {
  using Handlers::operator()...;
};

bool Contains(const std::vector<std::string>& names, const std::string& name) {
  return std::find(names.begin(), names.end(), name) != names.end();
}

arrow::Result<DataField*> FindColumn(TableSchema* schema, const std::string& name) {
  const int index = schema->FieldIndex(name);
  if (index < 0) return NotFound("there is no column '{}'", name);
  return &schema->fields[index];
}

/// Columns that the value of option `key` lists.
std::vector<std::string> ColumnsListedIn(std::string_view key, std::string_view value) {
  static constexpr std::string_view kListing[] = {
      "bucket-key",    "clustering.columns", "record-level.time-field",
      "rowkind.field", "sequence.field",     "upsert-key"};
  const bool lists =
      std::find(std::begin(kListing), std::end(kListing), key) != std::end(kListing) ||
      (key.starts_with("file-index.") && key.ends_with(".columns"));
  return lists ? SplitColumnList(value) : std::vector<std::string>();
}

/// Options that name `column` make dropping or renaming it more than a change of the column list.
arrow::Status RefuseIfNamedByOption(const TableSchema& schema, const std::string& column,
                                    std::string_view what) {
  for (const auto& [key, value] : schema.options) {
    if (Contains(ColumnsNamedBy(key), column) || Contains(ColumnsListedIn(key, value), column)) {
      return Unsupported("{} column '{}', which option '{}' names; remove the option first", what,
                         column, key);
    }
  }
  return arrow::Status::OK();
}

arrow::Status Apply(const AddColumn& change, TableSchema* schema) {
  if (schema->FieldIndex(change.field.name) >= 0)
    return AlreadyExists("column '{}' exists", change.field.name);
  if (!change.field.type.nullable()) {
    return Invalid(
        "column '{}' cannot be added as NOT NULL: rows that are there have no value for it",
        change.field.name);
  }
  if (change.field.default_value) {
    return Unsupported("ADD COLUMN '{}' with a DEFAULT; add it, then set the default",
                       change.field.name);
  }
  std::vector<DataField> added = {change.field};
  schema->highest_field_id = AssignFieldIds(&added, schema->highest_field_id + 1);
  auto place = schema->fields.end();
  if (change.after) {
    place = schema->fields.begin();
    if (!change.after->empty()) {
      const int index = schema->FieldIndex(*change.after);
      if (index < 0) return NotFound("there is no column '{}'", *change.after);
      place += index + 1;
    }
  } else {
    auto before = schema->options.find("add-column-before-partition");
    if (before != schema->options.end() && before->second == "true") {
      place = std::find_if(
          schema->fields.begin(), schema->fields.end(),
          [&](const DataField& field) { return Contains(schema->partition_keys, field.name); });
    }
  }
  schema->fields.insert(place, std::move(added[0]));
  return arrow::Status::OK();
}

arrow::Status Apply(const DropColumn& change, TableSchema* schema) {
  ARROW_ASSIGN_OR_RAISE(DataField * column, FindColumn(schema, change.name));
  if (Contains(schema->partition_keys, change.name) ||
      Contains(schema->primary_keys, change.name)) {
    return Invalid("column '{}' is a key of the table and cannot be dropped", change.name);
  }
  if (schema->fields.size() == 1)
    return Invalid("column '{}' is the only one and cannot be dropped", change.name);
  ARROW_RETURN_NOT_OK(RefuseIfNamedByOption(*schema, change.name, "dropping"));
  schema->fields.erase(schema->fields.begin() + (column - schema->fields.data()));
  return arrow::Status::OK();
}

arrow::Status Apply(const RenameColumn& change, TableSchema* schema) {
  ARROW_ASSIGN_OR_RAISE(DataField * column, FindColumn(schema, change.name));
  if (Contains(schema->partition_keys, change.name)) {
    return Invalid("partition column '{}' cannot be renamed", change.name);
  }
  if (schema->FieldIndex(change.new_name) >= 0)
    return AlreadyExists("column '{}' exists", change.new_name);
  ARROW_RETURN_NOT_OK(RefuseIfNamedByOption(*schema, change.name, "renaming"));
  column->name = change.new_name;
  return arrow::Status::OK();
}

arrow::Status Apply(const UpdateColumnNullability& change, TableSchema* schema) {
  ARROW_ASSIGN_OR_RAISE(DataField * column, FindColumn(schema, change.name));
  if (!change.nullable && column->type.nullable()) {
    const Options options(schema->options);
    ARROW_ASSIGN_OR_RAISE(bool disabled,
                          options.Get(OptionKeys::kAlterColumnNullToNotNullDisabled));
    if (disabled) {
      return Invalid(
          "column '{}' cannot become NOT NULL: rows that are there may be null; set option "
          "'alter-column-null-to-not-null.disabled' to false if you know better",
          change.name);
    }
  }
  if (change.nullable && Contains(schema->primary_keys, change.name)) {
    return Invalid("primary key column '{}' cannot become nullable", change.name);
  }
  column->type = column->type.WithNullable(change.nullable);
  return arrow::Status::OK();
}

arrow::Status SetOrRemoveOption(const std::string& key, std::optional<std::string> value,
                                bool has_snapshot, TableSchema* schema) {
  ARROW_RETURN_NOT_OK(CheckAlterOption(schema->options, key, value, has_snapshot));
  if (value) {
    schema->options[key] = std::move(*value);
  } else {
    schema->options.erase(key);
  }
  return arrow::Status::OK();
}

}  // namespace

arrow::Status ApplySchemaChange(const SchemaChange& change, bool has_snapshot,
                                TableSchema* schema) {
  return std::visit(Overloaded{
                        [&](const SetOption& c) {
                          return SetOrRemoveOption(c.key, c.value, has_snapshot, schema);
                        },
                        [&](const RemoveOption& c) {
                          return SetOrRemoveOption(c.key, std::nullopt, has_snapshot, schema);
                        },
                        [&](const UpdateComment& c) {
                          schema->comment = c.comment;
                          return arrow::Status::OK();
                        },
                        [&](const UpdateColumnComment& c) -> arrow::Status {
                          ARROW_ASSIGN_OR_RAISE(DataField * column, FindColumn(schema, c.name));
                          column->description = c.comment;
                          return arrow::Status::OK();
                        },
                        [&](const UpdateColumnDefault& c) -> arrow::Status {
                          ARROW_ASSIGN_OR_RAISE(DataField * column, FindColumn(schema, c.name));
                          column->default_value = c.default_value;
                          return arrow::Status::OK();
                        },
                        [&](const UpdateColumnType& c) {
                          return Unsupported("changing the type of column '{}' to {}", c.name,
                                             c.type.ToString());
                        },
                        [&](const auto& c) { return Apply(c, schema); },
                    },
                    change);
}

}  // namespace kelda
