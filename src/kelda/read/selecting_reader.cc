#include "kelda/read/selecting_reader.h"

#include <arrow/compute/api.h>
#include <arrow/util/bit_util.h>

namespace kelda {

namespace {

class SelectingReader : public FormatReader {
 public:
  SelectingReader(std::unique_ptr<FormatReader> inner, Selection selection)
      : inner_(std::move(inner)), selection_(std::move(selection)) {}

  arrow::Result<std::shared_ptr<arrow::RecordBatch>> Next() override {
    while (true) {
      ARROW_RETURN_NOT_OK(selection_.token.Check());
      ARROW_ASSIGN_OR_RAISE(auto batch, inner_->Next());
      if (batch == nullptr) return batch;
      ARROW_ASSIGN_OR_RAISE(batch, DropDeleted(std::move(batch)));
      if (batch->num_rows() > 0 && selection_.filter != nullptr) {
        ARROW_ASSIGN_OR_RAISE(auto selected, Evaluate(*selection_.filter, *batch));
        ARROW_ASSIGN_OR_RAISE(auto kept, arrow::compute::Filter(batch, selected));
        batch = kept.record_batch();
      }
      if (batch->num_rows() > 0) return DropExtraColumns(batch);
    }
  }
  int64_t first_row() const override { return inner_->first_row(); }
  int64_t file_row_count() const override { return inner_->file_row_count(); }

 private:
  arrow::Result<std::shared_ptr<arrow::RecordBatch>> DropDeleted(
      std::shared_ptr<arrow::RecordBatch> batch) const {
    if (selection_.deleted == nullptr) return batch;
    const int64_t begin = inner_->first_row();
    const int64_t rows = batch->num_rows();
    const std::vector<int64_t> deleted = selection_.deleted->DeletedIn(begin, begin + rows);
    if (deleted.empty()) return batch;
    const auto deleted_count = static_cast<int64_t>(deleted.size());
    if (deleted_count == rows) return batch->Slice(0, 0);
    ARROW_ASSIGN_OR_RAISE(auto bits, arrow::AllocateEmptyBitmap(rows));
    arrow::bit_util::SetBitsTo(bits->mutable_data(), 0, rows, true);
    for (int64_t row : deleted) arrow::bit_util::ClearBit(bits->mutable_data(), row);
    const auto keep = std::make_shared<arrow::BooleanArray>(rows, std::move(bits));
    ARROW_ASSIGN_OR_RAISE(auto kept, arrow::compute::Filter(batch, keep));
    return kept.record_batch();
  }

  std::shared_ptr<arrow::RecordBatch> DropExtraColumns(
      const std::shared_ptr<arrow::RecordBatch>& batch) const {
    const int wanted = selection_.output_columns;
    if (batch->num_columns() == wanted) return batch;
    arrow::ArrayVector columns(batch->columns().begin(), batch->columns().begin() + wanted);
    const auto& all = batch->schema()->fields();
    arrow::FieldVector fields(all.begin(), all.begin() + wanted);
    return arrow::RecordBatch::Make(arrow::schema(std::move(fields)), batch->num_rows(),
                                    std::move(columns));
  }

  std::unique_ptr<FormatReader> inner_;
  Selection selection_;
};

}  // namespace

std::unique_ptr<FormatReader> SelectRows(std::unique_ptr<FormatReader> inner, Selection selection) {
  if (selection.deleted == nullptr && selection.filter == nullptr) return inner;
  return std::make_unique<SelectingReader>(std::move(inner), std::move(selection));
}

}  // namespace kelda
