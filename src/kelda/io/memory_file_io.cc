#include <cerrno>
#include <cstring>
#include <functional>
#include <map>
#include <mutex>

#include "kelda/base/clock.h"
#include "kelda/io/file_io.h"
#include "kelda/io/io_error.h"
#include "kelda/io/positional_input.h"

namespace kelda {

namespace {

struct Entry {
  bool is_dir = false;
  std::shared_ptr<arrow::Buffer> bytes;  // never changed once here; null for a directory
  int64_t modified_millis = 0;
  uint64_t id = 0;  // tells a file from a later one of the same name
};

// Tree of names, shared by the file system and its outputs. Keys are paths without doubled or
// trailing slashes.
struct Tree {
  std::mutex mutex;
  std::map<std::string, Entry, std::less<>> entries;
  uint64_t next_id = 1;
};

std::string Normalized(std::string_view path) {
  std::string result;
  result.reserve(path.size());
  for (char c : path) {
    if (c == '/' && !result.empty() && result.back() == '/') continue;
    result += c;
  }
  while (result.size() > 1 && result.back() == '/') result.pop_back();
  return result;
}

bool IsRoot(std::string_view key) { return key.empty() || key == "/"; }

// What all keys below the directory start with.
std::string ChildPrefix(std::string_view key) {
  return IsRoot(key) ? std::string(key) : std::string(key) + "/";
}

std::shared_ptr<arrow::Buffer> ToBuffer(std::string bytes) {
  return arrow::Buffer::FromString(std::move(bytes));
}

class MemoryInput : public PositionalInput {
 public:
  MemoryInput(const std::string& path, std::shared_ptr<arrow::Buffer> bytes)
      : PositionalInput(path, bytes->size()), bytes_(std::move(bytes)) {}

 protected:
  arrow::Result<int64_t> ReadInto(int64_t position, int64_t length, void* out) override {
    std::memcpy(out, bytes_->data() + position, static_cast<size_t>(length));
    return length;
  }
  arrow::Result<std::shared_ptr<arrow::Buffer>> ReadBuffer(int64_t position,
                                                           int64_t length) override {
    return arrow::SliceBuffer(bytes_, position, length);
  }

 private:
  const std::shared_ptr<arrow::Buffer> bytes_;
};

// The content appears with Close; until then the name holds an empty file.
class MemoryOutput : public arrow::io::OutputStream {
 public:
  MemoryOutput(std::shared_ptr<Tree> tree, std::string key, uint64_t id)
      : tree_(std::move(tree)), key_(std::move(key)), id_(id) {}
  ~MemoryOutput() override {
    if (!closed_) Abandon();
  }

  using OutputStream::Write;
  arrow::Status Write(const void* data, int64_t length) override {
    if (closed_) return Invalid("write to closed file {}", key_);
    if (length < 0) return Invalid("write of {} bytes to {}", length, key_);
    bytes_.append(static_cast<const char*>(data), static_cast<size_t>(length));
    position_ += length;
    return arrow::Status::OK();
  }

  arrow::Status Flush() override {
    return closed_ ? Invalid("flush of closed file {}", key_) : arrow::Status::OK();
  }

  arrow::Status Close() override {
    if (aborted_) return Invalid("output {} was aborted", key_);
    if (closed_) return arrow::Status::OK();
    closed_ = true;
    std::lock_guard<std::mutex> lock(tree_->mutex);
    auto it = tree_->entries.find(key_);
    // As on POSIX, an output whose name was deleted meanwhile closes without effect.
    if (it == tree_->entries.end() || it->second.id != id_) return arrow::Status::OK();
    it->second.bytes = ToBuffer(std::move(bytes_));
    it->second.modified_millis = Clock::System()->NowMillis();
    return arrow::Status::OK();
  }

  arrow::Status Abort() override {
    if (closed_) return arrow::Status::OK();
    closed_ = true;
    aborted_ = true;
    Abandon();
    return arrow::Status::OK();
  }

  arrow::Result<int64_t> Tell() const override { return position_; }
  bool closed() const override { return closed_; }

 private:
  void Abandon() {
    std::lock_guard<std::mutex> lock(tree_->mutex);
    auto it = tree_->entries.find(key_);
    if (it != tree_->entries.end() && it->second.id == id_) tree_->entries.erase(it);
  }

  const std::shared_ptr<Tree> tree_;
  const std::string key_;
  const uint64_t id_;
  std::string bytes_;
  int64_t position_ = 0;
  bool closed_ = false;
  bool aborted_ = false;
};

class MemoryFileIO : public FileIO {
 public:
  arrow::Result<std::shared_ptr<arrow::io::RandomAccessFile>> OpenInput(
      const std::string& path) override {
    std::lock_guard<std::mutex> lock(tree_->mutex);
    const Entry* entry = Find(Normalized(path));
    if (entry == nullptr) return SystemError("open", path, ENOENT);
    if (entry->is_dir) return SystemError("open", path, EISDIR);
    return std::make_shared<MemoryInput>(path, entry->bytes);
  }

  arrow::Result<std::shared_ptr<arrow::io::OutputStream>> CreateNew(
      const std::string& path) override {
    const std::string key = Normalized(path);
    std::lock_guard<std::mutex> lock(tree_->mutex);
    if (Find(key) != nullptr) return SystemError("create", path, EEXIST);
    ARROW_ASSIGN_OR_RAISE(const uint64_t id, Put(key, ""));
    return std::make_shared<MemoryOutput>(tree_, key, id);
  }

  arrow::Result<FileInfo> Stat(const std::string& path) override {
    std::lock_guard<std::mutex> lock(tree_->mutex);
    const Entry* entry = Find(Normalized(path));
    if (entry == nullptr) return SystemError("stat", path, ENOENT);
    return ToFileInfo(path, *entry);
  }

  arrow::Result<std::vector<FileInfo>> List(const std::string& dir) override {
    const std::string key = Normalized(dir);
    std::lock_guard<std::mutex> lock(tree_->mutex);
    const Entry* entry = Find(key);
    if (entry != nullptr && !entry->is_dir) return SystemError("list", dir, ENOTDIR);
    std::vector<FileInfo> children;
    const std::string prefix = ChildPrefix(key);
    // The map's order of paths is the order of names within one directory.
    for (auto it = tree_->entries.lower_bound(prefix); it != tree_->entries.end(); ++it) {
      const std::string_view child = it->first;
      if (!child.starts_with(prefix)) break;
      const std::string_view name = child.substr(prefix.size());
      if (name.empty() || name.find('/') != std::string_view::npos) continue;
      children.push_back(ToFileInfo(JoinPath(dir, name), it->second));
    }
    // "a-b" lies between "a" and "a/b" in the map, but children of one directory come in order of
    // name.
    return children;
  }

  arrow::Status MakeDirs(const std::string& dir) override {
    std::lock_guard<std::mutex> lock(tree_->mutex);
    return MakeDirsLocked(Normalized(dir));
  }

  arrow::Status DeleteFile(const std::string& path) override {
    std::lock_guard<std::mutex> lock(tree_->mutex);
    auto it = tree_->entries.find(Normalized(path));
    if (it == tree_->entries.end()) return arrow::Status::OK();
    if (it->second.is_dir) return SystemError("delete", path, EISDIR);
    tree_->entries.erase(it);
    return arrow::Status::OK();
  }

  arrow::Status DeleteDir(const std::string& dir) override {
    const std::string key = Normalized(dir);
    std::lock_guard<std::mutex> lock(tree_->mutex);
    const Entry* entry = Find(key);
    if (entry == nullptr) return arrow::Status::OK();
    if (!entry->is_dir) return SystemError("delete directory", dir, ENOTDIR);
    const std::string prefix = ChildPrefix(key);
    auto it = tree_->entries.lower_bound(prefix);
    while (it != tree_->entries.end() && it->first.starts_with(prefix)) {
      it = tree_->entries.erase(it);
    }
    tree_->entries.erase(key);
    return arrow::Status::OK();
  }

  arrow::Status Rename(const std::string& from, const std::string& to) override {
    const std::string from_key = Normalized(from);
    const std::string to_key = Normalized(to);
    std::lock_guard<std::mutex> lock(tree_->mutex);
    const auto what = fmt::format("rename {} to", from);
    auto it = tree_->entries.find(from_key);
    if (it == tree_->entries.end()) return SystemError("rename", from, ENOENT);
    if (Find(to_key) != nullptr) return SystemError(what, to, EEXIST);
    const std::string from_prefix = ChildPrefix(from_key);
    if (to_key.starts_with(from_prefix)) return SystemError(what, to, EINVAL);
    ARROW_RETURN_NOT_OK(MakeParents(to_key));
    tree_->entries[to_key] = std::move(it->second);
    tree_->entries.erase(it);
    it = tree_->entries.lower_bound(from_prefix);
    while (it != tree_->entries.end() && it->first.starts_with(from_prefix)) {
      const std::string moved = ChildPrefix(to_key) + it->first.substr(from_prefix.size());
      tree_->entries[moved] = std::move(it->second);
      it = tree_->entries.erase(it);
    }
    return arrow::Status::OK();
  }

  PublishResult PublishNew(const std::string& path, std::string_view bytes) override {
    const std::string key = Normalized(path);
    std::lock_guard<std::mutex> lock(tree_->mutex);
    if (Find(key) != nullptr) return {PublishOutcome::kLost, {}};
    auto put = Put(key, bytes);
    if (!put.ok()) return {PublishOutcome::kUnknown, put.status()};
    return {PublishOutcome::kDone, {}};
  }

  arrow::Status WriteReplacing(const std::string& path, std::string_view bytes) override {
    const std::string key = Normalized(path);
    std::lock_guard<std::mutex> lock(tree_->mutex);
    const Entry* entry = Find(key);
    if (entry != nullptr && entry->is_dir) return SystemError("replace", path, EISDIR);
    return Put(key, bytes).status();
  }

 private:
  // All below: REQUIRES the mutex.
  const Entry* Find(const std::string& key) const {
    static const Entry kRoot = {true, nullptr, 0, 0};
    if (IsRoot(key)) return &kRoot;
    auto it = tree_->entries.find(key);
    return it == tree_->entries.end() ? nullptr : &it->second;
  }

  arrow::Status MakeParents(const std::string& key) {
    return MakeDirsLocked(std::string(ParentPath(key)));
  }

  arrow::Status MakeDirsLocked(const std::string& key) {
    const Entry* entry = Find(key);
    if (entry != nullptr) {
      return entry->is_dir ? arrow::Status::OK() : SystemError("make directory", key, ENOTDIR);
    }
    ARROW_RETURN_NOT_OK(MakeParents(key));
    tree_->entries[key] = {true, nullptr, Clock::System()->NowMillis(), tree_->next_id++};
    return arrow::Status::OK();
  }

  arrow::Result<uint64_t> Put(const std::string& key, std::string_view bytes) {
    if (IsRoot(key)) return Invalid("empty path");
    ARROW_RETURN_NOT_OK(MakeParents(key));
    const uint64_t id = tree_->next_id++;
    tree_->entries[key] = {false, ToBuffer(std::string(bytes)), Clock::System()->NowMillis(), id};
    return id;
  }

  static FileInfo ToFileInfo(std::string path, const Entry& entry) {
    FileInfo file;
    file.name = BaseName(path);
    file.path = std::move(path);
    file.is_dir = entry.is_dir;
    file.size_bytes = entry.is_dir ? 0 : entry.bytes->size();
    file.modified_millis = entry.modified_millis;
    return file;
  }

  const std::shared_ptr<Tree> tree_ = std::make_shared<Tree>();
};

}  // namespace

std::shared_ptr<FileIO> MakeMemoryFileIO() { return std::make_shared<MemoryFileIO>(); }

}  // namespace kelda
