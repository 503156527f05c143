#include "kelda/format/file_index/range_dictionary.h"

#include <algorithm>
#include <limits>

namespace kelda {

namespace {

constexpr char kVersion = 1;
constexpr int64_t kHeaderBytes = 13;
constexpr int64_t kPrefetchMax = 1 << 20;

void AppendBE32(int64_t value, std::string* out) {
  char bytes[4];
  StoreBE32(bytes, static_cast<uint32_t>(value));
  out->append(bytes, 4);
}

}  // namespace

arrow::Result<std::string> EncodeRangeDictionary(const KeyForm& form,
                                                 const std::vector<IndexKey>& keys,
                                                 int64_t chunk_bytes) {
  std::string offsets;
  std::string chunks;
  std::string all_keys;
  int64_t chunk_count = 0;
  for (size_t first = 0; first < keys.size();) {
    std::string key_offsets;
    std::string chunk_keys;
    size_t next = first + 1;
    for (; next < keys.size(); ++next) {
      const auto size = static_cast<int64_t>(chunk_keys.size()) + form.StoredSize(keys[next]);
      const auto table = static_cast<int64_t>(key_offsets.size()) + 4;
      if (size > chunk_bytes || (form.is_text() && table > chunk_bytes)) break;
      AppendBE32(static_cast<int64_t>(chunk_keys.size()), &key_offsets);
      form.Append(keys[next], &chunk_keys);
    }
    AppendBE32(static_cast<int64_t>(chunks.size()), &offsets);
    chunks.push_back(kVersion);
    form.Append(keys[first], &chunks);
    AppendBE32(static_cast<int64_t>(first), &chunks);
    AppendBE32(static_cast<int64_t>(all_keys.size()), &chunks);
    AppendBE32(static_cast<int64_t>(next - first - 1), &chunks);
    if (form.is_text()) {
      AppendBE32(static_cast<int64_t>(key_offsets.size()), &chunks);
      AppendBE32(static_cast<int64_t>(chunk_keys.size()), &chunks);
      all_keys += key_offsets;
    } else {
      AppendBE32(static_cast<int64_t>(chunk_keys.size()), &chunks);
      AppendBE32(form.width(), &chunks);
    }
    all_keys += chunk_keys;
    ++chunk_count;
    first = next;
  }
  std::string out;
  AppendBE32(kHeaderBytes, &out);
  out.push_back(kVersion);
  AppendBE32(chunk_count, &out);
  AppendBE32(static_cast<int64_t>(offsets.size()), &out);
  AppendBE32(static_cast<int64_t>(chunks.size()), &out);
  out += offsets;
  out += chunks;
  out += all_keys;
  if (out.size() > std::numeric_limits<int32_t>::max())
    return Invalid("dictionary of more than 2147483647 bytes");
  return out;
}

arrow::Result<RangeDictionary> RangeDictionary::Open(const KeyForm& form, const IndexBlob& blob,
                                                     int64_t start, int64_t length,
                                                     int32_t cardinality) {
  RangeDictionary dictionary(form, blob);
  ARROW_RETURN_NOT_OK(dictionary.ReadChunks(start, length, cardinality));
  return dictionary;
}

arrow::Status RangeDictionary::ReadChunks(int64_t start, int64_t length, int32_t cardinality) {
  const int64_t end = start + length;
  IndexCursor in(&blob_, start, end);
  ARROW_ASSIGN_OR_RAISE(int32_t header_length, in.Count("header length of the dictionary"));
  if (header_length != kHeaderBytes)
    return in.Error(fmt::format("dictionary header of {} bytes", header_length));
  ARROW_ASSIGN_OR_RAISE(uint8_t version, in.Byte());
  if (version != kVersion) return in.Error(fmt::format("dictionary of version {}", version));
  ARROW_ASSIGN_OR_RAISE(int32_t count, in.Count("chunk count"));
  ARROW_ASSIGN_OR_RAISE(int32_t offsets_length, in.Count("length of the chunk offsets"));
  ARROW_ASSIGN_OR_RAISE(int32_t chunks_length, in.Count("length of the chunk headers"));
  if (offsets_length != int64_t{count} * 4)
    return in.Error(fmt::format("{} bytes of offsets for {} chunks", offsets_length, count));
  ARROW_RETURN_NOT_OK(in.Skip(offsets_length));
  const int64_t keys = in.offset() + chunks_length;
  if (keys > end) return in.Error("chunk headers beyond the end of the dictionary");
  IndexCursor headers(&blob_, in.offset(), keys);
  int64_t code = 0;
  for (int32_t i = 0; i < count; ++i) {
    ARROW_ASSIGN_OR_RAISE(Chunk chunk, ReadChunk(&headers, keys, end));
    if (chunk.code != code)
      return headers.Error(fmt::format("chunk of code {}, expected {}", chunk.code, code));
    code += 1 + int64_t{chunk.count};
    chunks_.push_back(std::move(chunk));
  }
  if (code != cardinality)
    return headers.Error(fmt::format("dictionary of {} values, expected {}", code, cardinality));
  return arrow::Status::OK();
}

arrow::Result<RangeDictionary::Chunk> RangeDictionary::ReadChunk(IndexCursor* in, int64_t keys,
                                                                 int64_t end) const {
  Chunk chunk;
  ARROW_ASSIGN_OR_RAISE(uint8_t version, in->Byte());
  if (version != kVersion) return in->Error(fmt::format("chunk of version {}", version));
  ARROW_ASSIGN_OR_RAISE(IndexKey first, form_.Read(in, &chunk.text));
  chunk.number = first.number;
  ARROW_ASSIGN_OR_RAISE(chunk.code, in->Count("code of a chunk"));
  ARROW_ASSIGN_OR_RAISE(int32_t offset, in->Count("offset of a chunk's keys"));
  ARROW_ASSIGN_OR_RAISE(chunk.count, in->Count("key count of a chunk"));
  if (form_.is_text()) {
    ARROW_ASSIGN_OR_RAISE(chunk.offsets_bytes, in->Count("length of a chunk's offsets"));
    ARROW_ASSIGN_OR_RAISE(chunk.keys_bytes, in->Count("length of a chunk's keys"));
    if (chunk.offsets_bytes != int64_t{chunk.count} * 4)
      return in->Error(
          fmt::format("{} offset bytes for {} keys", chunk.offsets_bytes, chunk.count));
  } else {
    ARROW_ASSIGN_OR_RAISE(chunk.keys_bytes, in->Count("length of a chunk's keys"));
    ARROW_ASSIGN_OR_RAISE(int32_t width, in->Count("width of a chunk's keys"));
    if (width != form_.width() || chunk.keys_bytes != int64_t{chunk.count} * width) {
      return in->Error(
          fmt::format("{} keys of {} bytes in {}", chunk.count, width, chunk.keys_bytes));
    }
  }
  chunk.keys_offset = keys + offset;
  if (int64_t{offset} + chunk.offsets_bytes + chunk.keys_bytes > end - keys)
    return in->Error("keys of a chunk beyond the end of the dictionary");
  return chunk;
}

arrow::Result<IndexKey> RangeDictionary::KeyAt(const Chunk& chunk, int32_t i,
                                               std::string* text) const {
  const int64_t keys = chunk.keys_offset + chunk.offsets_bytes;
  int64_t offset = int64_t{i} * form_.width();
  if (form_.is_text()) {
    ARROW_ASSIGN_OR_RAISE(auto bytes, blob_.Read(chunk.keys_offset + int64_t{i} * 4, 4));
    offset = static_cast<int32_t>(LoadBE32(bytes->data()));
    if (offset < 0 || offset > chunk.keys_bytes)
      return blob_.Error(fmt::format("key offset {}", offset), chunk.keys_offset + int64_t{i} * 4);
  }
  IndexCursor in(&blob_, keys + offset, keys + chunk.keys_bytes);
  return form_.Read(&in, text);
}

arrow::Result<RangeDictionary::Found> RangeDictionary::Find(const IndexKey& key) const {
  auto after = std::partition_point(chunks_.begin(), chunks_.end(), [&](const Chunk& chunk) {
    return form_.Compare(chunk.first(), key) <= 0;
  });
  if (after == chunks_.begin()) return Found{0, false};
  const Chunk& chunk = *(after - 1);
  if (form_.Compare(chunk.first(), key) == 0) return Found{chunk.code, true};
  // One read for all the looks below: the input keeps what it read last.
  const int64_t area = int64_t{chunk.offsets_bytes} + chunk.keys_bytes;
  if (area <= kPrefetchMax) ARROW_RETURN_NOT_OK(blob_.Read(chunk.keys_offset, area).status());
  int32_t low = 0;
  int32_t high = chunk.count;
  std::string text;
  while (low < high) {
    const int32_t middle = low + (high - low) / 2;
    ARROW_ASSIGN_OR_RAISE(IndexKey stored, KeyAt(chunk, middle, &text));
    const int order = form_.Compare(stored, key);
    if (order == 0) return Found{chunk.code + 1 + middle, true};
    if (order < 0) {
      low = middle + 1;
    } else {
      high = middle;
    }
  }
  return Found{chunk.code + 1 + low, false};
}

}  // namespace kelda
