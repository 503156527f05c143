#pragma once

#include <string>
#include <string_view>

#include <duckdb/common/types/vector.hpp>

namespace kelda::cli {

/// Append `text` as a JSON string.
void AppendJsonString(std::string_view text, std::string* out);

/// Whether AppendJson knows the type; others are cast to VARCHAR first.
bool HasJsonForm(const duckdb::LogicalType& type);

/// Append row `row` of a column by the rules of the `jsonl` format: DECIMAL as a string; FLOAT and
/// DOUBLE as the shortest number that reads back equal, NaN and infinities as strings; timestamps
/// as YYYY-MM-DDTHH:MM:SS[.f], with Z if they are instants; binary as lower-case hex; MAP as array
/// of {"key", "value"}. REQUIRES: HasJsonForm of the column's type.
void AppendJson(const duckdb::RecursiveUnifiedVectorFormat& column, duckdb::idx_t row,
                std::string* out);

}  // namespace kelda::cli
