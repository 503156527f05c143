#include "kelda/sql/scan/scan_data.h"

#include "kelda/base/log.h"
#include "kelda/metadata/table_statistics.h"
#include "kelda/sql/scan/interrupt_watcher.h"
#include "kelda/sql/scan/predicate_conversion.h"
#include "kelda/sql/types/logical_type.h"
#include "kelda/sql/types/status_exception.h"

namespace kelda::sql {

namespace {

/// Statistics of more files than this cost more than the optimizer gains from them.
constexpr int64_t kFilesWithStatisticsMax = 4096;

/// Files that the manifests of a snapshot can hold; nullopt: unreadable, the plan will say why.
std::optional<int64_t> CountFiles(const TableContext& table, const Snapshot& snapshot) {
  const ManifestReader reader = table.manifests();
  int64_t files = 0;
  auto count = [&](const std::string& name, std::optional<int64_t> size) {
    auto manifests = reader.ReadList(name, size);
    if (!manifests.ok()) return false;
    for (const ManifestFileMeta& manifest : *manifests) files += manifest.num_added_files;
    return true;
  };
  if (!count(snapshot.base_manifest_list, snapshot.base_manifest_list_size) ||
      !count(snapshot.delta_manifest_list, snapshot.delta_manifest_list_size)) {
    return std::nullopt;
  }
  return files;
}

bool BooleanSetting(duckdb::ClientContext& context, const char* name, bool default_value) {
  duckdb::Value value;
  if (!context.TryGetCurrentSetting(name, value) || value.IsNull()) return default_value;
  return duckdb::BooleanValue::Get(value);
}

/// `bounds` widened by `more`; unknown stays unknown.
void Merge(const ColumnBounds& more, ColumnBounds* bounds) {
  if (more.min == nullptr || more.max == nullptr) {
    bounds->min = bounds->max = nullptr;
  } else if (bounds->min != nullptr) {
    if (CompareScalars(*more.min, *bounds->min) < 0) bounds->min = more.min;
    if (CompareScalars(*more.max, *bounds->max) > 0) bounds->max = more.max;
  }
  if (more.null_count && bounds->null_count) {
    *bounds->null_count += *more.null_count;
  } else {
    bounds->null_count.reset();
  }
}

/// Distinct values of each column of `table`; those of a column that had another type when it was
/// analyzed are not known.
arrow::Result<std::vector<std::optional<int64_t>>> AnalyzedDistinctCounts(const TableContext& table,
                                                                          const std::string& name) {
  const StatisticsFiles files(table.env.io, table.paths);
  ARROW_ASSIGN_OR_RAISE(auto statistics, files.Read(name));
  TableSchemaPtr schema = table.schema;
  if (statistics.schema_id != schema->id) {
    ARROW_ASSIGN_OR_RAISE(schema, table.schemas->Read(statistics.schema_id));
  }
  const auto& fields = table.fields();
  std::vector<std::optional<int64_t>> counts(fields.size());
  for (const auto& [column, found] : statistics.columns) {
    const int analyzed = schema->FieldIndex(column);
    if (analyzed < 0 || !found.distinct_count || *found.distinct_count < 0) continue;
    const DataField& was = schema->fields[static_cast<size_t>(analyzed)];
    for (size_t i = 0; i < fields.size(); ++i) {
      if (fields[i].id == was.id && fields[i].type.EqualsIgnoringNullability(was.type))
        counts[i] = found.distinct_count;
    }
  }
  return counts;
}

}  // namespace

std::optional<int64_t> PlannedFile::LiveRowCount() const {
  if (unit.merge) return std::nullopt;
  if (deletion == nullptr) return unit.row_count;
  if (!deletion->cardinality) return std::nullopt;
  return unit.row_count - *deletion->cardinality;
}

PlannedScan::PlannedScan(TableContextPtr table, ScanPlan plan, PredicatePtr predicate,
                         bool has_stats)
    : table_(std::move(table)),
      plan_(std::move(plan)),
      predicate_(std::move(predicate)),
      has_stats_(has_stats) {
  for (const Split& split : plan_.splits) {
    for (ReadUnit& unit : ReadUnits(split)) {
      const size_t first = unit.files[0];
      files_.push_back({&split, &split.files[first], std::move(unit), split.DeletionOf(first)});
    }
  }
}

const std::vector<std::shared_ptr<BoundsSource>>& PlannedScan::Bounds() const {
  std::call_once(once_, [this] {
    if (!has_stats_) return;
    std::vector<std::shared_ptr<BoundsSource>> bounds;
    for (const PlannedFile& planned : files_) {
      auto source = FileBounds(*table_, *planned.file);
      // Statistics are a help only: damaged ones are reported where they are needed.
      if (!source.ok()) return;
      bounds.push_back(*source);
    }
    bounds_ = std::move(bounds);
  });
  return bounds_;
}

std::optional<ColumnBounds> PlannedScan::FileBoundsOf(size_t column, size_t file) const {
  const std::string& name = table_->fields()[column].name;
  const auto& keys = table_->schema->partition_keys;
  for (size_t i = 0; i < keys.size(); ++i) {
    if (keys[i] != name) continue;
    const auto& value = files_[file].split->partition_values[i];
    const int64_t rows = files_[file].unit.row_count;
    if (!value->is_valid) return ColumnBounds{nullptr, nullptr, rows};
    return ColumnBounds{value, value, 0};
  }
  const auto& bounds = Bounds();
  // Of a group of files none alone tells what its columns hold.
  if (bounds.empty() || !files_[file].single()) return std::nullopt;
  return bounds[file]->Bounds({name});
}

std::optional<ColumnBounds> PlannedScan::BoundsOf(size_t column, std::optional<size_t> file) const {
  if (file) return FileBoundsOf(column, *file);
  std::optional<ColumnBounds> merged;
  int64_t null_rows = 0;
  bool no_values = true;
  for (size_t i = 0; i < files_.size(); ++i) {
    auto bounds = FileBoundsOf(column, i);
    if (!bounds) return std::nullopt;
    if (bounds->null_count == files_[i].unit.row_count) {
      null_rows += files_[i].unit.row_count;
      continue;
    }
    no_values = false;
    if (merged) {
      Merge(*bounds, &*merged);
    } else {
      merged = std::move(bounds);
    }
  }
  if (no_values) return ColumnBounds{nullptr, nullptr, null_rows};
  if (merged->null_count) *merged->null_count += null_rows;
  return merged;
}

ScanData::ScanData(TableContextPtr table, std::optional<Snapshot> snapshot)
    : table_(std::move(table)), snapshot_(std::move(snapshot)) {
  for (const DataField& field : table_->fields()) {
    types_.push_back(ValueOrThrow(ToLogicalType(field.type, field.name)));
    names_.push_back(field.name);
  }
}

void ScanData::AddPredicate(const PredicatePtr& predicate) {
  std::lock_guard lock(mutex_);
  for (const PredicatePtr& conjunct : Conjuncts(predicate)) {
    if (!predicate_texts_.insert(conjunct->ToString()).second) continue;
    predicates_.push_back(conjunct);
    plan_ = nullptr;
  }
}

PredicatePtr ScanData::predicate() const {
  if (predicates_.empty()) return nullptr;
  return And(predicates_);
}

PlannedScanPtr ScanData::planned() const {
  std::lock_guard lock(mutex_);
  return plan_;
}

PlannedScanPtr ScanData::Plan(duckdb::ClientContext& context) const {
  std::lock_guard lock(mutex_);
  if (plan_ == nullptr) plan_ = MakePlan(context, predicate());
  return plan_;
}

PlannedScanPtr ScanData::PlanWith(duckdb::ClientContext& context, const PredicatePtr& extra) const {
  std::vector<PredicatePtr> all;
  {
    std::lock_guard lock(mutex_);
    all = predicates_;
    for (const PredicatePtr& conjunct : Conjuncts(extra)) {
      if (!predicate_texts_.contains(conjunct->ToString())) all.push_back(conjunct);
    }
    const bool nothing_new = all.size() == predicates_.size();
    // One file is opened anyway, and its row groups are looked at then.
    if (plan_ != nullptr && (nothing_new || plan_->files().size() <= 1)) return plan_;
  }
  if (all.empty()) return Plan(context);
  return MakePlan(context, And(std::move(all)));
}

PlannedScanPtr ScanData::MakePlan(duckdb::ClientContext& context,
                                  const PredicatePtr& predicate) const {
  ScanRequest request;
  request.snapshot = snapshot_;
  request.predicate = predicate;
  if (snapshot_) {
    const auto files = CountFiles(*table_, *snapshot_);
    request.keep_value_stats = files && *files <= kFilesWithStatisticsMax;
  }
  InterruptWatcher watcher(context);
  request.token = watcher.token();
  ScanPlan plan = ValueOrThrow(PlanScan(*table_, request));
  return std::make_shared<PlannedScan>(table_, std::move(plan), predicate,
                                       request.keep_value_stats);
}

std::optional<int64_t> ScanData::DistinctCount(size_t column) const {
  std::call_once(analyzed_once_, [this] {
    distinct_counts_.resize(table_->fields().size());
    if (!snapshot_ || !snapshot_->statistics) return;
    auto counts = AnalyzedDistinctCounts(*table_, *snapshot_->statistics);
    if (counts.ok()) {
      distinct_counts_ = std::move(*counts);
    } else {
      KELDA_LOG(Warn, "table {}: the optimizer goes without the statistics of ANALYZE: {}",
                table_->name, counts.status().message());
    }
  });
  return distinct_counts_[column];
}

duckdb::unique_ptr<duckdb::FunctionData> ScanData::Copy() const {
  auto copy = duckdb::make_uniq<ScanData>(table_, snapshot_);
  std::lock_guard lock(mutex_);
  copy->entry = entry;
  copy->predicates_ = predicates_;
  copy->predicate_texts_ = predicate_texts_;
  copy->plan_ = plan_;
  copy->filtered_ = filtered();
  return copy;
}

bool ScanData::Equals(const duckdb::FunctionData& other_data) const {
  const auto& other = other_data.Cast<ScanData>();
  const auto id = [](const ScanData& data) { return data.snapshot_ ? data.snapshot_->id : -1; };
  if (table_ != other.table_ || id(*this) != id(other)) return false;
  if (this == &other) return true;
  std::scoped_lock lock(mutex_, other.mutex_);
  return predicate_texts_ == other.predicate_texts_;
}

bool PruningDisabled(duckdb::ClientContext& context) {
  return BooleanSetting(context, "kelda_disable_pruning", false);
}

bool DuckdbParquetEnabled(duckdb::ClientContext& context) {
  return BooleanSetting(context, "kelda_duckdb_parquet", true) &&
         !BooleanSetting(context, "kelda_verify_checksums", false);
}

}  // namespace kelda::sql
