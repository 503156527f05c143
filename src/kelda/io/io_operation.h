#pragma once

#include <string_view>

namespace kelda {

/// The calls that a wrapper can count or let fail: those of FileIO, and of the files it gave out.
enum class IoOperation {
  kOpenInput,
  kRead,  ///< of an open input
  kReadAll,
  kReadRanges,
  kCreateNew,
  kWrite,  ///< to an open output
  kClose,  ///< of an open output
  kStat,
  kList,
  kMakeDirs,
  kDeleteFile,
  kDeleteDir,
  kRename,
  kPublishNew,
  kWriteReplacing,
};
constexpr int kIoOperations = static_cast<int>(IoOperation::kWriteReplacing) + 1;

/// "open_input", "read", ...
std::string_view ToString(IoOperation operation);

}  // namespace kelda
