#include "kelda/metadata/snapshot_files.h"

#include <algorithm>
#include <charconv>

namespace kelda {

namespace {

constexpr std::string_view kSnapshotPrefix = "snapshot-";
constexpr std::string_view kTagPrefix = "tag-";
constexpr int64_t kSmallFileMaxBytes = 64 << 20;

std::optional<int64_t> ParseId(std::string_view text) {
  int64_t id = 0;
  auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), id);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return id;
}

}  // namespace

arrow::Result<std::optional<int64_t>> SnapshotFiles::ReadHint(const std::string& path) const {
  // Any error counts as "absent" (spec 01 §1.3): a hint may be half-written by somebody else.
  for (int attempt = 0; attempt < 3; ++attempt) {
    auto text = io_->ReadAll(path, 1024);
    if (text.ok()) {
      if (auto id = ParseId(*text)) return id;
    } else if (IsNotFound(text.status())) {
      return std::nullopt;
    }
    clock_->Sleep(std::chrono::milliseconds(1));
  }
  return std::nullopt;
}

arrow::Result<std::vector<int64_t>> SnapshotFiles::ListIds() const {
  ARROW_ASSIGN_OR_RAISE(auto children, io_->List(paths_.SnapshotDir()));
  std::vector<int64_t> ids;
  for (const FileInfo& child : children) {
    if (!child.name.starts_with(kSnapshotPrefix)) continue;
    auto id = ParseId(std::string_view(child.name).substr(kSnapshotPrefix.size()));
    if (!id || *id <= 0) {
      return Corruption("file '{}' has the name of a snapshot but no number; remove or rename it",
                        child.path);
    }
    ids.push_back(*id);
  }
  std::sort(ids.begin(), ids.end());
  return ids;
}

arrow::Result<std::optional<int64_t>> SnapshotFiles::LatestId() const {
  ARROW_ASSIGN_OR_RAISE(auto hint, ReadHint(paths_.LatestHint()));
  if (hint && *hint > 0) {
    ARROW_ASSIGN_OR_RAISE(bool next_exists, io_->Exists(paths_.SnapshotFile(*hint + 1)));
    if (!next_exists) {
      // Stricter than Java, which trusts the hint blindly: a hint to a snapshot that is gone would
      // make a committer restart ids.
      ARROW_ASSIGN_OR_RAISE(bool exists, io_->Exists(paths_.SnapshotFile(*hint)));
      if (exists) return hint;
    }
  }
  ARROW_ASSIGN_OR_RAISE(auto ids, ListIds());
  if (ids.empty()) return std::nullopt;
  return ids.back();
}

arrow::Result<std::optional<int64_t>> SnapshotFiles::EarliestId() const {
  ARROW_ASSIGN_OR_RAISE(auto hint, ReadHint(paths_.EarliestHint()));
  if (hint && *hint > 0) {
    ARROW_ASSIGN_OR_RAISE(bool exists, io_->Exists(paths_.SnapshotFile(*hint)));
    if (exists) return hint;
  }
  ARROW_ASSIGN_OR_RAISE(auto ids, ListIds());
  if (ids.empty()) return std::nullopt;
  return ids.front();
}

arrow::Result<Snapshot> SnapshotFiles::Read(int64_t id) const {
  const std::string path = paths_.SnapshotFile(id);
  // Java's local rename is not seen half-done, but copies onto object stores are: parse failures
  // are tried again.
  arrow::Status last;
  for (int attempt = 0; attempt < 3; ++attempt) {
    ARROW_ASSIGN_OR_RAISE(std::string text, io_->ReadAll(path, kSmallFileMaxBytes));
    auto snapshot = Snapshot::FromJsonText(text, path);
    if (snapshot.ok()) {
      if (snapshot->id != id) {
        return Corruption("corrupt snapshot file '{}': it holds snapshot {}", path, snapshot->id);
      }
      return snapshot;
    }
    last = snapshot.status();
    clock_->Sleep(std::chrono::milliseconds(20));
  }
  return last;
}

arrow::Result<std::optional<Snapshot>> SnapshotFiles::Latest() const {
  // Expiry or rollback may remove the file between finding and reading it.
  arrow::Status last;
  for (int attempt = 0; attempt < 3; ++attempt) {
    ARROW_ASSIGN_OR_RAISE(auto id, LatestId());
    if (!id) return std::nullopt;
    auto snapshot = Read(*id);
    if (snapshot.ok()) return *snapshot;
    last = snapshot.status();
    if (!IsNotFound(last)) return last;
  }
  return last;
}

arrow::Result<std::optional<Snapshot>> SnapshotFiles::AtTime(int64_t millis) const {
  ARROW_ASSIGN_OR_RAISE(auto ids, ListIds());
  std::optional<Snapshot> best;
  // timeMillis is not monotonic across writers (spec 03 §9.3), so a binary search like Java's could
  // miss; but ids are few in practice only after expiry: search from the newest and stop at the
  // first that is old enough.
  for (auto it = ids.rbegin(); it != ids.rend(); ++it) {
    auto snapshot = Read(*it);
    if (!snapshot.ok()) {
      if (IsNotFound(snapshot.status())) continue;
      return snapshot.status();
    }
    if (snapshot->time_millis <= millis) {
      best = *snapshot;
      break;
    }
  }
  return best;
}

arrow::Result<Snapshot> SnapshotFiles::ReadTag(const std::string& name) const {
  const std::string path = paths_.TagFile(name);
  ARROW_ASSIGN_OR_RAISE(std::string text, io_->ReadAll(path, kSmallFileMaxBytes));
  return Snapshot::FromJsonText(text, path);
}

arrow::Result<bool> SnapshotFiles::TagExists(const std::string& name) const {
  if (name.empty() || name.find('/') != std::string::npos) return false;
  return io_->Exists(paths_.TagFile(name));
}

arrow::Result<std::vector<std::string>> SnapshotFiles::ListTags() const {
  ARROW_ASSIGN_OR_RAISE(auto children, io_->List(paths_.TagDir()));
  std::vector<std::string> names;
  for (const FileInfo& child : children) {
    if (!child.is_dir && child.name.starts_with(kTagPrefix)) {
      names.push_back(child.name.substr(kTagPrefix.size()));
    }
  }
  return names;
}

arrow::Status SnapshotFiles::WriteLatestHint(int64_t id) const {
  return io_->WriteReplacing(paths_.LatestHint(), std::to_string(id));
}

}  // namespace kelda
