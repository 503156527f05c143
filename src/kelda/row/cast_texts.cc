// Casts to CHAR, VARCHAR, BINARY and VARBINARY, and from CHAR and VARCHAR.
#include <fmt/format.h>

#include "kelda/row/cast_kernels.h"
#include "kelda/row/partition_path.h"
#include "kelda/row/text_cast.h"
#include "kelda/row/text_values.h"
#include "kelda/types/arrow_mapping.h"

namespace kelda::cast_kernels {

namespace {

using TextBuilder = arrow::BinaryBuilder;

ArrayDataResult Finish(TextBuilder* builder, const std::shared_ptr<arrow::DataType>& type) {
  std::shared_ptr<arrow::ArrayData> data;
  ARROW_RETURN_NOT_OK(builder->FinishInternal(&data));
  data->type = type;
  return data;
}

/// Cuts texts to the length of a CHAR or VARCHAR, counted in characters, and pads those of CHAR.
class TextFitter {
 public:
  explicit TextFitter(const DataType& type)
      : length_(type.length()), pads_(type.root() == TypeRoot::kChar) {}

  bool unlimited() const { return !pads_ && length_ == DataType::kLengthMax; }
  arrow::Status Append(std::string_view text, TextBuilder* builder) const {
    if (!pads_ && text.size() <= static_cast<size_t>(length_)) return builder->Append(text);
    int32_t characters = 0;
    const std::string_view kept = text.substr(0, PrefixBytes(text, length_, &characters));
    ARROW_RETURN_NOT_OK(builder->Append(kept));
    if (!pads_ || characters == length_) return arrow::Status::OK();
    if (length_ > kTextPaddingMax) return Unsupported("padding a text to CHAR({})", length_);
    static constexpr std::string_view kBlanks = "                                ";
    for (int32_t missing = length_ - characters; missing > 0;) {
      const auto count = std::min<int32_t>(missing, kBlanks.size());
      ARROW_RETURN_NOT_OK(builder->ExtendCurrent(kBlanks.substr(0, static_cast<size_t>(count))));
      missing -= count;
    }
    return arrow::Status::OK();
  }

 private:
  int32_t length_;
  bool pads_;
};

/// Whether no text of the column has more bytes than `length`.
bool AllWithin(const arrow::ArrayData& in, int32_t length) {
  const TextReader texts(in);
  for (int64_t i = 0; i < in.length; ++i) {
    if (texts[i].size() > static_cast<size_t>(length)) return false;
  }
  return true;
}

/// The same column under another type.
std::shared_ptr<arrow::ArrayData> Retyped(const arrow::ArrayData& in,
                                          const std::shared_ptr<arrow::DataType>& type) {
  auto out = in.Copy();
  out->type = type;
  return out;
}

/// `text(In) -> text` of each value.
template <typename Reader, typename Text>
Cast::Function ValuesToText(const DataType& to, const std::shared_ptr<arrow::DataType>& type,
                            Text text) {
  return [type, text, fitter = TextFitter(to)](const arrow::ArrayData& in) -> ArrayDataResult {
    TextBuilder builder;
    ARROW_RETURN_NOT_OK(builder.Reserve(in.length));
    const Reader values(in);
    for (int64_t i = 0; i < in.length; ++i) {
      if (IsValid(in, i)) {
        ARROW_RETURN_NOT_OK(fitter.Append(text(values[i]), &builder));
      } else {
        ARROW_RETURN_NOT_OK(builder.AppendNull());
      }
    }
    return Finish(&builder, type);
  };
}

template <typename T>
Cast::Function IntegersToText(const DataType& to, const std::shared_ptr<arrow::DataType>& type) {
  return ValuesToText<ValueReader<T>>(
      to, type, [](T value) { return fmt::format_int(int64_t{value}).str(); });
}

/// ARRAY, MAP and ROW are not cut to the length, nor padded.
Cast::Function NestedToText(const DataType& from, const std::shared_ptr<arrow::DataType>& type) {
  return [from, type](const arrow::ArrayData& in) -> ArrayDataResult {
    TextBuilder builder;
    const auto array = arrow::MakeArray(in.Copy());
    for (int64_t i = 0; i < in.length; ++i) {
      if (array->IsNull(i)) {
        ARROW_RETURN_NOT_OK(builder.AppendNull());
        continue;
      }
      ARROW_ASSIGN_OR_RAISE(auto value, array->GetScalar(i));
      ARROW_ASSIGN_OR_RAISE(std::string text, CastToText(from, *value));
      ARROW_RETURN_NOT_OK(builder.Append(text));
    }
    return Finish(&builder, type);
  };
}

/// Whether every value inside has a text.
bool HasText(const DataType& type) {
  switch (type.root()) {
    case TypeRoot::kArray:
      return HasText(type.element());
    case TypeRoot::kMap:
      return HasText(type.key()) && HasText(type.value());
    case TypeRoot::kRow:
      for (const DataField& field : type.fields()) {
        if (!HasText(field.type)) return false;
      }
      return true;
    case TypeRoot::kMultiset:
    case TypeRoot::kVariant:
    case TypeRoot::kBlob:
    case TypeRoot::kVector:
      return false;
    default:
      return true;
  }
}

Cast::Function TextToText(const DataType& to, const std::shared_ptr<arrow::DataType>& type) {
  auto fit = ValuesToText<TextReader>(to, type, [](std::string_view text) { return text; });
  if (to.root() == TypeRoot::kChar) return fit;
  return [type, fit, length = to.length()](const arrow::ArrayData& in) -> ArrayDataResult {
    if (length == DataType::kLengthMax || AllWithin(in, length)) return Retyped(in, type);
    return fit(in);
  };
}

/// Bytes as they are, whatever the length of the target; what is no UTF-8 becomes U+FFFD.
Cast::Function BytesToText(const std::shared_ptr<arrow::DataType>& type) {
  return ValuesToText<TextReader>(DataType::String(), type,
                                  [](std::string_view bytes) { return ReplaceInvalidUtf8(bytes); });
}

/// Cut to the length, BINARY also filled with zeros.
Cast::Function ToBytes(const DataType& to, const std::shared_ptr<arrow::DataType>& type) {
  const bool pads = to.root() == TypeRoot::kBinary;
  return [type, pads, length = to.length()](const arrow::ArrayData& in) -> ArrayDataResult {
    if (!pads && (length == DataType::kLengthMax || AllWithin(in, length)))
      return Retyped(in, type);
    TextBuilder builder;
    const TextReader values(in);
    for (int64_t i = 0; i < in.length; ++i) {
      if (!IsValid(in, i)) {
        ARROW_RETURN_NOT_OK(builder.AppendNull());
        continue;
      }
      const std::string_view kept = values[i].substr(0, static_cast<size_t>(length));
      ARROW_RETURN_NOT_OK(builder.Append(kept));
      if (!pads || kept.size() == static_cast<size_t>(length)) continue;
      if (length > kTextPaddingMax) return Unsupported("padding bytes to BINARY({})", length);
      const std::string zeros(static_cast<size_t>(length) - kept.size(), '\0');
      ARROW_RETURN_NOT_OK(builder.ExtendCurrent(zeros));
    }
    return Finish(&builder, type);
  };
}

Cast::Function TimestampsToText(const DataType& from, const DataType& to,
                                const std::shared_ptr<arrow::DataType>& type) {
  auto source = ToArrowType(from);
  if (!source.ok()) return nullptr;
  const auto unit = static_cast<const arrow::TimestampType&>(**source).unit();
  return ValuesToText<ValueReader<int64_t>>(to, type,
                                            [unit, precision = from.precision()](int64_t ticks) {
                                              return TimestampText(ticks, unit, precision);
                                            });
}

Cast::Function ToText(const DataType& from, const DataType& to,
                      const std::shared_ptr<arrow::DataType>& type) {
  const bool unlimited = TextFitter(to).unlimited();
  switch (from.root()) {
    case TypeRoot::kBoolean:
      return ValuesToText<ValueReader<bool>>(
          to, type, [](bool value) { return std::string_view(value ? "true" : "false"); });
    case TypeRoot::kTinyInt:
      return IntegersToText<int8_t>(to, type);
    case TypeRoot::kSmallInt:
      return IntegersToText<int16_t>(to, type);
    case TypeRoot::kInt:
      return IntegersToText<int32_t>(to, type);
    case TypeRoot::kBigInt:
      return IntegersToText<int64_t>(to, type);
    case TypeRoot::kFloat:
      return ValuesToText<ValueReader<float>>(to, type, JavaFloatText);
    case TypeRoot::kDouble:
      return ValuesToText<ValueReader<double>>(to, type, JavaDoubleText);
    case TypeRoot::kDecimal:
      return ValuesToText<ValueReader<DecimalBytes>>(
          to, type, [scale = from.scale()](const DecimalBytes& value) {
            return PlainDecimalText(value.value(), scale);
          });
    case TypeRoot::kChar:
    case TypeRoot::kVarChar:
      return TextToText(to, type);
    case TypeRoot::kBinary:
    case TypeRoot::kVarBinary:
      return BytesToText(type);
    case TypeRoot::kDate:
      return unlimited ? ValuesToText<ValueReader<int32_t>>(to, type, DateText) : nullptr;
    case TypeRoot::kTime:
      if (!unlimited) return nullptr;
      return ValuesToText<ValueReader<int32_t>>(
          to, type,
          [precision = from.precision()](int32_t millis) { return TimeText(millis, precision); });
    case TypeRoot::kTimestamp:
    case TypeRoot::kTimestampLtz:
      return unlimited ? TimestampsToText(from, to, type) : nullptr;
    case TypeRoot::kArray:
    case TypeRoot::kMap:
    case TypeRoot::kRow:
      return HasText(from) ? NestedToText(from, type) : nullptr;
    default:
      return nullptr;
  }
}

/// `parse(text) -> optional<Out>`.
template <typename Out, typename Parse>
Cast::Function TextTo(const DataType& to, const std::shared_ptr<arrow::DataType>& type,
                      Parse parse) {
  return [to, type, parse](const arrow::ArrayData& in) {
    return MapChecked<TextReader, Out>(in, type,
                                       [&](std::string_view text, Out* out) -> arrow::Status {
                                         const auto value = parse(text);
                                         if (!value) return BadText(to, text);
                                         *out = *value;
                                         return arrow::Status::OK();
                                       });
  };
}

Cast::Function TextToDecimal(const DataType& to, const std::shared_ptr<arrow::DataType>& type) {
  return [to, type](const arrow::ArrayData& in) -> ArrayDataResult {
    arrow::Status failed;
    auto result = MapToNullable<TextReader, DecimalBytes>(
        in, type, [&](std::string_view text, DecimalBytes* out) {
          arrow::Decimal128 value;
          const DecimalOutcome outcome = DecimalOf(to, text, &value);
          if (outcome == DecimalOutcome::kBad && failed.ok()) failed = BadText(to, text);
          if (outcome != DecimalOutcome::kValue) return false;
          *out = DecimalBytes::Of(value);
          return true;
        });
    ARROW_RETURN_NOT_OK(failed);
    return result;
  };
}

Cast::Function FromText(const DataType& to, const std::shared_ptr<arrow::DataType>& type) {
  switch (to.root()) {
    case TypeRoot::kBoolean:
      return TextTo<bool>(to, type, BooleanOf);
    case TypeRoot::kTinyInt:
      return TextTo<int8_t>(to, type, IntegerOf<int8_t>);
    case TypeRoot::kSmallInt:
      return TextTo<int16_t>(to, type, IntegerOf<int16_t>);
    case TypeRoot::kInt:
      return TextTo<int32_t>(to, type, IntegerOf<int32_t>);
    case TypeRoot::kBigInt:
      return TextTo<int64_t>(to, type, IntegerOf<int64_t>);
    case TypeRoot::kFloat:
      return TextTo<float>(to, type, FloatingOf<float>);
    case TypeRoot::kDouble:
      return TextTo<double>(to, type, FloatingOf<double>);
    case TypeRoot::kDecimal:
      return TextToDecimal(to, type);
    case TypeRoot::kDate:
      return TextTo<int32_t>(to, type, DateOf);
    case TypeRoot::kTime:
      return TextTo<int32_t>(to, type, TimeOf);
    case TypeRoot::kTimestamp:
    case TypeRoot::kTimestampLtz:
      return [to, type](const arrow::ArrayData& in) {
        return MapChecked<TextReader, int64_t>(in, type, [&](std::string_view text, int64_t* out) {
          return TimestampTicksOf(to, text).Value(out);
        });
      };
    default:
      return nullptr;
  }
}

}  // namespace

arrow::Result<Cast::Function> TextCast(const DataType& from, const DataType& to) {
  ARROW_ASSIGN_OR_RAISE(auto type, ToArrowType(to));
  if (to.IsString()) return ToText(from, to, type);
  if (to.IsBytes()) {
    return from.IsString() || from.IsBytes() ? ToBytes(to, type) : Cast::Function(nullptr);
  }
  return from.IsString() ? FromText(to, type) : Cast::Function(nullptr);
}

}  // namespace kelda::cast_kernels
