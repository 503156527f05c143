#include <algorithm>
#include <random>
#include <thread>

#include <gtest/gtest.h>

#include <arrow/compute/api.h>

#include "kelda/base/log.h"
#include "kelda/base/test_matchers.h"
#include "kelda/catalog/catalog.h"
#include "kelda/commit/committer.h"
#include "kelda/format/parquet/parquet_test_util.h"
#include "kelda/read/file_read.h"
#include "kelda/scan/plan.h"
#include "kelda/types/arrow_mapping.h"
#include "kelda/write/append_writer.h"
#include "tests/tools/golden_json.h"

// Random tables against the naive model: a list of rows. What was written comes back, a filtered
// read is the filter applied to what was written, whatever was pruned on the way.

namespace kelda {
namespace {

using Lines = std::vector<std::string>;

bool CanPartition(const DataType& type) {
  switch (type.root()) {
    case TypeRoot::kFloat:
    case TypeRoot::kDouble:
      // -0.0 and NaN have several bytes for one text.
      return false;
    default:
      return !type.IsNested() && !type.IsBytes() && type.root() != TypeRoot::kVariant &&
             type.root() != TypeRoot::kBlob;
  }
}

/// `type` with lengths that any random value keeps, at every depth.
DataType WithAmpleLengths(const DataType& type) {
  const bool nullable = type.nullable();
  switch (type.root()) {
    case TypeRoot::kChar:
    case TypeRoot::kVarChar:
    case TypeRoot::kBinary:
    case TypeRoot::kVarBinary:
      return DataType::Sized(type.root(), 100'000, nullable);
    case TypeRoot::kArray:
      return DataType::Array(WithAmpleLengths(type.element()), nullable);
    case TypeRoot::kMultiset:
      return DataType::Multiset(WithAmpleLengths(type.element()), nullable);
    case TypeRoot::kMap:
      return DataType::Map(WithAmpleLengths(type.key()), WithAmpleLengths(type.value()), nullable);
    case TypeRoot::kRow: {
      std::vector<DataField> members = type.fields();
      for (DataField& member : members) member.type = WithAmpleLengths(member.type);
      return DataType::Row(std::move(members), nullable);
    }
    default:
      return type;
  }
}

class RandomPaimonTable {
 public:
  explicit RandomPaimonTable(uint64_t seed) : random_(seed) {}

  void Create() {
    env_.io = MakeMemoryFileIO();
    env_.executor = Executor::MakePool(2);
    env_.budget = MemoryBudget::Make(int64_t{1} << 30);
    auto catalog = parquet_test::Unwrap(OpenFileSystemCatalog("/wh", {}, env_));
    TableDefinition definition;
    // The JSON form has no text for VARIANT.
    auto has_variant = [](const DataField& f) {
      return f.type.ToString().find("VARIANT") != std::string::npos;
    };
    do {
      definition.fields = random_.Schema(static_cast<int>(2 + random_.Next(6)), 2);
      std::erase_if(definition.fields, has_variant);
    } while (definition.fields.size() < 2);
    for (DataField& field : definition.fields) field.type = WithAmpleLengths(field.type);
    for (const DataField& field : definition.fields) {
      if (definition.partition_keys.size() < 2 && CanPartition(field.type) &&
          random_.Next(4) == 0) {
        definition.partition_keys.push_back(field.name);
      }
    }
    definition.options["manifest.merge-min-count"] = "3";
    definition.options["target-file-size"] = "64 kb";
    definition.options["source.split.target-size"] = "1 mb";
    definition.options["metadata.stats-mode"] =
        std::vector<std::string>{"truncate(3)", "full", "counts", "none"}[random_.Next(4)];
    Identifier id;
    id.database = "default";
    id.table = "t";
    ASSERT_OK(catalog->CreateTable(id, definition, false));
    table_ = parquet_test::Unwrap(catalog->LoadTable(id));
  }

  /// Rows of few distinct partitions: values are taken from a small batch.
  std::shared_ptr<arrow::RecordBatch> Batch(int64_t rows) {
    auto few = random_.Batch(table_->fields(), 8);
    auto many = random_.Batch(table_->fields(), rows);
    arrow::ArrayVector columns = many->columns();
    for (const std::string& key : table_->schema->partition_keys) {
      const int column = table_->schema->FieldIndex(key);
      arrow::Int64Builder indices;
      for (int64_t i = 0; i < rows; ++i)
        EXPECT_OK(indices.Append(static_cast<int64_t>(random_.Next(8))));
      auto picked = arrow::compute::Take(arrow::Datum(few->column(column)),
                                         arrow::Datum(parquet_test::Unwrap(indices.Finish())));
      columns[column] = parquet_test::Unwrap(std::move(picked)).make_array();
    }
    auto schema = parquet_test::Unwrap(ToArrowSchema(table_->fields()));
    return arrow::RecordBatch::Make(schema, rows, std::move(columns));
  }

  void WriteAndCommit(int batches) {
    auto writer = parquet_test::Unwrap(AppendWriter::Make(table_));
    std::vector<std::thread> threads;
    std::vector<arrow::Status> results(batches);
    for (int i = 0; i < batches; ++i) {
      auto batch = Batch(static_cast<int64_t>(random_.Next(150)));
      ASSERT_OK(AppendGoldenLines(table_->fields(), *batch, {}, &model_));
      written_.push_back(batch);
      threads.emplace_back([&, i, batch] { results[i] = writer->Write(batch); });
    }
    for (auto& thread : threads) thread.join();
    for (const auto& result : results) ASSERT_OK(result);
    Committable committable;
    committable.messages = parquet_test::Unwrap(writer->PrepareCommit());
    auto committer = parquet_test::Unwrap(Committer::Make(table_));
    ASSERT_OK(committer->Commit(committable));
  }

  Lines Read(const PredicatePtr& predicate, ScanStatistics* statistics) {
    ScanRequest request;
    request.snapshot = parquet_test::Unwrap(ResolveSnapshot(*table_));
    request.predicate = predicate;
    auto plan = parquet_test::Unwrap(PlanScan(*table_, request));
    *statistics = plan.statistics;
    TableReadOptions options;
    options.columns = table_->fields();
    options.predicate = predicate;
    options.exact_filter = predicate != nullptr;
    options.batch_rows = 100;
    Lines lines;
    std::mutex mutex;
    auto status = ReadPlan(*table_, plan, options, [&](std::shared_ptr<arrow::RecordBatch> batch) {
      std::lock_guard lock(mutex);
      return AppendGoldenLines(table_->fields(), *batch, {}, &lines);
    });
    EXPECT_OK(status);
    SortGoldenLines(&lines);
    return lines;
  }

  /// The filter applied to the rows of the model.
  Lines Expected(const Predicate& predicate) {
    Lines lines;
    for (const auto& batch : written_) {
      auto passes = parquet_test::Unwrap(Evaluate(predicate, *batch));
      auto kept = parquet_test::Unwrap(arrow::compute::Filter(batch, passes)).record_batch();
      EXPECT_OK(AppendGoldenLines(table_->fields(), *kept, {}, &lines));
    }
    SortGoldenLines(&lines);
    return lines;
  }

  PredicatePtr RandomPredicate(int depth) {
    if (depth > 0 && random_.Next(3) == 0) {
      std::vector<PredicatePtr> children;
      for (uint64_t i = 0; i < 1 + random_.Next(3); ++i)
        children.push_back(RandomPredicate(depth - 1));
      switch (random_.Next(3)) {
        case 0:
          return And(std::move(children));
        case 1:
          return Or(std::move(children));
        default: {
          auto negated = std::make_shared<Predicate>();
          negated->op = PredicateOp::kNot;
          negated->children = {children[0]};
          return negated;
        }
      }
    }
    const DataField& field = table_->fields()[random_.Next(table_->fields().size())];
    const bool comparable = !field.type.IsNested() && field.type.root() != TypeRoot::kVariant;
    const uint64_t kind = comparable ? random_.Next(9) : random_.Next(2);
    if (kind == 0) return Leaf(PredicateOp::kIsNull, {field.name}, {});
    if (kind == 1) return Leaf(PredicateOp::kIsNotNull, {field.name}, {});
    std::vector<std::shared_ptr<arrow::Scalar>> literals;
    for (int i = 0; i < (kind == 8 ? 3 : 1); ++i) {
      auto literal = SomeValue(field);
      if (literal == nullptr) return Leaf(PredicateOp::kIsNotNull, {field.name}, {});
      literals.push_back(std::move(literal));
    }
    constexpr PredicateOp kOps[] = {PredicateOp::kEq, PredicateOp::kNe, PredicateOp::kLt,
                                    PredicateOp::kLe, PredicateOp::kGt, PredicateOp::kGe};
    if (kind == 8) return Leaf(PredicateOp::kIn, {field.name}, std::move(literals));
    return Leaf(kOps[kind - 2], {field.name}, std::move(literals));
  }

  Lines Model() {
    Lines lines = model_;
    SortGoldenLines(&lines);
    return lines;
  }

 private:
  /// A value that is in the table, so that filters match something.
  std::shared_ptr<arrow::Scalar> SomeValue(const DataField& field) {
    const int column = table_->schema->FieldIndex(field.name);
    for (int attempt = 0; attempt < 10; ++attempt) {
      const auto& batch = written_[random_.Next(written_.size())];
      if (batch->num_rows() == 0) continue;
      auto value = parquet_test::Unwrap(
          batch->column(column)->GetScalar(static_cast<int64_t>(random_.Next(batch->num_rows()))));
      if (value->is_valid) return value;
    }
    return nullptr;
  }

  parquet_test::RandomTable random_;
  Environment env_;
  TableContextPtr table_;
  std::vector<std::shared_ptr<arrow::RecordBatch>> written_;
  Lines model_;
};

TEST(TablePropertyTest, WrittenRowsComeBackAndFiltersLoseNothing) {
  Log::SetLevel(LogLevel::kError);
  int64_t pruned_files = 0;
  for (uint64_t seed = 1; seed <= 20; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    RandomPaimonTable table(seed);
    ASSERT_NO_FATAL_FAILURE(table.Create());
    for (int commit = 0; commit < 4; ++commit) ASSERT_NO_FATAL_FAILURE(table.WriteAndCommit(3));
    ScanStatistics statistics;
    ASSERT_EQ(table.Read(nullptr, &statistics), table.Model());
    for (int i = 0; i < 8; ++i) {
      auto predicate = table.RandomPredicate(2);
      SCOPED_TRACE(predicate->ToString());
      ASSERT_EQ(table.Read(predicate, &statistics), table.Expected(*predicate));
      pruned_files += statistics.files_total - statistics.files_planned;
    }
  }
  EXPECT_GT(pruned_files, 5);
}

}  // namespace
}  // namespace kelda
