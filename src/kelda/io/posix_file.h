#pragma once

#include <string>
#include <string_view>
#include <utility>

#include "kelda/base/status.h"

namespace kelda {

/// Owns a file descriptor.
class UniqueFd {
 public:
  UniqueFd() = default;
  explicit UniqueFd(int fd) : fd_(fd) {}
  UniqueFd(UniqueFd&& other) noexcept : fd_(std::exchange(other.fd_, -1)) {}
  UniqueFd& operator=(UniqueFd&& other) noexcept {
    if (this != &other) {
      Reset();
      fd_ = std::exchange(other.fd_, -1);
    }
    return *this;
  }
  ~UniqueFd() { Reset(); }

  int get() const { return fd_; }
  bool valid() const { return fd_ >= 0; }
  void Reset();
  /// Close and tell the outcome of close(2).
  arrow::Status Close(const std::string& path);

 private:
  int fd_ = -1;
};

/// The directory that holds `path`: "/" for "/a", "." for "a".
std::string DirectoryOf(std::string_view path);

/// Refuses paths that the system would cut off or misread: empty ones and ones with a zero byte.
arrow::Status CheckLocalPath(const std::string& path);

/// Create `path` for writing, with its directories; fails with kAlreadyExists.
arrow::Result<UniqueFd> CreateExclusive(const std::string& path);
arrow::Status WriteFully(const UniqueFd& fd, const std::string& path, std::string_view bytes);
arrow::Status SyncFile(const UniqueFd& fd, const std::string& path);
/// Make the entries of a directory durable.
arrow::Status SyncDirectory(const std::string& dir);
/// Create a directory and its missing parents, durably.
arrow::Status MakeDirectories(const std::string& dir);

enum class MoveOutcome { kMoved, kTargetExists, kFailed };
struct MoveResult {
  MoveOutcome outcome = MoveOutcome::kFailed;
  arrow::Status error;  ///< when kFailed; it does not prove that nothing happened
};
/// Give the file or directory `from` the name `to` unless that exists. After kTargetExists `from`
/// is still there.
MoveResult MoveExclusive(const std::string& from, const std::string& to);

}  // namespace kelda
