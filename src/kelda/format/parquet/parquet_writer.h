#pragma once

#include <memory>
#include <string>
#include <vector>

#include "kelda/format/file_format.h"

namespace kelda {

/// Writer of one Parquet data file as Paimon 1.4.2 lays it out (spec 01 §6.2). `io` must outlive
/// the writer.
arrow::Result<std::unique_ptr<FormatWriter>> MakeParquetWriter(FileIO& io, const std::string& path,
                                                               const std::vector<DataField>& fields,
                                                               const WriterOptions& options);

}  // namespace kelda
