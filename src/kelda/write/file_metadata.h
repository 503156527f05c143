#pragma once

#include <string>
#include <vector>

#include "kelda/format/file_format.h"
#include "kelda/format/stats_mode.h"
#include "kelda/metadata/manifest.h"
#include "kelda/metadata/table_context.h"

namespace kelda {

/// How value statistics of new files are kept: modes per column and dense storing (spec 01 §5.7).
class ValueStatsRule {
 public:
  /// For files with columns `fields`.
  static arrow::Result<ValueStatsRule> Make(const TableContext& table,
                                            const std::vector<DataField>& fields);

  /// Fill value_stats and value_stats_cols of `meta`.
  arrow::Status Apply(const WrittenFile& file, DataFileMeta* meta) const;
  /// False when no column keeps anything, so that the writer need not collect.
  bool collects() const;

 private:
  std::vector<DataField> fields_;
  std::vector<StatsMode> modes_;
  bool dense_ = true;
};

}  // namespace kelda
