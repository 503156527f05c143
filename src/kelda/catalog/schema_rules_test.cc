#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iterator>

#include <nlohmann/json.hpp>

#include "kelda/base/test_matchers.h"
#include "kelda/catalog/catalog.h"
#include "kelda/catalog/schema_changes.h"

namespace kelda {
namespace {

namespace fs = std::filesystem;
using Options = std::map<std::string, std::string>;
using Names = std::vector<std::string>;

DataField Field(const std::string& name, DataType type) {
  return {-1, name, std::move(type), {}, {}};
}

/// (id INT, name STRING, ts TIMESTAMP(3), arr ARRAY<INT>, pt STRING)
TableDefinition BaseDefinition() {
  TableDefinition definition;
  definition.fields = {Field("id", DataType(TypeRoot::kInt)), Field("name", DataType::String()),
                       Field("ts", DataType::Temporal(TypeRoot::kTimestamp, 3)),
                       Field("arr", DataType::Array(DataType(TypeRoot::kInt))),
                       Field("pt", DataType::String())};
  return definition;
}

arrow::Result<TableSchema> Make(const TableDefinition& definition) {
  ARROW_ASSIGN_OR_RAISE(TableSchema schema, MakeSchema(definition, 1700000000000));
  ARROW_RETURN_NOT_OK(ValidateSchema(schema, nullptr));
  return schema;
}

// ------------------------------------------------------------------------------ verdicts of Java

struct Case {
  Names partition;
  std::string column;  ///< one more INT column
  Options options;
  std::string text;  ///< the refusal names it
};

void PrintTo(const Case& c, std::ostream* out) {
  *out << fmt::format("PARTITIONED BY ({}) {}", fmt::join(c.partition, ", "), c.column);
  for (const auto& [key, value] : c.options) *out << " " << key << "=" << value;
}

arrow::Result<TableSchema> MakeCase(const Case& c) {
  TableDefinition definition = BaseDefinition();
  if (!c.column.empty()) definition.fields.push_back(Field(c.column, DataType(TypeRoot::kInt)));
  definition.partition_keys = c.partition;
  definition.options = c.options;
  return Make(definition);
}

/// Each is refused by Java Paimon 1.4.2, too: by SchemaValidation or by the catalog.
class RefusedDefinitions : public testing::TestWithParam<Case> {};

TEST_P(RefusedDefinitions, AreErrorsThatNameTheCause) {
  auto schema = MakeCase(GetParam());
  ASSERT_FALSE(schema.ok());
  EXPECT_THAT(schema.status().message(), testing::HasSubstr(GetParam().text));
  EXPECT_TRUE(schema.status().IsInvalid() || IsUnsupported(schema.status()))
      << schema.status().ToString();
}

INSTANTIATE_TEST_SUITE_P(Names, RefusedDefinitions,
                         testing::Values(Case{{}, "_SEQUENCE_NUMBER", {}, "'_SEQUENCE_NUMBER'"},
                                         Case{{}, "_VALUE_KIND", {}, "'_VALUE_KIND'"},
                                         Case{{}, "_LEVEL", {}, "'_LEVEL'"},
                                         Case{{}, "rowkind", {}, "'rowkind'"},
                                         Case{{}, "_ROW_ID", {}, "'_ROW_ID'"},
                                         Case{{}, "_KEY_x", {}, "'_KEY_x'"},
                                         Case{{}, "name", {}, "'name'"}));

INSTANTIATE_TEST_SUITE_P(Keys, RefusedDefinitions,
                         testing::Values(Case{{"arr"}, "", {}, "'arr'"},
                                         Case{{"pt", "pt"}, "", {}, "'pt'"},
                                         Case{{"missing"}, "", {}, "'missing'"},
                                         Case{{}, "", {{"upsert-key", "arr"}}, "upsert-key"},
                                         Case{{}, "", {{"upsert-key", "nope"}}, "upsert-key"},
                                         Case{{"pt"}, "", {{"partition", "pt"}}, "'partition'"},
                                         Case{{}, "", {{"partition", "arr"}}, "'arr'"}));

INSTANTIATE_TEST_SUITE_P(
    Buckets, RefusedDefinitions,
    testing::Values(
        Case{{}, "", {{"bucket", "-1"}, {"bucket-key", "id"}}, "bucket-key"},
        Case{{}, "", {{"bucket-key", "id"}}, "bucket-key"},
        Case{{}, "", {{"bucket", "0"}}, "'bucket'"}, Case{{}, "", {{"bucket", "-2"}}, "'bucket'"},
        Case{{}, "", {{"bucket", "-3"}}, "'bucket'"}, Case{{}, "", {{"bucket", "x"}}, "bucket"},
        Case{{}, "", {{"bucket", "2"}}, "bucket-key"},
        Case{{}, "", {{"bucket", "2"}, {"bucket-key", "arr"}}, "'arr'"},
        Case{{}, "", {{"bucket", "2"}, {"bucket-key", "nope"}}, "'nope'"},
        Case{{}, "", {{"bucket", "2"}, {"bucket-key", "id,id"}}, "'id'"},
        Case{{"pt"}, "", {{"bucket", "2"}, {"bucket-key", "pt"}}, "'pt'"},
        Case{{}, "", {{"full-compaction.delta-commits", "3"}}, "full-compaction.delta-commits"}));

INSTANTIATE_TEST_SUITE_P(
    ColumnsOfOptions, RefusedDefinitions,
    testing::Values(
        Case{{}, "", {{"fields.nope.aggregate-function", "sum"}}, "'nope'"},
        Case{{}, "", {{"fields.nope.ignore-retract", "true"}}, "'nope'"},
        Case{{}, "", {{"fields.nope.stats-mode", "none"}}, "'nope'"},
        Case{{}, "", {{"fields.id,nope.sequence-group", "name"}}, "'nope'"},
        Case{{}, "", {{"sequence.field", "nope"}}, "'nope'"},
        Case{{}, "", {{"sequence.field", "id, nope"}}, "'nope'"},
        Case{{}, "", {{"sequence.field", "id,id"}}, "'id'"},
        Case{{}, "", {{"sequence.field", "id"}, {"merge-engine", "first-row"}}, "sequence.field"},
        Case{{},
             "",
             {{"sequence.field", "id"}, {"fields.id.aggregate-function", "sum"}},
             "fields.id.aggregate-function"},
        Case{{}, "", {{"rowkind.field", "nope"}}, "rowkind.field"},
        Case{{},
             "",
             {{"record-level.expire-time", "1 d"}, {"record-level.time-field", "nope"}},
             "'nope'"}));

INSTANTIATE_TEST_SUITE_P(
    OptionsOfOtherTables, RefusedDefinitions,
    testing::Values(
        Case{{}, "", {{"changelog-producer", "input"}}, "changelog-producer"},
        Case{{}, "", {{"changelog-producer", "lookup"}}, "changelog-producer"},
        Case{{}, "", {{"streaming-read-overwrite", "true"}}, "streaming-read-overwrite"},
        Case{
            {}, "", {{"table-read.sequence-number.enabled", "true"}}, "table-read.sequence-number"},
        Case{{}, "", {{"pk-clustering-override", "true"}}, "pk-clustering-override"},
        Case{{},
             "",
             {{"pk-clustering-override", "true"}, {"clustering.columns", "id"}},
             "pk-clustering-override"},
        Case{{}, "", {{"partition.expiration-time", "1 d"}}, "partition.expiration-time"},
        Case{{},
             "",
             {{"deletion-vectors.enabled", "true"}, {"merge-engine", "first-row"}},
             "deletion-vectors.enabled"},
        Case{
            {}, "", {{"row-tracking.enabled", "true"}, {"bucket", "2"}, {"bucket-key", "id"}}, "'"},
        Case{{}, "", {{"data-evolution.enabled", "true"}}, "data-evolution.enabled"},
        Case{{}, "", {{"vector-field", "arr"}}, "vector-field"},
        Case{{}, "", {{"vector.file.format", "parquet"}}, "vector.file.format"},
        Case{{},
             "",
             {{"bucket", "2"}, {"bucket-key", "id"}, {"clustering.incremental", "true"}},
             "'"},
        Case{{}, "", {{"chain-table.enabled", "true"}}, "chain-table.enabled"},
        Case{{}, "", {{"scan.fallback-branch", "b"}}, "scan.fallback-branch"},
        Case{{}, "", {{"scan.fallback-branch", "b"}, {"scan.primary-branch", "c"}}, "-branch"},
        Case{{}, "", {{"auto-create", "true"}}, "auto-create"},
        Case{{}, "", {{"type", "format-table"}}, "type"},
        Case{{}, "", {{"type", "object-table"}}, "type"},
        Case{{}, "", {{"type", "nonsense"}}, "nonsense"},
        Case{{}, "", {{"merge-engine", "nonsense"}}, "nonsense"},
        Case{{}, "", {{"file.format", "nope"}}, "nope"},
        Case{{}, "", {{"file.format", "csv"}}, "csv"}));

INSTANTIATE_TEST_SUITE_P(
    Retention, RefusedDefinitions,
    testing::Values(
        Case{{}, "", {{"snapshot.num-retained.min", "0"}}, "snapshot.num-retained.min"},
        Case{{}, "", {{"changelog.num-retained.min", "0"}}, "changelog.num-retained.min"},
        Case{{},
             "",
             {{"snapshot.num-retained.min", "5"}, {"snapshot.num-retained.max", "4"}},
             "snapshot.num-retained"},
        Case{{},
             "",
             {{"changelog.num-retained.min", "5"}, {"changelog.num-retained.max", "4"}},
             "changelog.num-retained"}));

INSTANTIATE_TEST_SUITE_P(
    ScanModes, RefusedDefinitions,
    testing::Values(
        Case{{}, "", {{"scan.mode", "from-timestamp"}}, "from-timestamp"},
        Case{{},
             "",
             {{"scan.mode", "from-timestamp"},
              {"scan.timestamp-millis", "5"},
              {"scan.timestamp", "2024-01-01 00:00:00"}},
             "from-timestamp"},
        Case{{}, "", {{"scan.mode", "from-snapshot"}}, "from-snapshot"},
        Case{{},
             "",
             {{"scan.mode", "from-snapshot"}, {"scan.snapshot-id", "1"}, {"scan.tag-name", "t"}},
             "from-snapshot"},
        Case{{}, "", {{"scan.mode", "from-snapshot-full"}}, "from-snapshot-full"},
        Case{{}, "", {{"scan.mode", "from-file-creation-time"}}, "from-file-creation-time"},
        Case{{}, "", {{"scan.mode", "incremental"}}, "incremental"},
        Case{{}, "", {{"scan.mode", "latest"}, {"scan.snapshot-id", "1"}}, "scan.snapshot-id"},
        Case{{},
             "",
             {{"scan.mode", "latest-full"}, {"scan.timestamp-millis", "1"}},
             "scan.timestamp-millis"},
        Case{{}, "", {{"scan.mode", "latest"}, {"scan.tag-name", "1"}}, "scan.tag-name"},
        Case{{}, "", {{"scan.snapshot-id", "1"}, {"scan.tag-name", "t"}}, "scan."}));

/// Each is accepted by Java, too.
class AcceptedDefinitions : public testing::TestWithParam<Case> {};

TEST_P(AcceptedDefinitions, AreFine) { EXPECT_OK(MakeCase(GetParam())); }

INSTANTIATE_TEST_SUITE_P(
    All, AcceptedDefinitions,
    testing::Values(
        Case{{}, "", {}, ""}, Case{{"pt"}, "", {}, ""}, Case{{"pt", "id"}, "", {}, ""},
        Case{{}, "_key_x", {}, ""}, Case{{}, "ROWKIND", {}, ""}, Case{{}, "_LEVEL2", {}, ""},
        Case{{}, "NAME", {}, ""}, Case{{}, "", {{"partition", "pt"}}, ""},
        Case{{}, "", {{"partition", " pt , id "}}, ""}, Case{{}, "", {{"primary-key", ""}}, ""},
        Case{{}, "", {{"no.such.option", "1"}}, ""}, Case{{}, "", {{"file.format", "parquet"}}, ""},
        Case{{}, "", {{"sequence.field", "id"}}, ""},
        Case{{}, "", {{"record-level.expire-time", "1 d"}}, ""},
        Case{{}, "", {{"fields.id.aggregate-function", "sum"}}, ""},
        Case{{}, "", {{"fields.id.stats-mode", "none"}}, ""},
        Case{{}, "", {{"scan.snapshot-id", "1"}}, ""},
        Case{
            {}, "", {{"snapshot.num-retained.min", "4"}, {"snapshot.num-retained.max", "4"}}, ""}));

// ---------------------------------------------------------------------------------- other rules

TEST(SchemaRules, TablesNeedColumnsWithNames) {
  TableDefinition definition;
  EXPECT_TRUE(Make(definition).status().IsInvalid());
  definition.fields = {Field("", DataType(TypeRoot::kInt))};
  EXPECT_TRUE(Make(definition).status().IsInvalid());
}

TEST(SchemaRules, NestedNamesAreUniqueToo) {
  TableDefinition definition = BaseDefinition();
  definition.fields.push_back(Field(
      "r", DataType::Row({Field("a", DataType(TypeRoot::kInt)), Field("a", DataType::String())})));
  auto schema = Make(definition);
  ASSERT_TRUE(schema.status().IsInvalid());
  EXPECT_THAT(schema.status().message(), testing::HasSubstr("'r.a'"));
  // A reserved name is one only at the top.
  definition.fields.back() = Field("r", DataType::Row({Field("_LEVEL", DataType(TypeRoot::kInt))}));
  EXPECT_OK(Make(definition));
}

TEST(SchemaRules, PrimaryKeysAreCheckedThenRefused) {
  TableDefinition definition = BaseDefinition();
  definition.primary_keys = {"id"};
  EXPECT_THAT(Make(definition), HasError(ErrorCode::kUnsupported, "PRIMARY KEY (id)"));
  definition.primary_keys = {"id", "id"};
  EXPECT_TRUE(Make(definition).status().IsInvalid());
  definition.primary_keys = {"nope"};
  EXPECT_TRUE(Make(definition).status().IsInvalid());
  definition.primary_keys = {"arr"};
  EXPECT_TRUE(Make(definition).status().IsInvalid());
  definition.primary_keys = {"pt"};
  definition.partition_keys = {"pt"};
  EXPECT_TRUE(Make(definition).status().IsInvalid());
  definition.primary_keys = {"id"};
  definition.options = {{"primary-key", "id"}};
  EXPECT_TRUE(Make(definition).status().IsInvalid());
}

TEST(SchemaRules, PrimaryKeyColumnsBecomeNotNull) {
  TableDefinition definition = BaseDefinition();
  definition.options = {{"primary-key", "id, name"}, {"file.format", "parquet"}};
  ASSERT_OK_AND_ASSIGN(auto schema, MakeSchema(definition, 5));
  EXPECT_EQ(schema.primary_keys, (Names{"id", "name"}));
  EXPECT_FALSE(schema.fields[0].type.nullable());
  EXPECT_FALSE(schema.fields[1].type.nullable());
  EXPECT_TRUE(schema.fields[2].type.nullable());
  EXPECT_EQ(schema.options, (Options{{"file.format", "parquet"}}));
  EXPECT_EQ(schema.time_millis, 5);
}

TEST(SchemaRules, PartitionColumnsOfBytesHaveNoDirectory) {
  TableDefinition definition = BaseDefinition();
  definition.fields.push_back(Field("b", DataType::Bytes()));
  definition.partition_keys = {"b"};
  EXPECT_THAT(Make(definition), HasError(ErrorCode::kUnsupported, "'b'"));
}

TEST(SchemaRules, DefaultsMustBeValuesOfTheColumn) {
  TableDefinition definition = BaseDefinition();
  for (const char* text : {"7", "-1", "'7'"}) {
    definition.fields[0].default_value = text;
    EXPECT_OK(Make(definition)) << text;
  }
  for (const char* text : {"seven", "1x", "", "99999999999"}) {
    definition.fields[0].default_value = text;
    auto schema = Make(definition);
    ASSERT_FALSE(schema.ok()) << text;
    EXPECT_THAT(schema.status().message(), testing::HasSubstr("'id'"));
  }
  definition.fields[0].default_value.reset();
  definition.fields[3].default_value = "1";
  EXPECT_FALSE(Make(definition).ok());
  definition.fields[3].default_value = "[1]";
  EXPECT_OK(Make(definition));
  definition.fields[3].default_value.reset();
  definition.fields[1].default_value = "any text";
  definition.fields[2].default_value = "2024-01-02 03:04:05.678";
  EXPECT_OK(Make(definition));
}

TEST(SchemaRules, UnknownKeysAreKeptAndWarnedAbout) {
  TableDefinition definition = BaseDefinition();
  definition.options = {{"target-file-sise", "1 mb"}};
  ASSERT_OK_AND_ASSIGN(auto schema, MakeSchema(definition, 0));
  std::vector<std::string> warnings;
  ASSERT_OK(ValidateSchema(schema, &warnings));
  ASSERT_EQ(warnings.size(), 1U);
  EXPECT_THAT(warnings[0], testing::HasSubstr("target-file-sise"));
  EXPECT_THAT(warnings[0], testing::HasSubstr("target-file-size"));
  EXPECT_EQ(schema.options, definition.options);
}

// ---------------------------------------------------------------------- schema files equal Java's

std::string ReadText(const fs::path& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
}

/// Whether `type` holds a ROW as a member of a ROW, at any depth. The golden tables were defined
/// with ids in the order of their text, where such members are numbered in another order than by
/// Java's CREATE TABLE.
bool HasRowInRow(const DataType& type, bool inside = false) {
  switch (type.root()) {
    case TypeRoot::kRow:
      return inside || std::any_of(type.fields().begin(), type.fields().end(),
                                   [](const DataField& f) { return HasRowInRow(f.type, true); });
    case TypeRoot::kArray:
    case TypeRoot::kMultiset:
      return HasRowInRow(type.element(), inside);
    case TypeRoot::kMap:
      return HasRowInRow(type.key(), inside) || HasRowInRow(type.value(), inside);
    default:
      return false;
  }
}

TEST(SchemaRules, IdsAreThoseOfJavasCreateTable) {
  const DataType number(TypeRoot::kInt);
  TableDefinition definition;
  definition.fields = {
      Field("id", number),
      Field("ro",
            DataType::Row({Field("a", number),
                           Field("b", DataType::Row({Field("c", number), Field("d", number)})),
                           Field("e", number)})),
      Field("z", number)};
  ASSERT_OK_AND_ASSIGN(auto schema, MakeSchema(definition, 1796078329008));
  std::string text = schema.ToJsonText();
  std::erase_if(text, [](char c) { return c == ' ' || c == '\n'; });
  EXPECT_EQ(text,
            R"({"version":3,"id":0,"fields":[{"id":0,"name":"id","type":"INT"},)"
            R"({"id":1,"name":"ro","type":{"type":"ROW","fields":[)"
            R"({"id":2,"name":"a","type":"INT"},{"id":5,"name":"b","type":{"type":"ROW","fields":[)"
            R"({"id":3,"name":"c","type":"INT"},{"id":4,"name":"d","type":"INT"}]}},)"
            R"({"id":6,"name":"e","type":"INT"}]}},{"id":7,"name":"z","type":"INT"}],)"
            R"("highestFieldId":7,"partitionKeys":[],"primaryKeys":[],"options":{},)"
            R"("timeMillis":1796078329008})");
}

TEST(SchemaRules, SchemaFileOfAnEqualDefinitionIsJavas) {
  int compared = 0;
  for (const auto& database : fs::directory_iterator(KELDA_TEST_DATA "/golden/warehouse")) {
    for (const auto& table : fs::directory_iterator(database)) {
      const std::string path = table.path() / "schema/schema-0";
      if (!fs::exists(path)) continue;
      SCOPED_TRACE(path);
      const std::string text = ReadText(path);
      ASSERT_OK_AND_ASSIGN(auto java, TableSchema::FromJsonText(text, path));
      if (std::any_of(java.fields.begin(), java.fields.end(),
                      [](const DataField& f) { return HasRowInRow(f.type); })) {
        continue;
      }
      TableDefinition definition;
      definition.fields = java.fields;
      AssignFieldIds(&definition.fields, 1000);
      definition.partition_keys = java.partition_keys;
      definition.primary_keys = java.primary_keys;
      definition.options = java.options;
      definition.comment = java.comment;
      ASSERT_OK_AND_ASSIGN(auto schema, MakeSchema(definition, java.time_millis));
      schema.option_order = java.option_order;
      EXPECT_EQ(schema.ToJsonText(), text);
      ++compared;
    }
  }
  EXPECT_GE(compared, 30);
}

// --------------------------------------------------------------------------------------- changes

class SchemaChanges : public testing::Test {
 protected:
  void SetUp() override {
    TableDefinition definition = BaseDefinition();
    definition.partition_keys = {"pt"};
    ASSERT_OK_AND_ASSIGN(schema_, Make(definition));
  }
  arrow::Status Apply(const SchemaChange& change, bool has_snapshot = false) {
    return ApplySchemaChange(change, has_snapshot, &schema_);
  }
  Names ColumnNames() const {
    Names names;
    for (const DataField& field : schema_.fields) names.push_back(field.name);
    return names;
  }

  TableSchema schema_;
};

TEST_F(SchemaChanges, AddedColumnsGetNewIdsAndPlaces) {
  const int32_t highest = schema_.highest_field_id;
  ASSERT_OK(Apply(AddColumn{Field("last", DataType(TypeRoot::kInt)), std::nullopt}));
  ASSERT_OK(Apply(AddColumn{Field("first", DataType(TypeRoot::kInt)), ""}));
  ASSERT_OK(Apply(AddColumn{Field("mid", DataType(TypeRoot::kInt)), "name"}));
  EXPECT_EQ(ColumnNames(), (Names{"first", "id", "name", "mid", "ts", "arr", "pt", "last"}));
  EXPECT_EQ(schema_.fields.back().id, highest + 1);
  EXPECT_EQ(schema_.fields.front().id, highest + 2);
  EXPECT_EQ(schema_.fields[3].id, highest + 3);
  ASSERT_OK(Apply(AddColumn{Field("r", DataType::Row({Field("a", DataType(TypeRoot::kInt)),
                                                      Field("b", DataType::String())})),
                            std::nullopt}));
  EXPECT_EQ(schema_.fields.back().id, highest + 4);
  EXPECT_EQ(schema_.fields.back().type.fields()[1].id, highest + 6);
  EXPECT_EQ(schema_.highest_field_id, highest + 6);
}

TEST_F(SchemaChanges, IdsOfDroppedColumnsAreNotUsedAgain) {
  ASSERT_OK(Apply(AddColumn{Field("x", DataType(TypeRoot::kInt)), std::nullopt}));
  const int32_t id = schema_.fields.back().id;
  ASSERT_OK(Apply(DropColumn{"x"}));
  ASSERT_OK(Apply(AddColumn{Field("x", DataType(TypeRoot::kInt)), std::nullopt}));
  EXPECT_EQ(schema_.fields.back().id, id + 1);
}

TEST_F(SchemaChanges, ColumnsMayGoBeforeThePartition) {
  ASSERT_OK(Apply(SetOption{"add-column-before-partition", "true"}));
  ASSERT_OK(Apply(AddColumn{Field("x", DataType(TypeRoot::kInt)), std::nullopt}));
  EXPECT_EQ(ColumnNames(), (Names{"id", "name", "ts", "arr", "x", "pt"}));
}

TEST_F(SchemaChanges, WrongAdditionsAreRefused) {
  EXPECT_THAT(Apply(AddColumn{Field("name", DataType(TypeRoot::kInt)), std::nullopt}),
              HasError(ErrorCode::kAlreadyExists, "'name'"));
  EXPECT_TRUE(
      Apply(AddColumn{Field("x", DataType(TypeRoot::kInt, false)), std::nullopt}).IsInvalid());
  EXPECT_THAT(Apply(AddColumn{Field("x", DataType(TypeRoot::kInt)), "nope"}),
              HasError(ErrorCode::kNotFound, "'nope'"));
  DataField with_default = Field("x", DataType(TypeRoot::kInt));
  with_default.default_value = "1";
  EXPECT_THAT(Apply(AddColumn{with_default, std::nullopt}),
              HasError(ErrorCode::kUnsupported, "DEFAULT"));
  EXPECT_EQ(schema_.fields.size(), 5U);
}

TEST_F(SchemaChanges, KeysAndTheLastColumnStay) {
  EXPECT_TRUE(Apply(DropColumn{"pt"}).IsInvalid());
  EXPECT_TRUE(Apply(RenameColumn{"pt", "other"}).IsInvalid());
  EXPECT_THAT(Apply(DropColumn{"nope"}), HasError(ErrorCode::kNotFound, "'nope'"));
  EXPECT_THAT(Apply(RenameColumn{"nope", "x"}), HasError(ErrorCode::kNotFound, "'nope'"));
  EXPECT_THAT(Apply(RenameColumn{"id", "name"}), HasError(ErrorCode::kAlreadyExists, "'name'"));
  schema_.partition_keys.clear();
  for (const char* name : {"id", "name", "ts", "arr"}) ASSERT_OK(Apply(DropColumn{name}));
  EXPECT_TRUE(Apply(DropColumn{"pt"}).IsInvalid());
}

TEST_F(SchemaChanges, RenamesKeepTheId) {
  const int32_t id = schema_.fields[1].id;
  ASSERT_OK(Apply(RenameColumn{"name", "title"}));
  EXPECT_EQ(schema_.fields[1].name, "title");
  EXPECT_EQ(schema_.fields[1].id, id);
}

TEST_F(SchemaChanges, ColumnsThatOptionsNameAreNotDropped) {
  ASSERT_OK(Apply(SetOption{"fields.name.stats-mode", "none"}));
  EXPECT_THAT(Apply(DropColumn{"name"}).message(), testing::HasSubstr("fields.name.stats-mode"));
  for (const char* key : {"sequence.field", "bucket-key", "file-index.bloom-filter.columns"}) {
    SCOPED_TRACE(key);
    schema_.options = {{key, "id, name"}};
    EXPECT_THAT(Apply(DropColumn{"name"}).message(), testing::HasSubstr(key));
  }
  schema_.options = {{"file-index.bloom-filter.name.fpp", "0.1"}};
  EXPECT_THAT(Apply(DropColumn{"name"}).message(), testing::HasSubstr("name.fpp"));
  EXPECT_OK(Apply(DropColumn{"ts"}));
}

TEST_F(SchemaChanges, OptionsFollowARenamedColumn) {
  schema_.options = {{"bucket-key", "id, name"},
                     {"sequence.field", "name"},
                     {"fields.name.stats-mode", "none"},
                     {"fields.id,name.sequence-group", "ts,name"},
                     {"file-index.bloom-filter.columns", "ts,name"},
                     {"file-index.bloom-filter.name.fpp", "0.1"},
                     {"target-file-size", "name"}};
  schema_.option_order = {"fields.name.stats-mode", "bucket-key"};
  ASSERT_OK(Apply(RenameColumn{"name", "title"}));
  const Options expected = {{"bucket-key", "id,title"},
                            {"sequence.field", "title"},
                            {"fields.title.stats-mode", "none"},
                            {"fields.id,title.sequence-group", "ts,title"},
                            {"file-index.bloom-filter.columns", "ts,title"},
                            {"file-index.bloom-filter.title.fpp", "0.1"},
                            {"target-file-size", "name"}};
  EXPECT_EQ(schema_.options, expected);
  EXPECT_EQ(schema_.option_order, (Names{"fields.title.stats-mode", "bucket-key"}));
}

TEST_F(SchemaChanges, NullabilityFollowsTheRules) {
  EXPECT_TRUE(Apply(UpdateColumnNullability{"id", false}).IsInvalid());
  ASSERT_OK(Apply(SetOption{"alter-column-null-to-not-null.disabled", "false"}));
  ASSERT_OK(Apply(UpdateColumnNullability{"id", false}));
  EXPECT_FALSE(schema_.fields[0].type.nullable());
  ASSERT_OK(Apply(UpdateColumnNullability{"id", true}));
  EXPECT_TRUE(schema_.fields[0].type.nullable());
}

TEST_F(SchemaChanges, CommentsAndDefaults) {
  ASSERT_OK(Apply(UpdateColumnComment{"id", "the id"}));
  EXPECT_EQ(schema_.fields[0].description, "the id");
  ASSERT_OK(Apply(UpdateColumnComment{"id", std::nullopt}));
  EXPECT_EQ(schema_.fields[0].description, std::nullopt);
  ASSERT_OK(Apply(UpdateColumnDefault{"id", "7"}));
  EXPECT_EQ(schema_.fields[0].default_value, "7");
  ASSERT_OK(Apply(UpdateColumnDefault{"id", std::nullopt}));
  EXPECT_EQ(schema_.fields[0].default_value, std::nullopt);
  ASSERT_OK(Apply(UpdateComment{"the table"}));
  EXPECT_EQ(schema_.comment, "the table");
}

DataType Type(const char* text) { return DataType::Parse(text).ValueOrDie(); }

TEST_F(SchemaChanges, TypesChangeWhereThereIsACast) {
  const int32_t id = schema_.fields[0].id;
  ASSERT_OK(Apply(UpdateColumnType{"id", Type("BIGINT")}));
  EXPECT_EQ(schema_.fields[0].type, Type("BIGINT"));
  EXPECT_EQ(schema_.fields[0].id, id);
  ASSERT_OK(Apply(UpdateColumnType{"id", Type("BIGINT")}));
  ASSERT_OK(Apply(UpdateColumnType{"id", Type("TINYINT")}));
  ASSERT_OK(Apply(UpdateColumnType{"arr", Type("STRING")}));
  for (const char* type : {"DATE", "VARBINARY(3)", "ARRAY<INT>", "VARIANT"}) {
    const auto status = Apply(UpdateColumnType{"id", Type(type)});
    EXPECT_TRUE(status.IsInvalid()) << type;
    EXPECT_THAT(status.message(), testing::HasSubstr("column 'id' of type TINYINT cannot become"));
  }
  // DATE has an executor to STRING only, TINYINT none to TIMESTAMP.
  ASSERT_OK(Apply(UpdateColumnType{"ts", Type("DATE")}));
  EXPECT_FALSE(Apply(UpdateColumnType{"ts", Type("VARCHAR(10)")}).ok());
  EXPECT_FALSE(Apply(UpdateColumnType{"id", Type("TIMESTAMP(3)")}).ok());
  EXPECT_THAT(Apply(UpdateColumnType{"pt", Type("INT")}).message(),
              testing::HasSubstr("is a key of the table"));
  EXPECT_THAT(Apply(UpdateColumnType{"nope", Type("INT")}),
              HasError(ErrorCode::kNotFound, "'nope'"));
}

TEST_F(SchemaChanges, ExplicitCastsCanBeForbidden) {
  ASSERT_OK(Apply(SetOption{"disable-explicit-type-casting", "true"}));
  EXPECT_THAT(Apply(UpdateColumnType{"name", Type("INT")}).message(),
              testing::HasSubstr("disable-explicit-type-casting"));
  ASSERT_OK(Apply(UpdateColumnType{"id", Type("BIGINT")}));
  EXPECT_FALSE(Apply(UpdateColumnType{"id", Type("INT")}).ok());
  ASSERT_OK(Apply(UpdateColumnType{"id", Type("DOUBLE")}));
}

TEST_F(SchemaChanges, NullabilityOfAChangedType) {
  schema_.fields[0].type = Type("INT NOT NULL");
  ASSERT_OK(Apply(UpdateColumnType{"id", Type("BIGINT")}));
  EXPECT_EQ(schema_.fields[0].type, Type("BIGINT NOT NULL"));
  ASSERT_OK(Apply(UpdateColumnType{"name", Type("VARCHAR(5) NOT NULL")}));
  EXPECT_EQ(schema_.fields[1].type, Type("VARCHAR(5)"));
  ASSERT_OK(Apply(UpdateColumnType{"id", Type("INT"), /*keep_nullability=*/false}));
  EXPECT_EQ(schema_.fields[0].type, Type("INT"));
  EXPECT_THAT(Apply(UpdateColumnType{"id", Type("BIGINT NOT NULL"), false}).message(),
              testing::HasSubstr("alter-column-null-to-not-null.disabled"));
}

TEST_F(SchemaChanges, BucketKeysStayInTheirBuckets) {
  schema_.options = {{"bucket", "2"}, {"bucket-key", "id,name"}};
  schema_.fields[1].type = Type("VARCHAR(5)");
  EXPECT_THAT(Apply(UpdateColumnType{"id", Type("BIGINT")}, true).message(),
              testing::HasSubstr("is a bucket key"));
  EXPECT_OK(Apply(UpdateColumnType{"id", Type("BIGINT")}, false));
  EXPECT_OK(Apply(UpdateColumnType{"name", Type("STRING")}, true));
}

TEST_F(SchemaChanges, PositionsOfColumns) {
  ASSERT_OK(Apply(UpdateColumnPosition{"ts", ""}));
  EXPECT_EQ(ColumnNames(), (Names{"ts", "id", "name", "arr", "pt"}));
  ASSERT_OK(Apply(UpdateColumnPosition{"ts", "name"}));
  EXPECT_EQ(ColumnNames(), (Names{"id", "name", "ts", "arr", "pt"}));
  ASSERT_OK(Apply(UpdateColumnPosition{"id", std::nullopt}));
  EXPECT_EQ(ColumnNames(), (Names{"name", "ts", "arr", "pt", "id"}));
  ASSERT_OK(Apply(UpdateColumnPosition{"id", std::nullopt, "ts"}));
  EXPECT_EQ(ColumnNames(), (Names{"name", "id", "ts", "arr", "pt"}));
  EXPECT_TRUE(Apply(UpdateColumnPosition{"id", "id"}).IsInvalid());
  EXPECT_THAT(Apply(UpdateColumnPosition{"id", "nope"}), HasError(ErrorCode::kNotFound, "'nope'"));
  EXPECT_THAT(Apply(UpdateColumnPosition{"nope", "id"}), HasError(ErrorCode::kNotFound, "'nope'"));
}

class NestedSchemaChanges : public SchemaChanges {
 protected:
  void SetUp() override {
    TableDefinition definition;
    definition.fields = {
        Field("id", Type("INT")),
        Field("r", Type("ROW<x INT, y STRING, z ROW<p INT NOT NULL>>")),
        Field("a", Type("ARRAY<ROW<k INT, l STRING>>")),
        Field("m", Type("MAP<STRING, ARRAY<INT>>")),
    };
    ASSERT_OK_AND_ASSIGN(schema_, Make(definition));
  }
  std::string TypeOf(const char* column) const {
    return schema_.fields[static_cast<size_t>(schema_.FieldIndex(column))].type.ToString();
  }
};

using Path = std::vector<std::string>;

TEST_F(NestedSchemaChanges, MembersAtEveryDepth) {
  const int32_t highest = schema_.highest_field_id;
  ASSERT_OK(Apply(AddColumn{Field("w", Type("ROW<u INT>")), "x", {"r"}}));
  EXPECT_EQ(TypeOf("r"), "ROW<x INT, w ROW<u INT>, y STRING, z ROW<p INT NOT NULL>>");
  EXPECT_EQ(schema_.fields[1].type.fields()[1].id, highest + 1);
  EXPECT_EQ(schema_.highest_field_id, highest + 2);
  ASSERT_OK(Apply(AddColumn{Field("n", Type("BIGINT")), "", {"a", "element"}}));
  EXPECT_EQ(TypeOf("a"), "ARRAY<ROW<n BIGINT, k INT, l STRING>>");
  ASSERT_OK(Apply(DropColumn{Path{"a", "element", "k"}}));
  ASSERT_OK(Apply(RenameColumn{Path{"a", "element", "l"}, "ll"}));
  EXPECT_EQ(TypeOf("a"), "ARRAY<ROW<n BIGINT, ll STRING>>");
  ASSERT_OK(Apply(UpdateColumnType{Path{"r", "z", "p"}, Type("BIGINT")}));
  ASSERT_OK(Apply(UpdateColumnType{Path{"m", "value", "element"}, Type("STRING")}));
  EXPECT_EQ(TypeOf("r"), "ROW<x INT, w ROW<u INT>, y STRING, z ROW<p BIGINT NOT NULL>>");
  EXPECT_EQ(TypeOf("m"), "MAP<STRING, ARRAY<STRING>>");
  ASSERT_OK(Apply(UpdateColumnNullability{Path{"r", "z", "p"}, true}));
  ASSERT_OK(Apply(UpdateColumnComment{Path{"r", "z", "p"}, "inner"}));
  ASSERT_OK(Apply(UpdateColumnDefault{Path{"r", "x"}, "7"}));
  EXPECT_EQ(schema_.fields[1].type.fields()[3].type.fields()[0].description, "inner");
  EXPECT_EQ(schema_.fields[1].type.fields()[0].default_value, "7");
  ASSERT_OK(ValidateSchema(schema_, nullptr));
}

TEST_F(NestedSchemaChanges, WrongPathsAreNamed) {
  EXPECT_THAT(Apply(DropColumn{Path{"r", "nope"}}), HasError(ErrorCode::kNotFound, "r.nope"));
  EXPECT_THAT(Apply(DropColumn{Path{"id", "x"}}), HasError(ErrorCode::kNotFound, "in INT"));
  EXPECT_THAT(Apply(DropColumn{Path{"a", "k"}}),
              HasError(ErrorCode::kNotFound, "the step into it is 'element'"));
  EXPECT_THAT(Apply(UpdateColumnType{Path{"m", "key"}, Type("INT")}).message(),
              testing::HasSubstr("keys of a MAP cannot change"));
  EXPECT_THAT(Apply(DropColumn{Path{"a", "element"}}).message(), testing::HasSubstr("no column"));
  EXPECT_TRUE(Apply(DropColumn{Path{"r", "z", "p"}}).IsInvalid());
  EXPECT_THAT(Apply(AddColumn{Field("y", Type("INT")), std::nullopt, {"r"}}),
              HasError(ErrorCode::kAlreadyExists, "r.y"));
  EXPECT_TRUE(Apply(AddColumn{Field("n", Type("INT NOT NULL")), std::nullopt, {"r"}}).IsInvalid());
  EXPECT_THAT(Apply(RenameColumn{Path{"r", "x"}, "y"}), HasError(ErrorCode::kAlreadyExists, "'y'"));
  EXPECT_TRUE(Apply(UpdateColumnNullability{Path{"r", "x"}, false}).IsInvalid());
}

TEST_F(NestedSchemaChanges, AWholeTypeIsChangedByNames) {
  const int32_t highest = schema_.highest_field_id;
  const int32_t y = schema_.fields[1].type.fields()[1].id;
  ASSERT_OK(
      Apply(UpdateColumnType{"r", Type("ROW<y VARCHAR(9), z ROW<p BIGINT, q DATE>, n INT>")}));
  EXPECT_EQ(TypeOf("r"), "ROW<y VARCHAR(9), z ROW<p BIGINT NOT NULL, q DATE>, n INT>");
  EXPECT_EQ(schema_.fields[1].type.fields()[0].id, y);
  EXPECT_EQ(schema_.fields[1].type.fields()[1].type.fields()[1].id, highest + 1);
  EXPECT_EQ(schema_.fields[1].type.fields()[2].id, highest + 2);
  ASSERT_OK(Apply(UpdateColumnType{"a", Type("ARRAY<ROW<l STRING, k DOUBLE>>")}));
  EXPECT_EQ(TypeOf("a"), "ARRAY<ROW<l STRING, k DOUBLE>>");
  EXPECT_FALSE(Apply(UpdateColumnType{"a", Type("ARRAY<INT>")}).ok());
  EXPECT_FALSE(Apply(UpdateColumnType{"m", Type("MAP<INT, ARRAY<INT>>")}).ok());
  ASSERT_OK(Apply(UpdateColumnType{"m", Type("MAP<STRING, ARRAY<BIGINT>>")}));
}

TEST_F(SchemaChanges, DirectoriesOfPartitionsStay) {
  EXPECT_OK(Apply(SetOption{"partition.default-name", "none"}, false));
  EXPECT_OK(Apply(SetOption{"partition.default-name", "none"}, true));
  for (const auto& [key, value] :
       Options{{"partition.default-name", "other"}, {"partition.legacy-name", "false"}}) {
    EXPECT_THAT(Apply(SetOption{key, value}, true).message(), testing::HasSubstr("not be found"));
  }
  EXPECT_FALSE(Apply(RemoveOption{"partition.default-name"}, true).ok());
  EXPECT_OK(Apply(SetOption{"partition.legacy-name", "true"}, true));
  schema_.partition_keys.clear();
  EXPECT_OK(Apply(SetOption{"partition.legacy-name", "false"}, true));
}

TEST_F(SchemaChanges, FixedOptionsStayOnceThereIsASnapshot) {
  EXPECT_FALSE(Apply(SetOption{"merge-engine", "aggregation"}, true).ok());
  EXPECT_OK(Apply(SetOption{"merge-engine", "aggregation"}, false));
  EXPECT_OK(Apply(SetOption{"merge-engine", "aggregation"}, true));
  EXPECT_FALSE(Apply(RemoveOption{"merge-engine"}, true).ok());
  EXPECT_FALSE(Apply(SetOption{"path", "/x"}, false).ok());
  EXPECT_OK(Apply(SetOption{"target-file-size", "1 mb"}, true));
  EXPECT_OK(Apply(RemoveOption{"target-file-size"}, true));
  EXPECT_FALSE(schema_.options.contains("target-file-size"));
  EXPECT_OK(Apply(RemoveOption{"never.set"}, true));
}

}  // namespace
}  // namespace kelda
