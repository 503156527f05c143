#include "kelda/metadata/manifest_cache.h"

#include <gtest/gtest.h>

#include "kelda/base/test_matchers.h"
#include "kelda/io/counting_file_io.h"
#include "kelda/metadata/manifest.h"
#include "kelda/row/binary_row.h"

namespace kelda {
namespace {

std::string Partition(int32_t value) {
  return SerializeRow(
      1, EncodeBinaryRow({DataType(TypeRoot::kInt)}, {std::make_shared<arrow::Int32Scalar>(value)})
             .ValueOrDie());
}

ManifestEntry Entry(int32_t id) {
  ManifestEntry entry;
  entry.partition = Partition(id % 10);
  entry.file.file_name = "f" + std::to_string(id);
  entry.file.row_count = id;
  entry.file.min_key = entry.file.max_key = EmptySerializedRow();
  entry.file.key_stats = SimpleStats::Empty();
  entry.file.value_stats = SimpleStats{EmptySerializedRow(), EmptySerializedRow(), {id}};
  entry.file.value_stats_cols = std::vector<std::string>{"a"};
  return entry;
}

class ManifestCacheTest : public testing::Test {
 protected:
  void SetUp() override {
    ManifestWriter writer(io_, paths_, {DataField{0, "p", DataType(TypeRoot::kInt), {}, {}}},
                          &names_, ManifestWriterOptions());
    for (int32_t i = 0; i < 1000; ++i) ASSERT_OK(writer.Add(Entry(i)));
    ASSERT_OK_AND_ASSIGN(auto metas, writer.FinishEntries());
    ASSERT_EQ(metas.size(), 1u);
    meta_ = metas[0];
    files_read_ = io_->calls(IoOperation::kReadAll);
  }

  ManifestReader Reader(int64_t capacity_bytes, int64_t budget_bytes = 100 << 20) {
    cache_ = std::make_shared<ManifestCache>(capacity_bytes, MemoryBudget::Make(budget_bytes));
    return ManifestReader(io_, paths_, cache_);
  }

  /// Reads the entries of partition `p` (all: -1) and checks them.
  void Read(const ManifestReader& reader, int32_t p, bool value_stats) {
    ManifestReader::EntryOptions options;
    options.value_stats = value_stats;
    const std::string wanted = Partition(p);
    if (p >= 0) {
      options.partition_filter = [&](std::string_view partition) -> arrow::Result<bool> {
        return partition == wanted;
      };
    }
    int32_t id = std::max(p, 0);
    ASSERT_OK(reader.ReadEntries(meta_, options, [&](ManifestEntry&& entry) {
      ManifestEntry expected = Entry(id);
      EXPECT_EQ(entry.Identity(), expected.Identity());
      EXPECT_EQ(entry.file.row_count, id);
      EXPECT_EQ(entry.file.value_stats, value_stats ? expected.file.value_stats : SimpleStats());
      EXPECT_EQ(entry.file.value_stats_cols.has_value(), value_stats);
      id += p < 0 ? 1 : 10;
      return arrow::Status::OK();
    }));
    EXPECT_EQ(id, p < 0 ? 1000 : p < 10 ? 1000 + p : p);
  }

  int64_t NewFilesRead() {
    const int64_t before = std::exchange(files_read_, io_->calls(IoOperation::kReadAll));
    return files_read_ - before;
  }

  std::shared_ptr<CountingFileIO> io_ = std::make_shared<CountingFileIO>(MakeMemoryFileIO());
  TablePaths paths_{"/t"};
  MetadataFileNames names_{*Random::System()};
  ManifestFileMeta meta_;
  std::shared_ptr<ManifestCache> cache_;
  int64_t files_read_ = 0;
};

TEST_F(ManifestCacheTest, KeptManifestsAnswerWithoutTheFile) {
  auto reader = Reader(64 << 20);
  Read(reader, 3, false);
  EXPECT_EQ(NewFilesRead(), 1);
  EXPECT_GT(cache_->used_bytes(), 0);
  Read(reader, 3, false);
  Read(reader, 4, false);
  Read(reader, -1, false);
  EXPECT_EQ(NewFilesRead(), 0);
  // Statistics were not kept; then they are, and serve those who want none, too.
  Read(reader, 4, true);
  EXPECT_EQ(NewFilesRead(), 1);
  Read(reader, 4, true);
  Read(reader, 5, false);
  Read(reader, -1, true);
  EXPECT_EQ(NewFilesRead(), 0);
}

TEST_F(ManifestCacheTest, OfAManifestWithoutWantedPartitionsOnlyThoseAreKept) {
  auto reader = Reader(64 << 20);
  Read(reader, 77, false);
  EXPECT_EQ(NewFilesRead(), 1);
  const int64_t partitions = cache_->used_bytes();
  Read(reader, 78, false);
  EXPECT_EQ(NewFilesRead(), 0);
  Read(reader, 3, false);
  EXPECT_EQ(NewFilesRead(), 1);
  EXPECT_GT(cache_->used_bytes(), 3 * partitions);
}

TEST_F(ManifestCacheTest, NothingIsKeptThatIsTooLargeOrBeyondTheBudget) {
  for (auto reader : {Reader(64 << 10), Reader(64 << 20, /*budget_bytes=*/1000)}) {
    NewFilesRead();
    Read(reader, -1, true);
    Read(reader, -1, true);
    EXPECT_EQ(NewFilesRead(), 2);
    EXPECT_EQ(cache_->used_bytes(), 0);
  }
}

TEST_F(ManifestCacheTest, TheSizeThatTheListSaysIsCheckedOfAKeptManifestToo) {
  auto reader = Reader(64 << 20);
  Read(reader, -1, true);
  ++meta_.file_size;
  auto status = reader.ReadEntries(meta_).status();
  EXPECT_TRUE(IsCorruption(status)) << status.ToString();
}

TEST_F(ManifestCacheTest, TheLongestUnusedIsDroppedFirst) {
  ManifestCache cache(8000, MemoryBudget::Make(1 << 20));
  auto bytes = [] { return arrow::Buffer::FromString(std::string(1000, 'x')); };
  for (int i = 0; i < 8; ++i) cache.Put("m" + std::to_string(i), bytes());
  EXPECT_EQ(cache.used_bytes(), 8000);
  EXPECT_NE(cache.Get("m0"), nullptr);
  cache.Put("m8", bytes());
  EXPECT_EQ(cache.used_bytes(), 8000);
  EXPECT_NE(cache.Get("m0"), nullptr);
  EXPECT_EQ(cache.Get("m1"), nullptr);
  EXPECT_NE(cache.Get("m8"), nullptr);
}

}  // namespace
}  // namespace kelda
