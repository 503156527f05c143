#pragma once

#include <memory>
#include <string>
#include <string_view>

#include <arrow/type_fwd.h>

#include "kelda/format/variant/variant_builder.h"
#include "kelda/format/variant/variant_encoding.h"

namespace kelda {

/// JSON text of a variant as Java prints it with the zone UTC: fields in the order of their keys,
/// no blanks; what JSON lacks (dates, timestamps, binary in base64, UUID, NaN) as text.
arrow::Result<std::string> VariantToJson(const VariantBytes& variant);
/// The same for a value inside of a variant.
arrow::Status AppendVariantJson(const VariantValue& value, const VariantKeys& keys,
                                std::string* json);

/// Append the value of a JSON text. Numbers without exponent become integers or decimals if those
/// can hold them, others doubles. What Java's builder refuses is Invalid, naming the place; so is
/// text after the value, which Java ignores.
arrow::Status AppendJson(std::string_view json, VariantBuilder* builder);

/// Column of VARIANT (its Arrow form) to JSON texts and back; null stays null. Errors name the row.
arrow::Result<std::shared_ptr<arrow::Array>> VariantsToJson(const arrow::Array& variants);
arrow::Result<std::shared_ptr<arrow::Array>> VariantsFromJson(const arrow::Array& texts);

}  // namespace kelda
