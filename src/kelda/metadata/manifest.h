#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "kelda/base/cancellation.h"
#include "kelda/io/file_io.h"
#include "kelda/metadata/manifest_cache.h"
#include "kelda/metadata/table_paths.h"
#include "kelda/types/data_type.h"

namespace kelda {

namespace avro {
class AvroFileWriter;
}

/// SimpleStats of spec 01 §5.7: serialized rows of bounds and one null count per column (nullopt =
/// unknown).
struct SimpleStats {
  std::string min_values;
  std::string max_values;
  std::vector<std::optional<int64_t>> null_counts;

  /// Two empty rows and no null counts.
  static SimpleStats Empty();
  bool operator==(const SimpleStats&) const = default;
};

/// What a manifest says of one data file (spec 01 §4.2, DataFileMeta). `nullopt` = the field is
/// null or missing.
struct DataFileMeta {
  std::string file_name;
  int64_t file_size = 0;
  int64_t row_count = 0;
  std::string min_key;  ///< serialized row
  std::string max_key;
  SimpleStats key_stats;
  SimpleStats value_stats;
  int64_t min_sequence_number = 0;
  int64_t max_sequence_number = 0;
  int64_t schema_id = 0;
  int32_t level = 0;
  std::vector<std::string> extra_files;
  std::optional<int64_t>
      creation_time_millis;  ///< local wall clock stored as if UTC (spec 01 §4.2)
  std::optional<int64_t> delete_row_count;
  std::optional<std::string> embedded_file_index;
  std::optional<int32_t> file_source;  ///< 0 APPEND, 1 COMPACT
  std::optional<std::vector<std::string>> value_stats_cols;
  std::optional<std::string> external_path;
  std::optional<int64_t> first_row_id;
  std::optional<std::vector<std::string>> write_cols;
};

inline constexpr int32_t kFileSourceAppend = 0;
inline constexpr int32_t kFileSourceCompact = 1;

enum class EntryKind : int32_t { kAdd = 0, kDelete = 1 };

struct ManifestEntry {
  EntryKind kind = EntryKind::kAdd;
  std::string partition;  ///< serialized row of the partition columns
  int32_t bucket = 0;
  int32_t total_buckets = -1;
  DataFileMeta file;

  /// Bytes that are equal exactly for entries of the same identity (spec 01 §4.5).
  std::string Identity() const;
};

/// One line of a manifest list.
struct ManifestFileMeta {
  std::string file_name;
  int64_t file_size = 0;
  int64_t num_added_files = 0;
  int64_t num_deleted_files = 0;
  SimpleStats partition_stats;
  int64_t schema_id = 0;
  std::optional<int32_t> min_bucket, max_bucket;
  std::optional<int32_t> min_level, max_level;
  std::optional<int64_t> min_row_id, max_row_id;
};

/// Where one deletion vector lies in an index file (spec 01 §7.1).
struct DeletionVectorRange {
  std::string data_file;  ///< bare name of the data file whose rows are deleted
  int32_t offset = 0;     ///< of the record's size field
  int32_t length = 0;     ///< as stored: without size and checksum for 32-bit vectors
  std::optional<int64_t> cardinality;
  bool operator==(const DeletionVectorRange&) const = default;
};

/// Row ids and field that a global index covers (spec 01 §7.9).
struct GlobalIndexMeta {
  int64_t row_range_start = 0;
  int64_t row_range_end = 0;  ///< inclusive
  int32_t field_id = 0;
  std::optional<std::vector<int32_t>> extra_field_ids;
  std::optional<std::string> meta;
  bool operator==(const GlobalIndexMeta&) const = default;
};

inline constexpr std::string_view kDeletionVectorsIndex = "DELETION_VECTORS";
inline constexpr std::string_view kHashIndex = "HASH";

/// One index file (IndexFileMeta).
struct IndexFileMeta {
  std::string index_type;
  std::string file_name;
  int64_t file_size = 0;
  int64_t row_count = 0;  ///< hashes, vectors or rows covered, by type
  std::optional<std::vector<DeletionVectorRange>> deletion_vectors;  ///< in file order
  std::optional<std::string> external_path;
  std::optional<GlobalIndexMeta> global_index;
  bool operator==(const IndexFileMeta&) const = default;
};

/// One line of an index manifest.
struct IndexManifestEntry {
  EntryKind kind = EntryKind::kAdd;
  std::string partition;  ///< serialized row
  int32_t bucket = 0;
  IndexFileMeta file;
  bool operator==(const IndexManifestEntry&) const = default;
};

/// Reads manifests of one table. Thread-safe.
class ManifestReader {
 public:
  /// `cache` may be null.
  ManifestReader(std::shared_ptr<FileIO> io, TablePaths paths, std::shared_ptr<ManifestCache> cache)
      : io_(std::move(io)), paths_(std::move(paths)), cache_(std::move(cache)) {}

  /// `size` is checked against the file when known.
  arrow::Result<std::vector<ManifestFileMeta>> ReadList(const std::string& name,
                                                        std::optional<int64_t> size) const;
  /// What of each entry is wanted.
  struct EntryOptions {
    /// Called once for each distinct `_PARTITION` value; entries of a partition it refuses are not
    /// built. Null = all.
    std::function<arrow::Result<bool>(std::string_view serialized_partition)> partition_filter;
    bool value_stats = true;    ///< false: value_stats stays empty (saves memory)
    bool only_deletes = false;  ///< build DELETE entries only
  };
  /// The size in `manifest` is checked: a file cut at the end of a block would pass for a shorter
  /// one.
  arrow::Status ReadEntries(const ManifestFileMeta& manifest, const EntryOptions& options,
                            const std::function<arrow::Status(ManifestEntry&&)>& sink) const;
  arrow::Result<std::vector<ManifestEntry>> ReadEntries(const ManifestFileMeta& manifest) const;
  arrow::Result<std::vector<IndexManifestEntry>> ReadIndexManifest(const std::string& name) const;

 private:
  arrow::Result<std::shared_ptr<arrow::Buffer>> ReadFile(const std::string& path) const;

  std::shared_ptr<FileIO> io_;
  TablePaths paths_;
  std::shared_ptr<ManifestCache> cache_;
};

struct ManifestWriterOptions {
  std::string codec = "zstandard";  ///< Avro codec name, see AvroCodecOfOption
  int zstd_level = 1;
  int64_t target_file_size = 8 << 20;  ///< `manifest.target-file-size`
  bool delete_file_drop_stats = false;
};

/// Avro codec for option `manifest.compression` (spec 01 §4.1): zstd -> zstandard, others by name.
arrow::Result<std::string> AvroCodecOfOption(const std::string& compression);

/// Writes manifests and manifest lists of one table. Every file it created is remembered so that a
/// failed commit can remove them. Not thread-safe.
class ManifestWriter {
 public:
  ManifestWriter(std::shared_ptr<FileIO> io, TablePaths paths,
                 std::vector<DataField> partition_fields, MetadataFileNames* names,
                 ManifestWriterOptions options);
  ~ManifestWriter();

  /// Append one entry to the manifest being written; rolled at the target size. Entries keep their
  /// order.
  arrow::Status Add(ManifestEntry entry);
  /// Close the open manifest and return all that were written since the last FinishEntries.
  arrow::Result<std::vector<ManifestFileMeta>> FinishEntries();

  struct ListFile {
    std::string name;
    int64_t size = 0;
  };
  arrow::Result<ListFile> WriteList(const std::vector<ManifestFileMeta>& metas);
  /// One index manifest: the complete list of index files of a snapshot.
  arrow::Result<ListFile> WriteIndexManifest(const std::vector<IndexManifestEntry>& entries);

  const std::vector<std::string>& created_paths() const { return created_paths_; }

 private:
  class OpenManifest;

  arrow::Status WritePending();
  arrow::Status OpenNext();
  arrow::Status CloseOpen();
  arrow::Result<std::unique_ptr<avro::AvroFileWriter>> CreateFile(
      const std::string& name, std::string_view schema,
      std::shared_ptr<arrow::io::OutputStream>* stream);

  std::shared_ptr<FileIO> io_;
  TablePaths paths_;
  std::vector<DataField> partition_fields_;
  MetadataFileNames* names_;
  ManifestWriterOptions options_;
  std::vector<ManifestEntry> pending_;
  std::unique_ptr<OpenManifest> open_;
  std::vector<ManifestFileMeta> finished_;
  std::vector<std::string> created_paths_;
};

}  // namespace kelda
