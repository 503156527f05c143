#include "kelda/format/orc/in_stream.h"

#include <algorithm>
#include <cstring>

namespace kelda {

InStream::InStream(std::string name, int64_t file_offset, int64_t length,
                   std::vector<OrcPiece> pieces, OrcCodec* codec)
    : name_(std::move(name)),
      file_offset_(file_offset),
      length_(length),
      pieces_(std::move(pieces)),
      codec_(codec) {}

arrow::Status InStream::Error(std::string_view what) const {
  return Corruption("{}, before byte offset {}: {}", name_, file_offset_ + next_, what);
}

/// What was fetched from `next_` on.
std::string_view InStream::Rest() const {
  if (piece_ >= pieces_.size()) return {};
  const OrcPiece& piece = pieces_[piece_];
  const int64_t skip = next_ - piece.offset;
  if (skip < 0 || skip >= piece.bytes->size()) return {};
  return std::string_view(*piece.bytes).substr(static_cast<size_t>(skip));
}

/// Move what is left to the front of the buffer and put `bytes` behind it.
arrow::Status InStream::Append(std::string_view bytes) {
  const size_t left = available();
  if (left == 0) {
    data_ = reinterpret_cast<const uint8_t*>(bytes.data());
    end_ = data_ + bytes.size();
    return arrow::Status::OK();
  }
  std::vector<uint8_t> joined(left + bytes.size());
  std::memcpy(joined.data(), data_, left);
  std::memcpy(joined.data() + left, bytes.data(), bytes.size());
  buffer_ = std::move(joined);
  data_ = buffer_.data();
  end_ = data_ + buffer_.size();
  return arrow::Status::OK();
}

arrow::Status InStream::NextChunk(bool* more) {
  *more = false;
  if (next_ >= length_) return arrow::Status::OK();
  const std::string_view rest = Rest();
  // Only parts of the stream were fetched: those of other rows are looked at in advance, at most.
  if (rest.empty()) return arrow::Status::OK();
  if (!codec_->compressing()) {
    *more = true;
    next_ += static_cast<int64_t>(rest.size());
    return Append(rest);
  }
  auto chunk = codec_->Split(rest);
  if (!chunk.ok()) {
    const bool cut = next_ + static_cast<int64_t>(rest.size()) < length_;
    return cut ? arrow::Status::OK() : Error(chunk.status().message());
  }
  *more = true;
  if (chunk->original) {
    next_ += chunk->stored_size;
    return Append(chunk->bytes);
  }
  const size_t left = available();
  const auto block = static_cast<size_t>(codec_->block_size());
  const bool in_buffer =
      left > 0 && data_ >= buffer_.data() && end_ <= buffer_.data() + buffer_.size();
  if (buffer_.size() < left + block) {
    std::vector<uint8_t> larger(left + block);
    if (left > 0) std::memcpy(larger.data(), data_, left);
    buffer_ = std::move(larger);
  } else if (left > 0) {
    if (in_buffer) {
      std::memmove(buffer_.data(), data_, left);
    } else {
      std::memcpy(buffer_.data(), data_, left);
    }
  }
  data_ = buffer_.data();
  end_ = data_ + left;
  auto size = codec_->Decompress(*chunk, buffer_.data() + left);
  if (!size.ok()) return Error(size.status().message());
  end_ += *size;
  next_ += chunk->stored_size;
  return arrow::Status::OK();
}

arrow::Status InStream::FillMore(size_t n) {
  bool more = true;
  while (more && available() < n) ARROW_RETURN_NOT_OK(NextChunk(&more));
  return arrow::Status::OK();
}

arrow::Status InStream::Copy(uint8_t* out, int64_t n) {
  while (n > 0) {
    if (available() == 0) ARROW_RETURN_NOT_OK(Require(1));
    const auto part = std::min<int64_t>(n, static_cast<int64_t>(available()));
    std::memcpy(out, data_, static_cast<size_t>(part));
    data_ += part;
    out += part;
    n -= part;
  }
  return arrow::Status::OK();
}

arrow::Status InStream::Skip(int64_t n) {
  while (n > 0) {
    if (available() == 0) ARROW_RETURN_NOT_OK(Require(1));
    const auto part = std::min<int64_t>(n, static_cast<int64_t>(available()));
    data_ += part;
    n -= part;
  }
  return arrow::Status::OK();
}

arrow::Status InStream::Seek(OrcPositions* positions) {
  ARROW_ASSIGN_OR_RAISE(int64_t offset, positions->Next());
  int64_t within = 0;
  if (codec_->compressing()) {
    ARROW_ASSIGN_OR_RAISE(within, positions->Next());
  }
  if (offset > length_) return Error("the row index leads behind the stream");
  data_ = end_ = nullptr;
  next_ = offset;
  piece_ = 0;
  while (piece_ + 1 < pieces_.size() && pieces_[piece_ + 1].offset <= offset) ++piece_;
  return Skip(within);
}

}  // namespace kelda
