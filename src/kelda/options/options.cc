#include "kelda/options/options.h"

#include <limits>
#include <vector>

#include "kelda/base/status.h"
#include "kelda/options/option_value.h"

namespace kelda {
namespace {

constexpr int64_t kMib = 1024 * 1024;

// Own key first, then the fallbacks.
std::vector<std::string_view> AllKeys(const OptionSpec& spec) {
  std::vector<std::string_view> keys = spec.FallbackKeys();
  keys.insert(keys.begin(), spec.key);
  return keys;
}

template <OptionType kType>
arrow::Result<OptionValue<kType>> ParseText(const OptionSpec& spec, std::string_view text) {
  ARROW_RETURN_NOT_OK(CheckOptionValue(spec, text));
  if constexpr (kType == OptionType::kBool) {
    return ParseOptionBool(text);
  } else if constexpr (kType == OptionType::kInt) {
    using Limits = std::numeric_limits<int32_t>;
    ARROW_ASSIGN_OR_RAISE(int64_t value, ParseOptionInteger(text, Limits::min(), Limits::max()));
    return static_cast<int32_t>(value);
  } else if constexpr (kType == OptionType::kLong) {
    using Limits = std::numeric_limits<int64_t>;
    return ParseOptionInteger(text, Limits::min(), Limits::max());
  } else if constexpr (kType == OptionType::kDouble) {
    return ParseOptionDouble(text);
  } else if constexpr (kType == OptionType::kSize) {
    return ParseOptionSize(text);
  } else if constexpr (kType == OptionType::kDuration) {
    return ParseOptionDuration(text);
  } else if constexpr (kType == OptionType::kEnum) {
    return ParseOptionEnum(text, spec.values);
  } else if constexpr (kType == OptionType::kMap) {
    return ParseOptionMap(text);
  } else {
    return std::string(text);
  }
}

}  // namespace

Options Options::With(const std::map<std::string, std::string>& overlay) const {
  std::map<std::string, std::string> merged = values_;
  for (const auto& [key, value] : overlay) {
    const OptionSpec* spec = FindOption(key);
    if (spec == nullptr || spec->is_pattern()) continue;
    // `file.compression` is an option and also a fallback of another: only keys that mean this
    // option alone give way.
    for (std::string_view other : AllKeys(*spec)) {
      if (FindOption(other) == spec && !overlay.contains(std::string(other))) {
        merged.erase(std::string(other));
      }
    }
  }
  for (const auto& [key, value] : overlay) merged.insert_or_assign(key, value);
  return Options(std::move(merged));
}

std::optional<std::string_view> Options::Raw(std::string_view key) const {
  auto it = values_.find(std::string(key));
  if (it == values_.end()) return std::nullopt;
  return it->second;
}

std::optional<std::string_view> Options::Text(OptionId id) const { return Raw(SetKey(id)); }

std::string_view Options::SetKey(OptionId id) const {
  const OptionSpec& spec = SpecOf(id);
  for (std::string_view key : AllKeys(spec)) {
    if (values_.contains(std::string(key))) return key;
  }
  return spec.key;
}

std::string Options::KeyFor(OptionId pattern, std::string_view part) {
  std::string_view key = SpecOf(pattern).key;
  size_t open = key.find('<');
  size_t close = key.find('>', open);
  if (open == std::string_view::npos || close == std::string_view::npos) return std::string(key);
  return std::string(key.substr(0, open)) + std::string(part) + std::string(key.substr(close + 1));
}

arrow::Status Options::NotSet(OptionId id) {
  return Invalid("option '{}' is not set and has no default", SpecOf(id).key);
}

template <OptionType kType>
arrow::Result<std::optional<OptionValue<kType>>> Options::Parse(
    OptionId id, std::string_view key, std::optional<std::string_view> text) {
  const OptionSpec& spec = SpecOf(id);
  if (!text) text = spec.default_value;
  if (!text) return std::nullopt;
  arrow::Result<OptionValue<kType>> value = ParseText<kType>(spec, *text);
  if (!value.ok()) return OptionValueError(key, *text, value.status());
  return std::optional<OptionValue<kType>>(*std::move(value));
}

#define KELDA_INSTANTIATE(type)                                        \
  template arrow::Result<std::optional<OptionValue<OptionType::type>>> \
      Options::Parse<OptionType::type>(OptionId, std::string_view,     \
                                       std::optional<std::string_view>);
KELDA_INSTANTIATE(kBool)
KELDA_INSTANTIATE(kInt)
KELDA_INSTANTIATE(kLong)
KELDA_INSTANTIATE(kDouble)
KELDA_INSTANTIATE(kString)
KELDA_INSTANTIATE(kEnum)
KELDA_INSTANTIATE(kSize)
KELDA_INSTANTIATE(kDuration)
KELDA_INSTANTIATE(kMap)
#undef KELDA_INSTANTIATE

arrow::Result<int64_t> Options::TargetFileSizeBytes(bool has_primary_key) const {
  ARROW_ASSIGN_OR_RAISE(std::optional<int64_t> size, Find(OptionKeys::kTargetFileSize));
  return size.value_or(has_primary_key ? 128 * kMib : 256 * kMib);
}

arrow::Result<std::string> Options::ScanMode() const {
  using Keys = OptionKeys;
  ARROW_ASSIGN_OR_RAISE(std::string mode, Get(Keys::kScanMode));
  if (mode == "full") return std::string("latest-full");
  if (mode != "default") return mode;
  if (IsSet(Keys::kScanTimestamp) || IsSet(Keys::kScanTimestampMillis)) {
    return std::string("from-timestamp");
  }
  if (IsSet(Keys::kScanSnapshotId) || IsSet(Keys::kScanTagName) || IsSet(Keys::kScanWatermark) ||
      IsSet(Keys::kScanVersion)) {
    return std::string("from-snapshot");
  }
  if (IsSet(Keys::kScanFileCreationTimeMillis)) return std::string("from-file-creation-time");
  if (IsSet(Keys::kScanCreationTimeMillis)) return std::string("from-creation-timestamp");
  if (IsSet(Keys::kIncrementalBetween) || IsSet(Keys::kIncrementalBetweenTimestamp) ||
      IsSet(Keys::kIncrementalToAutoTag)) {
    return std::string("incremental");
  }
  return std::string("latest-full");
}

}  // namespace kelda
