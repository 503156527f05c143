#pragma once

#include "duckdb/main/client_context.hpp"
#include "duckdb/parser/parsed_data/create_table_info.hpp"

#include "kelda/catalog/catalog.h"

namespace kelda::sql {

/// What CREATE TABLE says, in Paimon's terms: exact types, comments and defaults come from the
/// front parser's tags (parser/create_table_contract.h), else from DuckDB's columns. Unsupported
/// for what Paimon has not (CHECK, UNIQUE, generated columns, defaults that are no literals).
arrow::Result<TableDefinition> ToTableDefinition(const duckdb::CreateTableInfo& info);

/// What CREATE TABLE ... LIKE says: the definition of the table that kLikeTag names, a Paimon one
/// with its keys, comments, defaults and options, and the statement's options over them.
arrow::Result<TableDefinition> DefinitionLike(duckdb::ClientContext& context,
                                              const duckdb::CreateTableInfo& info);

/// Put `created` in the place of `replaced`, whose data and history go. A reader may find neither
/// for a moment.
arrow::Status ReplaceTable(Catalog& catalog, const Identifier& created, const Identifier& replaced);

/// The type that a tag of the front parser spells: Paimon's text, or JSON of a nested one.
arrow::Result<DataType> TypeOfTag(const std::string& text);

/// Text of a literal DEFAULT as Paimon stores it; Unsupported for other expressions.
arrow::Result<std::optional<std::string>> DefaultText(const duckdb::ParsedExpression& expression,
                                                      std::string_view column);

}  // namespace kelda::sql
