#include <gtest/gtest.h>

#include "kelda/base/log.h"
#include "kelda/base/test_matchers.h"
#include "kelda/io/faulty_file_io.h"
#include "tests/fault/table_fixture.h"

// Every file system call of a commit fails in turn, in every way (SQLite's method). Whatever
// happens, the commit is there once or not at all, as its status says, and the table goes on.

namespace kelda {
namespace {

struct Case {
  const char* name;
  FaultMode mode;
  bool crash;
  bool for_ever;
};

void PrintTo(const Case& c, std::ostream* out) { *out << c.name; }

class CommitFaultTest : public testing::TestWithParam<Case> {
 protected:
  // Merging after three manifests, so that rewriting is among the steps that fail.
  const std::map<std::string, std::string> options_ = {{"manifest.merge-min-count", "3"},
                                                       {"commit.max-retries", "3"}};

  /// A table with four commits, healthy.
  void Prepare() {
    // Files that a dead process cannot remove are reported at warn level, thousands of times here.
    Log::SetLevel(LogLevel::kError);
    memory_ = MakeMemoryFileIO();
    ASSERT_OK_AND_ASSIGN(auto table, OpenTestTable(memory_, options_));
    for (int i = 0; i < 4; ++i) {
      ASSERT_OK(CommitOne(table, "before-" + std::to_string(i)));
      before_.insert("before-" + std::to_string(i));
    }
  }

  static arrow::Status CommitOne(const TableContextPtr& table, const std::string& file) {
    Committable committable;
    ARROW_ASSIGN_OR_RAISE(auto message, NewFileMessage(*table, "a", file, 10));
    committable.messages.push_back(message);
    ARROW_ASSIGN_OR_RAISE(auto committer, Committer::Make(table));
    return committer->Commit(committable).status();
  }

  std::shared_ptr<FileIO> memory_;
  std::multiset<std::string> before_;
};

TEST_P(CommitFaultTest, EveryCallFailsInTurn) {
  const Case& param = GetParam();
  int64_t struck = 0;
  for (int64_t n = 1; n < 1000; ++n) {
    SCOPED_TRACE("call " + std::to_string(n));
    before_.clear();
    ASSERT_NO_FATAL_FAILURE(Prepare());
    auto faulty = std::make_shared<FaultyFileIO>(memory_);
    ASSERT_OK_AND_ASSIGN(auto table, OpenTestTable(faulty, options_));
    ASSERT_OK_AND_ASSIGN(auto message, NewFileMessage(*table, "b", "new", 7));
    ASSERT_OK_AND_ASSIGN(auto committer, Committer::Make(table));
    faulty->Heal();
    Fault fault;
    fault.nth = n;
    fault.mode = param.mode;
    fault.crash = param.crash;
    if (param.for_ever) fault.times = Fault::kForEver;
    faulty->Add(fault);
    Committable committable;
    committable.messages.push_back(message);
    auto result = committer->Commit(committable);
    if (faulty->struck() == 0) {
      // The sweep is past the last call.
      ASSERT_OK(result);
      break;
    }
    ++struck;

    // What another process sees.
    ASSERT_OK_AND_ASSIGN(auto fresh, OpenTestTable(memory_, options_));
    ASSERT_OK_AND_ASSIGN(auto files, CheckedLiveFiles(*fresh));
    const size_t there = files.count("new");
    ASSERT_LE(there, 1u);
    if (result.ok()) {
      EXPECT_EQ(there, 1u);
      EXPECT_EQ(result->snapshot_ids, std::vector<int64_t>{5});
    } else if (CodeOf(result.status()) != ErrorCode::kCommitUnknown) {
      EXPECT_EQ(there, 0u) << result.status();
    }
    auto expected = before_;
    if (there == 1) expected.insert("new");
    EXPECT_EQ(files, expected);

    // The table goes on, and a commit whose outcome is unknown can be brought to an end.
    ASSERT_OK(CommitOne(fresh, "after"));
    expected.insert("after");
    if (!result.ok() && CodeOf(result.status()) == ErrorCode::kCommitUnknown) {
      CommitterOptions same_user;
      same_user.commit_user = committer->commit_user();
      ASSERT_OK_AND_ASSIGN(auto again, Committer::Make(fresh, same_user));
      ASSERT_OK(again->FilterAndCommit({committable}));
      if (there == 0) expected.insert("new");
    }
    ASSERT_OK_AND_ASSIGN(files, CheckedLiveFiles(*fresh));
    EXPECT_EQ(files, expected);
  }
  EXPECT_GT(struck, 20);
}

INSTANTIATE_TEST_SUITE_P(Modes, CommitFaultTest,
                         testing::Values(Case{"before", FaultMode::kBefore, false, false},
                                         Case{"lost_reply", FaultMode::kAfter, false, false},
                                         Case{"short_write", FaultMode::kShortWrite, false, false},
                                         Case{"disk_full_from_here", FaultMode::kShortWrite, false,
                                              true},
                                         Case{"crash_before", FaultMode::kBefore, true, false},
                                         Case{"crash_after", FaultMode::kAfter, true, false}),
                         [](const auto& info) { return std::string(info.param.name); });

TEST(CommitTest, FailedAttemptRemovesItsMetadata) {
  auto memory = MakeMemoryFileIO();
  ASSERT_OK_AND_ASSIGN(auto table, OpenTestTable(memory));
  for (const char* step : {"base-list", "delta-manifests", "delta-list", "snapshot"}) {
    SCOPED_TRACE(step);
    CommitterOptions options;
    options.sync_point = [step](std::string_view at) {
      return at == step ? arrow::Status::IOError("stop here") : arrow::Status::OK();
    };
    ASSERT_OK_AND_ASSIGN(auto committer, Committer::Make(table, options));
    Committable committable;
    ASSERT_OK_AND_ASSIGN(auto message, NewFileMessage(*table, "a", std::string("f-") + step, 1));
    committable.messages.push_back(message);
    EXPECT_FALSE(committer->Commit(committable).ok());
    ASSERT_OK_AND_ASSIGN(auto manifests, memory->List(table->paths.ManifestDir()));
    EXPECT_TRUE(manifests.empty());
  }
}

TEST(CommitTest, CancelledBeforePublishLeavesNothing) {
  auto memory = MakeMemoryFileIO();
  ASSERT_OK_AND_ASSIGN(auto table, OpenTestTable(memory));
  CommitterOptions options;
  CancellationToken token;
  options.token = token;
  options.sync_point = [token](std::string_view at) {
    if (at == "snapshot") token.Cancel();
    return arrow::Status::OK();
  };
  ASSERT_OK_AND_ASSIGN(auto committer, Committer::Make(table, options));
  Committable committable;
  ASSERT_OK_AND_ASSIGN(auto message, NewFileMessage(*table, "a", "f", 1));
  committable.messages.push_back(message);
  EXPECT_THAT(committer->Commit(committable), HasError(ErrorCode::kCancelled, "cancelled"));
  ASSERT_OK_AND_ASSIGN(auto manifests, memory->List(table->paths.ManifestDir()));
  EXPECT_TRUE(manifests.empty());
}

TEST(CommitTest, EmptyCommitMakesNoSnapshotUnlessAsked) {
  auto memory = MakeMemoryFileIO();
  ASSERT_OK_AND_ASSIGN(auto table, OpenTestTable(memory));
  ASSERT_OK_AND_ASSIGN(auto committer, Committer::Make(table));
  ASSERT_OK_AND_ASSIGN(auto none, committer->Commit(Committable{}));
  EXPECT_TRUE(none.snapshot_ids.empty());
  CommitterOptions options;
  options.ignore_empty_commit = false;
  ASSERT_OK_AND_ASSIGN(committer, Committer::Make(table, options));
  ASSERT_OK_AND_ASSIGN(auto one, committer->Commit(Committable{}));
  EXPECT_EQ(one.snapshot_ids, std::vector<int64_t>{1});
}

TEST(CommitTest, IdsAreNotReusedAfterExpiry) {
  // The committer sleeps after reading its base; meanwhile others commit and expire up to beyond
  // the id it wants.
  auto memory = MakeMemoryFileIO();
  ASSERT_OK_AND_ASSIGN(auto table, OpenTestTable(memory));
  auto commit_one = [&](const std::string& file) -> arrow::Status {
    Committable committable;
    ARROW_ASSIGN_OR_RAISE(auto message, NewFileMessage(*table, "a", file, 1));
    committable.messages.push_back(message);
    ARROW_ASSIGN_OR_RAISE(auto committer, Committer::Make(table));
    return committer->Commit(committable).status();
  };
  ASSERT_OK(commit_one("f1"));
  bool slept = false;
  CommitterOptions options;
  options.sync_point = [&](std::string_view at) -> arrow::Status {
    if (at != "snapshot" || slept) return arrow::Status::OK();
    slept = true;
    for (const char* file : {"f2", "f3", "f4"}) ARROW_RETURN_NOT_OK(commit_one(file));
    for (int64_t id : {1, 2, 3})
      ARROW_RETURN_NOT_OK(memory->DeleteFile(table->paths.SnapshotFile(id)));
    return arrow::Status::OK();
  };
  ASSERT_OK_AND_ASSIGN(auto committer, Committer::Make(table, options));
  Committable committable;
  ASSERT_OK_AND_ASSIGN(auto message, NewFileMessage(*table, "a", "late", 1));
  committable.messages.push_back(message);
  ASSERT_OK_AND_ASSIGN(auto result, committer->Commit(committable));
  EXPECT_EQ(result.snapshot_ids, std::vector<int64_t>{5});
  ASSERT_OK_AND_ASSIGN(bool resurrected, memory->Exists(table->paths.SnapshotFile(2)));
  EXPECT_FALSE(resurrected);
}

TEST(OverwriteTest, ReplacesScopeAndRecomputesOnRetry) {
  auto memory = MakeMemoryFileIO();
  ASSERT_OK_AND_ASSIGN(auto table, OpenTestTable(memory));
  auto commit_one = [&](const std::string& pt, const std::string& file) -> arrow::Status {
    Committable committable;
    ARROW_ASSIGN_OR_RAISE(auto message, NewFileMessage(*table, pt, file, 1));
    committable.messages.push_back(message);
    ARROW_ASSIGN_OR_RAISE(auto committer, Committer::Make(table));
    return committer->Commit(committable).status();
  };
  ASSERT_OK(commit_one("a", "a1"));
  ASSERT_OK(commit_one("b", "b1"));
  // Somebody adds to the partition while the overwrite is under way: the added file is replaced
  // too.
  bool raced = false;
  CommitterOptions options;
  options.sync_point = [&](std::string_view at) -> arrow::Status {
    if (at != "snapshot" || raced) return arrow::Status::OK();
    raced = true;
    return commit_one("a", "a2");
  };
  ASSERT_OK_AND_ASSIGN(auto committer, Committer::Make(table, options));
  Committable committable;
  ASSERT_OK_AND_ASSIGN(auto message, NewFileMessage(*table, "a", "a3", 1));
  committable.messages.push_back(message);
  Committer::OverwriteSpec dynamic;
  ASSERT_OK_AND_ASSIGN(auto result, committer->Overwrite(dynamic, committable));
  EXPECT_EQ(result.snapshot_ids, std::vector<int64_t>{4});
  ASSERT_OK_AND_ASSIGN(auto files, CheckedLiveFiles(*table));
  EXPECT_EQ(files, (std::multiset<std::string>{"a3", "b1"}));

  // Dynamic with nothing new does nothing; static with nothing new empties its scope.
  ASSERT_OK_AND_ASSIGN(result, committer->Overwrite(dynamic, Committable{}));
  EXPECT_TRUE(result.snapshot_ids.empty());
  Committer::OverwriteSpec only_b;
  only_b.dynamic = false;
  only_b.static_partition["pt"] = "b";
  ASSERT_OK(committer->Overwrite(only_b, Committable{}));
  ASSERT_OK_AND_ASSIGN(files, CheckedLiveFiles(*table));
  EXPECT_EQ(files, (std::multiset<std::string>{"a3"}));
  Committer::OverwriteSpec everything;
  everything.dynamic = false;
  ASSERT_OK(committer->Overwrite(everything, Committable{}));
  ASSERT_OK_AND_ASSIGN(files, CheckedLiveFiles(*table));
  EXPECT_TRUE(files.empty());

  // Rows outside the partition that is named are refused.
  Committable outside;
  ASSERT_OK_AND_ASSIGN(message, NewFileMessage(*table, "c", "c1", 1));
  outside.messages.push_back(message);
  EXPECT_FALSE(committer->Overwrite(only_b, outside).ok());
}

/// A disk that is full when the snapshot file is to be written.
class FullDiskPublisher : public SnapshotPublisher {
 public:
  PublishResult Publish(const Snapshot&) override {
    return {PublishOutcome::kUnknown, arrow::Status::IOError("no space left"),
            /*not_published=*/true};
  }
};

TEST(CommitTest, SnapshotThatCannotBeWrittenLeavesNothing) {
  auto io = MakeMemoryFileIO();
  ASSERT_OK_AND_ASSIGN(auto table, OpenTestTable(io));
  ASSERT_OK_AND_ASSIGN(auto message, NewFileMessage(*table, "a", "a1", 1));
  ASSERT_OK_AND_ASSIGN(auto before, io->List(table->paths.ManifestDir()));
  CommitterOptions options;
  options.publisher = std::make_shared<FullDiskPublisher>();
  ASSERT_OK_AND_ASSIGN(auto committer, Committer::Make(table, options));
  Committable committable;
  committable.messages.push_back(message);
  const auto status = committer->Commit(committable).status();
  EXPECT_TRUE(status.IsIOError()) << status.ToString();
  EXPECT_NE(CodeOf(status), ErrorCode::kCommitUnknown);
  ASSERT_OK_AND_ASSIGN(auto after, io->List(table->paths.ManifestDir()));
  EXPECT_EQ(after.size(), before.size());
  // The same message can be committed once there is room.
  ASSERT_OK_AND_ASSIGN(committer, Committer::Make(table));
  ASSERT_OK(committer->Commit(committable));
  ASSERT_OK_AND_ASSIGN(auto files, CheckedLiveFiles(*table));
  EXPECT_EQ(files, (std::multiset<std::string>{"a1"}));
}

}  // namespace
}  // namespace kelda
