#include "kelda/avro/schema.h"

#include "kelda/avro/arrow_schema.h"
#include "kelda/avro/paimon_schemas.h"
#include "kelda/avro/test_support.h"

namespace kelda::avro {

namespace {

using ::testing::HasSubstr;

std::string RecordOf(const std::string& type) {
  return R"({"type":"record","name":"r","fields":[{"name":"f","type":)" + type + "}]}";
}

std::string ErrorOf(const std::string& json) {
  const auto parsed = ParseSchema(json);
  return parsed.ok() ? "" : parsed.status().ToString();
}

TEST(SchemaTest, PaimonSchemasComeBackByteForByte) {
  for (std::string_view json : {kManifestListSchema, kManifestSchema, kIndexManifestSchema}) {
    ASSERT_OK_AND_ASSIGN(SchemaPtr schema, ParseSchema(json));
    EXPECT_EQ(ToJson(*schema), json);
  }
}

TEST(SchemaTest, EveryKindComesBackInItsOrder) {
  const std::string json =
      R"({"type":"record","name":"a","namespace":"x.y","fields":[)"
      R"({"name":"e","type":{"type":"enum","name":"en","symbols":["A","B"]},"default":"A","field-id":4},)"
      R"({"name":"again","type":"en"},)"
      R"({"name":"other","type":{"type":"fixed","name":"fx","namespace":"z","size":5}},)"
      R"({"name":"full","type":["null","z.fx"],"default":null},)"
      R"({"name":"d","type":{"type":"bytes","logicalType":"decimal","precision":10,"scale":2}},)"
      R"({"name":"l","type":{"type":"array","items":"int","element-id":7}},)"
      R"({"name":"m","type":{"type":"map","values":["null",{"type":"int","logicalType":"date"}]}}]})";
  ASSERT_OK_AND_ASSIGN(SchemaPtr schema, ParseSchema(json));
  EXPECT_EQ(ToJson(*schema), json);
  EXPECT_EQ(schema->full_name(), "x.y.a");
  EXPECT_EQ(schema->fields[1].type.get(), schema->fields[0].type.get());
  EXPECT_EQ(schema->fields[0].properties[1].key, "field-id");
  EXPECT_EQ(schema->fields[4].type->precision, 10);
  EXPECT_EQ(schema->fields[4].type->scale, 2);
  EXPECT_EQ(schema->FieldIndex("m"), 6);
  EXPECT_EQ(schema->FieldIndex("n"), -1);
}

TEST(SchemaTest, WhiteSpaceAndWrappedTypesParse) {
  ASSERT_OK_AND_ASSIGN(SchemaPtr schema, ParseSchema(R"( { "type" : { "type" : "long" } } )"));
  EXPECT_EQ(schema->type, Type::kLong);
  EXPECT_EQ(ToJson(*schema), "\"long\"");
}

TEST(SchemaTest, BrokenLogicalTypesAreIgnored) {
  ASSERT_OK_AND_ASSIGN(SchemaPtr decimal,
                       ParseSchema(R"({"type":"bytes","logicalType":"decimal"})"));
  EXPECT_EQ(decimal->logical_type, LogicalType::kNone);
  ASSERT_OK_AND_ASSIGN(
      SchemaPtr scale,
      ParseSchema(R"({"type":"bytes","logicalType":"decimal","precision":3,"scale":4})"));
  EXPECT_EQ(scale->logical_type, LogicalType::kNone);
  ASSERT_OK_AND_ASSIGN(SchemaPtr date, ParseSchema(R"({"type":"long","logicalType":"date"})"));
  EXPECT_EQ(date->logical_type, LogicalType::kNone);
}

TEST(SchemaTest, MinimumSizes) {
  ASSERT_OK_AND_ASSIGN(SchemaPtr list, ParseSchema(kManifestListSchema));
  // 4 plain longs, an int, a string, two bytes and one union in the statistics, six unions.
  EXPECT_EQ(list->encoded_size_min_bytes, 15);
  ASSERT_OK_AND_ASSIGN(SchemaPtr empty, ParseSchema(R"({"type":"record","name":"r","fields":[]})"));
  EXPECT_EQ(empty->encoded_size_min_bytes, 0);
}

TEST(SchemaTest, WhatIsBrokenIsRefused) {
  EXPECT_THAT(ErrorOf("{"), HasSubstr("not valid JSON"));
  EXPECT_THAT(ErrorOf(""), HasSubstr("not valid JSON"));
  EXPECT_THAT(ErrorOf("\"strin\""), HasSubstr("unknown type 'strin'"));
  EXPECT_THAT(ErrorOf("7"), HasSubstr("neither name"));
  EXPECT_THAT(ErrorOf("{}"), HasSubstr("without \"type\""));
  EXPECT_THAT(ErrorOf("[]"), HasSubstr("empty union"));
  EXPECT_THAT(ErrorOf(R"(["null",["null","int"]])"), HasSubstr("directly inside"));
  EXPECT_THAT(ErrorOf(R"(["int","int"])"), HasSubstr("two branches"));
  EXPECT_THAT(ErrorOf(R"({"type":"record","name":"r"})"), HasSubstr("without fields"));
  EXPECT_THAT(ErrorOf(R"({"type":"record","fields":[]})"), HasSubstr("without name"));
  EXPECT_THAT(ErrorOf(R"({"type":"record","name":"r","fields":[{"name":"x"}]})"),
              HasSubstr("name or type"));
  EXPECT_THAT(
      ErrorOf(
          R"({"type":"record","name":"r","fields":[{"name":"x","type":"int"},{"name":"x","type":"int"}]})"),
      HasSubstr("two fields 'x'"));
  EXPECT_THAT(ErrorOf(RecordOf(R"({"type":"record","name":"r","fields":[]})")),
              HasSubstr("defined twice"));
  EXPECT_THAT(ErrorOf(R"({"type":"fixed","name":"f","size":-1})"), HasSubstr("needs a size"));
  EXPECT_THAT(ErrorOf(R"({"type":"fixed","name":"f","size":18446744073709551615})"),
              HasSubstr("needs a size"));
  EXPECT_THAT(ErrorOf(R"({"type":"fixed","name":"f","size":2000000000})"),
              HasSubstr("needs a size"));
  EXPECT_THAT(ErrorOf(R"({"type":"array"})"), HasSubstr("without \"items\""));
  EXPECT_THAT(ErrorOf(R"({"type":"enum","name":"e","symbols":[1]})"), HasSubstr("no string"));
}

TEST(SchemaTest, RecursionIsNotImplemented) {
  const auto parsed = ParseSchema(RecordOf(R"(["null","r"])"));
  EXPECT_TRUE(IsUnsupported(parsed.status())) << parsed.status().ToString();
  EXPECT_THAT(parsed.status().ToString(), HasSubstr("recursive Avro type 'r'"));
}

TEST(SchemaTest, HostileShapesAreRefused) {
  EXPECT_THAT(ErrorOf(std::string(1'000'000, '[')), HasSubstr("nests deeper"));
  std::string deep = "\"int\"";
  for (int i = 0; i < 200; ++i) deep = fmt::format(R"({{"type":"array","items":{}}})", deep);
  EXPECT_THAT(ErrorOf(deep), HasSubstr("nests deeper than 192 types"));
  std::string wide = "{\"type\":\"int\"";
  for (int i = 0; i < 300; ++i) wide += fmt::format(R"(,"k{}":0)", i);
  EXPECT_THAT(ErrorOf(wide + "}"), HasSubstr("more than 256 members"));
  EXPECT_THAT(ErrorOf(std::string(kSchemaTextSizeMax + 1, ' ')), HasSubstr("larger than"));
}

TEST(SchemaTest, ExponentialReferencesAreRefused) {
  // Each record holds the one before twice: 2^40 types when expanded.
  std::string type = R"({"type":"record","name":"n0","fields":[{"name":"a","type":"int"}]})";
  for (int i = 1; i <= 40; ++i) {
    type = fmt::format(
        R"({{"type":"record","name":"n{}","fields":[{{"name":"a","type":{}}},{{"name":"b","type":"n{}"}}]}})",
        i, type, i - 1);
  }
  EXPECT_THAT(ErrorOf(type), HasSubstr("more than 100000 types"));
}

TEST(ArrowSchemaTest, Types) {
  const std::vector<std::pair<std::string, std::shared_ptr<arrow::DataType>>> cases = {
      {"\"null\"", arrow::null()},
      {"\"boolean\"", arrow::boolean()},
      {"\"int\"", arrow::int32()},
      {"\"long\"", arrow::int64()},
      {"\"float\"", arrow::float32()},
      {"\"double\"", arrow::float64()},
      {"\"bytes\"", arrow::binary()},
      {"\"string\"", arrow::utf8()},
      {R"({"type":"enum","name":"e","symbols":["A"]})", arrow::utf8()},
      {R"({"type":"fixed","name":"x","size":3})", arrow::fixed_size_binary(3)},
      {R"({"type":"fixed","name":"x","size":5,"logicalType":"decimal","precision":9,"scale":2})",
       arrow::decimal128(9, 2)},
      {R"({"type":"bytes","logicalType":"decimal","precision":38,"scale":38})",
       arrow::decimal128(38, 38)},
      {R"({"type":"int","logicalType":"date"})", arrow::date32()},
      {R"({"type":"int","logicalType":"time-millis"})", arrow::time32(arrow::TimeUnit::MILLI)},
      {R"({"type":"long","logicalType":"time-micros"})", arrow::time64(arrow::TimeUnit::MICRO)},
      {R"({"type":"long","logicalType":"timestamp-millis"})",
       arrow::timestamp(arrow::TimeUnit::MILLI)},
      {R"({"type":"long","logicalType":"timestamp-micros"})",
       arrow::timestamp(arrow::TimeUnit::MICRO)},
      {R"({"type":"long","logicalType":"local-timestamp-millis"})",
       arrow::timestamp(arrow::TimeUnit::MILLI, "UTC")},
      {R"({"type":"long","logicalType":"local-timestamp-micros"})",
       arrow::timestamp(arrow::TimeUnit::MICRO, "UTC")},
      {R"({"type":"array","items":["null","int"]})",
       arrow::list(arrow::field("element", arrow::int32()))},
      {R"({"type":"map","values":"int"})",
       arrow::map(arrow::utf8(), arrow::field("value", arrow::int32(), false))},
      {R"({"type":"array","logicalType":"map","items":{"type":"record","name":"kv","fields":[)"
       R"({"name":"key","type":"int"},{"name":"value","type":["null","string"]}]}})",
       arrow::map(arrow::int32(), arrow::utf8())},
      {R"({"type":"record","name":"s","fields":[{"name":"a","type":["int","null"]}]})",
       arrow::struct_({arrow::field("a", arrow::int32())})},
  };
  for (const auto& [json, type] : cases) {
    ASSERT_OK_AND_ASSIGN(SchemaPtr schema, ParseSchema(RecordOf(json)));
    ASSERT_OK_AND_ASSIGN(auto arrow_schema, ToArrowSchema(*schema));
    EXPECT_TRUE(arrow_schema->field(0)->type()->Equals(type))
        << json << " " << arrow_schema->ToString();
    EXPECT_EQ(arrow_schema->field(0)->nullable(), json == "\"null\"");
  }
}

TEST(ArrowSchemaTest, OtherUnionsAreNotImplementedUnlessUnwanted) {
  ASSERT_OK_AND_ASSIGN(
      SchemaPtr schema,
      ParseSchema(R"({"type":"record","name":"r","fields":[)"
                  R"({"name":"a","type":"int"},{"name":"u","type":["int","string"]}]})"));
  const auto refused = ToArrowSchema(*schema);
  EXPECT_TRUE(IsUnsupported(refused.status()));
  EXPECT_THAT(refused.status().ToString(), HasSubstr("'u'"));
  ASSERT_OK_AND_ASSIGN(auto projected, ToArrowSchema(*schema, Projection::Of({"a"})));
  EXPECT_EQ(projected->num_fields(), 1);
}

TEST(ArrowSchemaTest, ProjectionByPath) {
  ASSERT_OK_AND_ASSIGN(SchemaPtr schema, ParseSchema(kManifestSchema));
  ASSERT_OK_AND_ASSIGN(auto all, ToArrowSchema(*schema));
  const auto projection = Projection::Of(
      {"_KIND", "_FILE._FILE_NAME", "_FILE._VALUE_STATS._NULL_COUNTS", "_FILE._KEY_STATS"});
  ASSERT_OK_AND_ASSIGN(auto from_avro, ToArrowSchema(*schema, projection));
  ASSERT_OK_AND_ASSIGN(auto from_arrow, ProjectSchema(all, projection));
  EXPECT_TRUE(from_avro->Equals(*from_arrow)) << from_avro->ToString() << from_arrow->ToString();
  ASSERT_EQ(from_avro->num_fields(), 2);
  const auto& file = *from_avro->field(1)->type();
  ASSERT_EQ(file.num_fields(), 3);
  EXPECT_EQ(file.field(0)->name(), "_FILE_NAME");
  EXPECT_EQ(file.field(1)->type()->num_fields(), 3);
  EXPECT_EQ(file.field(2)->type()->num_fields(), 1);

  EXPECT_THAT(ToArrowSchema(*schema, Projection::Of({"_FILE.NOPE"})).status().ToString(),
              HasSubstr("no field '_FILE.NOPE'"));
  EXPECT_THAT(ToArrowSchema(*schema, Projection::Of({"_KIND.x"})).status().ToString(),
              HasSubstr("no field '_KIND.x'"));
  EXPECT_THAT(ProjectSchema(all, Projection::Of({"_KIND.x"})).status().ToString(),
              HasSubstr("no field '_KIND.x'"));
  ASSERT_OK_AND_ASSIGN(auto widest,
                       ToArrowSchema(*schema, Projection::Of({"_FILE", "_FILE._FILE_NAME"})));
  EXPECT_EQ(widest->field(0)->type()->num_fields(), 20);
}

}  // namespace

}  // namespace kelda::avro
