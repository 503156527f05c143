#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "kelda/base/row_ranges.h"
#include "kelda/base/status.h"

struct roaring_bitmap_s;

namespace kelda {

/// Compressed set of 32-bit numbers over the CRoaring library, in the portable serialized form that
/// Java's RoaringBitmap shares. Movable. Not thread-safe for writes; const calls may run at once.
class Roaring {
 public:
  Roaring();
  ~Roaring();
  Roaring(Roaring&&) noexcept;
  Roaring& operator=(Roaring&&) noexcept;
  Roaring Clone() const;

  /// Parse the portable form at the start of hostile `bytes`; `consumed` (may be null) gets its
  /// length. The structure is checked whole (keys and values ascending, counts right, offsets
  /// right): the library itself trusts it.
  static arrow::Result<Roaring> Parse(std::string_view bytes, std::string_view source,
                                      size_t* consumed = nullptr);

  void Add(uint32_t value);
  /// Fast for ascending values.
  void AddAll(std::span<const uint32_t> values);
  /// Add [begin, end), end <= 2^32.
  void AddRange(uint64_t begin, uint64_t end);
  bool Contains(uint32_t value) const;
  uint64_t Cardinality() const;
  /// Members in [begin, end).
  uint64_t CountRange(uint64_t begin, uint64_t end) const;
  bool empty() const { return Cardinality() == 0; }

  void Or(const Roaring& other);
  void And(const Roaring& other);
  void AndNot(const Roaring& other);
  /// Turn to the complement within [0, end).
  void Flip(uint64_t end);

  /// Members in [begin, end), ascending.
  std::vector<uint32_t> Values(uint64_t begin, uint64_t end) const;
  std::vector<uint32_t> Values() const { return Values(0, uint64_t{1} << 32); }
  RowRanges ToRanges() const;

  /// Portable bytes after turning containers into runs where that is smaller, as Java writes them.
  std::string Serialize();
  bool operator==(const Roaring& other) const;

 private:
  struct Free {
    void operator()(roaring_bitmap_s* bitmap) const;
  };
  std::unique_ptr<roaring_bitmap_s, Free> bitmap_;
};

}  // namespace kelda
