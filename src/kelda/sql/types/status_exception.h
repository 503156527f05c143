#pragma once

#include <utility>

#include <arrow/result.h>
#include <arrow/status.h>

namespace kelda::sql {

/// Throw `status`, an error, as the DuckDB exception of its kind: cancelled InterruptException, not
/// implemented NotImplementedException, missing or damaged files IOException, no memory
/// OutOfMemoryException, conflicts TransactionException, everything else InvalidInputException.
[[noreturn]] void ThrowError(const arrow::Status& status);

inline void ThrowIfError(const arrow::Status& status) {
  if (!status.ok()) ThrowError(status);
}

template <typename T>
T ValueOrThrow(arrow::Result<T> result) {
  if (!result.ok()) ThrowError(result.status());
  return std::move(result).ValueUnsafe();
}

}  // namespace kelda::sql
