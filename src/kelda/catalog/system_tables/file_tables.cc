// System tables made from the manifests of one snapshot.

#include <algorithm>
#include <unordered_map>

#include <arrow/api.h>

#include "kelda/catalog/system_tables/column_table.h"
#include "kelda/catalog/system_tables/stats_text.h"
#include "kelda/catalog/system_tables/tables.h"
#include "kelda/catalog/system_tables/texts.h"
#include "kelda/row/binary_row.h"
#include "kelda/row/text_cast.h"
#include "kelda/scan/plan.h"
#include "kelda/types/arrow_mapping.h"

namespace kelda::system_tables {

namespace {

/// The snapshot that the options choose and the table as it was then; no snapshot: no rows.
struct Moment {
  TableContextPtr table;
  std::optional<Snapshot> snapshot;
};

arrow::Result<Moment> MomentOf(const Request& request) {
  const TableContext& table = request.table;
  Moment moment;
  ARROW_ASSIGN_OR_RAISE(moment.snapshot, SnapshotOf(request));
  ARROW_ASSIGN_OR_RAISE(moment.table,
                        ContextForSnapshot(std::make_shared<TableContext>(table), moment.snapshot));
  return moment;
}

arrow::Result<std::vector<ManifestEntry>> LiveEntries(const Moment& moment, bool value_stats,
                                                      const CancellationToken& token) {
  if (!moment.snapshot) return std::vector<ManifestEntry>();
  return ReadLiveEntries(*moment.table, *moment.snapshot, nullptr, token, value_stats);
}

/// Rows that wait for their bucket (bucket = -2) cannot be read from the table yet.
bool IsPostponed(const ManifestEntry& entry) { return entry.bucket < 0; }

/// Texts of one distinct partition.
struct PartitionText {
  std::string row;   ///< `{v1, v2}`
  std::string path;  ///< `k1=v1/k2=v2/`, escaped: its directory
  std::string spec;  ///< `k1=v1/k2=v2`, not escaped and with new-style texts
};

class Partitions {
 public:
  explicit Partitions(const TableContext& table)
      : table_(table), fields_(table.PartitionFields()), types_(table.PartitionTypes()) {
    spec_options_ = table.partition_path_options;
    spec_options_.legacy_name = false;
  }

  arrow::Result<const PartitionText*> Get(const std::string& serialized) {
    auto it = texts_.find(serialized);
    if (it == texts_.end()) {
      ARROW_ASSIGN_OR_RAISE(PartitionText text, Make(serialized));
      it = texts_.emplace(serialized, std::move(text)).first;
    }
    return &it->second;
  }

 private:
  arrow::Result<PartitionText> Make(const std::string& serialized) const {
    ARROW_ASSIGN_OR_RAISE(auto values, DecodePartition(types_, serialized, table_.name));
    PartitionText text;
    ARROW_ASSIGN_OR_RAISE(text.row, RowText(types_, values));
    ARROW_ASSIGN_OR_RAISE(text.path, PartitionPath(fields_, values, table_.partition_path_options));
    for (size_t i = 0; i < fields_.size(); ++i) {
      ARROW_ASSIGN_OR_RAISE(std::string value,
                            PartitionValueText(types_[i], *values[i], spec_options_));
      text.spec += fmt::format("{}{}={}", i == 0 ? "" : "/", fields_[i].name, value);
    }
    return text;
  }

  const TableContext& table_;
  const std::vector<DataField> fields_;
  const std::vector<DataType> types_;
  PartitionPathOptions spec_options_;
  std::unordered_map<std::string, PartitionText> texts_;
};

// ---------------------------------------------------------------------------------------- files

/// What all rows of `files` share.
struct FileScope {
  explicit FileScope(const TableContext& context)
      : table(context), partitions(context), stats(context) {
    for (const std::string& key : context.schema->primary_keys) {
      const auto& partition = context.schema->partition_keys;
      if (std::find(partition.begin(), partition.end(), key) != partition.end()) continue;
      const int index = context.schema->FieldIndex(key);
      if (index >= 0) key_types.push_back(context.fields()[index].type);
    }
  }

  const TableContext& table;
  Partitions partitions;
  StatsTexts stats;
  std::vector<DataType> key_types;  ///< the primary key without partition columns
};

struct FileItem {
  const FileScope* scope;
  const PartitionText* partition;
  const ManifestEntry* entry;

  const DataFileMeta& file() const { return entry->file; }
};

std::string FilePath(const FileItem& item) {
  const DataFileMeta& file = item.file();
  if (file.external_path) return *file.external_path;
  return JoinPath(item.scope->table.paths.BucketDir(item.partition->path, item.entry->bucket),
                  file.file_name);
}

std::string FormatOf(const std::string& file_name) {
  const size_t dot = file_name.rfind('.');
  return dot == std::string::npos ? "" : file_name.substr(dot + 1);
}

/// `[k1, k2]`; NULL for tables without primary key.
arrow::Result<Cell> KeyText(const FileItem& item, const std::string& serialized) {
  const auto& types = item.scope->key_types;
  if (types.empty()) return std::monostate();
  ARROW_ASSIGN_OR_RAISE(SerializedRow row, ParseSerializedRow(serialized, item.file().file_name));
  if (row.arity != static_cast<int32_t>(types.size())) return std::monostate();
  ARROW_ASSIGN_OR_RAISE(auto values, DecodeBinaryRow(types, row.row, item.file().file_name));
  std::string text = "[";
  for (size_t i = 0; i < values.size(); ++i) {
    ARROW_ASSIGN_OR_RAISE(std::string value, InternalText(types[i], *values[i]));
    text += (i == 0 ? "" : ", ") + value;
  }
  return text + "]";
}

Cell SourceText(const DataFileMeta& file) {
  if (!file.file_source) return std::monostate();
  return *file.file_source == kFileSourceCompact ? "COMPACT" : "APPEND";
}

using F = const FileItem&;

/// The columns that `files` and `file_key_ranges` begin with.
std::vector<Column<FileItem>> LocationColumns() {
  return {
      {"partition", TextType(true), [](F f) { return Cell(f.partition->row); }},
      {"bucket", IntType(false), [](F f) { return Cell(int64_t{f.entry->bucket}); }},
      {"file_path", TextType(false), [](F f) { return Cell(FilePath(f)); }},
      {"file_format", TextType(false), [](F f) { return Cell(FormatOf(f.file().file_name)); }},
      {"schema_id", BigIntType(false), [](F f) { return Cell(f.file().schema_id); }},
      {"level", IntType(false), [](F f) { return Cell(int64_t{f.file().level}); }},
      {"record_count", BigIntType(false), [](F f) { return Cell(f.file().row_count); }},
      {"file_size_in_bytes", BigIntType(false), [](F f) { return Cell(f.file().file_size); }},
      {"min_key", TextType(true), [](F f) { return KeyText(f, f.file().min_key); }},
      {"max_key", TextType(true), [](F f) { return KeyText(f, f.file().max_key); }},
  };
}

constexpr int kNullCountsColumn = 10;
constexpr int kMaxValuesColumn = 12;

const std::vector<Column<FileItem>>& FileColumns() {
  static const std::vector<Column<FileItem>> columns = [] {
    std::vector<Column<FileItem>> made = LocationColumns();
    const std::vector<Column<FileItem>> own = {
        {"null_value_counts", TextType(false),
         [](F f) { return f.scope->stats.NullCounts(f.file()); }},
        {"min_value_stats", TextType(false),
         [](F f) { return f.scope->stats.MinValues(f.file()); }},
        {"max_value_stats", TextType(false),
         [](F f) { return f.scope->stats.MaxValues(f.file()); }},
        {"min_sequence_number", BigIntType(true),
         [](F f) { return Cell(f.file().min_sequence_number); }},
        {"max_sequence_number", BigIntType(true),
         [](F f) { return Cell(f.file().max_sequence_number); }},
        {"creation_time", TimeType(true),
         [](F f) { return OrNull(f.file().creation_time_millis); }},
        {"deleteRowCount", BigIntType(true), [](F f) { return OrNull(f.file().delete_row_count); }},
        {"file_source", TextType(true), [](F f) { return SourceText(f.file()); }},
        {"first_row_id", BigIntType(true), [](F f) { return OrNull(f.file().first_row_id); }},
        {"write_cols", DataType::Array(DataType::String()),
         [](F f) { return OrNull(f.file().write_cols); }},
    };
    made.insert(made.end(), own.begin(), own.end());
    return made;
  }();
  return columns;
}

const std::vector<Column<FileItem>>& FileKeyRangeColumns() {
  static const std::vector<Column<FileItem>> columns = [] {
    std::vector<Column<FileItem>> made = LocationColumns();
    made.push_back(
        {"first_row_id", BigIntType(true), [](F f) { return OrNull(f.file().first_row_id); }});
    return made;
  }();
  return columns;
}

arrow::Result<std::shared_ptr<arrow::RecordBatch>> ReadFileColumns(
    const Request& request, const std::vector<Column<FileItem>>& columns, bool value_stats) {
  ARROW_ASSIGN_OR_RAISE(Moment moment, MomentOf(request));
  ARROW_ASSIGN_OR_RAISE(auto entries, LiveEntries(moment, value_stats, request.token));
  FileScope scope(*moment.table);
  std::vector<FileItem> items;
  items.reserve(entries.size());
  for (const ManifestEntry& entry : entries) {
    if (IsPostponed(entry)) continue;
    ARROW_ASSIGN_OR_RAISE(auto* partition, scope.partitions.Get(entry.partition));
    items.push_back({&scope, partition, &entry});
  }
  return BuildTable(columns, request.columns, items, *request.table.env.executor, request.token);
}

arrow::Result<std::shared_ptr<arrow::RecordBatch>> ReadFiles(const Request& request) {
  const bool value_stats = std::any_of(
      request.columns.begin(), request.columns.end(),
      [](int column) { return column >= kNullCountsColumn && column <= kMaxValuesColumn; });
  return ReadFileColumns(request, FileColumns(), value_stats);
}

arrow::Result<std::shared_ptr<arrow::RecordBatch>> ReadFileKeyRanges(const Request& request) {
  return ReadFileColumns(request, FileKeyRangeColumns(), /*value_stats=*/false);
}

// ------------------------------------------------------------------------------------ manifests

struct ManifestItem {
  const std::vector<DataType>* partition_types;
  ManifestFileMeta manifest;
};

arrow::Result<Cell> PartitionBound(const ManifestItem& item, const std::string& serialized) {
  ARROW_ASSIGN_OR_RAISE(
      auto values, DecodePartition(*item.partition_types, serialized, item.manifest.file_name));
  ARROW_ASSIGN_OR_RAISE(std::string text, RowText(*item.partition_types, values));
  return text;
}

const std::vector<Column<ManifestItem>>& ManifestColumns() {
  using M = const ManifestItem&;
  static const std::vector<Column<ManifestItem>> columns = {
      {"file_name", TextType(false), [](M m) { return Cell(m.manifest.file_name); }},
      {"file_size", BigIntType(false), [](M m) { return Cell(m.manifest.file_size); }},
      {"num_added_files", BigIntType(false), [](M m) { return Cell(m.manifest.num_added_files); }},
      {"num_deleted_files", BigIntType(false),
       [](M m) { return Cell(m.manifest.num_deleted_files); }},
      {"schema_id", BigIntType(false), [](M m) { return Cell(m.manifest.schema_id); }},
      {"min_partition_stats", TextType(true),
       [](M m) { return PartitionBound(m, m.manifest.partition_stats.min_values); }},
      {"max_partition_stats", TextType(true),
       [](M m) { return PartitionBound(m, m.manifest.partition_stats.max_values); }},
      {"min_row_id", BigIntType(true), [](M m) { return OrNull(m.manifest.min_row_id); }},
      {"max_row_id", BigIntType(true), [](M m) { return OrNull(m.manifest.max_row_id); }},
  };
  return columns;
}

arrow::Result<std::shared_ptr<arrow::RecordBatch>> ReadManifests(const Request& request) {
  ARROW_ASSIGN_OR_RAISE(Moment moment, MomentOf(request));
  std::vector<DataType> types;
  for (const DataType& type : moment.table->PartitionTypes())
    types.push_back(type.WithNullable(true));
  std::vector<ManifestItem> items;
  if (moment.snapshot) {
    const Snapshot& snapshot = *moment.snapshot;
    const ManifestReader reader = moment.table->manifests();
    std::vector<std::pair<std::string, std::optional<int64_t>>> lists = {
        {snapshot.base_manifest_list, snapshot.base_manifest_list_size},
        {snapshot.delta_manifest_list, snapshot.delta_manifest_list_size}};
    if (snapshot.changelog_manifest_list)
      lists.emplace_back(*snapshot.changelog_manifest_list, snapshot.changelog_manifest_list_size);
    for (const auto& [name, size] : lists) {
      ARROW_ASSIGN_OR_RAISE(auto manifests, reader.ReadList(name, size));
      for (ManifestFileMeta& manifest : manifests) items.push_back({&types, std::move(manifest)});
    }
  }
  return BuildTable(ManifestColumns(), request.columns, items, *request.table.env.executor,
                    request.token);
}

// ----------------------------------------------------------------------- partitions and buckets

/// Sums over the files of a partition, or of a bucket of one.
struct Group {
  const PartitionText* partition = nullptr;
  int32_t bucket = 0;
  int64_t rows = 0;
  int64_t bytes = 0;
  int64_t files = 0;
  std::optional<int64_t> newest_millis;  ///< wall clock
};

/// Groups of the live files in the order of `text` and bucket.
arrow::Result<std::vector<Group>> GroupEntries(const std::vector<ManifestEntry>& entries,
                                               bool by_bucket, std::string PartitionText::* text,
                                               Partitions* partitions) {
  std::vector<Group> groups;
  std::unordered_map<std::string, size_t> index;
  for (const ManifestEntry& entry : entries) {
    if (!by_bucket && IsPostponed(entry)) continue;
    std::string key = entry.partition;
    if (by_bucket) key.append(reinterpret_cast<const char*>(&entry.bucket), sizeof(entry.bucket));
    auto [it, is_new] = index.emplace(std::move(key), groups.size());
    if (is_new) {
      Group group;
      ARROW_ASSIGN_OR_RAISE(group.partition, partitions->Get(entry.partition));
      group.bucket = entry.bucket;
      groups.push_back(group);
    }
    Group& group = groups[it->second];
    if (__builtin_add_overflow(group.rows, entry.file.row_count, &group.rows) ||
        __builtin_add_overflow(group.bytes, entry.file.file_size, &group.bytes)) {
      return Corruption("rows or bytes of data file '{}' add up to more than 64 bits hold",
                        entry.file.file_name);
    }
    ++group.files;
    if (const auto& created = entry.file.creation_time_millis; created)
      group.newest_millis = std::max(*created, group.newest_millis.value_or(*created));
  }
  std::stable_sort(groups.begin(), groups.end(), [&](const Group& a, const Group& b) {
    const int order = (a.partition->*text).compare(b.partition->*text);
    return order != 0 ? order < 0 : a.bucket < b.bucket;
  });
  return groups;
}

arrow::Result<std::shared_ptr<arrow::RecordBatch>> ReadGroups(
    const Request& request, const std::vector<Column<Group>>& columns, bool by_bucket,
    std::string PartitionText::* text) {
  ARROW_ASSIGN_OR_RAISE(Moment moment, MomentOf(request));
  ARROW_ASSIGN_OR_RAISE(auto entries, LiveEntries(moment, /*value_stats=*/false, request.token));
  Partitions partitions(*moment.table);
  ARROW_ASSIGN_OR_RAISE(auto groups, GroupEntries(entries, by_bucket, text, &partitions));
  return BuildTable(columns, request.columns, groups, *request.table.env.executor, request.token);
}

using G = const Group&;

arrow::Result<Cell> OnlyCatalogServersKnow(G) { return Cell(); }

const std::vector<Column<Group>>& PartitionColumns() {
  static const std::vector<Column<Group>> columns = {
      {"partition", TextType(true), [](G g) { return Cell(g.partition->spec); }},
      {"record_count", BigIntType(false), [](G g) { return Cell(g.rows); }},
      {"file_size_in_bytes", BigIntType(false), [](G g) { return Cell(g.bytes); }},
      {"file_count", BigIntType(false), [](G g) { return Cell(g.files); }},
      {"last_update_time", TimeType(true), [](G g) { return OrNull(g.newest_millis); }},
      {"created_at", TimeType(true), OnlyCatalogServersKnow},
      {"created_by", TextType(true), OnlyCatalogServersKnow},
      {"updated_by", TextType(true), OnlyCatalogServersKnow},
      {"options", TextType(true), OnlyCatalogServersKnow},
  };
  return columns;
}

const std::vector<Column<Group>>& BucketColumns() {
  static const std::vector<Column<Group>> columns = {
      {"partition", TextType(true), [](G g) { return Cell(g.partition->row); }},
      {"bucket", IntType(false), [](G g) { return Cell(int64_t{g.bucket}); }},
      {"record_count", BigIntType(false), [](G g) { return Cell(g.rows); }},
      {"file_size_in_bytes", BigIntType(false), [](G g) { return Cell(g.bytes); }},
      {"file_count", BigIntType(false), [](G g) { return Cell(g.files); }},
      {"last_update_time", TimeType(true), [](G g) { return OrNull(g.newest_millis); }},
  };
  return columns;
}

arrow::Result<std::shared_ptr<arrow::RecordBatch>> ReadPartitions(const Request& request) {
  // The partitions of such a table are those of two branches together.
  if (request.table.options.IsSet(OptionKeys::kScanFallbackBranch))
    return Unsupported("option 'scan.fallback-branch'");
  return ReadGroups(request, PartitionColumns(), /*by_bucket=*/false, &PartitionText::spec);
}

arrow::Result<std::shared_ptr<arrow::RecordBatch>> ReadBuckets(const Request& request) {
  return ReadGroups(request, BucketColumns(), /*by_bucket=*/true, &PartitionText::row);
}

// --------------------------------------------------------------------------------- table_indexes

struct IndexItem {
  std::string partition;
  const IndexManifestEntry* entry;
};

/// `ARRAY<ROW<f0, f1, f2, _CARDINALITY>>`: data file, offset, length, deleted rows.
DataType RangesType() {
  std::vector<DataField> members(4);
  for (size_t i = 0; i < members.size(); ++i) members[i].id = static_cast<int32_t>(i);
  members[0].name = "f0";
  members[0].type = TextType(false);
  members[1].name = "f1";
  members[1].type = IntType(false);
  members[2].name = "f2";
  members[2].type = IntType(false);
  members[3].name = "_CARDINALITY";
  members[3].type = BigIntType(true);
  return DataType::Array(DataType::Row(std::move(members)));
}

arrow::Result<Cell> RangesOf(const IndexFileMeta& file) {
  if (!file.deletion_vectors) return std::monostate();
  static const DataType type = RangesType();
  ARROW_ASSIGN_OR_RAISE(auto arrow_type, ToArrowType(type));
  const auto& row_type = static_cast<const arrow::ListType&>(*arrow_type).value_type();
  ARROW_ASSIGN_OR_RAISE(auto builder, arrow::MakeBuilder(row_type));
  for (const DeletionVectorRange& range : *file.deletion_vectors) {
    arrow::ScalarVector values = {
        std::make_shared<arrow::StringScalar>(ReplaceInvalidUtf8(range.data_file)),
        arrow::MakeScalar(range.offset), arrow::MakeScalar(range.length),
        range.cardinality ? arrow::MakeScalar(*range.cardinality)
                          : arrow::MakeNullScalar(arrow::int64())};
    ARROW_RETURN_NOT_OK(builder->AppendScalar(arrow::StructScalar(std::move(values), row_type)));
  }
  ARROW_ASSIGN_OR_RAISE(auto rows, builder->Finish());
  return Cell(std::make_shared<arrow::ListScalar>(std::move(rows), std::move(arrow_type)));
}

const std::vector<Column<IndexItem>>& IndexColumns() {
  using I = const IndexItem&;
  static const std::vector<Column<IndexItem>> columns = {
      {"partition", TextType(true), [](I i) { return Cell(i.partition); }},
      {"bucket", IntType(false), [](I i) { return Cell(int64_t{i.entry->bucket}); }},
      {"index_type", TextType(false), [](I i) { return Cell(i.entry->file.index_type); }},
      {"file_name", TextType(false), [](I i) { return Cell(i.entry->file.file_name); }},
      {"file_size", BigIntType(false), [](I i) { return Cell(i.entry->file.file_size); }},
      {"row_count", BigIntType(false), [](I i) { return Cell(i.entry->file.row_count); }},
      {"dv_ranges", RangesType(), [](I i) { return RangesOf(i.entry->file); }},
  };
  return columns;
}

arrow::Result<std::shared_ptr<arrow::RecordBatch>> ReadTableIndexes(const Request& request) {
  ARROW_ASSIGN_OR_RAISE(Moment moment, MomentOf(request));
  std::vector<IndexManifestEntry> entries;
  if (moment.snapshot && moment.snapshot->index_manifest) {
    ARROW_ASSIGN_OR_RAISE(
        entries, moment.table->manifests().ReadIndexManifest(*moment.snapshot->index_manifest));
  }
  Partitions partitions(*moment.table);
  std::vector<IndexItem> items;
  for (const IndexManifestEntry& entry : entries) {
    ARROW_ASSIGN_OR_RAISE(auto* partition, partitions.Get(entry.partition));
    items.push_back({partition->row, &entry});
  }
  return BuildTable(IndexColumns(), request.columns, items, *request.table.env.executor,
                    request.token);
}

}  // namespace

const SystemTable kFilesTable = {"files", FieldsOfTable<FileItem, FileColumns>, ReadFiles};
const SystemTable kFileKeyRangesTable = {
    "file_key_ranges", FieldsOfTable<FileItem, FileKeyRangeColumns>, ReadFileKeyRanges};
const SystemTable kManifestsTable = {"manifests", FieldsOfTable<ManifestItem, ManifestColumns>,
                                     ReadManifests};
const SystemTable kPartitionsTable = {"partitions", FieldsOfTable<Group, PartitionColumns>,
                                      ReadPartitions};
const SystemTable kBucketsTable = {"buckets", FieldsOfTable<Group, BucketColumns>, ReadBuckets};
const SystemTable kTableIndexesTable = {"table_indexes", FieldsOfTable<IndexItem, IndexColumns>,
                                        ReadTableIndexes};

}  // namespace kelda::system_tables
