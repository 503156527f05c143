#include "kelda/metadata/manifest_codec.h"

#include <functional>

#include <arrow/array.h>
#include <arrow/builder.h>
#include <arrow/util/byte_size.h>

#include "kelda/avro/arrow_schema.h"
#include "kelda/avro/paimon_schemas.h"
#include "kelda/avro/schema.h"

namespace kelda {

namespace {

/// Arrays, their types and buffers: some 40 columns.
constexpr int64_t kBatchOverheadBytes = 16 << 10;

std::shared_ptr<arrow::Schema> SchemaOf(std::string_view json) {
  // The schemas are constants of ours: a failure here is a broken build, found by any test.
  auto parsed = avro::ParseSchema(json).ValueOrDie();
  return avro::ToArrowSchema(*parsed).ValueOrDie();
}

// ---- reading
// -------------------------------------------------------------------------------------------------------

/// Children of a struct-like parent by name, with the type they must have; remembers the first
/// failure.
class ColumnFinder {
 public:
  using Lookup = std::function<std::shared_ptr<arrow::Array>(const std::string&)>;
  ColumnFinder(Lookup lookup, const std::string& source)
      : lookup_(std::move(lookup)), source_(source) {}

  template <typename ArrayType>
  std::shared_ptr<ArrayType> Optional(const std::string& name) {
    auto array = lookup_(name);
    if (array == nullptr) return nullptr;
    auto typed = std::dynamic_pointer_cast<ArrayType>(array);
    if (typed == nullptr) {
      Fail(name, fmt::format("has type {}", array->type()->ToString()));
    }
    return typed;
  }
  template <typename ArrayType>
  std::shared_ptr<ArrayType> Required(const std::string& name) {
    auto typed = Optional<ArrayType>(name);
    if (typed == nullptr) {
      Fail(name, "is missing");
    } else if (typed->null_count() > 0) {
      Fail(name, "has nulls");
    }
    return typed;
  }
  const arrow::Status& status() const { return status_; }

 private:
  void Fail(const std::string& name, const std::string& what) {
    if (status_.ok())
      status_ = Corruption("corrupt manifest '{}': field {} {}", source_, name, what);
  }
  Lookup lookup_;
  const std::string& source_;
  arrow::Status status_;
};

ColumnFinder::Lookup BatchLookup(const arrow::RecordBatch& batch) {
  return [&batch](const std::string& name) { return batch.GetColumnByName(name); };
}
ColumnFinder::Lookup StructLookup(const std::shared_ptr<arrow::StructArray>& parent) {
  return [parent](const std::string& name) {
    return parent == nullptr ? nullptr : parent->GetFieldByName(name);
  };
}

template <typename T, typename ArrayType>
std::optional<T> ValueAt(const std::shared_ptr<ArrayType>& array, int64_t row) {
  if (array == nullptr || array->IsNull(row)) return std::nullopt;
  return static_cast<T>(array->Value(row));
}
template <typename ArrayType>
std::optional<std::string> TextAt(const std::shared_ptr<ArrayType>& array, int64_t row) {
  if (array == nullptr || array->IsNull(row)) return std::nullopt;
  return std::string(array->GetView(row));
}

/// `_MIN_VALUES`, `_MAX_VALUES`, `_NULL_COUNTS`.
struct StatsColumns {
  std::shared_ptr<arrow::BinaryArray> min, max;
  std::shared_ptr<arrow::ListArray> null_counts;
  std::shared_ptr<arrow::Int64Array> null_count_values;

  static arrow::Result<StatsColumns> Make(const std::shared_ptr<arrow::StructArray>& parent,
                                          const std::string& source) {
    StatsColumns c;
    ColumnFinder find(StructLookup(parent), source);
    c.min = find.Required<arrow::BinaryArray>("_MIN_VALUES");
    c.max = find.Required<arrow::BinaryArray>("_MAX_VALUES");
    c.null_counts = find.Optional<arrow::ListArray>("_NULL_COUNTS");
    ARROW_RETURN_NOT_OK(find.status());
    if (c.null_counts != nullptr) {
      c.null_count_values = std::dynamic_pointer_cast<arrow::Int64Array>(c.null_counts->values());
      if (c.null_count_values == nullptr) {
        return Corruption("corrupt manifest '{}': field _NULL_COUNTS is not a list of long",
                          source);
      }
    }
    return c;
  }

  SimpleStats At(int64_t row) const {
    SimpleStats stats;
    stats.min_values = std::string(min->GetView(row));
    stats.max_values = std::string(max->GetView(row));
    if (null_counts != nullptr && null_counts->IsValid(row)) {
      const int64_t begin = null_counts->value_offset(row);
      const int64_t end = null_counts->value_offset(row + 1);
      stats.null_counts.reserve(end - begin);
      for (int64_t i = begin; i < end; ++i)
        stats.null_counts.push_back(ValueAt<int64_t>(null_count_values, i));
    }
    return stats;
  }
};

std::vector<std::string> TextListAt(const arrow::ListArray& list, const arrow::StringArray& values,
                                    int64_t row) {
  std::vector<std::string> texts;
  for (int64_t i = list.value_offset(row); i < list.value_offset(row + 1); ++i) {
    texts.emplace_back(values.GetView(i));
  }
  return texts;
}

/// A list of strings column; null when absent.
struct TextListColumn {
  std::shared_ptr<arrow::ListArray> list;
  std::shared_ptr<arrow::StringArray> values;

  static arrow::Result<TextListColumn> Make(std::shared_ptr<arrow::ListArray> list,
                                            const std::string& source) {
    TextListColumn c;
    c.list = std::move(list);
    if (c.list != nullptr) {
      c.values = std::dynamic_pointer_cast<arrow::StringArray>(c.list->values());
      if (c.values == nullptr || c.values->null_count() > 0) {
        return Corruption("corrupt manifest '{}': a list of names holds something else", source);
      }
    }
    return c;
  }
  std::optional<std::vector<std::string>> At(int64_t row) const {
    if (list == nullptr || list->IsNull(row)) return std::nullopt;
    return TextListAt(*list, *values, row);
  }
};

arrow::Status CheckVersion(const arrow::Int32Array& version, int32_t expected,
                           const std::string& source) {
  for (int64_t i = 0; i < version.length(); ++i) {
    if (version.Value(i) != expected) {
      return Unsupported("manifest '{}' has entries of version {}; version {} is read", source,
                         version.Value(i), expected);
    }
  }
  return arrow::Status::OK();
}

}  // namespace

const std::shared_ptr<arrow::Schema>& ManifestEntryArrowSchema() {
  static const auto schema = SchemaOf(avro::kManifestSchema);
  return schema;
}
const std::shared_ptr<arrow::Schema>& ManifestListArrowSchema() {
  static const auto schema = SchemaOf(avro::kManifestListSchema);
  return schema;
}
const std::shared_ptr<arrow::Schema>& IndexManifestArrowSchema() {
  static const auto schema = SchemaOf(avro::kIndexManifestSchema);
  return schema;
}

struct ManifestEntryBatch::Columns {
  std::shared_ptr<arrow::Int32Array> version, kind, bucket, total_buckets;
  std::shared_ptr<arrow::BinaryArray> partition;
  std::shared_ptr<arrow::StructArray> file;
  std::shared_ptr<arrow::StringArray> file_name, external_path;
  std::shared_ptr<arrow::Int64Array> file_size, row_count, min_sequence, max_sequence, schema_id,
      delete_rows, first_row_id;
  std::shared_ptr<arrow::BinaryArray> min_key, max_key, embedded_index;
  std::optional<StatsColumns> key_stats, value_stats;
  std::shared_ptr<arrow::Int32Array> level, file_source;
  std::shared_ptr<arrow::TimestampArray> creation_time;
  TextListColumn extra_files, value_stats_cols, write_cols;

  arrow::Status Fill(const arrow::RecordBatch& batch, const std::string& source) {
    ColumnFinder top(BatchLookup(batch), source);
    version = top.Optional<arrow::Int32Array>("_VERSION");
    kind = top.Required<arrow::Int32Array>("_KIND");
    partition = top.Required<arrow::BinaryArray>("_PARTITION");
    bucket = top.Optional<arrow::Int32Array>("_BUCKET");
    total_buckets = top.Optional<arrow::Int32Array>("_TOTAL_BUCKETS");
    file = top.Optional<arrow::StructArray>("_FILE");
    ARROW_RETURN_NOT_OK(top.status());
    if (version != nullptr) ARROW_RETURN_NOT_OK(CheckVersion(*version, 2, source));
    for (int64_t i = 0; i < kind->length(); ++i) {
      if (kind->Value(i) != 0 && kind->Value(i) != 1) {
        return Corruption("corrupt manifest '{}': entry kind {}", source, kind->Value(i));
      }
    }
    if (file == nullptr) return arrow::Status::OK();
    ColumnFinder find(StructLookup(file), source);
    file_name = find.Required<arrow::StringArray>("_FILE_NAME");
    file_size = find.Required<arrow::Int64Array>("_FILE_SIZE");
    row_count = find.Required<arrow::Int64Array>("_ROW_COUNT");
    min_key = find.Required<arrow::BinaryArray>("_MIN_KEY");
    max_key = find.Required<arrow::BinaryArray>("_MAX_KEY");
    min_sequence = find.Required<arrow::Int64Array>("_MIN_SEQUENCE_NUMBER");
    max_sequence = find.Required<arrow::Int64Array>("_MAX_SEQUENCE_NUMBER");
    schema_id = find.Required<arrow::Int64Array>("_SCHEMA_ID");
    level = find.Required<arrow::Int32Array>("_LEVEL");
    auto extra = find.Optional<arrow::ListArray>("_EXTRA_FILES");
    creation_time = find.Optional<arrow::TimestampArray>("_CREATION_TIME");
    delete_rows = find.Optional<arrow::Int64Array>("_DELETE_ROW_COUNT");
    embedded_index = find.Optional<arrow::BinaryArray>("_EMBEDDED_FILE_INDEX");
    file_source = find.Optional<arrow::Int32Array>("_FILE_SOURCE");
    auto stats_cols = find.Optional<arrow::ListArray>("_VALUE_STATS_COLS");
    external_path = find.Optional<arrow::StringArray>("_EXTERNAL_PATH");
    first_row_id = find.Optional<arrow::Int64Array>("_FIRST_ROW_ID");
    auto written = find.Optional<arrow::ListArray>("_WRITE_COLS");
    auto keys = find.Optional<arrow::StructArray>("_KEY_STATS");
    auto values = find.Optional<arrow::StructArray>("_VALUE_STATS");
    ARROW_RETURN_NOT_OK(find.status());
    ARROW_ASSIGN_OR_RAISE(extra_files, TextListColumn::Make(std::move(extra), source));
    ARROW_ASSIGN_OR_RAISE(value_stats_cols, TextListColumn::Make(std::move(stats_cols), source));
    ARROW_ASSIGN_OR_RAISE(write_cols, TextListColumn::Make(std::move(written), source));
    if (keys != nullptr) {
      ARROW_ASSIGN_OR_RAISE(key_stats, StatsColumns::Make(keys, source));
    }
    if (values != nullptr) {
      ARROW_ASSIGN_OR_RAISE(value_stats, StatsColumns::Make(values, source));
    }
    return CheckFileNames(source);
  }

  /// A name goes into a path: one with a separator could point anywhere.
  arrow::Status CheckFileNames(const std::string& source) const {
    for (int64_t i = 0; i < file_name->length(); ++i) {
      const std::string_view name = file_name->GetView(i);
      if (name.empty() || name.find('/') != std::string_view::npos || name == "." || name == "..") {
        return Corruption("corrupt manifest '{}': data file name '{}'", source, name);
      }
      if (file_size->Value(i) < 0 || row_count->Value(i) < 0) {
        return Corruption("corrupt manifest '{}': data file '{}' of {} bytes and {} rows", source,
                          name, file_size->Value(i), row_count->Value(i));
      }
    }
    return arrow::Status::OK();
  }
};

arrow::Result<ManifestEntryBatch> ManifestEntryBatch::Make(
    std::shared_ptr<arrow::RecordBatch> batch, const std::string& source) {
  auto columns = std::make_shared<Columns>();
  ARROW_RETURN_NOT_OK(columns->Fill(*batch, source));
  ManifestEntryBatch view;
  view.batch_ = std::move(batch);
  view.columns_ = std::move(columns);
  return view;
}

EntryKind ManifestEntryBatch::kind(int64_t row) const {
  return static_cast<EntryKind>(columns_->kind->Value(row));
}

std::string_view ManifestEntryBatch::partition(int64_t row) const {
  return columns_->partition->GetView(row);
}

int64_t ManifestEntryBatch::memory_bytes() const {
  return arrow::util::TotalBufferSize(*batch_) + kBatchOverheadBytes;
}

ManifestEntry ManifestEntryBatch::Entry(int64_t row, bool value_stats) const {
  const Columns& c = *columns_;
  ManifestEntry entry;
  entry.kind = kind(row);
  entry.partition = std::string(partition(row));
  entry.bucket = ValueAt<int32_t>(c.bucket, row).value_or(0);
  entry.total_buckets = ValueAt<int32_t>(c.total_buckets, row).value_or(-1);
  DataFileMeta& file = entry.file;
  file.file_name = std::string(c.file_name->GetView(row));
  file.file_size = c.file_size->Value(row);
  file.row_count = c.row_count->Value(row);
  file.min_key = std::string(c.min_key->GetView(row));
  file.max_key = std::string(c.max_key->GetView(row));
  if (c.key_stats) file.key_stats = c.key_stats->At(row);
  if (value_stats && c.value_stats) file.value_stats = c.value_stats->At(row);
  file.min_sequence_number = c.min_sequence->Value(row);
  file.max_sequence_number = c.max_sequence->Value(row);
  file.schema_id = c.schema_id->Value(row);
  file.level = c.level->Value(row);
  file.extra_files = c.extra_files.At(row).value_or(std::vector<std::string>());
  file.creation_time_millis = ValueAt<int64_t>(c.creation_time, row);
  file.delete_row_count = ValueAt<int64_t>(c.delete_rows, row);
  file.embedded_file_index = TextAt(c.embedded_index, row);
  file.file_source = ValueAt<int32_t>(c.file_source, row);
  if (value_stats) file.value_stats_cols = c.value_stats_cols.At(row);
  file.external_path = TextAt(c.external_path, row);
  file.first_row_id = ValueAt<int64_t>(c.first_row_id, row);
  file.write_cols = c.write_cols.At(row);
  return entry;
}

arrow::Result<std::vector<ManifestFileMeta>> DecodeManifestList(const arrow::RecordBatch& batch,
                                                                const std::string& source) {
  ColumnFinder find(BatchLookup(batch), source);
  auto version = find.Required<arrow::Int32Array>("_VERSION");
  auto name = find.Required<arrow::StringArray>("_FILE_NAME");
  auto size = find.Required<arrow::Int64Array>("_FILE_SIZE");
  auto added = find.Required<arrow::Int64Array>("_NUM_ADDED_FILES");
  auto deleted = find.Required<arrow::Int64Array>("_NUM_DELETED_FILES");
  auto stats_column = find.Required<arrow::StructArray>("_PARTITION_STATS");
  auto schema_id = find.Required<arrow::Int64Array>("_SCHEMA_ID");
  auto min_bucket = find.Optional<arrow::Int32Array>("_MIN_BUCKET");
  auto max_bucket = find.Optional<arrow::Int32Array>("_MAX_BUCKET");
  auto min_level = find.Optional<arrow::Int32Array>("_MIN_LEVEL");
  auto max_level = find.Optional<arrow::Int32Array>("_MAX_LEVEL");
  auto min_row_id = find.Optional<arrow::Int64Array>("_MIN_ROW_ID");
  auto max_row_id = find.Optional<arrow::Int64Array>("_MAX_ROW_ID");
  ARROW_RETURN_NOT_OK(find.status());
  ARROW_RETURN_NOT_OK(CheckVersion(*version, 2, source));
  ARROW_ASSIGN_OR_RAISE(auto stats, StatsColumns::Make(stats_column, source));
  std::vector<ManifestFileMeta> metas;
  metas.reserve(batch.num_rows());
  for (int64_t i = 0; i < batch.num_rows(); ++i) {
    ManifestFileMeta meta;
    meta.file_name = std::string(name->GetView(i));
    if (meta.file_name.empty() || meta.file_name.find('/') != std::string::npos) {
      return Corruption("corrupt manifest list '{}': manifest name '{}'", source, meta.file_name);
    }
    meta.file_size = size->Value(i);
    meta.num_added_files = added->Value(i);
    meta.num_deleted_files = deleted->Value(i);
    if (meta.file_size < 0 || meta.num_added_files < 0 || meta.num_deleted_files < 0) {
      return Corruption("corrupt manifest list '{}': negative numbers for manifest '{}'", source,
                        meta.file_name);
    }
    meta.partition_stats = stats.At(i);
    meta.schema_id = schema_id->Value(i);
    meta.min_bucket = ValueAt<int32_t>(min_bucket, i);
    meta.max_bucket = ValueAt<int32_t>(max_bucket, i);
    meta.min_level = ValueAt<int32_t>(min_level, i);
    meta.max_level = ValueAt<int32_t>(max_level, i);
    meta.min_row_id = ValueAt<int64_t>(min_row_id, i);
    meta.max_row_id = ValueAt<int64_t>(max_row_id, i);
    metas.push_back(std::move(meta));
  }
  return metas;
}

namespace {

/// `_DELETIONS_VECTORS_RANGES`; absent in files older than deletion vectors.
struct VectorRangesColumn {
  std::shared_ptr<arrow::ListArray> list;
  std::shared_ptr<arrow::StructArray> records;
  std::shared_ptr<arrow::StringArray> data_file;
  std::shared_ptr<arrow::Int32Array> offset, length;
  std::shared_ptr<arrow::Int64Array> cardinality;

  static arrow::Result<VectorRangesColumn> Make(std::shared_ptr<arrow::ListArray> list,
                                                const std::string& source) {
    VectorRangesColumn c;
    c.list = std::move(list);
    if (c.list == nullptr) return c;
    c.records = std::dynamic_pointer_cast<arrow::StructArray>(c.list->values());
    if (c.records == nullptr) {
      return Corruption("corrupt index manifest '{}': vector ranges are not records", source);
    }
    ColumnFinder find(StructLookup(c.records), source);
    c.data_file = find.Optional<arrow::StringArray>("f0");
    c.offset = find.Optional<arrow::Int32Array>("f1");
    c.length = find.Optional<arrow::Int32Array>("f2");
    c.cardinality = find.Optional<arrow::Int64Array>("_CARDINALITY");
    ARROW_RETURN_NOT_OK(find.status());
    if (c.data_file == nullptr || c.offset == nullptr || c.length == nullptr) {
      return Corruption("corrupt index manifest '{}': vector ranges lack a field", source);
    }
    return c;
  }

  arrow::Result<std::optional<std::vector<DeletionVectorRange>>> At(
      int64_t row, const std::string& source) const {
    if (list == nullptr || list->IsNull(row)) return std::nullopt;
    std::vector<DeletionVectorRange> ranges;
    for (int64_t i = list->value_offset(row); i < list->value_offset(row + 1); ++i) {
      if (records->IsNull(i) || data_file->IsNull(i) || offset->IsNull(i) || length->IsNull(i)) {
        return Corruption("corrupt index manifest '{}': an empty vector range", source);
      }
      DeletionVectorRange range;
      range.data_file = std::string(data_file->GetView(i));
      range.offset = offset->Value(i);
      range.length = length->Value(i);
      range.cardinality = ValueAt<int64_t>(cardinality, i);
      if (range.offset < 0 || range.length < 0 || range.cardinality.value_or(0) < 0) {
        return Corruption("corrupt index manifest '{}': vector of '{}' at {} with {} bytes", source,
                          range.data_file, range.offset, range.length);
      }
      ranges.push_back(std::move(range));
    }
    return ranges;
  }
};

/// `_GLOBAL_INDEX`.
struct GlobalIndexColumn {
  std::shared_ptr<arrow::StructArray> records;
  std::shared_ptr<arrow::Int64Array> start, end;
  std::shared_ptr<arrow::Int32Array> field_id, extra_values;
  std::shared_ptr<arrow::ListArray> extra;
  std::shared_ptr<arrow::BinaryArray> meta;

  static arrow::Result<GlobalIndexColumn> Make(std::shared_ptr<arrow::StructArray> records,
                                               const std::string& source) {
    GlobalIndexColumn c;
    c.records = std::move(records);
    if (c.records == nullptr) return c;
    ColumnFinder find(StructLookup(c.records), source);
    c.start = find.Optional<arrow::Int64Array>("_ROW_RANGE_START");
    c.end = find.Optional<arrow::Int64Array>("_ROW_RANGE_END");
    c.field_id = find.Optional<arrow::Int32Array>("_INDEX_FIELD_ID");
    c.extra = find.Optional<arrow::ListArray>("_EXTRA_FIELD_IDS");
    c.meta = find.Optional<arrow::BinaryArray>("_INDEX_META");
    ARROW_RETURN_NOT_OK(find.status());
    if (c.extra != nullptr)
      c.extra_values = std::dynamic_pointer_cast<arrow::Int32Array>(c.extra->values());
    if (c.start == nullptr || c.end == nullptr || c.field_id == nullptr ||
        (c.extra != nullptr && c.extra_values == nullptr)) {
      return Corruption("corrupt index manifest '{}': a global index lacks a field", source);
    }
    return c;
  }

  std::optional<GlobalIndexMeta> At(int64_t row) const {
    if (records == nullptr || records->IsNull(row)) return std::nullopt;
    GlobalIndexMeta index;
    index.row_range_start = start->Value(row);
    index.row_range_end = end->Value(row);
    index.field_id = field_id->Value(row);
    if (extra != nullptr && extra->IsValid(row)) {
      index.extra_field_ids.emplace();
      for (int64_t i = extra->value_offset(row); i < extra->value_offset(row + 1); ++i)
        index.extra_field_ids->push_back(extra_values->Value(i));
    }
    index.meta = TextAt(meta, row);
    return index;
  }
};

}  // namespace

arrow::Result<std::vector<IndexManifestEntry>> DecodeIndexManifest(const arrow::RecordBatch& batch,
                                                                   const std::string& source) {
  ColumnFinder find(BatchLookup(batch), source);
  auto version = find.Required<arrow::Int32Array>("_VERSION");
  auto kind = find.Required<arrow::Int32Array>("_KIND");
  auto partition = find.Required<arrow::BinaryArray>("_PARTITION");
  auto bucket = find.Required<arrow::Int32Array>("_BUCKET");
  auto type = find.Required<arrow::StringArray>("_INDEX_TYPE");
  auto name = find.Required<arrow::StringArray>("_FILE_NAME");
  auto size = find.Required<arrow::Int64Array>("_FILE_SIZE");
  auto rows = find.Required<arrow::Int64Array>("_ROW_COUNT");
  auto ranges_column = find.Optional<arrow::ListArray>("_DELETIONS_VECTORS_RANGES");
  auto external_path = find.Optional<arrow::StringArray>("_EXTERNAL_PATH");
  auto global_column = find.Optional<arrow::StructArray>("_GLOBAL_INDEX");
  ARROW_RETURN_NOT_OK(find.status());
  ARROW_RETURN_NOT_OK(CheckVersion(*version, 1, source));
  ARROW_ASSIGN_OR_RAISE(auto ranges, VectorRangesColumn::Make(ranges_column, source));
  ARROW_ASSIGN_OR_RAISE(auto global, GlobalIndexColumn::Make(global_column, source));
  std::vector<IndexManifestEntry> entries;
  for (int64_t i = 0; i < batch.num_rows(); ++i) {
    IndexManifestEntry entry;
    entry.kind = kind->Value(i) == 0 ? EntryKind::kAdd : EntryKind::kDelete;
    entry.partition = std::string(partition->GetView(i));
    entry.bucket = bucket->Value(i);
    entry.file.index_type = std::string(type->GetView(i));
    entry.file.file_name = std::string(name->GetView(i));
    entry.file.file_size = size->Value(i);
    entry.file.row_count = rows->Value(i);
    ARROW_ASSIGN_OR_RAISE(entry.file.deletion_vectors, ranges.At(i, source));
    entry.file.external_path = TextAt(external_path, i);
    entry.file.global_index = global.At(i);
    if (entry.file.file_name.empty() || entry.file.file_name.find('/') != std::string::npos) {
      return Corruption("corrupt index manifest '{}': file name '{}'", source,
                        entry.file.file_name);
    }
    entries.push_back(std::move(entry));
  }
  return entries;
}

// ---- writing
// -------------------------------------------------------------------------------------------------------

namespace {

/// Appends typed values to the children of a struct-like builder in field order.
class FieldAppender {
 public:
  using Child = std::function<arrow::ArrayBuilder*(int)>;
  explicit FieldAppender(Child child) : child_(std::move(child)) {}

  arrow::Status Int(int64_t value) {
    arrow::ArrayBuilder* b = child_(next_++);
    switch (b->type()->id()) {
      case arrow::Type::INT32:
        return static_cast<arrow::Int32Builder*>(b)->Append(static_cast<int32_t>(value));
      case arrow::Type::TIMESTAMP:
        return static_cast<arrow::TimestampBuilder*>(b)->Append(value);
      default:
        return static_cast<arrow::Int64Builder*>(b)->Append(value);
    }
  }
  template <typename T>
  arrow::Status Int(const std::optional<T>& value) {
    return value ? Int(static_cast<int64_t>(*value)) : child_(next_++)->AppendNull();
  }
  arrow::Status Bytes(std::string_view value) {
    return static_cast<arrow::BinaryBuilder*>(child_(next_++))->Append(value);
  }
  arrow::Status Bytes(const std::optional<std::string>& value) {
    return value ? Bytes(std::string_view(*value)) : child_(next_++)->AppendNull();
  }
  arrow::Status Texts(const std::vector<std::string>& values) {
    auto* list = static_cast<arrow::ListBuilder*>(child_(next_++));
    ARROW_RETURN_NOT_OK(list->Append());
    auto* items = static_cast<arrow::StringBuilder*>(list->value_builder());
    for (const std::string& value : values) ARROW_RETURN_NOT_OK(items->Append(value));
    return arrow::Status::OK();
  }
  arrow::Status Texts(const std::optional<std::vector<std::string>>& values) {
    return values ? Texts(*values) : child_(next_++)->AppendNull();
  }
  arrow::Status Stats(const SimpleStats& stats) {
    auto* record = static_cast<arrow::StructBuilder*>(child_(next_++));
    ARROW_RETURN_NOT_OK(record->Append());
    FieldAppender fields([record](int i) { return record->child(i); });
    ARROW_RETURN_NOT_OK(fields.Bytes(std::string_view(stats.min_values)));
    ARROW_RETURN_NOT_OK(fields.Bytes(std::string_view(stats.max_values)));
    auto* list = static_cast<arrow::ListBuilder*>(record->child(2));
    ARROW_RETURN_NOT_OK(list->Append());
    auto* counts = static_cast<arrow::Int64Builder*>(list->value_builder());
    for (const auto& count : stats.null_counts) {
      ARROW_RETURN_NOT_OK(count ? counts->Append(*count) : counts->AppendNull());
    }
    return arrow::Status::OK();
  }
  arrow::StructBuilder* Record() { return static_cast<arrow::StructBuilder*>(child_(next_++)); }

 private:
  Child child_;
  int next_ = 0;
};

arrow::Status AppendFile(const DataFileMeta& file, arrow::StructBuilder* record) {
  ARROW_RETURN_NOT_OK(record->Append());
  FieldAppender f([record](int i) { return record->child(i); });
  ARROW_RETURN_NOT_OK(f.Bytes(std::string_view(file.file_name)));
  ARROW_RETURN_NOT_OK(f.Int(file.file_size));
  ARROW_RETURN_NOT_OK(f.Int(file.row_count));
  ARROW_RETURN_NOT_OK(f.Bytes(std::string_view(file.min_key)));
  ARROW_RETURN_NOT_OK(f.Bytes(std::string_view(file.max_key)));
  ARROW_RETURN_NOT_OK(f.Stats(file.key_stats));
  ARROW_RETURN_NOT_OK(f.Stats(file.value_stats));
  ARROW_RETURN_NOT_OK(f.Int(file.min_sequence_number));
  ARROW_RETURN_NOT_OK(f.Int(file.max_sequence_number));
  ARROW_RETURN_NOT_OK(f.Int(file.schema_id));
  ARROW_RETURN_NOT_OK(f.Int(file.level));
  ARROW_RETURN_NOT_OK(f.Texts(file.extra_files));
  ARROW_RETURN_NOT_OK(f.Int(file.creation_time_millis));
  ARROW_RETURN_NOT_OK(f.Int(file.delete_row_count));
  ARROW_RETURN_NOT_OK(f.Bytes(file.embedded_file_index));
  ARROW_RETURN_NOT_OK(f.Int(file.file_source));
  ARROW_RETURN_NOT_OK(f.Texts(file.value_stats_cols));
  ARROW_RETURN_NOT_OK(f.Bytes(file.external_path));
  ARROW_RETURN_NOT_OK(f.Int(file.first_row_id));
  return f.Texts(file.write_cols);
}

}  // namespace

arrow::Result<std::shared_ptr<arrow::RecordBatch>> EncodeManifestEntries(
    const std::vector<ManifestEntry>& entries) {
  ARROW_ASSIGN_OR_RAISE(auto builder, arrow::RecordBatchBuilder::Make(
                                          ManifestEntryArrowSchema(), arrow::default_memory_pool(),
                                          static_cast<int64_t>(entries.size())));
  for (const ManifestEntry& entry : entries) {
    FieldAppender f([&builder](int i) { return builder->GetField(i); });
    ARROW_RETURN_NOT_OK(f.Int(2));
    ARROW_RETURN_NOT_OK(f.Int(static_cast<int64_t>(entry.kind)));
    ARROW_RETURN_NOT_OK(f.Bytes(std::string_view(entry.partition)));
    ARROW_RETURN_NOT_OK(f.Int(entry.bucket));
    ARROW_RETURN_NOT_OK(f.Int(entry.total_buckets));
    ARROW_RETURN_NOT_OK(AppendFile(entry.file, f.Record()));
  }
  return builder->Flush();
}

arrow::Result<std::shared_ptr<arrow::RecordBatch>> EncodeManifestList(
    const std::vector<ManifestFileMeta>& metas) {
  ARROW_ASSIGN_OR_RAISE(auto builder, arrow::RecordBatchBuilder::Make(
                                          ManifestListArrowSchema(), arrow::default_memory_pool(),
                                          static_cast<int64_t>(metas.size())));
  for (const ManifestFileMeta& meta : metas) {
    FieldAppender f([&builder](int i) { return builder->GetField(i); });
    ARROW_RETURN_NOT_OK(f.Int(2));
    ARROW_RETURN_NOT_OK(f.Bytes(std::string_view(meta.file_name)));
    ARROW_RETURN_NOT_OK(f.Int(meta.file_size));
    ARROW_RETURN_NOT_OK(f.Int(meta.num_added_files));
    ARROW_RETURN_NOT_OK(f.Int(meta.num_deleted_files));
    ARROW_RETURN_NOT_OK(f.Stats(meta.partition_stats));
    ARROW_RETURN_NOT_OK(f.Int(meta.schema_id));
    ARROW_RETURN_NOT_OK(f.Int(meta.min_bucket));
    ARROW_RETURN_NOT_OK(f.Int(meta.max_bucket));
    ARROW_RETURN_NOT_OK(f.Int(meta.min_level));
    ARROW_RETURN_NOT_OK(f.Int(meta.max_level));
    ARROW_RETURN_NOT_OK(f.Int(meta.min_row_id));
    ARROW_RETURN_NOT_OK(f.Int(meta.max_row_id));
  }
  return builder->Flush();
}

namespace {

arrow::Status AppendVectorRanges(const std::optional<std::vector<DeletionVectorRange>>& ranges,
                                 arrow::ArrayBuilder* builder) {
  auto* list = static_cast<arrow::ListBuilder*>(builder);
  if (!ranges) return list->AppendNull();
  ARROW_RETURN_NOT_OK(list->Append());
  auto* record = static_cast<arrow::StructBuilder*>(list->value_builder());
  for (const DeletionVectorRange& range : *ranges) {
    ARROW_RETURN_NOT_OK(record->Append());
    FieldAppender f([record](int i) { return record->child(i); });
    ARROW_RETURN_NOT_OK(f.Bytes(std::string_view(range.data_file)));
    ARROW_RETURN_NOT_OK(f.Int(range.offset));
    ARROW_RETURN_NOT_OK(f.Int(range.length));
    ARROW_RETURN_NOT_OK(f.Int(range.cardinality));
  }
  return arrow::Status::OK();
}

arrow::Status AppendGlobalIndex(const std::optional<GlobalIndexMeta>& index,
                                arrow::ArrayBuilder* builder) {
  auto* record = static_cast<arrow::StructBuilder*>(builder);
  if (!index) return record->AppendNull();
  ARROW_RETURN_NOT_OK(record->Append());
  FieldAppender f([record](int i) { return record->child(i); });
  ARROW_RETURN_NOT_OK(f.Int(index->row_range_start));
  ARROW_RETURN_NOT_OK(f.Int(index->row_range_end));
  ARROW_RETURN_NOT_OK(f.Int(index->field_id));
  auto* extra = static_cast<arrow::ListBuilder*>(record->child(3));
  if (index->extra_field_ids) {
    ARROW_RETURN_NOT_OK(extra->Append());
    auto* ids = static_cast<arrow::Int32Builder*>(extra->value_builder());
    for (int32_t id : *index->extra_field_ids) ARROW_RETURN_NOT_OK(ids->Append(id));
  } else {
    ARROW_RETURN_NOT_OK(extra->AppendNull());
  }
  auto* meta = static_cast<arrow::BinaryBuilder*>(record->child(4));
  return index->meta ? meta->Append(*index->meta) : meta->AppendNull();
}

}  // namespace

arrow::Result<std::shared_ptr<arrow::RecordBatch>> EncodeIndexManifest(
    const std::vector<IndexManifestEntry>& entries) {
  ARROW_ASSIGN_OR_RAISE(auto builder, arrow::RecordBatchBuilder::Make(
                                          IndexManifestArrowSchema(), arrow::default_memory_pool(),
                                          static_cast<int64_t>(entries.size())));
  for (const IndexManifestEntry& entry : entries) {
    FieldAppender f([&builder](int i) { return builder->GetField(i); });
    ARROW_RETURN_NOT_OK(f.Int(1));
    ARROW_RETURN_NOT_OK(f.Int(static_cast<int64_t>(entry.kind)));
    ARROW_RETURN_NOT_OK(f.Bytes(std::string_view(entry.partition)));
    ARROW_RETURN_NOT_OK(f.Int(entry.bucket));
    ARROW_RETURN_NOT_OK(f.Bytes(std::string_view(entry.file.index_type)));
    ARROW_RETURN_NOT_OK(f.Bytes(std::string_view(entry.file.file_name)));
    ARROW_RETURN_NOT_OK(f.Int(entry.file.file_size));
    ARROW_RETURN_NOT_OK(f.Int(entry.file.row_count));
    ARROW_RETURN_NOT_OK(AppendVectorRanges(entry.file.deletion_vectors, builder->GetField(8)));
    auto* external = static_cast<arrow::StringBuilder*>(builder->GetField(9));
    ARROW_RETURN_NOT_OK(entry.file.external_path ? external->Append(*entry.file.external_path)
                                                 : external->AppendNull());
    ARROW_RETURN_NOT_OK(AppendGlobalIndex(entry.file.global_index, builder->GetField(10)));
  }
  return builder->Flush();
}

}  // namespace kelda
