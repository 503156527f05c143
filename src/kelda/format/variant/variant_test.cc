#include <fstream>

#include <arrow/api.h>
#include <arrow/json/from_string.h>
#include <arrow/util/decimal.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "kelda/base/test_matchers.h"
#include "kelda/format/parquet/parquet_test_util.h"
#include "kelda/format/variant/variant_json.h"
#include "kelda/format/variant/variant_path.h"
#include "kelda/format/variant/variant_shredding.h"

namespace kelda {
namespace {

using parquet_test::Unwrap;
using ::testing::HasSubstr;
using Json = nlohmann::ordered_json;

std::string ToHex(std::string_view bytes) {
  std::string hex;
  for (const char c : bytes) hex += fmt::format("{:02x}", static_cast<uint8_t>(c));
  return hex;
}

std::string FromHex(std::string_view hex) {
  std::string bytes;
  for (size_t i = 0; i + 1 < hex.size(); i += 2) {
    bytes += static_cast<char>(std::stoi(std::string(hex.substr(i, 2)), nullptr, 16));
  }
  return bytes;
}

/// Lines of the facts about Java; see tests/data/README.md.
std::vector<Json> JavaFacts() {
  std::ifstream file(std::string(KELDA_TEST_DATA) + "/variant/java.jsonl");
  std::vector<Json> facts;
  for (std::string line; std::getline(file, line);) facts.push_back(Json::parse(line));
  EXPECT_GT(facts.size(), 200U);
  return facts;
}

struct Owned {
  std::string value;
  std::string metadata;
  VariantBytes bytes() const { return {value, metadata}; }
};

arrow::Result<Owned> Build(std::string_view json) {
  VariantBuilder builder;
  ARROW_RETURN_NOT_OK(AppendJson(json, &builder));
  ARROW_ASSIGN_OR_RAISE(const std::string_view value, builder.value());
  return Owned{std::string(value), std::string(builder.metadata())};
}

std::shared_ptr<arrow::Array> ColumnOf(const std::vector<std::optional<Owned>>& values) {
  const auto type = Unwrap(ToArrowType(DataType(TypeRoot::kVariant)));
  auto builder = Unwrap(arrow::MakeBuilder(type));
  auto* rows = static_cast<arrow::StructBuilder*>(builder.get());
  for (const auto& value : values) {
    if (!value) {
      EXPECT_OK(rows->AppendNull());
      continue;
    }
    EXPECT_OK(rows->Append());
    EXPECT_OK(static_cast<arrow::BinaryBuilder*>(rows->field_builder(0))->Append(value->value));
    EXPECT_OK(static_cast<arrow::BinaryBuilder*>(rows->field_builder(1))->Append(value->metadata));
  }
  return Unwrap(builder->Finish());
}

/// A shredded value as the facts have it.
std::string Show(const arrow::Array& array, int64_t i) {
  if (array.IsNull(i)) return "null";
  std::string text;
  switch (array.type_id()) {
    case arrow::Type::STRUCT: {
      const auto& row = static_cast<const arrow::StructArray&>(array);
      for (int k = 0; k < row.num_fields(); ++k) {
        text += (k > 0 ? ", " : "(") + Show(*row.field(k), i);
      }
      return text + ")";
    }
    case arrow::Type::LIST: {
      const auto& list = static_cast<const arrow::ListArray&>(array);
      for (int64_t k = list.value_offset(i); k < list.value_offset(i + 1); ++k) {
        text += (k > list.value_offset(i) ? ", " : "") + Show(*list.values(), k);
      }
      return "[" + text + "]";
    }
    case arrow::Type::BINARY:
      return "x" + ToHex(static_cast<const arrow::BinaryArray&>(array).GetView(i));
    case arrow::Type::FLOAT:
    case arrow::Type::DOUBLE:
      text = Unwrap(array.GetScalar(i))->ToString();
      return text.find('.') == std::string::npos ? text + ".0" : text;
    default:
      return Unwrap(array.GetScalar(i))->ToString();
  }
}

TEST(Variant, JsonTextsAsJava) {
  int checked = 0;
  for (const Json& fact : JavaFacts()) {
    if (!fact.contains("json") || fact.contains("type")) continue;
    const std::string json = fact["json"];
    SCOPED_TRACE(json);
    ++checked;
    const auto built = Build(json);
    if (fact.contains("fails")) {
      EXPECT_TRUE(built.status().IsInvalid());
      continue;
    }
    ASSERT_OK(built);
    EXPECT_EQ(ToHex(built->value), fact["value"].get<std::string>());
    EXPECT_EQ(ToHex(built->metadata), fact["metadata"].get<std::string>());
    EXPECT_EQ(Unwrap(VariantToJson(built->bytes())), fact["back"].get<std::string>());
  }
  EXPECT_GT(checked, 70);
}

TEST(Variant, EveryTypeAsJsonAsJava) {
  int checked = 0;
  const std::string metadata = FromHex("010000");
  for (const Json& fact : JavaFacts()) {
    if (fact.contains("json") || fact.contains("type")) continue;
    const std::string hex = fact["value"];
    SCOPED_TRACE(hex);
    ++checked;
    const auto json = VariantToJson({FromHex(hex), metadata});
    if (fact.contains("fails")) {
      EXPECT_TRUE(IsCorruption(json.status()));
      EXPECT_THAT(json.status().message(), HasSubstr("malformed VARIANT"));
    } else {
      ASSERT_OK(json);
      EXPECT_EQ(*json, fact["back"].get<std::string>());
    }
  }
  EXPECT_GT(checked, 40);
}

TEST(Variant, TextAfterTheValueIsRefused) {
  for (const char* json : {"1 2", "{\"a\":1} x", "true false", "[]]"}) {
    const auto status = Build(json).status();
    EXPECT_TRUE(status.IsInvalid()) << json;
    EXPECT_THAT(status.message(), HasSubstr("text after the value"));
  }
  EXPECT_THAT(Build("{\"a\": tru}").status().message(), HasSubstr("character 7"));
  EXPECT_THAT(Build("\"a\nb\"").status().message(), HasSubstr("control character"));
  EXPECT_THAT(Build("\"a").status().message(), HasSubstr("does not end"));
  EXPECT_THAT(Build("\"\\x\"").status().message(), HasSubstr("unknown escape"));
  EXPECT_THAT(Build("\"\\u12g4\"").status().message(), HasSubstr("hexadecimal"));
}

TEST(Variant, LargeAndDeep) {
  std::string array = "[";
  std::string object = "{";
  for (int i = 0; i < 70000; ++i) {
    array += fmt::format("{}{}", i > 0 ? "," : "", i);
    object += fmt::format("{}\"key{:06}\":{}", i > 0 ? "," : "", i, i);
  }
  for (const std::string& json : {array + "]", object + "}"}) {
    const Owned built = Unwrap(Build(json));
    EXPECT_EQ(Unwrap(VariantToJson(built.bytes())), json);
  }
  const Owned big = Unwrap(Build(object + "}"));
  for (const int i : {0, 1, 40000, 69999}) {
    const auto found =
        Unwrap(Unwrap(VariantPath::Parse(fmt::format("$.key{:06}", i))).Get(big.bytes()));
    ASSERT_TRUE(found.has_value());
    EXPECT_EQ(found->integer(), i);
  }
  EXPECT_FALSE(Unwrap(Unwrap(VariantPath::Parse("$.key07")).Get(big.bytes())).has_value());
  const std::string deep = std::string(1000, '[') + std::string(1000, ']');
  EXPECT_EQ(Unwrap(VariantToJson(Unwrap(Build(deep)).bytes())), deep);
  const auto status = Build("[" + deep + "]").status();
  EXPECT_THAT(status.message(), HasSubstr("nested too deep"));
}

TEST(Variant, KeysAreOrderedAsUtf16) {
  EXPECT_LT(CompareVariantKeys("a", "b"), 0);
  EXPECT_LT(CompareVariantKeys("a", "ab"), 0);
  EXPECT_EQ(CompareVariantKeys("ab", "ab"), 0);
  EXPECT_LT(CompareVariantKeys("é", "日"), 0);
  EXPECT_LT(CompareVariantKeys("😀", "￮"), 0);
  EXPECT_LT(CompareVariantKeys("日", "😀"), 0);
  EXPECT_GT(CompareVariantKeys("\xee\x80\x80", "😀"), 0);
}

TEST(Variant, PathsAsJava) {
  const Owned variant =
      Unwrap(Build(R"({"a":{"b":1},"arr":[{"k":7},2],"a b":3,"x'y":4,"é":5,"":6,"a\"b":8})"));
  const std::pair<const char*, const char*> found[] = {{"$.a", "{\"b\":1}"},
                                                       {"$.a.b", "1"},
                                                       {"$.arr[0]", "{\"k\":7}"},
                                                       {"$['a']", "{\"b\":1}"},
                                                       {"$[\"a\"]", "{\"b\":1}"},
                                                       {"$['a b']", "3"},
                                                       {"$.a b", "3"},
                                                       {"$[\"x'y\"]", "4"},
                                                       {"$['a'].b", "1"},
                                                       {"$.arr[0].k", "7"},
                                                       {"$.é", "5"},
                                                       {"$.a\"b", "8"},
                                                       {"$['a\"b']", "8"},
                                                       {"$.arr[1]", "2"}};
  const VariantKeys keys = Unwrap(VariantKeys::Make(variant.metadata));
  for (const auto& [path, json] : found) {
    const auto value = Unwrap(Unwrap(VariantPath::Parse(path)).Get(variant.bytes()));
    ASSERT_TRUE(value.has_value()) << path;
    std::string text;
    ASSERT_OK(AppendVariantJson(*value, keys, &text));
    EXPECT_EQ(text, json) << path;
  }
  for (const char* path : {"$.arr[5]", "$.missing", "$.a[0]", "$[0]", "$.a.b.c"}) {
    EXPECT_FALSE(Unwrap(Unwrap(VariantPath::Parse(path)).Get(variant.bytes())).has_value()) << path;
  }
  for (const char* path : {"a", "$.", "$..a", "$.arr[-1]", "$.arr[x]", "$['']", "", "$a", "$[",
                           "$['a'", "$[1", "$.arr[99999999999]", "$['a\"]"}) {
    EXPECT_TRUE(VariantPath::Parse(path).status().IsInvalid()) << path;
  }
}

TEST(Variant, ColumnsOfJson) {
  arrow::StringBuilder texts;
  ASSERT_OK(
      texts.AppendValues({"{\"a\":1}", "", "[1.50]"}, reinterpret_cast<const uint8_t*>("\1\0\1")));
  const auto column = Unwrap(VariantsFromJson(*Unwrap(texts.Finish())));
  ASSERT_OK(column->ValidateFull());
  EXPECT_EQ(column->null_count(), 1);
  const auto back = Unwrap(VariantsToJson(*column->Slice(1)));
  EXPECT_TRUE(back->IsNull(0));
  EXPECT_EQ(static_cast<const arrow::StringArray&>(*back).GetView(1), "[1.5]");
  arrow::StringBuilder bad;
  ASSERT_OK(bad.AppendValues({"1", "nul"}));
  EXPECT_THAT(VariantsFromJson(*Unwrap(bad.Finish())).status().message(), HasSubstr("row 1"));
}

TEST(VariantShredding, AsJava) {
  int checked = 0;
  for (const Json& fact : JavaFacts()) {
    if (!fact.contains("type")) continue;
    SCOPED_TRACE(fact.dump());
    ++checked;
    const auto form = ShreddedType(Unwrap(DataType::FromJson(fact["type"])));
    if (fact.contains("fails")) {
      EXPECT_TRUE(form.status().IsInvalid());
      EXPECT_THAT(form.status().message(), HasSubstr("cannot be shredded into"));
      continue;
    }
    ASSERT_OK(form);
    const Owned variant = fact.contains("bytes")
                              ? Owned{FromHex(fact["bytes"].get<std::string>()), FromHex("010000")}
                              : Unwrap(Build(fact["json"].get<std::string>()));
    const auto column = ColumnOf({std::nullopt, variant, std::nullopt});
    const auto shredded = Unwrap(ShredVariants(*column, *form));
    ASSERT_OK(shredded->ValidateFull());
    EXPECT_TRUE(shredded->IsNull(0) && shredded->IsNull(2));
    EXPECT_EQ(Show(*shredded, 1), fact["row"].get<std::string>());
    const auto rebuilt = Unwrap(RebuildVariants(*shredded->Slice(1)));
    ASSERT_OK(rebuilt->ValidateFull());
    EXPECT_TRUE(rebuilt->IsNull(1));
    const auto& rows = static_cast<const arrow::StructArray&>(*rebuilt);
    const auto view = [&](int k) {
      return ToHex(static_cast<const arrow::BinaryArray&>(*rows.field(k)).GetView(0));
    };
    EXPECT_EQ(view(0), fact["value"].get<std::string>());
    EXPECT_EQ(view(1), fact["metadata"].get<std::string>());
  }
  EXPECT_GT(checked, 100);
}

TEST(VariantShredding, SchemaOfTheOption) {
  const auto forms = Unwrap(ParseShreddingSchema(
      R"({"type":"ROW","fields":[{"name":"v","type":{"type":"ROW","fields":[{"name":"a",)"
      R"("type":"INT"}]}},{"name":"w","type":"VARIANT"}]})"));
  ASSERT_EQ(forms.size(), 1U);
  EXPECT_EQ(forms.at("v").ToString(),
            "ROW<metadata BYTES NOT NULL, value BYTES, typed_value ROW<a ROW<value BYTES, "
            "typed_value INT> NOT NULL>>");
  for (const char* bad : {"", "{", "1", "\"INT\"", "{\"type\":\"ROW\"}",
                          R"({"type":"ROW","fields":[{"name":"v","type":"DATE"}]})"}) {
    EXPECT_FALSE(ParseShreddingSchema(bad).ok()) << bad;
  }
}

TEST(VariantShredding, ForeignForms) {
  // No value at all, no typed value, dates and timestamps; nothing stands for null.
  const auto column = [](const std::shared_ptr<arrow::Field>& typed, std::string_view json) {
    const auto type = arrow::struct_({arrow::field("metadata", arrow::binary(), false), typed});
    return Unwrap(arrow::json::ArrayFromJSONString(type, json));
  };
  const auto json = [](const arrow::Array& shredded) {
    return Unwrap(VariantsToJson(*Unwrap(RebuildVariants(shredded))))->ToString();
  };
  const std::string keys = std::string("\\u0001\\u0000\\u0000");
  EXPECT_THAT(json(*column(arrow::field("typed_value", arrow::date32()),
                           "[[\"" + keys + "\", 3], [\"" + keys + "\", null]]")),
              HasSubstr("\"\"1970-01-04\"\",\n  \"null\""));
  EXPECT_THAT(
      json(*column(arrow::field("typed_value", arrow::timestamp(arrow::TimeUnit::MILLI, "UTC")),
                   "[[\"" + keys + "\", 5]]")),
      HasSubstr("1970-01-01 00:00:00.005+00:00"));
  EXPECT_THAT(json(*column(arrow::field("typed_value", arrow::timestamp(arrow::TimeUnit::MICRO)),
                           "[[\"" + keys + "\", 5]]")),
              HasSubstr("1970-01-01 00:00:00.000005"));
  const auto far = column(arrow::field("typed_value", arrow::timestamp(arrow::TimeUnit::MILLI)),
                          "[[\"" + keys + "\", 9223372036854775807]]");
  EXPECT_TRUE(IsCorruption(RebuildVariants(*far).status()));
  EXPECT_TRUE(IsUnsupported(
      RebuildVariants(*column(arrow::field("typed_value", arrow::time32(arrow::TimeUnit::MILLI)),
                              "[[\"" + keys + "\", 1]]"))
          .status()));
}

TEST(VariantShredding, ThroughParquet) {
  std::vector<DataField> fields = {parquet_test::Field(0, "id", DataType(TypeRoot::kInt)),
                                   parquet_test::Field(1, "v", DataType(TypeRoot::kVariant)),
                                   parquet_test::Field(2, "w", DataType(TypeRoot::kVariant))};
  const char* const texts[] = {R"({"age":35,"city":"Chicago"})",
                               R"({"age":"old","city":"Berlin","other":[1,2]})",
                               "[1,2]",
                               R"({"city":null,"tags":["a","b",3]})",
                               "{}",
                               R"({"age":3000000000,"extra":{"k":"v"},"tags":["x",null,[]]})",
                               "7",
                               "null"};
  std::vector<std::optional<Owned>> values;
  arrow::Int32Builder ids;
  for (int i = 0; i < 500; ++i) {
    ASSERT_OK(ids.Append(i));
    if (i % 9 == 8) {
      values.push_back(std::nullopt);
    } else {
      values.push_back(Unwrap(Build(texts[i % 9])));
    }
  }
  const auto variants = ColumnOf(values);
  const auto schema = Unwrap(ToArrowSchema(fields));
  const auto batch =
      arrow::RecordBatch::Make(schema, 500, {Unwrap(ids.Finish()), variants, variants});
  WriterOptions options;
  options.format_options["parquet.variant.shreddingSchema"] =
      R"({"type":"ROW","fields":[{"name":"v","type":{"type":"ROW","fields":[{"name":"age","type":)"
      R"("INT"},{"name":"city","type":"STRING"},{"name":"tags","type":{"type":"ARRAY","element":)"
      R"("STRING"}}]}}]})";
  auto io = MakeMemoryFileIO();
  const auto written = parquet_test::WriteFile(*io, "/f.parquet", fields,
                                               {batch->Slice(0, 100), batch->Slice(100)}, options);
  EXPECT_EQ(written.stats[1].null_count, std::nullopt);
  ReadOptions read;
  read.columns = fields;
  read.batch_rows = 77;
  const auto back = parquet_test::ReadFile(*io, "/f.parquet", read).table;
  const auto expected = Unwrap(VariantsToJson(*variants));
  for (const int column : {1, 2}) {
    const auto got = Unwrap(VariantsToJson(*parquet_test::Whole(*back, column)));
    EXPECT_TRUE(got->Equals(expected)) << got->Diff(*expected);
  }
  options.format_options["parquet.variant.shreddingSchema"] = "[]";
  const auto status =
      FindFormat("parquet").ValueOrDie()->CreateWriter(*io, "/g.parquet", fields, options).status();
  EXPECT_TRUE(status.IsInvalid());
  EXPECT_THAT(status.message(), HasSubstr("parquet.variant.shreddingSchema"));
}

TEST(VariantHostile, EveryByteOfASmallValue) {
  const Owned variant =
      Unwrap(Build(R"({"a":[1,2.5,"text",null,true],"b":{"c":{"d":1e300}},"long":")" +
                   std::string(70, 'x') + "\"}"));
  const auto form = Unwrap(ShreddedType(
      Unwrap(DataType::Parse("ROW<a ARRAY<DECIMAL(10, 2)>, b ROW<c ROW<d DOUBLE>>>"))));
  int refused = 0;
  const auto probe = [&](const Owned& damaged) {
    const auto json = VariantToJson(damaged.bytes());
    refused += !json.ok();
    EXPECT_TRUE(json.ok() || IsCorruption(json.status())) << json.status().ToString();
    const auto shredded = ShredVariants(*ColumnOf({damaged}), form);
    if (shredded.ok()) IgnoreError(RebuildVariants(**shredded).status(), "it must not crash");
    IgnoreError(Unwrap(VariantPath::Parse("$.b.c.d")).Get(damaged.bytes()).status(),
                "it must not crash");
  };
  for (std::string Owned::* part : {&Owned::value, &Owned::metadata}) {
    for (size_t at = 0; at < (variant.*part).size(); ++at) {
      for (const int change : {1, 2, 4, 0x10, 0x80, 0xff}) {
        Owned damaged = variant;
        (damaged.*part)[at] = static_cast<char>((damaged.*part)[at] ^ change);
        probe(damaged);
      }
      Owned cut = variant;
      (cut.*part).resize(at);
      probe(cut);
    }
  }
  EXPECT_GT(refused, 200);
}

TEST(VariantHostile, FewBytesDoNotMakeMany) {
  // Forty arrays inside each other, each with 255 times the same element.
  std::string value = FromHex("00");
  for (int i = 0; i < 40; ++i) {
    std::string array = FromHex("0fff");  // offsets of four bytes
    for (int k = 0; k < 255; ++k) array += std::string(4, '\0');
    const auto size = static_cast<uint32_t>(value.size());
    array += std::string(reinterpret_cast<const char*>(&size), 4);
    value = array + value;
  }
  EXPECT_TRUE(IsCorruption(VariantToJson({value, FromHex("010000")}).status()));
  VariantBuilder builder;
  const std::string no_keys = FromHex("010000");
  const VariantKeys keys = Unwrap(VariantKeys::Make(no_keys));
  EXPECT_FALSE(builder.AppendVariant(Unwrap(VariantValue::Parse(value)), keys).ok());
}

}  // namespace
}  // namespace kelda
