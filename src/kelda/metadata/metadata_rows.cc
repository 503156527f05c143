#include "kelda/metadata/metadata_rows.h"

#include <algorithm>

#include <arrow/compute/api.h>

#include "kelda/avro/reader.h"
#include "kelda/format/file_format.h"
#include "kelda/types/arrow_mapping.h"

namespace kelda {

namespace {

class AvroRows : public MetadataRows {
 public:
  explicit AvroRows(std::unique_ptr<avro::AvroFileReader> reader) : reader_(std::move(reader)) {}
  arrow::Result<std::shared_ptr<arrow::RecordBatch>> Next() override { return reader_->Next(); }

 private:
  std::unique_ptr<avro::AvroFileReader> reader_;
};

/// The Paimon type of a field; Avro has no TINYINT, other formats do.
arrow::Result<DataType> TypeOf(const arrow::Field& field) {
  if (field.name() == "_KIND" || field.name() == "_FILE_SOURCE")
    return DataType(TypeRoot::kTinyInt);
  if (field.name() == "_CREATION_TIME") return DataType::Temporal(TypeRoot::kTimestamp, 3);
  switch (field.type()->id()) {
    case arrow::Type::STRUCT: {
      std::vector<DataField> members;
      for (const auto& child : field.type()->fields()) {
        ARROW_ASSIGN_OR_RAISE(auto type, TypeOf(*child));
        members.push_back({-1, child->name(), std::move(type), {}, {}});
      }
      return DataType::Row(std::move(members));
    }
    case arrow::Type::LIST: {
      ARROW_ASSIGN_OR_RAISE(auto element, TypeOf(*field.type()->field(0)));
      return DataType::Array(std::move(element));
    }
    default: {
      ARROW_ASSIGN_OR_RAISE(auto type, FromArrowType(*field.type()));
      return type.WithNullable(true);
    }
  }
}

/// `array` as a column of the Avro form.
arrow::Result<std::shared_ptr<arrow::Array>> Conform(const std::shared_ptr<arrow::Array>& array,
                                                     const std::shared_ptr<arrow::DataType>& type) {
  switch (type->id()) {
    case arrow::Type::STRUCT: {
      arrow::ArrayVector children;
      const auto& rows = static_cast<const arrow::StructArray&>(*array);
      for (int i = 0; i < type->num_fields(); ++i) {
        ARROW_ASSIGN_OR_RAISE(auto child, Conform(rows.field(i), type->field(i)->type()));
        children.push_back(std::move(child));
      }
      return std::make_shared<arrow::StructArray>(type, array->length(), std::move(children),
                                                  array->null_bitmap(), array->null_count(),
                                                  array->offset());
    }
    case arrow::Type::LIST: {
      const auto& list = static_cast<const arrow::ListArray&>(*array);
      ARROW_ASSIGN_OR_RAISE(auto values, Conform(list.values(), type->field(0)->type()));
      return std::make_shared<arrow::ListArray>(type, array->length(), list.value_offsets(), values,
                                                array->null_bitmap(), array->null_count(),
                                                array->offset());
    }
    default: {
      if (array->type()->Equals(*type)) return array;
      return arrow::compute::Cast(*array, type);
    }
  }
}

class FormatRows : public MetadataRows {
 public:
  FormatRows(std::unique_ptr<FormatReader> reader, std::shared_ptr<arrow::Schema> schema)
      : reader_(std::move(reader)), schema_(std::move(schema)) {}

  arrow::Result<std::shared_ptr<arrow::RecordBatch>> Next() override {
    ARROW_ASSIGN_OR_RAISE(auto batch, reader_->Next());
    if (batch == nullptr) return batch;
    arrow::ArrayVector columns;
    for (int i = 0; i < schema_->num_fields(); ++i) {
      ARROW_ASSIGN_OR_RAISE(auto column, Conform(batch->column(i), schema_->field(i)->type()));
      columns.push_back(std::move(column));
    }
    return arrow::RecordBatch::Make(schema_, batch->num_rows(), std::move(columns));
  }

 private:
  std::unique_ptr<FormatReader> reader_;
  std::shared_ptr<arrow::Schema> schema_;
};

/// Top-level fields of `schema` that the projection names or goes into.
std::shared_ptr<arrow::Schema> TopLevel(const std::shared_ptr<arrow::Schema>& schema,
                                        const std::optional<std::vector<std::string>>& projection) {
  if (!projection) return schema;
  arrow::FieldVector fields;
  for (const auto& field : schema->fields()) {
    const bool wanted =
        std::any_of(projection->begin(), projection->end(), [&](const std::string& path) {
          return path == field->name() || path.starts_with(field->name() + ".");
        });
    if (wanted) fields.push_back(field);
  }
  return arrow::schema(std::move(fields));
}

}  // namespace

arrow::Result<std::unique_ptr<MetadataRows>> MetadataRows::Open(
    FileIO& io, std::shared_ptr<arrow::Buffer> bytes, const std::string& path,
    const std::shared_ptr<arrow::Schema>& schema,
    const std::optional<std::vector<std::string>>& projection) {
  const std::string_view head = std::string_view(*bytes).substr(0, 4);
  const char* format_name =
      head.starts_with("ORC") ? "orc" : (head == "PAR1" ? "parquet" : nullptr);
  if (format_name == nullptr) {
    avro::ReadOptions options;
    options.output = schema;
    options.projection = projection;
    ARROW_ASSIGN_OR_RAISE(auto reader, avro::AvroFileReader::Open(std::move(bytes), path, options));
    return std::make_unique<AvroRows>(std::move(reader));
  }
  auto top = TopLevel(schema, projection);
  ReadOptions options;
  for (const auto& field : top->fields()) {
    ARROW_ASSIGN_OR_RAISE(auto type, TypeOf(*field));
    options.columns.push_back({-1, field->name(), std::move(type), {}, {}});
  }
  ARROW_ASSIGN_OR_RAISE(const FileFormat* format, FindFormat(format_name));
  ARROW_ASSIGN_OR_RAISE(auto reader, format->OpenReader(io, path, bytes->size(), options));
  return std::make_unique<FormatRows>(std::move(reader), std::move(top));
}

}  // namespace kelda
