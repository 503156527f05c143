#pragma once

#include <memory>
#include <vector>

#include "kelda/read/file_read.h"

namespace kelda {

/// Wanted columns plus those that only the exact filter needs.
arrow::Result<std::vector<DataField>> ColumnsToMake(const TableContext& table,
                                                    const TableReadOptions& options);
/// StoredFields under the schema that the file names.
arrow::Result<std::vector<DataField>> StoredFieldsOf(const TableContext& table,
                                                     const DataFileMeta& file);

/// Rows of a unit of several files, put together column by column (spec 02 §7.6,
/// DataEvolutionSplitRead): of the files that store a column the one with the highest sequence
/// number gives it; blob pieces follow one another.
arrow::Result<std::unique_ptr<FormatReader>> OpenColumnGroup(const TableContext& table,
                                                             const Split& split,
                                                             const ReadUnit& unit,
                                                             const TableReadOptions& options);

}  // namespace kelda
