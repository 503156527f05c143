#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "kelda/metadata/manifest.h"

namespace kelda {

/// What one writer of a (partition, bucket) did (spec 02 §9.1, 03 §3.2): handed from writers to the
/// one committer.
struct CommitMessage {
  std::string partition;  ///< serialized row
  int32_t bucket = 0;
  std::optional<int32_t> total_buckets;  ///< nullopt: the table's `bucket` option

  std::vector<DataFileMeta> new_files;
  std::vector<DataFileMeta> deleted_files;
  std::vector<DataFileMeta> compact_before;
  std::vector<DataFileMeta> compact_after;

  /// Index files of the statement's own changes and of its compactions.
  std::vector<IndexFileMeta> new_index_files;
  std::vector<IndexFileMeta> deleted_index_files;
  std::vector<IndexFileMeta> compact_new_index_files;
  std::vector<IndexFileMeta> compact_deleted_index_files;
};

/// One transaction as the committer sees it.
struct Committable {
  int64_t identifier = INT64_MAX;  ///< kBatchCommitIdentifier for batch statements
  std::optional<int64_t> watermark;
  std::map<std::string, std::string> properties;
  std::vector<CommitMessage> messages;
  /// Data evolution: the snapshot whose rows the new files with a first row id complete. Somebody's
  /// change of these rows since then is a conflict (spec 03 §3.6, C7).
  std::optional<int64_t> row_id_check_from;
};

}  // namespace kelda
