#include "kelda/merge/merge_engine.h"

#include <arrow/compute/api.h>

#include "kelda/base/status.h"

namespace kelda {

namespace {

const int8_t* KindsOf(const MergeWindow& window, const MergeLayout& layout) {
  return window.rows->column(layout.kind_column())->data()->GetValues<int8_t>(1);
}

/// deduplicate and first-row: the row that stays is one of the group's.
class WholeRowEngine : public MergeEngine {
 public:
  WholeRowEngine(bool first, bool ignore_delete, MergeLayout layout)
      : first_(first), ignore_delete_(ignore_delete), layout_(std::move(layout)) {}

  arrow::Result<std::shared_ptr<arrow::RecordBatch>> Merge(const MergeWindow& window) override {
    const int8_t* kinds = KindsOf(window, layout_);
    arrow::Int64Builder winners;
    ARROW_RETURN_NOT_OK(winners.Reserve(static_cast<int64_t>(window.groups())));
    for (size_t g = 0; g < window.groups(); ++g) {
      const int64_t* begin = window.order.data() + window.group_begin[g];
      const int64_t* end = window.order.data() + window.group_begin[g + 1];
      if (end - begin == 1) {
        winners.UnsafeAppend(*begin);
        continue;
      }
      ARROW_ASSIGN_OR_RAISE(int64_t winner, Winner(begin, end, kinds));
      if (winner >= 0) winners.UnsafeAppend(winner);
    }
    ARROW_ASSIGN_OR_RAISE(auto indices, winners.Finish());
    ARROW_ASSIGN_OR_RAISE(auto taken,
                          arrow::compute::Take(arrow::Datum(window.rows), arrow::Datum(indices),
                                               arrow::compute::TakeOptions(false)));
    return taken.record_batch();
  }

 private:
  arrow::Result<int64_t> Winner(const int64_t* begin, const int64_t* end,
                                const int8_t* kinds) const {
    if (first_) {
      int64_t winner = -1;
      for (const int64_t* row = begin; row != end; ++row) {
        if (IsRetract(kinds[*row])) {
          if (ignore_delete_) continue;
          return Invalid(
              "merge engine first-row cannot take DELETE or UPDATE_BEFORE rows; set "
              "'ignore-delete' to ignore them");
        }
        if (winner < 0) winner = *row;
      }
      return winner;
    }
    for (const int64_t* row = end; row != begin; --row) {
      if (!ignore_delete_ || !IsRetract(kinds[row[-1]])) return row[-1];
    }
    return -1;
  }

  const bool first_;
  const bool ignore_delete_;
  const MergeLayout layout_;
};

/// Lookup tables: the row of the lowest level above 0 already holds what lies deeper (spec 02
/// §4.7, LookupMergeFunction).
class LookupEngine : public MergeEngine {
 public:
  explicit LookupEngine(std::unique_ptr<MergeEngine> inner) : inner_(std::move(inner)) {}

  arrow::Result<std::shared_ptr<arrow::RecordBatch>> Merge(const MergeWindow& window) override {
    MergeWindow kept;
    kept.rows = window.rows;
    kept.group_begin.reserve(window.group_begin.size());
    kept.order.reserve(window.order.size());
    for (size_t g = 0; g < window.groups(); ++g) {
      kept.group_begin.push_back(kept.order.size());
      const size_t begin = window.group_begin[g];
      const size_t end = window.group_begin[g + 1];
      int64_t high = -1;
      for (size_t i = begin; i < end; ++i) {
        const int64_t row = window.order[i];
        const int32_t level = window.levels[static_cast<size_t>(row)];
        if (level > 0 && (high < 0 || level < window.levels[static_cast<size_t>(high)])) high = row;
      }
      for (size_t i = begin; i < end; ++i) {
        const int64_t row = window.order[i];
        if (window.levels[static_cast<size_t>(row)] <= 0 || row == high) kept.order.push_back(row);
      }
    }
    kept.group_begin.push_back(kept.order.size());
    return inner_->Merge(kept);
  }

 private:
  std::unique_ptr<MergeEngine> inner_;
};

}  // namespace

arrow::Result<std::unique_ptr<MergeEngine>> MergeEngine::Make(const MergeRules& rules,
                                                              const MergeLayout& layout,
                                                              const Options& options) {
  std::unique_ptr<MergeEngine> engine;
  switch (rules.engine) {
    case MergeEngineKind::kDeduplicate:
    case MergeEngineKind::kFirstRow:
      engine = std::make_unique<WholeRowEngine>(rules.engine == MergeEngineKind::kFirstRow,
                                                rules.ignore_delete, layout);
      break;
    case MergeEngineKind::kPartialUpdate:
    case MergeEngineKind::kAggregation: {
      ARROW_ASSIGN_OR_RAISE(engine, MakeColumnFold(rules, layout, options));
      break;
    }
  }
  if (rules.lookup && rules.engine != MergeEngineKind::kFirstRow)
    return std::make_unique<LookupEngine>(std::move(engine));
  return engine;
}

}  // namespace kelda
