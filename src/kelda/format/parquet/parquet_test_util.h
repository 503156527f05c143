#pragma once

#include <memory>
#include <random>
#include <string>
#include <vector>

#include <arrow/api.h>
#include <gtest/gtest.h>

#include "kelda/format/file_format.h"
#include "kelda/types/arrow_mapping.h"

/// Tools of the tests of data files: random schemas and rows, write and read in one call. The
/// format comes from the path's extension.
namespace kelda::parquet_test {

/// `EXPECT`-style unwrapping of results inside tests.
template <typename T>
T Unwrap(arrow::Result<T> result) {
  if (!result.ok()) {
    ADD_FAILURE() << result.status().ToString();
    std::abort();
  }
  return std::move(result).ValueUnsafe();
}

class RandomTable {
 public:
  explicit RandomTable(uint64_t seed) : engine_(seed) {}

  uint64_t Next(uint64_t n) { return engine_() % n; }
  /// Columns of random types with ids assigned; nested up to `depth` levels.
  std::vector<DataField> Schema(int columns, int depth);
  DataType Type(int depth);
  std::shared_ptr<arrow::RecordBatch> Batch(const std::vector<DataField>& fields, int64_t rows);
  /// One of `null_percent` values is null where the type allows it.
  int null_percent = 20;
  /// Values come from a few hundred different ones.
  bool repetitive = false;

 private:
  DataType AtomicType();
  void Append(const DataType& type, bool nullable, arrow::ArrayBuilder* builder);
  void AppendValue(const DataType& type, arrow::ArrayBuilder* builder);
  std::string Text();
  int64_t Integer(int64_t min, int64_t max);

  std::mt19937_64 engine_;
};

WrittenFile WriteFile(FileIO& io, const std::string& path, const std::vector<DataField>& fields,
                      const std::vector<std::shared_ptr<arrow::RecordBatch>>& batches,
                      const WriterOptions& options = {});

struct ReadBack {
  std::shared_ptr<arrow::Table> table;
  std::vector<int64_t> first_rows;  ///< of each batch
  std::vector<int64_t> row_counts;
  ReadStatistics statistics;
};
arrow::Result<ReadBack> TryReadFile(FileIO& io, const std::string& path, ReadOptions options,
                                    int64_t size_bytes = -1);
ReadBack ReadFile(FileIO& io, const std::string& path, ReadOptions options);

std::shared_ptr<arrow::Table> TableOf(
    const std::vector<DataField>& fields,
    const std::vector<std::shared_ptr<arrow::RecordBatch>>& batches);
/// Column `column` as one array.
std::shared_ptr<arrow::Array> Whole(const arrow::Table& table, int column);
void ExpectTablesEqual(const arrow::Table& actual, const arrow::Table& expected);

DataField Field(int32_t id, std::string name, DataType type);

}  // namespace kelda::parquet_test
