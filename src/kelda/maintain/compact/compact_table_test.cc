#include "kelda/maintain/compact/compact_table.h"

#include <arrow/array/util.h>
#include <gtest/gtest.h>

#include "kelda/base/log.h"
#include "kelda/base/test_matchers.h"
#include "kelda/io/file_io.h"
#include "kelda/maintain/compact/compact_test_table.h"
#include "kelda/maintain/compact/row_group_planner.h"
#include "kelda/read/file_read.h"
#include "kelda/row/binary_row.h"
#include "kelda/write/file_rewriter.h"

namespace kelda {
namespace {

using Options = CompactTestTable::Options;

class CompactTableTest : public testing::Test {
 protected:
  CompactTableTest() : t_(MakeMemoryFileIO()) {
    Log::SetLevel(LogLevel::kError);
    t_.env().executor = Executor::MakePool(3);
    t_.env().budget = MemoryBudget::Make(int64_t{1} << 30);
  }

  CompactResult Compact(CompactRequest request = {}) {
    auto result = CompactTable(t_.table(), request);
    EXPECT_OK(result);
    return result.ok() ? *result : CompactResult();
  }

  /// Keys 0 to n - 1, once each, are there and nothing else.
  void ExpectKeys(int64_t n, const std::set<int64_t>& without = {}) {
    ASSERT_OK_AND_ASSIGN(auto rows, t_.Rows());
    EXPECT_EQ(rows.size(), static_cast<size_t>(n) - without.size());
    for (const auto& [key, count] : rows) {
      EXPECT_EQ(count, 1) << key;
      EXPECT_TRUE(key >= 0 && key < n && !without.contains(key)) << key;
    }
  }

  CompactTestTable t_;
};

TEST_F(CompactTableTest, SmallFilesBecomeOneAndASecondRunFindsNothing) {
  ASSERT_OK(t_.Create({}));
  for (int i = 0; i < 20; ++i) ASSERT_OK(t_.Insert(i * 10, 10));
  CompactProgress last;
  CompactRequest request;
  request.on_progress = [&](const CompactProgress& progress) { last = progress; };
  const CompactResult result = Compact(request);
  EXPECT_EQ(result.snapshot_ids, (std::vector<int64_t>{21}));
  EXPECT_EQ(result.tasks, 1);
  EXPECT_EQ(result.files_before, 20);
  EXPECT_EQ(result.files_after, 1);
  EXPECT_EQ(last.tasks_planned, 1);
  EXPECT_EQ(last.tasks_done, 1);
  EXPECT_EQ(last.rows, 200);
  EXPECT_EQ(t_.LiveFileCount(), 1u);
  ASSERT_OK_AND_ASSIGN(auto latest, t_.table()->snapshots->Latest());
  EXPECT_EQ(latest->commit_kind, CommitKind::kCompact);
  EXPECT_EQ(latest->total_record_count, 200);
  const DataFileMeta file = t_.Plan().splits.at(0).files.at(0);
  EXPECT_EQ(file.file_source, kFileSourceCompact);
  EXPECT_EQ(file.min_sequence_number, 0);
  EXPECT_EQ(file.max_sequence_number, 199);
  EXPECT_FALSE(file.write_cols.has_value());
  ExpectKeys(200);
  EXPECT_TRUE(Compact().snapshot_ids.empty());
  EXPECT_EQ(t_.LatestSnapshotId(), 21);
  // An older snapshot still has its own files.
  ASSERT_OK(t_.Open({{"scan.snapshot-id", "20"}}));
  ASSERT_OK_AND_ASSIGN(auto snapshot, ResolveSnapshot(*t_.table()));
  EXPECT_EQ(snapshot->id, 20);
}

TEST_F(CompactTableTest, FewFilesStay) {
  ASSERT_OK(t_.Create({}));
  EXPECT_TRUE(Compact().snapshot_ids.empty());
  for (int i = 0; i < 4; ++i) ASSERT_OK(t_.Insert(i * 10, 10));
  EXPECT_TRUE(Compact().snapshot_ids.empty());
  ASSERT_OK(t_.Open({{"compaction.min.file-num", "4"}}));
  EXPECT_EQ(Compact().files_before, 4);
  ExpectKeys(40);
}

TEST_F(CompactTableTest, PartitionsOnTheirOwn) {
  ASSERT_OK(t_.Create({}, /*partitioned=*/true));
  for (int i = 0; i < 18; ++i) ASSERT_OK(t_.Insert(i * 10, 10, i % 3));
  CompactRequest request;
  request.partitions = Leaf(PredicateOp::kEq, {"pt"}, {std::make_shared<arrow::Int32Scalar>(1)});
  EXPECT_EQ(Compact(request).tasks, 1);
  EXPECT_EQ(t_.LiveFileCount(), 13u);
  EXPECT_EQ(Compact().tasks, 2);
  EXPECT_EQ(t_.LiveFileCount(), 3u);
  ExpectKeys(180);
}

TEST_F(CompactTableTest, OnlyIdlePartitions) {
  ASSERT_OK(t_.Create({}, /*partitioned=*/true));
  for (int i = 0; i < 12; ++i) ASSERT_OK(t_.Insert(i * 10, 10, i % 2));
  CompactRequest request;
  request.partition_idle_ms = 3'600'000;
  EXPECT_EQ(Compact(request).tasks, 0);
  request.partition_idle_ms = 0;
  EXPECT_EQ(Compact(request).tasks, 2);
  ExpectKeys(120);
}

TEST_F(CompactTableTest, ManyFilesAreCompactedInRounds) {
  ASSERT_OK(t_.Create({{"compaction.file-num-limit", "10"}}));
  for (int i = 0; i < 33; ++i) ASSERT_OK(t_.Insert(i * 10, 10));
  const CompactResult result = Compact();
  EXPECT_EQ(result.snapshot_ids.size(), 3u);
  EXPECT_EQ(result.files_before, 30);
  EXPECT_EQ(t_.LiveFileCount(), 6u);
  ExpectKeys(330);
}

TEST_F(CompactTableTest, LargeFilesStayAndOutputsRoll) {
  ASSERT_OK(t_.Create({{"target-file-size", "100 kb"},
                       {"source.split.open-file-cost", "1 b"},
                       {"file.compression", "none"},
                       {"parquet.enable.dictionary", "false"}}));
  ASSERT_OK(t_.Insert(0, 20'000));
  const size_t large = t_.LiveFileCount();
  EXPECT_GE(large, 1u);
  for (int i = 0; i < 40; ++i) ASSERT_OK(t_.Insert(20'000 + i * 200, 200));
  const CompactResult result = Compact();
  EXPECT_GE(result.tasks, 1);
  EXPECT_LE(result.files_before, 41);
  EXPECT_LT(t_.LiveFileCount(), large + 10);
  ExpectKeys(28'000);
}

TEST_F(CompactTableTest, DeletedRowsGoAndSoDoTheirVectors) {
  ASSERT_OK(t_.Create({{"deletion-vectors.enabled", "true"}}));
  for (int i = 0; i < 6; ++i) ASSERT_OK(t_.Insert(i * 10, 10));
  const std::set<int64_t> deleted = {0, 1, 2, 15, 30, 31, 32, 33, 34, 35, 36, 37, 38, 39, 59};
  ASSERT_OK(t_.Delete({0, 1, 2, 15}));
  ASSERT_OK(t_.Delete({30, 31, 32, 33, 34, 35, 36, 37, 38, 39, 59}));
  ExpectKeys(60, deleted);
  // The four files with deleted rows do not wait for more, the other two do.
  const CompactResult result = Compact();
  EXPECT_EQ(result.files_before, 4);
  EXPECT_EQ(t_.LiveFileCount(), 3u);
  ExpectKeys(60, deleted);
  for (const Split& split : t_.Plan().splits) EXPECT_TRUE(split.deletion_files.empty());
  ASSERT_OK_AND_ASSIGN(auto latest, t_.table()->snapshots->Latest());
  EXPECT_EQ(latest->total_record_count, 45);
  if (latest->index_manifest) {
    ASSERT_OK_AND_ASSIGN(auto entries,
                         t_.table()->manifests().ReadIndexManifest(*latest->index_manifest));
    EXPECT_TRUE(entries.empty());
  }
}

TEST_F(CompactTableTest, AFileWithManyDeletedRowsIsRewrittenAlone) {
  ASSERT_OK(t_.Create({{"deletion-vectors.enabled", "true"},
                       {"target-file-size", "10 kb"},
                       {"file.compression", "none"},
                       {"parquet.enable.dictionary", "false"}}));
  ASSERT_OK(t_.Insert(0, 2000));
  const size_t files = t_.LiveFileCount();
  std::set<int64_t> few, many;
  for (int64_t k = 0; k < 2000; k += 10) few.insert(k);
  for (int64_t k = 0; k < 2000; k += 3) many.insert(k);
  ASSERT_OK(t_.Delete(few));
  EXPECT_TRUE(Compact().snapshot_ids.empty());
  ASSERT_OK(t_.Delete(many));
  EXPECT_EQ(Compact().files_before, static_cast<int64_t>(files));
  many.merge(few);
  ExpectKeys(2000, many);
  for (const Split& split : t_.Plan().splits) EXPECT_TRUE(split.deletion_files.empty());
}

TEST_F(CompactTableTest, AllRowsDeletedLeavesNoFile) {
  ASSERT_OK(t_.Create({{"deletion-vectors.enabled", "true"}}));
  ASSERT_OK(t_.Insert(0, 10));
  std::set<int64_t> all;
  for (int64_t k = 0; k < 10; ++k) all.insert(k);
  ASSERT_OK(t_.Delete(all));
  const CompactResult result = Compact();
  EXPECT_EQ(result.files_before, 1);
  EXPECT_EQ(result.files_after, 0);
  EXPECT_EQ(t_.LiveFileCount(), 0u);
}

TEST_F(CompactTableTest, RowIdsSurvive) {
  ASSERT_OK(t_.Create({{"row-tracking.enabled", "true"}, {"compaction.min.file-num", "2"}}));
  for (int i = 0; i < 5; ++i) ASSERT_OK(t_.Insert(i * 10, 10));
  ASSERT_OK_AND_ASSIGN(auto before, t_.RowIds());
  EXPECT_EQ(Compact().files_before, 5);
  const DataFileMeta file = t_.Plan().splits.at(0).files.at(0);
  EXPECT_EQ(file.write_cols,
            (std::vector<std::string>{"k", "v", "pt", "_ROW_ID", "_SEQUENCE_NUMBER"}));
  EXPECT_FALSE(file.first_row_id.has_value());
  ASSERT_OK_AND_ASSIGN(auto after, t_.RowIds());
  EXPECT_EQ(after, before);
  EXPECT_EQ(after.size(), 50u);
  // And a second time, with rows that were not compacted before.
  ASSERT_OK(t_.Insert(50, 10));
  ASSERT_OK_AND_ASSIGN(before, t_.RowIds());
  EXPECT_EQ(Compact().files_before, 2);
  ASSERT_OK_AND_ASSIGN(after, t_.RowIds());
  EXPECT_EQ(after, before);
  ExpectKeys(60);
}

TEST_F(CompactTableTest, ColumnsOfTheSameRowsComeTogether) {
  ASSERT_OK(t_.Create({{"row-tracking.enabled", "true"},
                       {"data-evolution.enabled", "true"},
                       {"compaction.min.file-num", "2"}}));
  for (int i = 0; i < 3; ++i) ASSERT_OK(t_.Insert(i * 10, 10));
  // A file with new values of v for rows 10 to 19.
  const DataField v = t_.table()->fields()[1];
  ASSERT_OK_AND_ASSIGN(auto of_table, DataFileSettings::Make(*t_.table()));
  auto settings = std::make_shared<DataFileSettings>(*of_table);
  settings->fields = {v};
  settings->write_cols = {{"v"}};
  ASSERT_OK_AND_ASSIGN(settings->stats, ValueStatsRule::Make(*t_.table(), {v}));
  CommitMessage message;
  message.partition = EmptySerializedRow();
  ASSERT_OK_AND_ASSIGN(Split bucket, EmptySplit(*t_.table(), message.partition, 0));
  RollingFileWriter writer(t_.table(), settings, bucket.bucket_dir);
  ASSERT_OK_AND_ASSIGN(auto values, arrow::MakeArrayFromScalar(arrow::StringScalar("new"), 10));
  ASSERT_OK(writer.Write(
      *arrow::RecordBatch::Make(arrow::schema({arrow::field("v", arrow::utf8())}), 10, {values})));
  ASSERT_OK_AND_ASSIGN(message.new_files, writer.Finish());
  message.new_files[0].first_row_id = 10;
  ASSERT_OK_AND_ASSIGN(auto committer, Committer::Make(t_.table()));
  Committable committable;
  committable.messages = {message};
  ASSERT_OK(committer->Commit(committable));
  ASSERT_OK_AND_ASSIGN(auto before, t_.RowIds());

  const CompactResult result = Compact();
  EXPECT_EQ(result.files_before, 4);
  EXPECT_EQ(result.files_after, 1);
  const DataFileMeta file = t_.Plan().splits.at(0).files.at(0);
  EXPECT_EQ(file.first_row_id, 0);
  EXPECT_EQ(file.row_count, 30);
  EXPECT_EQ(file.file_source, kFileSourceAppend);
  EXPECT_FALSE(file.write_cols.has_value());
  EXPECT_EQ(file.min_sequence_number, 1);
  EXPECT_EQ(file.max_sequence_number, 4);
  ASSERT_OK_AND_ASSIGN(auto after, t_.RowIds());
  ASSERT_EQ(after.size(), 30u);
  for (const auto& [key, ids] : before) EXPECT_EQ(after[key].first, ids.first);
  TableReadOptions read;
  read.columns = t_.table()->fields();
  std::map<int64_t, std::string> texts;
  ASSERT_OK(ReadPlan(*t_.table(), t_.Plan(), read, [&](std::shared_ptr<arrow::RecordBatch> batch) {
    for (int64_t i = 0; i < batch->num_rows(); ++i) {
      texts[static_cast<const arrow::Int64Array&>(*batch->column(0)).Value(i)] =
          static_cast<const arrow::StringArray&>(*batch->column(1)).GetString(i);
    }
    return arrow::Status::OK();
  }));
  ASSERT_EQ(texts.size(), 30u);
  for (const auto& [key, text] : texts) EXPECT_EQ(text == "new", key >= 10 && key < 20) << key;
  EXPECT_TRUE(Compact().snapshot_ids.empty());
}

DataFileMeta RowFile(const std::string& name, int64_t first, int64_t rows, int64_t size) {
  DataFileMeta file;
  file.file_name = name;
  file.first_row_id = first;
  file.row_count = rows;
  file.file_size = size;
  return file;
}

TEST(RowGroupPlannerTest, Packs) {
  AppendCompactPlanner::Rule rule;
  rule.target_file_size = 100;
  rule.open_file_cost = 10;
  rule.min_file_num = 2;
  auto pack = [&](std::vector<DataFileMeta> files) {
    std::vector<std::string> tasks;
    auto packed = PackRowGroups(rule, std::move(files));
    EXPECT_OK(packed);
    for (const auto& task : *packed) {
      std::string names;
      for (const DataFileMeta& file : task) names += file.file_name;
      tasks.push_back(names);
    }
    return tasks;
  };
  using Tasks = std::vector<std::string>;
  EXPECT_EQ(pack({}), Tasks{});
  EXPECT_EQ(pack({RowFile("b", 10, 10, 1), RowFile("a", 0, 10, 1), RowFile("c", 10, 10, 1)}),
            (Tasks{"abc"}));
  // A gap ends a task; a file alone is none.
  EXPECT_EQ(pack({RowFile("a", 0, 10, 1), RowFile("b", 11, 10, 1), RowFile("c", 21, 9, 1)}),
            (Tasks{"bc"}));
  // Enough for one file.
  EXPECT_EQ(pack({RowFile("a", 0, 5, 60), RowFile("b", 5, 5, 60), RowFile("c", 10, 5, 60),
                  RowFile("d", 15, 5, 60)}),
            (Tasks{"ab", "cd"}));
  // Columns of rows that are large already: they alone, what waits goes before them.
  EXPECT_EQ(pack({RowFile("a", 0, 5, 10), RowFile("b", 5, 5, 10), RowFile("c", 10, 5, 90),
                  RowFile("d", 10, 5, 20), RowFile("e", 15, 5, 10)}),
            (Tasks{"cd", "ab"}));
  EXPECT_EQ(pack({RowFile("a", 0, 5, 10), RowFile("x.blob", 0, 2, 10), RowFile("b", 5, 5, 10)}),
            (Tasks{"ab"}));
  EXPECT_FALSE(PackRowGroups(rule, {RowFile("a", 0, 5, 1), RowFile("b", 3, 5, 1)}).ok());
}

TEST_F(CompactTableTest, BucketsFullAndMinor) {
  ASSERT_OK(t_.Create({{"bucket", "2"}, {"bucket-key", "k"}, {"write-only", "true"}}, true));
  for (int i = 0; i < 8; ++i) ASSERT_OK(t_.Insert(i * 10, 10, i % 2));
  EXPECT_EQ(t_.LiveFileCount(), 16u);
  CompactRequest request;
  request.strategy = CompactRequest::Strategy::kMinor;
  EXPECT_TRUE(Compact(request).snapshot_ids.empty());
  request.strategy = CompactRequest::Strategy::kFull;
  request.partitions = Leaf(PredicateOp::kEq, {"pt"}, {std::make_shared<arrow::Int32Scalar>(1)});
  EXPECT_EQ(Compact(request).tasks, 2);
  EXPECT_EQ(t_.LiveFileCount(), 10u);
  ASSERT_OK(t_.Insert(80, 10, 0));
  request.partitions = nullptr;
  request.strategy = CompactRequest::Strategy::kMinor;
  const CompactResult minor = Compact(request);
  EXPECT_EQ(minor.files_before, 10);
  EXPECT_EQ(minor.files_after, 2);
  EXPECT_EQ(t_.LiveFileCount(), 4u);
  ExpectKeys(90);
  for (const Split& split : t_.Plan().splits) EXPECT_EQ(split.total_buckets, 2);
}

TEST_F(CompactTableTest, BucketsWithDeletedRows) {
  ASSERT_OK(t_.Create({{"bucket", "2"},
                       {"bucket-key", "k"},
                       {"write-only", "true"},
                       {"deletion-vectors.enabled", "true"}}));
  for (int i = 0; i < 3; ++i) ASSERT_OK(t_.Insert(i * 10, 10));
  ASSERT_OK(t_.Delete({1, 2, 3, 11, 12}));
  EXPECT_EQ(Compact().tasks, 2);
  ExpectKeys(30, {1, 2, 3, 11, 12});
  for (const Split& split : t_.Plan().splits) EXPECT_TRUE(split.deletion_files.empty());
  EXPECT_EQ(t_.LiveFileCount(), 2u);
  EXPECT_TRUE(Compact().snapshot_ids.empty());
  // Writers merge too, and know of deleted rows.
  ASSERT_OK(t_.Delete({20}));
  ASSERT_OK(t_.Open({{"write-only", "false"}, {"compaction.min.file-num", "2"}}));
  ASSERT_OK(t_.Insert(30, 10));
  ExpectKeys(40, {1, 2, 3, 11, 12, 20});
  EXPECT_EQ(t_.LiveFileCount(), 2u);
  for (const Split& split : t_.Plan().splits) EXPECT_TRUE(split.deletion_files.empty());
}

// What others do between plan and commit.

TEST_F(CompactTableTest, RowsInsertedMeanwhileStay) {
  ASSERT_OK(t_.Create({}));
  for (int i = 0; i < 6; ++i) ASSERT_OK(t_.Insert(i * 10, 10));
  CompactRequest request;
  int times = 0;
  request.commit.sync_point = [&](std::string_view step) {
    return step == "snapshot" && times++ == 0 ? t_.Insert(60, 10) : arrow::Status::OK();
  };
  EXPECT_EQ(Compact(request).tasks, 1);
  ExpectKeys(70);
  EXPECT_EQ(t_.LiveFileCount(), 2u);
}

TEST_F(CompactTableTest, ReplacedPartitionsAreGivenUpAndTheOthersCommitted) {
  ASSERT_OK(t_.Create({}, /*partitioned=*/true));
  for (int i = 0; i < 10; ++i) ASSERT_OK(t_.Insert(i * 10, 10, i % 2));
  CompactRequest request;
  int times = 0;
  request.commit.sync_point = [&](std::string_view step) {
    return step == "snapshot" && times++ == 0 ? t_.Overwrite(0, 10, 0) : arrow::Status::OK();
  };
  const auto stored = t_.StoredFiles();
  const CompactResult result = Compact(request);
  EXPECT_EQ(result.tasks, 1);
  EXPECT_EQ(result.tasks_given_up, 1);
  EXPECT_EQ(result.files_before, 5);
  ASSERT_OK_AND_ASSIGN(auto rows, t_.Rows());
  std::map<int64_t, int> expected;
  for (int64_t k = 0; k < 10; ++k) expected[k] = 1;
  for (int64_t i = 1; i < 10; i += 2) {
    for (int64_t k = i * 10; k < i * 10 + 10; ++k) expected[k] = 1;
  }
  EXPECT_EQ(rows, expected);
  // One new file of the overwrite, one of the compaction that was committed.
  EXPECT_EQ(t_.StoredFiles().size(), stored.size() + 2);
}

TEST_F(CompactTableTest, NothingIsLeftOfACompactionThatConflicts) {
  ASSERT_OK(t_.Create({}));
  for (int i = 0; i < 6; ++i) ASSERT_OK(t_.Insert(i * 10, 10));
  CompactRequest request;
  int times = 0;
  request.commit.sync_point = [&](std::string_view step) {
    return step == "snapshot" && times++ == 0 ? t_.Overwrite(100, 5) : arrow::Status::OK();
  };
  const auto stored = t_.StoredFiles();
  EXPECT_THAT(CompactTable(t_.table(), request), HasError(ErrorCode::kConflict, "no longer there"));
  EXPECT_EQ(t_.StoredFiles().size(), stored.size() + 1);
  ASSERT_OK_AND_ASSIGN(auto rows, t_.Rows());
  EXPECT_EQ(rows.size(), 5u);
}

TEST_F(CompactTableTest, RowsDeletedMeanwhileStayDeleted) {
  for (const char* bucket : {"-1", "1"}) {
    SCOPED_TRACE(bucket);
    CompactTestTable t(MakeMemoryFileIO());
    Options options = {{"deletion-vectors.enabled", "true"}, {"bucket", bucket}};
    if (std::string(bucket) == "1") {
      options["bucket-key"] = "k";
      options["write-only"] = "true";
    }
    ASSERT_OK(t.Create(options));
    for (int i = 0; i < 6; ++i) ASSERT_OK(t.Insert(i * 10, 10));
    ASSERT_OK(t.Delete({3}));
    CompactRequest request;
    int times = 0;
    request.commit.sync_point = [&](std::string_view step) {
      return step == "snapshot" && times++ == 0 ? t.Delete({4, 44}) : arrow::Status::OK();
    };
    auto result = CompactTable(t.table(), request);
    EXPECT_EQ(CodeOf(result.status()), ErrorCode::kConflict) << result.status();
    ASSERT_OK_AND_ASSIGN(auto rows, t.Rows());
    EXPECT_EQ(rows.size(), 57u);
    EXPECT_FALSE(rows.contains(3) || rows.contains(4) || rows.contains(44));
    EXPECT_EQ(t.LiveFileCount(), 6u);
    // The next run takes them along.
    ASSERT_OK(CompactTable(t.table(), {}));
    ASSERT_OK_AND_ASSIGN(rows, t.Rows());
    EXPECT_EQ(rows.size(), 57u);
    EXPECT_EQ(t.LiveFileCount(), std::string(bucket) == "1" ? 1u : 5u);
  }
}

TEST_F(CompactTableTest, CancelledInTheMiddle) {
  ASSERT_OK(t_.Create({}, /*partitioned=*/true));
  for (int i = 0; i < 20; ++i) ASSERT_OK(t_.Insert(i * 10, 10, i % 4));
  CompactRequest request;
  request.on_progress = [&](const CompactProgress& progress) {
    if (progress.tasks_done == 2) request.token.Cancel();
  };
  const auto stored = t_.StoredFiles();
  EXPECT_THAT(CompactTable(t_.table(), request), HasError(ErrorCode::kCancelled, "cancelled"));
  EXPECT_EQ(t_.StoredFiles(), stored);
  EXPECT_EQ(t_.LatestSnapshotId(), 20);
  ExpectKeys(200);
}

TEST_F(CompactTableTest, RefusedByName) {
  ASSERT_OK(t_.Create({{"row-tracking.enabled", "true"}}));
  ASSERT_OK(t_.Open({{"clustering.incremental", "true"}}));
  EXPECT_THAT(CompactTable(t_.table(), {}),
              HasError(ErrorCode::kUnsupported, "clustering.incremental"));
}

}  // namespace
}  // namespace kelda
