#include "kelda/commit/changes.h"

#include <unordered_map>
#include <unordered_set>

#include "kelda/base/bytes.h"

namespace kelda {

namespace {

void AddEntries(EntryKind kind, const CommitMessage& message,
                const std::vector<DataFileMeta>& files, int32_t default_total_buckets,
                std::vector<ManifestEntry>* entries) {
  for (const DataFileMeta& file : files) {
    ManifestEntry entry;
    entry.kind = kind;
    entry.partition = message.partition;
    entry.bucket = message.bucket;
    entry.total_buckets = message.total_buckets.value_or(default_total_buckets);
    entry.file = file;
    entries->push_back(std::move(entry));
  }
}

void AddIndexEntries(const CommitMessage& message, const std::vector<IndexFileMeta>& deleted,
                     const std::vector<IndexFileMeta>& added,
                     std::vector<IndexManifestEntry>* entries) {
  for (const IndexFileMeta& file : deleted) {
    entries->push_back({EntryKind::kDelete, message.partition, message.bucket, file});
  }
  for (const IndexFileMeta& file : added) {
    entries->push_back({EntryKind::kAdd, message.partition, message.bucket, file});
  }
}

}  // namespace

CommitChanges CollectChanges(const Committable& committable, int32_t default_total_buckets) {
  CommitChanges changes;
  for (const CommitMessage& message : committable.messages) {
    AddEntries(EntryKind::kAdd, message, message.new_files, default_total_buckets, &changes.append);
    AddEntries(EntryKind::kDelete, message, message.deleted_files, default_total_buckets,
               &changes.append);
    AddEntries(EntryKind::kDelete, message, message.compact_before, default_total_buckets,
               &changes.compact);
    AddEntries(EntryKind::kAdd, message, message.compact_after, default_total_buckets,
               &changes.compact);
    AddIndexEntries(message, message.deleted_index_files, message.new_index_files,
                    &changes.append_index);
    AddIndexEntries(message, message.compact_deleted_index_files, message.compact_new_index_files,
                    &changes.compact_index);
  }
  return changes;
}

int64_t DeltaRecordCount(const std::vector<ManifestEntry>& entries) {
  int64_t rows = 0;
  for (const ManifestEntry& entry : entries) {
    rows += entry.kind == EntryKind::kAdd ? entry.file.row_count : -entry.file.row_count;
  }
  return rows;
}

arrow::Status EntryMerger::Add(ManifestEntry entry, std::string_view identity_suffix) {
  std::string identity = entry.Identity();
  identity += identity_suffix;
  auto it = index_.find(identity);
  if (entry.kind == EntryKind::kAdd) {
    if (it != index_.end()) {
      return Conflict("data file '{}' is added although it is already {}", entry.file.file_name,
                      slots_[it->second].entry.kind == EntryKind::kAdd ? "there" : "deleted");
    }
  } else if (it != index_.end()) {
    Slot& slot = slots_[it->second];
    if (slot.entry.kind == EntryKind::kAdd) {
      slot.live = false;
      slot.entry = ManifestEntry();
      index_.erase(it);
    }
    return arrow::Status::OK();
  }
  index_.emplace(std::move(identity), slots_.size());
  slots_.push_back(Slot{std::move(entry), true});
  return arrow::Status::OK();
}

std::vector<ManifestEntry> EntryMerger::Finish() {
  std::vector<ManifestEntry> entries;
  for (Slot& slot : slots_) {
    if (slot.live) entries.push_back(std::move(slot.entry));
  }
  slots_.clear();
  index_.clear();
  return entries;
}

namespace {

/// Index files that hold a vector of each data file.
using VectorHolders = std::unordered_map<std::string, std::vector<const IndexManifestEntry*>>;

VectorHolders HoldersOf(const std::vector<IndexManifestEntry>& entries) {
  VectorHolders holders;
  for (const IndexManifestEntry& entry : entries) {
    if (entry.file.index_type != kDeletionVectorsIndex || !entry.file.deletion_vectors) continue;
    for (const DeletionVectorRange& range : *entry.file.deletion_vectors)
      holders[range.data_file].push_back(&entry);
  }
  return holders;
}

std::string VectorSuffix(const std::string& index_file) { return "|vector:" + index_file; }

arrow::Status VectorOfMissingFile(const std::string& context, std::string_view data_file) {
  return Conflict(
      "{}: data file '{}', in which this commit deletes rows, is no longer there. Run the "
      "statement again",
      context, data_file);
}

/// Adds entries to `merged` with identities that name the vectors in force (spec 03 §5.2).
class VectorAwareMerge {
 public:
  VectorAwareMerge(const std::string& context, const std::vector<IndexManifestEntry>& base_index,
                   const std::vector<IndexManifestEntry>& delta_index)
      : context_(context), base_(HoldersOf(base_index)), delta_(HoldersOf(delta_index)) {}

  arrow::Status AddBase(const ManifestEntry& entry, EntryMerger* merged) const {
    const auto it = base_.find(entry.file.file_name);
    if (it == base_.end()) return merged->Add(entry);
    if (it->second.size() > 1) {
      return Conflict("{}: data file '{}' has deletion vectors in '{}' and in '{}'", context_,
                      entry.file.file_name, it->second[0]->file.file_name,
                      it->second[1]->file.file_name);
    }
    return merged->Add(entry, VectorSuffix(it->second[0]->file.file_name));
  }

  arrow::Status AddDelta(const ManifestEntry& entry, EntryMerger* merged) const {
    const auto it = delta_.find(entry.file.file_name);
    if (it == delta_.end()) return merged->Add(entry);
    if (it->second.size() > 1) {
      return Conflict("{}: data file '{}' is {} and its deletion vector changed {} times", context_,
                      entry.file.file_name, entry.kind == EntryKind::kAdd ? "added" : "deleted",
                      it->second.size());
    }
    return merged->Add(entry, VectorSuffix(it->second[0]->file.file_name));
  }

  /// Files whose vector changes and nothing else.
  arrow::Status AddVectorChanges(const std::vector<ManifestEntry>& base,
                                 const std::vector<ManifestEntry>& delta,
                                 EntryMerger* merged) const {
    std::unordered_map<std::string_view, const ManifestEntry*> live;
    for (const ManifestEntry& entry : base) live[entry.file.file_name] = &entry;
    std::unordered_map<std::string_view, const ManifestEntry*> changed;
    for (const ManifestEntry& entry : delta) changed[entry.file.file_name] = &entry;
    for (const auto& [data_file, changes] : delta_) {
      if (changed.contains(data_file)) continue;
      const auto it = live.find(data_file);
      if (it == live.end()) {
        return VectorOfMissingFile(context_, data_file);
      }
      ManifestEntry entry = *it->second;
      if (changes.size() == 1 && changes[0]->kind == EntryKind::kAdd) {
        entry.kind = EntryKind::kDelete;
        ARROW_RETURN_NOT_OK(merged->Add(entry));
      }
      for (EntryKind kind : {EntryKind::kDelete, EntryKind::kAdd}) {
        for (const IndexManifestEntry* change : changes) {
          if (change->kind != kind) continue;
          entry.kind = kind;
          ARROW_RETURN_NOT_OK(merged->Add(entry, VectorSuffix(change->file.file_name)));
        }
      }
    }
    return arrow::Status::OK();
  }

 private:
  const std::string& context_;
  VectorHolders base_;
  VectorHolders delta_;
};

/// C6: files whose row ids overlap are columns of the same rows. Blob files are pieces.
arrow::Status CheckRowIdRanges(const std::string& context, std::vector<ManifestEntry> live) {
  std::erase_if(live, [](const ManifestEntry& e) {
    return !e.file.first_row_id || e.file.file_name.ends_with(".blob");
  });
  std::sort(live.begin(), live.end(), [](const ManifestEntry& a, const ManifestEntry& b) {
    return *a.file.first_row_id < *b.file.first_row_id;
  });
  for (size_t i = 1; i < live.size(); ++i) {
    const DataFileMeta& a = live[i - 1].file;
    const DataFileMeta& b = live[i].file;
    const bool same = *a.first_row_id == *b.first_row_id && a.row_count == b.row_count;
    if (!same && *b.first_row_id < *a.first_row_id + a.row_count) {
      return Conflict("{}: files '{}' and '{}' cover row ids that overlap without being the same",
                      context, a.file_name, b.file_name);
    }
  }
  return arrow::Status::OK();
}

/// With buckets only the name of a bucket's index file is compared: a vector of a file that was
/// rewritten meanwhile would go unnoticed, and with it the deletes.
arrow::Status CheckVectorsOfLiveFiles(const std::string& context,
                                      const std::vector<ManifestEntry>& live,
                                      const std::vector<IndexManifestEntry>& delta_index) {
  std::unordered_set<std::string_view> names;
  for (const ManifestEntry& entry : live) {
    if (entry.kind == EntryKind::kAdd) names.insert(entry.file.file_name);
  }
  for (const IndexManifestEntry& entry : delta_index) {
    if (entry.kind != EntryKind::kAdd || !entry.file.deletion_vectors) continue;
    for (const DeletionVectorRange& range : *entry.file.deletion_vectors) {
      if (!names.contains(range.data_file)) return VectorOfMissingFile(context, range.data_file);
    }
  }
  return arrow::Status::OK();
}

arrow::Status CheckBucketCounts(const std::string& context, const std::vector<ManifestEntry>& base,
                                const std::vector<ManifestEntry>& delta) {
  std::unordered_map<std::string_view, int32_t> buckets;
  for (const auto* entries : {&base, &delta}) {
    for (const ManifestEntry& entry : *entries) {
      if (entry.total_buckets <= 0) continue;
      auto [it, is_new] = buckets.emplace(entry.partition, entry.total_buckets);
      if (!is_new && it->second != entry.total_buckets) {
        return Conflict("{}: partition {} has files of {} and of {} buckets", context,
                        ToHex(entry.partition), it->second, entry.total_buckets);
      }
    }
  }
  return arrow::Status::OK();
}

}  // namespace

arrow::Status CheckConflicts(const ConflictCheck& check, const std::vector<ManifestEntry>& base,
                             const std::vector<IndexManifestEntry>& base_index,
                             const std::vector<ManifestEntry>& delta,
                             const std::vector<IndexManifestEntry>& delta_index) {
  const std::string context =
      fmt::format("table {}: commit conflicts with what others committed", check.table_name);
  if (!check.overwrite) ARROW_RETURN_NOT_OK(CheckBucketCounts(context, base, delta));
  EntryMerger delta_alone;
  for (const ManifestEntry& entry : delta) {
    ARROW_RETURN_NOT_OK(WithContext(delta_alone.Add(entry), context));
  }
  EntryMerger merged;
  if (check.vectors_by_file) {
    const VectorAwareMerge vectors(context, base_index, delta_index);
    for (const ManifestEntry& entry : base)
      ARROW_RETURN_NOT_OK(WithContext(vectors.AddBase(entry, &merged), context));
    for (const ManifestEntry& entry : delta)
      ARROW_RETURN_NOT_OK(WithContext(vectors.AddDelta(entry, &merged), context));
    ARROW_RETURN_NOT_OK(WithContext(vectors.AddVectorChanges(base, delta, &merged), context));
  } else {
    for (const auto* entries : {&base, &delta}) {
      for (const ManifestEntry& entry : *entries)
        ARROW_RETURN_NOT_OK(WithContext(merged.Add(entry), context));
    }
  }
  std::vector<ManifestEntry> live = merged.Finish();
  if (!check.vectors_by_file) {
    ARROW_RETURN_NOT_OK(CheckVectorsOfLiveFiles(context, live, delta_index));
  }
  for (const ManifestEntry& entry : live) {
    if (entry.kind == EntryKind::kDelete) {
      return Conflict(
          "{}: data file '{}', which this commit {}, is no longer there{}. Run the statement again",
          context, entry.file.file_name, delta.empty() ? "deletes rows of" : "deletes",
          check.vectors_by_file ? " or has other deleted rows by now" : "");
    }
  }
  return check.row_id_ranges ? CheckRowIdRanges(context, std::move(live)) : arrow::Status::OK();
}

}  // namespace kelda
