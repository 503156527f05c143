#pragma once

#include <cstdint>
#include <memory>
#include <span>

#include <arrow/type_fwd.h>

#include "kelda/avro/schema.h"

namespace kelda::avro {

namespace internal {
struct Node;
}

/// Decodes datums of a record schema straight into columns. The schema is compiled once into a tree
/// of steps: wanted fields append to typed buffers, neighbouring unwanted ones are skipped
/// together. Not thread-safe.
class RecordDecoder {
 public:
  /// Decode `root` (record or [null, record]) into `output`, resolved by field name at every record
  /// level: fields that the file lacks become null (they must be nullable), fields that `output`
  /// lacks are skipped. Types may widen: int to int8..int64, date32 and time32[ms]; float to
  /// double; timestamps to another unit; string and bytes either way. `values_max` bounds the value
  /// slots that one Finish() may hold, whatever the data claims.
  static arrow::Result<std::unique_ptr<RecordDecoder>> Make(const Schema& root,
                                                            std::shared_ptr<arrow::Schema> output,
                                                            int64_t values_max,
                                                            arrow::MemoryPool* pool);
  ~RecordDecoder();

  /// Append `rows` datums, which must fill `bytes` exactly. Broken data is Invalid with
  /// `*failed_offset` set to where in `bytes` it was met; the decoder is of no use after that.
  arrow::Status Decode(std::span<const uint8_t> bytes, int64_t rows, int64_t* failed_offset);

  /// Rows since the last Finish().
  int64_t rows() const { return rows_; }

  /// Everything decoded since the last call.
  arrow::Result<std::shared_ptr<arrow::RecordBatch>> Finish();

 private:
  RecordDecoder() = default;

  std::shared_ptr<arrow::Schema> output_;
  NullableView root_view_;
  std::unique_ptr<internal::Node> root_;
  int64_t datum_size_min_bytes_ = 0;
  int64_t values_max_ = 0;
  int64_t values_left_ = 0;
  int64_t rows_ = 0;
  arrow::MemoryPool* pool_ = nullptr;
};

}  // namespace kelda::avro
