#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "kelda/sql/parser/statement_rewriter.h"

namespace kelda::sql {
namespace {

/// The text that DuckDB gets, and the changes below it; "unchanged", or "error: ...".
std::string Rewrite(const std::string& sql) {
  const StatementRewrite rewrite = RewriteStatement(sql);
  if (std::holds_alternative<Unchanged>(rewrite)) return "unchanged";
  if (const auto* error = std::get_if<RewriteError>(&rewrite)) return "error: " + error->message;
  const auto& rewritten = std::get<Rewritten>(rewrite);
  std::string text = rewritten.text;
  for (const auto& [key, value] : rewritten.tags) text += "\n" + value;
  return text;
}

constexpr const char* kTagged = "ALTER TABLE t SET ('kelda.columns' = 'changed')\n";

TEST(AlterTableRewriter, WhatDuckdbUnderstandsStays) {
  for (const char* sql : {
           "ALTER TABLE t DROP COLUMN a",
           "ALTER TABLE t DROP COLUMN r.x",
           "ALTER TABLE t RENAME COLUMN r.x TO y",
           "ALTER TABLE t RENAME TO u",
           "ALTER TABLE t ALTER COLUMN a SET NOT NULL",
           "ALTER TABLE t ALTER COLUMN a SET DEFAULT 5",
           "ALTER TABLE t ALTER COLUMN a DROP DEFAULT",
           "ALTER TABLE t ALTER COLUMN a TYPE HUGEINT",
           "ALTER TABLE t ALTER COLUMN a TYPE INT USING a + 1",
           "ALTER TABLE t ADD PRIMARY KEY (a)",
           "ALTER TABLE t ADD CONSTRAINT c CHECK (a > 1)",
       }) {
    EXPECT_EQ(Rewrite(sql), "unchanged") << sql;
  }
}

TEST(AlterTableRewriter, TypesAreToldExactly) {
  EXPECT_EQ(Rewrite("ALTER TABLE d.t ALTER COLUMN a TYPE varchar(10)"),
            "ALTER TABLE d.t ALTER COLUMN a TYPE varchar(10)\n"
            R"j({"op":"type","path":["a"],"type":"VARCHAR(10)"})j");
  EXPECT_EQ(Rewrite("ALTER TABLE t ADD COLUMN r.x DECIMAL(4,1)"),
            "ALTER TABLE t ADD COLUMN r.x DECIMAL(4,1)\n"
            R"j({"op":"add","path":["r","x"],"type":"DECIMAL(4, 1)"})j");
  EXPECT_EQ(Rewrite("ALTER TABLE IF EXISTS t ALTER a.element.b SET DATA TYPE bigint"),
            "ALTER TABLE IF EXISTS t SET ('kelda.columns' = 'changed')\n"
            R"({"op":"type","path":["a","element","b"],"type":"BIGINT"})");
}

TEST(AlterTableRewriter, ClausesOfSparkAndFlink) {
  EXPECT_EQ(Rewrite("ALTER TABLE t ADD COLUMNS (a INT COMMENT 'x' FIRST, r.b DATE AFTER c)"),
            std::string(kTagged) +
                R"({"op":"add","path":["a"],"type":"INT","comment":"x","after":""})"
                "\n"
                R"({"op":"add","path":["r","b"],"type":"DATE","after":"c"})");
  EXPECT_EQ(Rewrite("ALTER TABLE t ALTER COLUMN `a` COMMENT 'it''s' AFTER \"B\""),
            std::string(kTagged) + R"({"op":"comment","path":["a"],"comment":"it's"})"
                                   "\n"
                                   R"({"op":"move","path":["a"],"after":"B"})");
  EXPECT_EQ(Rewrite("ALTER TABLE t CHANGE COLUMN a b BIGINT COMMENT 'x'"),
            std::string(kTagged) + R"({"op":"type","path":["a"],"type":"BIGINT"})"
                                   "\n"
                                   R"({"op":"comment","path":["a"],"comment":"x"})"
                                   "\n"
                                   R"({"op":"rename","path":["a"],"to":"b"})");
  EXPECT_EQ(Rewrite("ALTER TABLE t MODIFY (a INT NOT NULL, b DATE FIRST)"),
            std::string(kTagged) + R"({"op":"type","path":["a"],"type":"INT","nullable":false})"
                                   "\n"
                                   R"({"op":"type","path":["b"],"type":"DATE"})"
                                   "\n"
                                   R"({"op":"move","path":["b"],"after":""})");
  EXPECT_EQ(Rewrite("ALTER TABLE t DROP COLUMNS (a, r.b)"),
            std::string(kTagged) + R"({"op":"drop","path":["a"]})"
                                   "\n"
                                   R"({"op":"drop","path":["r","b"]})");
  EXPECT_EQ(Rewrite("ALTER TABLE t ALTER COLUMN r.x SET NOT NULL"),
            std::string(kTagged) + R"({"op":"nullable","path":["r","x"],"nullable":false})");
  EXPECT_EQ(Rewrite("ALTER TABLE t ALTER COLUMN r.x SET DEFAULT -1.5"),
            std::string(kTagged) + R"({"op":"default","path":["r","x"],"text":"-1.5"})");
}

TEST(AlterTableRewriter, Errors) {
  EXPECT_THAT(Rewrite("ALTER TABLE t ADD COLUMNS (a INT DEFAULT 5)"),
              testing::HasSubstr("without DEFAULT"));
  EXPECT_EQ(Rewrite("ALTER TABLE t MODIFY a HUGEINT"), "error: Paimon has no type HUGEINT");
  for (const char* sql :
       {"ALTER TABLE t ADD COLUMNS (a INT", "ALTER TABLE t ADD COLUMNS (a)", "ALTER TABLE t MODIFY",
        "ALTER TABLE t CHANGE a", "ALTER TABLE t ALTER COLUMN a FIRST nonsense"}) {
    EXPECT_EQ(Rewrite(sql), "unchanged") << sql;
  }
}

}  // namespace
}  // namespace kelda::sql
