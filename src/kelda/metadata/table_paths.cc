#include "kelda/metadata/table_paths.h"

#include <fmt/format.h>

namespace kelda {

TablePaths::TablePaths(std::string root, std::string branch, std::string data_dir)
    : root_(std::move(root)), branch_(std::move(branch)) {
  branch_root_ = branch_ == "main" ? root_ : fmt::format("{}/branch/branch-{}", root_, branch_);
  data_root_ = data_dir.empty() ? root_ : fmt::format("{}/{}", root_, data_dir);
}

std::string TablePaths::SchemaFile(int64_t id) const {
  return fmt::format("{}/schema/schema-{}", branch_root_, id);
}
std::string TablePaths::SnapshotFile(int64_t id) const {
  return fmt::format("{}/snapshot/snapshot-{}", branch_root_, id);
}
std::string TablePaths::TagFile(std::string_view name) const {
  return fmt::format("{}/tag/tag-{}", branch_root_, name);
}
std::string TablePaths::ManifestFile(std::string_view name) const {
  return fmt::format("{}/manifest/{}", root_, name);
}
std::string TablePaths::BucketDir(std::string_view partition_path, int32_t bucket) const {
  if (bucket == -2) return fmt::format("{}/{}bucket-postpone", data_root_, partition_path);
  return fmt::format("{}/{}bucket-{}", data_root_, partition_path, bucket);
}

std::string MetadataFileNames::NextManifest() {
  return fmt::format("manifest-{}-{}", uuid_, manifests_++);
}
std::string MetadataFileNames::NextManifestList() {
  return fmt::format("manifest-list-{}-{}", uuid_, lists_++);
}
std::string MetadataFileNames::NextIndexManifest() {
  return fmt::format("index-manifest-{}-{}", uuid_, index_manifests_++);
}

}  // namespace kelda
