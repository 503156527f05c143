#pragma once

#include <array>
#include <memory>

#include "kelda/base/metrics.h"
#include "kelda/io/forwarding_file_io.h"
#include "kelda/io/io_operation.h"

namespace kelda {

/// Counts calls and bytes per operation into metrics `io.<operation>.calls` and
/// `io.<operation>.bytes`. Failed calls count as calls; bytes are those really read or written.
class CountingFileIO : public ForwardingFileIO {
 public:
  /// Counts into `registry`, or into one of its own when that is null. A given registry must
  /// outlive all files.
  explicit CountingFileIO(std::shared_ptr<FileIO> inner, MetricsRegistry* registry = nullptr);

  int64_t calls(IoOperation operation) const;
  int64_t bytes(IoOperation operation) const;
  int64_t calls() const;  ///< of all operations

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

  /// Counters of one run, shared with the open files.
  struct Counters {
    std::unique_ptr<MetricsRegistry> own_registry;
    std::array<Counter*, kIoOperations> calls;
    std::array<Counter*, kIoOperations> bytes;
    void Count(IoOperation operation, int64_t bytes_moved = 0) const;
    void AddBytes(IoOperation operation, int64_t bytes_moved) const;
  };

 private:
  const std::shared_ptr<const Counters> counters_;
};

}  // namespace kelda
