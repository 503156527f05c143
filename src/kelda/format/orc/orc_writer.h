#pragma once

#include <memory>
#include <string>
#include <vector>

#include "kelda/format/file_format.h"

namespace kelda {

arrow::Result<std::unique_ptr<FormatWriter>> MakeOrcWriter(FileIO& io, const std::string& path,
                                                           const std::vector<DataField>& fields,
                                                           const WriterOptions& options);

}  // namespace kelda
