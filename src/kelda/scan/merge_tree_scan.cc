#include "kelda/scan/merge_tree_scan.h"

#include <algorithm>

namespace kelda {

namespace {

bool HasDeletes(const DataFileMeta& file) { return file.delete_row_count.value_or(0) > 0; }

int64_t WeightOf(const std::vector<DataFileMeta>& files) {
  int64_t bytes = 0;
  for (const DataFileMeta& file : files) bytes += file.file_size;
  return bytes;
}

}  // namespace

arrow::Result<std::unique_ptr<MergeTreeScan>> MergeTreeScan::Make(const TableContext& table,
                                                                  const PredicatePtr& predicate,
                                                                  bool read_optimized) {
  if (table.schema->primary_keys.empty()) return std::unique_ptr<MergeTreeScan>();
  ARROW_ASSIGN_OR_RAISE(MergeRules rules, MergeRulesOf(table));
  SplitPredicate parts;
  if (predicate != nullptr) parts = SplitByColumns(predicate, TrimmedPrimaryKey(*table.schema));
  std::optional<int32_t> only_level;
  if (read_optimized && !rules.SkipsLevel0()) {
    ARROW_ASSIGN_OR_RAISE(auto levels, table.options.Find(OptionKeys::kNumLevels));
    ARROW_ASSIGN_OR_RAISE(int32_t trigger,
                          table.options.Get(OptionKeys::kNumSortedRunCompactionTrigger));
    only_level = levels.value_or(trigger + 1) - 1;
  }
  return std::unique_ptr<MergeTreeScan>(
      new MergeTreeScan(table, std::move(rules), parts.inside, parts.outside, only_level));
}

arrow::Result<bool> MergeTreeScan::ValueMayMatch(const DataFileMeta& file) const {
  if (value_predicate_ == nullptr) return true;
  ARROW_ASSIGN_OR_RAISE(const auto bounds, FileBounds(table_, file));
  return MayMatch(*value_predicate_, *bounds);
}

arrow::Result<bool> MergeTreeScan::Accepts(const ManifestEntry& entry) const {
  // Rows in the postpone bucket become visible when they are moved to a real one (spec 02 §2.7).
  if (entry.bucket < 0) return false;
  if (only_level_ && entry.file.level != *only_level_) return false;
  if (rules_.SkipsLevel0() && entry.file.level == 0) return false;
  if (key_predicate_ != nullptr) {
    ARROW_ASSIGN_OR_RAISE(const auto bounds, KeyBounds(table_, entry.file));
    if (!MayMatch(*key_predicate_, *bounds)) return false;
  }
  return EachKeyOnce() ? ValueMayMatch(entry.file) : true;
}

arrow::Status MergeTreeScan::MakeSplits(std::vector<DataFileMeta> files, const Split& proto,
                                        int64_t target_bytes, int64_t open_cost_bytes,
                                        std::vector<Split>* splits) const {
  const bool no_deletes = std::none_of(files.begin(), files.end(), HasDeletes);
  const bool above_0 = std::all_of(files.begin(), files.end(),
                                   [](const DataFileMeta& file) { return file.level != 0; });
  const bool one_level = std::all_of(files.begin(), files.end(), [&](const DataFileMeta& file) {
    return file.level == files[0].level;
  });
  const bool counts_known = std::all_of(files.begin(), files.end(), [](const DataFileMeta& file) {
    return file.delete_row_count.has_value();
  });
  int64_t weight = 0;
  Split* open = nullptr;
  const auto bin = [&](int64_t w) {
    if (open == nullptr || weight + w > target_bytes) {
      open = &splits->emplace_back(proto);
      weight = 0;
    }
    weight += w;
  };
  if (above_0 && no_deletes && (EachKeyOnce() || one_level) && counts_known) {
    for (DataFileMeta& file : files) {
      // Files of one level do not overlap: each may be judged alone.
      ARROW_ASSIGN_OR_RAISE(bool may, ValueMayMatch(file));
      if (!may) continue;
      bin(std::max(file.file_size, open_cost_bytes));
      open->files.push_back(std::move(file));
    }
    return arrow::Status::OK();
  }
  ARROW_ASSIGN_OR_RAISE(auto sections, PartitionIntervals(table_, std::move(files)));
  for (MergeSection& section : sections) {
    std::vector<DataFileMeta> flat;
    for (auto& run : section.runs) {
      flat.insert(flat.end(), std::make_move_iterator(run.begin()),
                  std::make_move_iterator(run.end()));
    }
    bin(std::max(WeightOf(flat), open_cost_bytes));
    for (DataFileMeta& file : flat) open->files.push_back(std::move(file));
    open->section_ends.push_back(open->files.size());
  }
  return arrow::Status::OK();
}

}  // namespace kelda
