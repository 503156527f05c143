#include "kelda/avro/encoder.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include <arrow/array/data.h>
#include <arrow/record_batch.h>
#include <arrow/type.h>
#include <arrow/util/bit_util.h>

#include "kelda/avro/arrow_schema.h"

namespace kelda::avro {

namespace internal {

enum class EncodeOp : uint8_t {
  kNull,
  kBoolean,
  kInt8,
  kInt16,
  kInt32,
  kInt64,
  kFixed,  ///< `width` bytes as they are: float, double, fixed
  kBytes,
  kDecimalBytes,
  kDecimalFixed,
  kEnum,
  kStruct,
  kList,  ///< lists and maps
  kFixedSizeList,
};

/// One bound column. Pointers are into the batch; slots count from the start of its buffers.
struct EncodeNode {
  EncodeOp op = EncodeOp::kNull;
  bool is_union = false;
  int8_t null_branch = -1;
  int8_t value_branch = -1;
  const uint8_t* validity = nullptr;
  const uint8_t* values = nullptr;
  const int32_t* offsets = nullptr;
  int64_t offset = 0;  ///< of the column's first slot
  int64_t width = 0;
  const Schema* schema = nullptr;
  std::string path;
  std::vector<EncodeNode> children;
};

}  // namespace internal

using internal::EncodeNode;
using internal::EncodeOp;

namespace {

const uint8_t* BufferData(const arrow::ArrayData& data, int index) {
  const auto& buffer = data.buffers[index];
  return buffer == nullptr ? nullptr : buffer->data();
}

class Binder {
 public:
  arrow::Result<EncodeNode> Bind(const Schema& schema, const arrow::ArrayData& data,
                                 std::string path) {
    ARROW_ASSIGN_OR_RAISE(NullableView view, AsNullable(schema, path));
    EncodeNode node;
    node.is_union = view.is_union;
    node.null_branch = static_cast<int8_t>(view.null_branch);
    node.value_branch = static_cast<int8_t>(view.value_branch);
    node.schema = view.value;
    node.path = std::move(path);
    node.offset = data.offset;
    if (data.type->id() != arrow::Type::NA) node.validity = BufferData(data, 0);
    arrow::Result<bool> matches = false;
    if (view.value->type == Type::kRecord) {
      matches = BindStruct(data, &node);
    } else if (view.value->type == Type::kArray || view.value->type == Type::kMap) {
      matches = BindList(data, &node);
    } else {
      matches = BindLeaf(data, &node);
    }
    ARROW_RETURN_NOT_OK(matches.status());
    if (*matches) return node;
    return arrow::Status::TypeError("cannot write ", data.type->ToString(), " to Avro field '",
                                    node.path, "' of type ", ToJson(*view.value));
  }

 private:
  arrow::Result<bool> BindStruct(const arrow::ArrayData& data, EncodeNode* node) {
    const auto& fields = node->schema->fields;
    if (data.type->id() != arrow::Type::STRUCT || data.child_data.size() != fields.size())
      return false;
    node->op = EncodeOp::kStruct;
    for (size_t i = 0; i < fields.size(); ++i) {
      ARROW_ASSIGN_OR_RAISE(auto child, Bind(*fields[i].type, *data.child_data[i],
                                             node->path + "." + fields[i].name));
      node->children.push_back(std::move(child));
    }
    return true;
  }

  arrow::Result<bool> BindList(const arrow::ArrayData& data, EncodeNode* node) {
    const auto id = data.type->id();
    const Schema& item = *node->schema->children[0];
    if (node->schema->type == Type::kMap) {
      if (id != arrow::Type::MAP) return false;
      return BindMap(kStringSchema, item, data, node);
    }
    if (id == arrow::Type::MAP) {
      if (item.type != Type::kRecord || item.fields.size() != 2) return false;
      return BindMap(*item.fields[0].type, *item.fields[1].type, data, node);
    }
    if (id == arrow::Type::FIXED_SIZE_LIST) {
      node->op = EncodeOp::kFixedSizeList;
      node->width = static_cast<const arrow::FixedSizeListType&>(*data.type).list_size();
    } else if (id == arrow::Type::LIST) {
      node->op = EncodeOp::kList;
      node->offsets = reinterpret_cast<const int32_t*>(BufferData(data, 1));
    } else {
      return false;
    }
    ARROW_ASSIGN_OR_RAISE(auto child, Bind(item, *data.child_data[0], node->path));
    node->children.push_back(std::move(child));
    return true;
  }

  arrow::Result<bool> BindMap(const Schema& key, const Schema& value, const arrow::ArrayData& data,
                              EncodeNode* node) {
    node->op = EncodeOp::kList;
    node->offsets = reinterpret_cast<const int32_t*>(BufferData(data, 1));
    const arrow::ArrayData& entries = *data.child_data[0];
    EncodeNode entry;
    entry.op = EncodeOp::kStruct;
    entry.path = node->path;
    entry.offset = entries.offset;
    ARROW_ASSIGN_OR_RAISE(auto key_node, Bind(key, *entries.child_data[0], node->path + ".key"));
    ARROW_ASSIGN_OR_RAISE(auto value_node,
                          Bind(value, *entries.child_data[1], node->path + ".value"));
    entry.children.push_back(std::move(key_node));
    entry.children.push_back(std::move(value_node));
    node->children.push_back(std::move(entry));
    return true;
  }

  static bool BindLeaf(const arrow::ArrayData& data, EncodeNode* node) {
    const Schema& schema = *node->schema;
    const auto id = data.type->id();
    if (schema.type == Type::kNull) return id == arrow::Type::NA;
    // An all-null column without a type fits wherever nulls may be; each slot is checked.
    if (id == arrow::Type::NA) return node->null_branch >= 0;
    node->values = BufferData(data, 1);
    switch (schema.type) {
      case Type::kBoolean:
        node->op = EncodeOp::kBoolean;
        return id == arrow::Type::BOOL;
      case Type::kInt:
        return BindInt(*data.type, node);
      case Type::kLong:
        node->op = EncodeOp::kInt64;
        return id == arrow::Type::INT64 || MatchesTime(schema.logical_type, *data.type);
      case Type::kFloat:
        node->op = EncodeOp::kFixed;
        node->width = 4;
        return id == arrow::Type::FLOAT;
      case Type::kDouble:
        node->op = EncodeOp::kFixed;
        node->width = 8;
        return id == arrow::Type::DOUBLE;
      case Type::kEnum:
        node->op = EncodeOp::kEnum;
        break;
      case Type::kFixed:
        node->op = EncodeOp::kFixed;
        node->width = schema.fixed_size_bytes;
        if (schema.logical_type == LogicalType::kDecimal) return BindDecimal(*data.type, node);
        return id == arrow::Type::FIXED_SIZE_BINARY &&
               static_cast<const arrow::FixedSizeBinaryType&>(*data.type).byte_width() ==
                   node->width;
      default:
        node->op = EncodeOp::kBytes;
        if (schema.logical_type == LogicalType::kDecimal) return BindDecimal(*data.type, node);
    }
    if (id != arrow::Type::STRING && id != arrow::Type::BINARY) return false;
    node->offsets = reinterpret_cast<const int32_t*>(BufferData(data, 1));
    node->values = BufferData(data, 2);
    return true;
  }

  static bool BindInt(const arrow::DataType& type, EncodeNode* node) {
    switch (type.id()) {
      case arrow::Type::INT8:
        node->op = EncodeOp::kInt8;
        return true;
      case arrow::Type::INT16:
        node->op = EncodeOp::kInt16;
        return true;
      case arrow::Type::INT32:
      case arrow::Type::DATE32:
        node->op = EncodeOp::kInt32;
        return true;
      case arrow::Type::TIME32:
        node->op = EncodeOp::kInt32;
        return static_cast<const arrow::Time32Type&>(type).unit() == arrow::TimeUnit::MILLI;
      default:
        return false;
    }
  }

  static bool BindDecimal(const arrow::DataType& type, EncodeNode* node) {
    node->op = node->op == EncodeOp::kFixed ? EncodeOp::kDecimalFixed : EncodeOp::kDecimalBytes;
    if (type.id() != arrow::Type::DECIMAL128) return false;
    const auto& decimal = static_cast<const arrow::Decimal128Type&>(type);
    return decimal.scale() == node->schema->scale && decimal.precision() <= node->schema->precision;
  }

  static bool MatchesTime(LogicalType logical_type, const arrow::DataType& type) {
    if (type.id() == arrow::Type::TIME64) {
      return logical_type == LogicalType::kTimeMicros &&
             static_cast<const arrow::Time64Type&>(type).unit() == arrow::TimeUnit::MICRO;
    }
    if (type.id() != arrow::Type::TIMESTAMP) return false;
    const auto unit = static_cast<const arrow::TimestampType&>(type).unit();
    const bool is_millis = logical_type == LogicalType::kTimestampMillis ||
                           logical_type == LogicalType::kLocalTimestampMillis;
    const bool is_micros = logical_type == LogicalType::kTimestampMicros ||
                           logical_type == LogicalType::kLocalTimestampMicros;
    return (is_millis && unit == arrow::TimeUnit::MILLI) ||
           (is_micros && unit == arrow::TimeUnit::MICRO);
  }

  static const Schema kStringSchema;
};

const Schema Binder::kStringSchema = [] {
  Schema schema;
  schema.type = Type::kString;
  schema.encoded_size_min_bytes = 1;
  return schema;
}();

template <typename T>
T Load(const uint8_t* values, int64_t slot) {
  T value;
  std::memcpy(&value, values + slot * static_cast<int64_t>(sizeof(T)), sizeof(T));
  return value;
}

/// Minimal big-endian two's complement, or sign-extended to the size of a fixed.
arrow::Status EncodeDecimal(const EncodeNode& node, int64_t slot, EncodeBuffer* out) {
  uint8_t bytes[16];
  for (int i = 0; i < 16; ++i) bytes[i] = node.values[slot * 16 + 15 - i];
  const uint8_t sign = bytes[0] >= 0x80 ? 0xff : 0;
  int skip = 0;
  while (skip < 15 && bytes[skip] == sign && ((bytes[skip + 1] ^ sign) & 0x80) == 0) ++skip;
  const int64_t length = 16 - skip;
  if (node.op == EncodeOp::kDecimalBytes) {
    out->PutLong(length);
  } else {
    if (length > node.width) return Invalid("decimal does not fit Avro field '{}'", node.path);
    for (int64_t i = length; i < node.width; ++i) out->Put(&sign, 1);
  }
  out->Put(bytes + skip, static_cast<size_t>(length));
  return arrow::Status::OK();
}

arrow::Status EncodeEnum(const EncodeNode& node, int64_t slot, EncodeBuffer* out) {
  const std::string_view text(reinterpret_cast<const char*>(node.values) + node.offsets[slot],
                              static_cast<size_t>(node.offsets[slot + 1] - node.offsets[slot]));
  const auto& symbols = node.schema->symbols;
  const auto found = std::find(symbols.begin(), symbols.end(), text);
  if (found == symbols.end())
    return Invalid("'{}' is no symbol of Avro field '{}'", text, node.path);
  out->PutLong(found - symbols.begin());
  return arrow::Status::OK();
}

arrow::Status Encode(const EncodeNode& node, int64_t index, EncodeBuffer* out);

/// Items [begin, end) of the child column as one block; Java writes no block sizes.
arrow::Status EncodeItems(const EncodeNode& item, int64_t begin, int64_t end, EncodeBuffer* out) {
  if (end > begin) {
    out->PutLong(end - begin);
    for (int64_t i = begin; i < end; ++i) ARROW_RETURN_NOT_OK(Encode(item, i, out));
  }
  out->PutLong(0);
  return arrow::Status::OK();
}

/// Slot `index` of the column, counted from its offset.
arrow::Status Encode(const EncodeNode& node, int64_t index, EncodeBuffer* out) {
  const int64_t slot = index + node.offset;
  const bool is_null =
      (node.op == EncodeOp::kNull && node.schema != nullptr && node.null_branch >= 0) ||
      (node.validity != nullptr && !arrow::bit_util::GetBit(node.validity, slot));
  if (is_null) {
    if (node.null_branch < 0)
      return Invalid("null in Avro field '{}', which may not be null", node.path);
    out->PutLong(node.null_branch);
    return arrow::Status::OK();
  }
  if (node.is_union) out->PutLong(node.value_branch);
  switch (node.op) {
    case EncodeOp::kNull:
      return arrow::Status::OK();
    case EncodeOp::kBoolean: {
      const uint8_t byte = arrow::bit_util::GetBit(node.values, slot) ? 1 : 0;
      out->Put(&byte, 1);
      return arrow::Status::OK();
    }
    case EncodeOp::kInt8:
      out->PutLong(Load<int8_t>(node.values, slot));
      return arrow::Status::OK();
    case EncodeOp::kInt16:
      out->PutLong(Load<int16_t>(node.values, slot));
      return arrow::Status::OK();
    case EncodeOp::kInt32:
      out->PutLong(Load<int32_t>(node.values, slot));
      return arrow::Status::OK();
    case EncodeOp::kInt64:
      out->PutLong(Load<int64_t>(node.values, slot));
      return arrow::Status::OK();
    case EncodeOp::kFixed:
      out->Put(node.values + slot * node.width, static_cast<size_t>(node.width));
      return arrow::Status::OK();
    case EncodeOp::kBytes: {
      const int32_t length = node.offsets[slot + 1] - node.offsets[slot];
      out->PutLong(length);
      out->Put(node.values + node.offsets[slot], static_cast<size_t>(length));
      return arrow::Status::OK();
    }
    case EncodeOp::kDecimalBytes:
    case EncodeOp::kDecimalFixed:
      return EncodeDecimal(node, slot, out);
    case EncodeOp::kEnum:
      return EncodeEnum(node, slot, out);
    case EncodeOp::kStruct:
      for (const EncodeNode& child : node.children) ARROW_RETURN_NOT_OK(Encode(child, slot, out));
      return arrow::Status::OK();
    case EncodeOp::kList:
      return EncodeItems(node.children[0], node.offsets[slot], node.offsets[slot + 1], out);
    case EncodeOp::kFixedSizeList:
      return EncodeItems(node.children[0], slot * node.width, (slot + 1) * node.width, out);
  }
  return arrow::Status::OK();
}

}  // namespace

uint8_t* EncodeBuffer::Extend(size_t count) {
  if (size_ + count > bytes_.size()) bytes_.resize(std::max(2 * bytes_.size(), size_ + count));
  uint8_t* begin = bytes_.data() + size_;
  size_ += count;
  return begin;
}

void EncodeBuffer::Put(const void* bytes, size_t count) {
  if (count > 0) std::memcpy(Extend(count), bytes, count);
}

void EncodeBuffer::PutLong(int64_t value) {
  uint64_t raw = (static_cast<uint64_t>(value) << 1) ^ static_cast<uint64_t>(value >> 63);
  uint8_t bytes[10];
  size_t count = 0;
  while (raw >= 0x80) {
    bytes[count++] = static_cast<uint8_t>(raw) | 0x80;
    raw >>= 7;
  }
  bytes[count++] = static_cast<uint8_t>(raw);
  std::memcpy(Extend(count), bytes, count);
}

RecordEncoder::~RecordEncoder() = default;

arrow::Result<std::unique_ptr<RecordEncoder>> RecordEncoder::Make(SchemaPtr root) {
  std::unique_ptr<RecordEncoder> encoder(new RecordEncoder());
  ARROW_ASSIGN_OR_RAISE(encoder->root_view_, RootRecord(*root));
  encoder->root_ = std::move(root);
  return encoder;
}

arrow::Status RecordEncoder::Bind(std::shared_ptr<arrow::RecordBatch> batch) {
  const auto& fields = root_view_.value->fields;
  if (batch->num_columns() != static_cast<int>(fields.size())) {
    return Invalid("{} columns for an Avro record of {} fields", batch->num_columns(),
                   fields.size());
  }
  std::vector<EncodeNode> columns;
  for (size_t i = 0; i < fields.size(); ++i) {
    ARROW_ASSIGN_OR_RAISE(
        auto column,
        Binder().Bind(*fields[i].type, *batch->column_data(static_cast<int>(i)), fields[i].name));
    columns.push_back(std::move(column));
  }
  columns_ = std::move(columns);
  batch_ = std::move(batch);
  return arrow::Status::OK();
}

arrow::Status RecordEncoder::EncodeRow(int64_t row, EncodeBuffer* out) {
  const size_t begin = out->size();
  if (root_view_.is_union) out->PutLong(root_view_.value_branch);
  for (const EncodeNode& column : columns_) {
    arrow::Status status = Encode(column, row, out);
    if (!status.ok()) {
      out->Truncate(begin);
      return status;
    }
  }
  return arrow::Status::OK();
}

}  // namespace kelda::avro
