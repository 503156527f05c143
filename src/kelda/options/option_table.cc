#include "kelda/options/option_table.h"

#include <algorithm>
#include <array>
#include <unordered_map>

namespace kelda {
namespace {

constexpr std::string_view kPrimaryKeyOnly =
    "Only tables with a primary key use it, and those are refused as a whole.";
constexpr std::string_view kInsertsOnly = "Every row written here is an insert.";
constexpr std::string_view kStreamingOnly =
    "Only streaming reads use it, and every read here is a batch read.";
constexpr std::string_view kLookupOnly =
    "Only lookup joins and compaction by lookup use it, and there are none here.";
constexpr std::string_view kMemoryOnly =
    "Memory and temporary files follow the budget of the process; rows and files do not depend on "
    "it.";
constexpr std::string_view kSpeedOnly = "It changes only how fast the work goes.";
constexpr std::string_view kLevelsOnly =
    "Only files on levels use it: those of tables with a primary key, which are refused as a "
    "whole, "
    "and of compaction with clustering.incremental, which is refused.";
constexpr std::string_view kNoIncrementalClustering =
    "Writers leave such tables as they are, and the procedure compact refuses them.";
constexpr std::string_view kSortTuning =
    "It says how the Java library finds out where rows belong; sorting here does without.";
constexpr std::string_view kNoExpiry =
    "Nothing expires here: snapshots are kept longer and no file is deleted.";
constexpr std::string_view kNoPartitionExpiry =
    "It only acts with partition.expiration-time, which is refused on write.";
constexpr std::string_view kPartitionTime =
    "Only dropping old partitions and checking partition values use it, and both are refused.";
constexpr std::string_view kNoTags = "No tags are created or deleted here.";
constexpr std::string_view kNoAutoTag =
    "It only acts with tag.automatic-creation, which is refused on write.";
constexpr std::string_view kNoMarkDone =
    "It only acts when partitions are marked as done, which is refused on write.";
constexpr std::string_view kNoMetastore =
    "Only catalogs with a metastore use it; the file system catalog has none.";
constexpr std::string_view kNoChain =
    "Only chain tables use it, and chain-table.enabled is refused.";
constexpr std::string_view kNoChangelog =
    "No changelog is written here: changelog-producer is refused on write.";
constexpr std::string_view kNoDeletionVectors =
    "It only acts with deletion-vectors.enabled, which is refused.";
constexpr std::string_view kNoIncremental =
    "It only acts with the other incremental options, which are refused.";
constexpr std::string_view kNoClustering =
    "It only acts with clustering.columns, which is refused on write.";
constexpr std::string_view kNoShredding =
    "It only acts with variant.inferShreddingSchema, which is refused on write.";
constexpr std::string_view kNoIndexWrite = "No index files are written here.";
constexpr std::string_view kNoIndexRead =
    "An index only leaves out rows that do not match anyway; scans do without.";
constexpr std::string_view kNoUpdate =
    "Only updates of tables with data-evolution.enabled use it, and that is refused.";
constexpr std::string_view kNoExternalPaths =
    "It only acts with data-file.external-paths.strategy, which is refused on write.";
constexpr std::string_view kNoBlob = "Only BLOB columns use it, and those are refused.";
constexpr std::string_view kNoVector = "Only VECTOR columns use it, and those are refused.";
constexpr std::string_view kNoFormatTable =
    "Only format tables use it, and those are refused by their type.";
constexpr std::string_view kMaterialized =
    "Only materialized tables use it, and those are refused by their type.";
constexpr std::string_view kAlterOnly = "Only ALTER TABLE uses it; columns do not change here.";
constexpr std::string_view kNoIceberg =
    "It only acts with metadata.iceberg.storage, which is refused on write.";
constexpr std::string_view kNoLock = "Locks of a catalog are refused.";
constexpr std::string_view kNoCache = "What is kept in memory here is never older than the files.";
constexpr std::string_view kHiveOnly =
    "Only the Hive catalog uses it, and metastore=hive is refused.";
constexpr std::string_view kJdbcOnly =
    "Only the JDBC catalog uses it, and metastore=jdbc is refused.";
constexpr std::string_view kRestOnly =
    "Only the REST catalog uses it, and metastore=rest is refused.";
constexpr std::string_view kHadoopOnly =
    "Only Hadoop file systems use it; paths of theirs are refused.";
constexpr std::string_view kNoObjectStore =
    "Only object stores use it; paths of theirs are refused.";
constexpr std::string_view kOrcTuning =
    "It says how the Java library goes to work; rows, and what readers make of a file, do not "
    "depend on it.";
constexpr std::string_view kParquetTuning =
    "It says how the Java library goes to work; rows, and what readers make of a file, do not "
    "depend on it.";
constexpr std::string_view kOtherEngines = "It says how another engine goes to work.";

constexpr std::optional<std::string_view> kUnset = std::nullopt;

constexpr uint8_t kOnRead = kRefusedOnRead;
constexpr uint8_t kOnWrite = kRefusedOnWrite;
constexpr uint8_t kOnReadAndWrite = kRefusedOnRead | kRefusedOnWrite;
constexpr uint8_t kOnAttach = kRefusedOnAttach;

struct StateColumn {
  OptionState state;
  uint8_t refused_on = kRefusedNowhere;
  std::string_view why = {};
  std::string_view accepted = {};
};

constexpr StateColumn Implemented() { return {OptionState::kImplemented}; }
constexpr StateColumn Harmless(std::string_view why) {
  return {OptionState::kHarmless, kRefusedNowhere, why};
}
constexpr StateColumn NotImplemented(uint8_t refused_on, std::string_view why,
                                     std::string_view accepted = {}) {
  return {OptionState::kNotImplemented, refused_on, why, accepted};
}
constexpr StateColumn Partly(uint8_t refused_on, std::string_view why, std::string_view accepted) {
  return {OptionState::kImplemented, refused_on, why, accepted};
}

constexpr uint8_t ScopeOf(std::string_view letters) {
  uint8_t scope = 0;
  for (char letter : letters) {
    scope |= letter == 'R'   ? kScopeReader
             : letter == 'W' ? kScopeWriter
             : letter == 'M' ? kScopeMaintenance
                             : kScopeCatalog;
  }
  return scope;
}

constexpr OptionSpec Row(OptionGroup group, std::string_view key, std::string_view fallbacks,
                         OptionType type, std::string_view values,
                         std::optional<std::string_view> default_value, std::string_view scope,
                         OptionMutability mutability, StateColumn state, std::string_view text) {
  return {key,         fallbacks,        group,          type,
          values,      default_value,    ScopeOf(scope), mutability,
          state.state, state.refused_on, state.accepted, state.why,
          text};
}

constexpr auto kOptions = std::to_array<OptionSpec>({
#define KELDA_OPTION(group, name, key, fallbacks, type, values, def, scope, mutability, state, \
                     text)                                                                     \
  Row(OptionGroup::k##group, key, fallbacks, OptionType::k##type, values, def, scope,          \
      OptionMutability::k##mutability, state, text),
#include "kelda/options/option_table.inc"
#undef KELDA_OPTION
});

// A key is not worth a suggestion, nor the time to find one, beyond this length.
constexpr size_t kNearestKeyLengthMax = 128;

struct KeyIndex {
  std::unordered_map<std::string_view, const OptionSpec*> exact;
  std::vector<const OptionSpec*> patterns;  // longest fixed text first

  KeyIndex();
};

// The text between the changing parts of a pattern: {"fields.", ".stats-mode"}.
std::vector<std::string_view> FixedParts(std::string_view pattern) {
  std::vector<std::string_view> fixed;
  while (true) {
    size_t open = pattern.find_first_of("<#");
    fixed.push_back(pattern.substr(0, open));
    if (open == std::string_view::npos) return fixed;
    size_t close = pattern[open] == '#' ? open : pattern.find('>', open);
    pattern.remove_prefix(close + 1);
  }
}

// `parquet.enable.dictionary#<col>` has a real `#` before its changing part.
std::vector<std::string_view> PatternParts(std::string_view pattern) {
  size_t hash = pattern.find("#<");
  if (hash == std::string_view::npos) return FixedParts(pattern);
  return {pattern.substr(0, hash + 1), {}};
}

size_t FixedLength(const OptionSpec& spec) {
  size_t length = 0;
  for (std::string_view part : PatternParts(spec.key)) length += part.size();
  return length;
}

KeyIndex::KeyIndex() {
  for (const OptionSpec& spec : kOptions) {
    if (spec.is_pattern()) {
      patterns.push_back(&spec);
    } else {
      exact.emplace(spec.key, &spec);
    }
  }
  // After all keys: a key of its own goes before the same key as a fallback.
  for (const OptionSpec& spec : kOptions) {
    for (std::string_view fallback : spec.FallbackKeys()) exact.emplace(fallback, &spec);
  }
  std::stable_sort(patterns.begin(), patterns.end(), [](const OptionSpec* a, const OptionSpec* b) {
    return FixedLength(*a) > FixedLength(*b);
  });
}

const KeyIndex& Index() {
  static const KeyIndex index;
  return index;
}

// What stands for the changing parts of `pattern` in `key`; a part is at least one byte, and an
// earlier part takes as little as it can.
std::optional<std::vector<std::string>> MatchPattern(std::string_view pattern,
                                                     std::string_view key) {
  std::vector<std::string_view> fixed = PatternParts(pattern);
  if (!key.starts_with(fixed.front())) return std::nullopt;
  key.remove_prefix(fixed.front().size());
  std::vector<std::string> parts;
  for (size_t i = 1; i < fixed.size(); ++i) {
    size_t end;
    if (i + 1 == fixed.size()) {
      if (key.size() <= fixed[i].size() || !key.ends_with(fixed[i])) return std::nullopt;
      end = key.size() - fixed[i].size();
    } else {
      end = key.find(fixed[i], 1);
      if (key.empty() || end == std::string_view::npos) return std::nullopt;
    }
    parts.emplace_back(key.substr(0, end));
    key.remove_prefix(end + fixed[i].size());
  }
  return parts;
}

// Edit distance with swaps of neighbours; `limit` + 1 when it is larger than `limit`.
size_t EditDistance(std::string_view a, std::string_view b, size_t limit) {
  if (std::max(a.size(), b.size()) - std::min(a.size(), b.size()) > limit) return limit + 1;
  std::vector<size_t> before(b.size() + 1), last(b.size() + 1), current(b.size() + 1);
  for (size_t j = 0; j <= b.size(); ++j) last[j] = j;
  for (size_t i = 1; i <= a.size(); ++i) {
    current[0] = i;
    size_t least = i;
    for (size_t j = 1; j <= b.size(); ++j) {
      size_t cost = a[i - 1] == b[j - 1] ? 0 : 1;
      current[j] = std::min({last[j] + 1, current[j - 1] + 1, last[j - 1] + cost});
      if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1]) {
        current[j] = std::min(current[j], before[j - 2] + 1);
      }
      least = std::min(least, current[j]);
    }
    if (least > limit) return limit + 1;
    before.swap(last);
    last.swap(current);
  }
  return last[b.size()];
}

}  // namespace

std::vector<std::string_view> OptionSpec::Split(std::string_view text) {
  std::vector<std::string_view> parts;
  while (!text.empty()) {
    size_t comma = text.find(',');
    parts.push_back(text.substr(0, comma));
    if (comma == std::string_view::npos) break;
    text.remove_prefix(comma + 1);
  }
  return parts;
}

std::span<const OptionSpec> AllOptions() { return kOptions; }

const OptionSpec& SpecOf(OptionId id) { return kOptions[static_cast<size_t>(id)]; }

std::optional<OptionMatch> MatchOption(std::string_view key) {
  const KeyIndex& index = Index();
  if (auto it = index.exact.find(key); it != index.exact.end()) {
    return OptionMatch{it->second, {}};
  }
  for (const OptionSpec* spec : index.patterns) {
    if (auto parts = MatchPattern(spec->key, key)) return OptionMatch{spec, *std::move(parts)};
  }
  return std::nullopt;
}

const OptionSpec* FindOption(std::string_view key) {
  std::optional<OptionMatch> match = MatchOption(key);
  return match ? match->spec : nullptr;
}

std::optional<std::string_view> NearestOption(std::string_view key) {
  if (key.empty() || key.size() > kNearestKeyLengthMax) return std::nullopt;
  std::string lower(key);
  for (char& c : lower) c = c == '_' ? '-' : (c >= 'A' && c <= 'Z') ? static_cast<char>(c + 32) : c;
  size_t limit = key.size() <= 4 ? 1 : std::max<size_t>(2, key.size() / 4);
  size_t best_distance = limit + 1;
  std::optional<std::string_view> best;
  for (const OptionSpec& spec : kOptions) {
    if (spec.is_pattern()) continue;
    size_t distance = EditDistance(lower, spec.key, best_distance - 1);
    if (distance < best_distance) {
      best_distance = distance;
      best = spec.key;
    }
    if (best_distance == 0) break;
  }
  return best;
}

std::vector<std::string> ColumnsNamedBy(std::string_view key) {
  std::vector<std::string> columns;
  std::optional<OptionMatch> match = MatchOption(key);
  if (!match || !match->spec->key.starts_with("fields.<")) return columns;
  for (std::string_view column : OptionSpec::Split(match->parts.front())) {
    columns.emplace_back(column);
  }
  return columns;
}

std::string_view ToString(OptionType type) {
  switch (type) {
    case OptionType::kBool:
      return "bool";
    case OptionType::kInt:
      return "int";
    case OptionType::kLong:
      return "long";
    case OptionType::kDouble:
      return "double";
    case OptionType::kString:
      return "string";
    case OptionType::kEnum:
      return "enum";
    case OptionType::kSize:
      return "size";
    case OptionType::kDuration:
      return "duration";
    case OptionType::kMap:
      return "map";
  }
  return "";
}

std::string_view ToString(OptionGroup group) {
  switch (group) {
    case OptionGroup::kCore:
      return "table";
    case OptionGroup::kFamily:
      return "family";
    case OptionGroup::kIceberg:
      return "iceberg";
    case OptionGroup::kCatalog:
      return "catalog";
    case OptionGroup::kEngine:
      return "engine";
    case OptionGroup::kFormat:
      return "format";
    case OptionGroup::kFileSystem:
      return "filesystem";
  }
  return "";
}

std::string_view ToString(OptionMutability mutability) {
  switch (mutability) {
    case OptionMutability::kFree:
      return "free";
    case OptionMutability::kFixed:
      return "fixed";
    case OptionMutability::kSemi:
      return "by rule";
  }
  return "";
}

std::string_view ToString(OptionState state) {
  switch (state) {
    case OptionState::kImplemented:
      return "implemented";
    case OptionState::kHarmless:
      return "harmless";
    case OptionState::kNotImplemented:
      return "not implemented";
  }
  return "";
}

std::string ScopeText(uint8_t scope) {
  std::string text;
  if (scope & kScopeReader) text += 'R';
  if (scope & kScopeWriter) text += 'W';
  if (scope & kScopeMaintenance) text += 'M';
  if (scope & kScopeCatalog) text += 'C';
  return text;
}

}  // namespace kelda
