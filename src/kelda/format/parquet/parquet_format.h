#pragma once

#include "kelda/format/file_format.h"

namespace kelda {

/// Parquet data files (spec 01 §6.2).
class ParquetFormat : public FileFormat {
 public:
  static const ParquetFormat& Instance();

  std::string_view name() const override { return "parquet"; }
  arrow::Status CheckTypes(const std::vector<DataField>& fields) const override;
  arrow::Result<std::unique_ptr<FormatWriter>> CreateWriter(
      FileIO& io, const std::string& path, const std::vector<DataField>& fields,
      const WriterOptions& options) const override;
  arrow::Result<std::unique_ptr<FormatReader>> OpenReader(
      FileIO& io, const std::string& path, int64_t size_bytes,
      const ReadOptions& options) const override;
};

}  // namespace kelda
