#include <type_traits>

#include <arrow/builder.h>
#include <arrow/util/decimal.h>

#include "kelda/base/status.h"
#include "kelda/merge/aggregator.h"
#include "kelda/types/arrow_mapping.h"

namespace kelda {

namespace {

/// sum and product over Java's primitive numbers: integers wrap around, TINYINT and SMALLINT after
/// the operation.
template <typename ArrayType, bool kProduct>
class ArithmeticAggregator : public Aggregator {
  using Value = typename ArrayType::value_type;
  using Builder = typename arrow::TypeTraits<typename ArrayType::TypeClass>::BuilderType;

 public:
  explicit ArithmeticAggregator(DataField field) : field_(std::move(field)) {}

  arrow::Status Start(std::shared_ptr<arrow::Array> column) override {
    column_ = std::static_pointer_cast<ArrayType>(std::move(column));
    builder_.Reset();
    return arrow::Status::OK();
  }
  void Reset() override { acc_.reset(); }
  arrow::Status Copy(int64_t row) override {
    acc_ = At(row);
    return arrow::Status::OK();
  }
  arrow::Status Aggregate(int64_t row) override {
    const auto in = At(row);
    if (!acc_ || !in) {
      if (in) acc_ = in;
      return arrow::Status::OK();
    }
    acc_ = kProduct ? Multiply(*acc_, *in) : Add(*acc_, *in);
    return arrow::Status::OK();
  }
  arrow::Status AggregateReversed(int64_t row) override { return Aggregate(row); }
  arrow::Status Retract(int64_t row) override {
    const auto in = At(row);
    if (!in) return arrow::Status::OK();
    if (kProduct) {
      if (acc_) return Divide(*in);
      return arrow::Status::OK();
    }
    acc_ = acc_ ? Subtract(*acc_, *in) : Subtract(Value{0}, *in);
    return arrow::Status::OK();
  }
  arrow::Status Append() override { return acc_ ? builder_.Append(*acc_) : builder_.AppendNull(); }
  arrow::Result<std::shared_ptr<arrow::Array>> Finish() override { return builder_.Finish(); }

 private:
  std::optional<Value> At(int64_t row) const {
    if (column_->IsNull(row)) return std::nullopt;
    return column_->Value(row);
  }
  // Unsigned arithmetic wraps as Java's does.
  static Value Add(Value a, Value b) {
    if constexpr (std::is_floating_point_v<Value>) return a + b;
    return static_cast<Value>(static_cast<uint64_t>(a) + static_cast<uint64_t>(b));
  }
  static Value Subtract(Value a, Value b) {
    if constexpr (std::is_floating_point_v<Value>) return a - b;
    return static_cast<Value>(static_cast<uint64_t>(a) - static_cast<uint64_t>(b));
  }
  static Value Multiply(Value a, Value b) {
    if constexpr (std::is_floating_point_v<Value>) return a * b;
    return static_cast<Value>(static_cast<uint64_t>(a) * static_cast<uint64_t>(b));
  }
  arrow::Status Divide(Value in) {
    if constexpr (std::is_floating_point_v<Value>) {
      acc_ = *acc_ / in;
    } else {
      if (in == 0) {
        return Invalid("column '{}': taking 0 back from a product divides by zero", field_.name);
      }
      // The one quotient that does not fit wraps in Java.
      acc_ = in == -1 ? Subtract(Value{0}, *acc_) : static_cast<Value>(*acc_ / in);
    }
    return arrow::Status::OK();
  }

  const DataField field_;
  std::shared_ptr<ArrayType> column_;
  std::optional<Value> acc_;
  Builder builder_;
};

/// sum and product of DECIMAL. Up to 18 digits Java adds unscaled longs and sees an overflow of 64
/// bits only, so that a sum may have more digits than its type; beyond, too many digits are NULL.
class DecimalAggregator : public Aggregator {
 public:
  DecimalAggregator(bool product, DataField field, std::shared_ptr<arrow::DataType> type)
      : product_(product), field_(std::move(field)), builder_(std::move(type)) {}

  arrow::Status Start(std::shared_ptr<arrow::Array> column) override {
    column_ = std::static_pointer_cast<arrow::Decimal128Array>(std::move(column));
    builder_.Reset();
    return arrow::Status::OK();
  }
  void Reset() override { acc_.reset(); }
  arrow::Status Copy(int64_t row) override {
    acc_ = At(row);
    return arrow::Status::OK();
  }
  arrow::Status Aggregate(int64_t row) override {
    const auto in = At(row);
    if (!acc_ || !in) {
      if (in) acc_ = in;
      return arrow::Status::OK();
    }
    acc_ = product_ ? Product(*acc_, *in) : Sum(*acc_, *in);
    return arrow::Status::OK();
  }
  arrow::Status AggregateReversed(int64_t row) override { return Aggregate(row); }
  arrow::Status Retract(int64_t row) override {
    const auto in = At(row);
    if (!in) return arrow::Status::OK();
    if (product_) return acc_ ? Divide(*in) : arrow::Status::OK();
    acc_ = acc_ ? Sum(*acc_, -*in) : -*in;
    return arrow::Status::OK();
  }
  arrow::Status Append() override { return acc_ ? builder_.Append(*acc_) : builder_.AppendNull(); }
  arrow::Result<std::shared_ptr<arrow::Array>> Finish() override { return builder_.Finish(); }

 private:
  std::optional<arrow::Decimal128> At(int64_t row) const {
    if (column_->IsNull(row)) return std::nullopt;
    return arrow::Decimal128(column_->Value(row));
  }
  std::optional<arrow::Decimal128> Fit(const arrow::Decimal256& value) const {
    if (!value.FitsInPrecision(field_.type.precision())) return std::nullopt;
    const auto words = value.little_endian_array();
    return arrow::Decimal128(static_cast<int64_t>(words[1]), words[0]);
  }
  std::optional<arrow::Decimal128> Sum(const arrow::Decimal128& a,
                                       const arrow::Decimal128& b) const {
    if (field_.type.precision() <= 18) {
      const arrow::Decimal128 sum = a + b;
      const auto low = static_cast<int64_t>(sum.low_bits());
      if (sum == arrow::Decimal128(low)) return sum;
    }
    return Fit(arrow::Decimal256(a) + arrow::Decimal256(b));
  }
  std::optional<arrow::Decimal128> Product(const arrow::Decimal128& a,
                                           const arrow::Decimal128& b) const {
    const arrow::Decimal256 exact = arrow::Decimal256(a) * arrow::Decimal256(b);
    return Fit(exact.ReduceScaleBy(field_.type.scale(), /*round=*/true));
  }
  /// BigDecimal.divide without rounding: a quotient without end is an error there.
  arrow::Status Divide(const arrow::Decimal128& in) {
    if (in == arrow::Decimal128(0)) {
      return Invalid("column '{}': taking 0 back from a product divides by zero", field_.name);
    }
    arrow::Decimal256 numerator(*acc_);
    const arrow::Decimal256 divisor(in);
    // a/10^s / (b/10^s) = a/b; digits are added until the division ends.
    for (int extra = 0; extra <= 38; ++extra) {
      ARROW_ASSIGN_OR_RAISE(auto parts, numerator.Divide(divisor));
      if (parts.second == arrow::Decimal256(0)) {
        const int scale = field_.type.scale();
        const arrow::Decimal256 scaled =
            scale >= extra ? parts.first.IncreaseScaleBy(scale - extra)
                           : arrow::Decimal256(parts.first.ReduceScaleBy(extra - scale, true));
        acc_ = Fit(scaled);
        return arrow::Status::OK();
      }
      numerator = numerator.IncreaseScaleBy(1);
    }
    return Invalid("column '{}': taking a row back from a product gives a number without end",
                   field_.name);
  }

  const bool product_;
  const DataField field_;
  std::shared_ptr<arrow::Decimal128Array> column_;
  std::optional<arrow::Decimal128> acc_;
  arrow::Decimal128Builder builder_;
};

class BooleanAggregator : public Aggregator {
 public:
  BooleanAggregator(bool is_and, DataField field) : is_and_(is_and), field_(std::move(field)) {}
  arrow::Status Start(std::shared_ptr<arrow::Array> column) override {
    column_ = std::static_pointer_cast<arrow::BooleanArray>(std::move(column));
    builder_.Reset();
    return arrow::Status::OK();
  }
  void Reset() override { acc_.reset(); }
  arrow::Status Copy(int64_t row) override {
    acc_.reset();
    if (column_->IsValid(row)) acc_ = column_->Value(row);
    return arrow::Status::OK();
  }
  arrow::Status Aggregate(int64_t row) override {
    if (column_->IsNull(row)) return arrow::Status::OK();
    const bool in = column_->Value(row);
    acc_ = !acc_ ? in : (is_and_ ? *acc_ && in : *acc_ || in);
    return arrow::Status::OK();
  }
  arrow::Status AggregateReversed(int64_t row) override { return Aggregate(row); }
  arrow::Status Retract(int64_t) override {
    return NoRetraction(is_and_ ? "bool_and" : "bool_or", field_);
  }
  arrow::Status Append() override { return acc_ ? builder_.Append(*acc_) : builder_.AppendNull(); }
  arrow::Result<std::shared_ptr<arrow::Array>> Finish() override { return builder_.Finish(); }

 private:
  const bool is_and_;
  const DataField field_;
  std::shared_ptr<arrow::BooleanArray> column_;
  std::optional<bool> acc_;
  arrow::BooleanBuilder builder_;
};

template <typename ArrayType>
std::unique_ptr<Aggregator> Arithmetic(bool product, const DataField& field) {
  if (product) return std::make_unique<ArithmeticAggregator<ArrayType, true>>(field);
  return std::make_unique<ArithmeticAggregator<ArrayType, false>>(field);
}

}  // namespace

arrow::Result<std::unique_ptr<Aggregator>> MakeNumberAggregator(const std::string& function,
                                                                const DataField& field) {
  if (function == "bool_and" || function == "bool_or") {
    if (field.type.root() != TypeRoot::kBoolean) return WrongType(function, field);
    return std::make_unique<BooleanAggregator>(function == "bool_and", field);
  }
  if (function != "sum" && function != "product") return std::unique_ptr<Aggregator>();
  const bool product = function == "product";
  switch (field.type.root()) {
    case TypeRoot::kTinyInt:
      return Arithmetic<arrow::Int8Array>(product, field);
    case TypeRoot::kSmallInt:
      return Arithmetic<arrow::Int16Array>(product, field);
    case TypeRoot::kInt:
      return Arithmetic<arrow::Int32Array>(product, field);
    case TypeRoot::kBigInt:
      return Arithmetic<arrow::Int64Array>(product, field);
    case TypeRoot::kFloat:
      return Arithmetic<arrow::FloatArray>(product, field);
    case TypeRoot::kDouble:
      return Arithmetic<arrow::DoubleArray>(product, field);
    case TypeRoot::kDecimal: {
      ARROW_ASSIGN_OR_RAISE(auto type, ToArrowType(field.type));
      return std::make_unique<DecimalAggregator>(product, field, std::move(type));
    }
    default:
      return WrongType(function, field);
  }
}

}  // namespace kelda
