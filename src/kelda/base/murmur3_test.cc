#include "kelda/base/murmur3.h"

#include <fstream>

#include <nlohmann/json.hpp>

#include "kelda/base/bytes.h"
#include "kelda/base/test_matchers.h"

namespace kelda {
namespace {

// spec 01 §5.5
TEST(MurmurTest, SpecVectors) {
  EXPECT_EQ(MurmurHash("abc"), 1322437556);
  EXPECT_EQ(MurmurHash("abcd"), -396302900);
  EXPECT_EQ(MurmurHash(""), 142593372);
}

TEST(MurmurTest, BytesWrittenByJava) {
  std::ifstream file(KELDA_TEST_DATA "/vectors/hash_bytes.jsonl");
  ASSERT_TRUE(file) << "cannot open the vectors";
  int vectors = 0;
  for (std::string line; std::getline(file, line); ++vectors) {
    const auto row = nlohmann::json::parse(line);
    ASSERT_OK_AND_ASSIGN(auto bytes, FromHex(row["bytes"].get<std::string>()));
    EXPECT_EQ(MurmurHash(bytes), row["hash"].get<int32_t>()) << line;
  }
  EXPECT_GE(vectors, 8);
}

TEST(MurmurTest, SeedMatters) { EXPECT_NE(MurmurHash("abcd", 0), MurmurHash("abcd")); }

}  // namespace
}  // namespace kelda
