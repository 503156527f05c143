#include "kelda/options/validate.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "kelda/base/status.h"
#include "kelda/options/option_table.h"

namespace kelda {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;
using ::testing::SizeIs;
using Map = std::map<std::string, std::string>;

constexpr auto kCreate = OptionUse::kCreate;
constexpr auto kWrite = OptionUse::kWrite;
constexpr auto kRead = OptionUse::kRead;

// What comes of one option: "ok", "refused" (by name) or "invalid" (naming it).
std::string Outcome(const std::string& key, const std::string& value, OptionUse use) {
  arrow::Status status = CheckTableOptions({{key, value}}, use, nullptr);
  if (status.ok()) return "ok";
  EXPECT_THAT(status.message(), HasSubstr("'" + key + "'"));
  if (IsUnsupported(status)) {
    EXPECT_THAT(status.message(), HasSubstr("not implemented"));
    return "refused";
  }
  EXPECT_TRUE(status.IsInvalid()) << status;
  return "invalid";
}

TEST(CheckTableOptions, NothingSet) {
  for (OptionUse use : {kCreate, kWrite, kRead}) {
    EXPECT_TRUE(CheckTableOptions({}, use, nullptr).ok());
  }
}

// Every default is fine everywhere, also when it is written out.
TEST(CheckTableOptions, DefaultsAreNeverRefused) {
  for (const OptionSpec& spec : AllOptions()) {
    if (!spec.default_value || spec.is_pattern()) continue;
    for (OptionUse use : {kCreate, kWrite, kRead}) {
      EXPECT_EQ(Outcome(std::string(spec.key), std::string(*spec.default_value), use), "ok");
    }
  }
}

struct Case {
  std::string key, value, create, write, read;
};

TEST(CheckTableOptions, RefusesByNameWhereItMatters) {
  const std::vector<Case> cases = {
      {"bucket", "4", "ok", "ok", "ok"},
      {"bucket", "-2", "ok", "ok", "ok"},
      {"bucket", "0", "invalid", "invalid", "invalid"},
      {"file.format", "orc", "ok", "ok", "ok"},
      {"file.format", "AVRO", "ok", "ok", "ok"},
      {"file.format", "lance", "refused", "refused", "ok"},
      {"file.format", "Parquet", "ok", "ok", "ok"},
      {"file.format", "excel", "invalid", "invalid", "invalid"},
      {"file.compression", "SNAPPY", "ok", "ok", "ok"},
      {"file.compression", "lzo", "refused", "refused", "ok"},
      {"file.compression", "rar", "invalid", "invalid", "ok"},
      {"manifest.format", "orc", "refused", "refused", "ok"},
      {"manifest.compression", "null", "ok", "ok", "ok"},
      {"manifest.compression", "xz", "refused", "refused", "ok"},
      {"primary-key", "id", "refused", "refused", "refused"},
      {"upsert-key", "id", "refused", "refused", "ok"},
      {"rowkind.field", "op", "refused", "refused", "ok"},
      {"merge-engine", "aggregation", "ok", "ok", "ok"},
      {"merge-engine", "best", "invalid", "invalid", "invalid"},
      {"deletion-vectors.enabled", "true", "ok", "ok", "ok"},
      {"deletion-vectors.enabled", "FALSE", "ok", "ok", "ok"},
      {"row-tracking.enabled", "true", "ok", "ok", "ok"},
      {"data-evolution.enabled", "true", "ok", "ok", "ok"},
      {"changelog-producer", "lookup", "refused", "refused", "ok"},
      {"file-index.bloom-filter.columns", "a,b", "ok", "ok", "ok"},
      {"file-index.bloom-filter.a.fpp", "0.1", "ok", "ok", "ok"},
      {"fields.a.stats-mode", "counts", "ok", "ok", "ok"},
      {"fields.a.stats-mode", "most", "invalid", "invalid", "ok"},
      {"metadata.stats-mode", "truncate(x)", "invalid", "invalid", "ok"},
      {"metadata.iceberg.storage", "table-location", "refused", "refused", "ok"},
      {"tag.automatic-creation", "process-time", "refused", "refused", "ok"},
      {"partition.expiration-time", "7 d", "refused", "refused", "ok"},
      {"data-file.external-paths", "file:///a", "ok", "ok", "ok"},
      {"data-file.external-paths.strategy", "round-robin", "refused", "refused", "ok"},
      {"commit.force-compact", "true", "ok", "ok", "ok"},
      {"commit.strict-mode.last-safe-snapshot", "1", "refused", "refused", "ok"},
      {"commit.callbacks", "org.acme.Hook", "refused", "refused", "ok"},
      {"commit.callbacks", " ", "ok", "ok", "ok"},
      {"commit.max-retries", "-1", "invalid", "invalid", "ok"},
      {"clustering.columns", "a", "refused", "refused", "ok"},
      {"sink.clustering.by-columns", "a", "refused", "refused", "ok"},
      {"variant.inferShreddingSchema", "true", "refused", "refused", "ok"},
      {"parquet.variant.shreddingSchema", "{}", "refused", "refused", "ok"},
      {"parquet.block.size", "1048576", "ok", "ok", "ok"},
      {"parquet.block.size", "1 mb", "invalid", "invalid", "ok"},
      {"parquet.compression", "brotli", "refused", "refused", "ok"},
      {"parquet.blok.size", "1", "refused", "refused", "ok"},
      {"parquet.bloom.filter.enabled#a", "true", "refused", "refused", "ok"},
      {"parquet.bloom.filter.fpp#a", "0.1", "ok", "ok", "ok"},
      {"scan.mode", "latest", "ok", "ok", "ok"},
      {"scan.mode", "compacted-full", "refused", "ok", "refused"},
      {"scan.mode", "sideways", "invalid", "ok", "invalid"},
      {"scan.watermark", "5", "refused", "ok", "refused"},
      {"incremental-between", "1,2", "refused", "ok", "refused"},
      {"scan.fallback-branch", "old", "refused", "ok", "refused"},
      {"scan.ignore-lost-files", "true", "refused", "ok", "refused"},
      {"query-auth.enabled", "true", "refused", "ok", "refused"},
      {"type", "format-table", "refused", "refused", "refused"},
      {"snapshot.num-retained.max", "20", "ok", "ok", "ok"},
      {"target-file-size", "lots", "invalid", "invalid", "ok"},
      {"compaction.min.file-num", "x", "invalid", "invalid", "ok"},
  };
  for (const Case& c : cases) {
    EXPECT_EQ(Outcome(c.key, c.value, kCreate), c.create) << c.key << " = " << c.value;
    EXPECT_EQ(Outcome(c.key, c.value, kWrite), c.write) << c.key << " = " << c.value;
    EXPECT_EQ(Outcome(c.key, c.value, kRead), c.read) << c.key << " = " << c.value;
  }
}

// Whatever the table says is refused somewhere is refused at CREATE TABLE.
TEST(CheckTableOptions, EveryRefusalIsReachable) {
  for (const OptionSpec& spec : AllOptions()) {
    if (spec.is_pattern() || (spec.refused_on & (kRefusedOnRead | kRefusedOnWrite)) == 0) continue;
    std::vector<std::string> values = {
        "true", "false", "1 d", "1", "5", "x", "9223372036854775806"};
    for (std::string_view word : OptionSpec::Split(spec.values)) values.emplace_back(word);
    bool refused = false;
    for (const std::string& value : values) {
      arrow::Status status = CheckTableOptions({{std::string(spec.key), value}}, kCreate, nullptr);
      refused |= IsUnsupported(status);
    }
    // With bucket -1 the key is wrong rather than not implemented.
    EXPECT_EQ(refused, spec.key != "bucket-key") << spec.key;
  }
}

TEST(CheckTableOptions, SaysWhatIsAccepted) {
  arrow::Status status = CheckTableOptions({{"manifest.compression", "xz"}}, kWrite, nullptr);
  EXPECT_THAT(status.message(),
              AllOf(HasSubstr("'manifest.compression' = 'xz'"), HasSubstr("deflate")));
  status = CheckTableOptions({{"target-file-size", "12 parsecs"}}, kWrite, nullptr);
  EXPECT_THAT(status.message(), AllOf(HasSubstr("'target-file-size'"), HasSubstr("'12 parsecs'"),
                                      HasSubstr("whole number")));
}

TEST(CheckTableOptions, UnknownFormatSettingSaysWhatIsNear) {
  arrow::Status status = CheckTableOptions({{"parquet.blok.size", "1"}}, kWrite, nullptr);
  EXPECT_THAT(status.message(), HasSubstr("did you mean 'parquet.block.size'?"));
}

TEST(CheckTableOptions, HostileTextStaysShortInMessages) {
  std::string junk(1 << 20, '\x01');
  EXPECT_LT(CheckTableOptions({{"bucket", junk}}, kRead, nullptr).message().size(), 1000u);
  std::vector<std::string> warnings;
  EXPECT_TRUE(CheckTableOptions({{junk, junk}}, kRead, &warnings).ok());
  ASSERT_THAT(warnings, SizeIs(1));
  EXPECT_LT(warnings[0].size(), 1000u);
}

TEST(CheckTableOptions, OverriddenFallbackDoesNotCount) {
  EXPECT_TRUE(CheckTableOptions({{"write.compaction-skip", "maybe"}, {"write-only", "true"}},
                                kWrite, nullptr)
                  .ok());
  EXPECT_FALSE(CheckTableOptions({{"write.compaction-skip", "maybe"}}, kWrite, nullptr).ok());
  EXPECT_TRUE(CheckTableOptions({{"partial-update.ignore-delete", "maybe"},
                                 {"deduplicate.ignore-delete", "true"}},
                                kWrite, nullptr)
                  .ok());
}

TEST(CheckTableOptions, WarnsOfUnknownKeys) {
  std::vector<std::string> warnings;
  Map options = {{"target-fil-size", "1 mb"},
                 {"zzzzzzzzzzzzzzz", "1"},
                 {"avro.cdoec", "1"},
                 {"bucket", "-1"},
                 {"fields.a.stats-mode", "full"}};
  ASSERT_TRUE(CheckTableOptions(options, kCreate, &warnings).ok());
  ASSERT_THAT(warnings, SizeIs(3));
  EXPECT_THAT(warnings[0],
              AllOf(HasSubstr("'avro.cdoec'"), HasSubstr("Did you mean 'avro.codec'?")));
  EXPECT_THAT(warnings[1],
              AllOf(HasSubstr("'target-fil-size'"), HasSubstr("Did you mean 'target-file-size'?")));
  EXPECT_THAT(warnings[2], AllOf(HasSubstr("'zzzzzzzzzzzzzzz'"), Not(HasSubstr("Did you mean"))));
  EXPECT_TRUE(CheckTableOptions(options, kCreate, nullptr).ok());
}

TEST(CheckTableOptions, ScanKeysMustAgree) {
  auto check = [](const Map& options) { return CheckTableOptions(options, kRead, nullptr); };
  EXPECT_TRUE(check({{"scan.snapshot-id", "1"}}).ok());
  EXPECT_TRUE(check({{"scan.tag-name", "t"}}).ok());
  EXPECT_TRUE(check({{"scan.version", "t"}}).ok());
  EXPECT_TRUE(check({{"scan.timestamp", "2024-01-01 00:00:00"}}).ok());
  EXPECT_TRUE(check({{"scan.mode", "from-snapshot-full"}, {"scan.snapshot-id", "1"}}).ok());
  const std::vector<Map> wrong = {
      {{"scan.snapshot-id", "1"}, {"scan.tag-name", "t"}},
      {{"scan.snapshot-id", "1"}, {"scan.timestamp-millis", "5"}},
      {{"scan.timestamp", "2024-01-01"}, {"scan.timestamp-millis", "5"}},
      {{"scan.version", "1"}, {"scan.snapshot-id", "1"}},
      {{"scan.mode", "from-snapshot"}},
      {{"scan.mode", "from-timestamp"}, {"scan.tag-name", "t"}},
      {{"scan.mode", "from-snapshot-full"}, {"scan.tag-name", "t"}},
      {{"scan.mode", "latest"}, {"scan.snapshot-id", "1"}},
      {{"scan.mode", "latest-full"}, {"scan.tag-name", "t"}},
  };
  for (const Map& options : wrong) {
    EXPECT_TRUE(check(options).IsInvalid());
    EXPECT_TRUE(CheckTableOptions(options, kCreate, nullptr).IsInvalid());
    EXPECT_TRUE(CheckTableOptions(options, kWrite, nullptr).ok());
  }
}

TEST(CheckTableOptions, RetentionAndBucketKeyAtCreate) {
  arrow::Status status = CheckTableOptions({{"snapshot.num-retained.max", "3"}}, kCreate, nullptr);
  EXPECT_TRUE(status.IsInvalid());
  EXPECT_THAT(status.message(), HasSubstr("'snapshot.num-retained.max' = 3"));
  status = CheckTableOptions({{"changelog.num-retained.max", "3"}}, kCreate, nullptr);
  EXPECT_THAT(status.message(), HasSubstr("'changelog.num-retained.max' = 3"));
  EXPECT_TRUE(CheckTableOptions({{"snapshot.num-retained.max", "3"}}, kRead, nullptr).ok());
  status = CheckTableOptions({{"bucket-key", "id"}}, kCreate, nullptr);
  EXPECT_TRUE(status.IsInvalid());
  EXPECT_THAT(status.message(), HasSubstr("'bucket-key' = 'id'"));
}

TEST(CheckCatalogOptions, RefusesAndWarns) {
  std::vector<std::string> warnings;
  EXPECT_TRUE(
      CheckCatalogOptions({{"warehouse", "/lake"}, {"metastore", "FileSystem"}}, &warnings).ok());
  EXPECT_THAT(warnings, IsEmpty());
  for (const Map& options : std::vector<Map>{{{"metastore", "hive"}},
                                             {{"table.type", "external"}},
                                             {{"lock.enabled", "true"}},
                                             {{"allow-upper-case", "false"}},
                                             {{"user", "root"}}}) {
    arrow::Status status = CheckCatalogOptions(options, nullptr);
    EXPECT_TRUE(IsUnsupported(status)) << options.begin()->first;
    EXPECT_THAT(status.message(), HasSubstr("'" + options.begin()->first + "'"));
  }
  EXPECT_TRUE(CheckCatalogOptions({{"lock.enabled", "false"}}, nullptr).ok());
  EXPECT_TRUE(CheckCatalogOptions({{"metastore", "stone"}}, nullptr).IsInvalid());
  EXPECT_TRUE(CheckCatalogOptions({{"warehose", "/lake"}}, &warnings).ok());
  EXPECT_THAT(warnings, ElementsAre(HasSubstr("Did you mean 'warehouse'?")));
}

TEST(CheckAlterOption, FixedAfterTheFirstSnapshot) {
  Map table = {{"merge-engine", "first-row"}};
  EXPECT_TRUE(CheckAlterOption(table, "merge-engine", "deduplicate", false).ok());
  arrow::Status status = CheckAlterOption(table, "merge-engine", "deduplicate", true);
  EXPECT_TRUE(status.IsInvalid());
  EXPECT_THAT(status.message(), HasSubstr("'merge-engine'"));
  EXPECT_FALSE(CheckAlterOption(table, "merge-engine", std::nullopt, true).ok());
  EXPECT_FALSE(CheckAlterOption({}, "data-file.path-directory", "data", true).ok());
  EXPECT_FALSE(CheckAlterOption({}, "blob.stored-descriptor-fields", "b", true).ok());
}

TEST(CheckAlterOption, WhatIsSetMayBeSetAgain) {
  Map table = {{"merge-engine", "first-row"}, {"bucket", "4"}, {"path", "/lake/t"}};
  EXPECT_TRUE(CheckAlterOption(table, "merge-engine", "FIRST-ROW", true).ok());
  EXPECT_TRUE(CheckAlterOption({}, "merge-engine", "deduplicate", true).ok());
  EXPECT_TRUE(CheckAlterOption(table, "bucket", "+4", true).ok());
  EXPECT_TRUE(CheckAlterOption(table, "path", "/lake/t", true).ok());
  EXPECT_TRUE(CheckAlterOption({}, "merge-engine", std::nullopt, true).ok());
}

TEST(CheckAlterOption, FreeAndUnknownKeys) {
  EXPECT_TRUE(CheckAlterOption({}, "target-file-size", "1 mb", true).ok());
  EXPECT_TRUE(CheckAlterOption({{"my.own", "1"}}, "my.own", std::nullopt, true).ok());
  EXPECT_TRUE(CheckAlterOption({}, "fields.a.stats-mode", "full", true).ok());
}

TEST(CheckAlterOption, PathNeverChanges) {
  EXPECT_FALSE(CheckAlterOption({{"path", "/a"}}, "path", "/b", false).ok());
  EXPECT_FALSE(CheckAlterOption({{"path", "/a"}}, "path", std::nullopt, false).ok());
}

TEST(CheckAlterOption, Bucket) {
  auto check = [](const char* from, std::optional<std::string_view> to) {
    return CheckAlterOption({{"bucket", from}}, "bucket", to, true).ok();
  };
  EXPECT_TRUE(check("4", "8"));
  EXPECT_TRUE(check("4", "-2"));
  EXPECT_FALSE(check("4", "-1"));
  EXPECT_FALSE(check("-1", "4"));
  EXPECT_FALSE(check("4", std::nullopt));
  EXPECT_FALSE(check("-1", std::nullopt));
  EXPECT_FALSE(check("4", "many"));
  EXPECT_FALSE(CheckAlterOption({}, "bucket", "4", true).ok());
  EXPECT_TRUE(CheckAlterOption({}, "bucket", "4", false).ok());
}

TEST(CheckAlterOption, DeletionVectors) {
  EXPECT_FALSE(CheckAlterOption({}, "deletion-vectors.enabled", "true", true).ok());
  EXPECT_TRUE(CheckAlterOption({{"deletion-vectors.modifiable", "true"}},
                               "deletion-vectors.enabled", "true", true)
                  .ok());
}

TEST(CheckAlterOption, IgnoreDelete) {
  for (const char* key : {"ignore-delete", "ignore-update-before", "deduplicate.ignore-delete"}) {
    EXPECT_TRUE(CheckAlterOption({{key, "false"}}, key, "true", true).ok()) << key;
    EXPECT_TRUE(CheckAlterOption({}, key, "true", true).ok()) << key;
    EXPECT_FALSE(CheckAlterOption({{key, "true"}}, key, "false", true).ok()) << key;
    EXPECT_FALSE(CheckAlterOption({{key, "true"}}, key, std::nullopt, true).ok()) << key;
  }
}

TEST(CheckAlterOption, ClusteringColumns) {
  EXPECT_TRUE(CheckAlterOption({}, "clustering.columns", "a", true).ok());
  EXPECT_FALSE(
      CheckAlterOption({{"pk-clustering-override", "true"}}, "clustering.columns", "a", true).ok());
}

}  // namespace
}  // namespace kelda
