#include "kelda/maintain/compact/sort_table.h"

#include <algorithm>
#include <mutex>
#include <set>

#include "kelda/index/deletion_vector_rewrite.h"
#include "kelda/maintain/compact/external_sort.h"
#include "kelda/read/file_read.h"
#include "kelda/scan/plan.h"
#include "kelda/write/append_writer.h"
#include "kelda/write/file_rewriter.h"

namespace kelda {

namespace {

constexpr int64_t kRunBytesMin = 1 << 20;
constexpr int64_t kRunBytesMax = 256 << 20;
/// Rows that ranks are taken from, and files that they come from.
constexpr int64_t kSampleRows = 128 * 1024;
constexpr int64_t kSampleFiles = 128;

class SortJob {
 public:
  SortJob(TableContextPtr table, const SortRequest& request, Snapshot snapshot)
      : table_(std::move(table)), request_(request), snapshot_(std::move(snapshot)) {}

  arrow::Result<CompactResult> Run() {
    ARROW_RETURN_NOT_OK(FindFiles());
    if (partitions_.empty()) return CompactResult{};
    ARROW_ASSIGN_OR_RAISE(settings_, CompactionFileSettings(*table_));
    ARROW_ASSIGN_OR_RAISE(vectors_, DeletionVectorEntries(*table_, snapshot_));
    ARROW_RETURN_NOT_OK(FindColumns());
    ARROW_RETURN_NOT_OK(TakeMemory());
    Report(
        [&](CompactProgress* p) { p->tasks_planned = static_cast<int64_t>(partitions_.size()); });
    std::vector<CommitMessage> messages(partitions_.size());
    auto sorted = SortPartitions(&messages);
    reservation_.Release();
    if (!sorted.ok()) {
      DeleteFiles(*table_, messages);
      return sorted;
    }
    return Commit(std::move(messages));
  }

 private:
  arrow::Status FindFiles() {
    ScanRequest scan;
    scan.snapshot = snapshot_;
    scan.predicate = request_.partitions;
    scan.keep_value_stats = true;
    scan.token = request_.token;
    ARROW_ASSIGN_OR_RAISE(auto plan, PlanScan(*table_, scan));
    std::map<std::string, size_t> index;
    for (Split& split : plan.splits) {
      split.deletion_files.resize(split.files.size());
      auto [it, is_new] = index.emplace(split.partition, partitions_.size());
      if (is_new) {
        partitions_.push_back(std::move(split));
        continue;
      }
      Split& all = partitions_[it->second];
      std::move(split.files.begin(), split.files.end(), std::back_inserter(all.files));
      std::move(split.deletion_files.begin(), split.deletion_files.end(),
                std::back_inserter(all.deletion_files));
    }
    return arrow::Status::OK();
  }

  arrow::Status FindColumns() {
    std::vector<DataField> fields;
    for (const std::string& name : request_.columns) {
      const int column = table_->schema->FieldIndex(name);
      if (column < 0) return Invalid("table {}: there is no column '{}'", table_->name, name);
      sort_columns_.push_back(column);
      fields.push_back(table_->fields()[column]);
    }
    std::vector<arrow::ArrayVector> sample;
    if (request_.order != SortOrder::kLexicographic) {
      ARROW_ASSIGN_OR_RAISE(sample, Sample(fields));
    }
    ARROW_ASSIGN_OR_RAISE(auto encoder,
                          SortKeyEncoder::Make(request_.order, std::move(fields), sample));
    encoder_.emplace(std::move(encoder));
    return arrow::Status::OK();
  }

  /// Sort columns of some rows, taken evenly out of evenly chosen files.
  arrow::Result<std::vector<arrow::ArrayVector>> Sample(const std::vector<DataField>& fields) {
    std::vector<std::pair<const Split*, const DataFileMeta*>> files;
    int64_t rows = 0;
    for (const Split& split : partitions_) {
      for (const DataFileMeta& file : split.files) {
        files.emplace_back(&split, &file);
        rows += file.row_count;
      }
    }
    const auto count = static_cast<int64_t>(files.size());
    const int64_t chosen = std::min(count, kSampleFiles);
    const int64_t every = std::max<int64_t>(1, rows / kSampleRows * chosen / count);
    std::vector<std::vector<arrow::ArrayVector>> parts(static_cast<size_t>(chosen));
    ARROW_RETURN_NOT_OK(
        ParallelFor(*table_->env.executor, chosen, request_.token, [&](int64_t i) -> arrow::Status {
          const auto& [split, file] = files[static_cast<size_t>(i * count / chosen)];
          TableReadOptions read;
          read.columns = fields;
          read.token = request_.token;
          ARROW_ASSIGN_OR_RAISE(auto reader, OpenDataFile(*table_, *split, *file, read));
          int64_t skip = 0;
          while (true) {
            ARROW_ASSIGN_OR_RAISE(auto batch, reader->Next());
            if (batch == nullptr) return arrow::Status::OK();
            std::vector<int32_t> picked;
            int64_t row = skip;
            for (; row < batch->num_rows(); row += every)
              picked.push_back(static_cast<int32_t>(row));
            skip = row - batch->num_rows();
            if (picked.empty()) continue;
            auto indices = std::make_shared<arrow::Int32Array>(static_cast<int64_t>(picked.size()),
                                                               arrow::Buffer::Wrap(picked));
            ARROW_ASSIGN_OR_RAISE(auto taken, arrow::compute::Take(batch, indices));
            parts[static_cast<size_t>(i)].push_back(taken.record_batch()->columns());
          }
        }));
    std::vector<arrow::ArrayVector> sample;
    for (auto& part : parts) {
      sample.insert(sample.end(), std::make_move_iterator(part.begin()),
                    std::make_move_iterator(part.end()));
    }
    return sample;
  }

  /// Memory for the runs of all threads, as much as there is.
  arrow::Status TakeMemory() {
    threads_ = table_->env.executor->parallelism() + 1;
    ARROW_ASSIGN_OR_RAISE(reservation_,
                          table_->env.budget->TryReserve(0, "sorting " + table_->name));
    for (run_bytes_ = kRunBytesMax;; run_bytes_ /= 2) {
      // Half of what is free is left to readers and file writers.
      const int64_t wanted = (2 * threads_ + 1) * run_bytes_;
      const int64_t free = table_->env.budget->limit() - table_->env.budget->used();
      if (wanted > free / 2 && run_bytes_ > kRunBytesMin) continue;
      auto reserved = reservation_.Resize(wanted);
      if (reserved.ok()) return reserved;
      if (run_bytes_ <= kRunBytesMin) return reserved;
    }
  }

  arrow::Status SortPartitions(std::vector<CommitMessage>* messages) {
    // One partition per thread, or all threads in one partition: never more runs in memory than
    // threads.
    const auto count = static_cast<int64_t>(partitions_.size());
    const bool by_partition = count >= 2 * threads_;
    auto inline_executor = Executor::MakeInline();
    Executor& outer = by_partition ? *table_->env.executor : *inline_executor;
    Executor& inner = by_partition ? *inline_executor : *table_->env.executor;
    return ParallelFor(outer, count, request_.token, [&](int64_t i) {
      return SortPartition(partitions_[i], inner, &(*messages)[i]);
    });
  }

  arrow::Status SortPartition(const Split& split, Executor& executor, CommitMessage* message) {
    ExternalSortOptions options;
    options.run_bytes = run_bytes_;
    ARROW_ASSIGN_OR_RAISE(options.fan_in_max,
                          table_->options.Get(OptionKeys::kLocalSortMaxNumFileHandles));
    options.temporary_path = [this] { return TemporaryPath(); };
    options.token = request_.token;
    ExternalSorter sorter(std::move(options));
    ARROW_RETURN_NOT_OK(ParallelFor(
        executor, static_cast<int64_t>(split.files.size()), request_.token,
        [&](int64_t i) { return ReadFile(split, split.files[static_cast<size_t>(i)], &sorter); }));
    RollingFileWriter writer(table_, settings_, split.bucket_dir);
    ARROW_ASSIGN_OR_RAISE(auto reservation, table_->env.budget->TryReserve(
                                                0, "writing sorted files of " + table_->name));
    ARROW_RETURN_NOT_OK(sorter.Finish([&](std::shared_ptr<arrow::RecordBatch> rows) {
      ARROW_RETURN_NOT_OK(request_.token.Check());
      ARROW_RETURN_NOT_OK(writer.Write(*rows));
      if (reservation.Resize(writer.BufferedBytes()).ok()) return arrow::Status::OK();
      ARROW_RETURN_NOT_OK(writer.FlushRowGroup());
      return reservation.Resize(writer.BufferedBytes());
    }));
    message->partition = split.partition;
    message->bucket = split.bucket;
    ARROW_ASSIGN_OR_RAISE(message->new_files, writer.Finish());
    message->deleted_files = split.files;
    ARROW_RETURN_NOT_OK(DropVectors(split, message));
    Report([](CompactProgress* p) { ++p->tasks_done; });
    return arrow::Status::OK();
  }

  arrow::Status ReadFile(const Split& split, const DataFileMeta& file, ExternalSorter* sorter) {
    TableReadOptions read;
    read.columns = settings_->fields;
    read.token = request_.token;
    ARROW_ASSIGN_OR_RAISE(auto reader, OpenDataFile(*table_, split, file, read));
    while (true) {
      ARROW_ASSIGN_OR_RAISE(auto batch, reader->Next());
      if (batch == nullptr) return arrow::Status::OK();
      if (batch->num_rows() == 0) continue;
      arrow::ArrayVector columns;
      for (int column : sort_columns_) columns.push_back(batch->column(column));
      ARROW_ASSIGN_OR_RAISE(auto keys, encoder_->Encode(columns, batch->num_rows()));
      const int64_t rows = batch->num_rows();
      ARROW_RETURN_NOT_OK(sorter->Add(std::move(batch), std::move(keys)));
      Report([&](CompactProgress* p) { p->rows += rows; });
    }
  }

  arrow::Status DropVectors(const Split& split, CommitMessage* message) {
    auto entries = vectors_.find(BucketKey{split.partition, split.bucket});
    if (entries == vectors_.end()) return arrow::Status::OK();
    std::map<std::string, DeletionVectorPtr> dropped;
    for (const DataFileMeta& file : split.files) dropped.emplace(file.file_name, nullptr);
    ARROW_ASSIGN_OR_RAISE(
        auto rewrite,
        RewriteDeletionVectors(*table_, split.partition, split.bucket, entries->second, dropped));
    message->deleted_index_files = std::move(rewrite.deleted);
    message->new_index_files = std::move(rewrite.added);
    return arrow::Status::OK();
  }

  arrow::Result<std::string> TemporaryPath() {
    std::lock_guard lock(temporary_mutex_);
    if (temporary_ == nullptr) {
      ARROW_ASSIGN_OR_RAISE(temporary_,
                            TemporaryFolder::Make(request_.temporary_folder,
                                                  "kelda-sort-" + table_->env.random->Uuid()));
    }
    return temporary_->path();
  }

  arrow::Result<CompactResult> Commit(std::vector<CommitMessage> messages) {
    CompactResult result;
    Committable committable;
    for (CommitMessage& message : messages) {
      result.files_before += static_cast<int64_t>(message.deleted_files.size());
      result.files_after += static_cast<int64_t>(message.new_files.size());
    }
    result.tasks = static_cast<int64_t>(messages.size());
    committable.messages = std::move(messages);
    auto commit = [&]() -> arrow::Result<CommitResult> {
      CommitterOptions options = request_.commit;
      options.token = request_.token;
      ARROW_ASSIGN_OR_RAISE(auto committer, Committer::Make(table_, options));
      return committer->Commit(committable);
    };
    auto committed = commit();
    if (!committed.ok()) {
      if (CodeOf(committed.status()) != ErrorCode::kCommitUnknown)
        DeleteFiles(*table_, committable.messages);
      return committed.status();
    }
    result.snapshot_ids = std::move(committed->snapshot_ids);
    return result;
  }

  void Report(const std::function<void(CompactProgress*)>& change) {
    if (!request_.on_progress) return;
    std::lock_guard lock(progress_mutex_);
    change(&progress_);
    request_.on_progress(progress_);
  }

  TableContextPtr table_;
  const SortRequest& request_;
  Snapshot snapshot_;
  std::vector<Split> partitions_;  ///< each with all files of a partition
  std::map<BucketKey, std::vector<IndexManifestEntry>> vectors_;
  std::shared_ptr<const DataFileSettings> settings_;
  std::vector<int> sort_columns_;  ///< in settings_->fields
  std::optional<SortKeyEncoder> encoder_;
  int64_t threads_ = 1;
  int64_t run_bytes_ = 0;
  MemoryReservation reservation_;

  std::mutex temporary_mutex_;
  std::unique_ptr<TemporaryFolder> temporary_;  ///< null until rows do not fit
  std::mutex progress_mutex_;
  CompactProgress progress_;
};

arrow::Status CheckSortable(const TableContext& table, const SortRequest& request) {
  ARROW_RETURN_NOT_OK(table.CheckWritable());
  if (!table.schema->primary_keys.empty())
    return Unsupported("table {}: sorting tables with a primary key", table.name);
  const Options& o = table.options;
  ARROW_ASSIGN_OR_RAISE(int32_t buckets, o.Get(OptionKeys::kBucket));
  if (buckets != -1)
    return Invalid("table {}: only tables without buckets can be sorted", table.name);
  ARROW_ASSIGN_OR_RAISE(bool data_evolution, o.Get(OptionKeys::kDataEvolutionEnabled));
  if (data_evolution)
    return Invalid("table {}: tables with 'data-evolution.enabled' cannot be sorted", table.name);
  ARROW_ASSIGN_OR_RAISE(bool clustering, o.Get(OptionKeys::kClusteringIncremental));
  if (clustering) {
    return Invalid("table {}: with 'clustering.incremental' rows are sorted by its own compaction",
                   table.name);
  }
  std::set<std::string> seen;
  const auto& keys = table.schema->partition_keys;
  for (const std::string& column : request.columns) {
    if (std::find(keys.begin(), keys.end(), column) != keys.end()) {
      return Invalid("table {}: '{}' is a partition column, rows cannot be sorted by it",
                     table.name, column);
    }
    if (!seen.insert(column).second)
      return Invalid("table {}: column '{}' is named twice", table.name, column);
  }
  return arrow::Status::OK();
}

}  // namespace

arrow::Result<CompactResult> SortTable(const TableContextPtr& table, const SortRequest& request) {
  ARROW_RETURN_NOT_OK(CheckSortable(*table, request));
  ARROW_ASSIGN_OR_RAISE(auto latest, table->snapshots->Latest());
  if (!latest) return CompactResult{};
  ARROW_RETURN_NOT_OK(InitializeComputeKernels());
  return SortJob(table, request, std::move(*latest)).Run();
}

}  // namespace kelda
