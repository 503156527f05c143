#pragma once

#include <chrono>
#include <cstdint>
#include <map>
#include <string>
#include <string_view>

#include <arrow/result.h>

#include "kelda/options/option_table.h"

namespace kelda {

// The text of option values (spec 04 §1.1). Each function returns Invalid with what it accepts;
// OptionValueError puts the option's name and value in front.

/// `true` or `false` in any case.
arrow::Result<bool> ParseOptionBool(std::string_view text);
/// A decimal number between `min` and `max`.
arrow::Result<int64_t> ParseOptionInteger(std::string_view text, int64_t min, int64_t max);
arrow::Result<double> ParseOptionDouble(std::string_view text);
/// Whole number with an optional unit, powers of 1024; bytes.
arrow::Result<int64_t> ParseOptionSize(std::string_view text);
/// Whole number with an optional unit; without one milliseconds. Parts of a millisecond are cut.
arrow::Result<std::chrono::milliseconds> ParseOptionDuration(std::string_view text);
/// `k:v,k:v`; a part in single or double quotes may hold `,` and `:`, a doubled quote is one quote.
arrow::Result<std::map<std::string, std::string>> ParseOptionMap(std::string_view text);
/// The word of `values` that `text` is in any case; `<n>` in a word stands for a whole number.
arrow::Result<std::string> ParseOptionEnum(std::string_view text, std::string_view values);

/// Type, words and range of `spec`: Invalid that names the option, the value and what is accepted.
arrow::Status CheckOptionValue(const OptionSpec& spec, std::string_view text);

/// A form of `text` that is equal for equal values: `64 MB` and `65536k` give the same.
arrow::Result<std::string> CanonicalOptionValue(const OptionSpec& spec, std::string_view text);

/// "option 'bucket': value 'x' is wrong: " + why. `key` is the key as the user wrote it.
arrow::Status OptionValueError(std::string_view key, std::string_view text,
                               const arrow::Status& why);

/// `text` for messages: control characters escaped, cut to 100 bytes.
std::string PrintableOptionText(std::string_view text);

}  // namespace kelda
