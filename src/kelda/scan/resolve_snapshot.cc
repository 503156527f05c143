#include <charconv>

#include "kelda/row/partition_path.h"
#include "kelda/scan/plan.h"

namespace kelda {

namespace {

arrow::Status NoSnapshot(const TableContext& table, int64_t id) {
  ARROW_ASSIGN_OR_RAISE(auto ids, table.snapshots->ListIds());
  if (ids.empty())
    return NotFound("table {}: there is no snapshot {}; the table has none yet", table.name, id);
  return NotFound("table {}: there is no snapshot {}; present are {} to {}", table.name, id,
                  ids.front(), ids.back());
}

arrow::Result<std::optional<Snapshot>> ById(const TableContext& table, int64_t id) {
  auto snapshot = table.snapshots->Read(id);
  if (!snapshot.ok() && IsNotFound(snapshot.status())) return NoSnapshot(table, id);
  ARROW_RETURN_NOT_OK(snapshot.status());
  return *snapshot;
}

arrow::Result<std::optional<Snapshot>> ByTag(const TableContext& table, const std::string& tag) {
  ARROW_ASSIGN_OR_RAISE(bool exists, table.snapshots->TagExists(tag));
  if (!exists) {
    ARROW_ASSIGN_OR_RAISE(auto tags, table.snapshots->ListTags());
    return NotFound("table {}: there is no tag '{}'; present are: {}", table.name, tag,
                    tags.empty() ? "none" : fmt::format("{}", fmt::join(tags, ", ")));
  }
  ARROW_ASSIGN_OR_RAISE(Snapshot snapshot, table.snapshots->ReadTag(tag));
  return snapshot;
}

arrow::Result<std::optional<Snapshot>> ByTime(const TableContext& table, int64_t millis) {
  ARROW_ASSIGN_OR_RAISE(auto snapshot, table.snapshots->AtTime(millis));
  if (snapshot) return snapshot;
  ARROW_ASSIGN_OR_RAISE(auto ids, table.snapshots->ListIds());
  if (ids.empty())
    return NotFound("table {}: no snapshot at or before {} ms; the table has none yet", table.name,
                    millis);
  ARROW_ASSIGN_OR_RAISE(Snapshot earliest, table.snapshots->Read(ids.front()));
  return NotFound("table {}: no snapshot at or before {} ms; the earliest, {}, is of {} ms",
                  table.name, millis, earliest.id, earliest.time_millis);
}

/// `scan.timestamp`: a wall clock of the session zone (spec 04 §6.1).
arrow::Result<int64_t> ParseLocalTime(const std::string& text) {
  const DataType type = DataType::Temporal(TypeRoot::kTimestamp, 3);
  ARROW_ASSIGN_OR_RAISE(auto scalar, CastFromText(type, text));
  const int64_t wall = static_cast<const arrow::TimestampScalar&>(*scalar).value;
  // Two steps settle the offset except inside a change of the clock, where either answer is right.
  int64_t utc = wall - LocalZoneOffsetMillis(wall);
  return wall - LocalZoneOffsetMillis(utc);
}

/// A tag of that name wins, then `watermark-n`, then digits (spec 04 §6.1).
arrow::Result<std::optional<Snapshot>> ByVersion(const TableContext& table,
                                                 const std::string& version) {
  ARROW_ASSIGN_OR_RAISE(bool is_tag, table.snapshots->TagExists(version));
  if (is_tag) return ByTag(table, version);
  if (version.starts_with("watermark-")) {
    return Unsupported("table {}: time travel by watermark (scan.version = '{}')", table.name,
                       version);
  }
  int64_t id = 0;
  auto [end, error] = std::from_chars(version.data(), version.data() + version.size(), id);
  if (error != std::errc() || end != version.data() + version.size()) {
    return NotFound("table {}: '{}' is neither a tag nor the number of a snapshot", table.name,
                    version);
  }
  return ById(table, id);
}

}  // namespace

arrow::Result<std::optional<Snapshot>> ResolveSnapshot(const TableContext& table) {
  const Options& o = table.options;
  std::vector<std::string_view> set;
  if (o.IsSet(OptionKeys::kScanSnapshotId)) set.push_back("scan.snapshot-id");
  if (o.IsSet(OptionKeys::kScanTagName)) set.push_back("scan.tag-name");
  if (o.IsSet(OptionKeys::kScanTimestamp)) set.push_back("scan.timestamp");
  if (o.IsSet(OptionKeys::kScanTimestampMillis)) set.push_back("scan.timestamp-millis");
  if (o.IsSet(OptionKeys::kScanVersion)) set.push_back("scan.version");
  if (o.IsSet(OptionKeys::kScanWatermark)) {
    return Unsupported("table {}: time travel by watermark (scan.watermark)", table.name);
  }
  if (set.size() > 1) {
    return Invalid("table {}: only one of {} can be set", table.name, fmt::join(set, ", "));
  }
  if (set.empty()) return table.snapshots->Latest();
  if (set[0] == "scan.snapshot-id") {
    ARROW_ASSIGN_OR_RAISE(int64_t id, o.Get(OptionKeys::kScanSnapshotId));
    return ById(table, id);
  }
  if (set[0] == "scan.tag-name") {
    ARROW_ASSIGN_OR_RAISE(auto tag, o.Get(OptionKeys::kScanTagName));
    return ByTag(table, tag);
  }
  if (set[0] == "scan.version") {
    ARROW_ASSIGN_OR_RAISE(auto version, o.Get(OptionKeys::kScanVersion));
    return ByVersion(table, version);
  }
  if (set[0] == "scan.timestamp") {
    ARROW_ASSIGN_OR_RAISE(auto text, o.Get(OptionKeys::kScanTimestamp));
    ARROW_ASSIGN_OR_RAISE(int64_t millis, ParseLocalTime(text));
    return ByTime(table, millis);
  }
  ARROW_ASSIGN_OR_RAISE(int64_t millis, o.Get(OptionKeys::kScanTimestampMillis));
  return ByTime(table, millis);
}

arrow::Result<TableContextPtr> ContextForSnapshot(const TableContextPtr& table,
                                                  const std::optional<Snapshot>& snapshot) {
  const Options& o = table->options;
  const bool travels = o.IsSet(OptionKeys::kScanSnapshotId) || o.IsSet(OptionKeys::kScanTagName) ||
                       o.IsSet(OptionKeys::kScanTimestamp) ||
                       o.IsSet(OptionKeys::kScanTimestampMillis) ||
                       o.IsSet(OptionKeys::kScanVersion);
  if (!travels || !snapshot || snapshot->schema_id == table->schema->id) return table;
  return table->WithSchema(snapshot->schema_id);
}

}  // namespace kelda
