#include "kelda/format/parquet/parquet_options.h"

#include <algorithm>
#include <array>
#include <charconv>

#include "kelda/format/variant/variant_shredding.h"

namespace kelda {
namespace {

constexpr std::string_view kPrefix = "parquet.";

std::string Lower(std::string_view text) {
  std::string lower(text);
  std::transform(lower.begin(), lower.end(), lower.begin(),
                 [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  return lower;
}

arrow::Result<int64_t> ParseNumber(const std::string& key, std::string_view text, int64_t min,
                                   int64_t max) {
  int64_t value = 0;
  auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size() || value < min || value > max) {
    return Invalid("option '{}': '{}' is not a number from {} to {}", key, text, min, max);
  }
  return value;
}

arrow::Result<bool> ParseFlag(const std::string& key, std::string_view text) {
  std::string lower = Lower(text);
  if (lower == "true") return true;
  if (lower == "false") return false;
  return Invalid("option '{}': '{}' is neither true nor false", key, text);
}

arrow::Result<arrow::Compression::type> ParseCodec(const std::string& key, std::string_view text) {
  std::string lower = Lower(text);
  if (lower == "zstd") return arrow::Compression::ZSTD;
  if (lower == "snappy") return arrow::Compression::SNAPPY;
  if (lower == "gzip") return arrow::Compression::GZIP;
  if (lower == "lz4") return arrow::Compression::LZ4_HADOOP;
  if (lower == "lz4_raw") return arrow::Compression::LZ4;
  if (lower == "uncompressed" || text == "none") return arrow::Compression::UNCOMPRESSED;
  if (lower == "brotli" || lower == "lzo") {
    return Unsupported("option '{}': codec '{}' in Parquet files", key, text);
  }
  return Invalid(
      "option '{}': '{}' is no codec of Parquet files: zstd, snappy, gzip, lz4, lz4_raw, "
      "uncompressed, none",
      key, text);
}

/// Keys that steer only how Java's library works, not what a reader sees.
bool IsHarmless(std::string_view name) {
  constexpr std::array<std::string_view, 17> kNames = {
      "validation",
      "writer.max-padding",
      "page.size.row.check.min",
      "page.size.row.check.max",
      "page.size.check.estimate",
      "page.value.count.threshold",
      "block.size.row.check.min",
      "block.size.row.check.max",
      "memory.pool.ratio",
      "memory.min.chunk.size",
      "compression.codec.zstd.bufferPool.enabled",
      "compression.codec.zstd.workers",
      "columnindex.truncate.length",
      "statistics.truncate.length",
      "size.statistics.enabled",
      "enable.job.summary",
      "summary.metadata.level",
  };
  return std::find(kNames.begin(), kNames.end(), name) != kNames.end() ||
         name.starts_with("read.") || name.starts_with("filter.") ||
         name.starts_with("bloom.filter.expected.ndv") || name.starts_with("bloom.filter.fpp") ||
         name.starts_with("bloom.filter.max.bytes") ||
         name.starts_with("bloom.filter.adaptive.enabled") ||
         name.starts_with("bloom.filter.candidates.number");
}

arrow::Status ApplyWriterVersion(const std::string& key, const std::string& value,
                                 ParquetWriteSettings* settings) {
  std::string lower = Lower(value);
  if (lower == "v1" || lower == "parquet_1_0") {
    settings->data_page_v2 = false;
  } else if (lower == "v2" || lower == "parquet_2_0") {
    settings->data_page_v2 = true;
  } else {
    return Invalid("option '{}': '{}' is neither v1 nor v2", key, value);
  }
  return arrow::Status::OK();
}

/// Keys that decide what the file looks like, one by one.
arrow::Status ApplyKey(const std::string& key, const std::string& value,
                       ParquetWriteSettings* settings) {
  constexpr int64_t kIntMax = 2147483647;
  std::string name = key.substr(kPrefix.size());
  std::string column;
  if (size_t hash = name.find('#'); hash != std::string::npos) {
    column = name.substr(hash + 1);
    name.resize(hash);
  }
  if (!column.empty() && name != "enable.dictionary" && !name.starts_with("bloom.filter.")) {
    return Unsupported("option '{}' for a single column", key);
  }
  if (name == "block.size") {
    ARROW_ASSIGN_OR_RAISE(settings->row_group_bytes, ParseNumber(key, value, 1, int64_t{1} << 40));
  } else if (name == "page.size") {
    ARROW_ASSIGN_OR_RAISE(settings->page_bytes, ParseNumber(key, value, 1, kIntMax));
  } else if (name == "page.row.count.limit") {
    ARROW_ASSIGN_OR_RAISE(settings->page_rows, ParseNumber(key, value, 1, kIntMax));
  } else if (name == "dictionary.page.size") {
    ARROW_ASSIGN_OR_RAISE(settings->dictionary_page_bytes, ParseNumber(key, value, 1, kIntMax));
  } else if (name == "enable.dictionary") {
    ARROW_ASSIGN_OR_RAISE(bool on, ParseFlag(key, value));
    if (column.empty()) {
      settings->dictionary = on;
    } else {
      settings->dictionary_of_column[column] = on;
    }
  } else if (name == "compression") {
    ARROW_ASSIGN_OR_RAISE(settings->codec, ParseCodec(key, value));
  } else if (name == "compression.codec.zstd.level") {
    ARROW_ASSIGN_OR_RAISE(int64_t level, ParseNumber(key, value, -131072, 22));
    settings->compression_level = static_cast<int>(level);
  } else if (name == "writer.version") {
    ARROW_RETURN_NOT_OK(ApplyWriterVersion(key, value, settings));
  } else if (name == "page.write-checksum.enabled") {
    ARROW_ASSIGN_OR_RAISE(settings->page_checksum, ParseFlag(key, value));
  } else if (name == "variant.shreddingSchema") {
    auto shredded = ParseShreddingSchema(value);
    if (!shredded.ok()) {
      return WithContext(shredded.status(), fmt::format("option '{}'", key));
    }
    settings->shredded = std::move(shredded).ValueUnsafe();
  } else if (name == "bloom.filter.enabled") {
    ARROW_ASSIGN_OR_RAISE(bool on, ParseFlag(key, value));
    if (on) return Unsupported("option '{}': bloom filters in Parquet files", key);
  } else if (!IsHarmless(name)) {
    return Unsupported("option '{}'", key);
  }
  return arrow::Status::OK();
}

}  // namespace

arrow::Result<ParquetWriteSettings> ParseParquetWriteSettings(const WriterOptions& options) {
  ParquetWriteSettings settings;
  ARROW_ASSIGN_OR_RAISE(settings.codec, ParseCodec("file.compression", options.compression));
  for (const auto& [key, value] : options.format_options) {
    if (!key.starts_with(kPrefix)) continue;
    ARROW_RETURN_NOT_OK(ApplyKey(key, value, &settings));
  }
  if (options.block_size_bytes) {
    if (*options.block_size_bytes < 1) {
      return Invalid("option 'file.block-size': {} is not positive", *options.block_size_bytes);
    }
    settings.row_group_bytes = *options.block_size_bytes;
  }
  if (settings.codec != arrow::Compression::ZSTD) {
    settings.compression_level.reset();
  } else if (!settings.compression_level) {
    settings.compression_level = options.zstd_level;
  }
  return settings;
}

}  // namespace kelda
