#include <unistd.h>

#include <chrono>
#include <filesystem>
#include <thread>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "duckdb/main/appender.hpp"

#include "kelda/sql/session/session.h"

// What SQL text alone cannot say: the Appender, an interrupted statement, plans that outlive it.

namespace kelda::sql {
namespace {

using testing::HasSubstr;

class SqlWrite : public ::testing::Test {
 protected:
  void SetUp() override {
    static int count = 0;
    folder_ = std::filesystem::temp_directory_path() /
              fmt::format("kelda-sql-write-{}-{}", getpid(), count++);
    SessionOptions options;
    options.warehouse = folder_.string();
    auto session = Session::Open(options);
    ASSERT_TRUE(session.ok()) << session.status().ToString();
    session_ = std::move(*session);
  }

  void TearDown() override {
    session_.reset();
    std::error_code error;
    std::filesystem::remove_all(folder_, error);
  }

  std::string Run(const std::string& sql) {
    auto result = session_->Execute(sql);
    if (result->HasError()) return result->GetError();
    std::string text;
    while (auto chunk = result->Fetch()) {
      if (chunk->size() == 0) break;
      for (duckdb::idx_t row = 0; row < chunk->size(); ++row)
        text += (text.empty() ? "" : " ") + chunk->GetValue(0, row).ToString();
    }
    return text;
  }

  /// Files below the folder of a table, without its schemas.
  int FilesOf(const std::string& table) {
    int files = 0;
    const auto root = folder_ / "default.db" / table;
    if (!std::filesystem::exists(root)) return 0;
    for (const auto& entry : std::filesystem::recursive_directory_iterator(root)) {
      if (entry.is_regular_file() && entry.path().parent_path().filename() != "schema") ++files;
    }
    return files;
  }

  std::string RunInterrupted(const std::string& sql) {
    std::thread interrupter([&] {
      std::this_thread::sleep_for(std::chrono::milliseconds(700));
      session_->Interrupt();
    });
    std::string text = Run(sql);
    interrupter.join();
    return text;
  }

  std::filesystem::path folder_;
  std::unique_ptr<Session> session_;
};

TEST_F(SqlWrite, Appender) {
  ASSERT_EQ(Run("CREATE TABLE t (a INT, b STRING, c DECIMAL(5, 2))"), "");
  {
    duckdb::Appender appender(session_->connection(), "paimon", "default", "t");
    for (int i = 0; i < 5000; ++i)
      appender.AppendRow(i, duckdb::Value(std::to_string(i)), duckdb::Value());
    appender.Close();
  }
  EXPECT_EQ(Run("SELECT count(*) || ',' || sum(a) || ',' || count(c) FROM t WHERE b = a::VARCHAR"),
            "5000,12497500,0");
  EXPECT_EQ(Run("SELECT count(*) FROM t$files"), "1");
}

TEST_F(SqlWrite, AppenderFailsWithoutTrace) {
  ASSERT_EQ(Run("CREATE TABLE t (a INT NOT NULL)"), "");
  duckdb::Appender appender(session_->connection(), "paimon", "default", "t");
  appender.AppendRow(1);
  appender.AppendRow(duckdb::Value());
  EXPECT_THROW(appender.Close(), duckdb::Exception);
  EXPECT_EQ(FilesOf("t"), 0);
}

TEST_F(SqlWrite, InterruptedInsertLeavesNoFile) {
  ASSERT_EQ(Run("CREATE TABLE t (a BIGINT, b STRING) WITH ('target-file-size' = '1 mb')"), "");
  EXPECT_THAT(
      RunInterrupted("INSERT INTO t SELECT i, hash(i)::VARCHAR FROM range(2000000000) r(i)"),
      HasSubstr("Interrupted"));
  EXPECT_EQ(FilesOf("t"), 0);
  EXPECT_EQ(Run("SELECT count(*) FROM t"), "0");
}

TEST_F(SqlWrite, InterruptedCreateTableAsLeavesNoTable) {
  EXPECT_THAT(RunInterrupted(
                  "CREATE TABLE t AS SELECT i, hash(i)::VARCHAR AS h FROM range(2000000000) r(i)"),
              HasSubstr("Interrupted"));
  EXPECT_EQ(FilesOf("t"), 0);
  EXPECT_EQ(Run("SHOW TABLES"), "");
}

TEST_F(SqlWrite, FailedPreparedInsertLeavesNoFileThoughThePlanLives) {
  ASSERT_EQ(Run("CREATE TABLE t (a BIGINT NOT NULL)"), "");
  auto prepared = session_->connection().Prepare(
      "INSERT INTO t SELECT CASE WHEN i = $1 THEN NULL ELSE i END FROM range(500000) r(i)");
  ASSERT_FALSE(prepared->HasError()) << prepared->GetError();
  auto failed = prepared->Execute(duckdb::Value::BIGINT(499000));
  EXPECT_TRUE(failed->HasError());
  EXPECT_EQ(FilesOf("t"), 0);
  auto done = prepared->Execute(duckdb::Value::BIGINT(-1));
  EXPECT_FALSE(done->HasError()) << done->GetError();
  EXPECT_EQ(Run("SELECT count(*) FROM t"), "500000");
}

TEST_F(SqlWrite, ClosedConnectionRollsBack) {
  ASSERT_EQ(Run("CREATE TABLE t (a BIGINT)"), "");
  {
    duckdb::Connection connection(session_->database());
    ASSERT_FALSE(connection.Query("BEGIN")->HasError());
    ASSERT_FALSE(connection.Query("INSERT INTO paimon.\"default\".t VALUES (1)")->HasError());
    EXPECT_EQ(FilesOf("t"), 1);
  }
  EXPECT_EQ(FilesOf("t"), 0);
  EXPECT_EQ(Run("SELECT count(*) FROM t"), "0");
}

}  // namespace
}  // namespace kelda::sql
