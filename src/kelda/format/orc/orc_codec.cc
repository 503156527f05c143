#include "kelda/format/orc/orc_codec.h"

#include <algorithm>
#include <cstring>
#include <optional>

#include "kelda/base/bytes.h"

namespace kelda {
namespace {

arrow::Result<std::unique_ptr<arrow::util::Codec>> MakeArrowCodec(OrcCompression compression,
                                                                  int level) {
  switch (compression) {
    case OrcCompression::kNone:
      return nullptr;
    case OrcCompression::kZlib: {
      arrow::util::GZipCodecOptions options;
      options.gzip_format = arrow::util::GZipFormat::DEFLATE;
      return arrow::util::Codec::Create(arrow::Compression::GZIP, options);
    }
    case OrcCompression::kSnappy:
      return arrow::util::Codec::Create(arrow::Compression::SNAPPY);
    case OrcCompression::kLz4:
      return arrow::util::Codec::Create(arrow::Compression::LZ4);
    case OrcCompression::kZstd:
      return arrow::util::Codec::Create(arrow::Compression::ZSTD, level);
    default:
      return Unsupported("compression {} in ORC files", ToString(compression));
  }
}

/// The decompressed size that a zstd frame names; nothing when it names none.
std::optional<uint64_t> ZstdContentSize(std::string_view frame) {
  constexpr size_t kDictionaryIdBytes[] = {0, 1, 2, 4};
  if (frame.size() < 5 || LoadLE<uint32_t>(frame.data()) != 0xfd2fb528) return std::nullopt;
  const auto descriptor = static_cast<uint8_t>(frame[4]);
  const bool single_segment = (descriptor & 0x20) != 0;
  const size_t at = 5 + (single_segment ? 0 : 1) + kDictionaryIdBytes[descriptor & 3];
  size_t bytes = size_t{1} << (descriptor >> 6);
  if (descriptor >> 6 == 0 && !single_segment) bytes = 0;
  if (bytes == 0 || frame.size() < at + bytes) return std::nullopt;
  uint64_t size = 0;
  std::memcpy(&size, frame.data() + at, bytes);
  return bytes == 2 ? size + 256 : size;
}

}  // namespace

arrow::Result<std::unique_ptr<OrcCodec>> OrcCodec::Make(OrcCompression compression,
                                                        uint64_t block_size, int level) {
  auto codec = std::make_unique<OrcCodec>();
  ARROW_ASSIGN_OR_RAISE(codec->codec_, MakeArrowCodec(compression, level));
  codec->zstd_ = compression == OrcCompression::kZstd;
  codec->block_size_ = static_cast<int64_t>(block_size);
  return codec;
}

arrow::Result<OrcCodec::Chunk> OrcCodec::Split(std::string_view bytes) const {
  if (bytes.size() < kHeaderBytes) return Corruption("a chunk header is cut off");
  const auto* header = reinterpret_cast<const uint8_t*>(bytes.data());
  const uint32_t word = header[0] | header[1] << 8 | header[2] << 16;
  const size_t length = word >> 1;
  Chunk chunk;
  chunk.original = (word & 1) != 0;
  if (length > bytes.size() - kHeaderBytes) {
    return Corruption("a chunk of {} bytes is longer than what is left", length);
  }
  // A chunk that compression would have made longer is stored as it was.
  if (static_cast<int64_t>(length) > block_size_) {
    return Corruption("a chunk of {} bytes is longer than the block size {}", length, block_size_);
  }
  chunk.bytes = bytes.substr(kHeaderBytes, length);
  chunk.stored_size = kHeaderBytes + static_cast<int64_t>(length);
  return chunk;
}

arrow::Result<int64_t> OrcCodec::DecompressZstd(const Chunk& chunk, uint8_t* out) {
  const auto* in = reinterpret_cast<const uint8_t*>(chunk.bytes.data());
  const auto size = static_cast<int64_t>(chunk.bytes.size());
  // Arrow's one-shot call wants the exact size.
  if (const auto content = ZstdContentSize(chunk.bytes)) {
    if (*content > static_cast<uint64_t>(block_size_)) return Corruption("it is too long");
    return codec_->Decompress(size, in, static_cast<int64_t>(*content), out);
  }
  if (zstd_stream_ == nullptr) {
    ARROW_ASSIGN_OR_RAISE(zstd_stream_, codec_->MakeDecompressor());
  } else {
    ARROW_RETURN_NOT_OK(zstd_stream_->Reset());
  }
  int64_t read = 0;
  int64_t written = 0;
  while (!zstd_stream_->IsFinished()) {
    ARROW_ASSIGN_OR_RAISE(
        auto step,
        zstd_stream_->Decompress(size - read, in + read, block_size_ - written, out + written));
    read += step.bytes_read;
    written += step.bytes_written;
    if (step.bytes_read == 0 && step.bytes_written == 0) return Corruption("it does not end");
  }
  return written;
}

arrow::Result<int64_t> OrcCodec::Decompress(const Chunk& chunk, uint8_t* out) {
  const auto* in = reinterpret_cast<const uint8_t*>(chunk.bytes.data());
  const auto length = static_cast<int64_t>(chunk.bytes.size());
  auto size = zstd_ ? DecompressZstd(chunk, out) : codec_->Decompress(length, in, block_size_, out);
  if (size.ok() && *size >= 0 && *size <= block_size_) return *size;
  return Corruption("a chunk of {} bytes cannot be decompressed to {} bytes: {}", length,
                    block_size_, size.status().message());
}

arrow::Result<std::string> OrcCodec::DecompressAll(std::string_view bytes, int64_t size_max) {
  if (!compressing()) return std::string(bytes);
  std::string out;
  std::string block;
  while (!bytes.empty()) {
    ARROW_ASSIGN_OR_RAISE(const Chunk chunk, Split(bytes));
    bytes.remove_prefix(static_cast<size_t>(chunk.stored_size));
    if (chunk.original) {
      out += chunk.bytes;
    } else {
      block.resize(static_cast<size_t>(block_size_));
      ARROW_ASSIGN_OR_RAISE(int64_t size,
                            Decompress(chunk, reinterpret_cast<uint8_t*>(block.data())));
      out.append(block.data(), static_cast<size_t>(size));
    }
    if (static_cast<int64_t>(out.size()) > size_max) {
      return Corruption("more than {} bytes", size_max);
    }
  }
  return out;
}

arrow::Status OrcCodec::CompressChunk(std::string_view bytes, std::string* out) {
  if (!compressing()) {
    *out += bytes;
    return arrow::Status::OK();
  }
  if (bytes.empty()) return arrow::Status::OK();
  const auto* input = reinterpret_cast<const uint8_t*>(bytes.data());
  const auto size = static_cast<int64_t>(bytes.size());
  const int64_t most = codec_->MaxCompressedLen(size, input);
  const size_t start = out->size();
  out->resize(start + kHeaderBytes + static_cast<size_t>(most));
  auto* place = reinterpret_cast<uint8_t*>(out->data()) + start;
  ARROW_ASSIGN_OR_RAISE(int64_t stored, codec_->Compress(size, input, most, place + kHeaderBytes));
  const bool original = stored >= size;
  if (original) {
    std::copy_n(input, size, place + kHeaderBytes);
    stored = size;
  }
  const auto word = static_cast<uint32_t>(stored << 1 | (original ? 1 : 0));
  place[0] = static_cast<uint8_t>(word);
  place[1] = static_cast<uint8_t>(word >> 8);
  place[2] = static_cast<uint8_t>(word >> 16);
  out->resize(start + kHeaderBytes + static_cast<size_t>(stored));
  return arrow::Status::OK();
}

arrow::Status OrcCodec::CompressAll(std::string_view bytes, std::string* out) {
  if (!compressing()) return CompressChunk(bytes, out);
  while (!bytes.empty()) {
    const auto part = bytes.substr(0, static_cast<size_t>(block_size_));
    ARROW_RETURN_NOT_OK(CompressChunk(part, out));
    bytes.remove_prefix(part.size());
  }
  return arrow::Status::OK();
}

}  // namespace kelda
