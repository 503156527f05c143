#include <algorithm>
#include <cstring>

#include <arrow/array.h>

#include "kelda/base/bytes.h"
#include "kelda/format/orc/column_writer.h"
#include "kelda/format/orc/orc_time.h"

namespace kelda {
namespace {

using Stream = OrcStripeParts::Stream;
using Form = OrcStatistics::Form;

/// Integers, dates and times of day.
template <typename T>
class IntWriter : public ColumnWriter {
 public:
  IntWriter(const OrcWriteSettings& settings, OrcCodec* codec, uint32_t column, Form form,
            const std::shared_ptr<arrow::DataType>& type)
      : ColumnWriter(settings, codec, column, OrcStatistics(form, type)), stream_(codec) {}

 protected:
  arrow::Status AppendValues(const arrow::Array& values, int64_t first, int64_t n) override {
    const T* in = values.data()->GetValues<T>(1) + first;
    const size_t before = pending_.size();
    pending_.resize(before + static_cast<size_t>(n));
    std::copy(in, in + n, pending_.begin() + static_cast<int64_t>(before));
    return arrow::Status::OK();
  }
  arrow::Status EncodeRowGroup(std::vector<uint64_t>* positions) override {
    stream_.AddPosition(positions);
    positions->push_back(0);
    const auto n = static_cast<int64_t>(pending_.size());
    group_.AddInts(pending_.data(), n);
    if constexpr (sizeof(T) == 1) {
      std::vector<uint8_t> bytes(pending_.begin(), pending_.end());
      ARROW_RETURN_NOT_OK(EncodeBytes(bytes.data(), n, &stream_));
    } else {
      ARROW_RETURN_NOT_OK(EncodeInts(pending_.data(), n, true, &stream_));
    }
    pending_.clear();
    return arrow::Status::OK();
  }
  arrow::Status TakeStreams(std::vector<Stream>* out) override {
    ARROW_ASSIGN_OR_RAISE(auto bytes, stream_.Take());
    out->push_back({OrcStreamKind::kData, column_, std::move(bytes)});
    return arrow::Status::OK();
  }
  OrcColumnEncoding Encoding() const override {
    return {sizeof(T) == 1 ? OrcEncoding::kDirect : OrcEncoding::kDirectV2, 0};
  }
  int64_t StreamBytes() const override {
    return stream_.size() + static_cast<int64_t>(pending_.size() * sizeof(T));
  }
  int64_t MemoryBytes() const override {
    return stream_.memory() + static_cast<int64_t>(pending_.capacity() * 8);
  }

 private:
  OutStream stream_;
  std::vector<int64_t> pending_;
};

template <typename T>
class FloatWriter : public ColumnWriter {
 public:
  FloatWriter(const OrcWriteSettings& settings, OrcCodec* codec, uint32_t column,
              const std::shared_ptr<arrow::DataType>& type)
      : ColumnWriter(settings, codec, column, OrcStatistics(Form::kDouble, type)), stream_(codec) {}

 protected:
  arrow::Status AppendValues(const arrow::Array& values, int64_t first, int64_t n) override {
    const T* in = values.data()->GetValues<T>(1) + first;
    pending_.insert(pending_.end(), in, in + n);
    return arrow::Status::OK();
  }
  arrow::Status EncodeRowGroup(std::vector<uint64_t>* positions) override {
    stream_.AddPosition(positions);
    if constexpr (sizeof(T) == 8) {
      group_.AddDoubles(pending_.data(), static_cast<int64_t>(pending_.size()));
    } else {
      const std::vector<double> wide(pending_.begin(), pending_.end());
      group_.AddDoubles(wide.data(), static_cast<int64_t>(wide.size()));
    }
    ARROW_RETURN_NOT_OK(stream_.Append(pending_.data(), pending_.size() * sizeof(T)));
    pending_.clear();
    return arrow::Status::OK();
  }
  arrow::Status TakeStreams(std::vector<Stream>* out) override {
    ARROW_ASSIGN_OR_RAISE(auto bytes, stream_.Take());
    out->push_back({OrcStreamKind::kData, column_, std::move(bytes)});
    return arrow::Status::OK();
  }
  OrcColumnEncoding Encoding() const override { return {OrcEncoding::kDirect, 0}; }
  int64_t StreamBytes() const override {
    return stream_.size() + static_cast<int64_t>(pending_.size() * sizeof(T));
  }
  int64_t MemoryBytes() const override {
    return stream_.memory() + static_cast<int64_t>(pending_.capacity() * sizeof(T));
  }

 private:
  OutStream stream_;
  std::vector<T> pending_;
};

class BooleanWriter : public ColumnWriter {
 public:
  BooleanWriter(const OrcWriteSettings& settings, OrcCodec* codec, uint32_t column,
                const std::shared_ptr<arrow::DataType>& type)
      : ColumnWriter(settings, codec, column, OrcStatistics(Form::kBoolean, type)), bits_(codec) {}

 protected:
  arrow::Status AppendValues(const arrow::Array& values, int64_t first, int64_t n) override {
    const auto& booleans = static_cast<const arrow::BooleanArray&>(values);
    if (start_.empty()) bits_.AddPosition(&start_);
    for (int64_t i = first; i < first + n; ++i) {
      const bool value = booleans.Value(i);
      bits_.Add(value);
      group_.AddBoolean(value);
    }
    return arrow::Status::OK();
  }
  arrow::Status EncodeRowGroup(std::vector<uint64_t>* positions) override {
    if (start_.empty()) bits_.AddPosition(&start_);
    positions->insert(positions->end(), start_.begin(), start_.end());
    start_.clear();
    return bits_.Flush();
  }
  arrow::Status TakeStreams(std::vector<Stream>* out) override {
    ARROW_ASSIGN_OR_RAISE(auto bytes, bits_.Take());
    out->push_back({OrcStreamKind::kData, column_, std::move(bytes)});
    return arrow::Status::OK();
  }
  OrcColumnEncoding Encoding() const override { return {OrcEncoding::kDirect, 0}; }
  int64_t StreamBytes() const override { return bits_.size(); }
  int64_t MemoryBytes() const override { return bits_.memory(); }

 private:
  BitEncoder bits_;
  std::vector<uint64_t> start_;  ///< where the row group starts
};

/// Zigzag numbers of any length; the scale of each is that of the type.
class DecimalWriter : public ColumnWriter {
 public:
  DecimalWriter(const OrcWriteSettings& settings, OrcCodec* codec, uint32_t column, int scale,
                const std::shared_ptr<arrow::DataType>& type)
      : ColumnWriter(settings, codec, column, OrcStatistics(Form::kDecimal, type)),
        scale_(scale),
        digits_(codec),
        scales_(codec) {}

 protected:
  arrow::Status AppendValues(const arrow::Array& values, int64_t first, int64_t n) override {
    const auto& decimals = static_cast<const arrow::Decimal128Array&>(values);
    const size_t before = pending_.size();
    pending_.resize(before + static_cast<size_t>(n));
    std::memcpy(pending_.data() + before, decimals.raw_values() + first * 16,
                static_cast<size_t>(n) * 16);
    return arrow::Status::OK();
  }
  arrow::Status EncodeRowGroup(std::vector<uint64_t>* positions) override {
    digits_.AddPosition(positions);
    scales_.AddPosition(positions);
    positions->push_back(0);
    const auto n = static_cast<int64_t>(pending_.size());
    group_.AddDecimals(pending_.data(), n);
    uint8_t bytes[kBytesMax + kNumberMax];
    size_t size = 0;
    for (const __int128 value : pending_) {
      size += Put(value, bytes + size);
      if (size < kBytesMax) continue;
      ARROW_RETURN_NOT_OK(digits_.Append(bytes, size));
      size = 0;
    }
    ARROW_RETURN_NOT_OK(digits_.Append(bytes, size));
    const std::vector<int64_t> scales(pending_.size(), scale_);
    ARROW_RETURN_NOT_OK(EncodeInts(scales.data(), n, true, &scales_));
    pending_.clear();
    return arrow::Status::OK();
  }
  arrow::Status TakeStreams(std::vector<Stream>* out) override {
    ARROW_ASSIGN_OR_RAISE(auto digits, digits_.Take());
    ARROW_ASSIGN_OR_RAISE(auto scales, scales_.Take());
    out->push_back({OrcStreamKind::kData, column_, std::move(digits)});
    out->push_back({OrcStreamKind::kSecondary, column_, std::move(scales)});
    return arrow::Status::OK();
  }
  int64_t StreamBytes() const override {
    return digits_.size() + scales_.size() + static_cast<int64_t>(pending_.size() * 8);
  }
  int64_t MemoryBytes() const override {
    return digits_.memory() + scales_.memory() + static_cast<int64_t>(pending_.capacity() * 16);
  }

 private:
  static constexpr size_t kBytesMax = 2048;
  static constexpr size_t kNumberMax = 19;

  static size_t Put(__int128 value, uint8_t* out) {
    size_t size = 0;
    const auto low = static_cast<int64_t>(value);
    if (value == low && low >> 62 == low >> 63) {
      uint64_t rest = (static_cast<uint64_t>(low) << 1) ^ static_cast<uint64_t>(low >> 63);
      for (; rest >= 0x80; rest >>= 7) out[size++] = static_cast<uint8_t>(rest | 0x80);
      out[size++] = static_cast<uint8_t>(rest);
      return size;
    }
    auto rest =
        (static_cast<unsigned __int128>(value) << 1) ^ static_cast<unsigned __int128>(value >> 127);
    for (; rest >= 0x80; rest >>= 7) out[size++] = static_cast<uint8_t>(rest | 0x80);
    out[size++] = static_cast<uint8_t>(rest);
    return size;
  }

  const int64_t scale_;
  OutStream digits_;
  OutStream scales_;
  std::vector<__int128> pending_;
};

/// Seconds since 2015 and nanoseconds without their trailing zeros; the zone of the writer is UTC.
class TimestampWriter : public ColumnWriter {
 public:
  TimestampWriter(const OrcWriteSettings& settings, OrcCodec* codec, uint32_t column,
                  const std::shared_ptr<arrow::DataType>& type, std::string name)
      : ColumnWriter(settings, codec, column, OrcStatistics(Form::kTimestamp, type)),
        name_(std::move(name)),
        seconds_stream_(codec),
        nanos_stream_(codec) {
    switch (static_cast<const arrow::TimestampType&>(*type).unit()) {
      case arrow::TimeUnit::SECOND:
        break;
      case arrow::TimeUnit::MILLI:
        per_second_ = 1000;
        break;
      case arrow::TimeUnit::MICRO:
        per_second_ = 1000000;
        break;
      case arrow::TimeUnit::NANO:
        per_second_ = 1000000000;
        break;
    }
  }

 protected:
  arrow::Status AppendValues(const arrow::Array& values, int64_t first, int64_t n) override {
    const auto* in = values.data()->GetValues<int64_t>(1) + first;
    pending_.insert(pending_.end(), in, in + n);
    const int64_t nanos_per_unit = 1000000000 / per_second_;
    for (int64_t i = 0; i < n; ++i) {
      int64_t seconds = in[i] / per_second_;
      int64_t rest = in[i] % per_second_;
      if (rest < 0) {
        rest += per_second_;
        --seconds;
      }
      const int64_t nanos = rest * nanos_per_unit;
      if (seconds < 0) ARROW_RETURN_NOT_OK(ToStored(nanos, &seconds));
      if (__builtin_sub_overflow(seconds, kOrcEpochSeconds, &seconds)) return OutOfRange();
      seconds_.push_back(seconds);
      nanos_.push_back(StoredNanos(nanos));
    }
    return arrow::Status::OK();
  }
  arrow::Status EncodeRowGroup(std::vector<uint64_t>* positions) override {
    const auto n = static_cast<int64_t>(pending_.size());
    seconds_stream_.AddPosition(positions);
    positions->push_back(0);
    nanos_stream_.AddPosition(positions);
    positions->push_back(0);
    group_.AddInts(pending_.data(), n);
    ARROW_RETURN_NOT_OK(EncodeInts(seconds_.data(), n, true, &seconds_stream_));
    ARROW_RETURN_NOT_OK(EncodeInts(nanos_.data(), n, false, &nanos_stream_));
    pending_.clear();
    seconds_.clear();
    nanos_.clear();
    return arrow::Status::OK();
  }
  arrow::Status TakeStreams(std::vector<Stream>* out) override {
    ARROW_ASSIGN_OR_RAISE(auto seconds, seconds_stream_.Take());
    ARROW_ASSIGN_OR_RAISE(auto nanos, nanos_stream_.Take());
    out->push_back({OrcStreamKind::kData, column_, std::move(seconds)});
    out->push_back({OrcStreamKind::kSecondary, column_, std::move(nanos)});
    return arrow::Status::OK();
  }
  int64_t StreamBytes() const override {
    return seconds_stream_.size() + nanos_stream_.size() +
           static_cast<int64_t>(pending_.size() * 8);
  }
  int64_t MemoryBytes() const override {
    return seconds_stream_.memory() + nanos_stream_.memory() +
           static_cast<int64_t>((pending_.capacity() + seconds_.capacity() + nanos_.capacity()) *
                                8);
  }

 private:
  arrow::Status OutOfRange() const {
    return Invalid("column '{}': a timestamp is out of the range of ORC files", name_);
  }

  /// Seconds before 1970 are rounded toward zero.
  arrow::Status ToStored(int64_t nanos, int64_t* seconds) const {
    if (nanos <= 999999) return arrow::Status::OK();
    if (*seconds == -1) {
      return Unsupported(
          "column '{}': timestamps within the last second before 1970-01-01 00:00:00 in ORC files, "
          "which readers would take for the first one after it",
          name_);
    }
    ++*seconds;
    return arrow::Status::OK();
  }

  static int64_t StoredNanos(int64_t nanos) {
    if (nanos == 0) return 0;
    if (nanos % 100 != 0) return nanos << 3;
    nanos /= 100;
    int64_t zeros = 1;
    while (nanos % 10 == 0 && zeros < 7) {
      nanos /= 10;
      ++zeros;
    }
    return nanos << 3 | zeros;
  }

  const std::string name_;
  int64_t per_second_ = 1;
  OutStream seconds_stream_;
  OutStream nanos_stream_;
  std::vector<int64_t> pending_;  ///< as they came, for the statistics
  std::vector<int64_t> seconds_;
  std::vector<int64_t> nanos_;
};

}  // namespace

std::unique_ptr<ColumnWriter> MakeLeafWriter(const OrcWriteSettings& settings, OrcCodec* codec,
                                             const DataType& type,
                                             const std::shared_ptr<arrow::DataType>& arrow_type,
                                             const std::string& name, uint32_t column) {
  switch (type.root()) {
    case TypeRoot::kBoolean:
      return std::make_unique<BooleanWriter>(settings, codec, column, arrow_type);
    case TypeRoot::kTinyInt:
      return std::make_unique<IntWriter<int8_t>>(settings, codec, column, Form::kInt, arrow_type);
    case TypeRoot::kSmallInt:
      return std::make_unique<IntWriter<int16_t>>(settings, codec, column, Form::kInt, arrow_type);
    case TypeRoot::kDate:
      return std::make_unique<IntWriter<int32_t>>(settings, codec, column, Form::kDate, arrow_type);
    case TypeRoot::kBigInt:
      return std::make_unique<IntWriter<int64_t>>(settings, codec, column, Form::kInt, arrow_type);
    case TypeRoot::kFloat:
      return std::make_unique<FloatWriter<float>>(settings, codec, column, arrow_type);
    case TypeRoot::kDouble:
      return std::make_unique<FloatWriter<double>>(settings, codec, column, arrow_type);
    case TypeRoot::kDecimal:
      return std::make_unique<DecimalWriter>(settings, codec, column, type.scale(), arrow_type);
    case TypeRoot::kTimestamp:
    case TypeRoot::kTimestampLtz:
      return std::make_unique<TimestampWriter>(settings, codec, column, arrow_type, name);
    default:
      return std::make_unique<IntWriter<int32_t>>(settings, codec, column, Form::kInt, arrow_type);
  }
}

}  // namespace kelda
