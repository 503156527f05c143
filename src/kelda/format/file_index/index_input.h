#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include <arrow/buffer.h>

#include "kelda/base/bytes.h"
#include "kelda/base/status.h"
#include "kelda/io/file_io.h"

namespace kelda {

/// Bytes of one index container, read only as far as asked for. Not thread-safe.
class IndexInput {
 public:
  virtual ~IndexInput() = default;
  /// Path of the side file, or what else names the bytes in errors.
  virtual const std::string& name() const = 0;
  virtual int64_t size() const = 0;
  /// REQUIRES: the range lies inside [0, size()).
  virtual arrow::Result<std::shared_ptr<arrow::Buffer>> Read(int64_t offset, int64_t length) = 0;

  /// Bytes from a manifest; borrowed.
  static std::unique_ptr<IndexInput> FromMemory(std::string_view bytes, std::string name);
  /// A side file. The first bytes, where small indexes lie whole, are kept.
  static arrow::Result<std::unique_ptr<IndexInput>> FromFile(FileIO& io, const std::string& path);
};

/// One index inside a container. Offsets are relative to its start; every access is checked.
class IndexBlob {
 public:
  IndexBlob(IndexInput* input, int64_t start, int64_t length)
      : input_(input), start_(start), length_(length) {}

  int64_t length() const { return length_; }
  const std::string& name() const { return input_->name(); }
  arrow::Result<std::shared_ptr<arrow::Buffer>> Read(int64_t offset, int64_t length) const;
  /// Corruption that names the file and the place.
  arrow::Status Error(std::string_view what, int64_t offset) const;

 private:
  IndexInput* input_;
  int64_t start_;
  int64_t length_;
};

/// Reads a part of an index from front to back through a window. Not thread-safe.
class IndexCursor {
 public:
  /// Bytes [offset, end) of the blob.
  IndexCursor(const IndexBlob* blob, int64_t offset, int64_t end)
      : blob_(blob), offset_(offset), end_(end) {}

  int64_t offset() const { return offset_; }
  int64_t remaining() const { return end_ - offset_; }
  arrow::Result<uint8_t> Byte();
  arrow::Result<int32_t> BE32();
  arrow::Result<int64_t> BE64() { return Signed(8); }
  /// Big-endian two's complement number of `width` bytes, 1 to 8.
  arrow::Result<int64_t> Signed(int width);
  /// A count or size: BE32 that must not be negative.
  arrow::Result<int32_t> Count(std::string_view what);
  arrow::Status Bytes(int64_t length, std::string* out);
  arrow::Status Skip(int64_t length);
  arrow::Status Error(std::string_view what) const { return blob_->Error(what, offset_); }

 private:
  /// At least `length` bytes from offset_ on in the window.
  arrow::Result<const uint8_t*> Need(int64_t length);

  const IndexBlob* blob_;
  int64_t offset_;
  int64_t end_;
  std::shared_ptr<arrow::Buffer> window_;
  int64_t window_start_ = 0;
};

}  // namespace kelda
