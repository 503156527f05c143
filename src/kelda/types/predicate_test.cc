#include "kelda/types/predicate.h"

#include <cmath>
#include <limits>
#include <map>
#include <random>

#include <arrow/api.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "kelda/base/status.h"

namespace kelda {
namespace {

using Scalars = std::vector<std::shared_ptr<arrow::Scalar>>;
const double kNan = std::numeric_limits<double>::quiet_NaN();

std::shared_ptr<arrow::Scalar> Int(int32_t v) { return std::make_shared<arrow::Int32Scalar>(v); }
std::shared_ptr<arrow::Scalar> Num(double v) { return std::make_shared<arrow::DoubleScalar>(v); }
std::shared_ptr<arrow::Scalar> Text(std::string v) {
  return std::make_shared<arrow::StringScalar>(std::move(v));
}
std::shared_ptr<arrow::Scalar> NullOf(const std::shared_ptr<arrow::DataType>& t) {
  return arrow::MakeNullScalar(t);
}

class MapBounds : public BoundsSource {
 public:
  std::optional<ColumnBounds> Bounds(const std::vector<std::string>& column) const override {
    std::string key;
    for (const auto& part : column) key += "/" + part;
    const auto it = bounds_.find(key);
    if (it == bounds_.end()) return std::nullopt;
    return it->second;
  }
  int64_t row_count() const override { return rows_; }

  MapBounds& Set(const std::string& key, ColumnBounds bounds) {
    bounds_[key] = std::move(bounds);
    return *this;
  }
  MapBounds& Rows(int64_t rows) {
    rows_ = rows;
    return *this;
  }

 private:
  std::map<std::string, ColumnBounds> bounds_;
  int64_t rows_ = 10;
};

PredicatePtr Cmp(PredicateOp op, std::shared_ptr<arrow::Scalar> literal, const char* column = "x") {
  return Leaf(op, {column}, {std::move(literal)});
}
PredicatePtr In(Scalars literals) { return Leaf(PredicateOp::kIn, {"x"}, std::move(literals)); }

TEST(PredicateText, Readable) {
  const auto p =
      And({Cmp(PredicateOp::kGe, Int(5)), Or({In({Text("a"), NullOf(arrow::utf8())}),
                                              Not(Leaf(PredicateOp::kIsNull, {"s", "m"}, {}))})});
  EXPECT_EQ(p->ToString(), "(x >= 5 AND (x IN ('a', NULL) OR NOT s.m IS NULL))");
  EXPECT_EQ(And({})->ToString(), "TRUE");
  EXPECT_EQ(Or({})->ToString(), "FALSE");
  EXPECT_EQ(Cmp(PredicateOp::kStartsWith, Text("ab"))->ToString(), "starts_with(x, 'ab')");
}

TEST(PredicateBuild, Flattens) {
  const auto a = Cmp(PredicateOp::kEq, Int(1));
  EXPECT_EQ(And({a}), a);
  EXPECT_EQ(And({nullptr, a}), a);
  EXPECT_EQ(And({And({a, a}), a})->children.size(), 3u);
  EXPECT_EQ(Or({Or({a, a}), And({a, a})})->children.size(), 3u);
  EXPECT_EQ(Or({a, nullptr})->ToString(), "TRUE");
}

TEST(MayMatch, ComparisonsWithBounds) {
  MapBounds b;
  b.Set("/x", {Int(10), Int(20), 0});
  const auto may = [&](PredicateOp op, int v) { return MayMatch(*Cmp(op, Int(v)), b); };
  EXPECT_FALSE(may(PredicateOp::kEq, 9));
  EXPECT_TRUE(may(PredicateOp::kEq, 10));
  EXPECT_TRUE(may(PredicateOp::kEq, 20));
  EXPECT_FALSE(may(PredicateOp::kEq, 21));
  EXPECT_TRUE(may(PredicateOp::kNe, 10));
  EXPECT_FALSE(may(PredicateOp::kLt, 10));
  EXPECT_TRUE(may(PredicateOp::kLt, 11));
  EXPECT_FALSE(may(PredicateOp::kLe, 9));
  EXPECT_TRUE(may(PredicateOp::kLe, 10));
  EXPECT_FALSE(may(PredicateOp::kGt, 20));
  EXPECT_TRUE(may(PredicateOp::kGt, 19));
  EXPECT_FALSE(may(PredicateOp::kGe, 21));
  EXPECT_TRUE(may(PredicateOp::kGe, 20));
  b.Set("/x", {Int(7), Int(7), std::nullopt});
  EXPECT_FALSE(may(PredicateOp::kNe, 7));
  EXPECT_TRUE(may(PredicateOp::kNe, 8));
}

TEST(MayMatch, UnknownNeverPrunes) {
  MapBounds b;
  for (auto op : {PredicateOp::kEq, PredicateOp::kNe, PredicateOp::kLt, PredicateOp::kLe,
                  PredicateOp::kGt, PredicateOp::kGe}) {
    EXPECT_TRUE(MayMatch(*Cmp(op, Int(5)), b));
  }
  b.Set("/x", {nullptr, NullOf(arrow::int32()), std::nullopt});
  EXPECT_TRUE(MayMatch(*Cmp(PredicateOp::kEq, Int(5)), b));
  // Bounds of another type (a changed column) or that contradict each other say nothing.
  b.Set("/x", {Text("a"), Text("b"), std::nullopt});
  EXPECT_TRUE(MayMatch(*Cmp(PredicateOp::kEq, Int(5)), b));
  b.Set("/x", {Int(9), Int(3), std::nullopt});
  EXPECT_TRUE(MayMatch(*Cmp(PredicateOp::kEq, Int(100)), b));
  // One known bound prunes on its side.
  b.Set("/x", {Int(10), nullptr, std::nullopt});
  EXPECT_FALSE(MayMatch(*Cmp(PredicateOp::kLt, Int(5)), b));
  EXPECT_TRUE(MayMatch(*Cmp(PredicateOp::kGt, Int(500)), b));
}

TEST(MayMatch, Nulls) {
  MapBounds b;
  b.Set("/x", {nullptr, nullptr, 10});
  const auto is_null = Leaf(PredicateOp::kIsNull, {"x"}, {});
  const auto is_not_null = Leaf(PredicateOp::kIsNotNull, {"x"}, {});
  EXPECT_TRUE(MayMatch(*is_null, b));
  EXPECT_FALSE(MayMatch(*is_not_null, b));
  EXPECT_TRUE(MayMatch(*Not(is_not_null), b));
  EXPECT_FALSE(MayMatch(*Not(is_null), b));
  EXPECT_FALSE(MayMatch(*Cmp(PredicateOp::kNe, Int(5)), b));
  EXPECT_FALSE(MayMatch(*Not(Cmp(PredicateOp::kEq, Int(5))), b));
  EXPECT_FALSE(MayMatch(*In({Int(5)}), b));
  b.Set("/x", {Int(1), Int(2), 0});
  EXPECT_FALSE(MayMatch(*is_null, b));
  EXPECT_TRUE(MayMatch(*is_not_null, b));
  // Comparison with NULL is never true, and neither is its negation.
  EXPECT_FALSE(MayMatch(*Cmp(PredicateOp::kEq, NullOf(arrow::int32())), b));
  EXPECT_FALSE(MayMatch(*Not(Cmp(PredicateOp::kEq, NullOf(arrow::int32()))), b));
}

TEST(MayMatch, Combinations) {
  MapBounds b;
  b.Set("/x", {Int(10), Int(20), 0}).Set("/y", {Int(0), Int(1), 0});
  const auto never = Cmp(PredicateOp::kEq, Int(5));
  const auto maybe = Cmp(PredicateOp::kEq, Int(15));
  const auto always = Cmp(PredicateOp::kGe, Int(10));
  EXPECT_FALSE(MayMatch(*And({maybe, never}), b));
  EXPECT_TRUE(MayMatch(*Or({maybe, never}), b));
  EXPECT_FALSE(MayMatch(*Or({never, never}), b));
  EXPECT_TRUE(MayMatch(*Not(never), b));
  EXPECT_FALSE(MayMatch(*Not(always), b));
  EXPECT_FALSE(MayMatch(*Not(Or({never, always})), b));
  EXPECT_TRUE(MayMatch(*And({}), b));
  EXPECT_FALSE(MayMatch(*Or({}), b));
  EXPECT_FALSE(MayMatch(*And({maybe, Cmp(PredicateOp::kGt, Int(1), "y")}), b));
}

TEST(MayMatch, InLists) {
  MapBounds b;
  b.Set("/x", {Int(10), Int(20), 0});
  EXPECT_FALSE(MayMatch(*In({Int(1), Int(30)}), b));
  EXPECT_TRUE(MayMatch(*In({Int(1), Int(11)}), b));
  EXPECT_FALSE(MayMatch(*In({}), b));
  EXPECT_FALSE(MayMatch(*Not(In({Int(1), NullOf(arrow::int32())})), b));
  b.Set("/x", {Int(7), Int(7), 0});
  EXPECT_FALSE(MayMatch(*Not(In({Int(3), Int(7)})), b));
  EXPECT_TRUE(MayMatch(*Not(In({Int(3)})), b));
}

TEST(MayMatch, PrefixWithTruncatedBounds) {
  MapBounds b;
  b.Set("/x", {Text("abc"), Text("abf"), 0});
  const auto may = [&](const char* prefix) {
    return MayMatch(*Cmp(PredicateOp::kStartsWith, Text(prefix)), b);
  };
  EXPECT_TRUE(may(""));
  EXPECT_TRUE(may("ab"));
  EXPECT_TRUE(may("abd"));
  EXPECT_TRUE(may("abcxyz"));
  EXPECT_TRUE(may("abf"));
  EXPECT_FALSE(may("abb"));
  EXPECT_FALSE(may("abg"));
  EXPECT_FALSE(may("b"));
  EXPECT_FALSE(may("aa"));
  EXPECT_FALSE(MayMatch(*Not(Cmp(PredicateOp::kStartsWith, Text("ab"))), b));
  EXPECT_TRUE(MayMatch(*Not(Cmp(PredicateOp::kStartsWith, Text("abc"))), b));
  // Bytes above 0x7f are the large ones.
  b.Set("/x", {Text("a"), Text("\xc3\xa9"), 0});
  EXPECT_TRUE(MayMatch(*Cmp(PredicateOp::kEq, Text("z")), b));
}

TEST(MayMatch, FloatingPoint) {
  MapBounds b;
  b.Set("/x", {Num(1.5), Num(2.5), 0});
  EXPECT_FALSE(MayMatch(*Cmp(PredicateOp::kEq, Num(3)), b));
  EXPECT_FALSE(MayMatch(*Cmp(PredicateOp::kLt, Num(1.5)), b));
  // NaN may be in the file and outside of the bounds; it is greater than everything.
  EXPECT_TRUE(MayMatch(*Cmp(PredicateOp::kGt, Num(3)), b));
  EXPECT_TRUE(MayMatch(*Cmp(PredicateOp::kEq, Num(kNan)), b));
  EXPECT_TRUE(MayMatch(*Not(Cmp(PredicateOp::kLe, Num(3))), b));
  b.Set("/x", {Num(kNan), Num(kNan), 0});
  EXPECT_TRUE(MayMatch(*Cmp(PredicateOp::kEq, Num(3)), b));
  EXPECT_TRUE(MayMatch(*Cmp(PredicateOp::kLt, Num(3)), b));
  b.Set("/x", {Num(0.0), Num(0.0), 0});
  EXPECT_TRUE(MayMatch(*Cmp(PredicateOp::kEq, Num(-0.0)), b));
  b.Set("/x", {Num(3.0), Num(3.0), 0});
  EXPECT_TRUE(MayMatch(*Cmp(PredicateOp::kNe, Num(3.0)), b));
}

TEST(CompareScalars, Orders) {
  EXPECT_LT(CompareScalars(*Int(-1), *Int(1)), 0);
  EXPECT_GT(CompareScalars(*Text("\xff"), *Text("a")), 0);
  EXPECT_LT(CompareScalars(*Text("ab"), *Text("abc")), 0);
  EXPECT_EQ(CompareScalars(*Num(-0.0), *Num(0.0)), 0);
  EXPECT_GT(CompareScalars(*Num(kNan), *Num(std::numeric_limits<double>::infinity())), 0);
  EXPECT_EQ(CompareScalars(*Num(kNan), *Num(kNan)), 0);
  const auto decimal = [](const char* text) {
    return arrow::Decimal128Scalar(arrow::Decimal128(text), arrow::decimal128(38, 0));
  };
  EXPECT_LT(CompareScalars(decimal("-99999999999999999999"), decimal("1")), 0);
  EXPECT_LT(CompareScalars(arrow::BooleanScalar(false), arrow::BooleanScalar(true)), 0);
  const auto unit = arrow::timestamp(arrow::TimeUnit::MICRO);
  EXPECT_LT(CompareScalars(arrow::TimestampScalar(-1, unit), arrow::TimestampScalar(0, unit)), 0);
}

TEST(SplitByColumns, TopLevelConjuncts) {
  const auto x = Cmp(PredicateOp::kEq, Int(1), "x");
  const auto y = Cmp(PredicateOp::kEq, Int(1), "y");
  auto split = SplitByColumns(And({x, y, Or({x, y})}), {"x"});
  EXPECT_EQ(split.inside, x);
  EXPECT_EQ(split.outside->ToString(), "(y = 1 AND (x = 1 OR y = 1))");
  split = SplitByColumns(And({x, y}), {"x", "y"});
  EXPECT_EQ(split.inside->ToString(), "(x = 1 AND y = 1)");
  EXPECT_EQ(split.outside, nullptr);
  split = SplitByColumns(nullptr, {"x"});
  EXPECT_EQ(split.inside, nullptr);
  EXPECT_EQ(split.outside, nullptr);
}

std::shared_ptr<arrow::Array> ArrayOf(const std::shared_ptr<arrow::DataType>& type,
                                      const Scalars& values) {
  auto builder = arrow::MakeBuilder(type).ValueOrDie();
  for (const auto& value : values) {
    EXPECT_TRUE((value == nullptr ? builder->AppendNull() : builder->AppendScalar(*value)).ok());
  }
  return builder->Finish().ValueOrDie();
}

std::shared_ptr<arrow::RecordBatch> OneColumn(const std::shared_ptr<arrow::DataType>& type,
                                              const Scalars& values) {
  auto array = ArrayOf(type, values);
  return arrow::RecordBatch::Make(arrow::schema({arrow::field("x", type)}), array->length(),
                                  {array});
}

/// One letter per row: t, f, n.
std::string Letters(const Predicate& predicate, const arrow::RecordBatch& batch) {
  auto result = Evaluate(predicate, batch);
  if (!result.ok()) return result.status().ToString();
  std::string text;
  for (int64_t i = 0; i < (*result)->length(); ++i) {
    text += (*result)->IsNull(i) ? 'n' : ((*result)->Value(i) ? 't' : 'f');
  }
  return text;
}

TEST(Evaluate, ThreeValuedLogic) {
  const auto batch = OneColumn(arrow::int32(), {Int(1), Int(2), nullptr, Int(3)});
  EXPECT_EQ(Letters(*Cmp(PredicateOp::kLt, Int(2)), *batch), "tfnf");
  EXPECT_EQ(Letters(*Not(Cmp(PredicateOp::kLt, Int(2))), *batch), "ftnt");
  EXPECT_EQ(
      Letters(*Or({Cmp(PredicateOp::kLt, Int(2)), Leaf(PredicateOp::kIsNull, {"x"}, {})}), *batch),
      "tftf");
  EXPECT_EQ(Letters(*And({Cmp(PredicateOp::kLt, Int(2)), Or({})}), *batch), "ffff");
  EXPECT_EQ(Letters(*And({}), *batch), "tttt");
  EXPECT_EQ(Letters(*In({Int(1), Int(3)}), *batch), "tfnt");
  EXPECT_EQ(Letters(*In({Int(1), NullOf(arrow::int32())}), *batch), "tnnn");
  EXPECT_EQ(Letters(*Cmp(PredicateOp::kEq, NullOf(arrow::int32())), *batch), "nnnn");
  EXPECT_EQ(Letters(*Leaf(PredicateOp::kIsNotNull, {"x"}, {}), *batch), "ttft");
}

TEST(Evaluate, FloatingPoint) {
  const auto batch = OneColumn(arrow::float64(), {Num(-0.0), Num(kNan), nullptr, Num(1)});
  EXPECT_EQ(Letters(*Cmp(PredicateOp::kEq, Num(0.0)), *batch), "tfnf");
  EXPECT_EQ(Letters(*In({Num(0.0), Num(kNan)}), *batch), "ttnf");
  EXPECT_EQ(Letters(*In({}), *batch), "ffnf");
  EXPECT_EQ(Letters(*Cmp(PredicateOp::kGt, Num(0.5)), *batch), "ftnt");
  EXPECT_EQ(Letters(*Cmp(PredicateOp::kLe, Num(0.5)), *batch), "tfnf");
  EXPECT_EQ(Letters(*Cmp(PredicateOp::kEq, Num(kNan)), *batch), "ftnf");
  EXPECT_EQ(Letters(*Cmp(PredicateOp::kNe, Num(kNan)), *batch), "tfnt");
  EXPECT_EQ(Letters(*Cmp(PredicateOp::kLt, Num(kNan)), *batch), "tfnt");
  EXPECT_EQ(Letters(*Cmp(PredicateOp::kLe, Num(kNan)), *batch), "ttnt");
  EXPECT_EQ(Letters(*Cmp(PredicateOp::kGe, Num(kNan)), *batch), "ftnf");
  EXPECT_EQ(Letters(*Cmp(PredicateOp::kGt, Num(kNan)), *batch), "ffnf");
}

TEST(Evaluate, StringsBooleansDecimals) {
  const auto text = OneColumn(arrow::utf8(), {Text("abc"), Text("abd"), nullptr, Text("\xc3\xa9")});
  EXPECT_EQ(Letters(*Cmp(PredicateOp::kStartsWith, Text("ab")), *text), "ttnf");
  EXPECT_EQ(Letters(*Cmp(PredicateOp::kGt, Text("z")), *text), "ffnt");
  EXPECT_EQ(Letters(*In({Text("abd"), Text("x")}), *text), "ftnf");
  const auto flag = [](bool v) { return std::make_shared<arrow::BooleanScalar>(v); };
  const auto bools = OneColumn(arrow::boolean(), {flag(true), flag(false), nullptr});
  EXPECT_EQ(Letters(*Cmp(PredicateOp::kLt, flag(true)), *bools), "ftn");
  const auto type = arrow::decimal128(10, 2);
  const auto decimal = [&](int v) {
    return std::make_shared<arrow::Decimal128Scalar>(arrow::Decimal128(v), type);
  };
  EXPECT_EQ(Letters(*Cmp(PredicateOp::kGe, decimal(5)), *OneColumn(type, {decimal(4), decimal(5)})),
            "ft");
}

TEST(Evaluate, NestedPathsAndErrors) {
  const auto inner = ArrayOf(arrow::int32(), {Int(1), Int(2), Int(3)});
  auto parent = arrow::StructArray::Make({inner}, std::vector<std::string>{"m"},
                                         arrow::Buffer::FromString("\x05"), 1)
                    .ValueOrDie();
  const auto batch =
      arrow::RecordBatch::Make(arrow::schema({arrow::field("s", parent->type())}), 3, {parent});
  EXPECT_EQ(Letters(*Leaf(PredicateOp::kLt, {"s", "m"}, {Int(3)}), *batch), "tnf");
  EXPECT_EQ(Letters(*Leaf(PredicateOp::kIsNull, {"s", "m"}, {}), *batch), "ftf");
  EXPECT_FALSE(Evaluate(*Leaf(PredicateOp::kIsNull, {"s", "none"}, {}), *batch).ok());
  EXPECT_FALSE(Evaluate(*Leaf(PredicateOp::kIsNull, {"none"}, {}), *batch).ok());
  EXPECT_FALSE(Evaluate(*Leaf(PredicateOp::kIsNull, {"s", "m", "x"}, {}), *batch).ok());
  EXPECT_FALSE(Evaluate(*Leaf(PredicateOp::kLt, {"s", "m"}, {Text("3")}), *batch).ok());
  EXPECT_FALSE(Evaluate(*Leaf(PredicateOp::kStartsWith, {"s", "m"}, {Int(3)}), *batch).ok());
}

/// Random columns, their bounds with strings truncated to two bytes, random predicates over them.
class MayMatchProperty : public ::testing::Test {
 protected:
  static constexpr int kColumns = 3;

  int Pick(int n) { return static_cast<int>(random_() % static_cast<unsigned>(n)); }

  std::shared_ptr<arrow::Scalar> Value(int column) {
    switch (column) {
      case 0:
        return Int(Pick(6) - 3);
      case 1: {
        const double values[] = {
            kNan, -0.0, 0.0, 1.0, -1.0, 2.5, std::numeric_limits<double>::infinity()};
        return Num(values[Pick(7)]);
      }
      default: {
        std::string text;
        const char* letters[] = {"a", "b", "\x7f", "\xc3\xa9"};
        for (int i = Pick(5); i > 0; --i) text += letters[Pick(4)];
        return Text(text);
      }
    }
  }

  void MakeColumn(int column, int rows) {
    Scalars values;
    ColumnBounds bounds;
    int64_t nulls = 0;
    const int null_rate = Pick(4);
    for (int i = 0; i < rows; ++i) {
      auto value = Pick(4) < null_rate ? nullptr : Value(column);
      values.push_back(value);
      if (value == nullptr) {
        ++nulls;
        continue;
      }
      const bool nan =
          column == 1 && std::isnan(static_cast<const arrow::DoubleScalar&>(*value).value);
      // As ORC: NaN that comes later is not in the bounds; as Parquet in Java: it is the maximum.
      if (nan && bounds.min != nullptr && Pick(2) == 0) continue;
      if (bounds.min == nullptr || CompareScalars(*value, *bounds.min) < 0) bounds.min = value;
      if (bounds.max == nullptr || CompareScalars(*value, *bounds.max) > 0) bounds.max = value;
    }
    if (column == 2 && bounds.min != nullptr) Truncate(&bounds);
    bounds.null_count = nulls;
    if (Pick(5) == 0) bounds.min = nullptr;
    if (Pick(5) == 0) bounds.max = nullptr;
    if (Pick(5) == 0) bounds.null_count = std::nullopt;
    const std::string name = Name(column);
    if (Pick(8) != 0) bounds_.Set("/" + name, bounds);
    const std::shared_ptr<arrow::DataType> types[] = {arrow::int32(), arrow::float64(),
                                                      arrow::utf8()};
    arrays_.push_back(ArrayOf(types[column], values));
    fields_.push_back(arrow::field(name, types[column]));
  }

  static void Truncate(ColumnBounds* bounds) {
    const std::string min(static_cast<const arrow::StringScalar&>(*bounds->min).view());
    const std::string max(static_cast<const arrow::StringScalar&>(*bounds->max).view());
    bounds->min = Text(min.substr(0, 2));
    if (max.size() > 2) bounds->max = Text(max.substr(0, 1) + static_cast<char>(max[1] + 1));
  }

  static std::string Name(int column) { return std::string(1, static_cast<char>('a' + column)); }

  PredicatePtr RandomPredicate(int depth) {
    const int kind = Pick(depth > 0 ? 9 : 6);
    const int column = Pick(kColumns);
    if (kind == 6) return Not(RandomPredicate(depth - 1));
    if (kind > 6) {
      std::vector<PredicatePtr> children;
      for (int i = Pick(3); i >= 0; --i) children.push_back(RandomPredicate(depth - 1));
      return kind == 7 ? And(std::move(children)) : Or(std::move(children));
    }
    if (kind == 0)
      return Leaf(Pick(2) ? PredicateOp::kIsNull : PredicateOp::kIsNotNull, {Name(column)}, {});
    if (kind == 1) {
      Scalars literals;
      for (int i = Pick(4); i > 0; --i) {
        literals.push_back(Pick(6) == 0 ? NullOf(fields_[static_cast<size_t>(column)]->type())
                                        : Value(column));
      }
      return Leaf(PredicateOp::kIn, {Name(column)}, std::move(literals));
    }
    if (kind == 2) return Leaf(PredicateOp::kStartsWith, {Name(2)}, {Value(2)});
    const PredicateOp ops[] = {PredicateOp::kEq, PredicateOp::kNe, PredicateOp::kLt,
                               PredicateOp::kLe, PredicateOp::kGt, PredicateOp::kGe};
    return Leaf(ops[Pick(6)], {Name(column)}, {Value(column)});
  }

  std::mt19937 random_;
  MapBounds bounds_;
  arrow::ArrayVector arrays_;
  arrow::FieldVector fields_;
};

TEST_F(MayMatchProperty, NeverPrunesAMatchingRow) {
  int pruned = 0;
  int matched = 0;
  for (unsigned seed = 0; seed < 4000; ++seed) {
    SCOPED_TRACE(seed);
    random_.seed(seed);
    bounds_ = MapBounds();
    arrays_.clear();
    fields_.clear();
    const int rows = 1 + Pick(6);
    bounds_.Rows(rows);
    for (int column = 0; column < kColumns; ++column) MakeColumn(column, rows);
    const auto batch = arrow::RecordBatch::Make(arrow::schema(fields_), rows, arrays_);
    const PredicatePtr predicate = RandomPredicate(3);
    const std::string letters = Letters(*predicate, *batch);
    ASSERT_EQ(letters.size(), static_cast<size_t>(rows)) << letters;
    const bool matches = letters.find('t') != std::string::npos;
    const bool may = MayMatch(*predicate, bounds_);
    ASSERT_TRUE(may || !matches) << predicate->ToString() << "\n" << batch->ToString();
    pruned += !may;
    matched += matches;
  }
  // Both sides are exercised.
  EXPECT_GT(pruned, 300);
  EXPECT_GT(matched, 1000);
}

}  // namespace
}  // namespace kelda
