#include "kelda/merge/merge_rules.h"

#include <algorithm>
#include <set>

#include "kelda/base/status.h"

namespace kelda {

namespace {

std::vector<std::string> SplitNames(std::string_view text) {
  std::vector<std::string> names;
  while (true) {
    const size_t comma = text.find(',');
    std::string name(text.substr(0, comma));
    name.erase(0, name.find_first_not_of(' '));
    name.erase(name.find_last_not_of(' ') + 1);
    if (!name.empty()) names.push_back(std::move(name));
    if (comma == std::string_view::npos) return names;
    text.remove_prefix(comma + 1);
  }
}

bool Contains(const std::vector<std::string>& names, const std::string& name) {
  return std::find(names.begin(), names.end(), name) != names.end();
}

arrow::Status CheckColumns(const TableSchema& schema, const std::string& option,
                           const std::vector<std::string>& names) {
  for (const std::string& name : names) {
    if (schema.FieldIndex(name) < 0)
      return Invalid("option '{}' names column '{}', which the table does not have", option, name);
  }
  return arrow::Status::OK();
}

arrow::Status ReadGroups(const TableSchema& schema, const Options& options, MergeRules* rules) {
  constexpr std::string_view kPrefix = "fields.";
  constexpr std::string_view kSuffix = ".sequence-group";
  std::set<std::string> taken;
  for (const auto& [key, value] : options.values()) {
    if (!key.starts_with(kPrefix) || !key.ends_with(kSuffix)) continue;
    SequenceGroup group;
    group.sequence = SplitNames(
        std::string_view(key).substr(kPrefix.size(), key.size() - kPrefix.size() - kSuffix.size()));
    group.columns = SplitNames(value);
    ARROW_RETURN_NOT_OK(CheckColumns(schema, key, group.sequence));
    ARROW_RETURN_NOT_OK(CheckColumns(schema, key, group.columns));
    for (const auto* names : {&group.sequence, &group.columns}) {
      for (const std::string& name : *names) {
        if (!taken.insert(name).second) {
          return Invalid("column '{}' is in more than one sequence group ('{}')", name, key);
        }
      }
    }
    rules->groups.push_back(std::move(group));
  }
  const auto remove = options.values().find("partial-update.remove-record-on-sequence-group");
  if (remove == options.values().end()) return arrow::Status::OK();
  for (const std::string& name : SplitNames(remove->second)) {
    const auto group =
        std::find_if(rules->groups.begin(), rules->groups.end(),
                     [&](const SequenceGroup& g) { return Contains(g.sequence, name); });
    if (group == rules->groups.end()) {
      return Invalid("option '{}': '{}' is not a sequence column of a group", remove->first, name);
    }
    group->remove_record = true;
  }
  return arrow::Status::OK();
}

std::optional<std::string> FunctionOf(const Options& options, const std::string& column) {
  const auto& values = options.values();
  auto it = values.find("fields." + column + ".aggregate-function");
  if (it == values.end()) it = values.find("fields.default-aggregate-function");
  if (it == values.end()) return std::nullopt;
  return it->second;
}

arrow::Status ReadFunctions(const TableSchema& schema, const Options& options, MergeRules* rules) {
  const bool aggregation = rules->engine == MergeEngineKind::kAggregation;
  for (const DataField& field : schema.fields) {
    const std::string& name = field.name;
    if (Contains(schema.primary_keys, name)) {
      rules->functions[name] = "primary-key";
      continue;
    }
    if (aggregation) {
      if (Contains(rules->sequence_fields, name)) {
        rules->functions[name] = "last_value";
      } else {
        rules->functions[name] = FunctionOf(options, name).value_or("last_non_null_value");
      }
      continue;
    }
    const bool is_sequence =
        std::any_of(rules->groups.begin(), rules->groups.end(),
                    [&](const SequenceGroup& g) { return Contains(g.sequence, name); });
    if (is_sequence) continue;
    const auto function = FunctionOf(options, name);
    if (!function) continue;
    const bool is_protected =
        std::any_of(rules->groups.begin(), rules->groups.end(),
                    [&](const SequenceGroup& g) { return Contains(g.columns, name); });
    if (*function != "last_non_null_value" && !is_protected) {
      return Invalid("Must use sequence group for aggregation functions but not found for field {}",
                     name);
    }
    rules->functions[name] = *function;
  }
  return arrow::Status::OK();
}

arrow::Status CheckPartialUpdate(const MergeRules& rules) {
  const bool group_removes = std::any_of(rules.groups.begin(), rules.groups.end(),
                                         [](const SequenceGroup& g) { return g.remove_record; });
  if (rules.ignore_delete && (rules.remove_record_on_delete || group_removes)) {
    return Invalid(
        "option 'ignore-delete' cannot go with 'partial-update.remove-record-on-delete' or "
        "'partial-update.remove-record-on-sequence-group'");
  }
  if (rules.remove_record_on_delete && !rules.groups.empty()) {
    return Invalid(
        "option 'partial-update.remove-record-on-delete' cannot go with sequence groups");
  }
  return arrow::Status::OK();
}

arrow::Result<bool> Flag(const Options& options, const std::string& key) {
  const auto it = options.values().find(key);
  if (it == options.values().end()) return false;
  std::string text = it->second;
  std::transform(text.begin(), text.end(), text.begin(),
                 [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  if (text != "true" && text != "false")
    return Invalid("option '{}' = '{}' is neither true nor false", key, it->second);
  return text == "true";
}

std::string TextOf(const Options& options, const std::string& key, const std::string& fallback) {
  const auto it = options.values().find(key);
  if (it == options.values().end()) return fallback;
  std::string text = it->second;
  std::transform(text.begin(), text.end(), text.begin(), [](unsigned char c) {
    return c == '_' ? '-' : static_cast<char>(std::tolower(c));
  });
  return text;
}

}  // namespace

std::vector<std::string> TrimmedPrimaryKey(const TableSchema& schema) {
  std::vector<std::string> trimmed;
  for (const std::string& key : schema.primary_keys) {
    if (!Contains(schema.partition_keys, key)) trimmed.push_back(key);
  }
  return trimmed;
}

arrow::Result<MergeRules> MergeRules::Make(const TableSchema& schema, const Options& options) {
  MergeRules rules;
  const std::string engine = TextOf(options, "merge-engine", "deduplicate");
  if (engine == "first-row") {
    rules.engine = MergeEngineKind::kFirstRow;
  } else if (engine == "partial-update") {
    rules.engine = MergeEngineKind::kPartialUpdate;
  } else if (engine == "aggregation") {
    rules.engine = MergeEngineKind::kAggregation;
  } else if (engine != "deduplicate") {
    return Invalid("option 'merge-engine' = '{}' is unknown", engine);
  }
  ARROW_ASSIGN_OR_RAISE(rules.ignore_delete, options.Get(OptionKeys::kIgnoreDelete));
  ARROW_ASSIGN_OR_RAISE(rules.deletion_vectors, options.Get(OptionKeys::kDeletionVectorsEnabled));
  ARROW_ASSIGN_OR_RAISE(bool force_lookup, Flag(options, "force-lookup"));
  rules.lookup = rules.deletion_vectors || force_lookup ||
                 rules.engine == MergeEngineKind::kFirstRow ||
                 TextOf(options, "changelog-producer", "none") == "lookup";
  const auto sequence = options.values().find("sequence.field");
  if (sequence != options.values().end()) {
    rules.sequence_fields = SplitNames(sequence->second);
    ARROW_RETURN_NOT_OK(CheckColumns(schema, "sequence.field", rules.sequence_fields));
  }
  rules.sequence_descending =
      TextOf(options, "sequence.field.sort-order", "ascending") == "descending";
  if (rules.engine == MergeEngineKind::kPartialUpdate) {
    ARROW_ASSIGN_OR_RAISE(rules.remove_record_on_delete,
                          Flag(options, "partial-update.remove-record-on-delete"));
    ARROW_RETURN_NOT_OK(ReadGroups(schema, options, &rules));
    ARROW_RETURN_NOT_OK(CheckPartialUpdate(rules));
    ARROW_RETURN_NOT_OK(ReadFunctions(schema, options, &rules));
  } else if (rules.engine == MergeEngineKind::kAggregation) {
    ARROW_ASSIGN_OR_RAISE(rules.remove_record_on_delete,
                          Flag(options, "aggregation.remove-record-on-delete"));
    ARROW_RETURN_NOT_OK(ReadFunctions(schema, options, &rules));
  }
  return rules;
}

std::vector<DataField> MergeRules::FieldsToRead(const TableSchema& schema,
                                                const std::vector<DataField>& wanted) const {
  std::vector<DataField> fields = wanted;
  const auto add = [&](const std::string& name) {
    const bool present = std::any_of(fields.begin(), fields.end(),
                                     [&](const DataField& f) { return f.name == name; });
    if (!present) fields.push_back(schema.fields[static_cast<size_t>(schema.FieldIndex(name))]);
  };
  for (const std::string& key : TrimmedPrimaryKey(schema)) add(key);
  for (const std::string& name : sequence_fields) add(name);
  for (const SequenceGroup& group : groups) {
    const bool read = std::any_of(wanted.begin(), wanted.end(), [&](const DataField& field) {
      return Contains(group.columns, field.name) || Contains(group.sequence, field.name);
    });
    // A group that removes rows decides over all columns.
    if (!read && !group.remove_record) continue;
    for (const std::string& name : group.sequence) add(name);
  }
  return fields;
}

}  // namespace kelda
