// Bytes of Java 1.4.2 (tests/data/vectors/file_indexes.jsonl): written alike, and read.
#include <algorithm>
#include <map>

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "kelda/base/bytes.h"
#include "kelda/base/test_matchers.h"
#include "kelda/format/file_index/file_index_test_util.h"
#include "kelda/row/row_test_values.h"

namespace kelda {
namespace {

using Json = nlohmann::ordered_json;

struct Vector {
  std::string text;
  const ColumnIndexType* index = nullptr;
  DataType type;
  IndexOptions options;
  Scalars values;
  std::optional<std::string> bytes;
};

std::vector<Vector> ReadVectors() {
  std::vector<Vector> vectors;
  for (const Json& line : ReadJsonLines(KELDA_TEST_DATA "/vectors/file_indexes.jsonl")) {
    Vector vector;
    vector.text = line.dump().substr(0, 160);
    vector.index = FindColumnIndexType(line.at("index").get<std::string>());
    vector.type = DataType::Parse(line.at("type").get<std::string>()).ValueOrDie();
    vector.options = line.at("options").get<IndexOptions>();
    for (const Json& value : line.at("values"))
      vector.values.push_back(ScalarFromJson(vector.type, value));
    if (line.contains("bytes"))
      vector.bytes = FromHex(line.at("bytes").get<std::string>()).ValueOrDie();
    vectors.push_back(std::move(vector));
  }
  return vectors;
}

/// Whether Java's bytes follow a hash map where any order is right (spec 01 §7.6).
bool HasFreeOrder(const Vector& vector) {
  if (vector.index != &BitmapIndex()) return false;
  return vector.type.root() == TypeRoot::kFloat || vector.type.root() == TypeRoot::kDouble;
}

TEST(FileIndexVectors, WritesTheBytesOfJava) {
  int written = 0;
  for (const Vector& vector : ReadVectors()) {
    SCOPED_TRACE(vector.text);
    ASSERT_NE(vector.index, nullptr);
    auto column = MakeColumn(vector.type, vector.values);
    const bool supported = vector.index->Supports(vector.type);
    auto bytes = supported ? BuildIndex(*vector.index, vector.type, vector.options, *column)
                           : arrow::Result<std::string>(Unsupported("type"));
    if (!vector.bytes) {
      // A block that holds not even its first value: Java fails, here the block gets that value.
      if (vector.options.contains("index-block-size")) continue;
      EXPECT_FALSE(bytes.ok());
      continue;
    }
    ASSERT_OK(bytes);
    if (HasFreeOrder(vector)) {
      EXPECT_EQ(bytes->size(), vector.bytes->size());
      continue;
    }
    EXPECT_EQ(ToHex(*bytes), ToHex(*vector.bytes));
    ++written;
  }
  EXPECT_GT(written, 70);
}

TEST(FileIndexVectors, FindsEveryValueInTheBytesOfJava) {
  int asked = 0;
  for (const Vector& vector : ReadVectors()) {
    if (!vector.bytes) continue;
    SCOPED_TRACE(vector.text);
    const std::string container = OneIndex(*vector.index, *vector.bytes);
    const auto count = static_cast<int64_t>(vector.values.size());
    const bool exact = vector.index->exact();
    const bool lossy = KeyForm::Make(vector.type).ValueOrDie().lossy();
    std::vector<uint32_t> nulls;
    for (uint32_t row = 0; row < vector.values.size(); ++row) {
      const auto& value = vector.values[row];
      if (value == nullptr || !value->is_valid) {
        nulls.push_back(row);
        continue;
      }
      std::vector<uint32_t> equal;
      for (uint32_t other = 0; other < vector.values.size(); ++other) {
        const auto& candidate = vector.values[other];
        if (candidate != nullptr && candidate->is_valid && CompareScalars(*candidate, *value) == 0)
          equal.push_back(other);
      }
      ASSERT_OK_AND_ASSIGN(auto rows, Select(container, vector.type,
                                             *Leaf(PredicateOp::kEq, {"c"}, {value}), count));
      EXPECT_TRUE(rows.Contains(row));
      if (exact && !lossy) {
        EXPECT_EQ(RowsOf(rows), equal) << row;
      }
      ++asked;
    }
    ASSERT_OK_AND_ASSIGN(
        auto rows, Select(container, vector.type, *Leaf(PredicateOp::kIsNull, {"c"}, {}), count));
    if (exact) {
      EXPECT_EQ(RowsOf(rows), nulls);
    } else {
      EXPECT_TRUE(rows.all());
    }
  }
  EXPECT_GT(asked, 150);
}

TEST(FileIndexVectors, BloomFilterOfTheSpecification) {
  EXPECT_EQ(ToHex(OneIndex(BloomFilterIndex(), FromHex("00000003300100c841").ValueOrDie())),
            // Column "c" instead of "a".
            "00054e4ed01a35ae0000000100000035000000010001630000"
            "0001000c626c6f6f6d2d66696c746572000000350000000900000000"
            "00000003300100c841");
}

TEST(FileIndexVectors, DefaultBloomFilterHasTheSizeOfJava) {
  const DataType type(TypeRoot::kInt);
  ASSERT_OK_AND_ASSIGN(auto bytes, BuildIndex(BloomFilterIndex(), type, {}, *MakeColumn(type, {})));
  EXPECT_EQ(bytes.size(), 599071u);
  EXPECT_EQ(LoadBE32(bytes.data()), 3u);
}

}  // namespace
}  // namespace kelda
