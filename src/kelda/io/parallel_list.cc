#include "kelda/io/parallel_list.h"

namespace kelda {

arrow::Result<std::vector<std::vector<FileInfo>>> ParallelList(FileIO& file_io,
                                                               const std::vector<std::string>& dirs,
                                                               Executor& executor,
                                                               const CancellationToken& token) {
  std::vector<std::vector<FileInfo>> listings(dirs.size());
  auto list = [&](int64_t i) -> arrow::Status {
    const auto index = static_cast<size_t>(i);
    ARROW_ASSIGN_OR_RAISE(listings[index], file_io.List(dirs[index]));
    return arrow::Status::OK();
  };
  ARROW_RETURN_NOT_OK(ParallelFor(executor, static_cast<int64_t>(dirs.size()), token, list));
  return listings;
}

}  // namespace kelda
