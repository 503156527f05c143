#include "kelda/format/orc/orc_test_util.h"

#include "kelda/format/orc/orc_format.h"
#include "kelda/types/arrow_mapping.h"

namespace kelda::orc_test {

WrittenFile WriteOrc(FileIO& io, const std::string& path, const std::vector<DataField>& fields,
                     const Batches& batches, const WriterOptions& options) {
  auto writer = Unwrap(OrcFormat::Instance().CreateWriter(io, path, fields, options));
  for (const auto& batch : batches) {
    auto status = writer->Write(*batch);
    EXPECT_TRUE(status.ok()) << status.ToString();
  }
  return Unwrap(writer->Finish());
}

arrow::Result<ReadBack> TryReadOrc(FileIO& io, const std::string& path, ReadOptions options,
                                   int64_t size_bytes) {
  ReadBack out;
  options.on_open = [&](const ReadStatistics& statistics) { out.statistics = statistics; };
  ARROW_ASSIGN_OR_RAISE(auto reader,
                        OrcFormat::Instance().OpenReader(io, path, size_bytes, options));
  Batches batches;
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

ReadBack ReadOrc(FileIO& io, const std::string& path, ReadOptions options) {
  return Unwrap(TryReadOrc(io, path, std::move(options)));
}

ReadBack ReadOrc(FileIO& io, const std::string& path, const std::vector<DataField>& fields) {
  ReadOptions options;
  options.columns = fields;
  return ReadOrc(io, path, std::move(options));
}

void PutFile(FileIO& io, const std::string& path, const std::string& bytes) {
  auto out = Unwrap(io.CreateNew(path));
  EXPECT_TRUE(out->Write(bytes).ok() && out->Close().ok());
}

namespace {

/// CHAR loses trailing blanks on the way: STRING in its place.
DataType WithoutChar(const DataType& type) {
  switch (type.root()) {
    case TypeRoot::kChar:
      return DataType::String(type.nullable());
    case TypeRoot::kArray:
      return DataType::Array(WithoutChar(type.element()), type.nullable());
    case TypeRoot::kMultiset:
      return DataType::Multiset(WithoutChar(type.element()), type.nullable());
    case TypeRoot::kMap:
      return DataType::Map(WithoutChar(type.key()), WithoutChar(type.value()), type.nullable());
    case TypeRoot::kRow: {
      std::vector<DataField> fields = type.fields();
      for (DataField& field : fields) field.type = WithoutChar(field.type);
      return DataType::Row(std::move(fields), type.nullable());
    }
    default:
      return type;
  }
}

}  // namespace

std::vector<DataField> RandomOrc::Schema(int columns, int depth) {
  while (true) {
    auto fields = random.Schema(columns, depth);
    for (DataField& field : fields) field.type = WithoutChar(field.type);
    if (OrcFormat::Instance().CheckTypes(fields).ok()) return fields;
  }
}

}  // namespace kelda::orc_test
