#include <algorithm>

#include <arrow/compute/api.h>

#include "kelda/base/status.h"
#include "kelda/merge/aggregator.h"
#include "kelda/merge/merge_engine.h"

namespace kelda {

namespace {

/// One column of the layout while groups are folded.
struct FoldColumn {
  std::unique_ptr<Aggregator> aggregator;  ///< null: the value is that of some row
  int group = -1;                          ///< sequence group that guards it
  bool is_sequence = false;                ///< of that group
  std::shared_ptr<arrow::Array> values;    ///< of the window
  int64_t winner = -1;                     ///< row of the value; -1: NULL
  std::vector<int64_t> winners;            ///< of the groups so far
};

/// A sequence group while groups of rows are folded. All its sequence columns come from one row.
struct FoldGroup {
  std::vector<SortColumn> sequence;
  bool remove_record = false;
  NormalizedKeys keys;  ///< of the sequence columns of each row of the window
  int64_t row = -1;     ///< whose sequence is in force; -1: all NULL
};

class ColumnFold : public MergeEngine {
 public:
  ColumnFold(MergeRules rules, MergeLayout layout)
      : rules_(std::move(rules)), layout_(std::move(layout)) {}

  arrow::Status Init(const Options& options) {
    for (const SequenceGroup& group : rules_.groups) {
      FoldGroup fold;
      fold.remove_record = group.remove_record;
      for (const std::string& name : group.sequence) {
        const int column = ColumnOf(name);
        if (column >= 0) {
          fold.sequence.push_back(
              {column, layout_.fields[static_cast<size_t>(column)].type, false});
        }
      }
      // A group of which nothing is read plays no part.
      if (fold.sequence.size() != group.sequence.size()) continue;
      const int index = static_cast<int>(groups_.size());
      for (const auto* names : {&group.sequence, &group.columns}) {
        for (const std::string& name : *names) group_of_[name] = index;
      }
      for (const std::string& name : group.sequence) sequence_names_.push_back(name);
      groups_.push_back(std::move(fold));
    }
    for (const DataField& field : layout_.fields) {
      FoldColumn column;
      const auto group = group_of_.find(field.name);
      if (group != group_of_.end()) column.group = group->second;
      column.is_sequence = std::find(sequence_names_.begin(), sequence_names_.end(), field.name) !=
                           sequence_names_.end();
      const auto function = rules_.functions.find(field.name);
      if (function != rules_.functions.end() && function->second != "primary-key") {
        ARROW_ASSIGN_OR_RAISE(column.aggregator, MakeAggregator(function->second, field, options));
      } else if (rules_.engine == MergeEngineKind::kAggregation) {
        ARROW_ASSIGN_OR_RAISE(column.aggregator, MakeAggregator("primary-key", field, options));
      }
      columns_.push_back(std::move(column));
    }
    return arrow::Status::OK();
  }

  arrow::Result<std::shared_ptr<arrow::RecordBatch>> Merge(const MergeWindow& window) override {
    ARROW_RETURN_NOT_OK(Start(window));
    arrow::Int8Builder result_kinds;
    arrow::Int64Builder sequence_rows;
    for (size_t g = 0; g < window.groups(); ++g) {
      const int64_t* begin = window.order.data() + window.group_begin[g];
      const int64_t* end = window.order.data() + window.group_begin[g + 1];
      for (FoldColumn& column : columns_) {
        column.winner = -1;
        if (column.aggregator != nullptr) column.aggregator->Reset();
      }
      int8_t kind = kInsertKind;
      int64_t last = begin[0];
      if (end - begin == 1) {
        ARROW_RETURN_NOT_OK(CopyRow(*begin));
        kind = kinds_[*begin];
      } else if (rules_.engine == MergeEngineKind::kAggregation) {
        ARROW_ASSIGN_OR_RAISE(kind, Aggregate(begin, end));
        last = end[-1];
      } else {
        ARROW_ASSIGN_OR_RAISE(kind, PartialUpdate(begin, end, &last));
      }
      ARROW_RETURN_NOT_OK(result_kinds.Append(kind));
      ARROW_RETURN_NOT_OK(sequence_rows.Append(last));
      for (FoldColumn& column : columns_) {
        if (column.aggregator != nullptr) {
          ARROW_RETURN_NOT_OK(column.aggregator->Append());
        } else {
          column.winners.push_back(column.winner);
        }
      }
    }
    return Finish(window, &result_kinds, &sequence_rows);
  }

 private:
  int ColumnOf(const std::string& name) const {
    for (size_t i = 0; i < layout_.fields.size(); ++i) {
      if (layout_.fields[i].name == name) return static_cast<int>(i);
    }
    return -1;
  }

  arrow::Status Start(const MergeWindow& window) {
    kinds_ = window.rows->column(layout_.kind_column())->data()->GetValues<int8_t>(1);
    for (size_t c = 0; c < columns_.size(); ++c) {
      FoldColumn& column = columns_[c];
      column.values = window.rows->column(static_cast<int>(c));
      column.winners.clear();
      if (column.aggregator != nullptr)
        ARROW_RETURN_NOT_OK(column.aggregator->Start(column.values));
    }
    for (FoldGroup& group : groups_) {
      ARROW_ASSIGN_OR_RAISE(
          group.keys, NormalizedKeys::Encode(*window.rows, group.sequence, group.sequence.size()));
    }
    return arrow::Status::OK();
  }

  /// The accumulated row becomes `row`, NULLs included.
  arrow::Status CopyRow(int64_t row) {
    for (FoldColumn& column : columns_) {
      column.winner = row;
      if (column.aggregator != nullptr) ARROW_RETURN_NOT_OK(column.aggregator->Copy(row));
    }
    for (FoldGroup& group : groups_) group.row = row;
    return arrow::Status::OK();
  }

  arrow::Result<int8_t> Aggregate(const int64_t* begin, const int64_t* end) {
    bool removed = false;
    for (const int64_t* row = begin; row != end; ++row) {
      const int8_t kind = kinds_[*row];
      removed = rules_.remove_record_on_delete && kind == kDeleteKind;
      if (removed) {
        ARROW_RETURN_NOT_OK(CopyRow(*row));
        continue;
      }
      for (FoldColumn& column : columns_) {
        ARROW_RETURN_NOT_OK(IsRetract(kind) ? column.aggregator->Retract(*row)
                                            : column.aggregator->Aggregate(*row));
      }
    }
    return removed ? kDeleteKind : kInsertKind;
  }

  arrow::Result<int8_t> PartialUpdate(const int64_t* begin, const int64_t* end, int64_t* last) {
    bool filled = false;
    bool met_insert = false;
    bool delete_row = false;
    for (FoldGroup& group : groups_) group.row = -1;
    for (const int64_t* row = begin; row != end; ++row) {
      delete_row = false;
      const int8_t kind = kinds_[*row];
      if (!IsRetract(kind)) {
        *last = *row;
        ARROW_RETURN_NOT_OK(Update(*row));
        met_insert = filled = true;
        continue;
      }
      if (!filled) {
        ARROW_RETURN_NOT_OK(CopyRow(*row));
        filled = true;
      }
      if (rules_.ignore_delete) continue;
      *last = *row;
      if (!groups_.empty()) {
        ARROW_ASSIGN_OR_RAISE(delete_row, Retract(*row, kind));
      } else if (rules_.remove_record_on_delete) {
        if (kind == kDeleteKind) {
          delete_row = true;
          ARROW_RETURN_NOT_OK(CopyRow(*row));
        }
      } else if (rules_.groups.empty()) {
        return Invalid(
            "merge engine partial-update cannot take DELETE or UPDATE_BEFORE rows; set "
            "'ignore-delete', 'partial-update.remove-record-on-delete' or sequence groups");
      }
    }
    return delete_row || !met_insert ? kDeleteKind : kInsertKind;
  }

  enum class Age { kNoSequence, kNewer, kOlder };

  /// Of `row` against the sequence in force; a row whose sequence is all NULL says nothing.
  Age AgeOf(const FoldGroup& group, int64_t row) const {
    bool all_null = true;
    for (const SortColumn& column : group.sequence)
      all_null = all_null && columns_[static_cast<size_t>(column.index)].values->IsNull(row);
    if (all_null) return Age::kNoSequence;
    if (group.row < 0) return Age::kNewer;
    return group.keys.Key(row) >= group.keys.Key(group.row) ? Age::kNewer : Age::kOlder;
  }

  std::vector<Age> AgesOf(int64_t row) const {
    std::vector<Age> ages;
    for (const FoldGroup& group : groups_) ages.push_back(AgeOf(group, row));
    return ages;
  }

  arrow::Status Update(int64_t row) {
    const std::vector<Age> ages = AgesOf(row);
    for (FoldColumn& column : columns_) {
      if (column.group < 0) {
        if (column.aggregator != nullptr) {
          ARROW_RETURN_NOT_OK(column.aggregator->Aggregate(row));
        } else if (column.values->IsValid(row)) {
          column.winner = row;
        }
        continue;
      }
      switch (ages[static_cast<size_t>(column.group)]) {
        case Age::kNoSequence:
          break;
        case Age::kNewer:
          if (column.aggregator != nullptr) {
            ARROW_RETURN_NOT_OK(column.aggregator->Aggregate(row));
          } else {
            column.winner = row;
          }
          break;
        case Age::kOlder:
          if (column.aggregator != nullptr)
            ARROW_RETURN_NOT_OK(column.aggregator->AggregateReversed(row));
          break;
      }
    }
    MoveSequences(ages, row);
    return arrow::Status::OK();
  }

  /// True when the row removes the record.
  arrow::Result<bool> Retract(int64_t row, int8_t kind) {
    const std::vector<Age> ages = AgesOf(row);
    if (kind == kDeleteKind) {
      for (size_t g = 0; g < groups_.size(); ++g) {
        if (ages[g] != Age::kNewer || !groups_[g].remove_record) continue;
        ARROW_RETURN_NOT_OK(CopyRow(row));
        return true;
      }
    }
    for (FoldColumn& column : columns_) {
      if (column.group < 0) continue;
      const Age age = ages[static_cast<size_t>(column.group)];
      if (age == Age::kNoSequence) continue;
      if (column.aggregator != nullptr) {
        ARROW_RETURN_NOT_OK(column.aggregator->Retract(row));
      } else if (age == Age::kNewer) {
        column.winner = column.is_sequence ? row : -1;
      }
    }
    MoveSequences(ages, row);
    return false;
  }

  void MoveSequences(const std::vector<Age>& ages, int64_t row) {
    for (size_t g = 0; g < groups_.size(); ++g) {
      if (ages[g] == Age::kNewer) groups_[g].row = row;
    }
  }

  arrow::Result<std::shared_ptr<arrow::RecordBatch>> Finish(const MergeWindow& window,
                                                            arrow::Int8Builder* result_kinds,
                                                            arrow::Int64Builder* sequence_rows) {
    arrow::ArrayVector result;
    for (FoldColumn& column : columns_) {
      if (column.aggregator != nullptr) {
        ARROW_ASSIGN_OR_RAISE(auto folded, column.aggregator->Finish());
        result.push_back(std::move(folded));
        continue;
      }
      arrow::Int64Builder indices;
      ARROW_RETURN_NOT_OK(indices.Reserve(static_cast<int64_t>(column.winners.size())));
      for (int64_t winner : column.winners) {
        if (winner < 0) {
          indices.UnsafeAppendNull();
        } else {
          indices.UnsafeAppend(winner);
        }
      }
      ARROW_ASSIGN_OR_RAISE(auto taken, TakeRows(column.values, &indices));
      result.push_back(std::move(taken));
    }
    ARROW_ASSIGN_OR_RAISE(
        auto sequence,
        TakeRows(window.rows->column(layout_.sequence_number_column()), sequence_rows));
    result.push_back(std::move(sequence));
    ARROW_ASSIGN_OR_RAISE(auto kinds, result_kinds->Finish());
    result.push_back(std::move(kinds));
    return arrow::RecordBatch::Make(window.rows->schema(), static_cast<int64_t>(window.groups()),
                                    std::move(result));
  }

  static arrow::Result<std::shared_ptr<arrow::Array>> TakeRows(
      const std::shared_ptr<arrow::Array>& values, arrow::Int64Builder* rows) {
    ARROW_ASSIGN_OR_RAISE(auto indices, rows->Finish());
    ARROW_ASSIGN_OR_RAISE(auto taken,
                          arrow::compute::Take(arrow::Datum(values), arrow::Datum(indices),
                                               arrow::compute::TakeOptions(false)));
    return taken.make_array();
  }

  const MergeRules rules_;
  const MergeLayout layout_;
  std::vector<FoldColumn> columns_;
  std::vector<FoldGroup> groups_;
  std::map<std::string, int> group_of_;
  std::vector<std::string> sequence_names_;
  const int8_t* kinds_ = nullptr;
};

}  // namespace

arrow::Result<std::unique_ptr<MergeEngine>> MakeColumnFold(const MergeRules& rules,
                                                           const MergeLayout& layout,
                                                           const Options& options) {
  auto fold = std::make_unique<ColumnFold>(rules, layout);
  ARROW_RETURN_NOT_OK(fold->Init(options));
  return fold;
}

}  // namespace kelda
