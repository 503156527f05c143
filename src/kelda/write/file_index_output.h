#pragma once

#include <memory>
#include <string>
#include <vector>

#include "kelda/format/file_index/file_index.h"
#include "kelda/metadata/manifest.h"
#include "kelda/metadata/table_context.h"

namespace kelda {

/// File indexes that new files of a table get (spec 01 §7.3).
struct FileIndexSettings {
  static arrow::Result<FileIndexSettings> Make(const TableContext& table);

  std::vector<FileIndexSpec> specs;   ///< empty: none
  int64_t in_manifest_max_bytes = 0;  ///< `file-index.in-manifest-threshold`
};

/// Put the indexes of the data file `meta` in `dir` into its metadata, or if they are too large for
/// that into the file `<data file>.index` beside it.
arrow::Status StoreFileIndexes(const TableContext& table, const FileIndexSettings& settings,
                               const std::string& dir, FileIndexWriter* indexes,
                               DataFileMeta* meta);

}  // namespace kelda
