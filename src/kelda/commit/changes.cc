#include "kelda/commit/changes.h"

#include <unordered_map>

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

arrow::Status EntryMerger::Add(ManifestEntry entry) {
  std::string identity = entry.Identity();
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

arrow::Status CheckConflicts(const std::string& table_name, const std::vector<ManifestEntry>& base,
                             const std::vector<ManifestEntry>& delta, bool overwrite) {
  const std::string context =
      fmt::format("table {}: commit conflicts with what others committed", table_name);
  if (!overwrite) {
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
  }
  EntryMerger delta_alone;
  for (const ManifestEntry& entry : delta) {
    ARROW_RETURN_NOT_OK(WithContext(delta_alone.Add(entry), context));
  }
  EntryMerger merged;
  for (const auto* entries : {&base, &delta}) {
    for (const ManifestEntry& entry : *entries)
      ARROW_RETURN_NOT_OK(WithContext(merged.Add(entry), context));
  }
  for (const ManifestEntry& entry : merged.Finish()) {
    if (entry.kind == EntryKind::kDelete) {
      return Conflict(
          "{}: data file '{}', which this commit deletes, is no longer there. Run the statement "
          "again",
          context, entry.file.file_name);
    }
  }
  return arrow::Status::OK();
}

}  // namespace kelda
