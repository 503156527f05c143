#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "kelda/format/orc/orc_metadata.h"
#include "kelda/types/predicate.h"

namespace kelda {

/// Bounds that a column's statistics give for its values in Arrow form `type`, which may be null
/// when only null tests ask. Statistics that break their format, or are of another kind, give none.
ColumnBounds BoundsFromStatistics(std::string_view statistics, const OrcType& column,
                                  const std::shared_ptr<arrow::DataType>& type, int64_t rows);

/// Decides from statistics which stripes and row groups cannot satisfy a predicate.
class OrcPruning {
 public:
  /// `predicate` may be null: nothing is pruned. `types` is borrowed.
  OrcPruning(const std::vector<OrcType>& types, PredicatePtr predicate);

  bool active() const { return predicate_ != nullptr; }
  /// Columns of the file that have statistics for it.
  std::vector<uint32_t> ColumnsWithBounds() const;
  /// `statistics_of(column)` gives the statistics of a column over the `rows` rows in question,
  /// empty when there are none.
  bool MayMatch(int64_t rows, const std::function<std::string_view(uint32_t)>& statistics_of) const;

 private:
  struct Column {
    std::vector<std::string> path;
    std::shared_ptr<arrow::DataType> type;
    int64_t id = -1;
    bool missing = false;  ///< the file lacks it: all null
  };
  class Source;

  void Collect(const Predicate& predicate);

  const std::vector<OrcType>& types_;
  const PredicatePtr predicate_;
  std::vector<Column> columns_;
};

}  // namespace kelda
