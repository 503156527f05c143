#include "kelda/format/stats_mode.h"

#include <algorithm>
#include <charconv>

#include <arrow/scalar.h>

namespace kelda {
namespace {

constexpr uint32_t kCodePointMax = 0x10FFFF;
constexpr uint32_t kInvalid = 0xFFFFFFFF;

/// Length in bytes of the UTF-8 sequence that starts at `text[at]`; 1 for a byte that starts none.
size_t SequenceLength(std::string_view text, size_t at) {
  auto lead = static_cast<uint8_t>(text[at]);
  size_t length = lead < 0x80 ? 1 : lead >= 0xF0 && lead < 0xF8 ? 4 : lead >= 0xE0 ? 3 : 2;
  if (lead >= 0x80 && (lead < 0xC0 || lead >= 0xF8)) return 1;
  if (at + length > text.size()) return 1;
  for (size_t i = 1; i < length; ++i) {
    if ((static_cast<uint8_t>(text[at + i]) & 0xC0) != 0x80) return 1;
  }
  return length;
}

uint32_t DecodeCodePoint(std::string_view sequence) {
  auto byte = [&](size_t i) { return static_cast<uint32_t>(static_cast<uint8_t>(sequence[i])); };
  switch (sequence.size()) {
    case 1:
      return byte(0) < 0x80 ? byte(0) : kInvalid;
    case 2:
      return (byte(0) & 0x1F) << 6 | (byte(1) & 0x3F);
    case 3:
      return (byte(0) & 0x0F) << 12 | (byte(1) & 0x3F) << 6 | (byte(2) & 0x3F);
    default:
      return (byte(0) & 0x07) << 18 | (byte(1) & 0x3F) << 12 | (byte(2) & 0x3F) << 6 |
             (byte(3) & 0x3F);
  }
}

void AppendCodePoint(uint32_t c, std::string* out) {
  auto put = [&](uint32_t byte) { out->push_back(static_cast<char>(byte)); };
  if (c < 0x80) {
    put(c);
  } else if (c < 0x800) {
    put(0xC0 | c >> 6);
    put(0x80 | (c & 0x3F));
  } else if (c < 0x10000) {
    put(0xE0 | c >> 12);
    put(0x80 | (c >> 6 & 0x3F));
    put(0x80 | (c & 0x3F));
  } else {
    put(0xF0 | c >> 18);
    put(0x80 | (c >> 12 & 0x3F));
    put(0x80 | (c >> 6 & 0x3F));
    put(0x80 | (c & 0x3F));
  }
}

/// Ends of the first `code_points` sequences of `text`.
std::vector<size_t> SequenceEnds(std::string_view text, int32_t code_points) {
  std::vector<size_t> ends;
  size_t at = 0;
  while (at < text.size() && static_cast<int32_t>(ends.size()) < code_points) {
    at += SequenceLength(text, at);
    ends.push_back(at);
  }
  return ends;
}

}  // namespace

arrow::Result<StatsMode> ParseStatsMode(std::string_view text) {
  std::string lower(text);
  std::transform(lower.begin(), lower.end(), lower.begin(),
                 [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  if (lower == "none") return StatsMode::None();
  if (lower == "counts") return StatsMode::Counts();
  if (lower == "full") return StatsMode::Full();
  constexpr std::string_view kPrefix = "truncate(";
  if (lower.starts_with(kPrefix) && lower.ends_with(")")) {
    int32_t length = 0;
    const char* first = lower.data() + kPrefix.size();
    const char* last = lower.data() + lower.size() - 1;
    auto [end, error] = std::from_chars(first, last, length);
    if (error == std::errc() && end == last && length > 0) return StatsMode::Truncate(length);
  }
  return Invalid("statistics mode '{}' is none of none, counts, truncate(n) with n > 0, full",
                 text);
}

std::string TruncateStringMin(std::string_view text, int32_t code_points) {
  auto ends = SequenceEnds(text, code_points);
  return std::string(text.substr(0, ends.empty() ? 0 : ends.back()));
}

std::optional<std::string> TruncateStringMax(std::string_view text, int32_t code_points) {
  auto ends = SequenceEnds(text, code_points);
  if (ends.empty() || ends.back() == text.size()) return std::string(text);
  for (size_t i = ends.size(); i-- > 0;) {
    size_t start = i == 0 ? 0 : ends[i - 1];
    uint32_t c = DecodeCodePoint(text.substr(start, ends[i] - start));
    if (c == kInvalid) return std::nullopt;
    if (c >= kCodePointMax) continue;
    // The surrogate gap has no UTF-8 form: U+E000 follows U+D7FF (spec 01 §5.7).
    c = c == 0xD7FF ? 0xE000 : c + 1;
    std::string out(text.substr(0, start));
    AppendCodePoint(c, &out);
    return out;
  }
  return std::nullopt;
}

FileColumnStats ApplyStatsMode(const StatsMode& mode, FileColumnStats stats) {
  switch (mode.kind) {
    case StatsMode::Kind::kNone:
      return {};
    case StatsMode::Kind::kCounts:
      return {nullptr, nullptr, stats.null_count};
    case StatsMode::Kind::kFull:
      return stats;
    case StatsMode::Kind::kTruncate:
      break;
  }
  if (!stats.min || !stats.max || stats.min->type->id() != arrow::Type::STRING) return stats;
  auto text = [](const arrow::Scalar& s) {
    return std::string_view(*static_cast<const arrow::StringScalar&>(s).value);
  };
  auto max = TruncateStringMax(text(*stats.max), mode.length);
  if (!max) return {nullptr, nullptr, stats.null_count};
  return {std::make_shared<arrow::StringScalar>(TruncateStringMin(text(*stats.min), mode.length)),
          std::make_shared<arrow::StringScalar>(*max), stats.null_count};
}

}  // namespace kelda
