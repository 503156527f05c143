#include "kelda/write/file_rewriter.h"

#include <algorithm>
#include <limits>

#include "kelda/index/deletion_vector_rewrite.h"
#include "kelda/read/file_read.h"
#include "kelda/types/special_fields.h"
#include "kelda/write/append_writer.h"

namespace kelda {

namespace {

/// Give each file of `split` its deletion vector; how many have one.
arrow::Result<size_t> AttachVectors(const TableContext& table,
                                    const std::vector<IndexManifestEntry>& vectors, Split* split) {
  std::map<std::string_view, DeletionFile> by_file;
  for (const IndexManifestEntry& entry : vectors) {
    if (!entry.file.deletion_vectors) continue;
    ARROW_ASSIGN_OR_RAISE(std::string path,
                          IndexFilePath(table, split->partition, split->bucket, entry.file));
    for (const DeletionVectorRange& range : *entry.file.deletion_vectors) {
      by_file.emplace(range.data_file,
                      DeletionFile{path, range.offset, range.length, range.cardinality});
    }
  }
  size_t count = 0;
  split->deletion_files.assign(split->files.size(), std::nullopt);
  for (size_t i = 0; i < split->files.size(); ++i) {
    auto it = by_file.find(split->files[i].file_name);
    if (it == by_file.end()) continue;
    split->deletion_files[i] = it->second;
    ++count;
  }
  if (count == 0) split->deletion_files.clear();
  return count;
}

arrow::Status CopyRows(FormatReader* reader, const RewriteOptions& options,
                       MemoryReservation* reservation, RollingFileWriter* writer) {
  while (true) {
    ARROW_ASSIGN_OR_RAISE(auto batch, reader->Next());
    if (batch == nullptr) return arrow::Status::OK();
    if (batch->num_rows() == 0) continue;
    ARROW_RETURN_NOT_OK(writer->Write(*batch));
    if (!reservation->Resize(writer->BufferedBytes()).ok()) {
      ARROW_RETURN_NOT_OK(writer->FlushRowGroup());
      ARROW_RETURN_NOT_OK(reservation->Resize(writer->BufferedBytes()));
    }
    if (options.on_rows) options.on_rows(batch->num_rows());
  }
}

}  // namespace

arrow::Result<Split> EmptySplit(const TableContext& table, const std::string& partition,
                                int32_t bucket) {
  Split split;
  split.partition = partition;
  split.bucket = bucket;
  ARROW_ASSIGN_OR_RAISE(split.total_buckets, table.options.Get(OptionKeys::kBucket));
  ARROW_ASSIGN_OR_RAISE(split.partition_values,
                        DecodePartition(table.PartitionTypes(), partition, table.name));
  ARROW_ASSIGN_OR_RAISE(auto path, PartitionPath(table.PartitionFields(), split.partition_values,
                                                 table.partition_path_options));
  split.bucket_dir = table.paths.BucketDir(path, bucket);
  return split;
}

arrow::Result<std::shared_ptr<const DataFileSettings>> CompactionFileSettings(
    const TableContext& table) {
  ARROW_ASSIGN_OR_RAISE(bool row_tracking, table.options.Get(OptionKeys::kRowTrackingEnabled));
  if (!row_tracking) return DataFileSettings::Make(table);
  return DataFileSettings::Make(table, {RowIdField(), SequenceNumberField()});
}

arrow::Result<std::vector<DataFileMeta>> RewriteFiles(
    const TableContextPtr& table, const std::shared_ptr<const DataFileSettings>& settings,
    const Split& split, const RewriteOptions& options) {
  if (split.files.empty()) return std::vector<DataFileMeta>();
  ARROW_ASSIGN_OR_RAISE(auto reservation,
                        table->env.budget->TryReserve(0, "rewriting files of " + table->name));
  FileOrigin origin;
  origin.first_sequence = split.files[0].min_sequence_number;
  origin.file_source = kFileSourceCompact;
  RollingFileWriter writer(table, settings, split.bucket_dir, origin);
  TableReadOptions read;
  read.columns = settings->fields;
  read.token = options.token;
  for (const DataFileMeta& file : split.files) {
    ARROW_ASSIGN_OR_RAISE(auto reader, OpenDataFile(*table, split, file, read));
    ARROW_RETURN_NOT_OK(CopyRows(reader.get(), options, &reservation, &writer));
  }
  return writer.Finish();
}

arrow::Result<CommitMessage> CompactFiles(const TableContextPtr& table,
                                          const std::shared_ptr<const DataFileSettings>& settings,
                                          Split bucket, std::vector<DataFileMeta> files,
                                          const std::vector<IndexManifestEntry>& vectors,
                                          const RewriteOptions& options) {
  bucket.files = std::move(files);
  ARROW_ASSIGN_OR_RAISE(size_t deletions, AttachVectors(*table, vectors, &bucket));
  CommitMessage message;
  message.partition = bucket.partition;
  message.bucket = bucket.bucket;
  message.total_buckets = bucket.total_buckets;
  ARROW_ASSIGN_OR_RAISE(message.compact_after, RewriteFiles(table, settings, bucket, options));
  if (deletions > 0) {
    std::map<std::string, DeletionVectorPtr> dropped;
    for (const DataFileMeta& file : bucket.files) dropped.emplace(file.file_name, nullptr);
    auto rewrite =
        RewriteDeletionVectors(*table, bucket.partition, bucket.bucket, vectors, dropped);
    if (!rewrite.ok()) {
      DeleteFiles(*table, {message});
      return rewrite.status();
    }
    message.compact_deleted_index_files = std::move(rewrite->deleted);
    message.compact_new_index_files = std::move(rewrite->added);
  }
  message.compact_before = std::move(bucket.files);
  return message;
}

arrow::Result<CommitMessage> CompactRowGroups(const TableContextPtr& table, Split bucket,
                                              std::vector<DataFileMeta> files,
                                              const RewriteOptions& options) {
  ARROW_ASSIGN_OR_RAISE(auto of_table, DataFileSettings::Make(*table));
  auto settings = std::make_shared<DataFileSettings>(*of_table);
  // One file, as in Java: rows of one range of ids stay together.
  settings->target_file_size = std::numeric_limits<int64_t>::max();
  bucket.files = std::move(files);
  bucket.data_evolution = true;
  CommitMessage message;
  message.partition = bucket.partition;
  message.bucket = bucket.bucket;
  message.total_buckets = bucket.total_buckets;
  int64_t min_sequence = std::numeric_limits<int64_t>::max();
  int64_t max_sequence = 0;
  int64_t first_row_id = std::numeric_limits<int64_t>::max();
  for (const DataFileMeta& file : bucket.files) {
    min_sequence = std::min(min_sequence, file.min_sequence_number);
    max_sequence = std::max(max_sequence, file.max_sequence_number);
    first_row_id = std::min(first_row_id, file.first_row_id.value_or(0));
  }
  ARROW_ASSIGN_OR_RAISE(auto reservation,
                        table->env.budget->TryReserve(0, "rewriting files of " + table->name));
  RollingFileWriter writer(table, settings, bucket.bucket_dir);
  TableReadOptions read;
  read.columns = settings->fields;
  read.token = options.token;
  for (const ReadUnit& unit : ReadUnits(bucket)) {
    ARROW_ASSIGN_OR_RAISE(auto reader, OpenReadUnit(*table, bucket, unit, read));
    ARROW_RETURN_NOT_OK(CopyRows(reader.get(), options, &reservation, &writer));
  }
  ARROW_ASSIGN_OR_RAISE(message.compact_after, writer.Finish());
  for (DataFileMeta& file : message.compact_after) {
    file.first_row_id = first_row_id;
    first_row_id += file.row_count;
    file.min_sequence_number = min_sequence;
    file.max_sequence_number = max_sequence;
  }
  message.compact_before = std::move(bucket.files);
  return message;
}

}  // namespace kelda
