// Built against an installed Kelda: its headers are complete, its library holds the code, Arrow is
// found.
#include <iostream>

#include <arrow/api.h>

#include "kelda/build_info.h"

int main() {
  arrow::Int64Builder builder;
  const arrow::Status status = builder.Append(7);
  std::cout << "kelda " << kelda::GetBuildInfo().version << " arrow "
            << kelda::GetBuildInfo().arrow_version << "\n";
  return status.ok() ? 0 : 1;
}
