#include "kelda/sql/types/chunk_to_arrow.h"

#include <algorithm>
#include <cstring>

#include <arrow/array/builder_binary.h>
#include <arrow/array/data.h>
#include <arrow/buffer_builder.h>

#include "duckdb/common/types/date.hpp"
#include "duckdb/common/types/hugeint.hpp"
#include "duckdb/common/types/timestamp.hpp"

#include "kelda/base/status.h"
#include "kelda/format/variant/variant_json.h"
#include "kelda/sql/types/logical_type.h"
#include "kelda/sql/types/time_units.h"
#include "kelda/types/arrow_mapping.h"

namespace kelda::sql {

namespace {

using duckdb::idx_t;
using duckdb::UnifiedVectorFormat;
using duckdb::Vector;

/// Grows one Arrow array from vectors.
class Column {
 public:
  Column(DataField field, std::shared_ptr<arrow::DataType> type)
      : field_(std::move(field)), type_(std::move(type)) {}
  virtual ~Column() = default;

  arrow::Status Append(Vector& vector, int64_t count) {
    UnifiedVectorFormat format;
    vector.ToUnifiedFormat(static_cast<idx_t>(count), format);
    ARROW_RETURN_NOT_OK(AppendValidity(format, count));
    ARROW_RETURN_NOT_OK(AppendValues(vector, format, count));
    length_ += count;
    return arrow::Status::OK();
  }

  arrow::Status AppendNulls(int64_t count) {
    ARROW_RETURN_NOT_OK(StartBitmap());
    ARROW_RETURN_NOT_OK(validity_.Append(count, false));
    null_count_ += count;
    ARROW_RETURN_NOT_OK(AppendNullValues(count));
    length_ += count;
    return arrow::Status::OK();
  }

  arrow::Result<std::shared_ptr<arrow::ArrayData>> Finish() {
    std::shared_ptr<arrow::Buffer> bitmap;
    if (has_bitmap_) ARROW_RETURN_NOT_OK(validity_.Finish(&bitmap));
    auto data = arrow::ArrayData::Make(type_, length_, {std::move(bitmap)}, null_count_);
    ARROW_RETURN_NOT_OK(FinishValues(data.get()));
    has_bitmap_ = false;
    length_ = 0;
    null_count_ = 0;
    return data;
  }

  int64_t bytes() const { return value_bytes() + (has_bitmap_ ? length_ / 8 : 0); }

 protected:
  /// Values of all rows; those under a NULL do not matter.
  virtual arrow::Status AppendValues(Vector& vector, const UnifiedVectorFormat& format,
                                     int64_t count) = 0;
  virtual arrow::Status AppendNullValues(int64_t count) = 0;
  virtual arrow::Status FinishValues(arrow::ArrayData* data) = 0;
  virtual int64_t value_bytes() const = 0;

  arrow::Status DoesNotFit(Vector& vector, int64_t row) const {
    return Invalid("column '{}': the value {} does not fit {}", field_.name,
                   vector.GetValue(static_cast<idx_t>(row)).ToString(), field_.type.ToString());
  }

  DataField field_;
  std::shared_ptr<arrow::DataType> type_;
  int64_t length_ = 0;

 private:
  arrow::Status StartBitmap() {
    if (has_bitmap_) return arrow::Status::OK();
    has_bitmap_ = true;
    return validity_.Append(length_, true);
  }

  arrow::Status AppendValidity(const UnifiedVectorFormat& format, int64_t count) {
    if (format.validity.AllValid()) {
      return has_bitmap_ ? validity_.Append(count, true) : arrow::Status::OK();
    }
    ARROW_RETURN_NOT_OK(StartBitmap());
    ARROW_RETURN_NOT_OK(validity_.Reserve(count));
    for (int64_t i = 0; i < count; ++i) {
      const bool valid = format.validity.RowIsValid(format.sel->get_index(static_cast<idx_t>(i)));
      validity_.UnsafeAppend(valid);
      null_count_ += valid ? 0 : 1;
    }
    return arrow::Status::OK();
  }

  arrow::TypedBufferBuilder<bool> validity_;
  bool has_bitmap_ = false;
  int64_t null_count_ = 0;
};

using ColumnPtr = std::unique_ptr<Column>;

/// Bytes of one batch after the other, each of about the size of the one before: the buffer is made
/// of that size at once, and neither moved while it grows nor copied to shrink.
class BatchBytes {
 public:
  arrow::Status Reserve(int64_t bytes) {
    if (builder_.length() == 0) bytes = std::max(bytes, last_bytes_ + last_bytes_ / 64);
    return builder_.Reserve(bytes);
  }
  int64_t length() const { return builder_.length(); }
  uint8_t* end() { return builder_.mutable_data() + builder_.length(); }
  void UnsafeAdvance(int64_t bytes) { builder_.UnsafeAdvance(bytes); }
  arrow::Result<std::shared_ptr<arrow::Buffer>> Finish() {
    last_bytes_ = builder_.length();
    std::shared_ptr<arrow::Buffer> buffer;
    ARROW_RETURN_NOT_OK(builder_.Finish(&buffer, /*shrink_to_fit=*/false));
    return buffer;
  }

 private:
  arrow::BufferBuilder builder_;
  int64_t last_bytes_ = 0;
};

/// Fixed-width values. Convert: bool (const From&, To*), false when the value does not fit.
template <typename From, typename To, typename Convert>
class FixedColumn : public Column {
 public:
  FixedColumn(DataField field, std::shared_ptr<arrow::DataType> type, Convert convert)
      : Column(std::move(field), std::move(type)), convert_(convert) {}

 protected:
  arrow::Status AppendValues(Vector& vector, const UnifiedVectorFormat& format,
                             int64_t count) override {
    ARROW_RETURN_NOT_OK(values_.Reserve(count * kWidth));
    const From* in = UnifiedVectorFormat::GetData<From>(format);
    To* out = reinterpret_cast<To*>(values_.end());
    int64_t bad = -1;
    if (format.validity.AllValid() && !format.sel->IsSet()) {
      for (int64_t i = 0; i < count; ++i) {
        if (!convert_(in[i], out + i)) bad = i;
      }
    } else {
      for (int64_t i = 0; i < count; ++i) {
        const idx_t row = format.sel->get_index(static_cast<idx_t>(i));
        if (!format.validity.RowIsValid(row)) {
          out[i] = To{};
        } else if (!convert_(in[row], out + i)) {
          bad = i;
        }
      }
    }
    if (bad >= 0) return DoesNotFit(vector, bad);
    values_.UnsafeAdvance(count * kWidth);
    return arrow::Status::OK();
  }
  arrow::Status AppendNullValues(int64_t count) override {
    ARROW_RETURN_NOT_OK(values_.Reserve(count * kWidth));
    std::fill_n(reinterpret_cast<To*>(values_.end()), count, To{});
    values_.UnsafeAdvance(count * kWidth);
    return arrow::Status::OK();
  }
  arrow::Status FinishValues(arrow::ArrayData* data) override {
    ARROW_ASSIGN_OR_RAISE(auto buffer, values_.Finish());
    data->buffers.push_back(std::move(buffer));
    return arrow::Status::OK();
  }
  int64_t value_bytes() const override { return values_.length(); }

 private:
  static constexpr auto kWidth = static_cast<int64_t>(sizeof(To));

  Convert convert_;
  BatchBytes values_;
};

template <typename From, typename To, typename Convert>
ColumnPtr MakeFixed(DataField field, std::shared_ptr<arrow::DataType> type, Convert convert) {
  return std::make_unique<FixedColumn<From, To, Convert>>(std::move(field), std::move(type),
                                                          convert);
}

template <typename T>
ColumnPtr MakeSame(DataField field, std::shared_ptr<arrow::DataType> type) {
  return MakeFixed<T, T>(std::move(field), std::move(type), [](const T& in, T* out) {
    *out = in;
    return true;
  });
}

class BooleanColumn : public Column {
 public:
  using Column::Column;

 protected:
  arrow::Status AppendValues(Vector&, const UnifiedVectorFormat& format, int64_t count) override {
    ARROW_RETURN_NOT_OK(values_.Reserve(count));
    const auto* in = reinterpret_cast<const uint8_t*>(format.data);
    for (int64_t i = 0; i < count; ++i) {
      values_.UnsafeAppend(in[format.sel->get_index(static_cast<idx_t>(i))] == 1);
    }
    return arrow::Status::OK();
  }
  arrow::Status AppendNullValues(int64_t count) override { return values_.Append(count, false); }
  arrow::Status FinishValues(arrow::ArrayData* data) override {
    std::shared_ptr<arrow::Buffer> buffer;
    ARROW_RETURN_NOT_OK(values_.Finish(&buffer));
    data->buffers.push_back(std::move(buffer));
    return arrow::Status::OK();
  }
  int64_t value_bytes() const override { return values_.length() / 8; }

 private:
  arrow::TypedBufferBuilder<bool> values_;
};

/// Offsets of strings and lists: one more than there are rows.
class Offsets {
 public:
  arrow::Status Reserve(int64_t count) {
    if (builder_.length() == 0) {
      ARROW_RETURN_NOT_OK(builder_.Reserve(std::max(count + 1, last_length_)));
      builder_.UnsafeAppend(0);
    }
    return builder_.Reserve(count);
  }
  void UnsafeAppend(int32_t end) { builder_.UnsafeAppend(end); }
  arrow::Status Finish(arrow::ArrayData* data) {
    ARROW_RETURN_NOT_OK(Reserve(0));
    last_length_ = builder_.length();
    std::shared_ptr<arrow::Buffer> buffer;
    ARROW_RETURN_NOT_OK(builder_.Finish(&buffer));
    data->buffers.push_back(std::move(buffer));
    return arrow::Status::OK();
  }
  int64_t bytes() const { return builder_.length() * 4; }

 private:
  arrow::TypedBufferBuilder<int32_t> builder_;
  int64_t last_length_ = 0;
};

class BytesColumn : public Column {
 public:
  using Column::Column;

 protected:
  arrow::Status AppendValues(Vector&, const UnifiedVectorFormat& format, int64_t count) override {
    const auto* in = UnifiedVectorFormat::GetData<duckdb::string_t>(format);
    const bool all_valid = format.validity.AllValid();
    const bool direct = all_valid && !format.sel->IsSet();
    int64_t total = 0;
    if (direct) {
      for (int64_t i = 0; i < count; ++i) total += static_cast<int64_t>(in[i].GetSize());
    } else {
      for (int64_t i = 0; i < count; ++i) {
        const idx_t row = format.sel->get_index(static_cast<idx_t>(i));
        if (all_valid || format.validity.RowIsValid(row))
          total += static_cast<int64_t>(in[row].GetSize());
      }
    }
    if (bytes_.length() + total > INT32_MAX) {
      return arrow::Status::CapacityError("column '", field_.name,
                                          "': more than 2 GiB of text in one batch");
    }
    ARROW_RETURN_NOT_OK(offsets_.Reserve(count));
    // Room to copy short texts in steps of a fixed size; what is too much is written over.
    ARROW_RETURN_NOT_OK(bytes_.Reserve(total + kCopyStep));
    auto end = static_cast<int32_t>(bytes_.length());
    uint8_t* out = bytes_.end();
    for (int64_t i = 0; i < count; ++i) {
      const idx_t row =
          direct ? static_cast<idx_t>(i) : format.sel->get_index(static_cast<idx_t>(i));
      if (all_valid || format.validity.RowIsValid(row)) {
        const uint32_t size = in[row].GetSize();
        CopyText(in[row], size, out);
        out += size;
        end += static_cast<int32_t>(size);
      }
      offsets_.UnsafeAppend(end);
    }
    bytes_.UnsafeAdvance(total);
    return arrow::Status::OK();
  }
  arrow::Status AppendNullValues(int64_t count) override {
    ARROW_RETURN_NOT_OK(offsets_.Reserve(count));
    for (int64_t i = 0; i < count; ++i)
      offsets_.UnsafeAppend(static_cast<int32_t>(bytes_.length()));
    return arrow::Status::OK();
  }
  arrow::Status FinishValues(arrow::ArrayData* data) override {
    ARROW_RETURN_NOT_OK(offsets_.Finish(data));
    ARROW_ASSIGN_OR_RAISE(auto bytes, bytes_.Finish());
    data->buffers.push_back(std::move(bytes));
    return arrow::Status::OK();
  }
  int64_t value_bytes() const override { return bytes_.length() + offsets_.bytes(); }

 private:
  static constexpr int64_t kCopyStep = 32;

  static void CopyText(const duckdb::string_t& text, uint32_t size, uint8_t* out) {
    // Texts of up to 12 bytes lie inside the string_t.
    if (size <= duckdb::string_t::INLINE_LENGTH) {
      std::memcpy(out, text.GetData(), duckdb::string_t::INLINE_LENGTH);
    } else if (size <= 16) {
      std::memcpy(out, text.GetData(), 8);
      std::memcpy(out + size - 8, text.GetData() + size - 8, 8);
    } else if (size <= kCopyStep) {
      std::memcpy(out, text.GetData(), 16);
      std::memcpy(out + size - 16, text.GetData() + size - 16, 16);
    } else {
      std::memcpy(out, text.GetData(), size);
    }
  }

  Offsets offsets_;
  BatchBytes bytes_;
};

/// Lists and, with a struct as element, maps. VECTOR keeps its fixed length.
class ListColumn : public Column {
 public:
  ListColumn(DataField field, std::shared_ptr<arrow::DataType> type, ColumnPtr element,
             int32_t fixed_length)
      : Column(std::move(field), std::move(type)),
        element_(std::move(element)),
        fixed_length_(fixed_length) {}

 protected:
  arrow::Status AppendValues(Vector& vector, const UnifiedVectorFormat& format,
                             int64_t count) override {
    const auto* in = UnifiedVectorFormat::GetData<duckdb::list_entry_t>(format);
    ARROW_RETURN_NOT_OK(offsets_.Reserve(count));
    Vector& child = duckdb::ListVector::GetEntry(vector);
    int64_t pending_start = 0;
    int64_t pending_end = 0;
    for (int64_t i = 0; i < count; ++i) {
      const idx_t row = format.sel->get_index(static_cast<idx_t>(i));
      const bool valid = format.validity.RowIsValid(row);
      const auto start = valid ? static_cast<int64_t>(in[row].offset) : pending_end;
      const auto length = valid ? static_cast<int64_t>(in[row].length) : 0;
      if (fixed_length_ > 0 && !valid) {
        ARROW_RETURN_NOT_OK(AppendElements(child, pending_start, pending_end));
        pending_start = pending_end;
        ARROW_RETURN_NOT_OK(element_->AppendNulls(fixed_length_));
        elements_ += fixed_length_;
      }
      if (fixed_length_ > 0 && valid && length != fixed_length_) return DoesNotFit(vector, i);
      // Rows that lie one after the other are appended together.
      if (length > 0 && start != pending_end) {
        ARROW_RETURN_NOT_OK(AppendElements(child, pending_start, pending_end));
        pending_start = start;
        pending_end = start;
      }
      pending_end += length;
      elements_ += length;
      if (elements_ > INT32_MAX) {
        return arrow::Status::CapacityError("column '", field_.name,
                                            "': more than 2^31 elements in one batch");
      }
      offsets_.UnsafeAppend(static_cast<int32_t>(elements_));
    }
    return AppendElements(child, pending_start, pending_end);
  }
  arrow::Status AppendNullValues(int64_t count) override {
    ARROW_RETURN_NOT_OK(offsets_.Reserve(count));
    for (int64_t i = 0; i < count; ++i) offsets_.UnsafeAppend(static_cast<int32_t>(elements_));
    if (fixed_length_ == 0) return arrow::Status::OK();
    elements_ += count * fixed_length_;
    return element_->AppendNulls(count * fixed_length_);
  }
  arrow::Status FinishValues(arrow::ArrayData* data) override {
    arrow::ArrayData ignored;
    ARROW_RETURN_NOT_OK(offsets_.Finish(fixed_length_ > 0 ? &ignored : data));
    ARROW_ASSIGN_OR_RAISE(auto elements, element_->Finish());
    data->child_data.push_back(std::move(elements));
    elements_ = 0;
    return arrow::Status::OK();
  }
  int64_t value_bytes() const override { return offsets_.bytes() + element_->bytes(); }

 private:
  arrow::Status AppendElements(Vector& child, int64_t start, int64_t end) {
    if (start == end) return arrow::Status::OK();
    Vector part(child, static_cast<idx_t>(start), static_cast<idx_t>(end));
    return element_->Append(part, end - start);
  }

  Offsets offsets_;
  ColumnPtr element_;
  int32_t fixed_length_;
  int64_t elements_ = 0;
};

class StructColumn : public Column {
 public:
  StructColumn(DataField field, std::shared_ptr<arrow::DataType> type,
               std::vector<ColumnPtr> members)
      : Column(std::move(field), std::move(type)), members_(std::move(members)) {}

 protected:
  arrow::Status AppendValues(Vector& vector, const UnifiedVectorFormat& format,
                             int64_t count) override {
    auto& children = duckdb::StructVector::GetEntries(vector);
    const bool sliced = vector.GetVectorType() == duckdb::VectorType::DICTIONARY_VECTOR;
    for (size_t i = 0; i < members_.size(); ++i) {
      if (!sliced) {
        ARROW_RETURN_NOT_OK(members_[i]->Append(*children[i], count));
        continue;
      }
      Vector part(*children[i], *format.sel, static_cast<idx_t>(count));
      ARROW_RETURN_NOT_OK(members_[i]->Append(part, count));
    }
    return arrow::Status::OK();
  }
  arrow::Status AppendNullValues(int64_t count) override {
    for (auto& member : members_) ARROW_RETURN_NOT_OK(member->AppendNulls(count));
    return arrow::Status::OK();
  }
  arrow::Status FinishValues(arrow::ArrayData* data) override {
    for (auto& member : members_) {
      ARROW_ASSIGN_OR_RAISE(auto child, member->Finish());
      data->child_data.push_back(std::move(child));
    }
    return arrow::Status::OK();
  }
  int64_t value_bytes() const override {
    int64_t sum = 0;
    for (const auto& member : members_) sum += member->bytes();
    return sum;
  }

 private:
  std::vector<ColumnPtr> members_;
};

/// VARIANT out of JSON texts.
class VariantColumn : public Column {
 public:
  using Column::Column;

 protected:
  arrow::Status AppendValues(Vector&, const UnifiedVectorFormat& format, int64_t count) override {
    const auto* in = UnifiedVectorFormat::GetData<duckdb::string_t>(format);
    for (int64_t i = 0; i < count; ++i) {
      const idx_t row = format.sel->get_index(static_cast<idx_t>(i));
      if (!format.validity.RowIsValid(row)) {
        ARROW_RETURN_NOT_OK(AppendNullValues(1));
        continue;
      }
      builder_.Clear();
      const std::string_view json(in[row].GetData(), in[row].GetSize());
      const arrow::Status status = AppendJson(json, &builder_);
      if (!status.ok()) return WithContext(status, fmt::format("column '{}'", field_.name));
      ARROW_ASSIGN_OR_RAISE(const std::string_view value, builder_.value());
      ARROW_RETURN_NOT_OK(values_.Append(value));
      ARROW_RETURN_NOT_OK(metadata_.Append(builder_.metadata()));
    }
    return arrow::Status::OK();
  }
  arrow::Status AppendNullValues(int64_t count) override {
    ARROW_RETURN_NOT_OK(values_.AppendEmptyValues(count));
    return metadata_.AppendEmptyValues(count);
  }
  arrow::Status FinishValues(arrow::ArrayData* data) override {
    for (arrow::BinaryBuilder* bytes : {&values_, &metadata_}) {
      std::shared_ptr<arrow::ArrayData> child;
      ARROW_RETURN_NOT_OK(bytes->FinishInternal(&child));
      data->child_data.push_back(std::move(child));
    }
    return arrow::Status::OK();
  }
  int64_t value_bytes() const override {
    return values_.value_data_length() + metadata_.value_data_length() + 8 * length_;
  }

 private:
  arrow::BinaryBuilder values_;
  arrow::BinaryBuilder metadata_;
  VariantBuilder builder_;
};

arrow::Result<ColumnPtr> MakeColumn(const DataField& field,
                                    const std::shared_ptr<arrow::DataType>& type);

template <typename From>
ColumnPtr MakeNarrowDecimal(const DataField& field, std::shared_ptr<arrow::DataType> type) {
  struct Wide {
    uint64_t low;
    int64_t high;
  };
  int64_t limit = 1;
  for (int i = 0; i < field.type.precision(); ++i) limit *= 10;
  return MakeFixed<From, Wide>(field, std::move(type), [limit](const From& in, Wide* out) {
    const auto wide = static_cast<int64_t>(in);
    out->low = static_cast<uint64_t>(wide);
    out->high = wide >> 63;
    return wide < limit && wide > -limit;
  });
}

ColumnPtr MakeDecimal(const DataField& field, std::shared_ptr<arrow::DataType> type) {
  const int precision = field.type.precision();
  if (precision <= 4) return MakeNarrowDecimal<int16_t>(field, std::move(type));
  if (precision <= 9) return MakeNarrowDecimal<int32_t>(field, std::move(type));
  if (precision <= 18) return MakeNarrowDecimal<int64_t>(field, std::move(type));
  using duckdb::hugeint_t;
  const hugeint_t limit = duckdb::Hugeint::POWERS_OF_TEN[precision];
  return MakeFixed<hugeint_t, hugeint_t>(field, std::move(type),
                                         [limit](const hugeint_t& in, hugeint_t* out) {
                                           *out = in;
                                           return in < limit && in > -limit;
                                         });
}

bool IsFinite(int64_t timestamp) {
  return duckdb::Timestamp::IsFinite(duckdb::timestamp_t(timestamp));
}

ColumnPtr MakeTimestamp(const DataField& field, std::shared_ptr<arrow::DataType> type) {
  const int precision = field.type.precision();
  const int digits = UnitDigits(precision);
  if (field.type.root() == TypeRoot::kTimestamp) {
    const int64_t step = TimestampStep(precision);
    if (step == 1) {
      return MakeFixed<int64_t, int64_t>(field, std::move(type), [](int64_t in, int64_t* out) {
        *out = in;
        return IsFinite(in);
      });
    }
    return MakeFixed<int64_t, int64_t>(field, std::move(type), [step](int64_t in, int64_t* out) {
      *out = in;
      return IsFinite(in) && in % step == 0;
    });
  }
  if (digits > 6) {
    return MakeFixed<int64_t, int64_t>(field, std::move(type), [](int64_t in, int64_t* out) {
      return !__builtin_mul_overflow(in, int64_t{1000}, out) && IsFinite(in);
    });
  }
  const int64_t step = kPowersOfTen[6 - precision];
  const int64_t divisor = kPowersOfTen[6 - digits];
  return MakeFixed<int64_t, int64_t>(field, std::move(type),
                                     [step, divisor](int64_t in, int64_t* out) {
                                       *out = in / divisor;
                                       return IsFinite(in) && in % step == 0;
                                     });
}

arrow::Result<ColumnPtr> MakeEntries(const DataField& field, const arrow::MapType& type) {
  const bool multiset = field.type.root() == TypeRoot::kMultiset;
  const DataField key{-1, field.name, multiset ? field.type.element() : field.type.key(), {}, {}};
  const DataField value{
      -1, field.name, multiset ? DataType(TypeRoot::kInt, false) : field.type.value(), {}, {}};
  std::vector<ColumnPtr> members(2);
  ARROW_ASSIGN_OR_RAISE(members[0], MakeColumn(key, type.key_type()));
  ARROW_ASSIGN_OR_RAISE(members[1], MakeColumn(value, type.item_type()));
  return std::make_unique<StructColumn>(field, type.value_type(), std::move(members));
}

arrow::Result<ColumnPtr> MakeNested(const DataField& field,
                                    const std::shared_ptr<arrow::DataType>& type) {
  switch (field.type.root()) {
    case TypeRoot::kArray:
    case TypeRoot::kVector: {
      const DataField element_field{-1, field.name, field.type.element(), {}, {}};
      ARROW_ASSIGN_OR_RAISE(auto element, MakeColumn(element_field, type->field(0)->type()));
      const int32_t length = field.type.root() == TypeRoot::kVector ? field.type.length() : 0;
      return std::make_unique<ListColumn>(field, type, std::move(element), length);
    }
    case TypeRoot::kMap:
    case TypeRoot::kMultiset: {
      ARROW_ASSIGN_OR_RAISE(auto entries,
                            MakeEntries(field, static_cast<const arrow::MapType&>(*type)));
      return std::make_unique<ListColumn>(field, type, std::move(entries), 0);
    }
    case TypeRoot::kVariant:
      return std::make_unique<VariantColumn>(field, type);
    case TypeRoot::kRow: {
      std::vector<ColumnPtr> members;
      for (int i = 0; i < type->num_fields(); ++i) {
        const DataField& member = field.type.fields()[static_cast<size_t>(i)];
        ARROW_ASSIGN_OR_RAISE(auto column, MakeColumn(member, type->field(i)->type()));
        members.push_back(std::move(column));
      }
      return std::make_unique<StructColumn>(field, type, std::move(members));
    }
    default:
      return Unsupported("column '{}' of type {}", field.name, field.type.ToString());
  }
}

arrow::Result<ColumnPtr> MakeColumn(const DataField& field,
                                    const std::shared_ptr<arrow::DataType>& type) {
  switch (field.type.root()) {
    case TypeRoot::kBoolean:
      return std::make_unique<BooleanColumn>(field, type);
    case TypeRoot::kTinyInt:
      return MakeSame<int8_t>(field, type);
    case TypeRoot::kSmallInt:
      return MakeSame<int16_t>(field, type);
    case TypeRoot::kInt:
      return MakeSame<int32_t>(field, type);
    case TypeRoot::kBigInt:
      return MakeSame<int64_t>(field, type);
    case TypeRoot::kFloat:
      return MakeSame<float>(field, type);
    case TypeRoot::kDouble:
      return MakeSame<double>(field, type);
    case TypeRoot::kDecimal:
      return MakeDecimal(field, type);
    case TypeRoot::kChar:
    case TypeRoot::kVarChar:
    case TypeRoot::kBinary:
    case TypeRoot::kVarBinary:
    case TypeRoot::kBlob:
      return std::make_unique<BytesColumn>(field, type);
    case TypeRoot::kDate:
      return MakeFixed<int32_t, int32_t>(field, type, [](int32_t in, int32_t* out) {
        *out = in;
        return duckdb::Date::IsFinite(duckdb::date_t(in));
      });
    case TypeRoot::kTime: {
      const int64_t step = TimeStepMicros(field.type.precision());
      return MakeFixed<int64_t, int32_t>(field, type, [step](int64_t in, int32_t* out) {
        *out = static_cast<int32_t>(in / 1000);
        return in >= 0 && in < kMicrosOfDay && in % step == 0;
      });
    }
    case TypeRoot::kTimestamp:
    case TypeRoot::kTimestampLtz:
      return MakeTimestamp(field, type);
    default:
      return MakeNested(field, type);
  }
}

class Converter : public ChunkToArrow {
 public:
  arrow::Status Init(const std::vector<DataField>& fields) {
    ARROW_ASSIGN_OR_RAISE(schema_, ToArrowSchema(fields));
    for (size_t i = 0; i < fields.size(); ++i) {
      ARROW_ASSIGN_OR_RAISE(auto column,
                            MakeColumn(fields[i], schema_->field(static_cast<int>(i))->type()));
      columns_.push_back(std::move(column));
      ARROW_ASSIGN_OR_RAISE(auto logical, ToLogicalType(fields[i].type, fields[i].name));
      types_.push_back(std::move(logical));
      names_.push_back(fields[i].name);
    }
    return arrow::Status::OK();
  }

  arrow::Status Append(duckdb::DataChunk& chunk, const std::vector<int>& columns) override {
    const auto count = static_cast<int64_t>(chunk.size());
    for (size_t i = 0; i < columns_.size(); ++i) {
      const int source = columns.empty() ? static_cast<int>(i) : columns[i];
      if (source < 0) {
        ARROW_RETURN_NOT_OK(columns_[i]->AppendNulls(count));
        continue;
      }
      Vector& vector = chunk.data[static_cast<size_t>(source)];
      if (vector.GetType() != types_[i]) {
        return Invalid("column '{}': expected values of type {}, got {}", names_[i],
                       types_[i].ToString(), vector.GetType().ToString());
      }
      ARROW_RETURN_NOT_OK(columns_[i]->Append(vector, count));
    }
    rows_ += count;
    return arrow::Status::OK();
  }

  int64_t rows() const override { return rows_; }
  int64_t bytes() const override {
    int64_t sum = 0;
    for (const auto& column : columns_) sum += column->bytes();
    return sum;
  }

  arrow::Result<std::shared_ptr<arrow::RecordBatch>> Finish() override {
    if (rows_ == 0) return nullptr;
    std::vector<std::shared_ptr<arrow::ArrayData>> arrays;
    for (auto& column : columns_) {
      ARROW_ASSIGN_OR_RAISE(auto data, column->Finish());
      arrays.push_back(std::move(data));
    }
    const int64_t rows = rows_;
    rows_ = 0;
    return arrow::RecordBatch::Make(schema_, rows, std::move(arrays));
  }

 private:
  std::shared_ptr<arrow::Schema> schema_;
  std::vector<ColumnPtr> columns_;
  std::vector<duckdb::LogicalType> types_;
  std::vector<std::string> names_;
  int64_t rows_ = 0;
};

}  // namespace

arrow::Result<std::unique_ptr<ChunkToArrow>> ChunkToArrow::Make(
    const std::vector<DataField>& fields) {
  auto converter = std::make_unique<Converter>();
  ARROW_RETURN_NOT_OK(converter->Init(fields));
  return std::unique_ptr<ChunkToArrow>(std::move(converter));
}

}  // namespace kelda::sql
