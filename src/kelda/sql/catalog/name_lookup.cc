#include "kelda/sql/catalog/name_lookup.h"

#include <algorithm>

#include "duckdb/common/exception/catalog_exception.hpp"
#include "duckdb/common/string_util.hpp"

#include "kelda/base/status.h"
#include "kelda/sql/types/status_exception.h"

namespace kelda::sql {

arrow::Result<std::optional<std::string>> FindName(const std::vector<std::string>& names,
                                                   const std::string& wanted,
                                                   std::string_view what) {
  std::vector<std::string> candidates;
  for (const std::string& name : names) {
    if (name == wanted) return name;
    if (duckdb::StringUtil::CIEquals(name, wanted)) candidates.push_back(name);
  }
  if (candidates.size() > 1) {
    return Invalid(
        "{} name '{}' is ambiguous: there are '{}'; names of Paimon are case-sensitive, write one "
        "of them exactly",
        what, wanted, fmt::join(candidates, "', '"));
  }
  if (candidates.empty()) return std::nullopt;
  return candidates[0];
}

void ThrowIfNameError(const arrow::Status& status) {
  const ErrorCode code = CodeOf(status);
  if (code == ErrorCode::kNotFound || code == ErrorCode::kAlreadyExists)
    throw duckdb::CatalogException(status.message());
  ThrowIfError(status);
}

}  // namespace kelda::sql
