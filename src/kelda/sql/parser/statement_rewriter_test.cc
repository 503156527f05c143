#include "kelda/sql/parser/statement_rewriter.h"

#include <map>
#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace kelda::sql {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Pair;
using Tags = std::vector<std::pair<std::string, std::string>>;

/// The text that DuckDB gets.
std::string Rewrite(std::string_view sql, Tags* tags = nullptr) {
  StatementRewrite rewrite = RewriteStatement(sql);
  if (auto* error = std::get_if<RewriteError>(&rewrite)) {
    return "error at " + std::to_string(error->position) + ": " + error->message;
  }
  if (auto* rewritten = std::get_if<Rewritten>(&rewrite)) {
    if (tags != nullptr) *tags = rewritten->tags;
    return rewritten->text;
  }
  return std::string(sql);
}

/// Paimon's type of the column `c` that is declared with `type`, and the type that DuckDB sees.
std::pair<std::string, std::string> Type(const std::string& type) {
  Tags tags;
  std::string text = Rewrite("CREATE TABLE t (c " + type + ")", &tags);
  std::string duckdb =
      text.starts_with("CREATE TABLE t (c ") ? text.substr(18, text.size() - 19) : text;
  for (const auto& [key, value] : tags) {
    if (key == "kelda.column-type.c") return {value, duckdb};
  }
  return {"", duckdb};
}

TEST(RewriteStatement, PlainStatementsStay) {
  for (std::string_view sql : {"select 1",
                               "",
                               ";",
                               "-- nothing",
                               "select * from t$snapshots",
                               "select * from t at (version => 3)",
                               "select version as of from t",
                               "create table t as select 1",
                               "create view v as select 1",
                               "insert into t values (1)",
                               "insert into t (a, b) select 1, 2 returning a",
                               "show all tables",
                               "analyze",
                               "analyze verbose t",
                               "analyze table t",
                               "analyze t where",
                               "vacuum analyze t",
                               "use db",
                               "describe t",
                               "truncate table t",
                               "update t set a = 1",
                               "select default_value from t",
                               "select /*+ BROADCAST(t) */ 1",
                               "select 'unterminated",
                               "merge into t using s on a = b when matched then delete",
                               "create temp table t as select 1",
                               "select a /*+ nothing */ from t",
                               "select timestamp '2024-01-01' as x, t.version from t",
                               "explain select 1",
                               "call duckdb_tables()",
                               "alter table t add column a int",
                               "with a as (select 1) select * from a"}) {
    StatementRewrite rewrite = RewriteStatement(sql);
    EXPECT_TRUE(std::holds_alternative<Unchanged>(rewrite)) << sql << " -> " << Rewrite(sql);
  }
}

TEST(RewriteCreateTable, AtomicTypes) {
  const std::pair<const char*, std::pair<const char*, const char*>> kCases[] = {
      {"BOOLEAN", {"BOOLEAN", "BOOLEAN"}},
      {"byte", {"TINYINT", "TINYINT"}},
      {"TINYINT", {"TINYINT", "TINYINT"}},
      {"short", {"SMALLINT", "short"}},
      {"INTEGER", {"INT", "INTEGER"}},
      {"int", {"INT", "int"}},
      {"long", {"BIGINT", "long"}},
      {"real", {"FLOAT", "real"}},
      {"DOUBLE PRECISION", {"DOUBLE", "DOUBLE PRECISION"}},
      {"DECIMAL", {"DECIMAL(18, 3)", "DECIMAL"}},
      {"decimal(10)", {"DECIMAL(10, 0)", "decimal(10)"}},
      {"NUMERIC(38,38)", {"DECIMAL(38, 38)", "NUMERIC(38,38)"}},
      {"CHAR", {"CHAR(1)", "CHAR"}},
      {"CHAR(7)", {"CHAR(7)", "CHAR(7)"}},
      {"VARCHAR", {"STRING", "VARCHAR"}},
      {"VARCHAR(20)", {"VARCHAR(20)", "VARCHAR(20)"}},
      {"VARCHAR(2147483647)", {"STRING", "VARCHAR(2147483647)"}},
      {"CHARACTER VARYING(3)", {"VARCHAR(3)", "CHARACTER VARYING(3)"}},
      {"STRING", {"STRING", "STRING"}},
      {"TEXT", {"STRING", "TEXT"}},
      {"BYTES", {"BYTES", "BLOB"}},
      {"BINARY", {"BYTES", "BINARY"}},
      {"BINARY(4)", {"BINARY(4)", "BLOB"}},
      {"VARBINARY(4)", {"VARBINARY(4)", "BLOB"}},
      {"BLOB", {"BYTES", "BLOB"}},
      {"DATE", {"DATE", "DATE"}},
      {"TIME", {"TIME(3)", "TIME"}},
      {"TIME(0)", {"TIME(0)", "TIME"}},
      {"TIMESTAMP", {"TIMESTAMP(6)", "TIMESTAMP"}},
      {"TIMESTAMP(3)", {"TIMESTAMP(3)", "TIMESTAMP(3)"}},
      {"TIMESTAMP(9) WITHOUT TIME ZONE", {"TIMESTAMP(9)", "TIMESTAMP(9) WITHOUT TIME ZONE"}},
      {"TIMESTAMP_NTZ", {"TIMESTAMP(6)", "TIMESTAMP"}},
      {"TIMESTAMP_NS", {"TIMESTAMP(9)", "TIMESTAMP_NS"}},
      {"TIMESTAMP_LTZ", {"TIMESTAMP(6) WITH LOCAL TIME ZONE", "TIMESTAMP WITH TIME ZONE"}},
      {"TIMESTAMP_LTZ(3)", {"TIMESTAMP(3) WITH LOCAL TIME ZONE", "TIMESTAMP WITH TIME ZONE"}},
      {"TIMESTAMP(9) WITH LOCAL TIME ZONE",
       {"TIMESTAMP(9) WITH LOCAL TIME ZONE", "TIMESTAMP WITH TIME ZONE"}},
      {"TIMESTAMP WITH TIME ZONE",
       {"TIMESTAMP(6) WITH LOCAL TIME ZONE", "TIMESTAMP WITH TIME ZONE"}},
      {"TIMESTAMPTZ", {"TIMESTAMP(6) WITH LOCAL TIME ZONE", "TIMESTAMPTZ"}},
      {"VARIANT", {"VARIANT", "VARIANT"}},
      {"HUGEINT", {"", "HUGEINT"}},
      {"TIMETZ", {"", "TIMETZ"}},
      {"TIME WITH TIME ZONE", {"", "TIME WITH TIME ZONE"}},
      {"ENUM('a', 'b')", {"", "ENUM('a', 'b')"}},
      {"my.type", {"", "my.type"}},
  };
  for (const auto& [type, expected] : kCases) {
    EXPECT_THAT(Type(type), Pair(expected.first, expected.second)) << type;
  }
}

TEST(RewriteCreateTable, NestedTypes) {
  const std::pair<const char*, std::pair<const char*, const char*>> kCases[] = {
      {"ARRAY<INT NOT NULL>", {R"({"type":"ARRAY","element":"INT NOT NULL"})", "INTEGER[]"}},
      {"INTEGER[]", {R"({"type":"ARRAY","element":"INT"})", "INTEGER[]"}},
      {"INT ARRAY", {R"({"type":"ARRAY","element":"INT"})", "INT ARRAY"}},
      {"BYTES[]", {R"({"type":"ARRAY","element":"BYTES"})", "BLOB[]"}},
      {"INT NOT NULL ARRAY", {R"({"type":"ARRAY","element":"INT NOT NULL"})", "INTEGER[]"}},
      {"MAP<STRING, ARRAY<ARRAY<DECIMAL(10,2)>>>",
       {R"j({"type":"MAP","key":"STRING","value":{"type":"ARRAY","element":{"type":"ARRAY","element":"DECIMAL(10, 2)"}}})j",
        "MAP(VARCHAR, DECIMAL(10, 2)[][])"}},
      {"MAP(INT, VARCHAR)",
       {R"({"type":"MAP","key":"INT","value":"STRING"})", "MAP(INT, VARCHAR)"}},
      {"MULTISET<STRING>", {R"({"type":"MULTISET","element":"STRING"})", "MAP(VARCHAR, INTEGER)"}},
      {"INT MULTISET", {R"({"type":"MULTISET","element":"INT"})", "MAP(INTEGER, INTEGER)"}},
      {"ROW<a INT COMMENT 'it''s', `b c` TIMESTAMP(3) NOT NULL>",
       {R"({"type":"ROW","fields":[{"name":"a","type":"INT","description":"it's"},{"name":"b c","type":"TIMESTAMP(3) NOT NULL"}]})",
        R"(STRUCT("a" INTEGER, "b c" TIMESTAMP_MS))"}},
      {"ROW(a INT 'x')",
       {R"({"type":"ROW","fields":[{"name":"a","type":"INT","description":"x"}]})",
        R"(STRUCT("a" INTEGER))"}},
      {"STRUCT<a: INT, b: STRUCT<c: ARRAY<STRING>>>",
       {R"({"type":"ROW","fields":[{"name":"a","type":"INT"},{"name":"b","type":{"type":"ROW","fields":[{"name":"c","type":{"type":"ARRAY","element":"STRING"}}]}}]})",
        R"(STRUCT("a" INTEGER, "b" STRUCT("c" VARCHAR[])))"}},
      {"STRUCT(a INT, b VARCHAR[])",
       {R"({"type":"ROW","fields":[{"name":"a","type":"INT"},{"name":"b","type":{"type":"ARRAY","element":"STRING"}}]})",
        "STRUCT(a INT, b VARCHAR[])"}},
      {"STRUCT(a HUGEINT)", {"", "STRUCT(a HUGEINT)"}},
      {"ARRAY<HUGEINT>", {"", "HUGEINT[]"}},
      {"FLOAT[3]", {R"({"type":"VECTOR","element":"FLOAT","length":3})", "FLOAT[3]"}},
      {"VECTOR<DOUBLE, 8>", {R"({"type":"VECTOR","element":"DOUBLE","length":8})", "DOUBLE[8]"}},
      {"VARCHAR[3]", {"", "VARCHAR[3]"}},
  };
  for (const auto& [type, expected] : kCases) {
    EXPECT_THAT(Type(type), Pair(expected.first, expected.second)) << type;
  }
}

TEST(RewriteCreateTable, BadTypesAreErrorsWithPosition) {
  EXPECT_EQ(Type("DECIMAL(39, 2)").second,
            "error at 26: the precision of DECIMAL must be between 1 and 38, found 39");
  EXPECT_EQ(Type("DECIMAL(5, 6)").second,
            "error at 29: the scale of DECIMAL must be between 0 and 5, found 6");
  EXPECT_EQ(Type("ARRAY<TIMESTAMP(10)>").second,
            "error at 34: the precision of TIMESTAMP must be between 0 and 9, found 10");
  EXPECT_EQ(Type("CHAR(0)").second,
            "error at 23: the length of CHAR must be between 1 and 2147483647, found 0");
  EXPECT_THAT(Type("VARCHAR(99999999999)").second, HasSubstr("between 0 and 2147483647"));
  EXPECT_THAT(Type("VECTOR<FLOAT, 0>").second, HasSubstr("the length of VECTOR"));
  std::string deep = "INT";
  for (int i = 0; i < 70; ++i) deep = "ARRAY<" + deep + ">";
  EXPECT_THAT(Type(deep).second, HasSubstr("at most 64 deep"));
  std::string suffixes = "INT";
  for (int i = 0; i < 70; ++i) suffixes += "[]";
  EXPECT_THAT(Type(suffixes).second, HasSubstr("at most 64 deep"));
}

TEST(RewriteCreateTable, SparkSpelling) {
  Tags tags;
  EXPECT_EQ(
      Rewrite(
          "CREATE TABLE IF NOT EXISTS db.t (id BIGINT NOT NULL COMMENT 'the id', `my name` STRING "
          "DEFAULT 'x') "
          "USING paimon COMMENT 'hello' PARTITIONED BY (dt STRING COMMENT 'day', h INT NOT NULL) "
          "TBLPROPERTIES ('bucket' = '4', 'k' 'v', n = -1, b = true) LOCATION '/x'",
          &tags),
      "CREATE TABLE IF NOT EXISTS db.t (id BIGINT NOT NULL , \"my name\" STRING DEFAULT 'x', "
      "\"dt\" STRING, \"h\" INT NOT "
      "NULL) PARTITIONED BY (\"dt\", \"h\") WITH ('bucket' = '4', 'k' = 'v', 'n' = '-1', 'b' = "
      "'true', 'path' = '/x')");
  EXPECT_THAT(
      tags,
      ElementsAre(Pair("kelda.column-type.id", "BIGINT"), Pair("kelda.column-comment.id", "the id"),
                  Pair("kelda.column-type.my name", "STRING"),
                  Pair("kelda.column-default.my name", "x"), Pair("kelda.comment", "hello"),
                  Pair("kelda.column-type.dt", "STRING"), Pair("kelda.column-comment.dt", "day"),
                  Pair("kelda.column-type.h", "INT")));
}

TEST(RewriteCreateTable, FlinkSpelling) {
  Tags tags;
  EXPECT_EQ(Rewrite("CREATE TABLE t (id INT PRIMARY KEY NOT ENFORCED, dt STRING, CONSTRAINT pk "
                    "PRIMARY KEY (id, dt) NOT ENFORCED) "
                    "COMMENT 'c' PARTITIONED BY (dt) WITH ('bucket' = '1')",
                    &tags),
            "CREATE TABLE t (id INT PRIMARY KEY , dt STRING, CONSTRAINT pk PRIMARY KEY (id, dt) ) "
            "PARTITIONED BY (dt) WITH "
            "('bucket' = '1')");
  EXPECT_THAT(
      tags, ElementsAre(Pair("kelda.column-type.id", "INT"), Pair("kelda.column-type.dt", "STRING"),
                        Pair("kelda.comment", "c")));
}

TEST(RewriteCreateTable, AsSelect) {
  Tags tags;
  EXPECT_EQ(Rewrite("create or replace table t using paimon options ('a'='b') partitioned by (dt, "
                    "bucket(4, k)) "
                    "tblproperties ('c'='d') as select * from `x y` version as of 3",
                    &tags),
            "create or replace table t PARTITIONED BY (dt, bucket(4, k)) WITH ('a' = 'b', 'c' = "
            "'d') as select * from \"x y\" "
            "AT (VERSION => 3)");
  EXPECT_THAT(tags, IsEmpty());
}

TEST(RewriteCreateTable, Defaults) {
  Tags tags;
  Rewrite(
      "CREATE TABLE t (a INT DEFAULT -1.50 NOT NULL, b STRING NOT NULL DEFAULT 'it''s' COMMENT "
      "'x', c INT DEFAULT NULL, "
      "d DATE DEFAULT DATE '2024-01-01', e BOOLEAN DEFAULT TRUE, f INT DEFAULT (1 + 2), g "
      "TIMESTAMP DEFAULT now(), "
      "h INT DEFAULT 1 + 2 CHECK (h < 3))",
      &tags);
  std::map<std::string, std::string> defaults;
  for (const auto& [key, value] : tags) {
    if (key.starts_with("kelda.column-default.")) defaults[key.substr(21)] = value;
  }
  EXPECT_THAT(defaults, ElementsAre(Pair("a", "-1.50"), Pair("b", "it's"), Pair("d", "2024-01-01"),
                                    Pair("e", "true")));
}

TEST(RewriteCreateTable, Errors) {
  EXPECT_EQ(Rewrite("create table t (a int) with (file.format='orc')"),
            "error at 29: option key file.format must be in quotes: 'file.format'");
  EXPECT_EQ(Rewrite("create table t (a int) with (merge-engine='x')"),
            "error at 29: option key merge-engine must be in quotes: 'merge-engine'");
  EXPECT_EQ(Rewrite("create table t (a int) with ('a'='1') tblproperties ('a'='2')"),
            "error at 23: option 'a' is given twice");
  EXPECT_EQ(Rewrite("create table t (a int) with ('a'=f(1))"),
            "error at 33: the value of option 'a' must be one literal; put it in quotes");
  EXPECT_EQ(Rewrite("create table t (a int) with ('a'=128mb)"),
            "error at 33: the value of option 'a' must be one literal; put it in quotes");
  EXPECT_EQ(Rewrite("create table t (a int) with ('a')"), "error at 32: option 'a' has no value");
  EXPECT_EQ(Rewrite("create table t (a int) using parquet"),
            "error at 29: USING parquet is not implemented; only USING paimon is");
  EXPECT_EQ(Rewrite("create table t (a int, watermark for a as a)"),
            "error at 23: WATERMARK is not implemented");
}

TEST(RewriteCreateTable, WhatIsNotUnderstoodStays) {
  for (std::string_view sql :
       {"create table t (a", "create table t (a int) clustered by (a) into 3 buckets",
        "create table", "create table t (a int,,b int)", "create table t ()",
        "create table t (a int comment 3)", "create table t (a map<int>)",
        "create table t (a row<>)", "create table t (a int) partitioned by"}) {
    EXPECT_EQ(Rewrite(sql), sql);
  }
}

TEST(RewriteInsert, Overwrite) {
  EXPECT_EQ(Rewrite("INSERT OVERWRITE t SELECT 1"), "INSERT INTO \"t$overwrite{}\" SELECT 1");
  EXPECT_EQ(
      Rewrite("INSERT OVERWRITE TABLE a.`b`.t PARTITION (dt='x', h) SELECT a, b FROM s"),
      "INSERT INTO  "
      "a.\"b\".\"t$overwrite{\"\"partition\"\":{\"\"dt\"\":\"\"x\"\"},\"\"dynamic\"\":[\"\"h\"\"],"
      "\"\"staticColumnsLast\"\":true}\"  SELECT *, 'x' FROM (SELECT a, b FROM s)");
  EXPECT_EQ(Rewrite("INSERT OVERWRITE t PARTITION (dt='x') (a, b) SELECT a, b FROM s RETURNING a"),
            "INSERT INTO \"t$overwrite{\"\"partition\"\":{\"\"dt\"\":\"\"x\"\"}}\"  (a, b, \"dt\") "
            "SELECT *, 'x' FROM (SELECT "
            "a, b FROM s) RETURNING a");
  EXPECT_EQ(
      Rewrite("with c as (select 1) insert overwrite t partition (dt='2') by name select * from c"),
      "with c as (select 1) insert INTO \"t$overwrite{\"\"partition\"\":{\"\"dt\"\":\"\"2\"\"}}\"  "
      "by name SELECT *, '2' "
      "AS \"dt\" FROM (select * from c)");
  EXPECT_EQ(Rewrite("explain analyze insert overwrite t select 1"),
            "explain analyze insert INTO \"t$overwrite{}\" select 1");
}

TEST(RewriteInsert, Partition) {
  EXPECT_EQ(Rewrite("INSERT INTO t PARTITION (dt=DATE '2024-01-01', n = NULL, i=-3) VALUES (1, "
                    "DEFAULT), (2, f(3))"),
            "INSERT INTO "
            "\"t$insert{\"\"partition\"\":{\"\"dt\"\":\"\"2024-01-01\"\",\"\"n\"\":null,\"\"i\"\":"
            "\"\"-3\"\"},"
            "\"\"staticColumnsLast\"\":true}\"  VALUES (1, DEFAULT, DATE '2024-01-01', NULL, -3), "
            "(2, f(3), DATE "
            "'2024-01-01', NULL, -3)");
  EXPECT_EQ(Rewrite("INSERT INTO t PARTITION (dt='x') (a) (select 1)"),
            "INSERT INTO t  (a, \"dt\") SELECT *, 'x' FROM ((select 1))");
  EXPECT_EQ(
      Rewrite("prepare p as insert into t partition (dt='x') values (?)"),
      "prepare p as insert into "
      "\"t$insert{\"\"partition\"\":{\"\"dt\"\":\"\"x\"\"},\"\"staticColumnsLast\"\":true}\"  "
      "values (?, 'x')");
  EXPECT_EQ(Rewrite("insert into t partition (dt='x') values (1) limit 3"),
            "insert into "
            "\"t$insert{\"\"partition\"\":{\"\"dt\"\":\"\"x\"\"},\"\"staticColumnsLast\"\":true}\" "
            " SELECT *, 'x' "
            "FROM (values (1) limit 3)");
  EXPECT_EQ(Rewrite("insert into table t values (1)"), "insert into  t values (1)");
  EXPECT_EQ(Rewrite("insert into t /*+ OPTIONS('write-only'='true') */ values (1)"),
            "insert into \"t$options{\"\"write-only\"\":\"\"true\"\"}\" /*+ "
            "OPTIONS('write-only'='true') */ values (1)");
}

TEST(RewriteInsert, Errors) {
  EXPECT_EQ(Rewrite("insert into t partition (dt=now()) select 1"),
            "error at 28: the value of \"dt\" in PARTITION (...) must be a literal");
  EXPECT_EQ(Rewrite("insert into t partition (dt=?) select 1"),
            "error at 28: the value of \"dt\" in PARTITION (...) must be a literal");
  EXPECT_EQ(Rewrite("insert into t partition (dt='a' || 'b') select 1"),
            "error at 32: expected , or ) in PARTITION (...); its values must be literals");
  EXPECT_EQ(Rewrite("insert into t partition (dt='a', dt='b') select 1"),
            "error at 33: partition column \"dt\" is given twice");
  EXPECT_EQ(Rewrite("insert into t partition (dt='a') default values"),
            "error at 33: INSERT ... PARTITION (...) DEFAULT VALUES is not implemented");
  EXPECT_EQ(Rewrite("insert overwrite t partition (dt='a') if not exists select 1"),
            "error at 38: INSERT ... PARTITION (...) IF NOT EXISTS is not implemented");
}

TEST(RewriteTableReferences, Hints) {
  EXPECT_EQ(
      Rewrite("select t.a from t /*+ OPTIONS('scan.snapshot-id'='1', 'b'=2) */ where t.a = 1"),
      "select t.a from \"t$options{\"\"scan.snapshot-id\"\":\"\"1\"\",\"\"b\"\":\"\"2\"\"}\" AS "
      "\"t\" /*+ "
      "OPTIONS('scan.snapshot-id'='1', 'b'=2) */ where t.a = 1");
  EXPECT_EQ(Rewrite("select * from db.t$audit_log /*+ OPTIONS('a'='b') */ as x, u"),
            "select * from db.\"t$audit_log$options{\"\"a\"\":\"\"b\"\"}\" /*+ OPTIONS('a'='b') */ "
            "as x, u");
  EXPECT_EQ(Rewrite("select * from t /*+ OPTIONS('a'='b') */ version as of 3 x"),
            "select * from \"t$options{\"\"a\"\":\"\"b\"\"}\" /*+ OPTIONS('a'='b') */ AS x AT "
            "(VERSION => 3) ");
  EXPECT_EQ(Rewrite("update t /*+ options('a'='b') */ set a = 1"),
            "update \"t$options{\"\"a\"\":\"\"b\"\"}\" AS \"t\" /*+ options('a'='b') */ set a = 1");
  EXPECT_EQ(Rewrite("select /*+ OPTIONS('a'='b') */ 1"),
            "error at 7: the hint OPTIONS must follow a table name");
  EXPECT_EQ(Rewrite("select * from t /*+ OPTIONS(a.b='b') */"),
            "error at 28: option key a.b must be in quotes: 'a.b'");
}

TEST(RewriteTableReferences, TimeTravel) {
  EXPECT_EQ(Rewrite("select * from t version as of 3"), "select * from t AT (VERSION => 3)");
  EXPECT_EQ(Rewrite("select * from db.t for version as of 'tag'"),
            "select * from db.t AT (VERSION => 'tag')");
  EXPECT_EQ(Rewrite("select * from t TIMESTAMP AS OF '2024-01-01' where a"),
            "select * from t AT (TIMESTAMP => '2024-01-01') where a");
  EXPECT_EQ(Rewrite("select * from t for system_time as of TIMESTAMP '2024-01-01 00:00:00' as x(a, "
                    "b) join u on x.a = u.a"),
            "select * from t AS x(a, b) AT (TIMESTAMP => TIMESTAMP '2024-01-01 00:00:00')  join u "
            "on x.a = u.a");
  EXPECT_EQ(Rewrite("select * from t timestamp as of now() - interval 1 day, u"),
            "select * from t AT (TIMESTAMP => now() - interval 1 day), u");
  EXPECT_EQ(Rewrite("select * from t timestamp as of cast('2024-01-01' as date) x"),
            "select * from t AS x AT (TIMESTAMP => cast('2024-01-01' as date)) ");
  EXPECT_EQ(Rewrite("select * from t x version as of ?"), "select * from t x AT (VERSION => ?)");
  EXPECT_EQ(Rewrite("(select * from t version as of 3) union all select 1"),
            "(select * from t AT (VERSION => 3)) union all select 1");
  EXPECT_EQ(Rewrite("select * from t at (version => 3) x"),
            "select * from t AS x at (version => 3) ");
  EXPECT_EQ(
      Rewrite("select * from t at (tag => 'v1') where t.a = 1"),
      "select * from \"t$options{\"\"scan.tag-name\"\":\"\"v1\"\"}\" AS \"t\"  where t.a = 1");
  EXPECT_EQ(Rewrite("select * from t at (tag => 'v1') x"),
            "select * from \"t$options{\"\"scan.tag-name\"\":\"\"v1\"\"}\" AS x ");
  EXPECT_EQ(Rewrite("select * from t at (watermark => 5)"),
            "select * from \"t$options{\"\"scan.watermark\"\":\"\"5\"\"}\" AS \"t\" ");
  EXPECT_EQ(Rewrite("select * from t at (tag => f(1))"),
            "error at 27: the value of tag must be a literal");
}

TEST(RewriteTableReferences, Names) {
  EXPECT_EQ(Rewrite("select `a``b`, \"x\" from `db`.`t` where `c\"d` = 1"),
            "select \"a`b\", \"x\" from \"db\".\"t\" where \"c\"\"d\" = 1");
  EXPECT_EQ(Rewrite("select * from default.t, paimon.default.t"),
            "select * from \"default\".t, paimon.\"default\".t");
  EXPECT_EQ(Rewrite("insert overwrite default.t values (1)"),
            "insert INTO \"default\".\"t$overwrite{}\" values (1)");
}

TEST(RewriteCommand, TableOptions) {
  EXPECT_EQ(Rewrite("alter table db.t set tblproperties ('a.b'='c', 'bucket'=4)"),
            "alter table db.t SET ('a.b' = 'c', 'bucket' = '4')");
  EXPECT_EQ(Rewrite("ALTER TABLE t SET ('a'='b')"), "ALTER TABLE t SET ('a' = 'b')");
  EXPECT_EQ(Rewrite("alter table if exists t unset tblproperties if exists ('a.b', c)"),
            "alter table if exists t RESET ('a.b', 'c')");
  EXPECT_EQ(Rewrite("alter table t set (a.b = 3)"),
            "error at 19: option key a.b must be in quotes: 'a.b'");
}

TEST(RewriteCommand, Databases) {
  Tags tags;
  EXPECT_EQ(
      Rewrite("create database if not exists db comment 'x' with dbproperties ('a'='b')", &tags),
      "create SCHEMA if not exists db ");
  EXPECT_THAT(tags, ElementsAre(Pair("kelda.comment", "x"), Pair("kelda.schema-property.a", "b")));
  EXPECT_EQ(Rewrite("CREATE DATABASE default"), "CREATE SCHEMA \"default\"");
  EXPECT_EQ(Rewrite("drop database if exists db cascade"), "drop SCHEMA if exists db cascade");
  EXPECT_EQ(Rewrite("use default"), "use \"default\"");
  EXPECT_EQ(Rewrite("use paimon.default"), "use paimon.\"default\"");
  EXPECT_EQ(Rewrite("use catalog c"), "use  c");
}

TEST(RewriteCommand, ShowAndDescribe) {
  EXPECT_EQ(Rewrite("show create table default.`t x`"),
            "SELECT * FROM kelda_show_create_table('\"default\".\"t x\"')");
  EXPECT_EQ(Rewrite("show tables"), "SELECT name FROM kelda_show_tables()");
  EXPECT_EQ(Rewrite("show tables from c.db"), "SELECT name FROM kelda_show_tables('\"c\".\"db\"')");
  EXPECT_EQ(Rewrite("show tables in db like 'x*'"),
            "SELECT name FROM kelda_show_tables('\"db\"') WHERE name GLOB 'x*'");
  EXPECT_EQ(Rewrite("show tables like 'x%'"),
            "SELECT name FROM kelda_show_tables() WHERE name LIKE 'x%'");
  EXPECT_THAT(Rewrite("show databases"), HasSubstr("FROM duckdb_schemas()"));
  EXPECT_THAT(Rewrite("show databases like 'd*'"), HasSubstr("schema_name GLOB 'd*'"));
  EXPECT_EQ(Rewrite("show tblproperties db.t"), "SELECT key, value FROM \"db\".\"t$options\"");
  EXPECT_EQ(Rewrite("show partitions t"), "SELECT partition FROM \"t$partitions\"");
  EXPECT_EQ(Rewrite("describe extended t"), "describe  t");
  EXPECT_EQ(Rewrite("desc formatted db.t"), "desc  db.t");
}

TEST(RewriteCommand, Analyze) {
  EXPECT_EQ(Rewrite("analyze db.t"), "SELECT * FROM kelda_analyze('\"db\".\"t\"')");
  EXPECT_EQ(Rewrite("analyze t(a, `b c`)"),
            "SELECT * FROM kelda_analyze('\"t\"', CAST(['a', 'b c'] AS VARCHAR[]))");
  EXPECT_EQ(Rewrite("ANALYZE TABLE t COMPUTE STATISTICS"),
            "SELECT * FROM kelda_analyze('\"t\"', CAST([] AS VARCHAR[]))");
  EXPECT_EQ(Rewrite("ANALYZE TABLE t COMPUTE STATISTICS NOSCAN"),
            "SELECT * FROM kelda_analyze('\"t\"', CAST([] AS VARCHAR[]))");
  EXPECT_EQ(Rewrite("ANALYZE TABLE t COMPUTE STATISTICS FOR ALL COLUMNS"),
            "SELECT * FROM kelda_analyze('\"t\"')");
  EXPECT_EQ(Rewrite("ANALYZE TABLE t COMPUTE STATISTICS FOR COLUMNS a, \"B\""),
            "SELECT * FROM kelda_analyze('\"t\"', CAST(['a', 'B'] AS VARCHAR[]))");
  EXPECT_THAT(Rewrite("ANALYZE TABLE t PARTITION (d = 1) COMPUTE STATISTICS"),
              HasSubstr("not implemented"));
}

TEST(RewriteCreateTable, Like) {
  Tags tags;
  EXPECT_EQ(Rewrite("create table if not exists a like db.`b c`", &tags),
            "create table if not exists a AS FROM \"db\".\"b c\" LIMIT 0");
  EXPECT_THAT(tags, ElementsAre(Pair("kelda.like", "\"db\".\"b c\"")));
  EXPECT_EQ(Rewrite("create table a like b tblproperties ('x' = 'y')"),
            "create table a WITH ('x' = 'y') AS FROM \"b\" LIMIT 0");
  EXPECT_EQ(Rewrite("create table a with ('x' = 'y') like b"),
            "create table a WITH ('x' = 'y') AS FROM \"b\" LIMIT 0");
  EXPECT_THAT(Rewrite("create table a (c int) like b"), HasSubstr("LIKE"));
  EXPECT_THAT(Rewrite("create table a like b partitioned by (c)"), HasSubstr("LIKE"));
  EXPECT_THAT(Rewrite("create table a like b (excluding options)"), HasSubstr("LIKE"));
}

TEST(RewriteCommand, ArgumentsOfCallMayBeKeywords) {
  EXPECT_EQ(
      Rewrite("call sys.compact(table => 'db.t', `where` => 'a', options => map {'table': 3})"),
      "call sys.compact(\"table\" => 'db.t', \"where\" => 'a', \"options\" => map {'table': 3})");
}

TEST(RewriteScript, OnlyIfSomethingChanges) {
  EXPECT_TRUE(RewriteScript("select 1; select 2").empty());
  std::vector<ScriptStatement> script =
      RewriteScript(" select 1; /* x */ use default ;; select `a` ");
  ASSERT_EQ(script.size(), 3u);
  EXPECT_TRUE(std::holds_alternative<Unchanged>(script[0].rewrite));
  EXPECT_EQ(script[0].begin, 1u);
  EXPECT_EQ(script[0].end, 9u);
  EXPECT_EQ(std::get<Rewritten>(script[1].rewrite).text, "use \"default\"");
  EXPECT_EQ(script[1].begin, 19u);
  EXPECT_EQ(std::get<Rewritten>(script[2].rewrite).text, "select \"a\"");
}

TEST(RewriteScript, ErrorsCountFromTheirStatement) {
  std::vector<ScriptStatement> script = RewriteScript("select 1; alter table t set (a.b = 3)");
  ASSERT_EQ(script.size(), 2u);
  EXPECT_EQ(std::get<RewriteError>(script[1].rewrite).position, 19u);
}

TEST(Rewritten, PositionsLeadBack) {
  constexpr std::string_view kSql = "  insert overwrite t partition (dt='x') select foo from `bar`";
  StatementRewrite rewrite = RewriteStatement(kSql);
  const auto& rewritten = std::get<Rewritten>(rewrite);
  EXPECT_EQ(rewritten.OriginalPosition(rewritten.text.find("insert")), kSql.find("insert"));
  EXPECT_EQ(rewritten.OriginalPosition(rewritten.text.find("foo") + 1), kSql.find("foo") + 1);
  EXPECT_EQ(rewritten.OriginalPosition(rewritten.text.find("\"bar\"")), kSql.find("`bar`"));
  EXPECT_EQ(rewritten.OriginalPosition(rewritten.text.find("t$overwrite")),
            kSql.find("t partition"));
  EXPECT_LE(rewritten.OriginalPosition(rewritten.text.size() + 100), kSql.size());
}

}  // namespace
}  // namespace kelda::sql
