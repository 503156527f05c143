// System tables that show the rows of a table in another form (spec 04 §5.4). In a table without
// primary key every row is an insert, and `ro` is the table itself.

#include <array>
#include <mutex>

#include <arrow/api.h>

#include "kelda/catalog/system_tables/column_table.h"
#include "kelda/catalog/system_tables/tables.h"
#include "kelda/read/file_read.h"
#include "kelda/scan/plan.h"
#include "kelda/types/arrow_mapping.h"
#include "kelda/types/special_fields.h"

namespace kelda::system_tables {

namespace {

/// By `_VALUE_KIND` (spec 02 §1.1).
constexpr std::array<const char*, 4> kKindTexts = {"+I", "-U", "+U", "-D"};

DataField RowKindField() {
  DataField field;
  field.id = 2147483643;
  field.name = "rowkind";
  field.type = TextType(true);
  return field;
}

/// Row tables are read with the schema of the snapshot that they show.
arrow::Result<TableContextPtr> TableOf(const TableContext& table,
                                       const std::optional<Snapshot>& snapshot) {
  ARROW_RETURN_NOT_OK(table.CheckReadable());
  return ContextForSnapshot(std::make_shared<TableContext>(table), snapshot);
}

arrow::Result<std::vector<DataField>> DataFields(const TableContext* table) {
  ARROW_ASSIGN_OR_RAISE(auto snapshot, ResolveSnapshot(*table));
  ARROW_ASSIGN_OR_RAISE(auto at_snapshot, TableOf(*table, snapshot));
  return at_snapshot->fields();
}

arrow::Result<std::vector<DataField>> AuditLogFields(const TableContext* table) {
  ARROW_ASSIGN_OR_RAISE(auto fields, DataFields(table));
  fields.insert(fields.begin(), RowKindField());
  return fields;
}

arrow::Result<std::vector<DataField>> BinlogFields(const TableContext* table) {
  ARROW_ASSIGN_OR_RAISE(auto fields, DataFields(table));
  for (DataField& field : fields) {
    field.type = DataType::Array(field.type.WithNullable(true));
    field.default_value.reset();
  }
  fields.insert(fields.begin(), RowKindField());
  return fields;
}

arrow::Result<std::vector<DataField>> RowTrackingFields(const TableContext* table) {
  ARROW_ASSIGN_OR_RAISE(bool tracks, table->options.Get(OptionKeys::kRowTrackingEnabled));
  if (!tracks)
    return Invalid("table {} has no row ids: its option row-tracking.enabled is not set",
                   table->name);
  ARROW_ASSIGN_OR_RAISE(auto fields, DataFields(table));
  for (DataField field : {RowIdField(), SequenceNumberField()}) {
    field.type = field.type.WithNullable(false);
    fields.push_back(std::move(field));
  }
  return fields;
}

/// Each value of `array` as a list of one.
arrow::Result<std::shared_ptr<arrow::Array>> ListsOfOne(const std::shared_ptr<arrow::Array>& array,
                                                        std::shared_ptr<arrow::DataType> type) {
  ARROW_ASSIGN_OR_RAISE(auto offsets, arrow::AllocateBuffer((array->length() + 1) *
                                                            static_cast<int64_t>(sizeof(int32_t))));
  auto* values = reinterpret_cast<int32_t*>(offsets->mutable_data());
  for (int64_t i = 0; i <= array->length(); ++i) values[i] = static_cast<int32_t>(i);
  return std::make_shared<arrow::ListArray>(std::move(type), array->length(), std::move(offsets),
                                            array);
}

/// How the columns of a row table are made from those of the table.
struct RowForm {
  bool kind_first = false;
  bool lists = false;
  bool read_optimized = false;
};

/// The texts of the kinds in the last column of `batch`; without them every row is an insert.
arrow::Result<std::shared_ptr<arrow::Array>> KindTexts(const arrow::RecordBatch& batch,
                                                       bool has_kinds) {
  if (!has_kinds)
    return arrow::MakeArrayFromScalar(arrow::StringScalar(kKindTexts[0]), batch.num_rows());
  const auto& kinds = static_cast<const arrow::Int8Array&>(*batch.column(batch.num_columns() - 1));
  arrow::StringBuilder texts;
  for (int64_t i = 0; i < kinds.length(); ++i) {
    const int kind = kinds.IsNull(i) ? -1 : kinds.Value(i);
    if (kind < 0 || kind >= static_cast<int>(kKindTexts.size()))
      return Corruption("a row of kind {}", kind);
    ARROW_RETURN_NOT_OK(texts.Append(kKindTexts[static_cast<size_t>(kind)]));
  }
  return texts.Finish();
}

/// The rows of a batch that has the data columns of `wanted`, in their order, in the form of
/// `fields`, the wanted ones.
arrow::Result<std::shared_ptr<arrow::RecordBatch>> Shape(
    const RowForm& form, const std::vector<int>& wanted,
    const std::shared_ptr<arrow::Schema>& schema, bool has_kinds, const arrow::RecordBatch& batch) {
  arrow::ArrayVector columns;
  int next = 0;
  for (size_t i = 0; i < wanted.size(); ++i) {
    if (form.kind_first && wanted[i] == 0) {
      ARROW_ASSIGN_OR_RAISE(columns.emplace_back(), KindTexts(batch, has_kinds));
      continue;
    }
    auto column = batch.column(next++);
    if (form.lists) {
      ARROW_ASSIGN_OR_RAISE(column, ListsOfOne(column, schema->field(static_cast<int>(i))->type()));
    }
    columns.push_back(std::move(column));
  }
  return arrow::RecordBatch::Make(schema, batch.num_rows(), std::move(columns));
}

arrow::Result<std::shared_ptr<arrow::RecordBatch>> ReadRows(const Request& request,
                                                            const RowForm& form,
                                                            const std::vector<DataField>& all) {
  ARROW_ASSIGN_OR_RAISE(auto snapshot, SnapshotOf(request));
  ARROW_ASSIGN_OR_RAISE(auto table, TableOf(request.table, snapshot));
  TableReadOptions options;
  options.token = request.token;
  std::vector<DataField> fields;
  for (int column : request.columns) {
    fields.push_back(all[column]);
    const int data_column = column - (form.kind_first ? 1 : 0);
    if (data_column < 0) continue;
    const auto count = static_cast<int>(table->fields().size());
    options.columns.push_back(data_column < count ? table->fields()[data_column] : all[column]);
  }
  ARROW_ASSIGN_OR_RAISE(auto schema, ToArrowSchema(fields));
  const bool has_kinds = form.kind_first && !table->schema->primary_keys.empty();
  if (has_kinds) {
    options.columns.push_back(ValueKindField());
    options.keep_deletes = true;
  }
  ScanRequest scan;
  scan.read_optimized = form.read_optimized;
  scan.snapshot = snapshot;
  scan.token = request.token;
  ARROW_ASSIGN_OR_RAISE(const ScanPlan plan, PlanScan(*table, scan));
  std::mutex mutex;
  arrow::RecordBatchVector batches;
  ARROW_RETURN_NOT_OK(ReadPlan(
      *table, plan, options,
      [&](const std::shared_ptr<arrow::RecordBatch>& batch) -> arrow::Status {
        ARROW_ASSIGN_OR_RAISE(auto shaped, Shape(form, request.columns, schema, has_kinds, *batch));
        const std::lock_guard lock(mutex);
        batches.push_back(std::move(shaped));
        return arrow::Status::OK();
      }));
  if (fields.empty()) {
    int64_t rows = 0;
    for (const auto& batch : batches) rows += batch->num_rows();
    return arrow::RecordBatch::Make(schema, rows, arrow::ArrayVector());
  }
  ARROW_ASSIGN_OR_RAISE(auto joined, arrow::Table::FromRecordBatches(schema, batches));
  return joined->CombineChunksToBatch();
}

arrow::Result<std::shared_ptr<arrow::RecordBatch>> ReadReadOptimized(const Request& request) {
  ARROW_ASSIGN_OR_RAISE(auto fields, DataFields(&request.table));
  return ReadRows(request, {.read_optimized = true}, fields);
}

arrow::Result<std::shared_ptr<arrow::RecordBatch>> ReadAuditLog(const Request& request) {
  ARROW_ASSIGN_OR_RAISE(auto fields, AuditLogFields(&request.table));
  return ReadRows(request, {.kind_first = true}, fields);
}

arrow::Result<std::shared_ptr<arrow::RecordBatch>> ReadBinlog(const Request& request) {
  ARROW_ASSIGN_OR_RAISE(auto fields, BinlogFields(&request.table));
  return ReadRows(request, {.kind_first = true, .lists = true}, fields);
}

arrow::Result<std::shared_ptr<arrow::RecordBatch>> ReadRowTracking(const Request& request) {
  ARROW_ASSIGN_OR_RAISE(auto fields, RowTrackingFields(&request.table));
  return ReadRows(request, {}, fields);
}

}  // namespace

const SystemTable kReadOptimizedTable = {"ro", DataFields, ReadReadOptimized};
const SystemTable kAuditLogTable = {"audit_log", AuditLogFields, ReadAuditLog};
const SystemTable kBinlogTable = {"binlog", BinlogFields, ReadBinlog};
const SystemTable kRowTrackingTable = {"row_tracking", RowTrackingFields, ReadRowTracking};

}  // namespace kelda::system_tables
