#include <algorithm>
#include <random>

#include <gtest/gtest.h>

#include <arrow/array/util.h>
#include <arrow/builder.h>

#include "kelda/base/log.h"
#include "kelda/base/test_matchers.h"
#include "kelda/catalog/catalog.h"
#include "kelda/commit/committer.h"
#include "kelda/maintain/compact/compact_table.h"
#include "kelda/maintain/compact/sort_table.h"
#include "kelda/read/file_read.h"
#include "kelda/scan/plan.h"
#include "kelda/write/append_writer.h"

// Random histories of append tables with and without buckets against a list of rows: inserts,
// overwrites, compactions inside and outside of writers, sorting, changes of the number of buckets.
// Reads with = and IN on the bucket key find what a plain filter finds.

namespace kelda {
namespace {

struct Row {
  std::optional<int64_t> a;
  std::optional<std::string> s;
  int32_t pt = 0;
  int64_t id = 0;  ///< unique, in the order of writing

  auto operator<=>(const Row&) const = default;
};

class RandomHistory {
 public:
  explicit RandomHistory(uint64_t seed) : random_(seed) {}

  void Run() {
    Create();
    if (testing::Test::HasFatalFailure()) return;
    const int steps = 25;
    for (int step = 0; step < steps; ++step) {
      SCOPED_TRACE("step " + std::to_string(step));
      const uint64_t what = Next(10);
      if (what < 6) {
        ASSERT_NO_FATAL_FAILURE(Insert());
      } else if (what < 7 && partitioned_) {
        ASSERT_NO_FATAL_FAILURE(OverwritePartition());
      } else if (what < 9) {
        ASSERT_NO_FATAL_FAILURE(Compact());
      } else if (buckets_ < 0) {
        ASSERT_NO_FATAL_FAILURE(Sort());
      }
      ASSERT_NO_FATAL_FAILURE(Check());
    }
  }

 private:
  uint64_t Next(uint64_t n) { return random_() % n; }

  void Create() {
    Log::SetLevel(LogLevel::kError);
    env_.io = MakeMemoryFileIO();
    env_.executor = Executor::MakePool(2);
    env_.budget = MemoryBudget::Make(int64_t{1} << 30);
    partitioned_ = Next(2) == 0;
    buckets_ = Next(4) == 0 ? -1 : static_cast<int32_t>(1 + Next(5));
    TableDefinition definition;
    definition.fields = {DataField{-1, "a", DataType(TypeRoot::kBigInt), {}, {}},
                         DataField{-1, "s", DataType::String(), {}, {}},
                         DataField{-1, "pt", DataType(TypeRoot::kInt), {}, {}},
                         DataField{-1, "id", DataType(TypeRoot::kBigInt), {}, {}}};
    if (partitioned_) definition.partition_keys = {"pt"};
    if (buckets_ > 0) {
      keys_ = std::vector<std::vector<std::string>>{{"a"}, {"s"}, {"s", "a"}}[Next(3)];
      const bool mod = keys_ == std::vector<std::string>{"a"} && Next(3) == 0;
      definition.options["bucket"] = std::to_string(buckets_);
      definition.options["bucket-key"] = keys_.size() == 2 ? "s, a" : keys_[0];
      definition.options["bucket-function.type"] = mod ? "mod" : Next(2) == 0 ? "hive" : "default";
      definition.options["write-only"] = Next(3) == 0 ? "true" : "false";
    }
    definition.options["compaction.min.file-num"] = std::to_string(2 + Next(4));
    definition.options["manifest.merge-min-count"] = "4";
    auto catalog = OpenFileSystemCatalog("/wh", {}, env_).ValueOrDie();
    Identifier id;
    id.database = "default";
    id.table = "t";
    ASSERT_OK(catalog->CreateTable(id, definition, false));
    ASSERT_OK_AND_ASSIGN(table_, catalog->LoadTable(id));
  }

  Row RandomRow(std::optional<int32_t> pt = std::nullopt) {
    Row row;
    if (Next(8) != 0) row.a = static_cast<int64_t>(Next(40)) - 20;
    if (Next(8) != 0) row.s = std::string(Next(3) == 0 ? 12 : 3, static_cast<char>('a' + Next(6)));
    row.pt = pt ? *pt : static_cast<int32_t>(Next(3));
    row.id = next_id_++;
    return row;
  }

  static std::shared_ptr<arrow::RecordBatch> ToBatch(const std::vector<Row>& rows) {
    arrow::Int64Builder a, id;
    arrow::StringBuilder s;
    arrow::Int32Builder pt;
    for (const Row& row : rows) {
      EXPECT_OK(row.a ? a.Append(*row.a) : a.AppendNull());
      EXPECT_OK(row.s ? s.Append(*row.s) : s.AppendNull());
      EXPECT_OK(pt.Append(row.pt));
      EXPECT_OK(id.Append(row.id));
    }
    return arrow::RecordBatch::Make(
        arrow::schema({arrow::field("a", arrow::int64()), arrow::field("s", arrow::utf8()),
                       arrow::field("pt", arrow::int32()), arrow::field("id", arrow::int64())}),
        static_cast<int64_t>(rows.size()),
        {a.Finish().ValueOrDie(), s.Finish().ValueOrDie(), pt.Finish().ValueOrDie(),
         id.Finish().ValueOrDie()});
  }

  void Write(const std::vector<Row>& rows, bool overwrite) {
    AppendWriterOptions options;
    options.overwrite = overwrite;
    ASSERT_OK_AND_ASSIGN(auto writer, AppendWriter::Make(table_, options));
    for (size_t begin = 0; begin < rows.size(); begin += 20) {
      const size_t end = std::min(rows.size(), begin + 20);
      ASSERT_OK(writer->Write(ToBatch(
          {rows.begin() + static_cast<int64_t>(begin), rows.begin() + static_cast<int64_t>(end)})));
    }
    Committable committable;
    ASSERT_OK_AND_ASSIGN(committable.messages, writer->PrepareCommit());
    ASSERT_OK_AND_ASSIGN(auto committer, Committer::Make(table_));
    if (overwrite) {
      ASSERT_OK(committer->Overwrite({}, committable));
    } else {
      ASSERT_OK(committer->Commit(committable));
    }
  }

  void Insert() {
    std::vector<Row> rows;
    const uint64_t count = 1 + Next(60);
    for (uint64_t i = 0; i < count; ++i) rows.push_back(RandomRow());
    ASSERT_NO_FATAL_FAILURE(Write(rows, false));
    model_.insert(model_.end(), rows.begin(), rows.end());
  }

  /// The partition may come out with another number of buckets; what is written later must go there
  /// with that number again.
  void OverwritePartition() {
    const auto pt = static_cast<int32_t>(Next(3));
    std::vector<Row> rows;
    const uint64_t count = 1 + Next(40);
    for (uint64_t i = 0; i < count; ++i) rows.push_back(RandomRow(pt));
    auto own = table_;
    if (buckets_ > 0 && Next(2) == 0) {
      ASSERT_OK_AND_ASSIGN(table_, TableContext::Load(env_, "default.t", "/wh/default.db/t", "main",
                                                      {{"bucket", std::to_string(buckets_ + 3)}}));
    }
    ASSERT_NO_FATAL_FAILURE(Write(rows, true));
    std::erase_if(model_, [&](const Row& row) { return row.pt == pt; });
    model_.insert(model_.end(), rows.begin(), rows.end());
    const bool rescaled = table_ != own;
    if (rescaled) {
      ASSERT_NO_FATAL_FAILURE(Check());
    }
    table_ = own;
    if (rescaled) {
      // Back to the table's number, so that inserts go on.
      std::vector<Row> again;
      for (const Row& row : model_) {
        if (row.pt == pt) again.push_back(row);
      }
      ASSERT_NO_FATAL_FAILURE(Write(again, true));
    }
  }

  void Compact() {
    CompactRequest request;
    if (Next(2) == 0) request.strategy = CompactRequest::Strategy::kMinor;
    ASSERT_OK(CompactTable(table_, request));
  }

  void Sort() {
    SortRequest request;
    request.order = std::vector<SortOrder>{SortOrder::kLexicographic, SortOrder::kZOrder,
                                           SortOrder::kHilbert}[Next(3)];
    request.columns = {"a", "s"};
    ASSERT_OK(SortTable(table_, request));
  }

  std::vector<Row> Read(const PredicatePtr& predicate) {
    ScanRequest request;
    request.snapshot = table_->snapshots->Latest().ValueOrDie();
    request.predicate = predicate;
    auto plan = PlanScan(*table_, request).ValueOrDie();
    TableReadOptions options;
    options.columns = table_->fields();
    options.predicate = predicate;
    options.exact_filter = predicate != nullptr;
    std::vector<Row> rows;
    std::map<std::pair<std::string, int32_t>, int64_t> last_id;
    for (const Split& split : plan.splits) {
      for (const DataFileMeta& file : split.files) {
        auto reader = OpenDataFile(*table_, split, file, options).ValueOrDie();
        while (auto batch = reader->Next().ValueOrDie()) {
          const auto& a = static_cast<const arrow::Int64Array&>(*batch->column(0));
          const auto& s = static_cast<const arrow::StringArray&>(*batch->column(1));
          const auto& pt = static_cast<const arrow::Int32Array&>(*batch->column(2));
          const auto& id = static_cast<const arrow::Int64Array&>(*batch->column(3));
          for (int64_t i = 0; i < batch->num_rows(); ++i) {
            Row row;
            if (!a.IsNull(i)) row.a = a.Value(i);
            if (!s.IsNull(i)) row.s = std::string(s.GetView(i));
            row.pt = pt.Value(i);
            row.id = id.Value(i);
            if (buckets_ > 0) {
              // Rows of a bucket come in the order in which they were written.
              int64_t& last =
                  last_id.try_emplace({split.partition, split.bucket}, -1).first->second;
              EXPECT_LT(last, row.id);
              last = row.id;
            }
            rows.push_back(std::move(row));
          }
        }
      }
    }
    std::sort(rows.begin(), rows.end());
    return rows;
  }

  void Check() {
    auto expected = model_;
    std::sort(expected.begin(), expected.end());
    ASSERT_EQ(Read(nullptr).size(), expected.size());
    ASSERT_TRUE(Read(nullptr) == expected);
    for (int i = 0; i < 3; ++i) {
      const Row probe = model_.empty() || Next(4) == 0
                            ? RandomRow()
                            : model_[static_cast<size_t>(Next(model_.size()))];
      auto is = [](const std::string& column, std::shared_ptr<arrow::Scalar> value) {
        if (value == nullptr) return Leaf(PredicateOp::kIsNull, {column}, {});
        return Leaf(PredicateOp::kEq, {column}, {std::move(value)});
      };
      std::shared_ptr<arrow::Scalar> a, s;
      if (probe.a) a = std::make_shared<arrow::Int64Scalar>(*probe.a);
      if (probe.s) s = std::make_shared<arrow::StringScalar>(*probe.s);
      PredicatePtr predicate = And({is("a", a), is("s", s)});
      std::function<bool(const Row&)> passes = [&](const Row& row) {
        return row.a == probe.a && row.s == probe.s;
      };
      if (i == 1 && a != nullptr) {
        predicate = Leaf(PredicateOp::kIn, {"a"}, {a, std::make_shared<arrow::Int64Scalar>(0)});
        passes = [&](const Row& row) { return row.a && (*row.a == *probe.a || *row.a == 0); };
      }
      auto filtered = expected;
      std::erase_if(filtered, [&](const Row& row) { return !passes(row); });
      ASSERT_TRUE(Read(predicate) == filtered) << predicate->ToString();
    }
  }

  std::mt19937_64 random_;
  Environment env_;
  TableContextPtr table_;
  bool partitioned_ = false;
  int32_t buckets_ = -1;
  std::vector<std::string> keys_;
  std::vector<Row> model_;
  int64_t next_id_ = 0;
};

class BucketPropertyTest : public testing::TestWithParam<uint64_t> {};

TEST_P(BucketPropertyTest, History) { RandomHistory(GetParam()).Run(); }

INSTANTIATE_TEST_SUITE_P(Seeds, BucketPropertyTest, testing::Range<uint64_t>(1, 25));

}  // namespace
}  // namespace kelda
