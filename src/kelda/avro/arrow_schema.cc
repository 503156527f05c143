#include "kelda/avro/arrow_schema.h"

#include <algorithm>
#include <utility>

#include <arrow/type.h>

namespace kelda::avro {

namespace {

std::string ChildPath(const std::string& path, const std::string& name) {
  return path.empty() ? name : path + "." + name;
}

/// Refuse projection paths that met no field.
template <typename HasField>
arrow::Status CheckFound(const Projection& projection, const std::string& path,
                         HasField has_field) {
  for (const auto& [name, child] : projection.fields()) {
    if (!has_field(name)) {
      return arrow::Status::KeyError("no field '", ChildPath(path, name), "' to project");
    }
  }
  return arrow::Status::OK();
}

class Converter {
 public:
  arrow::Result<arrow::FieldVector> RecordFields(const Schema& record, const Projection& projection,
                                                 const std::string& path) {
    ARROW_RETURN_NOT_OK(CheckFound(
        projection, path, [&](const std::string& name) { return record.FieldIndex(name) >= 0; }));
    arrow::FieldVector fields;
    for (const Field& field : record.fields) {
      const Projection* wanted = projection.Find(field.name);
      if (wanted == nullptr) continue;
      ARROW_ASSIGN_OR_RAISE(auto converted,
                            Convert(field.name, *field.type, *wanted, ChildPath(path, field.name)));
      fields.push_back(std::move(converted));
    }
    return fields;
  }

 private:
  arrow::Result<std::shared_ptr<arrow::Field>> Convert(const std::string& name,
                                                       const Schema& schema,
                                                       const Projection& projection,
                                                       const std::string& path) {
    ARROW_ASSIGN_OR_RAISE(NullableView view, AsNullable(schema, path));
    ARROW_ASSIGN_OR_RAISE(auto type, ConvertType(*view.value, projection, path));
    const bool nullable = view.null_branch >= 0 || view.value->type == Type::kNull;
    return arrow::field(name, std::move(type), nullable);
  }

  arrow::Result<std::shared_ptr<arrow::DataType>> ConvertType(const Schema& schema,
                                                              const Projection& projection,
                                                              const std::string& path) {
    if (schema.type == Type::kRecord) {
      ARROW_ASSIGN_OR_RAISE(auto fields, RecordFields(schema, projection, path));
      return arrow::struct_(fields);
    }
    if (schema.type == Type::kArray) return ConvertArray(schema, projection, path);
    if (schema.type == Type::kMap) {
      ARROW_ASSIGN_OR_RAISE(auto value, Convert("value", *schema.children[0], projection, path));
      return arrow::map(arrow::utf8(), std::move(value));
    }
    ARROW_RETURN_NOT_OK(CheckFound(projection, path, [](const std::string&) { return false; }));
    return ConvertLeaf(schema, path);
  }

  arrow::Result<std::shared_ptr<arrow::DataType>> ConvertArray(const Schema& schema,
                                                               const Projection& projection,
                                                               const std::string& path) {
    const Schema& item = *schema.children[0];
    if (schema.logical_type != LogicalType::kMap) {
      ARROW_ASSIGN_OR_RAISE(auto element, Convert("element", item, projection, path));
      return arrow::list(std::move(element));
    }
    // Key and value are both needed to make a map; paths select inside the value.
    ARROW_ASSIGN_OR_RAISE(auto key, Convert("key", *item.fields[0].type, Projection(), path));
    ARROW_ASSIGN_OR_RAISE(auto value, Convert("value", *item.fields[1].type, projection, path));
    return arrow::map(key->type(), std::move(value));
  }

  static arrow::Result<std::shared_ptr<arrow::DataType>> ConvertLeaf(const Schema& schema,
                                                                     const std::string& path) {
    switch (schema.logical_type) {
      case LogicalType::kDecimal:
        if (schema.precision > arrow::Decimal128Type::kMaxPrecision) {
          return Unsupported("Avro decimal of precision {} in '{}'", schema.precision, path);
        }
        return arrow::decimal128(schema.precision, schema.scale);
      case LogicalType::kDate:
        return arrow::date32();
      case LogicalType::kTimeMillis:
        return arrow::time32(arrow::TimeUnit::MILLI);
      case LogicalType::kTimeMicros:
        return arrow::time64(arrow::TimeUnit::MICRO);
      case LogicalType::kTimestampMillis:
        return arrow::timestamp(arrow::TimeUnit::MILLI);
      case LogicalType::kTimestampMicros:
        return arrow::timestamp(arrow::TimeUnit::MICRO);
      case LogicalType::kLocalTimestampMillis:
        return arrow::timestamp(arrow::TimeUnit::MILLI, "UTC");
      case LogicalType::kLocalTimestampMicros:
        return arrow::timestamp(arrow::TimeUnit::MICRO, "UTC");
      default:
        break;
    }
    switch (schema.type) {
      case Type::kNull:
        return arrow::null();
      case Type::kBoolean:
        return arrow::boolean();
      case Type::kInt:
        return arrow::int32();
      case Type::kLong:
        return arrow::int64();
      case Type::kFloat:
        return arrow::float32();
      case Type::kDouble:
        return arrow::float64();
      case Type::kBytes:
        return arrow::binary();
      case Type::kFixed:
        return arrow::fixed_size_binary(static_cast<int32_t>(schema.fixed_size_bytes));
      default:  // string, enum
        return arrow::utf8();
    }
  }
};

class ArrowProjector {
 public:
  arrow::Result<arrow::FieldVector> Fields(const arrow::FieldVector& fields,
                                           const Projection& projection, const std::string& path) {
    ARROW_RETURN_NOT_OK(CheckFound(projection, path, [&](const std::string& name) {
      for (const auto& field : fields) {
        if (field->name() == name) return true;
      }
      return false;
    }));
    arrow::FieldVector kept;
    for (const auto& field : fields) {
      const Projection* wanted = projection.Find(field->name());
      if (wanted == nullptr) continue;
      ARROW_ASSIGN_OR_RAISE(auto projected,
                            Project(field, *wanted, ChildPath(path, field->name())));
      kept.push_back(std::move(projected));
    }
    return kept;
  }

 private:
  arrow::Result<std::shared_ptr<arrow::Field>> Project(const std::shared_ptr<arrow::Field>& field,
                                                       const Projection& projection,
                                                       const std::string& path) {
    if (projection.all()) return field;
    const arrow::DataType& type = *field->type();
    switch (type.id()) {
      case arrow::Type::STRUCT: {
        ARROW_ASSIGN_OR_RAISE(auto fields, Fields(type.fields(), projection, path));
        return field->WithType(arrow::struct_(fields));
      }
      case arrow::Type::LIST: {
        ARROW_ASSIGN_OR_RAISE(auto element, Project(type.field(0), projection, path));
        return field->WithType(arrow::list(std::move(element)));
      }
      case arrow::Type::FIXED_SIZE_LIST: {
        ARROW_ASSIGN_OR_RAISE(auto element, Project(type.field(0), projection, path));
        const int32_t size = static_cast<const arrow::FixedSizeListType&>(type).list_size();
        return field->WithType(arrow::fixed_size_list(std::move(element), size));
      }
      case arrow::Type::MAP: {
        const auto& map = static_cast<const arrow::MapType&>(type);
        ARROW_ASSIGN_OR_RAISE(auto value, Project(map.item_field(), projection, path));
        return field->WithType(
            std::make_shared<arrow::MapType>(map.key_field(), std::move(value), map.keys_sorted()));
      }
      default:
        ARROW_RETURN_NOT_OK(CheckFound(projection, path, [](const std::string&) { return false; }));
        return field;
    }
  }
};

}  // namespace

Projection Projection::Of(const std::vector<std::string>& paths) {
  Projection root;
  root.all_ = false;
  for (const std::string& path : paths) {
    Projection* node = &root;
    // Stop where a shorter path already takes the whole field.
    for (size_t begin = 0; begin <= path.size() && (node == &root || !node->all_);) {
      const size_t dot = std::min(path.find('.', begin), path.size());
      const auto [child, is_new] = node->fields_.try_emplace(path.substr(begin, dot - begin));
      if (is_new) child->second.all_ = false;
      node = &child->second;
      begin = dot + 1;
    }
    node->all_ = true;
    node->fields_.clear();
  }
  return root;
}

const Projection* Projection::Find(const std::string& name) const {
  if (all_) return this;
  const auto found = fields_.find(name);
  return found == fields_.end() ? nullptr : &found->second;
}

arrow::Result<NullableView> RootRecord(const Schema& root) {
  ARROW_ASSIGN_OR_RAISE(NullableView view, AsNullable(root, "root"));
  if (view.value->type != Type::kRecord) {
    return Unsupported("Avro file of {} data (only records)", ToString(view.value->type));
  }
  return view;
}

arrow::Result<std::shared_ptr<arrow::Schema>> ToArrowSchema(const Schema& root,
                                                            const Projection& projection) {
  ARROW_ASSIGN_OR_RAISE(NullableView view, RootRecord(root));
  ARROW_ASSIGN_OR_RAISE(auto fields, Converter().RecordFields(*view.value, projection, ""));
  return arrow::schema(std::move(fields));
}

arrow::Result<std::shared_ptr<arrow::Schema>> ProjectSchema(
    const std::shared_ptr<arrow::Schema>& schema, const Projection& projection) {
  if (projection.all()) return schema;
  ARROW_ASSIGN_OR_RAISE(auto fields, ArrowProjector().Fields(schema->fields(), projection, ""));
  return arrow::schema(std::move(fields), schema->metadata());
}

}  // namespace kelda::avro
