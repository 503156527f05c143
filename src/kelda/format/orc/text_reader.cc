#include <algorithm>
#include <cstring>

#include <arrow/util/bit_util.h>
#include <arrow/util/utf8.h>

#include "kelda/format/orc/column_reader.h"
#include "kelda/format/orc/run_decoder.h"

namespace kelda {
namespace {

constexpr int64_t kBytesMax = 2147483646;
/// Bytes of which no stream was seen yet are not allocated beyond this.
constexpr int64_t kBytesStep = 1 << 20;
constexpr int64_t kEntriesStep = 1 << 16;
/// Short texts are copied by a fixed number of bytes, so some beyond their end are written.
constexpr int64_t kCopySlack = 16;

bool IsValidText(const uint8_t* data, const int32_t* offsets, int64_t n) {
  [[maybe_unused]] static const bool initialized = (arrow::util::InitializeUTF8(), true);
  const int32_t size = offsets[n];
  if (!arrow::util::ValidateUTF8(data, size)) return false;
  // A valid whole whose pieces start at code point boundaries has valid pieces.
  bool good = true;
  for (int64_t i = 0; i < n; ++i) {
    const int32_t at = offsets[i];
    good &= at == size || (data[at] & 0xC0) != 0x80;
  }
  return good;
}

/// Texts one behind the other.
struct Texts {
  std::vector<int32_t> offsets = {0};
  std::shared_ptr<arrow::ResizableBuffer> bytes;

  int64_t count() const { return static_cast<int64_t>(offsets.size()) - 1; }
};

class TextReader : public PresentReader {
 public:
  TextReader(const OrcStripeSource& source, std::shared_ptr<arrow::DataType> type, uint32_t column,
             const DataType& wanted, bool trim)
      : PresentReader(source, std::move(type), column, wanted.nullable()),
        text_(wanted.IsString()),
        trim_(trim) {
    const OrcColumnEncoding& encoding = source.footer->encodings[column];
    const bool version2 =
        encoding.kind == OrcEncoding::kDirectV2 || encoding.kind == OrcEncoding::kDictionaryV2;
    dictionary_ =
        encoding.kind == OrcEncoding::kDictionary || encoding.kind == OrcEncoding::kDictionaryV2;
    dictionary_size_ = encoding.dictionary_size;
    if (auto lengths = source.Open(column, OrcStreamKind::kLength)) {
      lengths_ = std::make_unique<IntDecoder>(std::move(lengths), false, version2);
    }
    auto data = source.Open(column, OrcStreamKind::kData);
    if (!dictionary_) {
      bytes_ = std::move(data);
      return;
    }
    bytes_ = source.Open(column, OrcStreamKind::kDictionaryData);
    if (data) indexes_ = std::make_unique<IntDecoder>(std::move(data), false, version2);
  }

  arrow::Result<std::shared_ptr<arrow::ArrayData>> Read(int64_t rows,
                                                        const OrcValidity& parent) override {
    ARROW_ASSIGN_OR_RAISE(auto own, ReadPresent(rows, parent));
    ARROW_ASSIGN_OR_RAISE(auto offsets, arrow::AllocateBuffer((rows + 1) * 4));
    auto* out = offsets->mutable_data_as<int32_t>();
    std::shared_ptr<arrow::Buffer> bytes;
    if (own.valid == 0) {
      ARROW_ASSIGN_OR_RAISE(bytes, arrow::AllocateBuffer(0));
      std::memset(out, 0, static_cast<size_t>(rows + 1) * 4);
      return MakeData(rows, own, parent, {std::move(offsets), std::move(bytes)});
    }
    if (dictionary_) {
      ARROW_ASSIGN_OR_RAISE(bytes, ReadIndexed(own.valid, out));
    } else {
      ARROW_ASSIGN_OR_RAISE(bytes, ReadDirect(own.valid, out));
    }
    if (own.valid < rows) SpreadOffsets(rows, own, out);
    return MakeData(rows, own, parent, {std::move(offsets), std::move(bytes)});
  }

 protected:
  arrow::Status SeekStreams(OrcPositions* positions) override {
    if (dictionary_) return indexes_ ? indexes_->Seek(positions) : arrow::Status::OK();
    if (bytes_) ARROW_RETURN_NOT_OK(bytes_->Seek(positions));
    return lengths_ ? lengths_->Seek(positions) : arrow::Status::OK();
  }

 private:
  static void SpreadOffsets(int64_t rows, const OrcValidity& own, int32_t* offsets) {
    int64_t from = own.valid;
    const int32_t end = offsets[from];
    offsets[rows] = end;
    int32_t next = end;
    for (int64_t row = rows - 1; row >= 0; --row) {
      if (arrow::bit_util::GetBit(own.bits->data(), row)) next = offsets[--from];
      offsets[row] = next;
    }
  }

  arrow::Status TooLong() const {
    return arrow::Status::CapacityError(name_, ": more bytes than one batch can hold");
  }

  /// Add up `n` lengths behind `at`.
  arrow::Status AddOffsets(const int64_t* lengths, int64_t n, int64_t at, int32_t* out) const {
    for (int64_t i = 0; i < n; ++i) {
      if (lengths[i] < 0) return Error("a negative length");
      at += std::min(lengths[i], kBytesMax + 1);
      if (at > kBytesMax) return TooLong();
      out[i] = static_cast<int32_t>(at);
    }
    return arrow::Status::OK();
  }

  arrow::Status ReadBytes(int64_t size, std::shared_ptr<arrow::ResizableBuffer>* out) {
    ARROW_ASSIGN_OR_RAISE(auto buffer, arrow::AllocateResizableBuffer(std::min(size, kBytesStep)));
    for (int64_t done = 0; done < size;) {
      const int64_t part = std::min(size - done, std::max(done, kBytesStep));
      ARROW_RETURN_NOT_OK(buffer->Resize(done + part, /*shrink_to_fit=*/false));
      if (!bytes_) return Error("the stream with the bytes is missing");
      ARROW_RETURN_NOT_OK(bytes_->Copy(buffer->mutable_data() + done, part));
      done += part;
    }
    *out = std::move(buffer);
    return arrow::Status::OK();
  }

  /// Cut trailing blanks off, in place.
  static void Trim(int64_t n, int32_t* offsets, arrow::ResizableBuffer* bytes) {
    uint8_t* data = bytes->mutable_data();
    int32_t to = 0;
    int32_t first = 0;
    for (int64_t i = 0; i < n; ++i) {
      const int32_t end = offsets[i + 1];
      int32_t last = end;
      while (last > first && data[last - 1] == ' ') --last;
      std::memmove(data + to, data + first, static_cast<size_t>(last - first));
      to += last - first;
      offsets[i + 1] = to;
      first = end;
    }
  }

  arrow::Status Settle(int64_t n, int32_t* offsets, arrow::ResizableBuffer* bytes) const {
    if (trim_) Trim(n, offsets, bytes);
    if (text_ && !IsValidText(bytes->data(), offsets, n)) return Error("a text is not valid UTF-8");
    return arrow::Status::OK();
  }

  arrow::Result<std::shared_ptr<arrow::Buffer>> ReadDirect(int64_t n, int32_t* offsets) {
    if (!lengths_) return Error("the LENGTH stream is missing");
    scratch_.resize(static_cast<size_t>(n));
    ARROW_RETURN_NOT_OK(lengths_->Read(scratch_.data(), n));
    offsets[0] = 0;
    ARROW_RETURN_NOT_OK(AddOffsets(scratch_.data(), n, 0, offsets + 1));
    std::shared_ptr<arrow::ResizableBuffer> bytes;
    ARROW_RETURN_NOT_OK(ReadBytes(offsets[n], &bytes));
    ARROW_RETURN_NOT_OK(Settle(n, offsets, bytes.get()));
    return bytes;
  }

  arrow::Status LoadDictionary() {
    if (entries_.bytes) return arrow::Status::OK();
    std::vector<int64_t> lengths;
    for (uint64_t left = dictionary_size_; left > 0;) {
      if (!lengths_) return Error("the LENGTH stream is missing");
      const auto part = static_cast<int64_t>(std::min<uint64_t>(left, kEntriesStep));
      const int64_t before = entries_.count();
      if (before > kBytesMax) return Error("a dictionary of too many entries");
      lengths.resize(static_cast<size_t>(part));
      ARROW_RETURN_NOT_OK(lengths_->Read(lengths.data(), part));
      entries_.offsets.resize(static_cast<size_t>(before + part + 1));
      int32_t* end = entries_.offsets.data() + before;
      const arrow::Status added = AddOffsets(lengths.data(), part, *end, end + 1);
      if (!added.ok()) return Error("a dictionary of too many bytes");
      left -= static_cast<uint64_t>(part);
    }
    std::shared_ptr<arrow::ResizableBuffer> bytes;
    ARROW_RETURN_NOT_OK(ReadBytes(entries_.offsets.back(), &bytes));
    ARROW_RETURN_NOT_OK(Settle(entries_.count(), entries_.offsets.data(), bytes.get()));
    // Copying may read a bit beyond the end.
    ARROW_RETURN_NOT_OK(bytes->Resize(bytes->size() + kCopySlack, false));
    entries_.bytes = std::move(bytes);
    return arrow::Status::OK();
  }

  arrow::Result<std::shared_ptr<arrow::Buffer>> ReadIndexed(int64_t n, int32_t* offsets) {
    ARROW_RETURN_NOT_OK(LoadDictionary());
    if (!indexes_) return Error("the DATA stream is missing");
    scratch_.resize(static_cast<size_t>(n));
    ARROW_RETURN_NOT_OK(indexes_->Read(scratch_.data(), n));
    const auto count = static_cast<uint64_t>(entries_.count());
    uint64_t largest = 0;
    for (int64_t index : scratch_) largest = std::max(largest, static_cast<uint64_t>(index));
    if (largest >= count) return Error("an index lies behind the dictionary");
    const int32_t* starts = entries_.offsets.data();
    int64_t at = 0;
    offsets[0] = 0;
    for (int64_t i = 0; i < n; ++i) {
      const int64_t index = scratch_[static_cast<size_t>(i)];
      at += starts[index + 1] - starts[index];
      if (at > kBytesMax) return TooLong();
      offsets[i + 1] = static_cast<int32_t>(at);
    }
    ARROW_ASSIGN_OR_RAISE(auto bytes, arrow::AllocateResizableBuffer(at + kCopySlack));
    uint8_t* out = bytes->mutable_data();
    const uint8_t* from = entries_.bytes->data();
    for (int64_t i = 0; i < n; ++i) {
      const int64_t index = scratch_[static_cast<size_t>(i)];
      const int32_t length = starts[index + 1] - starts[index];
      if (length <= kCopySlack) {
        std::memcpy(out + offsets[i], from + starts[index], kCopySlack);
      } else {
        std::memcpy(out + offsets[i], from + starts[index], static_cast<size_t>(length));
      }
    }
    ARROW_RETURN_NOT_OK(bytes->Resize(at, /*shrink_to_fit=*/false));
    return std::shared_ptr<arrow::Buffer>(std::move(bytes));
  }

  const bool text_;
  const bool trim_;
  bool dictionary_ = false;
  uint64_t dictionary_size_ = 0;
  std::unique_ptr<InStream> bytes_;
  std::unique_ptr<IntDecoder> lengths_;
  std::unique_ptr<IntDecoder> indexes_;
  Texts entries_;
  std::vector<int64_t> scratch_;
};

}  // namespace

std::unique_ptr<ColumnReader> MakeTextReader(const OrcStripeSource& source, const DataType& wanted,
                                             const std::shared_ptr<arrow::DataType>& type,
                                             uint32_t column, bool trim) {
  return std::make_unique<TextReader>(source, type, column, wanted, trim);
}

}  // namespace kelda
