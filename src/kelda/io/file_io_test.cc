#include "kelda/io/file_io.h"

#include <atomic>
#include <functional>
#include <limits>
#include <thread>

#include "kelda/base/test_matchers.h"
#include "kelda/io/caching_file_io.h"
#include "kelda/io/counting_file_io.h"
#include "kelda/io/faulty_file_io.h"
#include "kelda/io/io_test_fixture.h"
#include "kelda/io/retrying_file_io.h"

namespace kelda {
namespace {

// One suite for every FileIO: each must behave as the header says.
struct Implementation {
  std::string name;
  std::function<std::shared_ptr<FileIO>()> make;
  bool local = false;
};

std::shared_ptr<FileIO> Wrapped(std::shared_ptr<FileIO> inner) {
  CacheOptions cache;
  cache.block_bytes = 7;  // so that most reads cross blocks
  // "h" is replaced while it is read: such files are none for the cache.
  cache.cacheable = [](std::string_view path) { return BaseName(path) != "h"; };
  inner = std::make_shared<FaultyFileIO>(std::move(inner));
  inner = std::make_shared<RetryingFileIO>(std::move(inner), RetryPolicy());
  inner = std::make_shared<CountingFileIO>(std::move(inner));
  return std::make_shared<CachingFileIO>(std::move(inner), MemoryBudget::Make(1 << 20), cache);
}

class FileIoTest : public testing::TestWithParam<Implementation> {
 protected:
  void SetUp() override {
    root_ = GetParam().local ? directory_.path() : "/root";
    io_ = GetParam().make();
  }
  std::string At(std::string_view child) const { return JoinPath(root_, child); }
  void Put(const std::string& path, std::string_view bytes) {
    ASSERT_OK_AND_ASSIGN(auto out, io_->CreateNew(path));
    ASSERT_OK(out->Write(bytes.data(), static_cast<int64_t>(bytes.size())));
    ASSERT_OK(out->Close());
  }
  std::vector<std::string> Names(const std::string& dir) {
    std::vector<std::string> names;
    auto children = io_->List(dir);
    EXPECT_OK(children);
    if (!children.ok()) return names;
    for (const auto& child : *children) {
      EXPECT_EQ(child.path, JoinPath(dir, child.name));
      names.push_back(child.name + (child.is_dir ? "/" : ""));
    }
    return names;
  }

  TestDirectory directory_;
  std::string root_;
  std::shared_ptr<FileIO> io_;
};

using testing::ElementsAre;
using testing::IsEmpty;

TEST_P(FileIoTest, CreateWriteRead) {
  const auto path = At("a/b/file");
  ASSERT_OK_AND_ASSIGN(auto out, io_->CreateNew(path));
  ASSERT_OK(out->Write("hello ", 6));
  ASSERT_OK(out->Write(arrow::Buffer::FromString("world")));
  ASSERT_OK_AND_ASSIGN(int64_t written, out->Tell());
  EXPECT_EQ(written, 11);
  ASSERT_OK(out->Flush());
  ASSERT_OK(out->Close());
  EXPECT_TRUE(out->closed());
  EXPECT_OK(out->Close());
  EXPECT_FALSE(out->Write("x", 1).ok());

  ASSERT_OK_AND_ASSIGN(auto bytes, io_->ReadAll(path));
  EXPECT_EQ(bytes, "hello world");
  ASSERT_OK_AND_ASSIGN(auto info, io_->Stat(path));
  EXPECT_EQ(info.path, path);
  EXPECT_EQ(info.name, "file");
  EXPECT_EQ(info.size_bytes, 11);
  EXPECT_FALSE(info.is_dir);
  EXPECT_GT(info.modified_millis, 1600000000000);
}

TEST_P(FileIoTest, LargeOutputCrossesTheBuffer) {
  std::string expected;
  ASSERT_OK_AND_ASSIGN(auto out, io_->CreateNew(At("large")));
  for (int i = 0; i < 50; ++i) {
    const std::string piece(i % 7 == 0 ? 1500000 : 30011, static_cast<char>('a' + i % 26));
    ASSERT_OK(out->Write(piece.data(), static_cast<int64_t>(piece.size())));
    expected += piece;
  }
  ASSERT_OK(out->Close());
  ASSERT_OK_AND_ASSIGN(auto bytes, io_->ReadAll(At("large")));
  EXPECT_TRUE(bytes == expected);
}

TEST_P(FileIoTest, CreateNewRefusesAnExistingFile) {
  Put(At("f"), "first");
  EXPECT_THAT(io_->CreateNew(At("f")), HasError(ErrorCode::kAlreadyExists, At("f")));
  ASSERT_OK_AND_ASSIGN(auto open, io_->CreateNew(At("g")));
  EXPECT_THAT(io_->CreateNew(At("g")), HasError(ErrorCode::kAlreadyExists, At("g")));
  ASSERT_OK_AND_ASSIGN(auto bytes, io_->ReadAll(At("f")));
  EXPECT_EQ(bytes, "first");
  EXPECT_FALSE(io_->CreateNew(At("f/below")).ok());
}

TEST_P(FileIoTest, AbandonedOutputIsRemoved) {
  {
    ASSERT_OK_AND_ASSIGN(auto out, io_->CreateNew(At("d/gone")));
    ASSERT_OK(out->Write("x", 1));
  }
  ASSERT_OK_AND_ASSIGN(auto aborted, io_->CreateNew(At("d/aborted")));
  ASSERT_OK(aborted->Abort());
  EXPECT_FALSE(aborted->Write("x", 1).ok());
  EXPECT_THAT(Names(At("d")), IsEmpty());
  Put(At("d/gone"), "again");
}

TEST_P(FileIoTest, ReadAtIsBoundedAndPositional) {
  Put(At("f"), "0123456789");
  ASSERT_OK_AND_ASSIGN(auto file, io_->OpenInput(At("f")));
  ASSERT_OK_AND_ASSIGN(int64_t size, file->GetSize());
  EXPECT_EQ(size, 10);
  ASSERT_OK_AND_ASSIGN(auto middle, file->ReadAt(3, 4));
  EXPECT_EQ(middle->ToString(), "3456");
  ASSERT_OK_AND_ASSIGN(auto tail, file->ReadAt(8, int64_t{1} << 60));
  EXPECT_EQ(tail->ToString(), "89");
  ASSERT_OK_AND_ASSIGN(auto beyond, file->ReadAt(11, 4));
  EXPECT_EQ(beyond->size(), 0);
  EXPECT_FALSE(file->ReadAt(-1, 4).ok());
  EXPECT_FALSE(file->ReadAt(0, -4).ok());
  char raw[10];
  ASSERT_OK_AND_ASSIGN(int64_t got, file->ReadAt(7, 10, raw));
  EXPECT_EQ(std::string_view(raw, static_cast<size_t>(got)), "789");

  ASSERT_OK_AND_ASSIGN(auto first, file->Read(4));
  EXPECT_EQ(first->ToString(), "0123");
  ASSERT_OK(file->Seek(9));
  ASSERT_OK_AND_ASSIGN(int64_t last, file->Read(5, raw));
  EXPECT_EQ(last, 1);
  ASSERT_OK_AND_ASSIGN(int64_t position, file->Tell());
  EXPECT_EQ(position, 10);
  ASSERT_OK(file->Close());
  EXPECT_FALSE(file->ReadAt(0, 1).ok());
}

TEST_P(FileIoTest, ReadAtFromManyThreads) {
  std::string content(300000, '\0');
  for (size_t i = 0; i < content.size(); ++i) content[i] = static_cast<char>(i * 31 >> 3);
  Put(At("f"), content);
  ASSERT_OK_AND_ASSIGN(auto file, io_->OpenInput(At("f")));
  std::vector<std::thread> threads;
  std::atomic<int> wrong{0};
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&, t] {
      for (int i = 0; i < 100; ++i) {
        const int64_t offset = (i * 7919 + t * 104729) % 290000;
        auto got = file->ReadAt(offset, 997);
        if (!got.ok() || (*got)->ToString() != content.substr(static_cast<size_t>(offset), 997)) {
          ++wrong;
        }
      }
    });
  }
  for (auto& thread : threads) thread.join();
  EXPECT_EQ(wrong.load(), 0);
}

TEST_P(FileIoTest, ReadAllHasALimit) {
  Put(At("f"), "0123456789");
  EXPECT_OK(io_->ReadAll(At("f"), 10));
  const auto status = io_->ReadAll(At("f"), 9).status();
  EXPECT_TRUE(status.IsIOError());
  EXPECT_THAT(status.message(), testing::HasSubstr(At("f")));
  Put(At("empty"), "");
  ASSERT_OK_AND_ASSIGN(auto nothing, io_->ReadAll(At("empty")));
  EXPECT_EQ(nothing, "");
}

TEST_P(FileIoTest, MissingFiles) {
  EXPECT_THAT(io_->OpenInput(At("no")), HasError(ErrorCode::kNotFound, At("no")));
  EXPECT_THAT(io_->ReadAll(At("no/such")), HasError(ErrorCode::kNotFound, At("no/such")));
  EXPECT_THAT(io_->Stat(At("no")), HasError(ErrorCode::kNotFound, At("no")));
  EXPECT_THAT(io_->Rename(At("no"), At("to")), HasError(ErrorCode::kNotFound, At("no")));
  EXPECT_OK(io_->DeleteFile(At("no")));
  EXPECT_OK(io_->DeleteDir(At("no")));
  EXPECT_THAT(Names(At("no")), IsEmpty());
  ASSERT_OK_AND_ASSIGN(bool exists, io_->Exists(At("no")));
  EXPECT_FALSE(exists);
}

TEST_P(FileIoTest, DirectoriesAreNotFiles) {
  ASSERT_OK(io_->MakeDirs(At("d/e")));
  ASSERT_OK(io_->MakeDirs(At("d/e")));
  EXPECT_FALSE(io_->OpenInput(At("d")).ok());
  EXPECT_FALSE(io_->DeleteFile(At("d")).ok());
  EXPECT_FALSE(io_->WriteReplacing(At("d"), "x").ok());
  EXPECT_EQ(io_->PublishNew(At("d"), "x").outcome, PublishOutcome::kLost);
  ASSERT_OK_AND_ASSIGN(auto info, io_->Stat(At("d")));
  EXPECT_TRUE(info.is_dir);
  Put(At("f"), "x");
  EXPECT_FALSE(io_->MakeDirs(At("f")).ok());
  EXPECT_FALSE(io_->MakeDirs(At("f/g")).ok());
  EXPECT_FALSE(io_->List(At("f")).ok());
  EXPECT_FALSE(io_->DeleteDir(At("f")).ok());
  EXPECT_THAT(Names(root_), ElementsAre("d/", "f"));
  EXPECT_THAT(Names(At("d")), ElementsAre("e/"));
}

TEST_P(FileIoTest, ListIsSortedAndFlat) {
  for (const char* name : {"t/b", "t/a-1", "t/a/x", "t/a/y/z", "t/B", "t/.hidden", "u/other"}) {
    Put(At(name), "x");
  }
  EXPECT_THAT(Names(At("t")), ElementsAre(".hidden", "B", "a/", "a-1", "b"));
  EXPECT_THAT(Names(At("t/")), ElementsAre(".hidden", "B", "a/", "a-1", "b"));
  EXPECT_THAT(Names(At("t/a")), ElementsAre("x", "y/"));
}

TEST_P(FileIoTest, DeleteDirTakesAllBelowAndNothingElse) {
  for (const char* name : {"t/a/x", "t/a/y/z", "t/a-b/x", "t/ab"}) Put(At(name), "x");
  ASSERT_OK(io_->DeleteDir(At("t/a")));
  EXPECT_THAT(Names(At("t")), ElementsAre("a-b/", "ab"));
  EXPECT_THAT(Names(At("t/a-b")), ElementsAre("x"));
  ASSERT_OK(io_->DeleteFile(At("t/ab")));
  EXPECT_THAT(Names(At("t")), ElementsAre("a-b/"));
}

TEST_P(FileIoTest, RenameDoesNotReplace) {
  Put(At("a"), "one");
  Put(At("b"), "two");
  Put(At("d/x/y"), "deep");
  EXPECT_THAT(io_->Rename(At("a"), At("b")), HasError(ErrorCode::kAlreadyExists, At("b")));
  EXPECT_THAT(io_->Rename(At("d"), At("b")), HasError(ErrorCode::kAlreadyExists, At("b")));
  EXPECT_FALSE(io_->Rename(At("d"), At("d/below")).ok());
  ASSERT_OK(io_->MakeDirs(At("empty")));
  EXPECT_THAT(io_->Rename(At("d"), At("empty")), HasError(ErrorCode::kAlreadyExists, At("empty")));
  ASSERT_OK(io_->Rename(At("a"), At("new/parent/c")));
  ASSERT_OK(io_->Rename(At("d"), At("e")));
  EXPECT_THAT(Names(root_), ElementsAre("b", "e/", "empty/", "new/"));
  ASSERT_OK_AND_ASSIGN(auto moved, io_->ReadAll(At("new/parent/c")));
  EXPECT_EQ(moved, "one");
  ASSERT_OK_AND_ASSIGN(auto kept, io_->ReadAll(At("b")));
  EXPECT_EQ(kept, "two");
  ASSERT_OK_AND_ASSIGN(auto deep, io_->ReadAll(At("e/x/y")));
  EXPECT_EQ(deep, "deep");
}

TEST_P(FileIoTest, WriteReplacing) {
  ASSERT_OK(io_->WriteReplacing(At("h/LATEST"), "1"));
  ASSERT_OK(io_->WriteReplacing(At("h/LATEST"), "22"));
  ASSERT_OK_AND_ASSIGN(auto bytes, io_->ReadAll(At("h/LATEST")));
  EXPECT_EQ(bytes, "22");
  EXPECT_THAT(Names(At("h")), ElementsAre("LATEST"));
}

TEST_P(FileIoTest, ReadersNeverSeeAPartOfAReplacement) {
  const std::string a(20000, 'a');
  const std::string b(30000, 'b');
  ASSERT_OK(io_->WriteReplacing(At("h"), a));
  std::atomic<bool> stop{false};
  std::atomic<int> wrong{0};
  std::thread reader([&] {
    while (!stop) {
      auto bytes = io_->ReadAll(At("h"));
      if (!bytes.ok() || (*bytes != a && *bytes != b)) ++wrong;
    }
  });
  for (int i = 0; i < 30; ++i) EXPECT_OK(io_->WriteReplacing(At("h"), i % 2 == 0 ? b : a));
  stop = true;
  reader.join();
  EXPECT_EQ(wrong.load(), 0);
}

TEST_P(FileIoTest, PublishOnce) {
  auto result = io_->PublishNew(At("s/snapshot-1"), "mine");
  EXPECT_EQ(result.outcome, PublishOutcome::kDone) << result.error.ToString();
  result = io_->PublishNew(At("s/snapshot-1"), "theirs");
  EXPECT_EQ(result.outcome, PublishOutcome::kLost);
  ASSERT_OK_AND_ASSIGN(auto bytes, io_->ReadAll(At("s/snapshot-1")));
  EXPECT_EQ(bytes, "mine");
  EXPECT_THAT(Names(At("s")), ElementsAre("snapshot-1"));
}

TEST_P(FileIoTest, PublishRaceOfThreadsHasOneWinner) {
  constexpr int kThreads = 8;
  constexpr int kRounds = 200;
  std::vector<std::atomic<int>> done(kRounds);
  std::vector<std::atomic<int>> winner(kRounds);
  std::atomic<int> unknown{0};
  std::vector<std::thread> threads;
  for (int t = 0; t < kThreads; ++t) {
    threads.emplace_back([&, t] {
      for (int round = 0; round < kRounds; ++round) {
        const auto result =
            io_->PublishNew(At(fmt::format("s/snapshot-{}", round)), fmt::format("thread {}", t));
        if (result.outcome == PublishOutcome::kUnknown) ++unknown;
        if (result.outcome != PublishOutcome::kDone) continue;
        ++done[round];
        winner[round] = t;
      }
    });
  }
  for (auto& thread : threads) thread.join();
  EXPECT_EQ(unknown.load(), 0);
  for (int round = 0; round < kRounds; ++round) {
    EXPECT_EQ(done[round].load(), 1) << "round " << round;
    ASSERT_OK_AND_ASSIGN(auto bytes, io_->ReadAll(At(fmt::format("s/snapshot-{}", round))));
    EXPECT_EQ(bytes, fmt::format("thread {}", winner[round].load()));
  }
  EXPECT_EQ(Names(At("s")).size(), static_cast<size_t>(kRounds));  // no temporary file left
}

TEST_P(FileIoTest, OpenFilesOutliveTheirNames) {
  Put(At("f"), "content");
  ASSERT_OK_AND_ASSIGN(auto file, io_->OpenInput(At("f")));
  ASSERT_OK(io_->DeleteFile(At("f")));
  ASSERT_OK_AND_ASSIGN(auto bytes, file->ReadAt(0, 7));
  EXPECT_EQ(bytes->ToString(), "content");
}

TEST_P(FileIoTest, ReadRanges) {
  std::string content(500000, '\0');
  for (size_t i = 0; i < content.size(); ++i) content[i] = static_cast<char>(i * 131 >> 5);
  Put(At("f"), content);
  const std::vector<ByteRange> ranges = {{400000, 100000}, {0, 10},  {5, 10}, {100, 0},
                                         {70000, 1},       {3, 200}, {0, 10}, {500000, 0}};
  ASSERT_OK_AND_ASSIGN(auto buffers, io_->ReadRanges(At("f"), ranges));
  ASSERT_EQ(buffers.size(), ranges.size());
  for (size_t i = 0; i < ranges.size(); ++i) {
    EXPECT_TRUE(buffers[i]->ToString() == content.substr(static_cast<size_t>(ranges[i].offset),
                                                         static_cast<size_t>(ranges[i].length)))
        << i;
  }
  constexpr int64_t kHuge = int64_t{1} << 62;
  for (const ByteRange bad :
       {ByteRange{-1, 2}, ByteRange{0, -1}, ByteRange{499999, 2}, ByteRange{kHuge, kHuge},
        ByteRange{500001, 0}, ByteRange{0, std::numeric_limits<int64_t>::max()}}) {
    EXPECT_THAT(io_->ReadRanges(At("f"), {{0, 1}, bad}), HasError(ErrorCode::kCorruption, At("f")));
  }
}

INSTANTIATE_TEST_SUITE_P(
    All, FileIoTest,
    testing::Values(Implementation{"local", MakeLocalFileIO, true},
                    Implementation{"memory", MakeMemoryFileIO},
                    Implementation{"wrapped_local", [] { return Wrapped(MakeLocalFileIO()); },
                                   true},
                    Implementation{"wrapped_memory", [] { return Wrapped(MakeMemoryFileIO()); }}),
    [](const auto& info) { return info.param.name; });

TEST(PathTest, JoinBaseParent) {
  EXPECT_EQ(JoinPath("a/b", "c"), "a/b/c");
  EXPECT_EQ(JoinPath("a/b/", "c"), "a/b/c");
  EXPECT_EQ(JoinPath("/", "c"), "/c");
  EXPECT_EQ(JoinPath("", "c"), "c");
  EXPECT_EQ(BaseName("/a/b"), "b");
  EXPECT_EQ(BaseName("b"), "b");
  EXPECT_EQ(BaseName("/a/"), "");
  EXPECT_EQ(ParentPath("/a/b"), "/a");
  EXPECT_EQ(ParentPath("/a"), "");
  EXPECT_EQ(ParentPath("a"), "");
}

}  // namespace
}  // namespace kelda
