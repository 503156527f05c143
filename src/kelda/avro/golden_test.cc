#include <filesystem>
#include <fstream>
#include <map>
#include <set>

#include <arrow/array.h>
#include <arrow/scalar.h>
#include <arrow/util/decimal.h>
#include <nlohmann/json.hpp>

#include "kelda/avro/paimon_schemas.h"
#include "kelda/avro/test_support.h"
#include "kelda/base/bytes.h"

// Files written by Java Paimon 1.4.2 (tests/data/golden, tests/data/avro/java_*) and by another
// Avro library (tests/data/avro/blocks_*).

namespace kelda::avro {

namespace {

namespace fs = std::filesystem;
using Json = nlohmann::json;
using ::testing::HasSubstr;

const fs::path kGolden = "tests/data/golden";
const fs::path kAvro = "tests/data/avro";

std::string ReadFile(const fs::path& path) {
  std::ifstream in(path, std::ios::binary);
  EXPECT_TRUE(in.good()) << path;
  return std::string(std::istreambuf_iterator<char>(in), {});
}

bool IsAvro(const std::string& bytes) {
  return bytes.substr(0, 4) == std::string_view("Obj\x01", 4);
}

std::vector<fs::path> ManifestFiles() {
  std::vector<fs::path> files;
  for (const auto& entry : fs::recursive_directory_iterator(kGolden / "warehouse")) {
    if (entry.is_regular_file() && entry.path().parent_path().filename() == "manifest")
      files.push_back(entry.path());
  }
  return files;
}

std::shared_ptr<arrow::RecordBatch> ReadAll(const fs::path& path, ReadOptions options = {}) {
  const auto table = ReadBytes(ReadFile(path), std::move(options));
  EXPECT_TRUE(table.ok()) << path << table.status().ToString();
  return table.ok() ? (*table)->CombineChunksToBatch().ValueOrDie() : nullptr;
}

/// One row as JSON: structs as objects, lists as arrays, text and bytes as strings.
Json ToJson(const arrow::Array& array, int64_t row) {
  if (array.IsNull(row)) return nullptr;
  switch (array.type_id()) {
    case arrow::Type::INT32:
      return static_cast<const arrow::Int32Array&>(array).Value(row);
    case arrow::Type::INT64:
      return static_cast<const arrow::Int64Array&>(array).Value(row);
    case arrow::Type::STRING:
      return std::string(static_cast<const arrow::StringArray&>(array).GetView(row));
    case arrow::Type::BINARY:
      return ToHex(static_cast<const arrow::BinaryArray&>(array).GetView(row));
    case arrow::Type::LIST: {
      const auto& list = static_cast<const arrow::ListArray&>(array);
      Json items = Json::array();
      for (int64_t i = list.value_offset(row); i < list.value_offset(row + 1); ++i) {
        items.push_back(ToJson(*list.values(), i));
      }
      return items;
    }
    case arrow::Type::STRUCT: {
      const auto& record = static_cast<const arrow::StructArray&>(array);
      Json object = Json::object();
      for (int i = 0; i < record.num_fields(); ++i) {
        object[record.struct_type()->field(i)->name()] = ToJson(*record.field(i), row);
      }
      return object;
    }
    default:
      return array.GetScalar(row).ValueOrDie()->ToString();
  }
}

std::vector<Json> Rows(const arrow::RecordBatch& batch) {
  const auto record = batch.ToStructArray().ValueOrDie();
  std::vector<Json> rows;
  for (int64_t i = 0; i < batch.num_rows(); ++i) rows.push_back(ToJson(*record, i));
  return rows;
}

TEST(GoldenTest, HeadersHoldOurSchemas) {
  std::map<std::string_view, int> seen;
  for (const fs::path& path : ManifestFiles()) {
    const std::string bytes = ReadFile(path);
    if (!IsAvro(bytes)) continue;
    ASSERT_OK_AND_ASSIGN(auto reader,
                         AvroFileReader::Open(arrow::Buffer::FromString(bytes), path.string()));
    const std::string name = path.filename().string();
    const std::string_view expected = name.starts_with("manifest-list-")    ? kManifestListSchema
                                      : name.starts_with("index-manifest-") ? kIndexManifestSchema
                                                                            : kManifestSchema;
    EXPECT_EQ(reader->metadata().at("avro.schema"), expected) << path;
    EXPECT_EQ(reader->metadata().size(), 2u);
    ++seen[expected];
  }
  EXPECT_GT(seen[kManifestListSchema], 50);
  EXPECT_GT(seen[kManifestSchema], 50);
  EXPECT_GE(seen[kIndexManifestSchema], 2);
}

TEST(GoldenTest, WhatWeWriteFromJavaFilesIsTheSameBytes) {
  int compared = 0;
  for (const fs::path& path : ManifestFiles()) {
    const std::string bytes = ReadFile(path);
    if (!IsAvro(bytes)) continue;
    ASSERT_OK_AND_ASSIGN(auto reader,
                         AvroFileReader::Open(arrow::Buffer::FromString(bytes), path.string()));
    ASSERT_OK_AND_ASSIGN(auto table, reader->ReadAll());
    ASSERT_OK(table->ValidateFull());
    ASSERT_OK_AND_ASSIGN(auto batch, table->CombineChunksToBatch());
    ASSERT_OK_AND_ASSIGN(auto stream, arrow::io::BufferOutputStream::Create());
    WriteOptions options;
    options.codec = reader->codec_name();
    std::memcpy(options.sync_marker.emplace().data(), bytes.data() + bytes.size() - 16, 16);
    ASSERT_OK_AND_ASSIGN(
        auto writer, AvroFileWriter::Make(stream, reader->metadata().at("avro.schema"), options));
    ASSERT_OK(writer->Write(batch));
    ASSERT_OK(writer->Finish());
    ASSERT_OK_AND_ASSIGN(auto written, stream->Finish());
    if (options.codec == "null") {
      EXPECT_EQ(ToHex(written->ToString()), ToHex(bytes)) << path;
      ++compared;
    } else {
      // Frames of other zstandard builds differ; their content must not.
      ASSERT_OK_AND_ASSIGN(auto back, ReadBytes(written->ToString()));
      EXPECT_TRUE(back->CombineChunksToBatch().ValueOrDie()->Equals(*batch)) << path;
    }
  }
  EXPECT_GE(compared, 4);
}

/// File name and level of the entries that the newest snapshot has, read as a reader of tables
/// would.
void CompareLiveEntries(const fs::path& table, const fs::path& expected_file) {
  SCOPED_TRACE(table.string());
  int64_t newest = 0;
  for (const auto& entry : fs::directory_iterator(table / "snapshot")) {
    const std::string name = entry.path().filename().string();
    if (name.starts_with("snapshot-"))
      newest = std::max<int64_t>(newest, std::stoll(name.substr(9)));
  }
  const Json snapshot =
      Json::parse(ReadFile(table / "snapshot" / ("snapshot-" + std::to_string(newest))));
  std::map<std::string, Json> live;
  for (const char* key : {"baseManifestList", "deltaManifestList"}) {
    ReadOptions list_options;
    list_options.projection = {"_FILE_NAME"};
    const auto list =
        ReadAll(table / "manifest" / snapshot.at(key).get<std::string>(), list_options);
    for (const Json& manifest : Rows(*list)) {
      const auto entries =
          ReadAll(table / "manifest" / manifest.at("_FILE_NAME").get<std::string>());
      for (const Json& entry : Rows(*entries)) {
        const std::string id = entry.at("_FILE").at("_FILE_NAME").get<std::string>() +
                               entry.at("_FILE").at("_LEVEL").dump();
        if (entry.at("_KIND") == 0) {
          live[id] = entry;
        } else {
          live.erase(id);
        }
      }
    }
  }
  size_t expected_count = 0;
  std::ifstream lines(expected_file);
  for (std::string line; std::getline(lines, line);) {
    const Json expected = Json::parse(line);
    if (expected.contains("indexType")) continue;
    ++expected_count;
    const std::string id = expected.at("fileName").get<std::string>() + expected.at("level").dump();
    ASSERT_TRUE(live.contains(id)) << id;
    const Json& entry = live[id];
    const Json& file = entry.at("_FILE");
    EXPECT_EQ(entry.at("_BUCKET"), expected.at("bucket"));
    EXPECT_EQ(entry.at("_TOTAL_BUCKETS"), expected.at("totalBuckets"));
    EXPECT_EQ(file.at("_FILE_SIZE"), expected.at("fileSize"));
    EXPECT_EQ(file.at("_ROW_COUNT"), expected.at("rowCount"));
    EXPECT_EQ(file.at("_DELETE_ROW_COUNT"), expected.at("deleteRowCount"));
    EXPECT_EQ(file.at("_SCHEMA_ID"), expected.at("schemaId"));
    EXPECT_EQ(file.at("_MIN_SEQUENCE_NUMBER"), expected.at("minSequenceNumber"));
    EXPECT_EQ(file.at("_MAX_SEQUENCE_NUMBER"), expected.at("maxSequenceNumber"));
    EXPECT_EQ(file.at("_FILE_SOURCE") == 0 ? "APPEND" : "COMPACT", expected.at("fileSource"));
    EXPECT_EQ(file.at("_EXTRA_FILES"), expected.at("extraFiles"));
    EXPECT_EQ(file.at("_VALUE_STATS_COLS"), expected.at("valueStatsCols"));
    EXPECT_EQ(file.at("_EMBEDDED_FILE_INDEX"), expected.at("embeddedIndex"));
    EXPECT_EQ(file.at("_FIRST_ROW_ID"), expected.at("firstRowId"));
    EXPECT_EQ(file.at("_WRITE_COLS"), expected.at("writeCols"));
    // Statistics of files that have none of a column are not told.
    if (!expected.contains("valueStats")) continue;
    EXPECT_EQ(file.at("_VALUE_STATS").at("_NULL_COUNTS"),
              expected.at("valueStats").at("nullCounts"));
  }
  EXPECT_EQ(live.size(), expected_count);
}

TEST(GoldenTest, LiveEntriesAreThoseOfJava) {
  int tables = 0;
  for (const auto& database : fs::directory_iterator(kGolden / "warehouse")) {
    if (!database.is_directory()) continue;
    for (const auto& table : fs::directory_iterator(database)) {
      const std::string name =
          database.path().stem().string() + "." + table.path().filename().string() + ".files.jsonl";
      if (!fs::exists(kGolden / "expected" / name) || !fs::exists(table.path() / "snapshot"))
        continue;
      bool is_avro = true;
      for (const auto& file : fs::directory_iterator(table.path() / "manifest")) {
        is_avro = is_avro && IsAvro(ReadFile(file.path()));
      }
      if (!is_avro) continue;
      CompareLiveEntries(table.path(), kGolden / "expected" / name);
      ++tables;
    }
  }
  EXPECT_GT(tables, 20);
}

TEST(GoldenTest, IndexManifestOfDeletionVectors) {
  const fs::path table = kGolden / "warehouse/dv.db/append_false";
  int files = 0;
  for (const auto& entry : fs::directory_iterator(table / "manifest")) {
    if (!entry.path().filename().string().starts_with("index-manifest-")) continue;
    ++files;
    for (const Json& row : Rows(*ReadAll(entry.path()))) {
      EXPECT_EQ(row.at("_VERSION"), 1);
      EXPECT_EQ(row.at("_INDEX_TYPE"), "DELETION_VECTORS");
      ASSERT_EQ(row.at("_DELETIONS_VECTORS_RANGES").size(), row.at("_ROW_COUNT").get<size_t>());
      int64_t end = 1;  // the version byte of the index file
      for (const Json& range : row.at("_DELETIONS_VECTORS_RANGES")) {
        EXPECT_TRUE(range.at("f0").get<std::string>().starts_with("data-"));
        EXPECT_EQ(range.at("f1"), end);
        EXPECT_GT(range.at("_CARDINALITY"), 0);
        end += range.at("f2").get<int64_t>() + 8;  // size field and checksum
      }
      EXPECT_EQ(end, row.at("_FILE_SIZE"));
      EXPECT_TRUE(row.at("_GLOBAL_INDEX").is_null());
    }
  }
  EXPECT_GE(files, 1);
}

TEST(GoldenTest, JavaDataFiles) {
  const auto types = ReadAll(kAvro / "java_all_types.avro");
  EXPECT_EQ(types->schema()->GetFieldByName("ts3")->type()->ToString(), "timestamp[ms]");
  EXPECT_EQ(types->schema()->GetFieldByName("lz6")->type()->ToString(), "timestamp[us, tz=UTC]");
  EXPECT_EQ(types->schema()->GetFieldByName("de38")->type()->ToString(), "decimal128(38, 10)");
  EXPECT_EQ(types->schema()->GetFieldByName("mp")->type()->ToString(), "map<string, int64>");
  EXPECT_GT(types->num_rows(), 5);

  const auto deflate = ReadAll(kAvro / "java_deflate.avro");
  EXPECT_EQ(deflate->num_rows(), 200);

  const auto times = ReadAll(kAvro / "java_timestamps.avro");
  const auto ids = times->GetColumnByName("id");
  bool found = false;
  for (int64_t i = 0; i < times->num_rows(); ++i) {
    if (ids->GetScalar(i).ValueOrDie()->ToString() != "0") continue;
    found = true;
    auto text = [&](const char* name) {
      return times->GetColumnByName(name)->GetScalar(i).ValueOrDie()->ToString();
    };
    EXPECT_EQ(text("t3"), "2002-05-29 17:50:00.809");
    EXPECT_EQ(text("t6"), "2024-10-27 07:23:41.951765");
    EXPECT_EQ(text("z6"), "1992-10-16 22:50:38.490685Z");
  }
  EXPECT_TRUE(found);
}

TEST(GoldenTest, JavaDecimals) {
  const auto batch = ReadAll(kAvro / "java_decimals.avro");
  std::map<int64_t, Json> expected;
  std::ifstream lines(kAvro / "java_decimals.jsonl");
  for (std::string line; std::getline(lines, line);) {
    const Json row = Json::parse(line);
    expected[row.at("id").get<int64_t>()] = row;
  }
  ASSERT_EQ(static_cast<int64_t>(expected.size()), batch->num_rows());
  const auto& ids = static_cast<const arrow::Int32Array&>(*batch->GetColumnByName("id"));
  for (int64_t i = 0; i < batch->num_rows(); ++i) {
    const Json& row = expected.at(ids.Value(i));
    for (int c = 1; c < batch->num_columns(); ++c) {
      const Json& value = row.at(batch->column_name(c));
      const auto& column = static_cast<const arrow::Decimal128Array&>(*batch->column(c));
      ASSERT_EQ(value.is_null(), column.IsNull(i));
      if (value.is_null()) continue;
      const auto& type = static_cast<const arrow::Decimal128Type&>(*column.type());
      // The plain text has the full scale, so its digits are the unscaled value.
      std::string digits = value.get<std::string>();
      std::erase(digits, '.');
      const arrow::Decimal128 unscaled(column.GetValue(i));
      const arrow::Decimal128 wanted = arrow::Decimal128::FromString(digits).ValueOrDie();
      ASSERT_EQ(unscaled, wanted) << type.ToString();
    }
  }
}

TEST(GoldenTest, BlocksOfAnotherLibrary) {
  const auto plain = ReadAll(kAvro / "blocks_null.avro");
  ASSERT_EQ(plain->num_rows(), 60);
  for (const char* codec : {"deflate", "snappy", "zstandard"}) {
    const auto batch = ReadAll(kAvro / (std::string("blocks_") + codec + ".avro"));
    ASSERT_NE(batch, nullptr);
    EXPECT_TRUE(batch->Equals(*plain)) << codec;
  }
  const auto& ids = static_cast<const arrow::Int32Array&>(*plain->GetColumnByName("id"));
  const auto& names = static_cast<const arrow::StringArray&>(*plain->GetColumnByName("name"));
  for (int64_t i = 0; i < 60; ++i) {
    EXPECT_EQ(ids.Value(i), i * 1000003 % 70000 - 35000);
    ASSERT_EQ(names.IsNull(i), i % 7 == 3);
    if (names.IsValid(i)) {
      EXPECT_EQ(names.GetView(i), "name-" + std::to_string(i % 9));
    }
  }
  for (const char* codec : {"bzip2", "xz"}) {
    const auto status =
        ReadBytes(ReadFile(kAvro / (std::string("blocks_") + codec + ".avro"))).status();
    EXPECT_TRUE(IsUnsupported(status));
    EXPECT_THAT(status.ToString(), HasSubstr(std::string("Avro codec '") + codec + "'"));
  }
}

}  // namespace

}  // namespace kelda::avro
