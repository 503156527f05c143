#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include <arrow/buffer.h>

#include "kelda/format/orc/orc_codec.h"

namespace kelda {

/// Positions of one row index entry, taken one after the other by the streams of a column.
class OrcPositions {
 public:
  explicit OrcPositions(const std::vector<uint64_t>& positions) : positions_(positions) {}
  arrow::Result<int64_t> Next() {
    if (next_ == positions_.size() || positions_[next_] >> 40 != 0) {
      return Corruption("position {} of a row index entry is missing or out of range", next_);
    }
    return static_cast<int64_t>(positions_[next_++]);
  }

 private:
  const std::vector<uint64_t>& positions_;
  size_t next_ = 0;
};

/// Part of a stream that was fetched.
struct OrcPiece {
  int64_t offset = 0;  ///< in the stream
  std::shared_ptr<arrow::Buffer> bytes;
};

/// Bytes of one stream, decompressed chunk by chunk. One thread at a time.
class InStream {
 public:
  /// `name` ("column 3 DATA") and `file_offset` go into errors. The codec is borrowed.
  InStream(std::string name, int64_t file_offset, int64_t length, std::vector<OrcPiece> pieces,
           OrcCodec* codec);

  /// Decompressed bytes that lie ready, contiguous.
  const uint8_t* data() const { return data_; }
  size_t available() const { return static_cast<size_t>(end_ - data_); }
  void Advance(size_t n) { data_ += n; }
  /// Make `n` bytes ready, or all that are left.
  arrow::Status Fill(size_t n) { return available() >= n ? arrow::Status::OK() : FillMore(n); }
  /// Make `n` bytes ready; an error if fewer are left.
  arrow::Status Require(size_t n) {
    ARROW_RETURN_NOT_OK(Fill(n));
    return available() >= n ? arrow::Status::OK() : Error("the stream ends too early");
  }
  /// Copy the next `n` bytes out.
  arrow::Status Copy(uint8_t* out, int64_t n);
  arrow::Status Skip(int64_t n);
  /// Go to what a row index entry says.
  arrow::Status Seek(OrcPositions* positions);
  arrow::Status Error(std::string_view what) const;

 private:
  arrow::Status FillMore(size_t n);
  arrow::Status NextChunk(bool* more);
  arrow::Status Append(std::string_view bytes);
  std::string_view Rest() const;

  const std::string name_;
  const int64_t file_offset_;
  const int64_t length_;
  const std::vector<OrcPiece> pieces_;
  OrcCodec* const codec_;
  int64_t next_ = 0;  ///< offset in the stream behind the chunk that lies ready
  size_t piece_ = 0;
  std::vector<uint8_t> buffer_;
  const uint8_t* data_ = nullptr;
  const uint8_t* end_ = nullptr;
};

}  // namespace kelda
