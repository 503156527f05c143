// Damaged indexes: an error that names the file, or some rows of the file; never more.
#include <random>

#include <gtest/gtest.h>

#include "kelda/base/bytes.h"
#include "kelda/base/test_matchers.h"
#include "kelda/format/file_index/file_index_test_util.h"

namespace kelda {
namespace {

constexpr int64_t kRows = 300;

struct Sample {
  DataType type;
  std::string container;
  std::vector<PredicatePtr> predicates;
};

std::shared_ptr<arrow::Scalar> ValueOf(const DataType& type, int64_t number) {
  if (type.IsString()) return arrow::MakeScalar("value " + std::to_string(number));
  return arrow::MakeScalar(static_cast<int32_t>(number));
}

std::vector<Sample> Samples() {
  std::vector<Sample> samples;
  for (const ColumnIndexType* index : ColumnIndexTypes()) {
    for (const DataType& type : {DataType(TypeRoot::kInt), DataType::String()}) {
      if (!index->Supports(type)) continue;
      std::vector<IndexOptions> all_options = {{}};
      if (index == &BloomFilterIndex()) all_options = {{{"items", "300"}}};
      if (index == &BitmapIndex())
        all_options = {{{"version", "1"}}, {{"index-block-size", "64b"}}};
      if (index == &RangeBitmapIndex()) all_options = {{{"chunk-size", "40b"}}};
      Scalars values;
      for (int64_t row = 0; row < kRows; ++row)
        values.push_back(row % 7 == 0 ? nullptr : ValueOf(type, row % 40 - 5));
      for (const IndexOptions& options : all_options) {
        Sample sample;
        sample.type = type;
        sample.container = OneIndex(
            *index, BuildIndex(*index, type, options, *MakeColumn(type, values)).ValueOrDie());
        for (int64_t number : {-3, 0, 17, 99}) {
          for (PredicateOp op : {PredicateOp::kEq, PredicateOp::kNe, PredicateOp::kLt})
            sample.predicates.push_back(Leaf(op, {"c"}, {ValueOf(type, number)}));
        }
        sample.predicates.push_back(Leaf(PredicateOp::kIsNull, {"c"}, {}));
        samples.push_back(std::move(sample));
      }
    }
  }
  return samples;
}

/// Asks everything; true when nothing was an error.
bool Ask(const Sample& sample, const std::string& container) {
  bool good = true;
  for (const PredicatePtr& predicate : sample.predicates) {
    auto rows = Select(container, sample.type, *predicate, kRows);
    if (rows.ok()) {
      EXPECT_LE(rows->selected(), kRows);
      EXPECT_LE(rows->ToRanges().RowCount(), kRows);
    } else {
      EXPECT_EQ(CodeOf(rows.status()), ErrorCode::kCorruption) << rows.status().ToString();
      EXPECT_NE(rows.status().message().find("test.index"), std::string::npos);
      EXPECT_NE(rows.status().message().find("offset"), std::string::npos)
          << rows.status().message();
      good = false;
    }
  }
  return good;
}

TEST(FileIndexHostile, CutAnywhere) {
  int errors = 0;
  for (const Sample& sample : Samples()) {
    EXPECT_TRUE(Ask(sample, sample.container));
    const size_t step = sample.container.size() / 120 + 1;
    for (size_t length = 0; length < sample.container.size(); length += step) {
      if (!Ask(sample, sample.container.substr(0, length))) ++errors;
    }
  }
  // Each cut takes away bytes of the one index, whose place the head has.
  EXPECT_GT(errors, 300);
}

TEST(FileIndexHostile, EveryByteChanged) {
  int errors = 0;
  for (const Sample& sample : Samples()) {
    const size_t step = sample.container.size() / 200 + 1;
    for (size_t place = 0; place < sample.container.size(); place += step) {
      for (int change : {0x01, 0x80, 0xff}) {
        std::string bytes = sample.container;
        bytes[place] = static_cast<char>(bytes[place] ^ change);
        if (!Ask(sample, bytes)) ++errors;
      }
    }
  }
  EXPECT_GT(errors, 150);
}

TEST(FileIndexHostile, WordsReplacedAtRandom) {
  std::mt19937_64 random(7);
  const std::vector<Sample> samples = Samples();
  static constexpr uint32_t kWords[] = {0,          1,          0xffffffff, 0x7fffffff, 0x80000000,
                                        0x00010000, 0x0000ffff, 0x3a300000, 0x3b300000, 64};
  for (int round = 0; round < 2000; ++round) {
    const Sample& sample = samples[random() % samples.size()];
    std::string bytes = sample.container;
    for (uint64_t n = random() % 3 + 1; n > 0; --n)
      StoreBE32(bytes.data() + random() % (bytes.size() - 3), kWords[random() % std::size(kWords)]);
    Ask(sample, bytes);
  }
}

}  // namespace
}  // namespace kelda
