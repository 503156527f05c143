#include "kelda/format/parquet/parquet_writer.h"

#include <algorithm>
#include <exception>

#include <arrow/memory_pool.h>
#include <arrow/util/bitmap_ops.h>
#include <arrow/util/byte_size.h>
#include <arrow/util/decimal.h>
#include <parquet/column_writer.h>
#include <parquet/exception.h>
#include <parquet/file_writer.h>
#include <parquet/properties.h>

#include "kelda/format/column_statistics.h"
#include "kelda/format/parquet/dictionary_choice.h"
#include "kelda/format/parquet/growing_pool.h"
#include "kelda/format/parquet/leaf_levels.h"
#include "kelda/format/parquet/parquet_options.h"
#include "kelda/format/parquet/parquet_schema.h"
#include "kelda/format/parquet/parquet_sink.h"
#include "kelda/format/parquet/shredded_variant.h"
#include "kelda/types/arrow_mapping.h"

namespace kelda {
namespace {

/// Batches are kept by reference until there is this much, then encoded column by column. A writer
/// of a partition with few rows so holds little more than its rows.
constexpr int64_t kStagedRowsMax = 16384;
constexpr int64_t kStagedBytesMax = int64_t{4} << 20;
constexpr int64_t kSliceRowsMax = 32768;
/// What an open file needs per leaf, and per leaf and row group for the footer.
constexpr int64_t kLeafBytes = 1024;
constexpr int64_t kChunkMetadataBytes = 1280;
/// The physical form that Arrow's column writers take without a rule of their own.
arrow::Result<std::shared_ptr<arrow::Array>> ToPhysical(
    const LeafPath& path, const std::shared_ptr<arrow::Array>& values) {
  switch (values->type_id()) {
    case arrow::Type::DATE32:
    case arrow::Type::TIME32:
      return values->View(arrow::int32());
    case arrow::Type::TIMESTAMP:
      break;
    default:
      return values;
  }
  auto unit = static_cast<const arrow::TimestampType&>(*values->type()).unit();
  if (unit == arrow::TimeUnit::NANO) return values;  // INT96, floored to the day by Arrow
  if (unit != arrow::TimeUnit::SECOND) return values->View(arrow::int64());
  // TIMESTAMP(0) is stored in milliseconds.
  ARROW_ASSIGN_OR_RAISE(auto buffer, arrow::AllocateBuffer(values->length() * 8));
  auto* out = reinterpret_cast<int64_t*>(buffer->mutable_data());
  const auto* in = values->data()->GetValues<int64_t>(1);
  for (int64_t i = 0; i < values->length(); ++i) {
    if (__builtin_mul_overflow(in[i], int64_t{1000}, &out[i]) && values->IsValid(i)) {
      return Invalid("column '{}': timestamp of {} seconds is out of range", path.name, in[i]);
    }
  }
  std::shared_ptr<arrow::Buffer> bitmap;
  if (values->null_count() > 0) {
    ARROW_ASSIGN_OR_RAISE(bitmap, arrow::internal::CopyBitmap(arrow::default_memory_pool(),
                                                              values->null_bitmap_data(),
                                                              values->offset(), values->length()));
  }
  return arrow::MakeArray(arrow::ArrayData::Make(
      arrow::int64(), values->length(), {bitmap, std::move(buffer)}, values->null_count()));
}

ColumnStatistics::Keep KeepOf(const DataType& type) {
  using Keep = ColumnStatistics::Keep;
  switch (type.root()) {
    case TypeRoot::kBinary:
    case TypeRoot::kVarBinary:
    case TypeRoot::kBlob:
      return Keep::kNullCount;
    case TypeRoot::kTimestamp:
    case TypeRoot::kTimestampLtz:
      return type.precision() > 6 ? Keep::kNullCount : Keep::kAll;
    case TypeRoot::kArray:
    case TypeRoot::kMap:
    case TypeRoot::kMultiset:
    case TypeRoot::kRow:
    case TypeRoot::kVariant:
    case TypeRoot::kVector:
      return Keep::kNothing;
    default:
      return Keep::kAll;
  }
}

class ParquetWriter : public FormatWriter {
 public:
  ParquetWriter(FileIO& io, std::string path, std::vector<DataField> fields,
                ParquetWriteSettings settings)
      : io_(io),
        path_(std::move(path)),
        fields_(std::move(fields)),
        settings_(std::move(settings)),
        leaves_(LeafPaths(fields_)),
        context_(&pool_, arrow_properties_.get()) {}

  ~ParquetWriter() override {
    if (!finished_) Abandon();
  }

  arrow::Status Prepare(bool collect_stats) {
    ARROW_ASSIGN_OR_RAISE(arrow_schema_, ToArrowSchema(fields_));
    for (size_t i = 0; i < fields_.size(); ++i) {
      auto keep = collect_stats ? KeepOf(fields_[i].type) : ColumnStatistics::Keep::kNothing;
      stats_.push_back(
          ColumnStatistics::Make(arrow_schema_->field(static_cast<int>(i))->type(), keep));
    }
    return arrow::Status::OK();
  }

  arrow::Status Write(const arrow::RecordBatch& batch) override {
    ARROW_RETURN_NOT_OK(CheckUsable());
    if (batch.num_columns() != static_cast<int>(fields_.size())) {
      return Invalid("{}: batch has {} columns, the file {}", path_, batch.num_columns(),
                     fields_.size());
    }
    if (batch.num_rows() == 0) return arrow::Status::OK();
    for (int i = 0; i < batch.num_columns(); ++i) {
      if (batch.column(i)->type_id() != arrow_schema_->field(i)->type()->id()) {
        return Invalid("{}: column '{}' is {}, the file needs {}", path_, fields_[i].name,
                       batch.column(i)->type()->ToString(),
                       arrow_schema_->field(i)->type()->ToString());
      }
    }
    rows_ += batch.num_rows();
    staged_rows_ += batch.num_rows();
    ARROW_ASSIGN_OR_RAISE(int64_t bytes, arrow::util::ReferencedBufferSize(batch));
    staged_bytes_ += bytes;
    staged_.push_back(batch.columns());
    if (staged_rows_ < kStagedRowsMax && staged_bytes_ < kStagedBytesMax)
      return arrow::Status::OK();
    ARROW_RETURN_NOT_OK(Remember(Drain()));
    if (RowGroupBytes() >= settings_.row_group_bytes) return Remember(CloseRowGroup());
    return arrow::Status::OK();
  }

  int64_t EstimatedBytes() const override {
    return (sink_ ? sink_->position() : 0) + RowGroupBytes() + staged_bytes_;
  }

  int64_t BufferedBytes() const override {
    int64_t bytes = staged_bytes_ + pool_.bytes_allocated();
    if (file_ == nullptr) return bytes;
    // Schema, properties and the footer under construction; not from the pool.
    const auto leaves = static_cast<int64_t>(leaves_.size());
    return bytes + leaves * kLeafBytes + row_groups_ * leaves * kChunkMetadataBytes;
  }

  arrow::Status FlushRowGroup() override {
    ARROW_RETURN_NOT_OK(CheckUsable());
    ARROW_RETURN_NOT_OK(Remember(Drain()));
    return Remember(CloseRowGroup());
  }

  arrow::Result<WrittenFile> Finish() override {
    ARROW_RETURN_NOT_OK(CheckUsable());
    ARROW_RETURN_NOT_OK(FlushRowGroup());
    ARROW_RETURN_NOT_OK(Remember(OpenFile()));
    ARROW_RETURN_NOT_OK(Remember(Catching([&] {
      file_->Close();
      return arrow::Status::OK();
    })));
    ARROW_RETURN_NOT_OK(Remember(WithPath(sink_->CloseFile())));
    finished_ = true;
    WrittenFile written{path_, sink_->position(), rows_, {}};
    for (const auto& column : stats_) written.stats.push_back(column->Finish());
    return written;
  }

 private:
  arrow::Status CheckUsable() const {
    if (finished_) return Invalid("{}: the file is finished", path_);
    return failure_;
  }

  /// After an error the file cannot be continued.
  arrow::Status Remember(arrow::Status status) {
    if (!status.ok()) failure_ = status;
    return status;
  }

  arrow::Status WithPath(const arrow::Status& status) const {
    return status.ok() ? status : WithContext(status, path_);
  }

  /// Runs `body`, which calls the Parquet library; its exceptions become errors that name the file.
  template <typename Body>
  arrow::Status Catching(Body&& body) {
    try {
      return WithPath(body());
    } catch (const std::exception& error) {
      if (sink_ && !sink_->failure().ok()) return WithPath(sink_->failure());
      return arrow::Status::IOError(path_, ": ", error.what());
    }
  }

  void Abandon() {
    if (sink_) sink_->Abandon();
    row_group_ = nullptr;
    file_.reset();
    sink_.reset();
  }

  /// Compressed pages and open pages of the row group: what Java compares with the row group size.
  int64_t RowGroupBytes() const {
    if (row_group_ == nullptr) return 0;
    auto open = row_group_->estimated_buffered_stats();
    return row_group_->total_compressed_bytes() + row_group_->total_compressed_bytes_written() +
           open.def_level_bytes + open.rep_level_bytes + open.value_bytes + open.dict_bytes;
  }

  arrow::Status OpenFile() {
    if (file_) return arrow::Status::OK();
    ARROW_ASSIGN_OR_RAISE(auto file, io_.CreateNew(path_));
    sink_ = std::make_shared<ParquetSink>(std::move(file));
    return Catching([&] {
      file_ = parquet::ParquetFileWriter::Open(sink_, BuildParquetSchema(fields_), Properties());
      return arrow::Status::OK();
    });
  }

  std::shared_ptr<parquet::WriterProperties> Properties() {
    parquet::WriterProperties::Builder builder;
    builder.memory_pool(&pool_)
        ->version(parquet::ParquetVersion::PARQUET_1_0)
        ->created_by("kelda version 0.1.0")
        ->compression(settings_.codec)
        ->data_pagesize(settings_.page_bytes)
        ->max_rows_per_page(settings_.page_rows)
        ->dictionary_pagesize_limit(settings_.dictionary_page_bytes)
        ->data_page_version(settings_.data_page_v2 ? parquet::ParquetDataPageVersion::V2
                                                   : parquet::ParquetDataPageVersion::V1)
        ->enable_write_page_index()
        ->set_size_statistics_level(parquet::SizeStatisticsLevel::None)
        ->max_row_group_length(std::numeric_limits<int64_t>::max());
    if (settings_.compression_level) builder.compression_level(*settings_.compression_level);
    if (settings_.page_checksum) builder.enable_page_checksum();
    ChooseDictionaries();
    parquet::SchemaDescriptor schema;
    schema.Init(BuildParquetSchema(fields_));
    for (size_t i = 0; i < leaves_.size(); ++i) {
      auto dotted = schema.Column(static_cast<int>(i))->path();
      if (auto it = settings_.dictionary_of_column.find(dotted->ToDotString());
          it != settings_.dictionary_of_column.end()) {
        dictionary_[i] = dictionary_[i] && it->second;
      }
      // Java looks for a decimal among a dictionary's values by its shortest bytes, finds none and
      // drops the row group; its own files never have a dictionary of fixed-length values.
      if (schema.Column(static_cast<int>(i))->physical_type() ==
          parquet::Type::FIXED_LEN_BYTE_ARRAY) {
        dictionary_[i] = false;
      }
      if (dictionary_[i]) {
        builder.enable_dictionary(dotted);
      } else {
        builder.disable_dictionary(dotted);
      }
    }
    return builder.build();
  }

  void ChooseDictionaries() {
    dictionary_.assign(leaves_.size(), settings_.dictionary);
    if (!settings_.dictionary) return;
    for (size_t i = 0; i < leaves_.size(); ++i) {
      DictionaryChoice choice;
      for (const auto& columns : staged_) {
        auto shredded = ShredLeaf(leaves_[i], columns[leaves_[i].column]);
        // An error will be met and reported when the leaf is written.
        if (shredded.ok()) choice.Sample(*shredded->values);
        if (choice.full()) break;
      }
      dictionary_[i] = choice.Worthwhile();
    }
  }

  /// Encode what is staged into the open row group.
  arrow::Status Drain() {
    if (staged_.empty()) return arrow::Status::OK();
    ARROW_RETURN_NOT_OK(OpenFile());
    ARROW_RETURN_NOT_OK(Catching([&] {
      if (row_group_ == nullptr) {
        row_group_ = file_->AppendBufferedRowGroup();
        ++row_groups_;
      }
      for (const auto& columns : staged_) {
        const int64_t rows = columns[0]->length();
        for (int64_t first = 0; first < rows; first += kSliceRowsMax) {
          ARROW_RETURN_NOT_OK(WriteRows(columns, first, std::min(kSliceRowsMax, rows - first)));
        }
      }
      return arrow::Status::OK();
    }));
    staged_.clear();
    staged_rows_ = 0;
    staged_bytes_ = 0;
    return arrow::Status::OK();
  }

  arrow::Status WriteRows(const arrow::ArrayVector& columns, int64_t first, int64_t rows) {
    size_t leaf = 0;
    for (size_t c = 0; c < columns.size(); ++c) {
      auto column = rows == columns[c]->length() ? columns[c] : columns[c]->Slice(first, rows);
      stats_[c]->Update(*column);
      for (; leaf < leaves_.size() && leaves_[leaf].column == static_cast<int>(c); ++leaf) {
        ARROW_ASSIGN_OR_RAISE(auto shredded, ShredLeaf(leaves_[leaf], column));
        ARROW_ASSIGN_OR_RAISE(shredded.values, ToPhysical(leaves_[leaf], shredded.values));
        ARROW_RETURN_NOT_OK(
            WriteLeaf(leaves_[leaf], row_group_->column(static_cast<int>(leaf)), shredded));
      }
    }
    return arrow::Status::OK();
  }

  /// Arrow looks at the page size only every 1,024 values: long values are handed over in parts of
  /// about a page.
  arrow::Status WriteLeaf(const LeafPath& path, parquet::ColumnWriter* writer,
                          const LeafBatch& batch) {
    int64_t parts = 1;
    if (batch.values->type_id() == arrow::Type::STRING ||
        batch.values->type_id() == arrow::Type::BINARY) {
      const auto& binary = static_cast<const arrow::BinaryArray&>(*batch.values);
      const int64_t bytes = binary.total_values_length();
      if (bytes > settings_.page_bytes && bytes / batch.level_count >= 256) {
        parts = std::min(batch.level_count, bytes / settings_.page_bytes + 1);
      }
    }
    const int64_t step = (batch.level_count + parts - 1) / parts;
    const int16_t slot_level = SlotLevel(path);
    int64_t slot = 0;
    for (int64_t first = 0; first < batch.level_count;) {
      int64_t last = std::min(first + step, batch.level_count);
      // A record is not cut.
      while (batch.repetition && last < batch.level_count && batch.repetition[last] != 0) ++last;
      int64_t slots = last - first;
      if (batch.repetition) {
        slots = std::count_if(batch.definition + first, batch.definition + last,
                              [&](int16_t level) { return level >= slot_level; });
      }
      ARROW_RETURN_NOT_OK(
          writer->WriteArrow(batch.definition ? batch.definition + first : nullptr,
                             batch.repetition ? batch.repetition + first : nullptr, last - first,
                             parts == 1 ? *batch.values : *batch.values->Slice(slot, slots),
                             &context_, path.leaf_optional()));
      slot += slots;
      first = last;
    }
    return arrow::Status::OK();
  }

  /// Definition level from which an entry has a slot in the values: that of the innermost list's
  /// elements.
  static int16_t SlotLevel(const LeafPath& path) {
    int16_t level = 0;
    int16_t slot = 0;
    for (const LeafStep& step : path.steps) {
      if (step.optional) ++level;
      if (step.kind != LeafStep::Kind::kLeaf && step.kind != LeafStep::Kind::kMember)
        slot = ++level;
    }
    return slot;
  }

  arrow::Status CloseRowGroup() {
    if (row_group_ == nullptr) return arrow::Status::OK();
    return Catching([&] {
      row_group_->Close();
      row_group_ = nullptr;
      return arrow::Status::OK();
    });
  }

  /// Counts what the library holds: pages, encoders, dictionaries. Outlives all of them.
  GrowingPool pool_;
  FileIO& io_;
  const std::string path_;
  const std::vector<DataField> fields_;
  const ParquetWriteSettings settings_;
  const std::vector<LeafPath> leaves_;
  std::shared_ptr<arrow::Schema> arrow_schema_;
  std::vector<std::unique_ptr<ColumnStatistics>> stats_;
  const std::shared_ptr<parquet::ArrowWriterProperties> arrow_properties_ =
      parquet::default_arrow_writer_properties();
  parquet::ArrowWriteContext context_;

  std::vector<arrow::ArrayVector> staged_;
  int64_t staged_rows_ = 0;
  int64_t staged_bytes_ = 0;
  int64_t rows_ = 0;

  std::shared_ptr<ParquetSink> sink_;
  std::unique_ptr<parquet::ParquetFileWriter> file_;
  parquet::RowGroupWriter* row_group_ = nullptr;
  int64_t row_groups_ = 0;
  std::vector<bool> dictionary_;  ///< per leaf, decided when the file is opened
  arrow::Status failure_;
  bool finished_ = false;
};

}  // namespace

arrow::Result<std::unique_ptr<FormatWriter>> MakeParquetWriter(FileIO& io, const std::string& path,
                                                               const std::vector<DataField>& fields,
                                                               const WriterOptions& options) {
  ARROW_RETURN_NOT_OK(CheckParquetTypes(fields));
  ARROW_ASSIGN_OR_RAISE(auto settings, ParseParquetWriteSettings(options));
  std::vector<DataField> stored = fields;
  std::vector<std::optional<DataType>> forms(fields.size());
  bool shreds = false;
  for (size_t i = 0; i < fields.size(); ++i) {
    const auto form = settings.shredded.find(fields[i].name);
    if (fields[i].type.root() != TypeRoot::kVariant || form == settings.shredded.end()) continue;
    forms[i] = stored[i].type = form->second.WithNullable(fields[i].type.nullable());
    shreds = true;
  }
  auto writer = std::make_unique<ParquetWriter>(io, path, stored, std::move(settings));
  ARROW_RETURN_NOT_OK(writer->Prepare(options.collect_stats));
  if (shreds) return MakeShreddingWriter(std::move(writer), std::move(forms));
  return std::unique_ptr<FormatWriter>(std::move(writer));
}

}  // namespace kelda
