#include "kelda/format/avro/avro_format.h"

#include "kelda/format/avro/avro_reader.h"
#include "kelda/format/avro/avro_schema.h"
#include "kelda/format/avro/avro_writer.h"

namespace kelda {

const AvroFormat& AvroFormat::Instance() {
  static const AvroFormat instance;
  return instance;
}

arrow::Status AvroFormat::CheckTypes(const std::vector<DataField>& fields) const {
  return CheckAvroTypes(fields);
}

arrow::Result<std::unique_ptr<FormatWriter>> AvroFormat::CreateWriter(
    FileIO& io, const std::string& path, const std::vector<DataField>& fields,
    const WriterOptions& options) const {
  return MakeAvroWriter(io, path, fields, options);
}

arrow::Result<std::unique_ptr<FormatReader>> AvroFormat::OpenReader(
    FileIO& io, const std::string& path, int64_t size_bytes, const ReadOptions& options) const {
  return OpenAvroReader(io, path, size_bytes, options);
}

}  // namespace kelda
