#include "kelda/io/positional_input.h"

#include <algorithm>

namespace kelda {

arrow::Status PositionalInput::Close() {
  if (closed_.exchange(true, std::memory_order_acq_rel)) return arrow::Status::OK();
  return DoClose();
}

arrow::Result<int64_t> PositionalInput::Tell() const {
  if (closed()) return Invalid("tell on closed file {}", name_);
  return position_;
}

arrow::Status PositionalInput::Seek(int64_t position) {
  if (closed()) return Invalid("seek on closed file {}", name_);
  if (position < 0) return Invalid("seek to {} in {}", position, name_);
  position_ = position;
  return arrow::Status::OK();
}

arrow::Result<int64_t> PositionalInput::GetSize() {
  if (closed()) return Invalid("size of closed file {}", name_);
  return size_bytes_;
}

arrow::Result<int64_t> PositionalInput::Read(int64_t length, void* out) {
  ARROW_ASSIGN_OR_RAISE(int64_t got, ReadAt(position_, length, out));
  position_ += got;
  return got;
}

arrow::Result<std::shared_ptr<arrow::Buffer>> PositionalInput::Read(int64_t length) {
  ARROW_ASSIGN_OR_RAISE(auto buffer, ReadAt(position_, length));
  position_ += buffer->size();
  return buffer;
}

arrow::Result<int64_t> PositionalInput::ReadAt(int64_t position, int64_t length, void* out) {
  ARROW_ASSIGN_OR_RAISE(length, ClippedLength(position, length));
  if (length == 0) return 0;
  return ReadInto(position, length, out);
}

arrow::Result<std::shared_ptr<arrow::Buffer>> PositionalInput::ReadAt(int64_t position,
                                                                      int64_t length) {
  ARROW_ASSIGN_OR_RAISE(length, ClippedLength(position, length));
  if (length == 0) return std::make_shared<arrow::Buffer>(nullptr, 0);
  return ReadBuffer(position, length);
}

arrow::Result<std::shared_ptr<arrow::Buffer>> PositionalInput::ReadBuffer(int64_t position,
                                                                          int64_t length) {
  ARROW_ASSIGN_OR_RAISE(auto buffer, arrow::AllocateResizableBuffer(length));
  ARROW_ASSIGN_OR_RAISE(int64_t got, ReadInto(position, length, buffer->mutable_data()));
  if (got < length) ARROW_RETURN_NOT_OK(buffer->Resize(got));
  return std::shared_ptr<arrow::Buffer>(std::move(buffer));
}

arrow::Result<int64_t> PositionalInput::ClippedLength(int64_t position, int64_t length) const {
  if (closed()) return Invalid("read of closed file {}", name_);
  if (position < 0 || length < 0) {
    return Invalid("read of {} bytes at {} in {}", length, position, name_);
  }
  if (position >= size_bytes_) return 0;
  return std::min(length, size_bytes_ - position);
}

}  // namespace kelda
