#pragma once

#include <limits>
#include <memory>
#include <optional>
#include <string>

#include "kelda/io/forwarding_file_io.h"
#include "kelda/io/io_operation.h"

namespace kelda {

enum class FaultMode {
  kBefore,      ///< the call has no effect
  kAfter,       ///< the call has its effect, the answer is lost
  kShortWrite,  ///< half of the bytes of a write go out, then the disk is full; other calls: disk
                ///< full, no effect
};

/// Which call fails, and how. Unset conditions match every call.
struct Fault {
  std::optional<IoOperation> operation;
  std::string path_glob;  ///< of the path, '*' matches '/' too; empty = any
  int64_t nth = 1;        ///< the n-th call that matches, from 1
  int64_t times = 1;      ///< and as many after it, itself included
  FaultMode mode = FaultMode::kBefore;
  bool transient = true;  ///< what the error says about itself (see IsTransient)
  /// The process "dies" in this call: every later call fails without effect, and outputs that were
  /// open keep the bytes written so far instead of being removed.
  bool crash = false;

  static constexpr int64_t kForEver = std::numeric_limits<int64_t>::max();
};

/// Lets chosen calls fail, for tests. Thread-safe.
class FaultyFileIO : public ForwardingFileIO {
 public:
  explicit FaultyFileIO(std::shared_ptr<FileIO> inner);

  void Add(Fault fault);
  /// Forget all faults and a crash; the count of calls starts again.
  void Heal();
  /// Calls seen since the start or Heal: a sweep lets number 1, 2, ... calls() fail in turn.
  int64_t calls() const;
  /// Faults that struck (calls refused after a crash not counted).
  int64_t struck() const;

  arrow::Result<std::shared_ptr<arrow::io::RandomAccessFile>> OpenInput(
      const std::string& path) override;
  arrow::Result<std::shared_ptr<arrow::io::OutputStream>> CreateNew(
      const std::string& path) override;
  arrow::Result<FileInfo> Stat(const std::string& path) override;
  arrow::Result<std::vector<FileInfo>> List(const std::string& dir) override;
  arrow::Status MakeDirs(const std::string& dir) override;
  arrow::Status DeleteFile(const std::string& path) override;
  arrow::Status DeleteDir(const std::string& dir) override;
  arrow::Status Rename(const std::string& from, const std::string& to) override;
  PublishResult PublishNew(const std::string& path, std::string_view bytes) override;
  arrow::Status WriteReplacing(const std::string& path, std::string_view bytes) override;
  arrow::Result<std::string> ReadAll(const std::string& path, int64_t size_max_bytes) override;
  arrow::Result<std::vector<std::shared_ptr<arrow::Buffer>>> ReadRanges(
      const std::string& path, const std::vector<ByteRange>& ranges) override;

  class Plan;

 private:
  const std::shared_ptr<Plan> plan_;
};

}  // namespace kelda
