#include "kelda/maintain/compact/sort_table.h"

#include <filesystem>
#include <random>

#include <arrow/array/util.h>
#include <gtest/gtest.h>

#include "kelda/base/log.h"
#include "kelda/base/test_matchers.h"
#include "kelda/io/file_io.h"
#include "kelda/maintain/compact/compact_test_table.h"
#include "kelda/maintain/compact/external_sort.h"
#include "kelda/maintain/compact/sort_key.h"
#include "kelda/read/file_read.h"

namespace kelda {
namespace {

std::shared_ptr<arrow::Array> OneValue(const std::shared_ptr<arrow::Scalar>& value,
                                       const std::shared_ptr<arrow::DataType>& type) {
  return value == nullptr ? arrow::MakeArrayOfNull(type, 1).ValueOrDie()
                          : arrow::MakeArrayFromScalar(*value, 1).ValueOrDie();
}

std::string KeyOf(const SortKeyEncoder& encoder, const arrow::ArrayVector& columns) {
  return std::string(encoder.Encode(columns, 1).ValueOrDie()->GetView(0));
}

TEST(SortKeyTest, OrderOfBytesIsOrderOfValues) {
  using Values = std::vector<std::shared_ptr<arrow::Scalar>>;
  auto ints = [](std::vector<int32_t> values) {
    Values out = {nullptr};
    for (int32_t v : values) out.push_back(std::make_shared<arrow::Int32Scalar>(v));
    return out;
  };
  auto doubles = [](std::vector<double> values) {
    Values out = {nullptr};
    for (double v : values) out.push_back(std::make_shared<arrow::DoubleScalar>(v));
    return out;
  };
  auto texts = [](std::vector<std::string> values) {
    Values out = {nullptr};
    for (const auto& v : values) out.push_back(std::make_shared<arrow::StringScalar>(v));
    return out;
  };
  auto decimals = [](std::vector<std::string> values) {
    Values out = {nullptr};
    for (const auto& v : values) {
      out.push_back(std::make_shared<arrow::Decimal128Scalar>(
          arrow::Decimal128::FromString(v).ValueOrDie(), arrow::decimal128(38, 0)));
    }
    return out;
  };
  const double inf = std::numeric_limits<double>::infinity();
  const double nan = std::numeric_limits<double>::quiet_NaN();
  const std::vector<std::pair<DataType, Values>> ascending = {
      {DataType(TypeRoot::kInt), ints({INT32_MIN, -1, 0, 1, 255, 256, INT32_MAX})},
      {DataType(TypeRoot::kDouble),
       doubles({-inf, -1e300, -1, -1e-300, 0, 1e-300, 1, 2, inf, nan})},
      {DataType::String(),
       texts({"", std::string(1, '\0'), std::string("\0a", 2), "a", std::string("a\0", 2),
              std::string("a\0b", 3), "a\x01", "ab", "b", "\xc3\xa9"})},
      {DataType::Decimal(38, 0),
       decimals({"-99999999999999999999999999999999999999", "-1", "0", "1", "18446744073709551616",
                 "99999999999999999999999999999999999999"})}};
  for (const auto& [type, values] : ascending) {
    ASSERT_OK_AND_ASSIGN(auto encoder, SortKeyEncoder::Make(SortOrder::kLexicographic,
                                                            {DataField{0, "c", type, {}, {}}}, {}));
    const auto arrow_type = values[1]->type;
    for (size_t i = 1; i < values.size(); ++i) {
      EXPECT_LT(KeyOf(encoder, {OneValue(values[i - 1], arrow_type)}),
                KeyOf(encoder, {OneValue(values[i], arrow_type)}))
          << type.ToString() << " " << i;
    }
  }
  ASSERT_OK_AND_ASSIGN(auto two,
                       SortKeyEncoder::Make(SortOrder::kLexicographic,
                                            {DataField{0, "a", DataType::String(), {}, {}},
                                             DataField{1, "b", DataType(TypeRoot::kInt), {}, {}}},
                                            {}));
  auto key = [&](const std::string& a, int32_t b) {
    return KeyOf(two, {OneValue(std::make_shared<arrow::StringScalar>(a), arrow::utf8()),
                       OneValue(std::make_shared<arrow::Int32Scalar>(b), arrow::int32())});
  };
  EXPECT_LT(key("a", 9), key("aa", -9));
  EXPECT_LT(key("a", -9), key("a", 9));
  EXPECT_LT(key("a", 9), key("b", -9));
}

/// Along a Hilbert curve neighbours on the curve are neighbours in space; along a z-curve the bits
/// alternate.
TEST(SortKeyTest, CurvesVisitEveryCellOnceAndHilbertWithoutJumps) {
  constexpr int32_t kSide = 64;
  arrow::Int32Builder xs, ys;
  for (int32_t x = 0; x < kSide; ++x) {
    for (int32_t y = 0; y < kSide; ++y) {
      ASSERT_OK(xs.Append(x * 1'000'003));
      ASSERT_OK(ys.Append(y));
    }
  }
  const arrow::ArrayVector columns = {xs.Finish().ValueOrDie(), ys.Finish().ValueOrDie()};
  const std::vector<DataField> fields = {DataField{0, "x", DataType(TypeRoot::kInt), {}, {}},
                                         DataField{1, "y", DataType(TypeRoot::kInt), {}, {}}};
  for (SortOrder order : {SortOrder::kZOrder, SortOrder::kHilbert}) {
    ASSERT_OK_AND_ASSIGN(auto encoder, SortKeyEncoder::Make(order, fields, {columns}));
    ASSERT_OK_AND_ASSIGN(auto keys, encoder.Encode(columns, kSide * kSide));
    std::map<std::string, std::pair<int32_t, int32_t>> by_key;
    for (int32_t i = 0; i < kSide * kSide; ++i)
      by_key.emplace(keys->GetView(i), std::pair(i / kSide, i % kSide));
    ASSERT_EQ(by_key.size(), static_cast<size_t>(kSide * kSide));
    std::optional<std::pair<int32_t, int32_t>> last;
    int64_t distance = 0;
    for (const auto& [key, cell] : by_key) {
      if (last) {
        const int32_t step =
            std::abs(cell.first - last->first) + std::abs(cell.second - last->second);
        if (order == SortOrder::kHilbert) {
          EXPECT_EQ(step, 1);
        }
        distance += step;
      }
      last = cell;
    }
    EXPECT_LT(distance, 3 * kSide * kSide);
  }
}

TEST(SortKeyTest, Refused) {
  EXPECT_FALSE(ParseSortOrder("sideways").ok());
  EXPECT_FALSE(SortKeyEncoder::Make(SortOrder::kZOrder, {}, {}).ok());
  const DataField list{0, "l", DataType::Array(DataType(TypeRoot::kInt)), {}, {}};
  EXPECT_FALSE(SortKeyEncoder::Make(SortOrder::kLexicographic, {list}, {}).ok());
}

TEST(ExternalSorterTest, ManyRunsAndPasses) {
  ASSERT_OK(InitializeComputeKernels());
  ASSERT_OK_AND_ASSIGN(auto folder, TemporaryFolder::Make(testing::TempDir(), "kelda-sort-test"));
  const std::string path = folder->path();
  std::mt19937_64 random(7);
  for (int64_t run_bytes : {int64_t{64} << 20, int64_t{40} << 10}) {
    ExternalSortOptions options;
    options.run_bytes = run_bytes;
    options.fan_in_max = 3;
    options.temporary_path = [&]() -> arrow::Result<std::string> { return path; };
    ExternalSorter sorter(options);
    std::multiset<int64_t> expected;
    for (int batch = 0; batch < 40; ++batch) {
      arrow::Int64Builder numbers;
      arrow::BinaryBuilder keys;
      for (int i = 0; i < 500; ++i) {
        const auto value = static_cast<int64_t>(random() % 5000);
        expected.insert(value);
        ASSERT_OK(numbers.Append(value));
        std::string key(8, '\0');
        for (int b = 0; b < 8; ++b) key[b] = static_cast<char>(value >> (56 - 8 * b));
        ASSERT_OK(keys.Append(key));
      }
      auto rows = arrow::RecordBatch::Make(arrow::schema({arrow::field("n", arrow::int64())}), 500,
                                           {numbers.Finish().ValueOrDie()});
      ASSERT_OK(sorter.Add(
          rows, std::static_pointer_cast<arrow::BinaryArray>(keys.Finish().ValueOrDie())));
    }
    std::vector<int64_t> sorted;
    ASSERT_OK(sorter.Finish([&](std::shared_ptr<arrow::RecordBatch> rows) {
      EXPECT_EQ(rows->num_columns(), 1);
      const auto& numbers = static_cast<const arrow::Int64Array&>(*rows->column(0));
      for (int64_t i = 0; i < rows->num_rows(); ++i) sorted.push_back(numbers.Value(i));
      return arrow::Status::OK();
    }));
    EXPECT_EQ(sorted, std::vector<int64_t>(expected.begin(), expected.end()));
    EXPECT_EQ(sorter.spilled_runs() > 3, run_bytes < (1 << 20));
  }
  EXPECT_TRUE(std::filesystem::is_empty(path));
  folder.reset();
  EXPECT_FALSE(std::filesystem::exists(path));
}

class SortTableTest : public testing::Test {
 protected:
  SortTableTest() : t_(MakeMemoryFileIO()) {
    Log::SetLevel(LogLevel::kError);
    t_.env().executor = Executor::MakePool(3);
    t_.env().budget = MemoryBudget::Make(int64_t{1} << 30);
    request_.temporary_folder = testing::TempDir() + "/kelda-sort-table-test";
  }

  /// 16 times 16 blocks of (k, pt), in an order that clusters neither.
  void InsertSquare() {
    for (int32_t i = 0; i < 64; ++i) ASSERT_OK(t_.Insert(0, 512, (i * 37) % 64));
  }

  size_t FilesFor(const std::string& column, std::shared_ptr<arrow::Scalar> from,
                  std::shared_ptr<arrow::Scalar> to) {
    ScanRequest request;
    request.snapshot = t_.table()->snapshots->Latest().ValueOrDie();
    request.predicate = And({Leaf(PredicateOp::kGe, {column}, {std::move(from)}),
                             Leaf(PredicateOp::kLt, {column}, {std::move(to)})});
    auto plan = PlanScan(*t_.table(), request).ValueOrDie();
    return static_cast<size_t>(plan.statistics.files_planned);
  }

  CompactTestTable t_;
  SortRequest request_;
};

TEST_F(SortTableTest, PartitionsAreSortedOnTheirOwn) {
  ASSERT_OK(t_.Create({}, /*partitioned=*/true));
  for (int i = 11; i >= 0; --i) ASSERT_OK(t_.Insert(i * 100, 100, i % 3));
  request_.columns = {"k"};
  int64_t done = 0;
  request_.on_progress = [&](const CompactProgress& progress) { done = progress.tasks_done; };
  ASSERT_OK_AND_ASSIGN(auto result, SortTable(t_.table(), request_));
  EXPECT_EQ(result.snapshot_ids, (std::vector<int64_t>{13}));
  EXPECT_EQ(result.files_before, 12);
  EXPECT_EQ(result.files_after, 3);
  EXPECT_EQ(done, 3);
  ASSERT_OK_AND_ASSIGN(auto latest, t_.table()->snapshots->Latest());
  EXPECT_EQ(latest->commit_kind, CommitKind::kOverwrite);
  EXPECT_EQ(latest->total_record_count, 1200);
  for (const Split& split : t_.Plan().splits) {
    TableReadOptions read;
    read.columns = {t_.table()->fields()[0]};
    ASSERT_OK_AND_ASSIGN(auto reader, OpenDataFile(*t_.table(), split, split.files.at(0), read));
    int64_t last = -1;
    while (true) {
      ASSERT_OK_AND_ASSIGN(auto batch, reader->Next());
      if (batch == nullptr) break;
      const auto& keys = static_cast<const arrow::Int64Array&>(*batch->column(0));
      for (int64_t i = 0; i < batch->num_rows(); ++i) {
        EXPECT_LT(last, keys.Value(i));
        last = keys.Value(i);
      }
    }
  }
  ASSERT_OK_AND_ASSIGN(auto rows, t_.Rows());
  EXPECT_EQ(rows.size(), 1200u);
}

TEST_F(SortTableTest, OnePartitionOnly) {
  ASSERT_OK(t_.Create({}, /*partitioned=*/true));
  for (int i = 0; i < 4; ++i) ASSERT_OK(t_.Insert(i * 100, 100, i % 2));
  request_.columns = {"v"};
  request_.partitions = Leaf(PredicateOp::kEq, {"pt"}, {std::make_shared<arrow::Int32Scalar>(1)});
  ASSERT_OK_AND_ASSIGN(auto result, SortTable(t_.table(), request_));
  EXPECT_EQ(result.files_before, 2);
  EXPECT_EQ(t_.LiveFileCount(), 3u);
  ASSERT_OK_AND_ASSIGN(auto rows, t_.Rows());
  EXPECT_EQ(rows.size(), 400u);
}

TEST_F(SortTableTest, CurvesPruneBothColumns) {
  for (SortOrder order : {SortOrder::kZOrder, SortOrder::kHilbert, SortOrder::kLexicographic}) {
    SCOPED_TRACE(static_cast<int>(order));
    t_ = CompactTestTable(MakeMemoryFileIO());
    t_.env().executor = Executor::MakePool(3);
    ASSERT_OK(t_.Create({{"target-file-size", "20 kb"},
                         {"file.compression", "none"},
                         {"parquet.enable.dictionary", "false"}}));
    ASSERT_NO_FATAL_FAILURE(InsertSquare());
    ASSERT_OK_AND_ASSIGN(auto before, t_.Rows());
    request_.order = order;
    request_.columns = {"k", "pt"};
    ASSERT_OK(SortTable(t_.table(), request_));
    ASSERT_OK_AND_ASSIGN(auto after, t_.Rows());
    EXPECT_EQ(after, before);
    const size_t files = t_.LiveFileCount();
    const size_t by_k = FilesFor("k", std::make_shared<arrow::Int64Scalar>(100),
                                 std::make_shared<arrow::Int64Scalar>(110));
    const size_t by_pt = FilesFor("pt", std::make_shared<arrow::Int32Scalar>(10),
                                  std::make_shared<arrow::Int32Scalar>(12));
    // One file holds 16384 rows at least, so the table is two files or three.
    ASSERT_GE(files, 2u);
    if (order == SortOrder::kLexicographic) {
      EXPECT_EQ(by_k, 1u);
      EXPECT_EQ(by_pt, files);
    } else {
      EXPECT_LT(by_k + by_pt, 2 * files);
    }
  }
}

TEST_F(SortTableTest, WithinASmallBudgetThroughTemporaryFiles) {
  t_.env().budget = MemoryBudget::Make(24 << 20);
  t_.env().executor = Executor::MakePool(1);
  ASSERT_OK(t_.Create({{"target-file-size", "4 mb"}}));
  for (int i = 7; i >= 0; --i) ASSERT_OK(t_.Insert(i * 40'000, 40'000));
  request_.columns = {"v"};
  ASSERT_OK(SortTable(t_.table(), request_));
  EXPECT_LE(t_.env().budget->peak(), 24 << 20);
  EXPECT_EQ(t_.env().budget->used(), 0);
  ASSERT_OK_AND_ASSIGN(auto rows, t_.Rows());
  EXPECT_EQ(rows.size(), 320'000u);
  EXPECT_TRUE(std::filesystem::is_empty(request_.temporary_folder));
}

TEST_F(SortTableTest, RowsInsertedMeanwhileStay) {
  ASSERT_OK(t_.Create({}));
  for (int i = 0; i < 3; ++i) ASSERT_OK(t_.Insert(i * 10, 10));
  request_.columns = {"k"};
  int times = 0;
  request_.commit.sync_point = [&](std::string_view step) {
    return step == "snapshot" && times++ == 0 ? t_.Insert(30, 10) : arrow::Status::OK();
  };
  ASSERT_OK(SortTable(t_.table(), request_));
  ASSERT_OK_AND_ASSIGN(auto rows, t_.Rows());
  EXPECT_EQ(rows.size(), 40u);
  EXPECT_EQ(t_.LiveFileCount(), 2u);
}

TEST_F(SortTableTest, ADeleteOrCompactionMeanwhileIsAConflict) {
  for (const bool deletes : {true, false}) {
    t_ = CompactTestTable(MakeMemoryFileIO());
    ASSERT_OK(t_.Create({{"deletion-vectors.enabled", "true"}}));
    for (int i = 0; i < 6; ++i) ASSERT_OK(t_.Insert(i * 10, 10));
    request_.columns = {"k"};
    int times = 0;
    request_.commit.sync_point = [&](std::string_view step) -> arrow::Status {
      if (step != "snapshot" || times++ > 0) return arrow::Status::OK();
      if (deletes) return t_.Delete({5});
      return CompactTable(t_.table(), {}).status();
    };
    const auto stored = t_.StoredFiles();
    auto result = SortTable(t_.table(), request_);
    EXPECT_EQ(CodeOf(result.status()), ErrorCode::kConflict) << result.status();
    EXPECT_EQ(t_.StoredFiles().size(), stored.size() + 1);
    ASSERT_OK_AND_ASSIGN(auto rows, t_.Rows());
    EXPECT_EQ(rows.size(), deletes ? 59u : 60u);
  }
}

TEST_F(SortTableTest, DeletedRowsAndRowIds) {
  ASSERT_OK(t_.Create({{"deletion-vectors.enabled", "true"}, {"row-tracking.enabled", "true"}}));
  for (int i = 2; i >= 0; --i) ASSERT_OK(t_.Insert(i * 10, 10));
  ASSERT_OK(t_.Delete({3, 14}));
  ASSERT_OK_AND_ASSIGN(auto before, t_.RowIds());
  request_.columns = {"k"};
  ASSERT_OK(SortTable(t_.table(), request_));
  ASSERT_OK_AND_ASSIGN(auto after, t_.RowIds());
  EXPECT_EQ(after, before);
  EXPECT_EQ(after.size(), 28u);
  for (const Split& split : t_.Plan().splits) EXPECT_TRUE(split.deletion_files.empty());
}

TEST_F(SortTableTest, Refused) {
  ASSERT_OK(t_.Create({}, /*partitioned=*/true));
  ASSERT_OK(t_.Insert(0, 10));
  auto error = [&](std::vector<std::string> columns) {
    request_.columns = std::move(columns);
    return SortTable(t_.table(), request_).status().message();
  };
  EXPECT_NE(error({"pt"}).find("partition column"), std::string::npos);
  EXPECT_NE(error({"nope"}).find("no column 'nope'"), std::string::npos);
  EXPECT_NE(error({"k", "k"}).find("named twice"), std::string::npos);
  EXPECT_NE(error({}).find("no column to sort by"), std::string::npos);
  EXPECT_EQ(t_.LatestSnapshotId(), 1);
}

}  // namespace
}  // namespace kelda
