#pragma once

#include <memory>
#include <vector>

#include <arrow/array.h>

#include "kelda/format/file_format.h"

namespace kelda {

/// Exact minimum, maximum and null count of one column of a file while it is written. FLOAT and
/// DOUBLE are ordered as Java's Double.compare does: -0.0 < 0.0, NaN largest (spec 01 §5.7). One
/// thread at a time.
class ColumnStatistics {
 public:
  virtual ~ColumnStatistics() = default;
  virtual void Update(const arrow::Array& values) = 0;
  virtual FileColumnStats Finish() const = 0;

  enum class Keep {
    kNothing,
    kNullCount,
    kAll,
  };
  /// For values in the Arrow form of `type`. kAll on a type without an order keeps the null count.
  static std::unique_ptr<ColumnStatistics> Make(const std::shared_ptr<arrow::DataType>& type,
                                                Keep keep);
};

}  // namespace kelda
