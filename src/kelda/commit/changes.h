#pragma once

#include <string>
#include <unordered_map>
#include <vector>

#include "kelda/metadata/commit_message.h"
#include "kelda/metadata/manifest.h"

namespace kelda {

/// Manifest entries of one committable, in the order of spec 03 §3.2: a DELETE of a path precedes
/// an ADD of the same path.
struct CommitChanges {
  std::vector<ManifestEntry> append;
  std::vector<ManifestEntry> compact;
  std::vector<IndexManifestEntry> append_index;
  std::vector<IndexManifestEntry> compact_index;
};
CommitChanges CollectChanges(const Committable& committable, int32_t default_total_buckets);

/// Sum of rows of ADD entries minus those of DELETE entries.
int64_t DeltaRecordCount(const std::vector<ManifestEntry>& entries);

/// Entries merged in order (spec 03 §3.6, FileEntry.mergeEntries): an ADD of a present identity is
/// an error, a DELETE of a present one removes both, a DELETE of an absent one stays as dangling.
/// Order of first appearance is kept.
class EntryMerger {
 public:
  /// kConflict on a second ADD of one identity or an ADD after a dangling DELETE of it.
  /// `identity_suffix` sets entries of one file apart.
  arrow::Status Add(ManifestEntry entry, std::string_view identity_suffix = {});
  std::vector<ManifestEntry> Finish();

 private:
  struct Slot {
    ManifestEntry entry;
    bool live = true;
  };
  std::vector<Slot> slots_;
  std::unordered_map<std::string, size_t> index_;
};

/// What a commit is checked against (spec 03 §3.6).
struct ConflictCheck {
  std::string table_name;
  bool overwrite = false;  ///< C1 does not apply
  /// Deletion vectors of a table without buckets: identities of files are extended by the index
  /// file that holds their vector (spec 03 §5.2), so that a vector that changed meanwhile is seen.
  bool vectors_by_file = false;
  /// Data evolution: files of overlapping row ids must cover the same ones (C6).
  bool row_id_ranges = false;
};

/// Checks C0 to C4 and C6 for `delta` on top of the live entries `base`, and `delta_index` on top
/// of `base_index`.
arrow::Status CheckConflicts(const ConflictCheck& check, const std::vector<ManifestEntry>& base,
                             const std::vector<IndexManifestEntry>& base_index,
                             const std::vector<ManifestEntry>& delta,
                             const std::vector<IndexManifestEntry>& delta_index);

/// The complete list of index files after `changes` on top of `previous` (spec 03 §3.10). A change
/// that does not fit is kConflict. `by_bucket`: the table has fixed buckets, each with one file of
/// deletion vectors.
arrow::Result<std::vector<IndexManifestEntry>> CombineIndexEntries(
    const std::string& table_name, bool by_bucket, std::vector<IndexManifestEntry> previous,
    const std::vector<IndexManifestEntry>& changes);

/// Give new files of a row-tracking table their sequence numbers and row ids (spec 03 §3.8);
/// returns the next free row id. Ids depend on the latest snapshot, so this runs on every attempt.
arrow::Result<int64_t> AssignRowIds(const std::string& table_name, int64_t snapshot_id,
                                    int64_t next_row_id, std::vector<ManifestEntry>* delta);

}  // namespace kelda
