#pragma once

#include <memory>
#include <string>
#include <vector>

#include "kelda/format/file_index/index_input.h"
#include "kelda/format/file_index/row_selection.h"
#include "kelda/metadata/manifest.h"
#include "kelda/metadata/table_context.h"
#include "kelda/scan/plan.h"
#include "kelda/types/predicate.h"

namespace kelda {

/// Asks the file indexes of data files which rows may satisfy a predicate over the table's columns
/// (spec 01 §7.3). An index counts for the column whose field id it was written for, if the type is
/// the same still. Thread-safe.
class FileIndexFilter {
 public:
  /// Null when indexes are not to be used: no predicate, or `file-index.read.enabled` is off.
  static arrow::Result<std::unique_ptr<FileIndexFilter>> Make(const TableContext& table,
                                                              PredicatePtr predicate);

  static bool HasEmbedded(const DataFileMeta& file) { return file.embedded_file_index.has_value(); }
  /// The side file of `file`; null: there is none, or not one alone.
  static const std::string* SideFile(const DataFileMeta& file);

  /// By the index in the file's metadata. REQUIRES: HasEmbedded(file).
  arrow::Result<RowSelection> SelectEmbedded(const DataFileMeta& file) const;
  /// By the index wherever it is; all rows when there is none, or its file is gone. `path` is that
  /// of the data file.
  arrow::Result<RowSelection> Select(const DataFileMeta& file, const std::string& path) const;

 private:
  FileIndexFilter(const TableContext& table, PredicatePtr predicate)
      : table_(table), predicate_(std::move(predicate)) {}
  arrow::Result<RowSelection> SelectFrom(std::unique_ptr<IndexInput> input,
                                         const DataFileMeta& file) const;

  const TableContext& table_;
  const PredicatePtr predicate_;
};

/// Leave out the files of `splits` of which no row can match, and note the rows of the others. Side
/// files are read when there are not too many of them; the others are left to the reader.
arrow::Status ApplyFileIndexes(const TableContext& table, const FileIndexFilter& filter,
                               const CancellationToken& token, std::vector<Split>* splits,
                               ScanStatistics* statistics);

}  // namespace kelda
