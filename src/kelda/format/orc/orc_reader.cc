#include "kelda/format/orc/orc_reader.h"

#include <algorithm>

#include <arrow/util/byte_size.h>

#include "kelda/format/orc/stripe_plan.h"
#include "kelda/types/arrow_mapping.h"

namespace kelda {
namespace {

/// Batches are cut shorter than asked for when rows are large.
constexpr int64_t kBatchBytesMax = int64_t{64} << 20;

class OrcReader : public FormatReader {
 public:
  OrcReader(std::string path, ReadOptions options)
      : path_(std::move(path)), options_(std::move(options)) {}

  arrow::Status Open(FileIO& io, int64_t size_bytes) {
    ARROW_ASSIGN_OR_RAISE(file_, OrcFile::Open(io, path_, size_bytes, options_.token));
    ARROW_ASSIGN_OR_RAISE(schema_, ToArrowSchema(options_.columns));
    columns_.push_back(0);
    for (const DataField& field : options_.columns) {
      const int64_t column = FindOrcChild(types(), 0, field.name);
      if (column >= 0) {
        CollectOrcColumns(types(), field.type, static_cast<uint32_t>(column), &columns_);
      }
    }
    std::sort(columns_.begin(), columns_.end());
    batch_rows_max_ = std::max<int64_t>(options_.batch_rows, 1);
    return PlanStripes();
  }

  arrow::Result<std::shared_ptr<arrow::RecordBatch>> Next() override {
    ARROW_RETURN_NOT_OK(failure_);
    std::shared_ptr<arrow::RecordBatch> batch;
    failure_ = ReadNext(&batch);
    ARROW_RETURN_NOT_OK(failure_);
    return batch;
  }

  int64_t first_row() const override { return first_row_; }
  int64_t file_row_count() const override { return static_cast<int64_t>(file_->footer().rows); }

 private:
  const std::vector<OrcType>& types() const { return file_->footer().types; }

  arrow::Status PlanStripes() {
    const OrcPruning pruning(types(), options_.predicate);
    std::vector<std::vector<std::string_view>> statistics;
    if (pruning.active()) {
      ARROW_ASSIGN_OR_RAISE(statistics, file_->ReadStripeStatistics());
    }
    std::vector<size_t> kept;
    int64_t first_row = 0;
    for (size_t i = 0; i < file_->footer().stripes.size(); ++i) {
      const auto rows = static_cast<int64_t>(file_->footer().stripes[i].rows);
      const bool wanted =
          rows > 0 && (!options_.rows || options_.rows->Overlaps(first_row, first_row + rows));
      const bool may_match =
          wanted && pruning.MayMatch(rows, [&](uint32_t column) -> std::string_view {
            if (i >= statistics.size() || statistics[i].empty()) return {};
            return statistics[i][column];
          });
      if (may_match) {
        kept.push_back(i);
        plans_.emplace_back();
        plans_.back().stripe = i;
        plans_.back().first_row = first_row;
        plans_.back().rows = rows;
      }
      first_row += rows;
    }
    ARROW_ASSIGN_OR_RAISE(auto footers, file_->ReadStripeFooters(kept));
    ReadStatistics read;
    read.row_groups_total = static_cast<int64_t>(file_->footer().stripes.size());
    read.rows_skipped = file_row_count();
    for (size_t k = 0; k < plans_.size(); ++k) {
      OrcStripePlan& plan = plans_[k];
      plan.footer = std::move(footers[k]);
      ARROW_RETURN_NOT_OK(ChooseRowGroups(file_.get(), pruning, options_.rows.get(), &plan));
      for (const OrcGroupRange& range : plan.ranges) {
        read.rows_skipped -= range.last_row - range.first_row;
      }
      if (plan.ranges.empty()) continue;
      ++read.row_groups_read;
      read.bytes_planned += StreamBytes(plan, columns_);
    }
    if (options_.on_open) options_.on_open(read);
    return arrow::Status::OK();
  }

  arrow::Status ReadNext(std::shared_ptr<arrow::RecordBatch>* out) {
    ARROW_RETURN_NOT_OK(options_.token.Check());
    while (next_plan_ < plans_.size()) {
      OrcStripePlan& plan = plans_[next_plan_];
      if (range_ >= plan.ranges.size()) {
        CloseStripe(&plan);
        continue;
      }
      if (!open_) ARROW_RETURN_NOT_OK(OpenStripe(plan));
      const OrcGroupRange& range = plan.ranges[range_];
      if (position_ < range.first_row) {
        ARROW_RETURN_NOT_OK(SeekTo(range));
      } else if (position_ == range.last_row) {
        ++range_;
      } else {
        return ReadBatch(plan, range, out);
      }
    }
    return arrow::Status::OK();
  }

  arrow::Status OpenStripe(const OrcStripePlan& plan) {
    const OrcStripe& stripe = file_->footer().stripes[plan.stripe];
    indexes_.clear();
    if (!plan.whole) {
      ARROW_ASSIGN_OR_RAISE(indexes_, ReadRowIndexes(file_.get(), plan, columns_));
    }
    ARROW_ASSIGN_OR_RAISE(source_.pieces, FetchStreams(file_.get(), plan, columns_, indexes_));
    source_.path =
        fmt::format("{}: stripe {} at byte offset {}", path_, plan.stripe, stripe.offset);
    source_.types = &types();
    source_.footer = &plan.footer;
    source_.codec = file_->codec();
    ARROW_RETURN_NOT_OK(FindZone(plan));
    if (source_.Open(0, OrcStreamKind::kPresent) != nullptr) {
      return Corruption("{}: rows that are null as a whole", source_.path);
    }
    // Values are often compressed to a third or less.
    const int64_t row_bytes = 4 * StreamBytes(plan, columns_) / std::max<int64_t>(plan.rows, 1) + 1;
    batch_rows_ = std::clamp<int64_t>(kBatchBytesMax / row_bytes, 1, batch_rows_max_);
    open_ = true;
    return MakeReaders();
  }

  /// The writer's zone is looked at when timestamps are read.
  arrow::Status FindZone(const OrcStripePlan& plan) {
    const bool timestamps = std::any_of(columns_.begin(), columns_.end(), [&](uint32_t column) {
      return types()[column].kind == OrcKind::kTimestamp;
    });
    auto zone = OrcZone::Make(timestamps ? plan.footer.writer_zone : "UTC");
    ARROW_RETURN_NOT_OK(WithContext(zone.status(), source_.path));
    source_.zone = *zone;
    return arrow::Status::OK();
  }

  arrow::Status MakeReaders() {
    readers_.clear();
    for (size_t i = 0; i < options_.columns.size(); ++i) {
      const DataField& field = options_.columns[i];
      ARROW_ASSIGN_OR_RAISE(
          auto reader,
          MakeColumnReader(source_, field.type, schema_->field(static_cast<int>(i))->type(),
                           FindOrcChild(types(), 0, field.name), field.name));
      readers_.push_back(std::move(reader));
    }
    position_ = 0;
    return arrow::Status::OK();
  }

  arrow::Status SeekTo(const OrcGroupRange& range) {
    for (const auto& reader : readers_) ARROW_RETURN_NOT_OK(reader->Seek(indexes_, range.first));
    position_ = range.first_row;
    return arrow::Status::OK();
  }

  arrow::Status ReadBatch(const OrcStripePlan& plan, const OrcGroupRange& range,
                          std::shared_ptr<arrow::RecordBatch>* out) {
    const int64_t rows = std::min(batch_rows_, range.last_row - position_);
    arrow::Status status = Decode(rows, out);
    if (status.IsCapacityError() && rows > 1) {
      // A column has more bytes than one array holds: the same rows again in smaller batches.
      batch_rows_ = batch_rows_max_ = std::max<int64_t>(rows / 16, 1);
      return Reread(range);
    }
    ARROW_RETURN_NOT_OK(status);
    first_row_ = plan.first_row + position_;
    position_ += rows;
    Adapt(**out);
    return arrow::Status::OK();
  }

  /// Bring new readers to the rows where the current ones failed.
  arrow::Status Reread(const OrcGroupRange& range) {
    const int64_t target = position_;
    ARROW_RETURN_NOT_OK(MakeReaders());
    if (range.first_row > 0) ARROW_RETURN_NOT_OK(SeekTo(range));
    std::shared_ptr<arrow::RecordBatch> dropped;
    while (position_ < target) {
      ARROW_RETURN_NOT_OK(options_.token.Check());
      const int64_t rows = std::min(batch_rows_, target - position_);
      ARROW_RETURN_NOT_OK(Decode(rows, &dropped));
      position_ += rows;
    }
    return arrow::Status::OK();
  }

  arrow::Status Decode(int64_t rows, std::shared_ptr<arrow::RecordBatch>* out) {
    std::vector<std::shared_ptr<arrow::ArrayData>> columns;
    for (const auto& reader : readers_) {
      ARROW_ASSIGN_OR_RAISE(auto column, reader->Read(rows, {nullptr, rows}));
      columns.push_back(std::move(column));
    }
    *out = arrow::RecordBatch::Make(schema_, rows, std::move(columns));
    return arrow::Status::OK();
  }

  void Adapt(const arrow::RecordBatch& batch) {
    const int64_t row_bytes = arrow::util::TotalBufferSize(batch) / batch.num_rows() + 1;
    batch_rows_ = std::clamp<int64_t>(kBatchBytesMax / row_bytes, 1, batch_rows_max_);
  }

  void CloseStripe(OrcStripePlan* plan) {
    readers_.clear();
    source_ = {};
    indexes_.clear();
    plan->footer = {};
    open_ = false;
    range_ = 0;
    ++next_plan_;
  }

  const std::string path_;
  const ReadOptions options_;
  std::unique_ptr<OrcFile> file_;
  std::shared_ptr<arrow::Schema> schema_;
  std::vector<uint32_t> columns_;  ///< columns of the file that are read, ascending
  std::vector<OrcStripePlan> plans_;
  size_t next_plan_ = 0;

  bool open_ = false;
  OrcStripeSource source_;
  OrcRowIndexes indexes_;
  std::vector<std::unique_ptr<ColumnReader>> readers_;
  size_t range_ = 0;
  int64_t position_ = 0;  ///< row of the stripe that the readers stand at
  int64_t batch_rows_ = 0;
  int64_t batch_rows_max_ = 0;

  int64_t first_row_ = 0;
  arrow::Status failure_;
};

}  // namespace

arrow::Result<std::unique_ptr<FormatReader>> OpenOrcReader(FileIO& io, const std::string& path,
                                                           int64_t size_bytes,
                                                           const ReadOptions& options) {
  auto reader = std::make_unique<OrcReader>(path, options);
  ARROW_RETURN_NOT_OK(reader->Open(io, size_bytes));
  return std::unique_ptr<FormatReader>(std::move(reader));
}

}  // namespace kelda
