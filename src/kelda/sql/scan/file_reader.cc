#include "kelda/sql/scan/file_reader.h"

#include <algorithm>

#include "duckdb/common/error_data.hpp"
#include "duckdb/parser/expression/constant_expression.hpp"
#include "duckdb/planner/table_filter_state.hpp"
#include "duckdb/storage/table/column_segment.hpp"

#include "kelda/format/file_format.h"
#include "kelda/read/file_read.h"
#include "kelda/sql/scan/parquet_footer.h"
#include "kelda/sql/scan/struct_projection.h"
#include "kelda/sql/types/arrow_to_chunk.h"
#include "kelda/sql/types/logical_type.h"
#include "kelda/sql/types/status_exception.h"
#include "kelda/sql/types/value.h"

namespace kelda::sql {

namespace {

using duckdb::BaseFileReader;
using duckdb::ClientContext;
using duckdb::idx_t;
using duckdb::LogicalType;
using duckdb::MultiFileColumnDefinition;
using duckdb::OpenFileInfo;

/// A file of which less than one row in so many is wanted goes to Kelda's reader.
constexpr int64_t kFewRowsShare = 8;

MultiFileColumnDefinition ColumnDefinition(const DataField& field, const LogicalType& type) {
  MultiFileColumnDefinition column(field.name, type);
  column.identifier = duckdb::Value::INTEGER(field.id);
  column.default_expression = duckdb::make_uniq<duckdb::ConstantExpression>(duckdb::Value(type));
  return column;
}

int PartitionIndex(const TableContext& table, const std::string& name) {
  const auto& keys = table.schema->partition_keys;
  auto it = std::find(keys.begin(), keys.end(), name);
  return it == keys.end() ? -1 : static_cast<int>(it - keys.begin());
}

/// The type that DuckDB's Parquet reader gives a column of `type` if it reads it exactly; INVALID
/// if it does not: TIME is another type there, INT96 loses nanoseconds, TIMESTAMP(0) has another
/// unit, VARIANT another form.
LogicalType ExactParquetType(const DataType& type, bool nested) {
  switch (type.root()) {
    case TypeRoot::kTime:
    case TypeRoot::kVariant:
    case TypeRoot::kVector:
      return LogicalType::INVALID;
    case TypeRoot::kTimestamp:
      if (type.precision() > 6 || type.precision() == 0) return LogicalType::INVALID;
      // Milliseconds arrive as microseconds and are cast back, which is exact.
      if (type.precision() <= 3 && nested) return LogicalType::INVALID;
      return LogicalType::TIMESTAMP;
    case TypeRoot::kTimestampLtz:
      return type.precision() > 6 ? LogicalType::INVALID : LogicalType::TIMESTAMP_TZ;
    case TypeRoot::kArray:
    case TypeRoot::kMultiset:
      if (ExactParquetType(type.element(), true) == LogicalType::INVALID)
        return LogicalType::INVALID;
      break;
    case TypeRoot::kMap:
      if (ExactParquetType(type.key(), true) == LogicalType::INVALID ||
          ExactParquetType(type.value(), true) == LogicalType::INVALID) {
        return LogicalType::INVALID;
      }
      break;
    case TypeRoot::kRow:
      for (const DataField& member : type.fields()) {
        if (ExactParquetType(member.type, true) == LogicalType::INVALID)
          return LogicalType::INVALID;
      }
      break;
    default:
      break;
  }
  auto logical = ToLogicalType(type, "");
  return logical.ok() ? *logical : LogicalType(LogicalType::INVALID);
}

/// Whether DuckDB's cast of a column that was written as `written`, and its filters on it, are the
/// same as Paimon's. Other widening casts round the constants of filters.
bool HasExactCast(const DataType& written, const DataType& wanted) {
  if (written.EqualsIgnoringNullability(wanted)) return true;
  const auto is_integer = [](const DataType& type) {
    return type.root() >= TypeRoot::kTinyInt && type.root() <= TypeRoot::kBigInt;
  };
  if (is_integer(written) && is_integer(wanted)) return written.root() <= wanted.root();
  const bool same_kind =
      (written.IsString() && wanted.IsString()) || (written.IsBytes() && wanted.IsBytes());
  // A length would have to be checked, and a CHAR padded.
  return same_kind && wanted.length() == DataType::kLengthMax && wanted.root() != TypeRoot::kChar &&
         wanted.root() != TypeRoot::kBinary;
}

/// Kelda's reader of one data file in the clothes of DuckDB's multi-file machinery: one thread
/// reads a file from its beginning to its end. The table's columns come out in the table's types.
class KeldaFileReader : public BaseFileReader {
 public:
  KeldaFileReader(OpenFileInfo info, duckdb::shared_ptr<FileScanInfo> scan, PlannedFile file)
      : BaseFileReader(std::move(info)), scan_(std::move(scan)), file_(file) {
    for (size_t i = 0; i < scan_->types.size(); ++i) {
      columns.push_back(ColumnDefinition(scan_->table->fields()[i], scan_->types[i]));
    }
  }

  bool TryInitializeScan(ClientContext&, duckdb::GlobalTableFunctionState&,
                         duckdb::LocalTableFunctionState&) override {
    return !std::exchange(started_, true);
  }

  void PrepareScan(ClientContext& context, duckdb::GlobalTableFunctionState&,
                   duckdb::LocalTableFunctionState&) override {
    TableReadOptions options;
    for (idx_t i = 0; i < column_ids.size(); ++i) {
      const auto id = column_ids[duckdb::MultiFileLocalIndex(i)].GetId();
      fields_.push_back(scan_->table->fields()[id]);
      const bool narrowed = i < column_indexes.size();
      read_fields_.push_back(narrowed
                                 ? NarrowField(fields_.back(), column_indexes[i].GetChildIndexes())
                                 : fields_.back());
    }
    options.columns = read_fields_;
    if (scan_->prune) options.predicate = scan_->plan->predicate();
    options.token = scan_->token;
    options.on_open = [scan = scan_](const ReadStatistics& statistics) {
      scan->row_groups_total += statistics.row_groups_total;
      scan->row_groups_read += statistics.row_groups_read;
    };
    reader_ = ValueOrThrow(OpenReadUnit(*scan_->table, *file_.split, file_.unit, options));
    if (!filters) return;
    for (auto& [column, filter] : filters->filters) {
      filter_states_.push_back(duckdb::TableFilterState::Initialize(context, *filter));
    }
  }

  duckdb::AsyncResult Scan(ClientContext& context, duckdb::GlobalTableFunctionState&,
                           duckdb::LocalTableFunctionState&, duckdb::DataChunk& chunk) override {
    if (context.interrupted) {
      scan_->token.Cancel();
      throw duckdb::InterruptException();
    }
    if (batch_ == nullptr || position_ == batch_->num_rows()) {
      batch_ = ValueOrThrow(reader_->Next());
      position_ = 0;
      if (batch_ == nullptr) return duckdb::SourceResultType::FINISHED;
      batch_ = ValueOrThrow(WidenBatch(batch_, read_fields_, fields_));
    }
    const int64_t count = std::min<int64_t>(STANDARD_VECTOR_SIZE, batch_->num_rows() - position_);
    arrow::Status converted = ToDataChunk(batch_, fields_, position_, count, &chunk);
    if (!converted.ok())
      ThrowError(WithContext(converted, fmt::format("data file '{}'", GetFileName())));
    chunk.SetCardinality(static_cast<idx_t>(count));
    position_ += count;
    rows_read_.store(reader_->first_row() + position_, std::memory_order_relaxed);
    ApplyFilters(&chunk);
    return duckdb::SourceResultType::HAVE_MORE_OUTPUT;
  }

  double GetProgressInFile(ClientContext&) override {
    const auto total = static_cast<double>(std::max<int64_t>(file_.unit.row_count, 1));
    return 100.0 * static_cast<double>(rows_read_.load(std::memory_order_relaxed)) / total;
  }

  std::string GetReaderType() const override { return "Kelda"; }

 private:
  void ApplyFilters(duckdb::DataChunk* chunk) {
    if (!filters || filters->filters.empty()) return;
    const idx_t count = chunk->size();
    idx_t approved = count;
    duckdb::SelectionVector selection(nullptr);
    size_t state = 0;
    for (auto& [column, filter] : filters->filters) {
      duckdb::Vector& vector = chunk->data[column];
      duckdb::UnifiedVectorFormat format;
      vector.ToUnifiedFormat(count, format);
      duckdb::ColumnSegment::FilterSelection(selection, vector, format, *filter,
                                             *filter_states_[state++], count, approved);
      if (approved == 0) break;
    }
    if (approved == 0) {
      chunk->SetCardinality(0);
    } else if (approved < count) {
      chunk->Slice(selection, approved);
    }
  }

  duckdb::shared_ptr<FileScanInfo> scan_;
  PlannedFile file_;
  bool started_ = false;
  std::vector<DataField> fields_;
  std::vector<DataField> read_fields_;  ///< the same with the members of ROWs that are wanted
  std::unique_ptr<FormatReader> reader_;
  std::vector<duckdb::unique_ptr<duckdb::TableFilterState>> filter_states_;
  std::shared_ptr<arrow::RecordBatch> batch_;
  int64_t position_ = 0;
  std::atomic<int64_t> rows_read_{0};
};

/// Tells DuckDB's Parquet reader which rows a deletion vector leaves.
class DeletionFilter : public duckdb::DeleteFilter {
 public:
  explicit DeletionFilter(DeletionVectorPtr deleted) : deleted_(std::move(deleted)) {}

  idx_t Filter(duckdb::row_t start, idx_t count, duckdb::SelectionVector& selection) override {
    if (count == 0) return 0;
    const auto rows = static_cast<int64_t>(count);
    const auto deleted = deleted_->DeletedIn(start, start + rows);
    selection.Initialize(STANDARD_VECTOR_SIZE);
    idx_t kept = 0;
    int64_t row = 0;
    for (const int64_t gone : deleted) {
      for (; row < gone; ++row) selection.set_index(kept++, static_cast<idx_t>(row));
      row = gone + 1;
    }
    for (; row < rows; ++row) selection.set_index(kept++, static_cast<idx_t>(row));
    return kept;
  }

 private:
  const DeletionVectorPtr deleted_;
};

/// The files of a plan, in its order. All are known from the start.
class PlannedFileList : public duckdb::MultiFileList {
 public:
  explicit PlannedFileList(duckdb::shared_ptr<FileScanInfo> scan) : scan_(std::move(scan)) {}

  duckdb::vector<OpenFileInfo> GetAllFiles() const override {
    duckdb::vector<OpenFileInfo> files;
    for (idx_t i = 0; i < GetTotalFileCount(); ++i) files.push_back(GetFile(i));
    return files;
  }
  // One file has several row groups too: never limited to one thread.
  duckdb::FileExpandResult GetExpandResult() const override {
    return scan_->plan->files().empty() ? duckdb::FileExpandResult::NO_FILES
                                        : duckdb::FileExpandResult::MULTIPLE_FILES;
  }
  idx_t GetTotalFileCount() const override { return scan_->plan->files().size(); }
  duckdb::unique_ptr<duckdb::MultiFileList> Copy() const override {
    return duckdb::make_uniq<PlannedFileList>(scan_);
  }

 protected:
  OpenFileInfo GetFile(idx_t i) const override {
    const auto& files = scan_->plan->files();
    if (i >= files.size()) return OpenFileInfo("");
    return OpenFileInfo(files[i].split->FilePath(*files[i].file));
  }

 private:
  duckdb::shared_ptr<FileScanInfo> scan_;
};

class PlannedFileReader : public duckdb::MultiFileReader {
 public:
  explicit PlannedFileReader(duckdb::shared_ptr<FileScanInfo> scan) : scan_(std::move(scan)) {}

  duckdb::shared_ptr<duckdb::MultiFileList> CreateFileList(ClientContext&,
                                                           const duckdb::vector<std::string>&,
                                                           const duckdb::FileGlobInput&) override {
    return duckdb::make_shared_ptr<PlannedFileList>(scan_);
  }

  bool Bind(duckdb::MultiFileOptions& options, duckdb::MultiFileList&,
            duckdb::vector<LogicalType>& types, duckdb::vector<std::string>& names,
            duckdb::MultiFileReaderBindData& bind_data) override {
    options.auto_detect_hive_partitioning = false;
    options.hive_partitioning = false;
    types = scan_->types;
    names = scan_->names;
    for (size_t i = 0; i < types.size(); ++i) {
      bind_data.schema.push_back(ColumnDefinition(scan_->table->fields()[i], types[i]));
    }
    bind_data.mapping = duckdb::MultiFileColumnMappingMode::BY_FIELD_ID;
    return true;
  }

  duckdb::shared_ptr<BaseFileReader> CreateReader(
      ClientContext& context, duckdb::GlobalTableFunctionState& state, const OpenFileInfo& info,
      idx_t index, const duckdb::MultiFileBindData& bind_data) override {
    const PlannedFile file = scan_->plan->files()[index];
    ++scan_->progress->files_opened;
    if (TryDuckdb(file)) {
      try {
        auto reader = MultiFileReader::CreateReader(context, state, info, index, bind_data);
        CheckRowCount(*reader, file);
        if (ParquetCodecsSupported(*reader) && Adopt(*reader, file)) {
          if (file.deletion != nullptr) reader->deletion_filter = LoadDeletionFilter(file);
          return reader;
        }
      } catch (const std::exception& exception) {
        Rethrow(exception, info.path);
      }
    }
    return duckdb::make_shared_ptr<KeldaFileReader>(info, scan_, file);
  }

  void FinalizeBind(duckdb::MultiFileReaderData& reader_data,
                    const duckdb::MultiFileOptions& file_options,
                    const duckdb::MultiFileReaderBindData& options,
                    const duckdb::vector<MultiFileColumnDefinition>& global_columns,
                    const duckdb::vector<duckdb::ColumnIndex>& global_column_ids,
                    ClientContext& context,
                    duckdb::optional_ptr<duckdb::MultiFileReaderGlobalState> state) override {
    MultiFileReader::FinalizeBind(reader_data, file_options, options, global_columns,
                                  global_column_ids, context, state);
    const PlannedFile file = scan_->plan->files()[reader_data.reader->file_list_idx.GetIndex()];
    const auto& fields = scan_->table->fields();
    for (idx_t i = 0; i < global_column_ids.size(); ++i) {
      const idx_t column = global_column_ids[i].GetPrimaryIndex();
      if (column >= fields.size()) continue;
      const int key = PartitionIndex(*scan_->table, fields[column].name);
      if (key < 0) continue;
      reader_data.constant_map.Add(
          duckdb::MultiFileGlobalIndex(i),
          ValueOrThrow(ToValue(*file.split->partition_values[static_cast<size_t>(key)],
                               fields[column].type, fields[column].name)));
    }
  }

  duckdb::unique_ptr<MultiFileReader> Copy() const override {
    return duckdb::make_uniq<PlannedFileReader>(scan_);
  }

 private:
  /// Whether a file index left so few rows that skipping pages pays, which Kelda's reader does.
  static bool FewRowsWanted(const PlannedFile& file) {
    const auto rows = file.split->RowsOf(static_cast<size_t>(file.file - file.split->files.data()));
    return rows != nullptr && rows->RowCount() * kFewRowsShare < file.file->row_count;
  }

  /// Whether DuckDB could read this file, as far as the metadata tell.
  bool TryDuckdb(const PlannedFile& file) const {
    if (FewRowsWanted(file)) return false;
    if (!scan_->duckdb_parquet || FormatOfFileName(file.file->file_name) != "parquet") return false;
    if (!file.single() || file.file->write_cols) return false;
    for (size_t column : scan_->columns) {
      const DataField& field = scan_->table->fields()[column];
      if (PartitionIndex(*scan_->table, field.name) >= 0) continue;
      if (ExactParquetType(field.type, false) == LogicalType::INVALID) return false;
    }
    return true;
  }

  duckdb::unique_ptr<duckdb::DeleteFilter> LoadDeletionFilter(const PlannedFile& file) const {
    return duckdb::make_uniq<DeletionFilter>(
        ValueOrThrow(LoadDeletionVector(*scan_->table, *file.split, *file.file)));
  }

  static void CheckRowCount(const BaseFileReader& reader, const PlannedFile& file) {
    const int64_t rows = ParquetRowCount(reader);
    if (rows == file.file->row_count) return;
    ThrowError(Corruption("data file '{}' has {} rows, its manifest says {}", reader.GetFileName(),
                          rows, file.file->row_count));
  }

  /// A column whose name the file's schema does not know must have an id that it does not know
  /// either: otherwise one of the names is damaged.
  static void CheckUnknownColumn(const MultiFileColumnDefinition& column, const TableSchema& schema,
                                 const std::string& path) {
    const duckdb::Value& id = column.identifier;
    if (id.IsNull() || id.type().id() != duckdb::LogicalTypeId::INTEGER) return;
    for (const DataField& field : schema.fields) {
      if (field.id != id.GetValue<int32_t>()) continue;
      ThrowError(Corruption("data file '{}': column '{}' (id {}) has the name '{}' in the file",
                            path, field.name, field.id, column.name));
    }
  }

  /// Give the columns of an opened Parquet file the ids of the schema they were written with; false
  /// if one that the scan needs has not the type that makes DuckDB read it exactly.
  bool Adopt(BaseFileReader& reader, const PlannedFile& file) const {
    TableSchemaPtr schema = scan_->table->schema;
    if (file.file->schema_id != schema->id)
      schema = ValueOrThrow(scan_->table->schemas->Read(file.file->schema_id));
    for (auto& column : reader.columns) {
      const int index = schema->FieldIndex(column.name);
      if (index < 0) CheckUnknownColumn(column, *schema, reader.GetFileName());
      column.identifier =
          duckdb::Value::INTEGER(index < 0 ? -1 : schema->fields[static_cast<size_t>(index)].id);
    }
    for (size_t wanted : scan_->columns) {
      const DataField& field = scan_->table->fields()[wanted];
      if (PartitionIndex(*scan_->table, field.name) >= 0) continue;
      const DataField* written = nullptr;
      for (const DataField& candidate : schema->fields) {
        if (candidate.id == field.id) written = &candidate;
      }
      if (written == nullptr) continue;
      if (!HasExactCast(written->type, field.type)) return false;
      for (const auto& column : reader.columns) {
        if (column.name == written->name && column.type != ExactParquetType(written->type, false))
          return false;
      }
    }
    return true;
  }

  [[noreturn]] static void Rethrow(const std::exception& exception, const std::string& path) {
    const duckdb::ErrorData error(exception);
    if (error.Type() == duckdb::ExceptionType::INTERRUPT) throw duckdb::InterruptException();
    const std::string& text = error.RawMessage();
    if (text.find(path) != std::string::npos) throw duckdb::IOException(text);
    throw duckdb::IOException(fmt::format("data file '{}': {}", path, text));
  }

  duckdb::shared_ptr<FileScanInfo> scan_;
};

}  // namespace

duckdb::unique_ptr<duckdb::MultiFileReader> MakeFileReader(
    const duckdb::TableFunction& table_function) {
  auto scan = duckdb::shared_ptr_cast<duckdb::TableFunctionInfo, FileScanInfo>(
      table_function.function_info);
  return duckdb::make_uniq<PlannedFileReader>(std::move(scan));
}

}  // namespace kelda::sql
