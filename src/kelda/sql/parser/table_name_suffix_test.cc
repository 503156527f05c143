#include "kelda/sql/parser/table_name_suffix.h"

#include <gtest/gtest.h>

namespace kelda::sql {
namespace {

TEST(TableNameSuffix, PlainNamesAreTheirOwn) {
  for (std::string_view name :
       {"t", "t$snapshots", "t$options", "t$branch_x$files", "a}", "t$options{", ""}) {
    EXPECT_FALSE(IsDecoratedTableName(name)) << name;
    auto decoded = DecodeTableName(name);
    ASSERT_TRUE(decoded);
    EXPECT_EQ(decoded->name, name);
    EXPECT_TRUE(decoded->options.empty());
    EXPECT_FALSE(decoded->insert);
  }
}

TEST(TableNameSuffix, RoundTrip) {
  DecoratedTableName name;
  name.name = "t$audit_log";
  name.options = {{"scan.snapshot-id", "1"}, {"q\"uote\n", "$overwrite{}}"}};
  InsertTarget& insert = name.insert.emplace();
  insert.overwrite = true;
  insert.static_partition = {{"dt", "x{\"'"}, {"h", std::nullopt}};
  insert.dynamic_partition = {"m", "n"};
  insert.static_columns_last = true;
  std::string text = EncodeTableName(name);
  EXPECT_TRUE(IsDecoratedTableName(text));
  auto decoded = DecodeTableName(text);
  ASSERT_TRUE(decoded) << text;
  EXPECT_EQ(decoded->name, name.name);
  EXPECT_EQ(decoded->options, name.options);
  ASSERT_TRUE(decoded->insert);
  EXPECT_TRUE(decoded->insert->overwrite);
  EXPECT_EQ(decoded->insert->static_partition, insert.static_partition);
  EXPECT_EQ(decoded->insert->dynamic_partition, insert.dynamic_partition);
  EXPECT_TRUE(decoded->insert->static_columns_last);
}

TEST(TableNameSuffix, Forms) {
  auto decoded = DecodeTableName("t$overwrite{}");
  ASSERT_TRUE(decoded && decoded->insert);
  EXPECT_TRUE(decoded->insert->overwrite);
  EXPECT_FALSE(decoded->insert->static_columns_last);
  decoded = DecodeTableName("t$insert{\"staticColumnsLast\":true}");
  ASSERT_TRUE(decoded && decoded->insert);
  EXPECT_FALSE(decoded->insert->overwrite);
  EXPECT_TRUE(decoded->insert->static_columns_last);
}

TEST(TableNameSuffix, MalformedIsRefused) {
  for (std::string_view name :
       {"t$options{\"a\"}", "t$options{\"a\":1}", "t$overwrite{}x{}", "t$overwrite{}$overwrite{}",
        "t$overwrite{\"q\":1}", "t$insert{\"partition\":{\"a\":[1]}}", "t$options{{}",
        "t$insert{\"dynamic\":[1]}"}) {
    EXPECT_FALSE(DecodeTableName(name)) << name;
  }
}

}  // namespace
}  // namespace kelda::sql
