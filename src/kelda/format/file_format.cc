#include "kelda/format/file_format.h"

#include <algorithm>
#include <array>

#include "kelda/format/avro/avro_format.h"
#include "kelda/format/blob/blob_format.h"
#include "kelda/format/orc/orc_format.h"
#include "kelda/format/parquet/parquet_format.h"

namespace kelda {
namespace {

struct CompressionSuffix {
  std::string_view codec;
  std::string_view suffix;
};

constexpr std::array<CompressionSuffix, 6> kSuffixes = {{
    {"gzip", "gz"},
    {"bzip2", "bz2"},
    {"zstd", "zst"},
    {"deflate", "deflate"},
    {"snappy", "snappy"},
    {"lz4", "lz4"},
}};

std::string SuffixOf(std::string_view compression) {
  if (compression == "none") return "";
  for (const auto& entry : kSuffixes) {
    if (entry.codec == compression) return std::string(entry.suffix);
  }
  return std::string(compression);
}

bool IsCompressionSuffix(std::string_view text) {
  return std::any_of(kSuffixes.begin(), kSuffixes.end(),
                     [&](const auto& entry) { return entry.suffix == text; });
}

constexpr std::string_view kNotBuilt[] = {"csv",   "json",   "text",  "row",
                                          "lance", "mosaic", "vortex"};

}  // namespace

arrow::Result<const FileFormat*> FindFormat(std::string_view name) {
  std::string lower(name);
  std::transform(lower.begin(), lower.end(), lower.begin(),
                 [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  if (lower == "parquet") return &ParquetFormat::Instance();
  if (lower == "orc") return &OrcFormat::Instance();
  if (lower == "avro") return &AvroFormat::Instance();
  if (lower == "blob") return &BlobFormat::Instance();
  if (std::find(std::begin(kNotBuilt), std::end(kNotBuilt), lower) != std::end(kNotBuilt)) {
    return Unsupported("data files of format '{}'", lower);
  }
  return Invalid("'{}' is no known file format", name);
}

std::string FormatOfFileName(std::string_view file_name) {
  size_t last = file_name.rfind('.');
  if (last == std::string_view::npos) return "";
  std::string_view extension = file_name.substr(last + 1);
  if (!IsCompressionSuffix(extension) || last == 0) return std::string(extension);
  size_t second = file_name.rfind('.', last - 1);
  if (second == std::string_view::npos) return std::string(extension);
  return std::string(file_name.substr(second + 1, last - second - 1));
}

std::string FileExtension(std::string_view format, std::string_view compression,
                          bool include_compression) {
  std::string out = ".";
  std::string suffix = SuffixOf(compression);
  if (format == "json" || format == "csv") {
    out += format;
    if (!suffix.empty()) out += "." + suffix;
    return out;
  }
  if (include_compression && !suffix.empty()) out += suffix + ".";
  out += format;
  return out;
}

}  // namespace kelda
