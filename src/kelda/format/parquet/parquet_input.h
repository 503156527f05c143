#pragma once

#include <memory>
#include <mutex>
#include <string>

#include <arrow/io/interfaces.h>

#include "kelda/base/status.h"

namespace kelda {

/// Input of a Parquet reader. Remembers the first failure of the file below, so that it can be told
/// from bytes that break the format: the library turns both into exceptions. Thread-safe as far as
/// the file below is.
class ParquetInput : public arrow::io::RandomAccessFile {
 public:
  explicit ParquetInput(std::shared_ptr<arrow::io::RandomAccessFile> file)
      : file_(std::move(file)) {}

  arrow::Status Close() override { return file_->Close(); }
  bool closed() const override { return file_->closed(); }
  arrow::Result<int64_t> Tell() const override { return file_->Tell(); }
  arrow::Result<int64_t> GetSize() override { return Watch(file_->GetSize()); }
  arrow::Status Seek(int64_t position) override { return Watch(file_->Seek(position)); }
  arrow::Result<int64_t> Read(int64_t size, void* out) override {
    return Watch(file_->Read(size, out));
  }
  arrow::Result<std::shared_ptr<arrow::Buffer>> Read(int64_t size) override {
    return Watch(file_->Read(size));
  }
  arrow::Result<int64_t> ReadAt(int64_t position, int64_t size, void* out) override {
    return Watch(file_->ReadAt(position, size, out));
  }
  arrow::Result<std::shared_ptr<arrow::Buffer>> ReadAt(int64_t position, int64_t size) override {
    return Watch(file_->ReadAt(position, size));
  }
  arrow::Status WillNeed(const std::vector<arrow::io::ReadRange>& ranges) override {
    return file_->WillNeed(ranges);
  }

  arrow::Status failure() const;

 private:
  template <typename R>
  R Watch(R result) {
    if (!result.ok()) Remember(result);
    return result;
  }
  void Remember(const arrow::Status& status);
  template <typename T>
  void Remember(const arrow::Result<T>& result) {
    Remember(result.status());
  }

  std::shared_ptr<arrow::io::RandomAccessFile> file_;
  mutable std::mutex mutex_;
  arrow::Status failure_;
};

}  // namespace kelda
