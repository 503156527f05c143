#include "kelda/read/merge_read.h"

#include <algorithm>

#include <arrow/compute/api.h>

#include "kelda/merge/merge_engine.h"
#include "kelda/read/column_group_read.h"
#include "kelda/read/selecting_reader.h"
#include "kelda/scan/merge_tree_files.h"
#include "kelda/types/arrow_mapping.h"
#include "kelda/types/special_fields.h"

namespace kelda {

namespace {

/// Rows that make up one merged batch.
constexpr int64_t kWindowRows = 16384;

bool IsSystemField(const DataField& field) {
  return field.id == kSequenceNumberFieldId || field.id == kValueKindFieldId;
}

/// Files that follow one another in key order.
class FileRun : public SortedRun {
 public:
  FileRun(const TableContext& table, const Split& split, std::vector<DataFileMeta> files,
          TableReadOptions options)
      : table_(table), split_(split), files_(std::move(files)), options_(std::move(options)) {}

  arrow::Result<std::optional<RunBatch>> Next() override {
    while (true) {
      if (reader_ == nullptr) {
        if (next_ == files_.size()) return std::nullopt;
        ARROW_ASSIGN_OR_RAISE(reader_, OpenDataFile(table_, split_, files_[next_++], options_));
      }
      ARROW_ASSIGN_OR_RAISE(auto rows, reader_->Next());
      if (rows == nullptr) {
        reader_.reset();
        continue;
      }
      if (rows->num_rows() == 0) continue;
      const DataFileMeta& file = files_[next_ - 1];
      ARROW_RETURN_NOT_OK(CheckSystemColumns(*rows, file));
      return RunBatch{std::move(rows), file.level, split_.FilePath(file)};
    }
  }

 private:
  arrow::Status CheckSystemColumns(const arrow::RecordBatch& rows, const DataFileMeta& file) const {
    const auto& kinds = rows.column(rows.num_columns() - 1);
    const auto& sequence = rows.column(rows.num_columns() - 2);
    if (kinds->null_count() > 0 || sequence->null_count() > 0) {
      return Corruption("data file '{}' has rows without a sequence number or a kind",
                        split_.FilePath(file));
    }
    const auto* values = kinds->data()->GetValues<int8_t>(1);
    for (int64_t i = 0; i < rows.num_rows(); ++i) {
      if (values[i] < kInsertKind || values[i] > kDeleteKind) {
        return Corruption("data file '{}' has a row of kind {}", split_.FilePath(file), values[i]);
      }
    }
    return arrow::Status::OK();
  }

  const TableContext& table_;
  const Split& split_;
  const std::vector<DataFileMeta> files_;
  const TableReadOptions options_;
  size_t next_ = 0;
  std::unique_ptr<FormatReader> reader_;
};

/// Merged rows with the columns that were asked for.
class MergeReader : public FormatReader {
 public:
  MergeReader(std::vector<std::unique_ptr<SortedRun>> runs, MergeLayout layout,
              std::unique_ptr<MergeEngine> engine, std::vector<int> output,
              std::shared_ptr<arrow::Schema> schema, bool keep_deletes, std::string context,
              CancellationToken token)
      : merger_(layout, std::move(runs), kWindowRows, std::move(token)),
        layout_(std::move(layout)),
        engine_(std::move(engine)),
        output_(std::move(output)),
        schema_(std::move(schema)),
        keep_deletes_(keep_deletes),
        context_(std::move(context)) {}

  arrow::Result<std::shared_ptr<arrow::RecordBatch>> Next() override {
    while (true) {
      MergeWindow window;
      ARROW_ASSIGN_OR_RAISE(bool more, merger_.Next(&window));
      if (!more) return nullptr;
      auto merged = engine_->Merge(window);
      if (!merged.ok()) return WithContext(merged.status(), context_);
      ARROW_ASSIGN_OR_RAISE(auto rows, DropRetracts(std::move(*merged)));
      if (rows->num_rows() == 0) continue;
      first_row_ = next_row_;
      next_row_ += rows->num_rows();
      arrow::ArrayVector columns;
      for (int column : output_) columns.push_back(rows->column(column));
      return arrow::RecordBatch::Make(schema_, rows->num_rows(), std::move(columns));
    }
  }
  int64_t first_row() const override { return first_row_; }
  int64_t file_row_count() const override { return next_row_; }

 private:
  arrow::Result<std::shared_ptr<arrow::RecordBatch>> DropRetracts(
      std::shared_ptr<arrow::RecordBatch> rows) const {
    if (keep_deletes_) return rows;
    const auto* kinds = rows->column(layout_.kind_column())->data()->GetValues<int8_t>(1);
    const int64_t count = rows->num_rows();
    if (std::none_of(kinds, kinds + count, IsRetract)) return rows;
    arrow::BooleanBuilder keep;
    ARROW_RETURN_NOT_OK(keep.Reserve(count));
    for (int64_t i = 0; i < count; ++i) keep.UnsafeAppend(!IsRetract(kinds[i]));
    ARROW_ASSIGN_OR_RAISE(auto mask, keep.Finish());
    ARROW_ASSIGN_OR_RAISE(auto kept, arrow::compute::Filter(rows, mask));
    return kept.record_batch();
  }

  GroupMerger merger_;
  const MergeLayout layout_;
  std::unique_ptr<MergeEngine> engine_;
  const std::vector<int> output_;
  const std::shared_ptr<arrow::Schema> schema_;
  const bool keep_deletes_;
  const std::string context_;
  int64_t first_row_ = 0;
  int64_t next_row_ = 0;
};

int PlaceOf(const std::vector<DataField>& fields, const std::string& name) {
  for (size_t i = 0; i < fields.size(); ++i) {
    if (fields[i].name == name) return static_cast<int>(i);
  }
  return -1;
}

}  // namespace

arrow::Result<std::unique_ptr<FormatReader>> OpenMergeUnit(const TableContext& table,
                                                           const Split& split, const ReadUnit& unit,
                                                           const TableReadOptions& options) {
  ARROW_ASSIGN_OR_RAISE(const MergeRules rules, MergeRulesOf(table));
  ARROW_ASSIGN_OR_RAISE(const auto columns, ColumnsToMake(table, options));
  std::vector<DataField> wanted;
  for (const DataField& column : columns) {
    if (!IsSystemField(column)) wanted.push_back(column);
  }
  MergeLayout layout;
  layout.fields = rules.FieldsToRead(*table.schema, wanted);
  for (const std::string& key : TrimmedPrimaryKey(*table.schema))
    layout.key_columns.push_back(PlaceOf(layout.fields, key));
  for (const std::string& name : rules.sequence_fields) {
    const int place = PlaceOf(layout.fields, name);
    layout.sequence.push_back(
        {place, layout.fields[static_cast<size_t>(place)].type, rules.sequence_descending});
  }
  std::vector<int> output;
  for (const DataField& column : columns) {
    if (column.id == kSequenceNumberFieldId) {
      output.push_back(layout.sequence_number_column());
    } else if (column.id == kValueKindFieldId) {
      output.push_back(layout.kind_column());
    } else {
      output.push_back(PlaceOf(layout.fields, column.name));
    }
  }

  std::vector<DataFileMeta> files;
  for (size_t index : unit.files) files.push_back(split.files[index]);
  ARROW_ASSIGN_OR_RAISE(auto sections, PartitionIntervals(table, std::move(files)));
  if (sections.size() != 1) {
    return arrow::Status::UnknownError("files that are merged have key ranges without connection");
  }

  TableReadOptions of_files;
  of_files.columns = layout.fields;
  of_files.columns.push_back(SequenceNumberField());
  of_files.columns.push_back(ValueKindField());
  // What a row of one file says of its values is not what the merged row says (spec 02 §4.9).
  of_files.predicate = options.predicate;
  if (options.predicate != nullptr && sections[0].runs.size() > 1) {
    of_files.predicate = SplitByColumns(options.predicate, TrimmedPrimaryKey(*table.schema)).inside;
  }
  of_files.batch_rows = options.batch_rows;
  of_files.token = options.token;
  of_files.on_open = options.on_open;
  std::vector<std::unique_ptr<SortedRun>> runs;
  for (auto& run : sections[0].runs)
    runs.push_back(std::make_unique<FileRun>(table, split, std::move(run), of_files));
  ARROW_ASSIGN_OR_RAISE(auto engine, MergeEngine::Make(rules, layout, MergeOptionsOf(table)));
  ARROW_ASSIGN_OR_RAISE(auto schema, ToArrowSchema(columns));
  auto reader = std::make_unique<MergeReader>(
      std::move(runs), std::move(layout), std::move(engine), std::move(output), std::move(schema),
      options.keep_deletes, fmt::format("table {}", table.name), options.token);
  Selection selection;
  if (options.exact_filter) selection.filter = options.predicate;
  selection.output_columns = static_cast<int>(options.columns.size());
  selection.token = options.token;
  return SelectRows(std::move(reader), std::move(selection));
}

}  // namespace kelda
