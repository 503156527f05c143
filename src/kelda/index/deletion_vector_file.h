#pragma once

#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "kelda/index/deletion_vector.h"
#include "kelda/metadata/manifest.h"
#include "kelda/metadata/table_context.h"

namespace kelda {

using DeletionVectorPtr = std::shared_ptr<const DeletionVector>;

/// Path of an index file (spec 01 §1.4, §1.7): the table's index folder, or the bucket's folder
/// under `index-file-in-data-file-dir`, or its external path.
arrow::Result<std::string> IndexFilePath(const TableContext& table, std::string_view partition,
                                         int32_t bucket, const IndexFileMeta& file);

/// The vector that lies at `offset` of index file `path`; `length` as its manifest says.
arrow::Result<DeletionVectorPtr> ReadDeletionVector(FileIO& io, const std::string& path,
                                                    int64_t offset, int64_t length);

/// All vectors of one index file by data file name, in file order.
arrow::Result<std::vector<std::pair<std::string, DeletionVectorPtr>>> ReadDeletionVectors(
    FileIO& io, const std::string& path, const IndexFileMeta& file);

/// Writes vectors into index files of (partition, bucket), rolling at
/// `deletion-vector.index-file.target-size` unless `one_file`. On failure no file is left.
arrow::Result<std::vector<IndexFileMeta>> WriteDeletionVectors(
    const TableContext& table, std::string_view partition, int32_t bucket,
    const std::vector<std::pair<std::string, DeletionVectorPtr>>& vectors, bool one_file);

}  // namespace kelda
