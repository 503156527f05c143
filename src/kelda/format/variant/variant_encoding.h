#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include "kelda/base/status.h"

namespace kelda {

/// What a VARIANT value is (spec 01 §6.5). Integers of every width are kLong.
enum class VariantKind : uint8_t {
  kNull,
  kBoolean,
  kLong,
  kFloat,
  kDouble,
  kDecimal,
  kString,
  kBinary,
  kDate,          ///< days since 1970
  kTimestamp,     ///< microseconds since 1970, UTC
  kTimestampNtz,  ///< microseconds since 1970, without a zone
  kUuid,
  kObject,
  kArray,
};

/// A VARIANT as it is stored: bytes that somebody else owns.
struct VariantBytes {
  std::string_view value;
  std::string_view metadata;
};

constexpr int64_t kVariantSizeMaxBytes = int64_t{128} << 20;
/// Values nested deeper are refused.
constexpr int kVariantDepthMax = 1000;

/// The error for bytes that are no VARIANT.
arrow::Status MalformedVariant(std::string_view what);

/// The dictionary of keys in a variant's metadata.
class VariantKeys {
 public:
  static arrow::Result<VariantKeys> Make(std::string_view metadata);

  int64_t size() const { return size_; }
  /// False when there is no such key, or it lies outside of the metadata.
  bool Key(uint32_t id, std::string_view* key) const;

 private:
  std::string_view metadata_;
  int64_t size_ = 0;
  int offset_width_ = 1;
  int64_t text_begin_ = 0;
};

/// One value: its head is decoded and inside the bytes; what an object or array holds is not looked
/// at before it is asked for. Borrows the bytes.
class VariantValue {
 public:
  /// The value that `bytes` begin with; bytes may follow it.
  static arrow::Result<VariantValue> Parse(std::string_view bytes);

  VariantKind kind() const { return kind_; }
  /// All bytes of the value.
  std::string_view bytes() const { return bytes_; }

  bool boolean() const { return integer_ != 0; }
  /// kLong, kDate, kTimestamp, kTimestampNtz.
  int64_t integer() const { return integer_; }
  double number() const { return number_; }        ///< kFloat, kDouble
  __int128 unscaled() const { return unscaled_; }  ///< kDecimal
  int scale() const { return scale_; }             ///< kDecimal
  std::string_view text() const { return text_; }  ///< kString, kBinary, kUuid

  /// Fields of an object, elements of an array.
  int64_t count() const { return count_; }
  arrow::Result<VariantValue> Element(int64_t index) const;
  /// Bytes that the elements have together.
  int64_t content_size() const { return static_cast<int64_t>(bytes_.size()) - data_begin_; }
  /// Key of an object's field; fields are ordered by key.
  arrow::Result<std::string_view> FieldKey(int64_t index, const VariantKeys& keys) const;
  /// Number of that key in the metadata.
  uint32_t FieldId(int64_t index) const {
    return Number(ids_begin_ + index * id_width_, id_width_);
  }
  /// Field of an object by its key, if there is one.
  arrow::Result<std::optional<VariantValue>> Field(std::string_view key,
                                                   const VariantKeys& keys) const;

 private:
  arrow::Status ParsePrimitive(int type);
  arrow::Status ParseDecimal(int width);
  arrow::Status ParseContainer(int header, bool is_object);
  uint32_t Number(int64_t at, int width) const;

  VariantKind kind_ = VariantKind::kNull;
  std::string_view bytes_;
  int64_t integer_ = 0;
  double number_ = 0;
  __int128 unscaled_ = 0;
  int scale_ = 0;
  std::string_view text_;
  int64_t count_ = 0;
  int id_width_ = 1;
  int offset_width_ = 1;
  int64_t ids_begin_ = 0;
  int64_t offsets_begin_ = 0;
  int64_t data_begin_ = 0;
};

/// Goes through the elements of an object or array. Elements that lie upon each other, by which few
/// damaged bytes could stand for very many values, are refused.
class VariantElements {
 public:
  explicit VariantElements(const VariantValue& container) : container_(container) {}

  bool HasNext() const { return next_ < container_.count(); }
  /// Index of what Next gives.
  int64_t index() const { return next_; }
  arrow::Result<VariantValue> Next();

 private:
  const VariantValue& container_;
  int64_t next_ = 0;
  int64_t used_bytes_ = 0;
};

/// Order of keys in objects: Java compares UTF-16, which differs from bytes beyond the first plane.
int CompareVariantKeys(std::string_view a, std::string_view b);

/// Digits of |value|; 1 for 0.
int DecimalDigits(__int128 value);

}  // namespace kelda
