#include "kelda/sql/catalog/name_lookup.h"

#include <algorithm>

#include "duckdb/common/string_util.hpp"

#include "kelda/base/status.h"

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

}  // namespace kelda::sql
