#include "kelda/format/parquet/parquet_test_util.h"

#include <cmath>

#include <arrow/util/decimal.h>

namespace kelda::parquet_test {

DataField Field(int32_t id, std::string name, DataType type) {
  DataField field;
  field.id = id;
  field.name = std::move(name);
  field.type = std::move(type);
  return field;
}

DataType RandomTable::AtomicType() {
  const bool nullable = Next(4) != 0;
  switch (Next(17)) {
    case 0:
      return DataType(TypeRoot::kBoolean, nullable);
    case 1:
      return DataType(TypeRoot::kTinyInt, nullable);
    case 2:
      return DataType(TypeRoot::kSmallInt, nullable);
    case 3:
      return DataType(TypeRoot::kInt, nullable);
    case 4:
      return DataType(TypeRoot::kBigInt, nullable);
    case 5:
      return DataType(TypeRoot::kFloat, nullable);
    case 6:
      return DataType(TypeRoot::kDouble, nullable);
    case 7:
    case 8: {
      const int precision = 1 + static_cast<int>(Next(38));
      return DataType::Decimal(precision, static_cast<int>(Next(precision + 1)), nullable);
    }
    case 9:
      return DataType::Sized(TypeRoot::kChar, 10, nullable);
    case 10:
      return DataType::String(nullable);
    case 11:
      return DataType::Sized(TypeRoot::kBinary, 8, nullable);
    case 12:
      return DataType::Bytes(nullable);
    case 13:
      return DataType(TypeRoot::kDate, nullable);
    case 14:
      return DataType::Temporal(TypeRoot::kTime, static_cast<int>(Next(4)), nullable);
    case 15:
      return DataType::Temporal(TypeRoot::kTimestamp, static_cast<int>(Next(10)), nullable);
    default:
      return DataType::Temporal(TypeRoot::kTimestampLtz, static_cast<int>(Next(10)), nullable);
  }
}

DataType RandomTable::Type(int depth) {
  if (depth == 0 || Next(3) == 0) return AtomicType();
  const bool nullable = Next(4) != 0;
  switch (Next(5)) {
    case 0:
      return DataType::Array(Type(depth - 1), nullable);
    case 1:
      return DataType::Map(AtomicType().WithNullable(false), Type(depth - 1), nullable);
    case 2:
      return DataType::Multiset(AtomicType().WithNullable(false), nullable);
    case 3:
      return DataType(TypeRoot::kVariant, nullable);
    default: {
      std::vector<DataField> members;
      for (uint64_t i = 0, n = 1 + Next(3); i < n; ++i) {
        members.push_back(Field(-1, "m" + std::to_string(i), Type(depth - 1)));
      }
      return DataType::Row(std::move(members), nullable);
    }
  }
}

std::vector<DataField> RandomTable::Schema(int columns, int depth) {
  std::vector<DataField> fields;
  for (int i = 0; i < columns; ++i) {
    fields.push_back(Field(-1, "c" + std::to_string(i), Type(depth)));
  }
  AssignFieldIds(&fields);
  return fields;
}

int64_t RandomTable::Integer(int64_t min, int64_t max) {
  switch (Next(12)) {
    case 0:
      return min;
    case 1:
      return max;
    case 2:
      return 0;
    default:
      break;
  }
  const auto range = static_cast<uint64_t>(max) - static_cast<uint64_t>(min);
  const uint64_t width = repetitive ? std::min<uint64_t>(range, 200) : range;
  const uint64_t step = width == UINT64_MAX ? engine_() : engine_() % (width + 1);
  return static_cast<int64_t>(static_cast<uint64_t>(min) + step);
}

std::string RandomTable::Text() {
  static const char* const kPieces[] = {"a", "b", "Ω", "日本", "😀", " ", "\n", "xyz", "0", "é"};
  std::string text;
  const uint64_t pieces = repetitive ? Next(3) : Next(12);
  for (uint64_t i = 0; i < pieces; ++i) text += kPieces[Next(10)];
  return text;
}

void RandomTable::Append(const DataType& type, bool nullable, arrow::ArrayBuilder* builder) {
  if (nullable && static_cast<int>(Next(100)) < null_percent) {
    EXPECT_TRUE(builder->AppendNull().ok());
    return;
  }
  AppendValue(type, builder);
}

void RandomTable::AppendValue(const DataType& type, arrow::ArrayBuilder* builder) {
  auto append = [&](auto* typed, auto value) { EXPECT_TRUE(typed->Append(value).ok()); };
  auto sub = [&](auto* typed) { EXPECT_TRUE(typed->Append().ok()); };
  switch (type.root()) {
    case TypeRoot::kBoolean:
      return append(static_cast<arrow::BooleanBuilder*>(builder), Next(2) == 1);
    case TypeRoot::kTinyInt:
      return append(static_cast<arrow::Int8Builder*>(builder),
                    static_cast<int8_t>(Integer(INT8_MIN, INT8_MAX)));
    case TypeRoot::kSmallInt:
      return append(static_cast<arrow::Int16Builder*>(builder),
                    static_cast<int16_t>(Integer(INT16_MIN, INT16_MAX)));
    case TypeRoot::kInt:
      return append(static_cast<arrow::Int32Builder*>(builder),
                    static_cast<int32_t>(Integer(INT32_MIN, INT32_MAX)));
    case TypeRoot::kBigInt:
      return append(static_cast<arrow::Int64Builder*>(builder), Integer(INT64_MIN, INT64_MAX));
    case TypeRoot::kFloat: {
      const float special[] = {0.0f, -0.0f, INFINITY, -INFINITY, NAN};
      return append(
          static_cast<arrow::FloatBuilder*>(builder),
          Next(8) == 0 ? special[Next(5)] : static_cast<float>(Integer(-1000000, 1000000)) / 8);
    }
    case TypeRoot::kDouble: {
      const double special[] = {0.0, -0.0, INFINITY, -INFINITY, NAN};
      return append(
          static_cast<arrow::DoubleBuilder*>(builder),
          Next(8) == 0 ? special[Next(5)] : static_cast<double>(Integer(-1000000, 1000000)) / 8);
    }
    case TypeRoot::kDecimal: {
      __int128 limit = 1;
      for (uint64_t i = 0, n = 1 + Next(type.precision()); i < n; ++i) limit *= 10;
      auto value = static_cast<__int128>(
                       (static_cast<unsigned __int128>(engine_()) << 64 | engine_()) >> 1) %
                   limit;
      if (Next(2)) value = -value;
      if (Next(10) == 0) value = limit - 1;
      return append(
          static_cast<arrow::Decimal128Builder*>(builder),
          arrow::Decimal128(static_cast<int64_t>(value >> 64), static_cast<uint64_t>(value)));
    }
    case TypeRoot::kChar:
    case TypeRoot::kVarChar:
      return append(static_cast<arrow::StringBuilder*>(builder), Text());
    case TypeRoot::kBinary:
    case TypeRoot::kVarBinary: {
      std::string bytes = Text();
      if (Next(2)) bytes += '\xff';
      return append(static_cast<arrow::BinaryBuilder*>(builder), bytes);
    }
    case TypeRoot::kDate:
      return append(static_cast<arrow::Date32Builder*>(builder),
                    static_cast<int32_t>(Integer(-800000, 3000000)));
    case TypeRoot::kTime:
      return append(static_cast<arrow::Time32Builder*>(builder),
                    static_cast<int32_t>(Integer(0, 86399999)));
    case TypeRoot::kTimestamp:
    case TypeRoot::kTimestampLtz: {
      auto* typed = static_cast<arrow::TimestampBuilder*>(builder);
      const auto unit = static_cast<const arrow::TimestampType&>(*typed->type()).unit();
      const int64_t limit = unit == arrow::TimeUnit::NANO ? INT64_MAX : int64_t{1} << 48;
      return append(typed, Integer(-limit, limit));
    }
    case TypeRoot::kArray: {
      auto* list = static_cast<arrow::ListBuilder*>(builder);
      sub(list);
      for (uint64_t n = Next(4); n > 0; --n) {
        Append(type.element(), type.element().nullable(), list->value_builder());
      }
      return;
    }
    case TypeRoot::kMap:
    case TypeRoot::kMultiset: {
      auto* map = static_cast<arrow::MapBuilder*>(builder);
      sub(map);
      const bool multiset = type.root() == TypeRoot::kMultiset;
      const DataType value = multiset ? DataType(TypeRoot::kInt, false) : type.value();
      for (uint64_t n = Next(4); n > 0; --n) {
        Append(multiset ? type.element() : type.key(), false, map->key_builder());
        Append(value, value.nullable(), map->item_builder());
      }
      return;
    }
    case TypeRoot::kRow: {
      auto* row = static_cast<arrow::StructBuilder*>(builder);
      sub(row);
      for (size_t i = 0; i < type.fields().size(); ++i) {
        const DataType& member = type.fields()[i].type;
        Append(member, member.nullable(), row->field_builder(static_cast<int>(i)));
      }
      return;
    }
    case TypeRoot::kVariant: {
      auto* row = static_cast<arrow::StructBuilder*>(builder);
      sub(row);
      for (int i = 0; i < 2; ++i) AppendValue(DataType::Bytes(false), row->field_builder(i));
      return;
    }
    default:
      FAIL() << "no values for " << type.ToString();
  }
}

std::shared_ptr<arrow::RecordBatch> RandomTable::Batch(const std::vector<DataField>& fields,
                                                       int64_t rows) {
  auto schema = Unwrap(ToArrowSchema(fields));
  arrow::ArrayVector columns;
  for (size_t i = 0; i < fields.size(); ++i) {
    auto builder = Unwrap(arrow::MakeBuilder(schema->field(static_cast<int>(i))->type()));
    for (int64_t row = 0; row < rows; ++row) {
      Append(fields[i].type, fields[i].type.nullable(), builder.get());
    }
    columns.push_back(Unwrap(builder->Finish()));
  }
  return arrow::RecordBatch::Make(schema, rows, columns);
}

WrittenFile WriteFile(FileIO& io, const std::string& path, const std::vector<DataField>& fields,
                      const std::vector<std::shared_ptr<arrow::RecordBatch>>& batches,
                      const WriterOptions& options) {
  const FileFormat* format = Unwrap(FindFormat(FormatOfFileName(path)));
  auto writer = Unwrap(format->CreateWriter(io, path, fields, options));
  for (const auto& batch : batches) {
    auto status = writer->Write(*batch);
    EXPECT_TRUE(status.ok()) << status.ToString();
  }
  return Unwrap(writer->Finish());
}

arrow::Result<ReadBack> TryReadFile(FileIO& io, const std::string& path, ReadOptions options,
                                    int64_t size_bytes) {
  ReadBack out;
  options.on_open = [&](const ReadStatistics& statistics) { out.statistics = statistics; };
  ARROW_ASSIGN_OR_RAISE(const FileFormat* format, FindFormat(FormatOfFileName(path)));
  ARROW_ASSIGN_OR_RAISE(auto reader, format->OpenReader(io, path, size_bytes, options));
  std::vector<std::shared_ptr<arrow::RecordBatch>> batches;
  while (true) {
    ARROW_ASSIGN_OR_RAISE(auto batch, reader->Next());
    if (!batch) break;
    out.first_rows.push_back(reader->first_row());
    out.row_counts.push_back(batch->num_rows());
    batches.push_back(std::move(batch));
  }
  ARROW_ASSIGN_OR_RAISE(auto schema, ToArrowSchema(options.columns));
  ARROW_ASSIGN_OR_RAISE(out.table, arrow::Table::FromRecordBatches(schema, batches));
  ARROW_RETURN_NOT_OK(out.table->ValidateFull());
  return out;
}

ReadBack ReadFile(FileIO& io, const std::string& path, ReadOptions options) {
  return Unwrap(TryReadFile(io, path, std::move(options)));
}

std::shared_ptr<arrow::Table> TableOf(
    const std::vector<DataField>& fields,
    const std::vector<std::shared_ptr<arrow::RecordBatch>>& batches) {
  return Unwrap(arrow::Table::FromRecordBatches(Unwrap(ToArrowSchema(fields)), batches));
}

std::shared_ptr<arrow::Array> Whole(const arrow::Table& table, int column) {
  const auto& chunks = table.column(column)->chunks();
  if (chunks.empty()) return Unwrap(arrow::MakeEmptyArray(table.column(column)->type()));
  return Unwrap(arrow::Concatenate(chunks));
}

void ExpectTablesEqual(const arrow::Table& actual, const arrow::Table& expected) {
  ASSERT_EQ(actual.num_rows(), expected.num_rows());
  ASSERT_TRUE(actual.schema()->Equals(*expected.schema())) << actual.schema()->ToString() << "\n"
                                                           << expected.schema()->ToString();
  for (int i = 0; i < actual.num_columns(); ++i) {
    auto a = Whole(actual, i);
    auto e = Whole(expected, i);
    EXPECT_TRUE(a->Equals(*e, arrow::EqualOptions::Defaults().nans_equal(true)))
        << actual.schema()->field(i)->ToString() << "\n"
        << a->Diff(*e);
  }
}

}  // namespace kelda::parquet_test
