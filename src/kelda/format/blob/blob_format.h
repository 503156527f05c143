#pragma once

#include <memory>
#include <string>
#include <vector>

#include "kelda/format/blob/blob_descriptor.h"
#include "kelda/format/file_format.h"

namespace kelda {

/// `.blob` files: the values of one BLOB column (spec 01 §6.7). The name of the column is not in
/// the file: whatever one column is wanted gets its values. A file has no statistics.
class BlobFormat : public FileFormat {
 public:
  static const BlobFormat& Instance();

  std::string_view name() const override { return "blob"; }
  arrow::Status CheckTypes(const std::vector<DataField>& fields) const override;
  /// Values as they come, see MakeBlobWriter.
  arrow::Result<std::unique_ptr<FormatWriter>> CreateWriter(
      FileIO& io, const std::string& path, const std::vector<DataField>& fields,
      const WriterOptions& options) const override;
  /// Values, see OpenBlobReader.
  arrow::Result<std::unique_ptr<FormatReader>> OpenReader(
      FileIO& io, const std::string& path, int64_t size_bytes,
      const ReadOptions& options) const override;
};

struct BlobWriteOptions {
  /// A value that is a descriptor of version 2 is replaced by what it points at, copied in pieces
  /// (`blob-as-descriptor`). URIs without scheme and `file:` are opened with `source`.
  bool resolve_descriptors = false;
  FileIO* source = nullptr;  ///< null: the file system that is written to
};

/// Values are written at once, the index when the file is finished.
arrow::Result<std::unique_ptr<FormatWriter>> MakeBlobWriter(FileIO& io, const std::string& path,
                                                            const BlobWriteOptions& options);

struct BlobReadOptions {
  std::string column = "blob";  ///< name of the column in the batches
  bool nullable = true;
  /// Descriptors of the values instead of the values, which are not read then
  /// (`blob-as-descriptor`).
  bool as_descriptor = false;
  /// Exactly these rows are read. Null: all.
  std::shared_ptr<const RowRanges> rows;
  int64_t batch_rows = 1024;
  CancellationToken token;
};

/// Reads the index when opened, and each value when its batch is asked for; magic number, length
/// and checksum of each are checked. Batches end early when they hold many bytes.
arrow::Result<std::unique_ptr<FormatReader>> OpenBlobReader(FileIO& io, const std::string& path,
                                                            int64_t size_bytes,
                                                            const BlobReadOptions& options);

/// The bytes that a descriptor points at; more than `size_max_bytes` are refused. `file:` URIs and
/// plain paths are opened with `io`.
arrow::Result<std::string> ReadBlob(FileIO& io, const BlobDescriptor& descriptor,
                                    int64_t size_max_bytes = int64_t{1} << 30);

}  // namespace kelda
