#pragma once

#include <memory>

#include "kelda/read/file_read.h"

namespace kelda {

/// Rows of a unit of files of a primary-key table, merged by key (spec 02 §4.9,
/// MergeFileSplitRead). Retracted rows do not come out unless `options.keep_deletes`.
arrow::Result<std::unique_ptr<FormatReader>> OpenMergeUnit(const TableContext& table,
                                                           const Split& split, const ReadUnit& unit,
                                                           const TableReadOptions& options);

}  // namespace kelda
