#include <arrow/util/logging.h>
#include <gtest/gtest.h>

#include <arrow/builder.h>

#include "kelda/base/bytes.h"
#include "kelda/base/test_matchers.h"
#include "kelda/format/file_index/file_index_test_util.h"
#include "kelda/types/arrow_mapping.h"
#include "kelda/types/map_values.h"

namespace kelda {
namespace {

using Rows = std::vector<uint32_t>;

std::vector<DataField> Fields() {
  std::vector<DataField> fields;
  for (const auto& [name, type] :
       std::vector<std::pair<std::string, std::string>>{{"id", "INT"},
                                                        {"m", "MAP<STRING, INT>"},
                                                        {"b", "MAP<INT, INT>"},
                                                        {"z", "STRING"},
                                                        {"a", "STRING"},
                                                        {"x[y]", "INT"}}) {
    fields.push_back(
        {static_cast<int32_t>(fields.size()), name, DataType::Parse(type).ValueOrDie(), {}, {}});
  }
  AssignFieldIds(&fields);
  return fields;
}

using Options = std::map<std::string, std::string>;

TEST(FileIndexSpecs, ComeFromTheOptions) {
  const auto fields = Fields();
  ASSERT_OK_AND_ASSIGN(auto specs,
                       ParseFileIndexSpecs({{"file-index.bloom-filter.columns", "a, m[k],m[j]"},
                                            {"file-index.bitmap.columns", "a,x[y]"},
                                            {"file-index.bloom-filter.m.items", "20"},
                                            {"file-index.bloom-filter.m[k].items", "10"},
                                            {"file-index.bloom-filter.m[k].fpp", "0.2"},
                                            {"file-index.bitmap.a.version", "1"},
                                            {"file-index.bitmap.z.version", "7"},
                                            {"file-index.in-manifest-threshold", "1 kb"}},
                                           fields));
  ASSERT_EQ(specs.size(), 5u);
  EXPECT_EQ(specs[0].name, "m[j]");
  EXPECT_EQ(specs[0].map_key, "j");
  EXPECT_EQ(specs[0].options, (IndexOptions{{"items", "20"}}));
  EXPECT_EQ(specs[1].name, "m[k]");
  EXPECT_EQ(specs[1].options, (IndexOptions{{"items", "10"}, {"fpp", "0.2"}}));
  EXPECT_EQ(specs[2].name, "a");
  EXPECT_EQ(specs[2].type, &BitmapIndex());
  EXPECT_EQ(specs[2].options, (IndexOptions{{"version", "1"}}));
  EXPECT_EQ(specs[3].type, &BloomFilterIndex());
  EXPECT_EQ(specs[4].name, "x[y]");
  EXPECT_FALSE(specs[4].map_key);
}

TEST(FileIndexSpecs, WrongOptionsAreNamed) {
  const auto parse = [](Options options) {
    return ParseFileIndexSpecs(options, Fields()).status();
  };
  EXPECT_THAT(parse({{"file-index.bitmap.columns", "none"}}),
              HasError(ErrorCode::kNone, "unknown column 'none'"));
  EXPECT_THAT(parse({{"file-index.btree.columns", "id"}}),
              HasError(ErrorCode::kUnsupported, "file index type 'btree'"));
  EXPECT_THAT(parse({{"file-index.bsi.columns", "a"}}),
              HasError(ErrorCode::kUnsupported, "bsi index of column 'a'"));
  EXPECT_THAT(parse({{"file-index.bsi.columns", "m"}}),
              HasError(ErrorCode::kUnsupported, "bsi index of column 'm'"));
  EXPECT_THAT(parse({{"file-index.bsi.columns", "b[1]"}}),
              HasError(ErrorCode::kNone, "no MAP with string keys"));
  EXPECT_THAT(parse({{"file-index.bitmap.columns", "a"}, {"file-index.bitmap.a.version", "3"}}),
              HasError(ErrorCode::kNone, "version"));
  EXPECT_THAT(
      parse({{"file-index.bloom-filter.columns", "a"}, {"file-index.bloom-filter.a.fpp", "-1"}}),
      HasError(ErrorCode::kNone, "bloom-filter index of column 'a'"));
}

/// The rows of a table that Java 1.4.2 wrote with indexes on keys of a map.
std::shared_ptr<arrow::RecordBatch> MapRows(const std::vector<DataField>& fields) {
  auto schema = ToArrowSchema(fields).ValueOrDie();
  std::unique_ptr<arrow::RecordBatchBuilder> builder =
      arrow::RecordBatchBuilder::Make(schema, arrow::default_memory_pool()).ValueOrDie();
  const std::vector<std::optional<std::vector<std::pair<std::string, std::optional<int>>>>> maps = {
      {{{"k", 5}, {"y", 2}}},
      std::nullopt,
      {{{"j", 1}}},
      {{{"k", std::nullopt}}},
      {{{"k", 7}, {"x", 9}}}};
  const char* const z[] = {"q", nullptr, "q", "q", "q"};
  const char* const a[] = {"r", "s", "r", "t", "t"};
  for (int row = 0; row < 5; ++row) {
    ARROW_CHECK_OK(builder->GetFieldAs<arrow::Int32Builder>(0)->Append(row + 1));
    auto* map = builder->GetFieldAs<arrow::MapBuilder>(1);
    if (maps[row]) {
      ARROW_CHECK_OK(map->Append());
      for (const auto& [key, value] : *maps[row]) {
        ARROW_CHECK_OK(static_cast<arrow::StringBuilder*>(map->key_builder())->Append(key));
        auto* items = static_cast<arrow::Int32Builder*>(map->item_builder());
        ARROW_CHECK_OK((value ? items->Append(*value) : items->AppendNull()));
      }
    } else {
      ARROW_CHECK_OK(map->AppendNull());
    }
    ARROW_CHECK_OK(builder->GetField(2)->AppendNull());
    auto* text = builder->GetFieldAs<arrow::StringBuilder>(3);
    ARROW_CHECK_OK((z[row] ? text->Append(z[row]) : text->AppendNull()));
    ARROW_CHECK_OK(builder->GetFieldAs<arrow::StringBuilder>(4)->Append(a[row]));
    ARROW_CHECK_OK(builder->GetField(5)->AppendNull());
  }
  return builder->Flush().ValueOrDie();
}

/// The container of Java 1.4.2 for these rows; its columns follow a hash map.
constexpr std::string_view kJavaContainer =
    "00054e4ed01a35ae00000001000000de0000000600046d5b785d0000000100066269746d6170000000de000000"
    "410001610000000100066269746d61700000011f0000006e00046d5b6b5d00000003000c626c6f6f6d2d66696c"
    "7465720000018d0000000a00066269746d617000000197000000540003627369000001eb0000006a00076d5b6e"
    "6f6e655d00000001000c626c6f6f6d2d66696c746572000002550000001000017a0000000100066269746d6170"
    "000002650000004c0002696400000001000c626c6f6f6d2d66696c746572000002b10000000a00000000020000"
    "00050000000101000000000000000f000000010000000900000000000000100000000100000009fffffffbffff"
    "ffff3b300000010000030001000000030002000000050000000300000000010000000172000000000000002b00"
    "000003000000017200000000000000140000000173fffffffeffffffff000000017400000014000000143a3000"
    "00010000000000010010000000000002003a3000000100000000000100100000000300040000000003100080a0"
    "00050200000005000000020100000000000000160000000100000005000000000000001c0000000200000005ff"
    "ffffffffffffff00000007fffffffbffffffff3a30000001000000000002001000000001000200030001000000"
    "050101000000000000000000000000000000073a30000001000000000001001000000000000400000000033a30"
    "0000010000000000010010000000000004003a30000001000000000000001000000004003a3000000100000000"
    "0001001000000000000400000000000300000000000000000000000002000000050000000101fffffffe000000"
    "12000000010000000171000000000000001100000001000000017100000000000000183a300000010000000000"
    "03001000000000000200030004000000000389282170c005";

TEST(FileIndexWriter, KeysOfMaps) {
  const auto fields = Fields();
  ASSERT_OK_AND_ASSIGN(const auto specs,
                       ParseFileIndexSpecs({{"file-index.bitmap.columns", "m[k],m[x],z,a"},
                                            {"file-index.bsi.columns", "m[k]"},
                                            {"file-index.bloom-filter.columns", "m[k],m[none],id"},
                                            {"file-index.bloom-filter.m[k].items", "10"},
                                            {"file-index.bloom-filter.m.items", "20"},
                                            {"file-index.bloom-filter.id.items", "10"}},
                                           fields));
  ASSERT_OK_AND_ASSIGN(auto writer, FileIndexWriter::Make(&specs));
  const auto batch = MapRows(fields);
  ASSERT_OK(writer->Write(*batch->Slice(0, 2)));
  ASSERT_OK(writer->Write(*batch->Slice(2)));
  EXPECT_GT(writer->BufferedBytes(), 0);
  ASSERT_OK_AND_ASSIGN(const std::string bytes, writer->Finish());
  ASSERT_OK_AND_ASSIGN(auto container,
                       IndexContainer::Open(IndexInput::FromMemory(bytes, "written")));
  const std::string java = FromHex(kJavaContainer).ValueOrDie();
  ASSERT_OK_AND_ASSIGN(auto expected, IndexContainer::Open(IndexInput::FromMemory(java, "java")));
  EXPECT_EQ(bytes.size(), java.size());
  ASSERT_EQ(container.places().size(), expected.places().size());
  for (const auto& place : container.places()) {
    SCOPED_TRACE(place.column + " " + place.type);
    bool found = false;
    for (const auto& other : expected.places()) {
      if (other.column != place.column || other.type != place.type) continue;
      found = true;
      const auto mine = container.Blob(place).Read(0, place.length).ValueOrDie();
      const auto theirs = expected.Blob(other).Read(0, other.length).ValueOrDie();
      EXPECT_EQ(ToHex(std::string_view(*mine)), ToHex(std::string_view(*theirs)));
    }
    EXPECT_TRUE(found);
  }

  const IndexedColumnResolver resolver =
      [](const std::vector<std::string>& path) -> std::optional<IndexedColumn> {
    return IndexedColumn{path[0] + "[" + path[1] + "]", DataType(TypeRoot::kInt)};
  };
  const auto ask = [&](const PredicatePtr& predicate) {
    return RowsOf(SelectIndexedRows(expected, *predicate, resolver, 5).ValueOrDie());
  };
  EXPECT_EQ(ask(Leaf(PredicateOp::kEq, {"m", "k"}, {arrow::MakeScalar(int32_t{7})})), Rows{4});
  EXPECT_EQ(ask(Leaf(PredicateOp::kGe, {"m", "k"}, {arrow::MakeScalar(int32_t{5})})), (Rows{0, 4}));
  EXPECT_EQ(ask(Leaf(PredicateOp::kIsNull, {"m", "x"}, {})), (Rows{0, 1, 2, 3}));
  EXPECT_EQ(ask(Leaf(PredicateOp::kEq, {"m", "none"}, {arrow::MakeScalar(int32_t{7})})), Rows{});
}

TEST(MapValues, TakeTheLastOfEqualKeysAndSlices) {
  const auto type = ToArrowType(DataType::Parse("MAP<STRING, INT>").ValueOrDie()).ValueOrDie();
  auto made = arrow::MakeBuilder(type).ValueOrDie();
  auto* map = static_cast<arrow::MapBuilder*>(made.get());
  auto* keys = static_cast<arrow::StringBuilder*>(map->key_builder());
  auto* items = static_cast<arrow::Int32Builder*>(map->item_builder());
  for (int row = 0; row < 3; ++row) {
    ASSERT_OK(map->Append());
    for (int i = 0; i < 2; ++i) {
      ASSERT_OK(keys->Append("k"));
      ASSERT_OK(items->Append(10 * row + i));
    }
  }
  ASSERT_OK_AND_ASSIGN(auto maps, made->Finish());
  ASSERT_OK_AND_ASSIGN(auto values,
                       MapValues(static_cast<const arrow::MapArray&>(*maps->Slice(1)), "k"));
  ASSERT_EQ(values->length(), 2);
  EXPECT_EQ(static_cast<const arrow::Int32Array&>(*values).Value(0), 11);
  EXPECT_EQ(static_cast<const arrow::Int32Array&>(*values).Value(1), 21);
}

}  // namespace
}  // namespace kelda
