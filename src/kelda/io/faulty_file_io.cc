#include "kelda/io/faulty_file_io.h"

#include <fnmatch.h>

#include <cerrno>
#include <mutex>
#include <vector>

#include "kelda/io/io_error.h"
#include "kelda/io/positional_input.h"

namespace kelda {

namespace {

// What shall happen to one call.
struct Verdict {
  bool strike = false;
  FaultMode mode = FaultMode::kBefore;
  arrow::Status error;

  bool before() const { return strike && mode != FaultMode::kAfter; }
  bool after() const { return strike && mode == FaultMode::kAfter; }
};

}  // namespace

// The faults and the counts, shared with the open files.
class FaultyFileIO::Plan {
 public:
  void Add(Fault fault) {
    std::lock_guard<std::mutex> lock(mutex_);
    rules_.push_back({std::move(fault), 0});
  }

  void Heal() {
    std::lock_guard<std::mutex> lock(mutex_);
    rules_.clear();
    calls_ = 0;
    struck_ = 0;
    crashed_ = false;
  }

  int64_t calls() const {
    std::lock_guard<std::mutex> lock(mutex_);
    return calls_;
  }
  int64_t struck() const {
    std::lock_guard<std::mutex> lock(mutex_);
    return struck_;
  }
  bool crashed() const {
    std::lock_guard<std::mutex> lock(mutex_);
    return crashed_;
  }

  Verdict Next(IoOperation operation, const std::string& path) {
    std::lock_guard<std::mutex> lock(mutex_);
    ++calls_;
    if (crashed_) {
      return {
          true, FaultMode::kBefore,
          arrow::Status::IOError("injected: ", ToString(operation), " ", path, " after the crash")};
    }
    const Fault* fault = nullptr;
    for (auto& rule : rules_) {
      if (!Matches(rule.fault, operation, path)) continue;
      ++rule.seen;
      const int64_t since = rule.seen - rule.fault.nth;
      if (fault == nullptr && since >= 0 && since < rule.fault.times) fault = &rule.fault;
    }
    if (fault == nullptr) return {};
    ++struck_;
    crashed_ = fault->crash;
    if (fault->mode == FaultMode::kShortWrite) {
      return {true, fault->mode, SystemError(ToString(operation), path, ENOSPC)};
    }
    const auto text =
        fmt::format("injected: {} {} failed {} effect (call {})", ToString(operation), path,
                    fault->mode == FaultMode::kAfter ? "after" : "before", calls_);
    return {true, fault->mode,
            fault->transient ? TransientIoError(text) : arrow::Status::IOError(text)};
  }

  // Status or Result of `effect`, unless the call is to fail.
  template <typename Effect>
  auto Run(IoOperation operation, const std::string& path, Effect&& effect) -> decltype(effect()) {
    const Verdict verdict = Next(operation, path);
    if (verdict.before()) return verdict.error;
    auto result = effect();
    if (verdict.after()) return verdict.error;
    return result;
  }

 private:
  struct Rule {
    Fault fault;
    int64_t seen;
  };

  static bool Matches(const Fault& fault, IoOperation operation, const std::string& path) {
    if (fault.operation && *fault.operation != operation) return false;
    return fault.path_glob.empty() || fnmatch(fault.path_glob.c_str(), path.c_str(), 0) == 0;
  }

  mutable std::mutex mutex_;
  std::vector<Rule> rules_;
  int64_t calls_ = 0;
  int64_t struck_ = 0;
  bool crashed_ = false;
};

namespace {

class FaultyInput : public ForwardingInput {
 public:
  FaultyInput(const std::string& path, int64_t size_bytes,
              std::shared_ptr<arrow::io::RandomAccessFile> inner,
              std::shared_ptr<FaultyFileIO::Plan> plan)
      : ForwardingInput(path, size_bytes, std::move(inner)), plan_(std::move(plan)) {}

 protected:
  arrow::Result<int64_t> ReadInto(int64_t position, int64_t length, void* out) override {
    return plan_->Run(IoOperation::kRead, name(),
                      [&] { return ForwardingInput::ReadInto(position, length, out); });
  }
  arrow::Result<std::shared_ptr<arrow::Buffer>> ReadBuffer(int64_t position,
                                                           int64_t length) override {
    return plan_->Run(IoOperation::kRead, name(),
                      [&] { return ForwardingInput::ReadBuffer(position, length); });
  }

 private:
  const std::shared_ptr<FaultyFileIO::Plan> plan_;
};

class FaultyOutput : public arrow::io::OutputStream {
 public:
  FaultyOutput(std::string path, std::shared_ptr<arrow::io::OutputStream> inner,
               std::shared_ptr<FaultyFileIO::Plan> plan)
      : path_(std::move(path)), inner_(std::move(inner)), plan_(std::move(plan)) {}

  ~FaultyOutput() override { KeepIfCrashed(); }

  using OutputStream::Write;
  arrow::Status Write(const void* data, int64_t length) override {
    const Verdict verdict = plan_->Next(IoOperation::kWrite, path_);
    if (verdict.strike && verdict.mode == FaultMode::kShortWrite) {
      ARROW_RETURN_NOT_OK(inner_->Write(data, length / 2));
    }
    if (verdict.before()) return verdict.error;
    ARROW_RETURN_NOT_OK(inner_->Write(data, length));
    return verdict.error;
  }
  arrow::Status Flush() override { return inner_->Flush(); }
  arrow::Status Close() override {
    return plan_->Run(IoOperation::kClose, path_, [&] { return inner_->Close(); });
  }
  arrow::Status Abort() override {
    KeepIfCrashed();
    return inner_->Abort();
  }
  arrow::Result<int64_t> Tell() const override { return inner_->Tell(); }
  bool closed() const override { return inner_->closed(); }

 private:
  // A dead process removes nothing.
  void KeepIfCrashed() {
    if (plan_->crashed() && !inner_->closed()) {
      IgnoreError(inner_->Close(), "the injected crash was reported already");
    }
  }

  const std::string path_;
  const std::shared_ptr<arrow::io::OutputStream> inner_;
  const std::shared_ptr<FaultyFileIO::Plan> plan_;
};

}  // namespace

FaultyFileIO::FaultyFileIO(std::shared_ptr<FileIO> inner)
    : ForwardingFileIO(std::move(inner)), plan_(std::make_shared<Plan>()) {}

void FaultyFileIO::Add(Fault fault) { plan_->Add(std::move(fault)); }
void FaultyFileIO::Heal() { plan_->Heal(); }
int64_t FaultyFileIO::calls() const { return plan_->calls(); }
int64_t FaultyFileIO::struck() const { return plan_->struck(); }

arrow::Result<std::shared_ptr<arrow::io::RandomAccessFile>> FaultyFileIO::OpenInput(
    const std::string& path) {
  ARROW_ASSIGN_OR_RAISE(auto file, plan_->Run(IoOperation::kOpenInput, path,
                                              [&] { return inner().OpenInput(path); }));
  ARROW_ASSIGN_OR_RAISE(const int64_t size_bytes, file->GetSize());
  return std::make_shared<FaultyInput>(path, size_bytes, std::move(file), plan_);
}

arrow::Result<std::shared_ptr<arrow::io::OutputStream>> FaultyFileIO::CreateNew(
    const std::string& path) {
  const Verdict verdict = plan_->Next(IoOperation::kCreateNew, path);
  if (verdict.before()) return verdict.error;
  ARROW_ASSIGN_OR_RAISE(auto file, inner().CreateNew(path));
  if (verdict.after()) {
    // The file is there, and nobody holds it.
    IgnoreError(file->Close(), "the injected error is returned instead");
    return verdict.error;
  }
  return std::make_shared<FaultyOutput>(path, std::move(file), plan_);
}

arrow::Result<FileInfo> FaultyFileIO::Stat(const std::string& path) {
  return plan_->Run(IoOperation::kStat, path, [&] { return inner().Stat(path); });
}

arrow::Result<std::vector<FileInfo>> FaultyFileIO::List(const std::string& dir) {
  return plan_->Run(IoOperation::kList, dir, [&] { return inner().List(dir); });
}

arrow::Status FaultyFileIO::MakeDirs(const std::string& dir) {
  return plan_->Run(IoOperation::kMakeDirs, dir, [&] { return inner().MakeDirs(dir); });
}

arrow::Status FaultyFileIO::DeleteFile(const std::string& path) {
  return plan_->Run(IoOperation::kDeleteFile, path, [&] { return inner().DeleteFile(path); });
}

arrow::Status FaultyFileIO::DeleteDir(const std::string& dir) {
  return plan_->Run(IoOperation::kDeleteDir, dir, [&] { return inner().DeleteDir(dir); });
}

arrow::Status FaultyFileIO::Rename(const std::string& from, const std::string& to) {
  return plan_->Run(IoOperation::kRename, to, [&] { return inner().Rename(from, to); });
}

PublishResult FaultyFileIO::PublishNew(const std::string& path, std::string_view bytes) {
  const Verdict verdict = plan_->Next(IoOperation::kPublishNew, path);
  if (verdict.before()) return {PublishOutcome::kUnknown, verdict.error};
  auto result = inner().PublishNew(path, bytes);
  if (verdict.after()) return {PublishOutcome::kUnknown, verdict.error};
  return result;
}

arrow::Status FaultyFileIO::WriteReplacing(const std::string& path, std::string_view bytes) {
  return plan_->Run(IoOperation::kWriteReplacing, path,
                    [&] { return inner().WriteReplacing(path, bytes); });
}

arrow::Result<std::string> FaultyFileIO::ReadAll(const std::string& path, int64_t size_max_bytes) {
  return plan_->Run(IoOperation::kReadAll, path,
                    [&] { return inner().ReadAll(path, size_max_bytes); });
}

arrow::Result<std::vector<std::shared_ptr<arrow::Buffer>>> FaultyFileIO::ReadRanges(
    const std::string& path, const std::vector<ByteRange>& ranges) {
  return plan_->Run(IoOperation::kReadRanges, path,
                    [&] { return inner().ReadRanges(path, ranges); });
}

}  // namespace kelda
