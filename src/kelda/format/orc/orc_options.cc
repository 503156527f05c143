#include "kelda/format/orc/orc_options.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <charconv>

namespace kelda {
namespace {

constexpr std::string_view kPrefix = "orc.";
constexpr int64_t kBlockSizeMax = (int64_t{1} << 23) - 1;

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

arrow::Result<double> ParseShare(const std::string& key, std::string_view text) {
  double value = 0;
  auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size() || !(value >= 0 && value <= 1)) {
    return Invalid("option '{}': '{}' is not a number from 0 to 1", key, text);
  }
  return value;
}

arrow::Result<bool> ParseFlag(const std::string& key, std::string_view text) {
  const std::string lower = Lower(text);
  if (lower == "true") return true;
  if (lower == "false") return false;
  return Invalid("option '{}': '{}' is neither true nor false", key, text);
}

arrow::Result<OrcCompression> ParseCodec(const std::string& key, std::string_view text) {
  const std::string lower = Lower(text);
  for (auto codec : {OrcCompression::kNone, OrcCompression::kZlib, OrcCompression::kSnappy,
                     OrcCompression::kLz4, OrcCompression::kZstd}) {
    if (lower == ToString(codec)) return codec;
  }
  if (lower == "lzo") return Unsupported("option '{}': codec '{}' in ORC files", key, text);
  return Invalid("option '{}': '{}' is no codec of ORC files: zstd, lz4, snappy, zlib, none", key,
                 text);
}

/// Keys that steer only how Java's library works, not what a reader sees.
bool IsHarmless(std::string_view name) {
  constexpr std::array<std::string_view, 34> kNames = {
      "block.size",
      "base.delta.ratio",
      "block.padding",
      "block.padding.tolerance",
      "encoding.strategy",
      "compression.strategy",
      "compression.zstd.windowlog",
      "bloom.filter.fpp",
      "bloom.filter.write.version",
      "bloom.filter.ignore.non-utf8",
      "use.zerocopy",
      "skip.corrupt.data",
      "tolerate.missing.schema",
      "memory.pool",
      "dictionary.early.check",
      "dictionary.implementation",
      "max.file.length",
      "include.columns",
      "kryo.sarg",
      "kryo.sarg.buffer",
      "sarg.column.names",
      "sarg.to.filter",
      "force.positional.evolution",
      "force.positional.evolution.level",
      "rows.between.memory.checks",
      "overwrite.output.file",
      "schema.evolution.case.sensitive",
      "write.variable.length.blocks",
      "max.disk.range.chunk.limit",
      "min.disk.seek.size",
      "min.disk.seek.size.tolerance",
      "row.batch.size",
      "row.child.limit",
      "write.batch-size",
  };
  return std::find(kNames.begin(), kNames.end(), name) != kNames.end() ||
         name.starts_with("filter.") || name.starts_with("mapred.");
}

void SplitNames(std::string_view text, std::set<std::string>* out) {
  while (!text.empty()) {
    const size_t comma = std::min(text.find(','), text.size());
    std::string_view name = text.substr(0, comma);
    text.remove_prefix(std::min(comma + 1, text.size()));
    while (name.starts_with(' ')) name.remove_prefix(1);
    while (name.ends_with(' ')) name.remove_suffix(1);
    if (!name.empty()) out->emplace(name);
  }
}

/// Keys of what is not built; their harmless value is accepted.
arrow::Status RefuseKey(const std::string& key, std::string_view name, const std::string& value) {
  if (name == "write.format" && value == "0.12") return arrow::Status::OK();
  if (name.starts_with("proleptic.gregorian") && Lower(value) == "false") {
    return arrow::Status::OK();
  }
  if ((name == "bloom.filter.columns" || name == "encrypt" || name == "mask") && value.empty()) {
    return arrow::Status::OK();
  }
  return Unsupported("option '{}' with value '{}'", key, value);
}

/// Keys that decide what the file looks like, one by one.
arrow::Status ApplyKey(const std::string& key, const std::string& value,
                       OrcWriteSettings* settings) {
  const std::string name = key.substr(kPrefix.size());
  constexpr int64_t kIntMax = 2147483647;
  if (name == "compress") {
    ARROW_ASSIGN_OR_RAISE(settings->compression, ParseCodec(key, value));
  } else if (name == "compress.size") {
    ARROW_ASSIGN_OR_RAISE(settings->block_size, ParseNumber(key, value, 1024, kBlockSizeMax));
  } else if (name == "buffer.size.enforce") {
    ARROW_ASSIGN_OR_RAISE(settings->block_size_enforced, ParseFlag(key, value));
  } else if (name == "compression.zstd.level") {
    ARROW_ASSIGN_OR_RAISE(int64_t level, ParseNumber(key, value, -131072, 22));
    settings->zstd_level = static_cast<int>(level);
  } else if (name == "stripe.size") {
    ARROW_ASSIGN_OR_RAISE(settings->stripe_bytes, ParseNumber(key, value, 1, int64_t{1} << 40));
  } else if (name == "stripe.row.count") {
    ARROW_ASSIGN_OR_RAISE(settings->stripe_rows_max, ParseNumber(key, value, 1, kIntMax));
  } else if (name == "row.index.stride") {
    ARROW_ASSIGN_OR_RAISE(settings->row_index_stride, ParseNumber(key, value, 0, kIntMax));
    if (settings->row_index_stride > 0 && settings->row_index_stride < 1000) {
      return Invalid("option '{}': '{}' is less than 1000", key, value);
    }
  } else if (name == "create.index") {
    ARROW_ASSIGN_OR_RAISE(settings->row_index, ParseFlag(key, value));
  } else if (name == "dictionary.key.threshold") {
    ARROW_ASSIGN_OR_RAISE(settings->dictionary_threshold, ParseShare(key, value));
  } else if (name == "column.encoding.direct") {
    SplitNames(value, &settings->direct_columns);
  } else if (name == "timestamp-ltz.legacy.type") {
    // Both forms are the same in UTC, by which all local-zone timestamps are taken here.
    ARROW_RETURN_NOT_OK(ParseFlag(key, value).status());
  } else if (!IsHarmless(name)) {
    return RefuseKey(key, name, value);
  }
  return arrow::Status::OK();
}

}  // namespace

arrow::Result<OrcWriteSettings> ParseOrcWriteSettings(const WriterOptions& options) {
  OrcWriteSettings settings;
  settings.zstd_level = options.zstd_level;
  if (!options.format_options.contains("orc.compress")) {
    ARROW_ASSIGN_OR_RAISE(settings.compression,
                          ParseCodec("file.compression", options.compression));
  }
  for (const auto& [key, value] : options.format_options) {
    if (!key.starts_with(kPrefix)) continue;
    ARROW_RETURN_NOT_OK(ApplyKey(key, value, &settings));
  }
  if (!settings.row_index) settings.row_index_stride = 0;
  if (options.block_size_bytes) {
    if (*options.block_size_bytes < 1) {
      return Invalid("option 'file.block-size': {} is not positive", *options.block_size_bytes);
    }
    settings.stripe_bytes = *options.block_size_bytes;
  }
  return settings;
}

int64_t OrcBlockSize(const OrcWriteSettings& settings, size_t columns) {
  if (settings.block_size_enforced) return settings.block_size;
  const int64_t share = settings.stripe_bytes / (20 * static_cast<int64_t>(columns));
  int64_t size = 4 << 10;
  while (size < share && size < (256 << 10)) size *= 2;
  return std::min(size, settings.block_size);
}

}  // namespace kelda
