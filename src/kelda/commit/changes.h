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
  arrow::Status Add(ManifestEntry entry);
  std::vector<ManifestEntry> Finish();

 private:
  struct Slot {
    ManifestEntry entry;
    bool live = true;
  };
  std::vector<Slot> slots_;
  std::unordered_map<std::string, size_t> index_;
};

/// Checks C1 to C4 of spec 03 §3.6 for `delta` on top of the live entries `base`. `overwrite`: C1
/// does not apply.
arrow::Status CheckConflicts(const std::string& table_name, const std::vector<ManifestEntry>& base,
                             const std::vector<ManifestEntry>& delta, bool overwrite);

}  // namespace kelda
