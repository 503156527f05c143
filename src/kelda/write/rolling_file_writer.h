#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <arrow/record_batch.h>

#include "kelda/format/file_format.h"
#include "kelda/metadata/manifest.h"
#include "kelda/metadata/table_context.h"
#include "kelda/write/file_index_output.h"
#include "kelda/write/file_metadata.h"

namespace kelda {

/// What all files of one statement have in common.
struct DataFileSettings {
  /// `extra`: columns that the files hold after those of the table.
  static arrow::Result<std::shared_ptr<const DataFileSettings>> Make(
      const TableContext& table, const std::vector<DataField>& extra = {});

  const FileFormat* format = nullptr;
  std::vector<DataField> fields;  ///< columns of the files
  /// Their names, where they are not just the table's (spec 01 §4.2, `_WRITE_COLS`).
  std::optional<std::vector<std::string>> write_cols;
  WriterOptions writer;
  ValueStatsRule stats;
  FileIndexSettings indexes;
  std::string prefix;     ///< `data-file.prefix`
  std::string extension;  ///< with its dot
  int64_t target_file_size = 0;
  bool data_evolution = false;
};

/// What the files of one writer say about where their rows come from.
struct FileOrigin {
  int64_t first_sequence = 0;  ///< sequence number of the first row
  int32_t file_source = kFileSourceAppend;
};

/// Writes rows of one (partition, bucket) into files that are closed once they reach the target
/// size (spec 02 §3.1). Sequence numbers count over all its files, names share one UUID. One thread
/// at a time. Destroyed without Finish: its files are removed.
class RollingFileWriter {
 public:
  RollingFileWriter(TableContextPtr table, std::shared_ptr<const DataFileSettings> settings,
                    std::string dir, FileOrigin origin = {});
  ~RollingFileWriter();

  arrow::Status Write(const arrow::RecordBatch& batch);
  arrow::Status FlushRowGroup();
  /// Close the open file early; further rows go to a new one.
  arrow::Status EndFile();
  int64_t BufferedBytes() const;
  int64_t BytesWritten() const;
  /// Close the last file and hand all over.
  arrow::Result<std::vector<DataFileMeta>> Finish();

 private:
  arrow::Status OpenFile();
  arrow::Status WriteRows(const arrow::RecordBatch& batch);
  arrow::Status CloseFile();
  void DeleteQuietly(const std::string& name) const;

  TableContextPtr table_;
  std::shared_ptr<const DataFileSettings> settings_;
  std::string dir_;
  FileOrigin origin_;
  std::string uuid_;
  int64_t next_file_ = 0;
  int64_t next_sequence_ = 0;
  int64_t finished_bytes_ = 0;
  std::unique_ptr<FormatWriter> open_;
  std::unique_ptr<FileIndexWriter> open_indexes_;  ///< of the open file; null: none
  std::string open_name_;
  std::vector<DataFileMeta> files_;
};

}  // namespace kelda
