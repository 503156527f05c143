#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>

#include "kelda/format/file_index/file_index.h"

// File index containers: byte 0 chooses the type of the column `c`, byte 1 how many rows the file
// has, the rest is the container. Whatever the bytes, an answer is rows of the file or an error, in
// bounded memory.

namespace kelda {

namespace {

std::shared_ptr<arrow::Scalar> Literal(const DataType& type, int number) {
  switch (type.root()) {
    case TypeRoot::kBoolean:
      return arrow::MakeScalar(number % 2 == 0);
    case TypeRoot::kTinyInt:
      return arrow::MakeScalar(static_cast<int8_t>(number));
    case TypeRoot::kBigInt:
      return arrow::MakeScalar(static_cast<int64_t>(number));
    case TypeRoot::kDouble:
      return arrow::MakeScalar(static_cast<double>(number));
    case TypeRoot::kVarChar:
      return arrow::MakeScalar("value " + std::to_string(number));
    default:
      return arrow::MakeScalar(static_cast<int32_t>(number));
  }
}

void Ask(std::string_view bytes, const DataType& type, int64_t rows) {
  auto container = IndexContainer::Open(IndexInput::FromMemory(bytes, "fuzz"));
  if (!container.ok()) return;
  const IndexedColumnResolver resolver =
      [&](const std::vector<std::string>&) -> std::optional<IndexedColumn> {
    return IndexedColumn{"c", type};
  };
  for (PredicateOp op : {PredicateOp::kEq, PredicateOp::kNe, PredicateOp::kLt, PredicateOp::kGe,
                         PredicateOp::kIn, PredicateOp::kIsNull, PredicateOp::kStartsWith}) {
    std::vector<std::shared_ptr<arrow::Scalar>> literals;
    if (op != PredicateOp::kIsNull) literals.push_back(Literal(type, 3));
    if (op == PredicateOp::kIn) literals.push_back(Literal(type, -7));
    auto selected = SelectIndexedRows(*container, *Leaf(op, {"c"}, literals), resolver, rows);
    if (!selected.ok()) continue;
    if (selected->selected() > rows || selected->ToRanges().RowCount() > rows) std::abort();
  }
}

}  // namespace

}  // namespace kelda

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using kelda::DataType;
  using kelda::TypeRoot;
  if (size < 2) return 0;
  static const DataType types[] = {DataType(TypeRoot::kInt),     DataType(TypeRoot::kBoolean),
                                   DataType(TypeRoot::kTinyInt), DataType(TypeRoot::kBigInt),
                                   DataType(TypeRoot::kDouble),  DataType::String()};
  kelda::Ask({reinterpret_cast<const char*>(data) + 2, size - 2}, types[data[0] % 6], data[1]);
  return 0;
}
