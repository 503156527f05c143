#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include <arrow/type.h>

#include "kelda/format/file_format.h"

namespace kelda {

/// Statistics of a column over a row group, a stripe or a file while it is written.
class OrcStatistics {
 public:
  enum class Form : uint8_t {
    kCount,  ///< nothing but the number of values
    kBoolean,
    kInt,
    kDouble,
    kText,
    kBinary,
    kDecimal,
    kDate,
    kTimestamp,
  };

  OrcStatistics() = default;
  OrcStatistics(Form form, std::shared_ptr<arrow::DataType> type)
      : form_(form), type_(std::move(type)) {}

  void AddNulls(int64_t n) { nulls_ += n; }
  void AddCount(int64_t n) { values_ += n; }
  void AddInts(const int64_t* values, int64_t n);
  void AddDoubles(const double* values, int64_t n);
  void AddDecimals(const __int128* values, int64_t n);
  void AddBoolean(bool value) {
    ++values_;
    sum_ += value ? 1 : 0;
  }
  /// A text without the blanks that CHAR is padded with; `times` of it.
  void AddText(std::string_view text, int64_t times);
  /// Bounds of a text that was counted elsewhere.
  void WidenText(std::string_view text);
  void AddBytes(int64_t values, int64_t bytes) {
    values_ += values;
    sum_ += bytes;
  }

  void Merge(const OrcStatistics& other);
  /// `pad` blanks CHAR to its length in the maximum; 0 for other types.
  std::string Serialize(int32_t pad) const;
  /// For Paimon's statistics: exact values, floating point numbers ordered as Double.compare does.
  FileColumnStats ToColumnStats() const;
  /// The same form, empty.
  OrcStatistics Fresh() const { return OrcStatistics(form_, type_); }

 private:
  std::shared_ptr<arrow::Scalar> Bound(bool max) const;

  Form form_ = Form::kCount;
  bool bounded_ = false;
  bool nan_ = false;
  bool sum_fits_ = true;
  int64_t values_ = 0;
  int64_t nulls_ = 0;
  int64_t sum_ = 0;
  int64_t min_ = 0;  ///< integers; floating point numbers as integers of the same order
  int64_t max_ = 0;
  double double_sum_ = 0;
  __int128 decimal_min_ = 0;
  __int128 decimal_max_ = 0;
  std::string text_min_;
  std::string text_max_;
  std::shared_ptr<arrow::DataType> type_;
};

/// `text` with blanks up to `length` code points, as the format stores CHAR.
std::string PadText(std::string_view text, int32_t length);
std::string_view TrimText(std::string_view text);

}  // namespace kelda
