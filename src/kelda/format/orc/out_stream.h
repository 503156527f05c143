#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "kelda/format/orc/orc_codec.h"

namespace kelda {

/// Bytes of one stream while they are written, compressed chunk by chunk. One thread at a time.
class OutStream {
 public:
  explicit OutStream(OrcCodec* codec) : codec_(codec) {}

  arrow::Status Append(const void* bytes, size_t size) {
    if (pending_.size() + size <= static_cast<size_t>(codec_->block_size())) {
      pending_.append(static_cast<const char*>(bytes), size);
      return arrow::Status::OK();
    }
    return AppendMore({static_cast<const char*>(bytes), size});
  }
  /// Where the next byte goes, as a row index tells it.
  void AddPosition(std::vector<uint64_t>* positions) const {
    positions->push_back(codec_->compressing() ? stored_.size() : stored_.size() + pending_.size());
    if (codec_->compressing()) positions->push_back(pending_.size());
  }
  /// The whole stream as stored; it is empty afterwards.
  arrow::Result<std::string> Take();
  void Clear();
  int64_t size() const { return static_cast<int64_t>(stored_.size() + pending_.size()); }
  int64_t memory() const { return static_cast<int64_t>(stored_.capacity() + pending_.capacity()); }

 private:
  arrow::Status AppendMore(std::string_view bytes);
  arrow::Status Flush();

  OrcCodec* const codec_;
  std::string stored_;
  std::string pending_;  ///< not compressed yet
};

}  // namespace kelda
