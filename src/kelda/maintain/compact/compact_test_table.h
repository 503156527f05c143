#pragma once

#include <map>
#include <set>
#include <string>
#include <vector>

#include "kelda/catalog/catalog.h"
#include "kelda/commit/committer.h"
#include "kelda/maintain/compact/compact_table.h"
#include "kelda/scan/plan.h"

namespace kelda {

/// A table `default.t (k BIGINT, v STRING, pt INT)` for tests: rows are (k, pt) with v made of k.
class CompactTestTable {
 public:
  using Options = std::map<std::string, std::string>;

  explicit CompactTestTable(std::shared_ptr<FileIO> io) { env_.io = std::move(io); }

  Environment& env() { return env_; }
  const TableContextPtr& table() const { return table_; }

  /// `partitioned`: by pt.
  arrow::Status Create(const Options& options, bool partitioned = false);
  /// Open it (again), with dynamic options.
  arrow::Status Open(const Options& dynamic = {});
  /// One commit of keys first, first + 1, ... into partition `pt`.
  arrow::Status Insert(int64_t first, int64_t count, int32_t pt = 0);
  arrow::Status Overwrite(int64_t first, int64_t count, int32_t pt = 0);
  /// DELETE of keys by deletion vectors.
  arrow::Status Delete(const std::set<int64_t>& keys);

  ScanPlan Plan() const;
  /// All rows: key -> how often. Fails on a v that does not belong to its k.
  arrow::Result<std::map<int64_t, int>> Rows() const;
  /// (row id, sequence number) by key of a row-tracking table.
  arrow::Result<std::map<int64_t, std::pair<int64_t, int64_t>>> RowIds() const;
  size_t LiveFileCount() const;
  /// Paths of all data and index files that exist.
  std::set<std::string> StoredFiles() const;
  int64_t LatestSnapshotId() const;

 private:
  arrow::Result<CommitMessage> DeleteIn(const Split& split,
                                        const std::vector<IndexManifestEntry>& vectors,
                                        const std::set<int64_t>& keys) const;

  Environment env_;
  TableContextPtr table_;
};

}  // namespace kelda
