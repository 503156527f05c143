#pragma once

#include <string_view>

#include "kelda/base/status.h"

namespace kelda {

/// Detail of an IOError: the errno behind it (0 if none) and whether the same call may succeed a
/// little later.
class IoErrorDetail : public arrow::StatusDetail {
 public:
  IoErrorDetail(int error_number, bool transient)
      : error_number_(error_number), transient_(transient) {}
  const char* type_id() const override { return "kelda::IoErrorDetail"; }
  std::string ToString() const override;
  int error_number() const { return error_number_; }
  bool transient() const { return transient_; }

 private:
  int error_number_;
  bool transient_;
};

/// Error of a system call: "<what> <path>: <reason>". kNotFound for a missing file, kAlreadyExists
/// for an existing one, IOError with IoErrorDetail else; a full disk is named as such.
arrow::Status SystemError(std::string_view what, std::string_view path, int error_number);

/// IOError with IoErrorDetail for storage without errno.
arrow::Status TransientIoError(std::string text);

/// True if trying the same call again is sensible.
bool IsTransient(const arrow::Status& status);
/// True if the disk or the quota is full.
bool IsDiskFull(const arrow::Status& status);

}  // namespace kelda
