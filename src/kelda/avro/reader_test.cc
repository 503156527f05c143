#include "kelda/avro/reader.h"

#include <arrow/array.h>
#include <arrow/scalar.h>

#include "kelda/avro/arrow_schema.h"
#include "kelda/avro/codec.h"
#include "kelda/avro/paimon_schemas.h"
#include "kelda/avro/test_support.h"
#include "kelda/base/bytes.h"

namespace kelda::avro {

namespace {

using ::testing::HasSubstr;

std::string RecordOf(const std::string& fields) {
  return R"({"type":"record","name":"r","fields":[)" + fields + "]}";
}

std::string Bytes(std::string_view hex) { return FromHex(hex).ValueOrDie(); }

std::string ErrorOf(const std::string& bytes, ReadOptions options = {}) {
  const auto table = ReadBytes(bytes, std::move(options));
  return table.ok() ? "" : table.status().ToString();
}

/// Column values as Arrow prints their scalars.
std::vector<std::string> Values(const arrow::Table& table, const std::string& name) {
  std::vector<std::string> values;
  const auto column = table.GetColumnByName(name);
  for (int64_t i = 0; i < column->length(); ++i)
    values.push_back(column->GetScalar(i).ValueOrDie()->ToString());
  return values;
}

TEST(ReaderTest, WorkedDatumOfAManifestList) {  // spec 01 §4.4
  const std::string datum = Bytes(
      "04"
      "066d2d30"
      "c801"
      "0200"
      "18000000000000000000000000"
      "18000000000000000000000000"
      "0200"
      "00"
      "0200020002000200"
      "0000");
  ASSERT_OK_AND_ASSIGN(auto table, ReadBytes(RawFile(kManifestListSchema).Block(1, datum).bytes()));
  ASSERT_EQ(table->num_rows(), 1);
  EXPECT_THAT(Values(*table, "_VERSION"), ::testing::ElementsAre("2"));
  EXPECT_THAT(Values(*table, "_FILE_NAME"), ::testing::ElementsAre("m-0"));
  EXPECT_THAT(Values(*table, "_FILE_SIZE"), ::testing::ElementsAre("100"));
  EXPECT_THAT(Values(*table, "_NUM_ADDED_FILES"), ::testing::ElementsAre("1"));
  EXPECT_THAT(Values(*table, "_NUM_DELETED_FILES"), ::testing::ElementsAre("0"));
  EXPECT_THAT(Values(*table, "_MAX_LEVEL"), ::testing::ElementsAre("0"));
  EXPECT_THAT(Values(*table, "_MIN_ROW_ID"), ::testing::ElementsAre("null"));
  const auto& stats =
      static_cast<const arrow::StructArray&>(*table->GetColumnByName("_PARTITION_STATS")->chunk(0));
  EXPECT_EQ(static_cast<const arrow::BinaryArray&>(*stats.field(0)).GetView(0),
            std::string(12, '\0'));
  EXPECT_EQ(static_cast<const arrow::ListArray&>(*stats.field(2)).value_length(0), 0);

  // The same values written by us are the same bytes.
  ASSERT_OK_AND_ASSIGN(auto batch, table->CombineChunksToBatch());
  ASSERT_OK_AND_ASSIGN(const std::string written, WriteBatch(batch, kManifestListSchema));
  EXPECT_EQ(ToHex(written), ToHex(RawFile(kManifestListSchema).Block(1, datum).bytes()));
}

TEST(ReaderTest, FieldsResolveByNameAtEveryLevel) {
  const std::string file =
      RawFile(
          RecordOf(
              R"({"name":"gone","type":"string"},)"
              R"({"name":"s","type":{"type":"record","name":"x","fields":[)"
              R"({"name":"b","type":"int"},{"name":"a","type":"long"},{"name":"z","type":"bytes"}]}},)"
              R"({"name":"i","type":"int"})"))
          .Block(2, Bytes("0261"
                          "0204026b"
                          "06") +
                        Bytes("00"
                              "080a00"
                              "0c"))
          .bytes();
  ReadOptions options;
  options.output = arrow::schema(
      {arrow::field("i", arrow::int32()), arrow::field("new", arrow::list(arrow::utf8())),
       arrow::field(
           "s", arrow::struct_({arrow::field("a", arrow::int64()), arrow::field("n", arrow::utf8()),
                                arrow::field("b", arrow::int32())}))});
  ASSERT_OK_AND_ASSIGN(auto table, ReadBytes(file, options));
  EXPECT_THAT(Values(*table, "i"), ::testing::ElementsAre("3", "6"));
  EXPECT_THAT(Values(*table, "new"), ::testing::ElementsAre("null", "null"));
  ASSERT_OK_AND_ASSIGN(auto expected,
                       BatchOf(options.output, R"([[3,null,[2,null,1]],[6,null,[5,null,4]]])"));
  ASSERT_OK_AND_ASSIGN(auto batch, table->CombineChunksToBatch());
  EXPECT_TRUE(batch->Equals(*expected)) << batch->ToString();

  options.projection = {"s.n", "s.b"};
  ASSERT_OK_AND_ASSIGN(auto projected, ReadBytes(file, options));
  EXPECT_EQ(projected->schema()->ToString(), "s: struct<n: string, b: int32>");
  options.output = arrow::schema({arrow::field("must", arrow::utf8(), false)});
  options.projection.reset();
  EXPECT_THAT(ErrorOf(file, options),
              HasSubstr("the file has no field 'must', which may not be null"));
}

TEST(ReaderTest, AnEmptyProjectionCountsRows) {
  const std::string file =
      RawFile(RecordOf(R"({"name":"a","type":"long"})")).Block(3, Bytes("020406")).bytes();
  ReadOptions options;
  options.projection.emplace();
  ASSERT_OK_AND_ASSIGN(auto reader,
                       AvroFileReader::Open(arrow::Buffer::FromString(file), "f", options));
  ASSERT_OK_AND_ASSIGN(auto batch, reader->Next());
  EXPECT_EQ(batch->num_rows(), 3);
  EXPECT_EQ(batch->num_columns(), 0);
}

TEST(ReaderTest, TypesWiden) {
  const std::string schema =
      RecordOf(R"({"name":"i","type":"int"},{"name":"f","type":"float"},)"
               R"({"name":"ms","type":{"type":"long","logicalType":"timestamp-millis"}},)"
               R"({"name":"s","type":"string"})");
  const std::string row = Bytes("ff010000c03f") + Bytes("d00f") + Bytes("0261");
  const std::string file = RawFile(schema).Block(1, row).bytes();
  auto read = [&](const std::string& name, std::shared_ptr<arrow::DataType> type) -> std::string {
    ReadOptions options;
    options.output = arrow::schema({arrow::field(name, std::move(type))});
    const auto table = ReadBytes(file, options);
    return table.ok() ? Values(**table, name)[0] : table.status().ToString();
  };
  EXPECT_EQ(read("i", arrow::int8()), "-128");
  EXPECT_EQ(read("i", arrow::int16()), "-128");
  EXPECT_EQ(read("i", arrow::int64()), "-128");
  EXPECT_EQ(read("i", arrow::date32()), "1969-08-26");
  EXPECT_THAT(read("i", arrow::time32(arrow::TimeUnit::MILLI)), HasSubstr("time outside of a day"));
  EXPECT_EQ(read("f", arrow::float64()), "1.5");
  EXPECT_EQ(read("ms", arrow::int64()), "1000");
  EXPECT_EQ(read("ms", arrow::timestamp(arrow::TimeUnit::SECOND)), "1970-01-01 00:00:01");
  EXPECT_EQ(read("ms", arrow::timestamp(arrow::TimeUnit::NANO)), "1970-01-01 00:00:01.000000000");
  EXPECT_EQ(read("ms", arrow::timestamp(arrow::TimeUnit::MICRO, "UTC")),
            "1970-01-01 00:00:01.000000Z");
  EXPECT_EQ(read("s", arrow::binary()), "a");
  EXPECT_THAT(read("s", arrow::int32()),
              HasSubstr("Avro field 's' of type \"string\" cannot be read as int32"));
  EXPECT_THAT(read("i", arrow::float64()), HasSubstr("cannot be read as double"));
}

TEST(ReaderTest, NarrowValuesAreChecked) {
  const std::string file =
      RawFile(
          RecordOf(
              R"({"name":"i","type":"int"},{"name":"t","type":{"type":"long","logicalType":"timestamp-millis"}})"))
          .Block(1, Bytes("8002") + Bytes("02"))
          .bytes();
  ReadOptions options;
  options.output = arrow::schema({arrow::field("i", arrow::int8())});
  EXPECT_THAT(ErrorOf(file, options), HasSubstr("integer out of range in field 'i'"));
  options.output = arrow::schema({arrow::field("t", arrow::timestamp(arrow::TimeUnit::SECOND))});
  ASSERT_OK_AND_ASSIGN(auto cut, ReadBytes(file, options));
  EXPECT_THAT(Values(*cut, "t"), ::testing::ElementsAre("1970-01-01 00:00:00"));
  const std::string far =
      RawFile(RecordOf(R"({"name":"t","type":{"type":"long","logicalType":"timestamp-millis"}})"))
          .Block(1, Bytes("feffffffffffffffff01"))
          .bytes();
  options.output = arrow::schema({arrow::field("t", arrow::timestamp(arrow::TimeUnit::MICRO))});
  EXPECT_THAT(ErrorOf(far, options), HasSubstr("timestamp out of the range"));
}

TEST(ReaderTest, TopLevelUnionAndNullInSecondBranch) {
  const std::string record = RecordOf(R"({"name":"a","type":["int","null"]})");
  const std::string file =
      RawFile("[\"null\"," + record + "]").Block(2, Bytes("020006") + Bytes("0202")).bytes();
  ASSERT_OK_AND_ASSIGN(auto table, ReadBytes(file));
  EXPECT_THAT(Values(*table, "a"), ::testing::ElementsAre("3", "null"));
  EXPECT_THAT(ErrorOf(RawFile("[\"null\"," + record + "]").Block(1, Bytes("00")).bytes()),
              HasSubstr("row is null"));
  EXPECT_THAT(ErrorOf(RawFile("\"int\"").Block(1, Bytes("00")).bytes()),
              HasSubstr("not implemented: Avro file of int data"));
}

TEST(ReaderTest, SizedBlocksOfArraysAndMaps) {
  // Array of 3 in two blocks, the first with its size; map of one entry with its size.
  const std::string schema = RecordOf(
      R"({"name":"l","type":{"type":"array","items":"long"}},{"name":"m","type":{"type":"map","values":"int"}},)"
      R"({"name":"e","type":"int"})");
  const std::string row =
      Bytes("0304020402") + Bytes("0600") + Bytes("01060261") + Bytes("0800") + Bytes("0e");
  const std::string file = RawFile(schema).Block(1, row).bytes();
  ASSERT_OK_AND_ASSIGN(auto table, ReadBytes(file));
  ASSERT_OK_AND_ASSIGN(auto expected, BatchOf(table->schema(), R"([[[1,2,3],[["a",4]],7]])"));
  ASSERT_OK_AND_ASSIGN(auto batch, table->CombineChunksToBatch());
  EXPECT_TRUE(batch->Equals(*expected)) << batch->ToString();
  ReadOptions options;
  options.projection = {"e"};
  ASSERT_OK_AND_ASSIGN(auto skipped, ReadBytes(file, options));
  EXPECT_THAT(Values(*skipped, "e"), ::testing::ElementsAre("7"));

  const std::string wrong_size = Bytes("0306020402") + Bytes("0600") + Bytes("00") + Bytes("0e");
  EXPECT_THAT(ErrorOf(RawFile(schema).Block(1, wrong_size).bytes()),
              HasSubstr("do not fill the size"));
}

TEST(ReaderTest, SkipsEveryType) {
  const std::string schema = RecordOf(
      R"({"name":"a","type":"boolean"},{"name":"b","type":"float"},{"name":"c","type":"double"},)"
      R"({"name":"d","type":{"type":"fixed","name":"fx","size":3}},{"name":"e","type":{"type":"enum","name":"en","symbols":["A","B"]}},)"
      R"({"name":"f","type":["string","null","int"]},{"name":"g","type":{"type":"array","items":["null","long"]}},)"
      R"({"name":"h","type":{"type":"map","values":{"type":"array","items":"null"}}},{"name":"i","type":["long"]},)"
      R"({"name":"j","type":"null"},{"name":"last","type":"long"})");
  const std::string row = Bytes("01") + std::string(4, 'x') + std::string(8, 'x') + "abc" +
                          Bytes("02") + Bytes("0407") + Bytes("0402800100") + Bytes("00") +
                          Bytes("02026106") + Bytes("0000") + Bytes("0003") + Bytes("54");
  ReadOptions options;
  options.projection = {"last"};
  ASSERT_OK_AND_ASSIGN(auto table, ReadBytes(RawFile(schema).Block(1, row).bytes(), options));
  EXPECT_THAT(Values(*table, "last"), ::testing::ElementsAre("42"));
}

TEST(ReaderTest, VectorsHaveTheirLength) {
  const std::string schema =
      RecordOf(R"({"name":"v","type":["null",{"type":"array","items":"float"}]})");
  ReadOptions options;
  options.output = arrow::schema({arrow::field(
      "v", arrow::fixed_size_list(arrow::field("element", arrow::float32(), false), 2))});
  const std::string two = Bytes("0204") + std::string(8, '\0') + Bytes("00");
  ASSERT_OK_AND_ASSIGN(auto table,
                       ReadBytes(RawFile(schema).Block(2, two + Bytes("00")).bytes(), options));
  ASSERT_OK_AND_ASSIGN(auto expected, BatchOf(options.output, "[[[0,0]],[null]]"));
  ASSERT_OK_AND_ASSIGN(auto batch, table->CombineChunksToBatch());
  EXPECT_TRUE(batch->Equals(*expected)) << batch->ToString();
  ASSERT_OK_AND_ASSIGN(const std::string written, WriteBatch(batch, schema));
  EXPECT_EQ(ToHex(written), ToHex(RawFile(schema).Block(2, two + Bytes("00")).bytes()));
  const std::string one = Bytes("0202") + std::string(4, '\0') + Bytes("00");
  EXPECT_THAT(ErrorOf(RawFile(schema).Block(1, one).bytes(), options), HasSubstr("fewer items"));
  const std::string three = Bytes("0206") + std::string(12, '\0') + Bytes("00");
  EXPECT_THAT(ErrorOf(RawFile(schema).Block(1, three).bytes(), options),
              HasSubstr("more items than a vector"));
}

TEST(ReaderTest, BlocksJoinOnDemand) {
  RawFile file(RecordOf(R"({"name":"s","type":"string"})"));
  for (int i = 0; i < 10; ++i) file.Block(2, Bytes("02610462") + "c");
  ReadOptions options;
  options.batch_rows_min = 6;
  ASSERT_OK_AND_ASSIGN(auto reader,
                       AvroFileReader::Open(arrow::Buffer::FromString(file.bytes()), "f", options));
  std::vector<int64_t> sizes;
  while (true) {
    ASSERT_OK_AND_ASSIGN(auto batch, reader->Next());
    if (batch == nullptr) break;
    ASSERT_OK(batch->ValidateFull());
    sizes.push_back(batch->num_rows());
    EXPECT_EQ(batch->column(0)->GetScalar(batch->num_rows() - 1).ValueOrDie()->ToString(), "bc");
  }
  EXPECT_THAT(sizes, ::testing::ElementsAre(6, 6, 6, 2));
}

TEST(ReaderTest, BlocksAreCutAndSkipped) {
  // Ten blocks of three rows: 0 1 2 | 3 4 5 | ...
  RawFile file(RecordOf(R"({"name":"a","type":"long"})"));
  for (int i = 0; i < 10; ++i) {
    EncodeBuffer rows;
    for (int k = 0; k < 3; ++k) rows.PutLong(3 * i + k);
    file.Block(3, std::string(reinterpret_cast<const char*>(rows.data()), rows.size()));
  }
  auto batches = [&](ReadOptions options) {
    std::vector<std::pair<int64_t, int64_t>> seen;
    auto input = std::make_shared<arrow::io::BufferReader>(arrow::Buffer::FromString(file.bytes()));
    auto reader = AvroFileReader::Open(input, "f", std::move(options)).ValueOrDie();
    EXPECT_EQ(reader->SummarizeBlocks().ValueOrDie().rows, 30);
    while (auto batch = reader->Next().ValueOrDie()) {
      EXPECT_OK(batch->ValidateFull());
      const auto& column = static_cast<const arrow::Int64Array&>(*batch->column(0));
      for (int64_t i = 0; i < batch->num_rows(); ++i) {
        EXPECT_EQ(column.Value(i), reader->first_row() + i);
      }
      seen.emplace_back(reader->first_row(), batch->num_rows());
    }
    return seen;
  };
  using ::testing::ElementsAre;
  using ::testing::Pair;
  ReadOptions options;
  options.batch_rows_min = 14;
  options.batch_rows_max = 14;
  EXPECT_THAT(batches(options), ElementsAre(Pair(0, 14), Pair(14, 14), Pair(28, 2)));
  RowRanges wanted;
  wanted.Add(4, 5);
  wanted.Add(11, 13);
  wanted.Add(29, 30);
  options.rows = std::make_shared<const RowRanges>(wanted);
  EXPECT_THAT(batches(options), ElementsAre(Pair(3, 3), Pair(9, 6), Pair(27, 3)));
  options.batch_rows_min = 2;
  options.batch_rows_max = 2;
  EXPECT_THAT(batches(options), ElementsAre(Pair(3, 2), Pair(5, 1), Pair(9, 2), Pair(11, 2),
                                            Pair(13, 2), Pair(27, 2), Pair(29, 1)));
  options.rows = std::make_shared<const RowRanges>();
  EXPECT_THAT(batches(options), ElementsAre());
}

TEST(ReaderTest, RandomAccessFileInWindows) {
  // Blocks of about 300 KB cross the read-ahead of 1 MiB; one of 3 MB is larger than it.
  const std::string schema = RecordOf(R"({"name":"b","type":"bytes"})");
  RawFile file(schema);
  std::vector<size_t> lengths = {300'000, 300'001, 299'999, 400'000, 3'000'000, 1, 300'000};
  for (size_t length : lengths) {
    file.Block(
        1, RawFile("").bytes().substr(0, 0) + [&] {
          EncodeBuffer row;
          row.PutLong(static_cast<int64_t>(length));
          row.Put(std::string(length, 'x').data(), length);
          return std::string(reinterpret_cast<const char*>(row.data()), row.size());
        }());
  }
  auto input = std::make_shared<arrow::io::BufferReader>(arrow::Buffer::FromString(file.bytes()));
  ASSERT_OK_AND_ASSIGN(auto reader, AvroFileReader::Open(input, "f"));
  ASSERT_OK_AND_ASSIGN(auto table, reader->ReadAll());
  ASSERT_EQ(table->num_rows(), static_cast<int64_t>(lengths.size()));
  for (size_t i = 0; i < lengths.size(); ++i) {
    const auto& chunk =
        static_cast<const arrow::BinaryArray&>(*table->column(0)->chunk(static_cast<int>(i)));
    EXPECT_EQ(chunk.value_length(0), static_cast<int32_t>(lengths[i]));
  }
}

TEST(ReaderTest, LongHeadersAreReadInSteps) {
  const std::string doc(500'000, 'd');
  const std::string schema =
      R"({"type":"record","name":"r","fields":[{"name":"a","type":"int"}],"doc":")" + doc + "\"}";
  auto input = std::make_shared<arrow::io::BufferReader>(
      arrow::Buffer::FromString(RawFile(schema).Block(1, Bytes("02")).bytes()));
  ASSERT_OK_AND_ASSIGN(auto reader, AvroFileReader::Open(input, "f"));
  ASSERT_OK_AND_ASSIGN(auto table, reader->ReadAll());
  EXPECT_EQ(table->num_rows(), 1);
  EXPECT_EQ(reader->metadata().at("avro.schema"), schema);
}

TEST(ReaderTest, BrokenContainersNameFileAndOffset) {
  const std::string schema = RecordOf(R"({"name":"a","type":"long"})");
  const std::string good = RawFile(schema).Block(1, Bytes("02")).bytes();
  const size_t header = RawFile(schema).bytes().size();
  EXPECT_THAT(ErrorOf(""),
              HasSubstr("corrupt Avro file 'test.avro' at offset 0: file is too short"));
  EXPECT_THAT(ErrorOf("PAR1PAR1"), HasSubstr("not an Avro object container file"));
  EXPECT_THAT(ErrorOf(good + "\x02"), HasSubstr("at offset " + std::to_string(good.size())));
  EXPECT_THAT(
      ErrorOf(good.substr(0, good.size() - 1)),
      HasSubstr("at offset " + std::to_string(header) + ": file ends inside a block of 1 bytes"));
  std::string marker = good;
  marker.back() ^= 1;
  EXPECT_THAT(ErrorOf(marker),
              HasSubstr("at offset " + std::to_string(header + 3) + ": block does not end"));
  EXPECT_THAT(ErrorOf(RawFile(schema).PutLong(-1).PutLong(0).PutMarker().bytes()),
              HasSubstr("negative row count"));
  EXPECT_THAT(ErrorOf(RawFile(schema).PutLong(1).PutLong(-5).PutMarker().bytes()),
              HasSubstr("negative size"));
  EXPECT_THAT(ErrorOf(RawFile(schema).PutLong(1).PutLong(INT64_MAX).PutMarker().bytes()),
              HasSubstr("file ends inside a block"));
  EXPECT_THAT(
      ErrorOf(RawFile(schema).Block(1, Bytes("0204")).bytes()),
      HasSubstr("at offset " + std::to_string(header + 3) + ": 1 bytes after the last row"));
  EXPECT_THAT(ErrorOf(RawFile(schema).Block(2, Bytes("02")).bytes()),
              HasSubstr("2 rows cannot be in 1 bytes"));
  EXPECT_THAT(ErrorOf(RawFile(schema).Block(INT64_MAX, Bytes("02")).bytes()),
              HasSubstr("rows cannot be in"));
  EXPECT_THAT(ErrorOf(RawFile("{\"type\":\"recor", "null").bytes()), HasSubstr("not valid JSON"));
  EXPECT_THAT(ErrorOf(RawFile(schema, "lz9").bytes()),
              HasSubstr("not implemented: Avro codec 'lz9'"));
  EXPECT_THAT(ErrorOf(RawFile(schema, "none").bytes()),
              HasSubstr("not implemented: Avro codec 'none'"));
  const auto status = ReadBytes(marker).status();
  EXPECT_TRUE(IsCorruption(status)) << status.ToString();
}

TEST(ReaderTest, AFileWithoutBlocksOrCodecIsEmpty) {
  ASSERT_OK_AND_ASSIGN(auto table,
                       ReadBytes(RawFile(RecordOf(R"({"name":"a","type":"long"})"), "").bytes()));
  EXPECT_EQ(table->num_rows(), 0);
  EXPECT_EQ(table->num_columns(), 1);
}

TEST(ReaderTest, BrokenDatums) {
  auto error = [](const std::string& type, std::string_view hex) {
    return ErrorOf(
        RawFile(RecordOf(R"({"name":"f","type":)" + type + "}")).Block(1, Bytes(hex)).bytes());
  };
  EXPECT_THAT(error("\"string\"", "08"),
              HasSubstr("length beyond the end of the data in field 'f'"));
  EXPECT_THAT(error("\"string\"", "01"), HasSubstr("negative length"));
  EXPECT_THAT(error("\"string\"", "02ff"), HasSubstr("not UTF-8 in field 'f'"));
  EXPECT_THAT(error("\"boolean\"", "02"), HasSubstr("neither 0 nor 1"));
  EXPECT_THAT(error("\"double\"", "00"), HasSubstr("rows cannot be in"));
  EXPECT_THAT(error("\"long\"", "ffffffffffffffffffff01"), HasSubstr("more than 64 bits"));
  EXPECT_THAT(error("\"long\"", "ffffffffffffffffff02"), HasSubstr("more than 64 bits"));
  EXPECT_THAT(error("\"long\"", "80"), HasSubstr("ends inside a number"));
  EXPECT_THAT(error("\"int\"", "8080808010"), HasSubstr("integer out of range"));
  EXPECT_THAT(error("[\"null\",\"int\"]", "04"), HasSubstr("union branch out of range"));
  EXPECT_THAT(error("[\"null\",\"int\"]", "01"), HasSubstr("union branch out of range"));
  EXPECT_THAT(error(R"({"type":"enum","name":"e","symbols":["A"]})", "02"),
              HasSubstr("enum index"));
  EXPECT_THAT(error(R"({"type":"array","items":"int"})", "0a02"),
              HasSubstr("more items than the data can hold"));
  EXPECT_THAT(error(R"({"type":"array","items":"int"})", "ffffffffffffffffff01"),
              HasSubstr("item count out of range"));
  EXPECT_THAT(error(R"({"type":"array","items":"null"})", "feffffffffffffffff01"),
              HasSubstr("more values in one batch than allowed"));
  EXPECT_THAT(error(R"({"type":"bytes","logicalType":"decimal","precision":2,"scale":0})", "0264"),
              HasSubstr("decimal has more digits"));
  EXPECT_THAT(error(R"({"type":"bytes","logicalType":"decimal","precision":38,"scale":0})", "00"),
              HasSubstr("decimal without digits"));
  EXPECT_THAT(error(R"({"type":"bytes","logicalType":"decimal","precision":38,"scale":0})",
                    "2201ffffffffffffffffffffffffffffffff"),
              HasSubstr("decimal out of range"));
}

TEST(ReaderTest, NullWhereNoneIsAllowed) {
  ReadOptions options;
  options.output = arrow::schema({arrow::field("f", arrow::int32(), false)});
  const std::string schema = RecordOf(R"({"name":"f","type":["null","int"]})");
  EXPECT_THAT(ErrorOf(RawFile(schema).Block(1, Bytes("00")).bytes(), options),
              HasSubstr("null where none is allowed in field 'f'"));
  ASSERT_OK_AND_ASSIGN(auto table,
                       ReadBytes(RawFile(schema).Block(1, Bytes("0206")).bytes(), options));
  EXPECT_EQ(table->num_rows(), 1);
}

TEST(ReaderTest, FewBytesCannotClaimManyValues) {
  // A null struct of 1000 fields takes one byte; rows without fields take none.
  std::string fields = R"({"name":"f0","type":"long"})";
  for (int i = 1; i < 1000; ++i)
    fields += R"(,{"name":"f)" + std::to_string(i) + R"(","type":"long"})";
  const std::string schema = RecordOf(
      R"({"name":"s","type":["null",{"type":"record","name":"w","fields":[)" + fields + "]}]}");
  const int64_t rows = 2'000'000;
  const std::string file = RawFile(schema).Block(rows, std::string(rows, '\0')).bytes();
  EXPECT_THAT(ErrorOf(file), HasSubstr("more values in one batch than allowed"));
  ReadOptions options;
  options.batch_rows_max = 1'000'000;
  options.batch_values_max = 4'000'000;
  ASSERT_OK_AND_ASSIGN(auto cut,
                       AvroFileReader::Open(arrow::Buffer::FromString(file), "f", options));
  ASSERT_OK_AND_ASSIGN(auto first, cut->Next());
  EXPECT_GT(first->num_rows(), 1'000);
  EXPECT_LT(first->num_rows(), 4'000);
  options.batch_values_max = 500;
  EXPECT_THAT(ErrorOf(file, options), HasSubstr("more values in one batch than allowed"));
  EXPECT_THAT(ErrorOf(RawFile(RecordOf("")).Block(INT64_MAX, "").bytes()),
              HasSubstr("more values in one batch"));
  ASSERT_OK_AND_ASSIGN(
      auto reader, AvroFileReader::Open(
                       arrow::Buffer::FromString(RawFile(RecordOf("")).Block(7, "").bytes()), "f"));
  ASSERT_OK_AND_ASSIGN(auto batch, reader->Next());
  EXPECT_EQ(batch->num_rows(), 7);
}

TEST(ReaderTest, AnErrorStays) {
  const std::string file = RawFile(RecordOf(R"({"name":"a","type":"boolean"})"))
                               .Block(1, Bytes("01"))
                               .Block(1, Bytes("07"))
                               .bytes();
  ASSERT_OK_AND_ASSIGN(auto reader, AvroFileReader::Open(arrow::Buffer::FromString(file), "f"));
  ASSERT_OK_AND_ASSIGN(auto batch, reader->Next());
  EXPECT_EQ(batch->num_rows(), 1);
  const auto first = reader->Next().status();
  EXPECT_TRUE(IsCorruption(first));
  EXPECT_EQ(reader->Next().status().ToString(), first.ToString());
}

class CodecTest : public ::testing::TestWithParam<const char*> {
 protected:
  static std::unique_ptr<BlockCodec> Make() {
    return BlockCodec::Make(GetParam(), BlockCodec::kDefaultLevel, arrow::default_memory_pool())
        .ValueOrDie();
  }
  static std::span<const uint8_t> Span(const std::string& text) {
    return {reinterpret_cast<const uint8_t*>(text.data()), text.size()};
  }
  static std::string Text(std::span<const uint8_t> bytes) {
    return std::string(reinterpret_cast<const char*>(bytes.data()), bytes.size());
  }
};

TEST_P(CodecTest, RoundTrips) {
  auto codec = Make();
  std::string text;
  for (size_t size : {size_t{1}, size_t{100}, size_t{64'000}, size_t{3'000'000}}) {
    while (text.size() < size) text += static_cast<char>(text.size() * 7919 % 251);
    text.resize(size);
    ASSERT_OK_AND_ASSIGN(const auto compressed, codec->Compress(Span(text)));
    const std::string stored = Text(compressed);
    ASSERT_OK_AND_ASSIGN(const auto back, codec->Decompress(Span(stored), int64_t{1} << 30));
    EXPECT_EQ(Text(back), text);
  }
}

TEST_P(CodecTest, OutputIsLimited) {
  auto codec = Make();
  std::string zeros;
  zeros.resize(10'000'000);
  ASSERT_OK_AND_ASSIGN(const auto compressed, codec->Compress(Span(zeros)));
  const std::string stored = Text(compressed);
  EXPECT_TRUE(codec->Decompress(Span(stored), 9'999'999).status().IsInvalid());
  ASSERT_OK_AND_ASSIGN(const auto back, codec->Decompress(Span(stored), 10'000'000));
  EXPECT_EQ(back.size(), zeros.size());
}

TEST_P(CodecTest, TruncatedDataIsAnError) {
  if (std::string_view(GetParam()) == "null") return;
  auto codec = Make();
  std::string text;
  for (int i = 0; i < 500; ++i) text += std::to_string(i * i);
  ASSERT_OK_AND_ASSIGN(const auto compressed, codec->Compress(Span(text)));
  const std::string stored = Text(compressed);
  for (size_t size = 1; size < stored.size(); ++size) {
    const auto back = codec->Decompress(Span(stored).first(size), 1 << 20);
    EXPECT_TRUE(back.status().IsInvalid()) << size;
  }
  if (std::string_view(GetParam()) != "deflate") {
    EXPECT_TRUE(codec->Decompress(Span(stored + "x"), 1 << 20).status().IsInvalid());
  }
  ASSERT_OK_AND_ASSIGN(const auto again, codec->Decompress(Span(stored), 1 << 20));
  EXPECT_EQ(Text(again), text);
}

INSTANTIATE_TEST_SUITE_P(All, CodecTest,
                         ::testing::Values("null", "deflate", "snappy", "zstandard"));

TEST(SnappyTest, ChecksumIsChecked) {
  ASSERT_OK_AND_ASSIGN(auto codec, BlockCodec::Make("snappy", BlockCodec::kDefaultLevel,
                                                    arrow::default_memory_pool()));
  // "123456789" as one literal; its CRC-32 is the check value cbf43926.
  const std::string good = Bytes("0920") + "123456789" + Bytes("cbf43926");
  auto span = [](const std::string& s) {
    return std::span<const uint8_t>(reinterpret_cast<const uint8_t*>(s.data()), s.size());
  };
  ASSERT_OK(codec->Decompress(span(good), 100).status());
  std::string bad = good;
  bad[5] ^= 1;
  EXPECT_THAT(codec->Decompress(span(bad), 100).status().ToString(), HasSubstr("checksum"));
  const std::string claims = Bytes("ffffffff07") + "x" + Bytes("00000000");
  EXPECT_THAT(codec->Decompress(span(claims), int64_t{1} << 40).status().ToString(),
              HasSubstr("claims 2147483647 uncompressed bytes"));
}

}  // namespace

}  // namespace kelda::avro
