#include "kelda/format/variant/variant_encoding.h"

#include <algorithm>
#include <cstring>

#include "kelda/base/bytes.h"

namespace kelda {
namespace {

constexpr int kVersion = 1;
constexpr int kShortString = 1;
constexpr int kObject = 2;
constexpr int kArray = 3;
/// From this many fields on, a key is looked up by bisection.
constexpr int64_t kBisectionFields = 32;

/// Little-endian number of 1 to 4 bytes.
uint32_t LoadNumber(const char* bytes, int width) {
  uint32_t number = 0;
  for (int i = width - 1; i >= 0; --i) number = number << 8 | static_cast<uint8_t>(bytes[i]);
  return number;
}

/// Bytes of a primitive of fixed size after its header; -1 for others.
int PrimitiveSize(int type) {
  static constexpr int kSizes[] = {0, 0, 0, 1, 2,  4,  8,  8,  5,  9, 17,
                                   4, 8, 8, 4, -1, -1, -1, -1, -1, 16};
  return type < static_cast<int>(std::size(kSizes)) ? kSizes[type] : -1;
}

}  // namespace

arrow::Status MalformedVariant(std::string_view what) {
  return Corruption("malformed VARIANT: {}", what);
}

arrow::Result<VariantKeys> VariantKeys::Make(std::string_view metadata) {
  if (metadata.empty()) return MalformedVariant("metadata without bytes");
  const auto head = static_cast<uint8_t>(metadata[0]);
  if ((head & 0x0f) != kVersion) return MalformedVariant("unknown version of metadata");
  VariantKeys keys;
  keys.metadata_ = metadata;
  keys.offset_width_ = (head >> 6) + 1;
  const auto size = static_cast<int64_t>(metadata.size());
  if (size < 1 + keys.offset_width_) return MalformedVariant("metadata ends early");
  keys.size_ = LoadNumber(metadata.data() + 1, keys.offset_width_);
  keys.text_begin_ = 1 + (keys.size_ + 2) * keys.offset_width_;
  if (keys.text_begin_ > size) return MalformedVariant("more keys than the metadata can hold");
  return keys;
}

bool VariantKeys::Key(uint32_t id, std::string_view* key) const {
  if (id >= size_) return false;
  const char* offsets = metadata_.data() + 1 + (int64_t{id} + 1) * offset_width_;
  const int64_t begin = text_begin_ + LoadNumber(offsets, offset_width_);
  const int64_t end = text_begin_ + LoadNumber(offsets + offset_width_, offset_width_);
  if (begin > end || end > static_cast<int64_t>(metadata_.size())) return false;
  *key = metadata_.substr(static_cast<size_t>(begin), static_cast<size_t>(end - begin));
  return true;
}

arrow::Result<VariantValue> VariantValue::Parse(std::string_view bytes) {
  if (bytes.empty()) return MalformedVariant("value without bytes");
  VariantValue value;
  value.bytes_ = bytes;
  const auto head = static_cast<uint8_t>(bytes[0]);
  const int header = head >> 2;
  switch (head & 3) {
    case kShortString:
      if (static_cast<int>(bytes.size()) - 1 < header) return MalformedVariant("text ends early");
      value.kind_ = VariantKind::kString;
      value.text_ = bytes.substr(1, static_cast<size_t>(header));
      value.bytes_ = bytes.substr(0, static_cast<size_t>(header) + 1);
      break;
    case kObject:
    case kArray:
      ARROW_RETURN_NOT_OK(value.ParseContainer(header, (head & 3) == kObject));
      break;
    default:
      ARROW_RETURN_NOT_OK(value.ParsePrimitive(header));
  }
  return value;
}

arrow::Status VariantValue::ParsePrimitive(int type) {
  if (type == 15 || type == 16) {
    if (bytes_.size() < 5) return MalformedVariant("text ends early");
    const uint32_t length = LoadLE<uint32_t>(bytes_.data() + 1);
    if (length > bytes_.size() - 5) return MalformedVariant("text ends early");
    kind_ = type == 15 ? VariantKind::kBinary : VariantKind::kString;
    text_ = bytes_.substr(5, length);
    bytes_ = bytes_.substr(0, 5 + size_t{length});
    return arrow::Status::OK();
  }
  const int size = PrimitiveSize(type);
  if (size < 0) return MalformedVariant(fmt::format("unknown primitive type {}", type));
  if (static_cast<int64_t>(bytes_.size()) < 1 + size) return MalformedVariant("value ends early");
  bytes_ = bytes_.substr(0, static_cast<size_t>(size) + 1);
  const char* data = bytes_.data() + 1;
  switch (type) {
    case 0:
      kind_ = VariantKind::kNull;
      return arrow::Status::OK();
    case 1:
    case 2:
      kind_ = VariantKind::kBoolean;
      integer_ = type == 1 ? 1 : 0;
      return arrow::Status::OK();
    case 3:
      kind_ = VariantKind::kLong;
      integer_ = LoadLE<int8_t>(data);
      return arrow::Status::OK();
    case 4:
      kind_ = VariantKind::kLong;
      integer_ = LoadLE<int16_t>(data);
      return arrow::Status::OK();
    case 5:
      kind_ = VariantKind::kLong;
      integer_ = LoadLE<int32_t>(data);
      return arrow::Status::OK();
    case 6:
      kind_ = VariantKind::kLong;
      integer_ = LoadLE<int64_t>(data);
      return arrow::Status::OK();
    case 7:
      kind_ = VariantKind::kDouble;
      number_ = LoadLE<double>(data);
      return arrow::Status::OK();
    case 8:
      return ParseDecimal(4);
    case 9:
      return ParseDecimal(8);
    case 10:
      return ParseDecimal(16);
    case 11:
      kind_ = VariantKind::kDate;
      integer_ = LoadLE<int32_t>(data);
      return arrow::Status::OK();
    case 12:
    case 13:
      kind_ = type == 12 ? VariantKind::kTimestamp : VariantKind::kTimestampNtz;
      integer_ = LoadLE<int64_t>(data);
      return arrow::Status::OK();
    case 14:
      kind_ = VariantKind::kFloat;
      number_ = LoadLE<float>(data);
      return arrow::Status::OK();
    default:
      kind_ = VariantKind::kUuid;
      text_ = bytes_.substr(1);
      return arrow::Status::OK();
  }
}

arrow::Status VariantValue::ParseDecimal(int width) {
  kind_ = VariantKind::kDecimal;
  scale_ = static_cast<uint8_t>(bytes_[1]);
  const char* data = bytes_.data() + 2;
  unscaled_ = width == 4   ? LoadLE<int32_t>(data)
              : width == 8 ? LoadLE<int64_t>(data)
                           : LoadLE<__int128>(data);
  const int digits_max = width == 4 ? 9 : width == 8 ? 18 : 38;
  if (scale_ > digits_max || DecimalDigits(unscaled_) > digits_max) {
    return MalformedVariant("decimal out of range");
  }
  return arrow::Status::OK();
}

uint32_t VariantValue::Number(int64_t at, int width) const {
  return LoadNumber(bytes_.data() + at, width);
}

arrow::Status VariantValue::ParseContainer(int header, bool is_object) {
  kind_ = is_object ? VariantKind::kObject : VariantKind::kArray;
  offset_width_ = (header & 3) + 1;
  if (is_object) id_width_ = ((header >> 2) & 3) + 1;
  const bool is_large = ((header >> (is_object ? 4 : 2)) & 1) != 0;
  const int count_width = is_large ? 4 : 1;
  const auto size = static_cast<int64_t>(bytes_.size());
  if (size < 1 + count_width) return MalformedVariant("value ends early");
  count_ = Number(1, count_width);
  ids_begin_ = 1 + count_width;
  offsets_begin_ = ids_begin_ + (is_object ? count_ * id_width_ : 0);
  data_begin_ = offsets_begin_ + (count_ + 1) * offset_width_;
  if (data_begin_ > size) return MalformedVariant("more elements than the value can hold");
  const int64_t end = data_begin_ + Number(data_begin_ - offset_width_, offset_width_);
  if (end > size) return MalformedVariant("value ends early");
  bytes_ = bytes_.substr(0, static_cast<size_t>(end));
  return arrow::Status::OK();
}

arrow::Result<VariantValue> VariantValue::Element(int64_t index) const {
  const int64_t begin = data_begin_ + Number(offsets_begin_ + index * offset_width_, offset_width_);
  if (begin >= static_cast<int64_t>(bytes_.size())) {
    return MalformedVariant("element outside of its value");
  }
  return Parse(bytes_.substr(static_cast<size_t>(begin)));
}

arrow::Result<std::string_view> VariantValue::FieldKey(int64_t index,
                                                       const VariantKeys& keys) const {
  std::string_view key;
  if (!keys.Key(FieldId(index), &key)) {
    return MalformedVariant("key outside of the metadata");
  }
  return key;
}

arrow::Result<std::optional<VariantValue>> VariantValue::Field(std::string_view key,
                                                               const VariantKeys& keys) const {
  int64_t low = 0;
  int64_t high = count_;
  while (high - low >= kBisectionFields) {
    const int64_t middle = low + (high - low) / 2;
    ARROW_ASSIGN_OR_RAISE(const std::string_view found, FieldKey(middle, keys));
    const int order = CompareVariantKeys(found, key);
    if (order == 0) return Element(middle);
    if (order < 0) {
      low = middle + 1;
    } else {
      high = middle;
    }
  }
  for (; low < high; ++low) {
    ARROW_ASSIGN_OR_RAISE(const std::string_view found, FieldKey(low, keys));
    if (found == key) return Element(low);
  }
  return std::nullopt;
}

arrow::Result<VariantValue> VariantElements::Next() {
  ARROW_ASSIGN_OR_RAISE(VariantValue element, container_.Element(next_++));
  used_bytes_ += static_cast<int64_t>(element.bytes().size());
  if (used_bytes_ > container_.content_size()) {
    return MalformedVariant("elements lie upon each other");
  }
  return element;
}

int CompareVariantKeys(std::string_view a, std::string_view b) {
  const size_t common = std::min(a.size(), b.size());
  size_t i = 0;
  while (i < common && a[i] == b[i]) ++i;
  if (i == common) return a.size() < b.size() ? -1 : a.size() > b.size() ? 1 : 0;
  const auto x = static_cast<uint8_t>(a[i]);
  const auto y = static_cast<uint8_t>(b[i]);
  // Surrogates (first byte f0 and above) stand before U+E000 to U+FFFF (ee, ef).
  const auto rank = [](uint8_t byte) {
    return byte >= 0xf0 ? byte - 2 : byte >= 0xee ? byte + 0x100 : int{byte};
  };
  return rank(x) < rank(y) ? -1 : 1;
}

int DecimalDigits(__int128 value) {
  auto rest =
      value < 0 ? -static_cast<unsigned __int128>(value) : static_cast<unsigned __int128>(value);
  int digits = 1;
  while (rest >= 10) {
    rest /= 10;
    ++digits;
  }
  return digits;
}

}  // namespace kelda
