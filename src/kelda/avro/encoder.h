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
  const uint8_t* data() const { return bytes_.data(); }
  size_t size() const { return size_; }
  void Truncate(size_t size) { size_ = size; }

  void Put(const void* bytes, size_t count);
  void PutLong(int64_t value);

 private:
  uint8_t* Extend(size_t count);

  std::vector<uint8_t> bytes_;
  size_t size_ = 0;
};

/// Encodes rows of record batches as datums of a schema. Columns match record fields by position,
/// at every depth. Not thread-safe.
class RecordEncoder {
 public:
  static arrow::Result<std::unique_ptr<RecordEncoder>> Make(SchemaPtr root);
  ~RecordEncoder();

  /// Look at a batch: check that its columns fit the schema, keep it for EncodeRow.
  arrow::Status Bind(std::shared_ptr<arrow::RecordBatch> batch);

  /// Append row `row` of the bound batch; on an error (a null or a value that the schema cannot
  /// hold) nothing is appended.
  arrow::Status EncodeRow(int64_t row, EncodeBuffer* out);

 private:
  RecordEncoder() = default;

  SchemaPtr root_;
  NullableView root_view_;
  std::shared_ptr<arrow::RecordBatch> batch_;
  std::vector<internal::EncodeNode> columns_;
};

}  // namespace kelda::avro
