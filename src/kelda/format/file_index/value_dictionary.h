#pragma once

#include <deque>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "kelda/format/file_index/index_key.h"

namespace kelda {

/// The distinct values of a column and which rows hold them, collected row by row.
class ValueDictionary {
 public:
  static constexpr uint32_t kNull = 0xffffffff;

  explicit ValueDictionary(KeyForm form) : form_(std::move(form)) {}

  arrow::Status Add(const arrow::Array& array);
  int64_t BufferedBytes() const;

  const KeyForm& form() const { return form_; }
  int64_t row_count() const { return static_cast<int64_t>(ids_.size()); }
  uint32_t size() const { return static_cast<uint32_t>(keys_.size()); }

  /// The values in ascending order, their rows ascending: call once, after the last Add.
  struct Sorted {
    std::vector<IndexKey> keys;
    std::vector<uint32_t> ranks;   ///< per row: place in keys, or kNull
    std::vector<uint32_t> rows;    ///< rows grouped by rank, nulls left out
    std::vector<uint32_t> starts;  ///< per rank: first place in rows; one more at the end
    std::vector<uint32_t> nulls;   ///< rows
  };
  Sorted Sort();

 private:
  KeyForm form_;
  std::vector<IndexKey> keys_;
  std::vector<uint32_t> ids_;
  std::unordered_map<int64_t, uint32_t> numbers_;
  std::unordered_map<std::string_view, uint32_t> texts_;
  std::deque<std::string> text_bytes_;
  int64_t text_size_ = 0;
};

}  // namespace kelda
