#pragma once

#include <string>
#include <string_view>

#include "kelda/base/status.h"
#include "kelda/format/file_format.h"

namespace kelda {

/// What is kept of a column's statistics in a manifest (spec 01 §5.7): the value of
/// `metadata.stats-mode` and `fields.<column>.stats-mode`.
struct StatsMode {
  enum class Kind { kNone, kCounts, kTruncate, kFull };
  Kind kind = Kind::kTruncate;
  int32_t length = 16;  ///< code points, for kTruncate

  static StatsMode None() { return {Kind::kNone, 0}; }
  static StatsMode Counts() { return {Kind::kCounts, 0}; }
  static StatsMode Truncate(int32_t length) { return {Kind::kTruncate, length}; }
  static StatsMode Full() { return {Kind::kFull, 0}; }
  bool operator==(const StatsMode&) const = default;
};

/// `none`, `counts`, `truncate(n)` with n > 0, `full`; case does not matter.
arrow::Result<StatsMode> ParseStatsMode(std::string_view text);

/// Exact statistics of a column cut down to what `mode` keeps. Only strings are shortened; the
/// result is still a lower and an upper bound.
FileColumnStats ApplyStatsMode(const StatsMode& mode, FileColumnStats stats);

/// First `code_points` code points of `text`.
std::string TruncateStringMin(std::string_view text, int32_t code_points);
/// Smallest-effort upper bound of `text` with at most `code_points` code points; nullopt if there
/// is none, or if the text is not valid UTF-8.
std::optional<std::string> TruncateStringMax(std::string_view text, int32_t code_points);

}  // namespace kelda
