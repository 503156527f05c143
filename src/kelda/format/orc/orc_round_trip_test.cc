// What is written comes back: random schemas and rows, all settings.

#include <arrow/api.h>
#include <gtest/gtest.h>

#include "kelda/base/test_matchers.h"
#include "kelda/format/orc/orc_test_util.h"

namespace kelda {
namespace {

using namespace orc_test;  // NOLINT

class OrcRoundTrip : public testing::TestWithParam<int> {};

TEST_P(OrcRoundTrip, RandomSchemas) {
  RandomOrc source(static_cast<uint64_t>(GetParam()));
  source.random.null_percent = GetParam() % 5 == 0 ? 0 : GetParam() % 5 == 1 ? 95 : 20;
  source.random.repetitive = GetParam() % 3 == 0;
  auto fields = source.Schema(6, GetParam() % 4);
  Batches batches;
  const int64_t sizes[] = {1, 700, 0, 1300, 31};
  for (int64_t rows : sizes) batches.push_back(source.random.Batch(fields, rows));
  const char* const kCodecs[] = {"none", "zstd", "snappy", "zlib", "lz4"};
  WriterOptions options;
  options.compression = kCodecs[GetParam() % 5];
  options.format_options["orc.row.index.stride"] = "1000";
  if (GetParam() % 2 == 0) options.format_options["orc.compress.size"] = "1024";
  if (GetParam() % 7 == 0) options.block_size_bytes = 4000;
  auto io = MakeMemoryFileIO();
  auto written = WriteOrc(*io, "/f.orc", fields, batches, options);
  EXPECT_EQ(written.row_count, 2032);
  EXPECT_EQ(written.size_bytes, Unwrap(io->Stat("/f.orc")).size_bytes);
  ASSERT_EQ(written.stats.size(), fields.size());
  ReadOptions read;
  read.columns = fields;
  read.batch_rows = GetParam() % 2 == 0 ? 32768 : 77;
  auto back = ReadOrc(*io, "/f.orc", read);
  ExpectTablesEqual(*back.table, *TableOf(fields, batches));
}

INSTANTIATE_TEST_SUITE_P(Seeds, OrcRoundTrip, testing::Range(0, 60));

}  // namespace
}  // namespace kelda
