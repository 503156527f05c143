// Random columns and predicates: the rows that an index leaves hold every row that the plain filter
// leaves, and no other where the index promises it.
#include <cmath>
#include <random>

#include <gtest/gtest.h>

#include "kelda/base/test_matchers.h"
#include "kelda/format/file_index/file_index_test_util.h"
#include "kelda/types/arrow_mapping.h"

namespace kelda {
namespace {

constexpr uint64_t kSeed = 20260501;

class Generator {
 public:
  explicit Generator(uint64_t seed) : random_(seed) {}

  int64_t Below(int64_t n) { return static_cast<int64_t>(random_() % static_cast<uint64_t>(n)); }

  std::shared_ptr<arrow::Scalar> Value(const DataType& type) {
    const auto arrow_type = ToArrowType(type).ValueOrDie();
    switch (arrow_type->id()) {
      case arrow::Type::BOOL:
        return arrow::MakeScalar(Below(2) == 0);
      case arrow::Type::FLOAT:
        return arrow::MakeScalar(static_cast<float>(Floating()));
      case arrow::Type::DOUBLE:
        return arrow::MakeScalar(Floating());
      case arrow::Type::STRING:
        return std::make_shared<arrow::StringScalar>(Text());
      case arrow::Type::BINARY:
        return std::make_shared<arrow::BinaryScalar>(Text());
      case arrow::Type::DECIMAL128:
        return std::make_shared<arrow::Decimal128Scalar>(arrow::Decimal128(Integer()), arrow_type);
      default:
        break;
    }
    int64_t value = Integer();
    if (arrow_type->id() == arrow::Type::INT8) value = static_cast<int8_t>(value);
    if (arrow_type->id() == arrow::Type::INT16) value = static_cast<int16_t>(value);
    if (arrow_type->id() == arrow::Type::TIME32) value = std::abs(value) % 86400000;
    if (arrow_type->id() != arrow::Type::INT64 && arrow_type->id() != arrow::Type::TIMESTAMP)
      value = static_cast<int32_t>(value);
    return arrow::MakeScalar(arrow::int64(), value)
        .ValueOrDie()
        ->CastTo(arrow_type)
        .ValueOr(arrow::MakeScalar(arrow_type, static_cast<int32_t>(value)).ValueOrDie());
  }

  Scalars Column(const DataType& type, int64_t rows) {
    const int64_t null_share = Below(4);
    Scalars values;
    for (int64_t i = 0; i < rows; ++i)
      values.push_back(Below(10) < null_share ? nullptr : Value(type));
    return values;
  }

  PredicatePtr Predicate(const DataType& type, int depth = 0) {
    if (depth < 3 && Below(3) == 0) {
      std::vector<PredicatePtr> children;
      for (int64_t n = 1 + Below(3); n > 0; --n) children.push_back(Predicate(type, depth + 1));
      switch (Below(3)) {
        case 0:
          return And(std::move(children));
        case 1:
          return Or(std::move(children));
        default:
          return Not(children[0]);
      }
    }
    static constexpr PredicateOp kOps[] = {
        PredicateOp::kEq, PredicateOp::kNe, PredicateOp::kLt,     PredicateOp::kLe,
        PredicateOp::kGt, PredicateOp::kGe, PredicateOp::kIsNull, PredicateOp::kIsNotNull,
        PredicateOp::kIn, PredicateOp::kIn, PredicateOp::kEq,     PredicateOp::kStartsWith};
    const PredicateOp op = kOps[Below(type.IsString() ? 12 : 11)];
    Scalars literals;
    if (op == PredicateOp::kIn) {
      for (int64_t n = Below(5); n >= 0; --n) literals.push_back(Literal(type));
    } else if (op != PredicateOp::kIsNull && op != PredicateOp::kIsNotNull) {
      literals.push_back(Literal(type));
    }
    return Leaf(op, {"c"}, std::move(literals));
  }

 private:
  std::shared_ptr<arrow::Scalar> Literal(const DataType& type) {
    if (Below(20) == 0) return arrow::MakeNullScalar(ToArrowType(type).ValueOrDie());
    return Value(type);
  }
  int64_t Integer() {
    switch (Below(8)) {
      case 0:
        return Below(1 << 20) - (1 << 19);
      case 1:
        return 99999999 - Below(3);
      default:
        return Below(12) - 6;
    }
  }
  double Floating() {
    static constexpr double kSpecial[] = {0.0, -0.0, NAN, -NAN, INFINITY, -INFINITY, 1e30, -1e-30};
    return Below(3) == 0 ? kSpecial[Below(8)] : static_cast<double>(Below(9) - 4) / 2;
  }
  std::string Text() {
    static const char* const kParts[] = {"", "a", "b", "ab", "\xc3\xa9", "\xe6\x97\xa5", "zz", "~"};
    std::string text;
    for (int64_t n = Below(3); n >= 0; --n) text += kParts[Below(8)];
    return text;
  }

  std::mt19937_64 random_;
};

std::vector<DataType> Types() {
  std::vector<DataType> types;
  for (const char* text : {"BOOLEAN",
                           "TINYINT",
                           "SMALLINT",
                           "INT",
                           "BIGINT",
                           "FLOAT",
                           "DOUBLE",
                           "DECIMAL(10, 2)",
                           "DECIMAL(18, 0)",
                           "DECIMAL(38, 4)",
                           "DATE",
                           "TIME(3)",
                           "TIMESTAMP(0)",
                           "TIMESTAMP(3)",
                           "TIMESTAMP(6)",
                           "TIMESTAMP(9)",
                           "TIMESTAMP(3) WITH LOCAL TIME ZONE",
                           "STRING",
                           "CHAR(20)",
                           "BYTES"}) {
    types.push_back(DataType::Parse(text).ValueOrDie());
  }
  return types;
}

IndexOptions RandomOptions(const ColumnIndexType& index, Generator* generator) {
  if (&index == &BloomFilterIndex())
    return {{"items", std::to_string(generator->Below(200))}, {"fpp", "0.05"}};
  if (&index == &BitmapIndex()) {
    return {{"version", std::to_string(1 + generator->Below(2))},
            {"index-block-size", std::to_string(20 + generator->Below(200)) + "b"}};
  }
  if (&index == &RangeBitmapIndex() && generator->Below(2) == 0)
    return {{"chunk-size", std::to_string(generator->Below(100)) + "b"}};
  return {};
}

/// Whether the index answers `predicate` without a row too many.
bool IsExact(const ColumnIndexType& index, const KeyForm& form, const Predicate& predicate) {
  if (!index.exact() || form.lossy()) return false;
  for (const auto& child : predicate.children) {
    if (!IsExact(index, form, *child)) return false;
  }
  switch (predicate.op) {
    case PredicateOp::kLt:
    case PredicateOp::kLe:
    case PredicateOp::kGt:
    case PredicateOp::kGe:
      return &index != &BitmapIndex();
    case PredicateOp::kStartsWith:
    case PredicateOp::kNot:
      // The negation of a prefix is not asked of the dictionary.
      return false;
    default:
      return true;
  }
}

void Check(const ColumnIndexType& index, const DataType& type, Generator* generator, int rounds,
           int64_t rows_max, int64_t* exact_checks) {
  const KeyForm form = KeyForm::Make(type).ValueOrDie();
  for (int round = 0; round < rounds; ++round) {
    const int64_t rows = generator->Below(rows_max);
    auto column = MakeColumn(type, generator->Column(type, rows));
    ASSERT_OK_AND_ASSIGN(auto bytes,
                         BuildIndex(index, type, RandomOptions(index, generator), *column));
    const std::string container = OneIndex(index, bytes);
    auto batch = arrow::RecordBatch::Make(arrow::schema({arrow::field("c", column->type())}), rows,
                                          {column});
    for (int p = 0; p < 8; ++p) {
      const PredicatePtr predicate = generator->Predicate(type);
      SCOPED_TRACE(predicate->ToString());
      ASSERT_OK_AND_ASSIGN(auto selected, Select(container, type, *predicate, rows));
      ASSERT_OK_AND_ASSIGN(auto wanted, Evaluate(*predicate, *batch));
      const bool exact = IsExact(index, form, *predicate);
      *exact_checks += exact ? 1 : 0;
      for (int64_t row = 0; row < rows; ++row) {
        const bool matches = wanted->IsValid(row) && wanted->Value(row);
        const bool kept = selected.Contains(static_cast<uint32_t>(row));
        ASSERT_TRUE(kept || !matches) << "row " << row << " is lost";
        ASSERT_TRUE(!exact || matches || !kept) << "row " << row << " is too many";
      }
    }
  }
}

TEST(FileIndexProperty, SelectsNoRowTooFew) {
  Generator generator(kSeed);
  int64_t exact_checks = 0;
  int combinations = 0;
  for (const ColumnIndexType* index : ColumnIndexTypes()) {
    for (const DataType& type : Types()) {
      if (!index->Supports(type)) continue;
      SCOPED_TRACE(std::string(index->name()) + " on " + type.ToString());
      Check(*index, type, &generator, 25, 60, &exact_checks);
      ASSERT_FALSE(testing::Test::HasFatalFailure());
      ++combinations;
    }
  }
  EXPECT_GT(combinations, 50);
  EXPECT_GT(exact_checks, 3000);
}

TEST(FileIndexProperty, LargeColumnsToo) {
  Generator generator(kSeed + 1);
  int64_t exact_checks = 0;
  for (const ColumnIndexType* index : ColumnIndexTypes()) {
    for (const char* text : {"INT", "STRING"}) {
      const DataType type = DataType::Parse(text).ValueOrDie();
      if (!index->Supports(type)) continue;
      SCOPED_TRACE(std::string(index->name()) + " on " + text);
      Check(*index, type, &generator, 1, 150000, &exact_checks);
    }
  }
}

}  // namespace
}  // namespace kelda
