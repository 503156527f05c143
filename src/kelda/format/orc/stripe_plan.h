#pragma once

#include <map>
#include <memory>
#include <vector>

#include "kelda/base/row_ranges.h"
#include "kelda/format/orc/column_reader.h"
#include "kelda/format/orc/orc_file.h"
#include "kelda/format/orc/orc_pruning.h"

namespace kelda {

/// Row groups [first, last) of a stripe, whose rows are [first_row, last_row) of it.
struct OrcGroupRange {
  size_t first = 0;
  size_t last = 0;
  int64_t first_row = 0;
  int64_t last_row = 0;
};

/// What is read of one stripe.
struct OrcStripePlan {
  size_t stripe = 0;
  int64_t first_row = 0;  ///< position in the file
  int64_t rows = 0;
  bool whole = true;
  std::vector<OrcGroupRange> ranges;  ///< ascending; one that holds all rows when whole
  OrcStripeFooter footer;
};

/// Row index streams of `columns`, decoded.
arrow::Result<OrcRowIndexes> ReadRowIndexes(OrcFile* file, const OrcStripePlan& plan,
                                            const std::vector<uint32_t>& columns);

/// Choose the row groups of a stripe by row index and by `wanted`; gives back none when nothing is
/// to be read.
arrow::Status ChooseRowGroups(OrcFile* file, const OrcPruning& pruning, const RowRanges* wanted,
                              OrcStripePlan* plan);

/// Fetch the streams of `columns` as far as the plan needs them. `indexes` may be empty when the
/// whole stripe is read.
arrow::Result<std::map<size_t, std::vector<OrcPiece>>> FetchStreams(
    OrcFile* file, const OrcStripePlan& plan, const std::vector<uint32_t>& columns,
    const OrcRowIndexes& indexes);

/// Bytes that FetchStreams would ask for at most.
int64_t StreamBytes(const OrcStripePlan& plan, const std::vector<uint32_t>& columns);

}  // namespace kelda
