// The ORC reader on arbitrary bytes: an error or rows, never a crash. The first byte picks the
// wanted columns, the second a predicate or rows; the rest is the file.

#include <cstdint>
#include <string_view>

#include <arrow/scalar.h>

#include "kelda/format/file_format.h"

namespace kelda {
namespace {

DataField Field(int32_t id, const char* name, DataType type) {
  DataField field;
  field.id = id;
  field.name = name;
  field.type = std::move(type);
  return field;
}

/// Names of the seeds' columns, in several wanted types.
std::vector<DataField> Columns(uint8_t choice) {
  const DataType text = DataType::String();
  const DataType number(TypeRoot::kInt);
  const DataType row = DataType::Row({Field(4, "x", number), Field(5, "y", text)});
  switch (choice % 4) {
    case 0:
      return {Field(0, "n", number), Field(1, "s", text), Field(2, "l", DataType::Array(text)),
              Field(3, "r", row)};
    case 1:
      return {Field(0, "n", DataType(TypeRoot::kBigInt)), Field(10, "c", text),
              Field(11, "v", DataType::Bytes()),
              Field(6, "m", DataType::Map(text.WithNullable(false), row))};
    case 2:
      return {Field(7, "t", DataType::Temporal(TypeRoot::kTimestamp, 9)),
              Field(8, "d", DataType::Decimal(20, 2)), Field(9, "x", DataType(TypeRoot::kDouble)),
              Field(12, "b", DataType(TypeRoot::kBoolean))};
    default:
      return {Field(3, "r", DataType::Row({})), Field(2, "l", DataType::Array(text)),
              Field(7, "t", DataType::Temporal(TypeRoot::kTimestamp, 3))};
  }
}

PredicatePtr Filter(uint8_t choice) {
  switch (choice % 4) {
    case 0:
      return nullptr;
    case 1:
      return Leaf(PredicateOp::kGt, {"n"}, {std::make_shared<arrow::Int32Scalar>(choice)});
    case 2:
      return Leaf(PredicateOp::kLt, {"s"}, {std::make_shared<arrow::StringScalar>("m")});
    default:
      return Leaf(PredicateOp::kIsNotNull, {"r", "x"}, {});
  }
}

arrow::Status ReadAll(std::string_view file, uint8_t columns, uint8_t filter) {
  auto io = MakeMemoryFileIO();
  ARROW_ASSIGN_OR_RAISE(auto out, io->CreateNew("/f.orc"));
  ARROW_RETURN_NOT_OK(out->Write(file.data(), static_cast<int64_t>(file.size())));
  ARROW_RETURN_NOT_OK(out->Close());
  ARROW_ASSIGN_OR_RAISE(const FileFormat* format, FindFormat("orc"));
  ReadOptions options;
  options.columns = Columns(columns);
  options.predicate = Filter(filter);
  if (filter >= 128) {
    auto rows = std::make_shared<RowRanges>();
    rows->Add(1000, 1001);
    options.rows = rows;
  }
  options.batch_rows = 100;
  ARROW_ASSIGN_OR_RAISE(auto reader, format->OpenReader(*io, "/f.orc", -1, options));
  // A few bytes may stand for very many rows.
  for (int i = 0; i < 200; ++i) {
    ARROW_ASSIGN_OR_RAISE(auto batch, reader->Next());
    if (!batch) break;
    if (!batch->Validate().ok()) std::abort();
  }
  return arrow::Status::OK();
}

}  // namespace
}  // namespace kelda

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  if (size < 2) return 0;
  std::string_view file(reinterpret_cast<const char*>(data) + 2, size - 2);
  kelda::IgnoreError(kelda::ReadAll(file, data[0], data[1]), "most inputs are broken");
  return 0;
}
