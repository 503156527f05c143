#include "kelda/sql/types/arrow_to_chunk.h"

#include <algorithm>
#include <bit>

#include <arrow/array.h>
#include <arrow/util/bitmap_ops.h>
#include <arrow/util/utf8.h>

#include "duckdb/common/types/vector_buffer.hpp"

#include "kelda/base/status.h"
#include "kelda/format/variant/variant_json.h"
#include "kelda/sql/types/time_units.h"

namespace kelda::sql {

namespace {

using duckdb::FlatVector;
using duckdb::idx_t;
using Owner = std::shared_ptr<const void>;

/// Keeps Arrow memory alive as long as a vector points into it.
struct OwnerData : public duckdb::VectorAuxiliaryData {
  explicit OwnerData(Owner owner_in)
      : VectorAuxiliaryData(duckdb::VectorAuxiliaryDataType::ARROW_AUXILIARY),
        owner(std::move(owner_in)) {}
  Owner owner;
};

class OwnerBuffer : public duckdb::VectorBuffer {
 public:
  explicit OwnerBuffer(Owner owner)
      : VectorBuffer(duckdb::VectorBufferType::OPAQUE_BUFFER), owner_(std::move(owner)) {}

 private:
  Owner owner_;
};

struct Rows {
  int64_t offset;
  int64_t count;
  const Owner& owner;
};

constexpr const char* kWholeMicroseconds =
    "TIMESTAMP WITH TIME ZONE, which counts whole microseconds; leave the column out, or read the "
    "table without SQL";

arrow::Status DoesNotFit(const DataField& field, int64_t value, const char* type) {
  return Invalid("column '{}': the stored value {} of {} does not fit SQL's {}", field.name, value,
                 field.type.ToString(), type);
}

void CopyValidity(const arrow::Array& array, const Rows& rows, duckdb::Vector* output) {
  auto& validity = FlatVector::Validity(*output);
  const idx_t capacity = std::max<idx_t>(static_cast<idx_t>(rows.count), STANDARD_VECTOR_SIZE);
  if (array.null_bitmap_data() == nullptr || array.null_count() == 0) {
    validity.Reset(capacity);
    return;
  }
  validity.Initialize(capacity);
  arrow::internal::CopyBitmap(array.null_bitmap_data(), array.offset() + rows.offset, rows.count,
                              reinterpret_cast<uint8_t*>(validity.GetData()), 0);
}

template <typename T>
const T* ValuesOf(const arrow::Array& array, const Rows& rows) {
  return array.data()->GetValues<T>(1) + rows.offset;
}

template <typename T>
void Share(const arrow::Array& array, const Rows& rows, duckdb::Vector* output) {
  if (auto buffer = output->GetBuffer())
    buffer->SetAuxiliaryData(duckdb::make_uniq<OwnerData>(rows.owner));
  // DuckDB does not write into the vectors of a scan.
  FlatVector::SetData(
      *output, reinterpret_cast<duckdb::data_ptr_t>(const_cast<T*>(ValuesOf<T>(array, rows))));
}

/// Values that need a check or another unit; null slots are skipped.
template <typename From, typename To, typename Convert>
arrow::Status Transform(const arrow::Array& array, const Rows& rows, const DataField& field,
                        const char* sql_type, duckdb::Vector* output, Convert&& convert) {
  const From* in = ValuesOf<From>(array, rows);
  auto* out = reinterpret_cast<To*>(FlatVector::GetData(*output));
  const bool has_nulls = array.null_count() > 0;
  for (int64_t i = 0; i < rows.count; ++i) {
    if (has_nulls && array.IsNull(rows.offset + i)) {
      out[i] = To{};
    } else if (!convert(in[i], &out[i])) {
      return DoesNotFit(field, static_cast<int64_t>(in[i]), sql_type);
    }
  }
  return arrow::Status::OK();
}

template <typename To>
arrow::Status NarrowDecimal(const arrow::Array& array, const Rows& rows, const DataField& field,
                            duckdb::Vector* output) {
  struct Wide {
    uint64_t low;
    int64_t high;
  };
  const Wide* in = ValuesOf<Wide>(array, rows);
  auto* out = reinterpret_cast<To*>(FlatVector::GetData(*output));
  // Null slots may hold anything: a wrong value there is no error.
  bool fits = true;
  for (int64_t i = 0; i < rows.count; ++i) {
    const auto low = static_cast<int64_t>(in[i].low);
    out[i] = static_cast<To>(low);
    fits = fits && out[i] == low && in[i].high == low >> 63;
  }
  if (fits) return arrow::Status::OK();
  for (int64_t i = 0; i < rows.count; ++i) {
    const auto low = static_cast<int64_t>(in[i].low);
    if (array.IsNull(rows.offset + i)) continue;
    if (out[i] != low || in[i].high != low >> 63) {
      return Invalid("column '{}': a stored value has more digits than {}", field.name,
                     field.type.ToString());
    }
  }
  return arrow::Status::OK();
}

arrow::Status Decimals(const arrow::Array& array, const Rows& rows, const DataField& field,
                       duckdb::Vector* output) {
  const int precision = field.type.precision();
  if (precision <= 4) return NarrowDecimal<int16_t>(array, rows, field, output);
  if (precision <= 9) return NarrowDecimal<int32_t>(array, rows, field, output);
  if (precision <= 18) return NarrowDecimal<int64_t>(array, rows, field, output);
  // hugeint_t is the same 16 bytes as a Decimal128 on little-endian machines.
  static_assert(sizeof(duckdb::hugeint_t) == 16 && std::endian::native == std::endian::little);
  Share<duckdb::hugeint_t>(array, rows, output);
  return arrow::Status::OK();
}

arrow::Status Booleans(const arrow::Array& array, const Rows& rows, duckdb::Vector* output) {
  auto* out = reinterpret_cast<uint8_t*>(FlatVector::GetData(*output));
  const uint8_t* bits = array.data()->buffers[1]->data();
  const int64_t start = array.offset() + rows.offset;
  for (int64_t i = 0; i < rows.count; ++i) {
    out[i] = (bits[(start + i) >> 3] >> ((start + i) & 7)) & 1;
  }
  return arrow::Status::OK();
}

/// Every string is UTF-8 when all bytes together are and no string begins inside a character.
bool AllUtf8(const int32_t* offsets, const uint8_t* bytes, int64_t count) {
  const int32_t begin = offsets[0];
  const int32_t end = offsets[count];
  if (begin == end) return true;
  if (!arrow::util::ValidateUTF8(bytes + begin, end - begin)) return false;
  for (int64_t i = 1; i < count; ++i) {
    if (offsets[i] < end && (bytes[offsets[i]] & 0xC0) == 0x80) return false;
  }
  return true;
}

arrow::Status CheckUtf8(const arrow::Array& array, const int32_t* offsets, const uint8_t* bytes,
                        const Rows& rows, const DataField& field) {
  static const bool initialized = (arrow::util::InitializeUTF8(), true);
  (void)initialized;
  if (AllUtf8(offsets, bytes, rows.count)) return arrow::Status::OK();
  // Perhaps only bytes under a NULL are wrong.
  for (int64_t i = 0; i < rows.count; ++i) {
    if (array.IsNull(rows.offset + i)) continue;
    if (!arrow::util::ValidateUTF8(bytes + offsets[i], offsets[i + 1] - offsets[i])) {
      return Corruption("column '{}': a stored text is not valid UTF-8", field.name);
    }
  }
  return arrow::Status::OK();
}

arrow::Status Strings(const arrow::Array& array, const Rows& rows, const DataField& field,
                      duckdb::Vector* output) {
  const int32_t* offsets = ValuesOf<int32_t>(array, rows);
  const auto& data_buffer = array.data()->buffers[2];
  static const uint8_t kNoBytes[1] = {0};
  const uint8_t* bytes =
      data_buffer != nullptr && data_buffer->data() != nullptr ? data_buffer->data() : kNoBytes;
  if (field.type.IsString()) {
    ARROW_RETURN_NOT_OK(CheckUtf8(array, offsets, bytes, rows, field));
  }
  auto* out = reinterpret_cast<duckdb::string_t*>(FlatVector::GetData(*output));
  const bool has_nulls = array.null_count() > 0;
  bool points = false;
  for (int64_t i = 0; i < rows.count; ++i) {
    if (has_nulls && array.IsNull(rows.offset + i)) {
      out[i] = duckdb::string_t(static_cast<uint32_t>(0));
      continue;
    }
    const auto length = static_cast<uint32_t>(offsets[i + 1] - offsets[i]);
    out[i] = duckdb::string_t(reinterpret_cast<const char*>(bytes) + offsets[i], length);
    points = points || length > duckdb::string_t::INLINE_LENGTH;
  }
  if (points) {
    duckdb::StringVector::AddBuffer(*output, duckdb::make_buffer<OwnerBuffer>(rows.owner));
  }
  return arrow::Status::OK();
}

arrow::Status Timestamps(const arrow::Array& array, const Rows& rows, const DataField& field,
                         duckdb::Vector* output) {
  const int digits = UnitDigits(field.type.precision());
  if (field.type.root() == TypeRoot::kTimestamp || digits == 6) {
    Share<int64_t>(array, rows, output);
    return arrow::Status::OK();
  }
  if (digits > 6) {
    return Transform<int64_t, int64_t>(array, rows, field, kWholeMicroseconds, output,
                                       [](int64_t in, int64_t* out) {
                                         *out = in / 1000;
                                         return in % 1000 == 0;
                                       });
  }
  const int64_t factor = kPowersOfTen[6 - digits];
  return Transform<int64_t, int64_t>(
      array, rows, field, kWholeMicroseconds, output,
      [factor](int64_t in, int64_t* out) { return !__builtin_mul_overflow(in, factor, out); });
}

/// Entries of a list vector for list-like arrays, and the range of their elements.
template <typename ArrayType>
Rows ListEntries(const ArrayType& array, const Rows& rows, duckdb::Vector* output) {
  auto* entries = reinterpret_cast<duckdb::list_entry_t*>(FlatVector::GetData(*output));
  const int64_t first = rows.count > 0 ? array.value_offset(rows.offset) : 0;
  int64_t end = first;
  for (int64_t i = 0; i < rows.count; ++i) {
    const int64_t begin = array.value_offset(rows.offset + i);
    const int64_t length = array.value_length(rows.offset + i);
    entries[i].offset = static_cast<uint64_t>(begin - first);
    entries[i].length = array.IsNull(rows.offset + i) ? 0 : static_cast<uint64_t>(length);
    end = std::max(end, begin + length);
  }
  duckdb::ListVector::Reserve(*output, static_cast<idx_t>(end - first));
  duckdb::ListVector::SetListSize(*output, static_cast<idx_t>(end - first));
  return Rows{first, end - first, rows.owner};
}

arrow::Status Lists(const arrow::Array& array, const Rows& rows, const DataField& field,
                    duckdb::Vector* output) {
  const DataField element{-1, field.name, field.type.element(), {}, {}};
  if (field.type.root() == TypeRoot::kVector) {
    const auto& list = static_cast<const arrow::FixedSizeListArray&>(array);
    const Rows inner = ListEntries(list, rows, output);
    return ToVector(*list.values(), rows.owner, element, inner.offset, inner.count,
                    &duckdb::ListVector::GetEntry(*output));
  }
  const auto& list = static_cast<const arrow::ListArray&>(array);
  const Rows inner = ListEntries(list, rows, output);
  return ToVector(*list.values(), rows.owner, element, inner.offset, inner.count,
                  &duckdb::ListVector::GetEntry(*output));
}

arrow::Status Maps(const arrow::Array& array, const Rows& rows, const DataField& field,
                   duckdb::Vector* output) {
  const auto& map = static_cast<const arrow::MapArray&>(array);
  const Rows inner = ListEntries(map, rows, output);
  const bool multiset = field.type.root() == TypeRoot::kMultiset;
  const DataField key{-1, field.name, multiset ? field.type.element() : field.type.key(), {}, {}};
  const DataField value{
      -1, field.name, multiset ? DataType(TypeRoot::kInt) : field.type.value(), {}, {}};
  auto& entry = duckdb::ListVector::GetEntry(*output);
  FlatVector::Validity(entry).Reset(
      std::max<idx_t>(static_cast<idx_t>(inner.count), STANDARD_VECTOR_SIZE));
  auto& children = duckdb::StructVector::GetEntries(entry);
  if (map.keys()->null_count() > 0)
    return Corruption("column '{}': a stored map has a NULL key", field.name);
  ARROW_RETURN_NOT_OK(
      ToVector(*map.keys(), rows.owner, key, inner.offset, inner.count, children[0].get()));
  return ToVector(*map.items(), rows.owner, value, inner.offset, inner.count, children[1].get());
}

arrow::Status Structs(const arrow::Array& array, const Rows& rows, const DataField& field,
                      duckdb::Vector* output) {
  const auto& row = static_cast<const arrow::StructArray&>(array);
  auto& children = duckdb::StructVector::GetEntries(*output);
  for (size_t i = 0; i < children.size(); ++i) {
    ARROW_RETURN_NOT_OK(ToVector(*row.field(static_cast<int>(i)), rows.owner,
                                 field.type.fields()[i], rows.offset, rows.count,
                                 children[i].get()));
  }
  if (array.null_count() == 0) return arrow::Status::OK();
  // In DuckDB the members of a NULL struct are NULL.
  for (int64_t i = 0; i < rows.count; ++i) {
    if (!array.IsNull(rows.offset + i)) continue;
    for (auto& child : children) FlatVector::SetNull(*child, static_cast<idx_t>(i), true);
  }
  return arrow::Status::OK();
}

arrow::Status Variants(const arrow::Array& array, const Rows& rows, const DataField& field,
                       duckdb::Vector* output) {
  const auto& variants = static_cast<const arrow::StructArray&>(array);
  const auto& values = static_cast<const arrow::BinaryArray&>(*variants.field(0));
  const auto& metadata = static_cast<const arrow::BinaryArray&>(*variants.field(1));
  auto* out = reinterpret_cast<duckdb::string_t*>(FlatVector::GetData(*output));
  for (int64_t i = 0; i < rows.count; ++i) {
    const int64_t row = rows.offset + i;
    if (variants.IsNull(row)) {
      out[i] = duckdb::string_t(static_cast<uint32_t>(0));
      continue;
    }
    auto json = VariantToJson({values.GetView(row), metadata.GetView(row)});
    if (!json.ok()) return WithContext(json.status(), fmt::format("column '{}'", field.name));
    out[i] = duckdb::StringVector::AddString(*output, json->data(), json->size());
  }
  return arrow::Status::OK();
}

arrow::Status Values(const arrow::Array& array, const Rows& rows, const DataField& field,
                     duckdb::Vector* output) {
  switch (field.type.root()) {
    case TypeRoot::kBoolean:
      return Booleans(array, rows, output);
    case TypeRoot::kTinyInt:
      Share<int8_t>(array, rows, output);
      return arrow::Status::OK();
    case TypeRoot::kSmallInt:
      Share<int16_t>(array, rows, output);
      return arrow::Status::OK();
    case TypeRoot::kInt:
    case TypeRoot::kFloat:
    case TypeRoot::kDate:
      Share<int32_t>(array, rows, output);
      return arrow::Status::OK();
    case TypeRoot::kBigInt:
    case TypeRoot::kDouble:
      Share<int64_t>(array, rows, output);
      return arrow::Status::OK();
    case TypeRoot::kDecimal:
      return Decimals(array, rows, field, output);
    case TypeRoot::kChar:
    case TypeRoot::kVarChar:
    case TypeRoot::kBinary:
    case TypeRoot::kVarBinary:
    case TypeRoot::kBlob:
      return Strings(array, rows, field, output);
    case TypeRoot::kTime:
      return Transform<int32_t, int64_t>(array, rows, field, "TIME", output,
                                         [](int32_t in, int64_t* out) {
                                           *out = int64_t{in} * 1000;
                                           return in >= 0 && in < kMillisOfDay;
                                         });
    case TypeRoot::kTimestamp:
    case TypeRoot::kTimestampLtz:
      return Timestamps(array, rows, field, output);
    case TypeRoot::kArray:
    case TypeRoot::kVector:
      return Lists(array, rows, field, output);
    case TypeRoot::kMap:
    case TypeRoot::kMultiset:
      return Maps(array, rows, field, output);
    case TypeRoot::kRow:
      return Structs(array, rows, field, output);
    case TypeRoot::kVariant:
      return Variants(array, rows, field, output);
  }
  return Unsupported("column '{}' of type {}", field.name, field.type.ToString());
}

}  // namespace

arrow::Status ToVector(const arrow::Array& array, const Owner& owner, const DataField& field,
                       int64_t offset, int64_t count, duckdb::Vector* output) {
  const Rows rows{offset, count, owner};
  output->SetVectorType(duckdb::VectorType::FLAT_VECTOR);
  CopyValidity(array, rows, output);
  if (count == 0) return arrow::Status::OK();
  return Values(array, rows, field, output);
}

arrow::Status ToDataChunk(const std::shared_ptr<arrow::RecordBatch>& batch,
                          const std::vector<DataField>& fields, int64_t offset, int64_t count,
                          duckdb::DataChunk* output) {
  const Owner owner = batch;
  for (size_t i = 0; i < fields.size(); ++i) {
    ARROW_RETURN_NOT_OK(ToVector(*batch->column(static_cast<int>(i)), owner, fields[i], offset,
                                 count, &output->data[i]));
  }
  return arrow::Status::OK();
}

}  // namespace kelda::sql
