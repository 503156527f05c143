#pragma once

#include "duckdb/parser/parsed_data/create_table_info.hpp"

#include "kelda/catalog/catalog.h"

namespace kelda::sql {

/// What CREATE TABLE says, in Paimon's terms: exact types, comments and defaults come from the
/// front parser's tags (parser/create_table_contract.h), else from DuckDB's columns. Unsupported
/// for what Paimon has not (CHECK, UNIQUE, generated columns, defaults that are no literals).
arrow::Result<TableDefinition> ToTableDefinition(const duckdb::CreateTableInfo& info);

/// The type that a tag of the front parser spells: Paimon's text, or JSON of a nested one.
arrow::Result<DataType> TypeOfTag(const std::string& text);

/// Text of a literal DEFAULT as Paimon stores it; Unsupported for other expressions.
arrow::Result<std::optional<std::string>> DefaultText(const duckdb::ParsedExpression& expression,
                                                      std::string_view column);

}  // namespace kelda::sql
