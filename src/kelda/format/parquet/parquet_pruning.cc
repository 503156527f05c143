#include "kelda/format/parquet/parquet_pruning.h"

#include <algorithm>

#include <parquet/metadata.h>
#include <parquet/page_index.h>
#include <parquet/statistics.h>

#include "kelda/format/parquet/leaf_values.h"
#include "kelda/format/parquet/read_tree.h"

namespace kelda {
namespace {

/// More pages in a chunk than this are not looked at one by one.
constexpr size_t kPagesMax = 100000;
/// Fewer rows between two wanted ones are read with them.
constexpr int64_t kGapRowsMin = 1024;

bool HasDefinedOrder(const parquet::ColumnDescriptor& leaf) {
  return leaf.column_order().get_order() == parquet::ColumnOrder::TYPE_DEFINED_ORDER &&
         leaf.sort_order() != parquet::SortOrder::UNKNOWN;
}

}  // namespace

std::vector<RowRange> WantedParts(const std::vector<RowRange>& ranges, const RowRanges& wanted,
                                  int64_t first_row) {
  std::vector<RowRange> parts;
  const auto& all = wanted.ranges();
  for (const RowRange& range : ranges) {
    auto next = std::partition_point(all.begin(), all.end(), [&](const RowRanges::Range& r) {
      return r.end <= first_row + range.first;
    });
    for (; next != all.end() && next->begin < first_row + range.last; ++next) {
      const RowRange part{std::max(range.first, next->begin - first_row),
                          std::min(range.last, next->end - first_row)};
      if (!parts.empty() && part.first - parts.back().last < kGapRowsMin) {
        parts.back().last = part.last;
      } else {
        parts.push_back(part);
      }
    }
  }
  return parts;
}

std::vector<int64_t> PageStarts(const parquet::OffsetIndex* index, int64_t rows) {
  std::vector<int64_t> starts;
  if (index == nullptr || index->page_locations().size() > kPagesMax) return starts;
  for (const auto& page : index->page_locations()) {
    const int64_t first = page.first_row_index;
    if (first < 0 || first >= rows || (starts.empty() ? first != 0 : first <= starts.back())) {
      return {};
    }
    starts.push_back(first);
  }
  if (!starts.empty()) starts.push_back(rows);
  return starts;
}

class ParquetPruning::GroupBounds : public BoundsSource {
 public:
  GroupBounds(const ParquetPruning& owner, const parquet::RowGroupMetaData& group)
      : owner_(owner), group_(group) {}

  int64_t row_count() const override { return group_.num_rows(); }

  std::optional<ColumnBounds> Bounds(const std::vector<std::string>& path) const override {
    for (const auto& column : owner_.columns_) {
      if (column.path != path) continue;
      if (column.missing) return ColumnBounds{nullptr, nullptr, row_count()};
      if (column.ordinal < 0) return std::nullopt;
      auto chunk = group_.ColumnChunk(column.ordinal);
      if (!chunk->is_stats_set()) return std::nullopt;
      auto encoded = chunk->encoded_statistics();
      if (encoded == nullptr) return std::nullopt;
      ColumnBounds bounds;
      if (encoded->has_null_count) bounds.null_count = encoded->null_count;
      if (column.conversion && encoded->has_min && encoded->has_max) {
        bounds.min = column.conversion->Bound(encoded->min(), false);
        bounds.max = column.conversion->Bound(encoded->max(), true);
      }
      return bounds;
    }
    return std::nullopt;
  }

 private:
  const ParquetPruning& owner_;
  const parquet::RowGroupMetaData& group_;
};

/// Bounds of a range of rows that lies within one page of each column.
class ParquetPruning::PageBounds : public BoundsSource {
 public:
  struct Pages {
    std::vector<int64_t> starts;  ///< empty: nothing known
    std::shared_ptr<parquet::ColumnIndex> index;
  };

  PageBounds(const ParquetPruning& owner, const parquet::RowGroupMetaData& group,
             parquet::RowGroupPageIndexReader* reader, const GroupBounds& whole)
      : owner_(owner), whole_(whole) {
    for (const auto& column : owner.columns_) {
      pages_.emplace_back();
      if (column.ordinal < 0) continue;
      Pages& pages = pages_.back();
      pages.index = reader->GetColumnIndex(column.ordinal);
      auto offsets = reader->GetOffsetIndex(column.ordinal);
      if (pages.index == nullptr) continue;
      pages.starts = PageStarts(offsets.get(), group.num_rows());
      if (!Consistent(pages)) pages.starts.clear();
    }
  }

  const std::vector<Pages>& pages() const { return pages_; }
  void SetRange(RowRange range) { range_ = range; }
  int64_t row_count() const override { return range_.length(); }

  std::optional<ColumnBounds> Bounds(const std::vector<std::string>& path) const override {
    for (size_t i = 0; i < owner_.columns_.size(); ++i) {
      const Column& column = owner_.columns_[i];
      if (column.path != path) continue;
      if (column.missing) return ColumnBounds{nullptr, nullptr, row_count()};
      const Pages& pages = pages_[i];
      if (pages.starts.empty()) return WholeBounds(path);
      auto after = std::upper_bound(pages.starts.begin(), pages.starts.end(), range_.first);
      return PageOf(column, pages, static_cast<size_t>(after - pages.starts.begin()) - 1);
    }
    return std::nullopt;
  }

 private:
  static bool Consistent(const Pages& pages) {
    if (pages.starts.empty()) return false;
    const size_t count = pages.starts.size() - 1;
    return pages.index->null_pages().size() == count &&
           pages.index->encoded_min_values().size() == count &&
           pages.index->encoded_max_values().size() == count &&
           (!pages.index->has_null_counts() || pages.index->null_counts().size() == count);
  }

  /// Minimum and maximum of the row group hold for a part of it, its null count does only when it
  /// is zero.
  std::optional<ColumnBounds> WholeBounds(const std::vector<std::string>& path) const {
    auto bounds = whole_.Bounds(path);
    if (bounds && bounds->null_count == whole_.row_count()) {
      bounds->null_count = row_count();
    } else if (bounds && bounds->null_count != 0) {
      bounds->null_count.reset();
    }
    return bounds;
  }

  ColumnBounds PageOf(const Column& column, const Pages& pages, size_t page) const {
    if (pages.index->null_pages()[page]) return {nullptr, nullptr, row_count()};
    ColumnBounds bounds;
    if (pages.index->has_null_counts()) {
      const int64_t nulls = pages.index->null_counts()[page];
      if (nulls == 0) bounds.null_count = 0;
      if (nulls == pages.starts[page + 1] - pages.starts[page]) bounds.null_count = row_count();
    }
    if (column.conversion) {
      bounds.min = column.conversion->Bound(pages.index->encoded_min_values()[page], false);
      bounds.max = column.conversion->Bound(pages.index->encoded_max_values()[page], true);
    }
    return bounds;
  }

  const ParquetPruning& owner_;
  const GroupBounds& whole_;
  std::vector<Pages> pages_;
  RowRange range_;
};

arrow::Result<ParquetPruning> ParquetPruning::Make(parquet::ParquetFileReader* file,
                                                   PredicatePtr predicate) {
  ParquetPruning pruning;
  pruning.file_ = file;
  pruning.predicate_ = std::move(predicate);
  if (pruning.predicate_) {
    pruning.CollectColumns(*pruning.predicate_);
    ARROW_RETURN_NOT_OK(pruning.ResolveColumns());
  }
  return pruning;
}

void ParquetPruning::CollectColumns(const Predicate& predicate) {
  for (const auto& child : predicate.children) {
    if (child) CollectColumns(*child);
  }
  if (predicate.column.empty()) return;
  auto it = std::find_if(columns_.begin(), columns_.end(),
                         [&](const Column& c) { return c.path == predicate.column; });
  if (it == columns_.end()) {
    columns_.emplace_back();
    it = columns_.end() - 1;
    it->path = predicate.column;
  }
  for (const auto& literal : predicate.literals) {
    if (literal && !it->type && literal->type->id() != arrow::Type::NA) it->type = literal->type;
  }
}

arrow::Status ParquetPruning::ResolveColumns() {
  const parquet::SchemaDescriptor& schema = *file_->metadata()->schema();
  for (auto& column : columns_) {
    column.missing = !HasColumn(schema, column.path[0]);
    const auto* leaf = FindFlatLeaf(schema, column.path, &column.ordinal);
    if (leaf == nullptr) {
      column.ordinal = -1;
      continue;
    }
    if (!column.type || !HasDefinedOrder(*leaf)) continue;
    // A form that does not fit the literal's type gives no bounds; reading the column will tell.
    auto conversion = LeafConversion::Make(*leaf, column.type, column.path.back());
    if (conversion.ok()) column.conversion = std::make_shared<LeafConversion>(*conversion);
  }
  return arrow::Status::OK();
}

arrow::Result<std::vector<RowRange>> ParquetPruning::RowsToRead(int row_group) const {
  auto group = file_->metadata()->RowGroup(row_group);
  const int64_t rows = group->num_rows();
  if (rows == 0) return std::vector<RowRange>{};
  if (!predicate_) return std::vector<RowRange>{{0, rows}};
  if (!MayMatch(*predicate_, GroupBounds(*this, *group))) return std::vector<RowRange>{};
  return PagesToRead(row_group, rows);
}

std::vector<RowRange> ParquetPruning::PagesToRead(int row_group, int64_t rows) const {
  const std::vector<RowRange> all = {{0, rows}};
  auto index = file_->GetPageIndexReader();
  auto reader = index ? index->RowGroup(row_group) : nullptr;
  if (reader == nullptr) return all;
  auto group = file_->metadata()->RowGroup(row_group);
  GroupBounds whole(*this, *group);
  PageBounds bounds(*this, *group, reader.get(), whole);
  std::vector<int64_t> cuts = {0, rows};
  for (const auto& pages : bounds.pages()) {
    cuts.insert(cuts.end(), pages.starts.begin(), pages.starts.end());
  }
  std::sort(cuts.begin(), cuts.end());
  cuts.erase(std::unique(cuts.begin(), cuts.end()), cuts.end());
  if (cuts.size() <= 2) return all;
  std::vector<RowRange> out;
  for (size_t i = 0; i + 1 < cuts.size(); ++i) {
    RowRange range{cuts[i], cuts[i + 1]};
    bounds.SetRange(range);
    if (!MayMatch(*predicate_, bounds)) continue;
    if (!out.empty() && out.back().last == range.first) {
      out.back().last = range.last;
    } else {
      out.push_back(range);
    }
  }
  return out;
}

}  // namespace kelda
