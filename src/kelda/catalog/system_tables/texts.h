#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include <arrow/scalar.h>
#include <nlohmann/json.hpp>

#include "kelda/types/data_type.h"

namespace kelda::system_tables {

/// Wall clock of the session zone at an instant, in milliseconds.
int64_t LocalWallMillis(int64_t utc_millis);

/// Java's toString of a value as Paimon holds it (DATE a number of days, TIMESTAMP in ISO form):
/// the form of min_key and min_value_stats. Bytes are printed in hex, where Java prints the
/// identity of an object.
arrow::Result<std::string> InternalText(const DataType& type, const arrow::Scalar& value);

/// `{v1, v2}`: values cast to text, the "partition" of most system tables.
arrow::Result<std::string> RowText(const std::vector<DataType>& types,
                                   const std::vector<std::shared_ptr<arrow::Scalar>>& values);

/// A type as Java's asSQLString prints it: names of ROW members always in back-ticks.
std::string SqlText(const DataType& type);

/// JSON on one line as Jackson prints it; text that is not UTF-8 is made so.
std::string CompactJson(const nlohmann::ordered_json& json);

}  // namespace kelda::system_tables
