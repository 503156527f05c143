#pragma once

#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "kelda/metadata/bucket_rule.h"
#include "kelda/types/predicate.h"

namespace kelda {

/// Drops files of fixed buckets that cannot hold a row of the bucket keys asked for (spec 02
/// §10.2): every key is bound by =, IN or IS NULL and there are at most 1000 combinations. Each
/// file's own number of buckets counts. Keeps what it cannot judge. Thread-safe.
///
/// A manifest's range of buckets does not help: it says nothing about the numbers of buckets that
/// its files were written with.
class BucketFilter {
 public:
  /// Null when `predicate` (may be null) binds no bucket of `table`.
  static std::unique_ptr<BucketFilter> Make(const TableContext& table,
                                            const PredicatePtr& predicate);

  arrow::Result<bool> Accepts(const ManifestEntry& entry);

 private:
  /// Combinations of bucket keys that rows of one partition may have, and their buckets by number
  /// of buckets.
  struct Selection {
    bool everything = true;
    arrow::ArrayVector keys;  ///< one column per bucket key
    int64_t combinations = 0;
    std::unordered_map<int32_t, std::unordered_set<int32_t>> buckets;
  };

  BucketFilter(const TableContext& table, BucketRule rule, PredicatePtr predicate);
  Selection Select(const PredicatePtr& predicate) const;
  arrow::Result<Selection*> SelectionOf(const std::string& partition);
  bool SameKeyTypes(int64_t schema_id);

  const TableContext& table_;
  BucketRule rule_;
  PredicatePtr predicate_;
  bool by_partition_ = false;  ///< the predicate names partition columns besides
  std::mutex mutex_;           ///< guards the maps
  std::unordered_map<std::string, Selection> selections_;
  std::unordered_map<int64_t, bool> same_key_types_;
};

}  // namespace kelda
