#include "kelda/sql/catalog/create_table.h"

#include <nlohmann/json.hpp>

#include "duckdb/catalog/catalog.hpp"
#include "duckdb/parser/constraints/not_null_constraint.hpp"
#include "duckdb/parser/constraints/unique_constraint.hpp"
#include "duckdb/parser/expression/cast_expression.hpp"
#include "duckdb/parser/expression/columnref_expression.hpp"
#include "duckdb/parser/expression/constant_expression.hpp"
#include "duckdb/parser/qualified_name.hpp"
#include "duckdb/planner/binder.hpp"

#include "kelda/sql/catalog/name_lookup.h"
#include "kelda/sql/catalog/paimon_table_entry.h"
#include "kelda/sql/parser/create_table_contract.h"
#include "kelda/sql/types/logical_type.h"

namespace kelda::sql {

namespace {

std::optional<std::string> Tag(const duckdb::CreateInfo& info, std::string_view prefix,
                               const std::string& name = "") {
  auto it = info.tags.find(std::string(prefix) + name);
  if (it == info.tags.end()) return std::nullopt;
  return it->second;
}

arrow::Result<DataField> ToField(const duckdb::CreateTableInfo& info,
                                 const duckdb::ColumnDefinition& column) {
  DataField field;
  field.name = column.Name();
  if (column.Generated()) return Unsupported("generated column '{}'", field.name);
  if (auto text = Tag(info, kColumnTypeTag, field.name)) {
    ARROW_ASSIGN_OR_RAISE(field.type, TypeOfTag(*text));
  } else {
    ARROW_ASSIGN_OR_RAISE(field.type, FromLogicalType(column.Type(), field.name));
  }
  if (auto comment = Tag(info, kColumnCommentTag, field.name)) {
    field.description = *comment;
  } else if (!column.Comment().IsNull()) {
    field.description = column.Comment().ToString();
  }
  if (auto text = Tag(info, kColumnDefaultTag, field.name)) {
    field.default_value = *text;
  } else if (column.HasDefaultValue()) {
    ARROW_ASSIGN_OR_RAISE(field.default_value, DefaultText(column.DefaultValue(), field.name));
  }
  return field;
}

/// The column as the table spells it; names that are no columns are the core's to refuse.
arrow::Result<std::string> ColumnName(const TableDefinition& definition,
                                      const std::string& wanted) {
  std::vector<std::string> names;
  for (const DataField& field : definition.fields) names.push_back(field.name);
  ARROW_ASSIGN_OR_RAISE(auto found, FindName(names, wanted, "column"));
  return found.value_or(wanted);
}

arrow::Status ApplyConstraint(const duckdb::CreateTableInfo& info,
                              const duckdb::Constraint& constraint, TableDefinition* definition) {
  switch (constraint.type) {
    case duckdb::ConstraintType::NOT_NULL: {
      const auto& not_null = constraint.Cast<duckdb::NotNullConstraint>();
      DataField& field = definition->fields[not_null.index.index];
      field.type = field.type.WithNullable(false);
      return arrow::Status::OK();
    }
    case duckdb::ConstraintType::UNIQUE: {
      const auto& unique = constraint.Cast<duckdb::UniqueConstraint>();
      if (!unique.IsPrimaryKey()) return Unsupported("UNIQUE constraints");
      if (unique.HasIndex()) {
        definition->primary_keys.push_back(info.columns.GetColumn(unique.GetIndex()).Name());
      } else {
        for (const auto& name : unique.GetColumnNames()) {
          ARROW_ASSIGN_OR_RAISE(definition->primary_keys.emplace_back(),
                                ColumnName(*definition, name));
        }
      }
      return arrow::Status::OK();
    }
    case duckdb::ConstraintType::CHECK:
      return Unsupported("CHECK constraints ({})", constraint.ToString());
    default:
      return Unsupported("constraint {}", constraint.ToString());
  }
}

}  // namespace

arrow::Result<DataType> TypeOfTag(const std::string& text) {
  if (!text.empty() && text.front() == '{') {
    auto json = nlohmann::ordered_json::parse(text, nullptr, /*allow_exceptions=*/false);
    if (json.is_discarded()) return Invalid("type '{}' is no JSON", text);
    return DataType::FromJson(json);
  }
  return DataType::Parse(text);
}

arrow::Result<std::optional<std::string>> DefaultText(const duckdb::ParsedExpression& expression,
                                                      std::string_view column) {
  const duckdb::ParsedExpression* literal = &expression;
  while (literal->GetExpressionClass() == duckdb::ExpressionClass::CAST) {
    literal = literal->Cast<duckdb::CastExpression>().child.get();
  }
  if (literal->GetExpressionClass() != duckdb::ExpressionClass::CONSTANT) {
    return Unsupported("DEFAULT {} of column '{}': Paimon stores literals only",
                       expression.ToString(), column);
  }
  const duckdb::Value& value = literal->Cast<duckdb::ConstantExpression>().value;
  if (value.IsNull()) return std::nullopt;
  return value.ToString();
}

arrow::Result<TableDefinition> ToTableDefinition(const duckdb::CreateTableInfo& info) {
  TableDefinition definition;
  for (const auto& column : info.columns.Logical()) {
    for (const DataField& other : definition.fields) {
      if (other.name == column.Name()) return Invalid("column '{}' is there twice", other.name);
    }
    ARROW_ASSIGN_OR_RAISE(DataField field, ToField(info, column));
    definition.fields.push_back(std::move(field));
  }
  for (const auto& constraint : info.constraints)
    ARROW_RETURN_NOT_OK(ApplyConstraint(info, *constraint, &definition));
  for (const auto& key : info.partition_keys) {
    if (key->GetExpressionClass() != duckdb::ExpressionClass::COLUMN_REF) {
      return Unsupported("PARTITIONED BY ({}): only columns, no transforms", key->ToString());
    }
    ARROW_ASSIGN_OR_RAISE(
        definition.partition_keys.emplace_back(),
        ColumnName(definition, key->Cast<duckdb::ColumnRefExpression>().GetColumnName()));
  }
  for (const auto& [key, expression] : info.options) {
    ARROW_ASSIGN_OR_RAISE(auto text, DefaultText(*expression, key));
    if (!text) return Invalid("option '{}' is NULL", key);
    definition.options[key] = *text;
  }
  if (auto comment = Tag(info, kCommentTag)) {
    definition.comment = *comment;
  } else if (!info.comment.IsNull()) {
    definition.comment = info.comment.ToString();
  }
  return definition;
}

arrow::Result<TableDefinition> DefinitionLike(duckdb::ClientContext& context,
                                              const duckdb::CreateTableInfo& info) {
  const std::string text = Tag(info, kLikeTag).value_or("");
  auto name = duckdb::QualifiedName::Parse(text);
  duckdb::Binder::BindSchemaOrCatalog(context, name.catalog, name.schema);
  const auto& entry = duckdb::Catalog::GetEntry(context, duckdb::CatalogType::TABLE_ENTRY,
                                                name.catalog, name.schema, name.name);
  const auto* paimon = dynamic_cast<const PaimonTableEntry*>(&entry);
  // Of other tables the query's columns tell all that Paimon can keep.
  if (paimon == nullptr) return ToTableDefinition(info);
  const TableSchema& schema = *paimon->table()->schema;
  TableDefinition definition;
  definition.fields = schema.fields;
  definition.partition_keys = schema.partition_keys;
  definition.primary_keys = schema.primary_keys;
  definition.options = schema.options;
  definition.options.erase("path");
  definition.comment = schema.comment;
  ARROW_ASSIGN_OR_RAISE(TableDefinition given, ToTableDefinition(info));
  for (auto& [key, value] : given.options) definition.options[key] = value;
  if (given.comment) definition.comment = given.comment;
  return definition;
}

arrow::Status ReplaceTable(Catalog& catalog, const Identifier& created,
                           const Identifier& replaced) {
  auto dropped = catalog.DropTable(replaced, /*ignore_if_missing=*/true);
  if (!dropped.ok()) {
    IgnoreError(catalog.DropTable(created, true), "the error tells what went wrong");
    return WithContext(dropped, "table " + replaced.FullName() + " cannot be replaced");
  }
  return WithContext(catalog.RenameTable(created, replaced),
                     fmt::format("table {} is dropped, but its successor {} has not got its name",
                                 replaced.FullName(), created.FullName()));
}

}  // namespace kelda::sql
