#include "kelda/types/data_type.h"

#include <random>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

namespace kelda {
namespace {

using ::testing::HasSubstr;
using Json = nlohmann::ordered_json;

std::string Reprint(std::string_view text) {
  auto type = DataType::Parse(text);
  return type.ok() ? type->ToString() : "error: " + type.status().ToString();
}

TEST(DataTypeText, CanonicalTextIsAFixedPoint) {
  for (const char* text : {"BOOLEAN",
                           "TINYINT",
                           "SMALLINT",
                           "INT",
                           "BIGINT",
                           "FLOAT",
                           "DOUBLE",
                           "DECIMAL(10, 2)",
                           "DECIMAL(38, 38)",
                           "CHAR(3)",
                           "VARCHAR(20)",
                           "STRING",
                           "BINARY(4)",
                           "VARBINARY(5)",
                           "BYTES",
                           "DATE",
                           "TIME(0)",
                           "TIME(9)",
                           "TIMESTAMP(0)",
                           "TIMESTAMP(9)",
                           "TIMESTAMP(6) WITH LOCAL TIME ZONE",
                           "VARIANT",
                           "BLOB",
                           "ARRAY<INT>",
                           "MAP<STRING NOT NULL, ARRAY<DECIMAL(10, 2)>>",
                           "MULTISET<STRING>",
                           "ROW<a INT, `b c` STRING NOT NULL>",
                           "ROW<>",
                           "VECTOR<FLOAT, 3>"}) {
    EXPECT_EQ(Reprint(text), text);
    EXPECT_EQ(Reprint(std::string(text) + " NOT NULL"), std::string(text) + " NOT NULL");
  }
}

TEST(DataTypeText, OtherSpellings) {
  EXPECT_EQ(Reprint("integer"), "INT");
  EXPECT_EQ(Reprint("double  precision not\tnull"), "DOUBLE NOT NULL");
  EXPECT_EQ(Reprint("decimal(5)"), "DECIMAL(5, 0)");
  EXPECT_EQ(Reprint("numeric(5,2)"), "DECIMAL(5, 2)");
  EXPECT_EQ(Reprint("DEC"), "DECIMAL(10, 0)");
  EXPECT_EQ(Reprint("CHAR"), "CHAR(1)");
  EXPECT_EQ(Reprint("VARCHAR"), "VARCHAR(1)");
  EXPECT_EQ(Reprint("VARCHAR(2147483647)"), "STRING");
  EXPECT_EQ(Reprint("VARBINARY ( 2147483647 ) NOT NULL"), "BYTES NOT NULL");
  EXPECT_EQ(Reprint("BINARY"), "BINARY(1)");
  EXPECT_EQ(Reprint("TIME"), "TIME(0)");
  EXPECT_EQ(Reprint("TIME(3) WITHOUT TIME ZONE"), "TIME(3)");
  EXPECT_EQ(Reprint("TIMESTAMP"), "TIMESTAMP(6)");
  EXPECT_EQ(Reprint("TIMESTAMP WITHOUT TIME ZONE NOT NULL"), "TIMESTAMP(6) NOT NULL");
  EXPECT_EQ(Reprint("timestamp_ltz(3)"), "TIMESTAMP(3) WITH LOCAL TIME ZONE");
  EXPECT_EQ(Reprint("TIMESTAMP_LTZ"), "TIMESTAMP(6) WITH LOCAL TIME ZONE");
  EXPECT_EQ(Reprint("INT NULL"), "INT");
  EXPECT_EQ(Reprint("INT NOT NULL ARRAY NOT NULL MULTISET"),
            "MULTISET<ARRAY<INT NOT NULL> NOT NULL>");
  EXPECT_EQ(Reprint("ROW(a INT 'it''s', b ROW<c INT>)"), "ROW<a INT, b ROW<c INT>>");
}

TEST(DataTypeText, BadTextIsAnError) {
  for (const char* text : {"",
                           " ",
                           "INTT",
                           "INT INT",
                           "DECIMAL(0)",
                           "DECIMAL(39)",
                           "DECIMAL(5, 6)",
                           "DECIMAL(5, -1)",
                           "CHAR(0)",
                           "VARCHAR(2147483648)",
                           "VARCHAR(99999999999999999999999)",
                           "TIME(10)",
                           "TIMESTAMP(10)",
                           "TIMESTAMP_LTZ(-1)",
                           "TIMESTAMP WITH TIME ZONE",
                           "ARRAY",
                           "ARRAY<",
                           "ARRAY<INT",
                           "MAP<INT>",
                           "MAP<INT, INT, INT>",
                           "ROW<a>",
                           "ROW<a INT,>",
                           "ROW<`a INT>",
                           "VECTOR<STRING, 3>",
                           "VECTOR<INT, 0>",
                           "VECTOR<INT>",
                           "INT NOT",
                           "INT)",
                           "5",
                           "\xff\xfe",
                           "VARCHAR(",
                           "CHAR(3"}) {
    EXPECT_FALSE(DataType::Parse(text).ok()) << text;
  }
  EXPECT_THAT(DataType::Parse("ARRAY<NOPE>").status().message(), HasSubstr("offset 6"));
}

TEST(DataTypeText, DepthIsLimited) {
  const auto nested = [](int depth) {
    std::string text = "INT";
    for (int i = 1; i < depth; ++i) text = "ARRAY<" + text + ">";
    return text;
  };
  EXPECT_TRUE(DataType::Parse(nested(64)).ok());
  EXPECT_FALSE(DataType::Parse(nested(65)).ok());
  std::string endless(600000, '<');
  for (size_t i = 0; i + 6 <= endless.size(); i += 6) endless.replace(i, 6, "ARRAY<");
  EXPECT_FALSE(DataType::Parse(endless).ok());
  std::string suffixes = "INT";
  for (int i = 0; i < 100000; ++i) suffixes += " ARRAY";
  EXPECT_FALSE(DataType::Parse(suffixes).ok());
  std::string both = nested(40);
  for (int i = 0; i < 24; ++i) both += " ARRAY";
  EXPECT_TRUE(DataType::Parse(both).ok());
  EXPECT_FALSE(DataType::Parse(both + " ARRAY").ok());
}

TEST(DataTypeJson, RoundTrip) {
  const DataType row =
      DataType::Row({{3, "x", DataType(TypeRoot::kInt), "about x", std::nullopt},
                     {5, "y", DataType::Vector(DataType(TypeRoot::kFloat), 3), {}, "1"}},
                    false);
  const DataType type =
      DataType::Map(DataType::String(false), DataType::Array(DataType::Multiset(row)));
  auto again = DataType::FromJson(type.ToJson());
  ASSERT_TRUE(again.ok()) << again.status();
  EXPECT_EQ(*again, type);
  EXPECT_EQ(
      type.ToJson().dump(),
      R"({"type":"MAP","key":"STRING NOT NULL","value":{"type":"ARRAY","element":{"type":"MULTISET",)"
      R"("element":{"type":"ROW NOT NULL","fields":[{"id":3,"name":"x","type":"INT","description":"about x"},)"
      R"({"id":5,"name":"y","type":{"type":"VECTOR","element":"FLOAT","length":3},"defaultValue":"1"}]}}}})");
}

TEST(DataTypeJson, FieldsWithoutIdsAreNumberedInTraversalOrder) {
  auto fields = FieldsFromJson(Json::parse(
      R"([{"name":"a","type":{"type":"ROW","fields":[{"name":"b","type":"INT"},{"name":"c","type":"INT"}]}},
          {"name":"d","type":"INT"}])"));
  ASSERT_TRUE(fields.ok()) << fields.status();
  EXPECT_EQ((*fields)[0].id, 0);
  EXPECT_EQ((*fields)[0].type.fields()[0].id, 1);
  EXPECT_EQ((*fields)[0].type.fields()[1].id, 2);
  EXPECT_EQ((*fields)[1].id, 3);
  EXPECT_FALSE(
      FieldsFromJson(Json::parse(R"([{"id":0,"name":"a","type":"INT"},{"name":"b","type":"INT"}])"))
          .ok());
  EXPECT_FALSE(
      FieldsFromJson(Json::parse(R"([{"name":"a","type":"INT"},{"id":1,"name":"b","type":"INT"}])"))
          .ok());
}

TEST(DataTypeJson, BadJsonIsAnError) {
  for (const char* text :
       {"1",
        "null",
        "[]",
        "{}",
        R"({"type":"ARRAY"})",
        R"({"type":1})",
        R"({"type":"ARRAY","element":7})",
        R"({"type":"MAP","key":"INT"})",
        R"({"type":"ROW"})",
        R"({"type":"ROW","fields":{}})",
        R"({"type":"ROW","fields":[1]})",
        R"({"type":"ROW","fields":[{"id":1,"name":"x"}]})",
        R"({"type":"ROW","fields":[{"id":-1,"name":"x","type":"INT"}]})",
        R"({"type":"ROW","fields":[{"id":2147483648,"name":"x","type":"INT"}]})",
        R"({"type":"ROW","fields":[{"id":1e300,"name":"x","type":"INT"}]})",
        R"({"type":"ROW","fields":[{"id":99999999999999999999999,"name":"x","type":"INT"}]})",
        R"({"type":"ROW","fields":[{"id":1.5,"name":"x","type":"INT"}]})",
        R"({"type":"ROW","fields":[{"id":1,"name":null,"type":"INT"}]})",
        R"({"type":"VECTOR","element":"FLOAT","length":0})",
        R"({"type":"VECTOR","element":"STRING","length":2})",
        R"({"type":"VECTOR","element":"FLOAT","length":"2"})",
        R"({"type":"ARRAY NULL NOT","element":"INT"})",
        R"("ROW<a INT>")",
        R"("ARRAY<ROW<a INT>>")"}) {
    EXPECT_FALSE(DataType::FromJson(Json::parse(text)).ok()) << text;
  }
  Json deep = "INT";
  for (int i = 0; i < 70; ++i) deep = Json{{"type", "ARRAY"}, {"element", deep}};
  EXPECT_FALSE(DataType::FromJson(deep).ok());
}

TEST(FieldIds, WorkedExample) {
  const DataType inner = DataType::Row({{-1, "z", DataType::String(), {}, {}}});
  const DataType row =
      DataType::Row({{90, "x", DataType(TypeRoot::kInt), {}, {}}, {91, "y", inner, {}, {}}});
  std::vector<DataField> fields;
  const auto add = [&](const char* name, DataType type) {
    fields.push_back({-1, name, std::move(type), {}, {}});
  };
  add("id", DataType(TypeRoot::kBigInt, false));
  add("name", DataType::Sized(TypeRoot::kVarChar, 20));
  add("r", row);
  add("m", DataType::Map(DataType::String(false), DataType::Array(DataType::Decimal(10, 2))));
  add("dt", DataType::String(false));
  EXPECT_EQ(AssignFieldIds(&fields), 7);
  EXPECT_EQ(fields[0].id, 0);
  EXPECT_EQ(fields[1].id, 1);
  EXPECT_EQ(fields[2].id, 2);
  EXPECT_EQ(fields[2].type.fields()[0].id, 3);
  EXPECT_EQ(fields[2].type.fields()[1].id, 5);
  EXPECT_EQ(fields[2].type.fields()[1].type.fields()[0].id, 4);
  EXPECT_EQ(fields[3].id, 6);
  EXPECT_EQ(fields[4].id, 7);
  EXPECT_EQ(HighestFieldId(fields), 7);
  EXPECT_EQ(AssignFieldIds(&fields, 100), 107);
  std::vector<DataField> none;
  EXPECT_EQ(AssignFieldIds(&none, 5), 4);
}

TEST(FieldIds, RowsInsideMapsAndMultisetsAreNumbered) {
  const DataType row = DataType::Row({{-1, "a", DataType(TypeRoot::kInt), {}, {}}});
  std::vector<DataField> fields = {{-1, "m", DataType::Map(row, DataType::Multiset(row)), {}, {}},
                                   {-1, "n", DataType::Array(row), {}, {}}};
  EXPECT_EQ(AssignFieldIds(&fields), 4);
  EXPECT_EQ(fields[0].type.key().fields()[0].id, 1);
  EXPECT_EQ(fields[0].type.value().element().fields()[0].id, 2);
  EXPECT_EQ(fields[1].id, 3);
  EXPECT_EQ(fields[1].type.element().fields()[0].id, 4);
}

TEST(FieldIds, SystemIdsDoNotCount) {
  EXPECT_EQ(HighestFieldId({}), -1);
  EXPECT_EQ(HighestFieldId({{4, "a", DataType(), {}, {}},
                            {kRowIdFieldId, "_ROW_ID", DataType(), {}, {}},
                            {kKeyFieldIdBase, "_KEY_a", DataType(), {}, {}}}),
            4);
}

TEST(FieldIds, UnnamedChildren) {
  EXPECT_EQ(ElementFieldId(10, 1), 536881152);
  EXPECT_EQ(MapKeyFieldId(10, 2), 536860669);
  EXPECT_EQ(ElementFieldId(10, 2), 536881153);
  EXPECT_EQ(ElementFieldId(10, 3), 536881154);
}

TEST(FieldIds, ReservedNames) {
  for (const char* name :
       {"_KEY_x", "_KEY_", "_SEQUENCE_NUMBER", "_VALUE_KIND", "_LEVEL", "rowkind", "_ROW_ID"}) {
    EXPECT_TRUE(IsReservedFieldName(name)) << name;
  }
  for (const char* name : {"key", "_KEY", "ROWKIND", "row_id", ""})
    EXPECT_FALSE(IsReservedFieldName(name)) << name;
}

DataType RandomType(std::mt19937* random, int depth) {
  const auto pick = [&](int n) { return static_cast<int>((*random)() % static_cast<unsigned>(n)); };
  const bool nullable = pick(3) != 0;
  switch (pick(depth > 0 ? 10 : 6)) {
    case 0:
      return DataType(TypeRoot::kBigInt, nullable);
    case 1: {
      const int precision = 1 + pick(38);
      return DataType::Decimal(precision, pick(precision + 1), nullable);
    }
    case 2:
      return DataType::Sized(static_cast<TypeRoot>(static_cast<int>(TypeRoot::kChar) + pick(4)),
                             1 + pick(100), nullable);
    case 3:
      return DataType::Temporal(static_cast<TypeRoot>(static_cast<int>(TypeRoot::kTime) + pick(3)),
                                pick(10), nullable);
    case 4:
      return DataType::Vector(DataType(TypeRoot::kSmallInt), 1 + pick(9), nullable);
    case 5:
      return DataType(TypeRoot::kVariant, nullable);
    case 6:
      return DataType::Array(RandomType(random, depth - 1), nullable);
    case 7:
      return DataType::Map(RandomType(random, depth - 1), RandomType(random, depth - 1), nullable);
    case 8:
      return DataType::Multiset(RandomType(random, depth - 1), nullable);
    default: {
      std::vector<DataField> fields;
      for (int i = pick(4); i >= 0; --i) {
        fields.push_back({-1, "f " + std::to_string(i), RandomType(random, depth - 1), {}, {}});
      }
      return DataType::Row(std::move(fields), nullable);
    }
  }
}

TEST(DataTypeProperty, TextAndJsonRoundTrip) {
  for (unsigned seed = 0; seed < 500; ++seed) {
    SCOPED_TRACE(seed);
    std::mt19937 random(seed);
    const DataType type = RandomType(&random, 4);
    auto from_text = DataType::Parse(type.ToString());
    ASSERT_TRUE(from_text.ok()) << from_text.status();
    EXPECT_EQ(*from_text, type);
    std::vector<DataField> fields = {{-1, "c", type, {}, {}}};
    AssignFieldIds(&fields);
    auto from_json = DataType::FromJson(fields[0].type.ToJson());
    ASSERT_TRUE(from_json.ok()) << from_json.status();
    EXPECT_EQ(*from_json, fields[0].type);
  }
}

}  // namespace
}  // namespace kelda
