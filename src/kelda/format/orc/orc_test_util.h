#pragma once

#include <memory>
#include <string>
#include <vector>

#include <arrow/api.h>
#include <gtest/gtest.h>

#include "kelda/format/file_format.h"
#include "kelda/format/parquet/parquet_test_util.h"

/// Tools of the ORC tests.
namespace kelda::orc_test {

using parquet_test::ExpectTablesEqual;
using parquet_test::Field;
using parquet_test::RandomTable;
using parquet_test::ReadBack;
using parquet_test::TableOf;
using parquet_test::Unwrap;
using parquet_test::Whole;

using Batches = std::vector<std::shared_ptr<arrow::RecordBatch>>;

WrittenFile WriteOrc(FileIO& io, const std::string& path, const std::vector<DataField>& fields,
                     const Batches& batches, const WriterOptions& options = {});
arrow::Result<ReadBack> TryReadOrc(FileIO& io, const std::string& path, ReadOptions options,
                                   int64_t size_bytes = -1);
ReadBack ReadOrc(FileIO& io, const std::string& path, ReadOptions options);
/// All columns of a file.
ReadBack ReadOrc(FileIO& io, const std::string& path, const std::vector<DataField>& fields);

void PutFile(FileIO& io, const std::string& path, const std::string& bytes);

/// Random columns and rows that ORC files can hold.
class RandomOrc {
 public:
  explicit RandomOrc(uint64_t seed) : random(seed) {}
  std::vector<DataField> Schema(int columns, int depth);
  RandomTable random;
};

}  // namespace kelda::orc_test
