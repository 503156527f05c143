#include "kelda/format/avro/avro_options.h"

#include <algorithm>
#include <cctype>
#include <string_view>

namespace kelda {
namespace {

constexpr std::string_view kCodecKey = "avro.codec";
constexpr std::string_view kRowNamesKey = "avro.row-name-mapping";
// What Java takes when zstandard is asked for by Avro's own name.
constexpr int kZstandardLevelOfName = 3;

bool IsZstd(std::string_view name) {
  return name.size() == 4 && std::equal(name.begin(), name.end(), "zstd", [](char a, char b) {
           return std::tolower(static_cast<unsigned char>(a)) == b;
         });
}

arrow::Status CheckCodec(std::string_view key, const std::string& name) {
  if (name == "null" || name == "deflate" || name == "snappy" || name == "zstandard") {
    return arrow::Status::OK();
  }
  if (name == "bzip2" || name == "xz")
    return Unsupported("Avro codec '{}' of option '{}'", name, key);
  return Invalid(
      "option '{}': Avro files have no codec '{}'; it knows zstd, snappy, deflate and null", key,
      name);
}

arrow::Result<std::map<std::string, std::string>> ParseRowNames(std::string_view text) {
  std::map<std::string, std::string> names;
  while (!text.empty()) {
    const size_t comma = std::min(text.find(','), text.size());
    const std::string_view pair = text.substr(0, comma);
    const size_t colon = pair.find(':');
    if (colon == std::string_view::npos || colon == 0 || colon + 1 == pair.size()) {
      return Invalid("option '{}': '{}' is not of the form name:name", kRowNamesKey, pair);
    }
    names.insert_or_assign(std::string(pair.substr(0, colon)), std::string(pair.substr(colon + 1)));
    text.remove_prefix(std::min(comma + 1, text.size()));
  }
  return names;
}

}  // namespace

arrow::Result<AvroWriteSettings> ParseAvroWriteSettings(const WriterOptions& options) {
  AvroWriteSettings settings;
  const auto codec = options.format_options.find(std::string(kCodecKey));
  if (codec != options.format_options.end()) {
    ARROW_RETURN_NOT_OK(CheckCodec(kCodecKey, codec->second));
    settings.codec = codec->second;
  } else if (IsZstd(options.compression)) {
    settings.codec = "zstandard";
    settings.level = options.zstd_level;
  } else {
    ARROW_RETURN_NOT_OK(CheckCodec("file.compression", options.compression));
    settings.codec = options.compression;
  }
  if (settings.codec == "zstandard" && !settings.level) settings.level = kZstandardLevelOfName;
  const auto names = options.format_options.find(std::string(kRowNamesKey));
  if (names != options.format_options.end()) {
    ARROW_ASSIGN_OR_RAISE(settings.row_names, ParseRowNames(names->second));
  }
  return settings;
}

}  // namespace kelda
