#include "kelda/io/retrying_file_io.h"

#include <algorithm>

#include "kelda/base/log.h"
#include "kelda/io/io_error.h"
#include "kelda/io/positional_input.h"

namespace kelda {

namespace {

const arrow::Status& StatusOf(const arrow::Status& status) { return status; }
template <typename T>
const arrow::Status& StatusOf(const arrow::Result<T>& result) {
  return result.status();
}

}  // namespace

// Shared with the open inputs.
class RetryingFileIO::Retrier {
 public:
  Retrier(RetryPolicy policy, std::shared_ptr<Clock> clock, std::shared_ptr<Random> random)
      : policy_(policy), clock_(std::move(clock)), random_(std::move(random)) {}

  template <typename Call>
  auto Run(Call&& call) -> decltype(call()) {
    int64_t backoff_ms = policy_.backoff_ms_min;
    for (int attempt = 1;; ++attempt) {
      auto result = call();
      if (attempt >= policy_.attempts_max || !IsTransient(StatusOf(result))) return result;
      KELDA_LOG(Info, "attempt {} of {}: {}", attempt, policy_.attempts_max,
                StatusOf(result).message());
      // Between half and all of the back-off, so that those who failed together do not return
      // together.
      const int64_t half = std::max<int64_t>(backoff_ms / 2, 1);
      const auto jitter = static_cast<int64_t>(random_->Next() % static_cast<uint64_t>(half));
      clock_->Sleep(std::chrono::milliseconds(half + jitter));
      backoff_ms = std::min(backoff_ms * 2, policy_.backoff_ms_max);
    }
  }

 private:
  const RetryPolicy policy_;
  const std::shared_ptr<Clock> clock_;
  const std::shared_ptr<Random> random_;
};

namespace {

class RetryingInput : public ForwardingInput {
 public:
  RetryingInput(const std::string& path, int64_t size_bytes,
                std::shared_ptr<arrow::io::RandomAccessFile> inner,
                std::shared_ptr<RetryingFileIO::Retrier> retrier)
      : ForwardingInput(path, size_bytes, std::move(inner)), retrier_(std::move(retrier)) {}

 protected:
  arrow::Result<int64_t> ReadInto(int64_t position, int64_t length, void* out) override {
    return retrier_->Run([&] { return ForwardingInput::ReadInto(position, length, out); });
  }
  arrow::Result<std::shared_ptr<arrow::Buffer>> ReadBuffer(int64_t position,
                                                           int64_t length) override {
    return retrier_->Run([&] { return ForwardingInput::ReadBuffer(position, length); });
  }

 private:
  const std::shared_ptr<RetryingFileIO::Retrier> retrier_;
};

}  // namespace

RetryingFileIO::RetryingFileIO(std::shared_ptr<FileIO> inner, RetryPolicy policy,
                               std::shared_ptr<Clock> clock, std::shared_ptr<Random> random)
    : ForwardingFileIO(std::move(inner)),
      retrier_(std::make_shared<Retrier>(policy, std::move(clock), std::move(random))) {}

arrow::Result<std::shared_ptr<arrow::io::RandomAccessFile>> RetryingFileIO::OpenInput(
    const std::string& path) {
  ARROW_ASSIGN_OR_RAISE(auto file, retrier_->Run([&] { return inner().OpenInput(path); }));
  ARROW_ASSIGN_OR_RAISE(const int64_t size_bytes, file->GetSize());
  return std::make_shared<RetryingInput>(path, size_bytes, std::move(file), retrier_);
}

arrow::Result<FileInfo> RetryingFileIO::Stat(const std::string& path) {
  return retrier_->Run([&] { return inner().Stat(path); });
}

arrow::Result<std::vector<FileInfo>> RetryingFileIO::List(const std::string& dir) {
  return retrier_->Run([&] { return inner().List(dir); });
}

arrow::Status RetryingFileIO::MakeDirs(const std::string& dir) {
  return retrier_->Run([&] { return inner().MakeDirs(dir); });
}

arrow::Status RetryingFileIO::DeleteFile(const std::string& path) {
  return retrier_->Run([&] { return inner().DeleteFile(path); });
}

arrow::Status RetryingFileIO::DeleteDir(const std::string& dir) {
  return retrier_->Run([&] { return inner().DeleteDir(dir); });
}

arrow::Status RetryingFileIO::WriteReplacing(const std::string& path, std::string_view bytes) {
  return retrier_->Run([&] { return inner().WriteReplacing(path, bytes); });
}

arrow::Result<std::string> RetryingFileIO::ReadAll(const std::string& path,
                                                   int64_t size_max_bytes) {
  return retrier_->Run([&] { return inner().ReadAll(path, size_max_bytes); });
}

arrow::Result<std::vector<std::shared_ptr<arrow::Buffer>>> RetryingFileIO::ReadRanges(
    const std::string& path, const std::vector<ByteRange>& ranges) {
  return retrier_->Run([&] { return inner().ReadRanges(path, ranges); });
}

}  // namespace kelda
