#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include <arrow/buffer.h>
#include <arrow/io/interfaces.h>

#include "kelda/base/status.h"

namespace kelda {

struct FileInfo {
  std::string path;  ///< full path, same form as given to List
  std::string name;  ///< last component
  bool is_dir = false;
  int64_t size_bytes = 0;
  int64_t modified_millis = 0;
};

/// Answer of an attempt to create a file that must not exist yet (architecture.md, "Commit").
enum class PublishOutcome {
  kDone,     ///< the file is ours, complete and durable
  kLost,     ///< somebody else's file is there; ours is not
  kUnknown,  ///< no answer: it may or may not be there. Re-read before anything is deleted or
             ///< retried
};

struct PublishResult {
  PublishOutcome outcome = PublishOutcome::kUnknown;
  arrow::Status error;  ///< why, when outcome is kUnknown
  /// With kUnknown: this call certainly published nothing, it failed before it could (disk full, no
  /// permission). Nothing of it can appear later.
  bool not_published = false;
};

struct ByteRange {
  int64_t offset = 0;
  int64_t length = 0;
};

/// File system as Paimon needs it. Paths are plain strings ("/a/b" for local). All methods are
/// thread-safe. Errors: kNotFound for a missing file, kAlreadyExists for create-new on an existing
/// one, IOError else; texts name the path.
class FileIO {
 public:
  virtual ~FileIO() = default;

  virtual arrow::Result<std::shared_ptr<arrow::io::RandomAccessFile>> OpenInput(
      const std::string& path) = 0;
  /// Create a new file for writing; parent directories are made. Fails with kAlreadyExists. The
  /// file is durable after Close succeeded; an output destroyed without Close is removed where
  /// possible.
  virtual arrow::Result<std::shared_ptr<arrow::io::OutputStream>> CreateNew(
      const std::string& path) = 0;

  virtual arrow::Result<FileInfo> Stat(const std::string& path) = 0;
  /// Children of a directory, sorted by name; an empty list when the directory does not exist.
  virtual arrow::Result<std::vector<FileInfo>> List(const std::string& dir) = 0;
  virtual arrow::Status MakeDirs(const std::string& dir) = 0;
  /// Delete a file; deleting a missing one succeeds.
  virtual arrow::Status DeleteFile(const std::string& path) = 0;
  /// Delete a directory with all in it; a missing one succeeds.
  virtual arrow::Status DeleteDir(const std::string& dir) = 0;
  /// Rename a file or directory; fails with kAlreadyExists if the target exists.
  virtual arrow::Status Rename(const std::string& from, const std::string& to) = 0;

  /// Atomically create `path` with `bytes` if it does not exist (spec 03 §3.11): temporary file
  /// `.<name>.<uuid>.tmp` beside it, fsync, exclusive link.
  virtual PublishResult PublishNew(const std::string& path, std::string_view bytes) = 0;
  /// Atomically create or replace a small file (hints, tags).
  virtual arrow::Status WriteReplacing(const std::string& path, std::string_view bytes) = 0;

  /// Read a whole file; refuses files larger than `size_max_bytes`.
  virtual arrow::Result<std::string> ReadAll(const std::string& path,
                                             int64_t size_max_bytes = int64_t{1} << 30);
  /// Read several ranges, coalescing near ones; result i belongs to ranges[i].
  virtual arrow::Result<std::vector<std::shared_ptr<arrow::Buffer>>> ReadRanges(
      const std::string& path, const std::vector<ByteRange>& ranges);
  arrow::Result<bool> Exists(const std::string& path);
};

/// "a/b" + "c" -> "a/b/c".
std::string JoinPath(std::string_view base, std::string_view child);
/// Text after the last '/'.
std::string_view BaseName(std::string_view path);
/// Text before the last '/'; empty when there is none.
std::string_view ParentPath(std::string_view path);

std::shared_ptr<FileIO> MakeLocalFileIO();
std::shared_ptr<FileIO> MakeMemoryFileIO();

}  // namespace kelda
