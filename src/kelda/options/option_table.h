#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace kelda {

enum class OptionType { kBool, kInt, kLong, kDouble, kString, kEnum, kSize, kDuration, kMap };

enum class OptionGroup { kCore, kFamily, kIceberg, kCatalog, kEngine, kFormat, kFileSystem };

/// When an option may change: always, only before the first snapshot, by a rule of its own.
enum class OptionMutability { kFree, kFixed, kSemi };

enum class OptionState {
  kImplemented,
  kHarmless,        ///< ignored; that changes neither rows nor the form on disk
  kNotImplemented,  ///< refused where it would matter
};

/// Where a value that is not implemented is refused; a bit set. Creating a table refuses what
/// reading or writing it would.
enum OptionRefusal : uint8_t {
  kRefusedNowhere = 0,
  kRefusedOnRead = 1,
  kRefusedOnWrite = 2,
  kRefusedOnAttach = 4,  ///< as an option of a catalog
};

/// Who looks at an option; a bit set.
enum OptionScope : uint8_t {
  kScopeReader = 1,
  kScopeWriter = 2,
  kScopeMaintenance = 4,
  kScopeCatalog = 8,
};

/// One row of option_table.inc. All texts live as long as the program.
struct OptionSpec {
  std::string_view key;
  std::string_view fallback_keys;  ///< separated by commas
  OptionGroup group;
  OptionType type;
  std::string_view values;  ///< accepted words or range, see option_table.inc; empty: all
  std::optional<std::string_view> default_value;
  uint8_t scope;
  OptionMutability mutability;
  OptionState state;
  uint8_t refused_on;
  /// Values that are not refused, separated by commas; the default never is.
  std::string_view accepted;
  std::string_view why;  ///< why it is harmless, or what is missing
  std::string_view text;

  /// Whether `key` has a part that stands for any text.
  bool is_pattern() const { return key.find_first_of("<#") != std::string_view::npos; }
  std::vector<std::string_view> FallbackKeys() const { return Split(fallback_keys); }
  std::vector<std::string_view> Accepted() const { return Split(accepted); }

  /// The parts of `text` between commas; none when it is empty.
  static std::vector<std::string_view> Split(std::string_view text);
};

/// Place of an option in AllOptions().
enum class OptionId : uint16_t {
#define KELDA_OPTION(group, name, key, fallbacks, type, values, def, scope, mutability, state, \
                     text)                                                                     \
  k##name,
#include "kelda/options/option_table.inc"
#undef KELDA_OPTION
};

/// An option together with the type of its value.
template <OptionType kType>
struct OptionKey {
  OptionId id;
};

/// The typed key of every option: OptionKeys::kTargetFileSize.
struct OptionKeys {
#define KELDA_OPTION(group, name, key, fallbacks, type, values, def, scope, mutability, state, \
                     text)                                                                     \
  static constexpr OptionKey<OptionType::k##type> k##name{OptionId::k##name};
#include "kelda/options/option_table.inc"
#undef KELDA_OPTION
};

/// Every option, in the order of the table.
std::span<const OptionSpec> AllOptions();
const OptionSpec& SpecOf(OptionId id);

/// A key that is known: its row, and what stood for the changing parts of a pattern.
struct OptionMatch {
  const OptionSpec* spec = nullptr;
  std::vector<std::string> parts;
};

/// Look up a key as it stands in a table or catalog: exact keys first, then fallback keys, then the
/// pattern with the longest fixed text.
std::optional<OptionMatch> MatchOption(std::string_view key);
/// The row of MatchOption, or null.
const OptionSpec* FindOption(std::string_view key);

/// Known key that `key` was probably meant to be; nothing when none is close.
std::optional<std::string_view> NearestOption(std::string_view key);

/// Columns that `key` names, such as a, b for `fields.a,b.sequence-group`. They must exist (spec 04
/// §3.2); empty for keys that name none.
std::vector<std::string> ColumnsNamedBy(std::string_view key);

std::string_view ToString(OptionType type);
std::string_view ToString(OptionGroup group);
std::string_view ToString(OptionMutability mutability);
std::string_view ToString(OptionState state);
/// "RW", as in the table.
std::string ScopeText(uint8_t scope);

}  // namespace kelda
