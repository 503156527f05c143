#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "kelda/base/status.h"
#include "kelda/format/variant/variant_encoding.h"

namespace kelda {

/// Makes the bytes of one VARIANT, as Java's builder does: keys in the order they are first met,
/// the smallest width for integers. Not thread-safe; may be used again after Clear.
class VariantBuilder {
 public:
  struct Field {
    std::string_view key;  ///< of the builder's dictionary, or of the metadata it was taken from
    uint32_t id = 0;
    int64_t offset = 0;  ///< from the begin of the object
  };

  void AppendNull() { value_ += '\0'; }
  void AppendBoolean(bool value) { value_ += value ? '\x04' : '\x08'; }
  void AppendLong(int64_t value);
  void AppendFloat(float value);
  void AppendDouble(double value);
  /// |unscaled| < 10^38, scale <= 38.
  void AppendDecimal(__int128 unscaled, int scale);
  void AppendString(std::string_view text);
  void AppendBinary(std::string_view bytes);
  void AppendDate(int32_t days);
  void AppendTimestamp(int64_t micros, bool with_zone);
  /// A value of another variant, its keys taken over into this dictionary.
  arrow::Status AppendVariant(const VariantValue& value, const VariantKeys& keys);
  /// The same, but the keys stay those of the other variant's metadata.
  void AppendBytes(std::string_view value) { value_ += value; }

  uint32_t AddKey(std::string_view key);
  int64_t position() const { return static_cast<int64_t>(value_.size()); }
  /// Put the head before what was appended since `begin`. A key that is there twice is Invalid.
  arrow::Status FinishObject(int64_t begin, std::vector<Field>* fields);
  void FinishArray(int64_t begin, const std::vector<int64_t>& offsets);

  /// The bytes of the value; of the metadata. Valid until the next call.
  arrow::Result<std::string_view> value() const;
  std::string_view metadata();
  /// The key with this id; valid until Clear.
  std::string_view key(uint32_t id) const { return keys_[id]; }
  void Clear();

 private:
  arrow::Status AppendNested(const VariantValue& value, const VariantKeys& keys, int depth);
  void PutNumber(uint64_t number, int width);

  std::string value_;
  std::string metadata_;
  std::vector<std::string_view> keys_;
  std::unordered_map<std::string, uint32_t> ids_;
};

}  // namespace kelda
