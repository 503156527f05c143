// Index type `range-bitmap` (spec 01 §7.8): a dictionary of the values in their order, and bit
// slices of each row's place in it.
#include <algorithm>
#include <bit>
#include <limits>
#include <optional>

#include "kelda/format/file_index/bit_slices.h"
#include "kelda/format/file_index/column_index.h"
#include "kelda/format/file_index/index_bitmap.h"
#include "kelda/format/file_index/index_options.h"
#include "kelda/format/file_index/range_dictionary.h"
#include "kelda/format/file_index/value_dictionary.h"

namespace kelda {

namespace {

constexpr char kVersion = 1;
constexpr int64_t kDefaultChunkBytes = 16 << 10;
/// Without any value Java writes as many slices as a code could have.
constexpr int kSlicesMax = 64;

void AppendBE32(int64_t value, std::string* out) {
  char bytes[4];
  StoreBE32(bytes, static_cast<uint32_t>(value));
  out->append(bytes, 4);
}

int SliceCount(size_t value_count) {
  if (value_count == 0) return kSlicesMax;
  return std::max(1, static_cast<int>(std::bit_width(value_count - 1)));
}

class RangeBitmapWriter : public ColumnIndexWriter {
 public:
  RangeBitmapWriter(KeyForm form, int64_t chunk_bytes)
      : values_(std::move(form)), chunk_bytes_(chunk_bytes) {}

  arrow::Status Write(const arrow::Array& array) override { return values_.Add(array); }
  int64_t BufferedBytes() const override { return values_.BufferedBytes(); }

  arrow::Result<std::string> Finish() override {
    const ValueDictionary::Sorted sorted = values_.Sort();
    const KeyForm& form = values_.form();
    ARROW_ASSIGN_OR_RAISE(std::string dictionary,
                          EncodeRangeDictionary(form, sorted.keys, chunk_bytes_));
    std::string header(1, kVersion);
    AppendBE32(static_cast<int64_t>(sorted.ranks.size()), &header);
    AppendBE32(static_cast<int64_t>(sorted.keys.size()), &header);
    if (!sorted.keys.empty()) {
      form.Append(sorted.keys.front(), &header);
      form.Append(sorted.keys.back(), &header);
    }
    AppendBE32(static_cast<int64_t>(dictionary.size()), &header);
    std::string out;
    AppendBE32(static_cast<int64_t>(header.size()), &out);
    out += header;
    out += dictionary;
    AppendSlices(sorted, &out);
    if (out.size() > std::numeric_limits<int32_t>::max())
      return Invalid("range-bitmap index of more than 2147483647 bytes");
    return out;
  }

 private:
  static void AppendSlices(const ValueDictionary::Sorted& sorted, std::string* out) {
    BitSliceBuilder builder;
    for (uint32_t row = 0; row < sorted.ranks.size(); ++row) {
      if (sorted.ranks[row] != ValueDictionary::kNull) builder.Add(row, sorted.ranks[row]);
    }
    builder.Flush();
    const int count = SliceCount(sorted.keys.size());
    builder.slices().resize(static_cast<size_t>(count));
    const std::string existence = builder.existence().Serialize();
    std::string index;
    std::string slices;
    for (Roaring& slice : builder.slices()) {
      const std::string bytes = slice.Serialize();
      AppendBE32(static_cast<int64_t>(slices.size()), &index);
      AppendBE32(static_cast<int64_t>(bytes.size()), &index);
      slices += bytes;
    }
    std::string header(1, kVersion);
    header.push_back(static_cast<char>(count));
    AppendBE32(static_cast<int64_t>(existence.size()), &header);
    AppendBE32(static_cast<int64_t>(index.size()), &header);
    header += index;
    AppendBE32(static_cast<int64_t>(header.size()), out);
    *out += header;
    *out += existence;
    *out += slices;
  }

  ValueDictionary values_;
  int64_t chunk_bytes_;
};

class RangeBitmapReader : public ColumnIndexReader {
 public:
  RangeBitmapReader(KeyForm form, IndexBlob blob, int64_t rows)
      : form_(std::move(form)), blob_(blob), rows_(rows) {}

  arrow::Status Init() {
    IndexCursor in(&blob_, 0, blob_.length());
    ARROW_ASSIGN_OR_RAISE(int32_t header_length, in.Count("header length"));
    ARROW_ASSIGN_OR_RAISE(uint8_t version, in.Byte());
    if (version != kVersion)
      return blob_.Error(fmt::format("range-bitmap index of version {}", version), 4);
    ARROW_ASSIGN_OR_RAISE(int32_t rows, in.Count("row count"));
    if (rows != rows_) {
      return blob_.Error(fmt::format("range-bitmap index of {} rows for a file of {}", rows, rows_),
                         5);
    }
    ARROW_ASSIGN_OR_RAISE(int32_t cardinality, in.Count("value count"));
    if (cardinality > 0) {
      std::string text;
      ARROW_RETURN_NOT_OK(form_.Read(&in, &text).status());
      ARROW_RETURN_NOT_OK(form_.Read(&in, &text).status());
    }
    ARROW_ASSIGN_OR_RAISE(int32_t dictionary_length, in.Count("dictionary length"));
    if (in.offset() != 4 + int64_t{header_length})
      return in.Error(fmt::format("the header should have {} bytes", header_length));
    const int64_t dictionary_start = in.offset();
    ARROW_RETURN_NOT_OK(in.Skip(dictionary_length));
    ARROW_RETURN_NOT_OK(ReadSlices(&in));
    if (cardinality == 0) return arrow::Status::OK();
    ARROW_ASSIGN_OR_RAISE(auto dictionary, RangeDictionary::Open(form_, blob_, dictionary_start,
                                                                 dictionary_length, cardinality));
    dictionary_ = std::make_unique<RangeDictionary>(std::move(dictionary));
    return arrow::Status::OK();
  }

  arrow::Result<RowSelection> Evaluate(const IndexQuery& query) override {
    ARROW_ASSIGN_OR_RAISE(Roaring rows, Rows(query));
    return RowSelection::Of(std::move(rows), rows_);
  }

 private:
  struct SlicePlace {
    int32_t offset;
    int32_t length;
  };

  arrow::Status ReadSlices(IndexCursor* in) {
    const int64_t begin = in->offset();
    ARROW_ASSIGN_OR_RAISE(int32_t header_length, in->Count("header length of the slices"));
    ARROW_ASSIGN_OR_RAISE(uint8_t version, in->Byte());
    if (version != kVersion)
      return blob_.Error(fmt::format("bit slices of version {}", version), begin + 4);
    ARROW_ASSIGN_OR_RAISE(uint8_t count, in->Byte());
    if (count > kSlicesMax) return blob_.Error(fmt::format("{} bit slices", count), begin + 5);
    ARROW_ASSIGN_OR_RAISE(int32_t existence_length, in->Count("length of the existence bitmap"));
    ARROW_ASSIGN_OR_RAISE(int32_t index_length, in->Count("length of the slice index"));
    if (index_length != 8 * count)
      return in->Error(fmt::format("index of {} bytes for {} slices", index_length, count));
    for (int i = 0; i < count; ++i) {
      SlicePlace place{};
      ARROW_ASSIGN_OR_RAISE(place.offset, in->Count("offset of a slice"));
      ARROW_ASSIGN_OR_RAISE(place.length, in->Count("length of a slice"));
      places_.push_back(place);
    }
    if (in->offset() != begin + 4 + header_length)
      return in->Error(fmt::format("the header of the slices should have {} bytes", header_length));
    ARROW_ASSIGN_OR_RAISE(existence_,
                          ReadIndexBitmap(blob_, in->offset(), existence_length, rows_));
    slices_start_ = in->offset() + existence_length;
    slices_.resize(places_.size());
    return arrow::Status::OK();
  }

  arrow::Result<const Roaring*> Slice(int i) {
    auto& slice = slices_[static_cast<size_t>(i)];
    if (!slice) {
      const SlicePlace place = places_[static_cast<size_t>(i)];
      ARROW_ASSIGN_OR_RAISE(
          slice, ReadIndexBitmap(blob_, slices_start_ + place.offset, place.length, rows_));
    }
    return &*slice;
  }

  BitSlices slices() {
    return BitSlices(&existence_, static_cast<int>(places_.size()),
                     [this](int i) { return Slice(i); });
  }

  Roaring ExistingBut(const Roaring& excluded) const {
    Roaring rows = existence_.Clone();
    rows.AndNot(excluded);
    return rows;
  }

  arrow::Result<Roaring> Rows(const IndexQuery& query) {
    if (query.op == IndexOp::kIsNull) {
      Roaring rows = existence_.Clone();
      rows.Flip(static_cast<uint64_t>(rows_));
      return rows;
    }
    if (query.op == IndexOp::kNotNull || dictionary_ == nullptr) return existence_.Clone();
    switch (query.op) {
      case IndexOp::kIn:
        return Equal(query.keys);
      case IndexOp::kNotIn: {
        ARROW_ASSIGN_OR_RAISE(Roaring excluded, Equal(query.keys));
        return ExistingBut(excluded);
      }
      case IndexOp::kStartsWith:
        return StartsWith(query.keys[0]);
      default:
        return Compared(query);
    }
  }

  /// Rows whose code is below the codes of values from `key` on, or above `key`.
  arrow::Result<Roaring> Below(const IndexKey& key, bool inclusive) {
    ARROW_ASSIGN_OR_RAISE(auto found, dictionary_->Find(key));
    return slices().Less(static_cast<uint64_t>(found.code) + (inclusive && found.exact ? 1 : 0));
  }

  arrow::Result<Roaring> Compared(const IndexQuery& query) {
    const bool below = query.op == IndexOp::kLess || query.op == IndexOp::kLessEq;
    const bool inclusive = query.op == IndexOp::kLessEq || query.op == IndexOp::kGreater;
    ARROW_ASSIGN_OR_RAISE(Roaring rows, Below(query.keys[0], inclusive));
    if (below) return rows;
    return ExistingBut(rows);
  }

  arrow::Result<Roaring> Equal(const std::vector<IndexKey>& keys) {
    Roaring rows;
    for (const IndexKey& key : keys) {
      ARROW_ASSIGN_OR_RAISE(auto found, dictionary_->Find(key));
      if (!found.exact) continue;
      ARROW_ASSIGN_OR_RAISE(Roaring equal, slices().Equal(static_cast<uint64_t>(found.code)));
      rows.Or(equal);
    }
    return rows;
  }

  /// Texts with a prefix are those from it up to the next text that has it not.
  arrow::Result<Roaring> StartsWith(const IndexKey& prefix) {
    ARROW_ASSIGN_OR_RAISE(Roaring below, Below(prefix, false));
    std::string end(prefix.text);
    while (!end.empty() && static_cast<uint8_t>(end.back()) == 0xff) end.pop_back();
    if (end.empty()) return ExistingBut(below);
    end.back() = static_cast<char>(static_cast<uint8_t>(end.back()) + 1);
    ARROW_ASSIGN_OR_RAISE(Roaring rows, Below(IndexKey{0, end}, false));
    rows.AndNot(below);
    return rows;
  }

  KeyForm form_;
  IndexBlob blob_;
  int64_t rows_;
  std::unique_ptr<RangeDictionary> dictionary_;  ///< null: no values
  Roaring existence_;
  std::vector<SlicePlace> places_;
  std::vector<std::optional<Roaring>> slices_;  ///< read so far
  int64_t slices_start_ = 0;
};

class RangeBitmapIndexType : public ColumnIndexType {
 public:
  std::string_view name() const override { return "range-bitmap"; }
  std::vector<std::string_view> option_names() const override { return {"chunk-size"}; }
  bool exact() const override { return true; }
  bool Supports(const DataType& type) const override {
    switch (type.root()) {
      case TypeRoot::kBinary:
      case TypeRoot::kVarBinary:
        return false;
      case TypeRoot::kDecimal:
        return type.precision() <= 18;
      case TypeRoot::kTimestamp:
      case TypeRoot::kTimestampLtz:
        return type.precision() <= 6;
      default:
        return KeyForm::Make(type).ok();
    }
  }

  arrow::Result<std::unique_ptr<ColumnIndexWriter>> CreateWriter(
      const KeyForm& form, const IndexOptions& options) const override {
    const bool tiny = !form.is_text() && form.width() <= 2;
    ARROW_ASSIGN_OR_RAISE(int64_t chunk,
                          SizeOption(options, "chunk-size", tiny ? 0 : kDefaultChunkBytes));
    return std::make_unique<RangeBitmapWriter>(form, chunk);
  }

  arrow::Result<std::unique_ptr<ColumnIndexReader>> Open(const KeyForm& form, IndexBlob blob,
                                                         int64_t row_count) const override {
    auto reader = std::make_unique<RangeBitmapReader>(form, blob, row_count);
    ARROW_RETURN_NOT_OK(reader->Init());
    return std::unique_ptr<ColumnIndexReader>(std::move(reader));
  }
};

}  // namespace

const ColumnIndexType& RangeBitmapIndex() {
  static const RangeBitmapIndexType type;
  return type;
}

}  // namespace kelda
