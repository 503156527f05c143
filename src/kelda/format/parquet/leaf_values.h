#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include <arrow/array.h>
#include <arrow/scalar.h>
#include <parquet/column_reader.h>
#include <parquet/schema.h>

#include "kelda/base/status.h"

namespace kelda {

/// How the values of one Parquet leaf become an Arrow type of arrow_mapping.h, whatever physical
/// form the writer chose (spec 01 §6.2, "Reader duties"). Immutable.
class LeafConversion {
 public:
  /// Refuses a physical form that cannot hold `type`. `name` goes into errors.
  static arrow::Result<LeafConversion> Make(const parquet::ColumnDescriptor& leaf,
                                            std::shared_ptr<arrow::DataType> type,
                                            std::string name);

  /// For a leaf whose levels alone are wanted: Take gives nothing.
  static LeafConversion LevelsOnly() { return {}; }

  const std::shared_ptr<arrow::DataType>& type() const { return type_; }

  /// Takes the values that the last ReadRecords left in `reader`; several arrays when texts exceed
  /// what one holds.
  arrow::Result<arrow::ArrayVector> Take(parquet::internal::RecordReader* reader) const;

  /// One value in Parquet's plain form, as statistics hold it, rounded down to the type. Null when
  /// the bytes or the form give nothing to compare with. FLOAT and DOUBLE: only a minimum is a
  /// bound, since NaN is in no statistics.
  std::shared_ptr<arrow::Scalar> Bound(std::string_view plain, bool is_max) const;

 private:
  enum class Rule {
    kCopy,          ///< same fixed-width representation
    kNarrow,        ///< INT32 to int8, int16
    kWiden,         ///< INT32 to int64
    kScale,         ///< INT64, INT32: multiply or divide by a power of ten
    kInt96,         ///< days and nanoseconds to a timestamp
    kDecimal32,     ///< INT32 to decimal128
    kDecimal64,     ///< INT64 to decimal128
    kDecimalBytes,  ///< big-endian bytes to decimal128
    kBoolean,
    kText,
    kBytes,
  };

  arrow::Result<std::shared_ptr<arrow::Array>> TakeFixed(
      parquet::internal::RecordReader* reader) const;
  arrow::Result<std::shared_ptr<arrow::Array>> ConvertBytes(
      const std::shared_ptr<arrow::Array>& raw) const;
  arrow::Status CheckText(const arrow::Array& text) const;
  arrow::Status OutOfRange() const;
  bool ToDecimal(std::string_view big_endian, __int128* out) const;
  bool FitsDecimal(__int128 value) const;
  bool ScaleTime(int64_t value, int64_t* out) const;
  bool ScaleInt96(const uint8_t* bytes, int64_t* out) const;

  std::shared_ptr<arrow::DataType> type_;
  std::string name_;
  Rule rule_ = Rule::kCopy;
  parquet::Type::type physical_ = parquet::Type::INT32;
  int64_t multiply_ = 1;
  int64_t divide_ = 1;
  __int128 decimal_limit_ = 0;
};

}  // namespace kelda
