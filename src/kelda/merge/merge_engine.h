#pragma once

#include <memory>

#include "kelda/merge/group_merger.h"
#include "kelda/merge/merge_rules.h"

namespace kelda {

/// Makes one row of each group of a window (spec 02 §5). Not thread-safe.
class MergeEngine {
 public:
  virtual ~MergeEngine() = default;
  /// Rows of the MergeLayout in key order, their kinds and sequence numbers included; groups that
  /// come to nothing are left out, those that come to a DELETE are not. A group of one row is
  /// returned as it is, whatever the engine.
  virtual arrow::Result<std::shared_ptr<arrow::RecordBatch>> Merge(const MergeWindow& window) = 0;

  /// The engine that `rules` ask for, for rows of `layout`.
  static arrow::Result<std::unique_ptr<MergeEngine>> Make(const MergeRules& rules,
                                                          const MergeLayout& layout,
                                                          const Options& options);
};

/// Row kinds as `_VALUE_KIND` stores them (spec 02 §1.1).
inline constexpr int8_t kInsertKind = 0;
inline constexpr int8_t kUpdateBeforeKind = 1;
inline constexpr int8_t kUpdateAfterKind = 2;
inline constexpr int8_t kDeleteKind = 3;
inline bool IsRetract(int8_t kind) { return kind == kUpdateBeforeKind || kind == kDeleteKind; }

/// partial-update and aggregation.
arrow::Result<std::unique_ptr<MergeEngine>> MakeColumnFold(const MergeRules& rules,
                                                           const MergeLayout& layout,
                                                           const Options& options);

}  // namespace kelda
