#pragma once

#include <memory>
#include <string>
#include <vector>

#include <arrow/array.h>
#include <parquet/level_conversion.h>
#include <parquet/schema.h>

#include "kelda/format/parquet/leaf_values.h"
#include "kelda/types/data_type.h"

namespace kelda {

/// One leaf of a file that a read needs.
struct ReadLeaf {
  int ordinal = 0;  ///< column ordinal in the file
  const parquet::ColumnDescriptor* descriptor = nullptr;
  parquet::internal::LevelInfo levels;
  LeafConversion conversion;

  bool repeated() const { return levels.rep_level > 0; }
};

/// A wanted column matched to a part of the file's schema; mirrors the wanted type.
struct ReadNode {
  enum class Kind { kLeaf, kRow, kList, kMap, kShreddedVariant, kMissing };
  Kind kind = Kind::kLeaf;
  std::string name;
  std::shared_ptr<arrow::DataType> type;
  bool nullable = true;  ///< in the file
  parquet::internal::LevelInfo levels;
  /// kLeaf: its leaf. Others: the leaf whose levels tell this node's nulls and lengths.
  int leaf = -1;
  bool list_below = false;  ///< kRow: a list lies between it and that leaf
  /// kShreddedVariant: one, the ROW of its parts.
  std::vector<ReadNode> children;
};

struct ReadTree {
  std::vector<ReadNode> columns;  ///< one per wanted column, kMissing when the file lacks it
  std::vector<ReadLeaf> leaves;
};

/// Match `wanted` (names and types of the file's Paimon schema) to the schema of the file `path`:
/// by name at top level and in ROWs; lists and maps by structure, legacy forms included (spec 01
/// §6.2).
arrow::Result<ReadTree> MatchColumns(const std::vector<DataField>& wanted,
                                     const parquet::SchemaDescriptor& file);

/// The leaf at `path` (top-level name, then members of ROWs); null when there is none or it lies
/// below a list.
const parquet::ColumnDescriptor* FindFlatLeaf(const parquet::SchemaDescriptor& file,
                                              const std::vector<std::string>& path, int* ordinal);
/// Whether the file has a top-level column `name`.
bool HasColumn(const parquet::SchemaDescriptor& file, const std::string& name);

/// Levels and values of a leaf after ReadRecords.
struct LeafData {
  const int16_t* definition = nullptr;
  const int16_t* repetition = nullptr;
  int64_t level_count = 0;
  arrow::ArrayVector values;
};

/// Put a column together from its leaves: arrays whose lengths add up to `rows`. More than one only
/// for a flat text or binary column with more bytes than one array holds.
arrow::Result<arrow::ArrayVector> AssembleColumn(const ReadNode& column,
                                                 const std::vector<LeafData>& leaves, int64_t rows);

}  // namespace kelda
