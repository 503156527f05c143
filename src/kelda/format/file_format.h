#pragma once

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <arrow/record_batch.h>

#include "kelda/base/cancellation.h"
#include "kelda/base/row_ranges.h"
#include "kelda/io/file_io.h"
#include "kelda/types/data_type.h"
#include "kelda/types/predicate.h"

namespace kelda {

/// Statistics of one top-level column of a written file, before Paimon's stats mode is applied:
/// exact values. Null min/max = the format gives none (nested columns, binary: spec 01 §5.7); all
/// three empty = nothing known.
struct FileColumnStats {
  std::shared_ptr<arrow::Scalar> min;
  std::shared_ptr<arrow::Scalar> max;
  std::optional<int64_t> null_count;
};

struct WrittenFile {
  std::string path;
  int64_t size_bytes = 0;
  int64_t row_count = 0;
  std::vector<FileColumnStats> stats;  ///< one per column of the written schema
};

struct WriterOptions {
  std::string compression = "zstd";         ///< `file.compression`, Paimon's names (spec 01 §6.2)
  int zstd_level = 1;                       ///< `file.compression.zstd-level`
  std::optional<int64_t> block_size_bytes;  ///< `file.block-size`
  /// `parquet.*` (or `orc.*`) keys without interpretation, full key.
  std::map<std::string, std::string> format_options;
  bool collect_stats = true;
};

/// Writes one file. One thread at a time. Destroyed without Finish: the file is removed.
class FormatWriter {
 public:
  virtual ~FormatWriter() = default;
  /// `batch` has exactly the columns given at creation (types of arrow_mapping.h). Values are not
  /// checked again. Its columns may be kept by reference until the next FlushRowGroup or Finish.
  virtual arrow::Status Write(const arrow::RecordBatch& batch) = 0;
  /// Bytes written so far plus an estimate of what is buffered; used for rolling.
  virtual int64_t EstimatedBytes() const = 0;
  virtual int64_t BufferedBytes() const = 0;  ///< memory held now, for the memory budget
  /// Close the current row group: frees buffered memory.
  virtual arrow::Status FlushRowGroup() = 0;
  virtual arrow::Result<WrittenFile> Finish() = 0;
};

struct ReadOptions {
  /// Columns wanted, as they are in the FILE's schema (names, types, ids of the schema the file was
  /// written with), in output order. Nested ROW types may list a subset of members: projection at
  /// every depth. Columns absent in the file come back as nulls.
  std::vector<DataField> columns;
  /// Superset filter: used only to skip row groups and pages; rows that do not match may come back.
  /// Columns need not be among `columns`.
  PredicatePtr predicate;
  /// Rows wanted, a superset filter like `predicate`: used to skip row groups, stripes and pages.
  /// Null = all.
  std::shared_ptr<const RowRanges> rows;
  int64_t batch_rows = 32768;
  CancellationToken token;
  /// Called once with what was skipped, for EXPLAIN and metrics; may be empty.
  std::function<void(const struct ReadStatistics&)> on_open;
};

struct ReadStatistics {
  int64_t row_groups_total = 0;
  int64_t row_groups_read = 0;
  int64_t rows_skipped = 0;  ///< by row-group and page pruning
  int64_t bytes_planned = 0;
};

/// Reads one file in row order. One thread at a time.
class FormatReader {
 public:
  virtual ~FormatReader() = default;
  /// Next batch or nullptr at the end. `first_row()` is the file position of its first row; rows of
  /// one batch are consecutive in the file.
  virtual arrow::Result<std::shared_ptr<arrow::RecordBatch>> Next() = 0;
  virtual int64_t first_row() const = 0;
  virtual int64_t file_row_count() const = 0;
};

/// A data file format. Stateless; thread-safe.
class FileFormat {
 public:
  virtual ~FileFormat() = default;
  virtual std::string_view name() const = 0;  ///< "parquet"
  /// Refuse types that the format cannot hold, naming column and reason.
  virtual arrow::Status CheckTypes(const std::vector<DataField>& fields) const = 0;
  virtual arrow::Result<std::unique_ptr<FormatWriter>> CreateWriter(
      FileIO& io, const std::string& path, const std::vector<DataField>& fields,
      const WriterOptions& options) const = 0;
  virtual arrow::Result<std::unique_ptr<FormatReader>> OpenReader(
      FileIO& io, const std::string& path, int64_t size_bytes,
      const ReadOptions& options) const = 0;
};

/// The format of identifier `name`; Unsupported for known ones that are not built (orc, avro, csv,
/// json, text, blob, …).
arrow::Result<const FileFormat*> FindFormat(std::string_view name);
/// Format identifier from a data file's name (spec 01 §1.5).
std::string FormatOfFileName(std::string_view file_name);
/// `.parquet`, or `.zst.parquet` with `file.suffix.include.compression` (spec 01 §1.5).
std::string FileExtension(std::string_view format, std::string_view compression,
                          bool include_compression);

}  // namespace kelda
