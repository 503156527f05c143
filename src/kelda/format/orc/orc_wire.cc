#include "kelda/format/orc/orc_wire.h"

namespace kelda {

bool WireReader::Fail(std::string_view why) {
  status_ = Corruption("{}: {} at byte {} of the message", what_, why, offset_);
  return false;
}

bool WireReader::Varint(uint64_t* value) {
  *value = 0;
  for (int shift = 0; shift <= 63; shift += 7) {
    if (offset_ == bytes_.size()) return Fail("the message ends in a number");
    const auto byte = static_cast<uint8_t>(bytes_[offset_++]);
    *value |= uint64_t{byte & 0x7fu} << shift;
    if (byte < 0x80) return true;
  }
  return Fail("a number of more than 64 bits");
}

bool WireReader::Next(WireField* field) {
  if (!status_.ok() || offset_ == bytes_.size()) return false;
  uint64_t tag = 0;
  if (!Varint(&tag)) return false;
  if (tag >> 32 != 0 || tag < 8) return Fail("a bad field number");
  field->number = static_cast<uint32_t>(tag >> 3);
  field->type = static_cast<uint32_t>(tag & 7);
  field->value = 0;
  field->bytes = {};
  const size_t left = bytes_.size() - offset_;
  switch (field->type) {
    case WireField::kVarint:
      return Varint(&field->value);
    case WireField::kFixed64:
      if (left < 8) return Fail("the message ends in a number");
      field->value = LoadLE<uint64_t>(bytes_.data() + offset_);
      offset_ += 8;
      return true;
    case WireField::kFixed32:
      if (left < 4) return Fail("the message ends in a number");
      field->value = LoadLE<uint32_t>(bytes_.data() + offset_);
      offset_ += 4;
      return true;
    case WireField::kBytes: {
      uint64_t length = 0;
      if (!Varint(&length)) return false;
      if (length > bytes_.size() - offset_) return Fail("a field is longer than the message");
      field->bytes = bytes_.substr(offset_, length);
      offset_ += length;
      return true;
    }
    default:
      return Fail("a bad wire type");
  }
}

arrow::Status WireReader::Expect(const WireField& field, uint32_t type) const {
  if (field.type == type) return arrow::Status::OK();
  return Corruption("{}: field {} has wire type {} instead of {}", what_, field.number, field.type,
                    type);
}

}  // namespace kelda
