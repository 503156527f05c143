#pragma once

#include <cstring>
#include <memory>
#include <optional>

#include <arrow/array/builder_binary.h>
#include <arrow/array/data.h>
#include <arrow/buffer.h>
#include <arrow/type_fwd.h>
#include <arrow/util/bit_util.h>
#include <arrow/util/bitmap_ops.h>

#include "kelda/row/cast.h"

namespace kelda::cast_kernels {

// Loops over columns that the casts are made of.

using ArrayDataResult = arrow::Result<std::shared_ptr<arrow::ArrayData>>;

/// Casts of one family; nullptr if Java has none for the pair.
Cast::Function NumericCast(const DataType& from, const DataType& to);
Cast::Function TemporalCast(const DataType& from, const DataType& to);
/// To text and bytes, and from text.
arrow::Result<Cast::Function> TextCast(const DataType& from, const DataType& to);

inline bool IsInteger(const DataType& type) {
  return type.root() >= TypeRoot::kTinyInt && type.root() <= TypeRoot::kBigInt;
}
inline bool IsFloating(const DataType& type) {
  return type.root() == TypeRoot::kFloat || type.root() == TypeRoot::kDouble;
}
inline bool IsNumeric(const DataType& type) {
  return IsInteger(type) || IsFloating(type) || type.root() == TypeRoot::kDecimal;
}
inline bool IsTimestamp(const DataType& type) {
  return type.root() == TypeRoot::kTimestamp || type.root() == TypeRoot::kTimestampLtz;
}

inline bool IsValid(const arrow::ArrayData& in, int64_t i) {
  return in.buffers[0] == nullptr || in.GetNullCount() == 0 ||
         arrow::bit_util::GetBit(in.buffers[0]->data(), in.offset + i);
}

/// Validity of `in` as a bitmap that starts at its first row; null when nothing is NULL.
arrow::Result<std::shared_ptr<arrow::Buffer>> ValidityOf(const arrow::ArrayData& in);
/// The same, always there, to be changed.
arrow::Result<std::shared_ptr<arrow::Buffer>> OwnValidityOf(const arrow::ArrayData& in);

/// Fixed-width values of a column; BOOLEAN is read bit by bit.
template <typename T>
class ValueReader {
 public:
  explicit ValueReader(const arrow::ArrayData& in) : values_(in.GetValues<T>(1)) {}
  T operator[](int64_t i) const { return values_[i]; }

 private:
  const T* values_;
};
template <>
class ValueReader<bool> {
 public:
  explicit ValueReader(const arrow::ArrayData& in)
      : bits_(in.buffers[1] == nullptr ? nullptr : in.buffers[1]->data()), offset_(in.offset) {}
  bool operator[](int64_t i) const { return arrow::bit_util::GetBit(bits_, offset_ + i); }

 private:
  const uint8_t* bits_;
  int64_t offset_;
};

/// Text or bytes of a column.
class TextReader {
 public:
  explicit TextReader(const arrow::ArrayData& in)
      : offsets_(in.GetValues<int32_t>(1)),
        bytes_(in.buffers[2] == nullptr ? ""
                                        : reinterpret_cast<const char*>(in.buffers[2]->data())) {}
  std::string_view operator[](int64_t i) const {
    return {bytes_ + offsets_[i], static_cast<size_t>(offsets_[i + 1] - offsets_[i])};
  }

 private:
  const int32_t* offsets_;
  const char* bytes_;
};

/// Output column of `Out` values, bit-packed for bool.
template <typename Out>
class ValueWriter {
 public:
  arrow::Status Allocate(int64_t length) {
    ARROW_ASSIGN_OR_RAISE(buffer_,
                          arrow::AllocateBuffer(length * static_cast<int64_t>(sizeof(Out))));
    values_ = reinterpret_cast<Out*>(buffer_->mutable_data());
    return arrow::Status::OK();
  }
  Out* at(int64_t i) { return values_ + i; }
  void Set(int64_t i, Out value) { values_[i] = value; }
  std::shared_ptr<arrow::Buffer> buffer() const { return buffer_; }

 private:
  std::shared_ptr<arrow::Buffer> buffer_;
  Out* values_ = nullptr;
};
template <>
class ValueWriter<bool> {
 public:
  arrow::Status Allocate(int64_t length) {
    ARROW_ASSIGN_OR_RAISE(buffer_, arrow::AllocateEmptyBitmap(length));
    bits_ = buffer_->mutable_data();
    return arrow::Status::OK();
  }
  void Set(int64_t i, bool value) {
    if (value) arrow::bit_util::SetBit(bits_, i);
  }
  std::shared_ptr<arrow::Buffer> buffer() const { return buffer_; }

 private:
  std::shared_ptr<arrow::Buffer> buffer_;
  uint8_t* bits_ = nullptr;
};

/// `convert(In) -> Out`, total: it also sees whatever stands in the slots of NULLs.
template <typename In, typename Out, typename Convert>
ArrayDataResult MapValues(const arrow::ArrayData& in, std::shared_ptr<arrow::DataType> type,
                          const Convert& convert) {
  ValueWriter<Out> out;
  ARROW_RETURN_NOT_OK(out.Allocate(in.length));
  const ValueReader<In> values(in);
  for (int64_t i = 0; i < in.length; ++i) out.Set(i, convert(values[i]));
  ARROW_ASSIGN_OR_RAISE(auto validity, ValidityOf(in));
  const int64_t nulls = validity == nullptr ? 0 : arrow::kUnknownNullCount;
  return arrow::ArrayData::Make(std::move(type), in.length, {std::move(validity), out.buffer()},
                                nulls);
}

/// `convert(In, Out*) -> bool` on values that are not NULL; false gives NULL.
template <typename Reader, typename Out, typename Convert>
ArrayDataResult MapToNullable(const arrow::ArrayData& in, std::shared_ptr<arrow::DataType> type,
                              const Convert& convert) {
  ValueWriter<Out> out;
  ARROW_RETURN_NOT_OK(out.Allocate(in.length));
  ARROW_ASSIGN_OR_RAISE(auto validity, OwnValidityOf(in));
  const Reader values(in);
  for (int64_t i = 0; i < in.length; ++i) {
    Out value{};
    if (IsValid(in, i) && !convert(values[i], &value))
      arrow::bit_util::ClearBit(validity->mutable_data(), i);
    out.Set(i, value);
  }
  return arrow::ArrayData::Make(std::move(type), in.length, {std::move(validity), out.buffer()},
                                arrow::kUnknownNullCount);
}

/// `convert(In, Out*) -> Status` on values that are not NULL.
template <typename Reader, typename Out, typename Convert>
ArrayDataResult MapChecked(const arrow::ArrayData& in, std::shared_ptr<arrow::DataType> type,
                           const Convert& convert) {
  ValueWriter<Out> out;
  ARROW_RETURN_NOT_OK(out.Allocate(in.length));
  const Reader values(in);
  for (int64_t i = 0; i < in.length; ++i) {
    Out value{};
    if (IsValid(in, i)) ARROW_RETURN_NOT_OK(convert(values[i], &value));
    out.Set(i, value);
  }
  ARROW_ASSIGN_OR_RAISE(auto validity, ValidityOf(in));
  const int64_t nulls = validity == nullptr ? 0 : arrow::kUnknownNullCount;
  return arrow::ArrayData::Make(std::move(type), in.length, {std::move(validity), out.buffer()},
                                nulls);
}

/// Bytes of a DECIMAL column, as they stand in memory.
struct DecimalBytes {
  uint8_t bytes[16];

  static DecimalBytes Of(const arrow::Decimal128& value) {
    DecimalBytes out;
    value.ToBytes(out.bytes);
    return out;
  }
  arrow::Decimal128 value() const { return arrow::Decimal128(bytes); }
};

}  // namespace kelda::cast_kernels
