#pragma once

#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "kelda/base/roaring.h"
#include "kelda/base/row_ranges.h"
#include "kelda/base/status.h"

namespace kelda {

/// Positions of the deleted rows of one data file (spec 01 §7.1, BitmapDeletionVector and
/// Bitmap64DeletionVector). Const calls may run at once.
class DeletionVector {
 public:
  enum class Encoding { kBitmap32, kBitmap64 };

  bool IsDeleted(int64_t position) const;
  int64_t Cardinality() const;
  bool empty() const { return bitmaps_.empty(); }
  int64_t CountDeleted(int64_t begin, int64_t end) const;
  /// Deleted positions in [begin, end), ascending, relative to `begin`.
  std::vector<int64_t> DeletedIn(int64_t begin, int64_t end) const;
  /// Positions below `row_count` that are left.
  RowRanges LiveRows(int64_t row_count) const;
  /// Highest deleted position; -1 when empty.
  int64_t MaxPosition() const;

  /// REQUIRES: 0 <= position.
  void Delete(int64_t position);
  void Merge(const DeletionVector& other);
  DeletionVector Clone() const;
  bool operator==(const DeletionVector& other) const = default;

  /// The record of the index file: size, magic, bitmap, checksum. `manifest_length`: what the index
  /// manifest says as its length.
  arrow::Result<std::string> SerializeRecord(Encoding encoding, int32_t* manifest_length) const;
  /// Parse a record that starts at the first byte of hostile `bytes`; `manifest_length` is compared
  /// when known. The checksum is verified. `consumed` (may be null): bytes of the record.
  static arrow::Result<DeletionVector> ParseRecord(std::string_view bytes,
                                                   std::optional<int64_t> manifest_length,
                                                   std::string_view source,
                                                   size_t* consumed = nullptr);

 private:
  std::map<uint32_t, Roaring> bitmaps_;  ///< by the high 32 bits; none is empty
};

}  // namespace kelda
