// Tables with file indexes against a plain filter: whatever an index leaves out at planning or
// reading, embedded or in side files, also after the schema changed, no row is lost.
#include <algorithm>
#include <mutex>
#include <random>

#include <arrow/builder.h>
#include <arrow/compute/api.h>
#include <gtest/gtest.h>

#include "kelda/base/log.h"
#include "kelda/base/test_matchers.h"
#include "kelda/catalog/catalog.h"
#include "kelda/commit/committer.h"
#include "kelda/read/file_read.h"
#include "kelda/scan/file_index_filter.h"
#include "kelda/scan/plan.h"
#include "kelda/types/arrow_mapping.h"
#include "kelda/write/append_writer.h"

namespace kelda {
namespace {

using OptionMap = std::map<std::string, std::string>;
using Ids = std::vector<int64_t>;

class IndexedTable {
 public:
  explicit IndexedTable(uint64_t seed) : random_(seed) {}

  void Create(const OptionMap& options) {
    Log::SetLevel(LogLevel::kError);
    env_.io = MakeMemoryFileIO();
    env_.executor = Executor::MakePool(2);
    env_.budget = MemoryBudget::Make(int64_t{1} << 30);
    ASSERT_OK_AND_ASSIGN(catalog_, OpenFileSystemCatalog("/wh", {}, env_));
    TableDefinition definition;
    for (const auto& [name, type] :
         std::vector<std::pair<std::string, std::string>>{{"id", "BIGINT NOT NULL"},
                                                          {"n", "INT"},
                                                          {"s", "STRING"},
                                                          {"d", "DOUBLE"},
                                                          {"ts", "TIMESTAMP(6)"},
                                                          {"m", "MAP<STRING, INT>"},
                                                          {"pt", "INT"}}) {
      definition.fields.push_back({-1, name, DataType::Parse(type).ValueOrDie(), {}, {}});
    }
    definition.partition_keys = {"pt"};
    // Statistics would leave out most of what an index could.
    definition.options = {{"metadata.stats-mode", "none"}, {"parquet.page.size", "1024"}};
    name_.database = "default";
    name_.table = "t";
    ASSERT_OK(catalog_->CreateTable(name_, definition, false));
    Load(options);
  }

  /// The table as it is now, with `options` on top of its own.
  void Load(const OptionMap& options) {
    ASSERT_OK_AND_ASSIGN(table_, catalog_->LoadTable(name_, options));
  }
  arrow::Status Alter(const std::vector<SchemaChange>& changes) {
    return catalog_->AlterTable(name_, changes);
  }

  int64_t Below(int64_t n) { return static_cast<int64_t>(random_() % static_cast<uint64_t>(n)); }

  void Write(int64_t rows) {
    auto schema = ToArrowSchema(table_->fields()).ValueOrDie();
    arrow::ArrayVector columns;
    for (const DataField& field : table_->fields()) columns.push_back(Column(field, rows));
    auto batch = arrow::RecordBatch::Make(schema, rows, std::move(columns));
    ASSERT_OK_AND_ASSIGN(auto writer, AppendWriter::Make(table_));
    ASSERT_OK(writer->Write(batch));
    Committable committable;
    ASSERT_OK_AND_ASSIGN(committable.messages, writer->PrepareCommit());
    for (const CommitMessage& message : committable.messages) {
      for (const DataFileMeta& file : message.new_files) {
        embedded_files += FileIndexFilter::HasEmbedded(file) ? 1 : 0;
        side_files += FileIndexFilter::SideFile(file) != nullptr ? 1 : 0;
      }
    }
    ASSERT_OK_AND_ASSIGN(auto committer, Committer::Make(table_));
    ASSERT_OK(committer->Commit(committable));
  }

  /// Ids of the rows that match, in order.
  Ids Read(const PredicatePtr& predicate, ScanStatistics* statistics, bool at_read = false) {
    ScanRequest request;
    request.snapshot = ResolveSnapshot(*table_).ValueOrDie();
    // Without a predicate the plan asks no index; the readers do then.
    if (!at_read) request.predicate = predicate;
    auto plan = PlanScan(*table_, request).ValueOrDie();
    *statistics = plan.statistics;
    TableReadOptions options;
    options.columns = {table_->fields()[0]};
    options.predicate = predicate;
    options.exact_filter = true;
    options.batch_rows = 50;
    Ids ids;
    std::mutex mutex;
    EXPECT_OK(ReadPlan(*table_, plan, options, [&](std::shared_ptr<arrow::RecordBatch> batch) {
      std::lock_guard lock(mutex);
      const auto& column = static_cast<const arrow::Int64Array&>(*batch->column(0));
      for (int64_t i = 0; i < column.length(); ++i) ids.push_back(column.Value(i));
      return arrow::Status::OK();
    }));
    std::sort(ids.begin(), ids.end());
    return ids;
  }

  arrow::Result<ScanPlan> Plan(const PredicatePtr& predicate) {
    ScanRequest request;
    ARROW_ASSIGN_OR_RAISE(request.snapshot, ResolveSnapshot(*table_));
    request.predicate = predicate;
    return PlanScan(*table_, request);
  }
  FileIO& io() { return *env_.io; }
  std::vector<std::string> IndexFiles() {
    std::vector<std::string> paths;
    for (const char* partition : {"pt=0", "pt=1"}) {
      for (const FileInfo& file :
           env_.io->List(fmt::format("/wh/default.db/t/{}/bucket-0", partition)).ValueOrDie()) {
        if (file.name.ends_with(".index")) paths.push_back(file.path);
      }
    }
    return paths;
  }

  PredicatePtr RandomPredicate(int depth) {
    if (depth > 0 && Below(2) == 0) {
      std::vector<PredicatePtr> children;
      for (int64_t i = 1 + Below(3); i > 0; --i) children.push_back(RandomPredicate(depth - 1));
      const int64_t kind = Below(5);
      if (kind < 2) return And(std::move(children));
      return kind < 4 ? Or(std::move(children)) : Not(children[0]);
    }
    const DataField& field = table_->fields()[static_cast<size_t>(1 + Below(6))];
    std::vector<std::string> path = {field.name};
    DataType type = field.type;
    if (type.root() == TypeRoot::kMap) {
      path.push_back(Below(2) == 0 ? "k0" : "none");
      type = type.value();
    }
    static constexpr PredicateOp kOps[] = {
        PredicateOp::kEq, PredicateOp::kEq, PredicateOp::kNe,     PredicateOp::kLt,
        PredicateOp::kGe, PredicateOp::kIn, PredicateOp::kIsNull, PredicateOp::kIsNotNull};
    const PredicateOp op = kOps[Below(8)];
    std::vector<std::shared_ptr<arrow::Scalar>> literals;
    const bool null_test = op == PredicateOp::kIsNull || op == PredicateOp::kIsNotNull;
    for (int i = 0; i < (null_test ? 0 : (op == PredicateOp::kIn ? 3 : 1)); ++i)
      literals.push_back(Value(type));
    return Leaf(op, std::move(path), std::move(literals));
  }

  int embedded_files = 0;
  int side_files = 0;

 private:
  std::shared_ptr<arrow::Scalar> Value(const DataType& type) {
    const int64_t number = Below(40);
    switch (type.root()) {
      case TypeRoot::kInt:
        return arrow::MakeScalar(static_cast<int32_t>(number));
      case TypeRoot::kBigInt:
        return arrow::MakeScalar(number);
      case TypeRoot::kDouble:
        return arrow::MakeScalar(number == 0 ? -0.0 : static_cast<double>(number / 2) / 2);
      case TypeRoot::kTimestamp:
        return std::make_shared<arrow::TimestampScalar>(number * 1000 - 20000,
                                                        arrow::timestamp(arrow::TimeUnit::MICRO));
      default:
        return arrow::MakeScalar("text " + std::to_string(number));
    }
  }

  std::shared_ptr<arrow::Array> Column(const DataField& field, int64_t rows) {
    auto made = arrow::MakeBuilder(ToArrowType(field.type).ValueOrDie()).ValueOrDie();
    // Most rows of a file have few of the values.
    const int64_t base = Below(40);
    const std::shared_ptr<arrow::Scalar> few[] = {Value(field.type), Value(field.type)};
    for (int64_t row = 0; row < rows; ++row) {
      if (field.name == "id") {
        EXPECT_OK(made->AppendScalar(arrow::Int64Scalar(next_id_++)));
      } else if (field.name == "pt") {
        EXPECT_OK(made->AppendScalar(arrow::Int32Scalar(static_cast<int32_t>(Below(2)))));
      } else if (field.type.root() == TypeRoot::kMap) {
        auto* map = static_cast<arrow::MapBuilder*>(made.get());
        EXPECT_OK(map->Append());
        for (int64_t key = 0; key < Below(3); ++key) {
          EXPECT_OK(static_cast<arrow::StringBuilder*>(map->key_builder())
                        ->Append("k" + std::to_string(key)));
          EXPECT_OK(static_cast<arrow::Int32Builder*>(map->item_builder())
                        ->Append(static_cast<int32_t>(base)));
        }
      } else if (Below(5) == 0) {
        EXPECT_OK(made->AppendNull());
      } else if (Below(40) == 0) {
        EXPECT_OK(made->AppendScalar(*Value(field.type)));
      } else {
        EXPECT_OK(made->AppendScalar(*few[static_cast<size_t>(Below(2))]));
      }
    }
    return made->Finish().ValueOrDie();
  }

  std::mt19937_64 random_;
  Environment env_;
  std::shared_ptr<Catalog> catalog_;
  Identifier name_;
  TableContextPtr table_;
  int64_t next_id_ = 0;
};

OptionMap IndexOptionsOf(IndexedTable* table) {
  OptionMap options = {
      {"file-index.bloom-filter.columns", "n,s,m[k0],m[none],pt"},
      {"file-index.bloom-filter.n.items", "50"},
      {"file-index.bloom-filter.s.items", "50"},
      {"file-index.bloom-filter.m.items", "50"},
      {"file-index.bloom-filter.pt.items", "5"},
      {"file-index.in-manifest-threshold",
       std::vector<std::string>{"0 b", "300 b", "100 kb"}[static_cast<size_t>(table->Below(3))]}};
  if (table->Below(2) == 0) options["file-index.bitmap.columns"] = "n,s,d,m[k0]";
  if (table->Below(2) == 0) options["file-index.bsi.columns"] = "n,ts";
  if (table->Below(2) == 0) options["file-index.range-bitmap.columns"] = "s,d,ts,n";
  return options;
}

TEST(FileIndexTable, ReadsEqualThoseWithoutIndex) {
  int embedded_files = 0;
  int side_files = 0;
  int64_t skipped = 0;
  int64_t found = 0;
  for (uint64_t seed = 1; seed <= 6; ++seed) {
    SCOPED_TRACE(seed);
    IndexedTable table(seed);
    table.Create({});
    ASSERT_FALSE(testing::Test::HasFatalFailure());
    const auto write = [&](int files) {
      for (int i = 0; i < files; ++i) {
        table.Load(IndexOptionsOf(&table));
        table.Write(20 + table.Below(200));
        ASSERT_FALSE(testing::Test::HasFatalFailure());
      }
    };
    const auto check = [&](int predicates) {
      for (int i = 0; i < predicates; ++i) {
        table.Load({});
        const PredicatePtr predicate = table.RandomPredicate(2);
        SCOPED_TRACE(predicate->ToString());
        ScanStatistics statistics;
        const Ids planned = table.Read(predicate, &statistics);
        skipped += statistics.files_skipped_by_index;
        const Ids at_read = table.Read(predicate, &statistics, true);
        table.Load({{"file-index.read.enabled", "false"}});
        const Ids plain = table.Read(predicate, &statistics);
        ASSERT_EQ(statistics.files_skipped_by_index, 0);
        ASSERT_EQ(planned, plain);
        ASSERT_EQ(at_read, plain);
        found += static_cast<int64_t>(plain.size());
      }
    };
    write(4);
    check(25);
    // Names move between columns, and one column gets another type.
    ASSERT_OK(table.Alter({RenameColumn{{"s"}, "old"}}));
    ASSERT_OK(table.Alter({AddColumn{DataField{-1, "s", DataType::String(), {}, {}}, "id"}}));
    ASSERT_OK(table.Alter({DropColumn{{"old"}}}));
    ASSERT_OK(table.Alter({UpdateColumnType{{"n"}, DataType(TypeRoot::kBigInt)}}));
    check(25);
    write(2);
    check(25);
    embedded_files += table.embedded_files;
    side_files += table.side_files;
  }
  EXPECT_GT(embedded_files, 5);
  EXPECT_GT(side_files, 5);
  EXPECT_GT(skipped, 50);
  EXPECT_GT(found, 1000);
}

TEST(FileIndexTable, FilesOfAnAbortedWriteGo) {
  auto io = MakeMemoryFileIO();
  Environment env;
  env.io = io;
  env.executor = Executor::MakePool(2);
  env.budget = MemoryBudget::Make(int64_t{1} << 30);
  ASSERT_OK_AND_ASSIGN(auto catalog, OpenFileSystemCatalog("/wh", {}, env));
  TableDefinition definition;
  definition.fields = {DataField{-1, "n", DataType(TypeRoot::kInt), {}, {}}};
  definition.options = {{"file-index.bloom-filter.columns", "n"}};
  Identifier name;
  name.database = "default";
  name.table = "t";
  ASSERT_OK(catalog->CreateTable(name, definition, false));
  ASSERT_OK_AND_ASSIGN(auto table, catalog->LoadTable(name));
  arrow::Int32Builder numbers;
  for (int i = 0; i < 100; ++i) ASSERT_OK(numbers.Append(i));
  auto batch = arrow::RecordBatch::Make(ToArrowSchema(table->fields()).ValueOrDie(), 100,
                                        {numbers.Finish().ValueOrDie()});
  const auto files = [&] { return io->List("/wh/default.db/t/bucket-0").ValueOrDie(); };
  {
    ASSERT_OK_AND_ASSIGN(auto writer, AppendWriter::Make(table));
    ASSERT_OK(writer->Write(batch));
    ASSERT_OK_AND_ASSIGN(auto messages, writer->PrepareCommit());
    ASSERT_EQ(messages[0].new_files[0].extra_files.size(), 1u);
    EXPECT_EQ(messages[0].new_files[0].extra_files[0],
              messages[0].new_files[0].file_name + ".index");
    ASSERT_EQ(files().size(), 2u);
    EXPECT_GT(files()[1].size_bytes, 599071);
    DeleteFiles(*table, messages);
  }
  EXPECT_TRUE(files().empty());
}

TEST(FileIndexTable, DamagedIndexesAreErrorsAndMissingOnesAreNot) {
  IndexedTable table(1);
  const OptionMap options = {{"file-index.bitmap.columns", "n"},
                             {"file-index.in-manifest-threshold", "0 b"}};
  table.Create(options);
  table.Write(100);
  const auto predicate = Leaf(PredicateOp::kEq, {"n"}, {arrow::MakeScalar(int32_t{3})});
  ScanStatistics statistics;
  const Ids expected = table.Read(predicate, &statistics);
  const std::vector<std::string> paths = table.IndexFiles();
  ASSERT_FALSE(paths.empty());
  for (const std::string& path : paths) ASSERT_OK(table.io().WriteReplacing(path, "damage"));
  EXPECT_THAT(table.Plan(predicate), HasError(ErrorCode::kCorruption, paths[0]));
  for (const std::string& path : paths) ASSERT_OK(table.io().DeleteFile(path));
  EXPECT_EQ(table.Read(predicate, &statistics), expected);
}

}  // namespace
}  // namespace kelda
