#include "kelda/maintain/compact/sort_key.h"

#include <algorithm>
#include <bit>
#include <cmath>

#include <arrow/array.h>
#include <arrow/builder.h>

#include "kelda/base/status.h"

namespace kelda {

namespace {

/// Bits of a rank along a curve: each column is cut into at most 4096 pieces.
constexpr int kRankBits = 12;

constexpr char kNull = 0;
constexpr char kValue = 1;

template <typename Unsigned>
void AppendBigEndian(Unsigned value, std::string* out) {
  for (int shift = static_cast<int>(sizeof(Unsigned)) * 8 - 8; shift >= 0; shift -= 8)
    out->push_back(static_cast<char>(value >> shift));
}

void AppendSigned(int64_t value, std::string* out) {
  AppendBigEndian(static_cast<uint64_t>(value) ^ (uint64_t{1} << 63), out);
}

void AppendDouble(double value, std::string* out) {
  if (std::isnan(value)) value = std::numeric_limits<double>::quiet_NaN();
  if (value == 0) value = 0;  // -0.0 equals 0.0
  auto bits = std::bit_cast<uint64_t>(value);
  bits = (bits >> 63) != 0 ? ~bits : bits | (uint64_t{1} << 63);
  AppendBigEndian(bits, out);
}

void AppendDecimal(const uint8_t* little_endian, std::string* out) {
  const arrow::Decimal128 value(little_endian);
  AppendBigEndian(static_cast<uint64_t>(value.high_bits()) ^ (uint64_t{1} << 63), out);
  AppendBigEndian(value.low_bits(), out);
}

/// Bytes with an end that sorts before every continuation.
void AppendText(std::string_view text, std::string* out) {
  for (const char c : text) {
    out->push_back(c);
    if (c == 0) out->push_back(1);
  }
  out->push_back(0);
  out->push_back(0);
}

template <typename ArrayType, typename Append>
void AppendColumn(const arrow::Array& column, std::vector<std::string>* keys, Append append) {
  const auto& values = static_cast<const ArrayType&>(column);
  for (int64_t i = 0; i < values.length(); ++i) {
    std::string& key = (*keys)[static_cast<size_t>(i)];
    if (values.IsNull(i)) {
      key.push_back(kNull);
      continue;
    }
    key.push_back(kValue);
    append(values.GetView(i), &key);
  }
}

/// Append each row's value of `column` to its key.
arrow::Status AppendValues(const DataField& field, const arrow::Array& column,
                           std::vector<std::string>* keys) {
  auto as_signed = [](auto v, std::string* key) { AppendSigned(static_cast<int64_t>(v), key); };
  switch (field.type.root()) {
    case TypeRoot::kBoolean:
      AppendColumn<arrow::BooleanArray>(column, keys, as_signed);
      return arrow::Status::OK();
    case TypeRoot::kTinyInt:
      AppendColumn<arrow::Int8Array>(column, keys, as_signed);
      return arrow::Status::OK();
    case TypeRoot::kSmallInt:
      AppendColumn<arrow::Int16Array>(column, keys, as_signed);
      return arrow::Status::OK();
    case TypeRoot::kInt:
      AppendColumn<arrow::Int32Array>(column, keys, as_signed);
      return arrow::Status::OK();
    case TypeRoot::kDate:
      AppendColumn<arrow::Date32Array>(column, keys, as_signed);
      return arrow::Status::OK();
    case TypeRoot::kTime:
      AppendColumn<arrow::Time32Array>(column, keys, as_signed);
      return arrow::Status::OK();
    case TypeRoot::kBigInt:
      AppendColumn<arrow::Int64Array>(column, keys, as_signed);
      return arrow::Status::OK();
    case TypeRoot::kTimestamp:
    case TypeRoot::kTimestampLtz:
      AppendColumn<arrow::TimestampArray>(column, keys, as_signed);
      return arrow::Status::OK();
    case TypeRoot::kFloat:
      AppendColumn<arrow::FloatArray>(column, keys,
                                      [](float v, std::string* key) { AppendDouble(v, key); });
      return arrow::Status::OK();
    case TypeRoot::kDouble:
      AppendColumn<arrow::DoubleArray>(column, keys, AppendDouble);
      return arrow::Status::OK();
    case TypeRoot::kDecimal:
      AppendColumn<arrow::Decimal128Array>(
          column, keys, [](std::string_view bytes, std::string* key) {
            AppendDecimal(reinterpret_cast<const uint8_t*>(bytes.data()), key);
          });
      return arrow::Status::OK();
    case TypeRoot::kChar:
    case TypeRoot::kVarChar:
    case TypeRoot::kBinary:
    case TypeRoot::kVarBinary:
      AppendColumn<arrow::BinaryArray>(column, keys, AppendText);
      return arrow::Status::OK();
    default:
      return Invalid("column '{}' of type {} has no order", field.name, field.type.ToString());
  }
}

arrow::Result<std::vector<std::string>> ValuesOf(const DataField& field,
                                                 const arrow::Array& column) {
  std::vector<std::string> values(static_cast<size_t>(column.length()));
  ARROW_RETURN_NOT_OK(AppendValues(field, column, &values));
  return values;
}

/// Values that cut sorted `values` into at most 2^kRankBits pieces of one size.
std::vector<std::string> Quantiles(std::vector<std::string> values) {
  std::sort(values.begin(), values.end());
  constexpr size_t kPieces = size_t{1} << kRankBits;
  std::vector<std::string> bounds;
  for (size_t piece = 1; piece < kPieces; ++piece) {
    const size_t i = values.size() * piece / kPieces;
    if (i == 0 || i >= values.size()) continue;
    if (bounds.empty() || bounds.back() != values[i]) bounds.push_back(values[i]);
  }
  return bounds;
}

/// Ranks spread over all kRankBits bits, however few bounds there are.
uint32_t RankOf(const std::vector<std::string>& bounds, const std::string& value) {
  const auto below =
      static_cast<uint64_t>(std::upper_bound(bounds.begin(), bounds.end(), value) - bounds.begin());
  return static_cast<uint32_t>((below << kRankBits) / (bounds.size() + 1));
}

/// Coordinates to the transposed Hilbert index, in place (J. Skilling, "Programming the Hilbert
/// curve", 2004).
void ToHilbert(std::vector<uint32_t>* point) {
  std::vector<uint32_t>& x = *point;
  const size_t n = x.size();
  constexpr uint32_t kTop = uint32_t{1} << (kRankBits - 1);
  for (uint32_t q = kTop; q > 1; q >>= 1) {
    const uint32_t mask = q - 1;
    for (size_t i = 0; i < n; ++i) {
      if ((x[i] & q) != 0) {
        x[0] ^= mask;
      } else {
        const uint32_t swap = (x[0] ^ x[i]) & mask;
        x[0] ^= swap;
        x[i] ^= swap;
      }
    }
  }
  for (size_t i = 1; i < n; ++i) x[i] ^= x[i - 1];
  uint32_t flip = 0;
  for (uint32_t q = kTop; q > 1; q >>= 1) {
    if ((x[n - 1] & q) != 0) flip ^= q - 1;
  }
  for (uint32_t& v : x) v ^= flip;
}

/// Bits of all coordinates in turn, highest first.
void AppendInterleaved(const std::vector<uint32_t>& point, std::string* key) {
  uint8_t byte = 0;
  int bits = 0;
  for (int bit = kRankBits - 1; bit >= 0; --bit) {
    for (const uint32_t x : point) {
      byte = static_cast<uint8_t>(byte << 1 | (x >> bit & 1));
      if (++bits == 8) {
        key->push_back(static_cast<char>(byte));
        bits = 0;
        byte = 0;
      }
    }
  }
  if (bits > 0) key->push_back(static_cast<char>(byte << (8 - bits)));
}

}  // namespace

arrow::Result<SortOrder> ParseSortOrder(std::string_view text) {
  if (text == "order") return SortOrder::kLexicographic;
  if (text == "zorder") return SortOrder::kZOrder;
  if (text == "hilbert") return SortOrder::kHilbert;
  return Invalid("'{}' is no order strategy; they are: none, order, zorder, hilbert", text);
}

arrow::Result<SortKeyEncoder> SortKeyEncoder::Make(SortOrder order, std::vector<DataField> fields,
                                                   const std::vector<arrow::ArrayVector>& sample) {
  if (fields.empty()) return Invalid("there is no column to sort by");
  SortKeyEncoder encoder;
  encoder.order_ = order;
  for (size_t c = 0; c < fields.size(); ++c) {
    if (fields[c].type.IsNested() || fields[c].type.root() == TypeRoot::kVariant ||
        fields[c].type.root() == TypeRoot::kBlob) {
      return Invalid("rows cannot be sorted by column '{}' of type {}", fields[c].name,
                     fields[c].type.ToString());
    }
    if (order == SortOrder::kLexicographic) continue;
    std::vector<std::string> values;
    for (const arrow::ArrayVector& columns : sample) {
      ARROW_ASSIGN_OR_RAISE(auto some, ValuesOf(fields[c], *columns[c]));
      values.insert(values.end(), std::make_move_iterator(some.begin()),
                    std::make_move_iterator(some.end()));
    }
    encoder.bounds_.push_back(Quantiles(std::move(values)));
  }
  encoder.fields_ = std::move(fields);
  return encoder;
}

arrow::Result<std::shared_ptr<arrow::BinaryArray>> SortKeyEncoder::Encode(
    const arrow::ArrayVector& columns, int64_t rows) const {
  std::vector<std::string> keys(static_cast<size_t>(rows));
  if (order_ == SortOrder::kLexicographic) {
    for (size_t c = 0; c < fields_.size(); ++c)
      ARROW_RETURN_NOT_OK(AppendValues(fields_[c], *columns[c], &keys));
  } else {
    std::vector<std::vector<uint32_t>> ranks(fields_.size());
    for (size_t c = 0; c < fields_.size(); ++c) {
      ARROW_ASSIGN_OR_RAISE(auto values, ValuesOf(fields_[c], *columns[c]));
      for (const std::string& value : values) ranks[c].push_back(RankOf(bounds_[c], value));
    }
    std::vector<uint32_t> point(fields_.size());
    for (size_t i = 0; i < keys.size(); ++i) {
      for (size_t c = 0; c < point.size(); ++c) point[c] = ranks[c][i];
      if (order_ == SortOrder::kHilbert) ToHilbert(&point);
      AppendInterleaved(point, &keys[i]);
    }
  }
  arrow::BinaryBuilder builder;
  ARROW_RETURN_NOT_OK(builder.AppendValues(keys));
  std::shared_ptr<arrow::BinaryArray> out;
  ARROW_RETURN_NOT_OK(builder.Finish(&out));
  return out;
}

}  // namespace kelda
