#include <cmath>

#include <gtest/gtest.h>

#include "kelda/base/test_matchers.h"
#include "kelda/format/file_index/file_index_test_util.h"

namespace kelda {
namespace {

using Rows = std::vector<uint32_t>;
using arrow::MakeScalar;

const DataType kInt(TypeRoot::kInt);
const DataType kDouble(TypeRoot::kDouble);

std::shared_ptr<arrow::Scalar> Int(int32_t value) { return MakeScalar(value); }
std::shared_ptr<arrow::Scalar> NullInt() { return arrow::MakeNullScalar(arrow::int32()); }

Rows Ask(const ColumnIndexType& index, const DataType& type, const Scalars& values,
         const PredicatePtr& predicate) {
  const auto bytes = BuildIndex(index, type, {}, *MakeColumn(type, values)).ValueOrDie();
  return RowsOf(
      Select(OneIndex(index, bytes), type, *predicate, static_cast<int64_t>(values.size()))
          .ValueOrDie());
}

PredicatePtr C(PredicateOp op, Scalars literals) { return Leaf(op, {"c"}, std::move(literals)); }

const Scalars kValues = {Int(5), nullptr, Int(-3), Int(7), Int(5), Int(0)};

TEST(SelectIndexedRows, ComparesWithBitSlices) {
  for (const ColumnIndexType* index : {&BitSliceIndex(), &RangeBitmapIndex()}) {
    SCOPED_TRACE(index->name());
    const auto ask = [&](PredicateOp op, int32_t value) {
      return Ask(*index, kInt, kValues, C(op, {Int(value)}));
    };
    EXPECT_EQ(ask(PredicateOp::kLt, 5), (Rows{2, 5}));
    EXPECT_EQ(ask(PredicateOp::kLe, 5), (Rows{0, 2, 4, 5}));
    EXPECT_EQ(ask(PredicateOp::kGt, 0), (Rows{0, 3, 4}));
    EXPECT_EQ(ask(PredicateOp::kGe, -3), (Rows{0, 2, 3, 4, 5}));
    EXPECT_EQ(ask(PredicateOp::kLt, -3), Rows{});
    EXPECT_EQ(ask(PredicateOp::kGt, 6), Rows{3});
    EXPECT_EQ(ask(PredicateOp::kGt, 100), Rows{});
    EXPECT_EQ(ask(PredicateOp::kLt, 1 << 30), (Rows{0, 2, 3, 4, 5}));
    EXPECT_EQ(ask(PredicateOp::kNe, 5), (Rows{2, 3, 5}));
    EXPECT_EQ(ask(PredicateOp::kEq, 6), Rows{});
  }
}

TEST(SelectIndexedRows, CombinesAndNegates) {
  const auto eq5 = C(PredicateOp::kEq, {Int(5)});
  const auto lt1 = C(PredicateOp::kLt, {Int(1)});
  const auto& index = RangeBitmapIndex();
  EXPECT_EQ(Ask(index, kInt, kValues, Or({eq5, lt1})), (Rows{0, 2, 4, 5}));
  EXPECT_EQ(Ask(index, kInt, kValues, And({eq5, lt1})), Rows{});
  EXPECT_EQ(Ask(index, kInt, kValues, Not(Or({eq5, lt1}))), Rows{3});
  EXPECT_EQ(Ask(index, kInt, kValues, Not(And({eq5, lt1}))), (Rows{0, 2, 3, 4, 5}));
  EXPECT_EQ(Ask(index, kInt, kValues, Not(Not(eq5))), (Rows{0, 4}));
  EXPECT_EQ(Ask(index, kInt, kValues, Not(C(PredicateOp::kIsNull, {}))), (Rows{0, 2, 3, 4, 5}));
  // Nothing is known of another column: it may hold for every row, and so may its negation.
  const auto other = Leaf(PredicateOp::kEq, {"d"}, {Int(1)});
  EXPECT_EQ(Ask(index, kInt, kValues, And({eq5, other})), (Rows{0, 4}));
  EXPECT_EQ(Ask(index, kInt, kValues, Or({eq5, other})), (Rows{0, 1, 2, 3, 4, 5}));
  EXPECT_EQ(Ask(index, kInt, kValues, Not(other)), (Rows{0, 1, 2, 3, 4, 5}));
  EXPECT_EQ(Ask(index, kInt, kValues, And({})), (Rows{0, 1, 2, 3, 4, 5}));
  EXPECT_EQ(Ask(index, kInt, kValues, Or({})), Rows{});
}

TEST(SelectIndexedRows, NullLiteralsMatchNothing) {
  const auto& index = BitmapIndex();
  for (PredicateOp op : {PredicateOp::kEq, PredicateOp::kNe, PredicateOp::kLt, PredicateOp::kGe}) {
    EXPECT_EQ(Ask(index, kInt, kValues, C(op, {NullInt()})), Rows{});
    EXPECT_EQ(Ask(index, kInt, kValues, Not(C(op, {NullInt()}))), Rows{});
  }
  const auto in = C(PredicateOp::kIn, {Int(7), NullInt()});
  EXPECT_EQ(Ask(index, kInt, kValues, in), Rows{3});
  EXPECT_EQ(Ask(index, kInt, kValues, Not(in)), Rows{});
  EXPECT_EQ(Ask(index, kInt, kValues, Not(C(PredicateOp::kIn, {Int(7)}))), (Rows{0, 2, 4, 5}));
}

TEST(SelectIndexedRows, ZerosAreEqualAndNanIsGreatest) {
  const auto number = [](double value) { return MakeScalar(value); };
  const Scalars values = {number(0.0), number(-0.0), number(NAN),
                          number(1.5), nullptr,      number(-INFINITY)};
  for (const ColumnIndexType* index : {&BitmapIndex(), &RangeBitmapIndex()}) {
    SCOPED_TRACE(index->name());
    for (double zero : {0.0, -0.0}) {
      EXPECT_EQ(Ask(*index, kDouble, values, C(PredicateOp::kEq, {number(zero)})), (Rows{0, 1}));
      EXPECT_EQ(Ask(*index, kDouble, values, C(PredicateOp::kNe, {number(zero)})), (Rows{2, 3, 5}));
    }
    EXPECT_EQ(Ask(*index, kDouble, values, C(PredicateOp::kEq, {number(-NAN)})), Rows{2});
  }
  for (double zero : {0.0, -0.0}) {
    const auto ask = [&](PredicateOp op) {
      return Ask(RangeBitmapIndex(), kDouble, values, C(op, {number(zero)}));
    };
    EXPECT_EQ(ask(PredicateOp::kLt), Rows{5});
    EXPECT_EQ(ask(PredicateOp::kLe), (Rows{0, 1, 5}));
    EXPECT_EQ(ask(PredicateOp::kGt), (Rows{2, 3}));
    EXPECT_EQ(ask(PredicateOp::kGe), (Rows{0, 1, 2, 3}));
  }
  // The bits of both zeros are asked of a bloom filter, which was fed one of them.
  EXPECT_EQ(Ask(BloomFilterIndex(), kDouble, {number(-0.0)}, C(PredicateOp::kEq, {number(0.0)})),
            Rows{0});
}

TEST(SelectIndexedRows, NanosecondsShareKeys) {
  const DataType type = DataType::Temporal(TypeRoot::kTimestamp, 9);
  const auto nanos = [](int64_t value) {
    return std::make_shared<arrow::TimestampScalar>(value, arrow::timestamp(arrow::TimeUnit::NANO));
  };
  const Scalars values = {nanos(1001), nanos(1999), nanos(-1), nanos(5000)};
  for (const ColumnIndexType* index : {&BitSliceIndex(), &BitmapIndex()}) {
    EXPECT_EQ(Ask(*index, type, values, C(PredicateOp::kEq, {nanos(1001)})), (Rows{0, 1}));
    EXPECT_EQ(Ask(*index, type, values, C(PredicateOp::kNe, {nanos(1001)})), (Rows{0, 1, 2, 3}));
  }
  EXPECT_EQ(Ask(BitSliceIndex(), type, values, C(PredicateOp::kLt, {nanos(1999)})),
            (Rows{0, 1, 2}));
  EXPECT_EQ(Ask(BitSliceIndex(), type, values, C(PredicateOp::kGt, {nanos(1001)})),
            (Rows{0, 1, 3}));
  EXPECT_EQ(Ask(BitSliceIndex(), type, values, C(PredicateOp::kLt, {nanos(0)})), (Rows{2}));
}

TEST(SelectIndexedRows, PrefixesAreRangesOfTheDictionary) {
  const DataType type = DataType::String();
  const auto text = [](const std::string& value) { return MakeScalar(value); };
  const Scalars values = {text("b"), text("ab"),       text("abc"), nullptr,
                          text(""),  text("\xff\xff"), text("ac")};
  const auto ask = [&](const std::string& prefix) {
    return Ask(RangeBitmapIndex(), type, values, C(PredicateOp::kStartsWith, {text(prefix)}));
  };
  EXPECT_EQ(ask("ab"), (Rows{1, 2}));
  EXPECT_EQ(ask("a"), (Rows{1, 2, 6}));
  EXPECT_EQ(ask(""), (Rows{0, 1, 2, 4, 5, 6}));
  EXPECT_EQ(ask("\xff"), Rows{5});
  EXPECT_EQ(ask("\xff\xff\xff"), Rows{});
  EXPECT_EQ(ask("zz"), Rows{});
  EXPECT_EQ(Ask(RangeBitmapIndex(), type, values, Not(C(PredicateOp::kStartsWith, {text("a")}))),
            (Rows{0, 1, 2, 4, 5, 6}));
}

TEST(SelectIndexedRows, AnIndexWithoutRowsMeansNulls) {
  const auto container = EncodeIndexContainer({{"c", "bitmap", std::nullopt}}).ValueOrDie();
  const auto ask = [&](const PredicatePtr& predicate) {
    return RowsOf(Select(container, kInt, *predicate, 3).ValueOrDie());
  };
  EXPECT_EQ(ask(C(PredicateOp::kEq, {Int(1)})), Rows{});
  EXPECT_EQ(ask(C(PredicateOp::kIsNotNull, {})), Rows{});
  EXPECT_EQ(ask(C(PredicateOp::kIsNull, {})), (Rows{0, 1, 2}));
}

TEST(SelectIndexedRows, UnknownIndexTypesSayNothing) {
  const auto container = EncodeIndexContainer({{"c", "vector", "???"}}).ValueOrDie();
  EXPECT_TRUE(Select(container, kInt, *C(PredicateOp::kEq, {Int(1)}), 3).ValueOrDie().all());
}

TEST(SelectIndexedRows, IndexesOfOtherRowCountsAreRefused) {
  for (const ColumnIndexType* index : {&BitmapIndex(), &BitSliceIndex(), &RangeBitmapIndex()}) {
    const auto bytes = BuildIndex(*index, kInt, {}, *MakeColumn(kInt, kValues)).ValueOrDie();
    EXPECT_THAT(Select(OneIndex(*index, bytes), kInt, *C(PredicateOp::kEq, {Int(1)}), 7),
                HasError(ErrorCode::kCorruption, "of 6 rows for a file of 7"));
  }
}

TEST(RowSelection, BecomesRangesAndJoinsThemWhenTheyAreMany) {
  Roaring rows;
  for (uint32_t row = 0; row < 300000; row += 3) rows.Add(row);
  const RowSelection selection = RowSelection::Of(rows.Clone(), 300000);
  EXPECT_EQ(selection.ToRanges(200000).ranges().size(), 100000u);
  EXPECT_EQ(selection.ToRanges(200000).RowCount(), 100000);
  const RowRanges joined = selection.ToRanges(1000);
  EXPECT_EQ(joined.ranges(), (std::vector<RowRanges::Range>{{0, 299998}}));
  EXPECT_TRUE(RowSelection::None(5).ToRanges().empty());
  EXPECT_TRUE(RowSelection::None(1).ToRanges().empty());
  EXPECT_EQ(RowSelection::All(5).ToRanges(), RowRanges::All(5));
}

}  // namespace
}  // namespace kelda
