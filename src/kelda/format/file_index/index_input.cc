#include "kelda/format/file_index/index_input.h"

#include <algorithm>

namespace kelda {

namespace {

constexpr int64_t kHeadBytes = 4 << 10;
constexpr int64_t kWindowBytes = 64 << 10;

class MemoryInput : public IndexInput {
 public:
  MemoryInput(std::string_view bytes, std::string name) : bytes_(bytes), name_(std::move(name)) {}
  const std::string& name() const override { return name_; }
  int64_t size() const override { return static_cast<int64_t>(bytes_.size()); }
  arrow::Result<std::shared_ptr<arrow::Buffer>> Read(int64_t offset, int64_t length) override {
    return std::make_shared<arrow::Buffer>(
        bytes_.substr(static_cast<size_t>(offset), static_cast<size_t>(length)));
  }

 private:
  std::string_view bytes_;
  std::string name_;
};

class FileInput : public IndexInput {
 public:
  FileInput(std::string path, std::shared_ptr<arrow::io::RandomAccessFile> file)
      : path_(std::move(path)), file_(std::move(file)) {}

  arrow::Status Init() {
    ARROW_ASSIGN_OR_RAISE(size_, file_->GetSize());
    ARROW_ASSIGN_OR_RAISE(head_, ReadFile(0, std::min(size_, kHeadBytes)));
    return arrow::Status::OK();
  }
  const std::string& name() const override { return path_; }
  int64_t size() const override { return size_; }
  arrow::Result<std::shared_ptr<arrow::Buffer>> Read(int64_t offset, int64_t length) override {
    if (offset + length <= head_->size()) return arrow::SliceBuffer(head_, offset, length);
    if (last_ == nullptr || offset < last_offset_ ||
        offset + length > last_offset_ + last_->size()) {
      ARROW_ASSIGN_OR_RAISE(last_, ReadFile(offset, length));
      last_offset_ = offset;
    }
    return arrow::SliceBuffer(last_, offset - last_offset_, length);
  }

 private:
  arrow::Result<std::shared_ptr<arrow::Buffer>> ReadFile(int64_t offset, int64_t length) {
    ARROW_ASSIGN_OR_RAISE(auto bytes, file_->ReadAt(offset, length));
    if (bytes->size() != length) {
      return Corruption("{}: {} bytes wanted at byte offset {}, {} there", path_, length, offset,
                        bytes->size());
    }
    return bytes;
  }

  std::string path_;
  std::shared_ptr<arrow::io::RandomAccessFile> file_;
  int64_t size_ = 0;
  std::shared_ptr<arrow::Buffer> head_;
  std::shared_ptr<arrow::Buffer> last_;  ///< read last
  int64_t last_offset_ = 0;
};

}  // namespace

std::unique_ptr<IndexInput> IndexInput::FromMemory(std::string_view bytes, std::string name) {
  return std::make_unique<MemoryInput>(bytes, std::move(name));
}

arrow::Result<std::unique_ptr<IndexInput>> IndexInput::FromFile(FileIO& io,
                                                                const std::string& path) {
  ARROW_ASSIGN_OR_RAISE(auto file, io.OpenInput(path));
  auto input = std::make_unique<FileInput>(path, std::move(file));
  ARROW_RETURN_NOT_OK(input->Init());
  return std::unique_ptr<IndexInput>(std::move(input));
}

arrow::Result<std::shared_ptr<arrow::Buffer>> IndexBlob::Read(int64_t offset,
                                                              int64_t length) const {
  if (offset < 0 || length < 0 || offset > length_ || length > length_ - offset)
    return Error(fmt::format("{} bytes wanted, the index ends", length), offset);
  return input_->Read(start_ + offset, length);
}

arrow::Status IndexBlob::Error(std::string_view what, int64_t offset) const {
  return Corruption("{}: file index: {} at byte offset {}", name(), what, start_ + offset);
}

arrow::Result<const uint8_t*> IndexCursor::Need(int64_t length) {
  if (length > remaining()) return Error(fmt::format("{} bytes wanted, the part ends", length));
  const int64_t skipped = offset_ - window_start_;
  if (window_ == nullptr || skipped + length > window_->size()) {
    ARROW_ASSIGN_OR_RAISE(
        window_, blob_->Read(offset_, std::min(remaining(), std::max(length, kWindowBytes))));
    window_start_ = offset_;
    return window_->data();
  }
  return window_->data() + skipped;
}

arrow::Result<uint8_t> IndexCursor::Byte() {
  ARROW_ASSIGN_OR_RAISE(const uint8_t* bytes, Need(1));
  ++offset_;
  return bytes[0];
}

arrow::Result<int32_t> IndexCursor::BE32() {
  ARROW_ASSIGN_OR_RAISE(int64_t number, Signed(4));
  return static_cast<int32_t>(number);
}

arrow::Result<int64_t> IndexCursor::Signed(int width) {
  ARROW_ASSIGN_OR_RAISE(const uint8_t* bytes, Need(width));
  uint64_t number = bytes[0] >= 0x80 ? ~uint64_t{0} : 0;
  for (int i = 0; i < width; ++i) number = (number << 8) | bytes[i];
  offset_ += width;
  return static_cast<int64_t>(number);
}

arrow::Result<int32_t> IndexCursor::Count(std::string_view what) {
  ARROW_ASSIGN_OR_RAISE(int32_t count, BE32());
  if (count < 0) {
    offset_ -= 4;
    return Error(fmt::format("{} is {}", what, count));
  }
  return count;
}

arrow::Status IndexCursor::Bytes(int64_t length, std::string* out) {
  ARROW_ASSIGN_OR_RAISE(const uint8_t* bytes, Need(length));
  out->assign(reinterpret_cast<const char*>(bytes), static_cast<size_t>(length));
  offset_ += length;
  return arrow::Status::OK();
}

arrow::Status IndexCursor::Skip(int64_t length) {
  if (length < 0 || length > remaining())
    return Error(fmt::format("{} bytes wanted, the part ends", length));
  offset_ += length;
  return arrow::Status::OK();
}

}  // namespace kelda
