#include "kelda/format/parquet/parquet_format.h"

#include "kelda/format/parquet/parquet_reader.h"
#include "kelda/format/parquet/parquet_schema.h"
#include "kelda/format/parquet/parquet_writer.h"

namespace kelda {

const ParquetFormat& ParquetFormat::Instance() {
  static const ParquetFormat instance;
  return instance;
}

arrow::Status ParquetFormat::CheckTypes(const std::vector<DataField>& fields) const {
  return CheckParquetTypes(fields);
}

arrow::Result<std::unique_ptr<FormatWriter>> ParquetFormat::CreateWriter(
    FileIO& io, const std::string& path, const std::vector<DataField>& fields,
    const WriterOptions& options) const {
  return MakeParquetWriter(io, path, fields, options);
}

arrow::Result<std::unique_ptr<FormatReader>> ParquetFormat::OpenReader(
    FileIO& io, const std::string& path, int64_t size_bytes, const ReadOptions& options) const {
  return OpenParquetReader(io, path, size_bytes, options);
}

}  // namespace kelda
