#include "kelda/metadata/bucket_rule.h"

#include <algorithm>

namespace kelda {

namespace {

/// Names of a comma list, blanks around them dropped.
std::vector<std::string> SplitNames(std::string_view list) {
  constexpr std::string_view kBlanks = " \t\r\n";
  std::vector<std::string> names;
  while (true) {
    const size_t comma = list.find(',');
    std::string_view name = list.substr(0, comma);
    name.remove_prefix(std::min(name.find_first_not_of(kBlanks), name.size()));
    name = name.substr(0, name.find_last_not_of(kBlanks) + 1);
    if (!name.empty()) names.emplace_back(name);
    if (comma == std::string_view::npos) return names;
    list.remove_prefix(comma + 1);
  }
}

/// `bucket-key`, else the primary key without partition columns (spec 02 §1.4).
arrow::Result<std::vector<std::string>> BucketKey(const TableContext& table) {
  ARROW_ASSIGN_OR_RAISE(auto text, table.options.Find(OptionKeys::kBucketKey));
  std::vector<std::string> keys;
  if (text) keys = SplitNames(*text);
  if (!keys.empty()) return keys;
  const auto& partition_keys = table.schema->partition_keys;
  for (const std::string& key : table.schema->primary_keys) {
    if (std::find(partition_keys.begin(), partition_keys.end(), key) == partition_keys.end())
      keys.push_back(key);
  }
  return keys;
}

}  // namespace

arrow::Result<std::optional<BucketRule>> BucketRule::Of(const TableContext& table) {
  ARROW_ASSIGN_OR_RAISE(int32_t count, table.options.Get(OptionKeys::kBucket));
  if (count <= 0) return std::nullopt;
  BucketRule rule;
  rule.count = count;
  ARROW_ASSIGN_OR_RAISE(auto keys, BucketKey(table));
  if (keys.empty()) {
    return Invalid("table {}: 'bucket' = '{}' without primary key needs option 'bucket-key'",
                   table.name, count);
  }
  std::vector<DataType> types;
  for (const std::string& key : keys) {
    const int column = table.schema->FieldIndex(key);
    if (column < 0) return Invalid("table {}: bucket key '{}' is no column", table.name, key);
    rule.key_columns.push_back(column);
    rule.key_fields.push_back(table.fields()[column]);
    types.push_back(table.fields()[column].type);
  }
  ARROW_ASSIGN_OR_RAISE(auto type, table.options.Get(OptionKeys::kBucketFunctionType));
  auto function = BucketFunction::Make(type, std::move(types));
  if (!function.ok()) return WithContext(function.status(), "table " + table.name);
  rule.function = std::move(*function);
  return std::optional<BucketRule>(std::move(rule));
}

}  // namespace kelda
