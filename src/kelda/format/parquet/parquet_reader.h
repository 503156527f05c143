#pragma once

#include <memory>
#include <string>

#include "kelda/format/file_format.h"

namespace kelda {

/// Reader of one Parquet data file (spec 01 §6.2). `size_bytes` < 0: unknown.
arrow::Result<std::unique_ptr<FormatReader>> OpenParquetReader(FileIO& io, const std::string& path,
                                                               int64_t size_bytes,
                                                               const ReadOptions& options);

}  // namespace kelda
