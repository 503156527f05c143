#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "kelda/metadata/snapshot.h"
#include "kelda/metadata/table_context.h"

namespace kelda {

/// Seconds and the nanoseconds (0 … 999,999,999) that come on top.
struct SecondsAndNanos {
  int64_t seconds = 0;
  int32_t nanos = 0;
  bool operator==(const SecondsAndNanos&) const = default;
};

/// A tag file (spec 01 §8.2): a snapshot that stays, and perhaps how long. Plain value; members
/// that this version does not know survive a rewrite in snapshot.unknown.
struct Tag {
  Snapshot snapshot;
  /// Wall clock of the zone of whoever made the tag, as if it were UTC.
  std::optional<SecondsAndNanos> create_time;
  std::optional<SecondsAndNanos> time_retained;

  std::string ToJsonText() const;
  static arrow::Result<Tag> FromJsonText(std::string_view text, std::string_view source_name);
};

/// kNotFound when there is no such tag on the table's branch.
arrow::Result<Tag> ReadTag(const TableContext& table, const std::string& name);

/// java.time.Duration.toString: `PT24H`.
std::string DurationText(const SecondsAndNanos& duration);
/// The reverse; nullopt for other texts.
std::optional<SecondsAndNanos> ParseDurationText(std::string_view text);

}  // namespace kelda
