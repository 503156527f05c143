#include "kelda/read/file_read.h"

#include <algorithm>

#include <arrow/array/util.h>
#include <arrow/compute/api.h>

#include "kelda/read/column_group_read.h"
#include "kelda/read/field_mapping.h"
#include "kelda/read/merge_read.h"
#include "kelda/read/selecting_reader.h"
#include "kelda/scan/file_index_filter.h"
#include "kelda/types/arrow_mapping.h"
#include "kelda/types/special_fields.h"

namespace kelda {

namespace {

/// Where one output column comes from.
struct ColumnSource {
  enum class Kind { kPartition, kFile, kRowId, kSequenceNumber, kPosition };
  Kind kind = Kind::kFile;
  std::shared_ptr<arrow::Scalar> constant;  ///< kPartition; null scalar = NULL
  FieldMapping mapping;                     ///< kFile
  int file_column = -1;                     ///< index in the columns read; -1: not in the file
};

ColumnSource::Kind KindOf(const DataField& column) {
  switch (column.id) {
    case kRowIdFieldId:
      return ColumnSource::Kind::kRowId;
    case kSequenceNumberFieldId:
      return ColumnSource::Kind::kSequenceNumber;
    case kRowPositionFieldId:
      return ColumnSource::Kind::kPosition;
    default:
      return ColumnSource::Kind::kFile;
  }
}

arrow::Result<std::shared_ptr<arrow::Array>> Numbers(int64_t first, int64_t rows) {
  ARROW_ASSIGN_OR_RAISE(auto buffer, arrow::AllocateBuffer(rows * sizeof(int64_t)));
  auto* values = reinterpret_cast<int64_t*>(buffer->mutable_data());
  for (int64_t i = 0; i < rows; ++i) values[i] = first + i;
  return std::make_shared<arrow::Int64Array>(rows,
                                             std::shared_ptr<arrow::Buffer>(std::move(buffer)));
}

/// Turns the batches of a file into those of the table; every row comes out.
class DataFileReader : public FormatReader {
 public:
  DataFileReader(std::unique_ptr<FormatReader> inner, std::vector<ColumnSource> sources,
                 std::shared_ptr<arrow::Schema> schema, const DataFileMeta& file,
                 const TableReadOptions& options)
      : inner_(std::move(inner)),
        sources_(std::move(sources)),
        schema_(std::move(schema)),
        row_count_(file.row_count),
        first_row_id_(file.first_row_id),
        sequence_number_(file.max_sequence_number),
        batch_rows_(options.batch_rows),
        token_(options.token) {}

  arrow::Result<std::shared_ptr<arrow::RecordBatch>> Next() override {
    ARROW_RETURN_NOT_OK(token_.Check());
    if (inner_ == nullptr) return NextWithoutFile();
    ARROW_ASSIGN_OR_RAISE(auto raw, inner_->Next());
    if (raw == nullptr) return raw;
    first_row_ = inner_->first_row();
    return Assemble(raw.get(), raw->num_rows());
  }
  int64_t first_row() const override { return first_row_; }
  int64_t file_row_count() const override { return row_count_; }

 private:
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
      ARROW_ASSIGN_OR_RAISE(
          auto column,
          MakeColumn(sources_[i], schema_->field(static_cast<int>(i))->type(), raw, rows));
      columns.push_back(std::move(column));
    }
    return arrow::RecordBatch::Make(schema_, rows, std::move(columns));
  }

  arrow::Result<std::shared_ptr<arrow::Array>> MakeColumn(
      const ColumnSource& source, const std::shared_ptr<arrow::DataType>& type,
      const arrow::RecordBatch* raw, int64_t rows) const {
    std::shared_ptr<arrow::Array> stored;
    if (source.file_column >= 0) stored = raw->column(source.file_column);
    switch (source.kind) {
      case ColumnSource::Kind::kPartition:
        if (source.constant->is_valid) return arrow::MakeArrayFromScalar(*source.constant, rows);
        return arrow::MakeArrayOfNull(type, rows);
      case ColumnSource::Kind::kFile:
        return ApplyMapping(source.mapping, stored, rows);
      case ColumnSource::Kind::kPosition:
        return Numbers(first_row_, rows);
      case ColumnSource::Kind::kRowId: {
        if (stored != nullptr && (stored->null_count() == 0 || !first_row_id_)) return stored;
        if (!first_row_id_) return arrow::MakeArrayOfNull(type, rows);
        ARROW_ASSIGN_OR_RAISE(auto ids, Numbers(*first_row_id_ + first_row_, rows));
        return Coalesced(stored, ids);
      }
      case ColumnSource::Kind::kSequenceNumber: {
        if (stored != nullptr && stored->null_count() == 0) return stored;
        ARROW_ASSIGN_OR_RAISE(
            auto numbers, arrow::MakeArrayFromScalar(arrow::Int64Scalar(sequence_number_), rows));
        return Coalesced(stored, numbers);
      }
    }
    return arrow::Status::UnknownError("column source");
  }

  /// Stored values win (spec 01 §6.1, row tracking read rule).
  static arrow::Result<std::shared_ptr<arrow::Array>> Coalesced(
      const std::shared_ptr<arrow::Array>& stored, const std::shared_ptr<arrow::Array>& computed) {
    if (stored == nullptr) return computed;
    ARROW_ASSIGN_OR_RAISE(auto merged,
                          arrow::compute::CallFunction("coalesce", {stored, computed}));
    return merged.make_array();
  }

  std::unique_ptr<FormatReader> inner_;  ///< null when no column of the file is needed
  std::vector<ColumnSource> sources_;
  std::shared_ptr<arrow::Schema> schema_;
  int64_t row_count_;
  std::optional<int64_t> first_row_id_;
  int64_t sequence_number_;
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

}  // namespace

/// A vector that names rows which the file does not have belongs to another file.
arrow::Result<DeletionVectorPtr> LoadDeletionVector(const TableContext& table, const Split& split,
                                                    const DataFileMeta& file) {
  for (size_t i = 0; i < split.files.size(); ++i) {
    const DeletionFile* deletion = split.DeletionOf(i);
    if (deletion == nullptr || split.files[i].file_name != file.file_name) continue;
    ARROW_ASSIGN_OR_RAISE(auto vector, ReadDeletionVector(*table.env.io, deletion->path,
                                                          deletion->offset, deletion->length));
    if (vector->MaxPosition() >= file.row_count) {
      return Corruption(
          "index file '{}': the deletion vector at {} names row {} of data file '{}', which has {} "
          "rows",
          deletion->path, deletion->offset, vector->MaxPosition(), file.file_name, file.row_count);
    }
    if (deletion->cardinality && *deletion->cardinality != vector->Cardinality()) {
      return Corruption(
          "index file '{}': the deletion vector at {} has {} rows, the index manifest says {}",
          deletion->path, deletion->offset, vector->Cardinality(), *deletion->cardinality);
    }
    return vector;
  }
  return DeletionVectorPtr();
}

namespace {

std::shared_ptr<const RowRanges> Both(std::shared_ptr<const RowRanges> a,
                                      std::shared_ptr<const RowRanges> b) {
  if (a == nullptr || b == nullptr) return a == nullptr ? std::move(b) : std::move(a);
  return std::make_shared<const RowRanges>(a->Intersect(*b));
}

/// Rows left by the vector are worth telling to the format when few are.
std::shared_ptr<const RowRanges> RowsToRead(std::shared_ptr<const RowRanges> wanted,
                                            const DeletionVectorPtr& deleted, int64_t row_count) {
  if (deleted == nullptr || deleted->Cardinality() * 2 < row_count) return wanted;
  return Both(std::move(wanted), std::make_shared<const RowRanges>(deleted->LiveRows(row_count)));
}

/// Rows that the caller wants and that may match as the file's index says: from the plan, or asked
/// here if the plan did not.
arrow::Result<std::shared_ptr<const RowRanges>> WantedRows(const TableContext& table,
                                                           const Split& split,
                                                           const DataFileMeta& file,
                                                           const TableReadOptions& options) {
  if (split.indexes_used) {
    for (size_t i = 0; i < split.files.size(); ++i) {
      if (split.files[i].file_name == file.file_name) return Both(options.rows, split.RowsOf(i));
    }
  }
  if (split.data_evolution || !split.section_ends.empty()) return options.rows;
  ARROW_ASSIGN_OR_RAISE(const auto filter, FileIndexFilter::Make(table, options.predicate));
  if (filter == nullptr) return options.rows;
  ARROW_ASSIGN_OR_RAISE(RowSelection rows, filter->Select(file, split.FilePath(file)));
  if (rows.all()) return options.rows;
  return Both(options.rows, std::make_shared<const RowRanges>(rows.ToRanges()));
}

/// A file that no wanted row is in.
class EmptyReader : public FormatReader {
 public:
  explicit EmptyReader(int64_t row_count) : row_count_(row_count) {}
  arrow::Result<std::shared_ptr<arrow::RecordBatch>> Next() override { return nullptr; }
  int64_t first_row() const override { return 0; }
  int64_t file_row_count() const override { return row_count_; }

 private:
  int64_t row_count_;
};

}  // namespace

arrow::Result<std::vector<DataField>> ColumnsToMake(const TableContext& table,
                                                    const TableReadOptions& options) {
  std::vector<DataField> columns = options.columns;
  if (!options.exact_filter || options.predicate == nullptr) return columns;
  std::vector<std::string> names;
  std::function<void(const Predicate&)> collect = [&](const Predicate& predicate) {
    if (!predicate.column.empty()) names.push_back(predicate.column[0]);
    for (const auto& child : predicate.children) collect(*child);
  };
  collect(*options.predicate);
  for (const std::string& name : names) {
    const int index = table.schema->FieldIndex(name);
    DataField field;
    if (index >= 0) {
      field = table.fields()[static_cast<size_t>(index)];
    } else if (name == kRowIdName) {
      field = RowIdField();
    } else if (name == kSequenceNumberName) {
      field = SequenceNumberField();
    } else {
      return Invalid("table {}: filter on unknown column '{}'", table.name, name);
    }
    // A ROW that was projected to some members may lack those of the filter: read the whole one
    // under its name once more is not possible, so the filter's columns must be whole.
    bool present = false;
    for (const DataField& column : columns) {
      if (column.name != name) continue;
      present = true;
      if (!(column.type == field.type)) {
        return Invalid("table {}: column '{}' is filtered and projected to a part", table.name,
                       name);
      }
    }
    if (!present) columns.push_back(std::move(field));
  }
  return columns;
}

arrow::Result<std::vector<DataField>> StoredFieldsOf(const TableContext& table,
                                                     const DataFileMeta& file) {
  TableSchemaPtr schema = table.schema;
  if (file.schema_id != schema->id) {
    ARROW_ASSIGN_OR_RAISE(schema, table.schemas->Read(file.schema_id));
  }
  ARROW_ASSIGN_OR_RAISE(auto fields, StoredFields(*schema, file));
  if (!schema->primary_keys.empty()) {
    fields.push_back(SequenceNumberField());
    fields.push_back(ValueKindField());
  }
  return fields;
}

arrow::Result<std::unique_ptr<FormatReader>> OpenDataFile(const TableContext& table,
                                                          const Split& split,
                                                          const DataFileMeta& file,
                                                          const TableReadOptions& options) {
  const std::string path = split.FilePath(file);
  const std::string context = fmt::format("table {}, file '{}'", table.name, path);
  auto format = FindFormat(FormatOfFileName(file.file_name));
  if (!format.ok()) {
    return WithContext(format.status(), fmt::format("table {}, data file '{}'", table.name, path));
  }
  ARROW_ASSIGN_OR_RAISE(const auto wanted, WantedRows(table, split, file, options));
  if (wanted != nullptr && wanted->empty()) return std::make_unique<EmptyReader>(file.row_count);
  ARROW_ASSIGN_OR_RAISE(const auto stored, StoredFieldsOf(table, file));
  ARROW_ASSIGN_OR_RAISE(auto columns, ColumnsToMake(table, options));
  std::vector<ColumnSource> sources;
  ReadOptions read;
  for (const DataField& column : columns) {
    ColumnSource source;
    source.kind = KindOf(column);
    const int key =
        source.kind == ColumnSource::Kind::kFile ? PartitionIndex(table, column.name) : -1;
    if (key >= 0) {
      source.kind = ColumnSource::Kind::kPartition;
      source.constant = split.partition_values[key];
    } else if (source.kind != ColumnSource::Kind::kPosition) {
      ARROW_ASSIGN_OR_RAISE(source.mapping, MapField(column, stored, context));
      if (source.mapping.file) {
        source.file_column = static_cast<int>(read.columns.size());
        read.columns.push_back(*source.mapping.file);
      }
    }
    sources.push_back(std::move(source));
  }
  ARROW_ASSIGN_OR_RAISE(auto schema, ToArrowSchema(columns));
  ARROW_ASSIGN_OR_RAISE(auto deleted, LoadDeletionVector(table, split, file));
  std::unique_ptr<FormatReader> inner;
  if (!read.columns.empty()) {
    read.predicate = MapPredicate(options.predicate, table.fields(), stored);
    read.rows = RowsToRead(wanted, deleted, file.row_count);
    read.batch_rows = options.batch_rows;
    read.token = options.token;
    read.on_open = options.on_open;
    ARROW_ASSIGN_OR_RAISE(inner, (*format)->OpenReader(*table.env.io, path, file.file_size, read));
    if (inner->file_row_count() != file.row_count) {
      return Corruption("data file '{}' has {} rows, its manifest says {}", path,
                        inner->file_row_count(), file.row_count);
    }
  }
  Selection selection;
  selection.deleted = std::move(deleted);
  if (options.exact_filter) selection.filter = options.predicate;
  selection.output_columns = static_cast<int>(options.columns.size());
  selection.token = options.token;
  return SelectRows(std::make_unique<DataFileReader>(std::move(inner), std::move(sources),
                                                     std::move(schema), file, options),
                    std::move(selection));
}

arrow::Result<std::unique_ptr<FormatReader>> OpenReadUnit(const TableContext& table,
                                                          const Split& split, const ReadUnit& unit,
                                                          const TableReadOptions& options) {
  if (unit.merge) return OpenMergeUnit(table, split, unit, options);
  if (unit.files.size() == 1)
    return OpenDataFile(table, split, split.files[unit.files[0]], options);
  return OpenColumnGroup(table, split, unit, options);
}

arrow::Status ReadPlan(
    const TableContext& table, const ScanPlan& plan, const TableReadOptions& options,
    const std::function<arrow::Status(std::shared_ptr<arrow::RecordBatch>)>& sink) {
  std::vector<std::pair<const Split*, ReadUnit>> units;
  for (const Split& split : plan.splits) {
    for (ReadUnit& unit : ReadUnits(split)) units.emplace_back(&split, std::move(unit));
  }
  return ParallelFor(*table.env.executor, static_cast<int64_t>(units.size()), options.token,
                     [&](int64_t i) -> arrow::Status {
                       ARROW_ASSIGN_OR_RAISE(auto reader, OpenReadUnit(table, *units[i].first,
                                                                       units[i].second, options));
                       while (true) {
                         ARROW_ASSIGN_OR_RAISE(auto batch, reader->Next());
                         if (batch == nullptr) return arrow::Status::OK();
                         ARROW_RETURN_NOT_OK(sink(std::move(batch)));
                       }
                     });
}

}  // namespace kelda
