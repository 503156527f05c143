#include "kelda/index/deletion_vector.h"

#include <zlib.h>

#include "kelda/base/bytes.h"

namespace kelda {

namespace {

constexpr uint32_t kMagic32 = 1581511376;  // big-endian in the file
constexpr uint32_t kMagic64 = 1681511377;  // little-endian in the file

constexpr uint32_t High(int64_t position) { return static_cast<uint32_t>(position >> 32); }
constexpr uint32_t Low(int64_t position) { return static_cast<uint32_t>(position); }

uint32_t Crc(std::string_view bytes) {
  return static_cast<uint32_t>(
      ::crc32_z(0, reinterpret_cast<const Bytef*>(bytes.data()), bytes.size()));
}

/// Calls f(high, begin, end of the low part) for each bitmap that [begin, end) touches.
template <typename Function>
void ForEachPart(const std::map<uint32_t, Roaring>& bitmaps, int64_t begin, int64_t end,
                 Function&& f) {
  if (begin >= end) return;
  for (auto it = bitmaps.lower_bound(High(begin));
       it != bitmaps.end() && (int64_t{it->first} << 32) < end; ++it) {
    const int64_t base = int64_t{it->first} << 32;
    const uint64_t from = static_cast<uint64_t>(std::max<int64_t>(begin - base, 0));
    const uint64_t to = static_cast<uint64_t>(std::min<int64_t>(end - base, int64_t{1} << 32));
    f(base, it->second, from, to);
  }
}

}  // namespace

bool DeletionVector::IsDeleted(int64_t position) const {
  const auto it = bitmaps_.find(High(position));
  return it != bitmaps_.end() && it->second.Contains(Low(position));
}

int64_t DeletionVector::Cardinality() const {
  uint64_t rows = 0;
  for (const auto& [high, bitmap] : bitmaps_) rows += bitmap.Cardinality();
  return static_cast<int64_t>(rows);
}

int64_t DeletionVector::CountDeleted(int64_t begin, int64_t end) const {
  int64_t rows = 0;
  ForEachPart(bitmaps_, begin, end,
              [&](int64_t, const Roaring& bitmap, uint64_t from, uint64_t to) {
                rows += static_cast<int64_t>(bitmap.CountRange(from, to));
              });
  return rows;
}

std::vector<int64_t> DeletionVector::DeletedIn(int64_t begin, int64_t end) const {
  std::vector<int64_t> positions;
  ForEachPart(bitmaps_, begin, end,
              [&](int64_t base, const Roaring& bitmap, uint64_t from, uint64_t to) {
                for (uint32_t low : bitmap.Values(from, to))
                  positions.push_back(base + low - begin);
              });
  return positions;
}

RowRanges DeletionVector::LiveRows(int64_t row_count) const {
  RowRanges live;
  int64_t next = 0;
  for (const auto& [high, bitmap] : bitmaps_) {
    const int64_t base = int64_t{high} << 32;
    const RowRanges gone = bitmap.ToRanges();
    for (const RowRanges::Range& deleted : gone.ranges()) {
      if (base + deleted.begin >= row_count) break;
      live.Add(next, base + deleted.begin);
      next = base + deleted.end;
    }
  }
  live.Add(next, row_count);
  return live;
}

int64_t DeletionVector::MaxPosition() const {
  if (bitmaps_.empty()) return -1;
  const auto& [high, bitmap] = *bitmaps_.rbegin();
  return (int64_t{high} << 32) + bitmap.ToRanges().ranges().back().end - 1;
}

void DeletionVector::Delete(int64_t position) { bitmaps_[High(position)].Add(Low(position)); }

void DeletionVector::Merge(const DeletionVector& other) {
  for (const auto& [high, bitmap] : other.bitmaps_) bitmaps_[high].Or(bitmap);
}

DeletionVector DeletionVector::Clone() const {
  DeletionVector copy;
  for (const auto& [high, bitmap] : bitmaps_) copy.bitmaps_.emplace(high, bitmap.Clone());
  return copy;
}

arrow::Result<std::string> DeletionVector::SerializeRecord(Encoding encoding,
                                                           int32_t* manifest_length) const {
  std::string payload(4, '\0');
  if (encoding == Encoding::kBitmap32) {
    if (!bitmaps_.empty() && bitmaps_.rbegin()->first > 0) {
      return Invalid(
          "a deletion vector with position {} does not fit 32 bits; set deletion-vectors.bitmap64",
          MaxPosition());
    }
    StoreBE32(payload.data(), kMagic32);
    payload +=
        bitmaps_.empty() ? Roaring().Serialize() : bitmaps_.begin()->second.Clone().Serialize();
  } else {
    StoreLE(payload.data(), kMagic64);
    // Gaps below the highest key are stored as empty bitmaps.
    const int64_t count = bitmaps_.empty() ? 0 : int64_t{bitmaps_.rbegin()->first} + 1;
    char number[8];
    StoreLE(number, count);
    payload.append(number, 8);
    for (int64_t key = 0; key < count; ++key) {
      StoreLE(number, static_cast<uint32_t>(key));
      payload.append(number, 4);
      const auto it = bitmaps_.find(static_cast<uint32_t>(key));
      payload += it == bitmaps_.end() ? Roaring().Serialize() : it->second.Clone().Serialize();
    }
  }
  if (payload.size() > INT32_MAX - 8) {
    return Invalid("a deletion vector of {} bytes is too large to be stored", payload.size());
  }
  std::string record(4, '\0');
  StoreBE32(record.data(), static_cast<uint32_t>(payload.size()));
  record += payload;
  char crc[4];
  StoreBE32(crc, Crc(payload));
  record.append(crc, 4);
  *manifest_length =
      static_cast<int32_t>(encoding == Encoding::kBitmap32 ? payload.size() : record.size());
  return record;
}

arrow::Result<DeletionVector> DeletionVector::ParseRecord(std::string_view bytes,
                                                          std::optional<int64_t> manifest_length,
                                                          std::string_view source,
                                                          size_t* consumed) {
  ByteReader in(bytes, source);
  ARROW_ASSIGN_OR_RAISE(int32_t size, in.BE32());
  if (size < 4) return in.Error(fmt::format("deletion vector of {} bytes", size));
  ARROW_ASSIGN_OR_RAISE(std::string_view payload, in.Bytes(static_cast<size_t>(size)));
  ARROW_ASSIGN_OR_RAISE(int32_t stored_crc, in.BE32());
  if (static_cast<uint32_t>(stored_crc) != Crc(payload)) {
    return in.Error("deletion vector: checksum does not match");
  }
  if (consumed != nullptr) *consumed = in.offset();
  const bool is32 = LoadBE32(payload.data()) == kMagic32;
  if (!is32 && LoadLE<uint32_t>(payload.data()) != kMagic64) {
    return in.Error("deletion vector: unknown magic number");
  }
  if (manifest_length && *manifest_length != (is32 ? int64_t{size} : int64_t{size} + 8)) {
    return in.Error(fmt::format("deletion vector of {} bytes, the index manifest says {}", size,
                                *manifest_length));
  }
  DeletionVector vector;
  std::string_view rest = payload.substr(4);
  if (is32) {
    size_t used = 0;
    ARROW_ASSIGN_OR_RAISE(Roaring bitmap, Roaring::Parse(rest, source, &used));
    if (used != rest.size()) return in.Error("deletion vector: bytes after the bitmap");
    if (!bitmap.empty()) vector.bitmaps_.emplace(0, std::move(bitmap));
    return vector;
  }
  ByteReader body(rest, source);
  ARROW_ASSIGN_OR_RAISE(int64_t count, body.LE<int64_t>());
  if (count < 0) return body.Error("deletion vector: negative number of bitmaps");
  int64_t last_key = -1;
  for (int64_t i = 0; i < count; ++i) {
    ARROW_ASSIGN_OR_RAISE(int32_t key, body.LE<int32_t>());
    if (key <= last_key) return body.Error("deletion vector: keys of bitmaps are not ascending");
    last_key = key;
    size_t used = 0;
    ARROW_ASSIGN_OR_RAISE(Roaring bitmap,
                          Roaring::Parse(rest.substr(body.offset()), source, &used));
    ARROW_RETURN_NOT_OK(body.Skip(used));
    if (!bitmap.empty()) vector.bitmaps_.emplace(static_cast<uint32_t>(key), std::move(bitmap));
  }
  if (!body.at_end()) return body.Error("deletion vector: bytes after the bitmaps");
  return vector;
}

}  // namespace kelda
