#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include <arrow/type_fwd.h>
#include <arrow/util/decimal.h>

#include "kelda/types/data_type.h"

namespace kelda {

// Texts of single values, and values of texts, as Java's casts have them (spec 01 §2.8): the parts
// that CastToText, CastFromText and the columnar casts share. nullopt: the text is no such value.

/// "cannot cast '...' to TYPE".
arrow::Status BadText(const DataType& type, std::string_view text);

std::optional<bool> BooleanOf(std::string_view text);
/// Optional sign, digits, and a fraction that is checked and dropped; `.` alone is 0. int8_t to
/// int64_t.
template <typename T>
std::optional<T> IntegerOf(std::string_view text);
/// Java's parseDouble and parseFloat: blanks around, sign, NaN, Infinity, decimal or hexadecimal,
/// suffix f or d.
template <typename T>
std::optional<T> FloatingOf(std::string_view text);

enum class DecimalOutcome { kValue, kTooLarge, kBad };
/// BigDecimal syntax, rounded half up to the scale of `type`.
DecimalOutcome DecimalOf(const DataType& type, std::string_view text, arrow::Decimal128* out);

/// Days since 1970-01-01.
std::optional<int32_t> DateOf(std::string_view text);
/// Milliseconds of `h[:m[:s[.f]]]`, blanks around the parts, then perhaps `+h[:m]` or `-h[:m]`,
/// which is added; no range is checked and the arithmetic is that of Java's int.
std::optional<int32_t> TimeOf(std::string_view text);
/// TIMESTAMP and TIMESTAMP_LTZ (in UTC), in the unit of the type's Arrow form.
arrow::Result<int64_t> TimestampTicksOf(const DataType& type, std::string_view text);

/// ARRAY as `[a, b]` or `ARRAY(a, b)`, MAP as `{k -> v}` or `MAP(k, v)`, ROW as `{a, b}` or
/// `STRUCT(a, b)`; `null` is NULL. Unsupported for other types.
arrow::Result<std::shared_ptr<arrow::Scalar>> NestedOf(const DataType& type, std::string_view text);

/// Bytes of the first `count` characters; their number goes to `found`.
size_t PrefixBytes(std::string_view text, int32_t count, int32_t* found);
/// Padding by a declared length must not allocate gigabytes.
inline constexpr int32_t kTextPaddingMax = 1 << 26;

std::string DateText(int32_t days);
std::string TimeText(int32_t millis_of_day, int precision);
std::string TimestampText(int64_t ticks, arrow::TimeUnit::type unit, int precision);
std::string PlainDecimalText(const arrow::Decimal128& value, int scale);

}  // namespace kelda
