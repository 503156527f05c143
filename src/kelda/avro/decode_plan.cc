#include "kelda/avro/decode_plan.h"

#include <limits>
#include <string_view>
#include <unordered_map>
#include <utility>

namespace kelda::avro::internal {

namespace {

int64_t SaturatingAdd(int64_t a, int64_t b) {
  int64_t sum;
  return __builtin_add_overflow(a, b, &sum) ? std::numeric_limits<int64_t>::max() : sum;
}

int64_t SaturatingMultiply(int64_t a, int64_t b) {
  int64_t product;
  return __builtin_mul_overflow(a, b, &product) ? std::numeric_limits<int64_t>::max() : product;
}

Node SkipNode(Op op, int64_t param = 0) {
  Node node;
  node.op = op;
  node.param = param;
  return node;
}

void AddSkip(const Schema& schema, std::vector<Node>* steps);

std::vector<Node> SkipSteps(const Schema& schema) {
  std::vector<Node> steps;
  AddSkip(schema, &steps);
  return steps;
}

/// Grow the last step by `param` if it is of the same kind.
void AddCounted(Op op, int64_t param, std::vector<Node>* steps) {
  if (param == 0) return;
  if (!steps->empty() && steps->back().op == op) {
    steps->back().param += param;
  } else {
    steps->push_back(SkipNode(op, param));
  }
}

void AddSkipUnion(const Schema& schema, std::vector<Node>* steps) {
  Node node;
  const auto& branches = schema.children;
  if (branches.size() == 2 &&
      (branches[0]->type == Type::kNull || branches[1]->type == Type::kNull)) {
    node.op = Op::kSkipOptional;
    node.null_branch = branches[0]->type == Type::kNull ? 0 : 1;
    node.children = SkipSteps(*branches[1 - node.null_branch]);
  } else {
    node.op = Op::kSkipUnion;
    for (const SchemaPtr& branch : branches) {
      Node& sequence = node.children.emplace_back(SkipNode(Op::kSkipSequence));
      sequence.children = SkipSteps(*branch);
    }
  }
  steps->push_back(std::move(node));
}

void AddSkip(const Schema& schema, std::vector<Node>* steps) {
  switch (schema.type) {
    case Type::kNull:
      return;
    case Type::kBoolean:
      return AddCounted(Op::kSkipFixed, 1, steps);
    case Type::kInt:
    case Type::kLong:
    case Type::kEnum:
      return AddCounted(Op::kSkipVarints, 1, steps);
    case Type::kFloat:
      return AddCounted(Op::kSkipFixed, 4, steps);
    case Type::kDouble:
      return AddCounted(Op::kSkipFixed, 8, steps);
    case Type::kFixed:
      return AddCounted(Op::kSkipFixed, schema.fixed_size_bytes, steps);
    case Type::kBytes:
    case Type::kString:
      steps->push_back(SkipNode(Op::kSkipBytes));
      return;
    case Type::kRecord:
      for (const Field& field : schema.fields) AddSkip(*field.type, steps);
      return;
    case Type::kUnion:
      return AddSkipUnion(schema, steps);
    case Type::kArray:
    case Type::kMap: {
      Node node = SkipNode(Op::kSkipList);
      node.item_size_min = schema.children[0]->encoded_size_min_bytes;
      if (schema.type == Type::kMap) {
        node.children.push_back(SkipNode(Op::kSkipBytes));
        node.item_size_min = SaturatingAdd(node.item_size_min, 1);
      }
      AddSkip(*schema.children[0], &node.children);
      steps->push_back(std::move(node));
      return;
    }
  }
}

/// Nanoseconds of one unit.
int64_t UnitNanos(arrow::TimeUnit::type unit) {
  switch (unit) {
    case arrow::TimeUnit::SECOND:
      return 1'000'000'000;
    case arrow::TimeUnit::MILLI:
      return 1'000'000;
    case arrow::TimeUnit::MICRO:
      return 1'000;
    default:
      return 1;
  }
}

class Compiler {
 public:
  explicit Compiler(arrow::MemoryPool* pool) : pool_(pool) {}

  arrow::Result<Node> Record(const Schema& record, const arrow::FieldVector& wanted,
                             std::shared_ptr<arrow::DataType> type, const std::string& path) {
    Node node = NewNode(Op::kStruct, std::move(type), path);
    std::unordered_map<std::string_view, size_t> index_of;
    for (size_t f = 0; f < record.fields.size(); ++f) index_of.emplace(record.fields[f].name, f);
    std::vector<int> wanted_of(record.fields.size(), -1);
    for (size_t i = 0; i < wanted.size(); ++i) {
      const auto found = index_of.find(wanted[i]->name());
      if (found != index_of.end()) {
        int& slot = wanted_of[found->second];
        if (slot >= 0)
          return Invalid("Avro field '{}' is wanted twice", ChildPath(path, *wanted[i]));
        slot = static_cast<int>(i);
      } else if (!wanted[i]->nullable()) {
        return Invalid("the file has no field '{}', which may not be null",
                       ChildPath(path, *wanted[i]));
      }
    }
    node.column->outputs.assign(wanted.size(), -1);
    for (size_t f = 0; f < record.fields.size(); ++f) {
      const Schema& field_type = *record.fields[f].type;
      if (wanted_of[f] < 0) {
        AddSkip(field_type, &node.children);
        continue;
      }
      const arrow::Field& field = *wanted[wanted_of[f]];
      ARROW_ASSIGN_OR_RAISE(Node child, Value(field_type, field, ChildPath(path, field)));
      node.weight = SaturatingAdd(node.weight, child.weight);
      node.column->outputs[wanted_of[f]] = static_cast<int>(node.children.size());
      node.children.push_back(std::move(child));
    }
    return node;
  }

 private:
  static std::string ChildPath(const std::string& path, const arrow::Field& field) {
    return path.empty() ? field.name() : path + "." + field.name();
  }

  Node NewNode(Op op, std::shared_ptr<arrow::DataType> type, const std::string& path) {
    Node node;
    node.op = op;
    node.column = std::make_unique<Column>(pool_);
    node.column->type = std::move(type);
    node.column->path = path;
    return node;
  }

  arrow::Result<Node> Value(const Schema& schema, const arrow::Field& wanted,
                            const std::string& path) {
    ARROW_ASSIGN_OR_RAISE(NullableView view, AsNullable(schema, path));
    ARROW_ASSIGN_OR_RAISE(Node node, NonNull(*view.value, wanted.type(), path));
    node.is_union = view.is_union;
    node.null_branch = static_cast<int8_t>(view.null_branch);
    node.value_branch = static_cast<int8_t>(view.value_branch);
    node.keeps_validity = view.null_branch >= 0 && wanted.nullable();
    return node;
  }

  arrow::Result<Node> NonNull(const Schema& schema, const std::shared_ptr<arrow::DataType>& wanted,
                              const std::string& path) {
    const auto id = wanted->id();
    if (schema.type == Type::kRecord && id == arrow::Type::STRUCT) {
      return Record(schema, wanted->fields(), wanted, path);
    }
    if (schema.type == Type::kArray &&
        (id == arrow::Type::LIST || id == arrow::Type::FIXED_SIZE_LIST)) {
      return List(schema, wanted, path);
    }
    if (id == arrow::Type::MAP && (schema.type == Type::kMap || schema.type == Type::kArray)) {
      return Map(schema, wanted, path);
    }
    return Leaf(schema, wanted, path);
  }

  arrow::Result<Node> List(const Schema& schema, const std::shared_ptr<arrow::DataType>& wanted,
                           const std::string& path) {
    Node node = NewNode(Op::kList, wanted, path);
    const Schema& item = *schema.children[0];
    ARROW_ASSIGN_OR_RAISE(Node child, Value(item, *wanted->field(0), path));
    node.item_size_min = item.encoded_size_min_bytes;
    if (wanted->id() == arrow::Type::FIXED_SIZE_LIST) {
      node.op = Op::kFixedSizeList;
      node.param = static_cast<const arrow::FixedSizeListType&>(*wanted).list_size();
      node.weight = SaturatingAdd(1, SaturatingMultiply(node.param, child.weight));
    }
    node.children.push_back(std::move(child));
    return node;
  }

  /// Map entries and {key, value} records have the same bytes: key, then value.
  arrow::Result<Node> Map(const Schema& schema, const std::shared_ptr<arrow::DataType>& wanted,
                          const std::string& path) {
    const Schema& item = *schema.children[0];
    Schema string;
    string.type = Type::kString;
    string.encoded_size_min_bytes = 1;
    const Schema* key = &string;
    const Schema* value = &item;
    if (schema.type == Type::kArray) {
      if (item.type != Type::kRecord || item.fields.size() != 2)
        return Mismatch(schema, *wanted, path);
      key = item.fields[0].type.get();
      value = item.fields[1].type.get();
    }
    const auto& map = static_cast<const arrow::MapType&>(*wanted);
    Node entries = NewNode(Op::kStruct, map.value_type(), path);
    entries.column->outputs = {0, 1};
    ARROW_ASSIGN_OR_RAISE(Node key_node, Value(*key, *map.key_field(), path + ".key"));
    ARROW_ASSIGN_OR_RAISE(Node value_node, Value(*value, *map.item_field(), path + ".value"));
    entries.weight = SaturatingAdd(1, SaturatingAdd(key_node.weight, value_node.weight));
    entries.children.push_back(std::move(key_node));
    entries.children.push_back(std::move(value_node));
    Node node = NewNode(Op::kList, wanted, path);
    node.item_size_min = SaturatingAdd(key->encoded_size_min_bytes, value->encoded_size_min_bytes);
    node.children.push_back(std::move(entries));
    return node;
  }

  arrow::Result<Node> Leaf(const Schema& schema, const std::shared_ptr<arrow::DataType>& wanted,
                           const std::string& path) {
    Node node = NewNode(Op::kNull, wanted, path);
    bool matches = false;
    switch (schema.type) {
      case Type::kNull:
        matches = wanted->id() == arrow::Type::NA;
        break;
      case Type::kBoolean:
        node.op = Op::kBoolean;
        matches = wanted->id() == arrow::Type::BOOL;
        break;
      case Type::kInt:
        matches = SetInt(*wanted, &node);
        break;
      case Type::kLong:
        matches = SetLong(schema, *wanted, &node);
        break;
      case Type::kFloat:
        node.op = wanted->id() == arrow::Type::FLOAT ? Op::kFloat : Op::kFloatToDouble;
        node.width = wanted->id() == arrow::Type::FLOAT ? 4 : 8;
        matches = wanted->id() == arrow::Type::FLOAT || wanted->id() == arrow::Type::DOUBLE;
        break;
      case Type::kDouble:
        node.op = Op::kDouble;
        node.width = 8;
        matches = wanted->id() == arrow::Type::DOUBLE;
        break;
      case Type::kBytes:
      case Type::kString:
      case Type::kFixed:
        matches = SetBytes(schema, *wanted, &node);
        break;
      case Type::kEnum:
        node.op = Op::kEnum;
        node.column->symbols = schema.symbols;
        matches = wanted->id() == arrow::Type::STRING;
        break;
      default:
        break;
    }
    if (!matches) return Mismatch(schema, *wanted, path);
    node.weight = SaturatingAdd(1, node.width / 8);
    return node;
  }

  static bool SetInt(const arrow::DataType& wanted, Node* node) {
    switch (wanted.id()) {
      case arrow::Type::INT8:
        node->op = Op::kInt8;
        node->width = 1;
        return true;
      case arrow::Type::INT16:
        node->op = Op::kInt16;
        node->width = 2;
        return true;
      case arrow::Type::INT32:
      case arrow::Type::DATE32:
        node->op = Op::kInt32;
        node->width = 4;
        return true;
      case arrow::Type::TIME32:
        node->op = Op::kTimeMillis;
        node->width = 4;
        return static_cast<const arrow::Time32Type&>(wanted).unit() == arrow::TimeUnit::MILLI;
      case arrow::Type::INT64:
        node->op = Op::kInt64;
        node->width = 8;
        return true;
      default:
        return false;
    }
  }

  static bool SetLong(const Schema& schema, const arrow::DataType& wanted, Node* node) {
    node->op = Op::kInt64;
    node->width = 8;
    if (wanted.id() == arrow::Type::INT64) return true;
    const bool is_micros = schema.logical_type == LogicalType::kTimestampMicros ||
                           schema.logical_type == LogicalType::kLocalTimestampMicros;
    const bool is_millis = schema.logical_type == LogicalType::kTimestampMillis ||
                           schema.logical_type == LogicalType::kLocalTimestampMillis;
    if (wanted.id() == arrow::Type::TIME64) {
      return schema.logical_type == LogicalType::kTimeMicros &&
             static_cast<const arrow::Time64Type&>(wanted).unit() == arrow::TimeUnit::MICRO;
    }
    if (wanted.id() != arrow::Type::TIMESTAMP || !(is_micros || is_millis)) return false;
    // The zone is not compared: the names say the opposite of what Paimon means (spec 01 §4.3).
    const int64_t from = is_micros ? 1'000 : 1'000'000;
    const int64_t to = UnitNanos(static_cast<const arrow::TimestampType&>(wanted).unit());
    if (from > to) {
      node->op = Op::kMultiply;
      node->param = from / to;
    } else if (from < to) {
      node->op = Op::kDivide;
      node->param = to / from;
    }
    return true;
  }

  static bool SetBytes(const Schema& schema, const arrow::DataType& wanted, Node* node) {
    if (schema.logical_type == LogicalType::kDecimal) {
      node->op = schema.type == Type::kFixed ? Op::kDecimalFixed : Op::kDecimalBytes;
      node->param = schema.fixed_size_bytes;
      node->width = 16;
      return wanted.id() == arrow::Type::DECIMAL128 &&
             static_cast<const arrow::Decimal128Type&>(wanted).scale() == schema.scale;
    }
    if (schema.type == Type::kFixed) {
      node->op = Op::kFixed;
      node->param = schema.fixed_size_bytes;
      node->width = static_cast<int32_t>(schema.fixed_size_bytes);
      return wanted.id() == arrow::Type::FIXED_SIZE_BINARY &&
             static_cast<const arrow::FixedSizeBinaryType&>(wanted).byte_width() == node->width;
    }
    node->op = Op::kBytes;
    return wanted.id() == arrow::Type::STRING || wanted.id() == arrow::Type::BINARY;
  }

  static arrow::Status Mismatch(const Schema& schema, const arrow::DataType& wanted,
                                const std::string& path) {
    return arrow::Status::TypeError("Avro field '", path, "' of type ", ToJson(schema),
                                    " cannot be read as ", wanted.ToString());
  }

  arrow::MemoryPool* pool_;
};

}  // namespace

arrow::Result<Node> CompileRecord(const Schema& record, const arrow::FieldVector& wanted,
                                  std::shared_ptr<arrow::DataType> type, const std::string& path,
                                  arrow::MemoryPool* pool) {
  return Compiler(pool).Record(record, wanted, std::move(type), path);
}

}  // namespace kelda::avro::internal
