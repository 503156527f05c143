#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <arrow/record_batch.h>

#include "kelda/io/file_io.h"

namespace kelda {

/// Rows of a manifest list, manifest or index manifest. One thread at a time.
class MetadataRows {
 public:
  virtual ~MetadataRows() = default;
  /// Next batch, of the schema that was asked for; null at the end.
  virtual arrow::Result<std::shared_ptr<arrow::RecordBatch>> Next() = 0;

  /// The file with `bytes` at `path`, in whichever format `manifest.format` had when it was written
  /// (spec 01 §1.4): told by its first bytes. `schema` is that of the Avro form; `projection` may
  /// name fields, with dots, to leave others out; a format may give more of a nested field.
  static arrow::Result<std::unique_ptr<MetadataRows>> Open(
      FileIO& io, std::shared_ptr<arrow::Buffer> bytes, const std::string& path,
      const std::shared_ptr<arrow::Schema>& schema,
      const std::optional<std::vector<std::string>>& projection = std::nullopt);
};

}  // namespace kelda
