#include "kelda/catalog/schema_changes.h"

#include <algorithm>
#include <functional>
#include <map>

#include <fmt/ranges.h>

#include "kelda/catalog/column_edit.h"
#include "kelda/options/validate.h"
#include "kelda/row/cast.h"

namespace kelda {

namespace {

template <typename... Handlers>
struct Overloaded : Handlers... {
  using Handlers::operator()...;
};

bool Contains(const std::vector<std::string>& names, const std::string& name) {
  return std::find(names.begin(), names.end(), name) != names.end();
}

bool IsKey(const TableSchema& schema, const std::string& column) {
  return Contains(schema.partition_keys, column) || Contains(schema.primary_keys, column);
}

/// Whether the value of option `key` lists columns.
bool ListsColumns(std::string_view key) {
  static constexpr std::string_view kListing[] = {
      "bucket-key",    "clustering.columns", "record-level.time-field",
      "rowkind.field", "sequence.field",     "upsert-key",
      "vector-field"};
  return std::find(std::begin(kListing), std::end(kListing), key) != std::end(kListing) ||
         (key.starts_with("file-index.") && key.ends_with(".columns")) ||
         (key.starts_with("fields.") &&
          (key.ends_with(".sequence-group") || key.ends_with(".nested-key")));
}

/// The column `c` of a key `file-index.<type>.<c>.<setting>`; empty for other keys.
std::string_view IndexedColumn(std::string_view key) {
  if (!key.starts_with("file-index.")) return "";
  const size_t begin = key.find('.', std::string_view("file-index.").size());
  const size_t end = key.rfind('.');
  if (begin == std::string_view::npos || end <= begin) return "";
  return key.substr(begin + 1, end - begin - 1);
}

/// Options that name `column` make dropping it more than a change of the column list.
arrow::Status RefuseIfNamedByOption(const TableSchema& schema, const std::string& column) {
  for (const auto& [key, value] : schema.options) {
    const bool listed = ListsColumns(key) && Contains(SplitColumnList(value), column);
    if (listed || Contains(ColumnsNamedBy(key), column) || IndexedColumn(key) == column) {
      return Invalid("dropping column '{}', which option '{}' names; remove the option first",
                     column, key);
    }
  }
  return arrow::Status::OK();
}

std::string RenamedList(std::string_view list, const std::string& column,
                        const std::string& new_name) {
  std::vector<std::string> columns = SplitColumnList(list);
  if (!Contains(columns, column)) return std::string(list);
  std::replace(columns.begin(), columns.end(), column, new_name);
  return fmt::format("{}", fmt::join(columns, ","));
}

/// Options follow a renamed column, in keys and in values (spec 04 §3.4). Java does so for fewer of
/// them, and refuses or forgets the others.
void RenameInOptions(const std::string& column, const std::string& new_name, TableSchema* schema) {
  std::map<std::string, std::string> renamed;
  for (const auto& [key, value] : schema->options) {
    std::string new_key = key;
    if (Contains(ColumnsNamedBy(key), column)) {
      const std::string_view rest = std::string_view(key).substr(7);
      const size_t end = rest.rfind('.');
      new_key = fmt::format("fields.{}{}", RenamedList(rest.substr(0, end), column, new_name),
                            rest.substr(end));
    } else if (IndexedColumn(key) == column) {
      const std::string_view prefix = std::string_view(key).substr(0, key.find('.', 11) + 1);
      new_key = fmt::format("{}{}{}", prefix, new_name, key.substr(key.rfind('.')));
    }
    std::string new_value = ListsColumns(key) ? RenamedList(value, column, new_name) : value;
    const auto place = std::find(schema->option_order.begin(), schema->option_order.end(), key);
    if (place != schema->option_order.end()) *place = new_key;
    renamed.emplace(std::move(new_key), std::move(new_value));
  }
  schema->options = std::move(renamed);
}

/// Where in `fields` something goes that is put after a column ("" = first, nullopt = last).
arrow::Result<std::vector<DataField>::iterator> PlaceAfter(const std::optional<std::string>& after,
                                                           std::vector<DataField>* fields) {
  if (!after) return fields->end();
  if (after->empty()) return fields->begin();
  ARROW_ASSIGN_OR_RAISE(DataField * reference, FindField(fields, *after));
  return fields->begin() + (reference - fields->data()) + 1;
}

arrow::Status Apply(const AddColumn& change, TableSchema* schema) {
  std::vector<std::string> steps = change.parent;
  steps.push_back(change.field.name);
  const ColumnPath path(steps);
  if (!change.field.type.nullable()) {
    return Invalid(
        "column '{}' cannot be added as NOT NULL: rows that are there have no value for it",
        path.ToString());
  }
  if (change.field.default_value) {
    return Unsupported("ADD COLUMN '{}' with a DEFAULT; add it, then set the default",
                       path.ToString());
  }
  ColumnEdit edit;
  edit.on_fields = [&](std::vector<DataField>* fields, const std::string& name) -> arrow::Status {
    if (FindField(fields, name).ok()) return AlreadyExists("column '{}' exists", path.ToString());
    std::vector<DataField> added = {change.field};
    ARROW_ASSIGN_OR_RAISE(auto place, PlaceAfter(change.after, fields));
    const auto before_partition = schema->options.find("add-column-before-partition");
    if (!change.after && change.parent.empty() && before_partition != schema->options.end() &&
        before_partition->second == "true") {
      place = std::find_if(fields->begin(), fields->end(), [&](const DataField& field) {
        return Contains(schema->partition_keys, field.name);
      });
    }
    schema->highest_field_id = AssignFieldIds(&added, schema->highest_field_id + 1);
    fields->insert(place, std::move(added[0]));
    return arrow::Status::OK();
  };
  return EditColumn(path, edit, &schema->fields);
}

arrow::Status Apply(const DropColumn& change, TableSchema* schema) {
  if (change.name.IsColumn()) {
    ARROW_RETURN_NOT_OK(FindField(&schema->fields, change.name.column()).status());
    if (IsKey(*schema, change.name.column())) {
      return Invalid("column '{}' is a key of the table and cannot be dropped",
                     change.name.column());
    }
    ARROW_RETURN_NOT_OK(RefuseIfNamedByOption(*schema, change.name.column()));
  }
  ColumnEdit edit;
  edit.on_fields = [&](std::vector<DataField>* fields, const std::string& name) -> arrow::Status {
    ARROW_ASSIGN_OR_RAISE(DataField * field, FindField(fields, name));
    if (fields->size() == 1)
      return Invalid("'{}' is the only one and cannot be dropped", change.name.ToString());
    fields->erase(fields->begin() + (field - fields->data()));
    return arrow::Status::OK();
  };
  return EditColumn(change.name, edit, &schema->fields);
}

arrow::Status Apply(const RenameColumn& change, TableSchema* schema) {
  if (change.name.IsColumn()) {
    const std::string& column = change.name.column();
    ARROW_ASSIGN_OR_RAISE(DataField * field, FindField(&schema->fields, column));
    if (Contains(schema->partition_keys, column))
      return Invalid("partition column '{}' cannot be renamed", column);
    if (field->type.root() == TypeRoot::kBlob)
      return Invalid("BLOB column '{}' cannot be renamed", column);
  }
  ColumnEdit edit;
  edit.on_fields = [&](std::vector<DataField>* fields, const std::string& name) -> arrow::Status {
    ARROW_ASSIGN_OR_RAISE(DataField * field, FindField(fields, name));
    if (FindField(fields, change.new_name).ok())
      return AlreadyExists("column '{}' exists", change.new_name);
    field->name = change.new_name;
    return arrow::Status::OK();
  };
  ARROW_RETURN_NOT_OK(EditColumn(change.name, edit, &schema->fields));
  if (!change.name.IsColumn()) return arrow::Status::OK();
  std::replace(schema->primary_keys.begin(), schema->primary_keys.end(), change.name.column(),
               change.new_name);
  RenameInOptions(change.name.column(), change.new_name, schema);
  return arrow::Status::OK();
}

/// NULLs that are there are not looked for: a column becomes NOT NULL only on request.
arrow::Status CheckNullability(const TableSchema& schema, const ColumnPath& path, bool before,
                               bool after) {
  if (before && !after) {
    const Options options(schema.options);
    ARROW_ASSIGN_OR_RAISE(bool disabled,
                          options.Get(OptionKeys::kAlterColumnNullToNotNullDisabled));
    if (disabled) {
      return Invalid(
          "column '{}' cannot become NOT NULL: rows that are there may be null; set option "
          "'alter-column-null-to-not-null.disabled' to false if you know better",
          path.ToString());
    }
  }
  if (after && path.IsColumn() && Contains(schema.primary_keys, path.column()))
    return Invalid("primary key column '{}' cannot become nullable", path.column());
  return arrow::Status::OK();
}

arrow::Status Apply(const UpdateColumnNullability& change, TableSchema* schema) {
  const ColumnEdit edit = TypeEdit([&](DataType* type) -> arrow::Status {
    ARROW_RETURN_NOT_OK(CheckNullability(*schema, change.name, type->nullable(), change.nullable));
    *type = type->WithNullable(change.nullable);
    return arrow::Status::OK();
  });
  return EditColumn(change.name, edit, &schema->fields);
}

/// Turns a type into another (spec 01 §2.4): the members of a ROW by their names, everything else
/// by a cast that old files are read with.
class TypeChange {
 public:
  TypeChange(TableSchema* schema, const UpdateColumnType& change)
      : schema_(*schema), change_(change) {}

  arrow::Result<DataType> Apply(const DataType& from, const DataType& to) {
    ARROW_ASSIGN_OR_RAISE(DataType changed, Change(from, to));
    if (change_.keep_nullability) return changed.WithNullable(from.nullable());
    ARROW_RETURN_NOT_OK(CheckNullability(schema_, change_.name, from.nullable(), to.nullable()));
    return changed.WithNullable(to.nullable());
  }

 private:
  arrow::Result<DataType> Change(const DataType& from, const DataType& to) {
    if (from.root() == to.root()) {
      switch (from.root()) {
        case TypeRoot::kRow:
          return ChangeRow(from, to);
        case TypeRoot::kArray: {
          ARROW_ASSIGN_OR_RAISE(auto element, Apply(from.element(), to.element()));
          return DataType::Array(std::move(element));
        }
        case TypeRoot::kMap: {
          if (!from.key().EqualsIgnoringNullability(to.key())) break;
          ARROW_ASSIGN_OR_RAISE(auto value, Apply(from.value(), to.value()));
          return DataType::Map(from.key(), std::move(value));
        }
        default:
          break;
      }
    }
    if (from.EqualsIgnoringNullability(to)) return from;
    return ChangeLeaf(from, to);
  }

  arrow::Result<DataType> ChangeRow(const DataType& from, const DataType& to) {
    std::vector<DataField> old = from.fields();
    std::vector<DataField> members;
    for (const DataField& wanted : to.fields()) {
      auto present = FindField(&old, wanted.name);
      if (present.ok()) {
        DataField member = **present;
        ARROW_ASSIGN_OR_RAISE(member.type, Apply(member.type, wanted.type));
        if (wanted.description) member.description = wanted.description;
        members.push_back(std::move(member));
        continue;
      }
      if (!wanted.type.nullable()) {
        return Invalid("'{}' cannot be added as NOT NULL: rows that are there have no value for it",
                       wanted.name);
      }
      std::vector<DataField> added = {wanted};
      schema_.highest_field_id = AssignFieldIds(&added, schema_.highest_field_id + 1);
      members.push_back(std::move(added[0]));
    }
    return DataType::Row(std::move(members));
  }

  arrow::Result<DataType> ChangeLeaf(const DataType& from, const DataType& to) {
    const Options options(schema_.options);
    ARROW_ASSIGN_OR_RAISE(bool implicit_only, options.Get(OptionKeys::kDisableExplicitTypeCasting));
    const auto refuse = [&](std::string_view why) {
      return Invalid("column '{}' of type {} cannot become {}: {}", change_.name.ToString(),
                     from.ToString(), to.ToString(), why);
    };
    const DataType target = to.WithNullable(true);
    if (!ResolveCast(from, to).ok() || !IsCastAllowed(from, target, /*explicit_casts=*/true))
      return refuse("there is no cast for the rows that are there");
    if (implicit_only && !IsCastAllowed(from, target, /*explicit_casts=*/false)) {
      return refuse(
          "the cast may lose something, and option 'disable-explicit-type-casting' is true");
    }
    return to;
  }

  TableSchema& schema_;
  const UpdateColumnType& change_;
};

/// A change of type that moves no key to another bucket.
bool KeepsBuckets(const DataType& from, const DataType& to) {
  return from.EqualsIgnoringNullability(to) || (from.IsString() && to == DataType::String()) ||
         (from.IsBytes() && to.EqualsIgnoringNullability(DataType::Bytes()));
}

arrow::Status Apply(const UpdateColumnType& change, bool has_snapshot, TableSchema* schema) {
  const std::string& column = change.name.column();
  const ColumnEdit edit = TypeEdit([&](DataType* type) -> arrow::Status {
    const bool same = type->EqualsIgnoringNullability(change.type);
    if (change.name.IsColumn() && !same) {
      if (IsKey(*schema, column)) {
        return Invalid("column '{}' is a key of the table, its type cannot change", column);
      }
      if (has_snapshot && !KeepsBuckets(*type, change.type) &&
          Contains(SplitColumnList(schema->Option("bucket-key")), column)) {
        return Invalid("column '{}' is a bucket key: rows that are there lie in the buckets of {}",
                       column, type->ToString());
      }
    }
    ARROW_ASSIGN_OR_RAISE(*type, TypeChange(schema, change).Apply(*type, change.type));
    return arrow::Status::OK();
  });
  return EditColumn(change.name, edit, &schema->fields);
}

arrow::Status Apply(const UpdateColumnPosition& change, TableSchema* schema) {
  ARROW_ASSIGN_OR_RAISE(DataField * column, FindField(&schema->fields, change.name));
  const std::string reference = change.before ? *change.before : change.after.value_or("");
  if (reference == change.name) return Invalid("column '{}' cannot move next to itself", reference);
  DataField moved = *column;
  std::vector<DataField> rest = schema->fields;
  rest.erase(rest.begin() + (column - schema->fields.data()));
  auto place = rest.end();
  if (change.before) {
    ARROW_ASSIGN_OR_RAISE(DataField * next, FindField(&rest, *change.before));
    place = rest.begin() + (next - rest.data());
  } else {
    ARROW_ASSIGN_OR_RAISE(place, PlaceAfter(change.after, &rest));
  }
  rest.insert(place, std::move(moved));
  schema->fields = std::move(rest);
  return arrow::Status::OK();
}

/// An edit of a column or member itself.
arrow::Status EditField(const ColumnPath& path, const std::function<void(DataField*)>& change,
                        TableSchema* schema) {
  ColumnEdit edit;
  edit.on_fields = [&](std::vector<DataField>* fields, const std::string& name) -> arrow::Status {
    ARROW_ASSIGN_OR_RAISE(DataField * field, FindField(fields, name));
    change(field);
    return arrow::Status::OK();
  };
  return EditColumn(path, edit, &schema->fields);
}

/// Directories of written partitions are found by the texts that these options give; Java lets them
/// change and then does not find its files (spec 01 §1.6).
arrow::Status CheckPartitionOption(const std::string& key, const std::optional<std::string>& value,
                                   const TableSchema& schema) {
  if (schema.partition_keys.empty()) return arrow::Status::OK();
  bool same = true;
  Options before(schema.options);
  std::map<std::string, std::string> changed = schema.options;
  changed.erase(key);
  if (value) changed[key] = *value;
  Options after(changed);
  if (key == "partition.legacy-name") {
    ARROW_ASSIGN_OR_RAISE(bool old_value, before.Get(OptionKeys::kPartitionLegacyName));
    ARROW_ASSIGN_OR_RAISE(bool new_value, after.Get(OptionKeys::kPartitionLegacyName));
    same = old_value == new_value;
  } else if (key == "partition.default-name") {
    ARROW_ASSIGN_OR_RAISE(auto old_value, before.Get(OptionKeys::kPartitionDefaultName));
    ARROW_ASSIGN_OR_RAISE(auto new_value, after.Get(OptionKeys::kPartitionDefaultName));
    same = old_value == new_value;
  }
  if (same) return arrow::Status::OK();
  return Invalid(
      "option '{}' cannot change once the table has a snapshot: partitions that are there would "
      "not be found",
      key);
}

arrow::Status SetOrRemoveOption(const std::string& key, std::optional<std::string> value,
                                bool has_snapshot, TableSchema* schema) {
  ARROW_RETURN_NOT_OK(CheckAlterOption(schema->options, key, value, has_snapshot));
  if (has_snapshot) ARROW_RETURN_NOT_OK(CheckPartitionOption(key, value, *schema));
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
  return std::visit(
      Overloaded{
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
          [&](const UpdateColumnComment& c) {
            return EditField(
                c.name, [&](DataField* field) { field->description = c.comment; }, schema);
          },
          [&](const UpdateColumnDefault& c) {
            return EditField(
                c.name, [&](DataField* field) { field->default_value = c.default_value; }, schema);
          },
          [&](const UpdateColumnType& c) { return Apply(c, has_snapshot, schema); },
          [&](const auto& c) { return Apply(c, schema); },
      },
      change);
}

}  // namespace kelda
