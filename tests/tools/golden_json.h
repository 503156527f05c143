#pragma once

#include <set>
#include <string>
#include <string_view>
#include <vector>

#include <arrow/array.h>
#include <arrow/record_batch.h>
#include <arrow/result.h>
#include <arrow/status.h>

#include "kelda/metadata/manifest.h"
#include "kelda/types/table_schema.h"

namespace kelda {

// The JSON form in which the rows of the golden tables are kept (tests/data/README.md). It is
// exact: two engines that read the same rows print the same bytes.

/// `text` between quotes, with the escapes of the form.
std::string GoldenQuote(std::string_view text);
/// The fewest digits that read back in the type's own width, written like Python's repr.
std::string GoldenNumber(double value);
std::string GoldenNumber(float value);

/// Append element `row` of `array`. `sort_elements` sorts the elements of an ARRAY whose order has
/// no meaning.
arrow::Status AppendGoldenValue(const DataType& type, const arrow::Array& array, int64_t row,
                                bool sort_elements, std::string* out);

/// Names of array columns whose elements have no order.
using UnorderedColumns = std::set<std::string, std::less<>>;

/// Row `row` of `columns` as an object; `columns[i]` holds values of `fields[i]`.
arrow::Result<std::string> GoldenRow(const std::vector<DataField>& fields,
                                     const arrow::ArrayVector& columns, int64_t row,
                                     const UnorderedColumns& unordered = {});
/// Append one line for each row of `batch`, whose columns are those of `fields` in order.
arrow::Status AppendGoldenLines(const std::vector<DataField>& fields,
                                const arrow::RecordBatch& batch, const UnorderedColumns& unordered,
                                std::vector<std::string>* lines);
/// By unsigned bytes, the order of the expected files.
void SortGoldenLines(std::vector<std::string>* lines);

/// The line of a `files` read for one live entry. `schema` is the one that the file was written
/// with.
arrow::Result<std::string> GoldenFileEntry(const TableSchema& schema, const ManifestEntry& entry);

/// The line of a `files` read for one index file.
arrow::Result<std::string> GoldenIndexEntry(const TableSchema& schema,
                                            const IndexManifestEntry& entry);

/// Empty when equal; otherwise where `got` first leaves `want`, shortened to be readable.
std::string FirstDifference(const std::vector<std::string>& got,
                            const std::vector<std::string>& want);

}  // namespace kelda
