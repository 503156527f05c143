// System tables made from the directories of snapshots, schemas, tags, branches and consumers.

#include <algorithm>
#include <array>
#include <chrono>
#include <cmath>
#include <optional>

#include "kelda/catalog/system_tables/column_table.h"
#include "kelda/catalog/system_tables/tables.h"
#include "kelda/catalog/system_tables/texts.h"
#include "kelda/row/partition_path.h"

namespace kelda::system_tables {

namespace {

using Json = nlohmann::ordered_json;

/// Read one small file for each id, in parallel; those that vanish meanwhile (expired) are left
/// out.
template <typename Item, typename Id, typename Read>
arrow::Result<std::vector<Item>> ReadEach(const TableContext& table, const std::vector<Id>& ids,
                                          const CancellationToken& token, const Read& read) {
  std::vector<std::optional<Item>> parts(ids.size());
  ARROW_RETURN_NOT_OK(ParallelFor(*table.env.executor, static_cast<int64_t>(ids.size()), token,
                                  [&](int64_t i) -> arrow::Status {
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

arrow::Result<std::shared_ptr<arrow::RecordBatch>> ReadSnapshots(const TableContext& table,
                                                                 const std::vector<int>& wanted,
                                                                 const CancellationToken& token) {
  ARROW_ASSIGN_OR_RAISE(auto ids, table.snapshots->ListIds());
  ARROW_ASSIGN_OR_RAISE(auto snapshots, ReadEach<Snapshot>(table, ids, token, [&](int64_t id) {
                          return table.snapshots->Read(id);
                        }));
  return BuildTable(SnapshotColumns(), wanted, snapshots, *table.env.executor, token);
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

arrow::Result<std::shared_ptr<arrow::RecordBatch>> ReadSchemas(const TableContext& table,
                                                               const std::vector<int>& wanted,
                                                               const CancellationToken& token) {
  ARROW_ASSIGN_OR_RAISE(auto ids, table.schemas->ListIds());
  ARROW_ASSIGN_OR_RAISE(auto schemas, ReadEach<TableSchemaPtr>(table, ids, token, [&](int64_t id) {
                          return table.schemas->Read(id);
                        }));
  return BuildTable(SchemaColumns(), wanted, schemas, *table.env.executor, token);
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

arrow::Result<std::shared_ptr<arrow::RecordBatch>> ReadOptions(const TableContext& table,
                                                               const std::vector<int>& wanted,
                                                               const CancellationToken& token) {
  ARROW_ASSIGN_OR_RAISE(auto schema, table.schemas->Latest());
  if (schema == nullptr) return NotFound("table {} has no schema any more", table.name);
  return BuildTable(OptionColumns(), wanted, OrderedOptions(*schema), *table.env.executor, token);
}

// ----------------------------------------------------------------------------------------- tags

struct TagItem {
  std::string name;
  Snapshot snapshot;
  std::optional<int64_t> create_time_millis;
  std::optional<std::string> time_retained;
};

/// `[2024, 5, 14, 9, 30, 15, 123000000]`, seconds and nanoseconds left out when zero.
std::optional<int64_t> WallClockOfParts(const Json& json) {
  static constexpr std::array<int64_t, 7> kMax = {9999, 12, 31, 23, 59, 59, 999999999};
  if (json.size() < 5 || json.size() > kMax.size()) return std::nullopt;
  std::array<int64_t, 7> parts = {};
  for (size_t i = 0; i < json.size(); ++i) {
    if (!json[i].is_number_integer()) return std::nullopt;
    parts[i] = json[i].get<int64_t>();
    if (parts[i] < 0 || parts[i] > kMax[i]) return std::nullopt;
  }
  const std::chrono::year_month_day date(std::chrono::year(static_cast<int>(parts[0])),
                                         std::chrono::month(static_cast<unsigned>(parts[1])),
                                         std::chrono::day(static_cast<unsigned>(parts[2])));
  if (!date.ok()) return std::nullopt;
  const int64_t days = std::chrono::sys_days(date).time_since_epoch().count();
  return (((days * 24 + parts[3]) * 60 + parts[4]) * 60 + parts[5]) * 1000 + parts[6] / 1000000;
}

/// A date-time in either form that Java reads (spec 01 §8).
std::optional<int64_t> ParseWallClock(const Json& json) {
  if (json.is_array()) return WallClockOfParts(json);
  if (!json.is_string()) return std::nullopt;
  auto text = json.get<std::string>();
  if (text.size() > 10 && text[10] == 'T') text[10] = ' ';
  auto scalar = CastFromText(DataType::Temporal(TypeRoot::kTimestamp, 3), text);
  if (!scalar.ok() || !(*scalar)->is_valid) return std::nullopt;
  return static_cast<const arrow::TimestampScalar&>(**scalar).value;
}

/// Seconds with a fraction, or text that is one already.
std::optional<std::string> ParseDuration(const Json& json) {
  if (json.is_string()) return json.get<std::string>();
  if (json.is_number_integer()) return DurationText(json.get<int64_t>(), 0);
  if (!json.is_number()) return std::nullopt;
  const double seconds = json.get<double>();
  if (!(std::abs(seconds) < 9e15)) return std::nullopt;
  auto whole = static_cast<int64_t>(std::floor(seconds));
  auto nanos = static_cast<int64_t>(std::llround((seconds - std::floor(seconds)) * 1e9));
  if (nanos == 1000000000) {
    ++whole;
    nanos = 0;
  }
  return DurationText(whole, static_cast<int32_t>(nanos));
}

arrow::Result<TagItem> ReadTag(const TableContext& table, const std::string& name) {
  TagItem tag;
  tag.name = name;
  ARROW_ASSIGN_OR_RAISE(tag.snapshot, table.snapshots->ReadTag(name));
  const Json& extra = tag.snapshot.unknown;
  if (auto it = extra.find("tagCreateTime"); it != extra.end() && !it->is_null()) {
    tag.create_time_millis = ParseWallClock(*it);
    if (!tag.create_time_millis) {
      return Corruption("corrupt tag file '{}': tagCreateTime is {}", table.paths.TagFile(name),
                        CompactJson(*it));
    }
  }
  if (auto it = extra.find("tagTimeRetained"); it != extra.end() && !it->is_null()) {
    tag.time_retained = ParseDuration(*it);
    if (!tag.time_retained) {
      return Corruption("corrupt tag file '{}': tagTimeRetained is {}", table.paths.TagFile(name),
                        CompactJson(*it));
    }
  }
  return tag;
}

const std::vector<Column<TagItem>>& TagColumns() {
  using T = const TagItem&;
  static const std::vector<Column<TagItem>> columns = {
      {"tag_name", TextType(false), [](T t) { return Cell(t.name); }},
      {"snapshot_id", BigIntType(false), [](T t) { return Cell(t.snapshot.id); }},
      {"schema_id", BigIntType(false), [](T t) { return Cell(t.snapshot.schema_id); }},
      {"commit_time", TimeType(false),
       [](T t) { return Cell(LocalWallMillis(t.snapshot.time_millis)); }},
      {"record_count", BigIntType(true), [](T t) { return Cell(t.snapshot.total_record_count); }},
      {"create_time", TimeType(true), [](T t) { return OrNull(t.create_time_millis); }},
      {"time_retained", TextType(true), [](T t) { return OrNull(t.time_retained); }},
  };
  return columns;
}

arrow::Result<std::shared_ptr<arrow::RecordBatch>> ReadTags(const TableContext& table,
                                                            const std::vector<int>& wanted,
                                                            const CancellationToken& token) {
  ARROW_ASSIGN_OR_RAISE(auto names, table.snapshots->ListTags());
  ARROW_ASSIGN_OR_RAISE(
      auto tags, ReadEach<TagItem>(table, names, token,
                                   [&](const std::string& name) { return ReadTag(table, name); }));
  std::stable_sort(tags.begin(), tags.end(), [](const TagItem& a, const TagItem& b) {
    return a.snapshot.id < b.snapshot.id;
  });
  return BuildTable(TagColumns(), wanted, tags, *table.env.executor, token);
}

// ------------------------------------------------------------------------------------- branches

struct BranchItem {
  std::string name;
  int64_t modified_millis;
};

const std::vector<Column<BranchItem>>& BranchColumns() {
  using B = const BranchItem&;
  static const std::vector<Column<BranchItem>> columns = {
      {"branch_name", TextType(false), [](B b) { return Cell(b.name); }},
      {"create_time", TimeType(false),
       [](B b) { return Cell(LocalWallMillis(b.modified_millis)); }},
  };
  return columns;
}

arrow::Result<std::shared_ptr<arrow::RecordBatch>> ReadBranches(const TableContext& table,
                                                                const std::vector<int>& wanted,
                                                                const CancellationToken& token) {
  constexpr std::string_view kPrefix = "branch-";
  ARROW_ASSIGN_OR_RAISE(auto children, table.env.io->List(table.paths.BranchDir()));
  std::vector<BranchItem> branches;
  for (const FileInfo& child : children) {
    if (!child.is_dir || !child.name.starts_with(kPrefix)) continue;
    branches.push_back({child.name.substr(kPrefix.size()), child.modified_millis});
  }
  return BuildTable(BranchColumns(), wanted, branches, *table.env.executor, token);
}

// ------------------------------------------------------------------------------------ consumers

struct ConsumerItem {
  std::string id;
  int64_t next_snapshot = 0;
};

const std::vector<Column<ConsumerItem>>& ConsumerColumns() {
  using C = const ConsumerItem&;
  static const std::vector<Column<ConsumerItem>> columns = {
      {"consumer_id", TextType(false), [](C c) { return Cell(c.id); }},
      {"next_snapshot_id", BigIntType(false), [](C c) { return Cell(c.next_snapshot); }},
  };
  return columns;
}

arrow::Result<std::shared_ptr<arrow::RecordBatch>> ReadConsumers(const TableContext& table,
                                                                 const std::vector<int>& wanted,
                                                                 const CancellationToken& token) {
  constexpr std::string_view kPrefix = "consumer-";
  constexpr int64_t kConsumerFileMaxBytes = 1 << 20;
  ARROW_ASSIGN_OR_RAISE(auto files, table.env.io->List(table.paths.branch_root() + "/consumer"));
  std::erase_if(files, [&](const FileInfo& f) { return f.is_dir || !f.name.starts_with(kPrefix); });
  const auto read = [&](const FileInfo& file) -> arrow::Result<ConsumerItem> {
    ARROW_ASSIGN_OR_RAISE(std::string text,
                          table.env.io->ReadAll(file.path, kConsumerFileMaxBytes));
    ARROW_ASSIGN_OR_RAISE(Json json, ParseBoundedJson(text, file.path));
    if (!json.is_object() || !json.contains("nextSnapshot") ||
        !json["nextSnapshot"].is_number_integer()) {
      return Corruption("corrupt consumer file '{}': there is no number nextSnapshot", file.path);
    }
    return ConsumerItem{file.name.substr(kPrefix.size()), json["nextSnapshot"].get<int64_t>()};
  };
  ARROW_ASSIGN_OR_RAISE(auto consumers, ReadEach<ConsumerItem>(table, files, token, read));
  return BuildTable(ConsumerColumns(), wanted, consumers, *table.env.executor, token);
}

}  // namespace

const SystemTable kSnapshotsTable = {"snapshots", FieldsOfTable<Snapshot, SnapshotColumns>,
                                     ReadSnapshots};
const SystemTable kSchemasTable = {"schemas", FieldsOfTable<TableSchemaPtr, SchemaColumns>,
                                   ReadSchemas};
const SystemTable kOptionsTable = {"options", FieldsOfTable<OptionItem, OptionColumns>,
                                   ReadOptions};
const SystemTable kTagsTable = {"tags", FieldsOfTable<TagItem, TagColumns>, ReadTags};
const SystemTable kBranchesTable = {"branches", FieldsOfTable<BranchItem, BranchColumns>,
                                    ReadBranches};
const SystemTable kConsumersTable = {"consumers", FieldsOfTable<ConsumerItem, ConsumerColumns>,
                                     ReadConsumers};

}  // namespace kelda::system_tables
