#include "kelda/avro/codec.h"

#include <algorithm>

#include <arrow/util/crc32.h>

#include "kelda/base/bytes.h"

namespace kelda::avro {

namespace {

constexpr int64_t kOutputSizeStartBytes = int64_t{128} << 10;
constexpr int64_t kChecksumSizeBytes = 4;
// A snappy copy of two bytes and a tag gives at most 64 bytes.
constexpr int64_t kSnappyRatioMax = 24;

uint32_t Checksum(const uint8_t* data, int64_t size) {
  return arrow::internal::crc32(0, data, static_cast<size_t>(size));
}

/// Uncompressed size from the head of snappy data; negative if it is broken.
int64_t SnappySize(std::span<const uint8_t> data) {
  uint64_t size = 0;
  for (size_t i = 0; i < data.size() && i < 5; ++i) {
    size |= static_cast<uint64_t>(data[i] & 0x7f) << (7 * i);
    if (data[i] < 0x80) return static_cast<int64_t>(size);
  }
  return -1;
}

}  // namespace

arrow::Result<std::unique_ptr<BlockCodec>> BlockCodec::Make(const std::string& name, int level,
                                                            arrow::MemoryPool* pool) {
  std::unique_ptr<BlockCodec> made(new BlockCodec());
  if (name == "null") return made;
  if (name == "deflate") {
    made->kind_ = Kind::kDeflate;
    arrow::util::GZipCodecOptions options;
    options.gzip_format = arrow::util::GZipFormat::DEFLATE;
    options.compression_level = level;
    ARROW_ASSIGN_OR_RAISE(made->codec_,
                          arrow::util::Codec::Create(arrow::Compression::GZIP, options));
  } else if (name == "snappy") {
    made->kind_ = Kind::kSnappy;
    ARROW_ASSIGN_OR_RAISE(made->codec_, arrow::util::Codec::Create(arrow::Compression::SNAPPY));
  } else if (name == "zstandard") {
    made->kind_ = Kind::kZstandard;
    ARROW_ASSIGN_OR_RAISE(made->codec_,
                          arrow::util::Codec::Create(arrow::Compression::ZSTD, level));
  } else {
    return Unsupported("Avro codec '{}' (only null, deflate, snappy, zstandard)",
                       name.substr(0, 32));
  }
  ARROW_ASSIGN_OR_RAISE(made->output_, arrow::AllocateResizableBuffer(0, pool));
  return made;
}

arrow::Status BlockCodec::Grow(int64_t size_bytes) {
  if (output_->size() >= size_bytes) return arrow::Status::OK();
  return output_->Resize(size_bytes, /*shrink_to_fit=*/false);
}

arrow::Result<std::span<const uint8_t>> BlockCodec::Decompress(std::span<const uint8_t> block,
                                                               int64_t size_max_bytes) {
  switch (kind_) {
    case Kind::kNull:
      if (static_cast<int64_t>(block.size()) > size_max_bytes) {
        return Invalid("block of {} bytes is larger than {} bytes", block.size(), size_max_bytes);
      }
      return block;
    case Kind::kSnappy:
      return DecompressSnappy(block, size_max_bytes);
    default:
      return DecompressStream(block, size_max_bytes);
  }
}

arrow::Result<std::span<const uint8_t>> BlockCodec::DecompressSnappy(std::span<const uint8_t> block,
                                                                     int64_t size_max_bytes) {
  const auto size = static_cast<int64_t>(block.size()) - kChecksumSizeBytes;
  if (size <= 0) return Invalid("snappy block is too short");
  const auto data = block.first(static_cast<size_t>(size));
  const int64_t output_size = SnappySize(data);
  if (output_size < 0 || output_size > size_max_bytes || output_size > size * kSnappyRatioMax) {
    return Invalid("snappy block of {} bytes claims {} uncompressed bytes", size, output_size);
  }
  ARROW_RETURN_NOT_OK(Grow(output_size));
  const auto decompressed =
      codec_->Decompress(size, data.data(), output_size, output_->mutable_data());
  if (!decompressed.ok() || *decompressed != output_size) return Invalid("broken snappy data");
  if (Checksum(output_->data(), output_size) != LoadBE32(data.data() + size)) {
    return Invalid("checksum of the snappy block does not match");
  }
  return std::span<const uint8_t>(output_->data(), static_cast<size_t>(output_size));
}

arrow::Result<std::span<const uint8_t>> BlockCodec::DecompressStream(std::span<const uint8_t> block,
                                                                     int64_t size_max_bytes) {
  if (decompressor_ == nullptr) {
    ARROW_ASSIGN_OR_RAISE(decompressor_, codec_->MakeDecompressor());
  } else {
    ARROW_RETURN_NOT_OK(decompressor_->Reset());
  }
  ARROW_RETURN_NOT_OK(Grow(std::min(kOutputSizeStartBytes, size_max_bytes)));
  const char* name = kind_ == Kind::kDeflate ? "deflate" : "zstandard";
  int64_t written = 0;
  bool finished = block.empty();
  while (!finished) {
    // The buffer may be larger than the limit from an earlier use.
    int64_t room = std::min(output_->size(), size_max_bytes) - written;
    if (room == 0) {
      if (written >= size_max_bytes)
        return Invalid("block decompresses to more than {} bytes", size_max_bytes);
      ARROW_RETURN_NOT_OK(Grow(std::min(2 * written, size_max_bytes)));
      room = std::min(output_->size(), size_max_bytes) - written;
    }
    const auto step = decompressor_->Decompress(static_cast<int64_t>(block.size()), block.data(),
                                                room, output_->mutable_data() + written);
    if (!step.ok()) return Invalid("broken {} data", name);
    block = block.subspan(static_cast<size_t>(step->bytes_read));
    written += step->bytes_written;
    if (decompressor_->IsFinished()) {
      // A block may be several zstandard frames. Python's libraries leave checksum bytes behind
      // deflate data.
      finished = block.empty() || kind_ == Kind::kDeflate;
      if (!finished) ARROW_RETURN_NOT_OK(decompressor_->Reset());
    } else if (step->bytes_read == 0 && step->bytes_written == 0) {
      return Invalid("{} data ends early", name);
    }
  }
  return std::span<const uint8_t>(output_->data(), static_cast<size_t>(written));
}

arrow::Result<std::span<const uint8_t>> BlockCodec::Compress(std::span<const uint8_t> data) {
  if (kind_ == Kind::kNull) return data;
  const auto size = static_cast<int64_t>(data.size());
  const int64_t size_max = codec_->MaxCompressedLen(size, data.data());
  ARROW_RETURN_NOT_OK(Grow(size_max + kChecksumSizeBytes));
  ARROW_ASSIGN_OR_RAISE(int64_t written,
                        codec_->Compress(size, data.data(), size_max, output_->mutable_data()));
  if (kind_ == Kind::kSnappy) {
    StoreBE32(output_->mutable_data() + written, Checksum(data.data(), size));
    written += kChecksumSizeBytes;
  }
  return std::span<const uint8_t>(output_->data(), static_cast<size_t>(written));
}

}  // namespace kelda::avro
