#pragma once

#include <memory>
#include <string>
#include <vector>

#include "kelda/format/file_format.h"

namespace kelda {

/// The file is created when its first bytes are flushed, at the latest by Finish.
arrow::Result<std::unique_ptr<FormatWriter>> MakeAvroWriter(FileIO& io, const std::string& path,
                                                            const std::vector<DataField>& fields,
                                                            const WriterOptions& options);

}  // namespace kelda
