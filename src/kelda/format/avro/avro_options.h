#pragma once

#include <map>
#include <optional>
#include <string>

#include "kelda/format/file_format.h"

namespace kelda {

/// How an Avro file is written, out of the options of the table.
struct AvroWriteSettings {
  std::string codec;         ///< Avro's name
  std::optional<int> level;  ///< of deflate and zstandard
  std::map<std::string, std::string> row_names;
};

/// `avro.codec` goes before `file.compression`, of which `zstd` alone is not Avro's own name (spec
/// 01 §6.4). `avro.row-name-mapping` is `name:name,...`. Other `avro.*` keys mean nothing to Java.
arrow::Result<AvroWriteSettings> ParseAvroWriteSettings(const WriterOptions& options);

}  // namespace kelda
