#include "kelda/io/range_reads.h"

#include <random>

#include "kelda/base/test_matchers.h"
#include "kelda/io/counting_file_io.h"
#include "kelda/io/faulty_file_io.h"
#include "kelda/io/parallel_list.h"

namespace kelda {
namespace {

TEST(MergeRangesTest, GapsAndLimits) {
  const auto merged =
      MergeRanges({{100, 10}, {0, 10}, {20, 10}, {1000, 5}, {105, 2}, {50, 0}}, 70, 500);
  ASSERT_EQ(merged.size(), 2u);
  EXPECT_EQ(merged[0].range.offset, 0);
  EXPECT_EQ(merged[0].range.length, 110);
  EXPECT_THAT(merged[0].members, testing::ElementsAre(1, 2, 0, 4));
  EXPECT_EQ(merged[1].range.offset, 1000);
  EXPECT_EQ(MergeRanges({{0, 10}, {80, 10}}, 70, 500).size(), 1u);
  EXPECT_EQ(MergeRanges({{0, 10}, {81, 10}}, 70, 500).size(), 2u);
  // Merging stops at the limit, but one long range stays whole, and what lies inside it joins.
  EXPECT_EQ(MergeRanges({{0, 300}, {300, 300}}, 70, 500).size(), 2u);
  EXPECT_EQ(MergeRanges({{0, 900}, {100, 10}}, 70, 500).size(), 1u);
  EXPECT_TRUE(MergeRanges({}, 70, 500).empty());
}

TEST(ReadFileRangesTest, RandomRangesEqualPlainReads) {
  std::mt19937 random(42);
  std::string content(3000000, '\0');
  for (auto& c : content) c = static_cast<char>(random());
  auto memory = MakeMemoryFileIO();
  ASSERT_OK(memory->WriteReplacing("/f", content));
  CountingFileIO io(memory);
  auto pool = Executor::MakePool(3);
  for (int round = 0; round < 30; ++round) {
    std::vector<ByteRange> ranges;
    for (int i = 0; i < 50; ++i) {
      const auto offset = static_cast<int64_t>(random() % content.size());
      const auto room = static_cast<int64_t>(content.size()) - offset;
      ranges.push_back({offset, static_cast<int64_t>(random() % 5000) % (room + 1)});
    }
    RangeReadOptions options;
    options.executor = round % 2 == 0 ? pool.get() : nullptr;
    ASSERT_OK_AND_ASSIGN(auto file, io.OpenInput("/f"));
    ASSERT_OK_AND_ASSIGN(auto buffers, ReadFileRanges(*file, "/f", ranges, options));
    for (size_t i = 0; i < ranges.size(); ++i) {
      EXPECT_TRUE(buffers[i]->ToString() == content.substr(static_cast<size_t>(ranges[i].offset),
                                                           static_cast<size_t>(ranges[i].length)));
    }
  }
  EXPECT_LT(io.calls(IoOperation::kRead), 30 * 45);
}

TEST(ReadFileRangesTest, ErrorsAndCancellation) {
  auto memory = MakeMemoryFileIO();
  ASSERT_OK(memory->WriteReplacing("/f", std::string(1000000, 'x')));
  FaultyFileIO io(memory);
  Fault fault;
  fault.operation = IoOperation::kRead;
  fault.nth = 2;
  io.Add(fault);
  ASSERT_OK_AND_ASSIGN(auto file, io.OpenInput("/f"));
  const std::vector<ByteRange> ranges = {{0, 1}, {500000, 1}, {999999, 1}};
  EXPECT_TRUE(ReadFileRanges(*file, "/f", ranges).status().IsIOError());
  RangeReadOptions options;
  options.token.Cancel();
  EXPECT_THAT(ReadFileRanges(*file, "/f", ranges, options),
              HasError(ErrorCode::kCancelled, "cancelled"));
}

TEST(ParallelListTest, ListsInOrder) {
  auto io = MakeMemoryFileIO();
  std::vector<std::string> dirs;
  for (int i = 0; i < 40; ++i) {
    dirs.push_back(fmt::format("/t/dt={}", i));
    if (i % 3 == 0) continue;  // missing
    ASSERT_OK(io->WriteReplacing(fmt::format("/t/dt={}/f{}", i, i), "x"));
  }
  auto pool = Executor::MakePool(3);
  ASSERT_OK_AND_ASSIGN(auto listings, ParallelList(*io, dirs, *pool));
  ASSERT_EQ(listings.size(), dirs.size());
  for (size_t i = 0; i < dirs.size(); ++i) {
    ASSERT_EQ(listings[i].size(), i % 3 == 0 ? 0u : 1u);
    if (i % 3 == 0) continue;
    EXPECT_EQ(listings[i][0].name, fmt::format("f{}", i));
  }
  FaultyFileIO faulty(io);
  Fault fault;
  fault.path_glob = "*=7";
  faulty.Add(fault);
  EXPECT_FALSE(ParallelList(faulty, dirs, *pool).ok());
  CancellationToken token;
  token.Cancel();
  EXPECT_THAT(ParallelList(*io, dirs, *pool, token), HasError(ErrorCode::kCancelled, ""));
}

}  // namespace
}  // namespace kelda
