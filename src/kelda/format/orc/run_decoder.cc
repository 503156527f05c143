#include "kelda/format/orc/run_decoder.h"

#include <algorithm>
#include <cstring>

#include "kelda/format/orc/bit_unpack.h"

namespace kelda {
namespace {

/// Longest run of version 2 in bytes: header, base, packed numbers, patches.
constexpr size_t kRunBytesMax = 4 + 10 + 10 + 512 * 8 + 32 * 8 + kUnpackSlack;

int WidthOfCode(int code) {
  constexpr int kWide[] = {26, 28, 30, 32, 40, 48, 56, 64};
  return code < 24 ? code + 1 : kWide[code - 24];
}

/// The next width that the format knows.
int FixedWidth(int width) {
  if (width <= 24) return std::max(width, 1);
  for (int code = 24; code < 32; ++code) {
    if (WidthOfCode(code) >= width) return WidthOfCode(code);
  }
  return 64;
}

int64_t PackedBytes(int64_t n, int width) { return (n * width + 7) / 8; }

uint64_t BigEndian(const uint8_t* in, int bytes) {
  uint64_t value = 0;
  for (int i = 0; i < bytes; ++i) value = value << 8 | in[i];
  return value;
}

uint64_t Zigzag(uint64_t value) { return (value >> 1) ^ (~(value & 1) + 1); }

}  // namespace

arrow::Result<uint64_t> IntDecoder::Varint() {
  uint64_t value = 0;
  ARROW_RETURN_NOT_OK(stream_->Fill(10));
  const uint8_t* in = stream_->data();
  const auto most = static_cast<int>(std::min<size_t>(stream_->available(), 10));
  for (int i = 0; i < most; ++i) {
    value |= uint64_t{in[i] & 0x7fu} << (7 * i);
    if (in[i] < 0x80) {
      stream_->Advance(static_cast<size_t>(i) + 1);
      return value;
    }
  }
  return stream_->Error(most == 10 ? "a number of more than 64 bits" : "the stream ends too early");
}

void IntDecoder::Unpack(int width, int64_t n, uint64_t* out) {
  const auto bytes = static_cast<size_t>(PackedBytes(n, width));
  if (stream_->available() >= bytes + kUnpackSlack) {
    UnpackBits(stream_->data(), width, n, out);
  } else {
    uint8_t padded[kRunBytesMax] = {};
    std::memcpy(padded, stream_->data(), bytes);
    UnpackBits(padded, width, n, out);
  }
  stream_->Advance(bytes);
}

arrow::Result<int64_t> IntDecoder::ShortRepeat(uint64_t* out) {
  const uint8_t header = *stream_->data();
  const int bytes = (header >> 3 & 7) + 1;
  const int64_t n = (header & 7) + 3;
  ARROW_RETURN_NOT_OK(stream_->Require(static_cast<size_t>(bytes) + 1));
  const uint64_t value = ZigzagIfSigned(BigEndian(stream_->data() + 1, bytes));
  stream_->Advance(static_cast<size_t>(bytes) + 1);
  std::fill_n(out, n, value);
  return n;
}

arrow::Result<int64_t> IntDecoder::Direct(uint64_t* out) {
  ARROW_RETURN_NOT_OK(stream_->Require(2));
  const uint8_t* in = stream_->data();
  const int width = WidthOfCode(in[0] >> 1 & 31);
  const int64_t n = ((in[0] & 1) << 8 | in[1]) + 1;
  ARROW_RETURN_NOT_OK(stream_->Require(static_cast<size_t>(2 + PackedBytes(n, width))));
  stream_->Advance(2);
  Unpack(width, n, out);
  if (signed_) {
    for (int64_t i = 0; i < n; ++i) out[i] = Zigzag(out[i]);
  }
  return n;
}

arrow::Status IntDecoder::ApplyPatches(int64_t n, int width, int patch_width, int gap_width,
                                       int64_t patches, uint64_t* out) {
  uint64_t entries[32];
  Unpack(FixedWidth(patch_width + gap_width), patches, entries);
  const uint64_t mask = patch_width == 64 ? ~uint64_t{0} : (uint64_t{1} << patch_width) - 1;
  int64_t at = 0;
  for (int64_t i = 0; i < patches; ++i) {
    // A gap of more than 255 is spread over entries without a patch.
    const uint64_t gap = patch_width == 64 ? 0 : entries[i] >> patch_width;
    const uint64_t patch = entries[i] & mask;
    if (gap > 255) return stream_->Error("a patch lies behind its run");
    at += static_cast<int64_t>(gap);
    if (patch == 0) continue;
    if (at >= n || width == 64) return stream_->Error("a patch lies behind its run");
    out[at] |= patch << width;
  }
  return arrow::Status::OK();
}

arrow::Result<int64_t> IntDecoder::PatchedBase(uint64_t* out) {
  ARROW_RETURN_NOT_OK(stream_->Require(4));
  const uint8_t* in = stream_->data();
  const int width = WidthOfCode(in[0] >> 1 & 31);
  const int64_t n = ((in[0] & 1) << 8 | in[1]) + 1;
  const int base_bytes = (in[2] >> 5) + 1;
  const int patch_width = WidthOfCode(in[2] & 31);
  const int gap_width = (in[3] >> 5) + 1;
  const int64_t patches = in[3] & 31;
  if (patch_width + gap_width > 64) return stream_->Error("patches of more than 64 bits");
  const int64_t bytes = 4 + base_bytes + PackedBytes(n, width) +
                        PackedBytes(patches, FixedWidth(patch_width + gap_width));
  ARROW_RETURN_NOT_OK(stream_->Require(static_cast<size_t>(bytes)));
  uint64_t base = BigEndian(stream_->data() + 4, base_bytes);
  const uint64_t sign = uint64_t{1} << (base_bytes * 8 - 1);
  if (base & sign) base = ~(base & ~sign) + 1;
  stream_->Advance(static_cast<size_t>(4 + base_bytes));
  Unpack(width, n, out);
  if (patches > 0) {
    ARROW_RETURN_NOT_OK(ApplyPatches(n, width, patch_width, gap_width, patches, out));
  }
  for (int64_t i = 0; i < n; ++i) out[i] += base;
  return n;
}

arrow::Result<int64_t> IntDecoder::Delta(uint64_t* out) {
  ARROW_RETURN_NOT_OK(stream_->Require(2));
  const uint8_t* in = stream_->data();
  const int code = in[0] >> 1 & 31;
  const int width = code == 0 ? 0 : WidthOfCode(code);
  const int64_t n = ((in[0] & 1) << 8 | in[1]) + 1;
  stream_->Advance(2);
  ARROW_ASSIGN_OR_RAISE(uint64_t value, Varint());
  value = ZigzagIfSigned(value);
  ARROW_ASSIGN_OR_RAISE(uint64_t step, Varint());
  step = Zigzag(step);
  out[0] = value;
  if (width == 0) {
    for (int64_t i = 1; i < n; ++i) out[i] = value + static_cast<uint64_t>(i) * step;
    return n;
  }
  if (n == 1) return n;
  ARROW_RETURN_NOT_OK(
      stream_->Require(static_cast<size_t>(PackedBytes(std::max<int64_t>(n - 2, 0), width))));
  value += step;
  out[1] = value;
  if (n > 2) Unpack(width, n - 2, out + 2);
  if (static_cast<int64_t>(step) < 0) {
    for (int64_t i = 2; i < n; ++i) out[i] = value -= out[i];
  } else {
    for (int64_t i = 2; i < n; ++i) out[i] = value += out[i];
  }
  return n;
}

arrow::Result<int64_t> IntDecoder::NextRun1(uint64_t* out) {
  ARROW_RETURN_NOT_OK(stream_->Require(1));
  const auto control = static_cast<int8_t>(*stream_->data());
  stream_->Advance(1);
  if (control < 0) {
    const int64_t n = -static_cast<int64_t>(control);
    for (int64_t i = 0; i < n; ++i) {
      ARROW_ASSIGN_OR_RAISE(uint64_t value, Varint());
      out[i] = ZigzagIfSigned(value);
    }
    return n;
  }
  const int64_t n = control + 3;
  ARROW_RETURN_NOT_OK(stream_->Require(1));
  const auto step =
      static_cast<uint64_t>(static_cast<int64_t>(static_cast<int8_t>(*stream_->data())));
  stream_->Advance(1);
  ARROW_ASSIGN_OR_RAISE(uint64_t value, Varint());
  value = ZigzagIfSigned(value);
  for (int64_t i = 0; i < n; ++i) out[i] = value + static_cast<uint64_t>(i) * step;
  return n;
}

arrow::Result<int64_t> IntDecoder::NextRun(uint64_t* out) {
  if (!version2_) return NextRun1(out);
  ARROW_RETURN_NOT_OK(stream_->Fill(kRunBytesMax));
  ARROW_RETURN_NOT_OK(stream_->Require(1));
  switch (*stream_->data() >> 6) {
    case 0:
      return ShortRepeat(out);
    case 1:
      return Direct(out);
    case 2:
      return PatchedBase(out);
    default:
      return Delta(out);
  }
}

arrow::Status IntDecoder::Read(int64_t* out, int64_t n) {
  while (n > 0) {
    if (run_next_ < run_end_) {
      const int64_t part = std::min(n, run_end_ - run_next_);
      std::memcpy(out, run_.data() + run_next_, static_cast<size_t>(part) * 8);
      run_next_ += part;
      out += part;
      n -= part;
    } else if (n >= kRunMax) {
      ARROW_ASSIGN_OR_RAISE(int64_t run, NextRun(reinterpret_cast<uint64_t*>(out)));
      out += run;
      n -= run;
    } else {
      ARROW_ASSIGN_OR_RAISE(run_end_, NextRun(run_.data()));
      run_next_ = 0;
    }
  }
  return arrow::Status::OK();
}

arrow::Status IntDecoder::Seek(OrcPositions* positions) {
  ARROW_RETURN_NOT_OK(stream_->Seek(positions));
  ARROW_ASSIGN_OR_RAISE(int64_t skip, positions->Next());
  run_next_ = run_end_ = 0;
  if (skip > kRunMax) return stream_->Error("the row index leads behind a run");
  int64_t skipped[kRunMax];
  return Read(skipped, skip);
}

arrow::Status ByteDecoder::Read(uint8_t* out, int64_t n) {
  while (n > 0) {
    if (repeats_ > 0) {
      const int64_t part = std::min(n, repeats_);
      std::memset(out, value_, static_cast<size_t>(part));
      repeats_ -= part;
      out += part;
      n -= part;
    } else if (literals_ > 0) {
      const int64_t part = std::min(n, literals_);
      ARROW_RETURN_NOT_OK(stream_->Copy(out, part));
      literals_ -= part;
      out += part;
      n -= part;
    } else {
      ARROW_RETURN_NOT_OK(stream_->Require(2));
      const auto control = static_cast<int8_t>(stream_->data()[0]);
      if (control < 0) {
        literals_ = -static_cast<int64_t>(control);
        stream_->Advance(1);
      } else {
        repeats_ = control + 3;
        value_ = stream_->data()[1];
        stream_->Advance(2);
      }
    }
  }
  return arrow::Status::OK();
}

arrow::Status ByteDecoder::Seek(OrcPositions* positions) {
  ARROW_RETURN_NOT_OK(stream_->Seek(positions));
  ARROW_ASSIGN_OR_RAISE(int64_t skip, positions->Next());
  repeats_ = literals_ = 0;
  uint8_t skipped[256];
  if (skip > static_cast<int64_t>(sizeof(skipped))) {
    return stream_->Error("the row index leads behind a run");
  }
  return Read(skipped, skip);
}

namespace {

constexpr auto kReversed = [] {
  std::array<uint8_t, 256> table{};
  for (int byte = 0; byte < 256; ++byte) {
    for (int bit = 0; bit < 8; ++bit) {
      if (byte >> bit & 1) table[static_cast<size_t>(byte)] |= static_cast<uint8_t>(0x80 >> bit);
    }
  }
  return table;
}();

}  // namespace

arrow::Status BitDecoder::Read(uint8_t* out, int64_t n) {
  if (n == 0) return arrow::Status::OK();
  // Whole bytes are read in place and shifted behind the bits that were left.
  const int64_t fresh_bits = std::max<int64_t>(n - rest_bits_, 0);
  const int64_t fresh = (fresh_bits + 7) / 8;
  const int64_t bytes = (n + 7) / 8;
  const int shift = rest_bits_;
  uint8_t carry = rest_;
  if (fresh == 0) {
    out[0] = rest_;
    rest_ = static_cast<uint8_t>(rest_ >> n);
    rest_bits_ -= static_cast<int>(n);
  } else {
    // With bits left, there may be one byte more to write than to read or the reverse.
    ARROW_RETURN_NOT_OK(bytes_.Read(out, std::min(fresh, bytes)));
    for (int64_t i = 0; i < std::min(fresh, bytes); ++i) {
      const uint8_t byte = kReversed[out[i]];
      out[i] = static_cast<uint8_t>(carry | byte << shift);
      carry = shift == 0 ? 0 : static_cast<uint8_t>(byte >> (8 - shift));
    }
    if (bytes > fresh) out[bytes - 1] = carry;
    const int64_t left = shift + fresh * 8 - n;
    rest_bits_ = static_cast<int>(left);
    if (bytes > fresh) {
      rest_ = static_cast<uint8_t>(carry >> (n & 7));
    } else {
      const int used = static_cast<int>(n - (bytes - 1) * 8);
      rest_ =
          used == 8 ? carry : static_cast<uint8_t>(out[bytes - 1] >> used | carry << (8 - used));
    }
  }
  if ((n & 7) != 0) out[bytes - 1] &= static_cast<uint8_t>((1 << (n & 7)) - 1);
  return arrow::Status::OK();
}

arrow::Status BitDecoder::Seek(OrcPositions* positions) {
  ARROW_RETURN_NOT_OK(bytes_.Seek(positions));
  ARROW_ASSIGN_OR_RAISE(int64_t skip, positions->Next());
  rest_ = 0;
  rest_bits_ = 0;
  uint8_t skipped[1];
  if (skip > 8) return arrow::Status(Corruption("the row index leads behind a byte of bits"));
  return Read(skipped, skip);
}

}  // namespace kelda
