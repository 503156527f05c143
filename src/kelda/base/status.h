#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <utility>

#include <arrow/result.h>
#include <arrow/status.h>
#include <fmt/format.h>

namespace kelda {

/// What a caller may have to decide on; everything else is told by arrow::StatusCode and the text.
enum class ErrorCode {
  kNone,           ///< OK, or an error without a Kelda code
  kCorruption,     ///< bytes from outside break their format; text names file and offset
  kConflict,       ///< a commit cannot be applied on top of what others committed
  kCommitUnknown,  ///< the publish call gave no answer and re-reading did not settle it
  kUnsupported,    ///< "not implemented": names the feature or option
  kCancelled,      ///< the caller's CancellationToken was triggered
  kOutOfBudget,    ///< MemoryBudget exhausted and nothing left to spill
  kNotFound,       ///< file, table, snapshot, ... does not exist
  kAlreadyExists,  ///< file, table, ... exists
};

std::string_view ToString(ErrorCode code);

/// Carries an ErrorCode inside an arrow::Status.
class ErrorDetail : public arrow::StatusDetail {
 public:
  explicit ErrorDetail(ErrorCode code) : code_(code) {}
  const char* type_id() const override { return "kelda::ErrorDetail"; }
  std::string ToString() const override;
  ErrorCode code() const { return code_; }

 private:
  ErrorCode code_;
};

arrow::Status MakeError(ErrorCode code, std::string text);

/// The code of `status`; kNone when it carries none.
ErrorCode CodeOf(const arrow::Status& status);

inline bool IsNotFound(const arrow::Status& s) { return CodeOf(s) == ErrorCode::kNotFound; }
inline bool IsCorruption(const arrow::Status& s) { return CodeOf(s) == ErrorCode::kCorruption; }
inline bool IsUnsupported(const arrow::Status& s) {
  return CodeOf(s) == ErrorCode::kUnsupported || s.IsNotImplemented();
}

template <typename... Args>
arrow::Status Corruption(fmt::format_string<Args...> format, Args&&... args) {
  return MakeError(ErrorCode::kCorruption, fmt::format(format, std::forward<Args>(args)...));
}
template <typename... Args>
arrow::Status Conflict(fmt::format_string<Args...> format, Args&&... args) {
  return MakeError(ErrorCode::kConflict, fmt::format(format, std::forward<Args>(args)...));
}
template <typename... Args>
arrow::Status CommitUnknown(fmt::format_string<Args...> format, Args&&... args) {
  return MakeError(ErrorCode::kCommitUnknown, fmt::format(format, std::forward<Args>(args)...));
}
template <typename... Args>
arrow::Status Unsupported(fmt::format_string<Args...> format, Args&&... args) {
  return MakeError(ErrorCode::kUnsupported,
                   "not implemented: " + fmt::format(format, std::forward<Args>(args)...));
}
template <typename... Args>
arrow::Status OutOfBudget(fmt::format_string<Args...> format, Args&&... args) {
  return MakeError(ErrorCode::kOutOfBudget, fmt::format(format, std::forward<Args>(args)...));
}
template <typename... Args>
arrow::Status NotFound(fmt::format_string<Args...> format, Args&&... args) {
  return MakeError(ErrorCode::kNotFound, fmt::format(format, std::forward<Args>(args)...));
}
template <typename... Args>
arrow::Status AlreadyExists(fmt::format_string<Args...> format, Args&&... args) {
  return MakeError(ErrorCode::kAlreadyExists, fmt::format(format, std::forward<Args>(args)...));
}
template <typename... Args>
arrow::Status Invalid(fmt::format_string<Args...> format, Args&&... args) {
  return arrow::Status::Invalid(fmt::format(format, std::forward<Args>(args)...));
}

/// `status` with `context` put before its text; code and detail stay.
arrow::Status WithContext(const arrow::Status& status, std::string_view context);

/// Spelled-out ignoring of a Status where a failure has no consequence; `why` is for the reader.
inline void IgnoreError(const arrow::Status&, [[maybe_unused]] const char* why) {}

}  // namespace kelda
