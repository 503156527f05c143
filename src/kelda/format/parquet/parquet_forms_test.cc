// Files that other writers make: legacy list and map layouts, other physical types, INT96 in both
// forms.

#include <cstring>

#include <arrow/api.h>
#include <arrow/io/memory.h>
#include <gtest/gtest.h>
#include <parquet/column_writer.h>
#include <parquet/file_writer.h>
#include <parquet/schema.h>

#include "kelda/base/bytes.h"
#include "kelda/format/parquet/parquet_test_util.h"

namespace kelda {
namespace {

using parquet::LogicalType;
using parquet::Repetition;
using parquet::schema::GroupNode;
using parquet::schema::NodePtr;
using parquet::schema::NodeVector;
using parquet::schema::PrimitiveNode;
using parquet_test::Field;
using parquet_test::TryReadFile;
using parquet_test::Unwrap;

/// Levels and values of one leaf.
struct LeafRows {
  std::vector<int16_t> definition;
  std::vector<int16_t> repetition;
  std::vector<int32_t> int32s;
  std::vector<int64_t> int64s;
  std::vector<parquet::Int96> int96s;
  std::vector<std::string> bytes;
};

/// Writes files with the low-level library, bypassing our writer.
class ForeignFile {
 public:
  explicit ForeignFile(NodeVector fields) {
    auto root = GroupNode::Make("schema", Repetition::REQUIRED, fields);
    sink_ = Unwrap(arrow::io::BufferOutputStream::Create());
    writer_ = parquet::ParquetFileWriter::Open(sink_, std::static_pointer_cast<GroupNode>(root));
    group_ = writer_->AppendRowGroup();
  }

  ForeignFile& Leaf(const LeafRows& rows, int64_t count) {
    auto* column = group_->NextColumn();
    const int16_t* d = rows.definition.empty() ? nullptr : rows.definition.data();
    const int16_t* r = rows.repetition.empty() ? nullptr : rows.repetition.data();
    switch (column->type()) {
      case parquet::Type::INT32:
        static_cast<parquet::Int32Writer*>(column)->WriteBatch(count, d, r, rows.int32s.data());
        break;
      case parquet::Type::INT64:
        static_cast<parquet::Int64Writer*>(column)->WriteBatch(count, d, r, rows.int64s.data());
        break;
      case parquet::Type::INT96:
        static_cast<parquet::Int96Writer*>(column)->WriteBatch(count, d, r, rows.int96s.data());
        break;
      case parquet::Type::BYTE_ARRAY: {
        std::vector<parquet::ByteArray> values(rows.bytes.begin(), rows.bytes.end());
        static_cast<parquet::ByteArrayWriter*>(column)->WriteBatch(count, d, r, values.data());
        break;
      }
      default: {
        std::vector<parquet::FixedLenByteArray> values;
        for (const auto& b : rows.bytes) {
          values.emplace_back(reinterpret_cast<const uint8_t*>(b.data()));
        }
        static_cast<parquet::FixedLenByteArrayWriter*>(column)->WriteBatch(count, d, r,
                                                                           values.data());
      }
    }
    return *this;
  }

  arrow::Result<std::shared_ptr<arrow::Array>> Read(const DataType& type) {
    group_->Close();
    writer_->Close();
    auto buffer = Unwrap(sink_->Finish());
    auto io = MakeMemoryFileIO();
    auto out = Unwrap(io->CreateNew("/f.parquet"));
    EXPECT_TRUE(out->Write(buffer).ok() && out->Close().ok());
    ReadOptions options;
    options.columns = {Field(0, "c", type)};
    ARROW_ASSIGN_OR_RAISE(auto back, TryReadFile(*io, "/f.parquet", options));
    return parquet_test::Whole(*back.table, 0);
  }

 private:
  std::shared_ptr<arrow::io::BufferOutputStream> sink_;
  std::unique_ptr<parquet::ParquetFileWriter> writer_;
  parquet::RowGroupWriter* group_ = nullptr;
};

NodePtr Primitive(const std::string& name, Repetition::type repetition,
                  parquet::Type::type physical,
                  std::shared_ptr<const LogicalType> logical = LogicalType::None(),
                  int length = -1) {
  return PrimitiveNode::Make(name, repetition, std::move(logical), physical, length);
}

NodePtr Group(const std::string& name, Repetition::type repetition, NodeVector members,
              std::shared_ptr<const LogicalType> logical = nullptr) {
  return GroupNode::Make(name, repetition, members, std::move(logical));
}

/// The rows [[1, 2], null, [], [3]] of a list of required int32 below an optional field.
LeafRows ListRows() {
  return {.definition = {2, 2, 0, 1, 2},
          .repetition = {0, 1, 0, 0, 0},
          .int32s = {1, 2, 3},
          .int64s = {},
          .int96s = {},
          .bytes = {}};
}

void ExpectText(const arrow::Result<std::shared_ptr<arrow::Array>>& result,
                const std::vector<std::string>& expected) {
  ASSERT_TRUE(result.ok()) << result.status().ToString();
  ASSERT_EQ((*result)->length(), static_cast<int64_t>(expected.size()));
  for (size_t i = 0; i < expected.size(); ++i) {
    auto scalar = Unwrap((*result)->GetScalar(static_cast<int64_t>(i)));
    EXPECT_EQ(scalar->is_valid ? scalar->ToString() : "null", expected[i]) << i;
  }
}

void ExpectList(const arrow::Result<std::shared_ptr<arrow::Array>>& result) {
  ASSERT_TRUE(result.ok()) << result.status().ToString();
  const auto& list = static_cast<const arrow::ListArray&>(**result);
  ASSERT_EQ(list.length(), 4);
  EXPECT_TRUE(list.IsNull(1));
  EXPECT_EQ(list.value_length(0), 2);
  EXPECT_EQ(list.value_length(2), 0);
  EXPECT_EQ(list.value_length(3), 1);
}

const DataType kInts = DataType::Array(DataType(TypeRoot::kInt));

TEST(ParquetForms, TwoLevelListOfPrimitives) {
  auto element = Primitive("array", Repetition::REPEATED, parquet::Type::INT32);
  auto list = Group("c", Repetition::OPTIONAL, {element}, LogicalType::List());
  ExpectList(ForeignFile({list}).Leaf(ListRows(), 5).Read(kInts));
}

TEST(ParquetForms, RepeatedFieldWithoutGroup) {
  auto node = Primitive("c", Repetition::REPEATED, parquet::Type::INT32);
  LeafRows rows{.definition = {1, 1, 0, 1},
                .repetition = {0, 1, 0, 0},
                .int32s = {1, 2, 3},
                .int64s = {},
                .int96s = {},
                .bytes = {}};
  auto read = ForeignFile({node}).Leaf(rows, 4).Read(kInts);
  ASSERT_TRUE(read.ok()) << read.status().ToString();
  const auto& list = static_cast<const arrow::ListArray&>(**read);
  ASSERT_EQ(list.length(), 3);
  EXPECT_EQ(list.value_length(1), 0);
  EXPECT_EQ(list.null_count(), 0);
}

TEST(ParquetForms, HiveBag) {
  auto element = Primitive("array_element", Repetition::REQUIRED, parquet::Type::INT32);
  auto bag = Group("bag", Repetition::REPEATED, {element});
  auto list = Group("c", Repetition::OPTIONAL, {bag}, LogicalType::List());
  ExpectList(ForeignFile({list}).Leaf(ListRows(), 5).Read(kInts));
}

TEST(ParquetForms, TwoLevelListOfRows) {
  const DataType row = DataType::Row({Field(1, "x", DataType(TypeRoot::kInt))});
  for (const char* name : {"array", "c_tuple"}) {
    auto x = Primitive("x", Repetition::REQUIRED, parquet::Type::INT32);
    auto element = Group(name, Repetition::REPEATED, {x});
    auto list = Group("c", Repetition::OPTIONAL, {element}, LogicalType::List());
    auto read = ForeignFile({list}).Leaf(ListRows(), 5).Read(DataType::Array(row));
    ExpectList(read);
  }
  // Two members: no other reading is possible.
  auto x = Primitive("x", Repetition::REQUIRED, parquet::Type::INT32);
  auto y = Primitive("y", Repetition::REQUIRED, parquet::Type::INT32);
  auto element = Group("list", Repetition::REPEATED, {x, y});
  auto list = Group("c", Repetition::OPTIONAL, {element}, LogicalType::List());
  ExpectList(
      ForeignFile({list}).Leaf(ListRows(), 5).Leaf(ListRows(), 5).Read(DataType::Array(row)));
}

TEST(ParquetForms, MapWithOtherNames) {
  auto key = Primitive("k", Repetition::REQUIRED, parquet::Type::INT32);
  auto value = Primitive("v", Repetition::REQUIRED, parquet::Type::INT32);
  auto pairs = Group("map", Repetition::REPEATED, {key, value});
  auto map = Group("c", Repetition::OPTIONAL, {pairs}, LogicalType::Map());
  auto type = DataType::Map(DataType(TypeRoot::kInt, false), DataType(TypeRoot::kInt));
  auto read = ForeignFile({map}).Leaf(ListRows(), 5).Leaf(ListRows(), 5).Read(type);
  ExpectList(read);
  EXPECT_EQ((*read)->type_id(), arrow::Type::MAP);
}

TEST(ParquetForms, NullMapKeyIsCorruption) {
  auto key = Primitive("key", Repetition::OPTIONAL, parquet::Type::INT32);
  auto value = Primitive("value", Repetition::OPTIONAL, parquet::Type::INT32);
  auto pairs = Group("key_value", Repetition::REPEATED, {key, value});
  auto map = Group("c", Repetition::OPTIONAL, {pairs}, LogicalType::Map());
  LeafRows rows{.definition = {3, 2},
                .repetition = {0, 1},
                .int32s = {1},
                .int64s = {},
                .int96s = {},
                .bytes = {}};
  auto type = DataType::Map(DataType(TypeRoot::kInt, false), DataType(TypeRoot::kInt));
  auto read = ForeignFile({map}).Leaf(rows, 2).Leaf(rows, 2).Read(type);
  EXPECT_TRUE(IsCorruption(read.status())) << read.status().ToString();
}

TEST(ParquetForms, Decimals) {
  const auto kDecimal = LogicalType::Decimal(12, 2);
  const std::vector<std::string> expected = {"12.34", "-12.34", "null"};
  auto fixed = [](int64_t value, size_t length) {
    std::string out(length, value < 0 ? '\xff' : '\0');
    for (size_t i = 0; i < std::min<size_t>(8, length); ++i) {
      out[length - 1 - i] = static_cast<char>(value >> (8 * i));
    }
    return out;
  };
  for (size_t length : {2, 8, 16, 20}) {
    LeafRows rows{.definition = {1, 1, 0},
                  .repetition = {},
                  .int32s = {1234, -1234},
                  .int64s = {1234, -1234},
                  .int96s = {},
                  .bytes = {fixed(1234, length), fixed(-1234, length)}};
    auto annotation = length == 2 ? LogicalType::None() : kDecimal;
    auto flba = Primitive("c", Repetition::OPTIONAL, parquet::Type::FIXED_LEN_BYTE_ARRAY,
                          annotation, static_cast<int>(length));
    ExpectText(ForeignFile({flba}).Leaf(rows, 3).Read(DataType::Decimal(12, 2)), expected);
    auto binary = Primitive("c", Repetition::OPTIONAL, parquet::Type::BYTE_ARRAY, kDecimal);
    ExpectText(ForeignFile({binary}).Leaf(rows, 3).Read(DataType::Decimal(12, 2)), expected);
    auto int64 = Primitive("c", Repetition::OPTIONAL, parquet::Type::INT64, kDecimal);
    ExpectText(ForeignFile({int64}).Leaf(rows, 3).Read(DataType::Decimal(12, 2)), expected);
    auto int32 = Primitive("c", Repetition::OPTIONAL, parquet::Type::INT32);
    ExpectText(ForeignFile({int32}).Leaf(rows, 3).Read(DataType::Decimal(12, 2)), expected);
  }
}

TEST(ParquetForms, DecimalsThatDoNotFit) {
  LeafRows rows;
  rows.bytes = {std::string("\x01") + std::string(16, '\0')};
  auto wide = Primitive("c", Repetition::REQUIRED, parquet::Type::BYTE_ARRAY);
  EXPECT_TRUE(
      IsCorruption(ForeignFile({wide}).Leaf(rows, 1).Read(DataType::Decimal(38, 0)).status()));
  rows.int32s = {1000};
  auto narrow = Primitive("c", Repetition::REQUIRED, parquet::Type::INT32);
  EXPECT_TRUE(
      IsCorruption(ForeignFile({narrow}).Leaf(rows, 1).Read(DataType::Decimal(3, 0)).status()));
  auto scaled =
      Primitive("c", Repetition::REQUIRED, parquet::Type::INT32, LogicalType::Decimal(5, 1));
  EXPECT_TRUE(
      IsCorruption(ForeignFile({scaled}).Leaf(rows, 1).Read(DataType::Decimal(5, 2)).status()));
}

DataType Timestamp(int precision) { return DataType::Temporal(TypeRoot::kTimestamp, precision); }

parquet::Int96 MakeInt96(int32_t day, int64_t nanos) {
  parquet::Int96 value;
  std::memcpy(&value, &nanos, 8);
  value.value[2] = static_cast<uint32_t>(day);
  return value;
}

TEST(ParquetForms, Int96InEveryPrecisionAndBothForms) {
  // 1969-12-31T23:59:58.999999999, normalised and as Java writes it; then
  // 2000-01-01T00:00:00.123456789.
  LeafRows rows;
  rows.definition = {1, 1, 0, 1};
  rows.int96s = {MakeInt96(2440587, 86398999999999), MakeInt96(2440588, -1000000001),
                 MakeInt96(2451545, 123456789)};
  auto read = [&](int precision) {
    auto node = Primitive("c", Repetition::OPTIONAL, parquet::Type::INT96);
    return ForeignFile({node}).Leaf(rows, 4).Read(Timestamp(precision));
  };
  ExpectText(read(9), {"1969-12-31 23:59:58.999999999", "1969-12-31 23:59:58.999999999", "null",
                       "2000-01-01 00:00:00.123456789"});
  ExpectText(read(6), {"1969-12-31 23:59:58.999999", "1969-12-31 23:59:58.999999", "null",
                       "2000-01-01 00:00:00.123456"});
  ExpectText(read(3), {"1969-12-31 23:59:58.999", "1969-12-31 23:59:58.999", "null",
                       "2000-01-01 00:00:00.123"});
  ExpectText(read(0),
             {"1969-12-31 23:59:58", "1969-12-31 23:59:58", "null", "2000-01-01 00:00:00"});
}

TEST(ParquetForms, Int96AtTheEndsOfNanoseconds) {
  auto read = [](int32_t day, int64_t nanos, int precision) {
    LeafRows rows;
    rows.int96s = {MakeInt96(day, nanos)};
    auto node = Primitive("c", Repetition::REQUIRED, parquet::Type::INT96);
    return ForeignFile({node}).Leaf(rows, 1).Read(Timestamp(precision));
  };
  ExpectText(read(2440588 - 106752, 763145224192, 9), {"1677-09-21 00:12:43.145224192"});
  ExpectText(read(2440588 + 106751, 85636854775807, 9), {"2262-04-11 23:47:16.854775807"});
  for (auto [day, nanos] : {std::pair{2440588 - 106752, int64_t{763145224191}},
                            {2440588 + 106751, int64_t{85636854775808}},
                            {5373484, int64_t{0}}}) {
    auto status = read(day, nanos, 9).status();
    EXPECT_TRUE(IsUnsupported(status)) << status.ToString();
    EXPECT_NE(status.message().find("'c'"), std::string::npos);
  }
  ExpectText(read(5373484, 0, 6), {"9999-12-31 00:00:00.000000"});
}

TEST(ParquetForms, TimestampUnits) {
  LeafRows rows;
  rows.int64s = {1999, -1};
  auto read = [&](std::shared_ptr<const LogicalType> annotation, int precision) {
    auto node = Primitive("c", Repetition::REQUIRED, parquet::Type::INT64, std::move(annotation));
    return ForeignFile({node}).Leaf(rows, 2).Read(Timestamp(precision));
  };
  auto millis = LogicalType::Timestamp(false, LogicalType::TimeUnit::MILLIS);
  auto micros = LogicalType::Timestamp(true, LogicalType::TimeUnit::MICROS);
  auto nanos = LogicalType::Timestamp(false, LogicalType::TimeUnit::NANOS);
  ExpectText(read(millis, 0), {"1970-01-01 00:00:01", "1969-12-31 23:59:59"});
  ExpectText(read(millis, 6), {"1970-01-01 00:00:01.999000", "1969-12-31 23:59:59.999000"});
  ExpectText(read(micros, 3), {"1970-01-01 00:00:00.001", "1969-12-31 23:59:59.999"});
  ExpectText(read(micros, 9), {"1970-01-01 00:00:00.001999000", "1969-12-31 23:59:59.999999000"});
  ExpectText(read(nanos, 6), {"1970-01-01 00:00:00.000001", "1969-12-31 23:59:59.999999"});
  // Without an annotation the precision decides.
  ExpectText(read(LogicalType::None(), 3), {"1970-01-01 00:00:01.999", "1969-12-31 23:59:59.999"});
  ExpectText(read(LogicalType::None(), 6),
             {"1970-01-01 00:00:00.001999", "1969-12-31 23:59:59.999999"});
  rows.int64s = {INT64_MAX / 1000};
  rows.int64s.push_back(0);
  EXPECT_TRUE(IsUnsupported(read(millis, 9).status()));
}

TEST(ParquetForms, TextsAndBytes) {
  LeafRows rows;
  rows.bytes = {"abcd", "Ωx."};
  auto plain = Primitive("c", Repetition::REQUIRED, parquet::Type::BYTE_ARRAY);
  ExpectText(ForeignFile({plain}).Leaf(rows, 2).Read(DataType::String()), {"abcd", "Ωx."});
  auto fixed = Primitive("c", Repetition::REQUIRED, parquet::Type::FIXED_LEN_BYTE_ARRAY,
                         LogicalType::None(), 4);
  auto read = ForeignFile({fixed}).Leaf(rows, 2).Read(DataType::Bytes());
  ASSERT_TRUE(read.ok()) << read.status().ToString();
  EXPECT_EQ(static_cast<const arrow::BinaryArray&>(**read).GetView(1), "Ωx.");
  // One bad text; and two that are good only together.
  for (std::vector<std::string> bad : {std::vector<std::string>{"a", "\xff"}, {"\xce", "\xa9"}}) {
    rows.bytes = bad;
    auto again = Primitive("c", Repetition::REQUIRED, parquet::Type::BYTE_ARRAY);
    auto status = ForeignFile({again}).Leaf(rows, 2).Read(DataType::String()).status();
    EXPECT_TRUE(IsCorruption(status)) << status.ToString();
    EXPECT_NE(status.message().find("UTF-8"), std::string::npos);
  }
}

TEST(ParquetForms, MismatchesNameTheColumn) {
  LeafRows rows;
  rows.int32s = {300};
  rows.int64s = {1};
  auto refuse = [&](NodePtr node, const DataType& type) {
    auto status = ForeignFile({std::move(node)}).Leaf(rows, 1).Read(type).status();
    EXPECT_TRUE(IsCorruption(status)) << status.ToString();
    EXPECT_NE(status.message().find("'c'"), std::string::npos) << status.ToString();
    EXPECT_NE(status.message().find("/f.parquet"), std::string::npos) << status.ToString();
  };
  auto int32 = [] { return Primitive("c", Repetition::REQUIRED, parquet::Type::INT32); };
  refuse(int32(), DataType::String());
  refuse(int32(), DataType(TypeRoot::kDouble));
  refuse(int32(), DataType(TypeRoot::kTinyInt));  // 300 does not fit
  refuse(int32(), kInts);
  refuse(int32(), DataType::Row({Field(1, "x", DataType(TypeRoot::kInt))}));
  refuse(Primitive("c", Repetition::REQUIRED, parquet::Type::INT64), DataType(TypeRoot::kInt));
  refuse(Group("c", Repetition::REQUIRED, {int32()}), DataType(TypeRoot::kInt));
  refuse(Group("c", Repetition::REQUIRED, {int32()}),
         DataType::Row({Field(1, "x", DataType(TypeRoot::kInt))}));
  auto widened = ForeignFile({int32()}).Leaf(rows, 1).Read(DataType(TypeRoot::kBigInt));
  ExpectText(widened, {"300"});
}

TEST(ParquetForms, ShreddedVariantNeedsMetadata) {
  auto node = Group("c", Repetition::REQUIRED,
                    {Primitive("typed_value", Repetition::REQUIRED, parquet::Type::INT32)});
  LeafRows rows;
  rows.int32s = {1};
  auto status = ForeignFile({node}).Leaf(rows, 1).Read(DataType(TypeRoot::kVariant)).status();
  EXPECT_TRUE(IsCorruption(status)) << status.ToString();
  EXPECT_NE(status.message().find("without metadata"), std::string::npos);
}

}  // namespace
}  // namespace kelda
