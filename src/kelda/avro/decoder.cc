#include "kelda/avro/decoder.h"

#include <algorithm>
#include <limits>
#include <utility>

#include <arrow/array/array_base.h>
#include <arrow/array/data.h>
#include <arrow/array/util.h>
#include <arrow/record_batch.h>
#include <arrow/type.h>
#include <arrow/util/decimal.h>
#include <arrow/util/utf8.h>

#include "kelda/avro/arrow_schema.h"
#include "kelda/avro/cursor.h"
#include "kelda/avro/decode_plan.h"

namespace kelda::avro {

using internal::Column;
using internal::Cursor;
using internal::IsSkip;
using internal::Node;
using internal::Op;

namespace {

constexpr int32_t kMillisPerDay = 86'400'000;
// Rows that are decoded before the limits of a batch are looked at.
constexpr int64_t kReserveRows = 1024;

arrow::Status ReserveBits(arrow::TypedBufferBuilder<bool>* bits, int64_t count) {
  if (bits->length() + count <= bits->capacity()) return arrow::Status::OK();
  return bits->Reserve(count);
}

/// Room for `count` more slots of `node` and of everything below it that has one slot per slot of
/// the node.
arrow::Status Reserve(Node* node, int64_t count) {
  Column& column = *node->column;
  if (node->keeps_validity) ARROW_RETURN_NOT_OK(ReserveBits(&column.validity, count));
  if (node->width > 0) return column.values.Reserve(count * node->width);
  switch (node->op) {
    case Op::kBoolean:
      return ReserveBits(&column.bits, count);
    case Op::kBytes:
    case Op::kEnum:
    case Op::kList:
      return column.offsets.Reserve(count + 1);
    case Op::kFixedSizeList:
      return Reserve(&node->children[0], count * node->param);
    case Op::kStruct:
      for (Node& child : node->children) {
        if (!IsSkip(child.op)) ARROW_RETURN_NOT_OK(Reserve(&child, count));
      }
      return arrow::Status::OK();
    default:
      return arrow::Status::OK();
  }
}

/// The run of one Decode call.
class Run {
 public:
  Run(std::span<const uint8_t> bytes, int64_t* values_left) : values_left_(values_left) {
    in_.position = bytes.data();
    in_.end = bytes.data() + bytes.size();
  }

  Cursor& in() { return in_; }

  bool Datum(const NullableView& view, Node* root) {
    if (view.is_union) {
      int64_t branch;
      if (!in_.ReadLong(&branch)) return false;
      if (branch != view.value_branch) {
        return in_.Fail(branch == view.null_branch ? "row is null" : "union branch out of range");
      }
    }
    ++root->column->length;
    return Struct(root);
  }

  /// What went wrong; the offset of the cursor says where.
  arrow::Status Error() const {
    if (!status_.ok()) return status_;
    const std::string where = failed_ == nullptr ? "" : " in field '" + failed_->path + "'";
    return Invalid("{}{}", in_.error, where);
  }

  bool Keep(arrow::Status status) {
    if (status.ok()) return true;
    status_ = std::move(status);
    return in_.Fail("");
  }

 private:
  bool Struct(Node* node) {
    for (Node& child : node->children) {
      if (IsSkip(child.op)) {
        if (!Skip(child)) {
          if (failed_ == nullptr) failed_ = node->column.get();
          return false;
        }
      } else if (!Value(&child)) {
        if (failed_ == nullptr) failed_ = child.column.get();
        return false;
      }
    }
    return true;
  }

  bool Value(Node* node) {
    Column& column = *node->column;
    if (node->is_union) {
      int64_t branch;
      if (!in_.ReadLong(&branch)) return false;
      if (branch != node->value_branch) return Null(node, branch);
    }
    if (node->keeps_validity) column.validity.UnsafeAppend(true);
    ++column.length;
    switch (node->op) {
      case Op::kNull:
        return true;
      case Op::kBoolean:
        return Boolean(&column);
      case Op::kInt8:
        return Varint<int8_t>(&column);
      case Op::kInt16:
        return Varint<int16_t>(&column);
      case Op::kInt32:
        return Varint<int32_t>(&column);
      case Op::kInt64:
        return Varint<int64_t>(&column);
      case Op::kTimeMillis:
        return TimeMillis(&column);
      case Op::kMultiply:
      case Op::kDivide:
        return Scaled(node);
      case Op::kFloat:
        return Fixed<float>(&column);
      case Op::kDouble:
        return Fixed<double>(&column);
      case Op::kFloatToDouble:
        return FloatToDouble(&column);
      case Op::kBytes:
        return Bytes(&column);
      case Op::kFixed:
        return FixedBytes(node);
      case Op::kEnum:
        return Enum(&column);
      case Op::kDecimalBytes:
      case Op::kDecimalFixed:
        return Decimal(node);
      case Op::kStruct:
        return Struct(node);
      case Op::kList:
        return List(node);
      case Op::kFixedSizeList:
        return FixedSizeList(node);
      default:
        return in_.Fail("unexpected step");
    }
  }

  bool Null(Node* node, int64_t branch) {
    if (branch != node->null_branch) return in_.Fail("union branch out of range");
    if (!node->keeps_validity) return in_.Fail("null where none is allowed");
    Absent(node);
    return true;
  }

  /// One slot without a value: null, or under a null parent.
  void Absent(Node* node) {
    Column& column = *node->column;
    if (node->keeps_validity) column.validity.UnsafeAppend(false);
    ++column.length;
    if (node->width > 0) return column.values.UnsafeAppend(node->width, 0);
    switch (node->op) {
      case Op::kBoolean:
        return column.bits.UnsafeAppend(false);
      case Op::kBytes:
      case Op::kEnum:
        return column.offsets.UnsafeAppend(static_cast<int32_t>(column.values.length()));
      case Op::kList:
        return column.offsets.UnsafeAppend(static_cast<int32_t>(node->children[0].column->length));
      case Op::kFixedSizeList:
        for (int64_t i = 0; i < node->param; ++i) Absent(&node->children[0]);
        return;
      case Op::kStruct:
        for (Node& child : node->children) {
          if (!IsSkip(child.op)) Absent(&child);
        }
        return;
      default:
        return;
    }
  }

  bool Boolean(Column* column) {
    uint8_t byte;
    if (!in_.ReadFixed(&byte)) return false;
    if (byte > 1) return in_.Fail("boolean is neither 0 nor 1");
    column->bits.UnsafeAppend(byte == 1);
    return true;
  }

  template <typename T>
  bool Varint(Column* column) {
    int64_t value;
    if (!in_.ReadLong(&value)) return false;
    const T narrow = static_cast<T>(value);
    if (narrow != value) return in_.Fail("integer out of range");
    column->values.UnsafeAppend(&narrow, sizeof(T));
    return true;
  }

  bool TimeMillis(Column* column) {
    int64_t value;
    if (!in_.ReadLong(&value)) return false;
    if (value < 0 || value >= kMillisPerDay) return in_.Fail("time outside of a day");
    const auto narrow = static_cast<int32_t>(value);
    column->values.UnsafeAppend(&narrow, sizeof(narrow));
    return true;
  }

  bool Scaled(Node* node) {
    int64_t value;
    if (!in_.ReadLong(&value)) return false;
    if (node->op == Op::kMultiply) {
      if (__builtin_mul_overflow(value, node->param, &value)) {
        return in_.Fail("timestamp out of the range of the wanted unit");
      }
    } else {
      const int64_t rest = value % node->param;
      value = value / node->param - (rest < 0 ? 1 : 0);
    }
    node->column->values.UnsafeAppend(&value, sizeof(value));
    return true;
  }

  template <typename T>
  bool Fixed(Column* column) {
    T value;
    if (!in_.ReadFixed(&value)) return false;
    column->values.UnsafeAppend(&value, sizeof(T));
    return true;
  }

  bool FloatToDouble(Column* column) {
    float value;
    if (!in_.ReadFixed(&value)) return false;
    const double wide = value;
    column->values.UnsafeAppend(&wide, sizeof(wide));
    return true;
  }

  bool Bytes(Column* column) {
    int64_t length;
    if (!in_.ReadLength(&length)) return false;
    if (!AppendBytes(column, in_.position, length)) return false;
    in_.position += length;
    return true;
  }

  bool AppendBytes(Column* column, const void* bytes, int64_t length) {
    arrow::BufferBuilder& values = column->values;
    if (length > values.capacity() - values.length()) {
      if (length > std::numeric_limits<int32_t>::max() - values.length()) {
        return Keep(arrow::Status::CapacityError(
            "more than 2 GiB of text or bytes in one batch of field '", column->path, "'"));
      }
      if (!Keep(values.Reserve(length))) return false;
    }
    column->offsets.UnsafeAppend(static_cast<int32_t>(values.length()));
    values.UnsafeAppend(bytes, length);
    return true;
  }

  bool FixedBytes(Node* node) {
    if (in_.remaining() < node->param) return in_.Fail("data ends inside a value");
    node->column->values.UnsafeAppend(in_.position, node->param);
    in_.position += node->param;
    return true;
  }

  bool Enum(Column* column) {
    int64_t index;
    if (!in_.ReadLong(&index)) return false;
    if (index < 0 || index >= static_cast<int64_t>(column->symbols.size())) {
      return in_.Fail("enum index out of range");
    }
    const std::string& symbol = column->symbols[index];
    return AppendBytes(column, symbol.data(), static_cast<int64_t>(symbol.size()));
  }

  bool Decimal(Node* node) {
    int64_t length = node->param;
    if (node->op == Op::kDecimalBytes) {
      if (!in_.ReadLength(&length)) return false;
    } else if (length > in_.remaining()) {
      return in_.Fail("data ends inside a value");
    }
    if (length == 0) return in_.Fail("decimal without digits");
    const uint8_t* p = in_.position;
    const uint8_t sign = *p >= 0x80 ? 0xff : 0;
    const uint8_t* const last = p + length;
    while (last - p > 16 && *p == sign) ++p;
    unsigned __int128 bits = sign != 0 ? ~static_cast<unsigned __int128>(0) : 0;
    if (last - p > 16 || (last - p == 16 && ((*p ^ sign) & 0x80) != 0))
      return in_.Fail("decimal out of range");
    for (; p != last; ++p) bits = (bits << 8) | *p;
    const arrow::Decimal128 value(static_cast<int64_t>(bits >> 64), static_cast<uint64_t>(bits));
    const auto& type = static_cast<const arrow::Decimal128Type&>(*node->column->type);
    if (!value.FitsInPrecision(type.precision()))
      return in_.Fail("decimal has more digits than its type");
    node->column->values.UnsafeAppend(&bits, sizeof(bits));
    in_.position += length;
    return true;
  }

  /// Check an item count before anything is reserved for it.
  bool TakeItems(const Node& node, int64_t count) {
    if (node.item_size_min > 0 && count > in_.remaining() / node.item_size_min) {
      return in_.Fail("more items than the data can hold");
    }
    const int64_t weight = node.children[0].weight;
    if (count > *values_left_ / weight) return in_.Fail("more values in one batch than allowed");
    *values_left_ -= count * weight;
    return true;
  }

  bool Items(Node* node, int64_t count, int64_t size_bytes) {
    const uint8_t* const begin = in_.position;
    Node* item = &node->children[0];
    if (!TakeItems(*node, count) || !Keep(Reserve(item, count))) return false;
    for (int64_t i = 0; i < count; ++i) {
      if (!Value(item)) return false;
    }
    if (size_bytes >= 0 && in_.position - begin != size_bytes) {
      return in_.Fail("items do not fill the size of their block");
    }
    return true;
  }

  bool List(Node* node) {
    Column& items = *node->children[0].column;
    node->column->offsets.UnsafeAppend(static_cast<int32_t>(items.length));
    int64_t count;
    int64_t size_bytes;
    while (true) {
      if (!in_.ReadBlockHead(&count, &size_bytes)) return false;
      if (count == 0) return true;
      if (!Items(node, count, size_bytes)) return false;
      if (items.length > std::numeric_limits<int32_t>::max())
        return in_.Fail("too many items in one batch");
    }
  }

  bool FixedSizeList(Node* node) {
    int64_t seen = 0;
    int64_t count;
    int64_t size_bytes;
    while (true) {
      if (!in_.ReadBlockHead(&count, &size_bytes)) return false;
      if (count == 0) break;
      if (count > node->param - seen) return in_.Fail("more items than a vector of this type has");
      if (!Items(node, count, size_bytes)) return false;
      seen += count;
    }
    return seen == node->param || in_.Fail("fewer items than a vector of this type has");
  }

  bool SkipAll(const std::vector<Node>& steps) {
    for (const Node& step : steps) {
      if (!Skip(step)) return false;
    }
    return true;
  }

  bool Skip(const Node& step) {
    switch (step.op) {
      case Op::kSkipVarints:
        return in_.SkipLongs(step.param);
      case Op::kSkipFixed:
        return in_.Skip(step.param);
      case Op::kSkipBytes:
        return in_.SkipBytes();
      case Op::kSkipSequence:
        return SkipAll(step.children);
      case Op::kSkipList:
        return SkipList(step);
      case Op::kSkipOptional: {
        int64_t branch;
        if (!in_.ReadLong(&branch)) return false;
        if (branch == step.null_branch) return true;
        if (branch != 1 - step.null_branch) return in_.Fail("union branch out of range");
        return SkipAll(step.children);
      }
      default: {  // kSkipUnion
        int64_t branch;
        if (!in_.ReadLong(&branch)) return false;
        if (branch < 0 || branch >= static_cast<int64_t>(step.children.size())) {
          return in_.Fail("union branch out of range");
        }
        return SkipAll(step.children[branch].children);
      }
    }
  }

  bool SkipList(const Node& step) {
    int64_t count;
    int64_t size_bytes;
    while (true) {
      if (!in_.ReadBlockHead(&count, &size_bytes)) return false;
      if (count == 0) return true;
      if (size_bytes >= 0) {
        in_.position += size_bytes;
        continue;
      }
      if (step.item_size_min == 0) continue;  // items without bytes
      if (count > in_.remaining() / step.item_size_min)
        return in_.Fail("more items than the data can hold");
      for (int64_t i = 0; i < count; ++i) {
        if (!SkipAll(step.children)) return false;
      }
    }
  }

  Cursor in_;
  int64_t* values_left_;
  const Column* failed_ = nullptr;
  arrow::Status status_;
};

/// Buffers are kept when they fit well; otherwise their slack is given back.
template <typename Builder>
arrow::Result<std::shared_ptr<arrow::Buffer>> TakeBuffer(Builder* builder, int64_t used,
                                                         int64_t capacity) {
  return builder->Finish(/*shrink_to_fit=*/capacity - used > used / 4 + 64);
}

arrow::Result<std::shared_ptr<arrow::Buffer>> TakeBytes(arrow::BufferBuilder* builder) {
  return TakeBuffer(builder, builder->length(), builder->capacity());
}

arrow::Result<std::shared_ptr<arrow::Buffer>> TakeBits(arrow::TypedBufferBuilder<bool>* builder) {
  return TakeBuffer(builder, builder->length() / 8, builder->capacity() / 8);
}

arrow::Result<std::shared_ptr<arrow::Buffer>> TakeOffsets(Column* column, int64_t end) {
  ARROW_RETURN_NOT_OK(column->offsets.Append(static_cast<int32_t>(end)));
  return TakeBytes(column->offsets.bytes_builder());
}

arrow::Status CheckUtf8(const Column& column, const arrow::Buffer& offsets,
                        const arrow::Buffer& values) {
  [[maybe_unused]] static const bool initialized = (arrow::util::InitializeUTF8(), true);
  bool valid = arrow::util::ValidateUTF8(values.data(), values.size());
  // Valid as a whole and no value begins inside a character: every value is valid.
  const auto* begin = reinterpret_cast<const int32_t*>(offsets.data());
  for (int64_t i = 0; valid && i < column.length; ++i) {
    valid = begin[i] == values.size() || (values.data()[begin[i]] & 0xc0) != 0x80;
  }
  if (valid) return arrow::Status::OK();
  return Invalid("text is not UTF-8 in field '{}'", column.path);
}

arrow::Result<std::shared_ptr<arrow::ArrayData>> FinishNode(Node* node, arrow::MemoryPool* pool) {
  Column& column = *node->column;
  const int64_t length = std::exchange(column.length, 0);
  if (node->op == Op::kNull) return arrow::ArrayData::Make(column.type, length, {nullptr}, length);
  const int64_t null_count = column.validity.false_count();
  std::shared_ptr<arrow::Buffer> validity;
  if (null_count > 0) {
    ARROW_ASSIGN_OR_RAISE(validity, TakeBits(&column.validity));
  } else {
    column.validity.Reset();
  }
  std::vector<std::shared_ptr<arrow::Buffer>> buffers = {std::move(validity)};
  std::vector<std::shared_ptr<arrow::ArrayData>> children;
  if (node->op == Op::kStruct) {
    const auto& fields = column.type->fields();
    for (size_t i = 0; i < column.outputs.size(); ++i) {
      if (column.outputs[i] >= 0) {
        ARROW_ASSIGN_OR_RAISE(auto child, FinishNode(&node->children[column.outputs[i]], pool));
        children.push_back(std::move(child));
      } else {
        ARROW_ASSIGN_OR_RAISE(auto nulls, arrow::MakeArrayOfNull(fields[i]->type(), length, pool));
        children.push_back(nulls->data());
      }
    }
  } else if (node->op == Op::kList || node->op == Op::kFixedSizeList) {
    if (node->op == Op::kList) {
      ARROW_ASSIGN_OR_RAISE(auto offsets, TakeOffsets(&column, node->children[0].column->length));
      buffers.push_back(std::move(offsets));
    }
    ARROW_ASSIGN_OR_RAISE(auto items, FinishNode(&node->children[0], pool));
    children.push_back(std::move(items));
  } else if (node->op == Op::kBoolean) {
    ARROW_ASSIGN_OR_RAISE(auto bits, TakeBits(&column.bits));
    buffers.push_back(std::move(bits));
  } else if (node->op == Op::kBytes || node->op == Op::kEnum) {
    column.length = length;
    ARROW_ASSIGN_OR_RAISE(auto offsets, TakeOffsets(&column, column.values.length()));
    ARROW_ASSIGN_OR_RAISE(auto values, TakeBytes(&column.values));
    if (column.type->id() == arrow::Type::STRING)
      ARROW_RETURN_NOT_OK(CheckUtf8(column, *offsets, *values));
    column.length = 0;
    buffers.push_back(std::move(offsets));
    buffers.push_back(std::move(values));
  } else {
    ARROW_ASSIGN_OR_RAISE(auto values, TakeBytes(&column.values));
    buffers.push_back(std::move(values));
  }
  return arrow::ArrayData::Make(column.type, length, std::move(buffers), std::move(children),
                                null_count);
}

}  // namespace

RecordDecoder::~RecordDecoder() = default;

arrow::Result<std::unique_ptr<RecordDecoder>> RecordDecoder::Make(
    const Schema& root, std::shared_ptr<arrow::Schema> output, int64_t values_max,
    arrow::MemoryPool* pool) {
  std::unique_ptr<RecordDecoder> decoder(new RecordDecoder());
  ARROW_ASSIGN_OR_RAISE(decoder->root_view_, RootRecord(root));
  const Schema& record = *decoder->root_view_.value;
  ARROW_ASSIGN_OR_RAISE(
      Node node, internal::CompileRecord(record, output->fields(), arrow::struct_(output->fields()),
                                         "", pool));
  decoder->root_ = std::make_unique<Node>(std::move(node));
  decoder->datum_size_min_bytes_ = root.encoded_size_min_bytes;
  decoder->output_ = std::move(output);
  decoder->values_max_ = values_max;
  decoder->values_left_ = values_max;
  decoder->pool_ = pool;
  return decoder;
}

arrow::Status RecordDecoder::Start(std::span<const uint8_t> bytes, int64_t rows,
                                   int64_t* failed_offset) {
  *failed_offset = 0;
  if (rows < 0) return Invalid("negative row count");
  if (datum_size_min_bytes_ > 0 &&
      rows > static_cast<int64_t>(bytes.size()) / datum_size_min_bytes_) {
    return Invalid("{} rows cannot be in {} bytes", rows, bytes.size());
  }
  if (datum_size_min_bytes_ == 0 && rows > values_max_ / root_->weight) {
    return Invalid("more values in one batch than allowed");
  }
  block_ = bytes;
  position_ = 0;
  rows_left_ = rows;
  return rows > 0 ? arrow::Status::OK() : CheckBlockEnd(failed_offset);
}

arrow::Status RecordDecoder::CheckBlockEnd(int64_t* failed_offset) const {
  *failed_offset = position_;
  const int64_t rest = static_cast<int64_t>(block_.size()) - position_;
  return rest == 0 ? arrow::Status::OK()
                   : Invalid("{} bytes after the last row of the block", rest);
}

arrow::Status RecordDecoder::Decode(int64_t rows_max, int64_t* failed_offset) {
  const std::span<const uint8_t> bytes = block_.subspan(static_cast<size_t>(position_));
  Run run(bytes, &values_left_);
  bool ok = true;
  while (ok && rows_left_ > 0 && rows_max > 0 && !full()) {
    const int64_t rows = std::min({rows_left_, rows_max, kReserveRows});
    *failed_offset = position_;
    if (rows > values_left_ / root_->weight) {
      return Invalid("more values in one batch than allowed");
    }
    ARROW_RETURN_NOT_OK(Reserve(root_.get(), rows));
    int64_t done = 0;
    while (ok && done < rows && run.in().position - bytes.data() < kBatchBytesMax) {
      ok = run.Datum(root_view_, root_.get());
      ++done;
    }
    const int64_t position = run.in().position - block_.data();
    bytes_taken_ += position - position_;
    position_ = position;
    values_left_ -= done * root_->weight;
    rows_ += done;
    rows_left_ -= done;
    rows_max -= done;
  }
  *failed_offset = position_;
  if (!ok) return run.Error();
  return rows_left_ == 0 ? CheckBlockEnd(failed_offset) : arrow::Status::OK();
}

arrow::Result<std::shared_ptr<arrow::RecordBatch>> RecordDecoder::Finish() {
  ARROW_ASSIGN_OR_RAISE(auto data, FinishNode(root_.get(), pool_));
  const int64_t rows = std::exchange(rows_, 0);
  values_left_ = values_max_;
  bytes_taken_ = 0;
  return arrow::RecordBatch::Make(output_, rows, std::move(data->child_data));
}

}  // namespace kelda::avro
