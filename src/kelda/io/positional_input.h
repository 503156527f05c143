#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <string>

#include <arrow/buffer.h>
#include <arrow/io/interfaces.h>

#include "kelda/base/status.h"

namespace kelda {

/// A RandomAccessFile of known size on top of one function that reads at a position. It clips to
/// the size before anything is allocated. ReadAt is thread-safe as far as ReadInto is; Read, Seek
/// and Tell share a cursor and are not.
class PositionalInput : public arrow::io::RandomAccessFile {
 public:
  arrow::Status Close() override;
  bool closed() const override { return closed_.load(std::memory_order_acquire); }
  arrow::Result<int64_t> Tell() const override;
  arrow::Status Seek(int64_t position) override;
  arrow::Result<int64_t> GetSize() override;
  arrow::Result<int64_t> Read(int64_t length, void* out) override;
  arrow::Result<std::shared_ptr<arrow::Buffer>> Read(int64_t length) override;
  using RandomAccessFile::ReadAt;
  arrow::Result<int64_t> ReadAt(int64_t position, int64_t length, void* out) override;
  arrow::Result<std::shared_ptr<arrow::Buffer>> ReadAt(int64_t position, int64_t length) override;

 protected:
  PositionalInput(std::string name, int64_t size_bytes)
      : name_(std::move(name)), size_bytes_(size_bytes) {}

  /// Read up to `length` bytes at `position`, both inside the file; fewer only where the file has
  /// shrunk.
  virtual arrow::Result<int64_t> ReadInto(int64_t position, int64_t length, void* out) = 0;
  /// The same into a buffer; overridden where the bytes need no copy.
  virtual arrow::Result<std::shared_ptr<arrow::Buffer>> ReadBuffer(int64_t position,
                                                                   int64_t length);
  /// Called once, by the first Close.
  virtual arrow::Status DoClose() { return arrow::Status::OK(); }

  const std::string& name() const { return name_; }
  int64_t size_bytes() const { return size_bytes_; }

 private:
  arrow::Result<int64_t> ClippedLength(int64_t position, int64_t length) const;

  const std::string name_;
  const int64_t size_bytes_;
  int64_t position_ = 0;
  std::atomic<bool> closed_{false};
};

/// PositionalInput that hands each read to another file; the base of the inputs that wrappers give
/// out.
class ForwardingInput : public PositionalInput {
 protected:
  ForwardingInput(std::string name, int64_t size_bytes,
                  std::shared_ptr<arrow::io::RandomAccessFile> inner)
      : PositionalInput(std::move(name), size_bytes), inner_(std::move(inner)) {}

  arrow::Result<int64_t> ReadInto(int64_t position, int64_t length, void* out) override {
    return inner_->ReadAt(position, length, out);
  }
  arrow::Result<std::shared_ptr<arrow::Buffer>> ReadBuffer(int64_t position,
                                                           int64_t length) override {
    return inner_->ReadAt(position, length);
  }
  arrow::Status DoClose() override { return inner_->Close(); }

  arrow::io::RandomAccessFile& inner() { return *inner_; }

 private:
  const std::shared_ptr<arrow::io::RandomAccessFile> inner_;
};

}  // namespace kelda
