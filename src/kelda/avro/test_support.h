#pragma once

#include <array>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include <arrow/buffer.h>
#include <arrow/io/memory.h>
#include <arrow/json/from_string.h>
#include <arrow/record_batch.h>
#include <arrow/scalar.h>
#include <arrow/table.h>
#include <arrow/type.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "kelda/avro/encoder.h"
#include "kelda/avro/reader.h"
#include "kelda/avro/writer.h"
#include "kelda/base/test_matchers.h"

namespace kelda::avro {

inline constexpr std::array<uint8_t, 16> kTestMarker = {'0', '1', '2', '3', '4', '5', '6', '7',
                                                        '8', '9', 'a', 'b', 'c', 'd', 'e', 'f'};

/// A file made by hand: header, then blocks of given rows and stored bytes.
class RawFile {
 public:
  explicit RawFile(std::string_view schema, std::string_view codec = "null") {
    Put("Obj\x01");
    PutLong(codec.empty() ? 1 : 2);
    PutText("avro.schema");
    PutText(schema);
    if (!codec.empty()) {
      PutText("avro.codec");
      PutText(codec);
    }
    PutLong(0);
    PutMarker();
  }

  RawFile& Block(int64_t rows, std::string_view stored) {
    PutLong(rows);
    PutText(stored);
    PutMarker();
    return *this;
  }
  RawFile& Put(std::string_view bytes) {
    bytes_.Put(bytes.data(), bytes.size());
    return *this;
  }
  RawFile& PutLong(int64_t value) {
    bytes_.PutLong(value);
    return *this;
  }
  RawFile& PutText(std::string_view text) {
    return PutLong(static_cast<int64_t>(text.size())).Put(text);
  }
  RawFile& PutMarker() {
    bytes_.Put(kTestMarker.data(), kTestMarker.size());
    return *this;
  }

  std::string bytes() const {
    return std::string(reinterpret_cast<const char*>(bytes_.data()), bytes_.size());
  }

 private:
  EncodeBuffer bytes_;
};

inline arrow::Result<std::shared_ptr<arrow::Table>> ReadBytes(const std::string& bytes,
                                                              ReadOptions options = {}) {
  ARROW_ASSIGN_OR_RAISE(auto reader, AvroFileReader::Open(arrow::Buffer::FromString(bytes),
                                                          "test.avro", std::move(options)));
  ARROW_ASSIGN_OR_RAISE(auto table, reader->ReadAll());
  ARROW_RETURN_NOT_OK(table->ValidateFull());
  return table;
}

inline arrow::Result<std::string> WriteBatch(const std::shared_ptr<arrow::RecordBatch>& batch,
                                             std::string_view schema,
                                             const std::string& codec = "null",
                                             int64_t block_size_bytes = 64'000) {
  ARROW_ASSIGN_OR_RAISE(auto stream, arrow::io::BufferOutputStream::Create());
  WriteOptions options;
  options.codec = codec;
  options.sync_marker = kTestMarker;
  options.block_size_bytes = block_size_bytes;
  ARROW_ASSIGN_OR_RAISE(auto writer, AvroFileWriter::Make(stream, schema, options));
  ARROW_RETURN_NOT_OK(writer->Write(batch));
  ARROW_RETURN_NOT_OK(writer->Finish());
  ARROW_ASSIGN_OR_RAISE(auto buffer, stream->Finish());
  return buffer->ToString();
}

/// Batch from one JSON array of rows, each an array of values.
inline arrow::Result<std::shared_ptr<arrow::RecordBatch>> BatchOf(
    const std::shared_ptr<arrow::Schema>& schema, std::string_view rows) {
  ARROW_ASSIGN_OR_RAISE(auto array,
                        arrow::json::ArrayFromJSONString(arrow::struct_(schema->fields()), rows));
  ARROW_ASSIGN_OR_RAISE(auto batch, arrow::RecordBatch::FromStructArray(array));
  return arrow::RecordBatch::Make(schema, batch->num_rows(), batch->columns());
}

}  // namespace kelda::avro
