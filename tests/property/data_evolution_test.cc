#include <map>
#include <mutex>

#include <gtest/gtest.h>

#include <arrow/api.h>

#include "kelda/base/test_matchers.h"
#include "kelda/catalog/catalog.h"
#include "kelda/commit/committer.h"
#include "kelda/read/file_read.h"
#include "kelda/scan/plan.h"
#include "kelda/types/special_fields.h"
#include "kelda/write/append_writer.h"
#include "kelda/write/rolling_file_writer.h"

// Tables whose columns lie in files of their own (spec 02 §7.6): rows are put together by row id,
// ids and sequence numbers come from the commit, and two changes of the same rows do not both win.

namespace kelda {
namespace {

template <typename T>
T Unwrap(arrow::Result<T> result) {
  if (!result.ok()) ADD_FAILURE() << result.status().ToString();
  return std::move(result).ValueOrDie();
}

class DataEvolution : public testing::Test {
 protected:
  void SetUp() override {
    env_.io = MakeMemoryFileIO();
    env_.executor = Executor::MakePool(2);
    env_.budget = MemoryBudget::Make(int64_t{1} << 30);
    auto catalog = Unwrap(OpenFileSystemCatalog("/wh", {}, env_));
    TableDefinition definition;
    definition.fields = {{0, "id", DataType(TypeRoot::kInt), {}, {}},
                         {1, "v", DataType(TypeRoot::kInt), {}, {}}};
    definition.options = {{"row-tracking.enabled", "true"}, {"data-evolution.enabled", "true"}};
    Identifier id;
    id.database = "default";
    id.table = "t";
    ASSERT_OK(catalog->CreateTable(id, definition, false));
    table_ = Unwrap(catalog->LoadTable(id));
  }

  static std::shared_ptr<arrow::Array> Ints(const std::vector<int>& values) {
    arrow::Int32Builder builder;
    EXPECT_OK(builder.AppendValues(values));
    return Unwrap(builder.Finish());
  }

  void Insert(const std::vector<int>& ids, const std::vector<int>& values) {
    auto writer = Unwrap(AppendWriter::Make(table_));
    ASSERT_OK(writer->Write(arrow::RecordBatch::Make(
        arrow::schema({arrow::field("id", arrow::int32()), arrow::field("v", arrow::int32())}),
        static_cast<int64_t>(ids.size()), {Ints(ids), Ints(values)})));
    Committable committable;
    committable.messages = Unwrap(writer->PrepareCommit());
    ASSERT_OK(Unwrap(Committer::Make(table_))->Commit(committable));
  }

  /// A file with column v alone for the rows from `first_row_id` on.
  Committable NewValues(int64_t first_row_id, const std::vector<int>& values) {
    auto settings = std::make_shared<DataFileSettings>(*Unwrap(DataFileSettings::Make(*table_)));
    settings->fields = {table_->fields()[1]};
    settings->write_cols = std::vector<std::string>{"v"};
    settings->stats = Unwrap(ValueStatsRule::Make(*table_, settings->fields));
    RollingFileWriter writer(table_, settings, table_->paths.BucketDir("", 0));
    EXPECT_OK(writer.Write(
        *arrow::RecordBatch::Make(arrow::schema({arrow::field("v", arrow::int32())}),
                                  static_cast<int64_t>(values.size()), {Ints(values)})));
    CommitMessage message;
    message.partition = SimpleStats::Empty().min_values;
    message.bucket = 0;
    message.new_files = Unwrap(writer.Finish());
    EXPECT_EQ(message.new_files.size(), 1u);
    message.new_files[0].first_row_id = first_row_id;
    Committable committable;
    committable.messages = {message};
    committable.row_id_check_from = Unwrap(table_->snapshots->Latest())->id;
    return committable;
  }

  struct Row {
    int v;
    int64_t sequence;
    int id;
    bool operator==(const Row&) const = default;
  };
  /// By row id.
  std::map<int64_t, Row> Read() {
    ScanRequest request;
    request.snapshot = Unwrap(table_->snapshots->Latest());
    const ScanPlan plan = Unwrap(PlanScan(*table_, request));
    TableReadOptions options;
    options.columns = {table_->fields()[0], table_->fields()[1], RowIdField(),
                       SequenceNumberField()};
    options.batch_rows = 2;
    std::map<int64_t, Row> rows;
    std::mutex mutex;
    EXPECT_OK(ReadPlan(*table_, plan, options, [&](std::shared_ptr<arrow::RecordBatch> batch) {
      const std::lock_guard lock(mutex);
      for (int64_t i = 0; i < batch->num_rows(); ++i) {
        const auto number = [&](int c) {
          return static_cast<const arrow::Int64Array&>(*batch->column(c)).Value(i);
        };
        const auto value = [&](int c) {
          return static_cast<const arrow::Int32Array&>(*batch->column(c)).Value(i);
        };
        EXPECT_TRUE(rows.emplace(number(2), Row{value(1), number(3), value(0)}).second);
      }
      return arrow::Status::OK();
    }));
    EXPECT_EQ(plan.statistics.rows_planned, static_cast<int64_t>(rows.size()));
    return rows;
  }

  Environment env_;
  TableContextPtr table_;
};

TEST_F(DataEvolution, RowIdsGoOnFromCommitToCommit) {
  ASSERT_NO_FATAL_FAILURE(Insert({1, 2, 3}, {10, 20, 30}));
  ASSERT_NO_FATAL_FAILURE(Insert({4, 5}, {40, 50}));
  EXPECT_EQ(
      Read(),
      (std::map<int64_t, Row>{
          {0, {10, 1, 1}}, {1, {20, 1, 2}}, {2, {30, 1, 3}}, {3, {40, 2, 4}}, {4, {50, 2, 5}}}));
  EXPECT_EQ(Unwrap(table_->snapshots->Latest())->next_row_id, 5);
}

TEST_F(DataEvolution, NewestFileOfAColumnWins) {
  ASSERT_NO_FATAL_FAILURE(Insert({1, 2, 3}, {10, 20, 30}));
  ASSERT_NO_FATAL_FAILURE(Insert({4, 5}, {40, 50}));
  ASSERT_OK(Unwrap(Committer::Make(table_))->Commit(NewValues(0, {11, 21, 31})));
  ASSERT_OK(Unwrap(Committer::Make(table_))->Commit(NewValues(0, {12, 22, 32})));
  EXPECT_EQ(
      Read(),
      (std::map<int64_t, Row>{
          {0, {12, 4, 1}}, {1, {22, 4, 2}}, {2, {32, 4, 3}}, {3, {40, 2, 4}}, {4, {50, 2, 5}}}));
  EXPECT_EQ(Unwrap(table_->snapshots->Latest())->next_row_id, 5);
}

TEST_F(DataEvolution, OfTwoChangesOfTheSameRowsOneConflicts) {
  ASSERT_NO_FATAL_FAILURE(Insert({1, 2, 3}, {10, 20, 30}));
  ASSERT_NO_FATAL_FAILURE(Insert({4, 5}, {40, 50}));
  const Committable first = NewValues(0, {11, 21, 31});
  const Committable second = NewValues(0, {12, 22, 32});
  const Committable other_rows = NewValues(3, {41, 51});
  ASSERT_OK(Unwrap(Committer::Make(table_))->Commit(first));
  EXPECT_THAT(Unwrap(Committer::Make(table_))->Commit(second),
              HasError(ErrorCode::kConflict, "changed rows"));
  ASSERT_OK(Unwrap(Committer::Make(table_))->Commit(other_rows));
  const auto rows = Read();
  EXPECT_EQ(rows.at(0).v, 11);
  EXPECT_EQ(rows.at(3).v, 41);
}

TEST_F(DataEvolution, AFileOverPartOfARangeIsRefused) {
  ASSERT_NO_FATAL_FAILURE(Insert({1, 2, 3}, {10, 20, 30}));
  EXPECT_THAT(Unwrap(Committer::Make(table_))->Commit(NewValues(1, {21, 31})),
              HasError(ErrorCode::kConflict, "overlap without being the same"));
}

TEST_F(DataEvolution, AFilterOnAReplacedColumnSeesTheNewValues) {
  ASSERT_NO_FATAL_FAILURE(Insert({1, 2, 3}, {10, 20, 30}));
  ASSERT_OK(Unwrap(Committer::Make(table_))->Commit(NewValues(0, {1000, 21, 31})));
  ScanRequest request;
  request.snapshot = Unwrap(table_->snapshots->Latest());
  request.predicate = Leaf(PredicateOp::kGt, {"v"}, {std::make_shared<arrow::Int32Scalar>(500)});
  const ScanPlan plan = Unwrap(PlanScan(*table_, request));
  TableReadOptions options;
  options.columns = {table_->fields()[0]};
  options.predicate = request.predicate;
  options.exact_filter = true;
  std::vector<int> ids;
  ASSERT_OK(ReadPlan(*table_, plan, options, [&](std::shared_ptr<arrow::RecordBatch> batch) {
    for (int64_t i = 0; i < batch->num_rows(); ++i)
      ids.push_back(static_cast<const arrow::Int32Array&>(*batch->column(0)).Value(i));
    return arrow::Status::OK();
  }));
  EXPECT_EQ(ids, std::vector<int>{1});
}

}  // namespace
}  // namespace kelda
