#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>

#include <nlohmann/json.hpp>

#include "kelda/base/status.h"

namespace kelda {

enum class CommitKind { kAppend, kCompact, kOverwrite, kAnalyze };

std::string_view ToString(CommitKind kind);
arrow::Result<CommitKind> ParseCommitKind(std::string_view text);

/// One snapshot file (spec 01 §3). Plain value. `unknown` keeps keys that this version does not
/// model, so that a copy into a tag or changelog file loses nothing.
struct Snapshot {
  int32_t version = 3;
  int64_t id = 0;
  int64_t schema_id = 0;
  std::string base_manifest_list;
  std::optional<int64_t> base_manifest_list_size;
  std::string delta_manifest_list;
  std::optional<int64_t> delta_manifest_list_size;
  std::optional<std::string> changelog_manifest_list;
  std::optional<int64_t> changelog_manifest_list_size;
  std::optional<std::string> index_manifest;
  std::string commit_user;
  int64_t commit_identifier = 0;
  CommitKind commit_kind = CommitKind::kAppend;
  int64_t time_millis = 0;
  int64_t total_record_count = 0;
  int64_t delta_record_count = 0;
  std::optional<int64_t> changelog_record_count;
  std::optional<int64_t> watermark;
  std::optional<std::string> statistics;
  std::map<std::string, std::string> properties;
  std::optional<int64_t> next_row_id;
  std::optional<std::string> operation;  ///< written by 2.x only
  nlohmann::ordered_json unknown = nlohmann::ordered_json::object();

  std::string ToJsonText() const;
  static arrow::Result<Snapshot> FromJsonText(std::string_view text, std::string_view source_name);
};

/// Identifier of batch commits.
inline constexpr int64_t kBatchCommitIdentifier = INT64_MAX;

}  // namespace kelda
