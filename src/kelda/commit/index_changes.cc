#include <algorithm>
#include <map>
#include <unordered_set>

#include "kelda/commit/changes.h"

namespace kelda {

namespace {

enum class Combiner { kByFile, kByBucket, kGlobal };

Combiner CombinerOf(const std::string& index_type, bool by_bucket) {
  if (index_type == kDeletionVectorsIndex) {
    return by_bucket ? Combiner::kByBucket : Combiner::kByFile;
  }
  return index_type == kHashIndex ? Combiner::kByBucket : Combiner::kGlobal;
}

/// Index files of one type.
class TypeCombiner {
 public:
  TypeCombiner(std::string context, Combiner combiner)
      : context_(std::move(context)), combiner_(combiner) {}

  arrow::Status AddPrevious(IndexManifestEntry entry) {
    NoteVectors(entry);
    entries_.push_back(std::move(entry));
    return arrow::Status::OK();
  }

  arrow::Status Delete(const IndexManifestEntry& change) {
    const auto it = std::find_if(entries_.begin(), entries_.end(), [&](const auto& entry) {
      return entry.partition == change.partition && entry.bucket == change.bucket &&
             entry.file.file_name == change.file.file_name;
    });
    if (it == entries_.end()) {
      return Conflict(
          "{}: index file '{}', which this commit replaces, is no longer there. Run "
          "the statement again",
          context_, change.file.file_name);
    }
    if (it->file.deletion_vectors) {
      for (const DeletionVectorRange& range : *it->file.deletion_vectors)
        files_with_vector_.erase(range.data_file);
    }
    entries_.erase(it);
    return arrow::Status::OK();
  }

  arrow::Status Add(const IndexManifestEntry& change) {
    for (const IndexManifestEntry& entry : entries_) {
      if (combiner_ == Combiner::kByBucket && entry.partition == change.partition &&
          entry.bucket == change.bucket) {
        // Java lets the last one win and loses the deletes of the other (spec 03 §5.1).
        return Conflict("{}: bucket {} got index file '{}' meanwhile. Run the statement again",
                        context_, change.bucket, entry.file.file_name);
      }
      if (combiner_ != Combiner::kByBucket && entry.file.file_name == change.file.file_name) {
        return Conflict("{}: index file '{}' is added twice", context_, change.file.file_name);
      }
      if (combiner_ == Combiner::kGlobal && Overlap(entry.file, change.file)) {
        return Conflict("{}: index files '{}' and '{}' cover the same rows of a field", context_,
                        entry.file.file_name, change.file.file_name);
      }
    }
    if (change.file.deletion_vectors) {
      for (const DeletionVectorRange& range : *change.file.deletion_vectors) {
        if (files_with_vector_.contains(range.data_file)) {
          return Conflict(
              "{}: data file '{}' already has a deletion vector. Run the statement again", context_,
              range.data_file);
        }
      }
    }
    NoteVectors(change);
    entries_.push_back(change);
    return arrow::Status::OK();
  }

  std::vector<IndexManifestEntry> Finish() { return std::move(entries_); }

 private:
  void NoteVectors(const IndexManifestEntry& entry) {
    if (!entry.file.deletion_vectors) return;
    for (const DeletionVectorRange& range : *entry.file.deletion_vectors)
      files_with_vector_.insert(range.data_file);
  }

  static bool Overlap(const IndexFileMeta& a, const IndexFileMeta& b) {
    return a.global_index && b.global_index &&
           a.global_index->field_id == b.global_index->field_id &&
           a.global_index->row_range_start <= b.global_index->row_range_end &&
           b.global_index->row_range_start <= a.global_index->row_range_end;
  }

  std::string context_;
  Combiner combiner_;
  std::vector<IndexManifestEntry> entries_;
  std::unordered_set<std::string> files_with_vector_;
};

}  // namespace

arrow::Result<std::vector<IndexManifestEntry>> CombineIndexEntries(
    const std::string& table_name, bool by_bucket, std::vector<IndexManifestEntry> previous,
    const std::vector<IndexManifestEntry>& changes) {
  const std::string context =
      fmt::format("table {}: commit conflicts with what others committed", table_name);
  std::map<std::string, TypeCombiner> by_type;
  auto combiner = [&](const std::string& type) -> TypeCombiner& {
    return by_type.try_emplace(type, context, CombinerOf(type, by_bucket)).first->second;
  };
  for (IndexManifestEntry& entry : previous) {
    const std::string type = entry.file.index_type;
    ARROW_RETURN_NOT_OK(combiner(type).AddPrevious(std::move(entry)));
  }
  for (EntryKind kind : {EntryKind::kDelete, EntryKind::kAdd}) {
    for (const IndexManifestEntry& change : changes) {
      if (change.kind != kind) continue;
      TypeCombiner& of_type = combiner(change.file.index_type);
      ARROW_RETURN_NOT_OK(kind == EntryKind::kDelete ? of_type.Delete(change)
                                                     : of_type.Add(change));
    }
  }
  std::vector<IndexManifestEntry> combined;
  for (auto& [type, of_type] : by_type) {
    for (IndexManifestEntry& entry : of_type.Finish()) combined.push_back(std::move(entry));
  }
  return combined;
}

}  // namespace kelda
