#include "kelda/base/log.h"

#include <unistd.h>

#include <algorithm>
#include <fstream>
#include <sstream>
#include <thread>
#include <vector>

#include "kelda/base/test_matchers.h"

namespace kelda {
namespace {

class LogTest : public testing::Test {
 protected:
  void SetUp() override {
    path_ = fmt::format("{}kelda_log_test_{}.log", testing::TempDir(), getpid());
    unlink(path_.c_str());
    ASSERT_OK(Log::SetFile(path_));
  }
  void TearDown() override {
    Log::SetLevel(LogLevel::kWarn);
    EXPECT_OK(Log::SetFile(""));
    unlink(path_.c_str());
  }
  std::string Text() const {
    std::ifstream file(path_);
    std::stringstream text;
    text << file.rdbuf();
    return text.str();
  }
  std::string path_;
};

TEST_F(LogTest, LevelsFilterAndArgumentsAreLazy) {
  EXPECT_EQ(Log::level(), LogLevel::kWarn);
  int evaluated = 0;
  KELDA_LOG(Info, "{}", ++evaluated);
  EXPECT_EQ(evaluated, 0);
  KELDA_LOG(Warn, "warned {}", ++evaluated);
  Log::SetLevel(LogLevel::kDebug);
  KELDA_LOG(Debug, "debugged");
  const auto text = Text();
  EXPECT_THAT(text, testing::HasSubstr("warned 1"));
  EXPECT_THAT(text, testing::HasSubstr("log_test.cc:"));
  EXPECT_THAT(text, testing::HasSubstr("debugged"));
  EXPECT_EQ(evaluated, 1);
}

TEST_F(LogTest, ARecordIsOneLine) {
  KELDA_LOG(Error, "{}", std::string("a\nb\x1b[31m"));
  const auto text = Text();
  EXPECT_EQ(std::count(text.begin(), text.end(), '\n'), 1);
  EXPECT_THAT(text, testing::HasSubstr("a\\nb\\x1b[31m"));
}

TEST_F(LogTest, ThreadsDoNotMixLines) {
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([] {
      for (int i = 0; i < 100; ++i) KELDA_LOG(Error, "{:x>200}|", "");
    });
  }
  for (auto& thread : threads) thread.join();
  std::ifstream file(path_);
  int lines = 0;
  for (std::string line; std::getline(file, line); ++lines) {
    EXPECT_THAT(line, testing::EndsWith(std::string(200, 'x') + "|"));
  }
  EXPECT_EQ(lines, 400);
}

TEST(LogLevelTest, Names) {
  EXPECT_EQ(ParseLogLevel("INFO"), LogLevel::kInfo);
  EXPECT_EQ(ParseLogLevel("warn"), LogLevel::kWarn);
  EXPECT_EQ(ParseLogLevel("warning"), std::nullopt);
  EXPECT_EQ(ParseLogLevel(""), std::nullopt);
  EXPECT_FALSE(Log::SetFile("/nonexistent/dir/x.log").ok());
}

}  // namespace
}  // namespace kelda
