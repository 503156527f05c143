#pragma once

#include <memory>
#include <string>

#include "kelda/format/file_format.h"

namespace kelda {

/// Avro has no statistics: `options.predicate` skips nothing, `options.rows` skips blocks.
arrow::Result<std::unique_ptr<FormatReader>> OpenAvroReader(FileIO& io, const std::string& path,
                                                            int64_t size_bytes,
                                                            const ReadOptions& options);

}  // namespace kelda
