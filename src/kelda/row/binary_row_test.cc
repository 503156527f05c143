#include "kelda/row/binary_row.h"

#include <limits>
#include <random>

#include <arrow/api.h>
#include <arrow/array/util.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "kelda/base/bytes.h"
#include "kelda/base/murmur3.h"
#include "kelda/row/bucket_function.h"
#include "kelda/row/row_test_values.h"
#include "kelda/types/arrow_mapping.h"

namespace kelda {
namespace {

using Json = nlohmann::ordered_json;
using Scalars = std::vector<std::shared_ptr<arrow::Scalar>>;

std::vector<DataType> Types(std::initializer_list<const char*> texts) {
  std::vector<DataType> types;
  for (const char* text : texts) types.push_back(DataType::Parse(text).ValueOrDie());
  return types;
}

Scalars Values(const std::vector<DataType>& types, const char* json) {
  const Json values = Json::parse(json);
  Scalars scalars;
  for (size_t i = 0; i < types.size(); ++i) scalars.push_back(ScalarFromJson(types[i], values[i]));
  return scalars;
}

std::string Encode(const std::vector<DataType>& types, const Scalars& values) {
  auto row = EncodeBinaryRow(types, values);
  EXPECT_TRUE(row.ok()) << row.status();
  return row.ValueOr("");
}

std::string Bytes(std::string hex) {
  std::erase(hex, ' ');
  return FromHex(hex).ValueOrDie();
}

bool SameScalar(const arrow::Scalar& a, const arrow::Scalar& b) {
  return a.Equals(b, arrow::EqualOptions::Defaults().nans_equal(true).signed_zeros_equal(false));
}

struct Example {
  std::initializer_list<const char*> types;
  const char* values;
  const char* hex;
  int32_t hash;
};

TEST(BinaryRow, BytesAndHashes) {
  const Example examples[] = {
      {{}, "[]", "0000000000000000", -1670924195},
      {{"INT", "STRING", "INT"},
       R"([1,"abc",null])",
       "0004000000000000 0100000000000000 6162630000000083 0000000000000000",
       -549791434},
      {{"INT"}, "[1]", "0000000000000000 0100000000000000", 1465514398},
      {{"BIGINT"}, "[1]", "0000000000000000 0100000000000000", 1465514398},
      {{"INT"}, "[-1]", "0000000000000000 ffffffff00000000", 1133687267},
      {{"STRING"}, R"([""])", "0000000000000000 0000000000000080", 302122119},
      {{"STRING"}, R"(["abc"])", "0000000000000000 6162630000000083", -101922419},
      {{"STRING"}, R"(["abcdefg"])", "0000000000000000 6162636465666787", -1431907323},
      {{"STRING"},
       R"(["abcdefgh"])",
       "0000000000000000 0800000010000000 6162636465666768",
       -843760178},
      {{"STRING"},
       R"(["hello world"])",
       "0000000000000000 0b00000010000000 68656c6c6f20776f 726c640000000000",
       161593394},
      {{"INT", "STRING", "BIGINT"},
       R"([1,"hello world",3])",
       "0000000000000000 0100000000000000 0b00000020000000 0300000000000000 68656c6c6f20776f "
       "726c640000000000",
       -505497714},
      {{"STRING"},
       R"(["20240514"])",
       "0000000000000000 0800000010000000 3230323430353134",
       -1422800034},
      {{"DECIMAL(10, 2)"}, R"(["123.45"])", "0000000000000000 3930000000000000", 767607022},
      {{"DECIMAL(20, 2)"},
       R"(["123.45"])",
       "0000000000000000 0200000010000000 3039000000000000 0000000000000000",
       -118192725},
      {{"DECIMAL(20, 2)"},
       R"(["-1.00"])",
       "0000000000000000 0100000010000000 9c00000000000000 0000000000000000",
       -2092338868},
      {{"DECIMAL(20, 2)"},
       "[null]",
       "0001000000000000 0000000010000000 0000000000000000 0000000000000000",
       -1380280760},
      {{"DECIMAL(10, 2)"}, "[null]", "0001000000000000 0000000000000000", -1748325344},
      {{"TIMESTAMP(3)"},
       R"(["1970-01-01T00:00:01.000"])",
       "0000000000000000 e803000000000000",
       18631685},
      {{"TIMESTAMP(6)"},
       R"(["1970-01-01T00:00:01.000500"])",
       "0000000000000000 20a1070010000000 e803000000000000",
       1454163277},
      {{"TIMESTAMP(6)"},
       "[null]",
       "0001000000000000 0000000010000000 0000000000000000",
       -340882661},
      {{"BOOLEAN", "TINYINT", "SMALLINT", "FLOAT", "DOUBLE"},
       "[true,-1,2,1.5,-2.5]",
       "0000000000000000 0100000000000000 ff00000000000000 0200000000000000 0000c03f00000000 "
       "00000000000004c0",
       -1034232176},
      {{"DATE"}, R"(["2024-05-14"])", "0000000000000000 914d000000000000", 1806713378},
      {{"BYTES"}, R"(["0102"])", "0000000000000000 0102000000000082", -308248439},
      {{"ARRAY<BIGINT>"},
       "[[1,null,3]]",
       "0000000000000000 2000000010000000 0300000002000000 0100000000000000 0000000000000000 "
       "0300000000000000",
       108875456},
      {{"ARRAY<STRING>"},
       R"([["a","hello world"]])",
       "0000000000000000 2800000010000000 0200000000000000 6100000000000081 0b00000018000000 "
       "68656c6c6f20776f "
       "726c640000000000",
       -828669003},
      {{"MAP<STRING, INT>"},
       R"([[["k",7]]])",
       "0000000000000000 2400000010000000 1000000001000000 000000006b000000 0000008101000000 "
       "0000000007000000 "
       "0000000000000000",
       1122452947},
      {{"ROW<a INT, b STRING>"},
       R"([{"a":5,"b":"x"}])",
       "0000000000000000 1800000010000000 0000000000000000 0500000000000000 7800000000000081",
       1858064785},
      // spec 02 §11.1
      {{"INT"}, "[0]", "0000000000000000 0000000000000000", -300363099},
      {{"INT"}, "[2]", "0000000000000000 0200000000000000", 1340390384},
      {{"INT"}, "[3]", "0000000000000000 0300000000000000", -771300025},
      {{"INT"}, "[null]", "0001000000000000 0000000000000000", -1748325344},
      {{"BIGINT"}, "[-1]", "0000000000000000 ffffffffffffffff", -821098432},
      {{"STRING"}, R"(["a"])", "0000000000000000 6100000000000081", 943281246},
      {{"DECIMAL(38, 18)"},
       "[null]",
       "0001000000000000 0000000010000000 0000000000000000 0000000000000000",
       -1380280760},
      {{"TIMESTAMP(6)"},
       R"(["1970-01-01T00:00:01.000123"])",
       "0000000000000000 78e0010010000000 e803000000000000",
       // 123000 ns, the vector with 123456 ns is below
       MurmurHash(Bytes("0000000000000000 78e0010010000000 e803000000000000"))},
      {{"TIMESTAMP(9)"},
       R"(["1970-01-01T00:00:01.000123456"])",
       "0000000000000000 40e2010010000000 e803000000000000",
       -2057981001},
  };
  for (const Example& example : examples) {
    SCOPED_TRACE(example.hex);
    const auto types = Types(example.types);
    const auto values = Values(types, example.values);
    const std::string row = Encode(types, values);
    EXPECT_EQ(ToHex(row), ToHex(Bytes(example.hex)));
    EXPECT_EQ(MurmurHash(row), example.hash);
    auto decoded = DecodeBinaryRow(types, row, "test");
    ASSERT_TRUE(decoded.ok()) << decoded.status();
    for (size_t i = 0; i < types.size(); ++i) EXPECT_TRUE(SameScalar(*(*decoded)[i], *values[i]));
  }
}

TEST(BinaryRow, VectorsOfJava) {
  int count = 0;
  for (const Json& line : ReadJsonLines(KELDA_TEST_DATA "/vectors/rows.jsonl")) {
    SCOPED_TRACE(line.dump().substr(0, 300));
    std::vector<DataType> types;
    Scalars values;
    for (size_t i = 0; i < line["types"].size(); ++i) {
      auto type = DataType::FromJson(line["types"][i]);
      ASSERT_TRUE(type.ok()) << type.status();
      types.push_back(*type);
      values.push_back(ScalarFromJson(*type, line["values"][i]));
    }
    const std::string row = Encode(types, values);
    EXPECT_EQ(ToHex(row), line["bytes"].get<std::string>());
    const auto arity = static_cast<int32_t>(types.size());
    EXPECT_EQ(ToHex(SerializeRow(arity, row)), line["serialized"].get<std::string>());
    EXPECT_EQ(MurmurHash(row), line["hash"].get<int32_t>());
    if (!types.empty()) {
      EXPECT_EQ(DefaultBucket(row, 7), line.at("default_of_7").get<int32_t>());
      auto hive = HiveBucket(types, values, 7);
      EXPECT_EQ(hive.ok() ? Json(*hive) : Json("error"), line.at("hive_of_7"));
    }
    if (types.size() == 1) {
      auto mod = ModBucket(types[0], *values[0], 7);
      EXPECT_EQ(mod.ok() ? Json(*mod) : Json("error"), line.at("mod_of_7"));
    }
    if (!types.empty()) {
      arrow::ArrayVector columns;
      for (const auto& value : values)
        columns.push_back(arrow::MakeArrayFromScalar(*value, 3).ValueOrDie());
      auto function = BucketFunction::Make("default", types);
      ASSERT_TRUE(function.ok()) << function.status();
      auto buckets = function->Buckets(columns, 3, 7);
      ASSERT_TRUE(buckets.ok()) << buckets.status();
      EXPECT_EQ(*buckets, std::vector<int32_t>(3, line.at("default_of_7").get<int32_t>()));
    }
    auto decoded = DecodeBinaryRow(types, row, "test");
    ASSERT_TRUE(decoded.ok()) << decoded.status();
    for (size_t i = 0; i < types.size(); ++i) {
      EXPECT_TRUE(SameScalar(*(*decoded)[i], *values[i]))
          << types[i].ToString() << " " << values[i]->ToString();
    }
    ++count;
  }
  EXPECT_GT(count, 300);
}

TEST(BinaryRow, HashOfBytes) {
  for (const Json& line : ReadJsonLines(KELDA_TEST_DATA "/vectors/hash_bytes.jsonl")) {
    EXPECT_EQ(MurmurHash(Bytes(line["bytes"])), line["hash"].get<int32_t>()) << line.dump();
  }
}

TEST(Bucket, Vectors) {
  const auto types = Types({"INT", "INT", "INT"});
  const auto values = Values(types, "[5,6,7]");
  const auto prefix = [&](size_t n) {
    return Encode({types.begin(), types.begin() + static_cast<int64_t>(n)},
                  {values.begin(), values.begin() + static_cast<int64_t>(n)});
  };
  EXPECT_EQ(MurmurHash(prefix(1)), 260196596);
  EXPECT_EQ(MurmurHash(prefix(2)), 131015827);
  EXPECT_EQ(MurmurHash(prefix(3)), 1805332940);
  EXPECT_EQ(DefaultBucket(prefix(1), 100), 96);
  EXPECT_EQ(DefaultBucket(prefix(2), 100), 27);
  EXPECT_EQ(DefaultBucket(prefix(3), 100), 40);
  const auto abc = Types({"INT", "STRING", "INT"});
  EXPECT_EQ(DefaultBucket(Encode(abc, Values(abc, R"([1,"abc",null])")), 4), 2);
  EXPECT_EQ(DefaultBucket(Encode(abc, Values(abc, R"([1,"abc",null])")), 10), 4);

  const auto mod = [](const char* type, const char* value) {
    const DataType t = DataType::Parse(type).ValueOrDie();
    auto bucket = ModBucket(t, *ScalarFromJson(t, Json::parse(value)), 5);
    return bucket.ok() ? *bucket : -1;
  };
  EXPECT_EQ(mod("INT", "1"), 1);
  EXPECT_EQ(mod("INT", "7"), 2);
  EXPECT_EQ(mod("INT", "-2"), 3);
  EXPECT_EQ(mod("BIGINT", "8"), 3);
  EXPECT_EQ(mod("BIGINT", "0"), 0);
  EXPECT_EQ(mod("BIGINT", "-3"), 2);
  EXPECT_EQ(mod("BIGINT", "null"), 0);
  EXPECT_EQ(mod("SMALLINT", "1"), -1);

  const auto hive = Types({"INT", "STRING", "BYTES", "DECIMAL(10, 4)"});
  EXPECT_EQ(*HiveBucket(hive, Values(hive, R"([7,"hello","010203","12.3400"])"), 8), 1);
  EXPECT_EQ(*HiveBucket(hive, Values(hive, R"([7,"hello","010203","12.3400"])"), 2147483647),
            805989529);
  const auto two = Types({"INT", "STRING"});
  EXPECT_EQ(*HiveBucket(two, Values(two, "[null,null]"), 4), 0);
  const auto time = Types({"TIMESTAMP(3)"});
  EXPECT_FALSE(HiveBucket(time, Values(time, R"(["2024-01-01T00:00:00"])"), 4).ok());
  EXPECT_EQ(*HiveBucket(time, Values(time, "[null]"), 4), 0);
}

TEST(SerializedRow, FormAndErrors) {
  EXPECT_EQ(ToHex(EmptySerializedRow()), "000000000000000000000000");
  auto row = ParseSerializedRow(EmptySerializedRow(), "f");
  ASSERT_TRUE(row.ok());
  EXPECT_EQ(row->arity, 0);
  EXPECT_EQ(row->row.size(), 8u);
  for (const char* hex : {"", "000000", "00000000", "0000000000", "00000001 0000000000000000",
                          "ffffffff 0000000000000000", "7fffffff 0000000000000000"}) {
    auto bad = ParseSerializedRow(Bytes(hex), "the-file");
    ASSERT_FALSE(bad.ok()) << hex;
    EXPECT_TRUE(IsCorruption(bad.status()));
    EXPECT_THAT(bad.status().message(), testing::HasSubstr("the-file"));
  }
}

TEST(BinaryRow, RowsWithManyFieldsHaveMoreNullWords) {
  for (const size_t arity : {55u, 56u, 57u, 120u, 121u}) {
    const std::vector<DataType> types(arity, DataType(TypeRoot::kInt));
    Scalars values(arity, std::make_shared<arrow::Int32Scalar>(7));
    values[arity - 1] = nullptr;
    const std::string row = Encode(types, values);
    EXPECT_EQ(row.size(), (arity <= 56 ? 8 : (arity <= 120 ? 16 : 24)) + 8 * arity);
    auto decoded = DecodeBinaryRow(types, row, "test");
    ASSERT_TRUE(decoded.ok());
    EXPECT_FALSE(decoded->back()->is_valid);
    EXPECT_TRUE(decoded->front()->is_valid);
  }
}

TEST(BinaryRow, WrongInputIsAnError) {
  const auto encode = [](const char* type, const std::shared_ptr<arrow::Scalar>& value) {
    return EncodeBinaryRow({DataType::Parse(type).ValueOrDie()}, {value}).status();
  };
  EXPECT_FALSE(encode("INT", std::make_shared<arrow::Int64Scalar>(1)).ok());
  EXPECT_FALSE(encode("STRING", std::make_shared<arrow::BinaryScalar>("x")).ok());
  EXPECT_FALSE(encode("TIMESTAMP(6)", std::make_shared<arrow::TimestampScalar>(
                                          1, arrow::timestamp(arrow::TimeUnit::NANO)))
                   .ok());
  EXPECT_FALSE(encode("TIMESTAMP(0)", std::make_shared<arrow::TimestampScalar>(
                                          std::numeric_limits<int64_t>::max(),
                                          arrow::timestamp(arrow::TimeUnit::SECOND)))
                   .ok());
  EXPECT_FALSE(encode("DECIMAL(5, 2)", std::make_shared<arrow::Decimal128Scalar>(
                                           arrow::Decimal128(100000), arrow::decimal128(10, 2)))
                   .ok());
  EXPECT_FALSE(encode("DECIMAL(5, 2)", std::make_shared<arrow::Decimal128Scalar>(
                                           arrow::Decimal128(1), arrow::decimal128(5, 3)))
                   .ok());
  EXPECT_FALSE(EncodeBinaryRows({DataType()}, {}).ok());
}

TEST(BinaryRow, TimestampsOutsideOfNanosAreErrors) {
  // 10000-01-01 in millis, held by TIMESTAMP(9).
  const std::string row = Bytes("0000000000000000 0000000010000000 00dc1fd2ffe60000");
  auto nanos = DecodeBinaryRow(Types({"TIMESTAMP(9)"}), row, "test");
  ASSERT_FALSE(nanos.ok());
  EXPECT_THAT(nanos.status().message(), testing::HasSubstr("out of the range"));
  EXPECT_TRUE(DecodeBinaryRow(Types({"TIMESTAMP(6)"}), row, "test").ok());
}

TEST(BinaryRow, ExtremeTimestampsSurvive) {
  for (const char* text : {"TIMESTAMP(3)", "TIMESTAMP(6)", "TIMESTAMP(9)"}) {
    const auto types = Types({text});
    const auto arrow_type = ToArrowType(types[0]).ValueOrDie();
    for (const int64_t ticks :
         {std::numeric_limits<int64_t>::min(), int64_t{-1}, std::numeric_limits<int64_t>::max()}) {
      const auto value = std::make_shared<arrow::TimestampScalar>(ticks, arrow_type);
      auto decoded = DecodeBinaryRow(types, Encode(types, {value}), "test");
      ASSERT_TRUE(decoded.ok()) << decoded.status();
      EXPECT_TRUE((*decoded)[0]->Equals(*value));
    }
  }
}

TEST(BinaryRowDecode, HostileBytes) {
  const auto expect_bad = [](const char* type, const char* hex) {
    auto result = DecodeBinaryRow({DataType::Parse(type).ValueOrDie()}, Bytes(hex), "the-file");
    ASSERT_FALSE(result.ok()) << type << " " << hex;
    EXPECT_TRUE(IsCorruption(result.status())) << result.status();
    EXPECT_THAT(result.status().message(), testing::HasSubstr("the-file"));
  };
  expect_bad("INT", "");
  expect_bad("INT", "0000000000000000 01000000000000");
  // Variable part outside, offset or length near 2^32.
  expect_bad("STRING", "0000000000000000 0900000010000000 6162636465666768");
  expect_bad("STRING", "0000000000000000 08000000ffffff7f 6162636465666768");
  expect_bad("STRING", "0000000000000000 ffffffff10000000 6162636465666768");
  expect_bad("STRING", "0000000000000000 0000000000000088");
  expect_bad("DECIMAL(20, 2)",
             "0000000000000000 0000000010000000 0000000000000000 0000000000000000");
  expect_bad("DECIMAL(20, 2)",
             "0000000000000000 1100000008000000 0000000000000000 0000000000000000");
  expect_bad("DECIMAL(19, 2)",
             "0000000000000000 1000000010000000 7fffffffffffffff ffffffffffffffff");
  expect_bad("DECIMAL(3, 2)", "0000000000000000 e803000000000000");
  expect_bad("TIMESTAMP(6)", "0000000000000000 40420f0010000000 e803000000000000");
  expect_bad("TIMESTAMP(6)", "0000000000000000 0000000011000000 e803000000000000");
  // Arrays: count larger than the bytes, no bytes at all.
  expect_bad("ARRAY<BIGINT>", "0000000000000000 0800000010000000 ffffffff00000000");
  expect_bad("ARRAY<BIGINT>", "0000000000000000 0800000010000000 0100000000000000");
  expect_bad("ARRAY<BOOLEAN>", "0000000000000000 0300000010000000 0000000000000000");
  // Maps: keys longer than the map, different counts, a null key, a null count.
  expect_bad("MAP<INT, INT>", "0000000000000000 0800000010000000 0500000000000000");
  expect_bad("MAP<INT, INT>",
             "0000000000000000 2400000010000000 1000000001000000 0000000001000000 0000000002000000 "
             "0000000007000000 "
             "0800000000000000");
  expect_bad("MAP<INT, INT>",
             "0000000000000000 2400000010000000 1000000001000000 0100000001000000 0000000001000000 "
             "0000000007000000 "
             "0000000000000000");
  expect_bad("MULTISET<INT>",
             "0000000000000000 2400000010000000 1000000001000000 0000000001000000 0000000001000000 "
             "0100000007000000 "
             "0000000000000000");
  expect_bad("ROW<a INT>", "0000000000000000 0800000010000000 0000000000000000");
  expect_bad("VARIANT", "0000000000000000 0400000010000000 0100000000000000");
  expect_bad("VARIANT", "0000000000000000 0300000010000000 0100000000000000");
  expect_bad("VECTOR<INT, 2>", "0000000000000000 0800000010000000 0200000000000000");
  expect_bad("VECTOR<INT, 2>",
             "0000000000000000 0c00000010000000 0300000000000000 0000000000000000");
}

TEST(BinaryRowDecode, OverlappingPartsCannotMultiplyMemory) {
  // Every element of the array is the whole array's bytes: what a writer never does.
  const size_t count = 20000;
  std::string array(4 + (count + 31) / 32 * 4 + 4, '\0');
  array.resize((4 + (count + 31) / 32 * 4 + 7) / 8 * 8);
  const size_t header = 4 + (count + 31) / 32 * 4;
  array.resize(header + 8 * count);
  StoreLE<int32_t>(array.data(), static_cast<int32_t>(count));
  for (size_t i = 0; i < count; ++i) {
    StoreLE<uint64_t>(array.data() + header + 8 * i, array.size());
  }
  std::string row(16, '\0');
  StoreLE<uint64_t>(row.data() + 8, uint64_t{16} << 32 | array.size());
  row += array;
  auto result = DecodeBinaryRow(Types({"ARRAY<STRING>"}), row, "the-file");
  ASSERT_FALSE(result.ok());
  EXPECT_THAT(result.status().message(), testing::HasSubstr("overlapping"));
}

TEST(BinaryRowDecode, EveryTruncationAndBitFlipIsHandled) {
  const auto types = Types({"INT", "STRING", "DECIMAL(30, 2)", "TIMESTAMP(9)", "ARRAY<STRING>",
                            "MAP<STRING, INT>", "ROW<a INT, b ARRAY<BIGINT>>"});
  const auto values =
      Values(types, R"([1,"hello world","-12345678901234567890.12","2024-05-14T00:03:20.120004005",
    ["a",null,"a long element"],[["k",7],["a long key",null]],{"a":5,"b":[1,null]}])");
  const std::string row = Encode(types, values);
  for (size_t length = 0; length < row.size(); ++length) {
    (void)DecodeBinaryRow(types, std::string_view(row).substr(0, length), "f");
  }
  for (size_t bit = 0; bit < row.size() * 8; ++bit) {
    std::string flipped = row;
    flipped[bit / 8] = static_cast<char>(flipped[bit / 8] ^ (1 << (bit % 8)));
    auto result = DecodeBinaryRow(types, flipped, "f");
    if (result.ok()) {
      for (const auto& value : *result) EXPECT_TRUE(value->Validate().ok());
    }
  }
}

std::shared_ptr<arrow::Array> RandomColumn(const DataType& type, int64_t rows,
                                           std::mt19937_64* random) {
  auto builder = arrow::MakeBuilder(ToArrowType(type).ValueOrDie()).ValueOrDie();
  const auto text = [&] {
    std::string s;
    for (auto i = (*random)() % 14; i > 0; --i) s += static_cast<char>('a' + (*random)() % 26);
    return s;
  };
  for (int64_t i = 0; i < rows; ++i) {
    arrow::Status status;
    if ((*random)() % 5 == 0) {
      status = builder->AppendNull();
    } else if (type.root() == TypeRoot::kVarChar) {
      status = static_cast<arrow::StringBuilder*>(builder.get())->Append(text());
    } else if (type.root() == TypeRoot::kVarBinary || type.root() == TypeRoot::kBlob) {
      status = static_cast<arrow::BinaryBuilder*>(builder.get())->Append(text());
    } else if (type.root() == TypeRoot::kDecimal) {
      arrow::Decimal128 value(static_cast<int64_t>((*random)() >> ((*random)() % 60)) >> 4);
      if (type.precision() > 18 && (*random)() % 2) value = value * arrow::Decimal128(1000000007);
      if (type.precision() <= 18)
        value = arrow::Decimal128(static_cast<int64_t>(value.low_bits() % 1000));
      status = static_cast<arrow::Decimal128Builder*>(builder.get())
                   ->Append((*random)() % 2 ? value : -value);
    } else if (type.root() == TypeRoot::kTimestamp) {
      status = static_cast<arrow::TimestampBuilder*>(builder.get())
                   ->Append(static_cast<int64_t>((*random)()) / 4000);
    } else if (type.root() == TypeRoot::kDouble) {
      status = static_cast<arrow::DoubleBuilder*>(builder.get())
                   ->Append(static_cast<double>((*random)()) - 1e19);
    } else if (type.root() == TypeRoot::kSmallInt) {
      status = static_cast<arrow::Int16Builder*>(builder.get())
                   ->Append(static_cast<int16_t>((*random)()));
    } else if (type.root() == TypeRoot::kVector) {
      auto* list = static_cast<arrow::FixedSizeListBuilder*>(builder.get());
      status = list->Append();
      for (int k = 0; k < type.length(); ++k) {
        status &= static_cast<arrow::FloatBuilder*>(list->value_builder())
                      ->Append(static_cast<float>((*random)() % 9));
      }
    } else if (type.root() == TypeRoot::kVariant) {
      auto* fields = static_cast<arrow::StructBuilder*>(builder.get());
      status = fields->Append();
      for (int k : {0, 1})
        status &= static_cast<arrow::BinaryBuilder*>(fields->field_builder(k))->Append(text());
    } else {
      auto* list = static_cast<arrow::ListBuilder*>(builder.get());
      status = list->Append();
      const auto elements =
          RandomColumn(type.element(), static_cast<int64_t>((*random)() % 5), random);
      status &= list->value_builder()->AppendArraySlice(*elements->data(), 0, elements->length());
    }
    EXPECT_TRUE(status.ok()) << status;
  }
  return builder->Finish().ValueOrDie();
}

TEST(BinaryRowProperty, ColumnsSurviveAndEqualRowWiseEncoding) {
  const auto types = Types(
      {"SMALLINT", "STRING", "DECIMAL(10, 2)", "DECIMAL(38, 5)", "TIMESTAMP(0)", "TIMESTAMP(3)",
       "TIMESTAMP(6)", "TIMESTAMP(9)", "DOUBLE", "BYTES", "BLOB", "VARIANT", "VECTOR<FLOAT, 3>",
       "ARRAY<STRING>", "ARRAY<ARRAY<TIMESTAMP(6)>>", "ARRAY<DECIMAL(30, 3)>", "ARRAY<SMALLINT>"});
  for (uint64_t seed = 0; seed < 60; ++seed) {
    SCOPED_TRACE(seed);
    std::mt19937_64 random(seed);
    const auto rows = static_cast<int64_t>(random() % 20);
    arrow::ArrayVector columns;
    for (const DataType& type : types) {
      // Slices: offsets of every kind of array must be respected.
      columns.push_back(RandomColumn(type, rows + 3, &random)->Slice(2, rows));
    }
    auto encoded = EncodeBinaryRows(types, columns);
    ASSERT_TRUE(encoded.ok()) << encoded.status();
    ASSERT_TRUE((*encoded)->ValidateFull().ok());
    auto decoded = DecodeBinaryRows(types, **encoded, false, "test");
    ASSERT_TRUE(decoded.ok()) << decoded.status();
    for (size_t k = 0; k < types.size(); ++k) {
      EXPECT_TRUE((*decoded)[k]->ValidateFull().ok());
      EXPECT_TRUE((*decoded)[k]->Equals(*columns[k])) << types[k].ToString() << "\n"
                                                      << columns[k]->ToString();
    }
    arrow::BinaryBuilder serialized;
    for (int64_t i = 0; i < rows; ++i) {
      Scalars values;
      for (const auto& column : columns) values.push_back(column->GetScalar(i).ValueOrDie());
      EXPECT_EQ(Encode(types, values), (*encoded)->GetString(i));
      ASSERT_TRUE(
          serialized
              .Append(SerializeRow(static_cast<int32_t>(types.size()), (*encoded)->GetView(i)))
              .ok());
    }
    auto array = std::static_pointer_cast<arrow::BinaryArray>(serialized.Finish().ValueOrDie());
    auto again = DecodeBinaryRows(types, *array, true, "test");
    ASSERT_TRUE(again.ok()) << again.status();
    for (size_t k = 0; k < types.size(); ++k) EXPECT_TRUE((*again)[k]->Equals(*columns[k]));
  }
}

TEST(BinaryRowDecode, SerializedArityMustMatch) {
  arrow::BinaryBuilder builder;
  ASSERT_TRUE(builder.Append(SerializeRow(1, Encode({DataType()}, {nullptr}))).ok());
  auto rows = std::static_pointer_cast<arrow::BinaryArray>(builder.Finish().ValueOrDie());
  EXPECT_TRUE(DecodeBinaryRows({DataType()}, *rows, true, "f").ok());
  EXPECT_TRUE(IsCorruption(DecodeBinaryRows({DataType(), DataType()}, *rows, true, "f").status()));
}

}  // namespace
}  // namespace kelda
