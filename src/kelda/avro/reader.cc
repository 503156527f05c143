#include "kelda/avro/reader.h"

#include <algorithm>
#include <limits>
#include <span>
#include <utility>

#include <arrow/buffer.h>
#include <arrow/record_batch.h>
#include <arrow/table.h>
#include <arrow/type.h>

#include "kelda/avro/arrow_schema.h"
#include "kelda/avro/codec.h"
#include "kelda/avro/cursor.h"
#include "kelda/avro/decoder.h"

namespace kelda::avro {

using internal::Cursor;

namespace {

constexpr std::string_view kMagic("Obj\x01", 4);
constexpr int64_t kSyncSizeBytes = 16;
constexpr int64_t kBlockHeadSizeMaxBytes = 20;
constexpr int64_t kHeaderReadStartBytes = int64_t{64} << 10;
constexpr int64_t kHeaderSizeMaxBytes = int64_t{2} * kSchemaTextSizeMax;
constexpr int64_t kReadAheadBytes = int64_t{1} << 20;

struct Header {
  std::map<std::string, std::string> metadata;
  std::string sync_marker;
  int64_t size_bytes = 0;
};

bool ReadText(Cursor* in, std::string* out) {
  int64_t length;
  if (!in->ReadLength(&length)) return false;
  out->assign(reinterpret_cast<const char*>(in->position), static_cast<size_t>(length));
  in->position += length;
  return true;
}

bool ReadMetadata(Cursor* in, std::map<std::string, std::string>* metadata) {
  int64_t count;
  int64_t size_bytes;
  while (true) {
    if (!in->ReadBlockHead(&count, &size_bytes)) return false;
    if (count == 0) return true;
    if (count > in->remaining() / 2) return in->Fail("more header entries than the data can hold");
    for (int64_t i = 0; i < count; ++i) {
      std::string key;
      std::string value;
      if (!ReadText(in, &key) || !ReadText(in, &value)) return false;
      metadata->insert_or_assign(std::move(key), std::move(value));
    }
  }
}

/// Parse the header from the first bytes of the file; `in` tells what failed and where.
bool ParseHeader(std::span<const uint8_t> bytes, Cursor* in, Header* header) {
  in->position = bytes.data();
  in->end = bytes.data() + bytes.size();
  if (in->remaining() < static_cast<int64_t>(kMagic.size())) return in->Fail("file is too short");
  if (std::memcmp(bytes.data(), kMagic.data(), kMagic.size()) != 0) {
    return in->Fail("not an Avro object container file");
  }
  in->position += kMagic.size();
  if (!ReadMetadata(in, &header->metadata)) return false;
  if (in->remaining() < kSyncSizeBytes) return in->Fail("file ends inside the header");
  header->sync_marker.assign(reinterpret_cast<const char*>(in->position), kSyncSizeBytes);
  in->position += kSyncSizeBytes;
  header->size_bytes = in->position - bytes.data();
  return true;
}

}  // namespace

/// The file's bytes: a buffer as it is, or windows of a file read ahead.
class AvroFileReader::Source {
 public:
  explicit Source(std::shared_ptr<arrow::Buffer> file)
      : window_(std::move(file)), size_(window_->size()) {}
  Source(std::shared_ptr<arrow::io::RandomAccessFile> file, int64_t size)
      : file_(std::move(file)), size_(size) {}

  int64_t size() const { return size_; }

  /// Bytes [offset, offset + length), valid until the next call. REQUIRES: they are inside the
  /// file.
  arrow::Result<std::span<const uint8_t>> At(int64_t offset, int64_t length) {
    if (!InWindow(offset, length)) {
      const int64_t wanted = std::min(std::max(length, kReadAheadBytes), size_ - offset);
      ARROW_ASSIGN_OR_RAISE(window_, file_->ReadAt(offset, wanted));
      window_offset_ = offset;
      if (window_->size() < length)
        return arrow::Status::IOError("file became shorter while it was read");
    }
    return std::span<const uint8_t>(window_->data() + (offset - window_offset_),
                                    static_cast<size_t>(length));
  }

  /// Few bytes at `offset` as far as the file goes, copied; the window stays where it is.
  arrow::Result<std::span<const uint8_t>> Peek(int64_t offset, std::span<uint8_t> scratch) {
    const int64_t length = std::min<int64_t>(static_cast<int64_t>(scratch.size()), size_ - offset);
    if (InWindow(offset, length)) {
      return std::span<const uint8_t>(window_->data() + (offset - window_offset_),
                                      static_cast<size_t>(length));
    }
    ARROW_ASSIGN_OR_RAISE(const int64_t read, file_->ReadAt(offset, length, scratch.data()));
    if (read < length) return arrow::Status::IOError("file became shorter while it was read");
    return scratch.first(static_cast<size_t>(length));
  }

 private:
  bool InWindow(int64_t offset, int64_t length) const {
    return window_ != nullptr && offset >= window_offset_ &&
           offset + length <= window_offset_ + window_->size();
  }

  std::shared_ptr<arrow::io::RandomAccessFile> file_;
  std::shared_ptr<arrow::Buffer> window_;
  int64_t window_offset_ = 0;
  int64_t size_ = 0;
};

AvroFileReader::AvroFileReader() = default;
AvroFileReader::~AvroFileReader() = default;

arrow::Result<std::unique_ptr<AvroFileReader>> AvroFileReader::Open(
    std::shared_ptr<arrow::Buffer> file, std::string name, ReadOptions options) {
  return Open(std::make_unique<Source>(std::move(file)), std::move(name), std::move(options));
}

arrow::Result<std::unique_ptr<AvroFileReader>> AvroFileReader::Open(
    std::shared_ptr<arrow::io::RandomAccessFile> file, std::string name, ReadOptions options) {
  ARROW_ASSIGN_OR_RAISE(const int64_t size, file->GetSize());
  return Open(std::make_unique<Source>(std::move(file), size), std::move(name), std::move(options));
}

arrow::Result<std::unique_ptr<AvroFileReader>> AvroFileReader::Open(std::unique_ptr<Source> source,
                                                                    std::string name,
                                                                    ReadOptions options) {
  std::unique_ptr<AvroFileReader> reader(new AvroFileReader());
  reader->source_ = std::move(source);
  reader->name_ = std::move(name);
  reader->options_ = std::move(options);
  if (reader->options_.pool == nullptr) reader->options_.pool = arrow::default_memory_pool();
  ARROW_RETURN_NOT_OK(reader->ReadHeader());
  ARROW_RETURN_NOT_OK(reader->Prepare());
  return reader;
}

arrow::Status AvroFileReader::Corrupt(int64_t offset, std::string_view text) const {
  return Corruption("corrupt Avro file '{}' at offset {}: {}", name_, offset, text);
}

arrow::Status AvroFileReader::ReadHeader() {
  const int64_t limit = std::min(source_->size(), kHeaderSizeMaxBytes);
  int64_t length = std::min(limit, kHeaderReadStartBytes);
  while (true) {
    ARROW_ASSIGN_OR_RAISE(const auto bytes, source_->At(0, length));
    Cursor in;
    Header header;
    if (ParseHeader(bytes, &in, &header)) {
      metadata_ = std::move(header.metadata);
      sync_marker_ = std::move(header.sync_marker);
      offset_ = header.size_bytes;
      return arrow::Status::OK();
    }
    // The header may just be longer than what was looked at.
    if (length == limit) return Corrupt(in.position - bytes.data(), in.error);
    length = std::min(limit, 4 * length);
  }
}

arrow::Status AvroFileReader::Prepare() {
  const auto codec = metadata_.find("avro.codec");
  codec_name_ = codec == metadata_.end() ? "null" : codec->second;
  auto made = BlockCodec::Make(codec_name_, BlockCodec::kDefaultLevel, options_.pool);
  if (!made.ok()) return WithContext(made.status(), fmt::format("Avro file '{}'", name_));
  codec_ = std::move(made).ValueUnsafe();

  const auto schema = metadata_.find("avro.schema");
  if (schema == metadata_.end()) return Corrupt(0, "header without avro.schema");
  auto parsed = ParseSchema(schema->second);
  if (parsed.status().IsInvalid()) return Corrupt(0, parsed.status().message());
  if (!parsed.ok()) return WithContext(parsed.status(), fmt::format("Avro file '{}'", name_));
  file_schema_ = std::move(parsed).ValueUnsafe();

  auto prepare = [&]() -> arrow::Status {
    const Projection projection =
        options_.projection.has_value() ? Projection::Of(*options_.projection) : Projection();
    if (options_.wanted_if_present != nullptr) {
      ARROW_ASSIGN_OR_RAISE(const NullableView root, RootRecord(*file_schema_));
      arrow::FieldVector present;
      for (const auto& field : options_.wanted_if_present->fields()) {
        if (root.value->FieldIndex(field->name()) >= 0) present.push_back(field);
      }
      output_ = arrow::schema(std::move(present));
    } else if (options_.output == nullptr) {
      ARROW_ASSIGN_OR_RAISE(output_, ToArrowSchema(*file_schema_, projection));
    } else {
      ARROW_ASSIGN_OR_RAISE(output_, ProjectSchema(options_.output, projection));
    }
    ARROW_ASSIGN_OR_RAISE(decoder_, RecordDecoder::Make(*file_schema_, output_,
                                                        options_.batch_values_max, options_.pool));
    if (options_.batch_rows_max > 0) decoder_->CutBatches();
    return arrow::Status::OK();
  };
  const arrow::Status status = prepare();
  return status.ok() ? status : WithContext(status, fmt::format("Avro file '{}'", name_));
}

/// Where a block is in the file and what it says of itself.
struct AvroFileReader::BlockHead {
  int64_t rows = 0;
  int64_t size = 0;  ///< stored bytes
  int64_t data_offset = 0;
  int64_t end_offset() const { return data_offset + size; }
};

/// Head of the block at `offset`, of which `bytes` are the first. The block is inside the file.
arrow::Result<AvroFileReader::BlockHead> AvroFileReader::ParseBlockHead(
    std::span<const uint8_t> bytes, int64_t offset) const {
  Cursor in;
  in.position = bytes.data();
  in.end = bytes.data() + bytes.size();
  BlockHead head;
  if (!in.ReadLong(&head.rows) || !in.ReadLong(&head.size)) return Corrupt(offset, in.error);
  head.data_offset = offset + (in.position - bytes.data());
  if (head.rows < 0) return Corrupt(offset, "negative row count of a block");
  if (head.size < 0) return Corrupt(offset, "negative size of a block");
  if (head.size > source_->size() - head.data_offset - kSyncSizeBytes) {
    return Corrupt(offset, fmt::format("file ends inside a block of {} bytes", head.size));
  }
  return head;
}

arrow::Result<BlockSummary> AvroFileReader::SummarizeBlocks() {
  uint8_t scratch[kSyncSizeBytes + kBlockHeadSizeMaxBytes];
  BlockSummary summary;
  int64_t offset = offset_;
  ARROW_ASSIGN_OR_RAISE(auto bytes, source_->Peek(offset, scratch));
  while (offset < source_->size()) {
    ARROW_ASSIGN_OR_RAISE(const BlockHead head, ParseBlockHead(bytes, offset));
    const int64_t first_row = summary.rows;
    if (__builtin_add_overflow(summary.rows, head.rows, &summary.rows)) {
      return Corrupt(offset, "more rows than a file can have");
    }
    ++summary.blocks;
    if (options_.rows == nullptr || options_.rows->Overlaps(first_row, summary.rows)) {
      ++summary.wanted_blocks;
      summary.wanted_rows += head.rows;
      summary.wanted_bytes += head.size;
    }
    ARROW_ASSIGN_OR_RAISE(bytes, source_->Peek(head.end_offset(), scratch));
    if (std::memcmp(bytes.data(), sync_marker_.data(), kSyncSizeBytes) != 0) {
      return Corrupt(head.end_offset(), "block does not end with the sync marker");
    }
    bytes = bytes.subspan(kSyncSizeBytes);
    offset = head.end_offset() + kSyncSizeBytes;
  }
  return summary;
}

arrow::Status AvroFileReader::DecodeError(const arrow::Status& status,
                                          int64_t failed_offset) const {
  if (!status.IsInvalid()) return status;
  if (codec_name_ == "null") return Corrupt(data_offset_ + failed_offset, status.message());
  return Corrupt(data_offset_, fmt::format("byte {} of the decompressed block: {}", failed_offset,
                                           status.message()));
}

arrow::Status AvroFileReader::ReadBlock(const BlockHead& head) {
  ARROW_ASSIGN_OR_RAISE(const auto block,
                        source_->At(head.data_offset, head.size + kSyncSizeBytes));
  if (std::memcmp(block.data() + head.size, sync_marker_.data(), kSyncSizeBytes) != 0) {
    return Corrupt(head.end_offset(), "block does not end with the sync marker");
  }
  auto data = codec_->Decompress(block.first(static_cast<size_t>(head.size)),
                                 options_.block_size_max_bytes);
  if (data.status().IsInvalid()) return Corrupt(head.data_offset, data.status().message());
  ARROW_RETURN_NOT_OK(data.status());
  data_offset_ = head.data_offset;
  int64_t failed_offset;
  const arrow::Status started = decoder_->Start(*data, head.rows, &failed_offset);
  return started.ok() ? started : DecodeError(started, failed_offset);
}

/// Read the next block that is wanted. False at the end of the file, or where blocks are skipped
/// and the batch must end because its rows follow each other.
arrow::Result<bool> AvroFileReader::NextBlock() {
  while (offset_ < source_->size()) {
    uint8_t scratch[kBlockHeadSizeMaxBytes];
    ARROW_ASSIGN_OR_RAISE(const auto bytes, source_->Peek(offset_, scratch));
    ARROW_ASSIGN_OR_RAISE(const BlockHead head, ParseBlockHead(bytes, offset_));
    int64_t end_row;
    if (__builtin_add_overflow(next_row_, head.rows, &end_row)) {
      return Corrupt(offset_, "more rows than a file can have");
    }
    const bool wanted = options_.rows == nullptr || options_.rows->Overlaps(next_row_, end_row);
    if (!wanted && decoder_->rows() > 0) return false;
    if (wanted) {
      ARROW_RETURN_NOT_OK(ReadBlock(head));
      if (decoder_->rows() == 0) batch_first_row_ = next_row_;
    }
    next_row_ = end_row;
    offset_ = head.end_offset() + kSyncSizeBytes;
    if (wanted) return true;
  }
  return false;
}

arrow::Result<std::shared_ptr<arrow::RecordBatch>> AvroFileReader::ReadBatch() {
  const int64_t rows_min = std::max<int64_t>(options_.batch_rows_min, 1);
  const int64_t rows_max =
      options_.batch_rows_max > 0 ? options_.batch_rows_max : std::numeric_limits<int64_t>::max();
  if (decoder_->rows_left() > 0) batch_first_row_ = next_row_ - decoder_->rows_left();
  while (!decoder_->full() && decoder_->rows() < rows_max) {
    if (decoder_->rows_left() == 0) {
      if (decoder_->rows() >= rows_min) break;
      ARROW_ASSIGN_OR_RAISE(const bool more, NextBlock());
      if (!more) break;
    }
    int64_t failed_offset;
    const arrow::Status decoded = decoder_->Decode(rows_max - decoder_->rows(), &failed_offset);
    if (!decoded.ok()) return DecodeError(decoded, failed_offset);
  }
  if (decoder_->rows() == 0) return nullptr;
  auto batch = decoder_->Finish();
  if (batch.status().IsInvalid()) return Corrupt(data_offset_, batch.status().message());
  return batch;
}

arrow::Result<std::shared_ptr<arrow::RecordBatch>> AvroFileReader::Next() {
  ARROW_RETURN_NOT_OK(failure_);
  auto batch = ReadBatch();
  failure_ = batch.status();
  return batch;
}

arrow::Result<std::shared_ptr<arrow::Table>> AvroFileReader::ReadAll() {
  arrow::RecordBatchVector batches;
  while (true) {
    ARROW_ASSIGN_OR_RAISE(auto batch, Next());
    if (batch == nullptr) break;
    batches.push_back(std::move(batch));
  }
  return arrow::Table::FromRecordBatches(output_, batches);
}

}  // namespace kelda::avro
