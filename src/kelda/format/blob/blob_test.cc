#include <arrow/api.h>
#include <arrow/util/crc32.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "kelda/base/test_matchers.h"
#include "kelda/format/blob/blob_format.h"
#include "kelda/format/blob/blob_layout.h"
#include "kelda/format/parquet/parquet_test_util.h"

namespace kelda {
namespace {

using parquet_test::Unwrap;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using Values = std::vector<std::optional<std::string>>;

std::string FromHex(std::string_view hex) {
  std::string bytes;
  for (size_t i = 0; i + 1 < hex.size(); i += 2) {
    bytes += static_cast<char>(std::stoi(std::string(hex.substr(i, 2)), nullptr, 16));
  }
  return bytes;
}

std::vector<DataField> Fields(bool nullable = true) {
  return {parquet_test::Field(2, "data", DataType(TypeRoot::kBlob, nullable))};
}

std::shared_ptr<arrow::RecordBatch> BatchOf(const Values& values) {
  arrow::BinaryBuilder builder;
  for (const auto& value : values) {
    EXPECT_OK(value ? builder.Append(*value) : builder.AppendNull());
  }
  auto column = Unwrap(builder.Finish());
  const int64_t rows = column->length();
  return arrow::RecordBatch::Make(arrow::schema({arrow::field("data", arrow::binary())}), rows,
                                  {std::move(column)});
}

WrittenFile Write(FileIO& io, const std::string& path, const Values& values,
                  const BlobWriteOptions& options = {}) {
  auto writer = Unwrap(MakeBlobWriter(io, path, options));
  EXPECT_OK(writer->Write(*BatchOf(values)));
  return Unwrap(writer->Finish());
}

void Put(FileIO& io, const std::string& path, std::string_view bytes) {
  auto out = Unwrap(io.CreateNew(path));
  ASSERT_TRUE(out->Write(bytes.data(), static_cast<int64_t>(bytes.size())).ok() &&
              out->Close().ok());
}

struct ReadBack {
  Values values;
  std::vector<int64_t> first_rows;
};

arrow::Result<ReadBack> Read(FileIO& io, const std::string& path,
                             const BlobReadOptions& options = {}, int64_t size_bytes = -1) {
  ReadBack out;
  ARROW_ASSIGN_OR_RAISE(auto reader, OpenBlobReader(io, path, size_bytes, options));
  while (true) {
    ARROW_ASSIGN_OR_RAISE(auto batch, reader->Next());
    if (batch == nullptr) return out;
    ARROW_RETURN_NOT_OK(batch->ValidateFull());
    out.first_rows.push_back(reader->first_row());
    const auto& column = static_cast<const arrow::BinaryArray&>(*batch->column(0));
    for (int64_t i = 0; i < column.length(); ++i) {
      out.values.push_back(column.IsNull(i) ? std::nullopt
                                            : std::optional(std::string(column.GetView(i))));
    }
  }
}

// A file that Java 1.4.2 wrote: "hi", an empty value, null.
constexpr const char* kJava =
    "cf114e58686912000000000000"
    "00dfb7353bcf114e5810000000"
    "00000000537fdf032403210300000001";

TEST(Blob, BytesAsJava) {
  auto io = MakeMemoryFileIO();
  const auto written = Write(*io, "/f.blob", {"hi", "", std::nullopt});
  EXPECT_EQ(written.row_count, 3);
  const std::string bytes = Unwrap(io->ReadAll("/f.blob"));
  EXPECT_EQ(bytes, FromHex(kJava));
  EXPECT_EQ(written.size_bytes, static_cast<int64_t>(bytes.size()));
  EXPECT_EQ(written.stats.size(), 1U);
  EXPECT_EQ(written.stats[0].null_count, std::nullopt);
  Put(*io, "/java.blob", FromHex(kJava));
  EXPECT_THAT(Unwrap(Read(*io, "/java.blob")).values, ElementsAre("hi", "", std::nullopt));
  EXPECT_EQ(Unwrap(OpenBlobReader(*io, "/java.blob", 42, {}))->file_row_count(), 3);
}

TEST(Blob, BehindTheInterfaceOfFormats) {
  const FileFormat* format = Unwrap(FindFormat("blob"));
  EXPECT_EQ(FormatOfFileName("data-1.blob"), "blob");
  EXPECT_OK(format->CheckTypes(Fields()));
  EXPECT_TRUE(IsUnsupported(format->CheckTypes({parquet_test::Field(0, "i", DataType())})));
  EXPECT_TRUE(IsUnsupported(format->CheckTypes({Fields()[0], Fields()[0]})));
  EXPECT_TRUE(IsUnsupported(format->CheckTypes({})));
  auto io = MakeMemoryFileIO();
  const Values values = {"a", std::nullopt, std::string(100000, 'x'), "", "b"};
  parquet_test::WriteFile(*io, "/f.blob", Fields(), {BatchOf(values), BatchOf({"c"})});
  ReadOptions options;
  options.columns = Fields();
  options.batch_rows = 2;
  RowRanges wanted;
  wanted.Add(1, 4);
  wanted.Add(5, 6);
  options.rows = std::make_shared<const RowRanges>(wanted);
  const auto back = parquet_test::ReadFile(*io, "/f.blob", options);
  EXPECT_THAT(back.first_rows, ElementsAre(1, 3, 5));
  EXPECT_THAT(back.row_counts, ElementsAre(2, 1, 1));
  const auto column = parquet_test::Whole(*back.table, 0);
  EXPECT_TRUE(column->IsNull(0));
  EXPECT_EQ(static_cast<const arrow::BinaryArray&>(*column).GetView(1).size(), 100000U);
  EXPECT_EQ(static_cast<const arrow::BinaryArray&>(*column).GetView(3), "c");
  options.columns = Fields(/*nullable=*/false);
  EXPECT_TRUE(IsCorruption(parquet_test::TryReadFile(*io, "/f.blob", options).status()));
}

TEST(Blob, ManyValuesOfEveryLength) {
  auto io = MakeMemoryFileIO();
  Values values;
  uint64_t state = 7;
  for (int i = 0; i < 3000; ++i) {
    state = state * 6364136223846793005u + 1442695040888963407u;
    if (state >> 61 == 0) {
      values.push_back(std::nullopt);
    } else {
      values.push_back(
          std::string((state >> 40) % (i % 50 == 0 ? 70000 : 300), static_cast<char>(state >> 20)));
    }
  }
  Write(*io, "/f.blob", values);
  BlobReadOptions options;
  options.batch_rows = 333;
  const auto back = Unwrap(Read(*io, "/f.blob", options));
  EXPECT_EQ(back.values, values);
  EXPECT_EQ(back.first_rows[1], 333);
  EXPECT_THAT(Unwrap(Read(*io, "/f.blob", options)).values.size(), 3000);
}

TEST(Blob, EmptyFileAndUnfinishedFile) {
  auto io = MakeMemoryFileIO();
  EXPECT_EQ(Write(*io, "/f.blob", {}).size_bytes, 5);
  EXPECT_TRUE(Unwrap(Read(*io, "/f.blob")).values.empty());
  {
    auto writer = Unwrap(MakeBlobWriter(*io, "/g.blob", {}));
    ASSERT_OK(writer->Write(*BatchOf({"x"})));
  }
  EXPECT_FALSE(Unwrap(io->Exists("/g.blob")));
}

TEST(BlobDescriptors, BytesAsJava) {
  const BlobDescriptor descriptor{"file:/x", 4, 2};
  const std::string bytes = FromHex(
      "0243534544424f4c4207000000"
      "66696c653a2f7804000000000000000200000000000000");
  EXPECT_EQ(descriptor.Serialize(), bytes);
  EXPECT_EQ(Unwrap(BlobDescriptor::Parse(bytes)), descriptor);
  EXPECT_TRUE(IsBlobDescriptor(bytes));
  const std::string first_version = "\x01" + bytes.substr(9);
  EXPECT_EQ(Unwrap(BlobDescriptor::Parse(first_version)), descriptor);
  EXPECT_FALSE(IsBlobDescriptor(first_version));
  EXPECT_FALSE(IsBlobDescriptor("\x02hello"));
  for (size_t length = 0; length < bytes.size(); ++length) {
    EXPECT_TRUE(IsCorruption(BlobDescriptor::Parse(bytes.substr(0, length)).status()));
  }
  EXPECT_TRUE(IsCorruption(BlobDescriptor::Parse(bytes + "x").status()));
  EXPECT_TRUE(IsCorruption(BlobDescriptor::Parse("\x03" + bytes.substr(1)).status()));
}

TEST(BlobDescriptors, ReadAndWritten) {
  auto io = MakeMemoryFileIO();
  const Values values = {"first", std::nullopt, "", std::string(3 << 20, 'z')};
  Write(*io, "/t/f.blob", values);
  BlobReadOptions options;
  options.as_descriptor = true;
  const auto descriptors = Unwrap(Read(*io, "/t/f.blob", options)).values;
  ASSERT_EQ(descriptors.size(), 4U);
  EXPECT_FALSE(descriptors[1].has_value());
  const BlobDescriptor first = Unwrap(BlobDescriptor::Parse(*descriptors[0]));
  EXPECT_EQ(first, (BlobDescriptor{"/t/f.blob", 4, 5}));
  EXPECT_EQ(Unwrap(ReadBlob(*io, first)), "first");
  EXPECT_TRUE(ReadBlob(*io, first, 3).status().IsInvalid());
  EXPECT_TRUE(IsCorruption(ReadBlob(*io, {"/t/f.blob", 4, 1 << 30}).status()));
  // Copied out of one file into another, as values.
  BlobWriteOptions write;
  write.resolve_descriptors = true;
  Write(*io, "/t/copy.blob", descriptors, write);
  EXPECT_EQ(Unwrap(io->ReadAll("/t/copy.blob", 1 << 30)),
            Unwrap(io->ReadAll("/t/f.blob", 1 << 30)));
  // Without the option they are values like others.
  Write(*io, "/t/plain.blob", descriptors);
  EXPECT_EQ(Unwrap(Read(*io, "/t/plain.blob")).values, descriptors);
  Put(*io, "/t/raw", "0123456789");
  Write(*io, "/t/part.blob",
        {BlobDescriptor{"file:///t/raw", 3, -1}.Serialize(),
         BlobDescriptor{"file:/t/raw", 0, 2}.Serialize()},
        write);
  EXPECT_THAT(Unwrap(Read(*io, "/t/part.blob")).values, ElementsAre("3456789", "01"));
  for (const BlobDescriptor& bad :
       {BlobDescriptor{"/t/raw", 11, -1}, BlobDescriptor{"/t/raw", 5, 6},
        BlobDescriptor{"/t/none", 0, 1}, BlobDescriptor{"s3://b/x", 0, 1}}) {
    auto writer = Unwrap(MakeBlobWriter(*io, "/t/bad.blob", write));
    const auto status = writer->Write(*BatchOf({bad.Serialize()}));
    EXPECT_FALSE(status.ok());
    EXPECT_THAT(status.message(), HasSubstr("/t/bad.blob"));
    EXPECT_FALSE(writer->Finish().ok());
  }
}

TEST(BlobHostile, EveryByteOfASmallFile) {
  auto io = MakeMemoryFileIO();
  const Values values = {"hi", "", std::nullopt, "a longer value"};
  Write(*io, "/f.blob", values);
  const std::string bytes = Unwrap(io->ReadAll("/f.blob"));
  int n = 0;
  const auto read = [&](std::string_view damaged, int64_t size = -1) {
    const std::string path = fmt::format("/broken-{}.blob", n++);
    Put(*io, path, damaged);
    const auto result = Read(*io, path, {}, size);
    EXPECT_FALSE(result.ok());
    EXPECT_TRUE(IsCorruption(result.status()) || IsUnsupported(result.status()))
        << result.status().ToString();
    EXPECT_THAT(result.status().message(), HasSubstr(path));
  };
  for (size_t at = 0; at < bytes.size(); ++at) {
    for (const int change : {1, 2, 0x40, 0x80, 0xff}) {
      std::string damaged = bytes;
      damaged[at] = static_cast<char>(damaged[at] ^ change);
      read(damaged);
    }
    read(bytes.substr(0, at));
    read(bytes.substr(at + 1));
  }
  read(bytes, 5);
  EXPECT_TRUE(IsCorruption(DecodeBlobIndex(std::string(11, '\xff'), 100, 0, "f").status()));
  EXPECT_TRUE(IsUnsupported(DecodeBlobIndex("\x03", 0, 0, "f").status()));
}

}  // namespace
}  // namespace kelda
