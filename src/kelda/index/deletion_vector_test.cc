#include "kelda/index/deletion_vector.h"

#include <random>
#include <set>

#include <gtest/gtest.h>

#include "kelda/base/bytes.h"
#include "kelda/base/test_matchers.h"

namespace kelda {
namespace {

using Encoding = DeletionVector::Encoding;

DeletionVector VectorOf(const std::vector<int64_t>& positions) {
  DeletionVector vector;
  for (int64_t position : positions) vector.Delete(position);
  return vector;
}

std::string Record(const DeletionVector& vector, Encoding encoding, int32_t* length) {
  auto record = vector.SerializeRecord(encoding, length);
  EXPECT_TRUE(IsOk(record.status()));
  return record.ValueOr("");
}

TEST(DeletionVector, BytesOfJava) {
  struct Fact {
    std::vector<int64_t> positions;
    Encoding encoding;
    std::string hex;
    int32_t length;
  };
  // spec 01 §7.1, written by Java 1.4.2.
  const std::vector<Fact> facts = {
      {{1, 5},
       Encoding::kBitmap32,
       "000000185e43f2d03a30000001000000000001001000000001000500"
       "8c77fe55",
       24},
      {{0, 1, 2, 3, 4, 5, 6, 7, 8, 9},
       Encoding::kBitmap32,
       "000000135e43f2d03b3000000100000900010000000900a34efa89",
       19},
      {{}, Encoding::kBitmap32, "0000000c5e43f2d03a300000000000005de5c7e9", 12},
      {{1, 5},
       Encoding::kBitmap64,
       "00000024d1d33964010000000000000000000000"
       "3a300000010000000000010010000000010005003e6e302f",
       44}};
  for (const Fact& fact : facts) {
    const DeletionVector vector = VectorOf(fact.positions);
    int32_t length = 0;
    const std::string record = Record(vector, fact.encoding, &length);
    EXPECT_EQ(ToHex(record), fact.hex);
    EXPECT_EQ(length, fact.length);
    ASSERT_OK_AND_ASSIGN(DeletionVector parsed,
                         DeletionVector::ParseRecord(record, fact.length, "test"));
    EXPECT_TRUE(parsed == vector);
  }
}

TEST(DeletionVector, RoundTripAgainstASet) {
  std::mt19937_64 random(11);
  for (int round = 0; round < 60; ++round) {
    DeletionVector vector;
    std::set<int64_t> model;
    const bool wide = round % 3 == 0;
    const int64_t span = wide ? int64_t{3} << 32 : 200000;
    const int rows = static_cast<int>(random() % 3000);
    for (int i = 0; i < rows; ++i) {
      const auto position = static_cast<int64_t>(random() % static_cast<uint64_t>(span));
      vector.Delete(position);
      model.insert(position);
    }
    EXPECT_EQ(vector.Cardinality(), static_cast<int64_t>(model.size()));
    EXPECT_EQ(vector.MaxPosition(), model.empty() ? -1 : *model.rbegin());
    for (Encoding encoding : {Encoding::kBitmap32, Encoding::kBitmap64}) {
      int32_t length = 0;
      auto record = vector.SerializeRecord(encoding, &length);
      if (encoding == Encoding::kBitmap32 && vector.MaxPosition() > UINT32_MAX) {
        EXPECT_THAT(record, HasError(ErrorCode::kNone, "deletion-vectors.bitmap64"));
        continue;
      }
      ASSERT_OK(record.status());
      size_t consumed = 0;
      ASSERT_OK_AND_ASSIGN(
          auto parsed, DeletionVector::ParseRecord(*record + "more", length, "test", &consumed));
      EXPECT_EQ(consumed, record->size());
      EXPECT_TRUE(parsed == vector);
    }
    const int64_t begin = static_cast<int64_t>(random() % static_cast<uint64_t>(span));
    const int64_t end = begin + 5000;
    std::vector<int64_t> expected;
    for (auto it = model.lower_bound(begin); it != model.lower_bound(end); ++it)
      expected.push_back(*it - begin);
    EXPECT_EQ(vector.DeletedIn(begin, end), expected);
    EXPECT_EQ(vector.CountDeleted(begin, end), static_cast<int64_t>(expected.size()));
    const RowRanges live = vector.LiveRows(span / 2);
    EXPECT_EQ(live.RowCount(), span / 2 - vector.CountDeleted(0, span / 2));
    for (const RowRanges::Range& range : live.ranges()) {
      EXPECT_EQ(vector.CountDeleted(range.begin, range.end), 0);
    }
  }
}

TEST(DeletionVector, DamageIsAnErrorThatNamesTheFile) {
  int32_t length = 0;
  const std::string record = Record(VectorOf({1, 5, 70000}), Encoding::kBitmap32, &length);
  for (size_t size = 0; size < record.size(); ++size) {
    EXPECT_THAT(DeletionVector::ParseRecord(record.substr(0, size), length, "index-x"),
                HasError(ErrorCode::kCorruption, "index-x"));
  }
  for (size_t at = 0; at < record.size(); ++at) {
    for (int bit = 0; bit < 8; ++bit) {
      std::string damaged = record;
      damaged[at] = static_cast<char>(damaged[at] ^ (1 << bit));
      EXPECT_THAT(DeletionVector::ParseRecord(damaged, length, "index-x"),
                  HasError(ErrorCode::kCorruption, "index-x"));
    }
  }
  EXPECT_THAT(DeletionVector::ParseRecord(record, length + 1, "index-x"),
              HasError(ErrorCode::kCorruption, "index manifest"));
}

}  // namespace
}  // namespace kelda
