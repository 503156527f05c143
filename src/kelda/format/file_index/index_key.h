#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include <arrow/array.h>
#include <arrow/scalar.h>

#include "kelda/format/file_index/index_input.h"
#include "kelda/types/data_type.h"

namespace kelda {

/// One value of an indexed column in the form that indexes order and store. Numbers of every type
/// (also floats, dates, times, unscaled decimals) are one signed integer whose order is the order
/// of the column: NaN last, -0.0 before 0.0. Texts and bytes are borrowed.
struct IndexKey {
  int64_t number = 0;
  std::string_view text;
};

/// How values of one column type become keys and bytes (spec 01 §7.5–7.8).
class KeyForm {
 public:
  /// Unsupported for nested types and what no index holds.
  static arrow::Result<KeyForm> Make(const DataType& type);

  const DataType& type() const { return type_; }
  bool is_text() const { return kind_ == Kind::kText; }
  bool is_floating() const { return kind_ == Kind::kFloat || kind_ == Kind::kDouble; }
  /// Several values of the column share one key: TIMESTAMPs with more than 6 digits.
  bool lossy() const { return lossy_; }
  /// Bytes of a stored number.
  int width() const { return width_; }

  /// Big-endian number, or int32 length and bytes.
  void Append(const IndexKey& key, std::string* out) const;
  int64_t StoredSize(const IndexKey& key) const {
    return is_text() ? 4 + static_cast<int64_t>(key.text.size()) : width_;
  }
  /// `text` owns the bytes of a text key.
  arrow::Result<IndexKey> Read(IndexCursor* in, std::string* text) const;
  /// < 0, 0, > 0.
  int Compare(const IndexKey& a, const IndexKey& b) const {
    if (is_text()) return a.text.compare(b.text);
    return a.number < b.number ? -1 : (a.number > b.number ? 1 : 0);
  }
  /// The 64 bits that a bloom filter hashes (spec 01 §7.5): bits of a float, else the number.
  int64_t HashedBits(const IndexKey& key) const;

  /// Calls `visit(row, key)` for every non-null value and `null(row)` for the others, in order.
  /// Invalid when a DECIMAL does not fit a long. REQUIRES: the Arrow type of arrow_mapping.h.
  template <typename Visit, typename Null>
  arrow::Status ForEach(const arrow::Array& array, Visit&& visit, Null&& null) const {
    if (is_text()) {
      const auto& texts = static_cast<const arrow::BaseBinaryArray<arrow::BinaryType>&>(array);
      for (int64_t i = 0; i < array.length(); ++i) {
        if (array.IsNull(i)) {
          null(i);
        } else {
          visit(i, IndexKey{0, texts.GetView(i)});
        }
      }
      return arrow::Status::OK();
    }
    std::vector<int64_t> numbers;
    ARROW_RETURN_NOT_OK(Numbers(array, &numbers));
    for (int64_t i = 0; i < array.length(); ++i) {
      if (array.IsNull(i)) {
        null(i);
      } else {
        visit(i, IndexKey{numbers[static_cast<size_t>(i)], {}});
      }
    }
    return arrow::Status::OK();
  }

  /// Key of a valid literal; `text` keeps its bytes alive. Invalid when it does not fit.
  arrow::Result<IndexKey> KeyOf(const std::shared_ptr<arrow::Scalar>& literal) const;

  /// Keys of -0.0 and 0.0, which are equal to SQL. REQUIRES: is_floating().
  static constexpr int64_t kPositiveZero = 0;
  static constexpr int64_t kNegativeZero = -1;

 private:
  enum class Kind { kBoolean, kInteger, kFloat, kDouble, kDecimal, kTimestamp, kText };

  arrow::Status Numbers(const arrow::Array& array, std::vector<int64_t>* out) const;

  DataType type_;
  Kind kind_ = Kind::kInteger;
  int width_ = 0;
  bool lossy_ = false;
};

}  // namespace kelda
