#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include <arrow/util/compression.h>

#include "kelda/format/orc/orc_metadata.h"

namespace kelda {

/// Compresses and decompresses the chunks that the parts of an ORC file are cut into. One thread at
/// a time.
class OrcCodec {
 public:
  /// `level` is for zstd only. LZO and Brotli are Unsupported.
  static arrow::Result<std::unique_ptr<OrcCodec>> Make(OrcCompression compression,
                                                       uint64_t block_size, int level = 1);

  bool compressing() const { return codec_ != nullptr; }
  int64_t block_size() const { return block_size_; }  ///< most bytes of a decompressed chunk

  static constexpr int64_t kHeaderBytes = 3;
  struct Chunk {
    std::string_view bytes;   ///< as stored, behind the header
    bool original = false;    ///< stored without compression
    int64_t stored_size = 0;  ///< with the header
  };
  /// The chunk at the start of `bytes`.
  arrow::Result<Chunk> Split(std::string_view bytes) const;
  /// Decompress a chunk that is not original into `out`, which has room for block_size() bytes;
  /// gives the number of bytes.
  arrow::Result<int64_t> Decompress(const Chunk& chunk, uint8_t* out);
  /// Decompress a whole part of the tail, of at most `size_max` bytes.
  arrow::Result<std::string> DecompressAll(std::string_view bytes, int64_t size_max);

  /// Append `bytes`, at most block_size() of them, to `out` as one chunk; without compression as
  /// they are.
  arrow::Status CompressChunk(std::string_view bytes, std::string* out);
  arrow::Status CompressAll(std::string_view bytes, std::string* out);

 private:
  arrow::Result<int64_t> DecompressZstd(const Chunk& chunk, uint8_t* out);

  std::unique_ptr<arrow::util::Codec> codec_;
  std::shared_ptr<arrow::util::Decompressor> zstd_stream_;
  bool zstd_ = false;
  int64_t block_size_ = 0;
};

}  // namespace kelda
