#include "kelda/metadata/branch.h"

namespace kelda {

arrow::Result<std::vector<Branch>> ListBranches(const TableContext& table) {
  constexpr std::string_view kPrefix = "branch-";
  ARROW_ASSIGN_OR_RAISE(auto children, table.env.io->List(table.paths.BranchDir()));
  std::vector<Branch> branches;
  for (const FileInfo& child : children) {
    if (child.is_dir && child.name.size() > kPrefix.size() && child.name.starts_with(kPrefix))
      branches.push_back({child.name.substr(kPrefix.size()), child.modified_millis});
  }
  return branches;
}

}  // namespace kelda
