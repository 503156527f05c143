#include "kelda/write/file_index_output.h"

namespace kelda {

arrow::Result<FileIndexSettings> FileIndexSettings::Make(const TableContext& table) {
  FileIndexSettings settings;
  auto specs = ParseFileIndexSpecs(table.options.values(), table.fields());
  if (!specs.ok()) return WithContext(specs.status(), "table " + table.name);
  settings.specs = *std::move(specs);
  ARROW_ASSIGN_OR_RAISE(settings.in_manifest_max_bytes,
                        table.options.Get(OptionKeys::kFileIndexInManifestThreshold));
  return settings;
}

arrow::Status StoreFileIndexes(const TableContext& table, const FileIndexSettings& settings,
                               const std::string& dir, FileIndexWriter* indexes,
                               DataFileMeta* meta) {
  auto bytes = indexes->Finish();
  if (!bytes.ok()) {
    return WithContext(bytes.status(),
                       fmt::format("table {}, data file '{}'", table.name, meta->file_name));
  }
  if (static_cast<int64_t>(bytes->size()) <= settings.in_manifest_max_bytes) {
    meta->embedded_file_index = *std::move(bytes);
    return arrow::Status::OK();
  }
  const std::string name = meta->file_name + ".index";
  ARROW_ASSIGN_OR_RAISE(auto file, table.env.io->CreateNew(JoinPath(dir, name)));
  ARROW_RETURN_NOT_OK(file->Write(bytes->data(), static_cast<int64_t>(bytes->size())));
  ARROW_RETURN_NOT_OK(file->Close());
  meta->extra_files.push_back(name);
  return arrow::Status::OK();
}

}  // namespace kelda
