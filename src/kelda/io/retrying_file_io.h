#pragma once

#include <memory>

#include "kelda/base/clock.h"
#include "kelda/io/forwarding_file_io.h"

namespace kelda {

struct RetryPolicy {
  int attempts_max = 5;
  int64_t backoff_ms_min = 50;  ///< before the second attempt; doubles from there
  int64_t backoff_ms_max = 5000;
};

/// Repeats idempotent calls that fail with a transient error (IsTransient), with jittered
/// exponential back-off. Not repeated: PublishNew, CreateNew, Rename and calls on outputs, where an
/// attempt whose answer was lost would look like somebody else's success.
class RetryingFileIO : public ForwardingFileIO {
 public:
  RetryingFileIO(std::shared_ptr<FileIO> inner, RetryPolicy policy,
                 std::shared_ptr<Clock> clock = Clock::System(),
                 std::shared_ptr<Random> random = Random::System());

  arrow::Result<std::shared_ptr<arrow::io::RandomAccessFile>> OpenInput(
      const std::string& path) override;
  arrow::Result<FileInfo> Stat(const std::string& path) override;
  arrow::Result<std::vector<FileInfo>> List(const std::string& dir) override;
  arrow::Status MakeDirs(const std::string& dir) override;
  arrow::Status DeleteFile(const std::string& path) override;
  arrow::Status DeleteDir(const std::string& dir) override;
  arrow::Status WriteReplacing(const std::string& path, std::string_view bytes) override;
  arrow::Result<std::string> ReadAll(const std::string& path, int64_t size_max_bytes) override;
  arrow::Result<std::vector<std::shared_ptr<arrow::Buffer>>> ReadRanges(
      const std::string& path, const std::vector<ByteRange>& ranges) override;

  class Retrier;

 private:
  const std::shared_ptr<Retrier> retrier_;
};

}  // namespace kelda
