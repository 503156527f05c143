#include "kelda/options/validate.h"

#include <span>
#include <utility>

#include "kelda/base/status.h"
#include "kelda/options/option_table.h"
#include "kelda/options/option_value.h"
#include "kelda/options/options.h"

namespace kelda {
namespace {

using OptionMap = std::map<std::string, std::string>;

// What a caller is about to do, as bits of the table.
struct Purpose {
  uint8_t scope;       // rows with one of these are checked,
  uint8_t refused_on;  // and rows that are refused on one of these
};

Purpose PurposeOf(OptionUse use) {
  switch (use) {
    case OptionUse::kWrite:
      return {kScopeWriter | kScopeCatalog, kRefusedOnWrite};
    case OptionUse::kRead:
      return {kScopeReader | kScopeCatalog, kRefusedOnRead};
    case OptionUse::kCreate:
      break;
  }
  return {kScopeReader | kScopeWriter | kScopeMaintenance | kScopeCatalog,
          kRefusedOnRead | kRefusedOnWrite};
}

bool IsBlank(std::string_view text) {
  return text.find_first_not_of(" \t\r\n") == std::string_view::npos;
}

// Whether another key of the same option goes before `key`.
bool IsOverridden(const OptionMap& options, const OptionSpec& spec, std::string_view key) {
  if (spec.is_pattern() || key == spec.key) return false;
  if (options.contains(std::string(spec.key))) return true;
  for (std::string_view fallback : spec.FallbackKeys()) {
    if (fallback == key) return false;
    if (options.contains(std::string(fallback))) return true;
  }
  return false;
}

// Whether `value`, which has the right form, is the default or one that is implemented.
arrow::Result<bool> IsAccepted(const OptionSpec& spec, std::string_view value) {
  if (spec.type == OptionType::kString && IsBlank(value)) return true;
  ARROW_ASSIGN_OR_RAISE(std::string form, CanonicalOptionValue(spec, value));
  std::vector<std::string_view> fine = spec.Accepted();
  if (spec.default_value) fine.push_back(*spec.default_value);
  for (std::string_view text : fine) {
    ARROW_ASSIGN_OR_RAISE(std::string other, CanonicalOptionValue(spec, text));
    if (other == form) return true;
  }
  return false;
}

arrow::Status Refuse(const OptionSpec& spec, std::string_view key, std::string_view value) {
  std::string instead = "leave it out";
  if (!spec.accepted.empty()) {
    instead = "accepted here: ";
    const char* separator = "";
    for (std::string_view word : spec.Accepted()) {
      instead += separator;
      instead += word;
      separator = ", ";
    }
  }
  if (spec.group == OptionGroup::kFormat && spec.is_pattern()) {
    if (std::optional<std::string_view> nearest = NearestOption(key)) {
      instead += fmt::format(", or did you mean '{}'?", *nearest);
    }
  }
  return Unsupported("option '{}' = '{}'. {} ({})", PrintableOptionText(key),
                     PrintableOptionText(value), spec.why, instead);
}

arrow::Status CheckOne(const OptionSpec& spec, std::string_view key, std::string_view value,
                       const Purpose& purpose) {
  if ((spec.scope & purpose.scope) == 0 && (spec.refused_on & purpose.refused_on) == 0) {
    return arrow::Status::OK();
  }
  arrow::Status form = CheckOptionValue(spec, value);
  if (!form.ok()) return OptionValueError(key, value, form);
  if ((spec.refused_on & purpose.refused_on) == 0) return arrow::Status::OK();
  ARROW_ASSIGN_OR_RAISE(bool accepted, IsAccepted(spec, value));
  return accepted ? arrow::Status::OK() : Refuse(spec, key, value);
}

void WarnUnknown(std::string_view key, std::string_view kind, std::vector<std::string>* warnings) {
  if (warnings == nullptr) return;
  std::string text =
      fmt::format("option '{}' is no {} option; it has no effect", PrintableOptionText(key), kind);
  if (std::optional<std::string_view> nearest = NearestOption(key)) {
    text += fmt::format(". Did you mean '{}'?", *nearest);
  }
  warnings->push_back(std::move(text));
}

// Other keys with the prefix of a format are known only as "something for the library".
bool IsOtherFormatKey(const OptionSpec& spec) {
  return spec.group == OptionGroup::kFormat && spec.is_pattern() &&
         spec.state == OptionState::kHarmless;
}

arrow::Status CheckEach(const OptionMap& options, const Purpose& purpose, std::string_view kind,
                        std::vector<std::string>* warnings) {
  for (const auto& [key, value] : options) {
    const OptionSpec* spec = FindOption(key);
    if (spec == nullptr || IsOtherFormatKey(*spec)) WarnUnknown(key, kind, warnings);
    if (spec == nullptr || IsOverridden(options, *spec, key)) continue;
    ARROW_RETURN_NOT_OK(CheckOne(*spec, key, value, purpose));
  }
  return arrow::Status::OK();
}

struct ScanModeRule {
  std::string_view mode;
  std::vector<OptionId> one_of;  // exactly one of these is set
};

// The keys that say where a scan starts, with the mode that they belong to (spec 04 §3.2).
const std::vector<ScanModeRule>& ScanModeRules() {
  using Id = OptionId;
  static const auto* rules = new std::vector<ScanModeRule>{
      {"from-timestamp", {Id::kScanTimestamp, Id::kScanTimestampMillis}},
      {"from-snapshot",
       {Id::kScanSnapshotId, Id::kScanTagName, Id::kScanWatermark, Id::kScanVersion}},
      {"from-snapshot-full", {Id::kScanSnapshotId}},
      {"from-file-creation-time", {Id::kScanFileCreationTimeMillis}},
      {"from-creation-timestamp", {Id::kScanCreationTimeMillis}},
      {"incremental",
       {Id::kIncrementalBetween, Id::kIncrementalBetweenTimestamp, Id::kIncrementalToAutoTag}},
  };
  return *rules;
}

constexpr OptionId kRejectedByOtherModes[] = {
    OptionId::kScanTimestamp,        OptionId::kScanTimestampMillis,
    OptionId::kScanSnapshotId,       OptionId::kScanTagName,
    OptionId::kScanVersion,          OptionId::kScanFileCreationTimeMillis,
    OptionId::kIncrementalBetween,   OptionId::kIncrementalBetweenTimestamp,
    OptionId::kIncrementalToAutoTag,
};

std::string ListKeys(std::span<const OptionId> ids) {
  std::string list;
  for (OptionId id : ids) {
    if (!list.empty()) list += ", ";
    list += SpecOf(id).key;
  }
  return list;
}

arrow::Status CheckScan(const Options& options) {
  ARROW_ASSIGN_OR_RAISE(std::string mode, options.ScanMode());
  std::span<const OptionId> own;
  for (const ScanModeRule& rule : ScanModeRules()) {
    if (rule.mode != mode) continue;
    own = rule.one_of;
    size_t set = 0;
    for (OptionId id : own) set += options.Text(id).has_value() ? 1 : 0;
    if (set != 1) {
      return Invalid("scan mode '{}' needs exactly one of {}, {} are set", mode, ListKeys(own),
                     set);
    }
  }
  for (OptionId id : kRejectedByOtherModes) {
    bool is_own = false;
    for (OptionId own_id : own) is_own |= own_id == id;
    if (!is_own && options.Text(id)) {
      return Invalid("option '{}' does not go with scan mode '{}'", SpecOf(id).key, mode);
    }
  }
  return arrow::Status::OK();
}

// The retention rule of spec 04 §3.2; a changelog limit that is not set is the snapshot's.
arrow::Status CheckRetention(const Options& options) {
  using Keys = OptionKeys;
  ARROW_ASSIGN_OR_RAISE(int32_t min, options.Get(Keys::kSnapshotNumRetainedMin));
  ARROW_ASSIGN_OR_RAISE(int32_t max, options.Get(Keys::kSnapshotNumRetainedMax));
  ARROW_ASSIGN_OR_RAISE(auto changelog_min, options.Find(Keys::kChangelogNumRetainedMin));
  ARROW_ASSIGN_OR_RAISE(auto changelog_max, options.Find(Keys::kChangelogNumRetainedMax));
  if (min > max) {
    return Invalid("option 'snapshot.num-retained.min' = {} is above '{}' = {}", min,
                   SpecOf(Keys::kSnapshotNumRetainedMax.id).key, max);
  }
  if (changelog_min.value_or(min) > changelog_max.value_or(max)) {
    return Invalid("option 'changelog.num-retained.min' = {} is above '{}' = {}",
                   changelog_min.value_or(min), SpecOf(Keys::kChangelogNumRetainedMax.id).key,
                   changelog_max.value_or(max));
  }
  return arrow::Status::OK();
}

arrow::Status CheckBucketKey(const Options& options) {
  ARROW_ASSIGN_OR_RAISE(int32_t bucket, options.Get(OptionKeys::kBucket));
  std::optional<std::string_view> key = options.Text(OptionId::kBucketKey);
  if (bucket == -1 && key && !IsBlank(*key)) {
    return Invalid("option 'bucket-key' = '{}' needs a number of buckets: option 'bucket' is -1",
                   PrintableOptionText(*key));
  }
  return arrow::Status::OK();
}

// `text` of option `spec` in a comparable form; the default when it is not set.
std::string ComparableValue(const OptionSpec& spec, std::optional<std::string_view> text) {
  if (!text) text = spec.default_value;
  if (!text) return "";
  // A stored value of wrong form is only equal to itself.
  return CanonicalOptionValue(spec, *text).ValueOr(std::string(*text));
}

arrow::Status CheckAlterByRule(const Options& options, const OptionSpec& spec,
                               const std::string& old_form, const std::string& new_form,
                               bool removed) {
  if (&spec == &SpecOf(OptionId::kBucket)) {
    if (removed) return Invalid("option 'bucket' cannot be removed once the table has a snapshot");
    if (old_form == "-1" || new_form == "-1") {
      return Invalid("option 'bucket' cannot change from {} to {} once the table has a snapshot",
                     old_form, new_form);
    }
  } else if (&spec == &SpecOf(OptionId::kDeletionVectorsEnabled)) {
    ARROW_ASSIGN_OR_RAISE(bool modifiable, options.Get(OptionKeys::kDeletionVectorsModifiable));
    if (!modifiable) {
      return Invalid(
          "option 'deletion-vectors.enabled' cannot change once the table has a snapshot; set "
          "'deletion-vectors.modifiable' to allow it");
    }
  } else if (&spec == &SpecOf(OptionId::kClusteringColumns)) {
    if (options.IsSet(OptionKeys::kPkClusteringOverride)) {
      return Invalid(
          "option 'clustering.columns' cannot change once the table has a snapshot, because "
          "'pk-clustering-override' is set");
    }
  } else if (old_form == "true" && new_form == "false") {
    // ignore-delete and ignore-update-before: rows that were dropped do not come back.
    return Invalid("option '{}' cannot change from true to false once the table has a snapshot",
                   spec.key);
  }
  return arrow::Status::OK();
}

}  // namespace

arrow::Status CheckTableOptions(const OptionMap& options, OptionUse use,
                                std::vector<std::string>* warnings) {
  // Before the options one by one: there is no number of buckets that goes with bucket-key, so this
  // says more than that buckets are not built.
  Options typed(options);
  if (use == OptionUse::kCreate) ARROW_RETURN_NOT_OK(CheckBucketKey(typed));
  ARROW_RETURN_NOT_OK(CheckEach(options, PurposeOf(use), "table", warnings));
  if (use != OptionUse::kWrite) ARROW_RETURN_NOT_OK(CheckScan(typed));
  if (use == OptionUse::kCreate) ARROW_RETURN_NOT_OK(CheckRetention(typed));
  return arrow::Status::OK();
}

arrow::Status CheckCatalogOptions(const OptionMap& options, std::vector<std::string>* warnings) {
  return CheckEach(options, Purpose{kScopeCatalog, kRefusedOnAttach}, "catalog", warnings);
}

arrow::Status CheckAlterOption(const OptionMap& options, std::string_view key,
                               std::optional<std::string_view> new_value, bool has_snapshot) {
  const OptionSpec* spec = FindOption(key);
  if (spec == nullptr || spec->is_pattern()) return arrow::Status::OK();
  Options before(options);
  std::optional<std::string_view> old_text = before.Raw(key);
  if (!old_text && !new_value) return arrow::Status::OK();

  OptionMap changed = options;
  if (new_value) {
    changed.insert_or_assign(std::string(key), std::string(*new_value));
  } else {
    changed.erase(std::string(key));
  }
  Options after(std::move(changed));
  OptionId id = static_cast<OptionId>(spec - AllOptions().data());
  std::string old_form = ComparableValue(*spec, before.Text(id));
  std::string new_form = ComparableValue(*spec, after.Text(id));
  // Removing the bucket of a table is refused even where it is the default.
  bool is_bucket = id == OptionId::kBucket;
  if (old_form == new_form && (new_value || !is_bucket)) return arrow::Status::OK();

  if (id == OptionId::kPath) {
    return Invalid("option 'path' cannot change: a table stays where it is");
  }
  if (!has_snapshot || spec->mutability == OptionMutability::kFree) return arrow::Status::OK();
  if (spec->mutability == OptionMutability::kFixed) {
    return Invalid("option '{}' cannot change once the table has a snapshot",
                   PrintableOptionText(key));
  }
  if (new_value) {
    arrow::Status form = CheckOptionValue(*spec, *new_value);
    if (!form.ok()) return OptionValueError(key, *new_value, form);
  }
  return CheckAlterByRule(before, *spec, old_form, new_form, !new_value.has_value());
}

}  // namespace kelda
