#pragma once

#include <atomic>
#include <string>
#include <string_view>

#include "kelda/base/clock.h"
#include "kelda/types/data_type.h"

namespace kelda {

/// Where the files of one table are (spec 01 §1). `branch` other than "main" moves schema/,
/// snapshot/, tag/, changelog/ and consumer/ below branch/branch-<name>/ (§1.8). Immutable;
/// thread-safe.
class TablePaths {
 public:
  TablePaths(std::string root, std::string branch = "main", std::string data_dir = "");

  const std::string& root() const { return root_; }
  const std::string& branch() const { return branch_; }
  /// Root of the branch's own metadata; equals root() for main.
  const std::string& branch_root() const { return branch_root_; }

  std::string SchemaDir() const { return branch_root_ + "/schema"; }
  std::string SchemaFile(int64_t id) const;
  std::string SnapshotDir() const { return branch_root_ + "/snapshot"; }
  std::string SnapshotFile(int64_t id) const;
  std::string LatestHint() const { return branch_root_ + "/snapshot/LATEST"; }
  std::string EarliestHint() const { return branch_root_ + "/snapshot/EARLIEST"; }
  std::string TagFile(std::string_view name) const;
  std::string TagDir() const { return branch_root_ + "/tag"; }
  std::string BranchDir() const { return root_ + "/branch"; }
  std::string ManifestDir() const { return root_ + "/manifest"; }
  std::string ManifestFile(std::string_view name) const;
  std::string IndexDir() const { return root_ + "/index"; }
  /// Directory of a bucket; `partition_path` as PartitionPath() gives it, with its final slash, or
  /// empty.
  std::string BucketDir(std::string_view partition_path, int32_t bucket) const;

 private:
  std::string root_;
  std::string branch_;
  std::string branch_root_;
  std::string data_root_;
};

/// Names of new metadata files: one random UUID per instance and a counter per kind (spec 01 §1.4,
/// 03 §1). Thread-safe.
class MetadataFileNames {
 public:
  explicit MetadataFileNames(Random& random) : uuid_(random.Uuid()) {}
  std::string NextManifest();
  std::string NextManifestList();
  std::string NextIndexManifest();

 private:
  const std::string uuid_;
  std::atomic<int64_t> manifests_{0};
  std::atomic<int64_t> lists_{0};
  std::atomic<int64_t> index_manifests_{0};
};

}  // namespace kelda
