#pragma once

#include <memory>
#include <string>
#include <vector>

#include <arrow/array.h>
#include <arrow/record_batch.h>
#include <arrow/scalar.h>

#include "kelda/types/data_type.h"

namespace kelda {

/// Encode columns into BinaryRow bytes (spec 01 §5.1-5.3), one row per element: `columns[i]` holds
/// values of `types[i]` in the Arrow form of arrow_mapping.h, all of one length. Column-wise;
/// header kind is +I. TIMESTAMP/DECIMAL null rules of §5.1 included. Result: binary array of raw
/// row bytes (no arity prefix).
arrow::Result<std::shared_ptr<arrow::BinaryArray>> EncodeBinaryRows(
    const std::vector<DataType>& types, const arrow::ArrayVector& columns);

/// One row of scalars (null Scalar or invalid = NULL) to raw row bytes.
arrow::Result<std::string> EncodeBinaryRow(
    const std::vector<DataType>& types, const std::vector<std::shared_ptr<arrow::Scalar>>& values);

/// Hostile bytes to scalars, one per type. Strings are taken as they are: Java stores what a cast
/// from binary gives, so they may be invalid UTF-8. TIMESTAMP(0) drops a fraction of a second; what
/// timestamp[ns] cannot hold is an error.
arrow::Result<std::vector<std::shared_ptr<arrow::Scalar>>> DecodeBinaryRow(
    const std::vector<DataType>& types, std::string_view row, std::string_view source_name);
/// Many rows to columns (atomic types only need to be fast: partitions, statistics, keys); `rows`
/// may contain the arity prefix (serialized form) when `serialized`.
arrow::Result<arrow::ArrayVector> DecodeBinaryRows(const std::vector<DataType>& types,
                                                   const arrow::BinaryArray& rows, bool serialized,
                                                   std::string_view source_name);

/// Serialized form of manifests (§5.6): big-endian arity || row.
std::string SerializeRow(int32_t arity, std::string_view row);
/// Split a serialized row into arity and row bytes.
struct SerializedRow {
  int32_t arity;
  std::string_view row;
};
arrow::Result<SerializedRow> ParseSerializedRow(std::string_view bytes,
                                                std::string_view source_name);
/// `00000000 0000000000000000`.
const std::string& EmptySerializedRow();

/// Bucket functions (spec 02 §2.2) over raw rows of the bucket key.
int32_t DefaultBucket(std::string_view row, int32_t bucket_count);
arrow::Result<int32_t> ModBucket(const DataType& type, const arrow::Scalar& value,
                                 int32_t bucket_count);
arrow::Result<int32_t> HiveBucket(const std::vector<DataType>& types,
                                  const std::vector<std::shared_ptr<arrow::Scalar>>& values,
                                  int32_t bucket_count);

}  // namespace kelda
