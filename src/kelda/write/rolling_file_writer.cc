#include "kelda/write/rolling_file_writer.h"

#include <algorithm>

#include "kelda/base/log.h"

namespace kelda {

namespace {

/// Rows given to the format writer between two looks at the size; Java looks every 1000 rows, which
/// costs nothing there.
constexpr int64_t kRollCheckRows = 16 * 1024;
/// What indexes hold back cannot be written out but by closing the file, which pays from here on.
constexpr int64_t kIndexBytesToClose = 16 << 20;

}  // namespace

arrow::Result<std::shared_ptr<const DataFileSettings>> DataFileSettings::Make(
    const TableContext& table, const std::vector<DataField>& extra) {
  auto settings = std::make_shared<DataFileSettings>();
  settings->fields = table.fields();
  if (!extra.empty()) {
    settings->fields.insert(settings->fields.end(), extra.begin(), extra.end());
    settings->write_cols.emplace();
    for (const DataField& field : settings->fields) settings->write_cols->push_back(field.name);
  }
  const Options& o = table.options;
  ARROW_ASSIGN_OR_RAISE(settings->data_evolution, o.Get(OptionKeys::kDataEvolutionEnabled));
  ARROW_ASSIGN_OR_RAISE(auto format, o.Get(OptionKeys::kFileFormat));
  ARROW_ASSIGN_OR_RAISE(settings->format, FindFormat(format));
  ARROW_RETURN_NOT_OK(settings->format->CheckTypes(settings->fields));
  ARROW_ASSIGN_OR_RAISE(settings->writer.compression, o.Get(OptionKeys::kFileCompression));
  ARROW_ASSIGN_OR_RAISE(settings->writer.zstd_level, o.Get(OptionKeys::kFileCompressionZstdLevel));
  ARROW_ASSIGN_OR_RAISE(settings->writer.block_size_bytes, o.Find(OptionKeys::kFileBlockSize));
  const std::string own_prefix = format + ".";
  for (const auto& [key, value] : o.values()) {
    if (key.starts_with(own_prefix)) settings->writer.format_options[key] = value;
  }
  ARROW_ASSIGN_OR_RAISE(settings->stats, ValueStatsRule::Make(table, settings->fields));
  settings->writer.collect_stats = settings->stats.collects();
  ARROW_ASSIGN_OR_RAISE(settings->indexes, FileIndexSettings::Make(table));
  ARROW_ASSIGN_OR_RAISE(settings->prefix, o.Get(OptionKeys::kDataFilePrefix));
  ARROW_ASSIGN_OR_RAISE(bool include, o.Get(OptionKeys::kFileSuffixIncludeCompression));
  settings->extension = FileExtension(format, settings->writer.compression, include);
  ARROW_ASSIGN_OR_RAISE(settings->target_file_size,
                        o.TargetFileSizeBytes(/*has_primary_key=*/false));
  return settings;
}

RollingFileWriter::RollingFileWriter(TableContextPtr table,
                                     std::shared_ptr<const DataFileSettings> settings,
                                     std::string dir, FileOrigin origin)
    : table_(std::move(table)),
      settings_(std::move(settings)),
      dir_(std::move(dir)),
      origin_(origin),
      uuid_(table_->env.random->Uuid()),
      next_sequence_(origin.first_sequence) {}

RollingFileWriter::~RollingFileWriter() {
  open_.reset();
  for (const DataFileMeta& file : files_) {
    DeleteQuietly(file.file_name);
    for (const std::string& extra : file.extra_files) DeleteQuietly(extra);
  }
}

void RollingFileWriter::DeleteQuietly(const std::string& name) const {
  auto status = table_->env.io->DeleteFile(JoinPath(dir_, name));
  if (!status.ok()) {
    KELDA_LOG(Warn, "table {}: file of a failed write stays behind: {}", table_->name,
              status.message());
  }
}

arrow::Status RollingFileWriter::OpenFile() {
  open_name_ =
      fmt::format("{}{}-{}{}", settings_->prefix, uuid_, next_file_++, settings_->extension);
  if (!settings_->indexes.specs.empty()) {
    ARROW_ASSIGN_OR_RAISE(open_indexes_, FileIndexWriter::Make(&settings_->indexes.specs));
  }
  ARROW_ASSIGN_OR_RAISE(open_,
                        settings_->format->CreateWriter(*table_->env.io, JoinPath(dir_, open_name_),
                                                        settings_->fields, settings_->writer));
  return arrow::Status::OK();
}

arrow::Status RollingFileWriter::WriteRows(const arrow::RecordBatch& batch) {
  if (open_indexes_ != nullptr) ARROW_RETURN_NOT_OK(open_indexes_->Write(batch));
  return open_->Write(batch);
}

int64_t RollingFileWriter::BufferedBytes() const {
  return (open_ == nullptr ? 0 : open_->BufferedBytes()) +
         (open_indexes_ == nullptr ? 0 : open_indexes_->BufferedBytes());
}

arrow::Status RollingFileWriter::Write(const arrow::RecordBatch& batch) {
  for (int64_t begin = 0; begin < batch.num_rows();) {
    if (open_ == nullptr) ARROW_RETURN_NOT_OK(OpenFile());
    const int64_t rows = std::min(kRollCheckRows, batch.num_rows() - begin);
    if (rows == batch.num_rows()) {
      ARROW_RETURN_NOT_OK(WriteRows(batch));
    } else {
      ARROW_RETURN_NOT_OK(WriteRows(*batch.Slice(begin, rows)));
    }
    begin += rows;
    const int64_t index_bytes = open_indexes_ == nullptr ? 0 : open_indexes_->BufferedBytes();
    if (open_->EstimatedBytes() >= settings_->target_file_size ||
        index_bytes >= std::max(settings_->target_file_size, kIndexBytesToClose)) {
      ARROW_RETURN_NOT_OK(CloseFile());
    }
  }
  return arrow::Status::OK();
}

arrow::Status RollingFileWriter::FlushRowGroup() {
  if (open_ == nullptr) return arrow::Status::OK();
  if (open_indexes_ != nullptr && open_indexes_->BufferedBytes() >= kIndexBytesToClose)
    return CloseFile();
  return open_->FlushRowGroup();
}

arrow::Status RollingFileWriter::EndFile() {
  return open_ == nullptr ? arrow::Status::OK() : CloseFile();
}

int64_t RollingFileWriter::BytesWritten() const {
  return finished_bytes_ + (open_ == nullptr ? 0 : open_->EstimatedBytes());
}

arrow::Status RollingFileWriter::CloseFile() {
  ARROW_ASSIGN_OR_RAISE(WrittenFile written, open_->Finish());
  open_.reset();
  DataFileMeta meta;
  meta.file_name = open_name_;
  meta.file_size = written.size_bytes;
  meta.row_count = written.row_count;
  meta.min_key = SimpleStats::Empty().min_values;
  meta.max_key = meta.min_key;
  meta.key_stats = SimpleStats::Empty();
  ARROW_RETURN_NOT_OK(settings_->stats.Apply(written, &meta));
  meta.min_sequence_number = next_sequence_;
  next_sequence_ += written.row_count;
  meta.max_sequence_number = next_sequence_ - 1;
  // Every file begins anew, so that the commit numbers each of them (spec 02 §3.1, §7.6).
  if (settings_->data_evolution) next_sequence_ = 0;
  meta.schema_id = table_->schema->id;
  meta.level = 0;
  const int64_t now = table_->env.clock->NowMillis();
  meta.creation_time_millis = now + LocalZoneOffsetMillis(now);
  meta.delete_row_count = 0;
  meta.file_source = origin_.file_source;
  meta.write_cols = settings_->write_cols;
  if (open_indexes_ != nullptr) {
    auto stored = StoreFileIndexes(*table_, settings_->indexes, dir_, open_indexes_.get(), &meta);
    open_indexes_.reset();
    if (!stored.ok()) {
      DeleteQuietly(meta.file_name);
      return stored;
    }
  }
  finished_bytes_ += written.size_bytes;
  files_.push_back(std::move(meta));
  return arrow::Status::OK();
}

arrow::Result<std::vector<DataFileMeta>> RollingFileWriter::Finish() {
  if (open_ != nullptr) ARROW_RETURN_NOT_OK(CloseFile());
  return std::exchange(files_, {});
}

}  // namespace kelda
