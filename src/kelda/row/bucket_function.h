#pragma once

#include <string_view>
#include <vector>

#include <arrow/array.h>

#include "kelda/types/data_type.h"

namespace kelda {

/// Bucket numbers of many rows, column by column (spec 02 §2.2). Immutable; thread-safe.
class BucketFunction {
 public:
  /// `type`: a value of `bucket-function.type`. Invalid for 'mod' on anything but one INT or BIGINT
  /// column.
  static arrow::Result<BucketFunction> Make(std::string_view type, std::vector<DataType> key_types);

  /// `keys`: the bucket key columns in key order, each of `rows` values. REQUIRES: bucket_count >
  /// 0.
  arrow::Result<std::vector<int32_t>> Buckets(const arrow::ArrayVector& keys, int64_t rows,
                                              int32_t bucket_count) const;

 private:
  enum class Kind { kDefault, kMod, kHive };

  Kind kind_ = Kind::kDefault;
  std::vector<DataType> types_;
};

}  // namespace kelda
