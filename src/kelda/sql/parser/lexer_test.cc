#include "kelda/sql/parser/lexer.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace kelda::sql {
namespace {

using testing::ElementsAre;

std::vector<std::string> Texts(std::string_view sql) {
  auto lexed = LexedSql::Make(sql);
  if (!lexed) return {"<open>"};
  std::vector<std::string> out;
  for (size_t i = 0; i < lexed->tokens().size(); ++i) out.emplace_back(lexed->TextOf(i));
  return out;
}

std::vector<std::string> Split(std::string_view script) {
  std::vector<std::string> out;
  for (const StatementRange& range : SplitStatements(script).statements) {
    out.emplace_back(script.substr(range.begin, range.end - range.begin));
  }
  return out;
}

TEST(Lexer, WordsMayHoldDollars) {
  EXPECT_THAT(Texts("a$b t$snapshots _x1 größe"),
              ElementsAre("a$b", "t$snapshots", "_x1", "größe"));
}

TEST(Lexer, Strings) {
  EXPECT_THAT(Texts("'a;''b' e'\\'x' E'a''b' x'ab' $$a;'b$$ $t$ $$ $t$ \"q\"\"w\" `b``t`"),
              ElementsAre("'a;''b'", "e'\\'x'", "E'a''b'", "x'ab'", "$$a;'b$$", "$t$ $$ $t$",
                          "\"q\"\"w\"", "`b``t`"));
  EXPECT_EQ(StringValue("'a''b'"), "a'b");
  EXPECT_EQ(StringValue("e'a\\n\\'b'''"), "a\n'b'");
  EXPECT_EQ(StringValue("$t$a'b$t$"), "a'b");
  EXPECT_EQ(StringValue("x'ab'"), std::nullopt);
  EXPECT_EQ(StringValue("''"), "");
}

TEST(Lexer, NumbersAndSymbols) {
  EXPECT_THAT(Texts("1 1.5e-3 .5 1_000 0xFF a[1:2] x=>1 a>=b ? $1 $name 1..2"),
              ElementsAre("1", "1.5e-3", ".5", "1_000", "0xFF", "a", "[", "1", ":", "2", "]", "x",
                          "=>", "1", "a", ">", "=", "b", "?", "$1", "$name", "1", ".", ".2"));
}

TEST(Lexer, CommentsAreNoTokensButHintsAreKept) {
  constexpr std::string_view kSql = "a -- x ; '\n b /* /* ; */ ' */ c /*+ OPTIONS() */";
  EXPECT_THAT(Texts(kSql), ElementsAre("a", "b", "c"));
  auto lexed = LexedSql::Make(kSql);
  ASSERT_EQ(lexed->HintsOf(2, 3).size(), 1u);
  EXPECT_EQ(kSql.substr(lexed->HintsOf(2, 3)[0].begin), "/*+ OPTIONS() */");
  EXPECT_TRUE(lexed->HintsOf(0, 2).empty());
}

TEST(Lexer, OpenFormsAreRefused) {
  for (std::string_view sql : {"'a", "\"a", "`a", "/* a", "$$ a", "e'a\\'", "/* /* */"}) {
    EXPECT_THAT(Texts(sql), ElementsAre("<open>")) << sql;
  }
}

TEST(Split, StatementsWithoutSemicolons) {
  EXPECT_THAT(Split("select 1; ; select ';' -- ;\n ; /* ; */ x;"),
              ElementsAre("select 1", "select ';'", "x"));
  EXPECT_FALSE(SplitStatements("select 1;").open);
  EXPECT_FALSE(SplitStatements("select 1; -- done").open);
  EXPECT_FALSE(SplitStatements("").open);
}

TEST(Split, TheRestIsOpen) {
  SplitScript split = SplitStatements("select 1; select 2");
  EXPECT_EQ(split.statements.size(), 1u);
  EXPECT_TRUE(split.open);
  EXPECT_EQ(split.rest, 10u);
  split = SplitStatements("select 1; select 'a;");
  EXPECT_EQ(split.statements.size(), 1u);
  EXPECT_TRUE(split.open);
  EXPECT_TRUE(SplitStatements("/* a;").open);
  EXPECT_TRUE(SplitStatements("select $$ ; ").open);
}

}  // namespace
}  // namespace kelda::sql
