#include "kelda/format/parquet/parquet_pruning.h"

#include <cmath>

#include <arrow/compute/api.h>
#include <gtest/gtest.h>

#include "kelda/format/parquet/parquet_test_util.h"

namespace kelda {
namespace {

using parquet_test::ExpectTablesEqual;
using parquet_test::Field;
using parquet_test::RandomTable;
using parquet_test::ReadFile;
using parquet_test::TableOf;
using parquet_test::Unwrap;
using parquet_test::WriteFile;

std::shared_ptr<arrow::Scalar> Int(int32_t value) {
  return std::make_shared<arrow::Int32Scalar>(value);
}

/// Rows of `table` for which `predicate` is true.
std::shared_ptr<arrow::Table> Filter(const std::shared_ptr<arrow::Table>& table,
                                     const Predicate& predicate) {
  arrow::TableBatchReader reader(table);
  std::vector<std::shared_ptr<arrow::RecordBatch>> kept;
  for (const auto& batch : Unwrap(reader.ToRecordBatches())) {
    auto mask = Unwrap(Evaluate(predicate, *batch));
    kept.push_back(Unwrap(arrow::compute::Filter(batch, mask)).record_batch());
  }
  return Unwrap(arrow::Table::FromRecordBatches(table->schema(), kept));
}

/// A file of 4 row groups of 10,000 ascending numbers in pages of 1,000 rows, with a text and a
/// list beside them.
class AscendingFile : public testing::Test {
 protected:
  void SetUp() override {
    ASSERT_TRUE(arrow::compute::Initialize().ok());
    WriterOptions options;
    options.format_options["parquet.page.row.count.limit"] = "1000";
    const FileFormat* format = Unwrap(FindFormat("parquet"));
    auto writer = Unwrap(format->CreateWriter(*io_, "/f.parquet", fields_, options));
    for (int group = 0; group < 4; ++group) {
      auto batch = Rows(group * 10000, 10000);
      ASSERT_TRUE(writer->Write(*batch).ok());
      ASSERT_TRUE(writer->FlushRowGroup().ok());
      batches_.push_back(batch);
    }
    Unwrap(writer->Finish());
    options_.columns = fields_;
  }

  std::shared_ptr<arrow::RecordBatch> Rows(int first, int count) {
    auto schema = Unwrap(ToArrowSchema(fields_));
    arrow::Int32Builder n;
    arrow::StringBuilder s;
    auto lists = Unwrap(arrow::MakeBuilder(schema->field(2)->type()));
    auto* list = static_cast<arrow::ListBuilder*>(lists.get());
    for (int i = first; i < first + count; ++i) {
      EXPECT_TRUE(n.Append(i).ok());
      EXPECT_TRUE((i % 7 == 0 ? s.AppendNull() : s.Append(fmt::format("{:06}", i))).ok());
      EXPECT_TRUE(list->Append().ok());
      for (int j = 0; j < i % 4; ++j) {
        EXPECT_TRUE(static_cast<arrow::Int32Builder*>(list->value_builder())->Append(i + j).ok());
      }
    }
    return arrow::RecordBatch::Make(
        schema, count,
        arrow::ArrayVector{Unwrap(n.Finish()), Unwrap(s.Finish()), Unwrap(lists->Finish())});
  }

  parquet_test::ReadBack Read(PredicatePtr predicate) {
    options_.predicate = std::move(predicate);
    return ReadFile(*io_, "/f.parquet", options_);
  }

  std::vector<DataField> fields_ = {Field(0, "n", DataType(TypeRoot::kInt, false)),
                                    Field(1, "s", DataType::String()),
                                    Field(2, "l", DataType::Array(DataType(TypeRoot::kInt)))};
  std::shared_ptr<FileIO> io_ = MakeMemoryFileIO();
  std::vector<std::shared_ptr<arrow::RecordBatch>> batches_;
  ReadOptions options_;
};

TEST_F(AscendingFile, SkipsRowGroupsAndPages) {
  auto back = Read(Leaf(PredicateOp::kEq, {"n"}, {Int(23456)}));
  EXPECT_EQ(back.statistics.row_groups_total, 4);
  EXPECT_EQ(back.statistics.row_groups_read, 1);
  EXPECT_EQ(back.statistics.rows_skipped, 39000);
  ASSERT_EQ(back.table->num_rows(), 1000);
  EXPECT_EQ(back.first_rows, std::vector<int64_t>{23000});
  ExpectTablesEqual(*back.table, *TableOf(fields_, {Rows(23000, 1000)}));
}

TEST_F(AscendingFile, WantedRowsSkipRowGroupsAndPages) {
  RowRanges rows;
  rows.Add(1500, 1501);
  rows.Add(1700, 1702);
  rows.Add(9999, 10001);
  rows.Add(39000, 40000);
  options_.rows = std::make_shared<const RowRanges>(rows);
  auto back = Read(nullptr);
  EXPECT_EQ(back.statistics.row_groups_read, 3);
  EXPECT_EQ(back.first_rows, (std::vector<int64_t>{1500, 9999, 10000, 39000}));
  // Two near ones are read with what is between them.
  EXPECT_EQ(back.row_counts, (std::vector<int64_t>{202, 1, 1, 1000}));
  ExpectTablesEqual(*back.table, *TableOf(fields_, {Rows(1500, 202), Rows(9999, 1), Rows(10000, 1),
                                                    Rows(39000, 1000)}));
  // Together with a predicate: pages that both leave.
  back = Read(Leaf(PredicateOp::kGe, {"n"}, {Int(39500)}));
  EXPECT_EQ(back.first_rows, std::vector<int64_t>{39000});
  options_.rows = std::make_shared<const RowRanges>();
  back = Read(nullptr);
  EXPECT_EQ(back.statistics.row_groups_read, 0);
  EXPECT_EQ(back.table->num_rows(), 0);
}

TEST(WantedParts, CutsRangesAndJoinsNearOnes) {
  using Parts = std::vector<RowRange>;
  RowRanges wanted;
  wanted.Add(90, 110);
  wanted.Add(5000, 5001);
  wanted.Add(5500, 5600);
  wanted.Add(20000, 30000);
  EXPECT_EQ(WantedParts({{0, 10000}}, wanted, 100), (Parts{{0, 10}, {4900, 5500}}));
  EXPECT_EQ(WantedParts({{0, 4900}, {5450, 9000}}, wanted, 100), (Parts{{0, 10}, {5450, 5500}}));
  EXPECT_EQ(WantedParts({{0, 5}}, wanted, 10000), Parts{});
  EXPECT_EQ(WantedParts({}, wanted, 0), Parts{});
  EXPECT_EQ(WantedParts({{0, 100}}, RowRanges::All(1 << 20), 0), (Parts{{0, 100}}));
}

TEST_F(AscendingFile, SeveralRangesKeepTheirPositions) {
  auto text = std::make_shared<arrow::StringScalar>("005500");
  options_.batch_rows = 700;
  auto back = Read(Or({Leaf(PredicateOp::kIn, {"n"}, {Int(1500), Int(8999), Int(39999)}),
                       Leaf(PredicateOp::kEq, {"s"}, {text})}));
  EXPECT_EQ(back.first_rows,
            (std::vector<int64_t>{1000, 1700, 5000, 5700, 8000, 8700, 39000, 39700}));
  EXPECT_EQ(back.row_counts, (std::vector<int64_t>{700, 300, 700, 300, 700, 300, 700, 300}));
  ExpectTablesEqual(*back.table, *TableOf(fields_, {Rows(1000, 1000), Rows(5000, 1000),
                                                    Rows(8000, 1000), Rows(39000, 1000)}));
}

TEST_F(AscendingFile, ProjectionWithoutThePredicateColumn) {
  options_.columns = {fields_[2]};
  auto back = Read(Leaf(PredicateOp::kGe, {"n"}, {Int(39500)}));
  ASSERT_EQ(back.table->num_rows(), 1000);
  EXPECT_TRUE(parquet_test::Whole(*back.table, 0)->Equals(Rows(39000, 1000)->column(2)));
}

TEST_F(AscendingFile, NothingMatches) {
  auto back = Read(Leaf(PredicateOp::kGt, {"n"}, {Int(40000)}));
  EXPECT_EQ(back.table->num_rows(), 0);
  EXPECT_EQ(back.statistics.row_groups_read, 0);
  EXPECT_EQ(back.statistics.rows_skipped, 40000);
  // A column that the file lacks is null.
  EXPECT_EQ(Read(Leaf(PredicateOp::kEq, {"absent"}, {Int(1)})).table->num_rows(), 0);
  EXPECT_EQ(Read(Leaf(PredicateOp::kIsNull, {"absent"}, {})).table->num_rows(), 40000);
  EXPECT_EQ(Read(Leaf(PredicateOp::kIsNull, {"n"}, {})).table->num_rows(), 0);
}

TEST_F(AscendingFile, ListsAndUnfittingTypesPruneNothing) {
  EXPECT_EQ(Read(Leaf(PredicateOp::kIsNull, {"l"}, {})).table->num_rows(), 40000);
  auto wrong = std::make_shared<arrow::StringScalar>("x");
  EXPECT_EQ(Read(Leaf(PredicateOp::kEq, {"n"}, {wrong})).table->num_rows(), 40000);
}

TEST(ParquetPruning, NotANumberHidesFromTheMaximum) {
  std::vector<DataField> fields = {Field(0, "d", DataType(TypeRoot::kDouble))};
  arrow::DoubleBuilder builder;
  for (double value : {1.0, 2.0, std::nan("")}) ASSERT_TRUE(builder.Append(value).ok());
  auto batch = arrow::RecordBatch::Make(Unwrap(ToArrowSchema(fields)), 3,
                                        arrow::ArrayVector{Unwrap(builder.Finish())});
  auto io = MakeMemoryFileIO();
  WriteFile(*io, "/f.parquet", fields, {batch});
  ReadOptions options;
  options.columns = fields;
  auto rows = [&](PredicateOp op, double value) {
    options.predicate = Leaf(op, {"d"}, {std::make_shared<arrow::DoubleScalar>(value)});
    return ReadFile(*io, "/f.parquet", options).table->num_rows();
  };
  EXPECT_EQ(rows(PredicateOp::kGt, 100.0), 3);
  EXPECT_EQ(rows(PredicateOp::kEq, std::nan("")), 3);
  EXPECT_EQ(rows(PredicateOp::kLt, 0.5), 0);
}

/// Random predicates over the flat columns and members of ROWs of a random batch.
PredicatePtr RandomPredicate(RandomTable* random, const std::vector<DataField>& fields,
                             const arrow::RecordBatch& batch, int depth) {
  if (depth > 0 && random->Next(2) == 0) {
    std::vector<PredicatePtr> children;
    for (uint64_t n = 1 + random->Next(3); n > 0; --n) {
      children.push_back(RandomPredicate(random, fields, batch, depth - 1));
    }
    switch (random->Next(5)) {
      case 0: {
        auto negation = std::make_shared<Predicate>();
        negation->op = PredicateOp::kNot;
        negation->children = {children[0]};
        return negation;
      }
      case 1:
      case 2:
        return Or(children);
      default:
        return And(children);
    }
  }
  const auto i = static_cast<int>(random->Next(fields.size()));
  std::vector<std::string> path = {fields[i].name};
  DataType type = fields[i].type;
  std::shared_ptr<arrow::Array> array = batch.column(i);
  while (type.root() == TypeRoot::kRow) {
    const auto member = static_cast<int>(random->Next(type.fields().size()));
    path.push_back(type.fields()[member].name);
    array = Unwrap(static_cast<const arrow::StructArray&>(*array).GetFlattenedField(member));
    type = DataType(type.fields()[member].type);
  }
  if (type.IsNested() || type.root() == TypeRoot::kVariant || random->Next(8) == 0) {
    return Leaf(random->Next(2) ? PredicateOp::kIsNull : PredicateOp::kIsNotNull, path, {});
  }
  if (array->null_count() == array->length()) return Leaf(PredicateOp::kIsNull, path, {});
  auto literal = [&] {
    while (true) {
      auto scalar = Unwrap(array->GetScalar(static_cast<int64_t>(random->Next(array->length()))));
      if (scalar->is_valid) return scalar;
    }
  };
  const PredicateOp ops[] = {PredicateOp::kEq, PredicateOp::kNe, PredicateOp::kLt,
                             PredicateOp::kLe, PredicateOp::kGt, PredicateOp::kGe};
  if (random->Next(6) == 0) return Leaf(PredicateOp::kIn, path, {literal(), literal()});
  return Leaf(ops[random->Next(6)], path, {literal()});
}

TEST(ParquetPruning, NeverLosesARow) {
  ASSERT_TRUE(arrow::compute::Initialize().ok());
  int64_t skipped = 0;
  for (uint64_t seed = 1; seed <= 40; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    RandomTable random(seed);
    random.repetitive = seed % 2 == 0;
    auto fields = random.Schema(4, static_cast<int>(seed % 3));
    auto whole = random.Batch(fields, 600);
    // Sorted by the first column where it has an order, so that pages differ.
    auto sorted = arrow::compute::SortIndices(*whole->column(0));
    if (sorted.ok()) {
      auto taken = arrow::compute::Take(whole, *sorted);
      if (taken.ok()) whole = taken->record_batch();
    }
    WriterOptions options;
    options.format_options["parquet.page.row.count.limit"] = "25";
    auto io = MakeMemoryFileIO();
    const FileFormat* format = Unwrap(FindFormat("parquet"));
    auto writer = Unwrap(format->CreateWriter(*io, "/f.parquet", fields, options));
    for (int64_t at = 0; at < 600; at += 150) {
      for (int64_t part = at; part < at + 150; part += 30) {
        ASSERT_TRUE(writer->Write(*whole->Slice(part, 30)).ok());
      }
      ASSERT_TRUE(writer->FlushRowGroup().ok());
    }
    Unwrap(writer->Finish());
    auto table = TableOf(fields, {whole});
    for (int round = 0; round < 12; ++round) {
      ReadOptions read;
      read.columns = fields;
      read.batch_rows = static_cast<int64_t>(1 + random.Next(100));
      read.predicate = RandomPredicate(&random, fields, *whole, 2);
      SCOPED_TRACE(read.predicate->ToString());
      auto back = ReadFile(*io, "/f.parquet", read);
      EXPECT_EQ(back.table->num_rows() + back.statistics.rows_skipped, 600);
      skipped += back.statistics.rows_skipped;
      ExpectTablesEqual(*Filter(back.table, *read.predicate), *Filter(table, *read.predicate));
      for (size_t i = 0; i < back.first_rows.size(); ++i) {
        const int64_t first = back.first_rows[i];
        ASSERT_GE(first, 0);
        ASSERT_LE(first + back.row_counts[i], 600);
      }
    }
  }
  EXPECT_GT(skipped, 40 * 12 * 600 / 20);
}

}  // namespace
}  // namespace kelda
