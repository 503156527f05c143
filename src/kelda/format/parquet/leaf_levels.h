#pragma once

#include <memory>
#include <string>
#include <vector>

#include <arrow/array.h>

#include "kelda/types/data_type.h"

namespace kelda {

/// How to get from a top-level column to one leaf of its type.
struct LeafStep {
  enum class Kind { kLeaf, kMember, kElement, kKey, kValue };
  Kind kind = Kind::kLeaf;
  bool optional = true;  ///< the node that this step starts from may be null
  int member = 0;        ///< for kMember
};

struct LeafPath {
  int column = 0;  ///< top-level column
  std::string name;
  std::vector<LeafStep> steps;  ///< last one is kLeaf
  DataType type;
  int16_t definition_max = 0;
  int16_t repetition_max = 0;

  bool flat() const { return steps.size() == 1; }
  bool leaf_optional() const { return steps.back().optional; }
};

/// Leaves of `fields` in the order of the Parquet schema.
std::vector<LeafPath> LeafPaths(const std::vector<DataField>& fields);

/// One leaf of a batch as Parquet stores it: definition and repetition levels, and the values with
/// room for nulls of the innermost repeated group. Level pointers are null when the maximum is 0.
struct LeafBatch {
  int64_t level_count = 0;
  const int16_t* definition = nullptr;
  const int16_t* repetition = nullptr;
  std::shared_ptr<arrow::Array> values;

  std::vector<int16_t> definition_storage;
  std::vector<int16_t> repetition_storage;
};

/// Compute levels and values of the leaf `path` for all rows of its top-level `column`. A null
/// where the type has NOT NULL is an error that names the column.
arrow::Result<LeafBatch> ShredLeaf(const LeafPath& path,
                                   const std::shared_ptr<arrow::Array>& column);

}  // namespace kelda
