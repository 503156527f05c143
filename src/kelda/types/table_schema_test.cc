#include "kelda/types/table_schema.h"

#include <filesystem>
#include <fstream>
#include <sstream>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace kelda {
namespace {

using ::testing::HasSubstr;

constexpr const char* kExample = R"({
  "version" : 3,
  "id" : 7,
  "fields" : [ {
    "id" : 0,
    "name" : "id",
    "type" : "BIGINT NOT NULL"
  }, {
    "id" : 2,
    "name" : "r",
    "type" : {
      "type" : "ROW",
      "fields" : [ {
        "id" : 3,
        "name" : "x",
        "type" : "INT"
      } ]
    },
    "description" : "tab\tquote\" \u0001 é"
  }, {
    "id" : 8,
    "name" : "ts",
    "type" : "TIMESTAMP(6) WITH LOCAL TIME ZONE",
    "defaultValue" : "2024-01-01 00:00:00"
  } ],
  "highestFieldId" : 12,
  "partitionKeys" : [ ],
  "primaryKeys" : [ "id" ],
  "options" : {
    "write-only" : "true",
    "bucket" : "2"
  },
  "comment" : "",
  "timeMillis" : 1720496663041,
  "future" : {
    "list" : [ 1, { }, [ ], null, true ]
  }
})";

TEST(TableSchema, ReadAndPrintedByteEqual) {
  auto schema = TableSchema::FromJsonText(kExample, "schema-7");
  ASSERT_TRUE(schema.ok()) << schema.status();
  EXPECT_EQ(schema->id, 7);
  EXPECT_EQ(schema->highest_field_id, 12);
  EXPECT_EQ(schema->FieldIndex("ts"), 2);
  EXPECT_EQ(schema->FieldIndex("TS"), -1);
  EXPECT_EQ(schema->Option("bucket"), "2");
  EXPECT_EQ(schema->Option("none", "x"), "x");
  EXPECT_EQ(schema->fields[1].description, "tab\tquote\" \x01 é");
  EXPECT_EQ(schema->comment, "");
  EXPECT_TRUE(schema->unknown.contains("future"));
  EXPECT_EQ(schema->ToJsonText(), kExample);
}

TEST(TableSchema, NewOptionsFollowTheOnesReadByKey) {
  auto schema = TableSchema::FromJsonText(kExample, "schema-7");
  ASSERT_TRUE(schema.ok());
  schema->options.erase("write-only");
  schema->options["b"] = "1";
  schema->options["a"] = "2";
  EXPECT_THAT(schema->ToJsonText(),
              HasSubstr("{\n    \"bucket\" : \"2\",\n    \"a\" : \"2\",\n    \"b\" : \"1\"\n  }"));
}

TEST(TableSchema, GoldenFilesAreReprintedByteEqual) {
  namespace fs = std::filesystem;
  int count = 0;
  for (const auto& entry : fs::recursive_directory_iterator(KELDA_TEST_DATA "/golden/warehouse")) {
    if (!entry.is_regular_file() || !entry.path().filename().string().starts_with("schema-"))
      continue;
    std::ifstream in(entry.path(), std::ios::binary);
    std::stringstream text;
    text << in.rdbuf();
    auto schema = TableSchema::FromJsonText(text.str(), entry.path().string());
    ASSERT_TRUE(schema.ok()) << schema.status();
    EXPECT_EQ(schema->ToJsonText(), text.str()) << entry.path();
    EXPECT_LE(HighestFieldId(schema->fields), schema->highest_field_id);
    ++count;
  }
  EXPECT_GE(count, 50);
}

std::string Minimal(const std::string& more) {
  return R"({"id":0,"fields":[],"highestFieldId":-1,"partitionKeys":[],"primaryKeys":[],"options":{})" +
         more + "}";
}

TEST(TableSchema, OldVersions) {
  auto one = TableSchema::FromJsonText(Minimal(""), "f");
  ASSERT_TRUE(one.ok()) << one.status();
  EXPECT_EQ(one->version, 1);
  EXPECT_EQ(one->time_millis, 0);
  EXPECT_EQ(one->Option("bucket"), "1");
  EXPECT_EQ(one->Option("file.format"), "orc");
  auto two = TableSchema::FromJsonText(Minimal(R"(,"version":2)"), "f");
  ASSERT_TRUE(two.ok());
  EXPECT_EQ(two->Option("bucket", "none"), "none");
  EXPECT_EQ(two->Option("file.format"), "orc");
  auto four = TableSchema::FromJsonText(Minimal(R"(,"version":4)"), "f");
  EXPECT_TRUE(IsUnsupported(four.status())) << four.status();
}

TEST(TableSchema, DamagedFilesAreCorruption) {
  const std::string good = kExample;
  for (size_t length = 0; length < good.size(); length += 7) {
    auto schema = TableSchema::FromJsonText(std::string_view(good).substr(0, length), "the-file");
    ASSERT_FALSE(schema.ok()) << length;
    EXPECT_TRUE(IsCorruption(schema.status())) << schema.status();
    EXPECT_THAT(schema.status().message(), HasSubstr("the-file"));
  }
  for (
      const char* bad :
      {"[]", "1", "\"x\"", R"({"id":0})", "{\"id\":0,\"a\":\"\xff\"}",
       R"({"id":-1,"fields":[],"highestFieldId":-1,"partitionKeys":[],"primaryKeys":[],"options":{}})",
       R"({"id":0,"fields":[],"highestFieldId":99999999999,"partitionKeys":[],"primaryKeys":[],"options":{}})",
       R"({"id":0,"fields":[],"highestFieldId":-1,"partitionKeys":["x"],"primaryKeys":[],"options":{}})",
       R"({"id":0,"fields":[],"highestFieldId":-1,"partitionKeys":[1],"primaryKeys":[],"options":{}})",
       R"({"id":0,"fields":[],"highestFieldId":-1,"partitionKeys":[],"primaryKeys":[],"options":[]})",
       R"({"id":0,"fields":[],"highestFieldId":-1,"partitionKeys":[],"primaryKeys":[],"options":{"a":{}}})",
       R"({"id":0,"fields":[{"id":0,"name":"a","type":"NOPE"}],"highestFieldId":0,"partitionKeys":[],"primaryKeys":[],"options":{}})",
       R"({"id":0,"fields":[{"id":0,"name":"a","type":"INT"},{"id":1,"name":"a","type":"INT"}],"highestFieldId":1,"partitionKeys":[],"primaryKeys":[],"options":{}})",
       R"({"id":0,"fields":[{"id":0,"name":"a","type":"INT"},{"id":0,"name":"b","type":"INT"}],"highestFieldId":1,"partitionKeys":[],"primaryKeys":[],"options":{}})"}) {
    auto schema = TableSchema::FromJsonText(bad, "the-file");
    ASSERT_FALSE(schema.ok()) << bad;
    EXPECT_TRUE(IsCorruption(schema.status())) << schema.status();
  }
}

TEST(ParseBoundedJson, RefusesWhatWouldExhaustStackOrTime) {
  EXPECT_TRUE(IsCorruption(ParseBoundedJson(std::string(1000000, '['), "f").status()));
  std::string wide = "{";
  for (int i = 0; i < 70000; ++i) wide += (i == 0 ? "\"" : ",\"") + std::to_string(i) + "\":0";
  EXPECT_TRUE(IsCorruption(ParseBoundedJson(wide + "}", "f").status()));
  std::string array = "[0";
  for (int i = 0; i < 200000; ++i) array += ",0";
  EXPECT_TRUE(ParseBoundedJson(array + "]", "f").ok());
  EXPECT_TRUE(ParseBoundedJson(R"({"a":"[[[{{{,,\"[","b":1})", "f").ok());
}

TEST(PrettyJson, JacksonForm) {
  using Json = nlohmann::ordered_json;
  EXPECT_EQ(PrettyJson(Json::parse(
                R"({"a":[],"b":{},"c":[1,2],"d":[{"e":"\u001f/\u007f"},[{}]],"f":1.5})")),
            "{\n  \"a\" : [ ],\n  \"b\" : { },\n  \"c\" : [ 1, 2 ],\n  \"d\" : [ {\n    \"e\" : "
            "\"\\u001F/\x7f\"\n  }, [ { } ] ],"
            "\n  \"f\" : 1.5\n}");
}

TEST(TableSchema, UnknownMembersOfFieldsSurvive) {
  const std::string text = R"({"version":3,"id":0,"fields":[
    {"id":0,"name":"a","type":"INT","x":{"y":[1,2]}},
    {"id":1,"name":"r","type":{"type":"ARRAY","element":{"type":"ROW","fields":[
      {"id":2,"name":"m","type":"INT","description":"d","future":true}]}}}],
    "highestFieldId":2,"partitionKeys":[],"primaryKeys":[],"options":{},"timeMillis":0})";
  auto schema = TableSchema::FromJsonText(text, "schema-0");
  ASSERT_TRUE(schema.ok()) << schema.status();
  schema->fields[0].name = "renamed";
  const auto json = nlohmann::ordered_json::parse(schema->ToJsonText());
  EXPECT_EQ(json["fields"][0].dump(), R"({"id":0,"name":"renamed","type":"INT","x":{"y":[1,2]}})");
  EXPECT_EQ(json["fields"][1]["type"]["element"]["fields"][0].dump(),
            R"({"id":2,"name":"m","type":"INT","description":"d","future":true})");
  // They go with their column.
  schema->fields.erase(schema->fields.begin());
  EXPECT_EQ(schema->ToJsonText().find("\"x\""), std::string::npos);
}

}  // namespace
}  // namespace kelda
