#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include <arrow/record_batch.h>

#include "kelda/types/data_type.h"

namespace kelda {

/// A column to sort by.
struct SortColumn {
  int index = 0;  ///< of the batch
  DataType type;
  bool descending = false;  ///< NULLs stay first (spec 02 §1.5)
};

/// Rows of a batch as byte strings that compare, byte by byte and unsigned, as Paimon orders the
/// columns (spec 01 §5.8): NULLs first, texts and bytes by unsigned bytes, the rest by value. No
/// string is a prefix of another one.
///
/// FLOAT and DOUBLE are ordered totally: -0.0 before 0.0, NaN last and equal to itself. Java's
/// comparator takes NaN for equal to everything and loses such keys.
///
/// Immutable; owns its bytes.
class NormalizedKeys {
 public:
  /// The first `key_columns` of `columns` are the key; the others only order rows of one key.
  static arrow::Result<NormalizedKeys> Encode(const arrow::RecordBatch& batch,
                                              const std::vector<SortColumn>& columns,
                                              size_t key_columns);

  int64_t size() const { return static_cast<int64_t>(key_ends_.size()); }
  /// Key and order columns.
  std::string_view Whole(int64_t row) const {
    return std::string_view(bytes_).substr(starts_[row], starts_[row + 1] - starts_[row]);
  }
  std::string_view Key(int64_t row) const {
    return std::string_view(bytes_).substr(starts_[row], key_ends_[row] - starts_[row]);
  }
  int64_t ByteSize() const {
    return static_cast<int64_t>(bytes_.capacity() + starts_.capacity() * sizeof(size_t) +
                                key_ends_.capacity() * sizeof(size_t));
  }

 private:
  std::string bytes_;
  std::vector<size_t> starts_;    // one more than rows
  std::vector<size_t> key_ends_;  // one per row
};

}  // namespace kelda
