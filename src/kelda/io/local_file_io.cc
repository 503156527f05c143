#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <filesystem>
#include <system_error>

#include "kelda/base/clock.h"
#include "kelda/io/file_io.h"
#include "kelda/io/io_error.h"
#include "kelda/io/positional_input.h"
#include "kelda/io/posix_file.h"

namespace kelda {

namespace {

constexpr size_t kOutputBufferBytes = 1 << 20;

class LocalInput : public PositionalInput {
 public:
  LocalInput(const std::string& path, UniqueFd fd, int64_t size_bytes)
      : PositionalInput(path, size_bytes), fd_(std::move(fd)) {}

 protected:
  arrow::Result<int64_t> ReadInto(int64_t position, int64_t length, void* out) override {
    constexpr int64_t kCallBytesMax = int64_t{1} << 30;
    int64_t done = 0;
    while (done < length) {
      const auto wanted = static_cast<size_t>(std::min(length - done, kCallBytesMax));
      const ssize_t n = pread(fd_.get(), static_cast<char*>(out) + done, wanted, position + done);
      if (n < 0) {
        if (errno == EINTR) continue;
        return SystemError("read", name(), errno);
      }
      if (n == 0) break;  // the file has shrunk
      done += n;
    }
    return done;
  }

  arrow::Status DoClose() override { return fd_.Close(name()); }

 private:
  UniqueFd fd_;
};

// New file behind a buffer that grows up to 1 MiB, so that many small outputs stay small. After the
// first error every call fails with it, and the file goes.
class LocalOutput : public arrow::io::OutputStream {
 public:
  LocalOutput(std::string path, UniqueFd fd) : path_(std::move(path)), fd_(std::move(fd)) {}
  ~LocalOutput() override {
    if (!closed_) Abandon();
  }

  using OutputStream::Write;
  arrow::Status Write(const void* data, int64_t length) override {
    ARROW_RETURN_NOT_OK(CheckOpen());
    if (length < 0) return Invalid("write of {} bytes to {}", length, path_);
    const std::string_view bytes(static_cast<const char*>(data), static_cast<size_t>(length));
    if (buffer_.size() + bytes.size() > kOutputBufferBytes) ARROW_RETURN_NOT_OK(WriteBuffer());
    if (bytes.size() >= kOutputBufferBytes) {
      ARROW_RETURN_NOT_OK(Checked(WriteFully(fd_, path_, bytes)));
    } else {
      buffer_.append(bytes);
    }
    position_ += length;
    return arrow::Status::OK();
  }

  arrow::Status Flush() override {
    ARROW_RETURN_NOT_OK(CheckOpen());
    return WriteBuffer();
  }

  arrow::Status Close() override {
    if (closed_) return error_;
    ARROW_RETURN_NOT_OK(CheckOpen());
    auto status = WriteBuffer();
    if (status.ok()) status = SyncFile(fd_, path_);
    if (status.ok()) status = fd_.Close(path_);
    if (status.ok()) status = SyncDirectory(DirectoryOf(path_));
    if (!status.ok()) {
      Abandon();
      error_ = status;
    }
    closed_ = true;
    std::string().swap(buffer_);
    return status;
  }

  arrow::Status Abort() override {
    if (closed_) return arrow::Status::OK();
    closed_ = true;
    Abandon();
    error_ = Invalid("output {} was aborted", path_);
    return arrow::Status::OK();
  }

  arrow::Result<int64_t> Tell() const override { return position_; }
  bool closed() const override { return closed_; }

 private:
  arrow::Status CheckOpen() const {
    if (!error_.ok()) return error_;
    return closed_ ? Invalid("write to closed file {}", path_) : arrow::Status::OK();
  }

  arrow::Status Checked(arrow::Status status) {
    if (!status.ok()) error_ = status;
    return status;
  }

  arrow::Status WriteBuffer() {
    ARROW_RETURN_NOT_OK(Checked(WriteFully(fd_, path_, buffer_)));
    buffer_.clear();
    return arrow::Status::OK();
  }

  void Abandon() {
    fd_.Reset();
    unlink(path_.c_str());
  }

  const std::string path_;
  UniqueFd fd_;
  std::string buffer_;
  int64_t position_ = 0;
  bool closed_ = false;
  arrow::Status error_;
};

FileInfo ToFileInfo(std::string path, const struct stat& info) {
  FileInfo file;
  file.name = BaseName(path);
  file.path = std::move(path);
  file.is_dir = S_ISDIR(info.st_mode);
  file.size_bytes = file.is_dir ? 0 : info.st_size;
  file.modified_millis = info.st_mtim.tv_sec * 1000 + info.st_mtim.tv_nsec / 1000000;
  return file;
}

class LocalFileIO : public FileIO {
 public:
  arrow::Result<std::shared_ptr<arrow::io::RandomAccessFile>> OpenInput(
      const std::string& path) override {
    ARROW_RETURN_NOT_OK(CheckLocalPath(path));
    UniqueFd fd(open(path.c_str(), O_RDONLY | O_CLOEXEC));
    if (!fd.valid()) return SystemError("open", path, errno == ENOTDIR ? ENOENT : errno);
    struct stat info = {};
    if (fstat(fd.get(), &info) != 0) return SystemError("stat", path, errno);
    if (S_ISDIR(info.st_mode)) return SystemError("open", path, EISDIR);
    return std::make_shared<LocalInput>(path, std::move(fd), info.st_size);
  }

  arrow::Result<std::shared_ptr<arrow::io::OutputStream>> CreateNew(
      const std::string& path) override {
    ARROW_RETURN_NOT_OK(CheckLocalPath(path));
    ARROW_ASSIGN_OR_RAISE(auto fd, CreateExclusive(path));
    return std::make_shared<LocalOutput>(path, std::move(fd));
  }

  arrow::Result<FileInfo> Stat(const std::string& path) override {
    ARROW_RETURN_NOT_OK(CheckLocalPath(path));
    struct stat info = {};
    if (stat(path.c_str(), &info) != 0) {
      return SystemError("stat", path, errno == ENOTDIR ? ENOENT : errno);
    }
    return ToFileInfo(path, info);
  }

  arrow::Result<std::vector<FileInfo>> List(const std::string& dir) override {
    ARROW_RETURN_NOT_OK(CheckLocalPath(dir));
    struct CloseDir {
      void operator()(DIR* stream) const { closedir(stream); }
    };
    std::unique_ptr<DIR, CloseDir> stream(opendir(dir.c_str()));
    std::vector<FileInfo> children;
    if (!stream) {
      if (errno == ENOENT) return children;
      return SystemError("list", dir, errno);
    }
    while (true) {
      errno = 0;
      const struct dirent* entry = readdir(stream.get());
      if (entry == nullptr) {
        if (errno != 0) return SystemError("list", dir, errno);
        break;
      }
      const std::string_view name = entry->d_name;
      if (name == "." || name == "..") continue;
      struct stat info = {};
      if (fstatat(dirfd(stream.get()), entry->d_name, &info, 0) != 0) {
        if (errno == ENOENT) continue;  // deleted since
        return SystemError("stat", JoinPath(dir, name), errno);
      }
      children.push_back(ToFileInfo(JoinPath(dir, name), info));
    }
    std::sort(children.begin(), children.end(),
              [](const auto& a, const auto& b) { return a.name < b.name; });
    return children;
  }

  arrow::Status MakeDirs(const std::string& dir) override {
    ARROW_RETURN_NOT_OK(CheckLocalPath(dir));
    return MakeDirectories(dir);
  }

  arrow::Status DeleteFile(const std::string& path) override {
    ARROW_RETURN_NOT_OK(CheckLocalPath(path));
    if (unlink(path.c_str()) != 0 && errno != ENOENT && errno != ENOTDIR) {
      return SystemError("delete", path, errno);
    }
    return arrow::Status::OK();
  }

  arrow::Status DeleteDir(const std::string& dir) override {
    ARROW_RETURN_NOT_OK(CheckLocalPath(dir));
    struct stat info = {};
    if (lstat(dir.c_str(), &info) != 0) {
      return errno == ENOENT ? arrow::Status::OK() : SystemError("delete directory", dir, errno);
    }
    if (S_ISREG(info.st_mode)) return SystemError("delete directory", dir, ENOTDIR);
    std::error_code error;
    std::filesystem::remove_all(dir, error);
    if (error) return SystemError("delete directory", dir, error.value());
    return arrow::Status::OK();
  }

  arrow::Status Rename(const std::string& from, const std::string& to) override {
    ARROW_RETURN_NOT_OK(CheckLocalPath(from));
    ARROW_RETURN_NOT_OK(CheckLocalPath(to));
    ARROW_RETURN_NOT_OK(Stat(from).status());
    ARROW_RETURN_NOT_OK(MakeDirectories(DirectoryOf(to)));
    auto moved = MoveExclusive(from, to);
    if (moved.outcome == MoveOutcome::kTargetExists) {
      return SystemError(fmt::format("rename {} to", from), to, EEXIST);
    }
    if (moved.outcome == MoveOutcome::kFailed) return moved.error;
    ARROW_RETURN_NOT_OK(SyncDirectory(DirectoryOf(to)));
    if (DirectoryOf(from) != DirectoryOf(to)) {
      ARROW_RETURN_NOT_OK(SyncDirectory(DirectoryOf(from)));
    }
    return arrow::Status::OK();
  }

  PublishResult PublishNew(const std::string& path, std::string_view bytes) override {
    auto exists = Exists(path);
    if (!exists.ok()) return {PublishOutcome::kUnknown, exists.status(), /*not_published=*/true};
    if (*exists) return {PublishOutcome::kLost, {}};
    auto temporary = WriteTemporary(path, bytes);
    if (!temporary.ok()) {
      return {PublishOutcome::kUnknown, temporary.status(), /*not_published=*/true};
    }
    auto moved = MoveExclusive(*temporary, path);
    if (moved.outcome != MoveOutcome::kMoved) unlink(temporary->c_str());
    if (moved.outcome == MoveOutcome::kTargetExists) return {PublishOutcome::kLost, {}};
    if (moved.outcome == MoveOutcome::kFailed) return {PublishOutcome::kUnknown, moved.error};
    // Only a name that survives a power cut is "done".
    auto synced = SyncDirectory(DirectoryOf(path));
    if (!synced.ok()) return {PublishOutcome::kUnknown, synced};
    return {PublishOutcome::kDone, {}};
  }

  arrow::Status WriteReplacing(const std::string& path, std::string_view bytes) override {
    ARROW_RETURN_NOT_OK(CheckLocalPath(path));
    ARROW_ASSIGN_OR_RAISE(const std::string temporary, WriteTemporary(path, bytes));
    if (rename(temporary.c_str(), path.c_str()) != 0) {
      const int error = errno;
      unlink(temporary.c_str());
      return SystemError("replace", path, error);
    }
    return SyncDirectory(DirectoryOf(path));
  }

 private:
  // Durable file `.<name>.<uuid>.tmp` beside `path`; nothing is left behind on failure.
  static arrow::Result<std::string> WriteTemporary(const std::string& path,
                                                   std::string_view bytes) {
    std::string temporary = JoinPath(
        DirectoryOf(path), fmt::format(".{}.{}.tmp", BaseName(path), Random::System()->Uuid()));
    ARROW_ASSIGN_OR_RAISE(auto fd, CreateExclusive(temporary));
    auto status = WriteFully(fd, temporary, bytes);
    if (status.ok()) status = SyncFile(fd, temporary);
    if (status.ok()) status = fd.Close(temporary);
    if (!status.ok()) {
      unlink(temporary.c_str());
      return status;
    }
    return temporary;
  }
};

}  // namespace

std::shared_ptr<FileIO> MakeLocalFileIO() { return std::make_shared<LocalFileIO>(); }

}  // namespace kelda
