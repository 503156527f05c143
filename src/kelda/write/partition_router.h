#pragma once

#include <memory>
#include <string>
#include <vector>

#include <arrow/record_batch.h>

#include "kelda/metadata/table_context.h"

namespace kelda {

/// Rows of one partition cut out of a batch.
struct RoutedBatch {
  std::string partition;  ///< serialized row
  std::shared_ptr<arrow::RecordBatch> rows;
};

/// Splits batches by partition (spec 02 §1.4). Stateless; thread-safe.
class PartitionRouter {
 public:
  static arrow::Result<PartitionRouter> Make(const TableContext& table);
  /// In the order in which partitions first appear; rows keep their order within a partition. The
  /// batches own their rows: a small part does not keep the whole input alive.
  arrow::Result<std::vector<RoutedBatch>> Route(
      const std::shared_ptr<arrow::RecordBatch>& batch) const;

 private:
  std::vector<int> key_columns_;
  std::vector<DataType> key_types_;
};

}  // namespace kelda
