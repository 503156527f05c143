#include "kelda/format/parquet/dictionary_choice.h"

#include <bit>

#include <arrow/type_traits.h>

#include "kelda/base/bytes.h"

namespace kelda {
namespace {

uint64_t Mix(uint64_t h) {
  h ^= h >> 32;
  h *= 0xd6e8feb86659fd93u;
  h ^= h >> 32;
  h *= 0xd6e8feb86659fd93u;
  h ^= h >> 32;
  return h;
}

uint64_t HashBytes(const uint8_t* data, int64_t size) {
  uint64_t h = 0x9e3779b97f4a7c15u ^ static_cast<uint64_t>(size);
  int64_t i = 0;
  for (; i + 8 <= size; i += 8) h = Mix(h ^ LoadLE<uint64_t>(data + i));
  uint64_t tail = 0;
  std::memcpy(&tail, data + i, static_cast<size_t>(size - i));
  return Mix(h ^ tail);
}

}  // namespace

DictionaryChoice::DictionaryChoice() : slots_(kSlots, 0) {}

void DictionaryChoice::Insert(uint64_t hash) {
  if (hash == 0) hash = 1;
  size_t slot = hash % kSlots;
  while (slots_[slot] != 0 && slots_[slot] != hash) slot = (slot + 1) % kSlots;
  if (slots_[slot] == hash) return;
  slots_[slot] = hash;
  ++distinct_;
}

void DictionaryChoice::Sample(const arrow::Array& values) {
  const bool binary = arrow::is_base_binary_like(values.type_id());
  const int width =
      binary || values.type_id() == arrow::Type::BOOL ? 0 : values.type()->byte_width();
  if (!binary && width <= 0) return;
  const uint8_t* fixed =
      binary ? nullptr : values.data()->GetValues<uint8_t>(1, values.offset() * width);
  for (int64_t i = 0; i < values.length() && !full(); ++i) {
    if (values.IsNull(i)) continue;
    ++sampled_;
    const int64_t before = distinct_;
    int64_t bytes = width;
    if (binary) {
      auto view = static_cast<const arrow::BinaryArray&>(values).GetView(i);
      bytes = static_cast<int64_t>(view.size()) + 4;
      Insert(HashBytes(reinterpret_cast<const uint8_t*>(view.data()),
                       static_cast<int64_t>(view.size())));
    } else {
      Insert(HashBytes(fixed + i * width, width));
    }
    plain_bytes_ += bytes;
    if (distinct_ > before) distinct_bytes_ += bytes;
  }
}

bool DictionaryChoice::Worthwhile() const {
  if (sampled_ == 0) return true;
  if (distinct_ * 2 > sampled_) return false;
  const int bits = std::bit_width(static_cast<uint64_t>(distinct_));
  return distinct_bytes_ + sampled_ * bits / 8 < plain_bytes_;
}

}  // namespace kelda
