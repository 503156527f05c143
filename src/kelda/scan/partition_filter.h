#pragma once

#include <memory>
#include <mutex>
#include <string>
#include <unordered_map>
#include <vector>

#include "kelda/metadata/manifest.h"
#include "kelda/metadata/table_context.h"
#include "kelda/types/predicate.h"

namespace kelda {

/// Applies conjuncts on partition columns to serialized partition rows, exactly, and to partition
/// statistics of manifests, conservatively. Answers are remembered per distinct partition.
/// Thread-safe.
class PartitionFilter {
 public:
  /// `predicate` touches partition columns only; null accepts everything.
  PartitionFilter(const TableContext& table, PredicatePtr predicate);

  bool trivial() const { return predicate_ == nullptr; }
  arrow::Result<bool> Accepts(std::string_view serialized_partition);
  arrow::Result<bool> MayContain(const ManifestFileMeta& manifest) const;

 private:
  std::vector<DataField> fields_;
  std::vector<DataType> types_;
  std::shared_ptr<arrow::Schema> schema_;
  arrow::Status schema_status_;
  PredicatePtr predicate_;
  std::mutex mutex_;
  std::unordered_map<std::string, bool> answers_;
};

}  // namespace kelda
