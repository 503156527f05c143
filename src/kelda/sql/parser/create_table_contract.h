#pragma once

#include <string_view>

namespace kelda::sql {

// What the front parser says about a CREATE TABLE (and CREATE SCHEMA) beyond DuckDB's grammar. It
// stands in `CreateInfo::tags`, in the order of the statement, next to the CreateTableInfo that
// DuckDB's parser made:
//
//   kelda.column-type.<column>     Paimon's text of the type (spec 01 §2.2), without NOT NULL at
//   the top: an atomic one as
//                                  `DECIMAL(10, 2)`, a nested one as JSON object, fields without
//                                  ids. Missing if the user wrote a type that Paimon has not
//                                  (HUGEINT, ENUM, ...), or no type (CTAS).
//   kelda.column-comment.<column>  COMMENT of the column
//   kelda.column-default.<column>  DEFAULT, if it is one literal: its text, as Paimon stores it.
//   Missing for NULL and for
//                                  expressions; ColumnDefinition::DefaultValue() always has the
//                                  expression.
//   kelda.comment                  COMMENT of the table or schema
//   kelda.schema-property.<key>    WITH DBPROPERTIES of CREATE DATABASE
//   kelda.like                     CREATE TABLE ... LIKE: the name of the other table. The
//   statement is
//                                  a CREATE TABLE AS without rows, so that a table of DuckDB works
//                                  too; a Paimon table gets the whole definition of the other one
//                                  instead.
//
// <column> is the name as CreateTableInfo::columns spells it. The tags serve the creation only:
// whoever creates a Paimon table reads them and never stores them as options. Comments are also in
// CreateInfo::comment and ColumnDefinition::Comment().
//
// The rest of CreateTableInfo holds:
//   columns         every column; those that only PARTITIONED BY (dt STRING) declares come last
//   constraints     NOT NULL per column, PRIMARY KEY (NOT ENFORCED is dropped)
//   partition_keys  column references
//   options         WITH, TBLPROPERTIES and OPTIONS together; keys as written between the quotes,
//   values always string
//                   constants; LOCATION 'x' as 'path'
inline constexpr std::string_view kColumnTypeTag = "kelda.column-type.";
inline constexpr std::string_view kColumnCommentTag = "kelda.column-comment.";
inline constexpr std::string_view kColumnDefaultTag = "kelda.column-default.";
inline constexpr std::string_view kLikeTag = "kelda.like";
inline constexpr std::string_view kCommentTag = "kelda.comment";
/// ALTER TABLE ADD COLUMN only (alter_table_contract.h): the name of the column before the new one,
/// empty for FIRST.
inline constexpr std::string_view kColumnAfterTag = "kelda.column-after.";
inline constexpr std::string_view kSchemaPropertyTag = "kelda.schema-property.";

}  // namespace kelda::sql
