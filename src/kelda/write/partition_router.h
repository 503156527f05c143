#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <arrow/record_batch.h>

#include "kelda/metadata/table_context.h"
#include "kelda/row/bucket_function.h"

namespace kelda {

/// Rows of one (partition, bucket) cut out of a batch.
struct RoutedBatch {
  std::string partition;  ///< serialized row
  int32_t bucket = 0;
  std::shared_ptr<arrow::RecordBatch> rows;
};

/// Splits batches by partition (spec 02 §1.4) and, in tables with fixed buckets, by bucket (§2.2).
/// A pure function of the table and the rows: a distributed engine may shuffle by it. Stateless;
/// thread-safe.
class PartitionRouter {
 public:
  static arrow::Result<PartitionRouter> Make(const TableContext& table);
  /// In the order in which the parts first appear; rows keep their order within a part. The batches
  /// own their rows: a small part does not keep the whole input alive.
  arrow::Result<std::vector<RoutedBatch>> Route(
      const std::shared_ptr<arrow::RecordBatch>& batch) const;

 private:
  std::vector<int> key_columns_;
  std::vector<DataType> key_types_;
  int32_t bucket_count_ = 0;  ///< 0: the table has no fixed buckets
  std::vector<int> bucket_columns_;
  std::optional<BucketFunction> bucket_function_;
};

}  // namespace kelda
