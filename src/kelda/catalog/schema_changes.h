#pragma once

#include "kelda/catalog/catalog.h"

namespace kelda {

/// Columns of a comma separated list, blanks trimmed.
std::vector<std::string> SplitColumnList(std::string_view list);

/// Apply one change to `schema` (spec 01 §2.4, 04 §3.4). `has_snapshot` decides which options are
/// fixed.
arrow::Status ApplySchemaChange(const SchemaChange& change, bool has_snapshot, TableSchema* schema);

}  // namespace kelda
