#include <algorithm>
#include <filesystem>
#include <vector>

#include <gtest/gtest.h>

#include "tests/sql/sql_test_file.h"

namespace {

namespace fs = std::filesystem;

class FileTest : public ::testing::Test {
 public:
  explicit FileTest(fs::path path) : path_(std::move(path)) {}
  void TestBody() override { kelda::sql::SqlTestFile(path_).Run(); }

 private:
  fs::path path_;
};

}  // namespace

int main(int argc, char** argv) {
  ::testing::InitGoogleTest(&argc, argv);
  std::vector<fs::path> files;
  std::error_code error;
  for (const auto& entry : fs::recursive_directory_iterator("tests/sql", error)) {
    if (entry.path().extension() == ".test") files.push_back(entry.path());
  }
  std::sort(files.begin(), files.end());
  if (files.empty()) {
    fprintf(stderr, "no test file below tests/sql: start at the root of the source tree\n");
    return 1;
  }
  for (const fs::path& file : files) {
    const std::string suite = file.parent_path().filename().string();
    ::testing::RegisterTest(suite.c_str(), file.stem().c_str(), nullptr, nullptr, file.c_str(), 1,
                            [file]() -> FileTest* { return new FileTest(file); });
  }
  return RUN_ALL_TESTS();
}
