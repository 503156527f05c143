#include <filesystem>
#include <fstream>

#include <gtest/gtest.h>

#include "kelda/base/test_matchers.h"
#include "kelda/io/file_io.h"
#include "kelda/metadata/manifest.h"
#include "kelda/metadata/schema_files.h"
#include "kelda/metadata/snapshot.h"
#include "kelda/metadata/snapshot_files.h"
#include "kelda/row/binary_row.h"

namespace kelda {
namespace {

namespace fs = std::filesystem;

std::string ReadFile(const fs::path& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
}

/// Files of all golden tables whose path has `part` and whose name starts with `prefix`.
std::vector<fs::path> GoldenFiles(const std::string& part, const std::string& prefix) {
  std::vector<fs::path> paths;
  for (const auto& entry : fs::recursive_directory_iterator(KELDA_TEST_DATA "/golden/warehouse")) {
    if (entry.is_regular_file() && entry.path().parent_path().filename() == part &&
        entry.path().filename().string().starts_with(prefix)) {
      paths.push_back(entry.path());
    }
  }
  return paths;
}

TEST(SnapshotTest, JavasFilesArePrintedByteByByte) {
  const auto paths = GoldenFiles("snapshot", "snapshot-");
  ASSERT_GT(paths.size(), 30u);
  for (const auto& path : paths) {
    SCOPED_TRACE(path.string());
    const std::string text = ReadFile(path);
    ASSERT_OK_AND_ASSIGN(auto snapshot, Snapshot::FromJsonText(text, path.string()));
    EXPECT_EQ(snapshot.ToJsonText(), text);
  }
}

constexpr const char* kSnapshot =
    R"({"version":3,"id":7,"schemaId":1,"baseManifestList":"b","deltaManifestList":"d",
  "commitUser":"u","commitIdentifier":"9223372036854775807","commitKind":"COMPACT","timeMillis":5,"totalRecordCount":3,
  "deltaRecordCount":0,"changelogManifestList":null,"logOffsets":{},"future":{"x":[1,2]}})";

TEST(SnapshotTest, UnknownKeysSurviveAndOldFormsAreRead) {
  ASSERT_OK_AND_ASSIGN(auto snapshot, Snapshot::FromJsonText(kSnapshot, "s"));
  EXPECT_EQ(snapshot.commit_identifier, kBatchCommitIdentifier);
  EXPECT_FALSE(snapshot.changelog_manifest_list.has_value());
  ASSERT_OK_AND_ASSIGN(auto again, Snapshot::FromJsonText(snapshot.ToJsonText(), "s"));
  EXPECT_EQ(again.unknown["future"]["x"][1], 2);
  EXPECT_TRUE(again.unknown.contains("logOffsets"));
}

TEST(SnapshotTest, DamageIsNamed) {
  const std::string text = kSnapshot;
  for (size_t length = 0; length < text.size(); ++length) {
    EXPECT_THAT(Snapshot::FromJsonText(text.substr(0, length), "dir/snapshot-7"),
                HasError(ErrorCode::kCorruption, "dir/snapshot-7"));
  }
  std::string wrong = text;
  wrong.replace(wrong.find("COMPACT"), 7, "CAMPACT");
  EXPECT_THAT(Snapshot::FromJsonText(wrong, "s"), HasError(ErrorCode::kCorruption, "commitKind"));
}

class SnapshotFilesTest : public testing::Test {
 protected:
  void Put(int64_t id, int64_t time = 0) {
    Snapshot snapshot;
    snapshot.id = id;
    snapshot.base_manifest_list = "b";
    snapshot.delta_manifest_list = "d";
    snapshot.commit_user = "u";
    snapshot.time_millis = time;
    ASSERT_EQ(io_->PublishNew(paths_.SnapshotFile(id), snapshot.ToJsonText()).outcome,
              PublishOutcome::kDone);
  }
  std::shared_ptr<FileIO> io_ = MakeMemoryFileIO();
  TablePaths paths_{"/t"};
  SnapshotFiles files_{io_, paths_};
};

TEST_F(SnapshotFilesTest, HintsMayBeWrongOrAbsent) {
  ASSERT_OK_AND_ASSIGN(auto latest, files_.LatestId());
  EXPECT_FALSE(latest.has_value());
  for (int64_t id = 3; id <= 6; ++id) Put(id);
  for (const char* hint : {"", "x", "6", "4", "99", "-1", "3", "999999999999999999999"}) {
    SCOPED_TRACE(hint);
    ASSERT_OK(io_->WriteReplacing(paths_.LatestHint(), hint));
    ASSERT_OK(io_->WriteReplacing(paths_.EarliestHint(), hint));
    ASSERT_OK_AND_ASSIGN(latest, files_.LatestId());
    EXPECT_EQ(latest, 6);
    ASSERT_OK_AND_ASSIGN(auto ids, files_.ListIds());
    EXPECT_EQ(ids.front(), 3);
  }
  ASSERT_OK(io_->DeleteFile(paths_.EarliestHint()));
  ASSERT_OK_AND_ASSIGN(auto earliest, files_.EarliestId());
  EXPECT_EQ(earliest, 3);
}

TEST_F(SnapshotFilesTest, ByTimeAndMissing) {
  Put(1, 100);
  Put(2, 200);
  Put(3, 300);
  ASSERT_OK_AND_ASSIGN(auto at, files_.AtTime(250));
  EXPECT_EQ(at->id, 2);
  ASSERT_OK_AND_ASSIGN(at, files_.AtTime(99));
  EXPECT_FALSE(at.has_value());
  EXPECT_TRUE(IsNotFound(files_.Read(9).status()));
}

TEST_F(SnapshotFilesTest, StrayNameIsReported) {
  Put(1);
  ASSERT_OK(io_->WriteReplacing("/t/snapshot/snapshot-copy", "x"));
  EXPECT_THAT(files_.ListIds(), HasError(ErrorCode::kCorruption, "snapshot-copy"));
}

// ---- manifests
// -----------------------------------------------------------------------------------------------------

ManifestEntry Entry(const std::string& name, int64_t id) {
  ManifestEntry entry;
  entry.partition = SerializeRow(1, EncodeBinaryRow({DataType(TypeRoot::kInt)},
                                                    {std::make_shared<arrow::Int32Scalar>(id % 10)})
                                        .ValueOrDie());
  entry.file.file_name = name;
  entry.file.file_size = 100 + id;
  entry.file.row_count = id;
  entry.file.min_key = entry.file.max_key = EmptySerializedRow();
  entry.file.key_stats = SimpleStats::Empty();
  entry.file.value_stats =
      SimpleStats{EmptySerializedRow(), EmptySerializedRow(), {std::nullopt, 3}};
  entry.file.schema_id = id % 3;
  entry.file.extra_files = {name + ".index"};
  entry.file.creation_time_millis = 1000 + id;
  entry.file.delete_row_count = 0;
  entry.file.embedded_file_index = std::string("\0x", 2);
  entry.file.file_source = kFileSourceAppend;
  entry.file.value_stats_cols = std::vector<std::string>{"a", "b"};
  entry.file.external_path = "/elsewhere/" + name;
  entry.file.first_row_id = id * 1000;
  entry.file.write_cols = std::vector<std::string>{};
  return entry;
}

class ManifestTest : public testing::TestWithParam<const char*> {
 protected:
  ManifestWriter Writer(int64_t target = 8 << 20) {
    ManifestWriterOptions options;
    options.codec = GetParam();
    options.target_file_size = target;
    return ManifestWriter(io_, paths_, {DataField{0, "p", DataType(TypeRoot::kInt), {}, {}}},
                          &names_, options);
  }
  std::shared_ptr<FileIO> io_ = MakeMemoryFileIO();
  TablePaths paths_{"/t"};
  MetadataFileNames names_{*Random::System()};
  ManifestReader reader_{io_, paths_, nullptr};
};

TEST_P(ManifestTest, EntriesAndListsRoundTrip) {
  auto writer = Writer();
  for (int64_t i = 0; i < 700; ++i) {
    ManifestEntry entry = Entry("f" + std::to_string(i), i);
    if (i % 7 == 0) entry.kind = EntryKind::kDelete;
    ASSERT_OK(writer.Add(entry));
  }
  ASSERT_OK_AND_ASSIGN(auto metas, writer.FinishEntries());
  ASSERT_EQ(metas.size(), 1u);
  EXPECT_EQ(metas[0].num_added_files, 600);
  EXPECT_EQ(metas[0].num_deleted_files, 100);
  EXPECT_EQ(metas[0].schema_id, 2);
  EXPECT_EQ(metas[0].min_row_id, -1 + 0);
  EXPECT_EQ(metas[0].partition_stats.null_counts, (std::vector<std::optional<int64_t>>{0}));
  ASSERT_OK_AND_ASSIGN(auto list, writer.WriteList(metas));
  ASSERT_OK_AND_ASSIGN(auto read_metas, reader_.ReadList(list.name, list.size));
  ASSERT_EQ(read_metas.size(), 1u);
  EXPECT_EQ(read_metas[0].partition_stats, metas[0].partition_stats);
  EXPECT_EQ(read_metas[0].file_size, metas[0].file_size);
  ASSERT_OK_AND_ASSIGN(auto entries, reader_.ReadEntries(metas[0]));
  ASSERT_EQ(entries.size(), 700u);
  for (int64_t i = 0; i < 700; ++i) {
    const ManifestEntry expected = Entry("f" + std::to_string(i), i);
    EXPECT_EQ(entries[i].Identity(), expected.Identity());
    EXPECT_EQ(entries[i].kind, i % 7 == 0 ? EntryKind::kDelete : EntryKind::kAdd);
    EXPECT_EQ(entries[i].file.value_stats, expected.file.value_stats);
    EXPECT_EQ(entries[i].file.creation_time_millis, expected.file.creation_time_millis);
    EXPECT_EQ(entries[i].file.value_stats_cols, expected.file.value_stats_cols);
    EXPECT_EQ(entries[i].file.write_cols, expected.file.write_cols);
    EXPECT_EQ(entries[i].file.first_row_id, expected.file.first_row_id);
  }
}

TEST_P(ManifestTest, RollsAndKeepsOrder) {
  auto writer = Writer(/*target=*/20'000);
  for (int64_t i = 0; i < 5000; ++i) ASSERT_OK(writer.Add(Entry("f" + std::to_string(i), i)));
  ASSERT_OK_AND_ASSIGN(auto metas, writer.FinishEntries());
  EXPECT_GT(metas.size(), 1u);
  int64_t next = 0;
  for (const auto& meta : metas) {
    ASSERT_OK_AND_ASSIGN(auto entries, reader_.ReadEntries(meta));
    EXPECT_EQ(static_cast<int64_t>(entries.size()), meta.num_added_files);
    for (const auto& entry : entries) EXPECT_EQ(entry.file.file_name, "f" + std::to_string(next++));
  }
  EXPECT_EQ(next, 5000);
}

TEST_P(ManifestTest, PartitionFilterAndProjection) {
  auto writer = Writer();
  for (int64_t i = 0; i < 100; ++i) ASSERT_OK(writer.Add(Entry("f" + std::to_string(i), i)));
  ASSERT_OK_AND_ASSIGN(auto metas, writer.FinishEntries());
  ManifestReader::EntryOptions options;
  int asked = 0;
  const std::string wanted = Entry("x", 4).partition;
  options.partition_filter = [&](std::string_view partition) -> arrow::Result<bool> {
    ++asked;
    return partition == wanted;
  };
  options.value_stats = false;
  int count = 0;
  ASSERT_OK(reader_.ReadEntries(metas[0], options, [&](ManifestEntry&& entry) {
    EXPECT_EQ(entry.partition, wanted);
    EXPECT_TRUE(entry.file.value_stats.min_values.empty());
    ++count;
    return arrow::Status::OK();
  }));
  EXPECT_EQ(count, 10);
  EXPECT_LE(asked, 10);
}

TEST_P(ManifestTest, DamageNeverCrashesAndNamesTheFile) {
  auto writer = Writer();
  for (int64_t i = 0; i < 5; ++i) ASSERT_OK(writer.Add(Entry("f" + std::to_string(i), i)));
  ASSERT_OK_AND_ASSIGN(auto metas, writer.FinishEntries());
  const std::string path = paths_.ManifestFile(metas[0].file_name);
  ASSERT_OK_AND_ASSIGN(const std::string whole, io_->ReadAll(path));
  for (size_t position = 0; position < whole.size(); position += 3) {
    std::string damaged = whole;
    damaged[position] = static_cast<char>(damaged[position] ^ 0x10);
    ASSERT_OK(io_->WriteReplacing(path, damaged));
    auto entries = reader_.ReadEntries(metas[0]);
    if (!entries.ok() && IsCorruption(entries.status())) {
      EXPECT_NE(entries.status().message().find(metas[0].file_name), std::string::npos)
          << entries.status();
    }
    ASSERT_OK(io_->WriteReplacing(path, whole.substr(0, position)));
    EXPECT_FALSE(reader_.ReadEntries(metas[0]).ok());
  }
}

INSTANTIATE_TEST_SUITE_P(Codecs, ManifestTest,
                         testing::Values("null", "deflate", "snappy", "zstandard"));

TEST(ManifestGoldenTest, EveryManifestOfJavaIsRead) {
  int lists = 0;
  for (const auto& path : GoldenFiles("manifest", "manifest-list-")) {
    if (path.string().find("manifest_in_orc") != std::string::npos) continue;
    ManifestReader reader(MakeLocalFileIO(), TablePaths(path.parent_path().parent_path().string()),
                          nullptr);
    ASSERT_OK_AND_ASSIGN(auto metas,
                         reader.ReadList(path.filename().string(), fs::file_size(path)));
    EXPECT_FALSE(reader.ReadList(path.filename().string(), fs::file_size(path) + 1).ok());
    for (const auto& meta : metas) {
      auto entries = reader.ReadEntries(meta);
      if (!entries.ok() && IsNotFound(entries.status())) continue;  // expired with its snapshot
      ASSERT_OK(entries);
      EXPECT_EQ(static_cast<int64_t>(entries->size()),
                meta.num_added_files + meta.num_deleted_files);
    }
    ++lists;
  }
  EXPECT_GT(lists, 30);
}

TEST(SchemaFilesTest, ConcurrentAlterersAllGetTheirVersion) {
  auto io = MakeMemoryFileIO();
  SchemaFiles schemas(io, TablePaths("/t"));
  TableSchema first;
  first.fields = {DataField{0, "a", DataType(TypeRoot::kInt), {}, {}}};
  ASSERT_OK_AND_ASSIGN(bool created, schemas.TryCreate(first));
  EXPECT_TRUE(created);
  ASSERT_OK_AND_ASSIGN(created, schemas.TryCreate(first));
  EXPECT_FALSE(created);
  for (int i = 0; i < 5; ++i) {
    SchemaFiles other(io, TablePaths("/t"));
    ASSERT_OK(other.Alter([&](TableSchema* schema) {
      // Somebody else is faster once.
      if (schema->id == 2 && i == 1) {
        return schemas
            .Alter([](TableSchema* s) {
              s->options["other"] = "x";
              return arrow::Status::OK();
            })
            .status();
      }
      schema->options["k" + std::to_string(i)] = "v";
      return arrow::Status::OK();
    }));
  }
  ASSERT_OK_AND_ASSIGN(auto latest, schemas.Latest());
  EXPECT_EQ(latest->id, 6);
  EXPECT_EQ(latest->options.size(), 6u);
}

}  // namespace
}  // namespace kelda
