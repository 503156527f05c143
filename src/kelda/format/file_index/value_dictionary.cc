#include "kelda/format/file_index/value_dictionary.h"

#include <algorithm>
#include <numeric>

namespace kelda {

namespace {

/// What a distinct value takes in the maps beside its bytes.
constexpr int64_t kEntryBytes = 72;

}  // namespace

arrow::Status ValueDictionary::Add(const arrow::Array& array) {
  ids_.reserve(ids_.size() + static_cast<size_t>(array.length()));
  const auto null = [&](int64_t) { ids_.push_back(kNull); };
  if (!form_.is_text()) {
    return form_.ForEach(
        array,
        [&](int64_t, const IndexKey& key) {
          auto [it, added] = numbers_.try_emplace(key.number, size());
          if (added) keys_.push_back(key);
          ids_.push_back(it->second);
        },
        null);
  }
  return form_.ForEach(
      array,
      [&](int64_t, const IndexKey& key) {
        auto it = texts_.find(key.text);
        if (it == texts_.end()) {
          const std::string& owned = text_bytes_.emplace_back(key.text);
          text_size_ += static_cast<int64_t>(owned.size());
          it = texts_.emplace(owned, size()).first;
          keys_.push_back(IndexKey{0, owned});
        }
        ids_.push_back(it->second);
      },
      null);
}

int64_t ValueDictionary::BufferedBytes() const {
  return static_cast<int64_t>(ids_.capacity() * sizeof(uint32_t)) + int64_t{size()} * kEntryBytes +
         text_size_;
}

ValueDictionary::Sorted ValueDictionary::Sort() {
  Sorted sorted;
  std::vector<uint32_t> order(keys_.size());
  std::iota(order.begin(), order.end(), 0u);
  std::sort(order.begin(), order.end(),
            [&](uint32_t a, uint32_t b) { return form_.Compare(keys_[a], keys_[b]) < 0; });
  std::vector<uint32_t> rank_of(keys_.size());
  for (uint32_t rank = 0; rank < order.size(); ++rank) {
    rank_of[order[rank]] = rank;
    sorted.keys.push_back(keys_[order[rank]]);
  }
  sorted.ranks = std::move(ids_);
  sorted.starts.assign(keys_.size() + 1, 0);
  for (uint32_t row = 0; row < sorted.ranks.size(); ++row) {
    uint32_t& rank = sorted.ranks[row];
    if (rank == kNull) {
      sorted.nulls.push_back(row);
      continue;
    }
    rank = rank_of[rank];
    ++sorted.starts[rank + 1];
  }
  std::partial_sum(sorted.starts.begin(), sorted.starts.end(), sorted.starts.begin());
  sorted.rows.resize(sorted.starts.back());
  std::vector<uint32_t> next(sorted.starts.begin(), sorted.starts.end() - 1);
  for (uint32_t row = 0; row < sorted.ranks.size(); ++row) {
    if (sorted.ranks[row] != kNull) sorted.rows[next[sorted.ranks[row]]++] = row;
  }
  return sorted;
}

}  // namespace kelda
