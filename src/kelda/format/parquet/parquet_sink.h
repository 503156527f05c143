#pragma once

#include <memory>
#include <string>

#include <arrow/io/interfaces.h>

#include "kelda/base/status.h"

namespace kelda {

/// Output of a Parquet writer. Remembers the first failure of the file below, which the library
/// would turn into an exception text, and swallows writes after Abandon: the library writes a
/// footer when it is destroyed.
class ParquetSink : public arrow::io::OutputStream {
 public:
  explicit ParquetSink(std::shared_ptr<arrow::io::OutputStream> file) : file_(std::move(file)) {}

  arrow::Status Write(const void* data, int64_t size) override;
  arrow::Result<int64_t> Tell() const override { return position_; }
  arrow::Status Close() override { return arrow::Status::OK(); }
  arrow::Status Flush() override { return arrow::Status::OK(); }
  bool closed() const override { return false; }

  int64_t position() const { return position_; }
  const arrow::Status& failure() const { return failure_; }
  void Abandon() { abandoned_ = true; }
  arrow::Status CloseFile() { return file_->Close(); }

 private:
  std::shared_ptr<arrow::io::OutputStream> file_;
  int64_t position_ = 0;
  bool abandoned_ = false;
  arrow::Status failure_;
};

}  // namespace kelda
