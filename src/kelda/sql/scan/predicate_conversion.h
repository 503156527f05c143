#pragma once

#include <vector>

#include "duckdb/planner/expression.hpp"
#include "duckdb/planner/operator/logical_get.hpp"
#include "duckdb/planner/table_filter.hpp"

#include "kelda/types/data_type.h"
#include "kelda/types/predicate.h"

namespace kelda::sql {

/// A filter of DuckDB as far as Kelda can say it.
struct ConvertedFilter {
  PredicatePtr predicate;  ///< null: nothing can be said, every row may pass
  /// True when the predicate is true for exactly the rows that pass the filter, false for exactly
  /// those where it is false; else the predicate only holds for a superset of the rows.
  bool exact = false;
};

/// `expression` over the columns of `get`, which scans a table with `fields`.
ConvertedFilter ConvertExpression(const duckdb::Expression& expression,
                                  const duckdb::LogicalGet& get,
                                  const std::vector<DataField>& fields);

/// Filters of a scan, keyed by the place of the column in `column_ids`.
PredicatePtr ConvertTableFilters(const duckdb::TableFilterSet& filters,
                                 const duckdb::vector<duckdb::column_t>& column_ids,
                                 const std::vector<DataField>& fields);

/// Top-level conjuncts of `predicate` (null: none).
std::vector<PredicatePtr> Conjuncts(const PredicatePtr& predicate);

}  // namespace kelda::sql
