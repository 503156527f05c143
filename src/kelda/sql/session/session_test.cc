#include "kelda/sql/session/session.h"

#include <chrono>
#include <thread>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "kelda/base/memory_budget.h"

namespace kelda::sql {
namespace {

using testing::HasSubstr;

std::unique_ptr<Session> Open(SessionOptions options = {}) {
  auto session = Session::Open(options);
  EXPECT_TRUE(session.ok()) << session.status().ToString();
  return session.ok() ? std::move(*session) : nullptr;
}

std::string FirstValue(Session& session, const std::string& sql) {
  auto result = session.Execute(sql);
  if (!result) return "<nothing>";
  if (result->HasError()) return result->GetError();
  auto chunk = result->Fetch();
  if (result->HasError()) return result->GetError();
  return chunk && chunk->size() > 0 ? chunk->GetValue(0, 0).ToString() : "";
}

TEST(Session, Executes) {
  auto session = Open();
  EXPECT_EQ(FirstValue(*session, "SELECT 42"), "42");
  EXPECT_EQ(FirstValue(*session, "CREATE TABLE t (a STRING COMMENT 'x')"), "");
  EXPECT_EQ(FirstValue(*session, "INSERT INTO t VALUES ('b')"), "1");
  EXPECT_EQ(FirstValue(*session, "SELECT * FROM `t`"), "b");
  EXPECT_EQ(FirstValue(*session, "-- nothing"), "<nothing>");
  EXPECT_THAT(FirstValue(*session, "SHOW CREATE TABLE t"), HasSubstr("CREATE TABLE"));
  EXPECT_THAT(FirstValue(*session, "SHOW CREATE TABLE nope"), HasSubstr("nope does not exist"));
  EXPECT_EQ(FirstValue(*session, "SHOW TABLES"), "t");
  EXPECT_EQ(FirstValue(*session, "SHOW TABLES FROM memory.main LIKE 't*'"), "t");
  EXPECT_EQ(FirstValue(*session, "SHOW TABLES LIKE 'x*'"), "");
  EXPECT_EQ(FirstValue(*session, "CREATE TEMP TABLE tt AS SELECT 1"), "1");
  EXPECT_EQ(FirstValue(*session, "SELECT count(*) FROM (SHOW TABLES)"), "2");
  EXPECT_EQ(FirstValue(*session, "ANALYZE t"), "NULL");
  EXPECT_EQ(FirstValue(*session, "CREATE TABLE u LIKE t"), "0");
  EXPECT_EQ(FirstValue(*session, "SELECT count(*) FROM u"), "0");
}

TEST(Session, ErrorsHaveTextAndPlace) {
  auto session = Open();
  EXPECT_THAT(FirstValue(*session, "SELEC 1"), HasSubstr("LINE 1: SELEC 1"));
  EXPECT_THAT(FirstValue(*session, "SELECT nope"), HasSubstr("LINE 1: SELECT nope"));
  EXPECT_THAT(FirstValue(*session, "SELECT 'x'::INT"), HasSubstr("Could not convert string 'x'"));
  EXPECT_EQ(FirstValue(*session, "SELECT 1"), "1");
}

TEST(Session, NeverLooksForExtensionsElsewhere) {
  auto session = Open();
  EXPECT_EQ(FirstValue(*session, "SELECT current_setting('autoload_known_extensions')"), "false");
  EXPECT_EQ(FirstValue(*session, "SELECT current_setting('autoinstall_known_extensions')"),
            "false");
}

TEST(Session, Limits) {
  SessionOptions options;
  options.memory_limit = "300MiB";
  options.threads = 1;
  int64_t before = MemoryBudget::Process()->limit();
  auto session = Open(options);
  EXPECT_EQ(FirstValue(*session, "SELECT current_setting('memory_limit')"), "150.0 MiB");
  EXPECT_EQ(FirstValue(*session, "SELECT current_setting('threads')"), "1");
  EXPECT_EQ(MemoryBudget::Process()->limit(), int64_t{150} << 20);
  MemoryBudget::Process()->SetLimit(before);
  options.memory_limit = "lots";
  EXPECT_THAT(Session::Open(options).status().ToString(), HasSubstr("Memory"));
}

TEST(Session, InterruptEndsTheStatement) {
  auto session = Open();
  std::thread interrupter([&] {
    std::this_thread::sleep_for(std::chrono::milliseconds(200));
    session->Interrupt();
  });
  EXPECT_THAT(
      FirstValue(
          *session,
          "SELECT count(*) FROM range(10000000) a, range(10000000) b WHERE a.range + b.range = 3"),
      HasSubstr("Interrupted"));
  interrupter.join();
  EXPECT_EQ(FirstValue(*session, "SELECT 1"), "1");
}

}  // namespace
}  // namespace kelda::sql
