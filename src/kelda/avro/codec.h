#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>

#include <arrow/buffer.h>
#include <arrow/util/compression.h>

#include "kelda/base/status.h"

namespace kelda::avro {

/// Compression of the blocks of an Avro file. Keeps its output buffer, so one codec serves one file
/// at a time.
class BlockCodec {
 public:
  static constexpr int kDefaultLevel = arrow::util::kUseDefaultCompressionLevel;

  /// `name` is the Avro name: null, deflate, snappy, zstandard. Others are NotImplemented by name.
  static arrow::Result<std::unique_ptr<BlockCodec>> Make(const std::string& name, int level,
                                                         arrow::MemoryPool* pool);

  /// The uncompressed bytes, valid until the next call (or as long as `block`, when there is no
  /// compression). Broken input, or more than `size_max_bytes` of output, is Invalid. Output grows
  /// as it comes: sizes claimed by the input are not trusted.
  arrow::Result<std::span<const uint8_t>> Decompress(std::span<const uint8_t> block,
                                                     int64_t size_max_bytes);

  /// The compressed bytes, valid until the next call (or as long as `data`).
  arrow::Result<std::span<const uint8_t>> Compress(std::span<const uint8_t> data);

  /// Memory held for output.
  int64_t buffered_bytes() const { return output_ == nullptr ? 0 : output_->capacity(); }

 private:
  enum class Kind { kNull, kDeflate, kSnappy, kZstandard };

  BlockCodec() = default;
  arrow::Status Grow(int64_t size_bytes);
  arrow::Result<std::span<const uint8_t>> DecompressSnappy(std::span<const uint8_t> block,
                                                           int64_t size_max_bytes);
  arrow::Result<std::span<const uint8_t>> DecompressStream(std::span<const uint8_t> block,
                                                           int64_t size_max_bytes);

  Kind kind_ = Kind::kNull;
  std::unique_ptr<arrow::util::Codec> codec_;
  std::shared_ptr<arrow::util::Decompressor> decompressor_;
  std::unique_ptr<arrow::ResizableBuffer> output_;
};

}  // namespace kelda::avro
