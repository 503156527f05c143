#include "kelda/merge/group_merger.h"

#include <algorithm>

#include <arrow/array/concatenate.h>

#include "kelda/base/status.h"

namespace kelda {

std::vector<SortColumn> MergeLayout::Order() const {
  std::vector<SortColumn> order;
  for (int column : key_columns)
    order.push_back({column, fields[static_cast<size_t>(column)].type, false});
  order.insert(order.end(), sequence.begin(), sequence.end());
  order.push_back({sequence_number_column(), DataType(TypeRoot::kBigInt), false});
  return order;
}

/// Where a run stands.
struct GroupMerger::Cursor {
  std::unique_ptr<SortedRun> run;
  size_t index = 0;
  RunBatch batch;
  NormalizedKeys keys;
  int64_t row = 0;
  uint64_t prefix = 0;            ///< first eight bytes of the current row's key
  std::string last_key;           ///< of the batch before
  std::optional<uint32_t> slice;  ///< of the window under way
  bool done = false;

  std::string_view Whole() const { return keys.Whole(row); }
  void SetPrefix() {
    const std::string_view whole = Whole();
    unsigned char bytes[8] = {};
    std::memcpy(bytes, whole.data(), std::min<size_t>(whole.size(), 8));
    uint64_t value = 0;
    for (unsigned char byte : bytes) value = value << 8 | byte;
    prefix = value;
  }
};

GroupMerger::GroupMerger(MergeLayout layout, std::vector<std::unique_ptr<SortedRun>> runs,
                         int64_t window_rows, CancellationToken token)
    : layout_(std::move(layout)),
      order_(layout_.Order()),
      window_rows_(window_rows),
      token_(std::move(token)) {
  for (auto& run : runs) {
    auto cursor = std::make_unique<Cursor>();
    cursor->run = std::move(run);
    cursor->index = cursors_.size();
    cursors_.push_back(std::move(cursor));
  }
}
GroupMerger::~GroupMerger() = default;

bool GroupMerger::Less(size_t a, size_t b) const {
  const Cursor& x = *cursors_[a];
  const Cursor& y = *cursors_[b];
  if (x.prefix != y.prefix) return x.prefix < y.prefix;
  const int order = x.Whole().compare(y.Whole());
  return order != 0 ? order < 0 : x.index < y.index;
}

void GroupMerger::SiftDown(size_t place) {
  const size_t size = heap_.size();
  while (true) {
    size_t least = place;
    for (size_t child : {2 * place + 1, 2 * place + 2}) {
      if (child < size && Less(heap_[child], heap_[least])) least = child;
    }
    if (least == place) return;
    std::swap(heap_[place], heap_[least]);
    place = least;
  }
}

/// The next batch of the cursor's run; `done` at the end.
arrow::Status GroupMerger::Load(Cursor* cursor) {
  ARROW_RETURN_NOT_OK(token_.Check());
  ARROW_ASSIGN_OR_RAISE(auto batch, cursor->run->Next());
  cursor->slice.reset();
  if (!batch) {
    cursor->done = true;
    cursor->batch = RunBatch();
    return arrow::Status::OK();
  }
  cursor->batch = std::move(*batch);
  ARROW_ASSIGN_OR_RAISE(cursor->keys, NormalizedKeys::Encode(*cursor->batch.rows, order_,
                                                             layout_.key_columns.size()));
  cursor->row = 0;
  // A file written by someone else may not be sorted: merged anyway it would give wrong rows.
  std::string_view last = cursor->last_key;
  const int64_t rows = cursor->keys.size();
  for (int64_t row = 0; row < rows; ++row) {
    const std::string_view key = cursor->keys.Key(row);
    if (key <= last) {
      return Corruption("data file '{}' is not sorted by its key, or holds a key twice",
                        cursor->batch.source);
    }
    last = key;
  }
  cursor->last_key = std::string(last);
  cursor->SetPrefix();
  return arrow::Status::OK();
}

arrow::Status GroupMerger::Advance(Cursor* cursor) {
  if (++cursor->row < cursor->keys.size()) {
    cursor->SetPrefix();
    return arrow::Status::OK();
  }
  return Load(cursor);
}

arrow::Result<bool> GroupMerger::Next(MergeWindow* window) {
  if (!std::exchange(started_, true)) {
    for (auto& cursor : cursors_) {
      ARROW_RETURN_NOT_OK(Load(cursor.get()));
      if (!cursor->done) heap_.push_back(cursor->index);
    }
    for (size_t i = heap_.size(); i-- > 0;) SiftDown(i);
  }
  if (heap_.empty()) return false;
  slices_.clear();
  picked_.clear();
  for (auto& cursor : cursors_) cursor->slice.reset();
  window->group_begin.clear();
  bool in_group = false;
  while (!heap_.empty()) {
    Cursor* cursor = cursors_[heap_[0]].get();
    const std::string_view key = cursor->keys.Key(cursor->row);
    if (!in_group || key != group_key_) {
      if (static_cast<int64_t>(picked_.size()) >= window_rows_) break;
      window->group_begin.push_back(picked_.size());
      group_key_.assign(key);
      in_group = true;
    }
    if (!cursor->slice) {
      cursor->slice = static_cast<uint32_t>(slices_.size());
      slices_.push_back({cursor->batch.rows, cursor->batch.level, cursor->row, cursor->row});
    }
    picked_.emplace_back(*cursor->slice, cursor->row);
    slices_[*cursor->slice].end = cursor->row + 1;
    ARROW_RETURN_NOT_OK(Advance(cursor));
    if (cursor->done) {
      heap_[0] = heap_.back();
      heap_.pop_back();
    }
    if (!heap_.empty()) SiftDown(0);
  }
  window->group_begin.push_back(picked_.size());
  ARROW_RETURN_NOT_OK(Build(window));
  return true;
}

/// One flat batch of all slices; positions follow from where each slice begins in it.
arrow::Status GroupMerger::Build(MergeWindow* window) {
  std::vector<int64_t> base(slices_.size());
  int64_t total = 0;
  for (size_t i = 0; i < slices_.size(); ++i) {
    base[i] = total - slices_[i].begin;
    total += slices_[i].end - slices_[i].begin;
  }
  window->order.resize(picked_.size());
  for (size_t i = 0; i < picked_.size(); ++i)
    window->order[i] = base[picked_[i].first] + picked_[i].second;
  window->levels.clear();
  window->levels.reserve(static_cast<size_t>(total));
  std::vector<std::shared_ptr<arrow::RecordBatch>> parts;
  for (const Slice& slice : slices_) {
    window->levels.insert(window->levels.end(), static_cast<size_t>(slice.end - slice.begin),
                          slice.level);
    parts.push_back(slice.rows->Slice(slice.begin, slice.end - slice.begin));
  }
  if (parts.size() == 1) {
    window->rows = parts[0];
    return arrow::Status::OK();
  }
  arrow::ArrayVector columns;
  for (int c = 0; c < parts[0]->num_columns(); ++c) {
    arrow::ArrayVector pieces;
    for (const auto& part : parts) pieces.push_back(part->column(c));
    ARROW_ASSIGN_OR_RAISE(auto column, arrow::Concatenate(pieces));
    columns.push_back(std::move(column));
  }
  window->rows = arrow::RecordBatch::Make(parts[0]->schema(), total, std::move(columns));
  return arrow::Status::OK();
}

}  // namespace kelda
