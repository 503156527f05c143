#include <thread>

#include <arrow/builder.h>
#include <gtest/gtest.h>

#include "kelda/base/log.h"
#include "kelda/base/test_matchers.h"
#include "kelda/catalog/catalog.h"
#include "kelda/commit/committer.h"
#include "kelda/read/file_read.h"
#include "kelda/row/bucket_function.h"
#include "kelda/scan/plan.h"
#include "kelda/write/append_writer.h"
#include "kelda/write/bucket_compaction.h"

namespace kelda {
namespace {

using Options = std::map<std::string, std::string>;

/// A table (k BIGINT, v INT, pt INT) in buckets by k.
class BucketWriterTest : public testing::Test {
 protected:
  void SetUp() override {
    Log::SetLevel(LogLevel::kError);
    env_.io = MakeMemoryFileIO();
    env_.executor = Executor::MakePool(4);
    env_.budget = MemoryBudget::Make(int64_t{1} << 30);
  }

  void Create(Options options, const std::vector<std::string>& partition_keys = {}) {
    ASSERT_OK_AND_ASSIGN(auto catalog, OpenFileSystemCatalog("/wh", {}, env_));
    TableDefinition definition;
    definition.fields = {DataField{-1, "k", DataType(TypeRoot::kBigInt), {}, {}},
                         DataField{-1, "v", DataType(TypeRoot::kInt), {}, {}},
                         DataField{-1, "pt", DataType(TypeRoot::kInt), {}, {}}};
    definition.partition_keys = partition_keys;
    options.emplace("bucket", "3");
    options.emplace("bucket-key", "k");
    definition.options = std::move(options);
    Identifier table;
    table.database = "default";
    table.table = "t";
    ASSERT_OK(catalog->CreateTable(table, definition, false));
    Reload({});
  }

  void Reload(const Options& dynamic) {
    ASSERT_OK_AND_ASSIGN(
        table_, TableContext::Load(env_, "default.t", "/wh/default.db/t", "main", dynamic));
  }

  /// k = first, first + 1, ...; v counts on over all calls; pt = k mod `partitions`.
  std::shared_ptr<arrow::RecordBatch> Rows(int64_t first, int64_t count, int64_t partitions = 1) {
    arrow::Int64Builder keys;
    arrow::Int32Builder values, parts;
    for (int64_t i = 0; i < count; ++i) {
      EXPECT_OK(keys.Append(first + i));
      EXPECT_OK(values.Append(next_value_++));
      EXPECT_OK(parts.Append(static_cast<int32_t>((first + i) % partitions)));
    }
    return arrow::RecordBatch::Make(
        arrow::schema({arrow::field("k", arrow::int64()), arrow::field("v", arrow::int32()),
                       arrow::field("pt", arrow::int32())}),
        count,
        {keys.Finish().ValueOrDie(), values.Finish().ValueOrDie(), parts.Finish().ValueOrDie()});
  }

  arrow::Result<std::vector<CommitMessage>> Write(
      const std::vector<std::shared_ptr<arrow::RecordBatch>>& batches, bool overwrite = false) {
    AppendWriterOptions options;
    options.overwrite = overwrite;
    ARROW_ASSIGN_OR_RAISE(auto writer, AppendWriter::Make(table_, options));
    for (const auto& batch : batches) ARROW_RETURN_NOT_OK(writer->Write(batch));
    return writer->PrepareCommit();
  }

  arrow::Status Commit(std::vector<CommitMessage> messages, bool overwrite = false) {
    ARROW_ASSIGN_OR_RAISE(auto committer, Committer::Make(table_));
    Committable committable;
    committable.messages = std::move(messages);
    if (overwrite) return committer->Overwrite({}, committable).status();
    return committer->Commit(committable).status();
  }

  void Insert(int64_t first, int64_t count) {
    ASSERT_OK_AND_ASSIGN(auto messages, Write({Rows(first, count)}));
    ASSERT_OK(Commit(std::move(messages)));
  }

  ScanPlan Plan() {
    ScanRequest request;
    request.snapshot = table_->snapshots->Latest().ValueOrDie();
    return PlanScan(*table_, request).ValueOrDie();
  }

  /// (k, v) of each bucket, files in the order of the plan.
  std::map<int32_t, std::vector<std::pair<int64_t, int32_t>>> ReadBuckets() {
    std::map<int32_t, std::vector<std::pair<int64_t, int32_t>>> buckets;
    for (const Split& split : Plan().splits) {
      for (const DataFileMeta& file : split.files) {
        TableReadOptions options;
        options.columns = table_->fields();
        auto reader = OpenDataFile(*table_, split, file, options).ValueOrDie();
        while (auto batch = reader->Next().ValueOrDie()) {
          const auto& keys = static_cast<const arrow::Int64Array&>(*batch->column(0));
          const auto& values = static_cast<const arrow::Int32Array&>(*batch->column(1));
          for (int64_t i = 0; i < batch->num_rows(); ++i)
            buckets[split.bucket].emplace_back(keys.Value(i), values.Value(i));
        }
      }
    }
    return buckets;
  }

  static int32_t BucketOf(int64_t key, int32_t count = 3) {
    arrow::Int64Builder builder;
    EXPECT_OK(builder.Append(key));
    auto function = BucketFunction::Make("default", {DataType(TypeRoot::kBigInt)}).ValueOrDie();
    return function.Buckets({builder.Finish().ValueOrDie()}, 1, count).ValueOrDie()[0];
  }

  Environment env_;
  TableContextPtr table_;
  int32_t next_value_ = 0;
};

TEST_F(BucketWriterTest, RowsGoToTheirBucketAndKeepTheirOrder) {
  Create({});
  ASSERT_OK_AND_ASSIGN(auto messages, Write({Rows(0, 50'000), Rows(0, 50'000), Rows(7, 100'000)}));
  EXPECT_EQ(messages.size(), 3u);
  for (const CommitMessage& message : messages) {
    ASSERT_EQ(message.new_files.size(), 1u);
    EXPECT_EQ(message.new_files[0].min_sequence_number, 0);
    EXPECT_FALSE(message.total_buckets.has_value());
  }
  ASSERT_OK(Commit(messages));
  size_t rows = 0;
  for (const auto& [bucket, pairs] : ReadBuckets()) {
    rows += pairs.size();
    for (size_t i = 0; i < pairs.size(); ++i) {
      ASSERT_EQ(BucketOf(pairs[i].first), bucket);
      if (i > 0) {
        ASSERT_LT(pairs[i - 1].second, pairs[i].second);
      }
    }
  }
  EXPECT_EQ(rows, 200'000u);
  for (const Split& split : Plan().splits) EXPECT_EQ(split.total_buckets, 3);
}

TEST_F(BucketWriterTest, ManyThreadsMakeOneFilePerPartitionAndBucket) {
  Create({}, {"pt"});
  ASSERT_OK_AND_ASSIGN(auto writer, AppendWriter::Make(table_));
  std::vector<std::shared_ptr<arrow::RecordBatch>> batches;
  for (int i = 0; i < 40; ++i) batches.push_back(Rows(i * 5000, 5000, 4));
  std::vector<std::thread> threads;
  for (int t = 0; t < 8; ++t) {
    threads.emplace_back([&, t] {
      for (int i = t; i < 40; i += 8) EXPECT_OK(writer->Write(batches[i]));
    });
  }
  for (auto& thread : threads) thread.join();
  ASSERT_OK_AND_ASSIGN(auto messages, writer->PrepareCommit());
  EXPECT_EQ(messages.size(), 12u);
  std::set<std::pair<std::string, int32_t>> seen;
  int64_t rows = 0;
  for (const CommitMessage& message : messages) {
    EXPECT_TRUE(seen.emplace(message.partition, message.bucket).second);
    ASSERT_EQ(message.new_files.size(), 1u);
    rows += message.new_files[0].row_count;
  }
  EXPECT_EQ(rows, 200'000);
}

TEST_F(BucketWriterTest, ABatchInManyPiecesStaysInOrderWithinTheBudget) {
  env_.budget = MemoryBudget::Make(4 << 20);
  Create({{"bucket", "2"}, {"target-file-size", "256 kb"}});
  std::vector<std::shared_ptr<arrow::RecordBatch>> batches;
  for (int i = 0; i < 60; ++i) batches.push_back(Rows(i * 8000, 8000));
  ASSERT_OK_AND_ASSIGN(auto messages, Write(batches));
  ASSERT_OK(Commit(std::move(messages)));
  for (const auto& [bucket, pairs] : ReadBuckets()) {
    for (size_t i = 1; i < pairs.size(); ++i) ASSERT_LT(pairs[i - 1].second, pairs[i].second);
  }
  EXPECT_LE(env_.budget->peak(), 4 << 20);
  EXPECT_EQ(env_.budget->used(), 0);
}

TEST_F(BucketWriterTest, SequenceNumbersGoOnPerBucket) {
  Create({{"write-only", "true"}, {"bucket", "1"}});
  Insert(0, 10);
  Insert(0, 5);
  ASSERT_OK_AND_ASSIGN(auto messages, Write({Rows(0, 3)}));
  EXPECT_EQ(messages.at(0).new_files.at(0).min_sequence_number, 15);
  EXPECT_EQ(messages.at(0).new_files.at(0).max_sequence_number, 17);
  // Nothing is looked at that does not matter.
  Reload({{"bucket-append-ordered", "false"}});
  ASSERT_OK_AND_ASSIGN(messages, Write({Rows(0, 3)}));
  EXPECT_EQ(messages.at(0).new_files.at(0).min_sequence_number, 0);
  Reload({{"bucket-append-ordered", "false"}, {"write-only", "false"}});
  ASSERT_OK_AND_ASSIGN(messages, Write({Rows(0, 3)}));
  EXPECT_EQ(messages.at(0).new_files.at(0).min_sequence_number, 15);
}

TEST_F(BucketWriterTest, TheFifthSmallFileIsMergedByItsWriter) {
  Create({{"bucket", "1"}});
  for (int i = 0; i < 4; ++i) Insert(i * 100, 100);
  ASSERT_OK_AND_ASSIGN(auto messages, Write({Rows(400, 100)}));
  ASSERT_EQ(messages.size(), 1u);
  EXPECT_EQ(messages[0].new_files.size(), 1u);
  EXPECT_EQ(messages[0].compact_before.size(), 5u);
  ASSERT_EQ(messages[0].compact_after.size(), 1u);
  const DataFileMeta merged = messages[0].compact_after[0];
  EXPECT_EQ(merged.file_source, kFileSourceCompact);
  EXPECT_EQ(merged.min_sequence_number, 0);
  EXPECT_EQ(merged.max_sequence_number, 499);
  ASSERT_OK(Commit(std::move(messages)));
  ASSERT_OK_AND_ASSIGN(auto latest, table_->snapshots->Latest());
  EXPECT_EQ(latest->id, 6);
  EXPECT_EQ(latest->commit_kind, CommitKind::kCompact);
  EXPECT_EQ(latest->total_record_count, 500);
  const auto buckets = ReadBuckets();
  ASSERT_EQ(buckets.at(0).size(), 500u);
  for (int32_t i = 0; i < 500; ++i)
    EXPECT_EQ(buckets.at(0)[i], (std::pair<int64_t, int32_t>(i, i)));
  // The merged file counts as one of the next five.
  ASSERT_OK_AND_ASSIGN(messages, Write({Rows(0, 10)}));
  EXPECT_TRUE(messages[0].compact_before.empty());
  EXPECT_EQ(messages[0].new_files[0].min_sequence_number, 500);
}

TEST_F(BucketWriterTest, WriteOnlyNeverMerges) {
  Create({{"bucket", "1"}, {"write-only", "true"}});
  for (int i = 0; i < 9; ++i) Insert(i * 10, 10);
  EXPECT_EQ(Plan().splits.at(0).files.size(), 9u);
}

TEST_F(BucketWriterTest, FilesOfAFailedMergeAreRemoved) {
  Create({{"bucket", "1"}});
  for (int i = 0; i < 4; ++i) Insert(i * 100, 100);
  const Split split = Plan().splits.at(0);
  ASSERT_OK(env_.io->DeleteFile(split.FilePath(split.files[2])));
  EXPECT_FALSE(Write({Rows(400, 100)}).ok());
  ASSERT_OK_AND_ASSIGN(auto files, env_.io->List("/wh/default.db/t/bucket-0"));
  EXPECT_EQ(files.size(), 3u);
}

TEST_F(BucketWriterTest, AnotherNumberOfBucketsNeedsAnOverwrite) {
  Create({{"bucket", "2"}}, {"pt"});
  ASSERT_OK_AND_ASSIGN(auto messages, Write({Rows(0, 100, 2)}));
  ASSERT_OK(Commit(std::move(messages)));
  Reload({{"bucket", "4"}});
  auto refused = Write({Rows(0, 10, 2)}).status();
  EXPECT_TRUE(refused.IsInvalid()) << refused;
  EXPECT_NE(refused.message().find("partition pt=0 has files of 2 buckets"), std::string::npos)
      << refused;
  // A partition of its own is free to have the new number.
  auto other = Rows(0, 100, 1);
  ASSERT_OK_AND_ASSIGN(auto sevens, arrow::MakeArrayFromScalar(arrow::Int32Scalar(7), 100));
  ASSERT_OK_AND_ASSIGN(other, other->SetColumn(2, arrow::field("pt", arrow::int32()), sevens));
  ASSERT_OK_AND_ASSIGN(messages, Write({other}));
  ASSERT_OK(Commit(std::move(messages)));
  // Dynamic overwrite of partition 0 alone: its rows move to the new number, those of 1 stay.
  auto zeros = Rows(0, 50, 1);
  ASSERT_OK_AND_ASSIGN(messages, Write({zeros}, /*overwrite=*/true));
  ASSERT_OK(Commit(std::move(messages), /*overwrite=*/true));
  std::map<std::string, std::set<int32_t>> totals;
  int64_t rows = 0;
  for (const Split& split : Plan().splits) {
    totals[split.partition_values[0]->ToString()].insert(split.total_buckets);
    rows += split.RowCount();
  }
  EXPECT_EQ(totals, (std::map<std::string, std::set<int32_t>>{{"0", {4}}, {"1", {2}}, {"7", {4}}}));
  EXPECT_EQ(rows, 50 + 50 + 100);
  ASSERT_OK(Write({zeros}));
}

std::vector<DataFileMeta> Files(const std::vector<std::pair<int64_t, int64_t>>& ranges) {
  std::vector<DataFileMeta> files;
  for (const auto& [min, max] : ranges) {
    DataFileMeta file;
    file.file_name = std::to_string(min);
    file.min_sequence_number = min;
    file.max_sequence_number = max;
    file.file_size = max - min + 1;
    files.push_back(file);
  }
  return files;
}

std::vector<std::string> Names(const std::vector<DataFileMeta>& files) {
  std::vector<std::string> names;
  for (const DataFileMeta& file : files) names.push_back(file.file_name);
  return names;
}

using NameList = std::vector<std::string>;

// Vectors U9 of spec 02 §11.7, and more of the kind.
TEST(BucketCompactionRuleTest, AutoPick) {
  BucketCompactionRule rule;
  rule.target_file_size = 1024;
  rule.min_file_num = 4;
  auto queue = Files({{1, 500}, {501, 1000}, {1001, 2048}});
  EXPECT_EQ(Names(rule.PickAuto(&queue)), NameList{});
  EXPECT_EQ(Names(queue), (NameList{"501", "1001"}));
  queue = Files({{1, 2048}, {2049, 4096}, {4097, 5000}});
  EXPECT_EQ(Names(rule.PickAuto(&queue)), NameList{});
  EXPECT_EQ(Names(queue), (NameList{"4097"}));
  queue = Files({{1, 500}, {501, 1000}, {1001, 1500}, {1501, 1600}, {1601, 1700}});
  EXPECT_EQ(Names(rule.PickAuto(&queue)), (NameList{"1", "501", "1001", "1501"}));
  EXPECT_EQ(Names(queue), (NameList{"1601"}));
  // A large file is passed over once enough follows it.
  queue = Files({{1, 2000}, {2001, 2100}, {2101, 2200}, {2201, 2300}, {2301, 2400}});
  EXPECT_EQ(Names(rule.PickAuto(&queue)), (NameList{"2001", "2101", "2201", "2301"}));
  EXPECT_EQ(Names(queue), NameList{});
  queue = {};
  EXPECT_EQ(Names(rule.PickAuto(&queue)), NameList{});
}

TEST(BucketCompactionRuleTest, FullPick) {
  BucketCompactionRule rule;
  rule.target_file_size = 1000;
  const auto small = Files({{1, 100}, {101, 200}, {201, 300}});
  EXPECT_EQ(rule.PickFull(small, nullptr).size(), 3u);
  EXPECT_TRUE(rule.PickFull(Files({{1, 100}, {101, 200}}), nullptr).empty());
  // Leading large files stay; the rest only pays when most of it is small.
  EXPECT_EQ(Names(rule.PickFull(Files({{1, 700}, {701, 800}, {801, 900}, {901, 1700}}), nullptr)),
            (NameList{"701", "801", "901"}));
  EXPECT_TRUE(
      rule.PickFull(Files({{1, 100}, {101, 900}, {901, 1700}, {1701, 1710}}), nullptr).empty());
  const auto second = [](const DataFileMeta& file) { return file.file_name == "701"; };
  EXPECT_EQ(Names(rule.PickFull(Files({{1, 700}, {701, 1500}}), second)), (NameList{"701"}));
  EXPECT_TRUE(
      rule.PickFull(Files({{1, 700}, {701, 800}}), [](const auto&) { return false; }).empty());
  rule.rewrite_all = true;
  EXPECT_EQ(rule.PickFull(Files({{1, 5000}}), nullptr).size(), 1u);
}

}  // namespace
}  // namespace kelda
