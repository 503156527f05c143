#include "kelda/catalog/system_tables/column_table.h"

#include <arrow/api.h>
#include <arrow/util/utf8.h>

#include "kelda/row/text_cast.h"
#include "kelda/types/arrow_mapping.h"

namespace kelda::system_tables {

namespace {

constexpr int64_t kRowsPerChunk = 1024;

arrow::Status AppendText(const std::string& text, arrow::StringBuilder* builder) {
  if (arrow::util::ValidateUTF8(text)) return builder->Append(text);
  return builder->Append(ReplaceInvalidUtf8(text));
}

arrow::Status AppendCell(const Cell& cell, arrow::ArrayBuilder* builder) {
  if (std::holds_alternative<std::monostate>(cell)) return builder->AppendNull();
  if (const auto* scalar = std::get_if<std::shared_ptr<arrow::Scalar>>(&cell))
    return builder->AppendScalar(**scalar);
  switch (builder->type()->id()) {
    case arrow::Type::BOOL:
      return static_cast<arrow::BooleanBuilder*>(builder)->Append(std::get<int64_t>(cell) != 0);
    case arrow::Type::INT32:
      return static_cast<arrow::Int32Builder*>(builder)->Append(
          static_cast<int32_t>(std::get<int64_t>(cell)));
    case arrow::Type::INT64:
      return static_cast<arrow::Int64Builder*>(builder)->Append(std::get<int64_t>(cell));
    case arrow::Type::TIMESTAMP:
      return static_cast<arrow::TimestampBuilder*>(builder)->Append(std::get<int64_t>(cell));
    case arrow::Type::STRING:
      return AppendText(std::get<std::string>(cell), static_cast<arrow::StringBuilder*>(builder));
    case arrow::Type::LIST: {
      auto* list = static_cast<arrow::ListBuilder*>(builder);
      ARROW_RETURN_NOT_OK(list->Append());
      for (const std::string& text : std::get<std::vector<std::string>>(cell)) {
        ARROW_RETURN_NOT_OK(
            AppendText(text, static_cast<arrow::StringBuilder*>(list->value_builder())));
      }
      return arrow::Status::OK();
    }
    default:
      return arrow::Status::NotImplemented("system table column of type ",
                                           builder->type()->ToString());
  }
}

}  // namespace

arrow::Result<std::shared_ptr<arrow::RecordBatch>> BuildBatch(
    const std::vector<DataField>& fields, int64_t rows,
    const std::function<arrow::Result<Cell>(int column, int64_t row)>& cell, Executor& executor,
    const CancellationToken& token) {
  ARROW_ASSIGN_OR_RAISE(auto schema, ToArrowSchema(fields));
  const int64_t chunks = rows / kRowsPerChunk + (rows % kRowsPerChunk != 0 ? 1 : 0);
  std::vector<arrow::ArrayVector> parts(fields.size(), arrow::ArrayVector(chunks));
  ARROW_RETURN_NOT_OK(ParallelFor(executor, chunks, token, [&](int64_t chunk) -> arrow::Status {
    const int64_t begin = chunk * kRowsPerChunk;
    const int64_t end = std::min(rows, begin + kRowsPerChunk);
    for (size_t i = 0; i < fields.size(); ++i) {
      ARROW_RETURN_NOT_OK(token.Check());
      ARROW_ASSIGN_OR_RAISE(auto builder,
                            arrow::MakeBuilder(schema->field(static_cast<int>(i))->type()));
      for (int64_t row = begin; row < end; ++row) {
        ARROW_ASSIGN_OR_RAISE(Cell value, cell(static_cast<int>(i), row));
        ARROW_RETURN_NOT_OK(AppendCell(value, builder.get()));
      }
      ARROW_ASSIGN_OR_RAISE(parts[i][chunk], builder->Finish());
    }
    return arrow::Status::OK();
  }));
  arrow::ArrayVector arrays;
  for (size_t i = 0; i < fields.size(); ++i) {
    if (chunks == 0) {
      ARROW_ASSIGN_OR_RAISE(auto empty,
                            arrow::MakeEmptyArray(schema->field(static_cast<int>(i))->type()));
      arrays.push_back(std::move(empty));
    } else if (chunks == 1) {
      arrays.push_back(std::move(parts[i][0]));
    } else {
      ARROW_ASSIGN_OR_RAISE(auto joined, arrow::Concatenate(parts[i]));
      arrays.push_back(std::move(joined));
      parts[i].clear();
    }
  }
  return arrow::RecordBatch::Make(std::move(schema), rows, std::move(arrays));
}

}  // namespace kelda::system_tables
