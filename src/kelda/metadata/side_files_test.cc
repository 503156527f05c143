#include <gtest/gtest.h>

#include <arrow/scalar.h>

#include "kelda/base/test_matchers.h"
#include "kelda/metadata/branch.h"
#include "kelda/metadata/consumer.h"
#include "kelda/metadata/table_statistics.h"
#include "kelda/metadata/tag.h"

namespace kelda {
namespace {

/// As Java Paimon 1.4.2 writes it.
const std::string kStatistics = R"({
  "snapshotId" : 2,
  "schemaId" : 0,
  "mergedRecordCount" : 71,
  "mergedRecordSize" : 12345,
  "colStats" : {
    "id" : {
      "colId" : 0,
      "distinctCount" : 10,
      "min" : "1",
      "max" : "50",
      "nullCount" : 1,
      "avgLen" : 4,
      "maxLen" : 4
    },
    "by" : {
      "colId" : 11,
      "nullCount" : 3
    }
  }
})";

TEST(TableStatisticsFile, IsWrittenAsJavaDoes) {
  ASSERT_OK_AND_ASSIGN(auto statistics, TableStatistics::FromJsonText(kStatistics, "stat-1"));
  EXPECT_EQ(statistics.snapshot_id, 2);
  EXPECT_EQ(statistics.merged_record_size, 12345);
  ASSERT_EQ(statistics.columns.size(), 2U);
  EXPECT_EQ(statistics.columns[0].first, "id");
  EXPECT_EQ(statistics.columns[0].second.distinct_count, 10);
  EXPECT_EQ(statistics.columns[0].second.max, "50");
  EXPECT_EQ(statistics.columns[1].second.column_id, 11);
  EXPECT_EQ(statistics.columns[1].second.min, std::nullopt);
  EXPECT_EQ(statistics.ToJsonText(), kStatistics);
}

TEST(TableStatisticsFile, UnknownMembersSurvive) {
  const std::string text =
      R"({"snapshotId":1,"schemaId":0,"later":[1],"colStats":{"a":{"colId":0,"histogram":{"x":1}}}})";
  ASSERT_OK_AND_ASSIGN(auto statistics, TableStatistics::FromJsonText(text, "stat-1"));
  const std::string again = statistics.ToJsonText();
  EXPECT_NE(again.find("\"later\" : [ 1 ]"), std::string::npos) << again;
  EXPECT_NE(again.find("\"histogram\""), std::string::npos) << again;
}

TEST(TableStatisticsFile, DamageIsNamed) {
  for (const char* text :
       {"", "[]", "{}", R"({"snapshotId":1})", R"({"snapshotId":1,"schemaId":"x"})",
        R"({"snapshotId":1,"schemaId":0,"colStats":[]})",
        R"({"snapshotId":1,"schemaId":0,"colStats":{"a":1}})",
        R"({"snapshotId":1,"schemaId":0,"colStats":{"a":{}}})",
        R"({"snapshotId":1,"schemaId":0,"colStats":{"a":{"colId":3000000000}}})",
        R"({"snapshotId":1,"schemaId":0,"colStats":{"a":{"colId":1,"min":2}}})",
        R"({"snapshotId":99999999999999999999,"schemaId":0})"}) {
    EXPECT_THAT(TableStatistics::FromJsonText(text, "stat-9"),
                HasError(ErrorCode::kCorruption, "stat-9"))
        << text;
  }
}

TEST(TableStatisticsFile, FilesAreNewAndHaveNames) {
  auto io = MakeMemoryFileIO();
  const StatisticsFiles files(io, TablePaths("/t", "b"));
  ASSERT_OK_AND_ASSIGN(auto statistics, TableStatistics::FromJsonText(kStatistics, "stat-1"));
  auto random = Random::Seeded(1);
  ASSERT_OK_AND_ASSIGN(auto first, files.Write(statistics, *random));
  ASSERT_OK_AND_ASSIGN(auto second, files.Write(statistics, *random));
  EXPECT_NE(first, second);
  EXPECT_TRUE(first.starts_with("stat-") && first.ends_with("-0")) << first;
  // All branches share one folder.
  EXPECT_EQ(files.PathOf(first), "/t/statistics/" + first);
  ASSERT_OK_AND_ASSIGN(auto read, files.Read(first));
  EXPECT_EQ(read.ToJsonText(), kStatistics);
  EXPECT_THAT(files.Read("stat-x"), HasError(ErrorCode::kNotFound, "stat-x"));
  EXPECT_THAT(files.Read("../snapshot/snapshot-1"), HasError(ErrorCode::kCorruption, "no name"));
}

struct BoundCase {
  DataType type;
  std::shared_ptr<arrow::Scalar> value;
  std::string text;
};

/// Texts that Java Paimon 1.4.2 wrote for these values.
TEST(TableStatisticsFile, BoundsHaveJavasTexts) {
  using arrow::TimeUnit;
  const std::vector<BoundCase> cases = {
      {DataType(TypeRoot::kBoolean), arrow::MakeScalar(true), "true"},
      {DataType(TypeRoot::kInt), arrow::MakeScalar(int32_t{50}), "50"},
      {DataType(TypeRoot::kBigInt), arrow::MakeScalar(int64_t{-7}), "-7"},
      {DataType(TypeRoot::kFloat), arrow::MakeScalar(1e10F), "1.0E10"},
      {DataType(TypeRoot::kDouble), arrow::MakeScalar(1.5), "1.5"},
      {DataType::Decimal(10, 2),
       std::make_shared<arrow::Decimal128Scalar>(arrow::Decimal128(-5), arrow::decimal128(10, 2)),
       "-0.05"},
      {DataType(TypeRoot::kDate), std::make_shared<arrow::Date32Scalar>(-3), "-3"},
      {DataType::Temporal(TypeRoot::kTime, 3),
       std::make_shared<arrow::Time32Scalar>(86399123, TimeUnit::MILLI), "86399123"},
      {DataType::Temporal(TypeRoot::kTimestamp, 6),
       std::make_shared<arrow::TimestampScalar>(-1499877, TimeUnit::MICRO),
       "1969-12-31 23:59:58.500123"},
      {DataType::Temporal(TypeRoot::kTimestamp, 3),
       std::make_shared<arrow::TimestampScalar>(1700000000000, TimeUnit::MILLI),
       "2023-11-14 22:13:20.000"},
      {DataType::Temporal(TypeRoot::kTimestamp, 0),
       std::make_shared<arrow::TimestampScalar>(1700000000, TimeUnit::SECOND),
       "2023-11-14 22:13:20"},
      {DataType::Temporal(TypeRoot::kTimestampLtz, 3),
       std::make_shared<arrow::TimestampScalar>(1700000000120,
                                                arrow::timestamp(TimeUnit::MILLI, "UTC")),
       "2023-11-14 22:13:20.120"},
  };
  for (const BoundCase& c : cases) {
    SCOPED_TRACE(c.type.ToString());
    ASSERT_OK_AND_ASSIGN(auto text, StatisticsText(c.type, *c.value));
    EXPECT_EQ(text, c.text);
    ASSERT_OK_AND_ASSIGN(auto back, ParseStatisticsText(c.type, c.text));
    EXPECT_TRUE(back->Equals(*c.value)) << back->ToString();
  }
  ASSERT_OK_AND_ASSIGN(auto bytes, StatisticsText(DataType::Bytes(), arrow::BinaryScalar("x")));
  EXPECT_EQ(bytes, std::nullopt);
  EXPECT_FALSE(ParseStatisticsText(DataType(TypeRoot::kDate), "x").ok());
  EXPECT_FALSE(ParseStatisticsText(DataType::Bytes(), "x").ok());
}

// ------------------------------------------------------------------------------------------- tags

const std::string kSnapshotMembers =
    R"("version":3,"id":1,"schemaId":0,"baseManifestList":"b","deltaManifestList":"d","commitUser":"u",)"
    R"("commitIdentifier":1,"commitKind":"APPEND","timeMillis":1,"totalRecordCount":1,"deltaRecordCount":1)";

TEST(TagFile, TimesAreWrittenAsJavaDoes) {
  struct Case {
    const char* create;
    const char* retained;
    const char* create_again;
    const char* retained_again;
  };
  for (const Case& c : {Case{"[2024,5,14,9,30,15,123000000]", "86400",
                             "[ 2024, 5, 14, 9, 30, 15, 123000000 ]", "86400.000000000"},
                        Case{"[2024,5,14,9,30]", "1.5", "[ 2024, 5, 14, 9, 30 ]", "1.500000000"},
                        Case{"\"2024-05-14T09:30:15\"", "\"PT36H\"", "[ 2024, 5, 14, 9, 30, 15 ]",
                             "129600.000000000"}}) {
    const std::string text = "{" + kSnapshotMembers + ",\"later\":7,\"tagCreateTime\":" + c.create +
                             ",\"tagTimeRetained\":" + c.retained + "}";
    SCOPED_TRACE(text);
    ASSERT_OK_AND_ASSIGN(auto tag, Tag::FromJsonText(text, "tag-x"));
    EXPECT_EQ(tag.snapshot.id, 1);
    EXPECT_EQ(tag.snapshot.unknown.size(), 1U);
    const std::string again = tag.ToJsonText();
    EXPECT_NE(again.find("\"later\" : 7"), std::string::npos) << again;
    EXPECT_NE(again.find(std::string("\"tagCreateTime\" : ") + c.create_again), std::string::npos)
        << again;
    EXPECT_NE(again.find(std::string("\"tagTimeRetained\" : ") + c.retained_again),
              std::string::npos)
        << again;
    ASSERT_OK_AND_ASSIGN(auto twice, Tag::FromJsonText(again, "tag-x"));
    EXPECT_EQ(twice.create_time, tag.create_time);
    EXPECT_EQ(twice.time_retained, tag.time_retained);
  }
  ASSERT_OK_AND_ASSIGN(auto plain, Tag::FromJsonText("{" + kSnapshotMembers + "}", "tag-x"));
  EXPECT_EQ(plain.create_time, std::nullopt);
  EXPECT_EQ(plain.ToJsonText(), plain.snapshot.ToJsonText());
}

TEST(TagFile, DurationsAreJavas) {
  const std::vector<std::pair<SecondsAndNanos, std::string>> cases = {
      {{0, 0}, "PT0S"},
      {{86400, 0}, "PT24H"},
      {{3661, 0}, "PT1H1M1S"},
      {{1, 500000000}, "PT1.5S"},
      {{-1, 500000000}, "PT-0.5S"},
      {{-61, 1}, "PT-1M-0.999999999S"},
      {{59, 999999999}, "PT59.999999999S"},
      {{90061, 120000000}, "PT25H1M1.12S"},
      {{-3600, 0}, "PT-1H"},
      {{0, 1}, "PT0.000000001S"},
      {{60, 1}, "PT1M0.000000001S"}};
  for (const auto& [duration, text] : cases) {
    EXPECT_EQ(DurationText(duration), text);
    EXPECT_EQ(ParseDurationText(text), duration) << text;
  }
  EXPECT_EQ(ParseDurationText("P1DT1H"), (SecondsAndNanos{90000, 0}));
  EXPECT_EQ(ParseDurationText("-PT1.5S"), (SecondsAndNanos{-2, 500000000}));
  for (const char* text : {"", "P", "PT", "24H", "PT1X", "PTH", "P1H", "PT1.S", "PT1.5H",
                           "PT99999999999999999999S", "PT9223372036854775807H", "yesterday"}) {
    EXPECT_EQ(ParseDurationText(text), std::nullopt) << text;
  }
}

// -------------------------------------------------------------------------------------- consumers

TEST(ConsumerFile, IsWrittenAsJavaDoes) {
  ASSERT_OK_AND_ASSIGN(auto consumer,
                       Consumer::FromJsonText(R"({"nextSnapshot":5})", "consumer-c"));
  EXPECT_EQ(consumer.ToJsonText(), "{\n  \"nextSnapshot\" : 5\n}");
  ASSERT_OK_AND_ASSIGN(consumer,
                       Consumer::FromJsonText(R"({"nextSnapshot":5,"x":1})", "consumer-c"));
  EXPECT_NE(consumer.ToJsonText().find("\"x\" : 1"), std::string::npos);
}

}  // namespace
}  // namespace kelda
