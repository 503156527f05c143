// Measures the Parquet writer and reader alone on the table of the append-write benchmark: int64,
// int32, double, decimal(12,2), a string of 100 values and a string of all different values.
//
//   kelda_parquet_bench write FILE [rows [batch_rows]]    writes the table, prints rows per second
//   kelda_parquet_bench read FILE                         reads all columns back
//   kelda_parquet_bench open COUNT                        memory of COUNT writers with an open row
//   group

#include <sys/resource.h>

#include <chrono>
#include <cstdlib>
#include <random>

#include <arrow/api.h>
#include <fmt/format.h>

#include "kelda/format/file_format.h"
#include "kelda/types/arrow_mapping.h"

namespace kelda {
namespace {

std::vector<DataField> Fields() {
  const DataType types[] = {DataType(TypeRoot::kBigInt), DataType(TypeRoot::kInt),
                            DataType(TypeRoot::kDouble), DataType::Decimal(12, 2),
                            DataType::String(),          DataType::String()};
  const char* const names[] = {"id", "n", "x", "price", "kind", "key"};
  std::vector<DataField> fields(6);
  for (int i = 0; i < 6; ++i) {
    fields[i].id = i;
    fields[i].name = names[i];
    fields[i].type = types[i];
  }
  return fields;
}

arrow::Result<std::shared_ptr<arrow::RecordBatch>> MakeRows(int64_t first, int64_t rows,
                                                            std::mt19937_64* random) {
  arrow::Int64Builder id;
  arrow::Int32Builder n;
  arrow::DoubleBuilder x;
  arrow::Decimal128Builder price(arrow::decimal128(12, 2));
  arrow::StringBuilder kind;
  arrow::StringBuilder key;
  for (int64_t i = first; i < first + rows; ++i) {
    const uint64_t r = (*random)();
    ARROW_RETURN_NOT_OK(id.Append(i));
    ARROW_RETURN_NOT_OK(n.Append(static_cast<int32_t>(r % 1000000)));
    ARROW_RETURN_NOT_OK(x.Append(static_cast<double>(r >> 11) / 9007199254740992.0));
    ARROW_RETURN_NOT_OK(price.Append(arrow::Decimal128(static_cast<int64_t>(r % 10000000))));
    ARROW_RETURN_NOT_OK(kind.Append(fmt::format("kind number {}", r % 100)));
    ARROW_RETURN_NOT_OK(key.Append(fmt::format("key-{:016x}", r)));
  }
  arrow::ArrayVector columns(6);
  ARROW_RETURN_NOT_OK(id.Finish(&columns[0]));
  ARROW_RETURN_NOT_OK(n.Finish(&columns[1]));
  ARROW_RETURN_NOT_OK(x.Finish(&columns[2]));
  ARROW_RETURN_NOT_OK(price.Finish(&columns[3]));
  ARROW_RETURN_NOT_OK(kind.Finish(&columns[4]));
  ARROW_RETURN_NOT_OK(key.Finish(&columns[5]));
  ARROW_ASSIGN_OR_RAISE(auto schema, ToArrowSchema(Fields()));
  return arrow::RecordBatch::Make(schema, rows, std::move(columns));
}

double CpuSeconds() {
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  return static_cast<double>(usage.ru_utime.tv_sec + usage.ru_stime.tv_sec) +
         static_cast<double>(usage.ru_utime.tv_usec + usage.ru_stime.tv_usec) / 1e6;
}

class Stopwatch {
 public:
  void Report(const char* what, int64_t rows) const {
    const double cpu = CpuSeconds() - cpu_;
    const std::chrono::duration<double> wall = std::chrono::steady_clock::now() - wall_;
    rusage usage{};
    getrusage(RUSAGE_SELF, &usage);
    fmt::print(
        "{}: {} rows, {:.2f} s wall, {:.2f} s CPU, {:.2f} M rows per CPU second, peak {} MB\n",
        what, rows, wall.count(), cpu, static_cast<double>(rows) / cpu / 1e6,
        usage.ru_maxrss / 1024);
  }

 private:
  double cpu_ = CpuSeconds();
  std::chrono::steady_clock::time_point wall_ = std::chrono::steady_clock::now();
};

arrow::Status WriteTable(const std::string& path, int64_t rows, int64_t batch_rows) {
  std::mt19937_64 random(1);
  const int64_t distinct_rows = std::min<int64_t>(rows, 2000000);
  std::vector<std::shared_ptr<arrow::RecordBatch>> batches;
  for (int64_t first = 0; first < distinct_rows; first += batch_rows) {
    ARROW_ASSIGN_OR_RAISE(auto batch,
                          MakeRows(first, std::min(batch_rows, distinct_rows - first), &random));
    batches.push_back(std::move(batch));
  }
  auto io = MakeLocalFileIO();
  ARROW_RETURN_NOT_OK(io->DeleteFile(path));
  ARROW_ASSIGN_OR_RAISE(const FileFormat* format, FindFormat("parquet"));
  Stopwatch watch;
  ARROW_ASSIGN_OR_RAISE(auto writer, format->CreateWriter(*io, path, Fields(), {}));
  int64_t written = 0;
  for (size_t i = 0; written < rows; i = (i + 1) % batches.size()) {
    ARROW_RETURN_NOT_OK(writer->Write(*batches[i]));
    written += batches[i]->num_rows();
  }
  ARROW_ASSIGN_OR_RAISE(auto file, writer->Finish());
  watch.Report("write", file.row_count);
  fmt::print("{} bytes\n", file.size_bytes);
  return arrow::Status::OK();
}

arrow::Status ReadTable(const std::string& path) {
  auto io = MakeLocalFileIO();
  ARROW_ASSIGN_OR_RAISE(const FileFormat* format, FindFormat("parquet"));
  Stopwatch watch;
  ReadOptions options;
  options.columns = Fields();
  ARROW_ASSIGN_OR_RAISE(auto reader, format->OpenReader(*io, path, -1, options));
  int64_t rows = 0;
  while (true) {
    ARROW_ASSIGN_OR_RAISE(auto batch, reader->Next());
    if (!batch) break;
    rows += batch->num_rows();
  }
  watch.Report("read", rows);
  return arrow::Status::OK();
}

arrow::Status OpenWriters(int64_t count) {
  std::mt19937_64 random(1);
  ARROW_ASSIGN_OR_RAISE(auto batch, MakeRows(0, 20000, &random));
  auto io = MakeMemoryFileIO();
  ARROW_ASSIGN_OR_RAISE(const FileFormat* format, FindFormat("parquet"));
  std::vector<std::unique_ptr<FormatWriter>> writers;
  Stopwatch watch;
  const int64_t before = arrow::default_memory_pool()->bytes_allocated();
  int64_t buffered = 0;
  for (int64_t i = 0; i < count; ++i) {
    ARROW_ASSIGN_OR_RAISE(auto writer,
                          format->CreateWriter(*io, fmt::format("/{}", i), Fields(), {}));
    ARROW_RETURN_NOT_OK(writer->Write(*batch));
    buffered += writer->BufferedBytes();
    writers.push_back(std::move(writer));
  }
  watch.Report("open", count * 20000);
  fmt::print("per writer: {} bytes reported, {} bytes in Arrow's pool\n", buffered / count,
             (arrow::default_memory_pool()->bytes_allocated() - before) / count);
  return arrow::Status::OK();
}

int Main(int argc, char** argv) {
  const std::string command = argc > 1 ? argv[1] : "";
  auto number = [&](int i, int64_t otherwise) {
    return argc > i ? std::strtoll(argv[i], nullptr, 10) : otherwise;
  };
  arrow::Status status =
      arrow::Status::Invalid("usage: write FILE [rows [batch_rows]] | read FILE | open COUNT");
  if (command == "write" && argc > 2)
    status = WriteTable(argv[2], number(3, 20000000), number(4, 2048));
  if (command == "read" && argc > 2) status = ReadTable(argv[2]);
  if (command == "open") status = OpenWriters(number(2, 200));
  if (status.ok()) return 0;
  fmt::print(stderr, "{}\n", status.ToString());
  return 1;
}

}  // namespace
}  // namespace kelda

int main(int argc, char** argv) { return kelda::Main(argc, argv); }
