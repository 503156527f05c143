#include "kelda/commit/committer.h"

#include <algorithm>
#include <set>
#include <unordered_set>

#include <nlohmann/json.hpp>

#include "kelda/base/log.h"
#include "kelda/commit/changes.h"
#include "kelda/commit/manifest_merge.h"
#include "kelda/scan/partition_filter.h"
#include "kelda/scan/plan.h"

namespace kelda {

namespace {

/// Publishes by exclusive create of snapshot-<id>, then moves the LATEST hint.
class FileSnapshotPublisher : public SnapshotPublisher {
 public:
  FileSnapshotPublisher(std::shared_ptr<FileIO> io, TablePaths paths)
      : io_(std::move(io)), paths_(std::move(paths)) {}
  PublishResult Publish(const Snapshot& snapshot) override {
    return io_->PublishNew(paths_.SnapshotFile(snapshot.id), snapshot.ToJsonText());
  }

 private:
  std::shared_ptr<FileIO> io_;
  TablePaths paths_;
};

/// What is to become one snapshot.
struct SnapshotRequest {
  CommitKind kind = CommitKind::kAppend;
  int64_t identifier = kBatchCommitIdentifier;
  std::optional<int64_t> watermark;
  std::map<std::string, std::string> properties;
  bool detect_conflicts = false;
  std::optional<int64_t> row_id_check_from;
  struct Changes {
    std::vector<ManifestEntry> entries;
    std::vector<IndexManifestEntry> index;
  };
  /// The delta on top of the latest snapshot; called once per attempt. Overwrite computes its
  /// deletes here.
  std::function<arrow::Result<Changes>(const std::optional<Snapshot>& latest)> changes;
  /// Name of a new statistics file; nullopt: those of the latest snapshot stay.
  std::optional<std::string> statistics = std::nullopt;
};

/// The numbers of spec 03 §3.19.
struct RetryOptions {
  int64_t retries_max = 10;
  int64_t wait_ms_min = 10;
  int64_t wait_ms_max = 10'000;
  std::optional<int64_t> timeout_ms;
};

enum class AttemptOutcome { kDone, kRetry };

struct AttemptResult {
  AttemptOutcome outcome = AttemptOutcome::kRetry;
  int64_t snapshot_id = 0;
};

class FileStoreCommitter : public Committer {
 public:
  FileStoreCommitter(TableContextPtr table, CommitterOptions options)
      : table_(std::move(table)), options_(std::move(options)), names_(*table_->env.random) {}

  arrow::Status Init() {
    const Options& o = table_->options;
    if (options_.commit_user.empty()) {
      ARROW_ASSIGN_OR_RAISE(auto prefix, o.Find(OptionKeys::kCommitUserPrefix));
      const std::string uuid = table_->env.random->Uuid();
      options_.commit_user = prefix ? *prefix + "_" + uuid : uuid;
    }
    if (options_.publisher == nullptr) {
      options_.publisher = std::make_shared<FileSnapshotPublisher>(table_->env.io, table_->paths);
    }
    ARROW_ASSIGN_OR_RAISE(auto ignore_empty, o.Find(OptionKeys::kSnapshotIgnoreEmptyCommit));
    ignore_empty_ = options_.ignore_empty_commit.value_or(ignore_empty.value_or(true));
    ARROW_ASSIGN_OR_RAISE(retry_.retries_max, o.Get(OptionKeys::kCommitMaxRetries));
    ARROW_ASSIGN_OR_RAISE(auto wait_min, o.Get(OptionKeys::kCommitMinRetryWait));
    ARROW_ASSIGN_OR_RAISE(auto wait_max, o.Get(OptionKeys::kCommitMaxRetryWait));
    retry_.wait_ms_min = wait_min.count();
    retry_.wait_ms_max = wait_max.count();
    ARROW_ASSIGN_OR_RAISE(auto timeout, o.Find(OptionKeys::kCommitTimeout));
    if (timeout) retry_.timeout_ms = timeout->count();
    ARROW_ASSIGN_OR_RAISE(discard_duplicates_, o.Get(OptionKeys::kCommitDiscardDuplicateFiles));
    ARROW_ASSIGN_OR_RAISE(merge_.target_file_size, o.Get(OptionKeys::kManifestTargetFileSize));
    ARROW_ASSIGN_OR_RAISE(merge_.full_compaction_threshold,
                          o.Get(OptionKeys::kManifestFullCompactionThresholdSize));
    ARROW_ASSIGN_OR_RAISE(merge_.merge_min_count, o.Get(OptionKeys::kManifestMergeMinCount));
    writer_options_.target_file_size = merge_.target_file_size;
    ARROW_ASSIGN_OR_RAISE(auto compression, o.Get(OptionKeys::kManifestCompression));
    ARROW_ASSIGN_OR_RAISE(writer_options_.codec, AvroCodecOfOption(compression));
    ARROW_ASSIGN_OR_RAISE(writer_options_.zstd_level, o.Get(OptionKeys::kFileCompressionZstdLevel));
    ARROW_ASSIGN_OR_RAISE(writer_options_.delete_file_drop_stats,
                          o.Get(OptionKeys::kManifestDeleteFileDropStats));
    ARROW_ASSIGN_OR_RAISE(total_buckets_, o.Get(OptionKeys::kBucket));
    ARROW_ASSIGN_OR_RAISE(deletion_vectors_, o.Get(OptionKeys::kDeletionVectorsEnabled));
    ARROW_ASSIGN_OR_RAISE(row_tracking_, o.Get(OptionKeys::kRowTrackingEnabled));
    ARROW_ASSIGN_OR_RAISE(data_evolution_, o.Get(OptionKeys::kDataEvolutionEnabled));
    return arrow::Status::OK();
  }

  const std::string& commit_user() const override { return options_.commit_user; }

  arrow::Result<CommitResult> Commit(const Committable& committable) override {
    return CommitChecked(committable, /*check_append_files=*/false);
  }

  arrow::Result<CommitResult> FilterAndCommit(std::vector<Committable> committables) override {
    std::stable_sort(
        committables.begin(), committables.end(),
        [](const Committable& a, const Committable& b) { return a.identifier < b.identifier; });
    ARROW_ASSIGN_OR_RAISE(auto committed, NewestIdentifierOfUser());
    CommitResult result;
    for (const Committable& committable : committables) {
      if (committed && committable.identifier <= *committed) continue;
      ARROW_RETURN_NOT_OK(CheckFilesExist(committable));
      ARROW_ASSIGN_OR_RAISE(CommitResult one,
                            CommitChecked(committable, /*check_append_files=*/true));
      result.snapshot_ids.insert(result.snapshot_ids.end(), one.snapshot_ids.begin(),
                                 one.snapshot_ids.end());
      result.attempts += one.attempts;
    }
    return result;
  }

  arrow::Result<CommitResult> Overwrite(const OverwriteSpec& spec,
                                        const Committable& committable) override {
    CommitChanges changes = CollectChanges(committable, total_buckets_);
    ARROW_ASSIGN_OR_RAISE(PredicatePtr scope, OverwriteScope(spec, changes.append));
    CommitResult result;
    if (scope != nullptr) {
      SnapshotRequest request = RequestFor(committable, CommitKind::kOverwrite, true);
      request.changes =
          [this, scope, added = std::move(changes.append),
           added_index = std::move(changes.append_index)](const std::optional<Snapshot>& latest) {
            return OverwriteChanges(scope, latest, added, added_index);
          };
      ARROW_RETURN_NOT_OK(TryCommit(request, &result));
    }
    if (!changes.compact.empty() || !changes.compact_index.empty()) {
      ARROW_RETURN_NOT_OK(
          TryCommit(FixedRequest(committable, CommitKind::kCompact, true,
                                 {std::move(changes.compact), std::move(changes.compact_index)}),
                    &result));
    }
    return result;
  }

  arrow::Result<CommitResult> CommitStatistics(const TableStatistics& statistics) override {
    const StatisticsFiles files(table_->env.io, table_->paths);
    SnapshotRequest request;
    request.kind = CommitKind::kAnalyze;
    request.changes = [](const std::optional<Snapshot>&) {
      return arrow::Result<SnapshotRequest::Changes>(SnapshotRequest::Changes{});
    };
    ARROW_ASSIGN_OR_RAISE(request.statistics, files.Write(statistics, *table_->env.random));
    CommitResult result;
    auto committed = TryCommit(request, &result);
    if (!committed.ok() && CodeOf(committed) != ErrorCode::kCommitUnknown)
      RemoveFiles({files.PathOf(*request.statistics)});
    ARROW_RETURN_NOT_OK(committed);
    return result;
  }

 private:
  static SnapshotRequest RequestFor(const Committable& committable, CommitKind kind, bool detect) {
    SnapshotRequest request;
    request.kind = kind;
    request.identifier = committable.identifier;
    request.watermark = committable.watermark;
    request.properties = committable.properties;
    request.row_id_check_from = committable.row_id_check_from;
    request.detect_conflicts = detect || request.row_id_check_from.has_value();
    return request;
  }

  static SnapshotRequest FixedRequest(const Committable& committable, CommitKind kind, bool detect,
                                      SnapshotRequest::Changes changes) {
    SnapshotRequest request = RequestFor(committable, kind, detect);
    request.changes = [changes = std::move(changes)](const std::optional<Snapshot>&)
        -> arrow::Result<SnapshotRequest::Changes> { return changes; };
    return request;
  }

  arrow::Result<CommitResult> CommitChecked(const Committable& committable,
                                            bool check_append_files) {
    CommitChanges changes = CollectChanges(committable, total_buckets_);
    CommitResult result;
    // At most two snapshots, in this order (spec 03 §3.3).
    if (!changes.append.empty() || !changes.append_index.empty() || !ignore_empty_) {
      const bool deletes =
          std::any_of(changes.append.begin(), changes.append.end(),
                      [](const ManifestEntry& e) { return e.kind == EntryKind::kDelete; }) ||
          std::any_of(changes.append_index.begin(), changes.append_index.end(),
                      [](const IndexManifestEntry& e) {
                        return e.file.index_type == kDeletionVectorsIndex;
                      });
      ARROW_RETURN_NOT_OK(TryCommit(
          FixedRequest(committable, deletes ? CommitKind::kOverwrite : CommitKind::kAppend,
                       deletes || check_append_files,
                       {std::move(changes.append), std::move(changes.append_index)}),
          &result));
    }
    if (!changes.compact.empty() || !changes.compact_index.empty()) {
      ARROW_RETURN_NOT_OK(
          TryCommit(FixedRequest(committable, CommitKind::kCompact, true,
                                 {std::move(changes.compact), std::move(changes.compact_index)}),
                    &result));
    }
    return result;
  }

  /// Everything in scope goes, the new files come (spec 03 §4, step 4).
  arrow::Result<SnapshotRequest::Changes> OverwriteChanges(
      const PredicatePtr& scope, const std::optional<Snapshot>& latest,
      const std::vector<ManifestEntry>& added,
      const std::vector<IndexManifestEntry>& added_index) const {
    SnapshotRequest::Changes changes;
    if (latest) {
      PartitionFilter filter(*table_, table_->partitioned() ? scope : nullptr);
      ARROW_ASSIGN_OR_RAISE(
          changes.entries,
          ReadLiveEntries(
              *table_, *latest, [&](std::string_view p) { return filter.Accepts(p); },
              options_.token));
      for (ManifestEntry& entry : changes.entries) entry.kind = EntryKind::kDelete;
      ARROW_ASSIGN_OR_RAISE(auto index, IndexEntries(*latest));
      for (IndexManifestEntry& entry : index) {
        ARROW_ASSIGN_OR_RAISE(bool inside, filter.Accepts(entry.partition));
        if (!inside) continue;
        entry.kind = EntryKind::kDelete;
        changes.index.push_back(std::move(entry));
      }
    }
    changes.entries.insert(changes.entries.end(), added.begin(), added.end());
    changes.index.insert(changes.index.end(), added_index.begin(), added_index.end());
    return changes;
  }

  arrow::Result<std::vector<IndexManifestEntry>> IndexEntries(const Snapshot& snapshot) const {
    if (!snapshot.index_manifest) return std::vector<IndexManifestEntry>();
    return table_->manifests().ReadIndexManifest(*snapshot.index_manifest);
  }

  /// The retry loop of spec 03 §3.4.
  arrow::Status TryCommit(const SnapshotRequest& request, CommitResult* result) {
    const int64_t start = table_->env.clock->NowMillis();
    failed_publish_base_.reset();
    last_publish_error_ = arrow::Status::OK();
    for (int64_t retry = 0;; ++retry) {
      ++result->attempts;
      ARROW_ASSIGN_OR_RAISE(AttemptResult attempt, Attempt(request));
      if (attempt.outcome == AttemptOutcome::kDone) {
        result->snapshot_ids.push_back(attempt.snapshot_id);
        return arrow::Status::OK();
      }
      const int64_t waited = table_->env.clock->NowMillis() - start;
      if (retry >= retry_.retries_max || (retry_.timeout_ms && waited > *retry_.timeout_ms)) {
        return GiveUp(request, result, waited);
      }
      Backoff(retry);
    }
  }

  arrow::Status GiveUp(const SnapshotRequest& request, CommitResult* result, int64_t waited_ms) {
    // The last attempt may have been published all the same: look once more before saying that it
    // was not.
    ARROW_ASSIGN_OR_RAISE(auto latest, Latest());
    if (latest && failed_publish_base_) {
      ARROW_ASSIGN_OR_RAISE(auto own, FindOwnSnapshot(request, *latest));
      if (own) {
        result->snapshot_ids.push_back(*own);
        return arrow::Status::OK();
      }
    }
    if (!last_publish_error_.ok()) {
      return CommitUnknown(
          "table {}: commit by user {} gave up after {} attempts in {} ms and the outcome of the "
          "last one is unknown: {}. "
          "Its files are kept; look for the user in the table's snapshots before writing the rows "
          "again",
          table_->name, options_.commit_user, result->attempts, waited_ms,
          last_publish_error_.message());
    }
    return Conflict(
        "table {}: commit gave up after {} attempts in {} ms because others kept committing first. "
        "Run the statement again, "
        "or raise commit.max-retries (now {}) or commit.timeout",
        table_->name, result->attempts, waited_ms, retry_.retries_max);
  }

  void Backoff(int64_t retry) {
    int64_t wait = retry_.wait_ms_max;
    if (retry < 30) wait = std::min(retry_.wait_ms_max, retry_.wait_ms_min << retry);
    const int64_t jitter_max = std::max<int64_t>(1, wait / 5);
    wait += static_cast<int64_t>(table_->env.random->Next() % static_cast<uint64_t>(jitter_max));
    table_->env.clock->Sleep(std::chrono::milliseconds(wait));
  }

  arrow::Status SyncPoint(std::string_view step) {
    return options_.sync_point ? options_.sync_point(step) : arrow::Status::OK();
  }

  arrow::Result<std::optional<Snapshot>> Latest() {
    auto latest = table_->snapshots->Latest();
    if (!latest.ok() && failed_publish_base_) {
      // Nothing can be said about an attempt that may have been published.
      return CommitUnknown("table {}: outcome of the commit by user {} is unknown: {}",
                           table_->name, options_.commit_user, latest.status().message());
    }
    return latest;
  }

  /// Was one of our attempts published after all (spec 03 §3.5 step 1, §3.12)?
  arrow::Result<std::optional<int64_t>> FindOwnSnapshot(const SnapshotRequest& request,
                                                        const Snapshot& latest) {
    for (int64_t id = *failed_publish_base_ + 1; id <= latest.id; ++id) {
      auto snapshot = table_->snapshots->Read(id);
      if (!snapshot.ok()) {
        return CommitUnknown(
            "table {}: outcome of the commit by user {} is unknown: snapshot {} cannot be read "
            "({})",
            table_->name, options_.commit_user, id, snapshot.status().message());
      }
      if (own_delta_lists_.contains(snapshot->delta_manifest_list) ||
          (snapshot->commit_user == options_.commit_user &&
           snapshot->commit_identifier == request.identifier &&
           snapshot->commit_kind == request.kind)) {
        return id;
      }
    }
    return std::nullopt;
  }

  /// One attempt (spec 03 §3.5); the order of the steps matters: base list before delta, schema id
  /// last, publish last.
  arrow::Result<AttemptResult> Attempt(const SnapshotRequest& request) {
    ARROW_ASSIGN_OR_RAISE(auto latest, Latest());
    if (failed_publish_base_ && latest) {
      ARROW_ASSIGN_OR_RAISE(auto own, FindOwnSnapshot(request, *latest));
      if (own) return AttemptResult{AttemptOutcome::kDone, *own};
    }
    // Before anything of this attempt exists it can still be cancelled; an earlier one with unknown
    // outcome can not.
    if (last_publish_error_.ok()) ARROW_RETURN_NOT_OK(options_.token.Check());
    auto prepared = Prepare(request, latest);
    if (!prepared.ok()) return Ambiguous(prepared.status());
    return Publish(*prepared, latest);
  }

  /// An error of a later attempt must not hide that an earlier one may have been published.
  arrow::Status Ambiguous(const arrow::Status& error) {
    if (last_publish_error_.ok()) return error;
    return CommitUnknown(
        "table {}: outcome of the commit by user {} is unknown ({}); trying again failed: {}",
        table_->name, options_.commit_user, last_publish_error_.message(), error.message());
  }

  struct Prepared {
    Snapshot snapshot;
    std::vector<std::string> created_paths;
  };

  arrow::Result<Prepared> Prepare(const SnapshotRequest& request,
                                  const std::optional<Snapshot>& latest) {
    ARROW_ASSIGN_OR_RAISE(auto changes, request.changes(latest));
    ARROW_RETURN_NOT_OK(CheckAgainstLatest(request, latest, changes.index, &changes.entries));
    ManifestWriter writer(table_->env.io, table_->paths, table_->PartitionFields(), &names_,
                          writer_options_);
    auto snapshot = WriteMetadata(request, latest, std::move(changes), &writer);
    if (!snapshot.ok()) {
      RemoveFiles(writer.created_paths());
      return snapshot.status();
    }
    return Prepared{std::move(*snapshot), writer.created_paths()};
  }

  arrow::Status CheckAgainstLatest(const SnapshotRequest& request,
                                   const std::optional<Snapshot>& latest,
                                   const std::vector<IndexManifestEntry>& index,
                                   std::vector<ManifestEntry>* delta) {
    const bool discard = discard_duplicates_ && request.kind == CommitKind::kAppend;
    if (!request.detect_conflicts && !discard) return arrow::Status::OK();
    std::vector<ManifestEntry> base;
    std::vector<IndexManifestEntry> base_index;
    if (latest) {
      std::unordered_set<std::string> partitions;
      for (const ManifestEntry& entry : *delta) partitions.insert(entry.partition);
      for (const IndexManifestEntry& entry : index) partitions.insert(entry.partition);
      if (deletion_vectors_) {
        ARROW_ASSIGN_OR_RAISE(base_index, IndexEntries(*latest));
        std::erase_if(base_index, [&](const IndexManifestEntry& entry) {
          return !partitions.contains(entry.partition);
        });
      }
      ARROW_ASSIGN_OR_RAISE(
          base, ReadLiveEntries(
                    *table_, *latest,
                    [&](std::string_view p) { return partitions.contains(std::string(p)); },
                    options_.token));
    }
    if (discard) {
      std::unordered_set<std::string> live;
      for (const ManifestEntry& entry : base) live.insert(entry.Identity());
      std::erase_if(*delta,
                    [&](const ManifestEntry& entry) { return live.contains(entry.Identity()); });
    }
    if (!request.detect_conflicts) return arrow::Status::OK();
    ConflictCheck check;
    check.table_name = table_->name;
    check.overwrite = request.kind == CommitKind::kOverwrite;
    check.vectors_by_file = deletion_vectors_ && total_buckets_ == -1;
    check.row_id_ranges = data_evolution_ && (request.kind == CommitKind::kCompact ||
                                              request.row_id_check_from.has_value());
    ARROW_RETURN_NOT_OK(CheckConflicts(check, base, base_index, *delta, index));
    if (!request.row_id_check_from || !latest) return arrow::Status::OK();
    return CheckRowsUnchanged(*request.row_id_check_from, *latest, *delta);
  }

  /// C7: nobody changed rows of the files in `delta` that name their first row id since snapshot
  /// `from`.
  arrow::Status CheckRowsUnchanged(int64_t from, const Snapshot& latest,
                                   const std::vector<ManifestEntry>& delta) const {
    std::vector<const ManifestEntry*> completed;
    for (const ManifestEntry& entry : delta) {
      if (entry.kind == EntryKind::kAdd && entry.file.first_row_id) completed.push_back(&entry);
    }
    if (completed.empty()) return arrow::Status::OK();
    ARROW_ASSIGN_OR_RAISE(const Snapshot base, table_->snapshots->Read(from));
    if (!base.next_row_id) {
      return Invalid("table {}: snapshot {} has no row ids to check against", table_->name, from);
    }
    const ManifestReader reader = table_->manifests();
    for (int64_t id = from + 1; id <= latest.id; ++id) {
      ARROW_ASSIGN_OR_RAISE(const Snapshot snapshot, table_->snapshots->Read(id));
      if (snapshot.commit_kind == CommitKind::kCompact) continue;
      ARROW_ASSIGN_OR_RAISE(
          const auto manifests,
          reader.ReadList(snapshot.delta_manifest_list, snapshot.delta_manifest_list_size));
      for (const ManifestFileMeta& manifest : manifests) {
        ManifestReader::EntryOptions options;
        options.value_stats = false;
        ARROW_RETURN_NOT_OK(
            reader.ReadEntries(manifest, options, [&](ManifestEntry&& entry) -> arrow::Status {
              const DataFileMeta& file = entry.file;
              if (!file.first_row_id || *file.first_row_id >= *base.next_row_id)
                return arrow::Status::OK();
              for (const ManifestEntry* own : completed) {
                const int64_t begin = *own->file.first_row_id;
                const bool meets = *file.first_row_id < begin + own->file.row_count &&
                                   begin < *file.first_row_id + file.row_count;
                if (!meets || own->partition != entry.partition) continue;
                return Conflict(
                    "table {}: commit conflicts with what others committed: snapshot {} changed "
                    "rows of '{}', which this commit completes. Run the statement again",
                    table_->name, id, own->file.file_name);
              }
              return arrow::Status::OK();
            }));
      }
    }
    return arrow::Status::OK();
  }

  arrow::Result<Snapshot> WriteMetadata(const SnapshotRequest& request,
                                        const std::optional<Snapshot>& latest,
                                        SnapshotRequest::Changes changes, ManifestWriter* writer) {
    std::vector<ManifestEntry>& delta = changes.entries;
    Snapshot s;
    s.id = latest ? latest->id + 1 : 1;
    s.commit_user = options_.commit_user;
    s.commit_identifier = request.identifier;
    s.commit_kind = request.kind;
    s.properties = request.properties;
    s.delta_record_count = DeltaRecordCount(delta);
    s.total_record_count = (latest ? latest->total_record_count : 0) + s.delta_record_count;
    s.watermark = request.watermark;
    if (latest && latest->watermark) {
      s.watermark = s.watermark ? std::max(*s.watermark, *latest->watermark) : *latest->watermark;
    }
    if (latest) s.index_manifest = latest->index_manifest;
    s.next_row_id = latest ? latest->next_row_id.value_or(0) : 0;

    std::vector<ManifestFileMeta> base_manifests;
    if (latest) {
      ManifestReader reader = table_->manifests();
      ARROW_ASSIGN_OR_RAISE(base_manifests, reader.ReadList(latest->base_manifest_list,
                                                            latest->base_manifest_list_size));
      ARROW_ASSIGN_OR_RAISE(auto last_delta, reader.ReadList(latest->delta_manifest_list,
                                                             latest->delta_manifest_list_size));
      base_manifests.insert(base_manifests.end(), last_delta.begin(), last_delta.end());
      ARROW_ASSIGN_OR_RAISE(base_manifests, MergeManifests(*table_, std::move(base_manifests),
                                                           merge_, writer, options_.token));
    }
    ARROW_ASSIGN_OR_RAISE(auto base_list, writer->WriteList(base_manifests));
    s.base_manifest_list = base_list.name;
    s.base_manifest_list_size = base_list.size;
    ARROW_RETURN_NOT_OK(SyncPoint("base-list"));

    if (row_tracking_) {
      ARROW_ASSIGN_OR_RAISE(s.next_row_id,
                            AssignRowIds(table_->name, s.id, s.next_row_id.value_or(0), &delta));
    }
    for (ManifestEntry& entry : delta) ARROW_RETURN_NOT_OK(writer->Add(std::move(entry)));
    ARROW_ASSIGN_OR_RAISE(auto delta_manifests, writer->FinishEntries());
    ARROW_RETURN_NOT_OK(SyncPoint("delta-manifests"));
    ARROW_ASSIGN_OR_RAISE(auto delta_list, writer->WriteList(delta_manifests));
    s.delta_manifest_list = delta_list.name;
    s.delta_manifest_list_size = delta_list.size;
    ARROW_RETURN_NOT_OK(SyncPoint("delta-list"));

    if (!changes.index.empty()) {
      std::vector<IndexManifestEntry> previous;
      if (latest) {
        ARROW_ASSIGN_OR_RAISE(previous, IndexEntries(*latest));
      }
      ARROW_ASSIGN_OR_RAISE(auto index, CombineIndexEntries(table_->name, total_buckets_ > 0,
                                                            std::move(previous), changes.index));
      s.index_manifest.reset();
      if (!index.empty()) {
        ARROW_ASSIGN_OR_RAISE(auto file, writer->WriteIndexManifest(index));
        s.index_manifest = file.name;
      }
      ARROW_RETURN_NOT_OK(SyncPoint("index-manifest"));
    }

    ARROW_ASSIGN_OR_RAISE(auto schema_id, table_->schemas->LatestId());
    if (!schema_id)
      return NotFound("table {}: it was dropped while the commit was under way", table_->name);
    s.schema_id = *schema_id;
    s.statistics = request.statistics;
    if (!s.statistics && latest) s.statistics = InheritedStatistics(*latest, s.schema_id);
    s.time_millis = table_->env.clock->NowMillis();
    return s;
  }

  /// Statistics stay valid while they are of the same schema (spec 01 §3). They only help the
  /// optimizer, so unreadable ones are dropped.
  std::optional<std::string> InheritedStatistics(const Snapshot& latest, int64_t schema_id) const {
    if (!latest.statistics) return std::nullopt;
    auto text = table_->env.io->ReadAll(
        JoinPath(table_->paths.root() + "/statistics", *latest.statistics), 64 << 20);
    if (!text.ok()) return std::nullopt;
    auto json = nlohmann::json::parse(*text, nullptr, false);
    if (!json.is_object() || !json.contains("schemaId") || json["schemaId"] != schema_id)
      return std::nullopt;
    return latest.statistics;
  }

  /// Id reuse guard (spec 03 §3.11): a committer that slept until its base and the next id were
  /// created and expired by others must not bring an old id back.
  arrow::Result<bool> BaseStillThere(const std::optional<Snapshot>& latest) const {
    if (latest) return table_->env.io->Exists(table_->paths.SnapshotFile(latest->id));
    ARROW_ASSIGN_OR_RAISE(auto ids, table_->snapshots->ListIds());
    return ids.empty();
  }

  arrow::Result<AttemptResult> Publish(const Prepared& prepared,
                                       const std::optional<Snapshot>& latest) {
    auto ready = SyncPoint("snapshot");
    if (ready.ok() && last_publish_error_.ok()) ready = options_.token.Check();
    bool base_there = true;
    if (ready.ok()) {
      auto there = BaseStillThere(latest);
      ready = there.status();
      if (there.ok()) base_there = *there;
    }
    if (!ready.ok()) {
      RemoveFiles(prepared.created_paths);
      return Ambiguous(ready);
    }
    if (!base_there) {
      RemoveFiles(prepared.created_paths);
      return AttemptResult{AttemptOutcome::kRetry, 0};
    }

    own_delta_lists_.insert(prepared.snapshot.delta_manifest_list);
    const int64_t base_id = latest ? latest->id : 0;
    if (!failed_publish_base_) failed_publish_base_ = base_id;
    PublishResult published = options_.publisher->Publish(prepared.snapshot);
    // From here on nothing that the snapshot refers to may be deleted unless it is proven not to be
    // ours.
    if (published.outcome != PublishOutcome::kDone) {
      auto present = table_->snapshots->Read(prepared.snapshot.id);
      if (present.ok() && present->delta_manifest_list == prepared.snapshot.delta_manifest_list) {
        published.outcome = PublishOutcome::kDone;
      } else if (present.ok()) {
        published.outcome = PublishOutcome::kLost;
        RemoveFiles(prepared.created_paths);
      }
    }
    switch (published.outcome) {
      case PublishOutcome::kDone:
        break;
      case PublishOutcome::kLost:
        return AttemptResult{AttemptOutcome::kRetry, 0};
      case PublishOutcome::kUnknown:
        if (published.not_published) {
          RemoveFiles(prepared.created_paths);
          return Ambiguous(published.error);
        }
        last_publish_error_ =
            published.error.ok() ? arrow::Status::IOError("no answer") : published.error;
        return AttemptResult{AttemptOutcome::kRetry, 0};
    }
    if (auto hint = table_->snapshots->WriteLatestHint(prepared.snapshot.id); !hint.ok()) {
      KELDA_LOG(Warn, "table {}: the LATEST hint was not written: {}", table_->name,
                hint.message());
    }
    IgnoreError(SyncPoint("published"), "the snapshot is visible; what follows cannot undo it");
    return AttemptResult{AttemptOutcome::kDone, prepared.snapshot.id};
  }

  void RemoveFiles(const std::vector<std::string>& paths) const {
    for (const std::string& path : paths) {
      if (auto status = table_->env.io->DeleteFile(path); !status.ok()) {
        KELDA_LOG(Warn, "'{}' of a commit that was not published stays behind: {}", path,
                  status.message());
      }
    }
  }

  /// Partitions that an overwrite replaces; null = nothing to do. True for unpartitioned tables.
  arrow::Result<PredicatePtr> OverwriteScope(const OverwriteSpec& spec,
                                             const std::vector<ManifestEntry>& added) const {
    const auto fields = table_->PartitionFields();
    const auto types = table_->PartitionTypes();
    if (table_->partitioned() && spec.dynamic) {
      std::set<std::string> partitions;
      for (const ManifestEntry& entry : added) partitions.insert(entry.partition);
      if (partitions.empty()) return PredicatePtr();
      std::vector<PredicatePtr> any;
      for (const std::string& partition : partitions) {
        ARROW_ASSIGN_OR_RAISE(auto values, DecodePartition(types, partition, table_->name));
        std::vector<PredicatePtr> all;
        for (size_t i = 0; i < values.size(); ++i) all.push_back(Equals(fields[i].name, values[i]));
        any.push_back(And(std::move(all)));
      }
      return Or(std::move(any));
    }
    std::vector<PredicatePtr> all;
    for (const auto& [key, text] : spec.static_partition) {
      const auto field = std::find_if(fields.begin(), fields.end(),
                                      [&](const DataField& f) { return f.name == key; });
      if (field == fields.end()) {
        return Invalid("table {}: '{}' is not a partition column; they are: {}", table_->name, key,
                       fmt::join(table_->schema->partition_keys, ", "));
      }
      std::shared_ptr<arrow::Scalar> value;
      if (text && *text != table_->partition_path_options.default_name) {
        ARROW_ASSIGN_OR_RAISE(value, CastFromText(field->type, *text));
      }
      all.push_back(Equals(key, value));
    }
    PredicatePtr scope = And(std::move(all));
    if (!spec.static_partition.empty()) {
      PartitionFilter filter(*table_, scope);
      for (const ManifestEntry& entry : added) {
        ARROW_ASSIGN_OR_RAISE(bool inside, filter.Accepts(entry.partition));
        if (!inside) {
          return Invalid("table {}: overwrite of a partition got rows of another one (file '{}')",
                         table_->name, entry.file.file_name);
        }
      }
    }
    return scope;
  }

  static PredicatePtr Equals(const std::string& column,
                             const std::shared_ptr<arrow::Scalar>& value) {
    if (value == nullptr || !value->is_valid) return Leaf(PredicateOp::kIsNull, {column}, {});
    return Leaf(PredicateOp::kEq, {column}, {value});
  }

  /// Identifier of the newest snapshot of our user (spec 03 §3.17).
  arrow::Result<std::optional<int64_t>> NewestIdentifierOfUser() {
    ARROW_ASSIGN_OR_RAISE(auto latest, table_->snapshots->LatestId());
    for (int64_t id = latest.value_or(0); id > 0; --id) {
      auto snapshot = table_->snapshots->Read(id);
      if (!snapshot.ok()) {
        if (IsNotFound(snapshot.status())) return std::nullopt;
        return snapshot.status();
      }
      if (snapshot->commit_user == options_.commit_user) return snapshot->commit_identifier;
    }
    return std::nullopt;
  }

  arrow::Status CheckFilesExist(const Committable& committable) const {
    const auto types = table_->PartitionTypes();
    const auto fields = table_->PartitionFields();
    for (const CommitMessage& message : committable.messages) {
      ARROW_ASSIGN_OR_RAISE(auto values, DecodePartition(types, message.partition, table_->name));
      ARROW_ASSIGN_OR_RAISE(auto partition,
                            PartitionPath(fields, values, table_->partition_path_options));
      const std::string dir = table_->paths.BucketDir(partition, message.bucket);
      for (const auto* files : {&message.new_files, &message.compact_after}) {
        for (const DataFileMeta& file : *files) {
          const std::string path =
              file.external_path ? *file.external_path : JoinPath(dir, file.file_name);
          ARROW_ASSIGN_OR_RAISE(bool exists, table_->env.io->Exists(path));
          if (!exists) {
            return NotFound("table {}: cannot recover the commit: its data file '{}' is gone",
                            table_->name, path);
          }
        }
      }
    }
    return arrow::Status::OK();
  }

  TableContextPtr table_;
  CommitterOptions options_;
  MetadataFileNames names_;
  RetryOptions retry_;
  ManifestMergeOptions merge_;
  ManifestWriterOptions writer_options_;
  bool ignore_empty_ = true;
  bool discard_duplicates_ = false;
  int32_t total_buckets_ = -1;
  bool deletion_vectors_ = false;
  bool row_tracking_ = false;
  bool data_evolution_ = false;

  // State of the TryCommit under way.
  std::optional<int64_t>
      failed_publish_base_;                ///< base id of the first attempt that reached publish
  arrow::Status last_publish_error_;       ///< set while the outcome of some attempt is unknown
  std::set<std::string> own_delta_lists_;  ///< of every attempt that reached publish
};

}  // namespace

arrow::Result<std::unique_ptr<Committer>> Committer::Make(TableContextPtr table,
                                                          CommitterOptions options) {
  ARROW_RETURN_NOT_OK(table->CheckWritable());
  auto committer = std::make_unique<FileStoreCommitter>(std::move(table), std::move(options));
  ARROW_RETURN_NOT_OK(committer->Init());
  return committer;
}

}  // namespace kelda
