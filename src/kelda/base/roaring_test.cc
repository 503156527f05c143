#include "kelda/base/roaring.h"

#include <random>
#include <set>

#include <gtest/gtest.h>

#include "kelda/base/bytes.h"
#include "kelda/base/test_matchers.h"

namespace kelda {
namespace {

TEST(Roaring, BytesOfTheSpecification) {
  Roaring small;
  small.Add(5);
  small.Add(1);
  EXPECT_EQ(ToHex(small.Serialize()),
            "3a300000010000000000010010000000"
            "01000500");
  Roaring run;
  run.AddRange(0, 10);
  EXPECT_EQ(ToHex(run.Serialize()),
            "3b30000001000009000100000009"
            "00");
  EXPECT_EQ(ToHex(Roaring().Serialize()), "3a30000000000000");
}

TEST(Roaring, RoundTripOfEveryContainerKind) {
  std::mt19937 random(7);
  for (int round = 0; round < 40; ++round) {
    Roaring bitmap;
    std::set<uint32_t> model;
    const int kinds = 1 + static_cast<int>(random() % 6);
    for (int k = 0; k < kinds; ++k) {
      const uint32_t base = (random() % 9) << 16;
      switch (random() % 3) {
        case 0:
          for (int i = 0; i < 100; ++i) model.insert(base + random() % 65536);
          break;
        case 1:
          for (int i = 0; i < 9000; ++i) model.insert(base + random() % 65536);
          break;
        default:
          for (uint32_t i = 0; i < 3000; ++i) model.insert(base + 500 + i);
      }
    }
    for (uint32_t v : model) bitmap.Add(v);
    const std::string bytes = bitmap.Serialize() + "tail";
    size_t consumed = 0;
    ASSERT_OK_AND_ASSIGN(Roaring parsed, Roaring::Parse(bytes, "test", &consumed));
    EXPECT_EQ(consumed, bytes.size() - 4);
    EXPECT_TRUE(parsed == bitmap);
    EXPECT_EQ(parsed.Values(), std::vector<uint32_t>(model.begin(), model.end()));
    EXPECT_EQ(parsed.ToRanges().RowCount(), static_cast<int64_t>(model.size()));
    const uint32_t from = random() % (9 << 16);
    EXPECT_EQ(parsed.CountRange(from, from + 1000),
              static_cast<uint64_t>(
                  std::distance(model.lower_bound(from), model.lower_bound(from + 1000))));
  }
}

TEST(Roaring, DamagedBytesAreRefusedOrAnotherValidSet) {
  Roaring bitmap;
  for (uint32_t i = 0; i < 6000; ++i) bitmap.Add(i * 3);
  bitmap.AddRange(200000, 200900);
  for (uint32_t i = 0; i < 20; ++i) bitmap.Add(400000 + i * i);
  const std::string bytes = bitmap.Serialize();
  for (size_t size = 0; size < bytes.size(); size += size < 64 ? 1 : 97)
    EXPECT_FALSE(Roaring::Parse(std::string_view(bytes).substr(0, size), "cut").ok());
  std::mt19937 random(3);
  for (size_t at = 0; at < bytes.size(); at += at < 64 ? 1 : 31) {
    std::string damaged = bytes;
    damaged[at] = static_cast<char>(damaged[at] ^ (1 << (random() % 8)));
    auto parsed = Roaring::Parse(damaged, "flipped");
    if (!parsed.ok()) continue;
    const auto values = parsed->Values();
    EXPECT_TRUE(std::is_sorted(values.begin(), values.end()));
    EXPECT_EQ(values.size(), parsed->Cardinality());
  }
}

TEST(Roaring, SetOperations) {
  Roaring a;
  a.AddRange(0, 100);
  Roaring b;
  b.AddRange(50, 150);
  Roaring both = a.Clone();
  both.And(b);
  EXPECT_EQ(both.ToRanges().ranges(), (std::vector<RowRanges::Range>{{50, 100}}));
  Roaring either = a.Clone();
  either.Or(b);
  EXPECT_EQ(either.Cardinality(), 150u);
  a.AndNot(b);
  EXPECT_EQ(a.ToRanges().ranges(), (std::vector<RowRanges::Range>{{0, 50}}));
  a.Flip(60);
  EXPECT_EQ(a.ToRanges().ranges(), (std::vector<RowRanges::Range>{{50, 60}}));
}

TEST(RowRanges, IntersectAndOverlap) {
  RowRanges a;
  a.Add(0, 10);
  a.Add(10, 20);
  a.Add(30, 40);
  EXPECT_EQ(a.ranges().size(), 2u);
  RowRanges b;
  b.Add(5, 35);
  EXPECT_EQ(a.Intersect(b).ranges(), (std::vector<RowRanges::Range>{{5, 20}, {30, 35}}));
  EXPECT_TRUE(a.Overlaps(19, 25));
  EXPECT_FALSE(a.Overlaps(20, 30));
  EXPECT_EQ(a.RowCount(), 30);
}

TEST(Roaring, RunsOnlyWhereTheyAreSmaller) {
  const auto hex = [](std::initializer_list<uint32_t> values) {
    Roaring set;
    for (uint32_t value : values) set.Add(value);
    return ToHex(set.Serialize());
  };
  // One run of three takes as much as three values.
  EXPECT_EQ(hex({1, 2, 3}),
            "3a3000000100000000000200100000000100"
            "02000300");
  EXPECT_EQ(hex({0, 1, 2, 3}),
            "3b30000001000003000100000003"
            "00");
  EXPECT_EQ(hex({}), "3a30000000000000");
}

TEST(Roaring, SerializedSetsOfEveryFormComeBack) {
  Roaring set;
  set.AddRange(0, 65536);
  for (uint32_t i = 0; i < 10000; ++i) set.Add(65536 + 3 * i);
  for (uint32_t i = 0; i < 100; ++i) set.Add(5 * 65536 + 7 * i);
  set.AddRange(9 * 65536 + 5, 9 * 65536 + 900);
  set.Add(4294967295u);
  const std::string bytes = set.Serialize();
  size_t consumed = 0;
  ASSERT_OK_AND_ASSIGN(Roaring read, Roaring::Parse(bytes, "set", &consumed));
  EXPECT_EQ(consumed, bytes.size());
  EXPECT_TRUE(read == set);
  EXPECT_EQ(read.Serialize(), bytes);
}

}  // namespace
}  // namespace kelda
