#include "kelda/sql/types/status_exception.h"

#include <string>

#include "duckdb/common/exception.hpp"
#include "duckdb/common/exception/transaction_exception.hpp"

#include "kelda/base/status.h"

namespace kelda::sql {

void ThrowError(const arrow::Status& status) {
  std::string text = status.message();
  switch (CodeOf(status)) {
    case ErrorCode::kCancelled:
      throw duckdb::InterruptException();
    case ErrorCode::kUnsupported: {
      // DuckDB puts "Not implemented Error: " before it.
      constexpr std::string_view kPrefix = "not implemented: ";
      if (const size_t at = text.find(kPrefix); at != std::string::npos)
        text.erase(at, kPrefix.size());
      throw duckdb::NotImplementedException(text);
    }
    case ErrorCode::kCorruption:
    case ErrorCode::kNotFound:
      throw duckdb::IOException(text);
    case ErrorCode::kConflict:
    case ErrorCode::kCommitUnknown:
      throw duckdb::TransactionException(text);
    case ErrorCode::kOutOfBudget:
      throw duckdb::OutOfMemoryException(text);
    default:
      break;
  }
  if (status.IsIOError()) throw duckdb::IOException(text);
  if (status.IsOutOfMemory()) throw duckdb::OutOfMemoryException(text);
  throw duckdb::InvalidInputException(text);
}

}  // namespace kelda::sql
