#pragma once

#include <optional>
#include <vector>

#include "kelda/metadata/table_context.h"
#include "kelda/row/bucket_function.h"

namespace kelda {

/// How a table with fixed buckets (`bucket` = n > 0) gives each row its bucket (spec 02 §2.1, 2.2).
struct BucketRule {
  int32_t count = 0;             ///< of new files; old ones say their own number
  std::vector<int> key_columns;  ///< columns of the schema, in bucket-key order
  std::vector<DataField> key_fields;
  std::optional<BucketFunction> function;

  /// nullopt: the table has no fixed buckets.
  static arrow::Result<std::optional<BucketRule>> Of(const TableContext& table);
};

}  // namespace kelda
