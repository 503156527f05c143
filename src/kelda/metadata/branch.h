#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "kelda/metadata/table_context.h"

namespace kelda {

/// A branch beside main (spec 01 §8.4).
struct Branch {
  std::string name;
  int64_t modified_millis = 0;  ///< of its directory
};

/// The branches of a table, of which main is none, in no particular order.
arrow::Result<std::vector<Branch>> ListBranches(const TableContext& table);

}  // namespace kelda
