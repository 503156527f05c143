#include "kelda/catalog/catalog.h"

namespace kelda {

namespace {
constexpr std::string_view kBranchPrefix = "branch_";
}

arrow::Result<Identifier> Identifier::Parse(std::string database, std::string_view object_name) {
  std::vector<std::string_view> parts;
  for (size_t begin = 0;;) {
    const size_t end = object_name.find('$', begin);
    parts.push_back(object_name.substr(begin, end == std::string_view::npos ? end : end - begin));
    if (end == std::string_view::npos) break;
    begin = end + 1;
  }
  Identifier id;
  id.database = std::move(database);
  id.table = std::string(parts[0]);
  const bool has_branch = parts.size() >= 2 && parts[1].starts_with(kBranchPrefix);
  if (parts.size() > 3 || (parts.size() == 3 && !has_branch) || id.table.empty()) {
    return Invalid(
        "'{}' is no name of a table; expected table, table$branch_b, table$system or "
        "table$branch_b$system",
        object_name);
  }
  if (has_branch) {
    id.branch = std::string(parts[1].substr(kBranchPrefix.size()));
    if (id.branch.empty()) return Invalid("'{}' names a branch without a name", object_name);
    if (parts.size() == 3) id.system_table = std::string(parts[2]);
  } else if (parts.size() == 2) {
    id.system_table = std::string(parts[1]);
  }
  return id;
}

std::string Identifier::FullName() const {
  std::string name = database + "." + table;
  if (branch != "main") name += "$branch_" + branch;
  if (!system_table.empty()) name += "$" + system_table;
  return name;
}

}  // namespace kelda
