#include "kelda/merge/aggregator.h"

#include <cmath>
#include <optional>

#include <arrow/compute/api.h>
#include <arrow/util/decimal.h>

#include "kelda/base/status.h"

namespace kelda {

namespace {

/// The result of each group is a value of one of its rows.
class PickingAggregator : public Aggregator {
 public:
  arrow::Status Start(std::shared_ptr<arrow::Array> column) override {
    column_ = std::move(column);
    picks_.Reset();
    return arrow::Status::OK();
  }
  void Reset() override { pick_.reset(); }
  arrow::Status Copy(int64_t row) override {
    Pick(row);
    return arrow::Status::OK();
  }
  arrow::Status Append() override { return pick_ ? picks_.Append(*pick_) : picks_.AppendNull(); }
  arrow::Result<std::shared_ptr<arrow::Array>> Finish() override {
    ARROW_ASSIGN_OR_RAISE(auto indices, picks_.Finish());
    ARROW_ASSIGN_OR_RAISE(
        auto taken, arrow::compute::Take(arrow::Datum(column_), arrow::Datum(std::move(indices)),
                                         arrow::compute::TakeOptions(false)));
    return taken.make_array();
  }

 protected:
  /// NULL values are no pick.
  void Pick(int64_t row) {
    if (column_->IsValid(row)) {
      pick_ = row;
    } else {
      pick_.reset();
    }
  }

  std::shared_ptr<arrow::Array> column_;
  std::optional<int64_t> pick_;  ///< the accumulator; nullopt: NULL

 private:
  arrow::Int64Builder picks_;
};

class LastValue : public PickingAggregator {
 public:
  arrow::Status Aggregate(int64_t row) override { return Copy(row); }
  /// agg(in, acc) is acc.
  arrow::Status AggregateReversed(int64_t) override { return arrow::Status::OK(); }
  arrow::Status Retract(int64_t) override {
    pick_.reset();
    return arrow::Status::OK();
  }
};

class LastNonNullValue : public PickingAggregator {
 public:
  arrow::Status Aggregate(int64_t row) override {
    if (column_->IsValid(row)) pick_ = row;
    return arrow::Status::OK();
  }
  arrow::Status AggregateReversed(int64_t row) override {
    if (!pick_) Pick(row);
    return arrow::Status::OK();
  }
  arrow::Status Retract(int64_t row) override {
    if (column_->IsValid(row)) pick_.reset();
    return arrow::Status::OK();
  }
};

class PrimaryKeyValue : public PickingAggregator {
 public:
  arrow::Status Aggregate(int64_t row) override { return Copy(row); }
  arrow::Status AggregateReversed(int64_t) override { return arrow::Status::OK(); }
  arrow::Status Retract(int64_t row) override { return Copy(row); }
};

/// first_value and first_non_null_value remember for the group whether they have begun.
class FirstValue : public PickingAggregator {
 public:
  FirstValue(bool non_null, std::string function, DataField field)
      : non_null_(non_null), function_(std::move(function)), field_(std::move(field)) {}
  void Reset() override {
    PickingAggregator::Reset();
    begun_ = false;
  }
  arrow::Status Aggregate(int64_t row) override {
    if (begun_ || (non_null_ && column_->IsNull(row))) return arrow::Status::OK();
    begun_ = true;
    Pick(row);
    return arrow::Status::OK();
  }
  /// agg(in, acc): once begun it returns its first argument, the older row's value.
  arrow::Status AggregateReversed(int64_t row) override {
    if (begun_) {
      Pick(row);
    } else if (!non_null_ || pick_) {
      begun_ = true;  // the value of the accumulator stays
    } else {
      Pick(row);
    }
    return arrow::Status::OK();
  }
  arrow::Status Retract(int64_t) override { return NoRetraction(function_, field_); }

 private:
  const bool non_null_;
  const std::string function_;
  const DataField field_;
  bool begun_ = false;
};

/// Order of two values of a column that is not NULL there: numbers as Java's compare (NaN largest,
/// -0.0 before 0.0), texts by unsigned bytes.
int CompareRows(const arrow::Array& column, int64_t a, int64_t b) {
  const auto three_way = [](auto x, auto y) { return x < y ? -1 : (y < x ? 1 : 0); };
  const auto floats = [](auto x, auto y) {
    if (x < y) return -1;
    if (x > y) return 1;
    const auto rank = [](auto v) {
      return std::isnan(v) ? 2 : (v == 0 && std::signbit(v) ? 0 : 1);
    };
    return rank(x) - rank(y);
  };
  switch (column.type_id()) {
    case arrow::Type::INT8: {
      const auto& values = static_cast<const arrow::Int8Array&>(column);
      return three_way(values.Value(a), values.Value(b));
    }
    case arrow::Type::INT16: {
      const auto& values = static_cast<const arrow::Int16Array&>(column);
      return three_way(values.Value(a), values.Value(b));
    }
    case arrow::Type::INT32:
    case arrow::Type::DATE32:
    case arrow::Type::TIME32: {
      const auto* values = column.data()->GetValues<int32_t>(1);
      return three_way(values[a], values[b]);
    }
    case arrow::Type::INT64:
    case arrow::Type::TIMESTAMP: {
      const auto* values = column.data()->GetValues<int64_t>(1);
      return three_way(values[a], values[b]);
    }
    case arrow::Type::FLOAT: {
      const auto& values = static_cast<const arrow::FloatArray&>(column);
      return floats(values.Value(a), values.Value(b));
    }
    case arrow::Type::DOUBLE: {
      const auto& values = static_cast<const arrow::DoubleArray&>(column);
      return floats(values.Value(a), values.Value(b));
    }
    case arrow::Type::DECIMAL128: {
      const auto& values = static_cast<const arrow::Decimal128Array&>(column);
      return three_way(arrow::Decimal128(values.Value(a)), arrow::Decimal128(values.Value(b)));
    }
    default: {
      const auto& values = static_cast<const arrow::BinaryArray&>(column);
      return values.GetView(a).compare(values.GetView(b));
    }
  }
}

bool Comparable(const DataType& type) {
  switch (type.root()) {
    case TypeRoot::kTinyInt:
    case TypeRoot::kSmallInt:
    case TypeRoot::kInt:
    case TypeRoot::kBigInt:
    case TypeRoot::kFloat:
    case TypeRoot::kDouble:
    case TypeRoot::kDecimal:
    case TypeRoot::kDate:
    case TypeRoot::kTime:
    case TypeRoot::kTimestamp:
    case TypeRoot::kTimestampLtz:
    case TypeRoot::kChar:
    case TypeRoot::kVarChar:
    case TypeRoot::kBinary:
    case TypeRoot::kVarBinary:
      return true;
    default:
      return false;
  }
}

class Extreme : public PickingAggregator {
 public:
  Extreme(bool max, DataField field) : max_(max), field_(std::move(field)) {}
  arrow::Status Aggregate(int64_t row) override {
    if (column_->IsNull(row)) return arrow::Status::OK();
    if (!pick_) {
      pick_ = row;
    } else {
      const int order = CompareRows(*column_, *pick_, row);
      if (max_ ? order < 0 : order > 0) pick_ = row;
    }
    return arrow::Status::OK();
  }
  arrow::Status AggregateReversed(int64_t row) override { return Aggregate(row); }
  arrow::Status Retract(int64_t) override { return NoRetraction(max_ ? "max" : "min", field_); }

 private:
  const bool max_;
  const DataField field_;
};

/// `fields.<f>.ignore-retract`.
class IgnoringRetract : public Aggregator {
 public:
  explicit IgnoringRetract(std::unique_ptr<Aggregator> inner) : inner_(std::move(inner)) {}
  arrow::Status Start(std::shared_ptr<arrow::Array> column) override {
    return inner_->Start(std::move(column));
  }
  void Reset() override { inner_->Reset(); }
  arrow::Status Copy(int64_t row) override { return inner_->Copy(row); }
  arrow::Status Aggregate(int64_t row) override { return inner_->Aggregate(row); }
  arrow::Status AggregateReversed(int64_t row) override { return inner_->AggregateReversed(row); }
  arrow::Status Retract(int64_t) override { return arrow::Status::OK(); }
  arrow::Status Append() override { return inner_->Append(); }
  arrow::Result<std::shared_ptr<arrow::Array>> Finish() override { return inner_->Finish(); }

 private:
  std::unique_ptr<Aggregator> inner_;
};

arrow::Result<std::unique_ptr<Aggregator>> MakePlain(const std::string& function,
                                                     const DataField& field,
                                                     const Options& options) {
  if (function == "last_value") return std::make_unique<LastValue>();
  if (function == "last_non_null_value") return std::make_unique<LastNonNullValue>();
  if (function == "primary-key") return std::make_unique<PrimaryKeyValue>();
  if (function == "first_value") return std::make_unique<FirstValue>(false, function, field);
  if (function == "first_non_null_value" || function == "first_not_null_value") {
    return std::make_unique<FirstValue>(true, function, field);
  }
  if (function == "max" || function == "min") {
    if (!Comparable(field.type)) return WrongType(function, field);
    return std::make_unique<Extreme>(function == "max", field);
  }
  ARROW_ASSIGN_OR_RAISE(auto number, MakeNumberAggregator(function, field));
  if (number != nullptr) return number;
  ARROW_ASSIGN_OR_RAISE(auto text, MakeTextAggregator(function, field, options));
  if (text != nullptr) return text;
  ARROW_ASSIGN_OR_RAISE(auto nested, MakeNestedAggregator(function, field, options));
  if (nested != nullptr) return nested;
  if (function == "theta_sketch" || function == "hll_sketch" || function == "rbm64") {
    return Unsupported("aggregate function '{}' of column '{}'", function, field.name);
  }
  return Invalid(
      "column '{}': there is no aggregate function '{}'; custom functions of Java cannot run here",
      field.name, function);
}

}  // namespace

std::optional<std::string> ColumnOption(const Options& options, const DataField& field,
                                        std::string_view name) {
  const auto& values = options.values();
  const auto it = values.find(fmt::format("fields.{}.{}", field.name, name));
  if (it == values.end()) return std::nullopt;
  return it->second;
}

arrow::Result<bool> ColumnFlag(const Options& options, const DataField& field,
                               std::string_view name) {
  const auto text = ColumnOption(options, field, name);
  if (!text) return false;
  if (*text == "true" || *text == "TRUE" || *text == "True") return true;
  if (*text == "false" || *text == "FALSE" || *text == "False") return false;
  return Invalid("option 'fields.{}.{}' = '{}' is neither true nor false", field.name, name, *text);
}

arrow::Status NoRetraction(const std::string& function, const DataField& field) {
  return Invalid(
      "column '{}': aggregate function '{}' cannot take back a row (DELETE or UPDATE_BEFORE); set "
      "'fields.{}.ignore-retract' to 'true' to ignore such rows",
      field.name, function, field.name);
}

arrow::Status WrongType(const std::string& function, const DataField& field) {
  return Invalid("column '{}': aggregate function '{}' does not take {}", field.name, function,
                 field.type.ToString());
}

arrow::Result<std::unique_ptr<Aggregator>> MakeAggregator(const std::string& function,
                                                          const DataField& field,
                                                          const Options& options) {
  ARROW_ASSIGN_OR_RAISE(auto aggregator, MakePlain(function, field, options));
  ARROW_ASSIGN_OR_RAISE(bool ignore, ColumnFlag(options, field, "ignore-retract"));
  if (ignore) return std::make_unique<IgnoringRetract>(std::move(aggregator));
  return aggregator;
}

}  // namespace kelda
