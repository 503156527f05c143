#include "kelda/io/io_error.h"

#include <cerrno>
#include <cstring>
#include <system_error>

namespace kelda {

namespace {

constexpr int kTransientErrors[] = {EINTR,  EAGAIN,      EBUSY,       EIO,       ENFILE,
                                    EMFILE, ETIMEDOUT,   ENETDOWN,    ENETRESET, ECONNRESET,
                                    ESTALE, ENETUNREACH, ECONNABORTED};

const IoErrorDetail* DetailOf(const arrow::Status& status) {
  if (status.ok() || !status.detail()) return nullptr;
  if (std::strcmp(status.detail()->type_id(), "kelda::IoErrorDetail") != 0) return nullptr;
  return static_cast<const IoErrorDetail*>(status.detail().get());
}

}  // namespace

std::string IoErrorDetail::ToString() const {
  return fmt::format("errno {}{}", error_number_, transient_ ? ", transient" : "");
}

arrow::Status SystemError(std::string_view what, std::string_view path, int error_number) {
  const std::string reason = std::generic_category().message(error_number);
  if (error_number == ENOENT) return NotFound("{} {}: {}", what, path, reason);
  if (error_number == EEXIST) return AlreadyExists("{} {}: {}", what, path, reason);
  bool transient = false;
  for (int candidate : kTransientErrors) transient |= candidate == error_number;
  std::string_view full = "";
  if (error_number == ENOSPC) full = "disk full: ";
  if (error_number == EDQUOT) full = "disk quota used up: ";
  return arrow::Status(arrow::StatusCode::IOError,
                       fmt::format("{} {}: {}{}", what, path, full, reason),
                       std::make_shared<IoErrorDetail>(error_number, transient));
}

arrow::Status TransientIoError(std::string text) {
  return arrow::Status(arrow::StatusCode::IOError, std::move(text),
                       std::make_shared<IoErrorDetail>(0, true));
}

bool IsTransient(const arrow::Status& status) {
  const auto* detail = DetailOf(status);
  return detail != nullptr && detail->transient();
}

bool IsDiskFull(const arrow::Status& status) {
  const auto* detail = DetailOf(status);
  return detail != nullptr &&
         (detail->error_number() == ENOSPC || detail->error_number() == EDQUOT);
}

}  // namespace kelda
