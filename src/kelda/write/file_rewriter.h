#pragma once

#include <functional>
#include <memory>
#include <vector>

#include "kelda/base/cancellation.h"
#include "kelda/metadata/commit_message.h"
#include "kelda/scan/plan.h"
#include "kelda/write/rolling_file_writer.h"

namespace kelda {

struct RewriteOptions {
  CancellationToken token;
  /// Called with the rows of each batch read; from the thread of the rewrite.
  std::function<void(int64_t)> on_rows;
};

/// A split without files: paths and values of one (partition, bucket).
arrow::Result<Split> EmptySplit(const TableContext& table, const std::string& partition,
                                int32_t bucket);

/// Settings of the files that compaction makes: those of row-tracking tables store each row's id
/// and sequence number (spec 02 §3.3, §7.5).
arrow::Result<std::shared_ptr<const DataFileSettings>> CompactionFileSettings(
    const TableContext& table);

/// Copy the rows of `split.files`, in this order and without deleted ones, into new files of the
/// same bucket as compaction does (spec 02 §3.2, 3.3): file source COMPACT, sequence numbers from
/// the first input's on. None when no row is left. On failure the new files are removed. Memory is
/// taken from the table's budget. `settings` come from CompactionFileSettings.
arrow::Result<std::vector<DataFileMeta>> RewriteFiles(
    const TableContextPtr& table, const std::shared_ptr<const DataFileSettings>& settings,
    const Split& split, const RewriteOptions& options);

/// Compact `files` of the (partition, bucket) of `bucket` into new ones, and take their deletion
/// vectors out of the index. `vectors`: the bucket's DELETION_VECTORS entries in the snapshot that
/// `files` are of. On failure nothing new is left.
arrow::Result<CommitMessage> CompactFiles(const TableContextPtr& table,
                                          const std::shared_ptr<const DataFileSettings>& settings,
                                          Split bucket, std::vector<DataFileMeta> files,
                                          const std::vector<IndexManifestEntry>& vectors,
                                          const RewriteOptions& options);

/// Put the columns of `files`, ordinary files of a data-evolution table whose row ids follow one
/// another without a gap, together into one file that keeps these ids (spec 02 §7.6). On failure
/// nothing new is left.
arrow::Result<CommitMessage> CompactRowGroups(const TableContextPtr& table, Split bucket,
                                              std::vector<DataFileMeta> files,
                                              const RewriteOptions& options);

}  // namespace kelda
