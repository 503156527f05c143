#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <arrow/scalar.h>

#include "kelda/base/cancellation.h"
#include "kelda/base/row_ranges.h"
#include "kelda/metadata/manifest.h"
#include "kelda/metadata/snapshot.h"
#include "kelda/metadata/table_context.h"
#include "kelda/types/predicate.h"

namespace kelda {

struct ScanRequest {
  /// Snapshot to read; nullopt = the table has none, the plan is empty. See ResolveSnapshot.
  std::optional<Snapshot> snapshot;
  /// Over columns of the context's schema. Conjuncts on partition columns are applied exactly;
  /// others prune files by statistics and leave a superset.
  PredicatePtr predicate;
  /// Enough splits to hold this many rows; only honoured when nothing but partition conjuncts
  /// filters (spec 02 §10.5).
  std::optional<int64_t> limit;
  /// Data evolution: leave out files that store none of these fields, as Java does when it reads
  /// with a projection (DataEvolutionFileStoreScan). Rows all of whose files are left out are then
  /// missing from the result, so SQL does not ask for it. Null = all files.
  const std::vector<DataField>* projection = nullptr;
  /// Primary-key tables: only what compaction has brought to the top level, without merging (spec
  /// 04 §5.4, `t$ro`).
  bool read_optimized = false;
  /// Keep value statistics in the returned files (count/min/max from metadata, $files).
  bool keep_value_stats = false;
  CancellationToken token;
};

/// The deletion vector of one data file (spec 01 §7.1, 02 §10.3).
struct DeletionFile {
  std::string path;    ///< of the index file
  int64_t offset = 0;  ///< of the record's size field
  int64_t length = 0;  ///< as the index manifest says it
  std::optional<int64_t> cardinality;
};

/// Files of one (partition, bucket) to be read together (spec 02 §10.3, 10.4).
struct Split {
  std::string partition;                                         ///< serialized row
  std::vector<std::shared_ptr<arrow::Scalar>> partition_values;  ///< one per partition key
  int32_t bucket = 0;
  int32_t total_buckets = -1;
  std::string bucket_dir;
  std::vector<DataFileMeta> files;
  /// Parallel to `files`, or empty when none of them has deleted rows.
  std::vector<std::optional<DeletionFile>> deletion_files;
  /// Positions in each file that may match as its file index says, parallel to `files`, or empty;
  /// null = all.
  std::vector<std::shared_ptr<const RowRanges>> row_ranges;
  /// The plan asked the file indexes of these files; else a reader may.
  bool indexes_used = false;

  /// The table keeps columns of the same rows in several files (data evolution): see ReadUnits.
  bool data_evolution = false;
  /// The rows must be merged by key (spec 02 §4.9): files [section_ends[i-1], section_ends[i]) have
  /// connected key ranges and are read together. Empty: every file stands for itself.
  std::vector<size_t> section_ends;

  /// Rows in the files, deleted ones included; files that hold columns of the same rows count once.
  int64_t RowCount() const;
  /// Rows that a read returns; nullopt when the cardinality of some vector is not known.
  std::optional<int64_t> LiveRowCount() const;
  /// The deletion vector of files[i]; null = none.
  const DeletionFile* DeletionOf(size_t i) const {
    return i < deletion_files.size() && deletion_files[i] ? &*deletion_files[i] : nullptr;
  }
  /// Rows of files[i] that may match; null = all.
  std::shared_ptr<const RowRanges> RowsOf(size_t i) const {
    return i < row_ranges.size() ? row_ranges[i] : nullptr;
  }
  /// Full path of files[i].
  std::string FilePath(const DataFileMeta& file) const;
};

/// What is read as one sequence of rows: a file, or under data evolution the files that hold
/// columns of the same rows, and the pieces of their blob columns (spec 02 §7.6).
struct ReadUnit {
  std::vector<size_t> files;  ///< indexes into Split::files
  int64_t row_count = 0;      ///< deleted rows included; what a merge makes of them is not known
  bool merge = false;         ///< by primary key
};
std::vector<ReadUnit> ReadUnits(const Split& split);

/// Blob pieces of rows whose other columns are in ordinary files (spec 01 §6.7).
bool IsBlobFile(const DataFileMeta& file);
/// Fields that the file stores, in the form of the schema it was written with, `_ROW_ID` and
/// `_SEQUENCE_NUMBER` included where it has them (spec 01 §6.1).
arrow::Result<std::vector<DataField>> StoredFields(const TableSchema& file_schema,
                                                   const DataFileMeta& file);

/// What the plan looked at and what it dropped; EXPLAIN shows it.
struct ScanStatistics {
  int64_t manifests_total = 0;
  int64_t manifests_read = 0;
  int64_t files_total =
      0;  ///< live files of the snapshot in the manifests read or skipped (ADD minus DELETE)
  int64_t files_after_partition = 0;
  int64_t files_skipped_by_index = 0;  ///< by file indexes
  int64_t files_planned = 0;
  int64_t partitions_planned = 0;
  int64_t bytes_after_partition = 0;
  int64_t bytes_planned = 0;
  int64_t rows_planned = 0;
};

struct ScanPlan {
  std::optional<Snapshot> snapshot;
  std::vector<Split> splits;
  ScanStatistics statistics;
  /// True when every row of the splits satisfies the predicate (no filter, or partition conjuncts
  /// only), so that row counts are exact.
  bool exact = true;
};

/// Snapshot that the options in force choose (spec 04 §6.1): scan.snapshot-id, scan.tag-name,
/// scan.timestamp(-millis), scan.version, else the latest; nullopt when the table has no snapshot.
/// More than one of them is an error.
arrow::Result<std::optional<Snapshot>> ResolveSnapshot(const TableContext& table);
/// Context to read `snapshot` with: the snapshot's schema when it was chosen by time travel, else
/// `table` itself (spec 04 §3.4).
arrow::Result<TableContextPtr> ContextForSnapshot(const TableContextPtr& table,
                                                  const std::optional<Snapshot>& snapshot);

/// Plan a batch read: manifests in parallel, pruned by partition statistics; entries by partition
/// and value statistics; DELETE entries cancelled; files packed into splits.
arrow::Result<ScanPlan> PlanScan(const TableContext& table, const ScanRequest& request);

/// Live entries of a snapshot (base and delta lists, ADD minus DELETE), in manifest order,
/// optionally limited to partitions accepted by `partition_filter`. Used by commit checks,
/// overwrite and system tables. Without `value_stats` the entries' value statistics stay empty.
arrow::Result<std::vector<ManifestEntry>> ReadLiveEntries(
    const TableContext& table, const Snapshot& snapshot,
    const std::function<arrow::Result<bool>(std::string_view)>& partition_filter = nullptr,
    CancellationToken token = {}, bool value_stats = true);

/// Bounds of columns of `table`'s schema in one file, with schema evolution by field id; columns
/// whose type changed are unknown.
arrow::Result<std::shared_ptr<BoundsSource>> FileBounds(const TableContext& table,
                                                        const DataFileMeta& file);

}  // namespace kelda
