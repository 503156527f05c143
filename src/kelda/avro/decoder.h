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
  /// double; timestamps to another unit, cut down to it; string and bytes either way. `values_max`
  /// bounds the value slots that one Finish() may hold, whatever the data claims.
  static arrow::Result<std::unique_ptr<RecordDecoder>> Make(const Schema& root,
                                                            std::shared_ptr<arrow::Schema> output,
                                                            int64_t values_max,
                                                            arrow::MemoryPool* pool);
  ~RecordDecoder();

  /// Take the bytes of a block of `rows` datums, which must fill them exactly. They stay with the
  /// caller until rows_left() is 0. Broken data is Invalid here and in Decode, with
  /// `*failed_offset` set to where in `bytes` it was met; the decoder is of no use after that.
  arrow::Status Start(std::span<const uint8_t> bytes, int64_t rows, int64_t* failed_offset);

  /// Append up to `rows_max` datums of the block; fewer when the batch gets too large: look at
  /// full().
  arrow::Status Decode(int64_t rows_max, int64_t* failed_offset);

  /// Rows of the block that are not decoded yet.
  int64_t rows_left() const { return rows_left_; }
  /// Rows since the last Finish().
  int64_t rows() const { return rows_; }
  /// Whether the batch should be finished before more is decoded: it has taken many bytes, or,
  /// after CutBatches, half of the value slots that it may have.
  bool full() const { return bytes_taken_ >= kBatchBytesMax || values_left_ < values_floor_; }
  /// Many values end a batch inside a block instead of being an error.
  void CutBatches() { values_floor_ = values_max_ / 2; }

  /// Everything decoded since the last call.
  arrow::Result<std::shared_ptr<arrow::RecordBatch>> Finish();

 private:
  RecordDecoder() = default;
  arrow::Status CheckBlockEnd(int64_t* failed_offset) const;

  std::shared_ptr<arrow::Schema> output_;
  NullableView root_view_;
  std::unique_ptr<internal::Node> root_;
  int64_t datum_size_min_bytes_ = 0;
  // Batches stay near this, so that text offsets of 32 bits suffice.
  static constexpr int64_t kBatchBytesMax = int64_t{64} << 20;

  std::span<const uint8_t> block_;
  int64_t position_ = 0;  ///< in the block
  int64_t rows_left_ = 0;
  int64_t bytes_taken_ = 0;
  int64_t values_max_ = 0;
  int64_t values_floor_ = 0;
  int64_t values_left_ = 0;
  int64_t rows_ = 0;
  arrow::MemoryPool* pool_ = nullptr;
};

}  // namespace kelda::avro
