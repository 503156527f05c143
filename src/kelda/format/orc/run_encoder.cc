#include "kelda/format/orc/run_encoder.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cstring>

#include "kelda/format/orc/bit_unpack.h"

namespace kelda {
namespace {

constexpr int64_t kRunMax = 512;
/// Numbers of one step that are worth a run of their own.
constexpr int64_t kFixedRunMin = 10;
constexpr int64_t kShortRepeatMax = 10;
constexpr int64_t kShortRepeatMin = 3;
constexpr int64_t kPatchesMax = 31;
constexpr int kGapBitsMax = 8;

uint64_t Zigzag(int64_t value) {
  return (static_cast<uint64_t>(value) << 1) ^ static_cast<uint64_t>(value >> 63);
}

int BitsOf(uint64_t value) { return 64 - std::countl_zero(value); }

/// Widths that are read fast, as Java chooses them.
int AlignedWidth(int bits) {
  for (int width : {1, 2, 4, 8, 16, 24, 32, 40, 48, 56}) {
    if (bits <= width) return width;
  }
  return 64;
}

/// The next width that the format knows.
int FixedWidth(int bits) {
  if (bits <= 24) return std::max(bits, 1);
  for (int width : {26, 28, 30, 32, 40, 48, 56}) {
    if (bits <= width) return width;
  }
  return 64;
}

int CodeOf(int width) {
  if (width <= 24) return width - 1;
  if (width <= 32) return 24 + (width - 26) / 2;
  return 28 + (width - 40) / 8;
}

/// One run on its way out.
class RunBytes {
 public:
  void Byte(uint64_t value) { bytes_[size_++] = static_cast<uint8_t>(value); }
  void Header(int kind, int code, int64_t n) {
    Byte(static_cast<uint64_t>(kind << 6 | code << 1) | static_cast<uint64_t>(n - 1) >> 8);
    Byte(static_cast<uint64_t>(n - 1) & 0xff);
  }
  void BigEndian(uint64_t value, int bytes) {
    for (int i = bytes - 1; i >= 0; --i) Byte(value >> (8 * i));
  }
  void Varint(uint64_t value) {
    for (; value >= 0x80; value >>= 7) Byte(value | 0x80);
    Byte(value);
  }
  void Pack(const uint64_t* values, int width, int64_t n) {
    PackBits(values, width, n, bytes_.data() + size_);
    size_ += static_cast<size_t>((n * width + 7) / 8);
  }
  arrow::Status WriteTo(OutStream* out) const { return out->Append(bytes_.data(), size_); }

 private:
  std::array<uint8_t, 4 + 20 + 512 * 8 + 32 * 8 + kUnpackSlack> bytes_;
  size_t size_ = 0;
};

/// What decides on the form of a run without a fixed step.
struct Shape {
  int64_t min = 0;
  int64_t max = 0;
  bool range_fits = false;  ///< max - min is below 2^63
  bool rising = true;
  bool falling = true;
  uint64_t step_bits = 0;    ///< of all steps behind the first, or-ed
  uint64_t direct_bits = 0;  ///< of the numbers as they are stored directly, or-ed
};

Shape ShapeOf(const int64_t* values, int64_t n, bool is_signed) {
  Shape shape;
  shape.min = shape.max = values[0];
  for (int64_t i = 0; i < n; ++i) {
    shape.min = std::min(shape.min, values[i]);
    shape.max = std::max(shape.max, values[i]);
    shape.direct_bits |= is_signed ? Zigzag(values[i]) : static_cast<uint64_t>(values[i]);
  }
  for (int64_t i = 1; i < n; ++i) {
    shape.rising &= values[i] >= values[i - 1];
    shape.falling &= values[i] <= values[i - 1];
  }
  int64_t range = 0;
  shape.range_fits = !__builtin_sub_overflow(shape.max, shape.min, &range);
  if (shape.range_fits && (shape.rising || shape.falling)) {
    for (int64_t i = 2; i < n; ++i) {
      const int64_t step = values[i] - values[i - 1];
      shape.step_bits |= static_cast<uint64_t>(step < 0 ? -step : step);
    }
  }
  return shape;
}

class IntEncoder {
 public:
  IntEncoder(bool is_signed, OutStream* out) : signed_(is_signed), out_(out) {}

  arrow::Status Encode(const int64_t* values, int64_t n) {
    int64_t first = 0;
    while (first < n) {
      int64_t fixed = first;
      const int64_t end = std::min(n, first + kRunMax);
      fixed = FindFixedRun(values, first, end);
      if (fixed > first) ARROW_RETURN_NOT_OK(Mixed(values + first, fixed - first));
      first = fixed;
      if (first == n || fixed == end) continue;
      int64_t last = first + 1;
      const uint64_t step = Step(values, last);
      while (last < n && last - first < kRunMax && Step(values, last) == step) ++last;
      ARROW_RETURN_NOT_OK(Fixed(values + first, last - first));
      first = last;
    }
    return arrow::Status::OK();
  }

 private:
  static uint64_t Step(const int64_t* values, int64_t i) {
    return static_cast<uint64_t>(values[i]) - static_cast<uint64_t>(values[i - 1]);
  }

  /// Start of the first run of kFixedRunMin numbers with one step in [first, end); else end.
  static int64_t FindFixedRun(const int64_t* values, int64_t first, int64_t end) {
    if (end - first < kFixedRunMin) {
      const bool equal = std::all_of(values + first, values + end,
                                     [&](int64_t value) { return value == values[first]; });
      return equal && end - first >= kShortRepeatMin ? first : end;
    }
    uint64_t step = Step(values, first + 1);
    int64_t start = first;
    for (int64_t i = first + 2; i < end; ++i) {
      const uint64_t next = Step(values, i);
      if (next != step) {
        step = next;
        start = i - 1;
      } else if (i - start + 1 >= kFixedRunMin) {
        int64_t exact = 0;
        if (!__builtin_sub_overflow(values[start + 1], values[start], &exact)) return start;
      }
    }
    return end;
  }

  uint64_t Stored(int64_t value) const {
    return signed_ ? Zigzag(value) : static_cast<uint64_t>(value);
  }

  arrow::Status Fixed(const int64_t* values, int64_t n) {
    RunBytes run;
    if (n <= kShortRepeatMax && values[0] == values[n - 1] && n >= kShortRepeatMin) {
      const uint64_t value = Stored(values[0]);
      const int bytes = std::max(1, (BitsOf(value) + 7) / 8);
      run.Byte(static_cast<uint64_t>((bytes - 1) << 3) | static_cast<uint64_t>(n - 3));
      run.BigEndian(value, bytes);
      return run.WriteTo(out_);
    }
    run.Header(3, 0, n);
    run.Varint(Stored(values[0]));
    run.Varint(Zigzag(n > 1 ? values[1] - values[0] : 0));
    return run.WriteTo(out_);
  }

  arrow::Status Mixed(const int64_t* values, int64_t n) {
    const Shape shape = ShapeOf(values, n, signed_);
    const int width = AlignedWidth(BitsOf(shape.direct_bits));
    const bool monotonic =
        n > 2 && shape.range_fits && (shape.rising || (shape.falling && values[1] < values[0]));
    if (monotonic) {
      // A width of one would mean a fixed step.
      const int step_width = std::max(2, AlignedWidth(BitsOf(shape.step_bits)));
      if (step_width < width) return Delta(values, n, step_width);
    }
    if (shape.range_fits && width > 8 && n > 32 && Patched(values, n, shape, width)) {
      return patched_.WriteTo(out_);
    }
    return Direct(values, n, width);
  }

  arrow::Status Direct(const int64_t* values, int64_t n, int width) {
    uint64_t stored[kRunMax];
    for (int64_t i = 0; i < n; ++i) stored[i] = Stored(values[i]);
    RunBytes run;
    run.Header(1, CodeOf(width), n);
    run.Pack(stored, width, n);
    return run.WriteTo(out_);
  }

  arrow::Status Delta(const int64_t* values, int64_t n, int width) {
    uint64_t steps[kRunMax];
    for (int64_t i = 2; i < n; ++i) {
      const int64_t step = values[i] - values[i - 1];
      steps[i - 2] = static_cast<uint64_t>(step < 0 ? -step : step);
    }
    RunBytes run;
    run.Header(3, CodeOf(width), n);
    run.Varint(Stored(values[0]));
    run.Varint(Zigzag(values[1] - values[0]));
    run.Pack(steps, width, n - 2);
    return run.WriteTo(out_);
  }

  /// Few numbers that are much larger than the others, as patches upon narrow ones. False when that
  /// would not pay.
  bool Patched(const int64_t* values, int64_t n, const Shape& shape, int direct_width) {
    int64_t count_of_bits[65] = {};
    const auto base = static_cast<uint64_t>(shape.min);
    for (int64_t i = 0; i < n; ++i)
      ++count_of_bits[BitsOf(static_cast<uint64_t>(values[i]) - base)];
    const int all_bits = BitsOf(static_cast<uint64_t>(shape.max) - base);
    int64_t outliers = 0;
    int bits = all_bits;
    while (bits > 1 && outliers + count_of_bits[bits] <= std::min(n / 20, kPatchesMax - 2)) {
      outliers += count_of_bits[bits--];
    }
    if (outliers == 0) return false;
    const int width = FixedWidth(bits);
    const int patch_width = FixedWidth(all_bits - width);
    if (all_bits <= width || width * 4 > direct_width * 3) return false;
    return WritePatched(values, n, shape.min, width, patch_width);
  }

  bool WritePatched(const int64_t* values, int64_t n, int64_t min, int width, int patch_width) {
    uint64_t low[kRunMax];
    uint64_t gaps[32];
    uint64_t patches[32];
    int64_t count = 0;
    int64_t last = 0;
    uint64_t gap_max = 0;
    const uint64_t mask = (uint64_t{1} << width) - 1;
    for (int64_t i = 0; i < n; ++i) {
      const uint64_t value = static_cast<uint64_t>(values[i]) - static_cast<uint64_t>(min);
      low[i] = value & mask;
      if (value == low[i]) continue;
      for (; i - last > 255; last += 255) {
        if (count == kPatchesMax) return false;
        gaps[count] = 255;
        patches[count++] = 0;
        gap_max = 255;
      }
      if (count == kPatchesMax) return false;
      gaps[count] = static_cast<uint64_t>(i - last);
      gap_max = std::max(gap_max, gaps[count]);
      patches[count++] = value >> width;
      last = i;
    }
    const int gap_width = std::max(1, BitsOf(gap_max));
    const uint64_t magnitude =
        min < 0 ? ~static_cast<uint64_t>(min) + 1 : static_cast<uint64_t>(min);
    const int base_bytes = BitsOf(magnitude) / 8 + 1;  // with a bit for the sign
    if (gap_width > kGapBitsMax || patch_width + gap_width > 64 || base_bytes > 8 || count == 0) {
      return false;
    }
    patched_ = {};
    patched_.Header(2, CodeOf(width), n);
    patched_.Byte(static_cast<uint64_t>((base_bytes - 1) << 5 | CodeOf(patch_width)));
    patched_.Byte(static_cast<uint64_t>(gap_width - 1) << 5 | static_cast<uint64_t>(count));
    patched_.BigEndian(magnitude | (min < 0 ? uint64_t{1} << (base_bytes * 8 - 1) : 0), base_bytes);
    patched_.Pack(low, width, n);
    for (int64_t i = 0; i < count; ++i) patches[i] |= gaps[i] << patch_width;
    patched_.Pack(patches, FixedWidth(patch_width + gap_width), count);
    return true;
  }

  const bool signed_;
  OutStream* const out_;
  RunBytes patched_;
};

}  // namespace

arrow::Status EncodeInts(const int64_t* values, int64_t n, bool is_signed, OutStream* out) {
  return IntEncoder(is_signed, out).Encode(values, n);
}

arrow::Status EncodeBytes(const uint8_t* bytes, int64_t n, OutStream* out) {
  constexpr int64_t kRepeatMin = 3;
  constexpr int64_t kRepeatMax = 130;
  constexpr int64_t kLiteralsMax = 128;
  const auto repeats = [&](int64_t at) {
    int64_t end = at + 1;
    while (end < n && end - at < kRepeatMax && bytes[end] == bytes[at]) ++end;
    return end - at;
  };
  int64_t first = 0;
  while (first < n) {
    if (const int64_t same = repeats(first); same >= kRepeatMin) {
      const uint8_t run[2] = {static_cast<uint8_t>(same - kRepeatMin), bytes[first]};
      ARROW_RETURN_NOT_OK(out->Append(run, 2));
      first += same;
      continue;
    }
    int64_t last = first + 1;
    while (last < n && last - first < kLiteralsMax) {
      if (last + 2 < n && bytes[last] == bytes[last + 1] && bytes[last] == bytes[last + 2]) break;
      ++last;
    }
    const auto control = static_cast<uint8_t>(first - last);
    ARROW_RETURN_NOT_OK(out->Append(&control, 1));
    ARROW_RETURN_NOT_OK(out->Append(bytes + first, static_cast<size_t>(last - first)));
    first = last;
  }
  return arrow::Status::OK();
}

void BitEncoder::AddOnes(int64_t n) {
  while (n > 0 && bits_ != 0) {
    Add(true);
    --n;
  }
  bytes_.insert(bytes_.end(), static_cast<size_t>(n / 8), 0xff);
  for (n %= 8; n > 0; --n) Add(true);
}

arrow::Status BitEncoder::Flush() {
  ARROW_RETURN_NOT_OK(EncodeBytes(bytes_.data(), static_cast<int64_t>(bytes_.size()), &stream_));
  bytes_.clear();
  return arrow::Status::OK();
}

arrow::Result<std::string> BitEncoder::Take() {
  if (bits_ > 0) NextByte();
  ARROW_RETURN_NOT_OK(Flush());
  return stream_.Take();
}

void BitEncoder::Clear() {
  stream_.Clear();
  bytes_.clear();
  partial_ = 0;
  bits_ = 0;
}

}  // namespace kelda
