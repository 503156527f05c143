#include "kelda/maintain/compact/append_compact_planner.h"

#include <algorithm>

namespace kelda {

namespace {

// Rounds without a task after which a partition's files are taken as they are, and after which it
// is forgotten.
constexpr int kCompactAge = 5;
constexpr int kRemoveAge = 10;

void SortBySize(std::vector<DataFileMeta>* files) {
  std::stable_sort(files->begin(), files->end(), [](const DataFileMeta& a, const DataFileMeta& b) {
    return a.file_size < b.file_size;
  });
}

}  // namespace

arrow::Result<AppendCompactPlanner::Rule> AppendCompactPlanner::Rule::Make(
    const TableContext& table) {
  Rule rule;
  const Options& o = table.options;
  ARROW_ASSIGN_OR_RAISE(rule.target_file_size, o.TargetFileSizeBytes(/*has_primary_key=*/false));
  ARROW_ASSIGN_OR_RAISE(rule.open_file_cost, o.Get(OptionKeys::kSourceSplitOpenFileCost));
  ARROW_ASSIGN_OR_RAISE(rule.min_file_num, o.Get(OptionKeys::kCompactionMinFileNum));
  ARROW_ASSIGN_OR_RAISE(rule.delete_ratio, o.Get(OptionKeys::kCompactionDeleteRatioThreshold));
  return rule;
}

/// Files that are packed together until they weigh enough.
class AppendCompactPlanner::Bin {
 public:
  explicit Bin(const Rule& rule) : rule_(rule) {}

  void Add(DataFileMeta file) {
    weight_ += file.file_size + rule_.open_file_cost;
    files_.push_back(std::move(file));
  }
  bool Enough() const { return files_.size() > 1 && weight_ >= rule_.target_file_size * 2; }
  std::vector<DataFileMeta> Drain() {
    weight_ = 0;
    return std::exchange(files_, {});
  }
  size_t size() const { return files_.size(); }

 private:
  const Rule& rule_;
  std::vector<DataFileMeta> files_;
  int64_t weight_ = 0;
};

bool AppendCompactPlanner::IsCandidate(const std::string& partition,
                                       const DataFileMeta& file) const {
  if (file.file_size < rule_.small_file_size()) return true;
  if (vectors_ == nullptr) return false;
  const Vector* vector = vectors_(partition, file.file_name);
  if (vector == nullptr) return false;
  return !vector->cardinality || static_cast<double>(*vector->cardinality) >
                                     static_cast<double>(file.row_count) * rule_.delete_ratio;
}

void AppendCompactPlanner::Add(const std::string& partition, DataFileMeta file) {
  auto [it, is_new] = index_.emplace(partition, partitions_.size());
  if (is_new) partitions_.push_back(Partition{partition, {}, 0});
  Partition& own = partitions_[it->second];
  own.age = 0;
  own.files.push_back(std::move(file));
}

std::vector<AppendCompactTask> AppendCompactPlanner::Plan() {
  std::vector<AppendCompactTask> tasks;
  for (Partition& partition : partitions_) {
    for (auto& files : PackByAge(&partition))
      tasks.push_back(AppendCompactTask{partition.name, std::move(files)});
  }
  std::erase_if(partitions_,
                [](const Partition& p) { return p.files.empty() || p.age > kRemoveAge; });
  index_.clear();
  for (size_t i = 0; i < partitions_.size(); ++i) index_.emplace(partitions_[i].name, i);
  return tasks;
}

std::vector<std::vector<DataFileMeta>> AppendCompactPlanner::PackByAge(Partition* partition) const {
  auto packs = vectors_ == nullptr ? Pack(&partition->files) : PackWithVectors(partition);
  if (packs.empty() && ++partition->age > kCompactAge && partition->files.size() > 1) {
    packs.push_back(std::exchange(partition->files, {}));
  }
  return packs;
}

/// What is left over stays in `files`.
std::vector<std::vector<DataFileMeta>> AppendCompactPlanner::Pack(
    std::vector<DataFileMeta>* files) const {
  SortBySize(files);
  std::vector<std::vector<DataFileMeta>> packs;
  Bin bin(rule_);
  for (DataFileMeta& file : *files) {
    bin.Add(std::move(file));
    if (bin.Enough()) packs.push_back(bin.Drain());
  }
  if (static_cast<int64_t>(bin.size()) >= rule_.min_file_num) {
    packs.push_back(bin.Drain());
  }
  *files = bin.Drain();
  return packs;
}

/// Files whose vectors lie in one index file stay together, so that two tasks never rewrite the
/// same index file.
std::vector<std::vector<DataFileMeta>> AppendCompactPlanner::PackWithVectors(
    Partition* partition) const {
  std::vector<std::vector<DataFileMeta>> groups;
  std::unordered_map<std::string_view, size_t> group_of;
  std::vector<DataFileMeta> others;
  for (DataFileMeta& file : partition->files) {
    const Vector* vector = vectors_(partition->name, file.file_name);
    if (vector == nullptr) {
      others.push_back(std::move(file));
      continue;
    }
    auto [it, is_new] = group_of.emplace(vector->index_file, groups.size());
    if (is_new) groups.emplace_back();
    groups[it->second].push_back(std::move(file));
  }
  auto size_of = [](const std::vector<DataFileMeta>& group) {
    int64_t size = 0;
    for (const DataFileMeta& file : group) size += file.file_size;
    return size;
  };
  std::stable_sort(groups.begin(), groups.end(),
                   [&](const auto& a, const auto& b) { return size_of(a) < size_of(b); });
  std::vector<std::vector<DataFileMeta>> packs;
  Bin bin(rule_);
  for (auto& group : groups) {
    for (DataFileMeta& file : group) bin.Add(std::move(file));
    if (bin.Enough()) packs.push_back(bin.Drain());
  }
  if (bin.size() > 0) packs.push_back(bin.Drain());
  if (others.size() > 1) {
    for (auto& pack : Pack(&others)) packs.push_back(std::move(pack));
  }
  partition->files = std::move(others);
  return packs;
}

}  // namespace kelda
