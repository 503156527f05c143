#include "kelda/avro/encoder.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include <arrow/array/data.h>
#include <arrow/record_batch.h>
#include <arrow/type.h>
#include <arrow/util/bit_util.h>

#include "kelda/avro/arrow_schema.h"
#include "kelda/base/bytes.h"

namespace kelda::avro {

namespace internal {

enum class EncodeOp : uint8_t {
  kNull,
  kBoolean,
  kInt8,
  kInt16,
  kInt32,
  kInt64,
  kMultiply,  ///< long times `width`
  kFixed,     ///< `width` bytes as they are: fixed
  kFixed4,    ///< float
  kFixed8,    ///< double
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
  const uint8_t* values_end = nullptr;  ///< of text and bytes
  const int32_t* offsets = nullptr;
  int64_t offset = 0;  ///< of the column's first slot
  int64_t width = 0;   ///< bytes, items of a fixed size list, or a factor
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
        return id == arrow::Type::INT64 || BindTime(schema.logical_type, *data.type, node);
      case Type::kFloat:
        node->op = EncodeOp::kFixed4;
        return id == arrow::Type::FLOAT;
      case Type::kDouble:
        node->op = EncodeOp::kFixed8;
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
    if (node->values != nullptr) node->values_end = node->values + data.buffers[2]->size();
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

  static bool BindTime(LogicalType logical_type, const arrow::DataType& type, EncodeNode* node) {
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
    if (is_millis && unit == arrow::TimeUnit::SECOND) {
      node->op = EncodeOp::kMultiply;
      node->width = 1000;
      return true;
    }
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
T LoadSlot(const uint8_t* values, int64_t slot) {
  T value;
  std::memcpy(&value, values + slot * static_cast<int64_t>(sizeof(T)), sizeof(T));
  return value;
}

/// No value but text, bytes and fixed is longer, with its branch and length.
constexpr size_t kScalarSizeMaxBytes = 32;
constexpr size_t kShortTextBytes = 16;

/// Zigzag varint at `p`, which has room for ten bytes; returns its end.
inline uint8_t* StoreLong(int64_t value, uint8_t* p) {
  uint64_t raw = (static_cast<uint64_t>(value) << 1) ^ static_cast<uint64_t>(value >> 63);
  while (raw >= 0x80) {
    *p++ = static_cast<uint8_t>(raw) | 0x80;
    raw >>= 7;
  }
  *p++ = static_cast<uint8_t>(raw);
  return p;
}

/// The run of one EncodeRows call. Values answer false on the first that the schema cannot hold;
/// `error` then says why.
class Run {
 public:
  explicit Run(EncodeBuffer* out) : out_(out) { Load(); }

  size_t size() const { return static_cast<size_t>(p_ - out_->data()); }
  void Finish() { out_->Advance(p_); }
  const arrow::Status& error() const { return error_; }

  void Long(int64_t value) {
    Room(kScalarSizeMaxBytes);
    p_ = StoreLong(value, p_);
  }

  /// Slot `index` of the column, counted from its offset.
  bool Value(const EncodeNode& node, int64_t index) {
    const int64_t slot = index + node.offset;
    Room(kScalarSizeMaxBytes);
    if (node.validity != nullptr && !arrow::bit_util::GetBit(node.validity, slot)) {
      return Null(node);
    }
    if (node.is_union) *p_++ = static_cast<uint8_t>(2 * node.value_branch);
    switch (node.op) {
      case EncodeOp::kNull:
        return node.null_branch < 0 || NullOfUntyped(node);
      case EncodeOp::kBoolean:
        *p_++ = arrow::bit_util::GetBit(node.values, slot) ? 1 : 0;
        return true;
      case EncodeOp::kInt8:
        p_ = StoreLong(LoadSlot<int8_t>(node.values, slot), p_);
        return true;
      case EncodeOp::kInt16:
        p_ = StoreLong(LoadSlot<int16_t>(node.values, slot), p_);
        return true;
      case EncodeOp::kInt32:
        p_ = StoreLong(LoadSlot<int32_t>(node.values, slot), p_);
        return true;
      case EncodeOp::kInt64:
        p_ = StoreLong(LoadSlot<int64_t>(node.values, slot), p_);
        return true;
      case EncodeOp::kMultiply:
        return Scaled(node, slot);
      case EncodeOp::kFixed4:
        std::memcpy(p_, node.values + 4 * slot, 4);
        p_ += 4;
        return true;
      case EncodeOp::kFixed8:
        std::memcpy(p_, node.values + 8 * slot, 8);
        p_ += 8;
        return true;
      case EncodeOp::kFixed:
        Bytes(node.values + slot * node.width, node.width);
        return true;
      case EncodeOp::kBytes:
        Text(node, slot);
        return true;
      case EncodeOp::kDecimalBytes:
      case EncodeOp::kDecimalFixed:
        return Decimal(node, slot);
      case EncodeOp::kEnum:
        return Enum(node, slot);
      case EncodeOp::kStruct:
        for (const EncodeNode& child : node.children) {
          if (!Value(child, slot)) return false;
        }
        return true;
      case EncodeOp::kList:
        return Items(node.children[0], node.offsets[slot], node.offsets[slot + 1]);
      case EncodeOp::kFixedSizeList:
        return Items(node.children[0], slot * node.width, (slot + 1) * node.width);
    }
    return true;
  }

 private:
  void Load() {
    p_ = out_->Extend(kScalarSizeMaxBytes);
    end_ = out_->data() + out_->capacity();
  }

  void Room(size_t count) {
    if (static_cast<size_t>(end_ - p_) >= count) return;
    out_->Advance(p_);
    p_ = out_->Extend(count);
    end_ = out_->data() + out_->capacity();
  }

  bool Fail(arrow::Status error) {
    error_ = std::move(error);
    return false;
  }

  bool Null(const EncodeNode& node) {
    if (node.null_branch < 0) {
      return Fail(Invalid("null in Avro field '{}', which may not be null", node.path));
    }
    *p_++ = static_cast<uint8_t>(2 * node.null_branch);
    return true;
  }

  /// A slot of a column without a type, whose nulls no bitmap tells.
  bool NullOfUntyped(const EncodeNode& node) {
    p_[-1] = static_cast<uint8_t>(2 * node.null_branch);
    return true;
  }

  bool Scaled(const EncodeNode& node, int64_t slot) {
    int64_t value = LoadSlot<int64_t>(node.values, slot);
    if (__builtin_mul_overflow(value, node.width, &value)) {
      return Fail(Invalid("timestamp out of the range of Avro field '{}'", node.path));
    }
    p_ = StoreLong(value, p_);
    return true;
  }

  void Bytes(const uint8_t* bytes, int64_t count) {
    if (count == 0) return;
    Room(static_cast<size_t>(count));
    std::memcpy(p_, bytes, static_cast<size_t>(count));
    p_ += count;
  }

  void Text(const EncodeNode& node, int64_t slot) {
    const int32_t begin = node.offsets[slot];
    const int64_t length = node.offsets[slot + 1] - begin;
    p_ = StoreLong(length, p_);
    const uint8_t* bytes = node.values + begin;
    // Most texts are short: a copy of fixed size is two instructions. The room asked for above has
    // place for it.
    if (length <= static_cast<int64_t>(kShortTextBytes) &&
        node.values_end - bytes >= static_cast<int64_t>(kShortTextBytes)) {
      std::memcpy(p_, bytes, kShortTextBytes);
      p_ += length;
    } else {
      Bytes(bytes, length);
    }
  }

  /// Minimal big-endian two's complement, or sign-extended to the size of a fixed.
  bool Decimal(const EncodeNode& node, int64_t slot) {
    const auto low = LoadSlot<uint64_t>(node.values, 2 * slot);
    const auto high = LoadSlot<int64_t>(node.values, 2 * slot + 1);
    uint8_t bytes[16];
    StoreBE64(bytes, static_cast<uint64_t>(high));
    StoreBE64(bytes + 8, low);
    // Bits that are needed besides the sign.
    const int64_t sign = high >> 63;
    const uint64_t high_bits = static_cast<uint64_t>(high ^ sign);
    const uint64_t low_bits = low ^ static_cast<uint64_t>(sign);
    const int bits = high_bits != 0  ? 128 - __builtin_clzll(high_bits)
                     : low_bits != 0 ? 64 - __builtin_clzll(low_bits)
                                     : 0;
    const int64_t length = bits / 8 + 1;
    if (node.op == EncodeOp::kDecimalBytes) {
      p_ = StoreLong(length, p_);
    } else {
      if (length > node.width) {
        return Fail(Invalid("decimal does not fit Avro field '{}'", node.path));
      }
      Room(static_cast<size_t>(node.width));
      std::memset(p_, static_cast<int>(sign), static_cast<size_t>(node.width - length));
      p_ += node.width - length;
    }
    std::memcpy(p_, bytes + 16 - length, static_cast<size_t>(length));
    p_ += length;
    return true;
  }

  bool Enum(const EncodeNode& node, int64_t slot) {
    const std::string_view text(reinterpret_cast<const char*>(node.values) + node.offsets[slot],
                                static_cast<size_t>(node.offsets[slot + 1] - node.offsets[slot]));
    const auto& symbols = node.schema->symbols;
    const auto found = std::find(symbols.begin(), symbols.end(), text);
    if (found == symbols.end())
      return Fail(Invalid("'{}' is no symbol of Avro field '{}'", text, node.path));
    p_ = StoreLong(found - symbols.begin(), p_);
    return true;
  }

  /// Items [begin, end) of the child column as one block; Java writes no block sizes.
  bool Items(const EncodeNode& item, int64_t begin, int64_t end) {
    if (end > begin) {
      p_ = StoreLong(end - begin, p_);
      for (int64_t i = begin; i < end; ++i) {
        if (!Value(item, i)) return false;
      }
      Room(kScalarSizeMaxBytes);
    }
    *p_++ = 0;
    return true;
  }

  EncodeBuffer* out_;
  uint8_t* p_ = nullptr;
  const uint8_t* end_ = nullptr;
  arrow::Status error_;
};

}  // namespace

void EncodeBuffer::Grow(size_t count) {
  const size_t capacity = std::max(2 * capacity_, size_ + count);
  auto bytes = std::make_unique_for_overwrite<uint8_t[]>(capacity);
  if (size_ > 0) std::memcpy(bytes.get(), bytes_.get(), size_);
  bytes_ = std::move(bytes);
  capacity_ = capacity;
}

void EncodeBuffer::Put(const void* bytes, size_t count) {
  if (count == 0) return;
  std::memcpy(Extend(count), bytes, count);
  size_ += count;
}

void EncodeBuffer::PutLong(int64_t value) { Advance(StoreLong(value, Extend(10))); }

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

arrow::Result<int64_t> RecordEncoder::EncodeRows(int64_t begin, int64_t end, size_t size_limit,
                                                 EncodeBuffer* out) {
  Run run(out);
  int64_t row = begin;
  while (row < end && run.size() < size_limit) {
    const size_t row_begin = run.size();
    if (root_view_.is_union) run.Long(root_view_.value_branch);
    for (const EncodeNode& column : columns_) {
      if (run.Value(column, row)) continue;
      out->Truncate(row_begin);
      return run.error();
    }
    ++row;
  }
  run.Finish();
  return row;
}

}  // namespace kelda::avro
