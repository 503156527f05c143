#include "kelda/index/deletion_vector_file.h"

#include "kelda/base/bytes.h"
#include "kelda/base/log.h"

namespace kelda {

namespace {

constexpr char kVersion = 1;
/// Larger vectors are refused; a roaring bitmap of 2^32 rows needs half of it.
constexpr int64_t kRecordMaxBytes = int64_t{1} << 30;

}  // namespace

arrow::Result<std::string> IndexFilePath(const TableContext& table, std::string_view partition,
                                         int32_t bucket, const IndexFileMeta& file) {
  if (file.external_path) return *file.external_path;
  ARROW_ASSIGN_OR_RAISE(bool in_data_dir, table.options.Get(OptionKeys::kIndexFileInDataFileDir));
  if (!in_data_dir) return JoinPath(table.paths.IndexDir(), file.file_name);
  ARROW_ASSIGN_OR_RAISE(auto values,
                        DecodePartition(table.PartitionTypes(), partition, table.name));
  ARROW_ASSIGN_OR_RAISE(auto partition_path, PartitionPath(table.PartitionFields(), values,
                                                           table.partition_path_options));
  return JoinPath(table.paths.BucketDir(partition_path, bucket), file.file_name);
}

arrow::Result<DeletionVectorPtr> ReadDeletionVector(FileIO& io, const std::string& path,
                                                    int64_t offset, int64_t length) {
  if (offset < 0 || length < 0 || length > kRecordMaxBytes) {
    return Corruption("deletion vector at {} of '{}' with {} bytes", offset, path, length);
  }
  ARROW_ASSIGN_OR_RAISE(auto file, io.OpenInput(path));
  // Size and checksum are not part of the length of 32-bit vectors.
  ARROW_ASSIGN_OR_RAISE(auto bytes, file->ReadAt(offset, length + 8));
  const std::string source = fmt::format("{} (vector at {})", path, offset);
  ARROW_ASSIGN_OR_RAISE(
      DeletionVector vector,
      DeletionVector::ParseRecord(std::string_view(reinterpret_cast<const char*>(bytes->data()),
                                                   static_cast<size_t>(bytes->size())),
                                  length, source));
  return std::make_shared<const DeletionVector>(std::move(vector));
}

arrow::Result<std::vector<std::pair<std::string, DeletionVectorPtr>>> ReadDeletionVectors(
    FileIO& io, const std::string& path, const IndexFileMeta& file) {
  std::vector<std::pair<std::string, DeletionVectorPtr>> vectors;
  if (!file.deletion_vectors) {
    return Corruption("index file '{}' is said to hold deletion vectors but none is listed", path);
  }
  ARROW_ASSIGN_OR_RAISE(std::string bytes, io.ReadAll(path, kRecordMaxBytes));
  if (bytes.empty() || bytes[0] != kVersion) {
    return Corruption("index file '{}' is not a deletion vector file of version 1", path);
  }
  for (const DeletionVectorRange& range : *file.deletion_vectors) {
    if (range.offset < 1 || static_cast<size_t>(range.offset) > bytes.size()) {
      return Corruption("index file '{}' has {} bytes; a vector is said to be at {}", path,
                        bytes.size(), range.offset);
    }
    ARROW_ASSIGN_OR_RAISE(
        DeletionVector vector,
        DeletionVector::ParseRecord(std::string_view(bytes).substr(range.offset), range.length,
                                    fmt::format("{} (vector at {})", path, range.offset)));
    vectors.emplace_back(range.data_file,
                         std::make_shared<const DeletionVector>(std::move(vector)));
  }
  return vectors;
}

arrow::Result<std::vector<IndexFileMeta>> WriteDeletionVectors(
    const TableContext& table, std::string_view partition, int32_t bucket,
    const std::vector<std::pair<std::string, DeletionVectorPtr>>& vectors, bool one_file) {
  ARROW_ASSIGN_OR_RAISE(bool bitmap64, table.options.Get(OptionKeys::kDeletionVectorsBitmap64));
  ARROW_ASSIGN_OR_RAISE(int64_t target,
                        table.options.Get(OptionKeys::kDeletionVectorIndexFileTargetSize));
  const auto encoding =
      bitmap64 ? DeletionVector::Encoding::kBitmap64 : DeletionVector::Encoding::kBitmap32;
  const std::string uuid = table.env.random->Uuid();
  std::vector<IndexFileMeta> files;
  std::vector<std::string> created;
  auto write = [&]() -> arrow::Status {
    size_t next = 0;
    while (next < vectors.size()) {
      IndexFileMeta meta;
      meta.index_type = kDeletionVectorsIndex;
      meta.file_name = fmt::format("index-{}-{}", uuid, files.size());
      meta.deletion_vectors.emplace();
      std::string content(1, kVersion);
      while (next < vectors.size() &&
             (one_file || meta.row_count == 0 || static_cast<int64_t>(content.size()) < target)) {
        const auto& [data_file, vector] = vectors[next++];
        DeletionVectorRange range;
        range.data_file = data_file;
        range.offset = static_cast<int32_t>(content.size());
        range.cardinality = vector->Cardinality();
        ARROW_ASSIGN_OR_RAISE(std::string record, vector->SerializeRecord(encoding, &range.length));
        if (content.size() + record.size() > INT32_MAX) {
          return Invalid("table {}: deletion vectors of one bucket exceed 2 GB", table.name);
        }
        content += record;
        meta.deletion_vectors->push_back(std::move(range));
        ++meta.row_count;
      }
      meta.file_size = static_cast<int64_t>(content.size());
      ARROW_ASSIGN_OR_RAISE(std::string path, IndexFilePath(table, partition, bucket, meta));
      ARROW_ASSIGN_OR_RAISE(auto out, table.env.io->CreateNew(path));
      created.push_back(path);
      ARROW_RETURN_NOT_OK(out->Write(content));
      ARROW_RETURN_NOT_OK(out->Close());
      files.push_back(std::move(meta));
    }
    return arrow::Status::OK();
  };
  const auto status = write();
  if (!status.ok()) {
    for (const std::string& path : created)
      IgnoreError(table.env.io->DeleteFile(path), "orphan cleaning finds it");
    return status;
  }
  return files;
}

}  // namespace kelda
