#include "kelda/format/variant/variant_builder.h"

#include <algorithm>

#include "kelda/base/bytes.h"

namespace kelda {
namespace {

constexpr size_t kShortStringMax = 63;

/// Bytes that a number up to `max` needs.
int WidthOf(uint64_t max) { return max <= 0xff ? 1 : max <= 0xffff ? 2 : max <= 0xffffff ? 3 : 4; }

template <typename T>
void PutScalar(int type, T value, std::string* out) {
  char bytes[1 + sizeof(T)];
  bytes[0] = static_cast<char>(type << 2);
  StoreLE(bytes + 1, value);
  out->append(bytes, sizeof(bytes));
}

template <typename T>
void PutDecimal(int type, int scale, T unscaled, std::string* out) {
  char bytes[2 + sizeof(T)];
  bytes[0] = static_cast<char>(type << 2);
  bytes[1] = static_cast<char>(scale);
  StoreLE(bytes + 2, unscaled);
  out->append(bytes, sizeof(bytes));
}

}  // namespace

void VariantBuilder::AppendLong(int64_t value) {
  if (value == static_cast<int8_t>(value)) {
    PutScalar(3, static_cast<int8_t>(value), &value_);
  } else if (value == static_cast<int16_t>(value)) {
    PutScalar(4, static_cast<int16_t>(value), &value_);
  } else if (value == static_cast<int32_t>(value)) {
    PutScalar(5, static_cast<int32_t>(value), &value_);
  } else {
    PutScalar(6, value, &value_);
  }
}

void VariantBuilder::AppendFloat(float value) { PutScalar(14, value, &value_); }
void VariantBuilder::AppendDouble(double value) { PutScalar(7, value, &value_); }
void VariantBuilder::AppendDate(int32_t days) { PutScalar(11, days, &value_); }

void VariantBuilder::AppendTimestamp(int64_t micros, bool with_zone) {
  PutScalar(with_zone ? 12 : 13, micros, &value_);
}

void VariantBuilder::AppendDecimal(__int128 unscaled, int scale) {
  const int digits = DecimalDigits(unscaled);
  if (scale <= 9 && digits <= 9) {
    PutDecimal(8, scale, static_cast<int32_t>(unscaled), &value_);
  } else if (scale <= 18 && digits <= 18) {
    PutDecimal(9, scale, static_cast<int64_t>(unscaled), &value_);
  } else {
    PutDecimal(10, scale, unscaled, &value_);
  }
}

void VariantBuilder::AppendString(std::string_view text) {
  if (text.size() <= kShortStringMax) {
    value_ += static_cast<char>(text.size() << 2 | 1);
  } else {
    PutScalar(16, static_cast<uint32_t>(text.size()), &value_);
  }
  value_ += text;
}

void VariantBuilder::AppendBinary(std::string_view bytes) {
  PutScalar(15, static_cast<uint32_t>(bytes.size()), &value_);
  value_ += bytes;
}

arrow::Status VariantBuilder::AppendVariant(const VariantValue& value, const VariantKeys& keys) {
  return AppendNested(value, keys, 1);
}

arrow::Status VariantBuilder::AppendNested(const VariantValue& value, const VariantKeys& keys,
                                           int depth) {
  if (value.kind() != VariantKind::kObject && value.kind() != VariantKind::kArray) {
    value_ += value.bytes();
    return arrow::Status::OK();
  }
  if (depth > kVariantDepthMax) return MalformedVariant("nested too deep");
  const int64_t begin = position();
  std::vector<Field> fields;
  std::vector<int64_t> offsets;
  for (VariantElements elements(value); elements.HasNext();) {
    const int64_t i = elements.index();
    ARROW_ASSIGN_OR_RAISE(const VariantValue element, elements.Next());
    if (value.kind() == VariantKind::kObject) {
      ARROW_ASSIGN_OR_RAISE(const std::string_view name, value.FieldKey(i, keys));
      const uint32_t id = AddKey(name);
      fields.push_back({key(id), id, position() - begin});
    } else {
      offsets.push_back(position() - begin);
    }
    ARROW_RETURN_NOT_OK(AppendNested(element, keys, depth + 1));
  }
  if (value.kind() == VariantKind::kObject) return FinishObject(begin, &fields);
  FinishArray(begin, offsets);
  return arrow::Status::OK();
}

uint32_t VariantBuilder::AddKey(std::string_view key) {
  const auto [found, is_new] =
      ids_.try_emplace(std::string(key), static_cast<uint32_t>(keys_.size()));
  if (is_new) keys_.push_back(found->first);
  return found->second;
}

void VariantBuilder::PutNumber(uint64_t number, int width) {
  for (int i = 0; i < width; ++i) value_ += static_cast<char>(number >> (8 * i));
}

arrow::Status VariantBuilder::FinishObject(int64_t begin, std::vector<Field>* fields) {
  std::sort(fields->begin(), fields->end(),
            [](const Field& a, const Field& b) { return CompareVariantKeys(a.key, b.key) < 0; });
  uint32_t id_max = 0;
  for (size_t i = 0; i < fields->size(); ++i) {
    id_max = std::max(id_max, (*fields)[i].id);
    if (i > 0 && (*fields)[i].key == (*fields)[i - 1].key) {
      return Invalid("VARIANT: an object has the key '{}' twice", (*fields)[i].key);
    }
  }
  const std::string data = value_.substr(static_cast<size_t>(begin));
  value_.resize(static_cast<size_t>(begin));
  const bool is_large = fields->size() > 0xff;
  const int id_width = WidthOf(id_max);
  const int offset_width = WidthOf(data.size());
  value_ += static_cast<char>((is_large ? 1 << 6 : 0) | (id_width - 1) << 4 |
                              (offset_width - 1) << 2 | 2);
  PutNumber(fields->size(), is_large ? 4 : 1);
  for (const Field& field : *fields) PutNumber(field.id, id_width);
  for (const Field& field : *fields) {
    PutNumber(static_cast<uint64_t>(field.offset), offset_width);
  }
  PutNumber(data.size(), offset_width);
  value_ += data;
  return arrow::Status::OK();
}

void VariantBuilder::FinishArray(int64_t begin, const std::vector<int64_t>& offsets) {
  const std::string data = value_.substr(static_cast<size_t>(begin));
  value_.resize(static_cast<size_t>(begin));
  const bool is_large = offsets.size() > 0xff;
  const int offset_width = WidthOf(data.size());
  value_ += static_cast<char>((is_large ? 1 << 4 : 0) | (offset_width - 1) << 2 | 3);
  PutNumber(offsets.size(), is_large ? 4 : 1);
  for (const int64_t offset : offsets) PutNumber(static_cast<uint64_t>(offset), offset_width);
  PutNumber(data.size(), offset_width);
  value_ += data;
}

arrow::Result<std::string_view> VariantBuilder::value() const {
  if (position() > kVariantSizeMaxBytes) {
    return Invalid("VARIANT of more than {} bytes", kVariantSizeMaxBytes);
  }
  return value_;
}

std::string_view VariantBuilder::metadata() {
  size_t text_size = 0;
  for (const std::string_view key : keys_) text_size += key.size();
  const int width = WidthOf(std::max(text_size, keys_.size()));
  metadata_.clear();
  metadata_ += static_cast<char>(1 | (width - 1) << 6);
  const auto put = [&](uint64_t number) {
    for (int i = 0; i < width; ++i) metadata_ += static_cast<char>(number >> (8 * i));
  };
  put(keys_.size());
  size_t offset = 0;
  for (const std::string_view key : keys_) {
    put(offset);
    offset += key.size();
  }
  put(offset);
  for (const std::string_view key : keys_) metadata_ += key;
  return metadata_;
}

void VariantBuilder::Clear() {
  value_.clear();
  keys_.clear();
  ids_.clear();
}

}  // namespace kelda
