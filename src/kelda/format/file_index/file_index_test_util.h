#pragma once

#include <memory>
#include <string>
#include <vector>

#include <arrow/array.h>
#include <arrow/scalar.h>

#include "kelda/format/file_index/column_index.h"
#include "kelda/format/file_index/file_index.h"

namespace kelda {

using Scalars = std::vector<std::shared_ptr<arrow::Scalar>>;

/// A column of the Arrow type of `type`.
std::shared_ptr<arrow::Array> MakeColumn(const DataType& type, const Scalars& values);

/// Bytes of an index over `column`, written in several batches.
arrow::Result<std::string> BuildIndex(const ColumnIndexType& index, const DataType& type,
                                      const IndexOptions& options, const arrow::Array& column);

/// A container with one index of column "c".
std::string OneIndex(const ColumnIndexType& index, const std::string& bytes);

/// SelectIndexedRows on a container of column "c".
arrow::Result<RowSelection> Select(const std::string& container, const DataType& type,
                                   const Predicate& predicate, int64_t rows);

/// The rows of a selection.
std::vector<uint32_t> RowsOf(const RowSelection& selection);

}  // namespace kelda
