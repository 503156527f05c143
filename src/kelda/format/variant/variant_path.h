#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "kelda/format/variant/variant_encoding.h"

namespace kelda {

/// A place inside a variant: `$`, then any of `.key`, `['key']`, `["key"]`, `[index]`.
class VariantPath {
 public:
  static arrow::Result<VariantPath> Parse(std::string_view text);

  /// The value there; nothing when an object has no such key, an array no such index, or something
  /// on the way is neither.
  arrow::Result<std::optional<VariantValue>> Get(const VariantBytes& variant) const;

 private:
  struct Step {
    std::string key;
    int64_t index = -1;  ///< of an array, when not negative
  };
  std::vector<Step> steps_;
};

}  // namespace kelda
