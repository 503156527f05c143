#pragma once

#include <string_view>

#include <arrow/result.h>

#include "duckdb/common/types.hpp"

#include "kelda/types/data_type.h"

namespace kelda::sql {

/// How SQL shows a Paimon type: TIMESTAMP(0) TIMESTAMP_S, (1-3) TIMESTAMP_MS, (4-6) TIMESTAMP,
/// (7-9) TIMESTAMP_NS; TIMESTAMP_LTZ TIMESTAMPTZ (microseconds: finer values are refused when they
/// are met); TIME(p) TIME; CHAR, VARCHAR VARCHAR; BINARY, VARBINARY, BLOB BLOB; ARRAY, VECTOR a
/// list; MULTISET<e> MAP(e, INTEGER); ROW STRUCT; VARIANT JSON, its text.
/// Unsupported, named by `column`: a ROW without members.
arrow::Result<duckdb::LogicalType> ToLogicalType(const DataType& type, std::string_view column);

/// Paimon type for a column of a query (CREATE TABLE AS, CREATE TABLE in DuckDB's spelling), always
/// nullable. What has no equal widens: UTINYINT SMALLINT, USMALLINT INT, UINTEGER BIGINT, UBIGINT
/// DECIMAL(20, 0), HUGEINT DECIMAL(38, 0), ENUM and UUID STRING, fixed-size arrays ARRAY; then the
/// values must be cast to ToLogicalType of the result. Ids of ROW members are -1. Unsupported,
/// named by `column`: INTERVAL, BIT, UNION and others.
arrow::Result<DataType> FromLogicalType(const duckdb::LogicalType& type, std::string_view column);

}  // namespace kelda::sql
