#include "kelda/scan/plan.h"

#include <gtest/gtest.h>

#include "kelda/base/test_matchers.h"
#include "tests/fault/table_fixture.h"

namespace kelda {
namespace {

class PlanTest : public testing::Test {
 protected:
  void Open(const std::map<std::string, std::string>& options) {
    ASSERT_OK_AND_ASSIGN(table_, OpenTestTable(MakeMemoryFileIO(), options));
  }
  /// One commit of files with given sizes into partition `pt`; sequence numbers in this order.
  void Commit(const std::string& pt, const std::vector<std::pair<std::string, int64_t>>& files) {
    Committable committable;
    int64_t sequence = 0;
    for (const auto& [name, size] : files) {
      ASSERT_OK_AND_ASSIGN(auto message, NewFileMessage(*table_, pt, name, 10));
      message.new_files[0].file_size = size;
      message.new_files[0].min_sequence_number = sequence++;
      committable.messages.push_back(message);
    }
    ASSERT_OK_AND_ASSIGN(auto committer, Committer::Make(table_));
    ASSERT_OK(committer->Commit(committable));
  }
  ScanPlan Plan(PredicatePtr predicate = nullptr, std::optional<int64_t> limit = std::nullopt) {
    ScanRequest request;
    request.snapshot = table_->snapshots->Latest().ValueOrDie();
    request.predicate = std::move(predicate);
    request.limit = limit;
    return PlanScan(*table_, request).ValueOrDie();
  }
  static std::vector<std::vector<std::string>> Names(const ScanPlan& plan) {
    std::vector<std::vector<std::string>> names;
    for (const Split& split : plan.splits) {
      names.emplace_back();
      for (const auto& file : split.files) names.back().push_back(file.file_name);
    }
    return names;
  }
  static PredicatePtr PartitionIs(const std::string& pt) {
    return Leaf(PredicateOp::kEq, {"pt"}, {std::make_shared<arrow::StringScalar>(pt)});
  }
  TableContextPtr table_;
};

using Splits = std::vector<std::vector<std::string>>;

// Vector S1 of spec 02 §11.8.
TEST_F(PlanTest, PacksFilesLikeJava) {
  const std::vector<std::pair<std::string, int64_t>> files = {{"1", 11}, {"2", 13}, {"3", 46},
                                                              {"4", 23}, {"5", 4},  {"6", 101}};
  Open({{"source.split.target-size", "40 b"}, {"source.split.open-file-cost", "2 b"}});
  Commit("a", files);
  EXPECT_EQ(Names(Plan()), (Splits{{"1", "2"}, {"3"}, {"4", "5"}, {"6"}}));
  Open({{"source.split.target-size", "70 b"}, {"source.split.open-file-cost", "2 b"}});
  Commit("a", files);
  EXPECT_EQ(Names(Plan()), (Splits{{"1", "2", "3"}, {"4", "5"}, {"6"}}));
  Open({{"source.split.target-size", "40 b"}, {"source.split.open-file-cost", "20 b"}});
  Commit("a", files);
  EXPECT_EQ(Names(Plan()), (Splits{{"1", "2"}, {"3"}, {"4"}, {"5"}, {"6"}}));
}

TEST_F(PlanTest, PartitionsPruneManifestsAndEntries) {
  Open({});
  Commit("a", {{"a1", 10}});
  Commit("b", {{"b1", 10}, {"b2", 10}});
  Commit("c", {{"c1", 10}});
  auto plan = Plan(PartitionIs("b"));
  EXPECT_EQ(Names(plan), (Splits{{"b1", "b2"}}));
  EXPECT_EQ(plan.statistics.manifests_total, 3);
  EXPECT_EQ(plan.statistics.manifests_read, 1);
  EXPECT_EQ(plan.statistics.files_total, 4);
  EXPECT_EQ(plan.statistics.files_planned, 2);
  EXPECT_TRUE(plan.exact);
  EXPECT_TRUE(Plan(PartitionIs("zz")).splits.empty());
  EXPECT_EQ(plan.splits[0].FilePath(plan.splits[0].files[0]), "/wh/default.db/t/pt=b/bucket-0/b1");
}

TEST_F(PlanTest, DeletedFilesAreNotPlanned) {
  Open({});
  Commit("a", {{"a1", 10}, {"a2", 10}});
  Commit("b", {{"b1", 10}});
  ASSERT_OK_AND_ASSIGN(auto committer, Committer::Make(table_));
  Committer::OverwriteSpec only_a;
  only_a.dynamic = false;
  only_a.static_partition["pt"] = "a";
  ASSERT_OK(committer->Overwrite(only_a, Committable{}));
  EXPECT_EQ(Names(Plan()), (Splits{{"b1"}}));
  EXPECT_EQ(Plan().statistics.files_total, 1);
}

TEST_F(PlanTest, LimitStopsOnlyWhenCountsAreExact) {
  Open({{"source.split.target-size", "10 b"}, {"source.split.open-file-cost", "1 b"}});
  Commit("a", {{"1", 10}, {"2", 10}, {"3", 10}});
  EXPECT_EQ(Names(Plan(nullptr, 15)), (Splits{{"1"}, {"2"}}));
  auto filter = Leaf(PredicateOp::kGt, {"id"}, {std::make_shared<arrow::Int32Scalar>(5)});
  EXPECT_EQ(Names(Plan(filter, 1)).size(), 3u);
  EXPECT_FALSE(Plan(filter).exact);
}

TEST_F(PlanTest, TimeTravel) {
  Open({});
  Commit("a", {{"1", 10}});
  Commit("a", {{"2", 10}});
  auto with = [&](std::map<std::string, std::string> options) {
    auto table = TableContext::Load(table_->env, "default.t", "/wh/default.db/t", "main", options)
                     .ValueOrDie();
    return ResolveSnapshot(*table);
  };
  ASSERT_OK_AND_ASSIGN(auto snapshot, with({}));
  EXPECT_EQ(snapshot->id, 2);
  ASSERT_OK_AND_ASSIGN(snapshot, with({{"scan.snapshot-id", "1"}}));
  EXPECT_EQ(snapshot->id, 1);
  ASSERT_OK_AND_ASSIGN(snapshot, with({{"scan.version", "1"}}));
  EXPECT_EQ(snapshot->id, 1);
  EXPECT_THAT(with({{"scan.snapshot-id", "9"}}),
              HasError(ErrorCode::kNotFound, "present are 1 to 2"));
  EXPECT_THAT(with({{"scan.tag-name", "x"}}), HasError(ErrorCode::kNotFound, "no tag 'x'"));
  EXPECT_THAT(with({{"scan.timestamp-millis", "5"}}), HasError(ErrorCode::kNotFound, "earliest"));
  EXPECT_FALSE(with({{"scan.snapshot-id", "1"}, {"scan.version", "1"}}).ok());
  // A tag of that name wins over the snapshot number.
  ASSERT_OK_AND_ASSIGN(auto text, table_->env.io->ReadAll(table_->paths.SnapshotFile(2)));
  ASSERT_OK(table_->env.io->WriteReplacing(table_->paths.TagFile("1"), text));
  ASSERT_OK_AND_ASSIGN(snapshot, with({{"scan.version", "1"}}));
  EXPECT_EQ(snapshot->id, 2);
}

}  // namespace
}  // namespace kelda
