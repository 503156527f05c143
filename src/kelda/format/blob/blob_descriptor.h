#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "kelda/base/status.h"

namespace kelda {

/// Where the bytes of a BLOB value lie (spec 01 §6.7); stands for the value in columns of
/// `blob-descriptor-field`, and for readers and writers under `blob-as-descriptor`.
struct BlobDescriptor {
  std::string uri;
  int64_t offset = 0;
  int64_t length = -1;  ///< -1: to the end of the file

  bool operator==(const BlobDescriptor&) const = default;

  /// Version 2, as Java 1.4.2 writes it.
  std::string Serialize() const;
  /// Version 1 or 2; broken bytes are Corruption.
  static arrow::Result<BlobDescriptor> Parse(std::string_view bytes);
};

/// Whether bytes begin like a descriptor of version 2, which none but a descriptor is meant to.
bool IsBlobDescriptor(std::string_view bytes);

}  // namespace kelda
