#pragma once

#include <vector>

#include "kelda/maintain/compact/append_compact_planner.h"

namespace kelda {

/// Packs the files of one partition of a data-evolution table (spec 02 §7.6): the files of each
/// task cover row ids that follow one another, all columns of them. Blob files are left alone.
/// Pure; Corruption when files overlap in part.
arrow::Result<std::vector<std::vector<DataFileMeta>>> PackRowGroups(
    const AppendCompactPlanner::Rule& rule, std::vector<DataFileMeta> files);

}  // namespace kelda
