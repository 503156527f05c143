#include "kelda/types/arrow_mapping.h"

#include <arrow/api.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace kelda {
namespace {

DataType Type(const char* text) { return DataType::Parse(text).ValueOrDie(); }

TEST(ToArrow, AtomicTypes) {
  const auto expect = [](const char* text, const std::shared_ptr<arrow::DataType>& expected) {
    auto type = ToArrowType(Type(text));
    ASSERT_TRUE(type.ok()) << text;
    EXPECT_TRUE((*type)->Equals(*expected)) << text << " gave " << (*type)->ToString();
  };
  expect("BOOLEAN", arrow::boolean());
  expect("TINYINT", arrow::int8());
  expect("SMALLINT", arrow::int16());
  expect("INT", arrow::int32());
  expect("BIGINT", arrow::int64());
  expect("FLOAT", arrow::float32());
  expect("DOUBLE", arrow::float64());
  expect("DECIMAL(38, 18)", arrow::decimal128(38, 18));
  expect("CHAR(3)", arrow::utf8());
  expect("STRING", arrow::utf8());
  expect("BINARY(3)", arrow::binary());
  expect("BYTES", arrow::binary());
  expect("BLOB", arrow::binary());
  expect("DATE", arrow::date32());
  expect("TIME(9)", arrow::time32(arrow::TimeUnit::MILLI));
  expect("TIMESTAMP(0)", arrow::timestamp(arrow::TimeUnit::SECOND));
  expect("TIMESTAMP(1)", arrow::timestamp(arrow::TimeUnit::MILLI));
  expect("TIMESTAMP(3)", arrow::timestamp(arrow::TimeUnit::MILLI));
  expect("TIMESTAMP(4)", arrow::timestamp(arrow::TimeUnit::MICRO));
  expect("TIMESTAMP_LTZ(6)", arrow::timestamp(arrow::TimeUnit::MICRO, "UTC"));
  expect("TIMESTAMP_LTZ(7)", arrow::timestamp(arrow::TimeUnit::NANO, "UTC"));
  expect("ARRAY<INT NOT NULL>", arrow::list(arrow::field("element", arrow::int32(), false)));
  expect("MULTISET<STRING>",
         std::make_shared<arrow::MapType>(arrow::field("key", arrow::utf8(), false),
                                          arrow::field("value", arrow::int32(), false)));
  expect("VECTOR<FLOAT, 3>", arrow::fixed_size_list(arrow::field("element", arrow::float32()), 3));
  expect("VARIANT", arrow::struct_({arrow::field("value", arrow::binary(), false),
                                    arrow::field("metadata", arrow::binary(), false)}));
  expect(
      "ROW<a INT, b STRING NOT NULL>",
      arrow::struct_({arrow::field("a", arrow::int32()), arrow::field("b", arrow::utf8(), false)}));
}

std::string IdOf(const arrow::Field& field) {
  if (field.metadata() == nullptr) return "none";
  return field.metadata()->Get("PARQUET:field_id").ValueOr("none");
}

TEST(ToArrow, FieldIdsAtEveryDepth) {
  const DataField column{10, "c", Type("ARRAY<MAP<INT, ARRAY<INT>>>"), {}, {}};
  auto field = ToArrowField(column).ValueOrDie();
  EXPECT_EQ(IdOf(*field), "10");
  const auto map = field->type()->field(0);
  EXPECT_EQ(map->name(), "element");
  EXPECT_EQ(IdOf(*map), "536881152");
  const auto& map_type = static_cast<const arrow::MapType&>(*map->type());
  EXPECT_EQ(IdOf(*map_type.key_field()), "536860669");
  EXPECT_FALSE(map_type.key_field()->nullable());
  EXPECT_EQ(IdOf(*map_type.item_field()), "536881153");
  EXPECT_EQ(IdOf(*map_type.item_field()->type()->field(0)), "536881154");
}

TEST(ToArrow, RowStartsAfresh) {
  const DataType row = DataType::Row({{4, "x", DataType::Array(DataType(TypeRoot::kInt)), {}, {}}});
  auto schema =
      ToArrowSchema({{3, "c", DataType::Array(row, false), {}, {}}, {-1, "d", DataType(), {}, {}}});
  ASSERT_TRUE(schema.ok());
  EXPECT_FALSE((*schema)->field(0)->nullable());
  const auto x = (*schema)->field(0)->type()->field(0)->type()->field(0);
  EXPECT_EQ(IdOf(*x), "4");
  EXPECT_EQ(IdOf(*x->type()->field(0)), std::to_string(ElementFieldId(4, 1)));
  EXPECT_EQ(IdOf(*(*schema)->field(1)), "none");
}

TEST(FromArrow, RoundTripOfCanonicalTypes) {
  for (const char* text : {"BOOLEAN",
                           "TINYINT",
                           "SMALLINT",
                           "INT",
                           "BIGINT",
                           "FLOAT",
                           "DOUBLE",
                           "DECIMAL(38, 18)",
                           "STRING NOT NULL",
                           "BYTES",
                           "DATE",
                           "TIME(3)",
                           "TIMESTAMP(0)",
                           "TIMESTAMP(3)",
                           "TIMESTAMP(6)",
                           "TIMESTAMP(9) WITH LOCAL TIME ZONE NOT NULL",
                           "VARIANT",
                           "ARRAY<INT NOT NULL>",
                           "MAP<STRING NOT NULL, ARRAY<DOUBLE>>",
                           "ROW<a INT, b ROW<c STRING>>",
                           "VECTOR<FLOAT, 3>"}) {
    const DataType type = Type(text);
    auto again = FromArrowType(*ToArrowType(type).ValueOrDie(), type.nullable());
    ASSERT_TRUE(again.ok()) << again.status();
    EXPECT_EQ(again->ToString(), text);
  }
}

TEST(FromArrow, ForeignTypes) {
  const auto expect = [](const std::shared_ptr<arrow::DataType>& type, const char* text) {
    auto result = FromArrowType(*type);
    ASSERT_TRUE(result.ok()) << result.status();
    EXPECT_EQ(result->ToString(), text);
  };
  expect(arrow::uint8(), "SMALLINT");
  expect(arrow::uint16(), "INT");
  expect(arrow::uint32(), "BIGINT");
  expect(arrow::uint64(), "DECIMAL(20, 0)");
  expect(arrow::float16(), "FLOAT");
  expect(arrow::large_utf8(), "STRING");
  expect(arrow::utf8_view(), "STRING");
  expect(arrow::large_binary(), "BYTES");
  expect(arrow::binary_view(), "BYTES");
  expect(arrow::fixed_size_binary(7), "BINARY(7)");
  expect(arrow::dictionary(arrow::int32(), arrow::utf8()), "STRING");
  expect(arrow::decimal32(7, 2), "DECIMAL(7, 2)");
  expect(arrow::decimal256(38, 2), "DECIMAL(38, 2)");
  expect(arrow::date64(), "DATE");
  expect(arrow::time32(arrow::TimeUnit::SECOND), "TIME(0)");
  expect(arrow::time64(arrow::TimeUnit::MICRO), "TIME(3)");
  expect(arrow::timestamp(arrow::TimeUnit::MICRO, "Europe/Berlin"),
         "TIMESTAMP(6) WITH LOCAL TIME ZONE");
  expect(arrow::large_list(arrow::int32()), "ARRAY<INT>");
  expect(arrow::list_view(arrow::int32()), "ARRAY<INT>");
  expect(arrow::fixed_size_list(arrow::utf8(), 3), "ARRAY<STRING>");
  expect(arrow::run_end_encoded(arrow::int32(), arrow::utf8()), "STRING");
  expect(arrow::struct_({arrow::field("value", arrow::binary()),
                         arrow::field("metadata", arrow::binary(), false)}),
         "ROW<value BYTES, metadata BYTES NOT NULL>");
}

TEST(FromArrow, WhatPaimonLacksIsNamed) {
  for (const auto& type : arrow::DataTypeVector{
           arrow::null(), arrow::duration(arrow::TimeUnit::SECOND), arrow::month_interval(),
           arrow::decimal256(39, 2), arrow::decimal128(5, -2), arrow::list(arrow::null())}) {
    auto result = FromArrowType(*type);
    ASSERT_FALSE(result.ok()) << type->ToString();
    EXPECT_TRUE(IsUnsupported(result.status())) << result.status();
  }
  auto deep = arrow::int32();
  for (int i = 0; i < 70; ++i) deep = arrow::list(deep);
  EXPECT_FALSE(FromArrowType(*deep).ok());
}

}  // namespace
}  // namespace kelda
