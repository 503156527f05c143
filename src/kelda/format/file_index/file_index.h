#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <arrow/record_batch.h>

#include "kelda/format/file_index/column_index.h"
#include "kelda/format/file_index/container.h"
#include "kelda/types/data_type.h"
#include "kelda/types/predicate.h"

namespace kelda {

/// One index that every new file gets.
struct FileIndexSpec {
  int column = 0;                      ///< index of the table's field
  std::optional<std::string> map_key;  ///< the indexed values are those of this key of a MAP
  std::string name;                    ///< in the container: `col` or `col[key]`
  KeyForm form;
  const ColumnIndexType* type = nullptr;
  IndexOptions options;
};

/// The indexes that the options `file-index.<type>.columns` and `file-index.<type>.<column>.<…>`
/// ask for, in the order of the table's columns. Invalid or Unsupported names the option: unknown
/// column or index type, a type of column that the index cannot hold, a wrong value.
arrow::Result<std::vector<FileIndexSpec>> ParseFileIndexSpecs(
    const std::map<std::string, std::string>& table_options, const std::vector<DataField>& fields);

/// Builds the indexes of one data file. One thread at a time.
class FileIndexWriter {
 public:
  /// `specs` must outlive the writer.
  static arrow::Result<std::unique_ptr<FileIndexWriter>> Make(
      const std::vector<FileIndexSpec>* specs);
  /// The next rows of the file, with all columns of the table.
  arrow::Status Write(const arrow::RecordBatch& batch);
  int64_t BufferedBytes() const;
  /// The container.
  arrow::Result<std::string> Finish();

 private:
  explicit FileIndexWriter(const std::vector<FileIndexSpec>* specs) : specs_(specs) {}

  const std::vector<FileIndexSpec>* specs_;
  std::vector<std::unique_ptr<ColumnIndexWriter>> writers_;
  int64_t rows_ = 0;
};

/// What a predicate's column is in the file: the name in the container and the type of its values
/// when the file was written. Nothing: no index can answer.
struct IndexedColumn {
  std::string name;
  DataType type;
};
using IndexedColumnResolver =
    std::function<std::optional<IndexedColumn>(const std::vector<std::string>& path)>;

/// Rows of a file with `row_count` rows that may satisfy `predicate`, a superset, as far as the
/// indexes in `container` tell. Types of index that are not known say nothing.
arrow::Result<RowSelection> SelectIndexedRows(const IndexContainer& container,
                                              const Predicate& predicate,
                                              const IndexedColumnResolver& resolver,
                                              int64_t row_count);

}  // namespace kelda
