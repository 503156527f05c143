#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include <arrow/io/type_fwd.h>
#include <arrow/type_fwd.h>

#include "kelda/avro/schema.h"

namespace kelda::avro {

class BlockCodec;
class EncodeBuffer;
class RecordEncoder;

struct WriteOptions {
  std::string codec = "zstandard";  ///< Avro name: null, deflate, snappy, zstandard
  std::optional<int> level;  ///< of deflate or zstandard; without it 1 for zstandard, 6 for deflate
  /// A block is written once it has this many uncompressed bytes (spec 01 §4.1).
  int64_t block_size_bytes = 64'000;
  /// Random when not given.
  std::optional<std::array<uint8_t, 16>> sync_marker;
  arrow::MemoryPool* pool = nullptr;  ///< null: the default pool
};

/// Writes record batches as an Avro object container file, as Java Paimon does: header with
/// avro.schema and avro.codec only, arrays as one block without byte size. Unions put null where
/// the schema has it. Does not close the stream. Not thread-safe.
class AvroFileWriter {
 public:
  /// `schema_json` goes into the header byte for byte; its root is a record or [null, record].
  static arrow::Result<std::unique_ptr<AvroFileWriter>> Make(
      std::shared_ptr<arrow::io::OutputStream> stream, std::string_view schema_json,
      WriteOptions options = {});
  ~AvroFileWriter();

  /// Append all rows. Columns match the fields of the schema by position, at every depth; types
  /// that do not fit are TypeError, a null where the schema has none is Invalid. After an error the
  /// file is of no use.
  arrow::Status Write(const std::shared_ptr<arrow::RecordBatch>& batch);

  /// Append rows from `row_begin` on until position() has reached `position_limit`, looking after
  /// each row as Java does for rolling; the answer is the first row not written.
  arrow::Result<int64_t> WriteUntil(const std::shared_ptr<arrow::RecordBatch>& batch,
                                    int64_t row_begin, int64_t position_limit);

  /// Write what the current block holds.
  arrow::Status FlushBlock() { return WriteBlock(); }

  /// Write the last block. The file is complete afterwards.
  arrow::Status Finish();

  /// Bytes given to the stream so far; rows of the current block are not in it.
  int64_t position() const { return position_; }
  /// Bytes of the current block before compression.
  int64_t block_bytes() const;
  /// Memory held for blocks.
  int64_t buffered_bytes() const;
  int64_t rows() const { return rows_; }

 private:
  AvroFileWriter();
  arrow::Status WriteHeader(std::string_view schema_json, const std::string& codec);
  arrow::Status WriteBlock();
  arrow::Status WriteBytes(const void* bytes, int64_t size);

  std::shared_ptr<arrow::io::OutputStream> stream_;
  std::unique_ptr<BlockCodec> codec_;
  std::unique_ptr<RecordEncoder> encoder_;
  std::unique_ptr<EncodeBuffer> block_;
  std::array<uint8_t, 16> sync_marker_{};
  int64_t block_size_bytes_ = 0;
  int64_t block_rows_ = 0;
  int64_t rows_ = 0;
  int64_t position_ = 0;
  bool finished_ = false;
};

}  // namespace kelda::avro
