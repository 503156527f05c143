#include <algorithm>

#include <arrow/builder.h>

#include "kelda/base/roaring.h"
#include "kelda/base/status.h"
#include "kelda/merge/aggregator.h"

namespace kelda {

namespace {

/// An accumulator of bytes.
class BytesAggregator : public Aggregator {
 public:
  BytesAggregator(std::string function, DataField field)
      : function_(std::move(function)), field_(std::move(field)) {}

  arrow::Status Start(std::shared_ptr<arrow::Array> column) override {
    type_ = column->type();
    column_ = std::static_pointer_cast<arrow::BinaryArray>(std::move(column));
    builder_.Reset();
    return arrow::Status::OK();
  }
  void Reset() override { acc_.reset(); }
  arrow::Status Copy(int64_t row) override {
    acc_ = At(row);
    return arrow::Status::OK();
  }
  arrow::Status Aggregate(int64_t row) override { return Fold(acc_, At(row)); }
  arrow::Status AggregateReversed(int64_t row) override { return Fold(At(row), acc_); }
  arrow::Status Retract(int64_t) override { return NoRetraction(function_, field_); }
  arrow::Status Append() override { return acc_ ? builder_.Append(*acc_) : builder_.AppendNull(); }
  arrow::Result<std::shared_ptr<arrow::Array>> Finish() override {
    ARROW_ASSIGN_OR_RAISE(auto bytes, builder_.Finish());
    auto data = bytes->data()->Copy();
    data->type = type_;
    return arrow::MakeArray(data);
  }

 protected:
  virtual arrow::Result<std::string> Combine(const std::string& acc, const std::string& in) = 0;
  const DataField& field() const { return field_; }

 private:
  std::optional<std::string> At(int64_t row) const {
    if (column_->IsNull(row)) return std::nullopt;
    return std::string(column_->GetView(row));
  }
  arrow::Status Fold(std::optional<std::string> acc, std::optional<std::string> in) {
    if (!acc || !in) {
      acc_ = acc ? std::move(acc) : std::move(in);
      return arrow::Status::OK();
    }
    ARROW_ASSIGN_OR_RAISE(acc_, Combine(*acc, *in));
    return arrow::Status::OK();
  }

  const std::string function_;
  const DataField field_;
  std::shared_ptr<arrow::DataType> type_;
  std::shared_ptr<arrow::BinaryArray> column_;
  std::optional<std::string> acc_;
  arrow::BinaryBuilder builder_;
};

std::vector<std::string_view> SplitAt(std::string_view text, std::string_view delimiter) {
  std::vector<std::string_view> tokens;
  if (delimiter.empty()) return {text};
  while (true) {
    const size_t at = text.find(delimiter);
    tokens.push_back(text.substr(0, at));
    if (at == std::string_view::npos) return tokens;
    text.remove_prefix(at + delimiter.size());
  }
}

class ListAgg : public BytesAggregator {
 public:
  ListAgg(DataField field, std::string delimiter, bool distinct)
      : BytesAggregator("listagg", std::move(field)),
        delimiter_(std::move(delimiter)),
        distinct_(distinct) {}

 protected:
  arrow::Result<std::string> Combine(const std::string& acc, const std::string& in) override {
    if (in.empty()) return acc;
    if (!distinct_) return acc.empty() ? in : acc + delimiter_ + in;
    std::vector<std::string_view> present = SplitAt(acc, delimiter_);
    std::string result = acc;
    for (std::string_view token : SplitAt(in, delimiter_)) {
      if (token.empty() || std::find(present.begin(), present.end(), token) != present.end())
        continue;
      present.push_back(token);
      if (!result.empty()) result += delimiter_;
      result += token;
    }
    return result;
  }

 private:
  const std::string delimiter_;
  const bool distinct_;
};

class Rbm32 : public BytesAggregator {
 public:
  explicit Rbm32(DataField field) : BytesAggregator("rbm32", std::move(field)) {}

 protected:
  arrow::Result<std::string> Combine(const std::string& acc, const std::string& in) override {
    const std::string source = fmt::format("bitmap in column '{}'", field().name);
    ARROW_ASSIGN_OR_RAISE(Roaring bitmap, Roaring::Parse(acc, source));
    ARROW_ASSIGN_OR_RAISE(const Roaring other, Roaring::Parse(in, source));
    bitmap.Or(other);
    return bitmap.Serialize();
  }
};

}  // namespace

arrow::Result<std::unique_ptr<Aggregator>> MakeTextAggregator(const std::string& function,
                                                              const DataField& field,
                                                              const Options& options) {
  if (function == "listagg") {
    if (field.type.root() != TypeRoot::kVarChar || field.type.length() != DataType::kLengthMax)
      return WrongType(function, field);
    ARROW_ASSIGN_OR_RAISE(bool distinct, ColumnFlag(options, field, "distinct"));
    return std::make_unique<ListAgg>(
        field, ColumnOption(options, field, "list-agg-delimiter").value_or(","), distinct);
  }
  if (function == "rbm32") {
    if (field.type.root() != TypeRoot::kVarBinary) return WrongType(function, field);
    return std::make_unique<Rbm32>(field);
  }
  return std::unique_ptr<Aggregator>();
}

}  // namespace kelda
