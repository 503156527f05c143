#include "kelda/format/file_index/file_index_test_util.h"

#include <arrow/builder.h>
#include <arrow/util/logging.h>

#include "kelda/types/arrow_mapping.h"

namespace kelda {

std::shared_ptr<arrow::Array> MakeColumn(const DataType& type, const Scalars& values) {
  auto builder = arrow::MakeBuilder(ToArrowType(type).ValueOrDie()).ValueOrDie();
  for (const auto& value : values) {
    if (value == nullptr || !value->is_valid) {
      ARROW_CHECK_OK(builder->AppendNull());
    } else {
      ARROW_CHECK_OK(builder->AppendScalar(*value));
    }
  }
  return builder->Finish().ValueOrDie();
}

arrow::Result<std::string> BuildIndex(const ColumnIndexType& index, const DataType& type,
                                      const IndexOptions& options, const arrow::Array& column) {
  ARROW_ASSIGN_OR_RAISE(KeyForm form, KeyForm::Make(type));
  ARROW_ASSIGN_OR_RAISE(auto writer, index.CreateWriter(form, options));
  const int64_t half = column.length() / 2;
  ARROW_RETURN_NOT_OK(writer->Write(*column.Slice(0, half)));
  ARROW_RETURN_NOT_OK(writer->Write(*column.Slice(half)));
  return writer->Finish();
}

std::string OneIndex(const ColumnIndexType& index, const std::string& bytes) {
  return EncodeIndexContainer({{"c", std::string(index.name()), bytes}}).ValueOrDie();
}

arrow::Result<RowSelection> Select(const std::string& container, const DataType& type,
                                   const Predicate& predicate, int64_t rows) {
  ARROW_ASSIGN_OR_RAISE(auto opened,
                        IndexContainer::Open(IndexInput::FromMemory(container, "test.index")));
  const IndexedColumnResolver resolver =
      [&](const std::vector<std::string>& path) -> std::optional<IndexedColumn> {
    if (path != std::vector<std::string>{"c"}) return std::nullopt;
    return IndexedColumn{"c", type};
  };
  return SelectIndexedRows(opened, predicate, resolver, rows);
}

std::vector<uint32_t> RowsOf(const RowSelection& selection) {
  std::vector<uint32_t> rows;
  for (int64_t row = 0; row < selection.row_count(); ++row) {
    if (selection.Contains(static_cast<uint32_t>(row))) rows.push_back(static_cast<uint32_t>(row));
  }
  return rows;
}

}  // namespace kelda
