#include "kelda/format/column_statistics.h"

#include <cmath>
#include <limits>

#include <arrow/api.h>
#include <gtest/gtest.h>

namespace kelda {
namespace {

using Keep = ColumnStatistics::Keep;

template <typename Builder, typename T>
std::shared_ptr<arrow::Array> Make(const std::vector<std::optional<T>>& values) {
  Builder builder;
  for (const auto& value : values) {
    auto status = value ? builder.Append(*value) : builder.AppendNull();
    EXPECT_TRUE(status.ok());
  }
  return builder.Finish().ValueOrDie();
}

FileColumnStats Of(const arrow::ArrayVector& arrays, Keep keep = Keep::kAll) {
  auto statistics = ColumnStatistics::Make(arrays[0]->type(), keep);
  for (const auto& array : arrays) statistics->Update(*array);
  return statistics->Finish();
}

void ExpectBounds(const FileColumnStats& stats, const std::string& min, const std::string& max,
                  int64_t nulls) {
  ASSERT_TRUE(stats.min && stats.max);
  EXPECT_EQ(stats.min->ToString(), min);
  EXPECT_EQ(stats.max->ToString(), max);
  EXPECT_EQ(stats.null_count, nulls);
}

TEST(ColumnStatistics, IntegersWithNullsAndSlices) {
  auto array = Make<arrow::Int32Builder, int32_t>({-100, 5, {}, 7, -3, {}, 100});
  ExpectBounds(Of({array}), "-100", "100", 2);
  ExpectBounds(Of({array->Slice(1, 5)}), "-3", "7", 2);
  ExpectBounds(Of({array->Slice(1, 1), array->Slice(3, 1)}), "5", "7", 0);
  ExpectBounds(Of({Make<arrow::Int8Builder, int8_t>({-128, 127})}), "-128", "127", 0);
  constexpr auto kMin = std::numeric_limits<int64_t>::min();
  auto extreme = Make<arrow::Int64Builder, int64_t>({kMin, {}});
  ExpectBounds(Of({extreme}), std::to_string(kMin), std::to_string(kMin), 1);
}

TEST(ColumnStatistics, AllNullAndEmptyGiveNoBounds) {
  auto nulls = Make<arrow::Int32Builder, int32_t>({{}, {}});
  auto stats = Of({nulls, nulls});
  EXPECT_FALSE(stats.min || stats.max);
  EXPECT_EQ(stats.null_count, 4);
  auto texts = Make<arrow::StringBuilder, std::string>({{}, {}});
  EXPECT_FALSE(Of({texts}).min);
  EXPECT_EQ(Of({texts->Slice(0, 0)}).null_count, 0);
}

TEST(ColumnStatistics, FloatsInTheOrderOfDoubleCompare) {
  const double nan = std::nan("");
  const double negative_nan = std::copysign(nan, -1.0);
  auto zeros = Of({Make<arrow::DoubleBuilder, double>({0.0, -0.0})});
  EXPECT_TRUE(std::signbit(static_cast<const arrow::DoubleScalar&>(*zeros.min).value));
  EXPECT_FALSE(std::signbit(static_cast<const arrow::DoubleScalar&>(*zeros.max).value));
  auto mixed = Of({Make<arrow::DoubleBuilder, double>({1.5, negative_nan, -INFINITY, INFINITY})});
  EXPECT_EQ(static_cast<const arrow::DoubleScalar&>(*mixed.min).value, -INFINITY);
  EXPECT_TRUE(std::isnan(static_cast<const arrow::DoubleScalar&>(*mixed.max).value));
  auto only = Of({Make<arrow::FloatBuilder, float>({std::nanf(""), {}})});
  EXPECT_TRUE(std::isnan(static_cast<const arrow::FloatScalar&>(*only.min).value));
  ExpectBounds(Of({Make<arrow::FloatBuilder, float>({-2.5f, 3.25f, -1.0f})}), "-2.5", "3.25", 0);
}

TEST(ColumnStatistics, Booleans) {
  ExpectBounds(Of({Make<arrow::BooleanBuilder, bool>({true, {}, true})}), "true", "true", 1);
  ExpectBounds(Of({Make<arrow::BooleanBuilder, bool>({false, {}})}), "false", "false", 1);
  ExpectBounds(Of({Make<arrow::BooleanBuilder, bool>({true, false})}), "false", "true", 0);
}

TEST(ColumnStatistics, Decimals) {
  arrow::Decimal128Builder builder(arrow::decimal128(38, 2));
  for (const char* text : {"-99999999999999999999.99", "0.01", "12345678901234567890.00"}) {
    ASSERT_TRUE(builder.Append(arrow::Decimal128::FromString(text).ValueOrDie()).ok());
  }
  ExpectBounds(Of({builder.Finish().ValueOrDie()}), "-99999999999999999999.99",
               "12345678901234567890.00", 0);
}

TEST(ColumnStatistics, TextsAgainstPlainComparison) {
  uint64_t state = 3;
  auto next = [&](uint64_t n) {
    state = state * 6364136223846793005u + 1442695040888963407u;
    return (state >> 33) % n;
  };
  for (int round = 0; round < 300; ++round) {
    std::optional<std::string> min;
    std::optional<std::string> max;
    int64_t nulls = 0;
    arrow::ArrayVector arrays;
    for (int part = 0; part < 3; ++part) {
      std::vector<std::optional<std::string>> values;
      for (uint64_t n = next(12); n > 0; --n) {
        if (next(5) == 0) {
          values.emplace_back();
          ++nulls;
          continue;
        }
        // Long common prefixes, bytes above 0x7f, zero bytes.
        std::string text(next(12), next(2) ? 'a' : '\xc3');
        if (next(2)) text += static_cast<char>(next(256));
        if (next(8) == 0) text.clear();
        if (!min || text < *min) min = text;
        if (!max || text > *max) max = text;
        values.emplace_back(text);
      }
      arrays.push_back(Make<arrow::StringBuilder, std::string>(values));
    }
    auto stats = Of(arrays);
    EXPECT_EQ(stats.null_count, nulls);
    ASSERT_EQ(stats.min != nullptr, min.has_value());
    if (!min) continue;
    EXPECT_EQ(static_cast<const arrow::StringScalar&>(*stats.min).value->ToString(), *min);
    EXPECT_EQ(static_cast<const arrow::StringScalar&>(*stats.max).value->ToString(), *max);
  }
}

TEST(ColumnStatistics, KeepLess) {
  auto array = Make<arrow::Int32Builder, int32_t>({1, {}});
  auto counts = Of({array}, Keep::kNullCount);
  EXPECT_FALSE(counts.min || counts.max);
  EXPECT_EQ(counts.null_count, 1);
  EXPECT_FALSE(Of({array}, Keep::kNothing).null_count);
  // No order: the null count stays.
  auto bytes = Make<arrow::BinaryBuilder, std::string>({"a", {}});
  EXPECT_FALSE(Of({bytes}).min);
  EXPECT_EQ(Of({bytes}).null_count, 1);
}

}  // namespace
}  // namespace kelda
