#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <arrow/result.h>

namespace kelda::sql {

/// Paimon's names are case-sensitive, SQL's are not: the exact name if it is there, else the only
/// one that differs in case alone, else nothing; several such are an error that names them. `what`
/// is for the error ("table", "database").
arrow::Result<std::optional<std::string>> FindName(const std::vector<std::string>& names,
                                                   const std::string& wanted,
                                                   std::string_view what);

/// Throw errors about names, that something is missing or exists already, as DuckDB's catalog
/// errors, and all others as ThrowIfError does.
void ThrowIfNameError(const arrow::Status& status);

}  // namespace kelda::sql
