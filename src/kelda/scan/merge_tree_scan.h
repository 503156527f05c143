#pragma once

#include <memory>
#include <vector>

#include "kelda/scan/merge_tree_files.h"
#include "kelda/scan/plan.h"

namespace kelda {

/// What is particular to planning a batch read of a primary-key table (spec 02 §10.2, §10.3).
/// Immutable; thread-safe.
class MergeTreeScan {
 public:
  /// Null when the table has no primary key. `predicate`: what is left beside partition conjuncts;
  /// may be null.
  static arrow::Result<std::unique_ptr<MergeTreeScan>> Make(const TableContext& table,
                                                            const PredicatePtr& predicate,
                                                            bool read_optimized);

  /// False: levels that are not read, files of the postpone bucket, files without a key asked for;
  /// where every key is seen once also files without a matching value.
  arrow::Result<bool> Accepts(const ManifestEntry& entry) const;
  /// True when a batch read sees every key at most once, so that files may be judged one by one.
  bool EachKeyOnce() const { return rules_.SkipsLevel0() || only_level_; }

  /// Splits of one bucket, made after `proto`.
  arrow::Status MakeSplits(std::vector<DataFileMeta> files, const Split& proto,
                           int64_t target_bytes, int64_t open_cost_bytes,
                           std::vector<Split>* splits) const;

 private:
  MergeTreeScan(const TableContext& table, MergeRules rules, PredicatePtr key_predicate,
                PredicatePtr value_predicate, std::optional<int32_t> only_level)
      : table_(table),
        rules_(std::move(rules)),
        key_predicate_(std::move(key_predicate)),
        value_predicate_(std::move(value_predicate)),
        only_level_(only_level) {}

  arrow::Result<bool> ValueMayMatch(const DataFileMeta& file) const;

  const TableContext& table_;
  const MergeRules rules_;
  const PredicatePtr key_predicate_;    ///< conjuncts on trimmed key columns
  const PredicatePtr value_predicate_;  ///< the others
  const std::optional<int32_t> only_level_;
};

}  // namespace kelda
