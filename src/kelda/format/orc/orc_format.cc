#include "kelda/format/orc/orc_format.h"

#include "kelda/format/orc/orc_reader.h"
#include "kelda/format/orc/orc_schema.h"

namespace kelda {

const OrcFormat& OrcFormat::Instance() {
  static const OrcFormat instance;
  return instance;
}

arrow::Status OrcFormat::CheckTypes(const std::vector<DataField>& fields) const {
  return CheckOrcTypes(fields);
}

arrow::Result<std::unique_ptr<FormatWriter>> OrcFormat::CreateWriter(FileIO&, const std::string&,
                                                                     const std::vector<DataField>&,
                                                                     const WriterOptions&) const {
  return Unsupported("writing ORC files");
}

arrow::Result<std::unique_ptr<FormatReader>> OrcFormat::OpenReader(
    FileIO& io, const std::string& path, int64_t size_bytes, const ReadOptions& options) const {
  return OpenOrcReader(io, path, size_bytes, options);
}

}  // namespace kelda
