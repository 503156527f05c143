#pragma once

#include <array>
#include <cstdint>
#include <memory>

#include "kelda/format/orc/in_stream.h"

namespace kelda {

/// Numbers of up to 64 bits as the format's run length encodings store them, version 1 or 2.
class IntDecoder {
 public:
  /// `is_signed`: numbers are zigzag encoded.
  IntDecoder(std::unique_ptr<InStream> stream, bool is_signed, bool version2)
      : stream_(std::move(stream)), signed_(is_signed), version2_(version2) {}

  arrow::Status Read(int64_t* out, int64_t n);
  arrow::Status Seek(OrcPositions* positions);
  arrow::Status Error(std::string_view what) const { return stream_->Error(what); }

 private:
  static constexpr int64_t kRunMax = 512;

  /// Decode the next run into `out`, which has room for kRunMax numbers; gives their number.
  arrow::Result<int64_t> NextRun(uint64_t* out);
  arrow::Result<int64_t> NextRun1(uint64_t* out);
  arrow::Result<int64_t> ShortRepeat(uint64_t* out);
  arrow::Result<int64_t> Direct(uint64_t* out);
  arrow::Result<int64_t> PatchedBase(uint64_t* out);
  arrow::Result<int64_t> Delta(uint64_t* out);
  arrow::Status ApplyPatches(int64_t n, int width, int patch_width, int gap_width, int64_t patches,
                             uint64_t* out);
  /// Unpack from the stream, which has at least the packed bytes ready.
  void Unpack(int width, int64_t n, uint64_t* out);
  arrow::Result<uint64_t> Varint();
  uint64_t ZigzagIfSigned(uint64_t value) const {
    return signed_ ? (value >> 1) ^ (~(value & 1) + 1) : value;
  }

  std::unique_ptr<InStream> stream_;
  const bool signed_;
  const bool version2_;
  std::array<uint64_t, kRunMax> run_;  ///< the run that was decoded last, when it was not used up
  int64_t run_next_ = 0;
  int64_t run_end_ = 0;
};

/// Bytes with runs: literals or up to 130 equal ones.
class ByteDecoder {
 public:
  explicit ByteDecoder(std::unique_ptr<InStream> stream) : stream_(std::move(stream)) {}

  arrow::Status Read(uint8_t* out, int64_t n);
  arrow::Status Seek(OrcPositions* positions);

 private:
  std::unique_ptr<InStream> stream_;
  int64_t repeats_ = 0;   ///< of `value_` still to come
  int64_t literals_ = 0;  ///< bytes of the stream still to come
  uint8_t value_ = 0;
};

/// Booleans: bits, highest first, in bytes with runs.
class BitDecoder {
 public:
  explicit BitDecoder(std::unique_ptr<InStream> stream) : bytes_(std::move(stream)) {}

  /// Fill (n + 7) / 8 bytes of `out` with bits, lowest first; those behind the last are zero.
  arrow::Status Read(uint8_t* out, int64_t n);
  arrow::Status Seek(OrcPositions* positions);

 private:
  ByteDecoder bytes_;
  uint8_t rest_ = 0;  ///< bits left of the last byte, lowest first
  int rest_bits_ = 0;
};

}  // namespace kelda
