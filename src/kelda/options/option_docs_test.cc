#include "kelda/options/option_docs.h"

#include <algorithm>
#include <fstream>
#include <sstream>
#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "kelda/options/option_table.h"

namespace kelda {
namespace {

using ::testing::HasSubstr;

// Tests start at the root of the source tree.
TEST(OptionDocs, PageIsUpToDate) {
  std::ifstream file("docs/options.md", std::ios::binary);
  ASSERT_TRUE(file.is_open());
  std::stringstream page;
  page << file.rdbuf();
  EXPECT_TRUE(page.str() == RenderOptionDocs())
      << "docs/options.md differs from the table: kelda_options_doc > docs/options.md";
}

TEST(OptionDocs, HasARowForEveryOption) {
  std::string page = RenderOptionDocs();
  for (const OptionSpec& spec : AllOptions()) {
    EXPECT_THAT(page, HasSubstr("\n| `" + std::string(spec.key) + "`"));
  }
}

TEST(OptionDocs, EveryTableRowHasSevenColumns) {
  std::istringstream page(RenderOptionDocs());
  std::string line;
  size_t rows = 0;
  while (std::getline(page, line)) {
    if (!line.starts_with("| `")) continue;
    ++rows;
    size_t bars = 0;
    for (size_t i = 0; i < line.size(); ++i) {
      if (line[i] == '|' && (i == 0 || line[i - 1] != '\\')) ++bars;
    }
    EXPECT_EQ(bars, 8u) << line;
  }
  EXPECT_EQ(rows, AllOptions().size());
}

}  // namespace
}  // namespace kelda
