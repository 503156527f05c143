#include "kelda/write/append_writer.h"

#include <thread>

#include <arrow/builder.h>
#include <gtest/gtest.h>

#include "kelda/base/log.h"
#include "kelda/base/test_matchers.h"
#include "kelda/catalog/catalog.h"
#include "kelda/io/file_io.h"
#include "kelda/row/binary_row.h"

namespace kelda {
namespace {

class AppendWriterTest : public testing::Test {
 protected:
  void SetUp() override {
    Log::SetLevel(LogLevel::kError);
    env_.io = MakeMemoryFileIO();
    env_.executor = Executor::MakePool(4);
    env_.budget = MemoryBudget::Make(int64_t{1} << 30);
  }

  void Create(const std::vector<std::string>& partition_keys,
              std::map<std::string, std::string> options = {}) {
    ASSERT_OK_AND_ASSIGN(auto catalog, OpenFileSystemCatalog("/wh", {}, env_));
    TableDefinition definition;
    DataField id{-1, "id", DataType(TypeRoot::kBigInt, false), {}, {}};
    DataField name{-1, "name", DataType::Sized(TypeRoot::kVarChar, 5), {}, {}};
    DataField level{-1, "level", DataType(TypeRoot::kInt), {}, "7"};
    definition.fields = {id, name, level};
    definition.partition_keys = partition_keys;
    definition.options = std::move(options);
    Identifier table;
    table.database = "default";
    table.table = "t";
    ASSERT_OK(catalog->CreateTable(table, definition, false));
    ASSERT_OK_AND_ASSIGN(table_, catalog->LoadTable(table));
  }

  static std::shared_ptr<arrow::RecordBatch> Rows(int64_t first, int64_t count, int64_t partitions,
                                                  const std::string& name = "a") {
    arrow::Int64Builder ids;
    arrow::StringBuilder names;
    arrow::Int32Builder levels;
    for (int64_t i = 0; i < count; ++i) {
      EXPECT_OK(ids.Append(first + i));
      EXPECT_OK(names.Append(name));
      EXPECT_OK(levels.Append(static_cast<int32_t>(i % partitions)));
    }
    return arrow::RecordBatch::Make(
        arrow::schema({arrow::field("id", arrow::int64()), arrow::field("name", arrow::utf8()),
                       arrow::field("level", arrow::int32())}),
        count,
        {ids.Finish().ValueOrDie(), names.Finish().ValueOrDie(), levels.Finish().ValueOrDie()});
  }

  /// Paths of all files below the table's data directories.
  std::vector<std::string> DataFiles() {
    std::vector<std::string> paths;
    Walk("/wh/default.db/t", &paths);
    std::erase_if(
        paths, [](const std::string& path) { return path.find("/bucket-") == std::string::npos; });
    return paths;
  }

  void Walk(const std::string& dir, std::vector<std::string>* paths) {
    ASSERT_OK_AND_ASSIGN(auto children, env_.io->List(dir));
    for (const FileInfo& child : children) {
      if (child.is_dir) {
        Walk(child.path, paths);
      } else {
        paths->push_back(child.path);
      }
    }
  }

  Environment env_;
  TableContextPtr table_;
};

TEST_F(AppendWriterTest, SmallInsertByManyThreadsMakesOneFilePerPartition) {
  Create({"level"});
  ASSERT_OK_AND_ASSIGN(auto writer, AppendWriter::Make(table_));
  std::vector<std::thread> threads;
  for (int t = 0; t < 8; ++t) {
    threads.emplace_back([&, t] {
      for (int i = 0; i < 10; ++i) EXPECT_OK(writer->Write(Rows(t * 1000 + i * 10, 10, 3)));
    });
  }
  for (auto& thread : threads) thread.join();
  ASSERT_OK_AND_ASSIGN(auto messages, writer->PrepareCommit());
  EXPECT_EQ(messages.size(), 3u);
  int64_t rows = 0;
  for (const auto& message : messages) {
    ASSERT_EQ(message.new_files.size(), 1u);
    rows += message.new_files[0].row_count;
  }
  EXPECT_EQ(rows, 800);
  EXPECT_EQ(writer->rows_written(), 800);
  EXPECT_EQ(DataFiles().size(), 3u);
}

TEST_F(AppendWriterTest, FileMetadataIsJavas) {
  Create({});
  ASSERT_OK_AND_ASSIGN(auto writer, AppendWriter::Make(table_));
  ASSERT_OK(writer->Write(Rows(5, 3, 2)));
  ASSERT_OK_AND_ASSIGN(auto messages, writer->PrepareCommit());
  ASSERT_EQ(messages.size(), 1u);
  EXPECT_EQ(messages[0].partition, EmptySerializedRow());
  const DataFileMeta& file = messages[0].new_files.at(0);
  EXPECT_TRUE(file.file_name.starts_with("data-") && file.file_name.ends_with("-0.parquet"))
      << file.file_name;
  EXPECT_EQ(file.row_count, 3);
  EXPECT_EQ(file.min_sequence_number, 0);
  EXPECT_EQ(file.max_sequence_number, 2);
  EXPECT_EQ(file.level, 0);
  EXPECT_EQ(file.file_source, kFileSourceAppend);
  EXPECT_EQ(file.delete_row_count, 0);
  EXPECT_EQ(file.min_key, EmptySerializedRow());
  EXPECT_EQ(file.key_stats, SimpleStats::Empty());
  EXPECT_FALSE(file.value_stats_cols.has_value());
  const std::vector<DataType> types = {DataType(TypeRoot::kBigInt), DataType::String(),
                                       DataType(TypeRoot::kInt)};
  ASSERT_OK_AND_ASSIGN(auto min, ParseSerializedRow(file.value_stats.min_values, "min"));
  ASSERT_OK_AND_ASSIGN(auto values, DecodeBinaryRow(types, min.row, "min"));
  EXPECT_EQ(values[0]->ToString(), "5");
  EXPECT_EQ(values[1]->ToString(), "a");
  EXPECT_EQ(values[2]->ToString(), "0");
  ASSERT_OK_AND_ASSIGN(auto size, env_.io->Stat(DataFiles().at(0)));
  EXPECT_EQ(size.size_bytes, file.file_size);
}

TEST_F(AppendWriterTest, RollsAtTargetSizeWithContinuousSequences) {
  Create({}, {{"target-file-size", "32 kb"},
              {"file.compression", "none"},
              {"parquet.enable.dictionary", "false"}});
  AppendWriterOptions options;
  options.parallelism = 1;
  ASSERT_OK_AND_ASSIGN(auto writer, AppendWriter::Make(table_, options));
  for (int i = 0; i < 20; ++i) ASSERT_OK(writer->Write(Rows(i * 20000, 20000, 1)));
  ASSERT_OK_AND_ASSIGN(auto messages, writer->PrepareCommit());
  const auto& files = messages.at(0).new_files;
  EXPECT_GT(files.size(), 5u);
  int64_t next = 0;
  for (const DataFileMeta& file : files) {
    EXPECT_EQ(file.min_sequence_number, next);
    next += file.row_count;
    EXPECT_EQ(file.max_sequence_number, next - 1);
  }
  EXPECT_EQ(next, 400000);
}

TEST_F(AppendWriterTest, StaysWithinBudgetAtManyPartitions) {
  env_.budget = MemoryBudget::Make(12 << 20);
  Create({"level"});
  ASSERT_OK_AND_ASSIGN(auto writer, AppendWriter::Make(table_));
  for (int i = 0; i < 60; ++i) ASSERT_OK(writer->Write(Rows(i * 10000, 10000, 300)));
  ASSERT_OK_AND_ASSIGN(auto messages, writer->PrepareCommit());
  EXPECT_EQ(messages.size(), 300u);
  int64_t rows = 0;
  for (const auto& message : messages) {
    // Files end early rather than that their footers fill the memory.
    EXPECT_GE(message.new_files.size(), 1u);
    EXPECT_LE(message.new_files.size(), 5u);
    for (const auto& file : message.new_files) rows += file.row_count;
  }
  EXPECT_EQ(rows, 600000);
  EXPECT_LE(env_.budget->peak(), 12 << 20);
  EXPECT_GT(env_.budget->peak(), 1 << 20);
  EXPECT_EQ(env_.budget->used(), 0);
}

TEST_F(AppendWriterTest, ABudgetThatHoldsNothingIsAnError) {
  env_.budget = MemoryBudget::Make(1);
  Create({});
  ASSERT_OK_AND_ASSIGN(auto writer, AppendWriter::Make(table_));
  // What is held can be written out, so only bookkeeping that stays may exceed the budget.
  auto status = writer->Write(Rows(0, 10, 1));
  EXPECT_TRUE(status.ok() || CodeOf(status) == ErrorCode::kOutOfBudget) << status;
}

TEST_F(AppendWriterTest, NullInNotNullColumnIsRefusedAndFilesAreRemoved) {
  Create({});
  {
    ASSERT_OK_AND_ASSIGN(auto writer, AppendWriter::Make(table_));
    for (int i = 0; i < 20; ++i) ASSERT_OK(writer->Write(Rows(i * 10000, 10000, 1)));
    EXPECT_FALSE(DataFiles().empty());
    auto rows = Rows(0, 2, 1);
    ASSERT_OK_AND_ASSIGN(auto nulls, arrow::MakeArrayOfNull(arrow::int64(), 2));
    ASSERT_OK_AND_ASSIGN(rows, rows->SetColumn(0, arrow::field("id", arrow::int64()), nulls));
    auto status = writer->Write(rows);
    EXPECT_NE(status.message().find("Cannot write null to non-null column(id)"), std::string::npos)
        << status;
  }
  EXPECT_TRUE(DataFiles().empty());
}

TEST_F(AppendWriterTest, TooLongTextIsRefusedByCharactersNotBytes) {
  Create({});
  ASSERT_OK_AND_ASSIGN(auto writer, AppendWriter::Make(table_));
  ASSERT_OK(writer->Write(Rows(0, 1, 1, "ééééé")));
  auto status = writer->Write(Rows(0, 1, 1, "abcdef"));
  EXPECT_NE(status.message().find("column name of type VARCHAR(5)"), std::string::npos) << status;
}

TEST_F(AppendWriterTest, NullBecomesTheDefault) {
  Create({"level"});
  ASSERT_OK_AND_ASSIGN(auto writer, AppendWriter::Make(table_));
  auto rows = Rows(0, 2, 1);
  ASSERT_OK_AND_ASSIGN(auto nulls, arrow::MakeArrayOfNull(arrow::int32(), 2));
  ASSERT_OK_AND_ASSIGN(rows, rows->SetColumn(2, arrow::field("level", arrow::int32()), nulls));
  ASSERT_OK(writer->Write(rows));
  ASSERT_OK(writer->PrepareCommit());
  ASSERT_EQ(DataFiles().size(), 1u);
  EXPECT_NE(DataFiles()[0].find("/level=7/"), std::string::npos) << DataFiles()[0];
}

TEST_F(AppendWriterTest, CancellationStopsAndCleans) {
  Create({});
  CancellationToken token;
  {
    AppendWriterOptions options;
    options.token = token;
    ASSERT_OK_AND_ASSIGN(auto writer, AppendWriter::Make(table_, options));
    for (int i = 0; i < 20; ++i) ASSERT_OK(writer->Write(Rows(i * 10000, 10000, 1)));
    token.Cancel();
    EXPECT_THAT(writer->Write(Rows(0, 1, 1)), HasError(ErrorCode::kCancelled, "cancelled"));
    EXPECT_FALSE(writer->PrepareCommit().ok());
  }
  EXPECT_TRUE(DataFiles().empty());
}

TEST_F(AppendWriterTest, DeleteFilesRemovesWhatWasPrepared) {
  Create({"level"});
  ASSERT_OK_AND_ASSIGN(auto writer, AppendWriter::Make(table_));
  ASSERT_OK(writer->Write(Rows(0, 10, 4)));
  ASSERT_OK_AND_ASSIGN(auto messages, writer->PrepareCommit());
  EXPECT_EQ(DataFiles().size(), 4u);
  DeleteFiles(*table_, messages);
  EXPECT_TRUE(DataFiles().empty());
}

}  // namespace
}  // namespace kelda
