#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include <arrow/type_fwd.h>

#include "kelda/avro/schema.h"

namespace kelda::avro {

namespace internal {
struct EncodeNode;
}

/// Growing bytes of one block.
class EncodeBuffer {
 public:
  const uint8_t* data() const { return bytes_.get(); }
  size_t size() const { return size_; }
  size_t capacity() const { return capacity_; }
  void Truncate(size_t size) { size_ = size; }

  void Put(const void* bytes, size_t count);
  void PutLong(int64_t value);

  /// Room for `count` more bytes. They count once Advance tells how far they were written.
  uint8_t* Extend(size_t count) {
    if (capacity_ - size_ < count) Grow(count);
    return bytes_.get() + size_;
  }
  void Advance(const uint8_t* end) { size_ = static_cast<size_t>(end - bytes_.get()); }

 private:
  void Grow(size_t count);

  std::unique_ptr<uint8_t[]> bytes_;
  size_t size_ = 0;
  size_t capacity_ = 0;
};

/// Encodes rows of record batches as datums of a schema. Columns match record fields by position,
/// at every depth. Not thread-safe.
class RecordEncoder {
 public:
  static arrow::Result<std::unique_ptr<RecordEncoder>> Make(SchemaPtr root);
  ~RecordEncoder();

  /// Look at a batch: check that its columns fit the schema, keep it for EncodeRows.
  arrow::Status Bind(std::shared_ptr<arrow::RecordBatch> batch);

  /// Append rows [begin, end) of the bound batch until `out` holds `size_limit` bytes; the answer
  /// is the first row not appended. After an error (a null or a value that the schema cannot hold)
  /// the rows before the bad one are there, nothing of it.
  arrow::Result<int64_t> EncodeRows(int64_t begin, int64_t end, size_t size_limit,
                                    EncodeBuffer* out);

 private:
  RecordEncoder() = default;

  SchemaPtr root_;
  NullableView root_view_;
  std::shared_ptr<arrow::RecordBatch> batch_;
  std::vector<internal::EncodeNode> columns_;
};

}  // namespace kelda::avro
