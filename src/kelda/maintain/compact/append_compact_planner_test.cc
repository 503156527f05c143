#include "kelda/maintain/compact/append_compact_planner.h"

#include <fstream>
#include <set>

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

namespace kelda {
namespace {

constexpr int64_t kMib = 1 << 20;
constexpr int64_t kTarget = 256 * kMib;

AppendCompactPlanner::Rule TestRule(int32_t min_file_num) {
  AppendCompactPlanner::Rule rule;
  rule.target_file_size = kTarget;
  rule.open_file_cost = 4 * kMib;
  rule.min_file_num = min_file_num;
  return rule;
}

DataFileMeta File(int i, int64_t size, int64_t rows = 0) {
  DataFileMeta file;
  file.file_name = "f" + std::to_string(i);
  file.file_size = size;
  file.row_count = rows;
  return file;
}

size_t Feed(AppendCompactPlanner* planner, int count, int64_t size) {
  for (int i = 0; i < count; ++i) {
    if (planner->IsCandidate("", File(i, size))) planner->Add("", File(i, size));
  }
  return planner->Plan().size();
}

const AppendCompactPlanner::Vector* NoVector(const std::string&, const std::string&) {
  return nullptr;
}

// Vectors U8 of spec 02 §11.7; with and without deletion vectors they are the same.
TEST(AppendCompactPlannerTest, PacksLikeJava) {
  struct Case {
    int count;
    int64_t size;
    size_t tasks;
  };
  for (const AppendCompactPlanner::VectorLookup& lookup :
       {AppendCompactPlanner::VectorLookup(), AppendCompactPlanner::VectorLookup(NoVector)}) {
    for (const Case& c : {Case{200, 0, 2}, Case{100, kTarget / 3 + 1, 17},
                          Case{100, kTarget / 10 * 8, 0}, Case{1000, kTarget / 10, 56},
                          Case{1050, kTarget / 5, 105}, Case{1089, kTarget / 5, 109}}) {
      AppendCompactPlanner planner(TestRule(3), lookup);
      EXPECT_EQ(Feed(&planner, c.count, c.size), c.tasks) << c.count << " x " << c.size;
    }
  }
}

// What Java's compaction made of 500 INSERTs of 1 to 500 rows.
TEST(AppendCompactPlannerTest, PacksOfJava) {
  std::ifstream stream("tests/data/compaction/packs.json");
  const auto json = nlohmann::json::parse(stream);
  ASSERT_EQ(json["files"].size(), 500u);
  for (const auto& table : json["tables"]) {
    AppendCompactPlanner::Rule rule;
    rule.target_file_size = table["targetFileSize"];
    rule.open_file_cost = table["openFileCost"];
    rule.min_file_num = table["minFileNum"];
    AppendCompactPlanner planner(rule, nullptr);
    std::multiset<int64_t> left, compacted;
    int i = 0;
    for (const auto& file : json["files"]) {
      planner.Add("", File(i++, file[0], file[1]));
      left.insert(file[1].get<int64_t>());
    }
    for (const AppendCompactTask& task : planner.Plan()) {
      int64_t rows = 0;
      for (const DataFileMeta& file : task.files) {
        rows += file.row_count;
        left.erase(left.find(file.row_count));
      }
      compacted.insert(rows);
    }
    EXPECT_EQ(compacted, table["compactedRows"].get<std::multiset<int64_t>>());
    EXPECT_EQ(left, table["leftRows"].get<std::multiset<int64_t>>());
  }
}

TEST(AppendCompactPlannerTest, SmallestFirstAndTheRestWaits) {
  AppendCompactPlanner planner(TestRule(5), nullptr);
  for (int i = 0; i < 6; ++i) planner.Add("p", File(i, (6 - i) * 25 * kMib));
  // 25+4, 50+4, 75+4, 100+4, 125+4: 395; with 150+4 it is 549, enough.
  auto tasks = planner.Plan();
  ASSERT_EQ(tasks.size(), 1u);
  EXPECT_EQ(tasks[0].partition, "p");
  ASSERT_EQ(tasks[0].files.size(), 6u);
  EXPECT_EQ(tasks[0].files[0].file_name, "f5");
  EXPECT_EQ(tasks[0].files[5].file_name, "f0");
  for (int i = 0; i < 4; ++i) planner.Add("p", File(i, 1));
  EXPECT_TRUE(planner.Plan().empty());
  planner.Add("q", File(9, 1));
  planner.Add("p", File(4, 1));
  tasks = planner.Plan();
  ASSERT_EQ(tasks.size(), 1u);
  EXPECT_EQ(tasks[0].files.size(), 5u);
}

TEST(AppendCompactPlannerTest, Ageing) {
  AppendCompactPlanner planner(TestRule(3), nullptr);
  planner.Add("", File(0, 0));
  planner.Add("", File(1, 0));
  for (int round = 0; round < 5; ++round) EXPECT_TRUE(planner.Plan().empty());
  auto tasks = planner.Plan();
  ASSERT_EQ(tasks.size(), 1u);
  EXPECT_EQ(tasks[0].files.size(), 2u);
  // A file alone is forgotten after its eleventh round.
  planner.Add("", File(2, 0));
  for (int round = 0; round < 11; ++round) EXPECT_TRUE(planner.Plan().empty());
  planner.Add("", File(3, 0));
  planner.Add("", File(4, 0));
  for (int round = 0; round < 5; ++round) EXPECT_TRUE(planner.Plan().empty());
  tasks = planner.Plan();
  ASSERT_EQ(tasks.size(), 1u);
  EXPECT_EQ(tasks[0].files.size(), 2u);
}

TEST(AppendCompactPlannerTest, DeletionVectors) {
  std::map<std::string, AppendCompactPlanner::Vector> vectors = {{"f0", {"i1", 21}},
                                                                 {"f1", {"i1", 11}},
                                                                 {"f2", {"i2", 20}},
                                                                 {"f3", {"i2", {}}},
                                                                 {"f4", {"i3", 1'000'000'000}},
                                                                 {"f5", {"i1", 50}}};
  AppendCompactPlanner planner(TestRule(3), [&](const std::string&, const std::string& name) {
    auto it = vectors.find(name);
    return it == vectors.end() ? nullptr : &it->second;
  });
  // More than a fifth of 100 rows, or nobody knows how many.
  EXPECT_TRUE(planner.IsCandidate("", File(0, kTarget, 100)));
  EXPECT_FALSE(planner.IsCandidate("", File(1, kTarget, 100)));
  EXPECT_FALSE(planner.IsCandidate("", File(2, kTarget, 100)));
  EXPECT_TRUE(planner.IsCandidate("", File(3, kTarget, 100)));
  EXPECT_FALSE(planner.IsCandidate("", File(6, kTarget, 100)));
  EXPECT_TRUE(planner.IsCandidate("", File(6, 10, 100)));
  // Files of one index file stay together; their remainder never waits.
  planner.Add("", File(0, kTarget));
  planner.Add("", File(3, kTarget / 2));
  planner.Add("", File(5, kTarget));
  planner.Add("", File(6, 1));
  auto tasks = planner.Plan();
  ASSERT_EQ(tasks.size(), 1u);
  ASSERT_EQ(tasks[0].files.size(), 3u);
  EXPECT_EQ(tasks[0].files[0].file_name, "f3");
  planner.Add("", File(4, 1));
  tasks = planner.Plan();
  ASSERT_EQ(tasks.size(), 1u);
  EXPECT_EQ(tasks[0].files.size(), 1u);
  // f6 is still there.
  planner.Add("", File(7, 1));
  planner.Add("", File(8, 1));
  tasks = planner.Plan();
  ASSERT_EQ(tasks.size(), 1u);
  EXPECT_EQ(tasks[0].files.size(), 3u);
}

}  // namespace
}  // namespace kelda
