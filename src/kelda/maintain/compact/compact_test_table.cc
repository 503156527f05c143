#include "kelda/maintain/compact/compact_test_table.h"

#include <mutex>

#include <arrow/builder.h>

#include "kelda/index/deletion_vector_rewrite.h"
#include "kelda/read/file_read.h"
#include "kelda/types/special_fields.h"
#include "kelda/write/append_writer.h"

namespace kelda {

namespace {

constexpr const char* kRoot = "/wh/default.db/t";

std::string ValueOf(int64_t key) { return "value " + std::to_string(key * 7919); }

arrow::Result<std::shared_ptr<arrow::RecordBatch>> MakeRows(int64_t first, int64_t count,
                                                            int32_t pt) {
  arrow::Int64Builder keys;
  arrow::StringBuilder values;
  arrow::Int32Builder parts;
  for (int64_t k = first; k < first + count; ++k) {
    ARROW_RETURN_NOT_OK(keys.Append(k));
    ARROW_RETURN_NOT_OK(values.Append(ValueOf(k)));
    ARROW_RETURN_NOT_OK(parts.Append(pt));
  }
  ARROW_ASSIGN_OR_RAISE(auto k, keys.Finish());
  ARROW_ASSIGN_OR_RAISE(auto v, values.Finish());
  ARROW_ASSIGN_OR_RAISE(auto p, parts.Finish());
  return arrow::RecordBatch::Make(
      arrow::schema({arrow::field("k", arrow::int64()), arrow::field("v", arrow::utf8()),
                     arrow::field("pt", arrow::int32())}),
      count, {k, v, p});
}

void Walk(FileIO& io, const std::string& dir, std::set<std::string>* paths) {
  auto children = io.List(dir);
  if (!children.ok()) return;
  for (const FileInfo& child : *children) {
    if (child.is_dir) {
      Walk(io, child.path, paths);
    } else if (child.path.find("/bucket-") != std::string::npos ||
               child.path.find("/index/") != std::string::npos) {
      paths->insert(child.path);
    }
  }
}

}  // namespace

arrow::Status CompactTestTable::Create(const Options& options, bool partitioned) {
  ARROW_ASSIGN_OR_RAISE(auto catalog, OpenFileSystemCatalog("/wh", {}, env_));
  TableDefinition definition;
  definition.fields = {DataField{-1, "k", DataType(TypeRoot::kBigInt), {}, {}},
                       DataField{-1, "v", DataType::String(), {}, {}},
                       DataField{-1, "pt", DataType(TypeRoot::kInt), {}, {}}};
  if (partitioned) definition.partition_keys = {"pt"};
  definition.options = options;
  Identifier id;
  id.database = "default";
  id.table = "t";
  ARROW_RETURN_NOT_OK(catalog->CreateTable(id, definition, false));
  return Open();
}

arrow::Status CompactTestTable::Open(const Options& dynamic) {
  return TableContext::Load(env_, "default.t", kRoot, "main", dynamic).Value(&table_);
}

arrow::Status CompactTestTable::Insert(int64_t first, int64_t count, int32_t pt) {
  ARROW_ASSIGN_OR_RAISE(auto rows, MakeRows(first, count, pt));
  ARROW_ASSIGN_OR_RAISE(auto writer, AppendWriter::Make(table_));
  ARROW_RETURN_NOT_OK(writer->Write(rows));
  Committable committable;
  ARROW_ASSIGN_OR_RAISE(committable.messages, writer->PrepareCommit());
  ARROW_ASSIGN_OR_RAISE(auto committer, Committer::Make(table_));
  return committer->Commit(committable).status();
}

arrow::Status CompactTestTable::Overwrite(int64_t first, int64_t count, int32_t pt) {
  ARROW_ASSIGN_OR_RAISE(auto rows, MakeRows(first, count, pt));
  AppendWriterOptions options;
  options.overwrite = true;
  ARROW_ASSIGN_OR_RAISE(auto writer, AppendWriter::Make(table_, options));
  ARROW_RETURN_NOT_OK(writer->Write(rows));
  Committable committable;
  ARROW_ASSIGN_OR_RAISE(committable.messages, writer->PrepareCommit());
  ARROW_ASSIGN_OR_RAISE(auto committer, Committer::Make(table_));
  Committer::OverwriteSpec spec;
  spec.dynamic = table_->partitioned();
  return committer->Overwrite(spec, committable).status();
}

arrow::Result<CommitMessage> CompactTestTable::DeleteIn(
    const Split& split, const std::vector<IndexManifestEntry>& vectors,
    const std::set<int64_t>& keys) const {
  std::map<std::string, DeletionVectorPtr> changes;
  for (const DataFileMeta& file : split.files) {
    TableReadOptions read;
    read.columns = {table_->fields()[0], RowPositionField()};
    ARROW_ASSIGN_OR_RAISE(auto reader, OpenDataFile(*table_, split, file, read));
    DeletionVector deleted;
    while (true) {
      ARROW_ASSIGN_OR_RAISE(auto batch, reader->Next());
      if (batch == nullptr) break;
      const auto& k = static_cast<const arrow::Int64Array&>(*batch->column(0));
      const auto& position = static_cast<const arrow::Int64Array&>(*batch->column(1));
      for (int64_t i = 0; i < batch->num_rows(); ++i) {
        if (keys.contains(k.Value(i))) deleted.Delete(position.Value(i));
      }
    }
    if (deleted.empty()) continue;
    ARROW_ASSIGN_OR_RAISE(auto old, LoadDeletionVector(*table_, split, file));
    if (old != nullptr) deleted.Merge(*old);
    changes.emplace(file.file_name, std::make_shared<DeletionVector>(deleted.Clone()));
  }
  CommitMessage message;
  message.partition = split.partition;
  message.bucket = split.bucket;
  ARROW_ASSIGN_OR_RAISE(auto rewrite, RewriteDeletionVectors(*table_, split.partition, split.bucket,
                                                             vectors, changes));
  message.new_index_files = std::move(rewrite.added);
  message.deleted_index_files = std::move(rewrite.deleted);
  return message;
}

arrow::Status CompactTestTable::Delete(const std::set<int64_t>& keys) {
  const ScanPlan plan = Plan();
  ARROW_ASSIGN_OR_RAISE(auto vectors, DeletionVectorEntries(*table_, *plan.snapshot));
  // Splits of one bucket share its index files.
  std::map<BucketKey, Split> buckets;
  for (const Split& split : plan.splits) {
    auto [it, is_new] = buckets.emplace(BucketKey{split.partition, split.bucket}, split);
    if (is_new) {
      it->second.deletion_files.resize(split.files.size());
      continue;
    }
    Split& all = it->second;
    all.files.insert(all.files.end(), split.files.begin(), split.files.end());
    for (size_t i = 0; i < split.files.size(); ++i) {
      const DeletionFile* deletion = split.DeletionOf(i);
      all.deletion_files.push_back(deletion == nullptr ? std::nullopt
                                                       : std::optional<DeletionFile>(*deletion));
    }
  }
  Committable committable;
  for (const auto& [key, split] : buckets) {
    ARROW_ASSIGN_OR_RAISE(auto message, DeleteIn(split, vectors[key], keys));
    committable.messages.push_back(std::move(message));
  }
  ARROW_ASSIGN_OR_RAISE(auto committer, Committer::Make(table_));
  return committer->Commit(committable).status();
}

ScanPlan CompactTestTable::Plan() const {
  ScanRequest request;
  request.snapshot = table_->snapshots->Latest().ValueOrDie();
  return PlanScan(*table_, request).ValueOrDie();
}

arrow::Result<std::map<int64_t, int>> CompactTestTable::Rows() const {
  std::map<int64_t, int> rows;
  std::mutex mutex;
  TableReadOptions read;
  read.columns = {table_->fields()[0], table_->fields()[1]};
  ARROW_RETURN_NOT_OK(ReadPlan(
      *table_, Plan(), read, [&](std::shared_ptr<arrow::RecordBatch> batch) -> arrow::Status {
        const auto& keys = static_cast<const arrow::Int64Array&>(*batch->column(0));
        const auto& values = static_cast<const arrow::StringArray&>(*batch->column(1));
        std::lock_guard lock(mutex);
        for (int64_t i = 0; i < batch->num_rows(); ++i) {
          if (values.GetView(i) != ValueOf(keys.Value(i)))
            return Invalid("k = {} has v = '{}'", keys.Value(i), values.GetView(i));
          ++rows[keys.Value(i)];
        }
        return arrow::Status::OK();
      }));
  return rows;
}

arrow::Result<std::map<int64_t, std::pair<int64_t, int64_t>>> CompactTestTable::RowIds() const {
  std::map<int64_t, std::pair<int64_t, int64_t>> ids;
  std::mutex mutex;
  TableReadOptions read;
  read.columns = {table_->fields()[0], RowIdField(), SequenceNumberField()};
  ARROW_RETURN_NOT_OK(
      ReadPlan(*table_, Plan(), read, [&](std::shared_ptr<arrow::RecordBatch> batch) {
        auto value = [&](int column, int64_t i) {
          return static_cast<const arrow::Int64Array&>(*batch->column(column)).Value(i);
        };
        std::lock_guard lock(mutex);
        for (int64_t i = 0; i < batch->num_rows(); ++i)
          ids[value(0, i)] = {value(1, i), value(2, i)};
        return arrow::Status::OK();
      }));
  return ids;
}

size_t CompactTestTable::LiveFileCount() const {
  size_t count = 0;
  for (const Split& split : Plan().splits) count += split.files.size();
  return count;
}

std::set<std::string> CompactTestTable::StoredFiles() const {
  std::set<std::string> paths;
  Walk(*env_.io, kRoot, &paths);
  return paths;
}

int64_t CompactTestTable::LatestSnapshotId() const {
  return table_->snapshots->LatestId().ValueOrDie().value_or(0);
}

}  // namespace kelda
