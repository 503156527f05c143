#include "kelda/format/file_format.h"

#include <gtest/gtest.h>

namespace kelda {
namespace {

TEST(FileFormat, Find) {
  auto parquet = FindFormat("parquet");
  ASSERT_TRUE(parquet.ok());
  EXPECT_EQ((*parquet)->name(), "parquet");
  EXPECT_EQ(FindFormat("PARQUET").ValueOrDie(), *parquet);
  EXPECT_EQ(FindFormat("avro").ValueOrDie()->name(), "avro");
  EXPECT_EQ(FindFormat("blob").ValueOrDie()->name(), "blob");
  for (const char* name : {"csv", "json", "text", "row", "lance", "mosaic", "vortex"}) {
    auto found = FindFormat(name);
    ASSERT_FALSE(found.ok());
    EXPECT_TRUE(IsUnsupported(found.status())) << name;
    EXPECT_NE(found.status().message().find(name), std::string::npos);
  }
  auto unknown = FindFormat("parket");
  ASSERT_FALSE(unknown.ok());
  EXPECT_FALSE(IsUnsupported(unknown.status()));
  EXPECT_NE(unknown.status().message().find("parket"), std::string::npos);
}

TEST(FileFormat, OfFileName) {
  EXPECT_EQ(FormatOfFileName("data-1-0.parquet"), "parquet");
  EXPECT_EQ(FormatOfFileName("data-1-0.zst.parquet"), "parquet");
  EXPECT_EQ(FormatOfFileName("data-1-0.json.gz"), "json");
  EXPECT_EQ(FormatOfFileName("data-1-0.csv.zst"), "csv");
  EXPECT_EQ(FormatOfFileName("data-1-0.vector.orc"), "orc");
  EXPECT_EQ(FormatOfFileName("x.lz4"), "lz4");
  EXPECT_EQ(FormatOfFileName("name"), "");
}

TEST(FileFormat, Extension) {
  EXPECT_EQ(FileExtension("parquet", "zstd", false), ".parquet");
  EXPECT_EQ(FileExtension("parquet", "zstd", true), ".zst.parquet");
  EXPECT_EQ(FileExtension("parquet", "gzip", true), ".gz.parquet");
  EXPECT_EQ(FileExtension("parquet", "none", true), ".parquet");
  EXPECT_EQ(FileExtension("orc", "lz4", true), ".lz4.orc");
  EXPECT_EQ(FileExtension("avro", "strange", true), ".strange.avro");
  EXPECT_EQ(FileExtension("json", "gzip", false), ".json.gz");
  EXPECT_EQ(FileExtension("csv", "none", false), ".csv");
}

}  // namespace
}  // namespace kelda
