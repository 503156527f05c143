#include "kelda/format/orc/out_stream.h"

#include <utility>

namespace kelda {

arrow::Status OutStream::AppendMore(std::string_view bytes) {
  const auto block = static_cast<size_t>(codec_->block_size());
  while (!bytes.empty()) {
    const auto part = bytes.substr(0, block - pending_.size());
    pending_ += part;
    bytes.remove_prefix(part.size());
    if (pending_.size() == block) ARROW_RETURN_NOT_OK(Flush());
  }
  return arrow::Status::OK();
}

arrow::Status OutStream::Flush() {
  ARROW_RETURN_NOT_OK(codec_->CompressChunk(pending_, &stored_));
  pending_.clear();
  return arrow::Status::OK();
}

arrow::Result<std::string> OutStream::Take() {
  ARROW_RETURN_NOT_OK(Flush());
  return std::exchange(stored_, {});
}

void OutStream::Clear() {
  stored_.clear();
  pending_.clear();
}

}  // namespace kelda
