#pragma once

#include <string_view>

namespace kelda::avro {

// Avro schemas of Paimon's metadata files, byte for byte as Java 1.4.2 puts them into file headers
// (spec 01 §4.2).

/// Manifest list: one row per manifest.
extern const std::string_view kManifestListSchema;
/// Manifest: one row per added or deleted data file.
extern const std::string_view kManifestSchema;
/// Index manifest: one row per index file.
extern const std::string_view kIndexManifestSchema;

}  // namespace kelda::avro
