#include "kelda/sql/parser/front_parser.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <duckdb.hpp>
#include <duckdb/parser/parsed_data/create_schema_info.hpp>
#include <duckdb/parser/parsed_data/create_table_info.hpp>
#include <duckdb/parser/statement/create_statement.hpp>
#include <duckdb/parser/statement/explain_statement.hpp>
#include <duckdb/parser/statement/insert_statement.hpp>

namespace kelda::sql {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::Pair;
using testing::UnorderedElementsAre;

class FrontParserTest : public testing::Test {
 protected:
  struct Config : duckdb::DBConfig {
    Config() { RegisterFrontParser(*this); }
  };

  std::string Error(const std::string& sql) {
    auto result = connection_.Query(sql);
    return result->HasError() ? result->GetError() : "";
  }
  std::string Value(const std::string& sql) {
    auto result = connection_.Query(sql);
    if (result->HasError()) return result->GetError();
    return result->RowCount() == 0 ? "" : result->GetValue(0, 0).ToString();
  }

  Config config_;
  duckdb::DuckDB database_{nullptr, &config_};
  duckdb::Connection connection_{database_};
};

TEST_F(FrontParserTest, PlainStatementsAndParameters) {
  EXPECT_EQ(Value("SELECT 42"), "42");
  EXPECT_EQ(connection_.Prepare("SELECT `a` + ? FROM (SELECT 1 AS a)")
                ->Execute(41)
                ->Fetch()
                ->GetValue(0, 0)
                .ToString(),
            "42");
  EXPECT_EQ(connection_.ExtractStatements("-- nothing").size(), 0u);
}

TEST_F(FrontParserTest, ScriptOfBothKinds) {
  auto statements = connection_.ExtractStatements("SELECT 1; CREATE DATABASE a ; SELECT 2");
  ASSERT_EQ(statements.size(), 3u);
  EXPECT_EQ(statements[0]->query, "SELECT 1");
  EXPECT_EQ(statements[1]->query, "CREATE DATABASE a");
  EXPECT_EQ(statements[2]->query, "SELECT 2");
}

TEST_F(FrontParserTest, CreateTableCarriesTheContract) {
  auto statements = connection_.ExtractStatements(
      "EXPLAIN CREATE TABLE t (Id CHAR(5) NOT NULL COMMENT 'the id', `b c` MULTISET<STRING> "
      "DEFAULT NULL) COMMENT 'hello' "
      "PARTITIONED BY (Id) WITH ('file.format' = 'orc', 'bucket' = 4)");
  ASSERT_EQ(statements.size(), 1u);
  auto& create =
      statements[0]->Cast<duckdb::ExplainStatement>().stmt->Cast<duckdb::CreateStatement>();
  auto copy = create.info->Copy();  // as a prepared statement does
  auto& info = copy->Cast<duckdb::CreateTableInfo>();
  EXPECT_THAT(
      std::vector(info.tags.begin(), info.tags.end()),
      ElementsAre(Pair("kelda.column-type.Id", "CHAR(5)"),
                  Pair("kelda.column-comment.Id", "the id"),
                  Pair("kelda.column-type.b c", R"({"type":"MULTISET","element":"STRING"})"),
                  Pair("kelda.comment", "hello")));
  EXPECT_EQ(info.comment.ToString(), "hello");
  EXPECT_EQ(info.columns.GetColumn("Id").Comment().ToString(), "the id");
  EXPECT_EQ(info.partition_keys.size(), 1u);
  ASSERT_EQ(info.options.size(), 2u);
  EXPECT_EQ(info.options.at("file.format")->ToString(), "'orc'");
  EXPECT_EQ(info.options.at("bucket")->ToString(), "'4'");
}

TEST_F(FrontParserTest, CreateDatabaseCarriesTheContract) {
  auto statements =
      connection_.ExtractStatements("CREATE DATABASE d COMMENT 'x' WITH DBPROPERTIES ('a'='b')");
  ASSERT_EQ(statements.size(), 1u);
  auto& info = *statements[0]->Cast<duckdb::CreateStatement>().info;
  EXPECT_EQ(info.schema, "d");
  EXPECT_EQ(info.comment.ToString(), "x");
  EXPECT_EQ(info.tags["kelda.schema-property.a"], "b");
}

TEST_F(FrontParserTest, TablesOfDuckDbItselfStillWork) {
  EXPECT_EQ(Error("CREATE TABLE t (a VARCHAR(20) COMMENT 'x', b BYTES, c MAP<STRING, INT>, d "
                  "HUGEINT, PRIMARY KEY (a) NOT ENFORCED)"),
            "");
  EXPECT_EQ(Error("INSERT INTO TABLE t VALUES ('a', 'b', MAP {'c': 1}, 2)"), "");
  EXPECT_EQ(
      Value("SELECT comment FROM duckdb_columns() WHERE table_name = 't' AND column_name = 'a'"),
      "x");
  EXPECT_EQ(Value("SELECT c['c'] FROM `t`"), "1");
  EXPECT_EQ(Value("SHOW DATABASES"), "main");
  EXPECT_THAT(Error("CREATE TABLE u (a INT) TBLPROPERTIES ('a'='b')"),
              HasSubstr("WITH clause is not supported"));
}

TEST_F(FrontParserTest, EverythingParses) {
  for (const char* sql : {"INSERT OVERWRITE t PARTITION (dt='x', h) SELECT 1",
                          "INSERT INTO t PARTITION (dt='x') (a) VALUES (?)",
                          "SELECT * FROM t /*+ OPTIONS('a'='b') */ VERSION AS OF 3 x",
                          "SELECT * FROM t FOR SYSTEM_TIME AS OF now() - INTERVAL 1 DAY",
                          "SELECT * FROM t AT (TAG => 'a') x",
                          "ALTER TABLE t SET TBLPROPERTIES ('a.b'='c')",
                          "ALTER TABLE t UNSET TBLPROPERTIES ('a.b')",
                          "SHOW CREATE TABLE t",
                          "SHOW TABLES IN db",
                          "SHOW TABLES IN db LIKE 'x*'",
                          "USE default",
                          "USE paimon.default",
                          "DESCRIBE EXTENDED t",
                          "DESC TABLE t",
                          "DROP DATABASE IF EXISTS db CASCADE",
                          "TRUNCATE TABLE t",
                          "CALL sys.compact(table => 'db.t', where => 'a = 1')",
                          "SHOW PARTITIONS db.t",
                          "EXPLAIN INSERT OVERWRITE t SELECT 1",
                          "PREPARE p AS INSERT INTO t PARTITION (dt='x') VALUES (?)"}) {
    try {
      EXPECT_EQ(connection_.ExtractStatements(sql).size(), 1u) << sql;
    } catch (const std::exception& exception) {
      ADD_FAILURE() << sql << ": " << duckdb::ErrorData(exception).Message();
    }
  }
}

/// What stands above the caret.
std::string AtCaret(const std::string& error, const std::string& sql) {
  size_t caret = error.rfind('^');
  size_t line = error.rfind('\n', caret) + 1;
  size_t prefix = std::string("LINE 1: ").size();
  if (caret == std::string::npos || caret - line < prefix || caret - line - prefix >= sql.size())
    return error;
  return sql.substr(caret - line - prefix);
}

TEST_F(FrontParserTest, ErrorsShowTheirPlaceInWhatTheUserWrote) {
  const std::pair<std::string, std::string> kCases[] = {
      {"SELECT 1 FROM WHERE", "WHERE"},               // DuckDB's parser, nothing rewritten
      {"SELECT `a` FROM WHERE", "WHERE"},             // behind rewritten text
      {"SELECT 1; USE default; SELEC 2", "SELEC 2"},  // another statement is rewritten
      {"ALTER TABLE t SET (a.b = 3)", "a.b = 3)"},    // our own
      {"SELECT `a b`, nope FROM (SELECT 1 AS `a b`)", "nope FROM (SELECT 1 AS `a b`)"},  // binding
      {"INSERT INTO t PARTITION (dt='x') (a) SELECT nope", "nope"},
  };
  EXPECT_EQ(Error("CREATE TABLE t (a INT, dt STRING)"), "");
  for (const auto& [sql, place] : kCases) {
    std::string error = Error(sql);
    EXPECT_EQ(AtCaret(error, sql), place) << error;
  }
}

}  // namespace
}  // namespace kelda::sql
