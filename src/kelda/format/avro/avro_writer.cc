#include "kelda/format/avro/avro_writer.h"

#include <utility>

#include <arrow/io/interfaces.h>

#include "kelda/avro/writer.h"
#include "kelda/format/avro/avro_options.h"
#include "kelda/format/avro/avro_schema.h"
#include "kelda/format/column_statistics.h"
#include "kelda/types/arrow_mapping.h"

namespace kelda {
namespace {

/// Output of the container writer: few large writes to a file that is created by the first of them.
class AvroSink : public arrow::io::OutputStream {
 public:
  AvroSink(FileIO& io, std::string path) : io_(io), path_(std::move(path)) {}

  arrow::Status Write(const void* data, int64_t size) override {
    buffer_.append(static_cast<const char*>(data), static_cast<size_t>(size));
    position_ += size;
    return buffer_.size() < kBufferBytes ? arrow::Status::OK() : Flush();
  }
  arrow::Status Flush() override {
    if (file_ == nullptr) {
      ARROW_ASSIGN_OR_RAISE(file_, io_.CreateNew(path_));
    }
    ARROW_RETURN_NOT_OK(file_->Write(buffer_.data(), static_cast<int64_t>(buffer_.size())));
    buffer_.clear();
    return arrow::Status::OK();
  }
  arrow::Status Close() override {
    ARROW_RETURN_NOT_OK(Flush());
    return file_->Close();
  }
  arrow::Result<int64_t> Tell() const override { return position_; }
  bool closed() const override { return false; }

  void ReleaseMemory() { std::string().swap(buffer_); }
  int64_t buffered_bytes() const { return static_cast<int64_t>(buffer_.capacity()); }

 private:
  static constexpr size_t kBufferBytes = size_t{256} << 10;

  FileIO& io_;
  std::string path_;
  std::shared_ptr<arrow::io::OutputStream> file_;
  std::string buffer_;
  int64_t position_ = 0;
};

class AvroWriter : public FormatWriter {
 public:
  AvroWriter(FileIO& io, std::string path, std::vector<DataField> fields)
      : path_(std::move(path)),
        fields_(std::move(fields)),
        sink_(std::make_shared<AvroSink>(io, path_)) {}

  arrow::Status Prepare(const WriterOptions& options) {
    ARROW_ASSIGN_OR_RAISE(AvroWriteSettings settings, ParseAvroWriteSettings(options));
    ARROW_ASSIGN_OR_RAISE(const std::string schema, AvroSchemaOf(fields_, settings.row_names));
    avro::WriteOptions write;
    write.codec = settings.codec;
    write.level = settings.level;
    ARROW_ASSIGN_OR_RAISE(writer_, avro::AvroFileWriter::Make(sink_, schema, write));
    ARROW_ASSIGN_OR_RAISE(arrow_schema_, ToArrowSchema(fields_));
    const auto keep =
        options.collect_stats ? ColumnStatistics::Keep::kAll : ColumnStatistics::Keep::kNothing;
    for (const auto& field : arrow_schema_->fields()) {
      stats_.push_back(ColumnStatistics::Make(field->type(), keep));
    }
    return arrow::Status::OK();
  }

  arrow::Status Write(const arrow::RecordBatch& batch) override {
    ARROW_RETURN_NOT_OK(CheckUsable());
    if (batch.num_columns() != static_cast<int>(fields_.size())) {
      return Invalid("{}: batch has {} columns, the file {}", path_, batch.num_columns(),
                     fields_.size());
    }
    for (int i = 0; i < batch.num_columns(); ++i) {
      const auto& wanted = arrow_schema_->field(i)->type();
      if (batch.column(i)->type_id() != wanted->id()) {
        return Invalid("{}: column '{}' is {}, the file needs {}", path_, fields_[i].name,
                       batch.column(i)->type()->ToString(), wanted->ToString());
      }
    }
    for (int i = 0; i < batch.num_columns(); ++i) stats_[i]->Update(*batch.column(i));
    return Remember(
        writer_->Write(arrow::RecordBatch::Make(arrow_schema_, batch.num_rows(), batch.columns())));
  }

  int64_t EstimatedBytes() const override { return writer_->position() + writer_->block_bytes(); }

  int64_t BufferedBytes() const override {
    return writer_->buffered_bytes() + sink_->buffered_bytes();
  }

  arrow::Status FlushRowGroup() override {
    ARROW_RETURN_NOT_OK(CheckUsable());
    ARROW_RETURN_NOT_OK(Remember(writer_->FlushBlock()));
    ARROW_RETURN_NOT_OK(Remember(sink_->Flush()));
    sink_->ReleaseMemory();
    return arrow::Status::OK();
  }

  arrow::Result<WrittenFile> Finish() override {
    ARROW_RETURN_NOT_OK(CheckUsable());
    ARROW_RETURN_NOT_OK(Remember(writer_->Finish()));
    ARROW_RETURN_NOT_OK(Remember(sink_->Close()));
    finished_ = true;
    WrittenFile written{path_, writer_->position(), writer_->rows(), {}};
    for (const auto& column : stats_) written.stats.push_back(column->Finish());
    return written;
  }

 private:
  arrow::Status CheckUsable() const {
    if (finished_) return Invalid("{}: the file is finished", path_);
    return failure_;
  }

  /// After an error the file cannot be continued.
  arrow::Status Remember(const arrow::Status& status) {
    if (!status.ok()) failure_ = WithContext(status, path_);
    return failure_;
  }

  const std::string path_;
  const std::vector<DataField> fields_;
  std::shared_ptr<AvroSink> sink_;
  std::unique_ptr<avro::AvroFileWriter> writer_;
  std::shared_ptr<arrow::Schema> arrow_schema_;
  std::vector<std::unique_ptr<ColumnStatistics>> stats_;
  bool finished_ = false;
  arrow::Status failure_;
};

}  // namespace

arrow::Result<std::unique_ptr<FormatWriter>> MakeAvroWriter(FileIO& io, const std::string& path,
                                                            const std::vector<DataField>& fields,
                                                            const WriterOptions& options) {
  auto writer = std::make_unique<AvroWriter>(io, path, fields);
  ARROW_RETURN_NOT_OK(writer->Prepare(options));
  return writer;
}

}  // namespace kelda
