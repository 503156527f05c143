#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include <arrow/record_batch.h>
#include <arrow/result.h>

#include "duckdb/common/types/data_chunk.hpp"

#include "kelda/types/data_type.h"

namespace kelda::sql {

/// Rows to collect before a batch goes to the core: large arrays convert several times faster.
inline constexpr int64_t kBatchRows = 122880;

/// Collects DataChunks into large Arrow batches of exactly the types of ToArrowSchema(fields).
/// Values that the Paimon type cannot hold (infinite times, TIME 24:00, digits finer than the
/// precision, decimals that are too wide) are Invalid and name the column; lengths of text and
/// NULLs in NOT NULL columns are the core's to check. One thread at a time.
class ChunkToArrow {
 public:
  static arrow::Result<std::unique_ptr<ChunkToArrow>> Make(const std::vector<DataField>& fields);
  virtual ~ChunkToArrow() = default;

  /// `chunk` has the columns `fields` in order, of the types of ToLogicalType. Column i of `fields`
  /// is taken from chunk column `columns[i]`; -1 gives NULLs. Empty `columns` means 0, 1, 2 ...
  virtual arrow::Status Append(duckdb::DataChunk& chunk, const std::vector<int>& columns = {}) = 0;
  virtual int64_t rows() const = 0;
  /// Bytes held, for the decision to finish early when rows are wide.
  virtual int64_t bytes() const = 0;
  /// Everything since the last call; nullptr if there are no rows.
  virtual arrow::Result<std::shared_ptr<arrow::RecordBatch>> Finish() = 0;
};

}  // namespace kelda::sql
