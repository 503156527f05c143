#include "kelda/catalog/system_tables.h"

#include <stdlib.h>
#include <time.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <set>

#include <arrow/api.h>
#include <nlohmann/json.hpp>

#include "kelda/base/test_matchers.h"
#include "kelda/catalog/catalog.h"
#include "kelda/catalog/system_tables/texts.h"
#include "kelda/commit/committer.h"
#include "kelda/io/io_test_fixture.h"
#include "kelda/row/binary_row.h"
#include "tests/tools/golden_json.h"

namespace kelda {
namespace {

namespace fs = std::filesystem;
using Json = nlohmann::json;

const std::string kFixtures = KELDA_TEST_DATA "/system_tables";

/// Sets the session's time zone for one test.
class ZoneGuard {
 public:
  explicit ZoneGuard(const char* zone) {
    if (const char* before = getenv("TZ")) before_ = before;
    setenv("TZ", zone, 1);
    tzset();
  }
  ~ZoneGuard() {
    if (before_.empty()) {
      unsetenv("TZ");
    } else {
      setenv("TZ", before_.c_str(), 1);
    }
    tzset();
  }

 private:
  std::string before_;
};

std::vector<Json> ReadLines(const std::string& path) {
  std::ifstream file(path);
  std::vector<Json> lines;
  for (std::string line; std::getline(file, line);) lines.push_back(Json::parse(line));
  return lines;
}

/// Warehouse that holds table `db.name`: those of the golden tables and a few of our own.
std::string WarehouseOf(const std::string& name) {
  const std::string database = name.substr(0, name.find('.'));
  const std::string table = name.substr(database.size() + 1, name.find('$') - database.size() - 1);
  const std::string own = kFixtures + "/warehouse";
  return fs::exists(own + "/" + database + ".db/" + table) ? own
                                                           : KELDA_TEST_DATA "/golden/warehouse";
}

arrow::Result<TableContextPtr> LoadFrom(const std::string& warehouse, const std::string& name,
                                        const std::map<std::string, std::string>& options = {}) {
  Environment env;
  env.io = MakeLocalFileIO();
  const size_t dot = name.find('.');
  ARROW_ASSIGN_OR_RAISE(auto id, Identifier::Parse(name.substr(0, dot), name.substr(dot + 1)));
  return TableContext::Load(env, name, warehouse + "/" + id.database + ".db/" + id.table, id.branch,
                            options);
}

std::vector<int> AllColumns(const std::vector<DataField>& fields) {
  std::vector<int> columns;
  for (size_t i = 0; i < fields.size(); ++i) columns.push_back(static_cast<int>(i));
  return columns;
}

/// Rows as JSON arrays in the form of the golden tables; paths relative to `warehouse`.
std::vector<std::string> Rows(const arrow::RecordBatch& batch, const std::vector<DataField>& fields,
                              const std::string& warehouse = "") {
  std::vector<std::string> rows;
  for (int64_t row = 0; row < batch.num_rows(); ++row) {
    Json cells = Json::array();
    for (size_t i = 0; i < fields.size(); ++i) {
      std::string text;
      EXPECT_OK(
          AppendGoldenValue(fields[i].type, *batch.column(static_cast<int>(i)), row, false, &text));
      Json cell = Json::parse(text);
      if (fields[i].name == "file_path") {
        const auto path = cell.get<std::string>();
        EXPECT_TRUE(path.starts_with(warehouse + "/")) << path;
        cell = path.substr(warehouse.size() + 1);
      }
      cells.push_back(std::move(cell));
    }
    rows.push_back(cells.dump());
  }
  return rows;
}

arrow::Result<std::vector<std::string>> ReadAllRows(const TableContext& table,
                                                    const std::string& system_table,
                                                    const std::string& warehouse = "") {
  ARROW_ASSIGN_OR_RAISE(auto fields, SystemTableFields(table, system_table));
  ARROW_ASSIGN_OR_RAISE(auto batch, ReadSystemTable(table, system_table, AllColumns(fields)));
  ARROW_RETURN_NOT_OK(batch->ValidateFull());
  return Rows(*batch, fields, warehouse);
}

/// Java prints the options of a schema in the order of a hash map.
void SortOptions(std::vector<std::string>* rows) {
  constexpr int kOptionsColumn = 4;
  for (std::string& row : *rows) {
    Json cells = Json::parse(row);
    cells[kOptionsColumn] = Json::parse(cells[kOptionsColumn].get<std::string>());
    row = cells.dump();
  }
}

/// `line` of a fixture against what is read now; the order of rows is free.
void CheckLine(const Json& line, const std::string& system_table) {
  const auto name = line["table"].get<std::string>();
  SCOPED_TRACE(name + "$" + system_table + " " + line["options"].dump());
  const std::string warehouse = WarehouseOf(name);
  ASSERT_OK_AND_ASSIGN(
      auto table,
      LoadFrom(warehouse, name, line["options"].get<std::map<std::string, std::string>>()));
  ASSERT_OK_AND_ASSIGN(auto got, ReadAllRows(*table, system_table, warehouse));
  std::vector<std::string> want;
  for (const Json& row : line["rows"]) want.push_back(row.dump());
  if (system_table == "schemas") {
    SortOptions(&got);
    SortOptions(&want);
  }
  std::sort(got.begin(), got.end());
  std::sort(want.begin(), want.end());
  EXPECT_EQ(got, want);
}

// ------------------------------------------------------------------------- rows that Java printed

class JavaRows : public testing::TestWithParam<const char*> {};

TEST_P(JavaRows, ColumnsAndRowsAreEqual) {
  const std::string system_table = GetParam();
  const auto lines = ReadLines(kFixtures + "/" + system_table + ".jsonl");
  ASSERT_GT(lines.size(), 1U);
  const auto first = lines[1]["table"].get<std::string>();
  ASSERT_OK_AND_ASSIGN(auto owner, LoadFrom(WarehouseOf(first), first));
  ASSERT_OK_AND_ASSIGN(auto fields, SystemTableFields(*owner, system_table));
  Json columns = Json::array();
  for (const DataField& field : fields)
    columns.push_back({field.name, system_tables::SqlText(field.type)});
  EXPECT_EQ(columns, lines[0]["columns"]);
  for (size_t i = 1; i < lines.size(); ++i) CheckLine(lines[i], system_table);
}

INSTANTIATE_TEST_SUITE_P(SystemTables, JavaRows,
                         testing::Values("aggregation_fields", "audit_log", "buckets", "consumers",
                                         "file_key_ranges", "files", "manifests", "options",
                                         "partitions", "row_tracking", "schemas", "snapshots",
                                         "statistics", "table_indexes", "tags"),
                         [](const auto& info) { return std::string(info.param); });

TEST(SystemTables, TimesAreThoseOfTheSessionZone) {
  const ZoneGuard zone("America/New_York");
  const auto lines = ReadLines(kFixtures + "/new_york.jsonl");
  ASSERT_GT(lines.size(), 10U);
  for (const Json& line : lines) CheckLine(line, line["system"].get<std::string>());
}

TEST(SystemTables, BranchesShowTheTimeOfTheirDirectory) {
  const std::string warehouse = WarehouseOf("history.branches");
  ASSERT_OK_AND_ASSIGN(auto table, LoadFrom(warehouse, "history.branches"));
  ASSERT_OK_AND_ASSIGN(auto fields, SystemTableFields(*table, "branches"));
  ASSERT_EQ(fields.size(), 2U);
  EXPECT_EQ(fields[0].name + " " + fields[0].type.ToString(), "branch_name STRING NOT NULL");
  EXPECT_EQ(fields[1].name + " " + fields[1].type.ToString(), "create_time TIMESTAMP(3) NOT NULL");
  for (const char* name : {"UTC", "Asia/Kolkata"}) {
    const ZoneGuard zone(name);
    ASSERT_OK_AND_ASSIGN(auto batch, ReadSystemTable(*table, "branches", {0, 1}));
    const auto& names = static_cast<const arrow::StringArray&>(*batch->column(0));
    const auto& times = static_cast<const arrow::TimestampArray&>(*batch->column(1));
    ASSERT_EQ(batch->num_rows(), 2);
    EXPECT_EQ(names.GetView(0), "b");
    EXPECT_EQ(names.GetView(1), "empty");
    ASSERT_OK_AND_ASSIGN(auto info, table->env.io->Stat(table->paths.BranchDir() + "/branch-b"));
    const int64_t offset = std::string_view(name) == "UTC" ? 0 : 19800000;
    EXPECT_EQ(times.Value(0), info.modified_millis + offset);
  }
}

// --------------------------------------------------------------------------------- the database
// sys

class JavaGlobalRows : public testing::TestWithParam<const char*> {};

/// Paths relative to the warehouse. Tables that came to it after Java looked are left out.
TEST_P(JavaGlobalRows, ColumnsAndRowsAreEqual) {
  const std::string name = GetParam();
  const auto lines = ReadLines(kFixtures + "/sys_" + name + ".jsonl");
  ASSERT_EQ(lines.size(), 2U);
  const std::string warehouse = KELDA_TEST_DATA "/golden/warehouse";
  Environment env;
  env.io = MakeLocalFileIO();
  ASSERT_OK_AND_ASSIGN(auto catalog, OpenFileSystemCatalog(warehouse, {}, env));
  ASSERT_OK_AND_ASSIGN(auto fields, GlobalTableFields(name));
  Json columns = Json::array();
  for (const DataField& field : fields)
    columns.push_back({field.name, system_tables::SqlText(field.type)});
  EXPECT_EQ(columns, lines[0]["columns"]);
  ASSERT_OK_AND_ASSIGN(auto batch, ReadGlobalTable(*catalog, name, AllColumns(fields)));
  ASSERT_OK(batch->ValidateFull());
  std::set<std::string> tables;
  const auto tables_then = ReadLines(kFixtures + "/sys_tables.jsonl");
  for (const Json& row : tables_then[1]["rows"])
    tables.insert(row[0].get<std::string>() + "." + row[1].get<std::string>());
  std::vector<std::string> got;
  for (const std::string& row : Rows(*batch, fields)) {
    Json cells = Json::parse(row);
    if (!tables.contains(cells[0].get<std::string>() + "." + cells[1].get<std::string>())) continue;
    if (cells[2] == "path") cells[3] = cells[3].get<std::string>().substr(warehouse.size() + 1);
    got.push_back(cells.dump());
  }
  std::vector<std::string> want;
  for (const Json& row : lines[1]["rows"]) want.push_back(row.dump());
  std::sort(got.begin(), got.end());
  std::sort(want.begin(), want.end());
  EXPECT_EQ(got, want);
}

INSTANTIATE_TEST_SUITE_P(SystemTables, JavaGlobalRows,
                         testing::Values("all_table_options", "partitions", "tables"),
                         [](const auto& info) { return std::string(info.param); });

TEST(GlobalTables, CatalogOptionsAreThoseOfTheCatalog) {
  Environment env;
  env.io = MakeMemoryFileIO();
  ASSERT_OK_AND_ASSIGN(auto catalog,
                       OpenFileSystemCatalog("/wh/", {{"table-default.bucket", "-1"}}, env));
  ASSERT_OK_AND_ASSIGN(auto fields, GlobalTableFields("catalog_options"));
  ASSERT_OK_AND_ASSIGN(auto batch, ReadGlobalTable(*catalog, "catalog_options", {0, 1}));
  EXPECT_EQ(Rows(*batch, fields), (std::vector<std::string>{R"(["table-default.bucket","-1"])",
                                                            R"(["warehouse","/wh"])"}));
}

TEST(GlobalTables, DamagedTablesAreLeftOut) {
  Environment env;
  env.io = MakeMemoryFileIO();
  ASSERT_OK_AND_ASSIGN(auto catalog, OpenFileSystemCatalog("/wh", {}, env));
  TableDefinition definition;
  definition.fields = {{-1, "id", DataType(TypeRoot::kInt), {}, {}}};
  for (const char* name : {"a", "b"}) {
    ASSERT_OK_AND_ASSIGN(auto id, Identifier::Parse("default", name));
    ASSERT_OK(catalog->CreateTable(id, definition, false));
  }
  ASSERT_OK(env.io->WriteReplacing("/wh/default.db/a/schema/schema-0", "{"));
  for (const std::string& name : GlobalTableNames()) {
    if (name == "catalog_options" || name == "partitions") continue;
    ASSERT_OK_AND_ASSIGN(auto batch, ReadGlobalTable(*catalog, name, {1}));
    EXPECT_EQ(batch->num_rows(), 1) << name;
  }
  EXPECT_THAT(GlobalTableFields("x"), HasError(ErrorCode::kNotFound, "sys.x"));
  CancellationToken token;
  token.Cancel();
  EXPECT_THAT(ReadGlobalTable(*catalog, "tables", {1}, token), HasError(ErrorCode::kCancelled, ""));
}

// -------------------------------------------------------------------------------------- row tables

TEST(RowTables, BinlogHasListsOfOne) {
  const std::string name = "append.overwrite_dynamic";
  ASSERT_OK_AND_ASSIGN(auto table, LoadFrom(WarehouseOf(name), name));
  ASSERT_OK_AND_ASSIGN(auto fields, SystemTableFields(*table, "binlog"));
  ASSERT_EQ(fields.size(), 5U);
  EXPECT_EQ(fields[0].name, "rowkind");
  EXPECT_EQ(fields[1].type.ToString(), "ARRAY<INT>");
  ASSERT_OK_AND_ASSIGN(auto rows, ReadAllRows(*table, "binlog"));
  ASSERT_OK_AND_ASSIGN(auto plain, ReadAllRows(*table, "ro"));
  ASSERT_EQ(rows.size(), 8U);
  std::vector<std::string> expected;
  for (const std::string& row : plain) {
    Json lists = Json::array({"+I"});
    for (const Json& cell : Json::parse(row)) lists.push_back(Json::array({cell}));
    expected.push_back(lists.dump());
  }
  std::sort(rows.begin(), rows.end());
  std::sort(expected.begin(), expected.end());
  EXPECT_EQ(rows, expected);
}

// ------------------------------------------------------------------------------------ pinned reads

TEST(SystemTables, PinnedReadsSeeThePast) {
  const std::string name = "append.unaware_parquet";
  ASSERT_OK_AND_ASSIGN(auto table, LoadFrom(WarehouseOf(name), name));
  ASSERT_OK_AND_ASSIGN(auto first, table->snapshots->Read(1));
  ASSERT_OK_AND_ASSIGN(auto travelled,
                       LoadFrom(WarehouseOf(name), name, {{"scan.snapshot-id", "1"}}));
  const PinnedSnapshot pinned{first};
  const PinnedSnapshot empty;
  for (const char* system_table : {"files", "manifests", "partitions", "buckets", "ro"}) {
    SCOPED_TRACE(system_table);
    ASSERT_OK_AND_ASSIGN(auto now, ReadSystemTable(*table, system_table, {0, 1}));
    ASSERT_OK_AND_ASSIGN(auto then, ReadSystemTable(*table, system_table, {0, 1}, {}, &pinned));
    ASSERT_OK_AND_ASSIGN(auto want, ReadSystemTable(*travelled, system_table, {0, 1}));
    EXPECT_EQ(then->num_rows(), want->num_rows());
    ASSERT_OK_AND_ASSIGN(auto none, ReadSystemTable(*table, system_table, {0, 1}, {}, &empty));
    EXPECT_EQ(none->num_rows(), 0);
  }
  ASSERT_OK_AND_ASSIGN(auto snapshots, ReadSystemTable(*table, "snapshots", {0}, {}, &pinned));
  EXPECT_EQ(snapshots->num_rows(), 1);
  ASSERT_OK_AND_ASSIGN(snapshots, ReadSystemTable(*table, "snapshots", {0}, {}, &empty));
  EXPECT_EQ(snapshots->num_rows(), 0);
}

// ---------------------------------------------------------------------------- names and projection

TEST(SystemTables, NamesThatAreServedHaveFields) {
  ASSERT_OK_AND_ASSIGN(auto table, LoadFrom(WarehouseOf("track.rows"), "track.rows"));
  const auto names = SystemTableNames();
  EXPECT_TRUE(std::is_sorted(names.begin(), names.end()));
  EXPECT_EQ(names.size(), 18U);
  for (const std::string& name : names) {
    ASSERT_OK_AND_ASSIGN(auto fields, SystemTableFields(*table, name));
    EXPECT_FALSE(fields.empty()) << name;
    if (IsRowTable(name)) continue;
    for (size_t i = 0; i < fields.size(); ++i) EXPECT_EQ(fields[i].id, static_cast<int32_t>(i));
  }
}

TEST(SystemTables, OtherNamesAreRefusedByName) {
  ASSERT_OK_AND_ASSIGN(auto table, LoadFrom(WarehouseOf("append.empty"), "append.empty"));
  EXPECT_THAT(SystemTableFields(*table, "nothing"), HasError(ErrorCode::kNotFound, "'nothing'"));
  EXPECT_THAT(SystemTableFields(*table, "FILES"), HasError(ErrorCode::kNotFound, "'FILES'"));
  EXPECT_THAT(ReadSystemTable(*table, "", {}), HasError(ErrorCode::kNotFound, "''"));
  EXPECT_TRUE(SystemTableFields(*table, "row_tracking").status().IsInvalid());
}

TEST(SystemTables, ColumnsComeAsAskedFor) {
  ASSERT_OK_AND_ASSIGN(auto table, LoadFrom(WarehouseOf("parts.special"), "parts.special"));
  for (const std::string& name : SystemTableNames()) {
    SCOPED_TRACE(name);
    // Rows of the table come in any order.
    if (IsRowTable(name)) continue;
    ASSERT_OK_AND_ASSIGN(auto fields, SystemTableFields(*table, name));
    ASSERT_OK_AND_ASSIGN(auto all, ReadSystemTable(*table, name, AllColumns(fields)));
    std::vector<int> wanted = AllColumns(fields);
    std::reverse(wanted.begin(), wanted.end());
    wanted.push_back(0);
    ASSERT_OK_AND_ASSIGN(auto some, ReadSystemTable(*table, name, wanted));
    ASSERT_EQ(some->num_columns(), static_cast<int>(wanted.size()));
    for (size_t i = 0; i < wanted.size(); ++i) {
      EXPECT_TRUE(some->column(static_cast<int>(i))->Equals(all->column(wanted[i])));
      EXPECT_EQ(some->schema()->field(static_cast<int>(i))->name(), fields[wanted[i]].name);
    }
    ASSERT_OK_AND_ASSIGN(auto none, ReadSystemTable(*table, name, {}));
    EXPECT_EQ(none->num_columns(), 0);
    EXPECT_EQ(none->num_rows(), all->num_rows());
    const auto end = static_cast<int>(fields.size());
    EXPECT_TRUE(ReadSystemTable(*table, name, {end}).status().IsInvalid());
    EXPECT_TRUE(ReadSystemTable(*table, name, {-1}).status().IsInvalid());
  }
}

TEST(SystemTables, TimeTravelToWhatIsNotThereIsAnError) {
  const std::string name = "append.unaware_parquet";
  ASSERT_OK_AND_ASSIGN(auto table, LoadFrom(WarehouseOf(name), name, {{"scan.snapshot-id", "77"}}));
  for (const char* system_table : {"files", "manifests", "partitions", "buckets"}) {
    EXPECT_THAT(ReadSystemTable(*table, system_table, {0}),
                HasError(ErrorCode::kNotFound, "snapshot 77"));
  }
  // These are about all snapshots.
  EXPECT_OK(ReadSystemTable(*table, "snapshots", {0}));
}

TEST(SystemTables, BucketsTravelInTimeLikePartitions) {
  const std::string name = "append.unaware_parquet";
  ASSERT_OK_AND_ASSIGN(auto table, LoadFrom(WarehouseOf(name), name, {{"scan.snapshot-id", "1"}}));
  ASSERT_OK_AND_ASSIGN(auto buckets, ReadSystemTable(*table, "buckets", {2, 3, 4}));
  ASSERT_OK_AND_ASSIGN(auto partitions, ReadSystemTable(*table, "partitions", {1, 2, 3}));
  ASSERT_EQ(partitions->num_rows(), 2);
  for (int i = 0; i < 3; ++i) EXPECT_TRUE(buckets->column(i)->Equals(partitions->column(i)));
}

TEST(SystemTables, OptionsThatAreNotBuiltAreRefusedByName) {
  ASSERT_OK_AND_ASSIGN(auto table, LoadFrom(WarehouseOf("append.empty"), "append.empty",
                                            {{"scan.fallback-branch", "b"}}));
  EXPECT_THAT(ReadSystemTable(*table, "partitions", {0}),
              HasError(ErrorCode::kUnsupported, "scan.fallback-branch"));
}

TEST(SystemTables, CancelledReadsStop) {
  ASSERT_OK_AND_ASSIGN(auto table, LoadFrom(WarehouseOf("parts.special"), "parts.special"));
  CancellationToken token;
  token.Cancel();
  for (const std::string& name : SystemTableNames()) {
    if (name == "row_tracking") continue;
    EXPECT_THAT(ReadSystemTable(*table, name, {0}, token), HasError(ErrorCode::kCancelled, ""));
  }
}

// ------------------------------------------------------------------------------------- many files

/// Table `default.t (id INT, name STRING, pt STRING) PARTITIONED BY (pt)` in memory.
arrow::Result<TableContextPtr> MakeMemoryTable() {
  Environment env;
  env.io = MakeMemoryFileIO();
  ARROW_ASSIGN_OR_RAISE(auto catalog, OpenFileSystemCatalog("/wh", {}, env));
  TableDefinition definition;
  definition.fields = {{-1, "id", DataType(TypeRoot::kInt), {}, {}},
                       {-1, "name", DataType::String(), {}, {}},
                       {-1, "pt", DataType::String(), {}, {}}};
  definition.partition_keys = {"pt"};
  ARROW_ASSIGN_OR_RAISE(auto id, Identifier::Parse("default", "t"));
  ARROW_RETURN_NOT_OK(catalog->CreateTable(id, definition, false));
  return catalog->LoadTable(id);
}

arrow::Result<std::string> Serialized(const std::vector<DataType>& types,
                                      const std::vector<std::shared_ptr<arrow::Scalar>>& values) {
  ARROW_ASSIGN_OR_RAISE(std::string row, EncodeBinaryRow(types, values));
  return SerializeRow(static_cast<int32_t>(types.size()), row);
}

arrow::Result<CommitMessage> FileMessage(const TableContext& table, const std::string& pt,
                                         const std::string& file_name, int32_t min_id,
                                         const std::string& name) {
  CommitMessage message;
  ARROW_ASSIGN_OR_RAISE(message.partition,
                        Serialized({DataType::String()}, {arrow::MakeScalar(pt)}));
  DataFileMeta file;
  file.file_name = file_name;
  file.file_size = 10;
  file.row_count = 2;
  file.min_key = file.max_key = EmptySerializedRow();
  file.key_stats = SimpleStats::Empty();
  std::vector<DataType> types;
  for (const DataField& field : table.fields()) types.push_back(field.type);
  ARROW_ASSIGN_OR_RAISE(file.value_stats.min_values,
                        Serialized(types, {arrow::MakeScalar(min_id), arrow::MakeScalar(name),
                                           arrow::MakeScalar(pt)}));
  file.value_stats.max_values = file.value_stats.min_values;
  file.value_stats.null_counts = {0, 1, 0};
  file.creation_time_millis = min_id;
  file.file_source = kFileSourceAppend;
  message.new_files.push_back(file);
  return message;
}

TEST(SystemTables, ThousandsOfFilesKeepTheirOrder) {
  constexpr int kFiles = 5000;
  ASSERT_OK_AND_ASSIGN(auto table, MakeMemoryTable());
  Committable commit;
  for (int i = 0; i < kFiles; ++i) {
    ASSERT_OK_AND_ASSIGN(auto message, FileMessage(*table, fmt::format("p{}", i % 7),
                                                   fmt::format("data-{}.parquet", i), i, "x"));
    commit.messages.push_back(std::move(message));
  }
  ASSERT_OK_AND_ASSIGN(auto committer, Committer::Make(table));
  ASSERT_OK(committer->Commit(commit));

  ASSERT_OK_AND_ASSIGN(auto batch, ReadSystemTable(*table, "files", {2, 11, 10, 0}));
  ASSERT_OK(batch->ValidateFull());
  ASSERT_EQ(batch->num_rows(), kFiles);
  const auto& paths = static_cast<const arrow::StringArray&>(*batch->column(0));
  const auto& minima = static_cast<const arrow::StringArray&>(*batch->column(1));
  const auto& nulls = static_cast<const arrow::StringArray&>(*batch->column(2));
  const auto& partitions = static_cast<const arrow::StringArray&>(*batch->column(3));
  for (int i = 0; i < kFiles; ++i) {
    ASSERT_EQ(paths.GetView(i),
              fmt::format("/wh/default.db/t/pt=p{}/bucket-0/data-{}.parquet", i % 7, i));
    ASSERT_EQ(minima.GetView(i), fmt::format("{{id={}, name=x, pt=p{}}}", i, i % 7));
    ASSERT_EQ(nulls.GetView(i), "{id=0, name=1, pt=0}");
    ASSERT_EQ(partitions.GetView(i), fmt::format("{{p{}}}", i % 7));
  }
  ASSERT_OK_AND_ASSIGN(auto groups, ReadAllRows(*table, "buckets"));
  ASSERT_EQ(groups.size(), 7U);
  EXPECT_EQ(groups[0], R"(["{p0}",0,1430,7150,715,"1970-01-01T00:00:04.998"])");
}

TEST(SystemTables, TextThatIsNotUtf8IsMadeSo) {
  ASSERT_OK_AND_ASSIGN(auto table, MakeMemoryTable());
  Committable commit;
  ASSERT_OK_AND_ASSIGN(auto message, FileMessage(*table, "a", "data-0.parquet", 1, "caf\xe9"));
  commit.messages.push_back(std::move(message));
  ASSERT_OK_AND_ASSIGN(auto committer, Committer::Make(table));
  ASSERT_OK(committer->Commit(commit));
  ASSERT_OK_AND_ASSIGN(auto batch, ReadSystemTable(*table, "files", {11}));
  ASSERT_OK(batch->ValidateFull());
  EXPECT_EQ(static_cast<const arrow::StringArray&>(*batch->column(0)).GetView(0),
            "{id=1, name=caf\xef\xbf\xbd, pt=a}");
}

TEST(SystemTables, SumsThatDoNotFitAreCorruption) {
  ASSERT_OK_AND_ASSIGN(auto table, MakeMemoryTable());
  Committable commit;
  for (const char* file_name : {"data-0.parquet", "data-1.parquet"}) {
    ASSERT_OK_AND_ASSIGN(auto message, FileMessage(*table, "a", file_name, 1, "x"));
    message.new_files[0].file_size = INT64_MAX;
    commit.messages.push_back(std::move(message));
  }
  ASSERT_OK_AND_ASSIGN(auto committer, Committer::Make(table));
  ASSERT_OK(committer->Commit(commit));
  EXPECT_OK(ReadSystemTable(*table, "files", {0}));
  EXPECT_THAT(ReadSystemTable(*table, "partitions", {0}),
              HasError(ErrorCode::kCorruption, "data-1.parquet"));
}

// ------------------------------------------------------------------------------------ damaged
// files

/// A golden table, copied so that it can be damaged.
class DamagedTable : public testing::Test {
 protected:
  void Copy(const std::string& database, const std::string& table) {
    root_ = directory_.path() + "/" + database + ".db/" + table;
    fs::create_directories(fs::path(root_).parent_path());
    fs::copy(WarehouseOf(database + "." + table) + "/" + database + ".db/" + table, root_,
             fs::copy_options::recursive);
    name_ = database + "." + table;
  }
  void Write(const std::string& path, const std::string& text) {
    fs::create_directories(fs::path(root_ + "/" + path).parent_path());
    std::ofstream(root_ + "/" + path, std::ios::trunc | std::ios::binary) << text;
  }
  arrow::Result<std::vector<std::string>> Read(const std::string& system_table) {
    ARROW_ASSIGN_OR_RAISE(auto table, LoadFrom(directory_.path(), name_));
    return ReadAllRows(*table, system_table, directory_.path());
  }
  std::string TagWith(const std::string& members) {
    std::ifstream file(root_ + "/tag/tag-first");
    std::string text((std::istreambuf_iterator<char>(file)), std::istreambuf_iterator<char>());
    text.erase(text.rfind('}'));
    return text + "," + members + "}";
  }

  TestDirectory directory_;
  std::string root_;
  std::string name_;
};

TEST_F(DamagedTable, ManifestsAreNamed) {
  Copy("append", "unaware_parquet");
  std::string manifest;
  for (const auto& file : fs::directory_iterator(root_ + "/manifest")) {
    const std::string file_name = file.path().filename();
    if (!file_name.starts_with("manifest-list-")) manifest = file_name;
  }
  ASSERT_FALSE(manifest.empty());
  fs::resize_file(root_ + "/manifest/" + manifest, 700);
  for (const char* name : {"files", "partitions", "buckets", "file_key_ranges"}) {
    EXPECT_THAT(Read(name), HasError(ErrorCode::kCorruption, manifest));
  }
  EXPECT_OK(Read("manifests"));
  fs::remove(root_ + "/manifest/" + manifest);
  EXPECT_THAT(Read("files"), HasError(ErrorCode::kNotFound, manifest));
}

TEST_F(DamagedTable, SnapshotsAndSchemasAreNamed) {
  Copy("append", "unaware_parquet");
  Write("snapshot/snapshot-2", "{\"id\" : 2");
  EXPECT_THAT(Read("snapshots"), HasError(ErrorCode::kCorruption, "snapshot-2"));
  EXPECT_OK(Read("files"));
  Write("schema/schema-1", "{}");
  EXPECT_FALSE(Read("schemas").ok());
  fs::remove(root_ + "/schema/schema-1");
  Write("schema/schema-x", "{}");
  EXPECT_THAT(Read("schemas"), HasError(ErrorCode::kCorruption, "schema-x"));
}

TEST_F(DamagedTable, TagsMayHaveTextTimes) {
  Copy("history", "tags");
  Write("tag/tag-text",
        TagWith(R"("tagCreateTime":"2024-05-14T09:30:15.123","tagTimeRetained":"PT36H")"));
  Write("tag/tag-short", TagWith(R"("tagCreateTime":[2024,5,14,9,30],"tagTimeRetained":1.5)"));
  Write("tag/tag-nulls", TagWith(R"("tagCreateTime":null,"tagTimeRetained":null)"));
  ASSERT_OK_AND_ASSIGN(auto rows, Read("tags"));
  ASSERT_EQ(rows.size(), 5U);
  EXPECT_THAT(
      rows, testing::Contains(testing::HasSubstr(
                R"(["text",1,0,"2026-11-30T19:24:13.858",2,"2024-05-14T09:30:15.123","PT36H"])")));
  EXPECT_THAT(
      rows,
      testing::Contains(testing::HasSubstr(
          R"(["short",1,0,"2026-11-30T19:24:13.858",2,"2024-05-14T09:30:00.000","PT1.5S"])")));
  EXPECT_THAT(rows, testing::Contains(testing::HasSubstr(
                        R"(["nulls",1,0,"2026-11-30T19:24:13.858",2,null,null])")));
}

TEST_F(DamagedTable, TagsWithOtherTimesAreNamed) {
  Copy("history", "tags");
  for (const char* members :
       {R"("tagCreateTime":[2024,5,14,9])", R"("tagCreateTime":[2024,5,14,9,30,1,2,3])",
        R"("tagCreateTime":[2024,13,14,9,30])", R"("tagCreateTime":[2024,"5",14,9,30])",
        R"("tagCreateTime":[-1,5,14,9,30])", R"("tagCreateTime":[2024,5,14,9,30,1,1000000000])",
        R"("tagCreateTime":[9223372036854775807,5,14,9,30])", R"("tagCreateTime":{})",
        R"("tagCreateTime":"yesterday")", R"("tagCreateTime":[2024,2,30,9,30])",
        R"("tagTimeRetained":[])", R"("tagTimeRetained":1e300)", R"("tagTimeRetained":true)"}) {
    SCOPED_TRACE(members);
    Write("tag/tag-broken", TagWith(members));
    EXPECT_THAT(Read("tags"), HasError(ErrorCode::kCorruption, "tag-broken"));
  }
  Write("tag/tag-broken", "");
  EXPECT_THAT(Read("tags"), HasError(ErrorCode::kCorruption, "tag-broken"));
}

TEST_F(DamagedTable, ConsumersAreNamed) {
  Copy("history", "consumers");
  for (const char* text : {"", "[]", "{}", R"({"nextSnapshot":"x"})", R"({"nextSnapshot":1.5})"}) {
    SCOPED_TRACE(text);
    Write("consumer/consumer-c1", text);
    EXPECT_THAT(Read("consumers"), HasError(ErrorCode::kCorruption, "consumer-c1"));
  }
  // What is no consumer file is none.
  fs::remove(root_ + "/consumer/consumer-c1");
  Write("consumer/.consumer-c9.tmp", "x");
  fs::create_directories(root_ + "/consumer/consumer-dir");
  ASSERT_OK_AND_ASSIGN(auto rows, Read("consumers"));
  EXPECT_EQ(rows, std::vector<std::string>{R"(["c2",5])"});
}

TEST_F(DamagedTable, BranchesAreDirectories) {
  Copy("history", "branches");
  Write("branch/branch-file", "x");
  Write("branch/other/x", "x");
  ASSERT_OK_AND_ASSIGN(auto rows, Read("branches"));
  EXPECT_EQ(rows.size(), 2U);
}

// ------------------------------------------------------------------------------------------- texts

TEST(SystemTableTexts, InternalTextsAreJavasToString) {
  using system_tables::InternalText;
  const auto text = [](const DataType& type, const arrow::Scalar& value) {
    return InternalText(type, value).ValueOr("error");
  };
  EXPECT_EQ(text(DataType(TypeRoot::kDate), arrow::Date32Scalar(19857)), "19857");
  EXPECT_EQ(text(DataType::Temporal(TypeRoot::kTime, 3),
                 arrow::Time32Scalar(1925622, arrow::TimeUnit::MILLI)),
            "1925622");
  EXPECT_EQ(text(DataType::Temporal(TypeRoot::kTimestamp, 3),
                 arrow::TimestampScalar(1715688000000, arrow::TimeUnit::MILLI)),
            "2024-05-14T12:00");
  EXPECT_EQ(text(DataType::String(), arrow::StringScalar("")), "");
  EXPECT_EQ(text(DataType::String(), arrow::StringScalar("  ")), "  ");
  EXPECT_EQ(text(DataType::Bytes(), arrow::BinaryScalar(std::string("\x00\xff\x0a", 3))), "00ff0a");
  EXPECT_EQ(text(DataType(TypeRoot::kFloat), arrow::FloatScalar(1e10F)), "1.0E10");
  EXPECT_EQ(text(DataType(TypeRoot::kInt), *arrow::MakeNullScalar(arrow::int32())), "null");
}

}  // namespace
}  // namespace kelda
