#pragma once

#include <atomic>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "duckdb/catalog/catalog_entry/table_catalog_entry.hpp"
#include "duckdb/function/table_function.hpp"
#include "duckdb/main/client_context.hpp"

#include "kelda/metadata/table_context.h"
#include "kelda/scan/plan.h"

namespace kelda::sql {

/// One file of a plan, or the files that hold columns of the same rows.
struct PlannedFile {
  const Split* split;
  const DataFileMeta* file;  ///< the first
  ReadUnit unit;
  const DeletionFile* deletion;  ///< null: no row is deleted

  /// Its rows are those of one file, less the deleted ones.
  bool single() const { return unit.files.size() == 1 && !unit.merge; }
  /// Rows that come out; nullopt: not known without reading.
  std::optional<int64_t> LiveRowCount() const;
};

/// A plan and what was asked of it. Immutable, except for the bounds of files, which are decoded at
/// first use; thread-safe.
class PlannedScan {
 public:
  PlannedScan(TableContextPtr table, ScanPlan plan, PredicatePtr predicate, bool has_stats);

  const ScanPlan& plan() const { return plan_; }
  const std::vector<PlannedFile>& files() const { return files_; }
  /// Superset filter of the plan, also for row groups; null: everything.
  const PredicatePtr& predicate() const { return predicate_; }
  /// Bounds of each file, by index in files(); empty if the plan was made without statistics.
  const std::vector<std::shared_ptr<BoundsSource>>& Bounds() const;
  /// Minimum, maximum and NULLs of a column in one file or (no index) in all; partition columns
  /// exactly.
  std::optional<ColumnBounds> BoundsOf(size_t column, std::optional<size_t> file) const;

 private:
  std::optional<ColumnBounds> FileBoundsOf(size_t column, size_t file) const;

  TableContextPtr table_;
  ScanPlan plan_;
  PredicatePtr predicate_;
  bool has_stats_;
  std::vector<PlannedFile> files_;
  mutable std::once_flag once_;
  mutable std::vector<std::shared_ptr<BoundsSource>> bounds_;
};
using PlannedScanPtr = std::shared_ptr<const PlannedScan>;

/// Bind data of `paimon_scan`: table, snapshot, the filters that the optimizer handed over, and the
/// plan, made when somebody needs it. Thread-safe.
class ScanData : public duckdb::TableFunctionData {
 public:
  ScanData(TableContextPtr table, std::optional<Snapshot> snapshot);

  const TableContextPtr& table() const { return table_; }
  const std::optional<Snapshot>& snapshot() const { return snapshot_; }
  const duckdb::vector<duckdb::LogicalType>& types() const { return types_; }
  const duckdb::vector<std::string>& names() const { return names_; }

  /// Give `predicate`, which every row must pass, to the coming plan.
  void AddPredicate(const PredicatePtr& predicate);
  /// Whether the optimizer ever offered a filter: it may be gone from the plan, being part of the
  /// scan, or always true.
  bool filtered() const { return filtered_; }
  void SetFiltered() { filtered_ = true; }
  /// Plan with the predicates so far. Throws DuckDB exceptions.
  PlannedScanPtr Plan(duckdb::ClientContext& context) const;
  /// Plan with `extra` too; the same plan if `extra` says nothing new.
  PlannedScanPtr PlanWith(duckdb::ClientContext& context, const PredicatePtr& extra) const;
  /// Distinct values of a column as ANALYZE counted them; nullopt: it did not.
  std::optional<int64_t> DistinctCount(size_t column) const;
  /// The plan if there is one.
  PlannedScanPtr planned() const;

  duckdb::unique_ptr<duckdb::FunctionData> Copy() const override;
  bool Equals(const duckdb::FunctionData& other) const override;
  /// The snapshot is pinned: another execution must bind again.
  bool SupportStatementCache() const override { return false; }

  duckdb::optional_ptr<duckdb::TableCatalogEntry> entry;

 private:
  PlannedScanPtr MakePlan(duckdb::ClientContext& context, const PredicatePtr& predicate) const;
  PredicatePtr predicate() const;

  const TableContextPtr table_;
  const std::optional<Snapshot> snapshot_;
  duckdb::vector<duckdb::LogicalType> types_;
  duckdb::vector<std::string> names_;
  mutable std::mutex mutex_;
  std::vector<PredicatePtr> predicates_;
  std::set<std::string> predicate_texts_;
  mutable PlannedScanPtr plan_;
  std::atomic<bool> filtered_ = false;
  mutable std::once_flag analyzed_once_;
  /// By column; read at first use.
  mutable std::vector<std::optional<int64_t>> distinct_counts_;
};

/// Setting `kelda_disable_pruning`.
bool PruningDisabled(duckdb::ClientContext& context);
/// Settings `kelda_duckdb_parquet`, and not `kelda_verify_checksums`.
bool DuckdbParquetEnabled(duckdb::ClientContext& context);

}  // namespace kelda::sql
