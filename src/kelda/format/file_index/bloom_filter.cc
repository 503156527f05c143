// Index type `bloom-filter` (spec 01 §7.5): int32 k, then the bits.
#include <cmath>
#include <limits>

#include <xxhash.h>

#include "kelda/format/file_index/column_index.h"
#include "kelda/format/file_index/index_options.h"

namespace kelda {

namespace {

constexpr int64_t kDefaultItems = 1000000;
constexpr double kDefaultFalsePositives = 0.1;
/// No items and rate give more hash functions (fpp of the smallest double, one item).
constexpr int32_t kFunctionsMax = 4096;
/// Filters up to this are read whole.
constexpr int64_t kWholeReadMax = 4096;

/// Thomas Wang's mix of 64 bits, with arithmetic shifts to the right.
uint64_t Mix(int64_t value) {
  const auto shifted = [](uint64_t v, int bits) {
    return static_cast<uint64_t>(static_cast<int64_t>(v) >> bits);
  };
  auto key = static_cast<uint64_t>(value);
  key = ~key + (key << 21);
  key ^= shifted(key, 24);
  key = key + (key << 3) + (key << 8);
  key ^= shifted(key, 14);
  key = key + (key << 2) + (key << 4);
  key ^= shifted(key, 28);
  return key + (key << 31);
}

uint64_t Hash(const KeyForm& form, const IndexKey& key) {
  if (form.is_text()) return XXH64(key.text.data(), key.text.size(), 0);
  return Mix(form.HashedBits(key));
}

/// Bit `i` of 1 … k for `hash` in a filter of `bits`.
uint32_t BitOf(uint64_t hash, uint32_t i, uint32_t bits) {
  uint32_t place = static_cast<uint32_t>(hash) + i * static_cast<uint32_t>(hash >> 32);
  if (static_cast<int32_t>(place) < 0) place = ~place;
  return place % bits;
}

class BloomWriter : public ColumnIndexWriter {
 public:
  BloomWriter(KeyForm form, uint32_t bits, uint32_t functions)
      : form_(std::move(form)), bits_(bits), functions_(functions), bytes_(4 + bits / 8, '\0') {
    StoreBE32(bytes_.data(), functions);
  }

  arrow::Status Write(const arrow::Array& array) override {
    return form_.ForEach(
        array,
        [&](int64_t, const IndexKey& key) {
          const uint64_t hash = Hash(form_, key);
          for (uint32_t i = 1; i <= functions_; ++i) {
            const uint32_t bit = BitOf(hash, i, bits_);
            bytes_[4 + bit / 8] = static_cast<char>(bytes_[4 + bit / 8] | (1 << (bit % 8)));
          }
        },
        [](int64_t) {});
  }
  int64_t BufferedBytes() const override { return static_cast<int64_t>(bytes_.size()); }
  arrow::Result<std::string> Finish() override { return std::move(bytes_); }

 private:
  KeyForm form_;
  uint32_t bits_;
  uint32_t functions_;
  std::string bytes_;
};

class BloomReader : public ColumnIndexReader {
 public:
  BloomReader(KeyForm form, IndexBlob blob, int64_t rows)
      : form_(std::move(form)), blob_(blob), rows_(rows) {}

  arrow::Status Init() {
    constexpr int64_t kBytesMax = int64_t{std::numeric_limits<int32_t>::max()} / 8 + 1;
    if (blob_.length() < 5 || blob_.length() - 4 > kBytesMax)
      return blob_.Error(fmt::format("bloom filter of {} bytes", blob_.length()), 0);
    const bool small = blob_.length() <= kWholeReadMax;
    ARROW_ASSIGN_OR_RAISE(head_, blob_.Read(0, small ? blob_.length() : 4));
    functions_ = static_cast<int32_t>(LoadBE32(head_->data()));
    if (functions_ < 1 || functions_ > kFunctionsMax)
      return blob_.Error(fmt::format("bloom filter of {} hash functions", functions_), 0);
    bits_ = static_cast<uint32_t>((blob_.length() - 4) * 8);
    return arrow::Status::OK();
  }

  arrow::Result<RowSelection> Evaluate(const IndexQuery& query) override {
    if (query.op != IndexOp::kIn) return RowSelection::All(rows_);
    for (const IndexKey& key : query.keys) {
      ARROW_ASSIGN_OR_RAISE(bool may_hold, MayHold(key));
      if (may_hold) return RowSelection::All(rows_);
    }
    return RowSelection::None(rows_);
  }

 private:
  arrow::Result<bool> MayHold(const IndexKey& key) {
    const uint64_t hash = Hash(form_, key);
    for (uint32_t i = 1; i <= static_cast<uint32_t>(functions_); ++i) {
      const uint32_t bit = BitOf(hash, i, bits_);
      const int64_t place = 4 + bit / 8;
      uint8_t byte = 0;
      if (place < head_->size()) {
        byte = head_->data()[place];
      } else {
        ARROW_ASSIGN_OR_RAISE(auto bytes, blob_.Read(place, 1));
        byte = bytes->data()[0];
      }
      if ((byte & (1 << (bit % 8))) == 0) return false;
    }
    return true;
  }

  KeyForm form_;
  IndexBlob blob_;
  int64_t rows_;
  std::shared_ptr<arrow::Buffer> head_;
  int32_t functions_ = 0;
  uint32_t bits_ = 0;
};

class BloomFilterIndexType : public ColumnIndexType {
 public:
  std::string_view name() const override { return "bloom-filter"; }
  std::vector<std::string_view> option_names() const override { return {"items", "fpp"}; }
  bool exact() const override { return false; }
  bool Supports(const DataType& type) const override {
    return type.root() != TypeRoot::kBoolean && type.root() != TypeRoot::kDecimal &&
           KeyForm::Make(type).ok();
  }

  arrow::Result<std::unique_ptr<ColumnIndexWriter>> CreateWriter(
      const KeyForm& form, const IndexOptions& options) const override {
    ARROW_ASSIGN_OR_RAISE(int64_t items, IntegerOption(options, "items", kDefaultItems, 0,
                                                       std::numeric_limits<int32_t>::max()));
    ARROW_ASSIGN_OR_RAISE(double rate, DoubleOption(options, "fpp", kDefaultFalsePositives));
    const auto n = static_cast<double>(items);
    const double wanted = -n * std::log(rate) / (std::log(2.0) * std::log(2.0));
    // The bits are rounded up to more than asked for (spec 01 §7.5), and counted by an int.
    if (!(wanted < 2147483632.0) || !(wanted > -8.0)) {
      return Invalid("a bloom filter for {} items with false positive rate {} is not possible",
                     items, rate);
    }
    const auto whole = static_cast<int64_t>(wanted);
    const int64_t bits = whole + (8 - whole % 8);
    const double functions = std::floor(static_cast<double>(bits) / n * std::log(2.0) + 0.5);
    const auto k = functions >= 1 && functions <= kFunctionsMax ? static_cast<uint32_t>(functions)
                                                                : uint32_t{1};
    return std::make_unique<BloomWriter>(form, static_cast<uint32_t>(bits), k);
  }

  arrow::Result<std::unique_ptr<ColumnIndexReader>> Open(const KeyForm& form, IndexBlob blob,
                                                         int64_t row_count) const override {
    auto reader = std::make_unique<BloomReader>(form, blob, row_count);
    ARROW_RETURN_NOT_OK(reader->Init());
    return std::unique_ptr<ColumnIndexReader>(std::move(reader));
  }
};

}  // namespace

const ColumnIndexType& BloomFilterIndex() {
  static const BloomFilterIndexType type;
  return type;
}

}  // namespace kelda
