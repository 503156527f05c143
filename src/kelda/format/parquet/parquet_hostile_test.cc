// Damaged files: an error that names the file, or the right rows; never a crash.

#include <arrow/api.h>
#include <gtest/gtest.h>

#include "kelda/format/parquet/parquet_test_util.h"

namespace kelda {
namespace {

using parquet_test::RandomTable;
using parquet_test::TryReadFile;
using parquet_test::Unwrap;
using parquet_test::WriteFile;

class DamagedFile : public testing::TestWithParam<int> {
 protected:
  void SetUp() override {
    RandomTable random(static_cast<uint64_t>(GetParam()) + 1000);
    random.repetitive = GetParam() % 2 == 0;
    fields_ = random.Schema(3, GetParam() % 3);
    batch_ = random.Batch(fields_, 120);
    WriterOptions options;
    options.compression = GetParam() % 3 == 0 ? "none" : GetParam() % 3 == 1 ? "zstd" : "snappy";
    options.format_options["parquet.page.row.count.limit"] = "40";
    auto io = MakeMemoryFileIO();
    WriteFile(*io, "/f.parquet", fields_, {batch_}, options);
    bytes_ = Unwrap(io->ReadAll("/f.parquet"));
    expected_ = parquet_test::TableOf(fields_, {batch_});
  }

  arrow::Result<parquet_test::ReadBack> Read(const std::string& bytes,
                                             PredicatePtr predicate = {}) {
    auto io = MakeMemoryFileIO();
    auto out = Unwrap(io->CreateNew("/broken.parquet"));
    EXPECT_TRUE(out->Write(bytes).ok() && out->Close().ok());
    ReadOptions options;
    options.columns = fields_;
    options.predicate = std::move(predicate);
    return TryReadFile(*io, "/broken.parquet", options);
  }

  void ExpectErrorOrRows(const arrow::Result<parquet_test::ReadBack>& read,
                         const std::string& what) {
    if (read.ok()) {
      ++accepted_;
      return;
    }
    ++refused_;
    const auto& status = read.status();
    EXPECT_TRUE(IsCorruption(status) || IsUnsupported(status) || status.IsOutOfMemory())
        << what << ": " << status.ToString();
    EXPECT_NE(status.message().find("/broken.parquet"), std::string::npos) << status.ToString();
  }

  std::vector<DataField> fields_;
  std::shared_ptr<arrow::RecordBatch> batch_;
  std::string bytes_;
  std::shared_ptr<arrow::Table> expected_;
  int accepted_ = 0;
  int refused_ = 0;
};

TEST_P(DamagedFile, Truncated) {
  for (size_t length = 0; length < bytes_.size(); length += 1 + length / 40) {
    auto read = Read(bytes_.substr(0, length));
    EXPECT_FALSE(read.ok()) << length;
    ExpectErrorOrRows(read, "length " + std::to_string(length));
  }
  auto cut_front = Read(bytes_.substr(10));
  ExpectErrorOrRows(cut_front, "front");
  EXPECT_FALSE(cut_front.ok());
}

TEST_P(DamagedFile, BitFlipsInPagesAreNoticed) {
  const size_t pages_end = bytes_.size() / 2;
  int wrong = 0;
  uint64_t state = static_cast<uint64_t>(GetParam());
  for (int round = 0; round < 150; ++round) {
    state = state * 6364136223846793005u + 1442695040888963407u;
    std::string damaged = bytes_;
    const size_t at = 4 + (state >> 33) % (damaged.size() - 4);
    damaged[at] = static_cast<char>(damaged[at] ^ (1 << (state >> 20) % 8));
    auto read = Read(damaged);
    ExpectErrorOrRows(read, "byte " + std::to_string(at));
    // Names and bounds, which no checksum guards, live behind the pages.
    if (read.ok() && at < pages_end) {
      wrong += !read->table->Equals(*expected_, arrow::EqualOptions::Defaults().nans_equal(true));
    }
    // With a predicate the page index is decoded too.
    auto pruned = Read(damaged, Leaf(PredicateOp::kIsNotNull, {fields_[0].name}, {}));
    ExpectErrorOrRows(pruned, "pruned, byte " + std::to_string(at));
  }
  EXPECT_GT(refused_, 0);
  // Page headers carry no checksum: a flip there may change levels or encodings unnoticed, but
  // rarely.
  EXPECT_LE(wrong, 4);
}

TEST_P(DamagedFile, RandomBytesInTheFooter) {
  uint64_t state = static_cast<uint64_t>(GetParam()) + 77;
  for (int round = 0; round < 150; ++round) {
    std::string damaged = bytes_;
    for (int i = 0; i < 3; ++i) {
      state = state * 6364136223846793005u + 1442695040888963407u;
      const size_t at = damaged.size() / 2 + (state >> 33) % (damaged.size() / 2);
      damaged[at] = static_cast<char>(state >> 25);
    }
    ExpectErrorOrRows(Read(damaged), "round " + std::to_string(round));
    ExpectErrorOrRows(Read(damaged, Leaf(PredicateOp::kIsNull, {fields_[1].name}, {})),
                      "pruned, round " + std::to_string(round));
  }
  EXPECT_GT(refused_, 0);
}

INSTANTIATE_TEST_SUITE_P(Files, DamagedFile, testing::Range(0, 9));

TEST(ParquetHostile, SizeDiffersFromTheManifest) {
  std::vector<DataField> fields = RandomTable(1).Schema(2, 0);
  auto io = MakeMemoryFileIO();
  auto written = WriteFile(*io, "/f.parquet", fields, {});
  ReadOptions options;
  options.columns = fields;
  EXPECT_TRUE(TryReadFile(*io, "/f.parquet", options, written.size_bytes).ok());
  auto status = TryReadFile(*io, "/f.parquet", options, written.size_bytes + 1).status();
  EXPECT_TRUE(IsCorruption(status));
  EXPECT_NE(status.message().find("/f.parquet"), std::string::npos);
}

TEST(ParquetHostile, ColumnNameDiffersFromTheSchema) {
  std::vector<DataField> fields = {parquet_test::Field(3, "price", DataType(TypeRoot::kInt))};
  auto io = MakeMemoryFileIO();
  WriteFile(*io, "/f.parquet", fields, {RandomTable(1).Batch(fields, 10)});
  ReadOptions options;
  options.columns = {parquet_test::Field(3, "prize", DataType(TypeRoot::kInt))};
  auto status = TryReadFile(*io, "/f.parquet", options).status();
  EXPECT_TRUE(IsCorruption(status)) << status.ToString();
  for (const char* part : {"/f.parquet", "'prize'", "'price'"})
    EXPECT_NE(status.message().find(part), std::string::npos) << status.ToString();
  // Another column that the file does not have is NULL.
  options.columns = {parquet_test::Field(4, "prize", DataType(TypeRoot::kInt))};
  EXPECT_TRUE(TryReadFile(*io, "/f.parquet", options).ok());
}

TEST(ParquetHostile, MissingAndEmptyFiles) {
  auto io = MakeMemoryFileIO();
  ReadOptions options;
  auto missing = TryReadFile(*io, "/none.parquet", options).status();
  EXPECT_TRUE(IsNotFound(missing)) << missing.ToString();
  auto out = Unwrap(io->CreateNew("/empty.parquet"));
  ASSERT_TRUE(out->Close().ok());
  EXPECT_TRUE(IsCorruption(TryReadFile(*io, "/empty.parquet", options).status()));
}

TEST(ParquetHostile, CancelledBetweenBatches) {
  std::vector<DataField> fields = {parquet_test::Field(0, "a", DataType(TypeRoot::kInt))};
  auto io = MakeMemoryFileIO();
  WriteFile(*io, "/f.parquet", fields, {RandomTable(1).Batch(fields, 1000)});
  ReadOptions options;
  options.columns = fields;
  options.batch_rows = 100;
  const FileFormat* format = Unwrap(FindFormat("parquet"));
  auto reader = Unwrap(format->OpenReader(*io, "/f.parquet", -1, options));
  EXPECT_TRUE(reader->Next().ok());
  options.token.Cancel();
  auto status = reader->Next().status();
  EXPECT_EQ(CodeOf(status), ErrorCode::kCancelled) << status.ToString();
}

}  // namespace
}  // namespace kelda
