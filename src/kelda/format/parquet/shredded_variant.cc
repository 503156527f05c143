#include "kelda/format/parquet/shredded_variant.h"

#include <string_view>

#include <parquet/types.h>

#include "kelda/format/parquet/parquet_schema.h"
#include "kelda/format/variant/variant_shredding.h"

namespace kelda {
namespace {

using parquet::LogicalType;
using parquet::schema::GroupNode;
using parquet::schema::Node;
using parquet::schema::PrimitiveNode;

constexpr std::string_view kTypedValue = "typed_value";

arrow::Status NoForm(const Node& node) {
  return Unsupported("VARIANT shredded into '{}' of type {}", node.name(),
                     node.logical_type()->ToString());
}

arrow::Result<DataType> TimestampOf(const PrimitiveNode& node) {
  const auto& logical = static_cast<const parquet::TimestampLogicalType&>(*node.logical_type());
  if (logical.time_unit() == LogicalType::TimeUnit::NANOS) return NoForm(node);
  const int precision = logical.time_unit() == LogicalType::TimeUnit::MILLIS ? 3 : 6;
  return DataType::Temporal(
      logical.is_adjusted_to_utc() ? TypeRoot::kTimestampLtz : TypeRoot::kTimestamp, precision);
}

arrow::Result<DataType> ScalarOf(const PrimitiveNode& node) {
  const LogicalType& logical = *node.logical_type();
  if (logical.is_decimal()) {
    const auto& decimal = static_cast<const parquet::DecimalLogicalType&>(logical);
    if (decimal.precision() < 1 || decimal.precision() > 38 || decimal.scale() < 0 ||
        decimal.scale() > decimal.precision()) {
      return NoForm(node);
    }
    return DataType::Decimal(decimal.precision(), decimal.scale());
  }
  if (logical.is_timestamp()) return TimestampOf(node);
  if (logical.is_date()) return DataType(TypeRoot::kDate);
  if (logical.is_string()) return DataType::String();
  if (logical.is_int()) {
    const auto& integer = static_cast<const parquet::IntLogicalType&>(logical);
    if (!integer.is_signed()) return NoForm(node);
    switch (integer.bit_width()) {
      case 8:
        return DataType(TypeRoot::kTinyInt);
      case 16:
        return DataType(TypeRoot::kSmallInt);
      case 32:
        return DataType(TypeRoot::kInt);
      default:
        return DataType(TypeRoot::kBigInt);
    }
  }
  if (!logical.is_none()) return NoForm(node);
  switch (node.physical_type()) {
    case parquet::Type::BOOLEAN:
      return DataType(TypeRoot::kBoolean);
    case parquet::Type::INT32:
      return DataType(TypeRoot::kInt);
    case parquet::Type::INT64:
      return DataType(TypeRoot::kBigInt);
    case parquet::Type::FLOAT:
      return DataType(TypeRoot::kFloat);
    case parquet::Type::DOUBLE:
      return DataType(TypeRoot::kDouble);
    case parquet::Type::BYTE_ARRAY:
      return DataType::Bytes();
    default:
      return NoForm(node);
  }
}

DataField Member(std::string name, DataType type) {
  DataField field;
  field.name = std::move(name);
  field.type = std::move(type);
  return field;
}

arrow::Result<DataType> TypedOf(const Node& node, int depth);

/// A group of `value` and `typed_value`, of which one may be missing.
arrow::Result<DataType> PartOf(const Node& node, int depth) {
  if (!node.is_group() || depth > kParquetDepthMax) return NoForm(node);
  const auto& group = static_cast<const GroupNode&>(node);
  std::vector<DataField> members;
  for (int i = 0; i < group.field_count(); ++i) {
    const Node& field = *group.field(i);
    if (field.name() == "value" || field.name() == "metadata") {
      members.push_back(Member(field.name(), DataType::Bytes(field.is_optional())));
    } else if (field.name() == kTypedValue) {
      ARROW_ASSIGN_OR_RAISE(DataType typed, TypedOf(field, depth + 1));
      members.push_back(Member(field.name(), std::move(typed)));
    }
  }
  if (members.empty()) return NoForm(node);
  return DataType::Row(std::move(members));
}

arrow::Result<DataType> TypedOf(const Node& node, int depth) {
  if (node.is_primitive()) return ScalarOf(static_cast<const PrimitiveNode&>(node));
  const auto& group = static_cast<const GroupNode&>(node);
  if (group.field_count() == 1 && group.field(0)->is_repeated()) {
    const Node& repeated = *group.field(0);
    if (!repeated.is_group() || static_cast<const GroupNode&>(repeated).field_count() != 1) {
      return NoForm(node);
    }
    ARROW_ASSIGN_OR_RAISE(DataType element,
                          PartOf(*static_cast<const GroupNode&>(repeated).field(0), depth + 1));
    return DataType::Array(std::move(element));
  }
  std::vector<DataField> members;
  for (int i = 0; i < group.field_count(); ++i) {
    ARROW_ASSIGN_OR_RAISE(DataType part, PartOf(*group.field(i), depth + 1));
    members.push_back(Member(group.field(i)->name(), std::move(part)));
  }
  return DataType::Row(std::move(members));
}

class ShreddingWriter : public FormatWriter {
 public:
  ShreddingWriter(std::unique_ptr<FormatWriter> writer, std::vector<std::optional<DataType>> forms)
      : writer_(std::move(writer)), forms_(std::move(forms)) {}

  arrow::Status Write(const arrow::RecordBatch& batch) override {
    if (batch.num_columns() != static_cast<int>(forms_.size())) return writer_->Write(batch);
    arrow::ArrayVector columns = batch.columns();
    arrow::FieldVector fields = batch.schema()->fields();
    for (size_t i = 0; i < columns.size(); ++i) {
      if (!forms_[i] || columns[i]->type_id() != arrow::Type::STRUCT) continue;
      auto shredded = ShredVariants(*columns[i], *forms_[i]);
      if (!shredded.ok()) {
        return WithContext(shredded.status(), fmt::format("column '{}'", fields[i]->name()));
      }
      columns[i] = std::move(shredded).ValueUnsafe();
      fields[i] = fields[i]->WithType(columns[i]->type());
    }
    return writer_->Write(*arrow::RecordBatch::Make(arrow::schema(std::move(fields)),
                                                    batch.num_rows(), std::move(columns)));
  }
  int64_t EstimatedBytes() const override { return writer_->EstimatedBytes(); }
  int64_t BufferedBytes() const override { return writer_->BufferedBytes(); }
  arrow::Status FlushRowGroup() override { return writer_->FlushRowGroup(); }
  arrow::Result<WrittenFile> Finish() override { return writer_->Finish(); }

 private:
  std::unique_ptr<FormatWriter> writer_;
  std::vector<std::optional<DataType>> forms_;
};

}  // namespace

bool IsShreddedVariant(const Node& node) {
  return node.is_group() &&
         static_cast<const GroupNode&>(node).FieldIndex(std::string(kTypedValue)) >= 0;
}

arrow::Result<DataType> ShreddedTypeOf(const GroupNode& group) { return PartOf(group, 1); }

std::unique_ptr<FormatWriter> MakeShreddingWriter(std::unique_ptr<FormatWriter> writer,
                                                  std::vector<std::optional<DataType>> forms) {
  return std::make_unique<ShreddingWriter>(std::move(writer), std::move(forms));
}

}  // namespace kelda
