#include "kelda/maintain/compact/row_group_planner.h"

#include <algorithm>

#include "kelda/scan/plan.h"

namespace kelda {

namespace {

/// Files that cover the same row ids.
struct RowGroup {
  std::vector<DataFileMeta> files;
  int64_t first = 0;
  int64_t end = 0;
  int64_t weight = 0;
};

arrow::Result<std::vector<RowGroup>> GroupFiles(const AppendCompactPlanner::Rule& rule,
                                                std::vector<DataFileMeta> files) {
  for (const DataFileMeta& file : files) {
    if (!file.first_row_id)
      return Corruption("data file '{}' of a data-evolution table has no row ids", file.file_name);
  }
  std::stable_sort(files.begin(), files.end(), [](const DataFileMeta& a, const DataFileMeta& b) {
    return *a.first_row_id < *b.first_row_id;
  });
  std::vector<RowGroup> groups;
  for (DataFileMeta& file : files) {
    const int64_t first = *file.first_row_id;
    const int64_t end = first + file.row_count;
    if (groups.empty() || first >= groups.back().end) groups.push_back({{}, first, end, 0});
    RowGroup& group = groups.back();
    if (first != group.first || end != group.end) {
      return Corruption(
          "data file '{}' covers rows {} to {}, another {} to {}: only in part the same",
          file.file_name, first, end, group.first, group.end);
    }
    group.weight += std::max(file.file_size, rule.open_file_cost);
    group.files.push_back(std::move(file));
  }
  return groups;
}

}  // namespace

arrow::Result<std::vector<std::vector<DataFileMeta>>> PackRowGroups(
    const AppendCompactPlanner::Rule& rule, std::vector<DataFileMeta> files) {
  std::erase_if(files, IsBlobFile);
  ARROW_ASSIGN_OR_RAISE(auto groups, GroupFiles(rule, std::move(files)));
  std::vector<std::vector<DataFileMeta>> tasks;
  std::vector<DataFileMeta> open;
  int64_t open_weight = 0;
  int64_t open_end = 0;
  auto emit = [&](std::vector<DataFileMeta> task) {
    if (static_cast<int64_t>(task.size()) >= rule.min_file_num && !task.empty())
      tasks.push_back(std::move(task));
  };
  auto close = [&] {
    emit(std::exchange(open, {}));
    open_weight = 0;
  };
  for (RowGroup& group : groups) {
    if (!open.empty() && group.first != open_end) close();
    if (group.weight > rule.target_file_size) {
      emit(std::move(group.files));
      close();
      continue;
    }
    open_weight += group.weight;
    open_end = group.end;
    std::move(group.files.begin(), group.files.end(), std::back_inserter(open));
    if (open_weight > rule.target_file_size) close();
  }
  close();
  return tasks;
}

}  // namespace kelda
