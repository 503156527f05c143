#include <algorithm>
#include <map>

#include "kelda/commit/changes.h"

namespace kelda {

namespace {

bool IsBlob(const DataFileMeta& file) { return file.file_name.ends_with(".blob"); }
bool IsVectorStore(const DataFileMeta& file) {
  return file.file_name.find(".vector.") != std::string::npos;
}

bool Assignable(const DataFileMeta& file) {
  if (file.file_source != kFileSourceAppend || file.first_row_id) return false;
  return !file.write_cols || std::find(file.write_cols->begin(), file.write_cols->end(),
                                       "_ROW_ID") == file.write_cols->end();
}

}  // namespace

arrow::Result<int64_t> AssignRowIds(const std::string& table_name, int64_t snapshot_id,
                                    int64_t next_row_id, std::vector<ManifestEntry>* delta) {
  int64_t start = next_row_id;
  int64_t blob_start = next_row_id;  // first id of the normal file before
  std::map<std::string, int64_t> blob_cursors;
  int64_t vector_cursor = next_row_id;
  for (ManifestEntry& entry : *delta) {
    if (entry.kind != EntryKind::kAdd) continue;
    DataFileMeta& file = entry.file;
    if (file.min_sequence_number == 0) {
      file.min_sequence_number = snapshot_id;
      file.max_sequence_number = snapshot_id;
    }
    if (!file.file_source) {
      return Invalid("table {}: data file '{}' without a file source in a row-tracking table",
                     table_name, file.file_name);
    }
    if (!Assignable(file)) continue;
    if (IsBlob(file)) {
      if (!file.write_cols || file.write_cols->empty()) {
        return Invalid("table {}: blob file '{}' does not name its column", table_name,
                       file.file_name);
      }
      int64_t& cursor = blob_cursors.try_emplace((*file.write_cols)[0], blob_start).first->second;
      if (cursor >= start) {
        return Invalid("table {}: blob file '{}' has more rows than the data file before it",
                       table_name, file.file_name);
      }
      file.first_row_id = cursor;
      cursor += file.row_count;
    } else if (IsVectorStore(file)) {
      if (vector_cursor >= start) {
        return Invalid("table {}: vector file '{}' has more rows than the data files before it",
                       table_name, file.file_name);
      }
      file.first_row_id = vector_cursor;
      vector_cursor += file.row_count;
    } else {
      file.first_row_id = start;
      blob_start = start;
      blob_cursors.clear();
      start += file.row_count;
    }
  }
  return start;
}

}  // namespace kelda
