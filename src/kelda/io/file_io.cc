#include "kelda/io/file_io.h"

#include "kelda/io/range_reads.h"

namespace kelda {

arrow::Result<std::string> FileIO::ReadAll(const std::string& path, int64_t size_max_bytes) {
  ARROW_ASSIGN_OR_RAISE(auto file, OpenInput(path));
  ARROW_ASSIGN_OR_RAISE(const int64_t size_bytes, file->GetSize());
  if (size_bytes > size_max_bytes) {
    return arrow::Status::IOError("read ", path, ": the file has ", size_bytes, " bytes, at most ",
                                  size_max_bytes, " are expected");
  }
  std::string bytes(static_cast<size_t>(size_bytes), '\0');
  ARROW_ASSIGN_OR_RAISE(const int64_t got, file->ReadAt(0, size_bytes, bytes.data()));
  bytes.resize(static_cast<size_t>(got));
  return bytes;
}

arrow::Result<std::vector<std::shared_ptr<arrow::Buffer>>> FileIO::ReadRanges(
    const std::string& path, const std::vector<ByteRange>& ranges) {
  ARROW_ASSIGN_OR_RAISE(auto file, OpenInput(path));
  return ReadFileRanges(*file, path, ranges);
}

arrow::Result<bool> FileIO::Exists(const std::string& path) {
  auto info = Stat(path);
  if (info.ok()) return true;
  if (IsNotFound(info.status())) return false;
  return info.status();
}

std::string JoinPath(std::string_view base, std::string_view child) {
  if (base.empty()) return std::string(child);
  std::string path(base);
  if (path.back() != '/') path += '/';
  path += child;
  return path;
}

std::string_view BaseName(std::string_view path) {
  const auto slash = path.rfind('/');
  return slash == std::string_view::npos ? path : path.substr(slash + 1);
}

std::string_view ParentPath(std::string_view path) {
  const auto slash = path.rfind('/');
  return slash == std::string_view::npos ? std::string_view() : path.substr(0, slash);
}

}  // namespace kelda
