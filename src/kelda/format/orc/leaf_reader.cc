#include <algorithm>
#include <array>
#include <cstring>

#include <arrow/util/bit_util.h>

#include "kelda/base/bytes.h"
#include "kelda/format/orc/column_reader.h"
#include "kelda/format/orc/run_decoder.h"

namespace kelda {
namespace {

using Data = arrow::Result<std::shared_ptr<arrow::ArrayData>>;

/// Columns whose values have a fixed number of bytes.
class FixedReader : public PresentReader {
 public:
  FixedReader(const OrcStripeSource& source, std::shared_ptr<arrow::DataType> type, uint32_t column,
              bool nullable, int width)
      : PresentReader(source, std::move(type), column, nullable), width_(width) {}

  Data Read(int64_t rows, const OrcValidity& parent) override {
    ARROW_ASSIGN_OR_RAISE(auto own, ReadPresent(rows, parent));
    ARROW_ASSIGN_OR_RAISE(auto values, arrow::AllocateBuffer(rows * width_));
    if (own.valid > 0) ARROW_RETURN_NOT_OK(Decode(own.valid, values->mutable_data()));
    if (own.valid < rows) {
      SpreadValues(values->mutable_data(), width_, rows, own.valid, own.bits->data());
    }
    ARROW_RETURN_NOT_OK(Finish(rows, &own));
    return MakeData(rows, own, parent, {std::move(values)});
  }

 protected:
  /// The next `n` values, one behind the other.
  virtual arrow::Status Decode(int64_t n, uint8_t* out) = 0;
  /// Last word on which rows have values.
  virtual arrow::Status Finish(int64_t, OrcValidity*) { return arrow::Status::OK(); }

  std::unique_ptr<InStream> OpenStream(const OrcStripeSource& source, OrcStreamKind kind) const {
    auto stream = source.Open(column_, kind);
    // A column without values has no streams; one with values finds this one too short.
    if (stream) return stream;
    return std::make_unique<InStream>(fmt::format("{} without stream {}", name_, ToString(kind)), 0,
                                      0, std::vector<OrcPiece>{}, source.codec);
  }
  std::unique_ptr<IntDecoder> OpenInts(const OrcStripeSource& source, OrcStreamKind kind,
                                       bool is_signed) const {
    const OrcEncoding encoding = source.footer->encodings[column_].kind;
    return std::make_unique<IntDecoder>(OpenStream(source, kind), is_signed,
                                        encoding == OrcEncoding::kDirectV2);
  }

 private:
  const int width_;
};

template <typename T>
class IntReader : public FixedReader {
 public:
  IntReader(const OrcStripeSource& source, std::shared_ptr<arrow::DataType> type, uint32_t column,
            bool nullable)
      : FixedReader(source, std::move(type), column, nullable, sizeof(T)),
        ints_(OpenInts(source, OrcStreamKind::kData, true)) {}

 protected:
  arrow::Status Decode(int64_t n, uint8_t* out) override {
    if constexpr (sizeof(T) == 8) {
      return ints_->Read(reinterpret_cast<int64_t*>(out), n);
    } else {
      scratch_.resize(static_cast<size_t>(n));
      ARROW_RETURN_NOT_OK(ints_->Read(scratch_.data(), n));
      auto* values = reinterpret_cast<T*>(out);
      int64_t wrong = 0;
      for (int64_t i = 0; i < n; ++i) {
        const int64_t value = scratch_[static_cast<size_t>(i)];
        values[i] = static_cast<T>(value);
        wrong |= value ^ values[i];
      }
      return wrong == 0 ? arrow::Status::OK() : ints_->Error("a number is out of range");
    }
  }
  arrow::Status SeekStreams(OrcPositions* positions) override { return ints_->Seek(positions); }

 private:
  std::unique_ptr<IntDecoder> ints_;
  std::vector<int64_t> scratch_;
};

template <typename T>
class ByteReader8 : public FixedReader {
 public:
  ByteReader8(const OrcStripeSource& source, std::shared_ptr<arrow::DataType> type, uint32_t column,
              bool nullable)
      : FixedReader(source, std::move(type), column, nullable, sizeof(T)),
        bytes_(OpenStream(source, OrcStreamKind::kData)) {}

 protected:
  arrow::Status Decode(int64_t n, uint8_t* out) override {
    if constexpr (sizeof(T) == 1) return bytes_.Read(out, n);
    scratch_.resize(static_cast<size_t>(n));
    ARROW_RETURN_NOT_OK(bytes_.Read(scratch_.data(), n));
    for (int64_t i = 0; i < n; ++i) {
      reinterpret_cast<T*>(out)[i] =
          static_cast<T>(static_cast<int8_t>(scratch_[static_cast<size_t>(i)]));
    }
    return arrow::Status::OK();
  }
  arrow::Status SeekStreams(OrcPositions* positions) override { return bytes_.Seek(positions); }

 private:
  ByteDecoder bytes_;
  std::vector<uint8_t> scratch_;
};

class FloatReader : public FixedReader {
 public:
  FloatReader(const OrcStripeSource& source, std::shared_ptr<arrow::DataType> type, uint32_t column,
              bool nullable, int width)
      : FixedReader(source, std::move(type), column, nullable, width),
        bytes_(width),
        stream_(OpenStream(source, OrcStreamKind::kData)) {}

 protected:
  arrow::Status Decode(int64_t n, uint8_t* out) override { return stream_->Copy(out, n * bytes_); }
  arrow::Status SeekStreams(OrcPositions* positions) override { return stream_->Seek(positions); }

 private:
  const int bytes_;
  std::unique_ptr<InStream> stream_;
};

class BooleanReader : public PresentReader {
 public:
  BooleanReader(const OrcStripeSource& source, std::shared_ptr<arrow::DataType> type,
                uint32_t column, bool nullable)
      : PresentReader(source, std::move(type), column, nullable) {
    if (auto stream = source.Open(column, OrcStreamKind::kData)) {
      values_ = std::make_unique<BitDecoder>(std::move(stream));
    }
  }

  Data Read(int64_t rows, const OrcValidity& parent) override {
    ARROW_ASSIGN_OR_RAISE(auto own, ReadPresent(rows, parent));
    ARROW_ASSIGN_OR_RAISE(auto bits, arrow::AllocateEmptyBitmap(rows));
    uint8_t* out = bits->mutable_data();
    if (own.valid > 0) {
      if (!values_) return Error("the DATA stream is missing");
      ARROW_RETURN_NOT_OK(values_->Read(out, own.valid));
    }
    int64_t from = own.valid;
    for (int64_t row = rows - 1; own.valid < rows && row >= 0; --row) {
      const bool there = arrow::bit_util::GetBit(own.bits->data(), row);
      arrow::bit_util::SetBitTo(out, row, there && arrow::bit_util::GetBit(out, --from));
    }
    return MakeData(rows, own, parent, {std::move(bits)});
  }

 protected:
  arrow::Status SeekStreams(OrcPositions* positions) override {
    return values_ ? values_->Seek(positions) : arrow::Status::OK();
  }

 private:
  std::unique_ptr<BitDecoder> values_;
};

constexpr int kDecimalDigitsMax = 38;

constexpr auto kPowersOfTen = [] {
  std::array<__int128, kDecimalDigitsMax + 1> powers{};
  powers[0] = 1;
  for (size_t i = 1; i < powers.size(); ++i) powers[i] = powers[i - 1] * 10;
  return powers;
}();

/// Zigzag numbers of any length with a scale for each; what does not fit the type is null, as in
/// Java.
class DecimalReader : public FixedReader {
 public:
  DecimalReader(const OrcStripeSource& source, std::shared_ptr<arrow::DataType> type,
                uint32_t column, const DataType& wanted)
      : FixedReader(source, std::move(type), column, wanted.nullable(), 16),
        limit_(kPowersOfTen[static_cast<size_t>(wanted.precision())]),
        scale_(wanted.scale()),
        digits_(OpenStream(source, OrcStreamKind::kData)),
        scales_(OpenInts(source, OrcStreamKind::kSecondary, true)) {}

 protected:
  arrow::Status Decode(int64_t n, uint8_t* out) override {
    scratch_.resize(static_cast<size_t>(n));
    ARROW_RETURN_NOT_OK(scales_->Read(scratch_.data(), n));
    for (int64_t i = 0; i < n; ++i) {
      __int128 value = 0;
      if (digits_->available() < kLongestNumber) ARROW_RETURN_NOT_OK(digits_->Fill(kLongestNumber));
      ARROW_RETURN_NOT_OK(Number(&value));
      const int64_t scale = scratch_[static_cast<size_t>(i)];
      if ((scale != scale_ && !Rescale(scale, &value)) || value >= limit_ || value <= -limit_) {
        oversized_.push_back(i);
        value = 0;
      }
      StoreLE(out + 16 * i, value);
    }
    return arrow::Status::OK();
  }

  arrow::Status Finish(int64_t rows, OrcValidity* own) override {
    if (oversized_.empty()) return arrow::Status::OK();
    std::shared_ptr<arrow::Buffer> bits;
    ARROW_ASSIGN_OR_RAISE(bits, arrow::AllocateBuffer((rows + 7) / 8));
    uint8_t* out = bits->mutable_data();
    if (own->bits) {
      std::memcpy(out, own->bits->data(), static_cast<size_t>((rows + 7) / 8));
    } else {
      std::memset(out, 0xff, static_cast<size_t>((rows + 7) / 8));
    }
    size_t next = 0;
    int64_t index = 0;
    for (int64_t row = 0; row < rows && next < oversized_.size(); ++row) {
      if (!arrow::bit_util::GetBit(out, row)) continue;
      if (index++ != oversized_[next]) continue;
      arrow::bit_util::ClearBit(out, row);
      ++next;
    }
    own->valid -= static_cast<int64_t>(oversized_.size());
    own->bits = std::move(bits);
    oversized_.clear();
    return arrow::Status::OK();
  }

  arrow::Status SeekStreams(OrcPositions* positions) override {
    ARROW_RETURN_NOT_OK(digits_->Seek(positions));
    return scales_->Seek(positions);
  }

 private:
  static constexpr size_t kLongestNumber = 19;

  arrow::Status Number(__int128* out) {
    const uint8_t* in = digits_->data();
    const size_t most = std::min(digits_->available(), kLongestNumber);
    uint64_t low = 0;
    size_t i = 0;
    for (; i < most && i < 9; ++i) {
      low |= uint64_t{in[i] & 0x7fu} << (7 * i);
      if (in[i] < 0x80) {
        *out = static_cast<int64_t>((low >> 1) ^ (~(low & 1) + 1));
        digits_->Advance(i + 1);
        return arrow::Status::OK();
      }
    }
    unsigned __int128 value = low;
    for (; i < most; ++i) {
      value |= static_cast<unsigned __int128>(in[i] & 0x7fu) << (7 * i);
      if (in[i] < 0x80) {
        *out = static_cast<__int128>((value >> 1) ^ (~(value & 1) + 1));
        digits_->Advance(i + 1);
        return arrow::Status::OK();
      }
    }
    return digits_->Error(most < kLongestNumber ? "the stream ends too early"
                                                : "a decimal of more than 128 bits");
  }

  /// False when the value does not fit.
  bool Rescale(int64_t scale, __int128* value) const {
    if (scale < 0 || scale > kDecimalDigitsMax) return *value == 0;
    if (scale < scale_) {
      return !__builtin_mul_overflow(*value, kPowersOfTen[static_cast<size_t>(scale_ - scale)],
                                     value);
    }
    const __int128 power = kPowersOfTen[static_cast<size_t>(scale - scale_)];
    const __int128 rest = *value % power;
    *value /= power;
    if (rest >= power - rest && rest > 0) ++*value;
    if (-rest >= power + rest && rest < 0) --*value;
    return true;
  }

  const __int128 limit_;
  const int64_t scale_;
  std::unique_ptr<InStream> digits_;
  std::unique_ptr<IntDecoder> scales_;
  std::vector<int64_t> scratch_;
  std::vector<int64_t> oversized_;  ///< values of the last Decode that are null
};

/// Seconds since 2015 in the writer's zone and nanoseconds with their trailing zeros cut.
class TimestampReader : public FixedReader {
 public:
  TimestampReader(const OrcStripeSource& source, std::shared_ptr<arrow::DataType> type,
                  uint32_t column, const DataType& wanted, std::string column_name)
      : FixedReader(source, type, column, wanted.nullable(), 8),
        unit_(static_cast<const arrow::TimestampType&>(*type).unit()),
        column_name_(std::move(column_name)),
        seconds_(OpenInts(source, OrcStreamKind::kData, true)),
        nanos_(OpenInts(source, OrcStreamKind::kSecondary, false)) {
    const bool instant = (*source.types)[column].kind == OrcKind::kTimestampInstant;
    if (!instant && !source.zone->utc()) zone_ = source.zone;
    epoch_ = zone_ ? zone_->EpochInstant() : kOrcEpochSeconds;
  }

 protected:
  arrow::Status Decode(int64_t n, uint8_t* out) override {
    scratch_.resize(static_cast<size_t>(n));
    auto* values = reinterpret_cast<int64_t*>(out);
    ARROW_RETURN_NOT_OK(seconds_->Read(values, n));
    ARROW_RETURN_NOT_OK(nanos_->Read(scratch_.data(), n));
    for (int64_t i = 0; i < n; ++i) {
      int64_t nanos = 0;
      if (!Nanos(scratch_[static_cast<size_t>(i)], &nanos)) {
        return nanos_->Error("nanoseconds are out of range");
      }
      int64_t seconds = 0;
      if (__builtin_add_overflow(values[i], epoch_, &seconds) || seconds > kSecondsMax ||
          seconds < -kSecondsMax) {
        return seconds_->Error("a timestamp is out of range");
      }
      // Java rounds the seconds toward zero (spec 01 §6.3).
      if (seconds < 0 && nanos > 999999) --seconds;
      if (zone_) seconds += zone_->OffsetAt(seconds);
      if (!ToUnit(seconds, nanos, &values[i])) {
        return Invalid(
            "{}: column '{}': a timestamp, {} seconds from 1970, is out of the range of {}", name_,
            column_name_, seconds, type_->ToString());
      }
    }
    return arrow::Status::OK();
  }
  arrow::Status SeekStreams(OrcPositions* positions) override {
    ARROW_RETURN_NOT_OK(seconds_->Seek(positions));
    return nanos_->Seek(positions);
  }

 private:
  static constexpr int64_t kSecondsMax = int64_t{1} << 53;

  static bool Nanos(int64_t stored, int64_t* out) {
    constexpr int64_t kZeros[] = {1, 100, 1000, 10000, 100000, 1000000, 10000000, 100000000};
    const auto digits = static_cast<int64_t>(static_cast<uint64_t>(stored) >> 3);
    *out = digits * kZeros[stored & 7];
    return digits <= 999999999 && *out <= 999999999;
  }

  bool ToUnit(int64_t seconds, int64_t nanos, int64_t* out) const {
    int64_t per_second = 1;
    int64_t per_unit = 1000000000;
    switch (unit_) {
      case arrow::TimeUnit::SECOND:
        break;
      case arrow::TimeUnit::MILLI:
        per_second = 1000;
        per_unit = 1000000;
        break;
      case arrow::TimeUnit::MICRO:
        per_second = 1000000;
        per_unit = 1000;
        break;
      case arrow::TimeUnit::NANO:
        per_second = 1000000000;
        per_unit = 1;
        break;
    }
    const __int128 value = static_cast<__int128>(seconds) * per_second + nanos / per_unit;
    *out = static_cast<int64_t>(value);
    return value == *out;
  }

  const arrow::TimeUnit::type unit_;
  const std::string column_name_;
  std::shared_ptr<const OrcZone> zone_;  ///< null: UTC
  int64_t epoch_ = 0;
  std::unique_ptr<IntDecoder> seconds_;
  std::unique_ptr<IntDecoder> nanos_;
  std::vector<int64_t> scratch_;
};

using Reader = arrow::Result<std::unique_ptr<ColumnReader>>;

template <typename T>
Reader MakeInt(const OrcStripeSource& source, OrcKind kind,
               const std::shared_ptr<arrow::DataType>& type, uint32_t column, bool nullable) {
  if (kind == OrcKind::kByte) {
    return std::make_unique<ByteReader8<T>>(source, type, column, nullable);
  }
  return std::make_unique<IntReader<T>>(source, type, column, nullable);
}

bool IsInt(OrcKind kind) {
  return kind == OrcKind::kByte || kind == OrcKind::kShort || kind == OrcKind::kInt ||
         kind == OrcKind::kLong;
}

bool IsText(OrcKind kind) {
  return kind == OrcKind::kString || kind == OrcKind::kVarchar || kind == OrcKind::kChar;
}

/// Whether a column of `kind` can be read as `wanted`.
bool Fits(OrcKind kind, const DataType& wanted) {
  switch (wanted.root()) {
    case TypeRoot::kBoolean:
      return kind == OrcKind::kBoolean;
    case TypeRoot::kTinyInt:
    case TypeRoot::kSmallInt:
    case TypeRoot::kInt:
    case TypeRoot::kBigInt:
    case TypeRoot::kTime:
      return IsInt(kind);
    case TypeRoot::kFloat:
      return kind == OrcKind::kFloat;
    case TypeRoot::kDouble:
      return kind == OrcKind::kDouble;
    case TypeRoot::kDecimal:
      return kind == OrcKind::kDecimal;
    case TypeRoot::kChar:
    case TypeRoot::kVarChar:
      return IsText(kind);
    case TypeRoot::kBinary:
    case TypeRoot::kVarBinary:
    case TypeRoot::kBlob:
      return kind == OrcKind::kBinary;
    case TypeRoot::kDate:
      return kind == OrcKind::kDate;
    case TypeRoot::kTimestamp:
    case TypeRoot::kTimestampLtz:
      return kind == OrcKind::kTimestamp || kind == OrcKind::kTimestampInstant;
    default:
      return false;
  }
}

}  // namespace

arrow::Result<std::unique_ptr<ColumnReader>> MakeLeafReader(
    const OrcStripeSource& source, const DataType& wanted,
    const std::shared_ptr<arrow::DataType>& type, uint32_t column, const std::string& name) {
  const OrcKind kind = (*source.types)[column].kind;
  if (wanted.root() == TypeRoot::kVariant || wanted.root() == TypeRoot::kVector) {
    return Unsupported("column '{}' of type {} in ORC files", name, wanted.ToString());
  }
  if (!Fits(kind, wanted)) {
    return Corruption("{}: column '{}' of type {} is stored as {}", source.path, name,
                      wanted.ToString(), ToString(kind));
  }
  const bool nullable = wanted.nullable();
  switch (wanted.root()) {
    case TypeRoot::kBoolean:
      return std::make_unique<BooleanReader>(source, type, column, nullable);
    case TypeRoot::kTinyInt:
      return MakeInt<int8_t>(source, kind, type, column, nullable);
    case TypeRoot::kSmallInt:
      return MakeInt<int16_t>(source, kind, type, column, nullable);
    case TypeRoot::kInt:
    case TypeRoot::kTime:
    case TypeRoot::kDate:
      return MakeInt<int32_t>(source, kind, type, column, nullable);
    case TypeRoot::kBigInt:
      return MakeInt<int64_t>(source, kind, type, column, nullable);
    case TypeRoot::kFloat:
      return std::make_unique<FloatReader>(source, type, column, nullable, 4);
    case TypeRoot::kDouble:
      return std::make_unique<FloatReader>(source, type, column, nullable, 8);
    case TypeRoot::kDecimal:
      return std::make_unique<DecimalReader>(source, type, column, wanted);
    case TypeRoot::kTimestamp:
    case TypeRoot::kTimestampLtz:
      return std::make_unique<TimestampReader>(source, type, column, wanted, name);
    default:
      return MakeTextReader(source, wanted, type, column, kind == OrcKind::kChar);
  }
}

}  // namespace kelda
