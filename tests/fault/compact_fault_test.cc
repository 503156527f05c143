#include <gtest/gtest.h>

#include "kelda/base/log.h"
#include "kelda/base/test_matchers.h"
#include "kelda/io/faulty_file_io.h"
#include "kelda/maintain/compact/compact_table.h"
#include "kelda/maintain/compact/compact_test_table.h"
#include "kelda/maintain/compact/sort_table.h"

// Every file system call of a compaction fails in turn, in every way. Whatever happens, the table
// has the same rows as before, no data file is left that no snapshot names unless the process died,
// and compacting again works.

namespace kelda {
namespace {

enum class Work { kMerge, kMergeWithVectors, kBuckets, kWriterOfABucket, kSort };

struct Case {
  const char* name;
  Work work;
  FaultMode mode;
  bool crash;
};

void PrintTo(const Case& c, std::ostream* out) { *out << c.name; }

class CompactFaultTest : public testing::TestWithParam<Case> {
 protected:
  using Options = CompactTestTable::Options;

  Options TableOptions() const {
    Options options = {{"compaction.min.file-num", "3"},
                       {"manifest.merge-min-count", "3"},
                       {"commit.max-retries", "2"},
                       {"commit.min-retry-wait", "1 ms"}};
    switch (GetParam().work) {
      case Work::kMergeWithVectors:
      case Work::kSort:
        options["deletion-vectors.enabled"] = "true";
        break;
      case Work::kBuckets:
      case Work::kWriterOfABucket:
        options["bucket"] = "2";
        options["bucket-key"] = "k";
        break;
      case Work::kMerge:
        break;
    }
    return options;
  }
  bool partitioned() const { return GetParam().work == Work::kMerge; }
  static constexpr int64_t kCommits = 4;

  /// Four commits of ten rows; of some, rows are deleted.
  void Prepare() {
    Log::SetLevel(LogLevel::kError);
    memory_ = MakeMemoryFileIO();
    CompactTestTable table(memory_);
    Healthy(&table);
    ASSERT_OK(table.Create(TableOptions(), partitioned()));
    // Buckets are not merged before it is their turn.
    ASSERT_OK(table.Open({{"write-only", "true"}}));
    for (int64_t i = 0; i < kCommits; ++i) ASSERT_OK(table.Insert(i * 10, 10));
    if (TableOptions().contains("deletion-vectors.enabled")) {
      ASSERT_OK(table.Delete({3, 14, 15}));
    }
    ASSERT_OK_AND_ASSIGN(rows_, table.Rows());
    stored_ = table.StoredFiles();
  }

  static void Healthy(CompactTestTable* table) {
    table->env().executor = Executor::MakeInline();
    table->env().budget = MemoryBudget::Make(int64_t{1} << 30);
    table->env().manifest_cache = nullptr;
  }

  static arrow::Status Run(const CompactTestTable& table) {
    switch (GetParam().work) {
      case Work::kSort: {
        SortRequest request;
        request.columns = {"k"};
        return SortTable(table.table(), request).status();
      }
      case Work::kWriterOfABucket: {
        CompactTestTable writer = table;
        return writer.Insert(kCommits * 10, 10);
      }
      default:
        return CompactTable(table.table(), {}).status();
    }
  }

  std::shared_ptr<FileIO> memory_;
  std::map<int64_t, int> rows_;
  std::set<std::string> stored_;
};

TEST_P(CompactFaultTest, EveryCallFailsInTurn) {
  const Case& param = GetParam();
  int64_t struck = 0;
  for (int64_t n = 1; n < 2000; ++n) {
    SCOPED_TRACE("call " + std::to_string(n));
    ASSERT_NO_FATAL_FAILURE(Prepare());
    auto faulty = std::make_shared<FaultyFileIO>(memory_);
    CompactTestTable table(faulty);
    Healthy(&table);
    ASSERT_OK(table.Open());
    faulty->Heal();
    Fault fault;
    fault.nth = n;
    fault.mode = param.mode;
    fault.crash = param.crash;
    faulty->Add(fault);
    const arrow::Status status = Run(table);
    const bool done = faulty->struck() == 0;
    if (done) {
      ASSERT_OK(status);
    }
    ++struck;

    // What another process sees.
    CompactTestTable fresh(memory_);
    Healthy(&fresh);
    ASSERT_OK(fresh.Open());
    auto expected = rows_;
    ASSERT_OK_AND_ASSIGN(auto rows, fresh.Rows());
    if (param.work == Work::kWriterOfABucket && rows.size() != rows_.size()) {
      // The rows came in, as a whole.
      for (int64_t k = kCommits * 10; k < kCommits * 10 + 10; ++k) expected[k] = 1;
    }
    ASSERT_EQ(rows, expected);
    const bool unknown = CodeOf(status) == ErrorCode::kCommitUnknown;
    if (!status.ok() && !param.crash && !unknown && param.work != Work::kWriterOfABucket) {
      // Deleting may be the call that failed, which leaves one file.
      EXPECT_LE(fresh.StoredFiles().size(), stored_.size() + 1) << status;
      EXPECT_EQ(fresh.LatestSnapshotId(), table.LatestSnapshotId());
    }
    // Compacting again works and changes nothing.
    ASSERT_OK(CompactTable(fresh.table(), {}));
    ASSERT_OK_AND_ASSIGN(rows, fresh.Rows());
    ASSERT_EQ(rows, expected);
    if (done) break;
  }
  EXPECT_GT(struck, 30);
}

INSTANTIATE_TEST_SUITE_P(
    Works, CompactFaultTest,
    testing::Values(Case{"merge_before", Work::kMerge, FaultMode::kBefore, false},
                    Case{"merge_lost_reply", Work::kMerge, FaultMode::kAfter, false},
                    Case{"merge_disk_full", Work::kMerge, FaultMode::kShortWrite, false},
                    Case{"merge_crash", Work::kMerge, FaultMode::kAfter, true},
                    Case{"vectors_before", Work::kMergeWithVectors, FaultMode::kBefore, false},
                    Case{"vectors_crash", Work::kMergeWithVectors, FaultMode::kAfter, true},
                    Case{"buckets_before", Work::kBuckets, FaultMode::kBefore, false},
                    Case{"buckets_crash", Work::kBuckets, FaultMode::kBefore, true},
                    Case{"writer_before", Work::kWriterOfABucket, FaultMode::kBefore, false},
                    Case{"writer_crash", Work::kWriterOfABucket, FaultMode::kAfter, true},
                    Case{"sort_before", Work::kSort, FaultMode::kBefore, false},
                    Case{"sort_crash", Work::kSort, FaultMode::kAfter, true}),
    [](const auto& info) { return std::string(info.param.name); });

}  // namespace
}  // namespace kelda
