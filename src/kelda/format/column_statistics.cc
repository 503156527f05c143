#include "kelda/format/column_statistics.h"

#include <bit>
#include <cmath>
#include <limits>

#include <arrow/scalar.h>
#include <arrow/util/bit_run_reader.h>
#include <arrow/util/bitmap_ops.h>
#include <arrow/util/decimal.h>

#include "kelda/base/bytes.h"

namespace kelda {
namespace {

/// Calls body(first, length) for each run of non-null values; positions count from the start of the
/// slice.
template <typename Body>
void ForEachValidRun(const arrow::Array& values, Body&& body) {
  if (values.null_count() == 0) {
    if (values.length() > 0) body(0, values.length());
    return;
  }
  if (values.null_count() == values.length()) return;
  arrow::internal::SetBitRunReader reader(values.null_bitmap_data(), values.offset(),
                                          values.length());
  for (auto run = reader.NextRun(); run.length > 0; run = reader.NextRun()) {
    body(run.position, run.length);
  }
}

class NoStatistics : public ColumnStatistics {
 public:
  void Update(const arrow::Array&) override {}
  FileColumnStats Finish() const override { return {}; }
};

class NullCountStatistics : public ColumnStatistics {
 public:
  void Update(const arrow::Array& values) override { null_count_ += values.null_count(); }
  FileColumnStats Finish() const override { return {nullptr, nullptr, null_count_}; }

 private:
  int64_t null_count_ = 0;
};

template <typename T>
struct IntegerOrder {
  using Key = T;
  static Key ToKey(T value) { return value; }
  static T FromKey(Key key) { return key; }
};

/// Integers that are ordered like Double.compare orders the values; every NaN is the canonical one.
template <typename T, typename Bits>
struct FloatOrder {
  using Key = Bits;
  static constexpr Bits kMagnitude = std::numeric_limits<Bits>::max();
  static Key ToKey(T value) {
    Bits bits = std::bit_cast<Bits>(value);
    bits = value != value ? std::bit_cast<Bits>(std::numeric_limits<T>::quiet_NaN()) : bits;
    return bits ^ ((bits >> (sizeof(Bits) * 8 - 1)) & kMagnitude);
  }
  static T FromKey(Key key) {
    return std::bit_cast<T>(key ^ ((key >> (sizeof(Bits) * 8 - 1)) & kMagnitude));
  }
};

template <typename T, typename Order>
class FixedStatistics : public ColumnStatistics {
 public:
  explicit FixedStatistics(std::shared_ptr<arrow::DataType> type) : type_(std::move(type)) {}

  void Update(const arrow::Array& values) override {
    null_count_ += values.null_count();
    const T* data = values.data()->GetValues<T>(1);
    ForEachValidRun(values, [&](int64_t first, int64_t length) {
      Scan(data + first, length);
      seen_ = true;
    });
  }

  FileColumnStats Finish() const override {
    FileColumnStats stats{nullptr, nullptr, null_count_};
    if (!seen_) return stats;
    stats.min = ToScalar(Order::FromKey(min_));
    stats.max = ToScalar(Order::FromKey(max_));
    return stats;
  }

 private:
  using Key = typename Order::Key;

  void Scan(const T* data, int64_t length) {
    Key low = min_;
    Key high = max_;
    for (int64_t i = 0; i < length; ++i) {
      Key key = Order::ToKey(data[i]);
      low = key < low ? key : low;
      high = key > high ? key : high;
    }
    min_ = low;
    max_ = high;
  }

  std::shared_ptr<arrow::Scalar> ToScalar(T value) const {
    auto made = arrow::MakeScalar(type_, value);
    return made.ok() ? *made : nullptr;
  }

  std::shared_ptr<arrow::DataType> type_;
  int64_t null_count_ = 0;
  bool seen_ = false;
  Key min_ = std::numeric_limits<Key>::max();
  Key max_ = std::numeric_limits<Key>::lowest();
};

class BooleanStatistics : public ColumnStatistics {
 public:
  void Update(const arrow::Array& values) override {
    const auto& booleans = static_cast<const arrow::BooleanArray&>(values);
    null_count_ += values.null_count();
    const uint8_t* bits = booleans.values()->data();
    ForEachValidRun(values, [&](int64_t first, int64_t length) {
      int64_t set = arrow::internal::CountSetBits(bits, values.offset() + first, length);
      any_true_ |= set > 0;
      any_false_ |= set < length;
    });
  }
  FileColumnStats Finish() const override {
    FileColumnStats stats{nullptr, nullptr, null_count_};
    if (!any_true_ && !any_false_) return stats;
    stats.min = std::make_shared<arrow::BooleanScalar>(!any_false_);
    stats.max = std::make_shared<arrow::BooleanScalar>(any_true_);
    return stats;
  }

 private:
  int64_t null_count_ = 0;
  bool any_true_ = false;
  bool any_false_ = false;
};

class DecimalStatistics : public ColumnStatistics {
 public:
  explicit DecimalStatistics(std::shared_ptr<arrow::DataType> type) : type_(std::move(type)) {}

  void Update(const arrow::Array& values) override {
    null_count_ += values.null_count();
    const uint8_t* data = values.data()->GetValues<uint8_t>(1, values.offset() * 16);
    ForEachValidRun(values, [&](int64_t first, int64_t length) {
      for (int64_t i = first; i < first + length; ++i) {
        auto value = LoadLE<__int128>(data + 16 * i);
        min_ = value < min_ ? value : min_;
        max_ = value > max_ ? value : max_;
      }
      seen_ = true;
    });
  }

  FileColumnStats Finish() const override {
    FileColumnStats stats{nullptr, nullptr, null_count_};
    if (!seen_) return stats;
    stats.min = ToScalar(min_);
    stats.max = ToScalar(max_);
    return stats;
  }

 private:
  static constexpr __int128 kMax =
      static_cast<__int128>((static_cast<unsigned __int128>(1) << 127) - 1);

  std::shared_ptr<arrow::Scalar> ToScalar(__int128 value) const {
    auto decimal =
        arrow::Decimal128(static_cast<int64_t>(value >> 64), static_cast<uint64_t>(value));
    return std::make_shared<arrow::Decimal128Scalar>(decimal, type_);
  }

  std::shared_ptr<arrow::DataType> type_;
  int64_t null_count_ = 0;
  bool seen_ = false;
  __int128 min_ = kMax;
  __int128 max_ = -kMax - 1;
};

/// Compares the first eight bytes as one big-endian number; whole texts only when those are equal.
class StringStatistics : public ColumnStatistics {
 public:
  void Update(const arrow::Array& values) override {
    const auto& strings = static_cast<const arrow::StringArray&>(values);
    null_count_ += values.null_count();
    if (values.length() == values.null_count()) return;
    const int32_t* offsets = strings.raw_value_offsets();
    const auto* data = reinterpret_cast<const char*>(strings.raw_data());
    const int64_t data_end = strings.value_data() ? strings.value_data()->size() : 0;
    Candidate low = min_;
    Candidate high = max_;
    bool seen = seen_;
    ForEachValidRun(values, [&](int64_t first, int64_t length) {
      for (int64_t i = first; i < first + length; ++i) {
        std::string_view text(data + offsets[i], static_cast<size_t>(offsets[i + 1] - offsets[i]));
        uint64_t prefix = Prefix(text, data_end - offsets[i]);
        if (!seen) {
          low = high = {prefix, text};
          seen = true;
          continue;
        }
        if (prefix < low.prefix || (prefix == low.prefix && text < low.text)) low = {prefix, text};
        if (prefix > high.prefix || (prefix == high.prefix && text > high.text)) {
          high = {prefix, text};
        }
      }
    });
    seen_ = seen;
    Keep(low, &min_, &min_text_);
    Keep(high, &max_, &max_text_);
  }

  FileColumnStats Finish() const override {
    FileColumnStats stats{nullptr, nullptr, null_count_};
    if (!seen_) return stats;
    stats.min = std::make_shared<arrow::StringScalar>(min_text_);
    stats.max = std::make_shared<arrow::StringScalar>(max_text_);
    return stats;
  }

 private:
  struct Candidate {
    uint64_t prefix = 0;
    std::string_view text;
  };

  static uint64_t Prefix(std::string_view text, int64_t readable) {
    if (text.size() >= 8) return LoadBE64(text.data());
    if (text.empty()) return 0;
    uint64_t word = 0;
    if (readable >= 8) {
      word = LoadBE64(text.data());
    } else {
      char padded[8] = {};
      std::memcpy(padded, text.data(), text.size());
      word = LoadBE64(padded);
    }
    return word & (~uint64_t{0} << (64 - 8 * text.size()));
  }

  /// Copies the text, which lives in the batch, when it changed.
  static void Keep(const Candidate& found, Candidate* kept, std::string* owned) {
    if (found.text.data() != kept->text.data()) owned->assign(found.text);
    *kept = {found.prefix, *owned};
  }

  int64_t null_count_ = 0;
  bool seen_ = false;
  Candidate min_;
  Candidate max_;
  std::string min_text_;
  std::string max_text_;
};

template <typename T>
std::unique_ptr<ColumnStatistics> MakeInteger(const std::shared_ptr<arrow::DataType>& type) {
  return std::make_unique<FixedStatistics<T, IntegerOrder<T>>>(type);
}

}  // namespace

std::unique_ptr<ColumnStatistics> ColumnStatistics::Make(
    const std::shared_ptr<arrow::DataType>& type, Keep keep) {
  if (keep == Keep::kNothing) return std::make_unique<NoStatistics>();
  if (keep == Keep::kNullCount) return std::make_unique<NullCountStatistics>();
  switch (type->id()) {
    case arrow::Type::BOOL:
      return std::make_unique<BooleanStatistics>();
    case arrow::Type::INT8:
      return MakeInteger<int8_t>(type);
    case arrow::Type::INT16:
      return MakeInteger<int16_t>(type);
    case arrow::Type::INT32:
    case arrow::Type::DATE32:
    case arrow::Type::TIME32:
      return MakeInteger<int32_t>(type);
    case arrow::Type::INT64:
    case arrow::Type::TIMESTAMP:
      return MakeInteger<int64_t>(type);
    case arrow::Type::FLOAT:
      return std::make_unique<FixedStatistics<float, FloatOrder<float, int32_t>>>(type);
    case arrow::Type::DOUBLE:
      return std::make_unique<FixedStatistics<double, FloatOrder<double, int64_t>>>(type);
    case arrow::Type::DECIMAL128:
      return std::make_unique<DecimalStatistics>(type);
    case arrow::Type::STRING:
      return std::make_unique<StringStatistics>();
    default:
      return std::make_unique<NullCountStatistics>();
  }
}

}  // namespace kelda
