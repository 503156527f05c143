#include <fcntl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <fstream>
#include <vector>

#include "kelda/base/test_matchers.h"
#include "kelda/io/file_io.h"
#include "kelda/io/io_error.h"
#include "kelda/io/io_test_fixture.h"
#include "kelda/io/posix_file.h"

namespace kelda {
namespace {

using std::string_literals::operator""s;

class LocalFileIoTest : public testing::Test {
 protected:
  std::string At(std::string_view child) const { return JoinPath(directory_.path(), child); }
  TestDirectory directory_;
  std::shared_ptr<FileIO> io_ = MakeLocalFileIO();
};

TEST_F(LocalFileIoTest, PublishRaceOfProcessesHasOneWinner) {
  constexpr int kProcesses = 4;
  constexpr int kRounds = 200;
  std::vector<pid_t> children;
  for (int p = 0; p < kProcesses; ++p) {
    const pid_t child = fork();
    ASSERT_GE(child, 0);
    if (child == 0) {
      // Only plain calls here: gtest belongs to the parent. The winner's name goes into a file of
      // its own.
      std::string won;
      for (int round = 0; round < kRounds; ++round) {
        const auto result =
            io_->PublishNew(At(fmt::format("s/snapshot-{}", round)), fmt::format("process {}", p));
        if (result.outcome == PublishOutcome::kUnknown) _exit(2);
        won += result.outcome == PublishOutcome::kDone ? '1' : '0';
      }
      _exit(io_->WriteReplacing(At(fmt::format("won-{}", p)), won).ok() ? 0 : 3);
    }
    children.push_back(child);
  }
  for (pid_t child : children) {
    int status = 0;
    ASSERT_EQ(waitpid(child, &status, 0), child);
    EXPECT_TRUE(WIFEXITED(status));
    EXPECT_EQ(WEXITSTATUS(status), 0);
  }
  std::vector<int> winners(kRounds, 0);
  for (int p = 0; p < kProcesses; ++p) {
    ASSERT_OK_AND_ASSIGN(auto won, io_->ReadAll(At(fmt::format("won-{}", p))));
    ASSERT_EQ(won.size(), static_cast<size_t>(kRounds));
    for (int round = 0; round < kRounds; ++round) {
      if (won[round] != '1') continue;
      ++winners[round];
      ASSERT_OK_AND_ASSIGN(auto bytes, io_->ReadAll(At(fmt::format("s/snapshot-{}", round))));
      EXPECT_EQ(bytes, fmt::format("process {}", p));
    }
  }
  for (int round = 0; round < kRounds; ++round) EXPECT_EQ(winners[round], 1) << round;
  ASSERT_OK_AND_ASSIGN(auto left, io_->List(At("s")));
  EXPECT_EQ(left.size(), static_cast<size_t>(kRounds));
}

TEST_F(LocalFileIoTest, TemporaryNameIsThatOfPaimon) {
  // The watched directory shows the name while it exists: make the rename fail by a name that is
  // too long.
  const std::string name(255, 'n');
  const auto result = io_->PublishNew(At(name), "x");
  EXPECT_EQ(result.outcome, PublishOutcome::kUnknown);
  EXPECT_THAT(result.error.message(), testing::ContainsRegex("\\.nnn.*\\.[0-9a-f-]*\\.tmp"));
  ASSERT_OK_AND_ASSIGN(auto left, io_->List(directory_.path()));
  EXPECT_TRUE(left.empty());
}

TEST_F(LocalFileIoTest, PublishWithoutADirectoryToMakeIsUnknownWithTheReason) {
  ASSERT_OK(io_->WriteReplacing(At("file"), "x"));
  const auto result = io_->PublishNew(At("file/snapshot-1"), "x");
  EXPECT_EQ(result.outcome, PublishOutcome::kUnknown);
  EXPECT_THAT(result.error.message(), testing::HasSubstr(At("file")));
  EXPECT_FALSE(IsTransient(result.error));
}

TEST_F(LocalFileIoTest, FullDiskIsNamedAndLeavesNothing) {
  // /dev/full answers every write with ENOSPC; a descriptor to it stands for a file on a full disk.
  UniqueFd full(open("/dev/full", O_WRONLY | O_CLOEXEC));
  ASSERT_TRUE(full.valid());
  const auto status = WriteFully(full, "/data/f.parquet", "x");
  EXPECT_TRUE(IsDiskFull(status));
  EXPECT_THAT(status.message(), testing::HasSubstr("write /data/f.parquet: disk full"));
  EXPECT_FALSE(IsTransient(status));
}

// Lets writes fail for real: beyond the limit on file sizes they answer EFBIG.
class FileSizeLimit {
 public:
  explicit FileSizeLimit(rlim_t bytes) : before_handler_(std::signal(SIGXFSZ, SIG_IGN)) {
    getrlimit(RLIMIT_FSIZE, &before_);
    const rlimit limit = {bytes, before_.rlim_max};
    setrlimit(RLIMIT_FSIZE, &limit);
  }
  ~FileSizeLimit() {
    setrlimit(RLIMIT_FSIZE, &before_);
    std::signal(SIGXFSZ, before_handler_);
  }

 private:
  rlimit before_ = {};
  void (*before_handler_)(int);
};

TEST_F(LocalFileIoTest, FailedWriteRemovesTheFile) {
  ASSERT_OK_AND_ASSIGN(auto out, io_->CreateNew(At("f")));
  const std::string bytes(3 << 20, 'x');
  {
    FileSizeLimit limit(1 << 20);
    const auto status = out->Write(bytes.data(), static_cast<int64_t>(bytes.size()));
    EXPECT_TRUE(status.IsIOError());
    EXPECT_THAT(status.message(), testing::HasSubstr("write " + At("f")));
    // The error stays: a writer that goes on cannot end with a hole in its file.
    EXPECT_EQ(out->Write("y", 1).message(), status.message());
    EXPECT_EQ(out->Close().message(), status.message());
    out.reset();
    EXPECT_FALSE(io_->WriteReplacing(At("hint"), bytes).ok());
    const auto publish = io_->PublishNew(At("snapshot-1"), bytes);
    EXPECT_EQ(publish.outcome, PublishOutcome::kUnknown);
    EXPECT_TRUE(publish.not_published);
  }
  ASSERT_OK_AND_ASSIGN(auto left, io_->List(directory_.path()));
  EXPECT_TRUE(left.empty());
}

TEST_F(LocalFileIoTest, FailedCloseRemovesTheFile) {
  ASSERT_OK_AND_ASSIGN(auto out, io_->CreateNew(At("f")));
  const std::string bytes(500000, 'x');
  ASSERT_OK(out->Write(bytes.data(), static_cast<int64_t>(bytes.size())));  // fits the buffer
  FileSizeLimit limit(100000);
  EXPECT_TRUE(out->Close().IsIOError());
  EXPECT_TRUE(out->Close().IsIOError());
  ASSERT_OK_AND_ASSIGN(bool exists, io_->Exists(At("f")));
  EXPECT_FALSE(exists);
}

TEST_F(LocalFileIoTest, PathWithoutPermission) {
  ASSERT_OK(io_->WriteReplacing(At("closed/secret"), "x"));
  ASSERT_EQ(chmod(At("closed").c_str(), 0), 0);
  const pid_t child = fork();
  ASSERT_GE(child, 0);
  if (child == 0) {
    // Root passes permission bits, so the child becomes nobody.
    if (geteuid() == 0 && (chmod(directory_.path().c_str(), 0755) != 0 || setuid(65534) != 0)) {
      _exit(9);
    }
    const auto create = io_->CreateNew(At("closed/f")).status();
    const auto open = io_->OpenInput(At("closed/secret")).status();
    const auto publish = io_->PublishNew(At("closed/s"), "x");
    auto denied = [&](const arrow::Status& status) {
      return status.IsIOError() && !IsTransient(status) &&
             status.message().find(At("closed")) != std::string::npos &&
             status.message().find("Permission denied") != std::string::npos;
    };
    if (!denied(create)) _exit(1);
    if (!denied(open)) _exit(2);
    if (publish.outcome != PublishOutcome::kUnknown || !denied(publish.error)) _exit(3);
    if (!publish.not_published) _exit(5);
    _exit(denied(io_->List(At("closed")).status()) ? 0 : 4);
  }
  int status = 0;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  ASSERT_EQ(chmod(At("closed").c_str(), 0700), 0);
  ASSERT_TRUE(WIFEXITED(status));
  EXPECT_EQ(WEXITSTATUS(status), 0);
}

TEST_F(LocalFileIoTest, HostilePaths) {
  EXPECT_FALSE(io_->OpenInput("").ok());
  EXPECT_FALSE(io_->OpenInput(At("f\0x"s)).ok());
  EXPECT_FALSE(io_->CreateNew(At("f\0x"s)).ok());
  EXPECT_FALSE(io_->List("").ok());
  EXPECT_FALSE(io_->DeleteDir("").ok());
  EXPECT_FALSE(io_->MakeDirs(At(std::string(5000, 'x'))).ok());
  EXPECT_EQ(io_->PublishNew(At("f\0x"s), "x").outcome, PublishOutcome::kUnknown);
  ASSERT_OK_AND_ASSIGN(auto left, io_->List(directory_.path()));
  EXPECT_TRUE(left.empty());
}

TEST_F(LocalFileIoTest, DeleteDirDoesNotFollowLinks) {
  ASSERT_OK(io_->WriteReplacing(At("kept/file"), "x"));
  ASSERT_OK(io_->MakeDirs(At("gone")));
  ASSERT_EQ(symlink(At("kept").c_str(), At("gone/link").c_str()), 0);
  ASSERT_OK(io_->DeleteDir(At("gone")));
  ASSERT_OK_AND_ASSIGN(bool kept, io_->Exists(At("kept/file")));
  EXPECT_TRUE(kept);
}

TEST_F(LocalFileIoTest, ShrunkFileReadsShort) {
  ASSERT_OK(io_->WriteReplacing(At("f"), std::string(1000, 'x')));
  ASSERT_OK_AND_ASSIGN(auto file, io_->OpenInput(At("f")));
  ASSERT_EQ(truncate(At("f").c_str(), 10), 0);
  ASSERT_OK_AND_ASSIGN(auto bytes, file->ReadAt(0, 1000));
  EXPECT_EQ(bytes->size(), 10);
}

TEST_F(LocalFileIoTest, ManyOpenOutputsStaySmall) {
  // Each holds what was written, not a full buffer: 500 of them with 1 MiB each would show in the
  // size of the process.
  auto resident_bytes = [] {
    std::ifstream statm("/proc/self/statm");
    int64_t pages = 0;
    statm >> pages >> pages;
    return pages * sysconf(_SC_PAGE_SIZE);
  };
  const int64_t before = resident_bytes();
  std::vector<std::shared_ptr<arrow::io::OutputStream>> outputs;
  for (int i = 0; i < 500; ++i) {
    ASSERT_OK_AND_ASSIGN(auto out, io_->CreateNew(At(fmt::format("f{}", i))));
    ASSERT_OK(out->Write("x", 1));
    outputs.push_back(std::move(out));
  }
  EXPECT_LT(resident_bytes() - before, 100 << 20);
}

TEST_F(LocalFileIoTest, DirectoryOf) {
  EXPECT_EQ(DirectoryOf("/a/b"), "/a");
  EXPECT_EQ(DirectoryOf("/a//b"), "/a");
  EXPECT_EQ(DirectoryOf("/a/b/"), "/a");
  EXPECT_EQ(DirectoryOf("/a"), "/");
  EXPECT_EQ(DirectoryOf("/"), "/");
  EXPECT_EQ(DirectoryOf("a"), ".");
}

}  // namespace
}  // namespace kelda
