#pragma once

#include <cstdint>
#include <vector>

#include "kelda/format/orc/out_stream.h"

namespace kelda {

/// Append `n` numbers in runs of version 2; the last run ends with them. `is_signed`: as zigzag
/// numbers.
arrow::Status EncodeInts(const int64_t* values, int64_t n, bool is_signed, OutStream* out);

/// Append `n` bytes as runs and literals; the last run ends with them.
arrow::Status EncodeBytes(const uint8_t* bytes, int64_t n, OutStream* out);

/// Booleans as bits, highest first, in bytes with runs.
class BitEncoder {
 public:
  explicit BitEncoder(OrcCodec* codec) : stream_(codec) {}

  /// Keep a bit for the next Flush.
  void Add(bool bit) {
    partial_ = static_cast<uint8_t>(partial_ | (bit ? 0x80 : 0) >> bits_);
    if (++bits_ == 8) NextByte();
  }
  void AddOnes(int64_t n);
  /// Encode all whole bytes.
  arrow::Status Flush();
  /// REQUIRES: flushed since the last Add.
  void AddPosition(std::vector<uint64_t>* positions) const {
    stream_.AddPosition(positions);
    positions->push_back(0);
    positions->push_back(static_cast<uint64_t>(bits_));
  }
  /// The whole stream; empty afterwards.
  arrow::Result<std::string> Take();
  void Clear();
  int64_t size() const { return stream_.size() + static_cast<int64_t>(bytes_.size()); }
  int64_t memory() const { return stream_.memory() + static_cast<int64_t>(bytes_.capacity()); }

 private:
  void NextByte() {
    bytes_.push_back(partial_);
    partial_ = 0;
    bits_ = 0;
  }

  OutStream stream_;
  std::vector<uint8_t> bytes_;
  uint8_t partial_ = 0;
  int bits_ = 0;
};

}  // namespace kelda
