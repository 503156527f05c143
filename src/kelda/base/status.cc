#include "kelda/base/status.h"

#include <cstring>

namespace kelda {

namespace {

arrow::StatusCode ArrowCode(ErrorCode code) {
  switch (code) {
    case ErrorCode::kNone:
      return arrow::StatusCode::UnknownError;
    case ErrorCode::kCorruption:
      return arrow::StatusCode::SerializationError;
    case ErrorCode::kConflict:
      return arrow::StatusCode::ExecutionError;
    case ErrorCode::kCommitUnknown:
      return arrow::StatusCode::UnknownError;
    case ErrorCode::kUnsupported:
      return arrow::StatusCode::NotImplemented;
    case ErrorCode::kCancelled:
      return arrow::StatusCode::Cancelled;
    case ErrorCode::kOutOfBudget:
      return arrow::StatusCode::OutOfMemory;
    case ErrorCode::kNotFound:
      return arrow::StatusCode::KeyError;
    case ErrorCode::kAlreadyExists:
      return arrow::StatusCode::AlreadyExists;
  }
  return arrow::StatusCode::UnknownError;
}

}  // namespace

std::string_view ToString(ErrorCode code) {
  switch (code) {
    case ErrorCode::kNone:
      return "none";
    case ErrorCode::kCorruption:
      return "corruption";
    case ErrorCode::kConflict:
      return "conflict";
    case ErrorCode::kCommitUnknown:
      return "commit-unknown";
    case ErrorCode::kUnsupported:
      return "unsupported";
    case ErrorCode::kCancelled:
      return "cancelled";
    case ErrorCode::kOutOfBudget:
      return "out-of-budget";
    case ErrorCode::kNotFound:
      return "not-found";
    case ErrorCode::kAlreadyExists:
      return "already-exists";
  }
  return "none";
}

std::string ErrorDetail::ToString() const { return std::string(kelda::ToString(code_)); }

arrow::Status MakeError(ErrorCode code, std::string text) {
  return arrow::Status(ArrowCode(code), std::move(text), std::make_shared<ErrorDetail>(code));
}

ErrorCode CodeOf(const arrow::Status& status) {
  if (status.ok() || !status.detail()) return ErrorCode::kNone;
  // Compared by text: the detail may come from another shared library of the process.
  if (std::strcmp(status.detail()->type_id(), "kelda::ErrorDetail") != 0) return ErrorCode::kNone;
  return static_cast<const ErrorDetail&>(*status.detail()).code();
}

arrow::Status WithContext(const arrow::Status& status, std::string_view context) {
  if (status.ok()) return status;
  return arrow::Status(status.code(), fmt::format("{}: {}", context, status.message()),
                       status.detail());
}

}  // namespace kelda
