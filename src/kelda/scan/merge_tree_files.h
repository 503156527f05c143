#pragma once

#include <memory>
#include <string>
#include <vector>

#include "kelda/merge/merge_rules.h"
#include "kelda/metadata/manifest.h"
#include "kelda/metadata/table_context.h"
#include "kelda/types/predicate.h"

namespace kelda {

/// The rules of a primary-key table. After a rename, options that name columns may not fit an older
/// schema any more: then those of that schema apply (spec 01 §2.7).
arrow::Result<MergeRules> MergeRulesOf(const TableContext& table);
/// Options that MergeRulesOf took: for the engine.
Options MergeOptionsOf(const TableContext& table);

/// Files whose key ranges are connected, as runs of files that follow one another (spec 02 §4.6,
/// IntervalPartition).
struct MergeSection {
  std::vector<std::vector<DataFileMeta>> runs;
};

/// Sections of the files of one bucket in key order. A file whose key range cannot be decoded is an
/// error that names it.
arrow::Result<std::vector<MergeSection>> PartitionIntervals(const TableContext& table,
                                                            std::vector<DataFileMeta> files);

/// Bounds of the trimmed primary key in one file, from its key statistics.
arrow::Result<std::shared_ptr<BoundsSource>> KeyBounds(const TableContext& table,
                                                       const DataFileMeta& file);

}  // namespace kelda
