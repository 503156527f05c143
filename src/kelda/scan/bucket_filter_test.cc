#include "kelda/scan/bucket_filter.h"

#include <arrow/array/util.h>
#include <gtest/gtest.h>

#include "kelda/base/test_matchers.h"
#include "kelda/catalog/catalog.h"
#include "kelda/io/file_io.h"
#include "kelda/row/binary_row.h"

namespace kelda {
namespace {

std::shared_ptr<arrow::Scalar> Int(int32_t v) { return std::make_shared<arrow::Int32Scalar>(v); }
std::shared_ptr<arrow::Scalar> Text(const std::string& v) {
  return std::make_shared<arrow::StringScalar>(v);
}
std::shared_ptr<arrow::Scalar> Double(double v) { return std::make_shared<arrow::DoubleScalar>(v); }
PredicatePtr Eq(const std::string& column, std::shared_ptr<arrow::Scalar> value) {
  return Leaf(PredicateOp::kEq, {column}, {std::move(value)});
}

/// A table (a INT, s STRING, d DOUBLE, pt INT) in 8 buckets by the keys of a test.
class BucketFilterTest : public testing::Test {
 protected:
  void Create(const std::string& keys, const std::string& function = "default") {
    env_.io = MakeMemoryFileIO();
    ASSERT_OK_AND_ASSIGN(auto catalog, OpenFileSystemCatalog("/wh", {}, env_));
    TableDefinition definition;
    definition.fields = {DataField{-1, "a", DataType(TypeRoot::kInt), {}, {}},
                         DataField{-1, "s", DataType::String(), {}, {}},
                         DataField{-1, "d", DataType(TypeRoot::kDouble), {}, {}},
                         DataField{-1, "pt", DataType(TypeRoot::kInt), {}, {}}};
    definition.partition_keys = {"pt"};
    definition.options = {
        {"bucket", "8"}, {"bucket-key", keys}, {"bucket-function.type", function}};
    Identifier table;
    table.database = "default";
    table.table = "t";
    ASSERT_OK(catalog->CreateTable(table, definition, false));
    ASSERT_OK_AND_ASSIGN(table_, catalog->LoadTable(table));
  }

  /// Buckets of `total` that files of partition `pt` may lie in; all = the filter says nothing.
  std::set<int32_t> Accepted(const PredicatePtr& predicate, int32_t total = 8, int32_t pt = 1,
                             int64_t schema_id = 0) {
    std::set<int32_t> accepted;
    auto filter = BucketFilter::Make(*table_, predicate);
    for (int32_t bucket = 0; bucket < total; ++bucket) {
      ManifestEntry entry;
      entry.partition =
          SerializeRow(1, EncodeBinaryRow({DataType(TypeRoot::kInt)}, {Int(pt)}).ValueOrDie());
      entry.bucket = bucket;
      entry.total_buckets = total;
      entry.file.schema_id = schema_id;
      if (filter == nullptr || filter->Accepts(entry).ValueOrDie()) accepted.insert(bucket);
    }
    return accepted;
  }

  std::set<int32_t> BucketsOf(const std::vector<std::shared_ptr<arrow::Scalar>>& keys,
                              int32_t total = 8) {
    auto rule = BucketRule::Of(*table_).ValueOrDie();
    std::set<int32_t> buckets;
    for (const auto& key : keys) {
      auto column = key == nullptr ? arrow::MakeArrayOfNull(arrow::int32(), 1).ValueOrDie()
                                   : arrow::MakeArrayFromScalar(*key, 1).ValueOrDie();
      buckets.insert(rule->function->Buckets({column}, 1, total).ValueOrDie()[0]);
    }
    return buckets;
  }

  static std::set<int32_t> All(int32_t total = 8) {
    std::set<int32_t> all;
    for (int32_t i = 0; i < total; ++i) all.insert(i);
    return all;
  }

  Environment env_;
  TableContextPtr table_;
};

TEST_F(BucketFilterTest, OneKey) {
  Create("a");
  EXPECT_EQ(Accepted(Eq("a", Int(5))), BucketsOf({Int(5)}));
  const auto in = Leaf(PredicateOp::kIn, {"a"}, {Int(1), Int(2), Int(1)});
  EXPECT_EQ(Accepted(in), BucketsOf({Int(1), Int(2)}));
  EXPECT_EQ(Accepted(Leaf(PredicateOp::kIsNull, {"a"}, {})), BucketsOf({nullptr}));
  EXPECT_EQ(Accepted(Or({Eq("a", Int(9)), Leaf(PredicateOp::kIsNull, {"a"}, {})})),
            BucketsOf({Int(9), nullptr}));
  // Other conjuncts do not disturb; the narrowest one counts.
  EXPECT_EQ(Accepted(And({Eq("s", Text("x")), in, Eq("a", Int(2))})), BucketsOf({Int(2)}));
  EXPECT_EQ(Accepted(Or({And({Eq("a", Int(1)), Eq("s", Text("x"))}), Eq("a", Int(4))})),
            BucketsOf({Int(1), Int(4)}));
  // Each file's own number of buckets.
  EXPECT_EQ(Accepted(Eq("a", Int(5)), 3), BucketsOf({Int(5)}, 3));
  EXPECT_EQ(Accepted(Eq("a", Int(5)), 100), (std::set<int32_t>{96}));
}

TEST_F(BucketFilterTest, WhatBindsNothing) {
  Create("a");
  EXPECT_EQ(Accepted(nullptr), All());
  EXPECT_EQ(Accepted(Leaf(PredicateOp::kGt, {"a"}, {Int(1)})), All());
  EXPECT_EQ(Accepted(Leaf(PredicateOp::kNe, {"a"}, {Int(1)})), All());
  EXPECT_EQ(Accepted(Not(Eq("a", Int(1)))), All());
  EXPECT_EQ(Accepted(Or({Eq("a", Int(1)), Eq("s", Text("x"))})), All());
  EXPECT_EQ(Accepted(Eq("s", Text("x"))), All());
  std::vector<std::shared_ptr<arrow::Scalar>> many;
  for (int32_t i = 0; i < 1001; ++i) many.push_back(Int(i * 8));
  EXPECT_EQ(BucketFilter::Make(*table_, Leaf(PredicateOp::kIn, {"a"}, many)), nullptr);
  many.pop_back();
  EXPECT_NE(BucketFilter::Make(*table_, Leaf(PredicateOp::kIn, {"a"}, many)), nullptr);
}

TEST_F(BucketFilterTest, SeveralKeysNeedAllOfThem) {
  Create("s,a");
  EXPECT_EQ(Accepted(Eq("a", Int(5))), All());
  auto rule = BucketRule::Of(*table_).ValueOrDie();
  std::set<int32_t> expected;
  for (const char* s : {"x", "a long text of more than seven bytes"}) {
    for (int32_t a : {1, 2}) {
      arrow::ArrayVector keys = {arrow::MakeArrayFromScalar(*Text(s), 1).ValueOrDie(),
                                 arrow::MakeArrayFromScalar(*Int(a), 1).ValueOrDie()};
      expected.insert(rule->function->Buckets(keys, 1, 8).ValueOrDie()[0]);
    }
  }
  EXPECT_EQ(Accepted(And(
                {Leaf(PredicateOp::kIn, {"a"}, {Int(1), Int(2)}),
                 Or({Eq("s", Text("x")), Eq("s", Text("a long text of more than seven bytes"))})})),
            expected);
}

TEST_F(BucketFilterTest, ZerosAndNansOfFloatingKeys) {
  Create("d");
  EXPECT_EQ(Accepted(Eq("d", Double(0.0))), BucketsOf({Double(0.0), Double(-0.0)}));
  EXPECT_EQ(Accepted(Eq("d", Double(-0.0))), BucketsOf({Double(0.0), Double(-0.0)}));
  EXPECT_EQ(Accepted(Eq("d", Double(1.5))), BucketsOf({Double(1.5)}));
  EXPECT_EQ(Accepted(Eq("d", Double(std::numeric_limits<double>::quiet_NaN()))), All());
}

TEST_F(BucketFilterTest, PartitionsBelowOr) {
  Create("a");
  const auto predicate =
      Or({And({Eq("pt", Int(1)), Eq("a", Int(5))}), And({Eq("pt", Int(2)), Eq("a", Int(6))}),
          And({Eq("pt", Int(3)), Eq("s", Text("x"))})});
  EXPECT_EQ(Accepted(predicate, 8, 1), BucketsOf({Int(5)}));
  EXPECT_EQ(Accepted(predicate, 8, 2), BucketsOf({Int(6)}));
  EXPECT_EQ(Accepted(predicate, 8, 3), All());
}

TEST_F(BucketFilterTest, ModAndHive) {
  Create("a", "mod");
  EXPECT_EQ(Accepted(Eq("a", Int(-3))), (std::set<int32_t>{5}));
  Create("a", "hive");
  EXPECT_EQ(Accepted(Eq("a", Int(11))), (std::set<int32_t>{3}));
}

TEST_F(BucketFilterTest, FilesFromBeforeATypeChangeAreKept) {
  Create("a");
  ASSERT_OK_AND_ASSIGN(auto catalog, OpenFileSystemCatalog("/wh", {}, env_));
  TableSchema changed = *table_->schema;
  changed.id = 1;
  changed.fields[0].type = DataType(TypeRoot::kBigInt);
  ASSERT_OK(env_.io->WriteReplacing(table_->paths.SchemaFile(1), changed.ToJsonText()));
  ASSERT_OK_AND_ASSIGN(table_, TableContext::Load(env_, "default.t", "/wh/default.db/t"));
  ASSERT_EQ(table_->schema->id, 1);
  const auto predicate = Eq("a", std::make_shared<arrow::Int64Scalar>(-1));
  EXPECT_EQ(Accepted(predicate, 8, 1, 0), All());
  EXPECT_EQ(Accepted(predicate, 8, 1, 1).size(), 1u);
}

}  // namespace
}  // namespace kelda
