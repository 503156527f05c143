#include "kelda/maintain/compact/external_sort.h"

#include <algorithm>
#include <atomic>
#include <filesystem>

#include <arrow/array/concatenate.h>
#include <arrow/compute/api.h>
#include <arrow/io/file.h>
#include <arrow/ipc/reader.h>
#include <arrow/ipc/writer.h>
#include <arrow/util/byte_size.h>
#include <arrow/util/compression.h>

#include "kelda/base/log.h"

namespace kelda {

namespace {

constexpr int64_t kBatchBytes = 1 << 20;
constexpr int64_t kBatchRowsMax = 32 * 1024;
constexpr const char* kKeyColumn = "sort key";

const arrow::BinaryArray& KeysOf(const arrow::RecordBatch& batch) {
  return static_cast<const arrow::BinaryArray&>(*batch.column(batch.num_columns() - 1));
}

/// The first eight bytes of a key as a number of the same order.
uint64_t Prefix(std::string_view key) {
  uint64_t prefix = 0;
  for (size_t i = 0; i < 8; ++i)
    prefix = prefix << 8 | (i < key.size() ? static_cast<uint8_t>(key[i]) : 0);
  return prefix;
}

arrow::Result<std::shared_ptr<arrow::RecordBatch>> SortBatch(
    const std::shared_ptr<arrow::RecordBatch>& batch) {
  const arrow::BinaryArray& keys = KeysOf(*batch);
  struct Entry {
    uint64_t prefix;
    int32_t row;
  };
  std::vector<Entry> order;
  order.reserve(static_cast<size_t>(batch->num_rows()));
  for (int64_t i = 0; i < batch->num_rows(); ++i)
    order.push_back({Prefix(keys.GetView(i)), static_cast<int32_t>(i)});
  std::sort(order.begin(), order.end(), [&](const Entry& a, const Entry& b) {
    if (a.prefix != b.prefix) return a.prefix < b.prefix;
    return keys.GetView(a.row) < keys.GetView(b.row);
  });
  std::vector<int32_t> rows;
  rows.reserve(order.size());
  for (const Entry& entry : order) rows.push_back(entry.row);
  auto indices = std::make_shared<arrow::Int32Array>(static_cast<int64_t>(rows.size()),
                                                     arrow::Buffer::Wrap(rows));
  ARROW_ASSIGN_OR_RAISE(
      auto taken,
      arrow::compute::Take(batch, indices, arrow::compute::TakeOptions::NoBoundsCheck()));
  return taken.record_batch();
}

int64_t SizeOf(const arrow::RecordBatch& batch) {
  auto size = arrow::util::ReferencedBufferSize(batch);
  return size.ok() ? *size : arrow::util::TotalBufferSize(batch);
}

std::shared_ptr<arrow::RecordBatch> WithoutKeys(const arrow::RecordBatch& batch) {
  arrow::FieldVector fields = batch.schema()->fields();
  arrow::ArrayVector columns = batch.columns();
  fields.pop_back();
  columns.pop_back();
  return arrow::RecordBatch::Make(arrow::schema(std::move(fields)), batch.num_rows(),
                                  std::move(columns));
}

arrow::ipc::IpcWriteOptions SpillOptions() {
  auto options = arrow::ipc::IpcWriteOptions::Defaults();
  options.use_threads = false;
  if (arrow::util::Codec::IsAvailable(arrow::Compression::LZ4_FRAME)) {
    auto codec = arrow::util::Codec::Create(arrow::Compression::LZ4_FRAME);
    if (codec.ok()) options.codec = std::move(*codec);
  }
  return options;
}

void RemoveQuietly(const std::string& path) {
  std::error_code error;
  std::filesystem::remove(path, error);
}

}  // namespace

arrow::Result<std::unique_ptr<TemporaryFolder>> TemporaryFolder::Make(const std::string& parent,
                                                                      const std::string& name) {
  std::error_code error;
  std::filesystem::path path =
      parent.empty() ? std::filesystem::temp_directory_path(error) : std::filesystem::path(parent);
  if (error) return arrow::Status::IOError("no folder for temporary files: ", error.message());
  std::filesystem::create_directories(path, error);
  path /= name;
  if (error || !std::filesystem::create_directory(path, error)) {
    return arrow::Status::IOError("cannot make the folder '", path.string(),
                                  "' for temporary files: ", error.message());
  }
  return std::unique_ptr<TemporaryFolder>(new TemporaryFolder(path.string()));
}

TemporaryFolder::~TemporaryFolder() {
  std::error_code error;
  std::filesystem::remove_all(path_, error);
  if (error) KELDA_LOG(Warn, "temporary files in '{}' stay behind: {}", path_, error.message());
}

/// Reads one run batch by batch.
class ExternalSorter::Cursor {
 public:
  static arrow::Result<std::unique_ptr<Cursor>> Open(const std::string& path) {
    auto cursor = std::make_unique<Cursor>();
    ARROW_ASSIGN_OR_RAISE(auto file, arrow::io::ReadableFile::Open(path));
    auto options = arrow::ipc::IpcReadOptions::Defaults();
    options.use_threads = false;
    ARROW_ASSIGN_OR_RAISE(cursor->reader_,
                          arrow::ipc::RecordBatchFileReader::Open(std::move(file), options));
    ARROW_RETURN_NOT_OK(cursor->NextBatch());
    return cursor;
  }

  const std::shared_ptr<arrow::Schema> schema() const { return reader_->schema(); }
  bool done() const { return batch_ == nullptr; }
  /// Whether rows beyond the current batch exist: those have keys of at least last_key().
  bool has_more() const { return next_ < reader_->num_record_batches(); }
  std::string_view last_key() const { return KeysOf(*batch_).GetView(batch_->num_rows() - 1); }

  /// Rows of the current batch up to `cutoff`; null cutoff: all of them.
  arrow::Result<std::shared_ptr<arrow::RecordBatch>> TakeUpTo(const std::string* cutoff) {
    const arrow::BinaryArray& keys = KeysOf(*batch_);
    int64_t end = batch_->num_rows();
    if (cutoff != nullptr) {
      int64_t low = position_;
      while (low < end) {
        const int64_t middle = (low + end) / 2;
        if (keys.GetView(middle) <= *cutoff) {
          low = middle + 1;
        } else {
          end = middle;
        }
      }
    }
    auto rows = batch_->Slice(position_, end - position_);
    position_ = end;
    if (position_ == batch_->num_rows()) ARROW_RETURN_NOT_OK(NextBatch());
    return rows;
  }

 private:
  arrow::Status NextBatch() {
    batch_ = nullptr;
    position_ = 0;
    while (batch_ == nullptr && next_ < reader_->num_record_batches()) {
      ARROW_ASSIGN_OR_RAISE(batch_, reader_->ReadRecordBatch(next_++));
      if (batch_->num_rows() == 0) batch_ = nullptr;
    }
    return arrow::Status::OK();
  }

  std::shared_ptr<arrow::ipc::RecordBatchFileReader> reader_;
  int next_ = 0;
  std::shared_ptr<arrow::RecordBatch> batch_;  ///< null: at the end
  int64_t position_ = 0;
};

ExternalSorter::~ExternalSorter() {
  for (const std::string& run : runs_) RemoveQuietly(run);
}

int64_t ExternalSorter::BatchRows(int64_t rows, int64_t bytes) const {
  const int64_t row_bytes = std::max<int64_t>(1, bytes / std::max<int64_t>(1, rows));
  return std::clamp<int64_t>(kBatchBytes / row_bytes, 16, kBatchRowsMax);
}

arrow::Status ExternalSorter::Add(std::shared_ptr<arrow::RecordBatch> rows,
                                  std::shared_ptr<arrow::BinaryArray> keys) {
  ARROW_RETURN_NOT_OK(options_.token.Check());
  if (rows->num_rows() == 0) return arrow::Status::OK();
  ARROW_ASSIGN_OR_RAISE(
      rows, rows->AddColumn(rows->num_columns(),
                            arrow::field(kKeyColumn, arrow::binary(), /*nullable=*/false), keys));
  const int64_t bytes = SizeOf(*rows);
  std::vector<std::shared_ptr<arrow::RecordBatch>> full;
  {
    std::lock_guard lock(mutex_);
    pending_.push_back(std::move(rows));
    pending_bytes_ += bytes;
    if (pending_bytes_ < options_.run_bytes) return arrow::Status::OK();
    full.swap(pending_);
    pending_bytes_ = 0;
  }
  ARROW_ASSIGN_OR_RAISE(std::string run, SpillRun(std::move(full)));
  std::lock_guard lock(mutex_);
  runs_.push_back(std::move(run));
  ++spilled_runs_;
  return arrow::Status::OK();
}

arrow::Result<std::string> ExternalSorter::SpillRun(
    std::vector<std::shared_ptr<arrow::RecordBatch>> batches) {
  ARROW_ASSIGN_OR_RAISE(auto all, arrow::ConcatenateRecordBatches(batches));
  batches.clear();
  ARROW_ASSIGN_OR_RAISE(auto sorted, SortBatch(all));
  all.reset();
  return WriteRun(sorted->schema(), [&](const Sink& write) { return write(sorted); });
}

arrow::Result<std::string> ExternalSorter::WriteRun(
    const std::shared_ptr<arrow::Schema>& schema,
    const std::function<arrow::Status(const Sink&)>& produce) {
  static std::atomic<int64_t> next{0};
  ARROW_ASSIGN_OR_RAISE(std::string folder, options_.temporary_path());
  const std::string path = fmt::format("{}/run-{}", folder, next++);
  auto write = [&]() -> arrow::Status {
    ARROW_ASSIGN_OR_RAISE(auto file, arrow::io::FileOutputStream::Open(path));
    ARROW_ASSIGN_OR_RAISE(auto writer, arrow::ipc::MakeFileWriter(file, schema, SpillOptions()));
    ARROW_RETURN_NOT_OK(produce([&](const std::shared_ptr<arrow::RecordBatch>& batch) {
      ARROW_RETURN_NOT_OK(options_.token.Check());
      const int64_t step = BatchRows(batch->num_rows(), SizeOf(*batch));
      for (int64_t begin = 0; begin < batch->num_rows(); begin += step)
        ARROW_RETURN_NOT_OK(writer->WriteRecordBatch(*batch->Slice(begin, step)));
      return arrow::Status::OK();
    }));
    ARROW_RETURN_NOT_OK(writer->Close());
    return file->Close();
  };
  auto written = write();
  if (!written.ok()) {
    RemoveQuietly(path);
    return WithContext(written, fmt::format("temporary file '{}'", path));
  }
  return path;
}

arrow::Status ExternalSorter::Merge(const std::vector<std::string>& runs, const Sink& sink) {
  std::vector<std::unique_ptr<Cursor>> cursors;
  for (const std::string& run : runs) {
    auto cursor = Cursor::Open(run);
    if (!cursor.ok()) return WithContext(cursor.status(), fmt::format("temporary file '{}'", run));
    cursors.push_back(std::move(*cursor));
  }
  while (true) {
    ARROW_RETURN_NOT_OK(options_.token.Check());
    std::erase_if(cursors, [](const auto& cursor) { return cursor->done(); });
    if (cursors.empty()) return arrow::Status::OK();
    // Rows that are not read yet are not smaller than the last one of their run's current batch, so
    // everything up to the smallest of those can go.
    std::optional<std::string> cutoff;
    for (const auto& cursor : cursors) {
      if (cursor->has_more() && (!cutoff || cursor->last_key() < *cutoff))
        cutoff = std::string(cursor->last_key());
    }
    std::vector<std::shared_ptr<arrow::RecordBatch>> parts;
    for (const auto& cursor : cursors) {
      ARROW_ASSIGN_OR_RAISE(auto part, cursor->TakeUpTo(cutoff ? &*cutoff : nullptr));
      if (part->num_rows() > 0) parts.push_back(std::move(part));
    }
    if (parts.empty()) continue;
    if (parts.size() == 1) {
      ARROW_RETURN_NOT_OK(sink(parts[0]));
      continue;
    }
    ARROW_ASSIGN_OR_RAISE(auto all, arrow::ConcatenateRecordBatches(parts));
    ARROW_ASSIGN_OR_RAISE(auto sorted, SortBatch(all));
    ARROW_RETURN_NOT_OK(sink(sorted));
  }
}

arrow::Status ExternalSorter::Finish(
    const std::function<arrow::Status(std::shared_ptr<arrow::RecordBatch>)>& sink) {
  const Sink without_keys = [&](const std::shared_ptr<arrow::RecordBatch>& batch) {
    return sink(WithoutKeys(*batch));
  };
  if (runs_.empty()) {
    if (pending_.empty()) return arrow::Status::OK();
    ARROW_ASSIGN_OR_RAISE(auto all, arrow::ConcatenateRecordBatches(pending_));
    pending_.clear();
    ARROW_ASSIGN_OR_RAISE(auto sorted, SortBatch(all));
    all.reset();
    return without_keys(sorted);
  }
  if (!pending_.empty()) {
    ARROW_ASSIGN_OR_RAISE(std::string run, SpillRun(std::exchange(pending_, {})));
    runs_.push_back(std::move(run));
    ++spilled_runs_;
  }
  const auto fan_in = static_cast<size_t>(
      std::clamp<int64_t>(options_.run_bytes / kBatchBytes, 2, std::max(2, options_.fan_in_max)));
  while (runs_.size() > fan_in) {
    std::vector<std::string> some(runs_.begin(), runs_.begin() + static_cast<int64_t>(fan_in));
    ARROW_ASSIGN_OR_RAISE(auto first, Cursor::Open(some[0]));
    ARROW_ASSIGN_OR_RAISE(std::string merged, WriteRun(first->schema(), [&](const Sink& write) {
                            return Merge(some, write);
                          }));
    first.reset();
    for (const std::string& run : some) RemoveQuietly(run);
    runs_.erase(runs_.begin(), runs_.begin() + static_cast<int64_t>(fan_in));
    runs_.push_back(std::move(merged));
  }
  return Merge(runs_, without_keys);
}

}  // namespace kelda
