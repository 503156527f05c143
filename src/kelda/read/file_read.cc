#include "kelda/read/file_read.h"

#include <algorithm>

#include <arrow/array/util.h>
#include <arrow/compute/api.h>

#include "kelda/read/field_mapping.h"
#include "kelda/types/arrow_mapping.h"

namespace kelda {

namespace {

/// Where one output column comes from.
struct ColumnSource {
  std::shared_ptr<arrow::Scalar> constant;  ///< partition column; null scalar = NULL
  FieldMapping mapping;                     ///< else
  int file_column = -1;                     ///< index in the columns read; -1: constant or missing
};

void CollectColumns(const Predicate& predicate, std::vector<std::string>* names) {
  if (!predicate.column.empty()) names->push_back(predicate.column[0]);
  for (const auto& child : predicate.children) CollectColumns(*child, names);
}

class DataFileReader : public FormatReader {
 public:
  DataFileReader(std::unique_ptr<FormatReader> inner, std::vector<ColumnSource> sources,
                 std::shared_ptr<arrow::Schema> schema, PredicatePtr filter, int output_columns,
                 int64_t row_count, int64_t batch_rows, CancellationToken token)
      : inner_(std::move(inner)),
        sources_(std::move(sources)),
        schema_(std::move(schema)),
        filter_(std::move(filter)),
        output_columns_(output_columns),
        row_count_(row_count),
        batch_rows_(batch_rows),
        token_(std::move(token)) {}

  arrow::Result<std::shared_ptr<arrow::RecordBatch>> Next() override {
    while (true) {
      ARROW_RETURN_NOT_OK(token_.Check());
      ARROW_ASSIGN_OR_RAISE(auto batch, inner_ != nullptr ? NextFromFile() : NextWithoutFile());
      if (batch == nullptr || filter_ == nullptr) return batch;
      ARROW_ASSIGN_OR_RAISE(auto selected, Evaluate(*filter_, *batch));
      ARROW_ASSIGN_OR_RAISE(auto kept, arrow::compute::Filter(batch, selected));
      auto filtered = kept.record_batch();
      if (filtered->num_rows() == 0) continue;
      return DropExtraColumns(filtered);
    }
  }
  int64_t first_row() const override { return first_row_; }
  int64_t file_row_count() const override { return row_count_; }

 private:
  arrow::Result<std::shared_ptr<arrow::RecordBatch>> NextFromFile() {
    ARROW_ASSIGN_OR_RAISE(auto raw, inner_->Next());
    if (raw == nullptr) return raw;
    first_row_ = inner_->first_row();
    return Assemble(raw.get(), raw->num_rows());
  }

  arrow::Result<std::shared_ptr<arrow::RecordBatch>> NextWithoutFile() {
    if (position_ >= row_count_) return nullptr;
    const int64_t rows = std::min(batch_rows_, row_count_ - position_);
    first_row_ = position_;
    position_ += rows;
    return Assemble(nullptr, rows);
  }

  arrow::Result<std::shared_ptr<arrow::RecordBatch>> Assemble(const arrow::RecordBatch* raw,
                                                              int64_t rows) {
    arrow::ArrayVector columns;
    for (size_t i = 0; i < sources_.size(); ++i) {
      const ColumnSource& source = sources_[i];
      const auto& type = schema_->field(static_cast<int>(i))->type();
      if (source.constant != nullptr) {
        if (source.constant->is_valid) {
          ARROW_ASSIGN_OR_RAISE(auto column, arrow::MakeArrayFromScalar(*source.constant, rows));
          columns.push_back(std::move(column));
        } else {
          ARROW_ASSIGN_OR_RAISE(auto column, arrow::MakeArrayOfNull(type, rows));
          columns.push_back(std::move(column));
        }
        continue;
      }
      std::shared_ptr<arrow::Array> file_column;
      if (source.file_column >= 0) file_column = raw->column(source.file_column);
      ARROW_ASSIGN_OR_RAISE(auto column, ApplyMapping(source.mapping, file_column, rows));
      columns.push_back(std::move(column));
    }
    return arrow::RecordBatch::Make(schema_, rows, std::move(columns));
  }

  std::shared_ptr<arrow::RecordBatch> DropExtraColumns(
      const std::shared_ptr<arrow::RecordBatch>& batch) const {
    if (batch->num_columns() == output_columns_) return batch;
    arrow::ArrayVector columns(batch->columns().begin(),
                               batch->columns().begin() + output_columns_);
    arrow::FieldVector fields(schema_->fields().begin(),
                              schema_->fields().begin() + output_columns_);
    return arrow::RecordBatch::Make(arrow::schema(std::move(fields)), batch->num_rows(),
                                    std::move(columns));
  }

  std::unique_ptr<FormatReader> inner_;  ///< null when no column of the file is needed
  std::vector<ColumnSource> sources_;
  std::shared_ptr<arrow::Schema> schema_;
  PredicatePtr filter_;
  int output_columns_;
  int64_t row_count_;
  int64_t batch_rows_;
  CancellationToken token_;
  int64_t position_ = 0;
  int64_t first_row_ = 0;
};

int PartitionIndex(const TableContext& table, const std::string& name) {
  const auto& keys = table.schema->partition_keys;
  auto it = std::find(keys.begin(), keys.end(), name);
  return it == keys.end() ? -1 : static_cast<int>(it - keys.begin());
}

/// Wanted columns plus those that only the exact filter needs.
arrow::Result<std::vector<DataField>> ColumnsToMake(const TableContext& table,
                                                    const TableReadOptions& options) {
  std::vector<DataField> columns = options.columns;
  if (!options.exact_filter || options.predicate == nullptr) return columns;
  std::vector<std::string> names;
  CollectColumns(*options.predicate, &names);
  for (const std::string& name : names) {
    const int index = table.schema->FieldIndex(name);
    if (index < 0) return Invalid("table {}: filter on unknown column '{}'", table.name, name);
    // A ROW that was projected to some members may lack those of the filter: read the whole one
    // under its name once more is not possible, so the filter's columns must be whole.
    bool present = false;
    for (const DataField& column : columns) {
      if (column.name != name) continue;
      present = true;
      if (!(column.type == table.fields()[index].type)) {
        return Invalid("table {}: column '{}' is filtered and projected to a part", table.name,
                       name);
      }
    }
    if (!present) columns.push_back(table.fields()[index]);
  }
  return columns;
}

}  // namespace

arrow::Result<std::unique_ptr<FormatReader>> OpenDataFile(const TableContext& table,
                                                          const Split& split,
                                                          const DataFileMeta& file,
                                                          const TableReadOptions& options) {
  const std::string path = split.FilePath(file);
  auto format = FindFormat(FormatOfFileName(file.file_name));
  if (!format.ok()) {
    return WithContext(format.status(), fmt::format("table {}, data file '{}'", table.name, path));
  }
  TableSchemaPtr file_schema = table.schema;
  if (file.schema_id != table.schema->id) {
    ARROW_ASSIGN_OR_RAISE(file_schema, table.schemas->Read(file.schema_id));
  }
  ARROW_ASSIGN_OR_RAISE(auto columns, ColumnsToMake(table, options));
  std::vector<ColumnSource> sources;
  ReadOptions read;
  for (const DataField& column : columns) {
    ColumnSource source;
    const int key = PartitionIndex(table, column.name);
    if (key >= 0) {
      source.constant = split.partition_values[key];
    } else {
      ARROW_ASSIGN_OR_RAISE(source.mapping,
                            MapField(column, file_schema->fields,
                                     fmt::format("table {}, file '{}'", table.name, path)));
      if (source.mapping.file) {
        source.file_column = static_cast<int>(read.columns.size());
        read.columns.push_back(*source.mapping.file);
      }
    }
    sources.push_back(std::move(source));
  }
  ARROW_ASSIGN_OR_RAISE(auto schema, ToArrowSchema(columns));
  std::unique_ptr<FormatReader> inner;
  if (!read.columns.empty()) {
    read.predicate = MapPredicate(options.predicate, table.fields(), file_schema->fields);
    read.batch_rows = options.batch_rows;
    read.token = options.token;
    read.on_open = options.on_open;
    ARROW_ASSIGN_OR_RAISE(inner, (*format)->OpenReader(*table.env.io, path, file.file_size, read));
    if (inner->file_row_count() != file.row_count) {
      return Corruption("data file '{}' has {} rows, its manifest says {}", path,
                        inner->file_row_count(), file.row_count);
    }
  }
  return std::make_unique<DataFileReader>(std::move(inner), std::move(sources), std::move(schema),
                                          options.exact_filter ? options.predicate : nullptr,
                                          static_cast<int>(options.columns.size()), file.row_count,
                                          options.batch_rows, options.token);
}

arrow::Status ReadPlan(
    const TableContext& table, const ScanPlan& plan, const TableReadOptions& options,
    const std::function<arrow::Status(std::shared_ptr<arrow::RecordBatch>)>& sink) {
  std::vector<std::pair<const Split*, const DataFileMeta*>> files;
  for (const Split& split : plan.splits) {
    for (const DataFileMeta& file : split.files) files.emplace_back(&split, &file);
  }
  return ParallelFor(*table.env.executor, static_cast<int64_t>(files.size()), options.token,
                     [&](int64_t i) -> arrow::Status {
                       ARROW_ASSIGN_OR_RAISE(auto reader, OpenDataFile(table, *files[i].first,
                                                                       *files[i].second, options));
                       while (true) {
                         ARROW_ASSIGN_OR_RAISE(auto batch, reader->Next());
                         if (batch == nullptr) return arrow::Status::OK();
                         ARROW_RETURN_NOT_OK(sink(std::move(batch)));
                       }
                     });
}

}  // namespace kelda
