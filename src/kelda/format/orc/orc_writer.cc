#include "kelda/format/orc/orc_writer.h"

#include <algorithm>

#include <arrow/io/interfaces.h>

#include "kelda/format/orc/column_writer.h"
#include "kelda/format/orc/orc_schema.h"
#include "kelda/format/orc/orc_wire.h"
#include "kelda/types/arrow_mapping.h"

namespace kelda {
namespace {

constexpr std::string_view kMagic = "ORC";
/// Rows that are encoded at once when there is no row index.
constexpr int64_t kGroupRows = 10000;
/// Readers take the statistics of this version of Java's writer as they are meant.
constexpr uint32_t kWriterVersion = 9;
constexpr std::string_view kSoftware = "kelda 0.1.0";

class OrcWriter : public FormatWriter {
 public:
  OrcWriter(FileIO& io, std::string path, std::vector<DataField> fields, OrcWriteSettings settings,
            bool collect_stats)
      : io_(io),
        path_(std::move(path)),
        fields_(std::move(fields)),
        settings_(std::move(settings)),
        collect_stats_(collect_stats) {}

  arrow::Status Prepare() {
    types_ = BuildOrcSchema(fields_);
    ARROW_ASSIGN_OR_RAISE(schema_, ToArrowSchema(fields_));
    settings_.block_size = OrcBlockSize(settings_, types_.size());
    group_rows_ = settings_.row_index_stride > 0 ? settings_.row_index_stride : kGroupRows;
    ARROW_ASSIGN_OR_RAISE(
        codec_, OrcCodec::Make(settings_.compression, static_cast<uint64_t>(settings_.block_size),
                               settings_.zstd_level));
    ARROW_ASSIGN_OR_RAISE(root_, MakeRootWriter(settings_, codec_.get(), fields_, *schema_));
    return arrow::Status::OK();
  }

  arrow::Status Write(const arrow::RecordBatch& batch) override {
    ARROW_RETURN_NOT_OK(CheckUsable());
    ARROW_RETURN_NOT_OK(CheckBatch(batch));
    return Remember(WriteRows(batch));
  }

  int64_t EstimatedBytes() const override { return written_ + root_->EstimatedBytes(); }
  int64_t BufferedBytes() const override { return root_->BufferedBytes(); }

  arrow::Status FlushRowGroup() override {
    ARROW_RETURN_NOT_OK(CheckUsable());
    return Remember(FinishStripe());
  }

  arrow::Result<WrittenFile> Finish() override {
    ARROW_RETURN_NOT_OK(FlushRowGroup());
    ARROW_RETURN_NOT_OK(Remember(WriteTail()));
    finished_ = true;
    WrittenFile written{path_, written_, rows_, {}};
    for (const auto& column : root_->children()) {
      written.stats.push_back(collect_stats_ ? column->file_statistics().ToColumnStats()
                                             : FileColumnStats{});
    }
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

  arrow::Status CheckBatch(const arrow::RecordBatch& batch) const {
    if (batch.num_columns() != static_cast<int>(fields_.size())) {
      return Invalid("{}: batch has {} columns, the file {}", path_, batch.num_columns(),
                     fields_.size());
    }
    for (int i = 0; i < batch.num_columns(); ++i) {
      if (batch.column(i)->type_id() != schema_->field(i)->type()->id()) {
        return Invalid("{}: column '{}' is {}, the file needs {}", path_,
                       fields_[static_cast<size_t>(i)].name, batch.column(i)->type()->ToString(),
                       schema_->field(i)->type()->ToString());
      }
    }
    return arrow::Status::OK();
  }

  arrow::Status WriteRows(const arrow::RecordBatch& batch) {
    const arrow::StructArray rows(arrow::struct_(schema_->fields()), batch.num_rows(),
                                  batch.columns(), nullptr, 0);
    for (int64_t first = 0; first < batch.num_rows();) {
      const int64_t room =
          std::min(group_rows_ - rows_in_group_, settings_.stripe_rows_max - rows_in_stripe_);
      const int64_t n = std::min(room, batch.num_rows() - first);
      ARROW_RETURN_NOT_OK(root_->Append(*rows.Slice(first, n)));
      first += n;
      rows_ += n;
      rows_in_group_ += n;
      rows_in_stripe_ += n;
      if (rows_in_group_ == group_rows_) ARROW_RETURN_NOT_OK(FinishRowGroup());
      if (rows_in_stripe_ == settings_.stripe_rows_max ||
          (rows_in_group_ == 0 && root_->EstimatedBytes() >= settings_.stripe_bytes) ||
          root_->EstimatedBytes() >= 2 * settings_.stripe_bytes) {
        ARROW_RETURN_NOT_OK(FinishStripe());
      }
    }
    return arrow::Status::OK();
  }

  arrow::Status FinishRowGroup() {
    rows_in_group_ = 0;
    return root_->FinishRowGroup();
  }

  arrow::Status OpenFile() {
    if (file_) return arrow::Status::OK();
    ARROW_ASSIGN_OR_RAISE(file_, io_.CreateNew(path_));
    return Put(kMagic);
  }

  arrow::Status Put(std::string_view bytes) {
    ARROW_RETURN_NOT_OK(file_->Write(bytes.data(), static_cast<int64_t>(bytes.size())));
    written_ += static_cast<int64_t>(bytes.size());
    return arrow::Status::OK();
  }

  arrow::Status FinishStripe() {
    if (rows_in_stripe_ == 0) return arrow::Status::OK();
    if (rows_in_group_ > 0) ARROW_RETURN_NOT_OK(FinishRowGroup());
    ARROW_RETURN_NOT_OK(OpenFile());
    OrcStripeParts parts;
    ARROW_RETURN_NOT_OK(root_->FinishStripe(&parts));
    OrcStripe stripe;
    stripe.offset = static_cast<uint64_t>(written_);
    stripe.rows = static_cast<uint64_t>(rows_in_stripe_);
    OrcStripeFooter footer;
    footer.encodings = std::move(parts.encodings);
    footer.writer_zone = "UTC";
    for (auto* streams : {&parts.indexes, &parts.data}) {
      uint64_t& length = streams == &parts.indexes ? stripe.index_length : stripe.data_length;
      for (auto& stream : *streams) {
        footer.streams.push_back({stream.kind, stream.column, 0, stream.bytes.size()});
        length += stream.bytes.size();
        ARROW_RETURN_NOT_OK(Put(stream.bytes));
        stream.bytes = {};
      }
    }
    std::string bytes;
    ARROW_RETURN_NOT_OK(codec_->CompressAll(SerializeStripeFooter(footer), &bytes));
    stripe.footer_length = bytes.size();
    ARROW_RETURN_NOT_OK(Put(bytes));
    stripes_.push_back(stripe);
    WireWriter statistics;
    for (const auto& column : parts.statistics) statistics.Bytes(1, column);
    metadata_.Message(1, statistics);
    rows_in_stripe_ = 0;
    return arrow::Status::OK();
  }

  std::string Footer() const {
    std::vector<std::string> statistics;
    root_->CollectFileStatistics(&statistics);
    WireWriter footer;
    footer.Number(1, kMagic.size());
    footer.Number(2, static_cast<uint64_t>(written_) - kMagic.size());
    for (const OrcStripe& stripe : stripes_) footer.Bytes(3, SerializeStripe(stripe));
    for (const OrcType& type : types_) footer.Bytes(4, SerializeType(type));
    footer.Number(6, static_cast<uint64_t>(rows_));
    for (const auto& column : statistics) footer.Bytes(7, column);
    footer.Number(8, static_cast<uint64_t>(settings_.row_index_stride));
    footer.Number(9, 0);  // follows the rules of Java's writer
    // Java takes days and seconds as they are only if they claim the Julian calendar.
    footer.Number(11, 1);
    footer.Bytes(12, kSoftware);
    return footer.Take();
  }

  arrow::Status WriteTail() {
    ARROW_RETURN_NOT_OK(OpenFile());
    const std::string footer_bytes = Footer();
    OrcPostScript post_script;
    post_script.compression = settings_.compression;
    post_script.block_size = static_cast<uint64_t>(settings_.block_size);
    post_script.writer_version = kWriterVersion;
    std::string bytes;
    ARROW_RETURN_NOT_OK(codec_->CompressAll(metadata_.bytes(), &bytes));
    post_script.metadata_length = bytes.size();
    ARROW_RETURN_NOT_OK(Put(bytes));
    bytes.clear();
    ARROW_RETURN_NOT_OK(codec_->CompressAll(footer_bytes, &bytes));
    post_script.footer_length = bytes.size();
    ARROW_RETURN_NOT_OK(Put(bytes));
    bytes = SerializePostScript(post_script);
    bytes += static_cast<char>(bytes.size());
    ARROW_RETURN_NOT_OK(Put(bytes));
    return file_->Close();
  }

  FileIO& io_;
  const std::string path_;
  const std::vector<DataField> fields_;
  OrcWriteSettings settings_;
  const bool collect_stats_;
  std::vector<OrcType> types_;
  std::shared_ptr<arrow::Schema> schema_;
  std::unique_ptr<OrcCodec> codec_;
  std::unique_ptr<ColumnWriter> root_;
  int64_t group_rows_ = kGroupRows;

  int64_t rows_ = 0;
  int64_t rows_in_group_ = 0;
  int64_t rows_in_stripe_ = 0;
  /// Destroyed without Close, the file is removed.
  std::shared_ptr<arrow::io::OutputStream> file_;
  int64_t written_ = 0;
  std::vector<OrcStripe> stripes_;
  WireWriter metadata_;
  bool finished_ = false;
  arrow::Status failure_;
};

}  // namespace

arrow::Result<std::unique_ptr<FormatWriter>> MakeOrcWriter(FileIO& io, const std::string& path,
                                                           const std::vector<DataField>& fields,
                                                           const WriterOptions& options) {
  ARROW_RETURN_NOT_OK(CheckOrcTypes(fields));
  ARROW_ASSIGN_OR_RAISE(auto settings, ParseOrcWriteSettings(options));
  auto writer =
      std::make_unique<OrcWriter>(io, path, fields, std::move(settings), options.collect_stats);
  ARROW_RETURN_NOT_OK(writer->Prepare());
  return std::unique_ptr<FormatWriter>(std::move(writer));
}

}  // namespace kelda
