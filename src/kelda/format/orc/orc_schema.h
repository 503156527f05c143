#pragma once

#include <vector>

#include "kelda/format/orc/orc_metadata.h"
#include "kelda/types/data_type.h"

namespace kelda {

/// Key of the type attribute with a column's field id (spec 01 §6.3).
inline constexpr const char* kOrcFieldIdAttribute = "paimon.id";

/// Columns of a file with `fields`, the root first, numbered depth first. REQUIRES: CheckOrcTypes.
std::vector<OrcType> BuildOrcSchema(const std::vector<DataField>& fields);

/// Refuse types that ORC files cannot hold, naming column and reason.
arrow::Status CheckOrcTypes(const std::vector<DataField>& fields);

}  // namespace kelda
