#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "kelda/base/bytes.h"

namespace kelda {

/// One field of a protobuf message: `value` of a number, `bytes` of a text, message or packed list.
struct WireField {
  uint32_t number = 0;
  uint32_t type = 0;
  uint64_t value = 0;
  std::string_view bytes;

  static constexpr uint32_t kVarint = 0;
  static constexpr uint32_t kFixed64 = 1;
  static constexpr uint32_t kBytes = 2;
  static constexpr uint32_t kFixed32 = 5;

  int64_t Zigzag() const { return static_cast<int64_t>((value >> 1) ^ (~(value & 1) + 1)); }
  double Double() const { return LoadLE<double>(&value); }
};

/// Cursor over the fields of a message whose bytes may be hostile. Borrows the bytes.
class WireReader {
 public:
  /// `what` names the message in errors.
  WireReader(std::string_view bytes, std::string_view what) : bytes_(bytes), what_(what) {}

  /// The next field; false at the end or after an error, which `status` tells.
  bool Next(WireField* field);
  const arrow::Status& status() const { return status_; }
  /// An error when `field` is not of the wire type that its number must have.
  arrow::Status Expect(const WireField& field, uint32_t type) const;

 private:
  bool Varint(uint64_t* value);
  bool Fail(std::string_view why);

  std::string_view bytes_;
  std::string_view what_;
  size_t offset_ = 0;
  arrow::Status status_;
};

/// Runs `handle(field)`, which returns a Status, for all fields of a message.
template <typename Handle>
arrow::Status ForEachField(std::string_view bytes, std::string_view what, Handle&& handle) {
  WireReader reader(bytes, what);
  WireField field;
  while (reader.Next(&field)) ARROW_RETURN_NOT_OK(handle(reader, field));
  return reader.status();
}

/// Runs `handle(value)` for the numbers of a repeated field, packed or not.
template <typename Handle>
arrow::Status ForEachNumber(const WireReader& reader, const WireField& field, Handle&& handle) {
  if (field.type == WireField::kVarint) return handle(field.value);
  ARROW_RETURN_NOT_OK(reader.Expect(field, WireField::kBytes));
  size_t at = 0;
  while (at < field.bytes.size()) {
    uint64_t value = 0;
    int shift = 0;
    while (true) {
      if (at == field.bytes.size() || shift > 63)
        return Corruption("a packed list ends in a number");
      const auto byte = static_cast<uint8_t>(field.bytes[at++]);
      value |= uint64_t{byte & 0x7fu} << shift;
      if (byte < 0x80) break;
      shift += 7;
    }
    ARROW_RETURN_NOT_OK(handle(value));
  }
  return arrow::Status::OK();
}

/// Builds a protobuf message.
class WireWriter {
 public:
  void Number(uint32_t number, uint64_t value) {
    Varint(number << 3 | WireField::kVarint);
    Varint(value);
  }
  void Signed(uint32_t number, int64_t value) {
    Number(number, (static_cast<uint64_t>(value) << 1) ^ static_cast<uint64_t>(value >> 63));
  }
  void Double(uint32_t number, double value) {
    Varint(number << 3 | WireField::kFixed64);
    char bytes[8];
    StoreLE(bytes, value);
    out_.append(bytes, 8);
  }
  void Bytes(uint32_t number, std::string_view bytes) {
    Varint(number << 3 | WireField::kBytes);
    Varint(bytes.size());
    out_ += bytes;
  }
  void Message(uint32_t number, const WireWriter& message) { Bytes(number, message.out_); }
  /// A bare number, for packed lists.
  void Varint(uint64_t value) {
    while (value >= 0x80) {
      out_ += static_cast<char>(value | 0x80);
      value >>= 7;
    }
    out_ += static_cast<char>(value);
  }

  const std::string& bytes() const { return out_; }
  std::string Take() { return std::move(out_); }

 private:
  std::string out_;
};

}  // namespace kelda
