#include <arrow/api.h>
#include <gtest/gtest.h>

#include "kelda/format/file_format.h"
#include "kelda/format/parquet/parquet_test_util.h"

namespace kelda {
namespace {

using parquet_test::ExpectTablesEqual;
using parquet_test::Field;
using parquet_test::RandomTable;
using parquet_test::ReadFile;
using parquet_test::TableOf;
using parquet_test::Unwrap;
using parquet_test::WriteFile;

ReadOptions Columns(const std::vector<DataField>& fields) {
  ReadOptions options;
  options.columns = fields;
  return options;
}

TEST(ParquetRoundTrip, RandomSchemasAndRows) {
  const char* const codecs[] = {"zstd", "snappy", "gzip", "lz4", "lz4_raw", "uncompressed", "none"};
  for (uint64_t seed = 0; seed < 120; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    RandomTable random(seed);
    random.null_percent = seed % 3 == 0 ? 0 : seed % 3 == 1 ? 20 : 90;
    random.repetitive = seed % 2 == 0;
    auto fields = random.Schema(1 + static_cast<int>(seed % 6), static_cast<int>(seed % 4));
    std::vector<std::shared_ptr<arrow::RecordBatch>> batches;
    for (uint64_t n = random.Next(4); n > 0; --n) {
      batches.push_back(random.Batch(fields, static_cast<int64_t>(random.Next(700))));
    }
    WriterOptions options;
    options.compression = codecs[seed % 7];
    if (seed % 2) {
      options.format_options["parquet.page.size"] = "300";
      options.format_options["parquet.page.row.count.limit"] = "50";
      options.format_options["parquet.dictionary.page.size"] = "500";
    }
    if (seed % 5 == 1) options.format_options["parquet.writer.version"] = "v2";
    if (seed % 5 == 2) options.format_options["parquet.enable.dictionary"] = "false";
    auto io = MakeMemoryFileIO();
    const FileFormat* format = Unwrap(FindFormat("parquet"));
    auto writer = Unwrap(format->CreateWriter(*io, "/t/f.parquet", fields, options));
    for (const auto& batch : batches) {
      ASSERT_TRUE(writer->Write(*batch).ok());
      if (random.Next(2)) {
        ASSERT_TRUE(writer->FlushRowGroup().ok());
      }
    }
    auto written = Unwrap(writer->Finish());
    auto expected = TableOf(fields, batches);
    EXPECT_EQ(written.row_count, expected->num_rows());
    EXPECT_EQ(written.size_bytes, Unwrap(io->Stat("/t/f.parquet")).size_bytes);
    auto read_options = Columns(fields);
    read_options.batch_rows = 1 + static_cast<int64_t>(random.Next(300));
    auto back = ReadFile(*io, "/t/f.parquet", read_options);
    ExpectTablesEqual(*back.table, *expected);
    int64_t row = 0;
    for (size_t i = 0; i < back.first_rows.size(); ++i) {
      EXPECT_EQ(back.first_rows[i], row);
      EXPECT_LE(back.row_counts[i], read_options.batch_rows);
      row += back.row_counts[i];
    }
  }
}

TEST(ParquetRoundTrip, SlicedBatchesAndSmallRowGroups) {
  RandomTable random(99);
  auto fields = random.Schema(8, 3);
  auto whole = random.Batch(fields, 5000);
  std::vector<std::shared_ptr<arrow::RecordBatch>> slices = {
      whole->Slice(100, 1), whole->Slice(3, 0), whole->Slice(101, 2600), whole->Slice(2701)};
  WriterOptions options;
  options.block_size_bytes = 4096;
  options.format_options["parquet.block.size"] = "1000000000";  // file.block-size wins
  auto io = MakeMemoryFileIO();
  const FileFormat* format = Unwrap(FindFormat("parquet"));
  auto writer = Unwrap(format->CreateWriter(*io, "/f.parquet", fields, options));
  for (int round = 0; round < 20; ++round) {
    for (const auto& slice : slices) ASSERT_TRUE(writer->Write(*slice).ok());
  }
  Unwrap(writer->Finish());
  auto back = ReadFile(*io, "/f.parquet", Columns(fields));
  EXPECT_GT(back.statistics.row_groups_total, 3);
  auto expected = TableOf(fields, {whole->Slice(100)});
  for (int round = 0; round < 20; ++round) {
    ExpectTablesEqual(*back.table->Slice(round * 4900, 4900), *expected);
  }
}

TEST(ParquetRoundTrip, ProjectionAtEveryDepth) {
  auto leaf = [](int32_t id, const char* name) { return Field(id, name, DataType::String()); };
  DataType inner = DataType::Row({leaf(3, "x"), leaf(4, "y"), leaf(5, "z")});
  DataType outer = DataType::Row({Field(2, "inner", inner), leaf(6, "w")});
  std::vector<DataField> fields = {Field(0, "a", DataType(TypeRoot::kInt)), Field(1, "r", outer),
                                   Field(7, "l", DataType::Array(outer)),
                                   Field(8, "m", DataType::Map(DataType::String(false), inner))};
  RandomTable random(5);
  auto batch = random.Batch(fields, 800);
  auto io = MakeMemoryFileIO();
  WriteFile(*io, "/f.parquet", fields, {batch});

  DataType inner_cut = DataType::Row({leaf(5, "z"), leaf(3, "x")});
  DataType outer_cut = DataType::Row({Field(2, "inner", inner_cut)});
  std::vector<DataField> wanted = {Field(8, "m", DataType::Map(DataType::String(false), inner_cut)),
                                   Field(9, "absent", DataType::Array(DataType(TypeRoot::kInt))),
                                   Field(7, "l", DataType::Array(outer_cut)),
                                   Field(1, "r", outer_cut)};
  auto back = ReadFile(*io, "/f.parquet", Columns(wanted)).table;

  auto cut_inner = [](const std::shared_ptr<arrow::Array>& array) {
    const auto& row = static_cast<const arrow::StructArray&>(*array);
    return Unwrap(arrow::StructArray::Make({row.field(2), row.field(0)},
                                           std::vector<std::string>{"z", "x"}, row.null_bitmap(),
                                           row.null_count()));
  };
  auto column = [&](int i) { return parquet_test::Whole(*back, i); };
  auto map_read = std::static_pointer_cast<arrow::MapArray>(column(0));
  auto map_written = std::static_pointer_cast<arrow::MapArray>(batch->column(3));
  EXPECT_TRUE(map_read->keys()->Equals(map_written->keys()));
  EXPECT_TRUE(map_read->items()->Equals(cut_inner(map_written->items())));
  EXPECT_EQ(column(1)->null_count(), 800);
  auto list_read = std::static_pointer_cast<arrow::ListArray>(column(2));
  auto list_written = std::static_pointer_cast<arrow::ListArray>(batch->column(2));
  for (const auto& [read, written] :
       {std::pair{list_read->values(), list_written->values()}, {column(3), batch->column(1)}}) {
    const auto& read_row = static_cast<const arrow::StructArray&>(*read);
    const auto& written_row = static_cast<const arrow::StructArray&>(*written);
    EXPECT_EQ(read_row.null_count(), written_row.null_count());
    ASSERT_EQ(read_row.num_fields(), 1);
    // Values below a null ROW are nobody's business.
    auto read_inner = Unwrap(read_row.GetFlattenedField(0));
    auto written_inner = cut_inner(Unwrap(written_row.GetFlattenedField(0)));
    EXPECT_TRUE(read_inner->Equals(*written_inner)) << read_inner->Diff(*written_inner);
  }
}

TEST(ParquetRoundTrip, RowWithoutWantedMembersKeepsItsNulls) {
  std::vector<DataField> fields = {
      Field(0, "r", DataType::Row({Field(1, "l", DataType::Array(DataType(TypeRoot::kInt)))}))};
  RandomTable random(1);
  auto batch = random.Batch(fields, 500);
  auto io = MakeMemoryFileIO();
  WriteFile(*io, "/f.parquet", fields, {batch});
  auto back = ReadFile(*io, "/f.parquet", Columns({Field(0, "r", DataType::Row({}))})).table;
  ASSERT_EQ(back->num_rows(), 500);
  EXPECT_EQ(back->column(0)->null_count(), batch->column(0)->null_count());
  EXPECT_GT(batch->column(0)->null_count(), 0);
}

TEST(ParquetRoundTrip, NoColumnsWantedCountsRows) {
  std::vector<DataField> fields = {Field(0, "a", DataType(TypeRoot::kInt))};
  auto io = MakeMemoryFileIO();
  WriteFile(*io, "/f.parquet", fields, {RandomTable(1).Batch(fields, 1234)});
  auto options = Columns({});
  options.batch_rows = 1000;
  auto back = ReadFile(*io, "/f.parquet", options);
  EXPECT_EQ(back.row_counts, (std::vector<int64_t>{1000, 234}));
  EXPECT_EQ(back.first_rows, (std::vector<int64_t>{0, 1000}));
}

TEST(ParquetRoundTrip, EmptyFile) {
  std::vector<DataField> fields = {Field(0, "a", DataType(TypeRoot::kInt))};
  auto io = MakeMemoryFileIO();
  auto written = WriteFile(*io, "/f.parquet", fields, {});
  EXPECT_EQ(written.row_count, 0);
  auto back = ReadFile(*io, "/f.parquet", Columns(fields));
  EXPECT_EQ(back.table->num_rows(), 0);
  EXPECT_EQ(back.statistics.row_groups_total, 0);
}

TEST(ParquetRoundTrip, LongTextsMakePagesOfTheirOwn) {
  std::vector<DataField> fields = {Field(0, "s", DataType::String()),
                                   Field(1, "l", DataType::Array(DataType::String()))};
  arrow::StringBuilder texts;
  auto schema = Unwrap(ToArrowSchema(fields));
  auto lists = Unwrap(arrow::MakeBuilder(schema->field(1)->type()));
  auto* list = static_cast<arrow::ListBuilder*>(lists.get());
  for (int i = 0; i < 300; ++i) {
    std::string text(static_cast<size_t>(i % 7) * 9000, static_cast<char>('a' + i % 26));
    text += std::to_string(i);
    ASSERT_TRUE(texts.Append(text).ok());
    if (i % 5 == 0) {
      ASSERT_TRUE(list->AppendNull().ok());
      continue;
    }
    ASSERT_TRUE(list->Append().ok());
    auto* values = static_cast<arrow::StringBuilder*>(list->value_builder());
    for (int j = 0; j < i % 4; ++j) ASSERT_TRUE(values->Append(text).ok());
  }
  auto batch = arrow::RecordBatch::Make(
      schema, 300, arrow::ArrayVector{Unwrap(texts.Finish()), Unwrap(lists->Finish())});
  WriterOptions options;
  options.compression = "none";
  options.format_options["parquet.page.size"] = "20000";
  auto io = MakeMemoryFileIO();
  WriteFile(*io, "/f.parquet", fields, {batch}, options);
  ExpectTablesEqual(*ReadFile(*io, "/f.parquet", Columns(fields)).table, *TableOf(fields, {batch}));
}

TEST(ParquetRoundTrip, NullWhereNotNullIsRefused) {
  std::vector<DataField> nullable = {Field(0, "a", DataType(TypeRoot::kInt)),
                                     Field(1, "l", DataType::Array(DataType(TypeRoot::kInt)))};
  std::vector<DataField> flat = nullable;
  flat[0].type = DataType(TypeRoot::kInt, false);
  std::vector<DataField> nested = nullable;
  nested[1].type = DataType::Array(DataType(TypeRoot::kInt, false));
  auto batch = RandomTable(3).Batch(nullable, 100);
  const FileFormat* format = Unwrap(FindFormat("parquet"));
  for (const auto& fields : {flat, nested}) {
    auto io = MakeMemoryFileIO();
    auto writer = Unwrap(format->CreateWriter(*io, "/f.parquet", fields, {}));
    auto status = writer->Write(*batch);
    if (status.ok()) status = writer->Finish().status();
    ASSERT_FALSE(status.ok());
    EXPECT_NE(status.message().find("NOT NULL"), std::string::npos) << status.ToString();
    writer.reset();
    EXPECT_FALSE(Unwrap(io->Exists("/f.parquet")));
  }
}

TEST(ParquetRoundTrip, UnfinishedFileIsRemoved) {
  std::vector<DataField> fields = {Field(0, "a", DataType(TypeRoot::kInt))};
  auto io = MakeMemoryFileIO();
  const FileFormat* format = Unwrap(FindFormat("parquet"));
  {
    auto writer = Unwrap(format->CreateWriter(*io, "/f.parquet", fields, {}));
    ASSERT_TRUE(writer->Write(*RandomTable(1).Batch(fields, 100)).ok());
    ASSERT_TRUE(writer->FlushRowGroup().ok());
    ASSERT_TRUE(writer->Write(*RandomTable(1).Batch(fields, 100)).ok());
  }
  EXPECT_FALSE(Unwrap(io->Exists("/f.parquet")));
}

TEST(ParquetRoundTrip, BufferedAndEstimatedBytes) {
  std::vector<DataField> fields = {Field(0, "a", DataType(TypeRoot::kBigInt, false))};
  RandomTable random(4);
  auto io = MakeMemoryFileIO();
  const FileFormat* format = Unwrap(FindFormat("parquet"));
  WriterOptions options;
  options.compression = "none";
  auto writer = Unwrap(format->CreateWriter(*io, "/f.parquet", fields, options));
  EXPECT_EQ(writer->BufferedBytes(), 0);
  int64_t raw = 0;
  for (int i = 0; i < 50; ++i) {
    ASSERT_TRUE(writer->Write(*random.Batch(fields, 10000)).ok());
    raw += 80000;
    EXPECT_GE(writer->BufferedBytes(), raw * 9 / 10);
    EXPECT_GE(writer->EstimatedBytes(), raw * 9 / 10);
    EXPECT_LE(writer->EstimatedBytes(), raw * 11 / 10 + 10000);
  }
  ASSERT_TRUE(writer->FlushRowGroup().ok());
  // The footer stays.
  EXPECT_GT(writer->BufferedBytes(), 0);
  EXPECT_LE(writer->BufferedBytes(), 10000);
  EXPECT_GE(writer->EstimatedBytes(), raw * 9 / 10);
  auto written = Unwrap(writer->Finish());
  EXPECT_NEAR(static_cast<double>(written.size_bytes), static_cast<double>(raw), raw * 0.1);
}

}  // namespace
}  // namespace kelda
