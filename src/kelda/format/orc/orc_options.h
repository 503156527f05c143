#pragma once

#include <cstdint>
#include <set>
#include <string>

#include "kelda/format/file_format.h"
#include "kelda/format/orc/orc_metadata.h"

namespace kelda {

/// What decides how a file is written.
struct OrcWriteSettings {
  OrcCompression compression = OrcCompression::kZstd;
  int zstd_level = 1;
  int64_t block_size = 256 << 10;  ///< most bytes of a chunk
  bool block_size_enforced = false;
  int64_t stripe_bytes = int64_t{64} << 20;
  int64_t stripe_rows_max = 2147483647;
  bool row_index = true;
  int64_t row_index_stride = 10000;  ///< 0: no row index
  double dictionary_threshold = 0.8;
  std::set<std::string> direct_columns;  ///< top-level columns without a dictionary
};

/// `file.compression`, `file.block-size` and the `orc.*` keys as Java honours them (spec 01 §6.3).
/// Keys that would change the file and are not built are refused by name.
arrow::Result<OrcWriteSettings> ParseOrcWriteSettings(const WriterOptions& options);

/// Block size for a file of `columns` columns: Java takes smaller ones for many columns.
int64_t OrcBlockSize(const OrcWriteSettings& settings, size_t columns);

}  // namespace kelda
