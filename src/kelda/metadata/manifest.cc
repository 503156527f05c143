#include "kelda/metadata/manifest.h"

#include <optional>
#include <unordered_map>

#include <arrow/record_batch.h>

#include "kelda/avro/paimon_schemas.h"
#include "kelda/avro/writer.h"
#include "kelda/base/bytes.h"
#include "kelda/metadata/decoded_manifest.h"
#include "kelda/metadata/manifest_codec.h"
#include "kelda/metadata/metadata_rows.h"
#include "kelda/row/binary_row.h"
#include "kelda/types/predicate.h"

namespace kelda {

namespace {

/// Larger manifests than this are refused: rolling keeps them near 8 MB.
constexpr int64_t kManifestMaxBytes = int64_t{2} << 30;
/// Entries turned into columns at once when writing.
constexpr size_t kWriteBatchEntries = 256;

void AppendText(std::string_view text, std::string* out) {
  const uint64_t size = text.size();
  out->append(reinterpret_cast<const char*>(&size), sizeof(size));
  out->append(text);
}

/// Everything of a file but its value statistics.
const std::vector<std::string>& PathsWithoutValueStats() {
  static const std::vector<std::string> paths = {"_VERSION",
                                                 "_KIND",
                                                 "_PARTITION",
                                                 "_BUCKET",
                                                 "_TOTAL_BUCKETS",
                                                 "_FILE._FILE_NAME",
                                                 "_FILE._FILE_SIZE",
                                                 "_FILE._ROW_COUNT",
                                                 "_FILE._MIN_KEY",
                                                 "_FILE._MAX_KEY",
                                                 "_FILE._KEY_STATS",
                                                 "_FILE._MIN_SEQUENCE_NUMBER",
                                                 "_FILE._MAX_SEQUENCE_NUMBER",
                                                 "_FILE._SCHEMA_ID",
                                                 "_FILE._LEVEL",
                                                 "_FILE._EXTRA_FILES",
                                                 "_FILE._CREATION_TIME",
                                                 "_FILE._DELETE_ROW_COUNT",
                                                 "_FILE._EMBEDDED_FILE_INDEX",
                                                 "_FILE._FILE_SOURCE",
                                                 "_FILE._EXTERNAL_PATH",
                                                 "_FILE._FIRST_ROW_ID",
                                                 "_FILE._WRITE_COLS"};
  return paths;
}

}  // namespace

SimpleStats SimpleStats::Empty() {
  return SimpleStats{EmptySerializedRow(), EmptySerializedRow(), {}};
}

std::string ManifestEntry::Identity() const {
  std::string id;
  id.reserve(partition.size() + file.file_name.size() + 48);
  AppendText(partition, &id);
  id.append(reinterpret_cast<const char*>(&bucket), sizeof(bucket));
  id.append(reinterpret_cast<const char*>(&file.level), sizeof(file.level));
  AppendText(file.file_name, &id);
  for (const std::string& extra : file.extra_files) AppendText(extra, &id);
  id.push_back(file.embedded_file_index ? 'i' : '-');
  if (file.embedded_file_index) AppendText(*file.embedded_file_index, &id);
  if (file.external_path) AppendText(*file.external_path, &id);
  return id;
}

arrow::Result<std::string> AvroCodecOfOption(const std::string& compression) {
  if (compression == "zstd" || compression == "zstandard") return "zstandard";
  if (compression == "null" || compression == "deflate" || compression == "snappy")
    return compression;
  if (compression == "bzip2" || compression == "xz") {
    return Unsupported("option 'manifest.compression' = '{}'; use zstd, deflate, snappy or null",
                       compression);
  }
  return Invalid(
      "option 'manifest.compression' = '{}' is no Avro codec; use zstd, deflate, snappy or null",
      compression);
}

// ---- reading
// -------------------------------------------------------------------------------------------------------

arrow::Result<std::shared_ptr<arrow::Buffer>> ManifestReader::ReadFile(
    const std::string& path) const {
  if (cache_ != nullptr) {
    if (auto bytes = cache_->Get(path)) return bytes;
  }
  ARROW_ASSIGN_OR_RAISE(std::string bytes, io_->ReadAll(path, kManifestMaxBytes));
  std::shared_ptr<arrow::Buffer> buffer = arrow::Buffer::FromString(std::move(bytes));
  if (cache_ != nullptr) cache_->Put(path, buffer);
  return buffer;
}

arrow::Result<std::vector<ManifestFileMeta>> ManifestReader::ReadList(
    const std::string& name, std::optional<int64_t> size) const {
  const std::string path = paths_.ManifestFile(name);
  ARROW_ASSIGN_OR_RAISE(auto bytes, ReadFile(path));
  if (size && *size != bytes->size()) {
    return Corruption("corrupt manifest list '{}': it has {} bytes, its snapshot says {}", path,
                      bytes->size(), *size);
  }
  ARROW_ASSIGN_OR_RAISE(
      auto reader, MetadataRows::Open(*io_, std::move(bytes), path, ManifestListArrowSchema()));
  std::vector<ManifestFileMeta> metas;
  while (true) {
    ARROW_ASSIGN_OR_RAISE(auto batch, reader->Next());
    if (batch == nullptr) return metas;
    ARROW_ASSIGN_OR_RAISE(auto decoded, DecodeManifestList(*batch, path));
    metas.insert(metas.end(), std::make_move_iterator(decoded.begin()),
                 std::make_move_iterator(decoded.end()));
  }
}

namespace {

using EntrySink = std::function<arrow::Status(ManifestEntry&&)>;

/// Which of a manifest's partitions a filter wants.
class PartitionAnswers {
 public:
  /// Asks once for each partition. Without a filter all are wanted.
  arrow::Status Ask(const std::function<arrow::Result<bool>(std::string_view)>& filter,
                    const DecodedManifest& manifest) {
    if (!filter) return arrow::Status::OK();
    for (const std::string& partition : manifest.partitions()) {
      ARROW_ASSIGN_OR_RAISE(bool accepts, filter(partition));
      accepted_.push_back(accepts);
      any_ = any_ || accepts;
    }
    partition_of_entry_ = &manifest.partition_of_entry();
    return arrow::Status::OK();
  }
  bool any() const { return partition_of_entry_ == nullptr || any_; }
  /// True if there is an answer for each of so many entries.
  bool Covers(int64_t entries) const {
    return partition_of_entry_ == nullptr ||
           entries <= static_cast<int64_t>(partition_of_entry_->size());
  }
  bool Accepts(int64_t entry) const {
    return partition_of_entry_ == nullptr || accepted_[(*partition_of_entry_)[entry]] != 0;
  }

 private:
  std::vector<uint8_t> accepted_;
  bool any_ = false;
  const std::vector<uint32_t>* partition_of_entry_ = nullptr;  ///< null: no filter
};

arrow::Status CheckManifestSize(const std::string& path, int64_t size,
                                const ManifestFileMeta& manifest) {
  if (size == manifest.file_size) return arrow::Status::OK();
  return Corruption("corrupt manifest '{}': it has {} bytes, its list says {}", path, size,
                    manifest.file_size);
}

/// The partitions alone: decoding the rest of the entries is the dear part.
arrow::Result<std::shared_ptr<const DecodedManifest>> DecodePartitions(
    FileIO& io, const std::shared_ptr<arrow::Buffer>& bytes, const std::string& path) {
  ARROW_ASSIGN_OR_RAISE(auto reader, MetadataRows::Open(io, bytes, path, ManifestEntryArrowSchema(),
                                                        std::vector<std::string>{"_PARTITION"}));
  DecodedManifest::Builder builder(DecodedManifest::Depth::kPartitions, bytes->size());
  while (true) {
    ARROW_ASSIGN_OR_RAISE(auto batch, reader->Next());
    if (batch == nullptr) return builder.Finish();
    const auto& partitions = static_cast<const arrow::BinaryArray&>(*batch->column(0));
    for (int64_t i = 0; i < partitions.length(); ++i) builder.AddPartition(partitions.GetView(i));
  }
}

/// Gives the wanted entries of `batch`, whose first one is entry `first` of the manifest, to
/// `sink`.
arrow::Status SinkEntries(const ManifestEntryBatch& batch, int64_t first,
                          const PartitionAnswers& answers,
                          const ManifestReader::EntryOptions& options, const EntrySink& sink) {
  for (int64_t row = 0; row < batch.num_rows(); ++row) {
    if (!answers.Accepts(first + row)) continue;
    if (options.only_deletes && batch.kind(row) != EntryKind::kDelete) continue;
    ARROW_RETURN_NOT_OK(sink(batch.Entry(row, options.value_stats)));
  }
  return arrow::Status::OK();
}

}  // namespace

arrow::Status ManifestReader::ReadEntries(const ManifestFileMeta& manifest,
                                          const EntryOptions& options,
                                          const EntrySink& sink) const {
  using Depth = DecodedManifest::Depth;
  const Depth wanted = options.value_stats ? Depth::kAll : Depth::kWithoutValueStats;
  const std::string path = paths_.ManifestFile(manifest.file_name);
  auto known = cache_ == nullptr ? nullptr : cache_->GetDecoded(path);
  std::shared_ptr<arrow::Buffer> bytes;
  auto read_file = [&]() -> arrow::Status {
    if (bytes != nullptr) return arrow::Status::OK();
    ARROW_ASSIGN_OR_RAISE(std::string text, io_->ReadAll(path, kManifestMaxBytes));
    bytes = arrow::Buffer::FromString(std::move(text));
    return CheckManifestSize(path, bytes->size(), manifest);
  };
  if (known != nullptr) ARROW_RETURN_NOT_OK(CheckManifestSize(path, known->file_size(), manifest));
  PartitionAnswers answers;
  if (options.partition_filter) {
    if (known == nullptr) {
      ARROW_RETURN_NOT_OK(read_file());
      ARROW_ASSIGN_OR_RAISE(known, DecodePartitions(*io_, bytes, path));
      if (cache_ != nullptr) cache_->PutDecoded(path, known);
    }
    ARROW_RETURN_NOT_OK(answers.Ask(options.partition_filter, *known));
    if (!answers.any()) return arrow::Status::OK();
  }
  int64_t first = 0;
  if (known != nullptr && known->depth() >= wanted) {
    for (const ManifestEntryBatch& batch : known->batches()) {
      ARROW_RETURN_NOT_OK(SinkEntries(batch, first, answers, options, sink));
      first += batch.num_rows();
    }
    return arrow::Status::OK();
  }
  ARROW_RETURN_NOT_OK(read_file());
  const int64_t file_size = bytes->size();
  std::optional<std::vector<std::string>> projection;
  if (!options.value_stats) projection = PathsWithoutValueStats();
  ARROW_ASSIGN_OR_RAISE(auto reader, MetadataRows::Open(*io_, std::move(bytes), path,
                                                        ManifestEntryArrowSchema(), projection));
  std::optional<DecodedManifest::Builder> kept;
  if (cache_ != nullptr) kept.emplace(wanted, file_size);
  while (true) {
    ARROW_ASSIGN_OR_RAISE(auto batch, reader->Next());
    if (batch == nullptr) break;
    ARROW_ASSIGN_OR_RAISE(auto view, ManifestEntryBatch::Make(std::move(batch), path));
    if (!answers.Covers(first + view.num_rows()))
      return Corruption("corrupt manifest '{}': it changed while it was read", path);
    ARROW_RETURN_NOT_OK(SinkEntries(view, first, answers, options, sink));
    first += view.num_rows();
    if (!kept) continue;
    kept->AddBatch(view);
    if (kept->memory_bytes() > cache_->item_bytes_max()) kept.reset();
  }
  if (kept) cache_->PutDecoded(path, kept->Finish());
  return arrow::Status::OK();
}

arrow::Result<std::vector<ManifestEntry>> ManifestReader::ReadEntries(
    const ManifestFileMeta& manifest) const {
  std::vector<ManifestEntry> entries;
  ARROW_RETURN_NOT_OK(ReadEntries(manifest, EntryOptions(), [&](ManifestEntry&& entry) {
    entries.push_back(std::move(entry));
    return arrow::Status::OK();
  }));
  return entries;
}

arrow::Result<std::vector<IndexManifestEntry>> ManifestReader::ReadIndexManifest(
    const std::string& name) const {
  const std::string path = paths_.ManifestFile(name);
  ARROW_ASSIGN_OR_RAISE(auto bytes, ReadFile(path));
  ARROW_ASSIGN_OR_RAISE(
      auto reader, MetadataRows::Open(*io_, std::move(bytes), path, IndexManifestArrowSchema()));
  std::vector<IndexManifestEntry> entries;
  while (true) {
    ARROW_ASSIGN_OR_RAISE(auto batch, reader->Next());
    if (batch == nullptr) return entries;
    ARROW_ASSIGN_OR_RAISE(auto decoded, DecodeIndexManifest(*batch, path));
    entries.insert(entries.end(), std::make_move_iterator(decoded.begin()),
                   std::make_move_iterator(decoded.end()));
  }
}

// ---- writing
// -------------------------------------------------------------------------------------------------------

namespace {

/// Full statistics of the partition columns over the entries of one manifest.
class PartitionStatsCollector {
 public:
  explicit PartitionStatsCollector(const std::vector<DataField>& fields) {
    for (const DataField& field : fields) types_.push_back(field.type.WithNullable(true));
    min_.resize(types_.size());
    max_.resize(types_.size());
    null_counts_.resize(types_.size(), 0);
  }

  arrow::Status Add(const std::string& partition) {
    auto it = nulls_of_.find(partition);
    if (it == nulls_of_.end()) {
      ARROW_ASSIGN_OR_RAISE(SerializedRow row, ParseSerializedRow(partition, "partition"));
      if (row.arity != static_cast<int32_t>(types_.size())) {
        return Invalid("a partition of {} values for a table with {} partition keys", row.arity,
                       types_.size());
      }
      ARROW_ASSIGN_OR_RAISE(auto values, DecodeBinaryRow(types_, row.row, "partition"));
      std::vector<bool> nulls;
      for (size_t i = 0; i < values.size(); ++i) {
        nulls.push_back(!values[i]->is_valid);
        if (!values[i]->is_valid) continue;
        if (min_[i] == nullptr || CompareScalars(*values[i], *min_[i]) < 0) min_[i] = values[i];
        if (max_[i] == nullptr || CompareScalars(*values[i], *max_[i]) > 0) max_[i] = values[i];
      }
      it = nulls_of_.emplace(partition, std::move(nulls)).first;
    }
    for (size_t i = 0; i < types_.size(); ++i) null_counts_[i] += it->second[i] ? 1 : 0;
    return arrow::Status::OK();
  }

  arrow::Result<SimpleStats> Finish() const {
    SimpleStats stats;
    const auto arity = static_cast<int32_t>(types_.size());
    ARROW_ASSIGN_OR_RAISE(std::string min, EncodeBinaryRow(types_, min_));
    ARROW_ASSIGN_OR_RAISE(std::string max, EncodeBinaryRow(types_, max_));
    stats.min_values = SerializeRow(arity, min);
    stats.max_values = SerializeRow(arity, max);
    for (int64_t count : null_counts_) stats.null_counts.emplace_back(count);
    return stats;
  }

 private:
  std::vector<DataType> types_;
  std::vector<std::shared_ptr<arrow::Scalar>> min_, max_;
  std::vector<int64_t> null_counts_;
  std::unordered_map<std::string, std::vector<bool>> nulls_of_;
};

template <typename T>
void Widen(T value, std::optional<T>* min, std::optional<T>* max) {
  if (!*min || value < **min) *min = value;
  if (!*max || value > **max) *max = value;
}

}  // namespace

/// The manifest file being written, and what its line in the list will say.
class ManifestWriter::OpenManifest {
 public:
  OpenManifest(std::string name, std::shared_ptr<arrow::io::OutputStream> stream,
               std::unique_ptr<avro::AvroFileWriter> writer,
               const std::vector<DataField>& partition_fields)
      : stream_(std::move(stream)), writer_(std::move(writer)), partition_stats_(partition_fields) {
    meta_.file_name = std::move(name);
    meta_.schema_id = INT64_MIN;
  }

  /// Write entries from `begin` on until the file reached `target_bytes`; returns the first one not
  /// written.
  arrow::Result<size_t> Write(const std::vector<ManifestEntry>& entries, size_t begin,
                              int64_t target_bytes) {
    ARROW_ASSIGN_OR_RAISE(auto batch, EncodeManifestEntries(entries));
    ARROW_ASSIGN_OR_RAISE(int64_t end,
                          writer_->WriteUntil(batch, static_cast<int64_t>(begin), target_bytes));
    for (size_t i = begin; i < static_cast<size_t>(end); ++i)
      ARROW_RETURN_NOT_OK(Count(entries[i]));
    return static_cast<size_t>(end);
  }

  bool Full(int64_t target_bytes) const { return writer_->position() >= target_bytes; }

  arrow::Result<ManifestFileMeta> Finish() {
    ARROW_RETURN_NOT_OK(writer_->Finish());
    ARROW_ASSIGN_OR_RAISE(meta_.file_size, stream_->Tell());
    ARROW_RETURN_NOT_OK(stream_->Close());
    ARROW_ASSIGN_OR_RAISE(meta_.partition_stats, partition_stats_.Finish());
    if (!all_have_row_ids_) meta_.min_row_id = meta_.max_row_id = std::nullopt;
    return meta_;
  }

 private:
  arrow::Status Count(const ManifestEntry& entry) {
    ++(entry.kind == EntryKind::kAdd ? meta_.num_added_files : meta_.num_deleted_files);
    meta_.schema_id = std::max(meta_.schema_id, entry.file.schema_id);
    Widen(entry.bucket, &meta_.min_bucket, &meta_.max_bucket);
    Widen(entry.file.level, &meta_.min_level, &meta_.max_level);
    if (entry.file.first_row_id) {
      Widen(*entry.file.first_row_id, &meta_.min_row_id, &meta_.max_row_id);
      Widen(*entry.file.first_row_id + entry.file.row_count - 1, &meta_.min_row_id,
            &meta_.max_row_id);
    } else {
      all_have_row_ids_ = false;
    }
    return partition_stats_.Add(entry.partition);
  }

  std::shared_ptr<arrow::io::OutputStream> stream_;
  std::unique_ptr<avro::AvroFileWriter> writer_;
  PartitionStatsCollector partition_stats_;
  ManifestFileMeta meta_;
  bool all_have_row_ids_ = true;
};

ManifestWriter::ManifestWriter(std::shared_ptr<FileIO> io, TablePaths paths,
                               std::vector<DataField> partition_fields, MetadataFileNames* names,
                               ManifestWriterOptions options)
    : io_(std::move(io)),
      paths_(std::move(paths)),
      partition_fields_(std::move(partition_fields)),
      names_(names),
      options_(std::move(options)) {}

ManifestWriter::~ManifestWriter() = default;

arrow::Status ManifestWriter::Add(ManifestEntry entry) {
  if (options_.delete_file_drop_stats && entry.kind == EntryKind::kDelete) {
    entry.file.value_stats = SimpleStats::Empty();
    entry.file.value_stats_cols = std::vector<std::string>();
  }
  pending_.push_back(std::move(entry));
  return pending_.size() < kWriteBatchEntries ? arrow::Status::OK() : WritePending();
}

arrow::Status ManifestWriter::WritePending() {
  size_t begin = 0;
  while (begin < pending_.size()) {
    if (open_ == nullptr) ARROW_RETURN_NOT_OK(OpenNext());
    ARROW_ASSIGN_OR_RAISE(begin, open_->Write(pending_, begin, options_.target_file_size));
    if (open_->Full(options_.target_file_size)) ARROW_RETURN_NOT_OK(CloseOpen());
  }
  pending_.clear();
  return arrow::Status::OK();
}

arrow::Result<std::unique_ptr<avro::AvroFileWriter>> ManifestWriter::CreateFile(
    const std::string& name, std::string_view schema,
    std::shared_ptr<arrow::io::OutputStream>* stream) {
  const std::string path = paths_.ManifestFile(name);
  ARROW_ASSIGN_OR_RAISE(*stream, io_->CreateNew(path));
  created_paths_.push_back(path);
  avro::WriteOptions write;
  write.codec = options_.codec;
  if (options_.codec == "zstandard") write.level = options_.zstd_level;
  return avro::AvroFileWriter::Make(*stream, schema, write);
}

arrow::Status ManifestWriter::OpenNext() {
  const std::string name = names_->NextManifest();
  std::shared_ptr<arrow::io::OutputStream> stream;
  ARROW_ASSIGN_OR_RAISE(auto writer, CreateFile(name, avro::kManifestSchema, &stream));
  open_ =
      std::make_unique<OpenManifest>(name, std::move(stream), std::move(writer), partition_fields_);
  return arrow::Status::OK();
}

arrow::Status ManifestWriter::CloseOpen() {
  ARROW_ASSIGN_OR_RAISE(auto meta, open_->Finish());
  open_.reset();
  finished_.push_back(std::move(meta));
  return arrow::Status::OK();
}

arrow::Result<std::vector<ManifestFileMeta>> ManifestWriter::FinishEntries() {
  ARROW_RETURN_NOT_OK(WritePending());
  if (open_ != nullptr) ARROW_RETURN_NOT_OK(CloseOpen());
  return std::exchange(finished_, {});
}

arrow::Result<ManifestWriter::ListFile> ManifestWriter::WriteList(
    const std::vector<ManifestFileMeta>& metas) {
  ListFile list;
  list.name = names_->NextManifestList();
  std::shared_ptr<arrow::io::OutputStream> stream;
  ARROW_ASSIGN_OR_RAISE(auto writer, CreateFile(list.name, avro::kManifestListSchema, &stream));
  ARROW_ASSIGN_OR_RAISE(auto batch, EncodeManifestList(metas));
  ARROW_RETURN_NOT_OK(writer->Write(batch));
  ARROW_RETURN_NOT_OK(writer->Finish());
  ARROW_ASSIGN_OR_RAISE(list.size, stream->Tell());
  ARROW_RETURN_NOT_OK(stream->Close());
  return list;
}

arrow::Result<ManifestWriter::ListFile> ManifestWriter::WriteIndexManifest(
    const std::vector<IndexManifestEntry>& entries) {
  ListFile list;
  list.name = names_->NextIndexManifest();
  std::shared_ptr<arrow::io::OutputStream> stream;
  ARROW_ASSIGN_OR_RAISE(auto writer, CreateFile(list.name, avro::kIndexManifestSchema, &stream));
  ARROW_ASSIGN_OR_RAISE(auto batch, EncodeIndexManifest(entries));
  ARROW_RETURN_NOT_OK(writer->Write(batch));
  ARROW_RETURN_NOT_OK(writer->Finish());
  ARROW_ASSIGN_OR_RAISE(list.size, stream->Tell());
  ARROW_RETURN_NOT_OK(stream->Close());
  return list;
}

}  // namespace kelda
