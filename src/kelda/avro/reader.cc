#include "kelda/avro/reader.h"

#include <algorithm>
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
// Batches of joined blocks stay below this, so that text offsets of 32 bits suffice.
constexpr int64_t kJoinedSizeMaxBytes = int64_t{64} << 20;

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
    const int64_t window_size = window_ == nullptr ? 0 : window_->size();
    if (offset < window_offset_ || offset + length > window_offset_ + window_size) {
      const int64_t wanted = std::min(std::max(length, kReadAheadBytes), size_ - offset);
      ARROW_ASSIGN_OR_RAISE(window_, file_->ReadAt(offset, wanted));
      window_offset_ = offset;
      if (window_->size() < length)
        return arrow::Status::IOError("file became shorter while it was read");
    }
    return std::span<const uint8_t>(window_->data() + (offset - window_offset_),
                                    static_cast<size_t>(length));
  }

 private:
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
    if (options_.output == nullptr) {
      ARROW_ASSIGN_OR_RAISE(output_, ToArrowSchema(*file_schema_, projection));
    } else {
      ARROW_ASSIGN_OR_RAISE(output_, ProjectSchema(options_.output, projection));
    }
    return RecordDecoder::Make(*file_schema_, output_, options_.batch_values_max, options_.pool)
        .Value(&decoder_);
  };
  const arrow::Status status = prepare();
  return status.ok() ? status : WithContext(status, fmt::format("Avro file '{}'", name_));
}

arrow::Result<bool> AvroFileReader::ReadBlock() {
  const int64_t left = source_->size() - offset_;
  if (left == 0) return false;
  ARROW_ASSIGN_OR_RAISE(const auto head,
                        source_->At(offset_, std::min(left, kBlockHeadSizeMaxBytes)));
  Cursor in;
  in.position = head.data();
  in.end = head.data() + head.size();
  int64_t rows;
  int64_t size;
  if (!in.ReadLong(&rows) || !in.ReadLong(&size)) return Corrupt(offset_, in.error);
  const int64_t data_offset = offset_ + (in.position - head.data());
  if (rows < 0) return Corrupt(offset_, "negative row count of a block");
  if (size < 0) return Corrupt(offset_, "negative size of a block");
  if (size > source_->size() - data_offset - kSyncSizeBytes) {
    return Corrupt(offset_, fmt::format("file ends inside a block of {} bytes", size));
  }
  ARROW_ASSIGN_OR_RAISE(const auto block, source_->At(data_offset, size + kSyncSizeBytes));
  const auto stored = block.first(static_cast<size_t>(size));
  if (std::memcmp(block.data() + size, sync_marker_.data(), kSyncSizeBytes) != 0) {
    return Corrupt(data_offset + size, "block does not end with the sync marker");
  }

  auto data = codec_->Decompress(stored, options_.block_size_max_bytes);
  if (data.status().IsInvalid()) return Corrupt(data_offset, data.status().message());
  ARROW_RETURN_NOT_OK(data.status());
  int64_t failed_offset;
  const arrow::Status decoded = decoder_->Decode(*data, rows, &failed_offset);
  if (decoded.IsInvalid()) {
    if (codec_name_ == "null") return Corrupt(data_offset + failed_offset, decoded.message());
    return Corrupt(data_offset, fmt::format("byte {} of the decompressed block: {}", failed_offset,
                                            decoded.message()));
  }
  ARROW_RETURN_NOT_OK(decoded);
  offset_ = data_offset + size + kSyncSizeBytes;
  pending_bytes_ += static_cast<int64_t>(data->size());
  return true;
}

arrow::Result<std::shared_ptr<arrow::RecordBatch>> AvroFileReader::ReadBatch() {
  const int64_t rows_min = std::max<int64_t>(options_.batch_rows_min, 1);
  const int64_t begin = offset_;
  while (decoder_->rows() < rows_min && pending_bytes_ < kJoinedSizeMaxBytes) {
    ARROW_ASSIGN_OR_RAISE(const bool more, ReadBlock());
    if (!more) break;
  }
  pending_bytes_ = 0;
  if (decoder_->rows() == 0 && offset_ == source_->size()) return nullptr;
  auto batch = decoder_->Finish();
  if (batch.status().IsInvalid()) return Corrupt(begin, batch.status().message());
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
