#pragma once

#include <chrono>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>

#include <arrow/result.h>

#include "kelda/options/option_table.h"

namespace kelda {

/// C++ type of the values of an option type; enums are the word as the table spells it.
template <OptionType kType>
using OptionValue = std::conditional_t<
    kType == OptionType::kBool, bool,
    std::conditional_t<
        kType == OptionType::kInt, int32_t,
        std::conditional_t<
            kType == OptionType::kLong || kType == OptionType::kSize, int64_t,
            std::conditional_t<
                kType == OptionType::kDouble, double,
                std::conditional_t<
                    kType == OptionType::kDuration, std::chrono::milliseconds,
                    std::conditional_t<kType == OptionType::kMap,
                                       std::map<std::string, std::string>, std::string>>>>>>;

/// The options of one table or catalog: text by key, and typed access through OptionKeys. Unknown
/// keys are kept. Immutable; thread-safe.
class Options {
 public:
  Options() = default;
  explicit Options(std::map<std::string, std::string> values) : values_(std::move(values)) {}

  const std::map<std::string, std::string>& values() const { return values_; }

  /// A copy with the keys of `overlay` on top. A key of `overlay` that is a fallback of an option
  /// which is set here under another of its keys replaces that one.
  Options With(const std::map<std::string, std::string>& overlay) const;

  /// Text by the exact key.
  std::optional<std::string_view> Raw(std::string_view key) const;
  /// Text under the first of the option's keys that is present; the default does not count.
  std::optional<std::string_view> Text(OptionId id) const;

  template <OptionType kType>
  bool IsSet(OptionKey<kType> key) const {
    return Text(key.id).has_value();
  }

  /// The value that is set, else the default, else nothing. Invalid names option, value and what is
  /// accepted. REQUIRES: not a pattern.
  template <OptionType kType>
  arrow::Result<std::optional<OptionValue<kType>>> Find(OptionKey<kType> key) const {
    return Parse<kType>(key.id, SetKey(key.id), Text(key.id));
  }

  /// Find for an option that has a default, or that the caller knows to be set; Invalid otherwise.
  template <OptionType kType>
  arrow::Result<OptionValue<kType>> Get(OptionKey<kType> key) const {
    ARROW_ASSIGN_OR_RAISE(auto value, Find(key));
    if (!value) return NotSet(key.id);
    return *std::move(value);
  }

  /// Find for a pattern with one changing part: FindFor(OptionKeys::kFieldsColStatsMode, "city").
  template <OptionType kType>
  arrow::Result<std::optional<OptionValue<kType>>> FindFor(OptionKey<kType> pattern,
                                                           std::string_view part) const {
    std::string key = KeyFor(pattern.id, part);
    return Parse<kType>(pattern.id, key, Raw(key));
  }

  /// Data files are closed at this size: target-file-size, or what spec 04 §1.4 says without it.
  arrow::Result<int64_t> TargetFileSizeBytes(bool has_primary_key) const;
  /// scan.mode, or what the other scan options make of `default` (spec 04 §1.4).
  arrow::Result<std::string> ScanMode() const;

  friend bool operator==(const Options&, const Options&) = default;

 private:
  /// The key under which the option is set; its own key when it is not.
  std::string_view SetKey(OptionId id) const;
  static std::string KeyFor(OptionId pattern, std::string_view part);
  static arrow::Status NotSet(OptionId id);

  /// `text`, or the default of the option, as a value; errors name `key`.
  template <OptionType kType>
  static arrow::Result<std::optional<OptionValue<kType>>> Parse(
      OptionId id, std::string_view key, std::optional<std::string_view> text);

  std::map<std::string, std::string> values_;
};

}  // namespace kelda
