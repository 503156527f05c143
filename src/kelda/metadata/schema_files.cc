#include "kelda/metadata/schema_files.h"

#include <algorithm>
#include <charconv>

namespace kelda {

namespace {
constexpr std::string_view kPrefix = "schema-";
constexpr int64_t kSchemaFileMaxBytes = 256 << 20;
constexpr int kAlterAttemptsMax = 100;
}  // namespace

arrow::Result<std::vector<int64_t>> SchemaFiles::ListIds() const {
  ARROW_ASSIGN_OR_RAISE(auto children, io_->List(paths_.SchemaDir()));
  std::vector<int64_t> ids;
  for (const FileInfo& child : children) {
    if (!child.name.starts_with(kPrefix)) continue;
    std::string_view text = std::string_view(child.name).substr(kPrefix.size());
    int64_t id = 0;
    auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), id);
    if (error != std::errc() || end != text.data() + text.size() || id < 0) {
      return Corruption("file '{}' has the name of a schema but no number; remove or rename it",
                        child.path);
    }
    ids.push_back(id);
  }
  std::sort(ids.begin(), ids.end());
  return ids;
}

arrow::Result<std::optional<int64_t>> SchemaFiles::LatestId() const {
  ARROW_ASSIGN_OR_RAISE(auto ids, ListIds());
  if (ids.empty()) return std::nullopt;
  return ids.back();
}

arrow::Result<TableSchemaPtr> SchemaFiles::Read(int64_t id) const {
  {
    std::lock_guard lock(mutex_);
    auto it = cache_.find(id);
    if (it != cache_.end()) return it->second;
  }
  const std::string path = paths_.SchemaFile(id);
  ARROW_ASSIGN_OR_RAISE(std::string text, io_->ReadAll(path, kSchemaFileMaxBytes));
  ARROW_ASSIGN_OR_RAISE(TableSchema parsed, TableSchema::FromJsonText(text, path));
  if (parsed.id != id)
    return Corruption("corrupt schema file '{}': it holds schema {}", path, parsed.id);
  auto schema = std::make_shared<const TableSchema>(std::move(parsed));
  std::lock_guard lock(mutex_);
  return cache_.emplace(id, schema).first->second;
}

arrow::Result<TableSchemaPtr> SchemaFiles::Latest() const {
  ARROW_ASSIGN_OR_RAISE(auto id, LatestId());
  if (!id) return TableSchemaPtr();
  return Read(*id);
}

arrow::Result<bool> SchemaFiles::TryCreate(const TableSchema& schema) const {
  const std::string path = paths_.SchemaFile(schema.id);
  const std::string text = schema.ToJsonText();
  PublishResult result = io_->PublishNew(path, text);
  switch (result.outcome) {
    case PublishOutcome::kDone:
      return true;
    case PublishOutcome::kLost:
      return false;
    case PublishOutcome::kUnknown:
      break;
  }
  // Content decides: the text holds the creation time and the whole change, and an equal file has
  // the wanted effect.
  auto present = io_->ReadAll(path, kSchemaFileMaxBytes);
  if (present.ok()) return *present == text;
  if (IsNotFound(present.status())) return result.error;
  return CommitUnknown(
      "creating schema file '{}' gave no answer ({}) and it cannot be read back ({})", path,
      result.error.message(), present.status().message());
}

arrow::Result<TableSchemaPtr> SchemaFiles::Alter(
    const std::function<arrow::Status(TableSchema* schema)>& change) const {
  for (int attempt = 0; attempt < kAlterAttemptsMax; ++attempt) {
    ARROW_ASSIGN_OR_RAISE(auto latest, Latest());
    if (latest == nullptr) return NotFound("no table at '{}'", paths_.root());
    TableSchema next = *latest;
    next.version = 3;
    next.id = latest->id + 1;
    ARROW_RETURN_NOT_OK(change(&next));
    ARROW_ASSIGN_OR_RAISE(bool created, TryCreate(next));
    if (created) return Read(next.id);
  }
  return Conflict("schema of '{}' was changed by others {} times in a row; try again",
                  paths_.root(), kAlterAttemptsMax);
}

}  // namespace kelda
