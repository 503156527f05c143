#include <sys/wait.h>
#include <unistd.h>

#include <filesystem>
#include <thread>

#include <gtest/gtest.h>

#include "kelda/base/test_matchers.h"
#include "tests/fault/table_fixture.h"

namespace kelda {
namespace {

arrow::Status CommitMany(const TableContextPtr& table, const std::string& name, int count) {
  for (int i = 0; i < count; ++i) {
    Committable committable;
    ARROW_ASSIGN_OR_RAISE(auto message, NewFileMessage(*table, "p" + std::to_string(i % 3),
                                                       fmt::format("{}-{}", name, i), 1));
    committable.messages.push_back(message);
    ARROW_ASSIGN_OR_RAISE(auto committer, Committer::Make(table));
    ARROW_RETURN_NOT_OK(committer->Commit(committable).status());
  }
  return arrow::Status::OK();
}

TEST(CommitRaceTest, ThreadsLoseAndDoubleNothing) {
  constexpr int kThreads = 8;
  constexpr int kCommits = 25;
  auto memory = MakeMemoryFileIO();
  const std::map<std::string, std::string> options = {{"commit.max-retries", "1000"},
                                                      {"manifest.merge-min-count", "5"}};
  ASSERT_OK_AND_ASSIGN(auto table, OpenTestTable(memory, options));
  std::vector<arrow::Status> results(kThreads);
  std::vector<std::thread> threads;
  for (int t = 0; t < kThreads; ++t) {
    threads.emplace_back(
        [&, t] { results[t] = CommitMany(table, "w" + std::to_string(t), kCommits); });
  }
  for (auto& thread : threads) thread.join();
  for (const auto& result : results) EXPECT_OK(result);
  ASSERT_OK_AND_ASSIGN(auto files, CheckedLiveFiles(*table));
  EXPECT_EQ(files.size(), static_cast<size_t>(kThreads * kCommits));
  EXPECT_EQ(std::set<std::string>(files.begin(), files.end()).size(), files.size());
}

/// Local files below a directory of the test's own instead of /wh.
class ScratchTable {
 public:
  static arrow::Result<TableContextPtr> Open(const std::string& dir) {
    Environment env;
    env.io = MakeLocalFileIO();
    env.executor = Executor::MakeInline();
    ARROW_ASSIGN_OR_RAISE(auto catalog, OpenFileSystemCatalog(dir, {}, env));
    Identifier id;
    id.database = "default";
    id.table = "t";
    TableDefinition definition;
    definition.fields = {DataField{-1, "id", DataType(TypeRoot::kInt), {}, {}},
                         DataField{-1, "pt", DataType::String(), {}, {}}};
    definition.partition_keys = {"pt"};
    definition.options = {{"commit.max-retries", "1000"},
                          {"manifest.merge-min-count", "5"},
                          {"commit.max-retry-wait", "50 ms"}};
    ARROW_RETURN_NOT_OK(catalog->CreateTable(id, definition, true));
    return TableContext::Load(env, "default.t", dir + "/default.db/t");
  }
};

TEST(CommitRaceTest, ProcessesOnLocalFilesLoseAndDoubleNothing) {
  constexpr int kProcesses = 4;
  constexpr int kCommits = 15;
  const std::string dir =
      (std::filesystem::temp_directory_path() / fmt::format("kelda-race-{}", getpid())).string();
  std::filesystem::remove_all(dir);
  std::vector<pid_t> children;
  for (int p = 0; p < kProcesses; ++p) {
    const pid_t child = fork();
    ASSERT_GE(child, 0);
    if (child == 0) {
      auto table = ScratchTable::Open(dir);
      auto status =
          table.ok() ? CommitMany(*table, "p" + std::to_string(p), kCommits) : table.status();
      if (!status.ok()) fprintf(stderr, "%s\n", status.ToString().c_str());
      _exit(status.ok() ? 0 : 1);
    }
    children.push_back(child);
  }
  for (pid_t child : children) {
    int status = 0;
    ASSERT_EQ(waitpid(child, &status, 0), child);
    EXPECT_EQ(status, 0);
  }
  ASSERT_OK_AND_ASSIGN(auto table, ScratchTable::Open(dir));
  ASSERT_OK_AND_ASSIGN(auto files, CheckedLiveFiles(*table));
  EXPECT_EQ(files.size(), static_cast<size_t>(kProcesses * kCommits));
  EXPECT_EQ(std::set<std::string>(files.begin(), files.end()).size(), files.size());
  std::filesystem::remove_all(dir);
}

}  // namespace
}  // namespace kelda
