#include "kelda/format/parquet/parquet_schema.h"

#include <filesystem>
#include <fstream>
#include <sstream>

#include <gtest/gtest.h>
#include <parquet/file_reader.h>
#include <parquet/page_index.h>
#include <parquet/schema.h>

#include "kelda/format/parquet/parquet_test_util.h"
#include "kelda/types/table_schema.h"

namespace kelda {
namespace {

using parquet_test::Field;
using parquet_test::RandomTable;
using parquet_test::Unwrap;
using parquet_test::WriteFile;

std::string ReadText(const std::filesystem::path& path) {
  std::ifstream file(path, std::ios::binary);
  std::stringstream text;
  text << file.rdbuf();
  return text.str();
}

std::filesystem::path DataFile(const std::filesystem::path& table) {
  for (const auto& entry : std::filesystem::recursive_directory_iterator(table)) {
    if (entry.path().extension() == ".parquet") return entry.path();
  }
  ADD_FAILURE() << "no data file in " << table;
  return {};
}

/// Two annotations of Java's files are not written: MAP_KEY_VALUE on the repeated group of a map,
/// which the format calls obsolete, and none on the message.
void ExpectNodesEqual(const parquet::schema::Node& ours, const parquet::schema::Node& java,
                      const std::string& path) {
  SCOPED_TRACE(path);
  EXPECT_EQ(ours.name(), java.name());
  EXPECT_EQ(ours.field_id(), java.field_id());
  EXPECT_EQ(ours.repetition(), java.repetition());
  ASSERT_EQ(ours.is_group(), java.is_group());
  if (java.converted_type() != parquet::ConvertedType::MAP_KEY_VALUE) {
    EXPECT_EQ(ours.converted_type(), java.converted_type());
    EXPECT_TRUE(ours.logical_type()->Equals(*java.logical_type()))
        << ours.logical_type()->ToString() << " " << java.logical_type()->ToString();
  }
  if (ours.is_primitive()) {
    const auto& a = static_cast<const parquet::schema::PrimitiveNode&>(ours);
    const auto& b = static_cast<const parquet::schema::PrimitiveNode&>(java);
    EXPECT_EQ(a.physical_type(), b.physical_type());
    EXPECT_EQ(a.type_length(), b.type_length());
    return;
  }
  const auto& a = static_cast<const parquet::schema::GroupNode&>(ours);
  const auto& b = static_cast<const parquet::schema::GroupNode&>(java);
  ASSERT_EQ(a.field_count(), b.field_count());
  for (int i = 0; i < a.field_count(); ++i) {
    ExpectNodesEqual(*a.field(i), *b.field(i), path + "." + b.field(i)->name());
  }
}

class JavaSchema : public testing::TestWithParam<const char*> {};

/// Writes an empty file with the table's schema and compares what a reader sees with Java's file.
TEST_P(JavaSchema, IsTheSame) {
  const std::filesystem::path table =
      std::filesystem::path(KELDA_TEST_DATA) / "golden/warehouse" / GetParam();
  const auto schema_file = table / "schema/schema-0";
  auto schema = Unwrap(TableSchema::FromJsonText(ReadText(schema_file), schema_file.string()));
  auto io = MakeMemoryFileIO();
  WriteFile(*io, "/f.parquet", schema.fields, {});
  auto ours = parquet::ParquetFileReader::Open(Unwrap(io->OpenInput("/f.parquet")));
  auto java = parquet::ParquetFileReader::OpenFile(DataFile(table).string());
  ExpectNodesEqual(*ours->metadata()->schema()->group_node(),
                   *java->metadata()->schema()->group_node(), "paimon_schema");
  EXPECT_EQ(ours->metadata()->version(), java->metadata()->version());
  EXPECT_EQ(ours->metadata()->key_value_metadata(), nullptr);
}

INSTANTIATE_TEST_SUITE_P(Golden, JavaSchema,
                         testing::Values("types.db/all_parquet", "types.db/decimals_parquet",
                                         "types.db/timestamps_parquet", "types.db/floats_parquet",
                                         "types.db/nested_nulls_parquet",
                                         "types.db/strings_parquet", "types.db/old_times_parquet",
                                         "types.db/not_null_defaults", "types.db/variant"));

TEST(ParquetSchema, DecimalLengths) {
  // spec 01 §6.2
  const std::pair<int, int> kLengths[] = {
      {19, 9},  {21, 9},  {22, 10}, {23, 10}, {24, 11}, {26, 11}, {27, 12}, {28, 12},
      {29, 13}, {31, 13}, {32, 14}, {33, 14}, {34, 15}, {35, 15}, {36, 16}, {38, 16}};
  for (auto [precision, length] : kLengths) EXPECT_EQ(DecimalFixedLength(precision), length);
}

TEST(ParquetSchema, TypesThatFilesCannotHold) {
  auto vector = DataType::Vector(DataType(TypeRoot::kFloat, false), 3);
  auto status = CheckParquetTypes({Field(0, "v", DataType::Array(vector))});
  EXPECT_TRUE(IsUnsupported(status));
  EXPECT_NE(status.message().find("'v'"), std::string::npos);
  EXPECT_TRUE(IsUnsupported(CheckParquetTypes({Field(0, "r", DataType::Row({}))})));
  EXPECT_TRUE(IsUnsupported(CheckParquetTypes({})));
  auto same = Field(0, "a", DataType(TypeRoot::kInt));
  EXPECT_FALSE(CheckParquetTypes({same, same}).ok());
  EXPECT_FALSE(CheckParquetTypes({Field(1, "r", DataType::Row({same, same}))}).ok());
  DataType deep(TypeRoot::kInt);
  for (int i = 0; i < 200; ++i) deep = DataType::Array(deep);
  EXPECT_TRUE(IsUnsupported(CheckParquetTypes({Field(0, "deep", deep)})));
}

TEST(ParquetSchema, FooterAndPages) {
  std::vector<DataField> fields = {Field(0, "a", DataType(TypeRoot::kInt)),
                                   Field(1, "s", DataType::String())};
  RandomTable random(1);
  random.repetitive = true;
  auto io = MakeMemoryFileIO();
  WriteFile(*io, "/f.parquet", fields, {random.Batch(fields, 45000)});
  auto file = parquet::ParquetFileReader::Open(Unwrap(io->OpenInput("/f.parquet")));
  EXPECT_EQ(file->metadata()->created_by().find("kelda version"), 0u);
  for (int i = 0; i < 2; ++i) {
    auto chunk = file->metadata()->RowGroup(0)->ColumnChunk(i);
    EXPECT_EQ(chunk->compression(), parquet::Compression::ZSTD);
    EXPECT_TRUE(chunk->has_dictionary_page());
    EXPECT_TRUE(chunk->is_stats_set());
    EXPECT_TRUE(chunk->GetColumnIndexLocation());
    auto offsets = file->GetPageIndexReader()->RowGroup(0)->GetOffsetIndex(i);
    ASSERT_EQ(offsets->page_locations().size(), 3u);
    EXPECT_EQ(offsets->page_locations()[1].first_row_index, 20000);
  }
}

}  // namespace
}  // namespace kelda
