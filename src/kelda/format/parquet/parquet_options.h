#pragma once

#include <map>
#include <optional>
#include <string>

#include <arrow/util/type_fwd.h>

#include "kelda/base/status.h"
#include "kelda/format/file_format.h"

namespace kelda {

/// What a Parquet writer is told, after `file.*` options and `parquet.*` keys are put together
/// (spec 01 §6.2).
struct ParquetWriteSettings {
  arrow::Compression::type codec = arrow::Compression::ZSTD;
  std::optional<int> compression_level;
  int64_t row_group_bytes = int64_t{128} << 20;
  int64_t page_bytes = int64_t{1} << 20;
  int64_t page_rows = 20000;
  int64_t dictionary_page_bytes = int64_t{1} << 20;
  bool dictionary = true;
  std::map<std::string, bool> dictionary_of_column;  ///< dotted path
  bool data_page_v2 = false;
  bool page_checksum = true;
  std::map<std::string, DataType> shredded;  ///< form in the file of VARIANT columns, by name
};

/// Unknown `parquet.*` keys and those that ask for what is not built are refused by name.
arrow::Result<ParquetWriteSettings> ParseParquetWriteSettings(const WriterOptions& options);

}  // namespace kelda
