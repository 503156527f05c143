#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "kelda/options/options.h"
#include "kelda/row/normalized_key.h"
#include "kelda/types/table_schema.h"

namespace kelda {

enum class MergeEngineKind { kDeduplicate, kFirstRow, kPartialUpdate, kAggregation };

/// Columns of partial-update that change together: only a row that is not older, by the sequence
/// columns, changes them (spec 02 §5.4).
struct SequenceGroup {
  std::vector<std::string> sequence;
  std::vector<std::string> columns;
  bool remove_record = false;  ///< a DELETE with a newer sequence removes the whole row
};

/// How rows of one key become one, as the table's options say it (spec 02 §5). A definition that
/// Java refuses is an error with its condition.
struct MergeRules {
  static arrow::Result<MergeRules> Make(const TableSchema& schema, const Options& options);

  MergeEngineKind engine = MergeEngineKind::kDeduplicate;
  bool ignore_delete = false;
  bool remove_record_on_delete = false;
  /// Lookup tables: of the levels above 0 only the lowest counts (spec 02 §4.7).
  bool lookup = false;
  bool deletion_vectors = false;
  std::vector<std::string> sequence_fields;
  bool sequence_descending = false;
  std::vector<SequenceGroup> groups;
  /// Aggregate function by column; columns without one are not listed.
  std::map<std::string, std::string> functions;

  /// Batch reads leave level 0 out (spec 02 §4.8).
  bool SkipsLevel0() const { return deletion_vectors || engine == MergeEngineKind::kFirstRow; }
  /// `wanted` and the columns that merging it needs too: key, sequence fields, sequence columns of
  /// groups (adjustReadType).
  std::vector<DataField> FieldsToRead(const TableSchema& schema,
                                      const std::vector<DataField>& wanted) const;
};

/// The primary key without partition columns (spec 02 §1.4).
std::vector<std::string> TrimmedPrimaryKey(const TableSchema& schema);

}  // namespace kelda
