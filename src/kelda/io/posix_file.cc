#include "kelda/io/posix_file.h"

#include <fcntl.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>

#include "kelda/io/file_io.h"
#include "kelda/io/io_error.h"

namespace kelda {

namespace {

// Somebody may remove the directories that we make; give up after so many rounds.
constexpr int kRoundsMax = 8;

bool IsDirectory(const std::string& path) {
  struct stat info = {};
  return stat(path.c_str(), &info) == 0 && S_ISDIR(info.st_mode);
}

// For file systems without RENAME_NOREPLACE (NFS, some FUSE): a hard link never replaces.
MoveResult MoveByLink(const std::string& from, const std::string& to) {
  if (link(from.c_str(), to.c_str()) != 0) {
    const int error = errno;
    // NFS may report an error for a link that was made: the count of links of our file tells.
    struct stat info = {};
    const bool linked = stat(from.c_str(), &info) == 0 && info.st_nlink >= 2;
    if (!linked) {
      if (error == EEXIST) return {MoveOutcome::kTargetExists, {}};
      return {MoveOutcome::kFailed, SystemError("link to", to, error)};
    }
  }
  if (unlink(from.c_str()) != 0 && errno != ENOENT) {
    return {MoveOutcome::kFailed, SystemError("delete", from, errno)};
  }
  return {MoveOutcome::kMoved, {}};
}

}  // namespace

void UniqueFd::Reset() {
  if (fd_ >= 0) close(fd_);
  fd_ = -1;
}

arrow::Status UniqueFd::Close(const std::string& path) {
  const int fd = std::exchange(fd_, -1);
  // Linux frees the descriptor even when close is interrupted.
  if (fd >= 0 && close(fd) != 0 && errno != EINTR) return SystemError("close", path, errno);
  return arrow::Status::OK();
}

std::string DirectoryOf(std::string_view path) {
  while (path.size() > 1 && path.back() == '/') path.remove_suffix(1);
  const auto slash = path.rfind('/');
  if (slash == std::string_view::npos) return ".";
  const auto last = path.find_last_not_of('/', slash);
  return last == std::string_view::npos ? "/" : std::string(path.substr(0, last + 1));
}

arrow::Status CheckLocalPath(const std::string& path) {
  if (path.empty()) return Invalid("empty path");
  if (path.find('\0') != std::string::npos) {
    return Invalid("path with a zero byte: {}", path.substr(0, path.find('\0')));
  }
  return arrow::Status::OK();
}

arrow::Result<UniqueFd> CreateExclusive(const std::string& path) {
  for (int round = 0;; ++round) {
    UniqueFd fd(open(path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666));
    if (fd.valid()) return fd;
    if (errno == EINTR) continue;
    if (errno != ENOENT || round == kRoundsMax) return SystemError("create", path, errno);
    ARROW_RETURN_NOT_OK(MakeDirectories(DirectoryOf(path)));
  }
}

arrow::Status WriteFully(const UniqueFd& fd, const std::string& path, std::string_view bytes) {
  constexpr size_t kCallBytesMax = size_t{1} << 30;
  while (!bytes.empty()) {
    const ssize_t n = write(fd.get(), bytes.data(), std::min(bytes.size(), kCallBytesMax));
    if (n < 0) {
      if (errno == EINTR) continue;
      return SystemError("write", path, errno);
    }
    bytes.remove_prefix(static_cast<size_t>(n));
  }
  return arrow::Status::OK();
}

arrow::Status SyncFile(const UniqueFd& fd, const std::string& path) {
  while (fsync(fd.get()) != 0) {
    if (errno != EINTR) return SystemError("sync", path, errno);
  }
  return arrow::Status::OK();
}

arrow::Status SyncDirectory(const std::string& dir) {
  UniqueFd fd(open(dir.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (!fd.valid()) return SystemError("open directory", dir, errno);
  while (fsync(fd.get()) != 0) {
    if (errno == EINTR) continue;
    // Some file systems cannot sync a directory; their entries are durable by other means or not at
    // all.
    if (errno == EINVAL || errno == ENOTSUP) break;
    return SystemError("sync directory", dir, errno);
  }
  return arrow::Status::OK();
}

arrow::Status MakeDirectories(const std::string& dir) {
  for (int round = 0;; ++round) {
    if (mkdir(dir.c_str(), 0777) == 0) return SyncDirectory(DirectoryOf(dir));
    if (errno == EEXIST) {
      if (IsDirectory(dir)) return arrow::Status::OK();
      return SystemError("make directory", dir, ENOTDIR);
    }
    const std::string parent = DirectoryOf(dir);
    if (errno != ENOENT || round == kRoundsMax || parent == dir) {
      return SystemError("make directory", dir, errno);
    }
    ARROW_RETURN_NOT_OK(MakeDirectories(parent));
  }
}

MoveResult MoveExclusive(const std::string& from, const std::string& to) {
  if (renameat2(AT_FDCWD, from.c_str(), AT_FDCWD, to.c_str(), RENAME_NOREPLACE) == 0) {
    return {MoveOutcome::kMoved, {}};
  }
  if (errno == EEXIST) {
    if (access(from.c_str(), F_OK) == 0) return {MoveOutcome::kTargetExists, {}};
    // The source is gone: this call may have moved it before its answer was lost and it was sent
    // again.
    return {MoveOutcome::kFailed, SystemError("rename to", to, EIO)};
  }
  if (errno != EINVAL && errno != ENOSYS && errno != ENOTSUP) {
    return {MoveOutcome::kFailed, SystemError(fmt::format("rename {} to", from), to, errno)};
  }
  if (!IsDirectory(from)) return MoveByLink(from, to);
  // Directories cannot be linked; without the flag only this look before the rename is left.
  struct stat info = {};
  if (lstat(to.c_str(), &info) == 0) return {MoveOutcome::kTargetExists, {}};
  if (rename(from.c_str(), to.c_str()) != 0) {
    return {MoveOutcome::kFailed, SystemError(fmt::format("rename {} to", from), to, errno)};
  }
  return {MoveOutcome::kMoved, {}};
}

}  // namespace kelda
