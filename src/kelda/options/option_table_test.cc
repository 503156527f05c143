#include "kelda/options/option_table.h"

#include <algorithm>
#include <map>
#include <set>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "kelda/options/option_value.h"

namespace kelda {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

std::string_view KeyOf(std::string_view key) {
  const OptionSpec* spec = FindOption(key);
  return spec == nullptr ? std::string_view("(unknown)") : spec->key;
}

TEST(OptionTable, HoldsEveryCoreOption) {
  auto options = AllOptions();
  EXPECT_EQ(std::count_if(options.begin(), options.end(),
                          [](const auto& spec) { return spec.group == OptionGroup::kCore; }),
            283);
}

TEST(OptionTable, KeysAreUnique) {
  std::set<std::string_view> keys;
  for (const OptionSpec& spec : AllOptions()) {
    EXPECT_TRUE(keys.insert(spec.key).second) << spec.key;
  }
}

TEST(OptionTable, FallbackKeysAreNotShared) {
  std::set<std::string_view> fallbacks;
  for (const OptionSpec& spec : AllOptions()) {
    for (std::string_view key : spec.FallbackKeys()) {
      EXPECT_FALSE(key.empty()) << spec.key;
      EXPECT_NE(key, spec.key);
      EXPECT_TRUE(fallbacks.insert(key).second) << key;
    }
  }
}

TEST(OptionTable, DefaultsAndAcceptedValuesHaveTheRightForm) {
  for (const OptionSpec& spec : AllOptions()) {
    if (spec.default_value) {
      arrow::Status status = CheckOptionValue(spec, *spec.default_value);
      EXPECT_TRUE(status.ok()) << spec.key << ": " << status.ToString();
    }
    for (std::string_view value : spec.Accepted()) {
      arrow::Status status = CheckOptionValue(spec, value);
      EXPECT_TRUE(status.ok()) << spec.key << ": " << status.ToString();
    }
  }
}

TEST(OptionTable, EveryRowIsComplete) {
  for (const OptionSpec& spec : AllOptions()) {
    EXPECT_GT(spec.text.size(), 8u) << spec.key;
    EXPECT_TRUE(spec.text.ends_with('.')) << spec.key;
    EXPECT_EQ(spec.text.find('\n'), std::string_view::npos) << spec.key;
    EXPECT_NE(spec.scope, 0) << spec.key;
    if (spec.type == OptionType::kEnum) {
      EXPECT_FALSE(spec.values.empty()) << spec.key;
    }
    if (spec.type == OptionType::kString || spec.type == OptionType::kBool ||
        spec.type == OptionType::kMap) {
      EXPECT_TRUE(spec.values.empty()) << spec.key;
    }
  }
}

TEST(OptionTable, StatesSayWhy) {
  for (const OptionSpec& spec : AllOptions()) {
    switch (spec.state) {
      case OptionState::kImplemented:
        EXPECT_EQ(spec.refused_on == kRefusedNowhere, spec.accepted.empty()) << spec.key;
        break;
      case OptionState::kHarmless:
        EXPECT_EQ(spec.refused_on, kRefusedNowhere) << spec.key;
        EXPECT_TRUE(spec.why.ends_with('.')) << spec.key;
        break;
      case OptionState::kNotImplemented:
        EXPECT_NE(spec.refused_on, kRefusedNowhere) << spec.key;
        EXPECT_TRUE(spec.why.ends_with('.')) << spec.key;
        break;
    }
  }
}

TEST(OptionTable, ConstantsPointToTheirRows) {
  EXPECT_EQ(SpecOf(OptionKeys::kTargetFileSize.id).key, "target-file-size");
  EXPECT_EQ(SpecOf(OptionKeys::kCommitMaxRetries.id).key, "commit.max-retries");
  EXPECT_EQ(SpecOf(OptionKeys::kSecurityKerberosLoginUseTicketCache.id).key,
            "security.kerberos.login.use-ticket-cache");
  EXPECT_EQ(&SpecOf(static_cast<OptionId>(AllOptions().size() - 1)), &AllOptions().back());
}

TEST(OptionTable, RowsCarryTheSpec) {
  const OptionSpec& buckets = *FindOption("bucket");
  EXPECT_EQ(buckets.type, OptionType::kInt);
  EXPECT_EQ(buckets.default_value, "-1");
  EXPECT_EQ(buckets.mutability, OptionMutability::kSemi);
  EXPECT_EQ(ScopeText(buckets.scope), "RWM");
  EXPECT_EQ(FindOption("merge-engine")->mutability, OptionMutability::kFixed);
  EXPECT_EQ(FindOption("write-buffer-spill.max-disk-size")->default_value, "9223372036854775807 b");
  EXPECT_EQ(FindOption("lookup.remote-file.level-threshold")->default_value, "-2147483648");
  EXPECT_EQ(FindOption("target-file-size")->default_value, std::nullopt);
  EXPECT_EQ(FindOption("csv.line-delimiter")->default_value, "\n");
}

TEST(FindOption, ExactFallbackAndPattern) {
  const std::map<std::string_view, std::string_view> expected = {
      {"bucket", "bucket"},
      {"log.scan", "scan.mode"},
      {"write.compaction-skip", "write-only"},
      {"first-row.ignore-delete", "ignore-delete"},
      {"partial-update.ignore-delete", "ignore-delete"},
      {"parquet.variant.shreddingSchema", "variant.shreddingSchema"},
      {"allow-upper-case", "case-sensitive"},
      // An option that is also the fallback of another one.
      {"file.compression", "file.compression"},
      {"fields.city.stats-mode", "fields.<col>.stats-mode"},
      {"fields.a.b.stats-mode", "fields.<col>.stats-mode"},
      {"fields.a,b.sequence-group", "fields.<cols>.sequence-group"},
      {"fields.default-aggregate-function", "fields.default-aggregate-function"},
      {"file-index.bloom-filter.columns", "file-index.<type>.columns"},
      {"file-index.bloom-filter.city.fpp", "file-index.<type>.<col>.<option>"},
      {"commit.callback.org.acme.Hook.param", "commit.callback.#.param"},
      {"parquet.block.size", "parquet.block.size"},
      {"parquet.enable.dictionary", "parquet.enable.dictionary"},
      {"parquet.enable.dictionary#city", "parquet.enable.dictionary#<col>"},
      {"parquet.anything", "parquet.<key>"},
      {"sink.clustering.by-columns", "clustering.columns"},
      {"sink.clustering.sample-factor", "sink.clustering.<key>"},
      {"metadata.iceberg.rest.uri", "metadata.iceberg.rest.<key>"},
      {"Bucket", "(unknown)"},
      {"", "(unknown)"},
      {"fields..stats-mode", "(unknown)"},
      {"fields.stats-mode", "(unknown)"},
      {"fields.city", "(unknown)"},
      {"file-index.bloom-filter", "(unknown)"},
      {"file-index..", "(unknown)"},
      {"commit.callback.#", "(unknown)"},
      {"parquet.", "(unknown)"},
  };
  for (const auto& [key, spec] : expected) EXPECT_EQ(KeyOf(key), spec) << key;
}

TEST(FindOption, EveryKeyAndFallbackFindsItsRow) {
  for (const OptionSpec& spec : AllOptions()) {
    EXPECT_EQ(FindOption(spec.key), &spec) << spec.key;
    for (std::string_view key : spec.FallbackKeys()) {
      const OptionSpec* found = FindOption(key);
      ASSERT_NE(found, nullptr) << key;
      EXPECT_TRUE(found == &spec || found->key == key) << key;
    }
  }
}

TEST(MatchOption, GivesTheChangingParts) {
  EXPECT_THAT(MatchOption("file-index.bloom-filter.city.fpp")->parts,
              ElementsAre("bloom-filter", "city", "fpp"));
  EXPECT_THAT(MatchOption("fields.a.b.stats-mode")->parts, ElementsAre("a.b"));
  EXPECT_THAT(MatchOption("commit.callback.org.acme.Hook.param")->parts,
              ElementsAre("org.acme.Hook"));
  EXPECT_THAT(MatchOption("bucket")->parts, IsEmpty());
}

TEST(ColumnsNamedBy, OnlyFieldKeys) {
  EXPECT_THAT(ColumnsNamedBy("fields.a,b.sequence-group"), ElementsAre("a", "b"));
  EXPECT_THAT(ColumnsNamedBy("fields.city.stats-mode"), ElementsAre("city"));
  EXPECT_THAT(ColumnsNamedBy("fields.default-aggregate-function"), IsEmpty());
  EXPECT_THAT(ColumnsNamedBy("bucket"), IsEmpty());
  EXPECT_THAT(ColumnsNamedBy("no.such.key"), IsEmpty());
}

TEST(NearestOption, FindsSlips) {
  const std::map<std::string_view, std::string_view> expected = {
      {"target-fil-size", "target-file-size"},
      {"targte-file-size", "target-file-size"},
      {"target_file_size", "target-file-size"},
      {"TARGET-FILE-SIZE", "target-file-size"},
      {"bukcet", "bucket"},
      {"file.fromat", "file.format"},
      {"snapshot.num-retained.mni", "snapshot.num-retained.min"},
  };
  for (const auto& [key, near] : expected) {
    ASSERT_TRUE(NearestOption(key).has_value()) << key;
    EXPECT_EQ(*NearestOption(key), near);
  }
}

TEST(NearestOption, NothingIsNearNonsense) {
  EXPECT_EQ(NearestOption(""), std::nullopt);
  EXPECT_EQ(NearestOption("zzzzzzzzzzzz"), std::nullopt);
  EXPECT_EQ(NearestOption("qq"), std::nullopt);
  EXPECT_EQ(NearestOption(std::string(1 << 20, 'a')), std::nullopt);
}

TEST(OptionSpec, Split) {
  EXPECT_THAT(OptionSpec::Split(""), IsEmpty());
  EXPECT_THAT(OptionSpec::Split("a"), ElementsAre("a"));
  EXPECT_THAT(OptionSpec::Split("a,b"), ElementsAre("a", "b"));
}

}  // namespace
}  // namespace kelda
