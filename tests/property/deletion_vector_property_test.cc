#include <map>
#include <mutex>
#include <random>
#include <set>

#include <gtest/gtest.h>

#include <arrow/api.h>

#include "kelda/base/test_matchers.h"
#include "kelda/catalog/catalog.h"
#include "kelda/commit/committer.h"
#include "kelda/index/deletion_vector_rewrite.h"
#include "kelda/read/file_read.h"
#include "kelda/scan/plan.h"
#include "kelda/types/special_fields.h"
#include "kelda/write/append_writer.h"

// Random inserts, deletes by vector and overwrites of an append table, some prepared on a snapshot
// that is no longer the newest, against a set of ids. A commit either does all of its work or says
// that it conflicts; in both cases the rows read afterwards are those of the model.

namespace kelda {
namespace {

struct Setting {
  const char* name;
  std::map<std::string, std::string> options;
  bool partitioned;
};

void PrintTo(const Setting& setting, std::ostream* out) { *out << setting.name; }

template <typename T>
T Unwrap(arrow::Result<T> result) {
  if (!result.ok()) ADD_FAILURE() << result.status().ToString();
  return std::move(result).ValueOrDie();
}

class DeletionVectorProperty : public testing::TestWithParam<Setting> {
 protected:
  void SetUp() override {
    env_.io = MakeMemoryFileIO();
    env_.executor = Executor::MakePool(2);
    env_.budget = MemoryBudget::Make(int64_t{1} << 30);
    auto catalog = Unwrap(OpenFileSystemCatalog("/wh", {}, env_));
    TableDefinition definition;
    definition.fields = {{0, "id", DataType(TypeRoot::kInt), {}, {}},
                         {1, "pt", DataType(TypeRoot::kInt), {}, {}}};
    if (GetParam().partitioned) definition.partition_keys = {"pt"};
    definition.options = GetParam().options;
    definition.options["deletion-vectors.enabled"] = "true";
    definition.options["manifest.merge-min-count"] = "3";
    Identifier id;
    id.database = "default";
    id.table = "t";
    ASSERT_OK(catalog->CreateTable(id, definition, false));
    table_ = Unwrap(catalog->LoadTable(id));
  }

  std::shared_ptr<arrow::RecordBatch> Rows(int first, int count) {
    arrow::Int32Builder ids;
    arrow::Int32Builder partitions;
    for (int i = 0; i < count; ++i) {
      EXPECT_OK(ids.Append(first + i));
      EXPECT_OK(partitions.Append(first % 3));
    }
    return arrow::RecordBatch::Make(
        arrow::schema({arrow::field("id", arrow::int32()), arrow::field("pt", arrow::int32())}),
        count, {Unwrap(ids.Finish()), Unwrap(partitions.Finish())});
  }

  void Insert(int count) {
    auto writer = Unwrap(AppendWriter::Make(table_));
    ASSERT_OK(writer->Write(Rows(next_id_, count)));
    for (int i = 0; i < count; ++i) model_.insert({next_id_ + i, next_id_ % 3});
    next_id_ += count;
    Committable committable;
    committable.messages = Unwrap(writer->PrepareCommit());
    ASSERT_OK(Unwrap(Committer::Make(table_))->Commit(committable));
  }

  Snapshot Latest() { return *Unwrap(table_->snapshots->Latest()); }

  struct Located {
    const Split* split;
    const DataFileMeta* file;
    std::map<int64_t, std::pair<int, int>> rows;  ///< position -> (id, pt)
  };

  ScanPlan PlanOf(const Snapshot& snapshot) {
    ScanRequest request;
    request.snapshot = snapshot;
    return Unwrap(PlanScan(*table_, request));
  }

  std::vector<Located> Locate(const ScanPlan& plan) {
    std::vector<Located> files;
    TableReadOptions options;
    options.columns = table_->fields();
    options.columns.push_back(RowPositionField());
    options.batch_rows = 7;
    for (const Split& split : plan.splits) {
      for (const DataFileMeta& file : split.files) {
        Located located{&split, &file, {}};
        auto reader = Unwrap(OpenDataFile(*table_, split, file, options));
        while (auto batch = Unwrap(reader->Next())) {
          const auto& ids = static_cast<const arrow::Int32Array&>(*batch->column(0));
          const auto& pts = static_cast<const arrow::Int32Array&>(*batch->column(1));
          const auto& positions = static_cast<const arrow::Int64Array&>(*batch->column(2));
          for (int64_t i = 0; i < batch->num_rows(); ++i)
            located.rows[positions.Value(i)] = {ids.Value(i), pts.Value(i)};
        }
        files.push_back(std::move(located));
      }
    }
    return files;
  }

  struct PreparedDelete {
    Committable committable;
    std::set<std::pair<int, int>> rows;
    Snapshot base;
  };

  /// Vectors for about one in `one_in` rows of some files, on top of `snapshot`.
  PreparedDelete PrepareDelete(const Snapshot& snapshot, uint64_t one_in) {
    PreparedDelete prepared;
    prepared.base = snapshot;
    const ScanPlan plan = PlanOf(snapshot);
    const auto current = Unwrap(DeletionVectorEntries(*table_, snapshot));
    std::map<BucketKey, std::map<std::string, DeletionVectorPtr>> changes;
    for (const Located& located : Locate(plan)) {
      if (random_() % 2 == 0) continue;
      auto old = Unwrap(LoadDeletionVector(*table_, *located.split, *located.file));
      DeletionVector vector = old == nullptr ? DeletionVector() : old->Clone();
      bool changed = false;
      for (const auto& [position, row] : located.rows) {
        if (random_() % one_in != 0) continue;
        vector.Delete(position);
        prepared.rows.insert(row);
        changed = true;
      }
      if (!changed) continue;
      changes[{located.split->partition, located.split->bucket}][located.file->file_name] =
          std::make_shared<const DeletionVector>(std::move(vector));
    }
    for (const auto& [key, of_bucket] : changes) {
      const auto entries = current.find(key);
      auto rewrite = Unwrap(RewriteDeletionVectors(
          *table_, key.first, key.second,
          entries == current.end() ? std::vector<IndexManifestEntry>() : entries->second,
          of_bucket));
      CommitMessage message;
      message.partition = key.first;
      message.bucket = key.second;
      message.new_index_files = rewrite.added;
      message.deleted_index_files = rewrite.deleted;
      prepared.committable.messages.push_back(std::move(message));
    }
    return prepared;
  }

  /// True if it was committed.
  bool CommitDelete(const PreparedDelete& prepared) {
    auto result = Unwrap(Committer::Make(table_))->Commit(prepared.committable);
    if (result.ok()) {
      for (const auto& row : prepared.rows) model_.erase(row);
      return true;
    }
    EXPECT_THAT(result.status(), HasError(ErrorCode::kConflict, "Run the statement again"));
    return false;
  }

  void OverwritePartition(int pt) {
    Committer::OverwriteSpec spec;
    spec.dynamic = false;
    if (GetParam().partitioned) spec.static_partition["pt"] = std::to_string(pt);
    ASSERT_OK(Unwrap(Committer::Make(table_))->Overwrite(spec, Committable()));
    std::erase_if(model_,
                  [&](const auto& row) { return !GetParam().partitioned || row.second == pt; });
  }

  void ExpectModel() {
    const Snapshot latest = Latest();
    const ScanPlan plan = PlanOf(latest);
    std::set<std::pair<int, int>> rows;
    size_t count = 0;
    for (const Located& located : Locate(plan)) {
      for (const auto& [position, row] : located.rows) {
        rows.insert(row);
        ++count;
      }
    }
    ASSERT_EQ(rows, model_);
    ASSERT_EQ(count, model_.size()) << "a row came twice";
    int64_t live = 0;
    std::set<std::string> files;
    for (const Split& split : plan.splits) {
      live += split.LiveRowCount().value();
      for (const DataFileMeta& file : split.files) files.insert(file.file_name);
    }
    ASSERT_EQ(live, static_cast<int64_t>(model_.size()));
    // No file has two vectors, and no vector is left without its file.
    std::set<std::string> with_vector;
    for (const auto& [key, entries] : Unwrap(DeletionVectorEntries(*table_, latest))) {
      for (const IndexManifestEntry& entry : entries) {
        for (const DeletionVectorRange& range : *entry.file.deletion_vectors) {
          ASSERT_TRUE(with_vector.insert(range.data_file).second) << range.data_file;
          ASSERT_TRUE(files.contains(range.data_file)) << range.data_file;
        }
      }
    }
  }

  Environment env_;
  TableContextPtr table_;
  std::mt19937_64 random_{20261130};
  std::set<std::pair<int, int>> model_;
  int next_id_ = 0;
};

TEST_P(DeletionVectorProperty, RandomHistory) {
  int stale_committed = 0;
  int stale_refused = 0;
  std::vector<PreparedDelete> stale;
  for (int step = 0; step < 60; ++step) {
    SCOPED_TRACE("step " + std::to_string(step));
    const uint64_t kind = random_() % 10;
    if (model_.empty() || kind < 3) {
      ASSERT_NO_FATAL_FAILURE(Insert(1 + static_cast<int>(random_() % 60)));
    } else if (kind < 6) {
      EXPECT_TRUE(CommitDelete(PrepareDelete(Latest(), 1 + random_() % 8)));
    } else if (kind < 7) {
      stale.push_back(PrepareDelete(Latest(), 20));
    } else if (kind < 9 && !stale.empty()) {
      (CommitDelete(stale.back()) ? stale_committed : stale_refused) += 1;
      stale.pop_back();
    } else if (kind == 9 && random_() % 4 == 0) {
      ASSERT_NO_FATAL_FAILURE(OverwritePartition(static_cast<int>(random_() % 3)));
    }
    if (!table_->snapshots->Latest().ValueOrDie()) continue;
    ASSERT_NO_FATAL_FAILURE(ExpectModel());
  }
  EXPECT_GT(stale_committed + stale_refused, 0);
}

TEST_P(DeletionVectorProperty, TwoDeletesOfOneFileOneWins) {
  ASSERT_NO_FATAL_FAILURE(Insert(100));
  const Snapshot base = Latest();
  PreparedDelete first;
  PreparedDelete second;
  while (first.rows.empty()) first = PrepareDelete(base, 3);
  while (second.rows.empty()) second = PrepareDelete(base, 3);
  EXPECT_TRUE(CommitDelete(first));
  EXPECT_FALSE(CommitDelete(second));
  ASSERT_NO_FATAL_FAILURE(ExpectModel());
}

TEST_P(DeletionVectorProperty, DeleteOfOverwrittenFileIsRefused) {
  ASSERT_NO_FATAL_FAILURE(Insert(100));
  PreparedDelete prepared;
  while (prepared.rows.empty()) prepared = PrepareDelete(Latest(), 3);
  for (int pt = 0; pt < 3; ++pt) ASSERT_NO_FATAL_FAILURE(OverwritePartition(pt));
  auto result = Unwrap(Committer::Make(table_))->Commit(prepared.committable);
  EXPECT_THAT(result.status(), HasError(ErrorCode::kConflict, "no longer there"));
  ASSERT_NO_FATAL_FAILURE(ExpectModel());
}

INSTANTIATE_TEST_SUITE_P(
    Tables, DeletionVectorProperty,
    testing::Values(
        Setting{"Plain", {}, false},
        Setting{"Bitmap64", {{"deletion-vectors.bitmap64", "true"}}, false},
        Setting{"SmallFiles",
                {{"deletion-vector.index-file.target-size", "64 b"}, {"target-file-size", "4 kb"}},
                false},
        Setting{"Partitions", {{"deletion-vector.index-file.target-size", "128 b"}}, true},
        Setting{"InDataDir", {{"index-file-in-data-file-dir", "true"}}, true},
        Setting{"Buckets", {{"bucket", "2"}, {"bucket-key", "id"}, {"write-only", "true"}}, false}),
    [](const auto& info) { return info.param.name; });

}  // namespace
}  // namespace kelda
