#include "kelda/format/orc/orc_schema.h"

#include <fstream>
#include <sstream>

#include <gtest/gtest.h>

#include "kelda/base/test_matchers.h"
#include "kelda/format/orc/orc_file.h"
#include "kelda/format/orc/orc_format.h"
#include "kelda/format/orc/orc_test_util.h"
#include "kelda/types/table_schema.h"

namespace kelda {
namespace {

using namespace orc_test;  // NOLINT

DataType Parsed(const char* text) { return Unwrap(DataType::Parse(text)); }

TEST(OrcSchema, KindsAndIds) {
  std::vector<DataField> fields = {
      Field(3, "a", Parsed("CHAR(5)")),
      Field(4, "b", Parsed("VARCHAR(7)")),
      Field(5, "c", Parsed("DECIMAL(20, 3)")),
      Field(6, "d", Parsed("TIME(3)")),
      Field(10, "e", DataType::Array(DataType::Map(Parsed("INT"), DataType::Array(Parsed("INT"))))),
      Field(11, "f", DataType::Row({Field(12, "x", Parsed("TIMESTAMP(3) WITH LOCAL TIME ZONE"))})),
      Field(13, "g", DataType::Multiset(DataType::String()))};
  const auto types = BuildOrcSchema(fields);
  ASSERT_EQ(types.size(), 15u);
  const auto id = [&](size_t i) { return types[i].attributes.at("paimon.id"); };
  EXPECT_TRUE(types[0].attributes.empty());
  EXPECT_EQ(types[0].children, (std::vector<uint32_t>{1, 2, 3, 4, 5, 10, 12}));
  EXPECT_EQ(types[1].kind, OrcKind::kChar);
  EXPECT_EQ(types[1].maximum_length, 5u);
  EXPECT_EQ(types[2].kind, OrcKind::kVarchar);
  EXPECT_EQ(types[3].precision, 20u);
  EXPECT_EQ(types[3].scale, 3u);
  EXPECT_EQ(types[4].kind, OrcKind::kInt);
  // The example of spec 01 §2.6.
  EXPECT_EQ(id(5), "10");
  EXPECT_EQ(id(6), "536881152");
  EXPECT_EQ(id(7), "536860669");
  EXPECT_EQ(id(8), "536881153");
  EXPECT_EQ(id(9), "536881154");
  EXPECT_EQ(types[11].kind, OrcKind::kTimestampInstant);
  EXPECT_EQ(id(11), "12");
  EXPECT_EQ(types[12].kind, OrcKind::kMap);
  EXPECT_EQ(types[13].kind, OrcKind::kString);
  EXPECT_EQ(types[14].kind, OrcKind::kInt);
}

/// The columns of Java's file, attribute by attribute.
TEST(OrcSchema, AsJavaWritesIt) {
  const std::string data = KELDA_TEST_DATA;
  std::ifstream in(data + "/golden/warehouse/types.db/nested_nulls_parquet/schema/schema-0");
  std::stringstream text;
  text << in.rdbuf();
  const auto ours = BuildOrcSchema(Unwrap(TableSchema::FromJsonText(text.str(), "schema")).fields);
  auto file = Unwrap(OrcFile::Open(*MakeLocalFileIO(), data + "/orc/nested_nulls.orc", -1, {}));
  const auto& java = file->footer().types;
  ASSERT_EQ(ours.size(), java.size());
  for (size_t i = 0; i < java.size(); ++i) {
    EXPECT_EQ(ours[i].kind, java[i].kind) << i;
    EXPECT_EQ(ours[i].children, java[i].children) << i;
    EXPECT_EQ(ours[i].names, java[i].names) << i;
    EXPECT_EQ(ours[i].attributes, java[i].attributes) << i;
  }
}

TEST(OrcSchema, RefusedTypes) {
  const auto check = [](const DataType& type) { return CheckOrcTypes({Field(0, "v", type)}); };
  EXPECT_THAT(check(DataType(TypeRoot::kVariant)), HasError(ErrorCode::kUnsupported, "'v'"));
  EXPECT_THAT(check(DataType::Array(DataType(TypeRoot::kVariant))),
              HasError(ErrorCode::kUnsupported, "VARIANT"));
  EXPECT_THAT(check(DataType::Row({Field(1, "w", DataType::Vector(Parsed("INT"), 3))})),
              HasError(ErrorCode::kUnsupported, "'v.w'"));
  EXPECT_OK(check(DataType::Map(Parsed("INT"), DataType::Array(Parsed("TIMESTAMP(9)")))));
}

TEST(OrcProjection, ByNameAtEveryDepth) {
  auto inner = DataType::Row({Field(3, "x", Parsed("INT")), Field(4, "y", Parsed("STRING")),
                              Field(5, "z", DataType::Array(Parsed("BIGINT")))});
  std::vector<DataField> fields = {
      Field(0, "a", Parsed("INT")), Field(1, "r", inner),
      Field(2, "l",
            DataType::Array(
                DataType::Row({Field(6, "p", Parsed("INT")), Field(7, "q", Parsed("DOUBLE"))})))};
  RandomOrc source(5);
  Batches batches = {source.random.Batch(fields, 500)};
  auto io = MakeMemoryFileIO();
  WriteOrc(*io, "/f.orc", fields, batches);
  std::vector<DataField> wanted = {
      Field(2, "l", DataType::Array(DataType::Row({Field(7, "q", Parsed("DOUBLE"))}))),
      Field(9, "new", Parsed("STRING")),
      Field(1, "r",
            DataType::Row({Field(5, "z", DataType::Array(Parsed("BIGINT"))),
                           Field(8, "w", Parsed("INT")), Field(3, "x", Parsed("INT"))}))};
  auto read = ReadOrc(*io, "/f.orc", wanted).table;
  const auto& whole = static_cast<const arrow::StructArray&>(*batches[0]->column(1));
  const auto column = Whole(*read, 2);
  const auto& part = static_cast<const arrow::StructArray&>(*column);
  // Members of rows that are null have no values to compare.
  const auto expected = Unwrap(arrow::StructArray::Make(
      {whole.field(2), Unwrap(arrow::MakeArrayOfNull(arrow::int32(), 500)), whole.field(0)},
      part.type()->fields(), whole.null_bitmap()));
  EXPECT_TRUE(part.Equals(*expected)) << part.Diff(*expected);
  EXPECT_EQ(Whole(*read, 1)->null_count(), 500);
  const auto list = Whole(*read, 0);
  const auto& lists = static_cast<const arrow::ListArray&>(*list);
  const auto& all_lists = static_cast<const arrow::ListArray&>(*batches[0]->column(2));
  const auto& members = static_cast<const arrow::StructArray&>(*lists.values());
  const auto& all_members = static_cast<const arrow::StructArray&>(*all_lists.values());
  const auto expected_members = Unwrap(arrow::StructArray::Make(
      {all_members.field(1)}, members.type()->fields(), all_members.null_bitmap()));
  EXPECT_TRUE(members.Equals(*expected_members, arrow::EqualOptions::Defaults().nans_equal(true)))
      << members.Diff(*expected_members);
  // No columns at all: the rows are counted.
  ReadOptions nothing;
  auto reader = Unwrap(OrcFormat::Instance().OpenReader(*io, "/f.orc", -1, nothing));
  EXPECT_EQ(Unwrap(reader->Next())->num_rows(), 500);
}

TEST(OrcProjection, AnotherTypeIsAnError) {
  auto io = MakeMemoryFileIO();
  RandomOrc source(6);
  std::vector<DataField> fields = {Field(0, "a", Parsed("STRING"))};
  WriteOrc(*io, "/f.orc", fields, {source.random.Batch(fields, 5)});
  ReadOptions options;
  options.columns = {Field(0, "a", Parsed("INT"))};
  EXPECT_THAT(TryReadOrc(*io, "/f.orc", options),
              HasError(ErrorCode::kCorruption, "'a' of type INT is stored as string"));
}

}  // namespace
}  // namespace kelda
