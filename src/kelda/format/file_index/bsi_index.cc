// Index type `bsi` (spec 01 §7.7): bit slices of the absolute values, by sign.
#include <limits>

#include "kelda/format/file_index/bit_slices.h"
#include "kelda/format/file_index/column_index.h"
#include "kelda/format/file_index/index_bitmap.h"

namespace kelda {

namespace {

constexpr char kVersion = 1;
constexpr int kSlicesMax = 64;
constexpr int64_t kLongMin = std::numeric_limits<int64_t>::min();
constexpr int64_t kLongMax = std::numeric_limits<int64_t>::max();

uint64_t Absolute(int64_t value) {
  return value < 0 ? ~static_cast<uint64_t>(value) + 1 : static_cast<uint64_t>(value);
}

void AppendBE32(int64_t value, std::string* out) {
  char bytes[4];
  StoreBE32(bytes, static_cast<uint32_t>(value));
  out->append(bytes, 4);
}
void AppendBE64(int64_t value, std::string* out) {
  char bytes[8];
  StoreBE64(bytes, static_cast<uint64_t>(value));
  out->append(bytes, 8);
}

class BsiWriter : public ColumnIndexWriter {
 public:
  explicit BsiWriter(KeyForm form) : form_(std::move(form)) {}

  arrow::Status Write(const arrow::Array& array) override {
    bool fits = true;
    ARROW_RETURN_NOT_OK(form_.ForEach(
        array,
        [&](int64_t i, const IndexKey& key) {
          // Its absolute value is no long.
          fits = fits && key.number != kLongMin;
          Sign& sign = key.number < 0 ? negative_ : positive_;
          sign.max = std::max(sign.max, Absolute(key.number));
          sign.any = true;
          sign.slices.Add(static_cast<uint32_t>(rows_ + i), Absolute(key.number));
        },
        [](int64_t) {}));
    if (!fits) return Invalid("bsi index cannot hold {}", kLongMin);
    rows_ += array.length();
    return arrow::Status::OK();
  }
  int64_t BufferedBytes() const override {
    return positive_.slices.BufferedBytes() + negative_.slices.BufferedBytes();
  }
  arrow::Result<std::string> Finish() override {
    std::string out(1, kVersion);
    AppendBE32(rows_, &out);
    AppendSign(&positive_, &out);
    AppendSign(&negative_, &out);
    return out;
  }

 private:
  struct Sign {
    bool any = false;
    uint64_t max = 0;
    BitSliceBuilder slices;
  };

  static void AppendSign(Sign* sign, std::string* out) {
    out->push_back(sign->any ? '\1' : '\0');
    if (!sign->any) return;
    sign->slices.Flush();
    out->push_back(kVersion);
    AppendBE64(0, out);
    AppendBE64(static_cast<int64_t>(sign->max), out);
    out->append(sign->slices.existence().Serialize());
    AppendBE32(static_cast<int64_t>(sign->slices.slices().size()), out);
    for (Roaring& slice : sign->slices.slices()) out->append(slice.Serialize());
  }

  KeyForm form_;
  int64_t rows_ = 0;
  Sign positive_;
  Sign negative_;
};

class BsiReader : public ColumnIndexReader {
 public:
  BsiReader(IndexBlob blob, int64_t rows) : blob_(blob), rows_(rows) {}

  /// The places of the slices are not written down: the whole index is read.
  arrow::Status Init() {
    ARROW_ASSIGN_OR_RAISE(auto buffer, blob_.Read(0, blob_.length()));
    bytes_ = std::string_view(*buffer);
    ARROW_ASSIGN_OR_RAISE(auto head, Take(5));
    if (head[0] != kVersion)
      return blob_.Error(fmt::format("bsi index of version {}", static_cast<int>(head[0])), 0);
    const auto rows = static_cast<int32_t>(LoadBE32(head.data() + 1));
    if (rows != rows_)
      return blob_.Error(fmt::format("bsi index of {} rows for a file of {}", rows, rows_), 1);
    ARROW_RETURN_NOT_OK(ReadSign(&positive_));
    ARROW_RETURN_NOT_OK(ReadSign(&negative_));
    not_null_ = positive_.existence.Clone();
    not_null_.Or(negative_.existence);
    bytes_ = {};
    return arrow::Status::OK();
  }

  arrow::Result<RowSelection> Evaluate(const IndexQuery& query) override {
    ARROW_ASSIGN_OR_RAISE(Roaring rows, Rows(query));
    return RowSelection::Of(std::move(rows), rows_);
  }

 private:
  struct Sign {
    Roaring existence;
    std::vector<Roaring> slices;

    BitSlices view() const {
      return BitSlices(&existence, static_cast<int>(slices.size()),
                       [this](int i) -> arrow::Result<const Roaring*> {
                         return &slices[static_cast<size_t>(i)];
                       });
    }
  };

  arrow::Result<std::string_view> Take(size_t length) {
    if (length > bytes_.size() - offset_)
      return blob_.Error("the bsi index ends", static_cast<int64_t>(offset_));
    offset_ += length;
    return bytes_.substr(offset_ - length, length);
  }

  arrow::Result<Roaring> TakeBitmap() {
    size_t consumed = 0;
    ARROW_ASSIGN_OR_RAISE(Roaring bitmap,
                          ParseIndexBitmap(blob_, bytes_.substr(offset_),
                                           static_cast<int64_t>(offset_), rows_, &consumed));
    offset_ += consumed;
    return bitmap;
  }

  arrow::Status ReadSign(Sign* sign) {
    ARROW_ASSIGN_OR_RAISE(auto any, Take(1));
    if (any[0] == 0) return arrow::Status::OK();
    ARROW_ASSIGN_OR_RAISE(auto head, Take(17));
    if (head[0] != kVersion) {
      return blob_.Error(fmt::format("bit slices of version {}", static_cast<int>(head[0])),
                         static_cast<int64_t>(offset_));
    }
    ARROW_ASSIGN_OR_RAISE(sign->existence, TakeBitmap());
    ARROW_ASSIGN_OR_RAISE(auto count_bytes, Take(4));
    const auto count = static_cast<int32_t>(LoadBE32(count_bytes.data()));
    if (count < 0 || count > kSlicesMax)
      return blob_.Error(fmt::format("{} bit slices", count), static_cast<int64_t>(offset_));
    for (int32_t i = 0; i < count; ++i) {
      ARROW_ASSIGN_OR_RAISE(Roaring slice, TakeBitmap());
      sign->slices.push_back(std::move(slice));
    }
    return arrow::Status::OK();
  }

  arrow::Result<Roaring> Rows(const IndexQuery& query) const {
    switch (query.op) {
      case IndexOp::kIn:
        return Equal(query.keys);
      case IndexOp::kNotIn: {
        ARROW_ASSIGN_OR_RAISE(Roaring excluded, Equal(query.keys));
        return NotNullBut(excluded);
      }
      case IndexOp::kLess:
        return Less(query.keys[0].number);
      case IndexOp::kLessEq:
        return LessEq(query.keys[0].number);
      case IndexOp::kGreater: {
        ARROW_ASSIGN_OR_RAISE(Roaring excluded, LessEq(query.keys[0].number));
        return NotNullBut(excluded);
      }
      case IndexOp::kGreaterEq: {
        ARROW_ASSIGN_OR_RAISE(Roaring excluded, Less(query.keys[0].number));
        return NotNullBut(excluded);
      }
      case IndexOp::kIsNull: {
        Roaring rows = not_null_.Clone();
        rows.Flip(static_cast<uint64_t>(rows_));
        return rows;
      }
      default:
        return not_null_.Clone();
    }
  }

  Roaring NotNullBut(const Roaring& excluded) const {
    Roaring rows = not_null_.Clone();
    rows.AndNot(excluded);
    return rows;
  }

  arrow::Result<Roaring> Equal(const std::vector<IndexKey>& keys) const {
    Roaring rows;
    for (const IndexKey& key : keys) {
      const Sign& sign = key.number < 0 ? negative_ : positive_;
      ARROW_ASSIGN_OR_RAISE(Roaring found, sign.view().Equal(Absolute(key.number)));
      rows.Or(found);
    }
    return rows;
  }

  arrow::Result<Roaring> Less(int64_t value) const {
    if (value > 0) {
      ARROW_ASSIGN_OR_RAISE(Roaring rows, positive_.view().Less(Absolute(value)));
      rows.Or(negative_.existence);
      return rows;
    }
    // Negative and of a greater absolute value.
    ARROW_ASSIGN_OR_RAISE(Roaring not_less, negative_.view().Less(Absolute(value) + 1));
    Roaring rows = negative_.existence.Clone();
    rows.AndNot(not_less);
    return rows;
  }

  arrow::Result<Roaring> LessEq(int64_t value) const {
    if (value == kLongMax) return not_null_.Clone();
    return Less(value + 1);
  }

  IndexBlob blob_;
  int64_t rows_;
  std::string_view bytes_;
  size_t offset_ = 0;
  Sign positive_;
  Sign negative_;
  Roaring not_null_;
};

class BitSliceIndexType : public ColumnIndexType {
 public:
  std::string_view name() const override { return "bsi"; }
  std::vector<std::string_view> option_names() const override { return {}; }
  bool exact() const override { return true; }
  bool Supports(const DataType& type) const override {
    return type.root() != TypeRoot::kBoolean && type.root() != TypeRoot::kFloat &&
           type.root() != TypeRoot::kDouble && !type.IsString() && !type.IsBytes() &&
           KeyForm::Make(type).ok();
  }

  arrow::Result<std::unique_ptr<ColumnIndexWriter>> CreateWriter(
      const KeyForm& form, const IndexOptions&) const override {
    return std::make_unique<BsiWriter>(form);
  }

  arrow::Result<std::unique_ptr<ColumnIndexReader>> Open(const KeyForm&, IndexBlob blob,
                                                         int64_t row_count) const override {
    auto reader = std::make_unique<BsiReader>(blob, row_count);
    ARROW_RETURN_NOT_OK(reader->Init());
    return std::unique_ptr<ColumnIndexReader>(std::move(reader));
  }
};

}  // namespace

const ColumnIndexType& BitSliceIndex() {
  static const BitSliceIndexType type;
  return type;
}

}  // namespace kelda
