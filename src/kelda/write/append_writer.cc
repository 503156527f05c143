#include "kelda/write/append_writer.h"

#include <algorithm>
#include <atomic>
#include <condition_variable>
#include <mutex>
#include <unordered_map>

#include <arrow/array/concatenate.h>
#include <arrow/compute/api.h>
#include <arrow/util/byte_size.h>

#include "kelda/base/log.h"
#include "kelda/index/deletion_vector_file.h"
#include "kelda/row/binary_row.h"
#include "kelda/types/arrow_mapping.h"
#include "kelda/types/predicate.h"
#include "kelda/write/bucket_compaction.h"
#include "kelda/write/bucket_restore.h"
#include "kelda/write/file_rewriter.h"
#include "kelda/write/partition_router.h"
#include "kelda/write/rolling_file_writer.h"
#include "kelda/write/value_check.h"

namespace kelda {

namespace {

/// Rows of a partition are collected until there are this many, so that the format writer gets
/// batches that pay.
constexpr int64_t kStagedRowsMax = 64 * 1024;
constexpr int64_t kStagedBytesMax = 16 << 20;
/// A further file of a partition is opened only when those open have at least this much each.
constexpr int64_t kLaneBytesMin = 8 << 20;
/// With more files than this open, a row group is closed after each write: what an open one holds
/// would add up.
constexpr int64_t kOpenRowGroupsMax = 32;
/// Bytes of bookkeeping per column of a staged batch: array, buffers, what allocators round up.
constexpr int64_t kStagedColumnOverheadBytes = 1024;
/// So many pieces of fewer rows than this are joined into one: with many partitions the pieces are
/// small, and what each costs besides its rows would be most of the memory.
constexpr size_t kSmallPiecesMax = 16;
constexpr int64_t kSmallPieceRows = 1024;

/// One file sequence of a partition. `busy` is guarded by the partition's mutex; the thread that
/// set it owns the writer.
struct Lane {
  std::unique_ptr<RollingFileWriter> writer;
  bool busy = false;
  std::atomic<int64_t> bytes_written{0};
  std::atomic<int64_t> buffered_bytes{0};
};

/// One (partition, bucket).
struct PartitionState {
  std::string partition;
  int32_t bucket = 0;
  std::string dir;
  RestoredBucket restored;  ///< of a fixed bucket
  std::mutex mutex;
  std::condition_variable lane_free;
  std::vector<std::shared_ptr<arrow::RecordBatch>> staged;
  size_t small_pieces = 0;  ///< at the end of `staged`
  int64_t staged_rows = 0;
  int64_t staged_bytes = 0;
  std::vector<std::unique_ptr<Lane>> lanes;
};

int64_t StagedSize(const arrow::RecordBatch& batch) {
  auto referenced = arrow::util::ReferencedBufferSize(batch);
  const int64_t data = referenced.ok() ? *referenced : arrow::util::TotalBufferSize(batch);
  return data + batch.num_columns() * kStagedColumnOverheadBytes;
}

class ParallelAppendWriter : public AppendWriter {
 public:
  ParallelAppendWriter(TableContextPtr table, AppendWriterOptions options, PartitionRouter router)
      : table_(std::move(table)), options_(std::move(options)), router_(std::move(router)) {}

  arrow::Status Init() {
    parallelism_ =
        options_.parallelism > 0 ? options_.parallelism : table_->env.executor->parallelism();
    ARROW_ASSIGN_OR_RAISE(settings_, DataFileSettings::Make(*table_));
    ARROW_ASSIGN_OR_RAISE(schema_, ToArrowSchema(table_->fields()));
    ARROW_RETURN_NOT_OK(InitBuckets());
    for (const DataField& field : table_->fields()) {
      std::shared_ptr<arrow::Scalar> value;
      if (field.default_value) {
        ARROW_RETURN_NOT_OK(InitializeComputeKernels());
        ARROW_ASSIGN_OR_RAISE(value, DefaultValue(field));
      }
      defaults_.push_back(std::move(value));
    }
    ARROW_ASSIGN_OR_RAISE(reservation_,
                          table_->env.budget->TryReserve(0, "writing " + table_->name));
    return arrow::Status::OK();
  }

  arrow::Status Write(std::shared_ptr<arrow::RecordBatch> batch) override {
    ARROW_RETURN_NOT_OK(options_.token.Check());
    if (batch->num_rows() == 0) return arrow::Status::OK();
    ARROW_ASSIGN_OR_RAISE(batch, CheckAndFill(std::move(batch)));
    ARROW_ASSIGN_OR_RAISE(auto routed, router_.Route(batch));
    rows_ += batch->num_rows();
    batch.reset();
    if (restore_ != nullptr) {
      std::vector<std::string> partitions;
      for (const RoutedBatch& part : routed) partitions.push_back(part.partition);
      ARROW_RETURN_NOT_OK(restore_->Load(partitions));
    }
    for (RoutedBatch& part : routed) {
      ARROW_ASSIGN_OR_RAISE(PartitionState * partition, Partition(part.partition, part.bucket));
      ARROW_RETURN_NOT_OK(Stage(partition, std::move(part.rows)));
    }
    return KeepWithinBudget();
  }

  arrow::Result<std::vector<CommitMessage>> PrepareCommit() override {
    std::vector<CommitMessage> messages(order_.size());
    // One partition at a time per thread: closing its files takes memory only while they are
    // closed.
    auto finished =
        ParallelFor(*table_->env.executor, static_cast<int64_t>(order_.size()), options_.token,
                    [&](int64_t i) { return FinishPartition(order_[i].get(), &messages[i]); });
    reservation_.Release();
    if (finished.ok() && compaction_) {
      finished =
          ParallelFor(*table_->env.executor, static_cast<int64_t>(order_.size()), options_.token,
                      [&](int64_t i) { return CompactBucket(order_[i].get(), &messages[i]); });
    }
    if (!finished.ok()) {
      DeleteFiles(*table_, messages);
      return finished;
    }
    return messages;
  }

  int64_t rows_written() const override { return rows_; }
  int64_t bytes_written() const override { return bytes_; }

 private:
  arrow::Status FinishPartition(PartitionState* partition, CommitMessage* message) {
    message->partition = partition->partition;
    message->bucket = partition->bucket;
    ARROW_RETURN_NOT_OK(WriteStaged(partition));
    std::vector<std::vector<DataFileMeta>> files(partition->lanes.size());
    auto finished = ParallelFor(
        *table_->env.executor, static_cast<int64_t>(files.size()), options_.token,
        [&](int64_t i) { return partition->lanes[i]->writer->Finish().Value(&files[i]); });
    // Also after an error: the caller deletes what the message names.
    for (auto& of_lane : files) {
      message->new_files.insert(message->new_files.end(), std::make_move_iterator(of_lane.begin()),
                                std::make_move_iterator(of_lane.end()));
    }
    return finished;
  }

  /// What a table with fixed buckets needs besides.
  arrow::Status InitBuckets() {
    ARROW_ASSIGN_OR_RAISE(int32_t bucket_count, table_->options.Get(OptionKeys::kBucket));
    if (bucket_count <= 0) return arrow::Status::OK();
    parallelism_ = 1;
    keeps_order_ = true;
    if (options_.overwrite) return arrow::Status::OK();
    ARROW_ASSIGN_OR_RAISE(bool write_only, table_->options.Get(OptionKeys::kWriteOnly));
    ARROW_ASSIGN_OR_RAISE(bool ordered, table_->options.Get(OptionKeys::kBucketAppendOrdered));
    // Without order and compaction nothing depends on the files that are there.
    if (write_only && !ordered) return arrow::Status::OK();
    // Files of such tables lie on levels, where only clustering may merge them.
    ARROW_ASSIGN_OR_RAISE(bool clustering, table_->options.Get(OptionKeys::kClusteringIncremental));
    write_only = write_only || clustering;
    if (!write_only) {
      ARROW_ASSIGN_OR_RAISE(compaction_, BucketCompactionRule::Make(*table_));
      ARROW_ASSIGN_OR_RAISE(compaction_settings_, CompactionFileSettings(*table_));
    }
    restore_ = std::make_unique<BucketRestore>(table_, bucket_count, !write_only, options_.token);
    return arrow::Status::OK();
  }

  /// Merge small neighbours, at most once per writer as in Java (spec 02 §3.2).
  arrow::Status CompactBucket(PartitionState* partition, CommitMessage* message) {
    std::vector<DataFileMeta> queue = std::move(partition->restored.files);
    queue.insert(queue.end(), message->new_files.begin(), message->new_files.end());
    auto picked = compaction_->PickAuto(&queue);
    if (picked.empty()) return arrow::Status::OK();
    ARROW_ASSIGN_OR_RAISE(Split split,
                          EmptySplit(*table_, partition->partition, partition->bucket));
    RewriteOptions rewrite;
    rewrite.token = options_.token;
    ARROW_ASSIGN_OR_RAISE(
        CommitMessage compacted,
        CompactFiles(table_, compaction_settings_, std::move(split), std::move(picked),
                     partition->restored.deletion_vectors, rewrite));
    message->compact_before = std::move(compacted.compact_before);
    message->compact_after = std::move(compacted.compact_after);
    message->compact_new_index_files = std::move(compacted.compact_new_index_files);
    message->compact_deleted_index_files = std::move(compacted.compact_deleted_index_files);
    return arrow::Status::OK();
  }

  arrow::Result<std::shared_ptr<arrow::Scalar>> DefaultValue(const DataField& field) const {
    std::string_view text = *field.default_value;
    if (text.size() >= 2 && text.front() == '\'' && text.back() == '\'')
      text = text.substr(1, text.size() - 2);
    auto value = CastFromText(field.type, text);
    if (!value.ok()) {
      return WithContext(value.status(),
                         fmt::format("table {}: default of column '{}'", table_->name, field.name));
    }
    return *value;
  }

  /// NOT NULL check, then defaults, in this order (spec 02 §1.2).
  arrow::Result<std::shared_ptr<arrow::RecordBatch>> CheckAndFill(
      std::shared_ptr<arrow::RecordBatch> batch) const {
    if (batch->num_columns() != schema_->num_fields()) {
      return Invalid("table {}: a batch of {} columns for a table of {}", table_->name,
                     batch->num_columns(), schema_->num_fields());
    }
    arrow::ArrayVector columns;
    for (int i = 0; i < batch->num_columns(); ++i) {
      std::shared_ptr<arrow::Array> column = batch->column(i);
      const DataField& field = table_->fields()[i];
      if (!column->type()->Equals(*schema_->field(i)->type(), /*check_metadata=*/false)) {
        // Names and nullability of children may differ; anything else is a caller's mistake.
        if (column->type()->id() != schema_->field(i)->type()->id()) {
          return Invalid("table {}: column '{}' of type {} got values of Arrow type {}",
                         table_->name, field.name, field.type.ToString(),
                         column->type()->ToString());
        }
        ARROW_ASSIGN_OR_RAISE(column, column->View(schema_->field(i)->type()));
      }
      ARROW_RETURN_NOT_OK(WithContext(CheckValues(field, *column), "table " + table_->name));
      if (defaults_[i] != nullptr && column->null_count() > 0) {
        ARROW_ASSIGN_OR_RAISE(auto filled,
                              arrow::compute::CallFunction(
                                  "coalesce", {arrow::Datum(column), arrow::Datum(defaults_[i])}));
        column = filled.make_array();
      }
      columns.push_back(std::move(column));
    }
    return arrow::RecordBatch::Make(schema_, batch->num_rows(), std::move(columns));
  }

  arrow::Result<PartitionState*> Partition(const std::string& serialized, int32_t bucket) {
    std::string key = serialized;
    key.append(reinterpret_cast<const char*>(&bucket), sizeof(bucket));
    std::lock_guard lock(partitions_mutex_);
    auto it = partitions_.find(key);
    if (it != partitions_.end()) return it->second;
    ARROW_ASSIGN_OR_RAISE(auto values,
                          DecodePartition(table_->PartitionTypes(), serialized, table_->name));
    ARROW_ASSIGN_OR_RAISE(auto path, PartitionPath(table_->PartitionFields(), values,
                                                   table_->partition_path_options));
    auto state = std::make_unique<PartitionState>();
    state->partition = serialized;
    state->bucket = bucket;
    state->dir = table_->paths.BucketDir(path, bucket);
    if (restore_ != nullptr) state->restored = restore_->Take(serialized, bucket);
    order_.push_back(std::move(state));
    partitions_.emplace(std::move(key), order_.back().get());
    return order_.back().get();
  }

  /// With the partition's mutex held. Returns the bytes that are no longer needed.
  static arrow::Result<int64_t> JoinSmallPieces(PartitionState* partition) {
    auto& staged = partition->staged;
    const auto first = staged.end() - static_cast<ptrdiff_t>(partition->small_pieces);
    ARROW_ASSIGN_OR_RAISE(auto joined, arrow::ConcatenateRecordBatches({first, staged.end()}));
    int64_t saved = -StagedSize(*joined);
    for (auto piece = first; piece != staged.end(); ++piece) saved += StagedSize(**piece);
    staged.erase(first, staged.end());
    staged.push_back(std::move(joined));
    partition->small_pieces = 0;
    partition->staged_bytes -= saved;
    return saved;
  }

  arrow::Status Stage(PartitionState* partition, std::shared_ptr<arrow::RecordBatch> rows) {
    int64_t bytes = StagedSize(*rows);
    bool full = false;
    {
      std::lock_guard lock(partition->mutex);
      partition->staged_rows += rows->num_rows();
      partition->staged_bytes += bytes;
      const bool small = rows->num_rows() < kSmallPieceRows;
      partition->staged.push_back(std::move(rows));
      full = partition->staged_rows >= kStagedRowsMax || partition->staged_bytes >= kStagedBytesMax;
      partition->small_pieces = small ? partition->small_pieces + 1 : 0;
      if (partition->small_pieces >= kSmallPiecesMax && !full) {
        ARROW_ASSIGN_OR_RAISE(int64_t saved, JoinSmallPieces(partition));
        bytes -= saved;
      }
    }
    memory_bytes_ += bytes;
    return full ? WriteStaged(partition) : arrow::Status::OK();
  }

  /// Give what is staged to a lane. Order of rows between calls of different threads is not kept;
  /// tables have none, except that a bucket's lane is taken before its rows are.
  arrow::Status WriteStaged(PartitionState* partition) {
    std::vector<std::shared_ptr<arrow::RecordBatch>> batches;
    int64_t staged_bytes = 0;
    Lane* lane = nullptr;
    {
      std::unique_lock lock(partition->mutex);
      if (partition->staged.empty()) return arrow::Status::OK();
      if (keeps_order_) lane = AcquireLane(partition, &lock);
      if (partition->staged.empty()) {
        lane->busy = false;
        partition->lane_free.notify_one();
        return arrow::Status::OK();
      }
      batches.swap(partition->staged);
      staged_bytes = std::exchange(partition->staged_bytes, 0);
      partition->staged_rows = 0;
      partition->small_pieces = 0;
      if (lane == nullptr) lane = AcquireLane(partition, &lock);
    }
    auto status = WriteToLane(lane, std::move(batches));
    memory_bytes_ -= staged_bytes;
    {
      std::lock_guard lock(partition->mutex);
      lane->busy = false;
    }
    partition->lane_free.notify_one();
    return status;
  }

  Lane* AcquireLane(PartitionState* partition, std::unique_lock<std::mutex>* lock) {
    while (true) {
      bool another_pays = true;
      for (auto& lane : partition->lanes) {
        if (!lane->busy) {
          lane->busy = true;
          return lane.get();
        }
        another_pays = another_pays && lane->bytes_written >= kLaneBytesMin;
      }
      if (another_pays && static_cast<int>(partition->lanes.size()) < parallelism_) {
        auto lane = std::make_unique<Lane>();
        FileOrigin origin;
        origin.first_sequence = partition->restored.max_sequence + 1;
        lane->writer =
            std::make_unique<RollingFileWriter>(table_, settings_, partition->dir, origin);
        lane->busy = true;
        ++lanes_;
        partition->lanes.push_back(std::move(lane));
        return partition->lanes.back().get();
      }
      partition->lane_free.wait(*lock);
    }
  }

  arrow::Status WriteToLane(Lane* lane, std::vector<std::shared_ptr<arrow::RecordBatch>> batches) {
    ARROW_RETURN_NOT_OK(options_.token.Check());
    std::shared_ptr<arrow::RecordBatch> rows = batches[0];
    if (batches.size() > 1) {
      ARROW_ASSIGN_OR_RAISE(rows, arrow::ConcatenateRecordBatches(batches));
      batches.clear();
    }
    auto status = lane->writer->Write(*rows);
    if (status.ok() && lanes_ > kOpenRowGroupsMax) status = FlushLane(lane);
    Account(lane);
    return status;
  }

  /// Write out all that can be. What an open file still holds then grows with its row groups; when
  /// the files together would fill half of the memory with that, or nothing else was there, the
  /// file ends.
  arrow::Status FlushLane(Lane* lane) {
    const int64_t before = lane->writer->BufferedBytes();
    ARROW_RETURN_NOT_OK(lane->writer->FlushRowGroup());
    const int64_t left = lane->writer->BufferedBytes();
    const int64_t share = table_->env.budget->limit() / 2 / std::max<int64_t>(1, lanes_);
    if (left > share || left >= before) return lane->writer->EndFile();
    return arrow::Status::OK();
  }

  void Account(Lane* lane) {
    const int64_t buffered = lane->writer->BufferedBytes();
    memory_bytes_ += buffered - lane->buffered_bytes.exchange(buffered);
    const int64_t written = lane->writer->BytesWritten();
    bytes_ += written - lane->bytes_written.exchange(written);
  }

  /// Reserve what is held; when the budget does not allow it, write out the partition that holds
  /// most, until it does.
  arrow::Status KeepWithinBudget() {
    std::lock_guard lock(budget_mutex_);
    while (true) {
      ARROW_RETURN_NOT_OK(options_.token.Check());
      auto reserved = reservation_.Resize(std::max<int64_t>(0, memory_bytes_));
      if (reserved.ok()) return reserved;
      ARROW_ASSIGN_OR_RAISE(bool freed, FlushLargest());
      if (!freed)
        return WithContext(reserved, "table " + table_->name + ": nothing left to write out");
    }
  }

  static int64_t HeldBytes(PartitionState* partition) {
    std::lock_guard lock(partition->mutex);
    int64_t bytes = partition->staged_bytes;
    for (auto& lane : partition->lanes) bytes += lane->buffered_bytes;
    return bytes;
  }

  arrow::Result<bool> FlushLargest() {
    PartitionState* largest = nullptr;
    int64_t largest_bytes = 0;
    {
      std::lock_guard lock(partitions_mutex_);
      for (auto& partition : order_) {
        const int64_t bytes = HeldBytes(partition.get());
        if (bytes > largest_bytes) {
          largest = partition.get();
          largest_bytes = bytes;
        }
      }
    }
    if (largest == nullptr) return false;
    ARROW_RETURN_NOT_OK(WriteStaged(largest));
    int64_t left_bytes = 0;
    for (size_t i = 0;; ++i) {
      Lane* lane = nullptr;
      {
        // A thread that has a lane never waits for the budget, so waiting for the lane here ends.
        std::unique_lock lock(largest->mutex);
        if (i >= largest->lanes.size()) break;
        lane = largest->lanes[i].get();
        largest->lane_free.wait(lock, [&] { return !lane->busy; });
        lane->busy = true;
      }
      auto status = FlushLane(lane);
      Account(lane);
      left_bytes += lane->buffered_bytes;
      {
        std::lock_guard lock(largest->mutex);
        lane->busy = false;
      }
      largest->lane_free.notify_all();
      ARROW_RETURN_NOT_OK(status);
    }
    return left_bytes < largest_bytes;
  }

  TableContextPtr table_;
  AppendWriterOptions options_;
  PartitionRouter router_;
  int parallelism_ = 1;
  std::shared_ptr<const DataFileSettings> settings_;
  std::shared_ptr<arrow::Schema> schema_;
  std::vector<std::shared_ptr<arrow::Scalar>> defaults_;
  bool keeps_order_ = false;                        ///< fixed buckets
  std::unique_ptr<BucketRestore> restore_;          ///< null: files that are there do not matter
  std::optional<BucketCompactionRule> compaction_;  ///< nullopt: nothing is compacted
  std::shared_ptr<const DataFileSettings> compaction_settings_;

  std::mutex partitions_mutex_;  ///< guards the two below; states themselves live until the end
  std::unordered_map<std::string, PartitionState*> partitions_;
  std::vector<std::unique_ptr<PartitionState>> order_;

  std::mutex budget_mutex_;  ///< guards reservation_; taken before any partition's mutex
  MemoryReservation reservation_;
  std::atomic<int64_t> memory_bytes_{0};  ///< staged and buffered, over all partitions
  std::atomic<int64_t> lanes_{0};
  std::atomic<int64_t> rows_{0};
  std::atomic<int64_t> bytes_{0};
};

}  // namespace

arrow::Result<std::unique_ptr<AppendWriter>> AppendWriter::Make(TableContextPtr table,
                                                                AppendWriterOptions options) {
  ARROW_RETURN_NOT_OK(table->CheckWritable());
  ARROW_ASSIGN_OR_RAISE(PartitionRouter router, PartitionRouter::Make(*table));
  auto writer = std::make_unique<ParallelAppendWriter>(std::move(table), std::move(options),
                                                       std::move(router));
  ARROW_RETURN_NOT_OK(writer->Init());
  return writer;
}

namespace {

void DeleteQuietly(const TableContext& table, const std::string& path) {
  auto status = table.env.io->DeleteFile(path);
  if (!status.ok()) {
    KELDA_LOG(Warn, "table {}: file of a failed statement stays behind: {}", table.name,
              status.message());
  }
}

}  // namespace

void DeleteFiles(const TableContext& table, const std::vector<CommitMessage>& messages) {
  const auto types = table.PartitionTypes();
  const auto fields = table.PartitionFields();
  for (const CommitMessage& message : messages) {
    for (const auto* files : {&message.new_index_files, &message.compact_new_index_files}) {
      for (const IndexFileMeta& file : *files) {
        auto path = IndexFilePath(table, message.partition, message.bucket, file);
        if (path.ok()) DeleteQuietly(table, *path);
      }
    }
    auto values = DecodePartition(types, message.partition, table.name);
    if (!values.ok()) continue;
    auto partition = PartitionPath(fields, *values, table.partition_path_options);
    if (!partition.ok()) continue;
    const std::string dir = table.paths.BucketDir(*partition, message.bucket);
    for (const auto* files : {&message.new_files, &message.compact_after}) {
      for (const DataFileMeta& file : *files) {
        // An upgraded file is the same physical file as its predecessor (spec 03 §3.15).
        const bool reused =
            std::any_of(message.compact_before.begin(), message.compact_before.end(),
                        [&](const DataFileMeta& b) { return b.file_name == file.file_name; });
        if (reused) continue;
        for (const std::string& name : file.extra_files) DeleteQuietly(table, JoinPath(dir, name));
        DeleteQuietly(table, JoinPath(dir, file.file_name));
      }
    }
  }
}

}  // namespace kelda
