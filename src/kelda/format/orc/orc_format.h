#pragma once

#include "kelda/format/file_format.h"

namespace kelda {

/// ORC data files (spec 01 §6.3), read and written by an own decoder and encoder.
class OrcFormat : public FileFormat {
 public:
  static const OrcFormat& Instance();

  std::string_view name() const override { return "orc"; }
  arrow::Status CheckTypes(const std::vector<DataField>& fields) const override;
  arrow::Result<std::unique_ptr<FormatWriter>> CreateWriter(
      FileIO& io, const std::string& path, const std::vector<DataField>& fields,
      const WriterOptions& options) const override;
  arrow::Result<std::unique_ptr<FormatReader>> OpenReader(
      FileIO& io, const std::string& path, int64_t size_bytes,
      const ReadOptions& options) const override;
};

}  // namespace kelda
