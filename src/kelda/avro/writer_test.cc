#include "kelda/avro/writer.h"

#include "kelda/avro/arrow_schema.h"
#include "kelda/avro/test_support.h"
#include "kelda/base/bytes.h"

namespace kelda::avro {

namespace {

using ::testing::HasSubstr;

std::string RecordOf(const std::string& fields) {
  return R"({"type":"record","name":"r","fields":[)" + fields + "]}";
}

/// Bytes of the only block when `rows` are written with their natural Arrow types.
arrow::Result<std::string> BlockHex(const std::string& fields, std::string_view rows) {
  const std::string schema = RecordOf(fields);
  ARROW_ASSIGN_OR_RAISE(SchemaPtr parsed, ParseSchema(schema));
  ARROW_ASSIGN_OR_RAISE(auto arrow_schema, ToArrowSchema(*parsed));
  ARROW_ASSIGN_OR_RAISE(auto batch, BatchOf(arrow_schema, rows));
  ARROW_ASSIGN_OR_RAISE(const std::string file, WriteBatch(batch, schema));
  const size_t header = RawFile(schema).bytes().size();
  // Counts and sizes below 64 take one byte each.
  return ToHex(std::string_view(file).substr(header + 2, file.size() - header - 2 - 16));
}

arrow::Status WriteStatus(const std::shared_ptr<arrow::RecordBatch>& batch,
                          const std::string& fields) {
  return WriteBatch(batch, RecordOf(fields)).status();
}

TEST(WriterTest, BytesAsJavaWritesThem) {
  auto hex = [](const std::string& fields, std::string_view rows) {
    return BlockHex(fields, rows).ValueOrDie();
  };
  const std::string f = R"({"name":"f","type":)";
  EXPECT_EQ(hex(f + "\"long\"}", "[[0],[-1],[1],[63],[-65],[300]]"), "0001027e8101d804");
  EXPECT_EQ(hex(f + "\"boolean\"}", "[[true],[false]]"), "0100");
  EXPECT_EQ(hex(f + "\"double\"}", "[[1.5]]"), "000000000000f83f");
  EXPECT_EQ(hex(f + "\"float\"}", "[[1.5]]"), "0000c03f");
  EXPECT_EQ(hex(f + "[\"null\",\"string\"]}", R"([["ab"],[null],[""]])"), "02046162000200");
  EXPECT_EQ(hex(f + "[\"string\",\"null\"]}", R"([["ab"],[null]])"), "0004616202");
  EXPECT_EQ(hex(f + R"({"type":"array","items":["null","long"]}})", "[[[1,null]],[[]]]"),
            "040202000000");
  EXPECT_EQ(hex(f + R"({"type":"map","values":"int"}})", R"([[[["k",5]]],[[]]])"), "02026b0a0000");
  EXPECT_EQ(hex(f + R"({"type":"enum","name":"e","symbols":["A","B"]}})", R"([["B"],["A"]])"),
            "0200");
  const std::string decimal =
      R"({"type":"bytes","logicalType":"decimal","precision":38,"scale":0}})";
  EXPECT_EQ(hex(f + decimal, R"([["0"],["-1"],["127"],["128"],["-128"],["-129"],["32768"]])"),
            "020002ff027f0400800280"
            "04ff7f06008000");
  EXPECT_EQ(
      hex(f + R"({"type":"fixed","name":"x","size":3,"logicalType":"decimal","precision":5,"scale":0}})",
          R"([["-2"],["99999"]])"),
      "fffffe01869f");
  EXPECT_EQ(
      hex(f + R"({"type":"record","name":"s","fields":[{"name":"a","type":"int"},{"name":"b","type":["null","int"]}]}})",
          "[[[1,null]],[[2,3]]]"),
      "020004"
      "0206");
}

TEST(WriterTest, SmallIntegersAndNullColumns) {
  const auto schema =
      arrow::schema({arrow::field("a", arrow::int8()), arrow::field("b", arrow::int16()),
                     arrow::field("c", arrow::null())});
  ASSERT_OK_AND_ASSIGN(auto batch, BatchOf(schema, "[[-3,300,null],[null,null,null]]"));
  const std::string json = RecordOf(
      R"({"name":"a","type":["null","int"]},{"name":"b","type":["null","int"]},{"name":"c","type":["null","long"]})");
  ASSERT_OK_AND_ASSIGN(const std::string file, WriteBatch(batch, json));
  ReadOptions options;
  options.output =
      arrow::schema({schema->field(0), schema->field(1), arrow::field("c", arrow::int64())});
  ASSERT_OK_AND_ASSIGN(auto table, ReadBytes(file, options));
  ASSERT_OK_AND_ASSIGN(auto expected, BatchOf(options.output, "[[-3,300,null],[null,null,null]]"));
  EXPECT_TRUE(table->CombineChunksToBatch().ValueOrDie()->Equals(*expected));
}

TEST(WriterTest, BlocksAreFlushedOnceTheyAreFull) {
  const std::string schema = RecordOf(R"({"name":"s","type":"string"})");
  const auto arrow_schema = arrow::schema({arrow::field("s", arrow::utf8(), false)});
  std::string rows = "[";
  for (int i = 0; i < 10; ++i) rows += std::string(i > 0 ? "," : "") + R"(["0123456789"])";
  ASSERT_OK_AND_ASSIGN(auto batch, BatchOf(arrow_schema, rows + "]"));
  // Rows of 11 bytes; a block is full at 30 bytes: after its third row.
  ASSERT_OK_AND_ASSIGN(const std::string file, WriteBatch(batch, schema, "null", 30));
  ASSERT_OK_AND_ASSIGN(auto reader, AvroFileReader::Open(arrow::Buffer::FromString(file), "f"));
  for (int64_t expected : {3, 3, 3, 1}) {
    ASSERT_OK_AND_ASSIGN(auto read, reader->Next());
    EXPECT_EQ(read->num_rows(), expected);
  }
  ASSERT_OK_AND_ASSIGN(auto end, reader->Next());
  EXPECT_EQ(end, nullptr);
}

TEST(WriterTest, RowsUntilAPosition) {
  const std::string schema = RecordOf(R"({"name":"a","type":"long"})");
  ASSERT_OK_AND_ASSIGN(auto batch,
                       BatchOf(arrow::schema({arrow::field("a", arrow::int64(), false)}),
                               "[[1],[2],[3],[4],[5],[6],[7]]"));
  ASSERT_OK_AND_ASSIGN(auto stream, arrow::io::BufferOutputStream::Create());
  WriteOptions options;
  options.codec = "null";
  options.block_size_bytes = 2;
  ASSERT_OK_AND_ASSIGN(auto writer, AvroFileWriter::Make(stream, schema, options));
  const int64_t header = writer->position();
  ASSERT_OK_AND_ASSIGN(int64_t next, writer->WriteUntil(batch, 0, header + 1));
  EXPECT_EQ(next, 2);  // the second row filled the block
  EXPECT_EQ(writer->position(), header + 2 + 2 + 16);
  ASSERT_OK_AND_ASSIGN(next, writer->WriteUntil(batch, next, INT64_MAX));
  EXPECT_EQ(next, 7);
  EXPECT_EQ(writer->rows(), 7);
  ASSERT_OK(writer->Finish());
  ASSERT_OK(writer->Finish());
  EXPECT_THAT(writer->Write(batch).ToString(), HasSubstr("finished"));
  ASSERT_OK_AND_ASSIGN(auto buffer, stream->Finish());
  EXPECT_EQ(buffer->size(), writer->position());
  ASSERT_OK_AND_ASSIGN(auto table, ReadBytes(buffer->ToString()));
  EXPECT_TRUE(table->CombineChunksToBatch().ValueOrDie()->Equals(*batch));
}

TEST(WriterTest, SyncMarkersAreRandom) {
  const std::string schema = RecordOf(R"({"name":"a","type":"long"})");
  std::vector<std::string> files;
  for (int i = 0; i < 2; ++i) {
    ASSERT_OK_AND_ASSIGN(auto stream, arrow::io::BufferOutputStream::Create());
    ASSERT_OK_AND_ASSIGN(auto writer, AvroFileWriter::Make(stream, schema));
    ASSERT_OK(writer->Finish());
    ASSERT_OK_AND_ASSIGN(auto buffer, stream->Finish());
    files.push_back(buffer->ToString());
  }
  EXPECT_NE(files[0], files[1]);
  EXPECT_EQ(files[0].substr(0, files[0].size() - 16), files[1].substr(0, files[1].size() - 16));
  EXPECT_THAT(files[0], HasSubstr("zstandard"));
}

TEST(WriterTest, TopLevelUnion) {
  const std::string schema = "[\"null\"," + RecordOf(R"({"name":"a","type":"long"})") + "]";
  ASSERT_OK_AND_ASSIGN(
      auto batch, BatchOf(arrow::schema({arrow::field("a", arrow::int64(), false)}), "[[1],[2]]"));
  ASSERT_OK_AND_ASSIGN(const std::string file, WriteBatch(batch, schema));
  EXPECT_EQ(file, RawFile(schema).Block(2, "\x02\x02\x02\x04").bytes());
}

TEST(WriterTest, WhatDoesNotFitIsRefused) {
  const auto longs = arrow::schema({arrow::field("a", arrow::int64())});
  ASSERT_OK_AND_ASSIGN(auto batch, BatchOf(longs, "[[1],[null]]"));
  EXPECT_THAT(WriteStatus(batch, R"({"name":"a","type":"long"})").ToString(),
              HasSubstr("null in Avro field 'a', which may not be null"));
  EXPECT_THAT(WriteStatus(batch, R"({"name":"a","type":["null","int"]})").ToString(),
              HasSubstr("cannot write int64 to Avro field 'a' of type \"int\""));
  EXPECT_THAT(WriteStatus(batch, R"({"name":"a","type":["null",{"type":"array","items":"long"}]})")
                  .ToString(),
              HasSubstr("cannot write int64"));
  EXPECT_THAT(
      WriteStatus(batch, R"({"name":"a","type":["null","long"]},{"name":"b","type":"long"})")
          .ToString(),
      HasSubstr("1 columns for an Avro record of 2 fields"));
  EXPECT_THAT(WriteStatus(batch, R"({"name":"a","type":["int","long"]})").ToString(),
              HasSubstr("not implemented"));
  ASSERT_OK_AND_ASSIGN(
      auto seconds,
      BatchOf(arrow::schema({arrow::field("t", arrow::timestamp(arrow::TimeUnit::NANO))}),
              "[[1]]"));
  EXPECT_THAT(
      WriteStatus(
          seconds,
          R"({"name":"t","type":["null",{"type":"long","logicalType":"timestamp-micros"}]})")
          .ToString(),
      HasSubstr("cannot write timestamp[ns]"));
  ASSERT_OK_AND_ASSIGN(auto text,
                       BatchOf(arrow::schema({arrow::field("e", arrow::utf8())}), R"([["C"]])"));
  EXPECT_THAT(
      WriteStatus(text, R"({"name":"e","type":{"type":"enum","name":"en","symbols":["A"]}})")
          .ToString(),
      HasSubstr("'C' is no symbol"));
  ASSERT_OK_AND_ASSIGN(auto stream, arrow::io::BufferOutputStream::Create());
  for (const char* codec : {"bzip2", "xz", "none", "zstd"}) {
    WriteOptions options;
    options.codec = codec;
    const auto made =
        AvroFileWriter::Make(stream, RecordOf(R"({"name":"a","type":"long"})"), options);
    EXPECT_TRUE(IsUnsupported(made.status())) << codec;
    EXPECT_THAT(made.status().ToString(), HasSubstr(codec));
  }
}

}  // namespace

}  // namespace kelda::avro
