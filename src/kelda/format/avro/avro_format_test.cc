#include <arrow/api.h>
#include <arrow/json/from_string.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "kelda/avro/reader.h"
#include "kelda/base/test_matchers.h"
#include "kelda/format/avro/avro_options.h"
#include "kelda/format/avro/avro_schema.h"
#include "kelda/format/parquet/parquet_test_util.h"

namespace kelda {
namespace {

using parquet_test::ExpectTablesEqual;
using parquet_test::Field;
using parquet_test::RandomTable;
using parquet_test::ReadFile;
using parquet_test::TableOf;
using parquet_test::TryReadFile;
using parquet_test::Unwrap;
using parquet_test::WriteFile;
using ::testing::HasSubstr;

ReadOptions Columns(const std::vector<DataField>& fields) {
  ReadOptions options;
  options.columns = fields;
  return options;
}

std::vector<DataField> FieldsOf(const std::vector<std::pair<std::string, DataType>>& columns) {
  std::vector<DataField> fields;
  for (const auto& [name, type] : columns) fields.push_back(Field(-1, name, type));
  AssignFieldIds(&fields);
  return fields;
}

DataType Parse(std::string_view text) { return Unwrap(DataType::Parse(text)); }

/// The nearest type that Avro files can hold.
DataType Holdable(const DataType& type) {
  const bool nullable = type.nullable();
  switch (type.root()) {
    case TypeRoot::kTimestamp:
    case TypeRoot::kTimestampLtz:
      return DataType::Temporal(type.root(), std::min(type.precision(), 6), nullable);
    case TypeRoot::kVariant:
      return DataType::Vector(DataType(TypeRoot::kFloat), 3, nullable);
    case TypeRoot::kArray:
      return DataType::Array(Holdable(type.element()), nullable);
    case TypeRoot::kMultiset:
      return DataType::Multiset(DataType::String(false), nullable);
    case TypeRoot::kMap:
      return DataType::Map(Holdable(type.key()), Holdable(type.value()), nullable);
    case TypeRoot::kRow: {
      std::vector<DataField> members = type.fields();
      for (DataField& member : members) member.type = Holdable(member.type);
      return DataType::Row(std::move(members), nullable);
    }
    default:
      return type;
  }
}

std::vector<DataField> RandomFields(RandomTable* random, int columns, int depth) {
  auto fields = random->Schema(columns, depth);
  for (DataField& field : fields) {
    field.type = Holdable(field.type);
    // Random values are not made for vectors.
    if (field.type.ToString().find("VECTOR") != std::string::npos) {
      field.type = DataType(TypeRoot::kDate);
    }
  }
  return fields;
}

TEST(AvroSchema, IsWhatJavaWrites) {
  const auto fields = FieldsOf({
      {"id", Parse("INT")},
      {"r", Parse("ROW<a INT, b ROW<c STRING, d ARRAY<ROW<e INT>>>>")},
      {"ar", Parse("ARRAY<ROW<x INT NOT NULL>>")},
      {"mr", Parse("MAP<STRING, ROW<y INT>>")},
      {"mi", Parse("MAP<INT, ROW<z INT>>")},
      {"mm", Parse("MAP<INT, MAP<BIGINT NOT NULL, STRING>>")},
      {"am", Parse("ARRAY<MAP<INT, INT>>")},
      {"ms", Parse("MULTISET<STRING>")},
      {"mss", Parse("MULTISET<VARCHAR(3) NOT NULL>")},
      {"rn", Parse("ROW<q INT NOT NULL> NOT NULL")},
      {"mk", Parse("MAP<ROW<k INT>, ARRAY<INT>>")},
      {"by", Parse("BYTES")},
      {"z", Parse("TIMESTAMP(2) WITH LOCAL TIME ZONE")},
  });
  // Out of the header of a file that Java 1.4.2 wrote.
  constexpr const char* kJava =
      R"({"type":"record","name":"record","namespace":"org.apache.paimon.avro.generated","fields":[)"
      R"({"name":"id","type":["null","int"],"default":null},{"name":"r","type":["null",{"type":)"
      R"("record","name":"record_r","fields":[{"name":"a","type":["null","int"],"default":null},)"
      R"({"name":"b","type":["null",{"type":"record","name":"record_r_b","fields":[{"name":"c",)"
      R"("type":["null","string"],"default":null},{"name":"d","type":["null",{"type":"array",)"
      R"("items":["null",{"type":"record","name":"record_r_b_d","fields":[{"name":"e","type":)"
      R"(["null","int"],"default":null}]}]}],"default":null}]}],"default":null}]}],"default":null},)"
      R"({"name":"ar","type":["null",{"type":"array","items":["null",{"type":"record","name":)"
      R"("record_ar","fields":[{"name":"x","type":"int"}]}]}],"default":null},{"name":"mr","type":)"
      R"(["null",{"type":"map","values":["null",{"type":"record","name":"record_mr","fields":[)"
      R"({"name":"y","type":["null","int"],"default":null}]}]}],"default":null},{"name":"mi",)"
      R"("type":["null",{"type":"array","items":{"type":"record","name":"record_mi","fields":[)"
      R"({"name":"key","type":["null","int"]},{"name":"value","type":["null",{"type":"record",)"
      R"("name":"record_mi_value","fields":[{"name":"z","type":["null","int"],"default":null}]}],)"
      R"("default":null}]},"logicalType":"map"}],"default":null},{"name":"mm","type":["null",)"
      R"({"type":"array","items":{"type":"record","name":"record_mm","fields":[{"name":"key",)"
      R"("type":["null","int"]},{"name":"value","type":["null",{"type":"array","items":{"type":)"
      R"("record","name":"record_mm_value","fields":[{"name":"key","type":"long"},{"name":"value",)"
      R"("type":["null","string"],"default":null}]},"logicalType":"map"}],"default":null}]},)"
      R"("logicalType":"map"}],"default":null},{"name":"am","type":["null",{"type":"array",)"
      R"("items":["null",{"type":"array","items":{"type":"record","name":"record_am","fields":[)"
      R"({"name":"key","type":["null","int"]},{"name":"value","type":["null","int"],"default":)"
      R"(null}]},"logicalType":"map"}]}],"default":null},{"name":"ms","type":["null",{"type":"map",)"
      R"("values":["null","int"]}],"default":null},{"name":"mss","type":["null",{"type":"map",)"
      R"("values":["null","int"]}],"default":null},{"name":"rn","type":{"type":"record","name":)"
      R"("record_rn","fields":[{"name":"q","type":"int"}]}},{"name":"mk","type":["null",{"type":)"
      R"("array","items":{"type":"record","name":"record_mk","fields":[{"name":"key","type":)"
      R"(["null",{"type":"record","name":"record_mk_key","fields":[{"name":"k","type":["null",)"
      R"("int"],"default":null}]}]},{"name":"value","type":["null",{"type":"array","items":["null",)"
      R"("int"]}],"default":null}]},"logicalType":"map"}],"default":null},{"name":"by","type":)"
      R"(["null","bytes"],"default":null},{"name":"z","type":["null",{"type":"long","logicalType":)"
      R"("local-timestamp-millis"}],"default":null}]})";
  EXPECT_EQ(Unwrap(AvroSchemaOf(fields)), kJava);
}

TEST(AvroSchema, SameRecordTwiceIsReferredTo) {
  const auto same =
      FieldsOf({{"a", Parse("ROW<b_c ROW<x INT>>")}, {"a_b", Parse("ROW<c ROW<x INT>>")}});
  EXPECT_THAT(Unwrap(AvroSchemaOf(same)),
              HasSubstr(R"({"name":"c","type":["null","record_a_b_c"])"));
  const auto other =
      FieldsOf({{"a", Parse("ROW<b_c ROW<x INT>>")}, {"a_b", Parse("ROW<c ROW<x STRING>>")}});
  const auto status = CheckAvroTypes(other);
  EXPECT_TRUE(IsUnsupported(status));
  EXPECT_THAT(status.message(), HasSubstr("'a_b.c'"));
  EXPECT_THAT(status.message(), HasSubstr("org.apache.paimon.avro.generated.record_a_b_c"));
}

TEST(AvroSchema, RecordsGetOtherNames) {
  const auto fields = FieldsOf({{"a", Parse("INT")}, {"r", Parse("ROW<b INT>")}});
  EXPECT_EQ(
      Unwrap(AvroSchemaOf(fields, {{"org.apache.paimon.avro.generated.record", "foo"}})),
      R"({"type":"record","name":"foo","fields":[{"name":"a","type":["null","int"],"default":)"
      R"(null},{"name":"r","type":["null",{"type":"record","name":"foo_r","fields":[{"name":)"
      R"("b","type":["null","int"],"default":null}]}],"default":null}]})");
}

TEST(AvroSchema, RefusesWhatAvroCannotHold) {
  const std::pair<const char*, const char*> refused[] = {
      {"TIME(4)", "at most 3 digits"},
      {"TIMESTAMP(7)", "at most 6 digits"},
      {"TIMESTAMP(9) WITH LOCAL TIME ZONE", "at most 6 digits"},
      {"VARIANT", "no such type"},
      {"MULTISET<INT>", "elements must be text"},
      {"ARRAY<ROW<x VARIANT>>", "'c.x'"},
      {"MAP<INT, TIMESTAMP(8)>", "at most 6 digits"},
  };
  for (const auto& [type, reason] : refused) {
    const auto status = FindFormat("avro").ValueOrDie()->CheckTypes(FieldsOf({{"c", Parse(type)}}));
    EXPECT_TRUE(IsUnsupported(status)) << type;
    EXPECT_THAT(status.message(), HasSubstr("'c"));
    EXPECT_THAT(status.message(), HasSubstr(reason));
  }
  for (const char* name : {"a-b", "a b", "1a", "a.b", "a$b", "a·b", "", "€"}) {
    EXPECT_FALSE(CheckAvroTypes(FieldsOf({{name, Parse("INT")}})).ok()) << name;
  }
  for (const char* name : {"_x", "é", "列", "日2", "A9_"}) {
    EXPECT_OK(CheckAvroTypes(FieldsOf({{name, Parse("INT")}})));
  }
  EXPECT_FALSE(CheckAvroTypes({}).ok());
  EXPECT_FALSE(CheckAvroTypes(FieldsOf({{"a", Parse("INT")}, {"a", Parse("INT")}})).ok());
  EXPECT_OK(CheckAvroTypes(FieldsOf({{"a", Parse("TIME(3)")}, {"b", Parse("VECTOR<FLOAT, 3>")}})));
}

TEST(AvroSettings, CodecsAndLevels) {
  WriterOptions options;
  options.zstd_level = 7;
  auto settings = Unwrap(ParseAvroWriteSettings(options));
  EXPECT_EQ(settings.codec, "zstandard");
  EXPECT_EQ(settings.level, 7);
  options.compression = "ZSTD";
  EXPECT_EQ(Unwrap(ParseAvroWriteSettings(options)).codec, "zstandard");
  options.compression = "zstandard";
  EXPECT_EQ(Unwrap(ParseAvroWriteSettings(options)).level, 3);
  for (const char* name : {"null", "snappy", "deflate"}) {
    options.compression = name;
    EXPECT_EQ(Unwrap(ParseAvroWriteSettings(options)).codec, name);
  }
  for (const char* name : {"none", "uncompressed", "gzip", "lz4", "NULL", "Snappy", "deflate-9"}) {
    options.compression = name;
    const auto status = ParseAvroWriteSettings(options).status();
    EXPECT_TRUE(status.IsInvalid()) << name;
    EXPECT_THAT(status.message(), HasSubstr(name));
  }
  for (const char* name : {"bzip2", "xz"}) {
    options.compression = name;
    EXPECT_TRUE(IsUnsupported(ParseAvroWriteSettings(options).status())) << name;
  }
  options.format_options["avro.codec"] = "snappy";
  EXPECT_EQ(Unwrap(ParseAvroWriteSettings(options)).codec, "snappy");
  options.format_options["avro.codec"] = "zstd";
  EXPECT_FALSE(ParseAvroWriteSettings(options).ok());
  options.format_options["avro.codec"] = "null";
  options.format_options["avro.row-name-mapping"] = "a.b:c,d:e";
  settings = Unwrap(ParseAvroWriteSettings(options));
  EXPECT_EQ(settings.row_names, (std::map<std::string, std::string>{{"a.b", "c"}, {"d", "e"}}));
  options.format_options["avro.row-name-mapping"] = "a.b";
  EXPECT_FALSE(ParseAvroWriteSettings(options).ok());
}

TEST(AvroRoundTrip, RandomSchemasAndRows) {
  const char* const codecs[] = {"zstd", "snappy", "null", "deflate"};
  for (uint64_t seed = 0; seed < 80; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    RandomTable random(seed);
    random.null_percent = seed % 3 == 0 ? 0 : seed % 3 == 1 ? 20 : 90;
    random.repetitive = seed % 2 == 0;
    const auto fields =
        RandomFields(&random, 1 + static_cast<int>(seed % 6), static_cast<int>(seed % 4));
    std::vector<std::shared_ptr<arrow::RecordBatch>> batches;
    for (uint64_t n = random.Next(4); n > 0; --n) {
      batches.push_back(random.Batch(fields, static_cast<int64_t>(random.Next(700))));
    }
    WriterOptions options;
    options.compression = codecs[seed % 4];
    auto io = MakeMemoryFileIO();
    const FileFormat* format = Unwrap(FindFormat("avro"));
    auto writer = Unwrap(format->CreateWriter(*io, "/t/f.avro", fields, options));
    for (const auto& batch : batches) {
      ASSERT_OK(writer->Write(*batch));
      if (random.Next(2)) {
        ASSERT_OK(writer->FlushRowGroup());
      }
    }
    const auto written = Unwrap(writer->Finish());
    const auto expected = TableOf(fields, batches);
    EXPECT_EQ(written.row_count, expected->num_rows());
    EXPECT_EQ(written.size_bytes, Unwrap(io->Stat("/t/f.avro")).size_bytes);
    auto read_options = Columns(fields);
    read_options.batch_rows = 1 + static_cast<int64_t>(random.Next(300));
    const auto back = ReadFile(*io, "/t/f.avro", read_options);
    ExpectTablesEqual(*back.table, *expected);
    int64_t row = 0;
    for (size_t i = 0; i < back.first_rows.size(); ++i) {
      EXPECT_EQ(back.first_rows[i], row);
      EXPECT_LE(back.row_counts[i], read_options.batch_rows);
      row += back.row_counts[i];
    }
  }
}

TEST(AvroRoundTrip, SlicedBatches) {
  RandomTable random(99);
  const auto fields = RandomFields(&random, 8, 3);
  const auto whole = random.Batch(fields, 5000);
  auto io = MakeMemoryFileIO();
  WriteFile(
      *io, "/f.avro", fields,
      {whole->Slice(100, 1), whole->Slice(3, 0), whole->Slice(101, 2600), whole->Slice(2701)});
  ExpectTablesEqual(*ReadFile(*io, "/f.avro", Columns(fields)).table,
                    *TableOf(fields, {whole->Slice(100)}));
}

TEST(AvroRoundTrip, NullAndEmptyAtEveryDepth) {
  const auto fields = FieldsOf({
      {"a", Parse("ARRAY<ARRAY<INT>>")},
      {"m", Parse("MAP<INT, ARRAY<STRING>>")},
      {"s", Parse("MAP<STRING, ROW<x INT, y ARRAY<INT>>>")},
      {"r", Parse("ROW<x INT, r ROW<y STRING, z INT NOT NULL>>")},
      {"t", Parse("MULTISET<STRING>")},
  });
  const auto schema = Unwrap(ToArrowSchema(fields));
  const auto type = arrow::struct_(schema->fields());
  const auto array = Unwrap(arrow::json::ArrayFromJSONString(type, R"([
    [null, null, null, null, null],
    [[], [], [], [null, null], []],
    [[null], [[1, null]], [["", null]], [1, [null, 2]], [["", 2147483647]]],
    [[[]], [[1, []]], [["k", [null, null]]], [null, ["", 3]], [["a", 1], ["b", 2]]],
    [[[null], [1, null, 2]], [[-1, [null, ""]], [2, ["x"]]], [["k", [1, []]]], null, null],
    [[[], null], [[0, null], [7, []]], [["a", [null, [null]]], ["b", null]], [2, null], []]
  ])"));
  const auto batch = arrow::RecordBatch::Make(
      schema, array->length(), Unwrap(arrow::RecordBatch::FromStructArray(array))->columns());
  auto io = MakeMemoryFileIO();
  WriteFile(*io, "/f.avro", fields, {batch});
  ExpectTablesEqual(*ReadFile(*io, "/f.avro", Columns(fields)).table, *TableOf(fields, {batch}));
}

TEST(AvroRoundTrip, VectorsAndSeconds) {
  const auto fields = FieldsOf({{"v", Parse("VECTOR<FLOAT, 3>")}, {"t", Parse("TIMESTAMP(0)")}});
  const auto schema = Unwrap(ToArrowSchema(fields));
  const auto array = Unwrap(
      arrow::json::ArrayFromJSONString(arrow::struct_(schema->fields()),
                                       "[[[1, 2.5, null], -62135596800], [null, 253402300799], "
                                       "[[0, 0, 0], null]]"));
  const auto batch = arrow::RecordBatch::Make(
      schema, 3, Unwrap(arrow::RecordBatch::FromStructArray(array))->columns());
  auto io = MakeMemoryFileIO();
  WriteFile(*io, "/f.avro", fields, {batch});
  ExpectTablesEqual(*ReadFile(*io, "/f.avro", Columns(fields)).table, *TableOf(fields, {batch}));
  const auto far = Unwrap(arrow::json::ArrayFromJSONString(arrow::struct_(schema->fields()),
                                                           "[[null, 9223372036854775807]]"));
  auto writer = Unwrap(FindFormat("avro").ValueOrDie()->CreateWriter(*io, "/g.avro", fields, {}));
  const auto status = writer->Write(*arrow::RecordBatch::Make(
      schema, 1, Unwrap(arrow::RecordBatch::FromStructArray(far))->columns()));
  EXPECT_TRUE(status.IsInvalid());
  EXPECT_THAT(status.message(), HasSubstr("/g.avro"));
  EXPECT_THAT(status.message(), HasSubstr("timestamp out of the range of Avro field 't'"));
  EXPECT_FALSE(writer->Finish().ok());
}

TEST(AvroRoundTrip, ProjectionAtEveryDepth) {
  const auto fields =
      FieldsOf({{"a", Parse("INT")},
                {"r", Parse("ROW<inner ROW<x STRING, y STRING, z STRING>, w STRING>")},
                {"l", Parse("ARRAY<ROW<x INT, y STRING>>")},
                {"m", Parse("MAP<STRING, ROW<x STRING, y BIGINT>>")}});
  RandomTable random(5);
  const auto batch = random.Batch(fields, 800);
  auto io = MakeMemoryFileIO();
  WriteFile(*io, "/f.avro", fields, {batch});
  const std::vector<DataField> wanted = {
      Field(fields[3].id, "m", Parse("MAP<STRING, ROW<y BIGINT>>")),
      Field(99, "absent", Parse("ARRAY<INT> NOT NULL")),
      Field(fields[2].id, "l", Parse("ARRAY<ROW<y STRING, new INT>>")),
      Field(fields[1].id, "r", Parse("ROW<inner ROW<z STRING, x STRING>>"))};
  const auto back = ReadFile(*io, "/f.avro", Columns(wanted)).table;
  EXPECT_EQ(back->column(1)->null_count(), 800);
  auto text = [](const arrow::Array& array, int64_t i) {
    return Unwrap(array.GetScalar(i))->ToString();
  };
  const auto maps = parquet_test::Whole(*back, 0);
  const auto lists = parquet_test::Whole(*back, 2);
  const auto rows = parquet_test::Whole(*back, 3);
  const auto& map_entries = static_cast<const arrow::MapArray&>(*maps);
  const auto& written_entries = static_cast<const arrow::MapArray&>(*batch->column(3));
  ASSERT_EQ(map_entries.items()->length(), written_entries.items()->length());
  EXPECT_TRUE(map_entries.keys()->Equals(written_entries.keys()));
  for (int64_t i = 0; i < map_entries.items()->length(); ++i) {
    const auto& read = static_cast<const arrow::StructArray&>(*map_entries.items());
    const auto& written = static_cast<const arrow::StructArray&>(*written_entries.items());
    ASSERT_EQ(read.IsNull(i), written.IsNull(i));
    if (read.IsValid(i)) {
      EXPECT_EQ(text(*read.field(0), i), text(*written.field(1), i));
    }
  }
  const auto& elements = static_cast<const arrow::StructArray&>(
      *static_cast<const arrow::ListArray&>(*lists).values());
  EXPECT_EQ(elements.field(1)->null_count(), elements.length());
  const auto& outer = static_cast<const arrow::StructArray&>(*rows);
  const auto& written_outer = static_cast<const arrow::StructArray&>(*batch->column(1));
  for (int64_t i = 0; i < 800; ++i) {
    ASSERT_EQ(outer.IsNull(i), written_outer.IsNull(i));
    if (outer.IsNull(i)) continue;
    const auto& inner = static_cast<const arrow::StructArray&>(*outer.field(0));
    const auto& written_inner = static_cast<const arrow::StructArray&>(*written_outer.field(0));
    ASSERT_EQ(inner.IsNull(i), written_inner.IsNull(i));
    if (inner.IsNull(i)) continue;
    EXPECT_EQ(text(*inner.field(0), i), text(*written_inner.field(2), i));
    EXPECT_EQ(text(*inner.field(1), i), text(*written_inner.field(0), i));
  }
}

TEST(AvroRoundTrip, RowsWantedSkipBlocks) {
  const auto fields = FieldsOf({{"a", Parse("BIGINT")}, {"s", Parse("STRING")}});
  RandomTable random(6);
  const auto batch = random.Batch(fields, 60000);
  auto io = MakeMemoryFileIO();
  WriteFile(*io, "/f.avro", fields, {batch});
  RowRanges wanted;
  wanted.Add(10, 11);
  wanted.Add(30000, 30050);
  wanted.Add(59999, 60000);
  auto options = Columns(fields);
  options.rows = std::make_shared<const RowRanges>(wanted);
  const auto back = ReadFile(*io, "/f.avro", options);
  EXPECT_GT(back.statistics.row_groups_total, 8);
  EXPECT_LE(back.statistics.row_groups_read, 4);
  EXPECT_EQ(back.statistics.rows_skipped + back.table->num_rows(), 60000);
  ASSERT_EQ(back.first_rows.size(), 3U);
  EXPECT_EQ(back.first_rows[0], 0);
  int64_t at = 0;
  for (size_t i = 0; i < back.first_rows.size(); ++i) {
    ExpectTablesEqual(*back.table->Slice(at, back.row_counts[i]),
                      *TableOf(fields, {batch->Slice(back.first_rows[i], back.row_counts[i])}));
    at += back.row_counts[i];
  }
  EXPECT_LE(back.first_rows[1], 30000);
  EXPECT_GE(back.first_rows[1] + back.row_counts[1], 30050);
}

TEST(AvroRoundTrip, StatisticsAreExact) {
  const auto fields = FieldsOf({{"i", Parse("INT")},
                                {"s", Parse("STRING")},
                                {"b", Parse("BYTES")},
                                {"l", Parse("ARRAY<INT>")},
                                {"d", Parse("DOUBLE")},
                                {"t", Parse("TIMESTAMP(6)")}});
  const auto schema = Unwrap(ToArrowSchema(fields));
  const auto array = Unwrap(arrow::json::ArrayFromJSONString(arrow::struct_(schema->fields()), R"([
    [3, "a long text that nobody cuts here", "x", [1], -0.0, 7],
    [null, null, null, null, null, null],
    [-3, "", "y", null, 0.0, -7]])"));
  const auto batch = arrow::RecordBatch::Make(
      schema, 3, Unwrap(arrow::RecordBatch::FromStructArray(array))->columns());
  auto io = MakeMemoryFileIO();
  const auto written = WriteFile(*io, "/f.avro", fields, {batch});
  ASSERT_EQ(written.stats.size(), 6U);
  EXPECT_EQ(written.stats[0].min->ToString(), "-3");
  EXPECT_EQ(written.stats[0].max->ToString(), "3");
  EXPECT_EQ(written.stats[1].min->ToString(), "");
  EXPECT_EQ(written.stats[1].max->ToString(), "a long text that nobody cuts here");
  // Java keeps the null count of every type, bounds only of those that it can compare.
  EXPECT_EQ(written.stats[2].min, nullptr);
  EXPECT_EQ(written.stats[3].min, nullptr);
  EXPECT_EQ(written.stats[3].null_count, 2);
  EXPECT_EQ(written.stats[4].min->ToString(), "-0");
  EXPECT_EQ(written.stats[4].max->ToString(), "0");
  EXPECT_NE(written.stats[5].max, nullptr);
  for (const auto& column : written.stats) EXPECT_TRUE(column.null_count.has_value());
  WriterOptions none;
  none.collect_stats = false;
  EXPECT_EQ(WriteFile(*io, "/g.avro", fields, {batch}, none).stats[0].null_count, std::nullopt);
}

TEST(AvroRoundTrip, LittleMemoryAndFewWrites) {
  const auto fields = FieldsOf({{"a", Parse("BIGINT NOT NULL")}});
  RandomTable random(4);
  auto io = MakeMemoryFileIO();
  WriterOptions options;
  options.compression = "null";
  auto writer =
      Unwrap(FindFormat("avro").ValueOrDie()->CreateWriter(*io, "/f.avro", fields, options));
  ASSERT_OK(writer->Write(*random.Batch(fields, 10)));
  EXPECT_FALSE(Unwrap(io->Exists("/f.avro")));
  for (int i = 0; i < 30; ++i) {
    ASSERT_OK(writer->Write(*random.Batch(fields, 10000)));
    EXPECT_LT(writer->BufferedBytes(), 1 << 20);
  }
  ASSERT_OK(writer->FlushRowGroup());
  const int64_t estimated = writer->EstimatedBytes();
  const auto written = Unwrap(writer->Finish());
  EXPECT_EQ(written.size_bytes, estimated);
  EXPECT_EQ(written.row_count, 300010);
}

TEST(AvroRoundTrip, UnfinishedFileIsRemoved) {
  const auto fields = FieldsOf({{"a", Parse("INT")}});
  auto io = MakeMemoryFileIO();
  {
    auto writer = Unwrap(FindFormat("avro").ValueOrDie()->CreateWriter(*io, "/f.avro", fields, {}));
    ASSERT_OK(writer->Write(*RandomTable(1).Batch(fields, 100)));
    ASSERT_OK(writer->FlushRowGroup());
    EXPECT_TRUE(Unwrap(io->Exists("/f.avro")));
  }
  EXPECT_FALSE(Unwrap(io->Exists("/f.avro")));
}

TEST(AvroRoundTrip, NullWhereNotNullIsRefused) {
  const auto nullable = FieldsOf({{"a", Parse("INT")}, {"l", Parse("ARRAY<INT>")}});
  const auto batch = RandomTable(3).Batch(nullable, 100);
  for (const auto& fields :
       {FieldsOf({{"a", Parse("INT NOT NULL")}, {"l", Parse("ARRAY<INT>")}}),
        FieldsOf({{"a", Parse("INT")}, {"l", Parse("ARRAY<INT NOT NULL>")}})}) {
    auto io = MakeMemoryFileIO();
    auto writer = Unwrap(FindFormat("avro").ValueOrDie()->CreateWriter(*io, "/f.avro", fields, {}));
    const auto status = writer->Write(*batch);
    EXPECT_TRUE(status.IsInvalid());
    EXPECT_THAT(status.message(), HasSubstr("which may not be null"));
  }
}

TEST(AvroHostile, EveryByteOfASmallFile) {
  const auto fields = FieldsOf({{"a", Parse("BIGINT")},
                                {"s", Parse("STRING")},
                                {"d", Parse("DECIMAL(20, 3)")},
                                {"l", Parse("ARRAY<ROW<x INT, y BYTES>>")},
                                {"m", Parse("MAP<INT, STRING>")}});
  const auto batch = RandomTable(11).Batch(fields, 12);
  for (const char* codec : {"null", "zstd"}) {
    WriterOptions options;
    options.compression = codec;
    auto io = MakeMemoryFileIO();
    WriteFile(*io, "/f.avro", fields, {batch}, options);
    const std::string bytes = Unwrap(io->ReadAll("/f.avro"));
    int refused = 0;
    for (size_t at = 0; at < bytes.size(); ++at) {
      for (int change : {1, 0x80, 0xff, 0x10}) {
        std::string damaged = bytes;
        damaged[at] = static_cast<char>(damaged[at] ^ change);
        auto memory = MakeMemoryFileIO();
        auto out = Unwrap(memory->CreateNew("/broken.avro"));
        ASSERT_TRUE(out->Write(damaged).ok() && out->Close().ok());
        const auto status = TryReadFile(*memory, "/broken.avro", Columns(fields)).status();
        if (status.ok()) continue;
        ++refused;
        EXPECT_TRUE(IsCorruption(status) || IsUnsupported(status)) << status.ToString();
        EXPECT_THAT(status.message(), HasSubstr("/broken.avro"));
      }
    }
    EXPECT_GT(refused, 200);
    for (size_t length = 0; length < bytes.size(); ++length) {
      auto memory = MakeMemoryFileIO();
      auto out = Unwrap(memory->CreateNew("/broken.avro"));
      ASSERT_TRUE(out->Write(bytes.substr(0, length)).ok() && out->Close().ok());
      const auto read = TryReadFile(*memory, "/broken.avro", Columns(fields));
      // A file that ends with its header is an empty file; the manifest tells its size.
      if (read.ok()) {
        EXPECT_EQ(read->table->num_rows(), 0);
        continue;
      }
      EXPECT_TRUE(IsCorruption(read.status())) << read.status().ToString();
      EXPECT_THAT(read.status().message(), HasSubstr("/broken.avro"));
    }
    EXPECT_TRUE(IsCorruption(
        TryReadFile(*io, "/f.avro", Columns(fields), static_cast<int64_t>(bytes.size()) + 1)
            .status()));
  }
}

TEST(AvroHostile, TypesOfTheHeaderMustFit) {
  const auto fields = FieldsOf({{"a", Parse("STRING")}});
  auto io = MakeMemoryFileIO();
  WriteFile(*io, "/f.avro", fields, {RandomTable(1).Batch(fields, 10)});
  const auto status =
      TryReadFile(*io, "/f.avro", Columns(FieldsOf({{"a", Parse("INT")}}))).status();
  EXPECT_TRUE(IsCorruption(status)) << status.ToString();
  EXPECT_THAT(status.message(), HasSubstr("/f.avro"));
  EXPECT_THAT(status.message(), HasSubstr("cannot be read as int32"));
}

}  // namespace
}  // namespace kelda
