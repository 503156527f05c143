#include "kelda/format/avro/avro_reader.h"

#include <algorithm>
#include <utility>

#include <arrow/array/util.h>

#include "kelda/avro/arrow_schema.h"
#include "kelda/avro/reader.h"
#include "kelda/types/arrow_mapping.h"

namespace kelda {
namespace {

/// Value slots of one batch; one row alone may have as many.
constexpr int64_t kBatchValuesMax = int64_t{1} << 28;

class AvroReader : public FormatReader {
 public:
  AvroReader(std::string path, CancellationToken token)
      : path_(std::move(path)), token_(std::move(token)) {}

  arrow::Status Open(const std::shared_ptr<arrow::io::RandomAccessFile>& file,
                     const ReadOptions& options) {
    ARROW_ASSIGN_OR_RAISE(schema_, ToArrowSchema(options.columns));
    avro::ReadOptions read;
    read.batch_rows_min = std::max<int64_t>(options.batch_rows, 1);
    read.batch_rows_max = read.batch_rows_min;
    read.batch_values_max = kBatchValuesMax;
    read.rows = options.rows;
    ARROW_ASSIGN_OR_RAISE(read.wanted_if_present, DistinctColumns());
    ARROW_RETURN_NOT_OK(
        AsCorruption(avro::AvroFileReader::Open(file, path_, std::move(read)).Value(&reader_)));
    for (const auto& field : schema_->fields()) {
      source_.push_back(reader_->schema()->GetFieldIndex(field->name()));
    }
    ARROW_ASSIGN_OR_RAISE(const avro::BlockSummary summary, reader_->SummarizeBlocks());
    row_count_ = summary.rows;
    if (options.on_open) {
      options.on_open({summary.blocks, summary.wanted_blocks, summary.rows - summary.wanted_rows,
                       summary.wanted_bytes});
    }
    return arrow::Status::OK();
  }

  arrow::Result<std::shared_ptr<arrow::RecordBatch>> Next() override {
    ARROW_RETURN_NOT_OK(token_.Check());
    ARROW_ASSIGN_OR_RAISE(auto read, reader_->Next());
    if (read == nullptr) return read;
    std::vector<std::shared_ptr<arrow::Array>> columns;
    for (size_t i = 0; i < source_.size(); ++i) {
      if (source_[i] >= 0) {
        columns.push_back(read->column(source_[i]));
      } else {
        const auto& type = schema_->field(static_cast<int>(i))->type();
        ARROW_ASSIGN_OR_RAISE(auto nulls, arrow::MakeArrayOfNull(type, read->num_rows()));
        columns.push_back(std::move(nulls));
      }
    }
    return arrow::RecordBatch::Make(schema_, read->num_rows(), std::move(columns));
  }

  int64_t first_row() const override { return reader_->first_row(); }
  int64_t file_row_count() const override { return row_count_; }

 private:
  /// A column may be wanted twice; it is read once.
  arrow::Result<std::shared_ptr<arrow::Schema>> DistinctColumns() const {
    arrow::FieldVector distinct;
    for (const auto& field : schema_->fields()) {
      const auto same = std::find_if(distinct.begin(), distinct.end(), [&](const auto& other) {
        return other->name() == field->name();
      });
      if (same == distinct.end()) {
        distinct.push_back(field);
      } else if (!(*same)->type()->Equals(*field->type())) {
        return Invalid("{}: column '{}' is wanted twice, as different types", path_, field->name());
      }
    }
    return arrow::schema(std::move(distinct));
  }

  /// The schema in the header does not fit the one that the file was written with.
  static arrow::Status AsCorruption(const arrow::Status& status) {
    if (CodeOf(status) != ErrorCode::kNone) return status;
    if (!status.IsTypeError() && !status.IsInvalid()) return status;
    return Corruption("{}", status.message());
  }

  const std::string path_;
  const CancellationToken token_;
  std::shared_ptr<arrow::Schema> schema_;
  std::unique_ptr<avro::AvroFileReader> reader_;
  std::vector<int> source_;  ///< per column its place in the batches read, -1: not in the file
  int64_t row_count_ = 0;
};

}  // namespace

arrow::Result<std::unique_ptr<FormatReader>> OpenAvroReader(FileIO& io, const std::string& path,
                                                            int64_t size_bytes,
                                                            const ReadOptions& options) {
  ARROW_ASSIGN_OR_RAISE(auto file, io.OpenInput(path));
  ARROW_ASSIGN_OR_RAISE(const int64_t size, file->GetSize());
  if (size_bytes >= 0 && size != size_bytes) {
    return Corruption("{}: the file has {} bytes, its metadata says {}", path, size, size_bytes);
  }
  auto reader = std::make_unique<AvroReader>(path, options.token);
  ARROW_RETURN_NOT_OK(reader->Open(file, options));
  return reader;
}

}  // namespace kelda
