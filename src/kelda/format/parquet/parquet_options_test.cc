#include "kelda/format/parquet/parquet_options.h"

#include <arrow/util/compression.h>
#include <gtest/gtest.h>

namespace kelda {
namespace {

arrow::Result<ParquetWriteSettings> Parse(std::map<std::string, std::string> keys,
                                          std::string compression = "zstd") {
  WriterOptions options;
  options.compression = std::move(compression);
  options.format_options = std::move(keys);
  return ParseParquetWriteSettings(options);
}

TEST(ParquetOptions, Defaults) {
  auto settings = Parse({}).ValueOrDie();
  EXPECT_EQ(settings.codec, arrow::Compression::ZSTD);
  EXPECT_EQ(settings.compression_level, 1);
  EXPECT_EQ(settings.row_group_bytes, 128 << 20);
  EXPECT_EQ(settings.page_bytes, 1 << 20);
  EXPECT_EQ(settings.page_rows, 20000);
  EXPECT_EQ(settings.dictionary_page_bytes, 1 << 20);
  EXPECT_TRUE(settings.dictionary);
  EXPECT_TRUE(settings.page_checksum);
  EXPECT_FALSE(settings.data_page_v2);
}

TEST(ParquetOptions, Codecs) {
  const std::pair<const char*, arrow::Compression::type> kCodecs[] = {
      {"zstd", arrow::Compression::ZSTD},
      {"ZSTD", arrow::Compression::ZSTD},
      {"snappy", arrow::Compression::SNAPPY},
      {"gzip", arrow::Compression::GZIP},
      {"lz4", arrow::Compression::LZ4_HADOOP},
      {"LZ4_RAW", arrow::Compression::LZ4},
      {"none", arrow::Compression::UNCOMPRESSED},
      {"UNCOMPRESSED", arrow::Compression::UNCOMPRESSED}};
  for (auto [name, codec] : kCodecs) {
    auto settings = Parse({}, name).ValueOrDie();
    EXPECT_EQ(settings.codec, codec) << name;
    EXPECT_EQ(settings.compression_level.has_value(), codec == arrow::Compression::ZSTD);
    EXPECT_EQ(Parse({{"parquet.compression", name}}, "gzip").ValueOrDie().codec, codec);
  }
  EXPECT_TRUE(IsUnsupported(Parse({}, "brotli").status()));
  EXPECT_TRUE(IsUnsupported(Parse({}, "LZO").status()));
  for (const char* bad : {"NONE", "", "zip"}) {
    auto status = Parse({}, bad).status();
    EXPECT_FALSE(status.ok()) << bad;
    EXPECT_NE(status.message().find("file.compression"), std::string::npos);
  }
}

TEST(ParquetOptions, Keys) {
  auto settings = Parse({{"parquet.block.size", "1000"},
                         {"parquet.page.size", "2000"},
                         {"parquet.page.row.count.limit", "7"},
                         {"parquet.dictionary.page.size", "300"},
                         {"parquet.enable.dictionary", "false"},
                         {"parquet.enable.dictionary#a.b", "TRUE"},
                         {"parquet.compression.codec.zstd.level", "3"},
                         {"parquet.writer.version", "PARQUET_2_0"},
                         {"parquet.page.write-checksum.enabled", "false"},
                         {"parquet.bloom.filter.enabled", "false"},
                         {"parquet.bloom.filter.fpp#a", "0.1"},
                         {"parquet.validation", "true"},
                         {"orc.anything", "x"}})
                      .ValueOrDie();
  EXPECT_EQ(settings.row_group_bytes, 1000);
  EXPECT_EQ(settings.page_bytes, 2000);
  EXPECT_EQ(settings.page_rows, 7);
  EXPECT_EQ(settings.dictionary_page_bytes, 300);
  EXPECT_FALSE(settings.dictionary);
  EXPECT_TRUE(settings.dictionary_of_column.at("a.b"));
  EXPECT_EQ(settings.compression_level, 3);
  EXPECT_TRUE(settings.data_page_v2);
  EXPECT_FALSE(settings.page_checksum);
}

TEST(ParquetOptions, RefusedByName) {
  for (const char* key : {"parquet.bloom.filter.enabled", "parquet.bloom.filter.enabled#a",
                          "parquet.encryption.key", "parquet.x"}) {
    auto status = Parse({{key, "true"}}).status();
    EXPECT_TRUE(IsUnsupported(status)) << status.ToString();
    EXPECT_NE(status.message().find(key), std::string::npos);
  }
  EXPECT_TRUE(IsUnsupported(Parse({{"parquet.page.size#a", "1000"}}).status()));
}

TEST(ParquetOptions, BadValues) {
  for (const auto& [key, value] :
       std::map<std::string, std::string>{{"parquet.block.size", "0"},
                                          {"parquet.variant.shreddingSchema", "true"},
                                          {"parquet.page.size", "1 MB"},
                                          {"parquet.page.row.count.limit", "-1"},
                                          {"parquet.dictionary.page.size", "99999999999"},
                                          {"parquet.enable.dictionary", "1"},
                                          {"parquet.compression.codec.zstd.level", "23"},
                                          {"parquet.writer.version", "v3"}}) {
    auto status = Parse({{key, value}}).status();
    ASSERT_FALSE(status.ok()) << key;
    EXPECT_NE(status.message().find(key), std::string::npos);
    EXPECT_NE(status.message().find(value), std::string::npos);
  }
  WriterOptions options;
  options.block_size_bytes = 0;
  EXPECT_FALSE(ParseParquetWriteSettings(options).ok());
}

}  // namespace
}  // namespace kelda
