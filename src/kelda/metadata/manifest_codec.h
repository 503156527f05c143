#pragma once

#include <memory>
#include <vector>

#include <arrow/record_batch.h>

#include "kelda/metadata/manifest.h"

namespace kelda {

// Between the columns of Avro metadata files and the values of manifest.h. Field names and
// meanings: spec 01 §4.2.

/// Arrow schema of manifest entries, manifest list lines, index manifest lines: that of the Avro
/// schemas that Java writes.
const std::shared_ptr<arrow::Schema>& ManifestEntryArrowSchema();
const std::shared_ptr<arrow::Schema>& ManifestListArrowSchema();
const std::shared_ptr<arrow::Schema>& IndexManifestArrowSchema();

/// Row-wise view of a batch of manifest entries that may lack `_FILE._VALUE_STATS` (projection).
/// Borrows nothing: holds the batch. Make checks versions, kinds and nulls of all rows, so that the
/// accessors need not.
class ManifestEntryBatch {
 public:
  static arrow::Result<ManifestEntryBatch> Make(std::shared_ptr<arrow::RecordBatch> batch,
                                                const std::string& source);

  int64_t num_rows() const { return batch_->num_rows(); }
  EntryKind kind(int64_t row) const;
  std::string_view partition(int64_t row) const;
  /// Without `value_stats` the entry's value statistics stay empty, also when they are there.
  ManifestEntry Entry(int64_t row, bool value_stats = true) const;
  int64_t memory_bytes() const;

 private:
  struct Columns;
  std::shared_ptr<arrow::RecordBatch> batch_;
  std::shared_ptr<const Columns> columns_;
};

arrow::Result<std::vector<ManifestFileMeta>> DecodeManifestList(const arrow::RecordBatch& batch,
                                                                const std::string& source);
arrow::Result<std::vector<IndexManifestEntry>> DecodeIndexManifest(const arrow::RecordBatch& batch,
                                                                   const std::string& source);

arrow::Result<std::shared_ptr<arrow::RecordBatch>> EncodeManifestEntries(
    const std::vector<ManifestEntry>& entries);
arrow::Result<std::shared_ptr<arrow::RecordBatch>> EncodeManifestList(
    const std::vector<ManifestFileMeta>& metas);
arrow::Result<std::shared_ptr<arrow::RecordBatch>> EncodeIndexManifest(
    const std::vector<IndexManifestEntry>& entries);

}  // namespace kelda
