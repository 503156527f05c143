#include "kelda/options/options.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace kelda {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using Keys = OptionKeys;
using std::chrono::milliseconds;

Options Of(std::map<std::string, std::string> values) { return Options(std::move(values)); }

TEST(Options, DefaultsByType) {
  Options options;
  EXPECT_EQ(*options.Get(Keys::kBucket), -1);
  EXPECT_EQ(*options.Get(Keys::kDynamicBucketTargetRowNum), 2000000);
  EXPECT_EQ(*options.Get(Keys::kFileFormat), "parquet");
  EXPECT_EQ(*options.Get(Keys::kPartitionDefaultName), "__DEFAULT_PARTITION__");
  EXPECT_EQ(*options.Get(Keys::kManifestTargetFileSize), 8 << 20);
  EXPECT_EQ(*options.Get(Keys::kCommitMinRetryWait), milliseconds(10));
  EXPECT_EQ(*options.Get(Keys::kPartitionLegacyName), true);
  EXPECT_EQ(*options.Get(Keys::kLookupHashLoadFactor), 0.75);
  EXPECT_TRUE(options.Get(Keys::kFileFormatPerLevel)->empty());
  EXPECT_EQ(*options.Find(Keys::kTargetFileSize), std::nullopt);
  EXPECT_FALSE(options.IsSet(Keys::kBucket));
}

TEST(Options, ValuesByType) {
  Options options = Of({{"bucket", "4"},
                        {"manifest.target-file-size", "1 mb"},
                        {"commit.timeout", "2 min"},
                        {"partition.legacy-name", "FALSE"},
                        {"file.format", "ORC"},
                        {"file.format.per.level", "0:avro,5:orc"},
                        {"scan.snapshot-id", "9000000000"},
                        {"my.own", "kept"}});
  EXPECT_EQ(*options.Get(Keys::kBucket), 4);
  EXPECT_EQ(*options.Get(Keys::kManifestTargetFileSize), 1 << 20);
  EXPECT_EQ(*options.Get(Keys::kCommitTimeout), milliseconds(120000));
  EXPECT_EQ(*options.Get(Keys::kPartitionLegacyName), false);
  EXPECT_EQ(*options.Get(Keys::kFileFormat), "orc");
  EXPECT_EQ(options.Get(Keys::kFileFormatPerLevel)->at("5"), "orc");
  EXPECT_EQ(*options.Get(Keys::kScanSnapshotId), 9000000000);
  EXPECT_EQ(options.Raw("my.own"), "kept");
  EXPECT_TRUE(options.IsSet(Keys::kBucket));
}

TEST(Options, FirstPresentKeyCounts) {
  EXPECT_EQ(*Of({{"write.compaction-skip", "true"}}).Get(Keys::kWriteOnly), true);
  EXPECT_EQ(*Of({{"write.compaction-skip", "true"}, {"write-only", "false"}}).Get(Keys::kWriteOnly),
            false);
  EXPECT_EQ(*Of({{"partial-update.ignore-delete", "true"}}).Get(Keys::kIgnoreDelete), true);
  EXPECT_EQ(*Of({{"partial-update.ignore-delete", "true"}, {"first-row.ignore-delete", "false"}})
                 .Get(Keys::kIgnoreDelete),
            false);
  EXPECT_EQ(*Of({{"file.compression", "gzip"}}).Get(Keys::kFormatTableFileCompression), "gzip");
  EXPECT_TRUE(Of({{"log.scan", "full"}}).IsSet(Keys::kScanMode));
}

TEST(Options, ErrorsNameKeyValueAndForm) {
  auto error = Of({{"target-file-size", "12 parsecs"}}).Find(Keys::kTargetFileSize).status();
  EXPECT_TRUE(error.IsInvalid());
  EXPECT_THAT(error.message(), AllOf(HasSubstr("'target-file-size'"), HasSubstr("'12 parsecs'"),
                                     HasSubstr("kb, mb")));
  // The key that the user wrote, not the one it stands for.
  error = Of({{"write.compaction-skip", "maybe"}}).Get(Keys::kWriteOnly).status();
  EXPECT_THAT(error.message(), AllOf(HasSubstr("'write.compaction-skip'"), HasSubstr("'maybe'"),
                                     HasSubstr("true or false")));
  error = Of({{"merge-engine", "best"}}).Get(Keys::kMergeEngine).status();
  EXPECT_THAT(error.message(), HasSubstr("partial-update"));
  error = Of({{"bucket", "0"}}).Get(Keys::kBucket).status();
  EXPECT_THAT(error.message(), HasSubstr(">= 1"));
}

TEST(Options, GetWithoutDefault) {
  auto error = Options().Get(Keys::kTargetFileSize).status();
  EXPECT_TRUE(error.IsInvalid());
  EXPECT_THAT(error.message(), HasSubstr("'target-file-size' is not set"));
}

TEST(Options, FindForColumn) {
  Options options =
      Of({{"fields.city.stats-mode", "Truncate(4)"}, {"fields.bad.stats-mode", "all"}});
  EXPECT_EQ(**options.FindFor(Keys::kFieldsColStatsMode, "city"), "truncate(4)");
  EXPECT_EQ(*options.FindFor(Keys::kFieldsColStatsMode, "town"), std::nullopt);
  EXPECT_THAT(options.FindFor(Keys::kFieldsColStatsMode, "bad").status().message(),
              HasSubstr("'fields.bad.stats-mode'"));
  EXPECT_EQ(**options.FindFor(Keys::kFieldsColDistinct, "town"), false);
}

TEST(Options, OverlayGoesFirst) {
  Options table = Of({{"write-only", "true"}, {"bucket", "4"}, {"file.compression", "gzip"}});
  Options hinted = table.With({{"write.compaction-skip", "false"}, {"scan.snapshot-id", "3"}});
  EXPECT_EQ(*hinted.Get(Keys::kWriteOnly), false);
  EXPECT_EQ(*hinted.Get(Keys::kBucket), 4);
  EXPECT_EQ(*hinted.Get(Keys::kScanSnapshotId), 3);
  EXPECT_EQ(*table.Get(Keys::kWriteOnly), true);
  // An option of its own does not give way because it is also the fallback of another one.
  Options other = table.With({{"format-table.file.compression", "snappy"}});
  EXPECT_EQ(*other.Get(Keys::kFileCompression), "gzip");
}

TEST(Options, TargetFileSize) {
  EXPECT_EQ(*Options().TargetFileSizeBytes(false), 256LL << 20);
  EXPECT_EQ(*Options().TargetFileSizeBytes(true), 128LL << 20);
  EXPECT_EQ(*Of({{"target-file-size", "1 mb"}}).TargetFileSizeBytes(true), 1LL << 20);
}

TEST(Options, ScanMode) {
  const std::vector<std::pair<std::map<std::string, std::string>, std::string>> table = {
      {{}, "latest-full"},
      {{{"scan.mode", "full"}}, "latest-full"},
      {{{"scan.mode", "LATEST"}}, "latest"},
      {{{"scan.timestamp", "2024-01-01"}}, "from-timestamp"},
      {{{"log.scan.timestamp-millis", "1"}}, "from-timestamp"},
      {{{"scan.snapshot-id", "1"}}, "from-snapshot"},
      {{{"scan.tag-name", "t"}}, "from-snapshot"},
      {{{"scan.watermark", "1"}}, "from-snapshot"},
      {{{"scan.version", "1"}}, "from-snapshot"},
      {{{"scan.file-creation-time-millis", "1"}}, "from-file-creation-time"},
      {{{"scan.creation-time-millis", "1"}}, "from-creation-timestamp"},
      {{{"incremental-between", "1,2"}}, "incremental"},
      {{{"incremental-to-auto-tag", "t"}}, "incremental"},
  };
  for (const auto& [values, mode] : table) EXPECT_EQ(*Options(values).ScanMode(), mode);
}

}  // namespace
}  // namespace kelda
