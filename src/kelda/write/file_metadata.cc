#include "kelda/write/file_metadata.h"

#include <algorithm>

#include "kelda/row/binary_row.h"

namespace kelda {

arrow::Result<ValueStatsRule> ValueStatsRule::Make(const TableContext& table,
                                                   const std::vector<DataField>& fields) {
  ValueStatsRule rule;
  const Options& o = table.options;
  rule.fields_ = fields;
  ARROW_ASSIGN_OR_RAISE(auto table_mode_text, o.Get(OptionKeys::kMetadataStatsMode));
  ARROW_ASSIGN_OR_RAISE(StatsMode table_mode, ParseStatsMode(table_mode_text));
  ARROW_ASSIGN_OR_RAISE(int32_t keep_first, o.Get(OptionKeys::kMetadataStatsKeepFirstNColumns));
  ARROW_ASSIGN_OR_RAISE(rule.dense_, o.Get(OptionKeys::kMetadataStatsDenseStore));
  for (size_t i = 0; i < rule.fields_.size(); ++i) {
    ARROW_ASSIGN_OR_RAISE(auto own,
                          o.FindFor(OptionKeys::kFieldsColStatsMode, rule.fields_[i].name));
    StatsMode mode = table_mode;
    if (own) {
      ARROW_ASSIGN_OR_RAISE(mode, ParseStatsMode(*own));
    } else if (keep_first >= 0 && static_cast<int32_t>(i) >= keep_first) {
      mode = StatsMode::None();
    }
    rule.modes_.push_back(mode);
  }
  return rule;
}

bool ValueStatsRule::collects() const {
  return std::any_of(modes_.begin(), modes_.end(),
                     [](const StatsMode& mode) { return !(mode == StatsMode::None()); });
}

arrow::Status ValueStatsRule::Apply(const WrittenFile& file, DataFileMeta* meta) const {
  std::vector<DataType> types;
  std::vector<std::shared_ptr<arrow::Scalar>> min, max;
  std::vector<std::optional<int64_t>> null_counts;
  std::vector<std::string> kept;
  for (size_t i = 0; i < fields_.size(); ++i) {
    FileColumnStats stats;
    if (i < file.stats.size()) stats = ApplyStatsMode(modes_[i], file.stats[i]);
    const bool empty = stats.min == nullptr && stats.max == nullptr && !stats.null_count;
    if (dense_ && empty) continue;
    kept.push_back(fields_[i].name);
    types.push_back(fields_[i].type.WithNullable(true));
    min.push_back(stats.min);
    max.push_back(stats.max);
    null_counts.push_back(stats.null_count);
  }
  const auto arity = static_cast<int32_t>(types.size());
  ARROW_ASSIGN_OR_RAISE(std::string min_row, EncodeBinaryRow(types, min));
  ARROW_ASSIGN_OR_RAISE(std::string max_row, EncodeBinaryRow(types, max));
  meta->value_stats.min_values = SerializeRow(arity, min_row);
  meta->value_stats.max_values = SerializeRow(arity, max_row);
  meta->value_stats.null_counts = std::move(null_counts);
  // Null means "all columns of the schema" (spec 01 §4.2, field 17).
  if (kept.size() != fields_.size()) meta->value_stats_cols = std::move(kept);
  return arrow::Status::OK();
}

}  // namespace kelda
