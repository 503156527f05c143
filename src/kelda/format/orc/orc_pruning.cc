#include "kelda/format/orc/orc_pruning.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include <arrow/scalar.h>
#include <arrow/util/decimal.h>

#include "kelda/format/orc/column_reader.h"
#include "kelda/format/orc/orc_wire.h"

namespace kelda {
namespace {

using ScalarPtr = std::shared_ptr<arrow::Scalar>;

/// The statistics message; parts that are absent stay empty.
struct Parts {
  std::optional<int64_t> values;
  std::string_view ints;
  std::string_view doubles;
  std::string_view texts;
  std::string_view buckets;
  std::string_view decimals;
  std::string_view dates;
  std::string_view timestamps;
};

bool Parse(std::string_view bytes, Parts* parts) {
  WireReader reader(bytes, "column statistics");
  WireField field;
  while (reader.Next(&field)) {
    if (field.number == 1) {
      if (field.type != WireField::kVarint || field.value >> 62 != 0) return false;
      parts->values = static_cast<int64_t>(field.value);
      continue;
    }
    if (field.type != WireField::kBytes) continue;
    switch (field.number) {
      case 2:
        parts->ints = field.bytes;
        break;
      case 3:
        parts->doubles = field.bytes;
        break;
      case 4:
        parts->texts = field.bytes;
        break;
      case 5:
        parts->buckets = field.bytes;
        break;
      case 6:
        parts->decimals = field.bytes;
        break;
      case 7:
        parts->dates = field.bytes;
        break;
      case 9:
        parts->timestamps = field.bytes;
        break;
      default:
        break;
    }
  }
  return reader.status().ok();
}

/// The fields numbered up to 6 of a message.
struct Fields {
  std::optional<WireField> of[7];

  bool Parse(std::string_view bytes, uint32_t type) {
    WireReader reader(bytes, "column statistics");
    WireField field;
    while (reader.Next(&field)) {
      if (field.number < 7 && field.type == type) of[field.number] = field;
    }
    return reader.status().ok();
  }
  bool Has(int a, int b) const { return of[a].has_value() && of[b].has_value(); }
};

template <typename ArrowType, typename Value>
ScalarPtr Fitting(Value value, const std::shared_ptr<arrow::DataType>& type) {
  using C = typename ArrowType::c_type;
  if (value < std::numeric_limits<C>::min() || value > std::numeric_limits<C>::max()) {
    return nullptr;
  }
  return std::make_shared<typename arrow::TypeTraits<ArrowType>::ScalarType>(static_cast<C>(value),
                                                                             type);
}

ScalarPtr IntScalar(int64_t value, const std::shared_ptr<arrow::DataType>& type) {
  switch (type->id()) {
    case arrow::Type::INT8:
      return Fitting<arrow::Int8Type>(value, type);
    case arrow::Type::INT16:
      return Fitting<arrow::Int16Type>(value, type);
    case arrow::Type::INT32:
      return Fitting<arrow::Int32Type>(value, type);
    case arrow::Type::INT64:
      return Fitting<arrow::Int64Type>(value, type);
    case arrow::Type::TIME32:
      return Fitting<arrow::Time32Type>(value, type);
    case arrow::Type::DATE32:
      return Fitting<arrow::Date32Type>(value, type);
    default:
      return nullptr;
  }
}

void IntBounds(std::string_view bytes, const std::shared_ptr<arrow::DataType>& type,
               ColumnBounds* out) {
  Fields fields;
  if (!fields.Parse(bytes, WireField::kVarint) || !fields.Has(1, 2)) return;
  out->min = IntScalar(fields.of[1]->Zigzag(), type);
  out->max = IntScalar(fields.of[2]->Zigzag(), type);
}

/// Java loses the bounds of others when a NaN comes first, but the sum tells that there was one.
void DoubleBounds(std::string_view bytes, const std::shared_ptr<arrow::DataType>& type,
                  ColumnBounds* out) {
  Fields fields;
  if (!fields.Parse(bytes, WireField::kFixed64) || !fields.Has(1, 2) || !fields.of[3]) return;
  const double min = fields.of[1]->Double();
  const double max = fields.of[2]->Double();
  if (std::isnan(fields.of[3]->Double()) || std::isnan(min) || std::isnan(max)) return;
  if (type->id() == arrow::Type::DOUBLE) {
    out->min = std::make_shared<arrow::DoubleScalar>(min);
    out->max = std::make_shared<arrow::DoubleScalar>(max);
  } else if (type->id() == arrow::Type::FLOAT) {
    out->min = std::make_shared<arrow::FloatScalar>(static_cast<float>(min));
    out->max = std::make_shared<arrow::FloatScalar>(static_cast<float>(max));
  }
}

/// Long texts have a bound each in place of the value.
void TextBounds(std::string_view bytes, const OrcType& column,
                const std::shared_ptr<arrow::DataType>& type, ColumnBounds* out) {
  Fields fields;
  if (type->id() != arrow::Type::STRING || !fields.Parse(bytes, WireField::kBytes)) return;
  const auto& min = fields.of[1] ? fields.of[1] : fields.of[4];
  const auto& max = fields.of[2] ? fields.of[2] : fields.of[5];
  if (!min || !max) return;
  std::string_view low = min->bytes;
  // Values of CHAR are read without the blanks that Java pads them with.
  if (column.kind == OrcKind::kChar) low = low.substr(0, low.find_last_not_of(' ') + 1);
  out->min = std::make_shared<arrow::StringScalar>(std::string(low));
  out->max = std::make_shared<arrow::StringScalar>(std::string(max->bytes));
}

ScalarPtr DecimalScalar(std::string_view text, const std::shared_ptr<arrow::DataType>& type,
                        bool upper) {
  arrow::Decimal128 value;
  int32_t precision = 0;
  int32_t scale = 0;
  if (text.size() > 100 || !arrow::Decimal128::FromString(text, &value, &precision, &scale).ok()) {
    return nullptr;
  }
  const int32_t wanted = static_cast<const arrow::Decimal128Type&>(*type).scale();
  if (scale > wanted) {
    if (scale - wanted > 38) return nullptr;
    // Toward the outside.
    auto parts = value.Divide(arrow::Decimal128::GetScaleMultiplier(scale - wanted));
    if (!parts.ok()) return nullptr;
    value = parts->first;
    if (upper && parts->second > arrow::Decimal128(0)) value += arrow::Decimal128(1);
    if (!upper && parts->second < arrow::Decimal128(0)) value -= arrow::Decimal128(1);
  } else if (scale < wanted) {
    auto scaled = value.Rescale(scale, wanted);
    if (!scaled.ok()) return nullptr;
    value = *scaled;
  }
  return std::make_shared<arrow::Decimal128Scalar>(value, type);
}

void DecimalBounds(std::string_view bytes, const std::shared_ptr<arrow::DataType>& type,
                   ColumnBounds* out) {
  Fields fields;
  if (type->id() != arrow::Type::DECIMAL128 || !fields.Parse(bytes, WireField::kBytes) ||
      !fields.Has(1, 2)) {
    return;
  }
  out->min = DecimalScalar(fields.of[1]->bytes, type, false);
  out->max = DecimalScalar(fields.of[2]->bytes, type, true);
}

/// A wall clock in milliseconds, with the nanoseconds within the millisecond.
ScalarPtr TimestampScalar(int64_t millis, int64_t nanos,
                          const std::shared_ptr<arrow::DataType>& type) {
  const int64_t seconds = millis / 1000 - (millis % 1000 < 0 ? 1 : 0);
  const int64_t rest = (millis - seconds * 1000) * 1000000 + nanos;
  __int128 value = seconds;
  switch (static_cast<const arrow::TimestampType&>(*type).unit()) {
    case arrow::TimeUnit::SECOND:
      break;
    case arrow::TimeUnit::MILLI:
      value = value * 1000 + rest / 1000000;
      break;
    case arrow::TimeUnit::MICRO:
      value = value * 1000000 + rest / 1000;
      break;
    case arrow::TimeUnit::NANO:
      value = value * 1000000000 + rest;
      break;
  }
  return Fitting<arrow::TimestampType>(value, type);
}

void TimestampBounds(std::string_view bytes, const std::shared_ptr<arrow::DataType>& type,
                     ColumnBounds* out) {
  Fields fields;
  if (type->id() != arrow::Type::TIMESTAMP || !fields.Parse(bytes, WireField::kVarint) ||
      !fields.Has(3, 4)) {
    return;
  }
  // The nanoseconds within the millisecond are stored plus one; absent they are not known.
  const auto nanos = [&](int field, int64_t unknown) {
    if (!fields.of[field]) return unknown;
    const auto stored = static_cast<int64_t>(fields.of[field]->value) - 1;
    return stored < 0 || stored > 999999 ? unknown : stored;
  };
  out->min = TimestampScalar(fields.of[3]->Zigzag(), nanos(5, 0), type);
  out->max = TimestampScalar(fields.of[4]->Zigzag(), nanos(6, 999999), type);
}

void BooleanBounds(std::string_view bytes, int64_t values,
                   const std::shared_ptr<arrow::DataType>& type, ColumnBounds* out) {
  if (type->id() != arrow::Type::BOOL || values == 0) return;
  std::optional<int64_t> trues;
  WireReader reader(bytes, "column statistics");
  WireField field;
  while (reader.Next(&field)) {
    if (field.number != 1 || trues) continue;
    if (!ForEachNumber(reader, field, [&](uint64_t count) {
           if (!trues) trues = static_cast<int64_t>(count);
           return arrow::Status::OK();
         }).ok()) {
      return;
    }
  }
  if (!reader.status().ok() || !trues || *trues < 0 || *trues > values) return;
  out->min = std::make_shared<arrow::BooleanScalar>(*trues == values);
  out->max = std::make_shared<arrow::BooleanScalar>(*trues > 0);
}

}  // namespace

ColumnBounds BoundsFromStatistics(std::string_view statistics, const OrcType& column,
                                  const std::shared_ptr<arrow::DataType>& type, int64_t rows) {
  ColumnBounds bounds;
  Parts parts;
  if (!Parse(statistics, &parts) || !parts.values || *parts.values > rows) return bounds;
  const int64_t nulls = rows - *parts.values;
  // Decimals that do not fit their type are counted as values and read as null.
  if (column.kind != OrcKind::kDecimal || nulls == rows) bounds.null_count = nulls;
  if (!type || *parts.values == 0) return bounds;
  switch (column.kind) {
    case OrcKind::kBoolean:
      BooleanBounds(parts.buckets, *parts.values, type, &bounds);
      break;
    case OrcKind::kByte:
    case OrcKind::kShort:
    case OrcKind::kInt:
    case OrcKind::kLong:
      IntBounds(parts.ints, type, &bounds);
      break;
    case OrcKind::kFloat:
    case OrcKind::kDouble:
      DoubleBounds(parts.doubles, type, &bounds);
      break;
    case OrcKind::kString:
    case OrcKind::kVarchar:
    case OrcKind::kChar:
      TextBounds(parts.texts, column, type, &bounds);
      break;
    case OrcKind::kDecimal:
      DecimalBounds(parts.decimals, type, &bounds);
      break;
    case OrcKind::kDate:
      IntBounds(parts.dates, type, &bounds);
      break;
    case OrcKind::kTimestamp:
    case OrcKind::kTimestampInstant:
      TimestampBounds(parts.timestamps, type, &bounds);
      break;
    default:
      break;
  }
  if (!bounds.min || !bounds.max) bounds.min = bounds.max = nullptr;
  return bounds;
}

class OrcPruning::Source : public BoundsSource {
 public:
  Source(const OrcPruning& owner, int64_t rows,
         const std::function<std::string_view(uint32_t)>& statistics_of)
      : owner_(owner), rows_(rows), statistics_of_(statistics_of) {}

  int64_t row_count() const override { return rows_; }

  std::optional<ColumnBounds> Bounds(const std::vector<std::string>& path) const override {
    for (const Column& column : owner_.columns_) {
      if (column.path != path) continue;
      if (column.missing) return ColumnBounds{nullptr, nullptr, rows_};
      if (column.id < 0) return std::nullopt;
      const auto id = static_cast<uint32_t>(column.id);
      const std::string_view statistics = statistics_of_(id);
      if (statistics.empty()) return std::nullopt;
      return BoundsFromStatistics(statistics, owner_.types_[id], column.type, rows_);
    }
    return std::nullopt;
  }

 private:
  const OrcPruning& owner_;
  const int64_t rows_;
  const std::function<std::string_view(uint32_t)>& statistics_of_;
};

OrcPruning::OrcPruning(const std::vector<OrcType>& types, PredicatePtr predicate)
    : types_(types), predicate_(std::move(predicate)) {
  if (predicate_) Collect(*predicate_);
}

void OrcPruning::Collect(const Predicate& predicate) {
  for (const auto& child : predicate.children) {
    if (child) Collect(*child);
  }
  if (predicate.column.empty()) return;
  auto found = std::find_if(columns_.begin(), columns_.end(),
                            [&](const Column& column) { return column.path == predicate.column; });
  if (found == columns_.end()) {
    Column column;
    column.path = predicate.column;
    int64_t id = 0;
    for (size_t i = 0; i < column.path.size() && id >= 0; ++i) {
      const bool is_struct = types_[static_cast<size_t>(id)].kind == OrcKind::kStruct;
      id = is_struct ? FindOrcChild(types_, static_cast<uint32_t>(id), column.path[i]) : -1;
      if (id < 0) column.missing = i == 0;
    }
    column.id = id;
    found = columns_.insert(columns_.end(), std::move(column));
  }
  for (const auto& literal : predicate.literals) {
    if (literal && !found->type && literal->type->id() != arrow::Type::NA) {
      found->type = literal->type;
    }
  }
}

std::vector<uint32_t> OrcPruning::ColumnsWithBounds() const {
  std::vector<uint32_t> ids;
  for (const Column& column : columns_) {
    if (column.id >= 0) ids.push_back(static_cast<uint32_t>(column.id));
  }
  return ids;
}

bool OrcPruning::MayMatch(int64_t rows,
                          const std::function<std::string_view(uint32_t)>& statistics_of) const {
  return !predicate_ || kelda::MayMatch(*predicate_, Source(*this, rows, statistics_of));
}

}  // namespace kelda
