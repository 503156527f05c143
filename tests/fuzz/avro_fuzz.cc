#include <cstdint>
#include <cstdlib>
#include <memory>

#include <arrow/buffer.h>
#include <arrow/table.h>
#include <arrow/type.h>

#include "kelda/avro/arrow_schema.h"
#include "kelda/avro/paimon_schemas.h"
#include "kelda/avro/reader.h"

// Avro container files: whatever the bytes, reading ends with valid batches or an error, in bounded
// memory.

namespace kelda::avro {

namespace {

void Read(const std::shared_ptr<arrow::Buffer>& file, ReadOptions options) {
  options.block_size_max_bytes = int64_t{4} << 20;
  options.batch_values_max = int64_t{1} << 20;
  const auto reader = AvroFileReader::Open(file, "fuzz", std::move(options));
  if (!reader.ok()) return;
  const auto table = (*reader)->ReadAll();
  if (table.ok() && !(*table)->ValidateFull().ok()) std::abort();
}

std::shared_ptr<arrow::Schema> ManifestSchema() {
  static const std::shared_ptr<arrow::Schema> schema =
      ToArrowSchema(*ParseSchema(kManifestSchema).ValueOrDie()).ValueOrDie();
  return schema;
}

}  // namespace

}  // namespace kelda::avro

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using kelda::avro::ReadOptions;
  // The bytes are copied, so that a read beyond their end is seen.
  const auto file =
      arrow::Buffer::FromString(std::string(reinterpret_cast<const char*>(data), size));
  kelda::avro::Read(file, {});
  ReadOptions nothing;
  nothing.projection.emplace();
  kelda::avro::Read(file, nothing);
  ReadOptions by_name;
  by_name.output = kelda::avro::ManifestSchema();
  by_name.projection = {"_KIND", "_FILE._FILE_NAME", "_FILE._VALUE_STATS._NULL_COUNTS",
                        "_FILE._WRITE_COLS"};
  by_name.batch_rows_min = 100;
  kelda::avro::Read(file, by_name);
  return 0;
}
