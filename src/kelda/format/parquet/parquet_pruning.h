#pragma once

#include <memory>
#include <string>
#include <vector>

#include <parquet/file_reader.h>

#include "kelda/base/row_ranges.h"
#include "kelda/types/predicate.h"

namespace kelda {

/// Rows [first, last) of a row group.
struct RowRange {
  int64_t first = 0;
  int64_t last = 0;
  int64_t length() const { return last - first; }
  bool operator==(const RowRange&) const = default;
};

/// Decides from the statistics of one file which rows cannot satisfy a predicate. Borrows the file
/// reader; calls into it throw the library's exceptions.
class ParquetPruning {
 public:
  /// `predicate` may be null: nothing is pruned.
  static arrow::Result<ParquetPruning> Make(parquet::ParquetFileReader* file,
                                            PredicatePtr predicate);

  /// Rows of the row group that have to be read: empty = none. Row group statistics first, then
  /// page statistics.
  arrow::Result<std::vector<RowRange>> RowsToRead(int row_group) const;

 private:
  /// A column that the predicate names.
  struct Column {
    std::vector<std::string> path;
    std::shared_ptr<arrow::DataType> type;  ///< null when only null tests name it
    bool missing = false;                   ///< the file lacks it: all null
    int ordinal = -1;                       ///< -1: nothing is known
    std::shared_ptr<class LeafConversion> conversion;
  };
  class GroupBounds;
  class PageBounds;

  void CollectColumns(const Predicate& predicate);
  arrow::Status ResolveColumns();
  std::vector<RowRange> PagesToRead(int row_group, int64_t rows) const;

  parquet::ParquetFileReader* file_ = nullptr;
  PredicatePtr predicate_;
  std::vector<Column> columns_;
};

/// The parts of `ranges`, rows of a row group that begins at `first_row` of the file, that hold
/// wanted rows. Ranges that are near each other are joined: reading on costs less than a new start.
std::vector<RowRange> WantedParts(const std::vector<RowRange>& ranges, const RowRanges& wanted,
                                  int64_t first_row);

/// First rows of the pages of a column chunk with the row count at the end; empty when the offset
/// index is missing or contradicts itself.
std::vector<int64_t> PageStarts(const parquet::OffsetIndex* index, int64_t rows);

}  // namespace kelda
