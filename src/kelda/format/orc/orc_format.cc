#include "kelda/format/orc/orc_format.h"

#include "kelda/format/orc/orc_reader.h"
#include "kelda/format/orc/orc_schema.h"
#include "kelda/format/orc/orc_writer.h"

namespace kelda {

const OrcFormat& OrcFormat::Instance() {
  static const OrcFormat instance;
  return instance;
}

arrow::Status OrcFormat::CheckTypes(const std::vector<DataField>& fields) const {
  return CheckOrcTypes(fields);
}

arrow::Result<std::unique_ptr<FormatWriter>> OrcFormat::CreateWriter(
    FileIO& io, const std::string& path, const std::vector<DataField>& fields,
    const WriterOptions& options) const {
  return MakeOrcWriter(io, path, fields, options);
}

arrow::Result<std::unique_ptr<FormatReader>> OrcFormat::OpenReader(
    FileIO& io, const std::string& path, int64_t size_bytes, const ReadOptions& options) const {
  return OpenOrcReader(io, path, size_bytes, options);
}

}  // namespace kelda
