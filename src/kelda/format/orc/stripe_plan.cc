#include "kelda/format/orc/stripe_plan.h"

#include <algorithm>

namespace kelda {
namespace {

constexpr int64_t kIndexBytesMax = 256 << 20;
/// Bytes behind a position of an uncompressed stream that a run reaching over it may have.
constexpr int64_t kRunSlack = 8192;
/// More row groups in a stripe than this are not looked at one by one.
constexpr int64_t kGroupsMax = 1 << 20;

bool IsData(OrcStreamKind kind) {
  return kind == OrcStreamKind::kPresent || kind == OrcStreamKind::kData ||
         kind == OrcStreamKind::kLength || kind == OrcStreamKind::kDictionaryData ||
         kind == OrcStreamKind::kSecondary;
}

bool Contains(const std::vector<uint32_t>& columns, uint32_t column) {
  return std::find(columns.begin(), columns.end(), column) != columns.end();
}

/// Which of a column's positions is the first of its stream `kind`; -1 when the stream has none.
int PositionOf(OrcKind type, OrcEncoding encoding, bool present, bool compressing,
               OrcStreamKind kind) {
  const int plain = compressing ? 2 : 1;
  int at = 0;
  if (kind == OrcStreamKind::kPresent) return at;
  if (present) at += plain + 2;
  const bool dictionary =
      encoding == OrcEncoding::kDictionary || encoding == OrcEncoding::kDictionaryV2;
  switch (type) {
    case OrcKind::kStruct:
      return -1;
    case OrcKind::kList:
    case OrcKind::kMap:
      return kind == OrcStreamKind::kLength ? at : -1;
    case OrcKind::kString:
    case OrcKind::kVarchar:
    case OrcKind::kChar:
    case OrcKind::kBinary:
      if (kind == OrcStreamKind::kData) return at;
      return kind == OrcStreamKind::kLength && !dictionary ? at + plain : -1;
    case OrcKind::kDecimal:
      if (kind == OrcStreamKind::kData) return at;
      return kind == OrcStreamKind::kSecondary ? at + plain : -1;
    case OrcKind::kTimestamp:
    case OrcKind::kTimestampInstant:
      if (kind == OrcStreamKind::kData) return at;
      return kind == OrcStreamKind::kSecondary ? at + plain + 1 : -1;
    default:
      return kind == OrcStreamKind::kData ? at : -1;
  }
}

/// Part of a stream that row groups [first, last) need.
ByteRange PartOf(const OrcStreamInfo& stream, const std::vector<OrcIndexEntry>& entries,
                 size_t position, const OrcGroupRange& groups, const OrcCodec& codec) {
  const auto length = static_cast<int64_t>(stream.length);
  const auto offset_of = [&](size_t group) {
    const auto& positions = entries[group].positions;
    const uint64_t offset = position < positions.size() ? positions[position] : 0;
    return static_cast<int64_t>(std::min<uint64_t>(offset, stream.length));
  };
  const int64_t first = offset_of(groups.first);
  if (groups.last >= entries.size()) return {first, length - first};
  const int64_t last = offset_of(groups.last);
  // A run that reaches over the position takes the chunk there and a few more; they end no later
  // than that many chunk starts behind.
  const int64_t chunks = codec.compressing() ? 2 + kRunSlack / codec.block_size() : 0;
  int64_t end = last + (codec.compressing() ? chunks * (OrcCodec::kHeaderBytes + codec.block_size())
                                            : kRunSlack);
  if (codec.compressing()) {
    int64_t starts = 0;
    int64_t start = last;
    for (size_t group = groups.last; group < entries.size() && starts < chunks; ++group) {
      if (offset_of(group) <= start) continue;
      start = offset_of(group);
      ++starts;
    }
    if (starts == chunks) end = std::min(end, start);
  }
  end = std::clamp(end, first, length);
  return {first, end - first};
}

/// Joins ranges that overlap or touch.
std::vector<ByteRange> Joined(std::vector<ByteRange> ranges) {
  std::sort(ranges.begin(), ranges.end(),
            [](const ByteRange& a, const ByteRange& b) { return a.offset < b.offset; });
  std::vector<ByteRange> out;
  for (const ByteRange& range : ranges) {
    if (range.length == 0) continue;
    if (!out.empty() && range.offset <= out.back().offset + out.back().length) {
      const int64_t end =
          std::max(out.back().offset + out.back().length, range.offset + range.length);
      out.back().length = end - out.back().offset;
    } else {
      out.push_back(range);
    }
  }
  return out;
}

std::vector<ByteRange> PartsOf(OrcFile* file, const OrcStripePlan& plan,
                               const OrcStreamInfo& stream, const OrcRowIndexes& indexes) {
  const auto length = static_cast<int64_t>(stream.length);
  const auto found = indexes.find(stream.column);
  if (plan.whole || found == indexes.end()) return {{0, length}};
  const bool present = std::any_of(
      plan.footer.streams.begin(), plan.footer.streams.end(), [&](const OrcStreamInfo& other) {
        return other.column == stream.column && other.kind == OrcStreamKind::kPresent;
      });
  const int position = PositionOf(file->footer().types[stream.column].kind,
                                  plan.footer.encodings[stream.column].kind, present,
                                  file->codec()->compressing(), stream.kind);
  if (position < 0) return {{0, length}};
  std::vector<ByteRange> parts;
  for (const OrcGroupRange& groups : plan.ranges) {
    if (groups.first >= found->second.size()) return {{0, length}};
    parts.push_back(PartOf(stream, found->second.entries, static_cast<size_t>(position), groups,
                           *file->codec()));
  }
  return Joined(std::move(parts));
}

}  // namespace

arrow::Result<OrcRowIndexes> ReadRowIndexes(OrcFile* file, const OrcStripePlan& plan,
                                            const std::vector<uint32_t>& columns) {
  std::vector<ByteRange> ranges;
  std::vector<uint32_t> owners;
  for (const OrcStreamInfo& stream : plan.footer.streams) {
    if (stream.kind != OrcStreamKind::kRowIndex || !Contains(columns, stream.column)) continue;
    ranges.push_back({static_cast<int64_t>(stream.offset), static_cast<int64_t>(stream.length)});
    owners.push_back(stream.column);
  }
  ARROW_ASSIGN_OR_RAISE(auto buffers, file->ReadRanges(ranges));
  OrcRowIndexes indexes;
  for (size_t i = 0; i < owners.size(); ++i) {
    const std::string where = fmt::format("{}: row index of column {} at byte offset {}",
                                          file->path(), owners[i], ranges[i].offset);
    auto bytes = file->codec()->DecompressAll(std::string_view(*buffers[i]), kIndexBytesMax);
    ARROW_RETURN_NOT_OK(WithContext(bytes.status(), where));
    auto text = std::make_shared<std::string>(std::move(*bytes));
    auto entries = ParseRowIndex(*text);
    ARROW_RETURN_NOT_OK(WithContext(entries.status(), where));
    indexes[owners[i]] = {std::move(*entries), std::move(text)};
  }
  return indexes;
}

arrow::Status ChooseRowGroups(OrcFile* file, const OrcPruning& pruning, const RowRanges* wanted,
                              OrcStripePlan* plan) {
  const int64_t stride = file->footer().row_index_stride;
  const OrcGroupRange all = {0, 1, 0, plan->rows};
  plan->whole = true;
  plan->ranges = {all};
  if (stride == 0 || plan->rows <= stride || plan->rows / stride >= kGroupsMax ||
      (!pruning.active() && wanted == nullptr)) {
    return arrow::Status::OK();
  }
  const auto groups = static_cast<size_t>((plan->rows + stride - 1) / stride);
  OrcRowIndexes indexes;
  if (pruning.active()) {
    ARROW_ASSIGN_OR_RAISE(indexes, ReadRowIndexes(file, *plan, pruning.ColumnsWithBounds()));
  }
  std::vector<OrcGroupRange> chosen;
  for (size_t group = 0; group < groups; ++group) {
    const int64_t first = static_cast<int64_t>(group) * stride;
    const int64_t last = std::min(first + stride, plan->rows);
    if (wanted && !wanted->Overlaps(plan->first_row + first, plan->first_row + last)) continue;
    const bool may_match = pruning.MayMatch(last - first, [&](uint32_t column) -> std::string_view {
      const auto found = indexes.find(column);
      if (found == indexes.end() || found->second.size() != groups) return {};
      return found->second[group].statistics;
    });
    if (!may_match) continue;
    if (!chosen.empty() && chosen.back().last == group) {
      chosen.back().last = group + 1;
      chosen.back().last_row = last;
    } else {
      chosen.push_back({group, group + 1, first, last});
    }
  }
  if (chosen.size() == 1 && chosen[0].first == 0 && chosen[0].last == groups) {
    return arrow::Status::OK();
  }
  plan->whole = false;
  plan->ranges = std::move(chosen);
  return arrow::Status::OK();
}

arrow::Result<std::map<size_t, std::vector<OrcPiece>>> FetchStreams(
    OrcFile* file, const OrcStripePlan& plan, const std::vector<uint32_t>& columns,
    const OrcRowIndexes& indexes) {
  std::vector<ByteRange> ranges;
  std::vector<std::pair<size_t, int64_t>> owners;  // stream, offset in it
  for (size_t i = 0; i < plan.footer.streams.size(); ++i) {
    const OrcStreamInfo& stream = plan.footer.streams[i];
    if (!IsData(stream.kind) || !Contains(columns, stream.column)) continue;
    for (const ByteRange& part : PartsOf(file, plan, stream, indexes)) {
      ranges.push_back({static_cast<int64_t>(stream.offset) + part.offset, part.length});
      owners.emplace_back(i, part.offset);
    }
  }
  ARROW_ASSIGN_OR_RAISE(auto buffers, file->ReadRanges(ranges));
  std::map<size_t, std::vector<OrcPiece>> pieces;
  for (size_t i = 0; i < owners.size(); ++i) {
    pieces[owners[i].first].push_back({owners[i].second, std::move(buffers[i])});
  }
  return pieces;
}

int64_t StreamBytes(const OrcStripePlan& plan, const std::vector<uint32_t>& columns) {
  int64_t bytes = 0;
  for (const OrcStreamInfo& stream : plan.footer.streams) {
    if (IsData(stream.kind) && Contains(columns, stream.column)) {
      bytes += static_cast<int64_t>(stream.length);
    }
  }
  return bytes;
}

}  // namespace kelda
