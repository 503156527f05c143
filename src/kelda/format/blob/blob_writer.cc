#include <algorithm>
#include <utility>

#include <arrow/array.h>
#include <arrow/util/crc32.h>

#include "kelda/base/bytes.h"
#include "kelda/format/blob/blob_format.h"
#include "kelda/format/blob/blob_layout.h"

namespace kelda {
namespace {

constexpr int64_t kCopyBytes = int64_t{1} << 20;

class BlobWriter : public FormatWriter {
 public:
  BlobWriter(FileIO& io, std::string path, const BlobWriteOptions& options)
      : io_(io), path_(std::move(path)), options_(options) {}

  arrow::Status Write(const arrow::RecordBatch& batch) override {
    ARROW_RETURN_NOT_OK(CheckUsable());
    if (batch.num_columns() != 1 || batch.column(0)->type_id() != arrow::Type::BINARY) {
      return Invalid("{}: a blob file has one column of binary values", path_);
    }
    const auto& values = static_cast<const arrow::BinaryArray&>(*batch.column(0));
    for (int64_t i = 0; i < values.length(); ++i) {
      if (values.IsNull(i)) {
        lengths_.push_back(kBlobNullLength);
        continue;
      }
      ARROW_RETURN_NOT_OK(Remember(Append(values.GetView(i))));
    }
    return arrow::Status::OK();
  }

  int64_t EstimatedBytes() const override {
    return position_ + static_cast<int64_t>(lengths_.size());
  }
  int64_t BufferedBytes() const override {
    return static_cast<int64_t>(lengths_.capacity() * sizeof(int64_t));
  }
  arrow::Status FlushRowGroup() override { return CheckUsable(); }

  arrow::Result<WrittenFile> Finish() override {
    ARROW_RETURN_NOT_OK(CheckUsable());
    ARROW_RETURN_NOT_OK(Remember(WriteIndex()));
    finished_ = true;
    return WrittenFile{path_, position_, static_cast<int64_t>(lengths_.size()),
                       std::vector<FileColumnStats>(1)};
  }

 private:
  arrow::Status CheckUsable() const {
    if (finished_) return Invalid("{}: the file is finished", path_);
    return failure_;
  }

  /// After an error the file cannot be continued.
  arrow::Status Remember(const arrow::Status& status) {
    if (!status.ok()) failure_ = WithContext(status, path_);
    return failure_;
  }

  arrow::Status Put(const void* bytes, int64_t size) {
    if (file_ == nullptr) {
      ARROW_ASSIGN_OR_RAISE(file_, io_.CreateNew(path_));
    }
    ARROW_RETURN_NOT_OK(file_->Write(bytes, size));
    checksum_ = arrow::internal::crc32(checksum_, bytes, static_cast<size_t>(size));
    position_ += size;
    return arrow::Status::OK();
  }

  arrow::Status Append(std::string_view value) {
    checksum_ = 0;
    char magic[kBlobHeadBytes];
    StoreLE(magic, kBlobMagic);
    ARROW_RETURN_NOT_OK(Put(magic, sizeof(magic)));
    auto length = static_cast<int64_t>(value.size());
    if (options_.resolve_descriptors && IsBlobDescriptor(value)) {
      ARROW_ASSIGN_OR_RAISE(const BlobDescriptor descriptor, BlobDescriptor::Parse(value));
      ARROW_ASSIGN_OR_RAISE(length, CopyFrom(descriptor));
    } else {
      ARROW_RETURN_NOT_OK(Put(value.data(), length));
    }
    length += kBlobOverheadBytes;
    char tail[kBlobTailBytes];
    StoreLE(tail, length);
    ARROW_RETURN_NOT_OK(Put(tail, 8));
    StoreLE(tail + 8, checksum_);
    ARROW_RETURN_NOT_OK(Put(tail + 8, 4));
    lengths_.push_back(length);
    return arrow::Status::OK();
  }

  /// Answers the number of bytes.
  arrow::Result<int64_t> CopyFrom(const BlobDescriptor& descriptor) {
    FileIO& source = options_.source != nullptr ? *options_.source : io_;
    ARROW_ASSIGN_OR_RAISE(const std::string path, PathOfBlobUri(descriptor.uri));
    ARROW_ASSIGN_OR_RAISE(auto file, source.OpenInput(path));
    ARROW_ASSIGN_OR_RAISE(const int64_t size, file->GetSize());
    const int64_t rest = size - descriptor.offset;
    const int64_t length = descriptor.length < 0 ? rest : descriptor.length;
    if (rest < 0 || length > rest) {
      return Invalid("BLOB value of {} bytes at offset {} of '{}', which has {}", length,
                     descriptor.offset, descriptor.uri, size);
    }
    for (int64_t done = 0; done < length;) {
      ARROW_ASSIGN_OR_RAISE(
          auto piece, file->ReadAt(descriptor.offset + done, std::min(kCopyBytes, length - done)));
      if (piece->size() == 0)
        return arrow::Status::IOError("'", descriptor.uri, "' became shorter");
      ARROW_RETURN_NOT_OK(Put(piece->data(), piece->size()));
      done += piece->size();
    }
    return length;
  }

  arrow::Status WriteIndex() {
    const std::string index = EncodeBlobIndex(lengths_);
    ARROW_RETURN_NOT_OK(Put(index.data(), static_cast<int64_t>(index.size())));
    return file_->Close();
  }

  FileIO& io_;
  const std::string path_;
  const BlobWriteOptions options_;
  std::shared_ptr<arrow::io::OutputStream> file_;
  std::vector<int64_t> lengths_;
  int64_t position_ = 0;
  uint32_t checksum_ = 0;
  bool finished_ = false;
  arrow::Status failure_;
};

}  // namespace

arrow::Result<std::unique_ptr<FormatWriter>> MakeBlobWriter(FileIO& io, const std::string& path,
                                                            const BlobWriteOptions& options) {
  return std::make_unique<BlobWriter>(io, path, options);
}

}  // namespace kelda
