#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include <arrow/buffer_builder.h>
#include <arrow/type.h>

#include "kelda/avro/schema.h"

// What RecordDecoder runs; private to the decoder.

namespace kelda::avro::internal {

enum class Op : uint8_t {
  // Append one value to the node's column.
  kNull,
  kBoolean,
  kInt8,
  kInt16,
  kInt32,
  kInt64,
  kTimeMillis,
  kMultiply,  ///< long times `param`
  kDivide,    ///< long divided by `param`, which must leave nothing
  kFloat,
  kDouble,
  kFloatToDouble,
  kBytes,
  kFixed,
  kEnum,
  kDecimalBytes,
  kDecimalFixed,
  kStruct,
  kList,  ///< lists and maps: both are blocks of items
  kFixedSizeList,
  // Pass over values that nobody wants.
  kSkipVarints,  ///< `param` of them
  kSkipFixed,    ///< `param` bytes
  kSkipBytes,
  kSkipOptional,  ///< union with null: `children` if the branch is not `null_branch`
  kSkipUnion,     ///< children[i] is the kSkipSequence of branch i
  kSkipSequence,
  kSkipList,
};

inline bool IsSkip(Op op) { return op >= Op::kSkipVarints; }

/// Column being built. `length` counts all slots, also those under a null parent.
struct Column {
  explicit Column(arrow::MemoryPool* pool)
      : validity(pool), bits(pool), values(pool), offsets(pool) {}

  std::shared_ptr<arrow::DataType> type;
  std::string path;
  int64_t length = 0;
  arrow::TypedBufferBuilder<bool> validity;
  arrow::TypedBufferBuilder<bool> bits;  ///< values of booleans
  arrow::BufferBuilder values;
  arrow::TypedBufferBuilder<int32_t> offsets;
  std::vector<std::string> symbols;  ///< enum
  /// struct: the child step of each output field, or -1 and null values of the field's type.
  std::vector<int> outputs;
};

struct Node {
  Op op = Op::kNull;
  bool is_union = false;
  bool keeps_validity = false;
  int8_t null_branch = -1;
  int8_t value_branch = -1;
  int32_t width = 0;               ///< bytes of one value in `column->values`, 0 if not fixed
  int64_t param = 0;               ///< see Op; kFixed: bytes; lists: items, if fixed
  int64_t item_size_min = 0;       ///< lists: least encoded bytes of one item
  int64_t weight = 1;              ///< value slots of one value, without what is in lists
  std::unique_ptr<Column> column;  ///< null in skip nodes
  std::vector<Node> children;
};

/// Compile a record into a struct node that makes the fields of `wanted`.
arrow::Result<Node> CompileRecord(const Schema& record, const arrow::FieldVector& wanted,
                                  std::shared_ptr<arrow::DataType> type, const std::string& path,
                                  arrow::MemoryPool* pool);

}  // namespace kelda::avro::internal
