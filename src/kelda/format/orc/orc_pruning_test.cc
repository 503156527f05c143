// What statistics leave out: never a row that could match, and row groups where the positions lead.

#include <arrow/api.h>
#include <arrow/compute/api.h>
#include <gtest/gtest.h>

#include "kelda/base/test_matchers.h"
#include "kelda/format/orc/orc_file.h"
#include "kelda/format/orc/orc_pruning.h"
#include "kelda/format/orc/orc_test_util.h"

namespace kelda {
namespace {

using namespace orc_test;  // NOLINT

WriterOptions SmallGroups(const std::string& codec = "zstd") {
  WriterOptions options;
  options.compression = codec;
  options.format_options["orc.row.index.stride"] = "1000";
  options.format_options["orc.compress.size"] = "1024";
  return options;
}

std::shared_ptr<arrow::RecordBatch> Counting(int64_t rows) {
  arrow::Int64Builder id;
  arrow::StringBuilder text;
  arrow::DoubleBuilder number;
  for (int64_t i = 0; i < rows; ++i) {
    EXPECT_OK(id.Append(i));
    EXPECT_OK(i / 1000 == 3 ? text.AppendNull() : text.Append(fmt::format("t{:06}", i)));
    EXPECT_OK(number.Append(i == 2500 ? std::nan("") : static_cast<double>(i) / 2));
  }
  return arrow::RecordBatch::Make(
      arrow::schema({arrow::field("id", arrow::int64()), arrow::field("text", arrow::utf8()),
                     arrow::field("number", arrow::float64())}),
      rows, {Unwrap(id.Finish()), Unwrap(text.Finish()), Unwrap(number.Finish())});
}

std::vector<DataField> CountingFields() {
  return {Field(0, "id", DataType(TypeRoot::kBigInt)), Field(1, "text", DataType::String()),
          Field(2, "number", DataType(TypeRoot::kDouble))};
}

class OrcSkipping : public testing::Test {
 protected:
  void SetUp() override {
    auto options = SmallGroups();
    // Two stripes of five row groups.
    options.format_options["orc.stripe.row.count"] = "5000";
    WriteOrc(*io_, "/f.orc", CountingFields(), {Counting(10000)}, options);
  }

  /// First ids of the row groups that are read.
  std::vector<int64_t> GroupsRead(PredicatePtr predicate, std::shared_ptr<RowRanges> rows = {}) {
    ReadOptions options;
    options.columns = CountingFields();
    options.predicate = std::move(predicate);
    options.rows = std::move(rows);
    options.batch_rows = 1000;
    auto read = ReadOrc(*io_, "/f.orc", options);
    EXPECT_EQ(read.statistics.row_groups_total, 2);
    EXPECT_EQ(read.statistics.rows_skipped, 10000 - read.table->num_rows());
    std::vector<int64_t> firsts;
    auto ids = Whole(*read.table, 0);
    int64_t row = 0;
    for (size_t i = 0; i < read.first_rows.size(); ++i) {
      for (int64_t k = 0; k < read.row_counts[i]; ++k, ++row) {
        EXPECT_EQ(static_cast<const arrow::Int64Array&>(*ids).Value(row), read.first_rows[i] + k);
      }
      firsts.push_back(read.first_rows[i]);
    }
    return firsts;
  }

  std::shared_ptr<FileIO> io_ = MakeMemoryFileIO();
};

using Firsts = std::vector<int64_t>;

TEST_F(OrcSkipping, IntegersTextsAndNulls) {
  const auto number = [](int64_t value) { return std::make_shared<arrow::Int64Scalar>(value); };
  const auto text = [](const char* value) { return std::make_shared<arrow::StringScalar>(value); };
  EXPECT_EQ(GroupsRead(Leaf(PredicateOp::kEq, {"id"}, {number(4321)})), Firsts{4000});
  EXPECT_EQ(GroupsRead(Leaf(PredicateOp::kLt, {"id"}, {number(1000)})), Firsts{0});
  EXPECT_EQ(GroupsRead(Leaf(PredicateOp::kGe, {"id"}, {number(8999)})), (Firsts{8000, 9000}));
  EXPECT_EQ(GroupsRead(Leaf(PredicateOp::kIn, {"id"}, {number(1), number(7777)})),
            (Firsts{0, 7000}));
  EXPECT_EQ(GroupsRead(Leaf(PredicateOp::kEq, {"id"}, {number(-1)})), Firsts{});
  EXPECT_EQ(GroupsRead(Leaf(PredicateOp::kEq, {"text"}, {text("t006006")})), Firsts{6000});
  EXPECT_EQ(GroupsRead(Leaf(PredicateOp::kStartsWith, {"text"}, {text("t0020")})), Firsts{2000});
  EXPECT_EQ(GroupsRead(Leaf(PredicateOp::kIsNull, {"text"}, {})), Firsts{3000});
  EXPECT_EQ(GroupsRead(Leaf(PredicateOp::kIsNull, {"missing"}, {})).size(), 10u);
  EXPECT_EQ(GroupsRead(Leaf(PredicateOp::kIsNotNull, {"missing"}, {})), Firsts{});
  EXPECT_EQ(GroupsRead(And({Leaf(PredicateOp::kGt, {"id"}, {number(2000)}),
                            Leaf(PredicateOp::kLt, {"text"}, {text("t002500")})})),
            Firsts{2000});
}

TEST_F(OrcSkipping, ARowGroupWithNaNIsNeverLeftOut) {
  const auto number = [](double value) { return std::make_shared<arrow::DoubleScalar>(value); };
  // 2500 is NaN: nothing is known of its row group, nor of its stripe.
  EXPECT_EQ(GroupsRead(Leaf(PredicateOp::kEq, {"number"}, {number(3500)})), (Firsts{2000, 7000}));
  EXPECT_EQ(GroupsRead(Leaf(PredicateOp::kLt, {"number"}, {number(100)})), (Firsts{0, 2000}));
}

TEST_F(OrcSkipping, WantedRows) {
  auto rows = std::make_shared<RowRanges>();
  rows->Add(10, 20);
  rows->Add(999, 1001);
  rows->Add(4999, 5000);
  rows->Add(9998, 10000);
  EXPECT_EQ(GroupsRead({}, rows), (Firsts{0, 1000, 4000, 9000}));
  const auto number = std::make_shared<arrow::Int64Scalar>(4000);
  EXPECT_EQ(GroupsRead(Leaf(PredicateOp::kGt, {"id"}, {number}), rows), (Firsts{4000, 9000}));
  EXPECT_EQ(GroupsRead({}, std::make_shared<RowRanges>()), Firsts{});
}

class OrcSeeking : public testing::TestWithParam<int> {};

/// Row groups of columns of all kinds, found by the positions in the row index.
TEST_P(OrcSeeking, RandomRowGroups) {
  RandomOrc source(static_cast<uint64_t>(GetParam()) + 500);
  source.random.repetitive = GetParam() % 2 == 0;
  source.random.null_percent = GetParam() % 4 == 0 ? 0 : 20;
  auto fields = source.Schema(4, GetParam() % 3);
  Batches batches;
  for (int i = 0; i < 4; ++i) batches.push_back(source.random.Batch(fields, 1777));
  const char* const kCodecs[] = {"none", "zstd", "snappy"};
  auto io = MakeMemoryFileIO();
  WriteOrc(*io, "/f.orc", fields, batches, SmallGroups(kCodecs[GetParam() % 3]));
  auto all = TableOf(fields, batches);
  for (int round = 0; round < 8; ++round) {
    auto rows = std::make_shared<RowRanges>();
    for (int64_t group = 0; group < 8; ++group) {
      if (source.random.Next(2) == 0) rows->Add(group * 1000, group * 1000 + 1);
    }
    ReadOptions options;
    options.columns = fields;
    options.rows = rows;
    auto read = ReadOrc(*io, "/f.orc", options);
    int64_t row = 0;
    for (size_t i = 0; i < read.first_rows.size(); ++i) {
      auto part = read.table->Slice(row, read.row_counts[i]);
      ExpectTablesEqual(*part, *all->Slice(read.first_rows[i], read.row_counts[i]));
      row += read.row_counts[i];
    }
    int64_t wanted = 0;
    for (const auto& range : rows->ranges()) {
      wanted += std::min<int64_t>(range.begin + 1000, all->num_rows()) - range.begin;
    }
    EXPECT_EQ(read.table->num_rows(), wanted);
  }
}

INSTANTIATE_TEST_SUITE_P(Seeds, OrcSeeking, testing::Range(0, 24));

class OrcPredicates : public testing::TestWithParam<int> {};

TEST_P(OrcPredicates, NoMatchingRowIsLeftOut) {
  ASSERT_OK(InitializeComputeKernels());
  RandomOrc source(static_cast<uint64_t>(GetParam()) + 900);
  source.random.repetitive = GetParam() % 2 == 0;
  auto fields = source.Schema(5, 0);
  Batches batches;
  for (int i = 0; i < 3; ++i) batches.push_back(source.random.Batch(fields, 1000));
  auto io = MakeMemoryFileIO();
  WriteOrc(*io, "/f.orc", fields, batches, SmallGroups());
  auto all = Unwrap(TableOf(fields, batches)->CombineChunksToBatch());
  const PredicateOp kOps[] = {PredicateOp::kEq, PredicateOp::kNe, PredicateOp::kLt,
                              PredicateOp::kLe, PredicateOp::kGt, PredicateOp::kGe};
  for (int round = 0; round < 40; ++round) {
    const auto column = static_cast<int>(source.random.Next(5));
    const auto row = static_cast<int64_t>(source.random.Next(3000));
    auto literal = Unwrap(all->column(column)->GetScalar(row));
    if (!literal->is_valid || all->column(column)->type_id() == arrow::Type::BINARY) continue;
    auto predicate =
        Leaf(kOps[source.random.Next(6)], {fields[static_cast<size_t>(column)].name}, {literal});
    ReadOptions options;
    options.columns = fields;
    options.predicate = predicate;
    auto read = Unwrap(ReadOrc(*io, "/f.orc", options).table->CombineChunksToBatch());
    auto expected = Unwrap(Evaluate(*predicate, *all));
    auto actual = Unwrap(Evaluate(*predicate, *read));
    EXPECT_EQ(actual->true_count(), expected->true_count()) << predicate->ToString();
  }
}

INSTANTIATE_TEST_SUITE_P(Seeds, OrcPredicates, testing::Range(0, 20));

/// Statistics of Java, which the format's own fields tell: bounds hold for what is read.
TEST(OrcBounds, OfJava) {
  auto io = MakeLocalFileIO();
  const std::string path = std::string(KELDA_TEST_DATA) + "/orc/strings.orc";
  auto file = Unwrap(OrcFile::Open(*io, path, -1, {}));
  const auto& footer = file->footer();
  ASSERT_EQ(footer.types.size(), 6u);
  ASSERT_EQ(footer.statistics.size(), 6u);
  // Column 4 is a CHAR: its least value is six blanks, which is read as an empty text.
  EXPECT_EQ(footer.types[4].kind, OrcKind::kChar);
  auto bounds = BoundsFromStatistics(footer.statistics[4], footer.types[4], arrow::utf8(), 6);
  EXPECT_EQ(bounds.min->ToString(), "");
  EXPECT_EQ(bounds.max->ToString(), "日本語   ");
  EXPECT_EQ(bounds.null_count, 1);
  auto ids = BoundsFromStatistics(footer.statistics[1], footer.types[1], arrow::int32(), 6);
  EXPECT_EQ(ids.min->ToString(), "1");
  EXPECT_EQ(ids.max->ToString(), "6");
  EXPECT_EQ(ids.null_count, 0);
  auto other = BoundsFromStatistics(footer.statistics[1], footer.types[1], arrow::utf8(), 6);
  EXPECT_EQ(other.min, nullptr);
  EXPECT_EQ(BoundsFromStatistics("\x08", footer.types[1], arrow::int32(), 6).min, nullptr);
}

}  // namespace
}  // namespace kelda
