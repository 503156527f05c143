#pragma once

#include "kelda/format/file_format.h"

namespace kelda {

/// Avro data files (spec 01 §4.3, §6.4): one record per row in an Avro container.
class AvroFormat : public FileFormat {
 public:
  static const AvroFormat& Instance();

  std::string_view name() const override { return "avro"; }
  arrow::Status CheckTypes(const std::vector<DataField>& fields) const override;
  arrow::Result<std::unique_ptr<FormatWriter>> CreateWriter(
      FileIO& io, const std::string& path, const std::vector<DataField>& fields,
      const WriterOptions& options) const override;
  arrow::Result<std::unique_ptr<FormatReader>> OpenReader(
      FileIO& io, const std::string& path, int64_t size_bytes,
      const ReadOptions& options) const override;
};

}  // namespace kelda
