#pragma once

#include <functional>
#include <string>
#include <unordered_set>
#include <vector>

#include "kelda/base/cancellation.h"
#include "kelda/metadata/snapshot.h"
#include "kelda/metadata/table_context.h"

namespace kelda {

/// Lines of the base and the delta manifest list of a snapshot, in this order.
arrow::Result<std::vector<ManifestFileMeta>> ReadDataManifests(const ManifestReader& reader,
                                                               const Snapshot& snapshot);

/// Streams live entries (ADD minus DELETE, spec 03 §3.6) of manifests. Memory: the identities of
/// the DELETE entries; a snapshot whose manifests were merged has few.
class LiveEntries {
 public:
  /// `manifests`: all that may hold an entry of the partitions wanted.
  static arrow::Result<LiveEntries> Open(const TableContext& table,
                                         std::vector<ManifestFileMeta> manifests,
                                         ManifestReader::EntryOptions options,
                                         CancellationToken token);

  int64_t manifest_count() const { return static_cast<int64_t>(manifests_.size()); }
  /// Entries of manifests [begin, end) to `sink(manifest index, entry)`, which runs on several
  /// threads but only once at a time per manifest.
  arrow::Status ForEach(int64_t begin, int64_t end,
                        const std::function<arrow::Status(int64_t, ManifestEntry&&)>& sink) const;
  arrow::Status ForEach(const std::function<arrow::Status(int64_t, ManifestEntry&&)>& sink) const {
    return ForEach(0, manifest_count(), sink);
  }

 private:
  LiveEntries(const TableContext& table, std::vector<ManifestFileMeta> manifests,
              ManifestReader::EntryOptions options, CancellationToken token);

  const TableContext* table_;
  ManifestReader reader_;
  std::vector<ManifestFileMeta> manifests_;
  ManifestReader::EntryOptions options_;
  CancellationToken token_;
  std::unordered_set<std::string> deletes_;
};

}  // namespace kelda
