#include "kelda/maintain/compact/compact_table.h"

#include <algorithm>
#include <mutex>
#include <unordered_map>
#include <unordered_set>

#include "kelda/index/deletion_vector_rewrite.h"
#include "kelda/maintain/compact/append_compact_planner.h"
#include "kelda/maintain/compact/compact_commit.h"
#include "kelda/maintain/compact/row_group_planner.h"
#include "kelda/scan/live_entries.h"
#include "kelda/scan/partition_filter.h"
#include "kelda/write/append_writer.h"
#include "kelda/write/bucket_compaction.h"
#include "kelda/write/file_rewriter.h"

namespace kelda {

namespace {

/// Deletion vectors of one snapshot.
class VectorIndex {
 public:
  static arrow::Result<VectorIndex> Read(const TableContext& table, const Snapshot& snapshot) {
    VectorIndex index;
    ARROW_ASSIGN_OR_RAISE(index.entries_, DeletionVectorEntries(table, snapshot));
    for (const auto& [key, entries] : index.entries_) {
      for (const IndexManifestEntry& entry : entries) {
        if (!entry.file.deletion_vectors) continue;
        for (const DeletionVectorRange& range : *entry.file.deletion_vectors) {
          index.by_file_[key.first].emplace(
              range.data_file,
              AppendCompactPlanner::Vector{entry.file.file_name, range.cardinality});
        }
      }
    }
    return index;
  }

  const AppendCompactPlanner::Vector* Find(const std::string& partition,
                                           const std::string& data_file) const {
    auto of_partition = by_file_.find(partition);
    if (of_partition == by_file_.end()) return nullptr;
    auto it = of_partition->second.find(data_file);
    return it == of_partition->second.end() ? nullptr : &it->second;
  }
  std::vector<IndexManifestEntry> Entries(const std::string& partition, int32_t bucket) const {
    auto it = entries_.find({partition, bucket});
    return it == entries_.end() ? std::vector<IndexManifestEntry>() : it->second;
  }

 private:
  std::map<BucketKey, std::vector<IndexManifestEntry>> entries_;
  std::unordered_map<std::string, std::unordered_map<std::string, AppendCompactPlanner::Vector>>
      by_file_;
};

/// One task, whatever the kind of table.
struct Task {
  std::string partition;
  int32_t bucket = 0;
  std::optional<int32_t> total_buckets;
  std::vector<DataFileMeta> files;
};

class CompactJob {
 public:
  CompactJob(TableContextPtr table, const CompactRequest& request, Snapshot snapshot)
      : table_(std::move(table)), request_(request), snapshot_(std::move(snapshot)) {}

  arrow::Result<CompactResult> Run() {
    const Options& o = table_->options;
    ARROW_ASSIGN_OR_RAISE(int32_t buckets, o.Get(OptionKeys::kBucket));
    ARROW_ASSIGN_OR_RAISE(deletion_vectors_, o.Get(OptionKeys::kDeletionVectorsEnabled));
    ARROW_ASSIGN_OR_RAISE(files_per_round_, o.Get(OptionKeys::kCompactionFileNumLimit));
    ARROW_ASSIGN_OR_RAISE(settings_, CompactionFileSettings(*table_));
    ARROW_RETURN_NOT_OK(OpenEntries());
    ARROW_RETURN_NOT_OK(FindIdlePartitions());
    ARROW_ASSIGN_OR_RAISE(data_evolution_, o.Get(OptionKeys::kDataEvolutionEnabled));
    ARROW_RETURN_NOT_OK(buckets > 0 || data_evolution_ ? CompactPartitions() : CompactSmallFiles());
    return std::move(result_);
  }

 private:
  arrow::Status OpenEntries() {
    if (deletion_vectors_) {
      ARROW_ASSIGN_OR_RAISE(vectors_, VectorIndex::Read(*table_, snapshot_));
    }
    filter_ = std::make_unique<PartitionFilter>(*table_, request_.partitions);
    ARROW_ASSIGN_OR_RAISE(auto all, ReadDataManifests(table_->manifests(), snapshot_));
    std::vector<ManifestFileMeta> manifests;
    for (ManifestFileMeta& manifest : all) {
      ARROW_ASSIGN_OR_RAISE(bool may, filter_->MayContain(manifest));
      if (may) manifests.push_back(std::move(manifest));
    }
    ManifestReader::EntryOptions options;
    ARROW_ASSIGN_OR_RAISE(bool drop_stats,
                          table_->options.Get(OptionKeys::kManifestDeleteFileDropStats));
    options.value_stats = !drop_stats;
    options.partition_filter = [this](std::string_view partition) -> arrow::Result<bool> {
      if (wanted_ && !wanted_->contains(std::string(partition))) return false;
      return filter_->Accepts(partition);
    };
    ARROW_ASSIGN_OR_RAISE(auto live, LiveEntries::Open(*table_, std::move(manifests),
                                                       std::move(options), request_.token));
    live_ = std::make_unique<LiveEntries>(std::move(live));
    return arrow::Status::OK();
  }

  /// Partitions whose newest file is old enough, when that matters.
  arrow::Status FindIdlePartitions() {
    if (!request_.partition_idle_ms) return arrow::Status::OK();
    std::mutex mutex;
    std::unordered_map<std::string, int64_t> newest;
    ARROW_RETURN_NOT_OK(live_->ForEach([&](int64_t, ManifestEntry&& entry) {
      std::lock_guard lock(mutex);
      int64_t& time = newest.emplace(entry.partition, INT64_MIN).first->second;
      time = std::max(time, entry.file.creation_time_millis.value_or(INT64_MAX));
      return arrow::Status::OK();
    }));
    const int64_t now = table_->env.clock->NowMillis();
    const int64_t limit = now + LocalZoneOffsetMillis(now) - *request_.partition_idle_ms;
    wanted_.emplace();
    for (const auto& [partition, time] : newest) {
      if (time <= limit) wanted_->insert(partition);
    }
    return arrow::Status::OK();
  }

  /// A table without buckets: candidates are streamed by, a round of tasks per
  /// `compaction.file-num-limit` of them.
  arrow::Status CompactSmallFiles() {
    ARROW_ASSIGN_OR_RAISE(auto rule, AppendCompactPlanner::Rule::Make(*table_));
    AppendCompactPlanner::VectorLookup lookup;
    if (deletion_vectors_) {
      lookup = [this](const std::string& partition, const std::string& file) {
        return vectors_.Find(partition, file);
      };
    }
    AppendCompactPlanner planner(rule, std::move(lookup));
    int64_t candidates = 0;
    const int64_t window = 2 * (table_->env.executor->parallelism() + 1);
    for (int64_t begin = 0; begin < live_->manifest_count(); begin += window) {
      const int64_t end = std::min(begin + window, live_->manifest_count());
      std::vector<std::vector<ManifestEntry>> found(static_cast<size_t>(end - begin));
      ARROW_RETURN_NOT_OK(live_->ForEach(begin, end, [&](int64_t i, ManifestEntry&& entry) {
        if (planner.IsCandidate(entry.partition, entry.file))
          found[static_cast<size_t>(i - begin)].push_back(std::move(entry));
        return arrow::Status::OK();
      }));
      for (auto& entries : found) {
        for (ManifestEntry& entry : entries) {
          if (candidates == files_per_round_) {
            ARROW_RETURN_NOT_OK(RunRound(planner.Plan()));
            candidates = 0;
          }
          planner.Add(entry.partition, std::move(entry.file));
          ++candidates;
        }
        entries.clear();
      }
    }
    return candidates == 0 ? arrow::Status::OK() : RunRound(planner.Plan());
  }

  arrow::Status RunRound(std::vector<AppendCompactTask> planned) {
    std::vector<Task> tasks;
    for (AppendCompactTask& task : planned)
      tasks.push_back(Task{std::move(task.partition), 0, std::nullopt, std::move(task.files)});
    return RunTasks(std::move(tasks));
  }

  /// Where all files of a bucket have to be seen at once: partitions are taken together as long as
  /// their files are few enough to be held.
  arrow::Status CompactPartitions() {
    std::mutex mutex;
    std::map<std::string, int64_t> counts;
    ARROW_RETURN_NOT_OK(live_->ForEach([&](int64_t, ManifestEntry&& entry) {
      std::lock_guard lock(mutex);
      ++counts[entry.partition];
      return arrow::Status::OK();
    }));
    int64_t files = 0;
    wanted_.emplace();
    for (const auto& [partition, count] : counts) {
      if (files > 0 && files + count > files_per_round_) {
        ARROW_RETURN_NOT_OK(CompactWantedPartitions());
        wanted_->clear();
        files = 0;
      }
      wanted_->insert(partition);
      files += count;
    }
    return files == 0 ? arrow::Status::OK() : CompactWantedPartitions();
  }

  arrow::Status CompactWantedPartitions() {
    std::mutex mutex;
    std::map<BucketKey, Task> buckets;
    ARROW_RETURN_NOT_OK(live_->ForEach([&](int64_t, ManifestEntry&& entry) {
      std::lock_guard lock(mutex);
      Task& bucket = buckets[{entry.partition, entry.bucket}];
      bucket.partition = entry.partition;
      bucket.bucket = entry.bucket;
      bucket.total_buckets = entry.total_buckets;
      bucket.files.push_back(std::move(entry.file));
      return arrow::Status::OK();
    }));
    std::vector<Task> tasks;
    for (auto& [key, bucket] : buckets) {
      if (data_evolution_) {
        ARROW_RETURN_NOT_OK(PackBucket(std::move(bucket), &tasks));
      } else {
        ARROW_RETURN_NOT_OK(PickBucket(std::move(bucket), &tasks));
      }
    }
    return RunTasks(std::move(tasks));
  }

  /// Files of one fixed bucket.
  arrow::Status PickBucket(Task bucket, std::vector<Task>* tasks) const {
    ARROW_ASSIGN_OR_RAISE(auto rule, BucketCompactionRule::Make(*table_));
    std::stable_sort(bucket.files.begin(), bucket.files.end(),
                     [](const DataFileMeta& a, const DataFileMeta& b) {
                       return a.min_sequence_number < b.min_sequence_number;
                     });
    std::function<bool(const DataFileMeta&)> has_deletions;
    if (deletion_vectors_) {
      has_deletions = [&](const DataFileMeta& file) {
        return vectors_.Find(bucket.partition, file.file_name) != nullptr;
      };
    }
    bucket.files = request_.strategy == CompactRequest::Strategy::kFull
                       ? rule.PickFull(std::move(bucket.files), has_deletions)
                       : rule.PickAuto(&bucket.files);
    if (!bucket.files.empty()) tasks->push_back(std::move(bucket));
    return arrow::Status::OK();
  }

  /// Files of one partition under data evolution.
  arrow::Status PackBucket(Task bucket, std::vector<Task>* tasks) const {
    ARROW_ASSIGN_OR_RAISE(auto rule, AppendCompactPlanner::Rule::Make(*table_));
    auto packed = PackRowGroups(rule, std::move(bucket.files));
    if (!packed.ok()) return WithContext(packed.status(), "table " + table_->name);
    for (auto& files : *packed) {
      tasks->push_back(bucket);
      tasks->back().files = std::move(files);
    }
    return arrow::Status::OK();
  }

  arrow::Status RunTasks(std::vector<Task> tasks) {
    if (tasks.empty()) return arrow::Status::OK();
    Report([&](CompactProgress* p) { p->tasks_planned += static_cast<int64_t>(tasks.size()); });
    std::vector<CommitMessage> messages(tasks.size());
    auto done =
        ParallelFor(*table_->env.executor, static_cast<int64_t>(tasks.size()), request_.token,
                    [&](int64_t i) { return RunTask(std::move(tasks[i]), &messages[i]); });
    if (!done.ok()) {
      DeleteFiles(*table_, messages);
      return done;
    }
    const auto count = static_cast<int64_t>(messages.size());
    CommitterOptions options = request_.commit;
    options.token = request_.token;
    ARROW_ASSIGN_OR_RAISE(auto committed, CommitCompactions(table_, std::move(messages), options));
    result_.snapshot_ids.insert(result_.snapshot_ids.end(), committed.snapshot_ids.begin(),
                                committed.snapshot_ids.end());
    result_.tasks += count - committed.given_up;
    result_.tasks_given_up += committed.given_up;
    result_.files_before += committed.files_before;
    result_.files_after += committed.files_after;
    // Index files that this round rewrote must not be taken for current in the next.
    if (deletion_vectors_) {
      ARROW_ASSIGN_OR_RAISE(auto latest, table_->snapshots->Latest());
      if (latest) {
        ARROW_ASSIGN_OR_RAISE(vectors_, VectorIndex::Read(*table_, *latest));
      }
    }
    return arrow::Status::OK();
  }

  arrow::Status RunTask(Task task, CommitMessage* message) {
    ARROW_ASSIGN_OR_RAISE(Split bucket, EmptySplit(*table_, task.partition, task.bucket));
    if (task.total_buckets) bucket.total_buckets = *task.total_buckets;
    RewriteOptions options;
    options.token = request_.token;
    options.on_rows = [this](int64_t rows) {
      Report([&](CompactProgress* p) { p->rows += rows; });
    };
    if (data_evolution_) {
      ARROW_ASSIGN_OR_RAISE(
          *message, CompactRowGroups(table_, std::move(bucket), std::move(task.files), options));
    } else {
      ARROW_ASSIGN_OR_RAISE(
          *message, CompactFiles(table_, settings_, std::move(bucket), std::move(task.files),
                                 vectors_.Entries(task.partition, task.bucket), options));
    }
    Report([](CompactProgress* p) { ++p->tasks_done; });
    return arrow::Status::OK();
  }

  void Report(const std::function<void(CompactProgress*)>& change) {
    if (!request_.on_progress) return;
    std::lock_guard lock(progress_mutex_);
    change(&progress_);
    request_.on_progress(progress_);
  }

  TableContextPtr table_;
  const CompactRequest& request_;
  Snapshot snapshot_;
  bool deletion_vectors_ = false;
  bool data_evolution_ = false;
  int64_t files_per_round_ = 0;
  std::shared_ptr<const DataFileSettings> settings_;
  VectorIndex vectors_;
  std::unique_ptr<PartitionFilter> filter_;
  std::unique_ptr<LiveEntries> live_;
  std::optional<std::unordered_set<std::string>> wanted_;  ///< nullopt: all that filter_ accepts
  CompactResult result_;

  std::mutex progress_mutex_;
  CompactProgress progress_;
};

/// What compaction of this version cannot do.
arrow::Status CheckCompactable(const TableContext& table) {
  ARROW_RETURN_NOT_OK(table.CheckWritable());
  if (!table.schema->primary_keys.empty())
    return Unsupported("table {}: compaction of tables with a primary key", table.name);
  for (const DataField& field : table.fields()) {
    if (field.type.root() == TypeRoot::kBlob)
      return Unsupported("table {}: compaction with the BLOB column '{}'", table.name, field.name);
  }
  ARROW_ASSIGN_OR_RAISE(bool clustering, table.options.Get(OptionKeys::kClusteringIncremental));
  if (clustering)
    return Unsupported("table {}: compaction with 'clustering.incremental'", table.name);
  return arrow::Status::OK();
}

}  // namespace

arrow::Result<CompactResult> CompactTable(const TableContextPtr& table,
                                          const CompactRequest& request) {
  ARROW_RETURN_NOT_OK(CheckCompactable(*table));
  ARROW_ASSIGN_OR_RAISE(auto latest, table->snapshots->Latest());
  if (!latest) return CompactResult{};
  return CompactJob(table, request, std::move(*latest)).Run();
}

}  // namespace kelda
