#include "kelda/format/blob/blob_format.h"

#include "kelda/format/blob/blob_layout.h"

namespace kelda {

const BlobFormat& BlobFormat::Instance() {
  static const BlobFormat instance;
  return instance;
}

arrow::Status BlobFormat::CheckTypes(const std::vector<DataField>& fields) const {
  if (fields.size() == 1 && fields[0].type.root() == TypeRoot::kBlob) return arrow::Status::OK();
  for (const DataField& field : fields) {
    if (field.type.root() != TypeRoot::kBlob) {
      return Unsupported("column '{}' of type {} in blob files", field.name, field.type.ToString());
    }
  }
  return Unsupported("blob files with {} columns", fields.size());
}

arrow::Result<std::unique_ptr<FormatWriter>> BlobFormat::CreateWriter(
    FileIO& io, const std::string& path, const std::vector<DataField>& fields,
    const WriterOptions& /*options*/) const {
  ARROW_RETURN_NOT_OK(CheckTypes(fields));
  return MakeBlobWriter(io, path, {});
}

arrow::Result<std::unique_ptr<FormatReader>> BlobFormat::OpenReader(
    FileIO& io, const std::string& path, int64_t size_bytes, const ReadOptions& options) const {
  ARROW_RETURN_NOT_OK(CheckTypes(options.columns));
  BlobReadOptions read;
  read.column = options.columns[0].name;
  read.nullable = options.columns[0].type.nullable();
  read.rows = options.rows;
  read.batch_rows = options.batch_rows;
  read.token = options.token;
  return OpenBlobReader(io, path, size_bytes, read);
}

arrow::Result<std::string> ReadBlob(FileIO& io, const BlobDescriptor& descriptor,
                                    int64_t size_max_bytes) {
  ARROW_ASSIGN_OR_RAISE(const std::string path, PathOfBlobUri(descriptor.uri));
  ARROW_ASSIGN_OR_RAISE(auto file, io.OpenInput(path));
  ARROW_ASSIGN_OR_RAISE(const int64_t size, file->GetSize());
  const int64_t rest = size - descriptor.offset;
  const int64_t length = descriptor.length < 0 ? rest : descriptor.length;
  if (rest < 0 || length > rest) {
    return Corruption("BLOB value of {} bytes at offset {} of '{}', which has {}", length,
                      descriptor.offset, descriptor.uri, size);
  }
  if (length > size_max_bytes) {
    return Invalid("BLOB value of {} bytes at '{}' is larger than {} bytes", length, descriptor.uri,
                   size_max_bytes);
  }
  std::string bytes(static_cast<size_t>(length), '\0');
  ARROW_ASSIGN_OR_RAISE(const int64_t read, file->ReadAt(descriptor.offset, length, bytes.data()));
  if (read != length) return arrow::Status::IOError("'", descriptor.uri, "' became shorter");
  return bytes;
}

}  // namespace kelda
