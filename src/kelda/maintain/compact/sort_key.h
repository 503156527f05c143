#pragma once

#include <memory>
#include <string>
#include <vector>

#include <arrow/record_batch.h>

#include "kelda/types/data_type.h"

namespace kelda {

/// How rows are ordered by several columns (spec 03 §7.11).
enum class SortOrder {
  kLexicographic,  ///< `order`: by the first column, then the second, ...
  kZOrder,         ///< along a z-curve through all columns
  kHilbert,        ///< along a Hilbert curve through all columns
};

/// `order`, `zorder` or `hilbert`; Invalid otherwise.
arrow::Result<SortOrder> ParseSortOrder(std::string_view text);

/// Turns the columns that rows are sorted by into byte strings whose unsigned order is the order of
/// the rows. NULL sorts first, numbers by value (NaN last), text by bytes.
///
/// Along a curve each column counts by rank, not by value: ranks come from a sample of the rows, so
/// that columns of any type and spread cut the rows into as many pieces as each other. Immutable
/// after Make; thread-safe.
class SortKeyEncoder {
 public:
  /// Invalid for a nested type or no column at all. `sample`: rows to take ranks from, columns as
  /// `fields`; only curves look at it.
  static arrow::Result<SortKeyEncoder> Make(SortOrder order, std::vector<DataField> fields,
                                            const std::vector<arrow::ArrayVector>& sample);

  /// One key per row; `columns` as `fields`, all of `rows` values.
  arrow::Result<std::shared_ptr<arrow::BinaryArray>> Encode(const arrow::ArrayVector& columns,
                                                            int64_t rows) const;

 private:
  SortOrder order_ = SortOrder::kLexicographic;
  std::vector<DataField> fields_;
  std::vector<std::vector<std::string>> bounds_;  ///< per column, ascending
};

}  // namespace kelda
