// Arrow's own ORC library as an independent reader and writer.

#include <arrow/adapters/orc/adapter.h>
#include <arrow/api.h>
#include <arrow/compute/api.h>
#include <arrow/io/memory.h>
#include <gtest/gtest.h>

#include "kelda/base/test_matchers.h"
#include "kelda/format/orc/orc_test_util.h"

namespace kelda {
namespace {

using namespace orc_test;  // NOLINT

/// Values of both forms as text, nested ones too: the library names children, and chooses units, in
/// its own way.
std::string TextOf(const arrow::Array& array, int64_t row);

std::string TextOfList(const arrow::ListArray& lists, const arrow::Array& values, int64_t row) {
  std::string text = "[";
  for (int64_t i = lists.value_offset(row); i < lists.value_offset(row + 1); ++i) {
    text += TextOf(values, i) + ",";
  }
  return text + "]";
}

int64_t NanosPer(arrow::TimeUnit::type unit) {
  switch (unit) {
    case arrow::TimeUnit::SECOND:
      return 1000000000;
    case arrow::TimeUnit::MILLI:
      return 1000000;
    case arrow::TimeUnit::MICRO:
      return 1000;
    default:
      return 1;
  }
}

std::string TextOf(const arrow::Array& array, int64_t row) {
  if (array.IsNull(row)) return "null";
  switch (array.type_id()) {
    case arrow::Type::STRUCT: {
      const auto& rows = static_cast<const arrow::StructArray&>(array);
      std::string text = "{";
      for (int i = 0; i < rows.num_fields(); ++i) text += TextOf(*rows.field(i), row) + ",";
      return text + "}";
    }
    case arrow::Type::LIST:
    case arrow::Type::MAP: {
      const auto& lists = static_cast<const arrow::ListArray&>(array);
      return TextOfList(lists, *lists.values(), row);
    }
    case arrow::Type::TIMESTAMP: {
      const auto unit = static_cast<const arrow::TimestampType&>(*array.type()).unit();
      const auto value = static_cast<const arrow::TimestampArray&>(array).Value(row);
      const __int128 nanos = static_cast<__int128>(value) * NanosPer(unit);
      return fmt::format("{}.{}", static_cast<int64_t>(nanos / 1000),
                         static_cast<int64_t>(nanos % 1000));
    }
    case arrow::Type::TIME32:
      return std::to_string(static_cast<const arrow::Time32Array&>(array).Value(row));
    default:
      return Unwrap(array.GetScalar(row))->ToString();
  }
}

void ExpectSameText(const arrow::Table& actual, const arrow::Table& expected) {
  ASSERT_EQ(actual.num_rows(), expected.num_rows());
  ASSERT_EQ(actual.num_columns(), expected.num_columns());
  for (int i = 0; i < actual.num_columns(); ++i) {
    auto a = Whole(actual, i);
    auto e = Whole(expected, i);
    for (int64_t row = 0; row < a->length(); ++row) {
      ASSERT_EQ(TextOf(*a, row), TextOf(*e, row))
          << expected.schema()->field(i)->ToString() << " row " << row;
    }
  }
}

class OrcAdapter : public testing::TestWithParam<int> {
 protected:
  std::shared_ptr<arrow::io::RandomAccessFile> Open(const std::string& path) {
    return Unwrap(io_->OpenInput(path));
  }
  std::unique_ptr<arrow::adapters::orc::ORCFileReader> Reader(const std::string& path) {
    return Unwrap(
        arrow::adapters::orc::ORCFileReader::Open(Open(path), arrow::default_memory_pool()));
  }

  std::shared_ptr<FileIO> io_ = MakeMemoryFileIO();
};

/// Timestamps leave the range that the library can read.
bool AdapterHolds(const DataType& type) {
  switch (type.root()) {
    case TypeRoot::kTimestamp:
    case TypeRoot::kTimestampLtz:
      return false;
    case TypeRoot::kArray:
    case TypeRoot::kMultiset:
      return AdapterHolds(type.element());
    case TypeRoot::kMap:
      return AdapterHolds(type.key()) && AdapterHolds(type.value());
    case TypeRoot::kRow:
      for (const auto& field : type.fields()) {
        if (!AdapterHolds(field.type)) return false;
      }
      return true;
    default:
      return true;
  }
}

std::vector<DataField> AdapterSchema(RandomOrc* source, int depth) {
  std::vector<DataField> fields;
  while (fields.size() < 5) {
    for (auto& field : source->Schema(3, depth)) {
      if (!AdapterHolds(field.type)) continue;
      field.name = "c" + std::to_string(fields.size());
      fields.push_back(field);
    }
  }
  return fields;
}

TEST_P(OrcAdapter, ReadsWhatWeWrite) {
  RandomOrc source(static_cast<uint64_t>(GetParam()) + 4000);
  source.random.repetitive = GetParam() % 2 == 0;
  source.random.null_percent = GetParam() % 4 == 3 ? 0 : 20;
  auto fields = AdapterSchema(&source, GetParam() % 4);
  Batches batches = {source.random.Batch(fields, 1500), source.random.Batch(fields, 700)};
  WriterOptions options;
  const char* const kCodecs[] = {"none", "zstd", "snappy", "zlib", "lz4"};
  options.compression = kCodecs[GetParam() % 5];
  options.format_options["orc.row.index.stride"] = "1000";
  options.format_options["orc.compress.size"] = GetParam() % 2 == 0 ? "2048" : "262144";
  if (GetParam() % 3 == 0) options.format_options["orc.stripe.row.count"] = "1200";
  WriteOrc(*io_, "/f.orc", fields, batches, options);
  auto reader = Reader("/f.orc");
  EXPECT_EQ(reader->NumberOfRows(), 2200);
  EXPECT_EQ(reader->NumberOfStripes(), GetParam() % 3 == 0 ? 2 : 1);
  ExpectSameText(*Unwrap(reader->Read()), *TableOf(fields, batches));
  // By its row index it finds the second row group.
  auto second = Reader("/f.orc");
  ASSERT_OK(second->Seek(1000));
  auto batches_there = Unwrap(second->NextStripeReader(200));
  std::shared_ptr<arrow::RecordBatch> there;
  ASSERT_OK(batches_there->ReadNext(&there));
  auto all = TableOf(fields, batches);
  ExpectSameText(*Unwrap(arrow::Table::FromRecordBatches({there})), *all->Slice(1000, 200));
}

TEST_P(OrcAdapter, WritesWhatWeRead) {
  RandomOrc source(static_cast<uint64_t>(GetParam()) + 5000);
  source.random.repetitive = GetParam() % 2 == 0;
  auto fields = AdapterSchema(&source, GetParam() % 3);
  // The library writes no times of day.
  for (auto& field : fields) {
    if (field.type.ToString().find("TIME(") != std::string::npos) {
      field.type = DataType(TypeRoot::kInt);
    }
  }
  Batches batches = {source.random.Batch(fields, 1500), source.random.Batch(fields, 700)};
  arrow::adapters::orc::WriteOptions options;
  const arrow::Compression::type kCodecs[] = {arrow::Compression::UNCOMPRESSED,
                                              arrow::Compression::ZSTD, arrow::Compression::SNAPPY,
                                              arrow::Compression::GZIP, arrow::Compression::LZ4};
  options.compression = kCodecs[GetParam() % 5];
  options.file_version = arrow::adapters::orc::FileVersion(0, GetParam() % 2 == 0 ? 12 : 11);
  options.row_index_stride = 1000;
  options.compression_block_size = 65536;
  if (GetParam() % 3 == 0) options.dictionary_key_size_threshold = 0.9;
  auto out = Unwrap(io_->CreateNew("/a.orc"));
  auto writer = Unwrap(arrow::adapters::orc::ORCFileWriter::Open(out.get(), options));
  for (const auto& batch : batches) ASSERT_OK(writer->Write(*batch));
  ASSERT_OK(writer->Close());
  if (!out->closed()) {
    ASSERT_OK(out->Close());
  }
  auto expected = TableOf(fields, batches);
  ExpectSameText(*ReadOrc(*io_, "/a.orc", fields).table, *expected);
  ReadOptions second;
  second.columns = fields;
  auto rows = std::make_shared<RowRanges>();
  rows->Add(1001, 1002);
  second.rows = rows;
  auto there = ReadOrc(*io_, "/a.orc", second);
  ASSERT_EQ(there.first_rows.at(0), 1000);
  ExpectSameText(*there.table, *expected->Slice(1000, there.table->num_rows()));
}

Batches Times(const std::vector<int64_t>& values) {
  arrow::ArrayVector columns;
  for (const char* zone : {"", "UTC"}) {
    arrow::TimestampBuilder builder(arrow::timestamp(arrow::TimeUnit::NANO, zone),
                                    arrow::default_memory_pool());
    for (int64_t value : values) EXPECT_OK(builder.Append(value));
    EXPECT_OK(builder.AppendNull());
    columns.push_back(Unwrap(builder.Finish()));
  }
  auto schema =
      arrow::schema({arrow::field("t", columns[0]->type()), arrow::field("z", columns[1]->type())});
  return {arrow::RecordBatch::Make(schema, columns[0]->length(), columns)};
}

TEST(OrcAdapterTimes, BothWays) {
  const std::vector<DataField> fields = {
      Field(0, "t", DataType::Temporal(TypeRoot::kTimestamp, 9)),
      Field(1, "z", DataType::Temporal(TypeRoot::kTimestampLtz, 9))};
  auto io = MakeMemoryFileIO();
  auto batches = Times({0, -1000000000, -1500000000, 1420070400123456789, -9000000000000000001,
                        9000000000000000000, -1999999999999});
  WriteOrc(*io, "/f.orc", fields, batches);
  auto reader = Unwrap(arrow::adapters::orc::ORCFileReader::Open(Unwrap(io->OpenInput("/f.orc")),
                                                                 arrow::default_memory_pool()));
  ExpectSameText(*Unwrap(reader->Read()), *Unwrap(arrow::Table::FromRecordBatches(batches)));
  // The library writes no fractions before 1970 that it could read itself.
  batches = Times({0, -1000000000, 1420070400123456789, 9000000000000000000, 1});
  auto out = Unwrap(io->CreateNew("/a.orc"));
  auto writer = Unwrap(arrow::adapters::orc::ORCFileWriter::Open(out.get()));
  ASSERT_OK(writer->Write(*batches[0]));
  ASSERT_OK(writer->Close());
  if (!out->closed()) {
    ASSERT_OK(out->Close());
  }
  ExpectSameText(*ReadOrc(*io, "/a.orc", fields).table,
                 *Unwrap(arrow::Table::FromRecordBatches(batches)));
}

INSTANTIATE_TEST_SUITE_P(Seeds, OrcAdapter, testing::Range(0, 20));

}  // namespace
}  // namespace kelda
