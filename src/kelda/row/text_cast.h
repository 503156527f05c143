#pragma once

#include <string>
#include <string_view>

#include "kelda/types/arrow_mapping.h"

namespace kelda {

/// Valid UTF-8 of any bytes: malformed sequences become U+FFFD, one for as many bytes as Java's
/// decoder takes.
std::string ReplaceInvalidUtf8(std::string_view bytes);

}  // namespace kelda
