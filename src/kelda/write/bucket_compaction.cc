#include "kelda/write/bucket_compaction.h"

#include <algorithm>

namespace kelda {

namespace {

constexpr size_t kFullCompactionFilesMin = 3;

}  // namespace

arrow::Result<BucketCompactionRule> BucketCompactionRule::Make(const TableContext& table) {
  BucketCompactionRule rule;
  ARROW_ASSIGN_OR_RAISE(rule.target_file_size,
                        table.options.TargetFileSizeBytes(!table.schema->primary_keys.empty()));
  ARROW_ASSIGN_OR_RAISE(rule.min_file_num, table.options.Get(OptionKeys::kCompactionMinFileNum));
  ARROW_ASSIGN_OR_RAISE(rule.rewrite_all,
                        table.options.Get(OptionKeys::kCompactionForceRewriteAllFiles));
  return rule;
}

std::vector<DataFileMeta> BucketCompactionRule::PickAuto(std::vector<DataFileMeta>* queue) const {
  size_t begin = 0;  // the candidates are queue[begin, end)
  int64_t candidate_bytes = 0;
  for (size_t end = 1; end <= queue->size(); ++end) {
    candidate_bytes += (*queue)[end - 1].file_size;
    if (static_cast<int64_t>(end - begin) >= min_file_num) {
      std::vector<DataFileMeta> picked(queue->begin() + static_cast<int64_t>(begin),
                                       queue->begin() + static_cast<int64_t>(end));
      queue->erase(queue->begin(), queue->begin() + static_cast<int64_t>(end));
      return picked;
    }
    if (candidate_bytes >= target_file_size * 2) {
      candidate_bytes -= (*queue)[begin].file_size;
      ++begin;
    }
  }
  queue->erase(queue->begin(), queue->begin() + static_cast<int64_t>(begin));
  return {};
}

std::vector<DataFileMeta> BucketCompactionRule::PickFull(
    std::vector<DataFileMeta> files,
    const std::function<bool(const DataFileMeta&)>& has_deletions) const {
  if (rewrite_all) return files;
  const bool deletion_vectors = has_deletions != nullptr;
  if (!deletion_vectors && files.size() < kFullCompactionFilesMin) return {};
  auto first = std::find_if(files.begin(), files.end(), [&](const DataFileMeta& file) {
    return file.file_size < small_file_size() || (deletion_vectors && has_deletions(file));
  });
  files.erase(files.begin(), first);
  if (deletion_vectors) {
    // A lone file without deleted rows would only be copied, again and again.
    const bool worth = files.size() > 1 || std::any_of(files.begin(), files.end(), has_deletions);
    return worth ? files : std::vector<DataFileMeta>();
  }
  const auto small = std::count_if(files.begin(), files.end(), [&](const DataFileMeta& file) {
    return file.file_size < small_file_size();
  });
  if (small * 2 <= static_cast<int64_t>(files.size()) || files.size() < kFullCompactionFilesMin)
    return {};
  return files;
}

}  // namespace kelda
