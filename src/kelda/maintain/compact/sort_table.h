#pragma once

#include <string>
#include <vector>

#include "kelda/maintain/compact/compact_table.h"
#include "kelda/maintain/compact/sort_key.h"

namespace kelda {

struct SortRequest {
  PredicatePtr partitions;  ///< over partition columns only; null = all
  SortOrder order = SortOrder::kLexicographic;
  std::vector<std::string> columns;  ///< `order_by`; no partition columns
  /// Where rows that do not fit into memory wait; empty: the system's folder for temporary files.
  std::string temporary_folder;
  CancellationToken token;
  /// tasks are partitions. Called by many threads, one at a time.
  std::function<void(const CompactProgress&)> on_progress;
  CommitterOptions commit;
};

/// Rewrite all rows of a table without buckets so that rows which are near each other in `columns`
/// lie in the same file (spec 03 §7.11): each partition is sorted on its own, outside of memory if
/// need be, and all become one OVERWRITE snapshot. Deleted rows go; rows of a row-tracking table
/// keep their ids.
///
/// Unlike Java's, the commit names the files that were read: rows that others insert meanwhile
/// stay, and when others delete from or rewrite these files, the commit is a kConflict and changes
/// nothing.
arrow::Result<CompactResult> SortTable(const TableContextPtr& table, const SortRequest& request);

}  // namespace kelda
