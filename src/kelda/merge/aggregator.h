#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include <arrow/array.h>

#include "kelda/options/options.h"
#include "kelda/types/data_type.h"

namespace kelda {

/// Folds the values of one column, group after group (spec 02 §5.6, FieldAggregator). Rows are
/// positions in the column that Start gave. Not thread-safe.
class Aggregator {
 public:
  virtual ~Aggregator() = default;

  /// A new window.
  virtual arrow::Status Start(std::shared_ptr<arrow::Array> column) = 0;
  /// A new group: the accumulator is NULL.
  virtual void Reset() = 0;
  /// The accumulator becomes the value of the row as it is.
  virtual arrow::Status Copy(int64_t row) = 0;
  virtual arrow::Status Aggregate(int64_t row) = 0;
  /// The row is older than what was accumulated: agg(in, acc).
  virtual arrow::Status AggregateReversed(int64_t row) = 0;
  virtual arrow::Status Retract(int64_t row) = 0;
  /// The group is done: its value goes to the result.
  virtual arrow::Status Append() = 0;
  /// One value per group since Start.
  virtual arrow::Result<std::shared_ptr<arrow::Array>> Finish() = 0;
};

/// The aggregator `function` of column `field`, with the column's options (`fields.<name>.…`).
/// Unknown functions, types that the function does not take and what is not built are errors that
/// name the column.
arrow::Result<std::unique_ptr<Aggregator>> MakeAggregator(const std::string& function,
                                                          const DataField& field,
                                                          const Options& options);

// The parts of MakeAggregator; null: another part's function.
arrow::Result<std::unique_ptr<Aggregator>> MakeNumberAggregator(const std::string& function,
                                                                const DataField& field);
arrow::Result<std::unique_ptr<Aggregator>> MakeTextAggregator(const std::string& function,
                                                              const DataField& field,
                                                              const Options& options);
arrow::Result<std::unique_ptr<Aggregator>> MakeNestedAggregator(const std::string& function,
                                                                const DataField& field,
                                                                const Options& options);

/// `fields.<column>.<name>`, if set.
std::optional<std::string> ColumnOption(const Options& options, const DataField& field,
                                        std::string_view name);
arrow::Result<bool> ColumnFlag(const Options& options, const DataField& field,
                               std::string_view name);
arrow::Status NoRetraction(const std::string& function, const DataField& field);
arrow::Status WrongType(const std::string& function, const DataField& field);

}  // namespace kelda
