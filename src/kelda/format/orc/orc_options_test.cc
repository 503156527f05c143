#include "kelda/format/orc/orc_options.h"

#include <gtest/gtest.h>

#include "kelda/base/test_matchers.h"
#include "kelda/format/orc/orc_file.h"
#include "kelda/format/orc/orc_test_util.h"

namespace kelda {
namespace {

using namespace orc_test;  // NOLINT

arrow::Result<OrcWriteSettings> Parse(const std::string& key, const std::string& value) {
  WriterOptions options;
  options.format_options[key] = value;
  return ParseOrcWriteSettings(options);
}

TEST(OrcOptions, Defaults) {
  auto settings = Unwrap(ParseOrcWriteSettings({}));
  EXPECT_EQ(settings.compression, OrcCompression::kZstd);
  EXPECT_EQ(settings.zstd_level, 1);
  EXPECT_EQ(settings.stripe_bytes, 64 << 20);
  EXPECT_EQ(settings.row_index_stride, 10000);
  EXPECT_EQ(settings.dictionary_threshold, 0.8);
  // Java takes smaller chunks for many columns.
  EXPECT_EQ(OrcBlockSize(settings, 7), 256 << 10);
  EXPECT_EQ(OrcBlockSize(settings, 60), 64 << 10);
  EXPECT_EQ(OrcBlockSize(settings, 100000), 4 << 10);
}

TEST(OrcOptions, WhichKeyWins) {
  WriterOptions options;
  options.compression = "snappy";
  options.zstd_level = 5;
  options.block_size_bytes = 1 << 20;
  options.format_options = {{"orc.stripe.size", "4096"}, {"parquet.compression", "gzip"}};
  auto settings = Unwrap(ParseOrcWriteSettings(options));
  EXPECT_EQ(settings.compression, OrcCompression::kSnappy);
  EXPECT_EQ(settings.zstd_level, 5);
  EXPECT_EQ(settings.stripe_bytes, 1 << 20);
  options.format_options = {{"orc.compress", "ZLIB"}, {"orc.compression.zstd.level", "9"}};
  // Not a codec of ORC files, but orc.compress goes before it.
  options.compression = "gzip";
  settings = Unwrap(ParseOrcWriteSettings(options));
  EXPECT_EQ(settings.compression, OrcCompression::kZlib);
  EXPECT_EQ(settings.zstd_level, 9);
}

TEST(OrcOptions, Values) {
  EXPECT_EQ(Unwrap(Parse("orc.compress.size", "65536")).block_size, 65536);
  EXPECT_EQ(Unwrap(Parse("orc.stripe.size", "1000")).stripe_bytes, 1000);
  EXPECT_EQ(Unwrap(Parse("orc.stripe.row.count", "5")).stripe_rows_max, 5);
  EXPECT_EQ(Unwrap(Parse("orc.row.index.stride", "2000")).row_index_stride, 2000);
  EXPECT_EQ(Unwrap(Parse("orc.create.index", "false")).row_index_stride, 0);
  EXPECT_EQ(Unwrap(Parse("orc.dictionary.key.threshold", "0")).dictionary_threshold, 0);
  EXPECT_EQ(Unwrap(Parse("orc.column.encoding.direct", "a, b")).direct_columns,
            (std::set<std::string>{"a", "b"}));
  EXPECT_OK(Parse("orc.write.format", "0.12"));
  EXPECT_OK(Parse("orc.encoding.strategy", "SPEED"));
  EXPECT_OK(Parse("orc.bloom.filter.columns", ""));
  EXPECT_OK(Parse("orc.timestamp-ltz.legacy.type", "false"));
}

TEST(OrcOptions, Refused) {
  for (const char* codec : {"gzip", "deflate", "uncompressed", "brotli", "x"}) {
    WriterOptions options;
    options.compression = codec;
    EXPECT_THAT(ParseOrcWriteSettings(options), HasError(ErrorCode::kNone, codec));
  }
  EXPECT_THAT(Parse("orc.compress", "lzo"), HasError(ErrorCode::kUnsupported, "lzo"));
  EXPECT_THAT(Parse("orc.write.format", "0.11"),
              HasError(ErrorCode::kUnsupported, "orc.write.format"));
  for (const char* key : {"orc.bloom.filter.columns", "orc.encrypt", "orc.mask", "orc.key.provider",
                          "orc.proleptic.gregorian", "orc.new.key"}) {
    EXPECT_THAT(Parse(key, "true"), HasError(ErrorCode::kUnsupported, key));
  }
  for (const char* key : {"orc.stripe.size", "orc.row.index.stride", "orc.compress.size",
                          "orc.create.index", "orc.dictionary.key.threshold",
                          "orc.timestamp-ltz.legacy.type", "orc.compression.zstd.level"}) {
    EXPECT_THAT(Parse(key, "many"), HasError(ErrorCode::kNone, key));
  }
  EXPECT_THAT(Parse("orc.row.index.stride", "999"), HasError(ErrorCode::kNone, "1000"));
}

class OrcEncodings : public testing::Test {
 protected:
  /// Encoding of the only column, a text, after `batch` was written.
  OrcEncoding EncodingOf(const Batches& batches, const WriterOptions& options) {
    auto io = MakeMemoryFileIO();
    const std::vector<DataField> fields = {Field(0, "s", DataType::String())};
    WriteOrc(*io, "/f.orc", fields, batches, options);
    ExpectTablesEqual(*ReadOrc(*io, "/f.orc", fields).table, *TableOf(fields, batches));
    auto file = Unwrap(OrcFile::Open(*io, "/f.orc", -1, {}));
    return Unwrap(file->ReadStripeFooters({0}))[0].encodings[1].kind;
  }
  static Batches Texts(int64_t rows, int64_t distinct) {
    arrow::StringBuilder builder;
    for (int64_t i = 0; i < rows; ++i) {
      EXPECT_OK(builder.Append(fmt::format("text number {}", i * 7919 % distinct)));
    }
    auto column = Unwrap(builder.Finish());
    return {arrow::RecordBatch::Make(arrow::schema({arrow::field("s", arrow::utf8())}), rows,
                                     {column})};
  }
};

TEST_F(OrcEncodings, DictionaryWhenItPays) {
  EXPECT_EQ(EncodingOf(Texts(25000, 100), {}), OrcEncoding::kDictionaryV2);
  EXPECT_EQ(EncodingOf(Texts(25000, 25000), {}), OrcEncoding::kDirectV2);
  WriterOptions options;
  options.format_options["orc.column.encoding.direct"] = "s";
  EXPECT_EQ(EncodingOf(Texts(25000, 100), options), OrcEncoding::kDirectV2);
  options.format_options = {{"orc.dictionary.key.threshold", "1"}};
  EXPECT_EQ(EncodingOf(Texts(25000, 25000), options), OrcEncoding::kDictionaryV2);
  options.format_options = {{"orc.dictionary.key.threshold", "0"}};
  EXPECT_EQ(EncodingOf(Texts(25000, 1), options), OrcEncoding::kDirectV2);
  // It is given up late: rows that had numbers are written again.
  Batches late = Texts(10000, 5000);
  for (const auto& batch : Texts(60000, 60000)) late.push_back(batch);
  EXPECT_EQ(EncodingOf(late, {}), OrcEncoding::kDirectV2);
}

TEST(OrcChar, PaddedInTheFileAndTrimmedWhenRead) {
  const std::vector<DataField> fields = {Field(0, "c", DataType::Sized(TypeRoot::kChar, 4))};
  arrow::StringBuilder builder;
  for (const char* text : {"ab", "日本", "", "abcd", "x  ", " y"}) EXPECT_OK(builder.Append(text));
  EXPECT_OK(builder.AppendNull());
  auto column = Unwrap(builder.Finish());
  Batches batches = {
      arrow::RecordBatch::Make(arrow::schema({arrow::field("c", arrow::utf8())}), 7, {column})};
  for (const char* threshold : {"0", "1"}) {
    auto io = MakeMemoryFileIO();
    WriterOptions options;
    options.compression = "none";
    options.format_options["orc.dictionary.key.threshold"] = threshold;
    auto written = WriteOrc(*io, "/f.orc", fields, batches, options);
    // Paimon's bounds are those of the values as they are read.
    EXPECT_EQ(written.stats[0].min->ToString(), "");
    EXPECT_EQ(written.stats[0].max->ToString(), "日本");
    EXPECT_EQ(written.stats[0].null_count, 1);
    EXPECT_NE(Unwrap(io->ReadAll("/f.orc")).find("ab  "), std::string::npos);
    const auto read = Whole(*ReadOrc(*io, "/f.orc", fields).table, 0);
    const auto& texts = static_cast<const arrow::StringArray&>(*read);
    const std::vector<std::string> expected = {"ab", "日本", "", "abcd", "x", " y"};
    for (size_t i = 0; i < expected.size(); ++i) {
      EXPECT_EQ(texts.GetView(static_cast<int64_t>(i)), expected[i]);
    }
    EXPECT_TRUE(texts.IsNull(6));
  }
}

}  // namespace
}  // namespace kelda
