#pragma once

#include <vector>

#include "kelda/base/cancellation.h"
#include "kelda/metadata/manifest.h"
#include "kelda/metadata/table_context.h"

namespace kelda {

struct ManifestMergeOptions {
  int64_t target_file_size = 8 << 20;            ///< `manifest.target-file-size`
  int64_t full_compaction_threshold = 16 << 20;  ///< `manifest.full-compaction-threshold-size`
  int64_t merge_min_count = 30;                  ///< `manifest.merge-min-count`
};

/// Rewrite small and DELETE-heavy data manifests of the previous snapshot (spec 03 §3.9): full
/// compaction when enough bytes must change, else a minor merge of neighbours. New files are
/// written through `writer`; untouched ones are returned as they are.
arrow::Result<std::vector<ManifestFileMeta>> MergeManifests(const TableContext& table,
                                                            std::vector<ManifestFileMeta> manifests,
                                                            const ManifestMergeOptions& options,
                                                            ManifestWriter* writer,
                                                            const CancellationToken& token);

}  // namespace kelda
