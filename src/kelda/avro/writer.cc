#include "kelda/avro/writer.h"

#include <algorithm>
#include <limits>
#include <random>
#include <span>
#include <utility>

#include <arrow/io/interfaces.h>
#include <arrow/memory_pool.h>
#include <arrow/record_batch.h>

#include "kelda/avro/codec.h"
#include "kelda/avro/encoder.h"

namespace kelda::avro {

namespace {

std::array<uint8_t, 16> RandomMarker() {
  std::random_device device;
  std::array<uint8_t, 16> marker;
  for (uint8_t& byte : marker) byte = static_cast<uint8_t>(device());
  return marker;
}

int LevelOf(const WriteOptions& options) {
  if (options.level.has_value()) return *options.level;
  if (options.codec == "zstandard") return 1;
  if (options.codec == "deflate") return 6;
  return BlockCodec::kDefaultLevel;
}

void PutText(std::string_view text, EncodeBuffer* out) {
  out->PutLong(static_cast<int64_t>(text.size()));
  out->Put(text.data(), text.size());
}

}  // namespace

AvroFileWriter::AvroFileWriter() = default;
AvroFileWriter::~AvroFileWriter() = default;

arrow::Result<std::unique_ptr<AvroFileWriter>> AvroFileWriter::Make(
    std::shared_ptr<arrow::io::OutputStream> stream, std::string_view schema_json,
    WriteOptions options) {
  arrow::MemoryPool* pool = options.pool == nullptr ? arrow::default_memory_pool() : options.pool;
  std::unique_ptr<AvroFileWriter> writer(new AvroFileWriter());
  writer->stream_ = std::move(stream);
  ARROW_ASSIGN_OR_RAISE(writer->codec_, BlockCodec::Make(options.codec, LevelOf(options), pool));
  ARROW_ASSIGN_OR_RAISE(SchemaPtr schema, ParseSchema(schema_json));
  ARROW_ASSIGN_OR_RAISE(writer->encoder_, RecordEncoder::Make(std::move(schema)));
  writer->block_ = std::make_unique<EncodeBuffer>();
  writer->sync_marker_ = options.sync_marker.has_value() ? *options.sync_marker : RandomMarker();
  writer->block_size_bytes_ = std::max<int64_t>(options.block_size_bytes, 1);
  ARROW_RETURN_NOT_OK(writer->WriteHeader(schema_json, options.codec));
  return writer;
}

arrow::Status AvroFileWriter::WriteHeader(std::string_view schema_json, const std::string& codec) {
  EncodeBuffer header;
  header.Put("Obj\x01", 4);
  header.PutLong(2);
  PutText("avro.schema", &header);
  PutText(schema_json, &header);
  PutText("avro.codec", &header);
  PutText(codec, &header);
  header.PutLong(0);
  header.Put(sync_marker_.data(), sync_marker_.size());
  return WriteBytes(header.data(), static_cast<int64_t>(header.size()));
}

arrow::Status AvroFileWriter::WriteBytes(const void* bytes, int64_t size) {
  ARROW_RETURN_NOT_OK(stream_->Write(bytes, size));
  position_ += size;
  return arrow::Status::OK();
}

arrow::Status AvroFileWriter::WriteBlock() {
  if (block_rows_ == 0) return arrow::Status::OK();
  ARROW_ASSIGN_OR_RAISE(const auto data,
                        codec_->Compress(std::span(block_->data(), block_->size())));
  EncodeBuffer head;
  head.PutLong(block_rows_);
  head.PutLong(static_cast<int64_t>(data.size()));
  ARROW_RETURN_NOT_OK(WriteBytes(head.data(), static_cast<int64_t>(head.size())));
  ARROW_RETURN_NOT_OK(WriteBytes(data.data(), static_cast<int64_t>(data.size())));
  ARROW_RETURN_NOT_OK(WriteBytes(sync_marker_.data(), static_cast<int64_t>(sync_marker_.size())));
  block_->Truncate(0);
  block_rows_ = 0;
  return arrow::Status::OK();
}

arrow::Status AvroFileWriter::Write(const std::shared_ptr<arrow::RecordBatch>& batch) {
  return WriteUntil(batch, 0, std::numeric_limits<int64_t>::max()).status();
}

arrow::Result<int64_t> AvroFileWriter::WriteUntil(const std::shared_ptr<arrow::RecordBatch>& batch,
                                                  int64_t row_begin, int64_t position_limit) {
  if (finished_) return Invalid("write to a finished Avro file");
  ARROW_RETURN_NOT_OK(encoder_->Bind(batch));
  int64_t row = row_begin;
  while (row < batch->num_rows() && position_ < position_limit) {
    ARROW_ASSIGN_OR_RAISE(
        const int64_t next,
        encoder_->EncodeRows(row, batch->num_rows(), static_cast<size_t>(block_size_bytes_),
                             block_.get()));
    rows_ += next - row;
    block_rows_ += next - row;
    row = next;
    if (static_cast<int64_t>(block_->size()) >= block_size_bytes_)
      ARROW_RETURN_NOT_OK(WriteBlock());
  }
  return row;
}

int64_t AvroFileWriter::block_bytes() const { return static_cast<int64_t>(block_->size()); }

int64_t AvroFileWriter::buffered_bytes() const {
  return static_cast<int64_t>(block_->capacity()) + codec_->buffered_bytes();
}

arrow::Status AvroFileWriter::Finish() {
  if (finished_) return arrow::Status::OK();
  ARROW_RETURN_NOT_OK(WriteBlock());
  finished_ = true;
  return arrow::Status::OK();
}

}  // namespace kelda::avro
