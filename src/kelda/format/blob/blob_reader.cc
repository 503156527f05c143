#include <algorithm>
#include <utility>

#include <arrow/array/builder_binary.h>
#include <arrow/record_batch.h>
#include <arrow/util/crc32.h>

#include "kelda/base/bytes.h"
#include "kelda/format/blob/blob_format.h"
#include "kelda/format/blob/blob_layout.h"

namespace kelda {
namespace {

/// A batch ends with the value that takes it over this.
constexpr int64_t kBatchBytesMax = int64_t{64} << 20;

class BlobReader : public FormatReader {
 public:
  BlobReader(std::string path, BlobReadOptions options)
      : path_(std::move(path)),
        options_(std::move(options)),
        schema_(
            arrow::schema({arrow::field(options_.column, arrow::binary(), options_.nullable)})) {}

  arrow::Status Open(FileIO& io, int64_t size_bytes) {
    ARROW_ASSIGN_OR_RAISE(file_, io.OpenInput(path_));
    ARROW_ASSIGN_OR_RAISE(const int64_t size, file_->GetSize());
    if (size_bytes >= 0 && size != size_bytes) {
      return Corruption("{}: the file has {} bytes, its metadata says {}", path_, size, size_bytes);
    }
    if (size < kBlobFooterBytes) return Corrupt(0, "file is too short");
    char footer[kBlobFooterBytes];
    ARROW_RETURN_NOT_OK(ReadExactly(size - kBlobFooterBytes, footer, kBlobFooterBytes));
    if (footer[4] != kBlobVersion) return Corrupt(size - 1, "unknown version");
    const int64_t index_size = LoadLE<int32_t>(footer);
    if (index_size < 0 || index_size > size - kBlobFooterBytes) {
      return Corrupt(size - kBlobFooterBytes, "the index is longer than the file");
    }
    const int64_t index_offset = size - kBlobFooterBytes - index_size;
    std::string index(static_cast<size_t>(index_size), '\0');
    ARROW_RETURN_NOT_OK(ReadExactly(index_offset, index.data(), index_size));
    return DecodeBlobIndex(index, index_offset, index_offset, path_).Value(&lengths_);
  }

  arrow::Result<std::shared_ptr<arrow::RecordBatch>> Next() override {
    ARROW_RETURN_NOT_OK(failure_);
    auto batch = ReadBatch();
    failure_ = batch.status();
    return batch;
  }

  int64_t first_row() const override { return first_row_; }
  int64_t file_row_count() const override { return static_cast<int64_t>(lengths_.size()); }

 private:
  arrow::Status Corrupt(int64_t offset, std::string_view what) const {
    return Corruption("corrupt blob file '{}' at offset {}: {}", path_, offset, what);
  }

  arrow::Status ReadExactly(int64_t offset, void* out, int64_t size) const {
    ARROW_ASSIGN_OR_RAISE(const int64_t read, file_->ReadAt(offset, size, out));
    if (read != size) return arrow::Status::IOError(path_, ": the file became shorter");
    return arrow::Status::OK();
  }

  bool IsWanted(int64_t row) const {
    return options_.rows == nullptr || options_.rows->Overlaps(row, row + 1);
  }

  void Skip() {
    const int64_t length = lengths_[static_cast<size_t>(row_)];
    if (length != kBlobNullLength) offset_ += length;
    ++row_;
  }

  arrow::Result<std::shared_ptr<arrow::RecordBatch>> ReadBatch() {
    while (row_ < file_row_count() && !IsWanted(row_)) Skip();
    if (row_ == file_row_count()) return nullptr;
    first_row_ = row_;
    const int64_t rows_max = std::max<int64_t>(options_.batch_rows, 1);
    arrow::BinaryBuilder values;
    while (row_ < file_row_count() && row_ - first_row_ < rows_max && IsWanted(row_) &&
           values.value_data_length() < kBatchBytesMax) {
      ARROW_RETURN_NOT_OK(options_.token.Check());
      ARROW_RETURN_NOT_OK(AppendValue(lengths_[static_cast<size_t>(row_)], &values));
      Skip();
    }
    ARROW_ASSIGN_OR_RAISE(auto column, values.Finish());
    const int64_t rows = column->length();
    return arrow::RecordBatch::Make(schema_, rows, arrow::ArrayVector{std::move(column)});
  }

  arrow::Status AppendValue(int64_t length, arrow::BinaryBuilder* values) {
    if (length == kBlobNullLength) {
      if (!options_.nullable) {
        return Corrupt(offset_, fmt::format("row {} is null, which may not be", row_));
      }
      return values->AppendNull();
    }
    const int64_t data_size = length - kBlobOverheadBytes;
    if (options_.as_descriptor) {
      return values->Append(BlobDescriptor{path_, offset_ + kBlobHeadBytes, data_size}.Serialize());
    }
    if (length > arrow::kBinaryMemoryLimit) {
      return arrow::Status::CapacityError(path_, ": a BLOB value of ", data_size,
                                          " bytes is larger than 2 GB; read it as descriptor");
    }
    ARROW_ASSIGN_OR_RAISE(auto stored, file_->ReadAt(offset_, length));
    if (stored->size() != length) return arrow::Status::IOError(path_, ": the file became shorter");
    const uint8_t* bytes = stored->data();
    if (LoadLE<uint32_t>(bytes) != kBlobMagic) return Corrupt(offset_, "wrong magic number");
    const uint8_t* tail = bytes + length - kBlobTailBytes;
    if (LoadLE<int64_t>(tail) != length) {
      return Corrupt(offset_ + length - kBlobTailBytes, "the length differs from the index");
    }
    const uint32_t checksum = arrow::internal::crc32(0, bytes, static_cast<size_t>(length - 4));
    if (LoadLE<uint32_t>(tail + 8) != checksum) {
      return Corrupt(offset_, fmt::format("checksum of row {} does not match", row_));
    }
    return values->Append(bytes + kBlobHeadBytes, static_cast<int32_t>(data_size));
  }

  const std::string path_;
  const BlobReadOptions options_;
  const std::shared_ptr<arrow::Schema> schema_;
  std::shared_ptr<arrow::io::RandomAccessFile> file_;
  std::vector<int64_t> lengths_;
  int64_t row_ = 0;     ///< the next one
  int64_t offset_ = 0;  ///< of its value
  int64_t first_row_ = 0;
  arrow::Status failure_;
};

}  // namespace

arrow::Result<std::unique_ptr<FormatReader>> OpenBlobReader(FileIO& io, const std::string& path,
                                                            int64_t size_bytes,
                                                            const BlobReadOptions& options) {
  auto reader = std::make_unique<BlobReader>(path, options);
  ARROW_RETURN_NOT_OK(reader->Open(io, size_bytes));
  return reader;
}

}  // namespace kelda
