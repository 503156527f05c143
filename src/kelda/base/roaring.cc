#include "kelda/base/roaring.h"

#include <bit>
#include <new>

#include <roaring/roaring.h>

#include "kelda/base/bytes.h"

namespace kelda {

namespace {

constexpr uint32_t kCookieWithRuns = 12347;
constexpr uint32_t kCookieWithoutRuns = 12346;
constexpr size_t kOffsetsFromContainers = 4;
constexpr uint32_t kArrayMax = 4096;
constexpr size_t kBitsetBytes = 8192;

roaring_bitmap_t* Checked(roaring_bitmap_t* bitmap) {
  if (bitmap == nullptr) throw std::bad_alloc();
  return bitmap;
}

arrow::Status CheckArray(ByteReader* in, uint32_t cardinality) {
  ARROW_ASSIGN_OR_RAISE(auto bytes, in->Bytes(size_t{2} * cardinality));
  for (uint32_t i = 1; i < cardinality; ++i) {
    if (LoadLE<uint16_t>(bytes.data() + 2 * i) <= LoadLE<uint16_t>(bytes.data() + 2 * (i - 1)))
      return in->Error("roaring bitmap: array container is not ascending");
  }
  return arrow::Status::OK();
}

arrow::Status CheckBitset(ByteReader* in, uint32_t cardinality) {
  ARROW_ASSIGN_OR_RAISE(auto bytes, in->Bytes(kBitsetBytes));
  uint32_t bits = 0;
  for (size_t i = 0; i < kBitsetBytes; i += 8)
    bits += static_cast<uint32_t>(std::popcount(LoadLE<uint64_t>(bytes.data() + i)));
  if (bits != cardinality)
    return in->Error("roaring bitmap: bitset container of other cardinality");
  return arrow::Status::OK();
}

arrow::Status CheckRuns(ByteReader* in, uint32_t cardinality) {
  ARROW_ASSIGN_OR_RAISE(uint16_t runs, in->LE<uint16_t>());
  ARROW_ASSIGN_OR_RAISE(auto bytes, in->Bytes(size_t{4} * runs));
  int64_t last_end = -2;
  uint32_t total = 0;
  for (uint32_t i = 0; i < runs; ++i) {
    const int64_t start = LoadLE<uint16_t>(bytes.data() + 4 * i);
    const int64_t end = start + LoadLE<uint16_t>(bytes.data() + 4 * i + 2);
    if (start <= last_end + 1 || end > 0xffff)
      return in->Error("roaring bitmap: run container is not ascending");
    total += static_cast<uint32_t>(end - start + 1);
    last_end = end;
  }
  if (total != cardinality) return in->Error("roaring bitmap: run container of other cardinality");
  return arrow::Status::OK();
}

/// Walk the whole structure (RoaringFormatSpec) and leave the reader behind it.
arrow::Status CheckPortable(ByteReader* in) {
  ARROW_ASSIGN_OR_RAISE(uint32_t cookie, in->LE<uint32_t>());
  uint32_t containers = 0;
  std::string_view run_flags;
  if ((cookie & 0xffff) == kCookieWithRuns) {
    containers = (cookie >> 16) + 1;
    ARROW_ASSIGN_OR_RAISE(run_flags, in->Bytes((containers + 7) / 8));
  } else if (cookie == kCookieWithoutRuns) {
    ARROW_ASSIGN_OR_RAISE(containers, in->LE<uint32_t>());
    if (containers > 65536) return in->Error("roaring bitmap: more than 65536 containers");
  } else {
    return in->Error("not a roaring bitmap");
  }
  ARROW_ASSIGN_OR_RAISE(auto header, in->Bytes(size_t{4} * containers));
  int32_t last_key = -1;
  for (uint32_t i = 0; i < containers; ++i) {
    const int32_t key = LoadLE<uint16_t>(header.data() + 4 * i);
    if (key <= last_key) return in->Error("roaring bitmap: keys are not ascending");
    last_key = key;
  }
  const bool has_offsets = run_flags.empty() || containers >= kOffsetsFromContainers;
  std::string_view offsets;
  if (has_offsets) {
    ARROW_ASSIGN_OR_RAISE(offsets, in->Bytes(size_t{4} * containers));
  }
  for (uint32_t i = 0; i < containers; ++i) {
    if (has_offsets && LoadLE<uint32_t>(offsets.data() + 4 * i) != in->offset())
      return in->Error("roaring bitmap: wrong container offset");
    const uint32_t cardinality = LoadLE<uint16_t>(header.data() + 4 * i + 2) + 1u;
    const bool is_run = !run_flags.empty() && ((run_flags[i / 8] >> (i % 8)) & 1) != 0;
    if (is_run) {
      ARROW_RETURN_NOT_OK(CheckRuns(in, cardinality));
    } else if (cardinality <= kArrayMax) {
      ARROW_RETURN_NOT_OK(CheckArray(in, cardinality));
    } else {
      ARROW_RETURN_NOT_OK(CheckBitset(in, cardinality));
    }
  }
  return arrow::Status::OK();
}

/// A container to be written. The library's choice between forms is not the same in all its
/// versions, so it is made here: runs where they are smaller, as Java writes them.
struct Container {
  uint16_t key;
  uint32_t cardinality;
  size_t last_end;             ///< one past the last value
  std::vector<uint16_t> runs;  ///< start and length - 1 of each

  void Add(uint16_t value) {
    if (cardinality > 0 && value == last_end) {
      ++runs.back();
    } else {
      runs.push_back(value);
      runs.push_back(0);
    }
    last_end = size_t{value} + 1;
    ++cardinality;
  }
  size_t RunBytes() const { return 2 + 2 * runs.size(); }
  size_t PlainBytes() const { return cardinality <= kArrayMax ? 2 * cardinality : kBitsetBytes; }
  bool IsRun() const { return RunBytes() < PlainBytes(); }
  size_t Bytes() const { return IsRun() ? RunBytes() : PlainBytes(); }

  void AppendTo(std::string* out) const {
    const auto append16 = [&](size_t value) {
      out->push_back(static_cast<char>(value & 0xff));
      out->push_back(static_cast<char>((value >> 8) & 0xff));
    };
    if (IsRun()) {
      append16(runs.size() / 2);
      for (uint16_t number : runs) append16(number);
      return;
    }
    std::string bits(cardinality <= kArrayMax ? 0 : kBitsetBytes, '\0');
    for (size_t i = 0; i < runs.size(); i += 2) {
      for (size_t value = runs[i]; value <= size_t{runs[i]} + runs[i + 1]; ++value) {
        if (bits.empty()) {
          append16(value);
        } else {
          bits[value / 8] = static_cast<char>(bits[value / 8] | (1 << (value % 8)));
        }
      }
    }
    *out += bits;
  }
};

}  // namespace

void Roaring::Free::operator()(roaring_bitmap_s* bitmap) const { roaring_bitmap_free(bitmap); }

Roaring::Roaring() : bitmap_(Checked(roaring_bitmap_create())) {}
Roaring::~Roaring() = default;
Roaring::Roaring(Roaring&&) noexcept = default;
Roaring& Roaring::operator=(Roaring&&) noexcept = default;

Roaring Roaring::Clone() const {
  Roaring copy;
  copy.bitmap_.reset(Checked(roaring_bitmap_copy(bitmap_.get())));
  return copy;
}

arrow::Result<Roaring> Roaring::Parse(std::string_view bytes, std::string_view source,
                                      size_t* consumed) {
  ByteReader in(bytes, source);
  ARROW_RETURN_NOT_OK(CheckPortable(&in));
  Roaring parsed;
  auto* bitmap = roaring_bitmap_portable_deserialize_safe(bytes.data(), in.offset());
  if (bitmap == nullptr) return in.Error("roaring bitmap cannot be read");
  parsed.bitmap_.reset(bitmap);
  if (consumed != nullptr) *consumed = in.offset();
  return parsed;
}

void Roaring::Add(uint32_t value) { roaring_bitmap_add(bitmap_.get(), value); }
void Roaring::AddAll(std::span<const uint32_t> values) {
  roaring_bitmap_add_many(bitmap_.get(), values.size(), values.data());
}
void Roaring::AddRange(uint64_t begin, uint64_t end) {
  roaring_bitmap_add_range(bitmap_.get(), begin, end);
}
bool Roaring::Contains(uint32_t value) const {
  return roaring_bitmap_contains(bitmap_.get(), value);
}
uint64_t Roaring::Cardinality() const { return roaring_bitmap_get_cardinality(bitmap_.get()); }
uint64_t Roaring::CountRange(uint64_t begin, uint64_t end) const {
  return begin >= end ? 0 : roaring_bitmap_range_cardinality(bitmap_.get(), begin, end);
}

void Roaring::Or(const Roaring& other) {
  roaring_bitmap_or_inplace(bitmap_.get(), other.bitmap_.get());
}
void Roaring::And(const Roaring& other) {
  roaring_bitmap_and_inplace(bitmap_.get(), other.bitmap_.get());
}
void Roaring::AndNot(const Roaring& other) {
  roaring_bitmap_andnot_inplace(bitmap_.get(), other.bitmap_.get());
}
void Roaring::Flip(uint64_t end) {
  if (end > 0) roaring_bitmap_flip_inplace(bitmap_.get(), 0, end);
}

std::vector<uint32_t> Roaring::Values(uint64_t begin, uint64_t end) const {
  std::vector<uint32_t> values;
  if (begin >= end || begin > UINT32_MAX) return values;
  values.resize(CountRange(begin, end));
  if (values.empty()) return values;
  roaring_uint32_iterator_t it;
  roaring_init_iterator(bitmap_.get(), &it);
  roaring_move_uint32_iterator_equalorlarger(&it, static_cast<uint32_t>(begin));
  const uint32_t read =
      roaring_read_uint32_iterator(&it, values.data(), static_cast<uint32_t>(values.size()));
  values.resize(read);
  return values;
}

RowRanges Roaring::ToRanges() const {
  RowRanges ranges;
  roaring_uint32_iterator_t it;
  roaring_init_iterator(bitmap_.get(), &it);
  uint32_t buffer[1024];
  while (it.has_value) {
    const uint32_t read = roaring_read_uint32_iterator(&it, buffer, 1024);
    for (uint32_t i = 0; i < read; ++i) ranges.Add(buffer[i], int64_t{buffer[i]} + 1);
  }
  return ranges;
}

std::string Roaring::Serialize() {
  std::vector<Container> containers;
  bool any_run = false;
  roaring_uint32_iterator_t it;
  roaring_init_iterator(bitmap_.get(), &it);
  uint32_t buffer[1024];
  while (it.has_value) {
    const uint32_t read = roaring_read_uint32_iterator(&it, buffer, 1024);
    for (uint32_t i = 0; i < read; ++i) {
      const auto key = static_cast<uint16_t>(buffer[i] >> 16);
      if (containers.empty() || containers.back().key != key) containers.push_back({key, 0, 0, {}});
      containers.back().Add(static_cast<uint16_t>(buffer[i]));
    }
  }
  for (const Container& container : containers) any_run = any_run || container.IsRun();
  std::string out;
  const auto append16 = [&](size_t value) {
    out.push_back(static_cast<char>(value & 0xff));
    out.push_back(static_cast<char>(value >> 8));
  };
  const auto append32 = [&](size_t value) {
    append16(value & 0xffff);
    append16(value >> 16);
  };
  if (any_run) {
    append16(kCookieWithRuns);
    append16(containers.size() - 1);
    std::string flags((containers.size() + 7) / 8, '\0');
    for (size_t i = 0; i < containers.size(); ++i) {
      if (containers[i].IsRun()) flags[i / 8] = static_cast<char>(flags[i / 8] | (1 << (i % 8)));
    }
    out += flags;
  } else {
    append32(kCookieWithoutRuns);
    append32(containers.size());
  }
  for (const Container& container : containers) {
    append16(container.key);
    append16(container.cardinality - 1);
  }
  if (!any_run || containers.size() >= kOffsetsFromContainers) {
    size_t offset = out.size() + 4 * containers.size();
    for (const Container& container : containers) {
      append32(offset);
      offset += container.Bytes();
    }
  }
  for (const Container& container : containers) container.AppendTo(&out);
  return out;
}

bool Roaring::operator==(const Roaring& other) const {
  return roaring_bitmap_equals(bitmap_.get(), other.bitmap_.get());
}

}  // namespace kelda
