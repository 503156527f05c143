// System tables made from the directories of snapshots, schemas, tags, branches and consumers.

#include <algorithm>
#include <optional>

#include "kelda/catalog/system_tables/column_table.h"
#include "kelda/catalog/system_tables/tables.h"
#include "kelda/catalog/system_tables/texts.h"
#include "kelda/metadata/branch.h"
#include "kelda/metadata/consumer.h"
#include "kelda/metadata/table_statistics.h"
#include "kelda/metadata/tag.h"

namespace kelda::system_tables {

namespace {

using Json = nlohmann::ordered_json;

/// Read one small file for each id, in parallel; those that vanish meanwhile (expired) are left
/// out.
template <typename Item, typename Id, typename Read>
arrow::Result<std::vector<Item>> ReadEach(const Request& request, const std::vector<Id>& ids,
                                          const Read& read) {
  std::vector<std::optional<Item>> parts(ids.size());
  ARROW_RETURN_NOT_OK(ParallelFor(*request.table.env.executor, static_cast<int64_t>(ids.size()),
                                  request.token, [&](int64_t i) -> arrow::Status {
                                    auto item = read(ids[i]);
                                    if (!item.ok()) {
                                      return IsNotFound(item.status()) ? arrow::Status::OK()
                                                                       : item.status();
                                    }
                                    parts[i] = std::move(*item);
                                    return arrow::Status::OK();
                                  }));
  std::vector<Item> items;
  for (auto& part : parts) {
    if (part) items.push_back(std::move(*part));
  }
  return items;
}

// ------------------------------------------------------------------------------------ snapshots

const std::vector<Column<Snapshot>>& SnapshotColumns() {
  using S = const Snapshot&;
  static const std::vector<Column<Snapshot>> columns = {
      {"snapshot_id", BigIntType(false), [](S s) { return Cell(s.id); }},
      {"schema_id", BigIntType(false), [](S s) { return Cell(s.schema_id); }},
      {"commit_user", TextType(false), [](S s) { return Cell(s.commit_user); }},
      {"commit_identifier", BigIntType(false), [](S s) { return Cell(s.commit_identifier); }},
      {"commit_kind", TextType(false),
       [](S s) { return Cell(std::string(ToString(s.commit_kind))); }},
      {"commit_time", TimeType(false), [](S s) { return Cell(LocalWallMillis(s.time_millis)); }},
      {"base_manifest_list", TextType(false), [](S s) { return Cell(s.base_manifest_list); }},
      {"delta_manifest_list", TextType(false), [](S s) { return Cell(s.delta_manifest_list); }},
      {"changelog_manifest_list", TextType(true),
       [](S s) { return OrNull(s.changelog_manifest_list); }},
      {"total_record_count", BigIntType(true), [](S s) { return Cell(s.total_record_count); }},
      {"delta_record_count", BigIntType(true), [](S s) { return Cell(s.delta_record_count); }},
      {"changelog_record_count", BigIntType(true),
       [](S s) { return OrNull(s.changelog_record_count); }},
      {"watermark", BigIntType(true), [](S s) { return OrNull(s.watermark); }},
      {"next_row_id", BigIntType(true), [](S s) { return OrNull(s.next_row_id); }},
  };
  return columns;
}

arrow::Result<std::shared_ptr<arrow::RecordBatch>> ReadSnapshots(const Request& request) {
  const SnapshotFiles& files = *request.table.snapshots;
  ARROW_ASSIGN_OR_RAISE(auto ids, files.ListIds());
  if (request.pinned != nullptr) {
    const auto& newest = request.pinned->snapshot;
    std::erase_if(ids, [&](int64_t id) { return !newest || id > newest->id; });
  }
  ARROW_ASSIGN_OR_RAISE(
      auto snapshots, ReadEach<Snapshot>(request, ids, [&](int64_t id) { return files.Read(id); }));
  return BuildTable(SnapshotColumns(), request.columns, snapshots, *request.table.env.executor,
                    request.token);
}

// -------------------------------------------------------------------------------------- schemas

std::string NamesJson(const std::vector<std::string>& names) {
  Json json = Json::array();
  for (const std::string& name : names) json.push_back(name);
  return CompactJson(json);
}

/// Options in the order of the schema file, which is what Java shows.
std::vector<std::pair<std::string, std::string>> OrderedOptions(const TableSchema& schema) {
  std::vector<std::pair<std::string, std::string>> ordered;
  std::map<std::string, std::string> rest = schema.options;
  for (const std::string& key : schema.option_order) {
    auto node = rest.extract(key);
    if (!node.empty()) ordered.emplace_back(std::move(node.key()), std::move(node.mapped()));
  }
  for (auto& [key, value] : rest) ordered.emplace_back(key, value);
  return ordered;
}

std::string FieldsJson(const TableSchema& schema) {
  Json json = Json::array();
  for (const DataField& field : schema.fields) json.push_back(field.ToJson());
  return CompactJson(json);
}

std::string OptionsJson(const TableSchema& schema) {
  Json json = Json::object();
  for (auto& [key, value] : OrderedOptions(schema)) json[key] = value;
  return CompactJson(json);
}

const std::vector<Column<TableSchemaPtr>>& SchemaColumns() {
  using S = const TableSchemaPtr&;
  static const std::vector<Column<TableSchemaPtr>> columns = {
      {"schema_id", BigIntType(false), [](S s) { return Cell(s->id); }},
      {"fields", TextType(false), [](S s) { return Cell(FieldsJson(*s)); }},
      {"partition_keys", TextType(false), [](S s) { return Cell(NamesJson(s->partition_keys)); }},
      {"primary_keys", TextType(false), [](S s) { return Cell(NamesJson(s->primary_keys)); }},
      {"options", TextType(false), [](S s) { return Cell(OptionsJson(*s)); }},
      {"comment", TextType(true), [](S s) { return OrNull(s->comment); }},
      {"update_time", TimeType(false), [](S s) { return Cell(LocalWallMillis(s->time_millis)); }},
  };
  return columns;
}

arrow::Result<std::shared_ptr<arrow::RecordBatch>> ReadSchemas(const Request& request) {
  const TableContext& table = request.table;
  ARROW_ASSIGN_OR_RAISE(auto ids, table.schemas->ListIds());
  if (request.pinned != nullptr)
    std::erase_if(ids, [&](int64_t id) { return id > table.schema->id; });
  ARROW_ASSIGN_OR_RAISE(auto schemas, ReadEach<TableSchemaPtr>(request, ids, [&](int64_t id) {
                          return table.schemas->Read(id);
                        }));
  return BuildTable(SchemaColumns(), request.columns, schemas, *request.table.env.executor,
                    request.token);
}

// -------------------------------------------------------------------------------------- options

using OptionItem = std::pair<std::string, std::string>;

const std::vector<Column<OptionItem>>& OptionColumns() {
  static const std::vector<Column<OptionItem>> columns = {
      {"key", TextType(false), [](const OptionItem& o) { return Cell(o.first); }},
      {"value", TextType(false), [](const OptionItem& o) { return Cell(o.second); }},
  };
  return columns;
}

arrow::Result<std::shared_ptr<arrow::RecordBatch>> ReadOptions(const Request& request) {
  TableSchemaPtr schema = request.table.schema;
  if (request.pinned == nullptr) {
    ARROW_ASSIGN_OR_RAISE(schema, request.table.schemas->Latest());
    if (schema == nullptr) return NotFound("table {} has no schema any more", request.table.name);
  }
  return BuildTable(OptionColumns(), request.columns, OrderedOptions(*schema),
                    *request.table.env.executor, request.token);
}

// ----------------------------------------------------------------------------------------- tags

struct TagItem {
  std::string name;
  Tag tag;
};

Cell CreateTime(const Tag& tag) {
  if (!tag.create_time) return std::monostate();
  return tag.create_time->seconds * 1000 + tag.create_time->nanos / 1'000'000;
}

Cell TimeRetained(const Tag& tag) {
  if (!tag.time_retained) return std::monostate();
  return DurationText(*tag.time_retained);
}

const std::vector<Column<TagItem>>& TagColumns() {
  using T = const TagItem&;
  static const std::vector<Column<TagItem>> columns = {
      {"tag_name", TextType(false), [](T t) { return Cell(t.name); }},
      {"snapshot_id", BigIntType(false), [](T t) { return Cell(t.tag.snapshot.id); }},
      {"schema_id", BigIntType(false), [](T t) { return Cell(t.tag.snapshot.schema_id); }},
      {"commit_time", TimeType(false),
       [](T t) { return Cell(LocalWallMillis(t.tag.snapshot.time_millis)); }},
      {"record_count", BigIntType(true),
       [](T t) { return Cell(t.tag.snapshot.total_record_count); }},
      {"create_time", TimeType(true), [](T t) { return CreateTime(t.tag); }},
      {"time_retained", TextType(true), [](T t) { return TimeRetained(t.tag); }},
  };
  return columns;
}

arrow::Result<std::shared_ptr<arrow::RecordBatch>> ReadTags(const Request& request) {
  ARROW_ASSIGN_OR_RAISE(auto names, request.table.snapshots->ListTags());
  const auto read = [&](const std::string& name) -> arrow::Result<TagItem> {
    ARROW_ASSIGN_OR_RAISE(Tag tag, ReadTag(request.table, name));
    return TagItem{name, std::move(tag)};
  };
  ARROW_ASSIGN_OR_RAISE(auto tags, ReadEach<TagItem>(request, names, read));
  std::stable_sort(tags.begin(), tags.end(), [](const TagItem& a, const TagItem& b) {
    return a.tag.snapshot.id < b.tag.snapshot.id;
  });
  return BuildTable(TagColumns(), request.columns, tags, *request.table.env.executor,
                    request.token);
}

// ------------------------------------------------------------------------------------- branches

const std::vector<Column<Branch>>& BranchColumns() {
  using B = const Branch&;
  static const std::vector<Column<Branch>> columns = {
      {"branch_name", TextType(false), [](B b) { return Cell(b.name); }},
      {"create_time", TimeType(false),
       [](B b) { return Cell(LocalWallMillis(b.modified_millis)); }},
  };
  return columns;
}

arrow::Result<std::shared_ptr<arrow::RecordBatch>> ReadBranches(const Request& request) {
  ARROW_ASSIGN_OR_RAISE(auto branches, ListBranches(request.table));
  return BuildTable(BranchColumns(), request.columns, branches, *request.table.env.executor,
                    request.token);
}

// ------------------------------------------------------------------------------------ consumers

struct ConsumerItem {
  std::string id;
  Consumer consumer;
};

const std::vector<Column<ConsumerItem>>& ConsumerColumns() {
  using C = const ConsumerItem&;
  static const std::vector<Column<ConsumerItem>> columns = {
      {"consumer_id", TextType(false), [](C c) { return Cell(c.id); }},
      {"next_snapshot_id", BigIntType(false), [](C c) { return Cell(c.consumer.next_snapshot); }},
  };
  return columns;
}

arrow::Result<std::shared_ptr<arrow::RecordBatch>> ReadConsumers(const Request& request) {
  ARROW_ASSIGN_OR_RAISE(auto ids, ListConsumers(request.table));
  const auto read = [&](const std::string& id) -> arrow::Result<ConsumerItem> {
    ARROW_ASSIGN_OR_RAISE(Consumer consumer, ReadConsumer(request.table, id));
    return ConsumerItem{id, std::move(consumer)};
  };
  ARROW_ASSIGN_OR_RAISE(auto consumers, ReadEach<ConsumerItem>(request, ids, read));
  return BuildTable(ConsumerColumns(), request.columns, consumers, *request.table.env.executor,
                    request.token);
}

// ---------------------------------------------------------------------------- aggregation_fields

/// Values and keys of the options `fields.<column>.…` of one column.
struct FieldOptions {
  std::vector<std::string> values;
  std::vector<std::string> keys;
};

struct AggregationItem {
  const DataField* field;
  FieldOptions options;
};

/// java.util.List.toString.
std::string ListText(const std::vector<std::string>& parts) {
  return fmt::format("[{}]", fmt::join(parts, ", "));
}

const std::vector<Column<AggregationItem>>& AggregationColumns() {
  using A = const AggregationItem&;
  static const std::vector<Column<AggregationItem>> columns = {
      {"field_name", TextType(false), [](A a) { return Cell(a.field->name); }},
      {"field_type", TextType(false), [](A a) { return Cell(SqlText(a.field->type)); }},
      {"function", TextType(true), [](A a) { return Cell(ListText(a.options.values)); }},
      {"function_options", TextType(true), [](A a) { return Cell(ListText(a.options.keys)); }},
      {"comment", TextType(true), [](A a) { return OrNull(a.field->description); }},
  };
  return columns;
}

arrow::Result<std::shared_ptr<arrow::RecordBatch>> ReadAggregationFields(const Request& request) {
  const TableSchema& schema = *request.table.schema;
  std::map<std::string, FieldOptions> of_column;
  for (const auto& [key, value] : OrderedOptions(schema)) {
    // The second part of the key, dots in names or not: as Java takes it apart.
    constexpr std::string_view kPrefix = "fields.";
    if (!key.starts_with(kPrefix)) continue;
    FieldOptions& options =
        of_column[key.substr(kPrefix.size(), key.find('.', kPrefix.size()) - kPrefix.size())];
    options.keys.push_back(key);
    options.values.push_back(value);
  }
  std::vector<AggregationItem> items;
  for (const DataField& field : schema.fields) items.push_back({&field, of_column[field.name]});
  return BuildTable(AggregationColumns(), request.columns, items, *request.table.env.executor,
                    request.token);
}

// ----------------------------------------------------------------------------------- statistics

const std::vector<Column<TableStatistics>>& StatisticsColumns() {
  using S = const TableStatistics&;
  static const std::vector<Column<TableStatistics>> columns = {
      {"snapshot_id", BigIntType(false), [](S s) { return Cell(s.snapshot_id); }},
      {"schema_id", BigIntType(false), [](S s) { return Cell(s.schema_id); }},
      {"mergedRecordCount", BigIntType(true), [](S s) { return OrNull(s.merged_record_count); }},
      {"mergedRecordSize", BigIntType(true), [](S s) { return OrNull(s.merged_record_size); }},
      {"colstat", TextType(true), [](S s) { return Cell(s.ColumnsJsonText()); }},
  };
  return columns;
}

arrow::Result<std::shared_ptr<arrow::RecordBatch>> ReadStatistics(const Request& request) {
  const TableContext& table = request.table;
  ARROW_ASSIGN_OR_RAISE(auto snapshot, SnapshotOf(request));
  std::vector<TableStatistics> rows;
  if (snapshot && snapshot->statistics) {
    const StatisticsFiles files(table.env.io, table.paths);
    ARROW_ASSIGN_OR_RAISE(rows.emplace_back(), files.Read(*snapshot->statistics));
  }
  return BuildTable(StatisticsColumns(), request.columns, rows, *table.env.executor, request.token);
}

}  // namespace

const SystemTable kSnapshotsTable = {"snapshots", FieldsOfTable<Snapshot, SnapshotColumns>,
                                     ReadSnapshots};
const SystemTable kSchemasTable = {"schemas", FieldsOfTable<TableSchemaPtr, SchemaColumns>,
                                   ReadSchemas};
const SystemTable kOptionsTable = {"options", FieldsOfTable<OptionItem, OptionColumns>,
                                   ReadOptions};
const SystemTable kTagsTable = {"tags", FieldsOfTable<TagItem, TagColumns>, ReadTags};
const SystemTable kBranchesTable = {"branches", FieldsOfTable<Branch, BranchColumns>, ReadBranches};
const SystemTable kConsumersTable = {"consumers", FieldsOfTable<ConsumerItem, ConsumerColumns>,
                                     ReadConsumers};

const SystemTable kAggregationFieldsTable = {"aggregation_fields",
                                             FieldsOfTable<AggregationItem, AggregationColumns>,
                                             ReadAggregationFields};
const SystemTable kStatisticsTable = {
    "statistics", FieldsOfTable<TableStatistics, StatisticsColumns>, ReadStatistics};

}  // namespace kelda::system_tables
