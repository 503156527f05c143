#include "kelda/format/file_index/container.h"

#include <limits>

namespace kelda {

namespace {

constexpr int64_t kMagic = 1493475289347502;
constexpr int32_t kVersion = 1;
/// magic, version, head length
constexpr int64_t kFixedBytes = 16;
constexpr uint32_t kSurrogates = 0xd800;

void AppendBE32(int64_t value, std::string* out) {
  char bytes[4];
  StoreBE32(bytes, static_cast<uint32_t>(value));
  out->append(bytes, 4);
}

void AppendThreeBytes(uint32_t unit, std::string* out) {
  out->push_back(static_cast<char>(0xe0 | (unit >> 12)));
  out->push_back(static_cast<char>(0x80 | ((unit >> 6) & 0x3f)));
  out->push_back(static_cast<char>(0x80 | (unit & 0x3f)));
}

/// Bytes of the sequence that starts with `lead`; 0: none does.
int SequenceLength(uint8_t lead) {
  if (lead < 0x80) return 1;
  if (lead >= 0xc2 && lead < 0xe0) return 2;
  if (lead >= 0xe0 && lead < 0xf0) return 3;
  return lead >= 0xf0 && lead < 0xf5 ? 4 : 0;
}

/// Code point of a sequence of `length` bytes; nothing if a byte is no continuation.
std::optional<uint32_t> CodePoint(std::string_view bytes) {
  const auto lead = static_cast<uint8_t>(bytes[0]);
  if (bytes.size() == 1) return lead;
  uint32_t code = lead & (0x7f >> bytes.size());
  for (size_t i = 1; i < bytes.size(); ++i) {
    const auto byte = static_cast<uint8_t>(bytes[i]);
    if ((byte & 0xc0) != 0x80) return std::nullopt;
    code = (code << 6) | (byte & 0x3f);
  }
  return code;
}

/// UTF-8 of modified UTF-8: NUL is two bytes there, code points above U+FFFF two surrogates.
/// Nothing if it is neither.
std::optional<std::string> FromJavaUtf(std::string_view bytes) {
  std::string out;
  for (size_t i = 0; i < bytes.size();) {
    if (bytes.substr(i, 2) == std::string_view("\xc0\x80", 2)) {
      out.push_back('\0');
      i += 2;
      continue;
    }
    const int length = SequenceLength(static_cast<uint8_t>(bytes[i]));
    if (length == 0 || length == 4 || i + static_cast<size_t>(length) > bytes.size())
      return std::nullopt;
    const auto code = CodePoint(bytes.substr(i, static_cast<size_t>(length)));
    if (!code) return std::nullopt;
    if (*code < kSurrogates || *code >= kSurrogates + 0x800) {
      out.append(bytes.substr(i, static_cast<size_t>(length)));
      i += static_cast<size_t>(length);
      continue;
    }
    const auto low = i + 6 <= bytes.size() ? CodePoint(bytes.substr(i + 3, 3)) : std::nullopt;
    const bool pair = *code < kSurrogates + 0x400 && low && *low >= kSurrogates + 0x400 &&
                      *low < kSurrogates + 0x800 &&
                      SequenceLength(static_cast<uint8_t>(bytes[i + 3])) == 3;
    if (!pair) return std::nullopt;
    const uint32_t point = 0x10000 + ((*code - kSurrogates) << 10) + (*low - kSurrogates - 0x400);
    out.push_back(static_cast<char>(0xf0 | (point >> 18)));
    out.push_back(static_cast<char>(0x80 | ((point >> 12) & 0x3f)));
    out.push_back(static_cast<char>(0x80 | ((point >> 6) & 0x3f)));
    out.push_back(static_cast<char>(0x80 | (point & 0x3f)));
    i += 6;
  }
  return out;
}

arrow::Result<std::string> ReadUtf(IndexCursor* in) {
  ARROW_ASSIGN_OR_RAISE(int64_t length, in->Signed(2));
  std::string bytes;
  ARROW_RETURN_NOT_OK(in->Bytes(length & 0xffff, &bytes));
  auto text = FromJavaUtf(bytes);
  if (!text) return in->Error("name that is no modified UTF-8");
  return *std::move(text);
}

}  // namespace

arrow::Status AppendJavaUtf(std::string_view text, std::string* out) {
  std::string bytes;
  for (size_t i = 0; i < text.size();) {
    const auto length = static_cast<size_t>(SequenceLength(static_cast<uint8_t>(text[i])));
    if (length == 0 || i + length > text.size()) return Invalid("'{}' is no UTF-8", text);
    const auto code = CodePoint(text.substr(i, length));
    if (!code) return Invalid("'{}' is no UTF-8", text);
    if (*code == 0) {
      bytes.append("\xc0\x80", 2);
    } else if (*code > 0xffff) {
      AppendThreeBytes(kSurrogates + ((*code - 0x10000) >> 10), &bytes);
      AppendThreeBytes(kSurrogates + 0x400 + ((*code - 0x10000) & 0x3ff), &bytes);
    } else {
      bytes.append(text.substr(i, length));
    }
    i += length;
  }
  if (bytes.size() > 0xffff) return Invalid("a name of {} bytes for a file index", bytes.size());
  out->push_back(static_cast<char>(bytes.size() >> 8));
  out->push_back(static_cast<char>(bytes.size() & 0xff));
  out->append(bytes);
  return arrow::Status::OK();
}

arrow::Result<std::string> EncodeIndexContainer(const std::vector<ContainedIndex>& indexes) {
  // Bodies are placed once the length of the head is known.
  std::string head;
  std::vector<size_t> start_fields;
  int64_t columns = 0;
  for (size_t begin = 0; begin < indexes.size();) {
    size_t end = begin;
    while (end < indexes.size() && indexes[end].column == indexes[begin].column) ++end;
    ARROW_RETURN_NOT_OK(AppendJavaUtf(indexes[begin].column, &head));
    AppendBE32(static_cast<int64_t>(end - begin), &head);
    for (size_t i = begin; i < end; ++i) {
      ARROW_RETURN_NOT_OK(AppendJavaUtf(indexes[i].type, &head));
      start_fields.push_back(head.size());
      AppendBE32(-1, &head);
      AppendBE32(indexes[i].bytes ? static_cast<int64_t>(indexes[i].bytes->size()) : 0, &head);
    }
    ++columns;
    begin = end;
  }
  const int64_t head_length = kFixedBytes + 4 + static_cast<int64_t>(head.size()) + 4;
  int64_t start = head_length;
  for (size_t i = 0; i < indexes.size(); ++i) {
    if (!indexes[i].bytes) continue;
    StoreBE32(head.data() + start_fields[i], static_cast<uint32_t>(start));
    start += static_cast<int64_t>(indexes[i].bytes->size());
    if (start > std::numeric_limits<int32_t>::max())
      return Invalid("file indexes of more than 2147483647 bytes");
  }
  std::string out(8, '\0');
  out.reserve(static_cast<size_t>(start));
  StoreBE64(out.data(), kMagic);
  AppendBE32(kVersion, &out);
  AppendBE32(head_length, &out);
  AppendBE32(columns, &out);
  out += head;
  AppendBE32(0, &out);
  for (const ContainedIndex& index : indexes) {
    if (index.bytes) out += *index.bytes;
  }
  return out;
}

arrow::Result<IndexContainer> IndexContainer::Open(std::unique_ptr<IndexInput> input) {
  IndexContainer container;
  container.input_ = std::move(input);
  const int64_t size = container.input_->size();
  const IndexBlob whole(container.input_.get(), 0, size);
  IndexCursor fixed(&whole, 0, size);
  ARROW_ASSIGN_OR_RAISE(int64_t magic, fixed.BE64());
  if (magic != kMagic) return whole.Error("no file index (wrong magic number)", 0);
  ARROW_ASSIGN_OR_RAISE(int32_t version, fixed.BE32());
  if (version != kVersion) return whole.Error(fmt::format("version {}", version), 8);
  ARROW_ASSIGN_OR_RAISE(int32_t head_length, fixed.Count("head length"));
  if (head_length < kFixedBytes || head_length > size)
    return whole.Error(fmt::format("head of {} bytes in {}", head_length, size), 12);
  IndexCursor in(&whole, kFixedBytes, head_length);
  ARROW_ASSIGN_OR_RAISE(int32_t columns, in.Count("column count"));
  for (int32_t c = 0; c < columns; ++c) {
    ARROW_ASSIGN_OR_RAISE(std::string column, ReadUtf(&in));
    ARROW_ASSIGN_OR_RAISE(int32_t indexes, in.Count("index count"));
    for (int32_t i = 0; i < indexes; ++i) {
      Place place;
      place.column = column;
      ARROW_ASSIGN_OR_RAISE(place.type, ReadUtf(&in));
      ARROW_ASSIGN_OR_RAISE(int32_t start, in.BE32());
      ARROW_ASSIGN_OR_RAISE(place.length, in.Count("length of an index"));
      place.fed = start != -1;
      place.start = place.fed ? start : head_length;
      if (!place.fed && place.length != 0) return in.Error("index without rows has bytes");
      if (place.start < head_length || place.length > size - place.start)
        return in.Error(fmt::format("index at {} of {} bytes in {}", start, place.length, size));
      container.places_.push_back(std::move(place));
    }
  }
  return container;
}

}  // namespace kelda
