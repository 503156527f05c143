#include "kelda/read/field_mapping.h"

#include <arrow/api.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "kelda/base/test_matchers.h"
#include "kelda/row/row_test_values.h"
#include "kelda/types/arrow_mapping.h"

namespace kelda {
namespace {

using Json = nlohmann::ordered_json;
using testing::HasSubstr;

/// A field with its nested ids, as in a schema file.
DataField Field(const char* json) { return DataField::FromJson(Json::parse(json)).ValueOrDie(); }

std::shared_ptr<arrow::Array> Column(const DataField& field, const char* json) {
  auto builder = arrow::MakeBuilder(ToArrowType(field.type).ValueOrDie()).ValueOrDie();
  for (const Json& value : Json::parse(json))
    EXPECT_OK(builder->AppendScalar(*ScalarFromJson(field.type, value)));
  return builder->Finish().ValueOrDie();
}

/// The column `rows` of a file with `written`, read as `wanted`; whole, and in slices.
void ExpectRead(const char* written_json, const char* wanted_json, const char* rows,
                const char* expected_rows) {
  SCOPED_TRACE(std::string(written_json) + " as " + wanted_json);
  const DataField written = Field(written_json);
  const DataField wanted = Field(wanted_json);
  auto mapping = MapField(wanted, {written}, "table t, file 'f'");
  ASSERT_TRUE(mapping.ok()) << mapping.status();
  // The file gives only what the mapping asks for.
  std::shared_ptr<arrow::Array> column;
  if (mapping->file) column = Column(*mapping->file, rows);
  const auto expected = Column(wanted, expected_rows);
  const int64_t length = expected->length();
  for (int64_t first = 0; first < std::max<int64_t>(length, 1); ++first) {
    const auto slice = column == nullptr ? nullptr : column->Slice(first);
    auto read = ApplyMapping(*mapping, slice, length - first);
    ASSERT_TRUE(read.ok()) << read.status();
    EXPECT_OK((*read)->ValidateFull());
    EXPECT_TRUE((*read)->Equals(*expected->Slice(first))) << (*read)->ToString() << "\ninstead of\n"
                                                          << expected->Slice(first)->ToString();
    EXPECT_TRUE((*read)->type()->Equals(*expected->type()));
  }
}

std::string ErrorOf(const char* written, const char* wanted) {
  auto mapping = MapField(Field(wanted), {Field(written)}, "table t, file 'f'");
  return mapping.ok() ? "no error" : mapping.status().message();
}

TEST(FieldMapping, ByIdAndCast) {
  ExpectRead(R"({"id":1,"name":"a","type":"INT"})", R"({"id":1,"name":"b","type":"BIGINT"})",
             "[1, null, -3]", "[1, null, -3]");
  ExpectRead(R"({"id":1,"name":"a","type":"INT"})", R"({"id":1,"name":"a","type":"STRING"})",
             "[1, null, -3]", R"(["1", null, "-3"])");
  ExpectRead(R"({"id":1,"name":"a","type":"STRING"})", R"({"id":1,"name":"a","type":"INT"})",
             R"(["1", null, "-3.9"])", "[1, null, -3]");
  // The name came back with another id: nothing of the old column is seen.
  ExpectRead(R"({"id":1,"name":"a","type":"INT"})", R"({"id":2,"name":"a","type":"INT"})",
             "[1, null, -3]", "[null, null, null]");
  ExpectRead(R"json({"id":1,"name":"a","type":"VARCHAR(9)"})json",
             R"json({"id":1,"name":"a","type":"VARCHAR(2)"})json", R"(["abc", "é", null])",
             R"(["ab", "é", null])");
}

TEST(FieldMapping, RowsAtEveryDepth) {
  // Members renamed, reordered, cast, dropped and added.
  ExpectRead(
      R"({"id":1,"name":"r","type":{"type":"ROW","fields":[
          {"id":2,"name":"x","type":"INT"}, {"id":3,"name":"y","type":"STRING"},
          {"id":4,"name":"z","type":{"type":"ROW","fields":[{"id":5,"name":"p","type":"INT"}]}}]}})",
      R"({"id":1,"name":"r","type":{"type":"ROW","fields":[
          {"id":4,"name":"z","type":{"type":"ROW","fields":[{"id":5,"name":"q","type":"BIGINT"},
                                                            {"id":7,"name":"p","type":"INT"}]}},
          {"id":6,"name":"y","type":"DATE"}, {"id":2,"name":"xx","type":"STRING"}]}})",
      R"([{"x":1,"y":"a","z":{"p":10}}, null, {"x":null,"y":null,"z":null},
          {"x":2,"y":"b","z":{"p":null}}])",
      R"([{"z":{"q":10,"p":null},"y":null,"xx":"1"}, null, {"z":null,"y":null,"xx":null},
          {"z":{"q":null,"p":null},"y":null,"xx":"2"}])");
  // In elements of an array and values of a map.
  ExpectRead(
      R"({"id":1,"name":"a","type":{"type":"ARRAY","element":{"type":"ROW","fields":[
          {"id":2,"name":"k","type":"INT"}, {"id":3,"name":"l","type":"STRING"}]}}})",
      R"({"id":1,"name":"a","type":{"type":"ARRAY","element":{"type":"ROW","fields":[
          {"id":2,"name":"k","type":"DOUBLE"}, {"id":4,"name":"n","type":"BIGINT"}]}}})",
      R"([[{"k":1,"l":"x"},null], null, [], [{"k":2,"l":"y"},{"k":null,"l":null}]])",
      R"([[{"k":1.0,"n":null},null], null, [], [{"k":2.0,"n":null},{"k":null,"n":null}]])");
  ExpectRead(
      R"({"id":1,"name":"m","type":{"type":"MAP","key":"STRING","value":
          {"type":"ARRAY","element":"INT"}}})",
      R"({"id":1,"name":"m","type":{"type":"MAP","key":"STRING","value":
          {"type":"ARRAY","element":"STRING"}}})",
      R"([[["a",[1,null]],["b",null]], null, [], [["c",[3]]]])",
      R"([[["a",["1",null]],["b",null]], null, [], [["c",["3"]]]])");
  ExpectRead(R"({"id":1,"name":"a","type":{"type":"ARRAY","element":"INT"}})",
             R"({"id":1,"name":"a","type":"STRING"})", "[[1, null], null, []]",
             R"(["[1, null]", null, "[]"])");
}

TEST(FieldMapping, NoneOfTheMembers) {
  // As Java reads it: NULL, although the ROW was not.
  ExpectRead(R"({"id":1,"name":"r","type":{"type":"ROW","fields":[
                 {"id":2,"name":"x","type":"INT"}]}})",
             R"({"id":1,"name":"r","type":{"type":"ROW","fields":[
                 {"id":3,"name":"y","type":"INT"}]}})",
             R"([{"x":1}, null])", "[null, null]");
  ExpectRead(R"({"id":1,"name":"a","type":{"type":"ARRAY","element":{"type":"ROW","fields":[
                 {"id":2,"name":"x","type":"INT"}]}}})",
             R"({"id":1,"name":"a","type":{"type":"ARRAY","element":{"type":"ROW","fields":[
                 {"id":3,"name":"y","type":"INT"}]}}})",
             R"([[{"x":1}], null])", "[null, null]");
  ExpectRead(R"({"id":1,"name":"r","type":{"type":"ROW","fields":[
                 {"id":2,"name":"x","type":"INT"}, {"id":4,"name":"m","type":{"type":"MAP",
                 "key":"INT","value":{"type":"ROW","fields":[
                 {"id":5,"name":"v","type":"INT"}]}}}]}})",
             R"({"id":1,"name":"r","type":{"type":"ROW","fields":[
                 {"id":2,"name":"x","type":"INT"}, {"id":4,"name":"m","type":{"type":"MAP",
                 "key":"INT","value":{"type":"ROW","fields":[
                 {"id":6,"name":"v","type":"INT"}]}}}]}})",
             R"([{"x":1,"m":[[1,{"v":2}]]}, null])", R"([{"x":1,"m":null}, null])");
}

TEST(FieldMapping, ValuesUnderANullRowAreNobodys) {
  const DataField written = Field(R"({"id":1,"name":"r","type":{"type":"ROW","fields":[
      {"id":2,"name":"x","type":"STRING"}]}})");
  const DataField wanted = Field(R"({"id":1,"name":"r","type":{"type":"ROW","fields":[
      {"id":2,"name":"x","type":"INT"}]}})");
  const auto texts = Column(written.type.fields()[0], R"(["1", "no number", "3", null])");
  const std::vector<uint8_t> validity = {0b1101};
  const auto rows = std::make_shared<arrow::StructArray>(
      ToArrowType(written.type).ValueOrDie(), 4, std::vector{texts},
      std::make_shared<arrow::Buffer>(validity.data(), 1));
  const FieldMapping mapping = MapField(wanted, {written}, "t").ValueOrDie();
  const auto expected = Column(wanted, R"([{"x":1}, null, {"x":3}, {"x":null}])");
  for (int64_t first = 0; first < 4; ++first) {
    auto read = ApplyMapping(mapping, rows->Slice(first), 4 - first);
    ASSERT_TRUE(read.ok()) << read.status();
    EXPECT_TRUE((*read)->Equals(*expected->Slice(first))) << (*read)->ToString();
  }
}

TEST(FieldMapping, UnchangedColumnsPassThrough) {
  const DataField field = Field(R"json({"id":1,"name":"a","type":"VARCHAR(5)"})json");
  const auto column = Column(field, R"(["x", "y"])");
  for (const char* wanted : {R"json({"id":1,"name":"b","type":"VARCHAR(5) NOT NULL"})json",
                             R"({"id":1,"name":"a","type":"STRING"})"}) {
    const FieldMapping mapping = MapField(Field(wanted), {field}, "t").ValueOrDie();
    EXPECT_TRUE(mapping.identical);
    EXPECT_EQ(ApplyMapping(mapping, column, 2).ValueOrDie().get(), column.get());
  }
  // Wider, but not without limit: texts that fit are not copied.
  const FieldMapping wider =
      MapField(Field(R"json({"id":1,"name":"a","type":"VARCHAR(9)"})json"), {field}, "t")
          .ValueOrDie();
  const auto read = ApplyMapping(wider, column, 2).ValueOrDie();
  EXPECT_EQ(read->data()->buffers[2].get(), column->data()->buffers[2].get());
}

TEST(FieldMapping, WhatJavaRefuses) {
  EXPECT_EQ(ErrorOf(R"({"id":1,"name":"a","type":"INT"})", R"({"id":1,"name":"a","type":"DATE"})"),
            "table t, file 'f': column 'a', written as INT and DATE now: values of INT cannot be "
            "cast to DATE");
  EXPECT_THAT(ErrorOf(R"({"id":1,"name":"m","type":{"type":"MAP","key":"INT","value":"INT"}})",
                      R"({"id":1,"name":"m","type":{"type":"MAP","key":"BIGINT","value":"INT"}})"),
              HasSubstr("keys of a MAP cannot change their type"));
  EXPECT_THAT(ErrorOf(R"({"id":1,"name":"m","type":{"type":"MULTISET","element":"INT"}})",
                      R"({"id":1,"name":"m","type":{"type":"MULTISET","element":"BIGINT"}})"),
              HasSubstr("MULTISET<INT> cannot be cast to MULTISET<BIGINT>"));
  const DataField written = Field(R"({"id":1,"name":"a","type":"STRING"})");
  const FieldMapping mapping =
      MapField(Field(R"({"id":1,"name":"b","type":"INT"})"), {written}, "table t, file 'f'")
          .ValueOrDie();
  auto read = ApplyMapping(mapping, Column(written, R"(["1", "x"])"), 2);
  ASSERT_FALSE(read.ok());
  EXPECT_EQ(read.status().message(),
            "table t, file 'f': column 'b', written as STRING and INT now: cannot cast 'x' to INT");
}

std::shared_ptr<arrow::Scalar> Literal(const char* type, const char* json) {
  return ScalarFromJson(DataType::Parse(type).ValueOrDie(), Json::parse(json));
}

std::string Mapped(const PredicatePtr& predicate, const char* file_type, const char* table_type) {
  const std::vector<DataField> file = {
      DataField{1, "old", DataType::Parse(file_type).ValueOrDie(), {}, {}}};
  const std::vector<DataField> table = {
      DataField{1, "c", DataType::Parse(table_type).ValueOrDie(), {}, {}},
      DataField{2, "new", DataType::Parse("INT").ValueOrDie(), {}, {}}};
  const auto mapped = MapPredicate(predicate, table, file);
  return mapped == nullptr ? "unknown" : mapped->ToString();
}

TEST(MapPredicate, OnlyWithExactLiterals) {
  const auto leaf = [](PredicateOp op, std::vector<std::shared_ptr<arrow::Scalar>> literals) {
    return Leaf(op, {"c"}, std::move(literals));
  };
  const auto old = [](PredicateOp op, std::vector<std::shared_ptr<arrow::Scalar>> literals) {
    return Leaf(op, {"old"}, std::move(literals))->ToString();
  };
  const auto five = Literal("BIGINT", "5");
  const auto huge = Literal("BIGINT", "5000000000");
  const auto five_int = Literal("INT", "5");
  using enum PredicateOp;
  EXPECT_EQ(Mapped(leaf(kLt, {five}), "INT", "BIGINT"), old(kLt, {five_int}));
  EXPECT_EQ(Mapped(leaf(kLt, {huge}), "INT", "BIGINT"), "unknown");
  EXPECT_EQ(Mapped(leaf(kEq, {huge}), "INT", "BIGINT"), Or({})->ToString());
  EXPECT_EQ(Mapped(Not(leaf(kEq, {huge})), "INT", "BIGINT"), "unknown");
  EXPECT_EQ(Mapped(leaf(kNe, {huge}), "INT", "BIGINT"), "unknown");
  EXPECT_EQ(Mapped(leaf(kIn, {five, huge}), "INT", "BIGINT"), old(kIn, {five_int}));
  EXPECT_EQ(Mapped(Not(leaf(kIn, {five, huge})), "INT", "BIGINT"), "unknown");
  EXPECT_EQ(Mapped(Not(leaf(kIn, {five})), "INT", "BIGINT"),
            Not(Leaf(kIn, {"old"}, {five_int}))->ToString());
  // Narrowing and text are not in the order of the old values.
  EXPECT_EQ(Mapped(leaf(kLt, {five_int}), "BIGINT", "INT"), "unknown");
  EXPECT_EQ(Mapped(leaf(kEq, {Literal("STRING", R"j("5")j")}), "INT", "STRING"), "unknown");
  EXPECT_EQ(Mapped(leaf(kEq, {five_int}), "STRING", "INT"), "unknown");
  // NULL stays NULL, except where a DECIMAL overflows.
  EXPECT_EQ(Mapped(leaf(kIsNull, {}), "INT", "STRING"), old(kIsNull, {}));
  EXPECT_EQ(Mapped(leaf(kIsNull, {}), "INT", "DECIMAL(5, 2)"), "unknown");
  EXPECT_EQ(Mapped(leaf(kIsNull, {}), "INT", "DECIMAL(12, 2)"), old(kIsNull, {}));
  EXPECT_EQ(Mapped(leaf(kIsNull, {}), "ROW<a INT>", "ROW<b INT>"), "unknown");
  const auto text = Literal("STRING", R"("abc")");
  EXPECT_EQ(Mapped(leaf(kStartsWith, {text}), "VARCHAR(2)", "STRING"), old(kStartsWith, {text}));
  EXPECT_EQ(Mapped(leaf(kStartsWith, {text}), "VARCHAR(2)", "VARCHAR(5)"), "unknown");
  // A column that the file has not is NULL, which is left to the reader.
  EXPECT_EQ(Mapped(Leaf(kEq, {"new"}, {five_int}), "INT", "INT"), "unknown");
}

}  // namespace
}  // namespace kelda
