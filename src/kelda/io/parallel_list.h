#pragma once

#include <string>
#include <vector>

#include "kelda/base/executor.h"
#include "kelda/io/file_io.h"

namespace kelda {

/// List many directories at once; result i belongs to dirs[i] and is empty where the directory is
/// missing.
arrow::Result<std::vector<std::vector<FileInfo>>> ParallelList(FileIO& file_io,
                                                               const std::vector<std::string>& dirs,
                                                               Executor& executor,
                                                               const CancellationToken& token = {});

}  // namespace kelda
