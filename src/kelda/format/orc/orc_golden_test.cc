// Files of Java against the Parquet files that Java wrote of the same rows.

#include <filesystem>
#include <fstream>
#include <sstream>

#include <arrow/api.h>
#include <gtest/gtest.h>

#include "kelda/format/orc/orc_test_util.h"
#include "kelda/types/table_schema.h"

namespace kelda {
namespace {

using namespace orc_test;  // NOLINT

const std::string kData = KELDA_TEST_DATA;

std::string ReadText(const std::string& path) {
  std::ifstream in(path);
  std::stringstream text;
  text << in.rdbuf();
  return text.str();
}

struct Twins {
  std::vector<DataField> fields;
  std::shared_ptr<arrow::Table> parquet;
};

Twins ReadParquetTwin(const std::string& name) {
  const std::string dir = kData + "/golden/warehouse/types.db/" + name + "_parquet";
  Twins twins;
  twins.fields = Unwrap(TableSchema::FromJsonText(ReadText(dir + "/schema/schema-0"), "s")).fields;
  ReadOptions options;
  options.columns = twins.fields;
  for (const auto& entry : std::filesystem::directory_iterator(dir + "/bucket-0")) {
    if (entry.path().extension() != ".parquet") continue;
    twins.parquet = parquet_test::ReadFile(*MakeLocalFileIO(), entry.path(), options).table;
  }
  return twins;
}

class OrcGolden : public testing::TestWithParam<const char*> {};

TEST_P(OrcGolden, SameRowsAsParquet) {
  const std::string name = GetParam();
  auto twins = ReadParquetTwin(name);
  ASSERT_NE(twins.parquet, nullptr);
  ReadOptions options;
  options.columns = twins.fields;
  options.batch_rows = 3;
  auto read = ReadOrc(*MakeLocalFileIO(), kData + "/orc/" + name + ".orc", options);
  ExpectTablesEqual(*read.table, *twins.parquet);
}

INSTANTIATE_TEST_SUITE_P(Types, OrcGolden, testing::Values("all", "nested_nulls", "strings"));

}  // namespace
}  // namespace kelda
