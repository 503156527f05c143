#pragma once

namespace duckdb {
struct DBConfig;
}  // namespace duckdb

namespace kelda::sql {

/// Put Kelda's front parser before DuckDB's own: it rewrites statements in Paimon's spellings
/// (statement_rewriter.h) and has DuckDB parse the rest as it is. Call before the database is
/// opened with `config`.
void RegisterFrontParser(duckdb::DBConfig& config);

}  // namespace kelda::sql
