#include "kelda/io/counting_file_io.h"

#include "kelda/io/positional_input.h"

namespace kelda {

namespace {

using Counters = CountingFileIO::Counters;

std::shared_ptr<const Counters> MakeCounters(MetricsRegistry* registry) {
  auto counters = std::make_shared<Counters>();
  if (registry == nullptr) {
    counters->own_registry = std::make_unique<MetricsRegistry>();
    registry = counters->own_registry.get();
  }
  for (int i = 0; i < kIoOperations; ++i) {
    const auto name = ToString(static_cast<IoOperation>(i));
    counters->calls[i] = &registry->GetCounter(fmt::format("io.{}.calls", name));
    counters->bytes[i] = &registry->GetCounter(fmt::format("io.{}.bytes", name));
  }
  return counters;
}

class CountingInput : public ForwardingInput {
 public:
  CountingInput(const std::string& path, int64_t size_bytes,
                std::shared_ptr<arrow::io::RandomAccessFile> inner,
                std::shared_ptr<const Counters> counters)
      : ForwardingInput(path, size_bytes, std::move(inner)), counters_(std::move(counters)) {}

 protected:
  arrow::Result<int64_t> ReadInto(int64_t position, int64_t length, void* out) override {
    auto got = ForwardingInput::ReadInto(position, length, out);
    counters_->Count(IoOperation::kRead, got.ok() ? *got : 0);
    return got;
  }
  arrow::Result<std::shared_ptr<arrow::Buffer>> ReadBuffer(int64_t position,
                                                           int64_t length) override {
    auto got = ForwardingInput::ReadBuffer(position, length);
    counters_->Count(IoOperation::kRead, got.ok() ? (*got)->size() : 0);
    return got;
  }

 private:
  const std::shared_ptr<const Counters> counters_;
};

class CountingOutput : public arrow::io::OutputStream {
 public:
  CountingOutput(std::shared_ptr<arrow::io::OutputStream> inner,
                 std::shared_ptr<const Counters> counters)
      : inner_(std::move(inner)), counters_(std::move(counters)) {}

  using OutputStream::Write;
  arrow::Status Write(const void* data, int64_t length) override {
    auto status = inner_->Write(data, length);
    counters_->Count(IoOperation::kWrite, status.ok() ? length : 0);
    return status;
  }
  arrow::Status Flush() override { return inner_->Flush(); }
  arrow::Status Close() override {
    counters_->Count(IoOperation::kClose);
    return inner_->Close();
  }
  arrow::Status Abort() override { return inner_->Abort(); }
  arrow::Result<int64_t> Tell() const override { return inner_->Tell(); }
  bool closed() const override { return inner_->closed(); }

 private:
  const std::shared_ptr<arrow::io::OutputStream> inner_;
  const std::shared_ptr<const Counters> counters_;
};

}  // namespace

void CountingFileIO::Counters::Count(IoOperation operation, int64_t bytes_moved) const {
  calls[static_cast<size_t>(operation)]->Add();
  if (bytes_moved != 0) AddBytes(operation, bytes_moved);
}

void CountingFileIO::Counters::AddBytes(IoOperation operation, int64_t bytes_moved) const {
  bytes[static_cast<size_t>(operation)]->Add(bytes_moved);
}

CountingFileIO::CountingFileIO(std::shared_ptr<FileIO> inner, MetricsRegistry* registry)
    : ForwardingFileIO(std::move(inner)), counters_(MakeCounters(registry)) {}

int64_t CountingFileIO::calls(IoOperation operation) const {
  return counters_->calls[static_cast<size_t>(operation)]->value();
}

int64_t CountingFileIO::bytes(IoOperation operation) const {
  return counters_->bytes[static_cast<size_t>(operation)]->value();
}

int64_t CountingFileIO::calls() const {
  int64_t total = 0;
  for (const auto* counter : counters_->calls) total += counter->value();
  return total;
}

arrow::Result<std::shared_ptr<arrow::io::RandomAccessFile>> CountingFileIO::OpenInput(
    const std::string& path) {
  counters_->Count(IoOperation::kOpenInput);
  ARROW_ASSIGN_OR_RAISE(auto file, inner().OpenInput(path));
  ARROW_ASSIGN_OR_RAISE(const int64_t size_bytes, file->GetSize());
  return std::make_shared<CountingInput>(path, size_bytes, std::move(file), counters_);
}

arrow::Result<std::shared_ptr<arrow::io::OutputStream>> CountingFileIO::CreateNew(
    const std::string& path) {
  counters_->Count(IoOperation::kCreateNew);
  ARROW_ASSIGN_OR_RAISE(auto file, inner().CreateNew(path));
  return std::make_shared<CountingOutput>(std::move(file), counters_);
}

arrow::Result<FileInfo> CountingFileIO::Stat(const std::string& path) {
  counters_->Count(IoOperation::kStat);
  return inner().Stat(path);
}

arrow::Result<std::vector<FileInfo>> CountingFileIO::List(const std::string& dir) {
  counters_->Count(IoOperation::kList);
  return inner().List(dir);
}

arrow::Status CountingFileIO::MakeDirs(const std::string& dir) {
  counters_->Count(IoOperation::kMakeDirs);
  return inner().MakeDirs(dir);
}

arrow::Status CountingFileIO::DeleteFile(const std::string& path) {
  counters_->Count(IoOperation::kDeleteFile);
  return inner().DeleteFile(path);
}

arrow::Status CountingFileIO::DeleteDir(const std::string& dir) {
  counters_->Count(IoOperation::kDeleteDir);
  return inner().DeleteDir(dir);
}

arrow::Status CountingFileIO::Rename(const std::string& from, const std::string& to) {
  counters_->Count(IoOperation::kRename);
  return inner().Rename(from, to);
}

PublishResult CountingFileIO::PublishNew(const std::string& path, std::string_view bytes) {
  auto result = inner().PublishNew(path, bytes);
  const bool done = result.outcome == PublishOutcome::kDone;
  counters_->Count(IoOperation::kPublishNew, done ? static_cast<int64_t>(bytes.size()) : 0);
  return result;
}

arrow::Status CountingFileIO::WriteReplacing(const std::string& path, std::string_view bytes) {
  auto status = inner().WriteReplacing(path, bytes);
  counters_->Count(IoOperation::kWriteReplacing,
                   status.ok() ? static_cast<int64_t>(bytes.size()) : 0);
  return status;
}

arrow::Result<std::string> CountingFileIO::ReadAll(const std::string& path,
                                                   int64_t size_max_bytes) {
  auto bytes = inner().ReadAll(path, size_max_bytes);
  counters_->Count(IoOperation::kReadAll, bytes.ok() ? static_cast<int64_t>(bytes->size()) : 0);
  return bytes;
}

arrow::Result<std::vector<std::shared_ptr<arrow::Buffer>>> CountingFileIO::ReadRanges(
    const std::string& path, const std::vector<ByteRange>& ranges) {
  auto buffers = inner().ReadRanges(path, ranges);
  counters_->Count(IoOperation::kReadRanges);
  if (buffers.ok()) {
    for (const auto& buffer : *buffers) {
      counters_->AddBytes(IoOperation::kReadRanges, buffer->size());
    }
  }
  return buffers;
}

}  // namespace kelda
