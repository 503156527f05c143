#pragma once

#include <memory>
#include <string>

#include "kelda/format/file_format.h"

namespace kelda {

arrow::Result<std::unique_ptr<FormatReader>> OpenOrcReader(FileIO& io, const std::string& path,
                                                           int64_t size_bytes,
                                                           const ReadOptions& options);

}  // namespace kelda
